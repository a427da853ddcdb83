"""The list of one part of the Failures tab. Rows change by the smallest steps, so that what is selected stays
selected while others come and go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QModelIndex, Qt, Signal, Slot
from PySide6.QtWidgets import QListView, QWidget

from reverie.ui.failures.words import Row
from reverie.ui.icons import Icons
from reverie.ui.memory.two_lines import TwoLineDelegate
from reverie.ui.node_model import NodeModel
from reverie.ui.rows import Node, shared
from reverie.ui.shown import as_tooltip

ROW = TwoLineDelegate.ROLE + 1
_SPOKEN = (int(Qt.ItemDataRole.DisplayRole), int(Qt.ItemDataRole.AccessibleTextRole))


class RowModel(NodeModel):
    """The rows of one part."""

    def value(self, node: Node, role: int) -> Any:
        row: Row = node.data
        if role == TwoLineDelegate.ROLE:
            return row.look
        if role == ROW:
            return row
        if role in _SPOKEN:
            return row.spoken
        return as_tooltip(row.look.title, row.look.below) if role == Qt.ItemDataRole.ToolTipRole else None


class RowList(QListView):
    """`picked(Row | None)`; `opened(Row)`: a double click or Enter."""

    picked = Signal(object)
    opened = Signal(object)

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows = RowModel(self)
        self.setModel(self.rows)
        self.setItemDelegate(TwoLineDelegate(self, icons))
        self.setAccessibleName(self.tr("Failures"))
        self.setUniformItemSizes(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.selectionModel().currentChanged.connect(self._on_current)
        self.activated.connect(self._on_activated)

    @property
    def current(self) -> Row | None:
        found: Row | None = self.rows.data(self.currentIndex(), ROW)
        return found

    @property
    def shown(self) -> tuple[Row, ...]:
        return tuple(child.data for child in self.rows.tree.children)

    def show_rows(self, found: Sequence[Row]) -> None:
        """Show them; the selection stays on its row while that is among them, else it is the first."""
        known = {child.key: child for child in self.rows.tree.children}
        seen: dict[str, int] = {}
        nodes = []
        for row in found:
            count = seen[row.key] = seen.get(row.key, 0) + 1
            key = f"{row.key} {count}"
            nodes.append(shared(known.get(key), key, row))
        self.rows.set_tree(Node("", None, tuple(nodes)))
        if not self.currentIndex().isValid() and found:
            self.setCurrentIndex(self.rows.index(0, 0))
        else:
            self.picked.emit(self.current)

    def pick(self, key: str) -> None:
        """Select the row with this key, if it is there."""
        for number, row in enumerate(self.shown):
            if row.key == key:
                self.setCurrentIndex(self.rows.index(number, 0))
                self.scrollTo(self.currentIndex())

    @Slot(QModelIndex, QModelIndex)
    def _on_current(self, _now: QModelIndex, _before: QModelIndex) -> None:
        self.picked.emit(self.current)

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        row = self.rows.data(index, ROW)
        if row is not None:
            self.opened.emit(row)
