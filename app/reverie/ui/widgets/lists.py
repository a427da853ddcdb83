"""Lists with rows of two lines, over a `NodeModel`.

A view supplies a value for each row, and a model that returns the texts of a value. Threading: GUI thread;
nothing is read here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPalette
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QListWidget,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from reverie.ui.appearance import GAP, MARGIN, SIGN_CONTRAST, UNIT, dimmed, readable, tabular, theme_of
from reverie.ui.display_text import as_tooltip
from reverie.ui.icons import Icons
from reverie.ui.metrics import icon_size, row_height, two_line_height
from reverie.ui.tree.node_model import NodeModel
from reverie.ui.tree.rows import RowNode, shared
from reverie.values import Struct

Cut = Literal["middle", "end"]
"""The place at which a text is elided if it does not fit: the middle for names, the end for sentences."""
_CUTS = {"middle": Qt.TextElideMode.ElideMiddle, "end": Qt.TextElideMode.ElideRight}


class TwoLines(Struct, frozen=True):
    """The texts and icons of a row of two lines. The texts must be safe to draw."""

    title: str
    """The upper line."""
    below: str
    """The lower line."""
    right: str = ""
    """The text at the end of the upper line."""
    quiet: bool = False
    """True to draw the title in a less visible colour."""
    sign: str = ""
    """The name of the icon at the left; empty for none.

    A list with icons reserves their space on every row.
    """
    right_below: str = ""
    """The text at the end of the lower line."""
    grave: bool = False
    """True to draw the icon in the colour of errors."""
    marks: tuple[str, ...] = ()
    """The names of icons at the end of the upper line, from the right edge inwards."""
    cut: Cut = "middle"
    """Where the upper line is shortened if it does not fit."""
    cut_below: Cut = "middle"
    """Where the lower line is shortened if it does not fit."""


def follow_pointer(view: QWidget) -> None:
    """Make `view` highlight the row under the mouse pointer."""
    if isinstance(view, QAbstractItemView):
        view.viewport().setAttribute(Qt.WidgetAttribute.WA_Hover)


class RowHeightDelegate(QStyledItemDelegate):
    """A delegate that gives the rows of a tree the height that rows have in other lists."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(super().sizeHint(option, index).width(), row_height(option.font))


class TwoLineDelegate(QStyledItemDelegate):
    """A delegate that paints rows of two lines; the role `ROLE` of an item must return its `TwoLines`."""

    ROLE = int(Qt.ItemDataRole.UserRole) + 1

    def __init__(self, view: QWidget, icons: Icons | None = None, *, right_from: int = 0) -> None:
        """Create the delegate for `view`.

        `icons`: needed if rows have icons. `right_from`: the width of a row, in pixels, from which the texts
        at its right edge are shown.
        """
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
    """Draw `label` at the right edge of `slot`, using at most half of it; return its width in pixels."""
    text = metrics.elidedText(label, Qt.TextElideMode.ElideRight, slot.width() // 2)
    painter.drawText(slot, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)
    return metrics.horizontalAdvance(text)


class _TwoLineColours:
    """The colours of the texts and icons in a row, which depend on whether the row is selected."""

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


VALUE = TwoLineDelegate.ROLE + 1
"""The role under which the model returns the value of a row."""
_SPOKEN = (int(Qt.ItemDataRole.DisplayRole), int(Qt.ItemDataRole.AccessibleTextRole))
_TOOLTIP = int(Qt.ItemDataRole.ToolTipRole)


def two_line_list(name: str) -> QListWidget:
    """Return an empty list for items with `TwoLines`; it never scrolls horizontally.

    `name` is its accessible name.
    """
    made = QListWidget()
    made.setItemDelegate(TwoLineDelegate(made))
    made.setUniformItemSizes(True)
    made.setAccessibleName(name)
    made.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    return made


class LineModel(NodeModel):
    """A model of a list with one value per row.

    A subclass defines how the row of a value looks.
    """

    def look(self, value: Any) -> TwoLines:
        """Return the texts and icons of the row of `value`. To be overridden."""
        raise NotImplementedError

    def spoken(self, value: Any) -> str:
        """Return the text that a screen reader reads for the row of `value`: by default, its four texts."""
        look = self.look(value)
        return ", ".join(filter(None, (look.title, look.right, look.below, look.right_below)))

    def tooltip(self, value: Any) -> str:
        """Return the tool tip of the row of `value`: by default, its two lines in full."""
        look = self.look(value)
        return as_tooltip(look.title, look.below)

    def value(self, node: RowNode, role: int) -> Any:
        """Return what Qt shows for a row in a role, as `look`, `spoken` and `tooltip` define it."""
        if role == TwoLineDelegate.ROLE:
            return self.look(node.data)
        if role == VALUE:
            return node.data
        if role in _SPOKEN:
            return self.spoken(node.data)
        return self.tooltip(node.data) if role == _TOOLTIP else None


class LineList(QListView):
    """A list over a `LineModel`.

    Signals:
        picked(object): The current row has changed: its value, or None if there is none.
        opened(object): The user double-clicked a row or pressed Enter on it: its value.
    """

    picked = Signal(object)
    opened = Signal(object)

    def __init__(self, rows: LineModel, icons: Icons, name: str, *, right_from: int = 0) -> None:
        """Create the list.

        `name`: its accessible name. `right_from`: the width of a row, in pixels, from which the texts at its
        right edge are shown.
        """
        super().__init__()
        self.setAccessibleName(name)
        self.rows = rows
        # The keys of the rows when they were last set.
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
        """The value of the current row, or None."""
        return self.rows.data(self.currentIndex(), VALUE)

    @property
    def values(self) -> tuple[Any, ...]:
        return tuple(child.data for child in self.rows.tree.children)

    def set_values(self, keyed: Iterable[tuple[str, Any]]) -> None:
        """Show one row for each (key, value) pair, however many, in this order; unchanged rows stay.

        A row with the same key keeps the selection. If a key occurs several times, its rows are numbered.
        """
        found = list(keyed)
        names, children = [name for name, _value in found], self.rows.tree.children
        if names == self._names and len(children) == len(names):
            # The same rows: looking up thousands of them would be noticeable while typing.
            nodes = tuple(
                child if child.data is value else shared(child, child.key, value)
                for child, (_name, value) in zip(children, found, strict=True)
            )
        else:
            nodes = _nodes({child.key: child for child in children}, found)
        self._names = names
        self.rows.set_tree(RowNode("", None, nodes))
        self.rows.reveal_more(everything=True)

    def show_values(self, keyed: Iterable[tuple[str, Any]]) -> None:
        """Show these rows, as `set_values` does; emit `picked` if the value of the current row is another."""
        before = self.current_value
        self.set_values(keyed)
        if self.current_value != before:
            self.picked.emit(self.current_value)

    def pick(self, key: str) -> None:
        """Make the first row that was set with this key the current one and scroll to it, if there is one."""
        index = self.rows.index_of((f"{key} 1",))
        if index.isValid():
            self.setCurrentIndex(index)
            self.scrollTo(index)

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
