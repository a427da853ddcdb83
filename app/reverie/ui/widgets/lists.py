"""Lists: rows of two lines, lists over a `NodeModel`, and the delegate that draws tree rows.

Views bring the values and their texts. Threading: GUI thread; nothing is read here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import (
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPalette, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QListWidget,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from reverie.ui.appearance import (
    GAP,
    MARGIN,
    SIGN_CONTRAST,
    UNIT,
    Icons,
    dimmed,
    icon_size,
    readable,
    row_height,
    scaled,
    tabular,
    theme_of,
    two_line_height,
)
from reverie.ui.tree.node_model import NodeModel
from reverie.ui.tree.row_look import RowLook
from reverie.ui.tree.rows import RowNode, shared
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.agents.base import LoadState

Cut = Literal["middle", "end"]
"""Where a text loses what has no room: names are told by their ends as well, sentences are not."""
_CUTS = {"middle": Qt.TextElideMode.ElideMiddle, "end": Qt.TextElideMode.ElideRight}


class TwoLines(Struct, frozen=True):
    """Texts that are safe to draw already; `right` and `right_below` stand at the end of their lines.

    `sign`: an icon's name; a list that shows signs keeps their room on every row. `grave`: the sign has the
    colour of what went wrong. `marks`: icons at the end of the upper line, from the right edge inwards.
    """

    title: str
    below: str
    right: str = ""
    quiet: bool = False
    sign: str = ""
    right_below: str = ""
    grave: bool = False
    marks: tuple[str, ...] = ()
    cut: Cut = "middle"
    cut_below: Cut = "middle"


def follow_pointer(view: QWidget) -> None:
    """The row under the pointer shows it."""
    if isinstance(view, QAbstractItemView):
        view.viewport().setAttribute(Qt.WidgetAttribute.WA_Hover)


class TwoLineDelegate(QStyledItemDelegate):
    """Draws an item's `TwoLines` under `ROLE`."""

    ROLE = int(Qt.ItemDataRole.UserRole) + 1

    def __init__(self, view: QWidget, icons: Icons | None = None, *, right_from: int = 0) -> None:
        """`icons`: for a list that shows signs. `right_from`: how wide a row must be to show what stands at
        its right."""
        super().__init__(view)
        self._icons = icons
        self._right_from = right_from
        follow_pointer(view)

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(80, two_line_height(option.font))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        lines: TwoLines | None = index.data(self.ROLE)
        view = option.widget
        view.style().drawPrimitive(QStyle.PrimitiveElement.PE_PanelItemViewItem, option, painter, view)
        if lines is None:
            return
        colours = _TwoLineColours(option)
        painter.save()
        painter.setFont(tabular(option.font))
        metrics = QFontMetrics(painter.font())
        side = icon_size(option.font)
        space = (option.rect.height() - 2 * metrics.height() - 1) // 2
        area = option.rect.adjusted(MARGIN, space, -MARGIN, -space)
        if self._icons is not None:
            tint = colours.sign(lines.sign, grave=lines.grave)
            self._draw_sign(painter, area.topLeft(), lines.sign, tint, side)
            area.setLeft(area.left() + side + GAP)
        upper = QRect(area.left(), area.top(), area.width(), metrics.height())
        lower = upper.translated(0, metrics.height() + 1)
        for mark in lines.marks:
            upper.setRight(upper.right() - side)
            self._draw_sign(painter, QPoint(upper.right(), upper.top()), mark, colours.sign(mark), side)
            upper.setRight(upper.right() - UNIT)
        if option.rect.width() >= self._right_from:
            painter.setPen(colours.dim)
            for slot, label in ((upper, lines.right), (lower, lines.right_below)):
                if label:
                    slot.setRight(slot.right() - _draw_right(painter, slot, metrics, label) - GAP)
        painter.setPen(colours.dim)
        painter.drawText(lower, 0, metrics.elidedText(lines.below, _CUTS[lines.cut_below], lower.width()))
        painter.setPen(colours.dim if lines.quiet else colours.text)
        painter.drawText(upper, 0, metrics.elidedText(lines.title, _CUTS[lines.cut], upper.width()))
        painter.restore()

    def _draw_sign(self, painter: QPainter, at: QPoint, name: str, tint: QColor, side: int) -> None:
        if self._icons is not None and name:
            ratio = painter.device().devicePixelRatioF()
            painter.drawPixmap(at, self._icons.pixmap(name, side, tint, ratio))


