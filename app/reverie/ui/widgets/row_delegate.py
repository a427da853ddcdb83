"""The delegate that paints one-line rows, such as those of the trees.

Threading: GUI thread; nothing is read here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPalette, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from reverie.ui.appearance import GAP, MARGIN, SIGN_CONTRAST, UNIT, dimmed, readable, tabular, theme_of
from reverie.ui.icons import Icons
from reverie.ui.metrics import icon_size, row_height, scaled
from reverie.ui.tree.row_look import RowLook

if TYPE_CHECKING:
    from reverie.agents.base import LoadState
from reverie.ui.widgets.lists import follow_pointer

_WIDE = 330


_NARROWEST_DETAIL = 48


# Combined once: per row it would take longer than drawing a word.
_LEFT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft


_RIGHT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight


ROW_ROLE = int(Qt.ItemDataRole.UserRole) + 100
"""The role under which a model returns a `RowLook`."""


class RowDelegate(QStyledItemDelegate):
    """A delegate that paints rows of one line: icon, name, dim detail, marks and use count.

    All of these come from the `RowLook` of the row. If the view is narrow, the use count is left out first,
    then the detail; the name and the marks are always painted. `on_window`: the view has the background
    colour of the window, not that of lists.
    """

    def __init__(self, icons: Icons, parent: QWidget, *, on_window: bool = False) -> None:
        super().__init__(parent)
        self._on_window = on_window
        self._icons = icons
        follow_pointer(parent)
        self._use_width: dict[str, int] = {}

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(120, row_height(option.font))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        look = index.data(ROW_ROLE)
        view = option.widget
        style = view.style()
        style.drawPrimitive(QStyle.PrimitiveElement.PE_PanelItemViewItem, option, painter, view)
        if look is None:
            return
        painter.save()
        painter.setClipRect(option.rect)
        self._draw(painter, option, look, _colours(option, look, on_window=self._on_window))
        painter.restore()

    def _draw(
        self, painter: QPainter, option: QStyleOptionViewItem, look: RowLook, colours: _Colours
    ) -> None:
        area = option.rect.adjusted(UNIT // 2, 0, -MARGIN, 0)
        ratio = painter.device().devicePixelRatioF()
        side = icon_size(option.font)
        if look.icon:
            sign = self._icons.pixmap(look.icon, side, colours.sign, ratio)
            painter.drawPixmap(area.left(), _centred(area, side), sign)
            area.setLeft(area.left() + side + 6)
        font = QFont(option.font)
        font.setBold(look.bold)
        font.setItalic(look.italic)
        font.setStrikeOut(look.struck)
        right = self._draw_marks(painter, option, area, look, colours, ratio)
        area.setRight(right)
        metrics = QFontMetrics(font)
        painter.setFont(font)
        painter.setPen(colours.name)
        # The end of a file name matters too; that of a sentence (a row without an icon) does not.
        keeps_end = look.icon and not look.cut_end
        mode = Qt.TextElideMode.ElideMiddle if keeps_end else Qt.TextElideMode.ElideRight
        name, width = _fitted(metrics, look.name, mode, area.width())
        painter.drawText(area, _LEFT, name)
        area.setLeft(area.left() + width + GAP + 2)
        if look.modified:
            area.setLeft(self._draw_dot(painter, area, colours.warn) + GAP)
        if look.detail and area.width() >= _NARROWEST_DETAIL:
            painter.setFont(option.font)
            painter.setPen(colours.dim)
            text = QFontMetrics(option.font).elidedText(
                look.detail, Qt.TextElideMode.ElideRight, area.width()
            )
            painter.drawText(area, _LEFT, text)

    def _draw_marks(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        area: QRect,
        look: RowLook,
        colours: _Colours,
        ratio: float,
    ) -> int:
        """Draw the use count and the marks of a row at its right edge.

        The marks are the signs for the load state, a pin, a warning and a lock, and the badge. Returns the x
        coordinate, in pixels, at which the name must end.
        """
        right = area.right()
        side = icon_size(option.font)
        if look.has_use and option.rect.right() > scaled(option.font, _WIDE):
            width = self._width_of_use(option.font)
            if look.use:
                painter.setFont(tabular(option.font))
                painter.setPen(colours.dim)
                slot = QRect(right - width, area.top(), width, area.height())
                painter.drawText(slot, _RIGHT, look.use)
            right -= width + GAP
        if look.loaded:
            right -= side
            _draw_load(painter, QRect(right, area.top(), side, area.height()), look.loaded, colours.dim)
            right -= UNIT
        for shown, name, colour in (
            (look.pinned or look.pin_unknown, "pin", colours.dim if look.pin_unknown else colours.accent),
            (look.warning or look.flag, "warning", colours.warn),
            (bool(look.lock), look.lock, colours.dim),
        ):
            if shown:
                right -= side
                painter.drawPixmap(right, _centred(area, side), self._icons.pixmap(name, side, colour, ratio))
                right -= UNIT
        if look.badge:
            right -= side
            strong = QFont(option.font)
            strong.setWeight(QFont.Weight.DemiBold)
            painter.setFont(strong)
            painter.setPen(colours.badge(look.badge))
            slot = QRect(right, area.top(), side, area.height())
            painter.drawText(slot, Qt.AlignmentFlag.AlignCenter, look.badge)
            right -= UNIT
        return right - UNIT

    def _draw_dot(self, painter: QPainter, area: QRect, colour: QColor) -> int:
        size = 7
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawEllipse(area.left() - 2, _centred(area, size), size, size)
        return area.left() + size - 2

    def _width_of_use(self, font: QFont) -> int:
        key = font.key()
        if key not in self._use_width:
            self._use_width[key] = QFontMetrics(tabular(font)).horizontalAdvance("99× · 59 min")
        return self._use_width[key]


def _draw_load(painter: QPainter, area: QRect, loaded: LoadState, colour: QColor) -> None:
    """Draw the sign for the part of a memory that the agent loads.

    It is a full dot for all of it, half a dot for a part, a dotted ring for its line in an index, and a ring
    for its name only.
    """
    size = area.width() / 2
    circle = QRectF(0, 0, size, size)
    circle.moveCenter(QRectF(area).center())
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    style = Qt.PenStyle.DotLine if loaded == "line" else Qt.PenStyle.SolidLine
    painter.setPen(QPen(colour, 1.2, style))
    painter.setBrush(colour if loaded == "full" else Qt.BrushStyle.NoBrush)
    painter.drawEllipse(circle)
    if loaded == "part":
        painter.setBrush(colour)
        painter.drawPie(circle, 90 * 16, 180 * 16)


def _fitted(metrics: QFontMetrics, text: str, mode: Qt.TextElideMode, room: int) -> tuple[str, int]:
    """Return `text`, shortened by `mode` if it is wider than `room` pixels, and its width in pixels."""
    width = metrics.horizontalAdvance(text)
    if width <= room:
        return text, width
    text = metrics.elidedText(text, mode, room)
    return text, metrics.horizontalAdvance(text)


def _colours(option: QStyleOptionViewItem, look: RowLook, *, on_window: bool) -> _Colours:
    """Return the colours of a row, from a cache, because many rows have the same ones.

    `on_window`: the view has the background colour of the window, not that of lists.
    """
    palette, state = option.palette, option.state.value & _STATES
    key = palette.cacheKey(), state, look.quiet, on_window
    found = _known_colours.get(key)
    if found is None:
        if len(_known_colours) >= _MOST_COLOURS:
            _known_colours.clear()
        found = _known_colours[key] = _Colours(palette, state, quiet=look.quiet, on_window=on_window)
    return found


_ACTIVE = QStyle.StateFlag.State_Active.value


_SELECTED = QStyle.StateFlag.State_Selected.value


_ENABLED = QStyle.StateFlag.State_Enabled.value


_STATES = _ACTIVE | _SELECTED | _ENABLED


_MOST_COLOURS = 128


_known_colours: dict[tuple[int, int, bool, bool], _Colours] = {}


class _Colours:
    """The colours of the texts and icons in a row, which depend on whether the row is selected."""

    def __init__(self, palette: QPalette, state: int, *, quiet: bool, on_window: bool) -> None:
        theme = theme_of(palette)
        group = QPalette.ColorGroup.Active if state & _ACTIVE else QPalette.ColorGroup.Inactive
        if state & _SELECTED:
            back = palette.color(group, QPalette.ColorRole.Highlight)
            text = readable(palette.color(group, QPalette.ColorRole.HighlightedText), back)
            self.name = text
            self.dim = dimmed(text, back)
            self.sign = self.dim
            self.accent = readable(theme.accent, back, SIGN_CONTRAST)
            self.warn = readable(theme.warn, back, SIGN_CONTRAST)
            self.good, self.bad = readable(theme.good, back), readable(theme.bad, back)
        else:
            role = QPalette.ColorRole.WindowText if on_window else QPalette.ColorRole.Text
            self.dim = theme.dim_window if on_window else theme.dim
            self.name = self.dim if quiet else palette.color(group, role)
            self.sign = self.dim
            self.accent = theme.accent
            self.warn = theme.warn
            self.good, self.bad = theme.good_text, theme.bad_text
            if not state & _ENABLED and not on_window:
                self.name = self.accent = self.warn = self.good = self.bad = self.dim

    def badge(self, letter: str) -> QColor:
        """Return the colour of the badge N (new: green), D (deleted: red) or M (changed: as the name)."""
        return {"N": self.good, "D": self.bad}.get(letter, self.name)


def _centred(area: QRect, height: int) -> int:
    return area.top() + (area.height() - height) // 2
