"""A list of two-line rows over a `NodeModel`: rows change by the smallest steps, so that what is selected
stays selected while others come, go and change.

Rooms say how a value looks (`LineModel`) and which values there are (`LineList.set_values`). Threading: GUI
thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from PySide6.QtCore import QModelIndex, Qt, Signal, Slot
from PySide6.QtWidgets import QListView, QWidget

from reverie.ui.icons import Icons
from reverie.ui.node_model import NodeModel
from reverie.ui.rows import Node, shared
from reverie.ui.two_lines import TwoLineDelegate, TwoLines

VALUE = TwoLineDelegate.ROLE + 1
"""The role of the value itself."""
_SPOKEN = (int(Qt.ItemDataRole.DisplayRole), int(Qt.ItemDataRole.AccessibleTextRole))
_TOOLTIP = int(Qt.ItemDataRole.ToolTipRole)


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

    def value(self, node: Node, role: int) -> Any:
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
        self.rows.set_tree(Node("", None, nodes))

    @Slot(QModelIndex, QModelIndex)
    def _on_current(self, _now: QModelIndex, _before: QModelIndex) -> None:
        self.picked.emit(self.current_value)

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        value = self.rows.data(index, VALUE)
        if value is not None:
            self.opened.emit(value)


def _nodes(known: Mapping[str, Node], found: Iterable[tuple[str, Any]]) -> tuple[Node, ...]:
    seen: dict[str, int] = {}
    nodes = []
    for name, value in found:
        count = seen[name] = seen.get(name, 0) + 1
        key = f"{name} {count}"
        nodes.append(shared(known.get(key), key, value))
    return tuple(nodes)
