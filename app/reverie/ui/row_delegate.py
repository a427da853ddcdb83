"""How a row of a tree is drawn: sign, name, dim detail, then marks and use figures at the right edge.

Everything comes in one `RowLook`; nothing is measured twice per row that does not depend on the row. The
widths adapt: in a narrow tree the use figures go first, then the description, never the name or the marks.
"""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPalette
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from reverie.ui.icons import Icons
from reverie.ui.row_look import RowLook
from reverie.ui.theme import GAP, SIGN_CONTRAST, UNIT, dimmed, readable, tabular, theme_of

_SIGN = 16
_WIDE = 330
_NARROWEST_DETAIL = 48
# Put together once: for each row that takes longer than to draw a word.
_LEFT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
_RIGHT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight

# The role under which a model hands over a `RowLook`.
ROW_ROLE = int(Qt.ItemDataRole.UserRole) + 100


class RowDelegate(QStyledItemDelegate):
    """Draws one-line rows of one height. `on_window`: the view lies on the window's colour, not on the
    base."""

    def __init__(self, icons: Icons, parent: QWidget, *, on_window: bool = False) -> None:
        super().__init__(parent)
        self._on_window = on_window
        self._icons = icons
        self._use_width: dict[str, int] = {}

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        metrics = QFontMetrics(option.font)
        return QSize(120, max(metrics.height(), _SIGN) + GAP)

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
        area = option.rect.adjusted(UNIT // 2, 0, -GAP, 0)
        ratio = painter.device().devicePixelRatioF()
        if look.icon:
            sign = self._icons.pixmap(look.icon, _SIGN, colours.sign, ratio)
            painter.drawPixmap(area.left(), _centred(area, _SIGN), sign)
            area.setLeft(area.left() + _SIGN + 6)
        font = QFont(option.font)
        font.setBold(look.bold)
        font.setItalic(look.italic)
        right = self._draw_marks(painter, option, area, look, colours, ratio)
        area.setRight(right)
        metrics = QFontMetrics(font)
        painter.setFont(font)
        painter.setPen(colours.name)
        # A file's name is told by its end as well; a sentence (without a sign) is not.
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
        """Use, pin, warning and badge from the right edge inwards; returns where the name must end."""
        right = area.right()
        if look.has_use and option.rect.right() > _WIDE:
            width = self._width_of_use(option.font)
            if look.use:
                painter.setFont(tabular(option.font))
                painter.setPen(colours.dim)
                slot = QRect(right - width, area.top(), width, area.height())
                painter.drawText(slot, _RIGHT, look.use)
            right -= width + GAP
        for shown, name, colour in (
            (
                look.pinned or look.pin_unknown,
                "pin",
                colours.dim if look.pin_unknown else colours.accent,
            ),
            (look.warning, "warning", colours.warn),
            (look.flag, "flag", colours.warn),
            (look.badge, "edited", colours.accent),
            (bool(look.lock), look.lock, colours.dim),
        ):
            if shown:
                right -= _SIGN
                painter.drawPixmap(
                    right, _centred(area, _SIGN), self._icons.pixmap(name, _SIGN, colour, ratio)
                )
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


def _fitted(metrics: QFontMetrics, text: str, mode: Qt.TextElideMode, room: int) -> tuple[str, int]:
    """The text, shortened where it must be, and its width."""
    width = metrics.horizontalAdvance(text)
    if width <= room:
        return text, width
    text = metrics.elidedText(text, mode, room)
    return text, metrics.horizontalAdvance(text)


def _colours(option: QStyleOptionViewItem, look: RowLook, *, on_window: bool) -> _Colours:
    """Few kinds of rows are drawn many times."""
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
    """The row's colours on its own background, selected or not."""

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
        else:
            role = QPalette.ColorRole.WindowText if on_window else QPalette.ColorRole.Text
            self.dim = theme.dim_window if on_window else theme.dim
            self.name = self.dim if quiet else palette.color(group, role)
            self.sign = self.dim
            self.accent = theme.accent
            self.warn = theme.warn
            if not state & _ENABLED and not on_window:
                self.name = self.accent = self.warn = self.dim


def _centred(area: QRect, height: int) -> int:
    return area.top() + (area.height() - height) // 2
