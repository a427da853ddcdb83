"""The list of what is loaded and what is not: two lines a row, a sign for in or out, marks and figures at the
right edge.

Rows change by the smallest steps, so that what is selected stays selected while figures change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFontMetrics, QPainter, QPalette
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from reverie.context.view import Entry
from reverie.ui.context import words
from reverie.ui.icons import Icons
from reverie.ui.memory.finding_words import headline
from reverie.ui.node_model import NodeModel
from reverie.ui.rows import Node, shared
from reverie.ui.shown import as_tooltip, visible
from reverie.ui.theme import GAP, SIGN_CONTRAST, UNIT, CalmSelection, dimmed, readable, tabular, theme_of

ENTRY = int(Qt.ItemDataRole.UserRole) + 1
_DISPLAY = int(Qt.ItemDataRole.DisplayRole)
_ACCESSIBLE = int(Qt.ItemDataRole.AccessibleTextRole)
_TOOLTIP = int(Qt.ItemDataRole.ToolTipRole)
_SIGN = 16
_WIDE = 420


def spoken(entry: Entry) -> str:
    """A row as it is read aloud."""
    return ", ".join(_words_of(entry))


def _words_of(entry: Entry) -> Iterator[str]:
    yield visible(words.short(entry.path))
    yield words.state(entry)
    yield words.reason(entry)
    yield from (said for said in (words.score(entry), words.amount(entry)) if said)
    if entry.marks:
        yield words.tr("needs a look")


class EntryModel(NodeModel):
    """The entries of one part."""

    def value(self, node: Node, role: int) -> Any:
        entry: Entry = node.data
        if role == ENTRY:
            return entry
        if role in (_DISPLAY, _ACCESSIBLE):
            return spoken(entry)
        if role == _TOOLTIP:
            marks = map(headline, entry.marks)
            return as_tooltip(entry.path, *([entry.description] if entry.description else []), *marks)
        return None


class EntryList(QListView):
    """`picked(Entry | None)`; `opened(Entry)`: a double click or Enter."""

    picked = Signal(object)
    opened = Signal(object)

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.entries = EntryModel(self)
        self.setModel(self.entries)
        self.setItemDelegate(_EntryDelegate(icons, self))
        self.setAccessibleName(self.tr("What is loaded and what is not"))
        self.setUniformItemSizes(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        CalmSelection(self)
        self.selectionModel().currentChanged.connect(self._on_current)
        self.activated.connect(self._on_activated)

    @property
    def current(self) -> Entry | None:
        found: Entry | None = self.entries.data(self.currentIndex(), ENTRY)
        return found

    def show_entries(self, found: Sequence[Entry]) -> None:
        """Show them; the selection stays on its file while that is among them."""
        before = self.current
        known = {child.key: child for child in self.entries.tree.children}
        rows = tuple(shared(known.get(key), key, entry) for key, entry in _keyed(found))
        self.entries.set_tree(Node("", None, rows))
        if self.current != before:
            self.picked.emit(self.current)

    @Slot(QModelIndex, QModelIndex)
    def _on_current(self, _now: QModelIndex, _before: QModelIndex) -> None:
        self.picked.emit(self.current)

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        entry = self.entries.data(index, ENTRY)
        if entry is not None:
            self.opened.emit(entry)


def _keyed(found: Sequence[Entry]) -> Iterator[tuple[str, Entry]]:
    """Keys that are unique even where one file is told of twice."""
    seen: dict[str, int] = {}
    for entry in found:
        count = seen[entry.path] = seen.get(entry.path, 0) + 1
        yield f"{entry.path} {count}", entry


class _EntryDelegate(QStyledItemDelegate):
    """Draws an `Entry`."""

    def __init__(self, icons: Icons, parent: QObject) -> None:
        super().__init__(parent)
        self._icons = icons

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(80, 2 * QFontMetrics(option.font).height() + 2 * UNIT + 2)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        view = option.widget
        view.style().drawPrimitive(QStyle.PrimitiveElement.PE_PanelItemViewItem, option, painter, view)
        entry: Entry | None = index.data(ENTRY)
        if entry is None:
            return
        theme = theme_of(option.palette)
        text, dim, back = theme.text, theme.dim, theme.base
        if option.state & QStyle.StateFlag.State_Selected:
            active = option.state & QStyle.StateFlag.State_Active
            group = QPalette.ColorGroup.Active if active else QPalette.ColorGroup.Inactive
            back = option.palette.color(group, QPalette.ColorRole.Highlight)
            text = readable(option.palette.color(group, QPalette.ColorRole.HighlightedText), back)
            dim = dimmed(text, back)
        tints = {"check": theme.good, "warning": theme.warn, "flag": theme.warn, "pin": theme.accent}
        ratio = painter.device().devicePixelRatioF()

        def sign(name: str, left: int, top: int) -> None:
            tint = readable(tints.get(name, dim), back, SIGN_CONTRAST)
            painter.drawPixmap(left, top, self._icons.pixmap(name, _SIGN, tint, ratio))

        painter.save()
        painter.setFont(tabular(option.font))
        metrics = QFontMetrics(painter.font())
        area = option.rect.adjusted(GAP, UNIT, -GAP, -UNIT)
        sign({"in": "check", "cut": "warning", "out": "close"}[entry.state], area.left(), area.top())
        area.setLeft(area.left() + _SIGN + GAP)
        upper = QRect(area.left(), area.top(), area.width(), metrics.height())
        lower = upper.translated(0, metrics.height() + 1)
        right = upper.right()
        for name, wanted in (("pin", entry.pinned), ("flag", bool(entry.marks))):
            if wanted:
                right -= _SIGN
                sign(name, right, upper.top())
                right -= UNIT
        upper.setRight(right)
        painter.setPen(dim)
        if option.rect.width() >= _WIDE:
            for slot, said in ((upper, words.score(entry)), (lower, words.amount(entry))):
                painter.drawText(slot, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, said)
                if said:
                    slot.setRight(slot.right() - metrics.horizontalAdvance(said) - GAP)
        below = words.reason(entry)
        if entry.description:
            below += f" · {visible(entry.description)}"
        painter.drawText(lower, 0, metrics.elidedText(below, Qt.TextElideMode.ElideRight, lower.width()))
        painter.setPen(dim if entry.state == "out" else text)
        name = metrics.elidedText(
            visible(words.short(entry.path)), Qt.TextElideMode.ElideMiddle, upper.width()
        )
        painter.drawText(upper, 0, name)
        painter.restore()