def _draw_right(painter: QPainter, slot: QRect, metrics: QFontMetrics, label: str) -> int:
    """At the end of `slot`, in half of it at the most; returns how wide it is."""
    text = metrics.elidedText(label, Qt.TextElideMode.ElideRight, slot.width() // 2)
    painter.drawText(slot, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)
    return metrics.horizontalAdvance(text)


class _TwoLineColours:
    """The row's colours on its own background, selected or not."""

    def __init__(self, option: QStyleOptionViewItem) -> None:
        theme = theme_of(option.palette)
        self.text, self.dim, self._back = theme.text, theme.dim, theme.base
        if option.state & QStyle.StateFlag.State_Selected:
            active = option.state & QStyle.StateFlag.State_Active
            group = QPalette.ColorGroup.Active if active else QPalette.ColorGroup.Inactive
            self._back = option.palette.color(group, QPalette.ColorRole.Highlight)
            chosen = option.palette.color(group, QPalette.ColorRole.HighlightedText)
            self.text = readable(chosen, self._back)
            self.dim = dimmed(self.text, self._back)
        self._theme = theme

    def sign(self, name: str, *, grave: bool = False) -> QColor:
        theme = self._theme
        tints = {"check": theme.good, "warning": theme.warn, "pin": theme.accent}
        tint = theme.bad if grave else tints.get(name, self.dim)
        return readable(tint, self._back, SIGN_CONTRAST)


# Rows change by the smallest steps, so that the selection stays while others come and go.


VALUE = TwoLineDelegate.ROLE + 1
"""The role of the value itself."""
_SPOKEN = (int(Qt.ItemDataRole.DisplayRole), int(Qt.ItemDataRole.AccessibleTextRole))
_TOOLTIP = int(Qt.ItemDataRole.ToolTipRole)


def two_line_list(name: str) -> QListWidget:
    """A list whose items have `TwoLines`, never scrolled sideways. `name`: its accessible name."""
    made = QListWidget()
    made.setItemDelegate(TwoLineDelegate(made))
    made.setUniformItemSizes(True)
    made.setAccessibleName(name)
    made.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    return made


class LineModel(NodeModel):
    """Values, one a row. Subclasses say what one looks like."""

    def look(self, value: Any) -> TwoLines:
        """What a row shows of its value."""
        raise NotImplementedError

    def spoken(self, value: Any) -> str:
        """A row as it is read aloud."""
        raise NotImplementedError

    def tooltip(self, value: Any) -> str:
        """The tool tip of a row; empty for none."""
        raise NotImplementedError

    def value(self, node: RowNode, role: int) -> Any:
        """As `NodeModel.value`, out of `look`, `spoken` and `tooltip`."""
        if role == TwoLineDelegate.ROLE:
            return self.look(node.data)
        if role == VALUE:
            return node.data
        if role in _SPOKEN:
            return self.spoken(node.data)
        return self.tooltip(node.data) if role == _TOOLTIP else None


class LineList(QListView):
    """`picked(value | None)`; `opened(value)`: a double click or Enter."""

    picked = Signal(object)
    opened = Signal(object)

    def __init__(
        self, rows: LineModel, icons: Icons, parent: QWidget | None = None, *, right_from: int = 0
    ) -> None:
        """`right_from`: how wide a row must be to show what stands at its right."""
        super().__init__(parent)
        self.rows = rows
        # What the rows were called when they were set last.
        self._names: list[str] = []
        rows.setParent(self)
        self.setModel(rows)
        self.setItemDelegate(TwoLineDelegate(self, icons, right_from=right_from))
        self.setUniformItemSizes(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.selectionModel().currentChanged.connect(self._on_current)
        self.activated.connect(self._on_activated)

    @property
    def current_value(self) -> Any:
        """The value of the current row; None for no row."""
        return self.rows.data(self.currentIndex(), VALUE)

    @property
    def values(self) -> tuple[Any, ...]:
        return tuple(child.data for child in self.rows.tree.children)

    def set_values(self, keyed: Iterable[tuple[str, Any]]) -> None:
        """These rows, each with the key it is known by; a key that comes again gets a number."""
        found = list(keyed)
        names, children = [name for name, _value in found], self.rows.tree.children
        if names == self._names and len(children) == len(names):
            # The same rows: with thousands of them, to look each of them up is felt while one types.
            nodes = tuple(
                child if child.data is value else shared(child, child.key, value)
                for child, (_name, value) in zip(children, found, strict=True)
            )
        else:
            nodes = _nodes({child.key: child for child in children}, found)
        self._names = names
        self.rows.set_tree(RowNode("", None, nodes))

    @Slot(QModelIndex, QModelIndex)
    def _on_current(self, _now: QModelIndex, _before: QModelIndex) -> None:
        self.picked.emit(self.current_value)

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        value = self.rows.data(index, VALUE)
        if value is not None:
            self.opened.emit(value)


def _nodes(known: Mapping[str, RowNode], found: Iterable[tuple[str, Any]]) -> tuple[RowNode, ...]:
    seen: dict[str, int] = {}
    nodes = []
    for name, value in found:
        count = seen[name] = seen.get(name, 0) + 1
        key = f"{name} {count}"
        nodes.append(shared(known.get(key), key, value))
    return tuple(nodes)


# Tree rows: sign, name, dim detail, then marks and use figures at the right edge, all from one `RowLook`.
# In a narrow tree the use figures go first, then the description, never the name or the marks.


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
            (
                look.pinned or look.pin_unknown,
                "pin",
                colours.dim if look.pin_unknown else colours.accent,
            ),
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
    """Draw a full dot, half a dot, a dotted ring for a line in an index, or a ring for a name."""
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
        """New is green, deleted is red, changed is as the text."""
        return {"N": self.good, "D": self.bad}.get(letter, self.name)


def _centred(area: QRect, height: int) -> int:
    return area.top() + (area.height() - height) // 2
