"""An item model over an immutable tree of `rows.RowNode`, with one column, updated by the smallest changes.

Each shown node has a row object here, whose int id is stored in the Qt index. (A Python object in an index
would not be kept alive by Qt.) Ids are never reused. Rows change only between Qt's begin and end calls.

A level is the children of one node. Its row objects are created when it is first queried. It shows only a
limited number of rows, until `reveal_more` or `index_of(..., reveal=True)` raises the limit, because a view
queries every row of an open level on each change.

Threading: GUI thread only. Trees are built elsewhere and passed in whole; no method reads a file. Failure
policy: an error in `value` is raised once, and then the model shows nothing; otherwise every repaint would
raise it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from reverie.ui.tree.rows import Insert, Move, Remove, RowNode, steps

AnyIndex = QModelIndex | QPersistentModelIndex

BATCH = 500
# A view needs as long for one row as for a thousand: more runs of changed rows than this are emitted as one.
MOST_RANGES = 8
_NOWHERE = QModelIndex()
# Flags are queried per row, and enum arithmetic takes microseconds each time, so they are computed once.
LEAF_FLAGS = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren
BRANCH_FLAGS = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
NOTICE_FLAGS = Qt.ItemFlag.ItemNeverHasChildren
NO_FLAGS = Qt.ItemFlag.NoItemFlags


class _ModelRow:
    """The row object of one node.

    `children` is None until a child is requested. `count` is the number of children that are shown, `limit`
    the largest number of them that may be shown.
    """

    __slots__ = ("children", "count", "id", "limit", "node", "parent", "row")

    def __init__(self, id_: int, node: RowNode, parent: _ModelRow | None, row: int) -> None:
        self.id = id_
        self.node = node
        self.parent = parent
        self.row = row
        self.limit = BATCH
        self.count = min(len(node.children), BATCH)
        self.children: list[_ModelRow] | None = None


class NodeModel(QAbstractItemModel):
    """A Qt model that shows the nodes below a root node.

    Of the children of a row, at most `BATCH` are shown at first; `reveal_more` raises this limit. Subclasses
    define the appearance and the flags of rows in `value` and `node_flags`.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._next_id = 1
        self._rows: dict[int, _ModelRow] = {}
        self._root = _ModelRow(0, RowNode("", None), None, 0)
        self._broken = False
        self._updating = False

    def value(self, node: RowNode, role: int) -> Any:
        """Return what Qt shows for a node in a role, such as its text; None for an unknown role.

        To be overridden. An override must be cheap, never raise and do no I/O.
        """
        return node.key if role == int(Qt.ItemDataRole.DisplayRole) else None

    def node_flags(self, node: RowNode) -> Qt.ItemFlag:
        """Return the Qt flags of the row of a node, such as selectable. To be overridden."""
        return BRANCH_FLAGS if node.children else LEAF_FLAGS

    @property
    def tree(self) -> RowNode:
        return self._root.node

    def set_tree(self, tree: RowNode) -> None:
        """Show `tree` with as few changes of rows as possible, so that selection and expansion survive.

        Persistent indexes stay valid too.
        """
        self._updating = True
        try:
            self._update_children(self._root, tree)
            self._root.node = tree
        except BaseException:
            self.reset_tree(tree)  # the bug is raised, but the rows shown are right
            raise
        finally:
            self._updating = False

    def reset_tree(self, tree: RowNode) -> None:
        """Show a tree that is not an update of the shown one; this resets the model."""
        self.beginResetModel()
        self._rows.clear()
        self._root = _ModelRow(0, tree, None, 0)
        self._broken = False
        self.endResetModel()

    def node(self, index: AnyIndex) -> RowNode | None:
        """Return the node of the row at `index`; None for an invalid or outdated index."""
        row = self._rows.get(index.internalId()) if index.isValid() else None
        return row.node if row is not None else None

    def keys(self, index: AnyIndex) -> tuple[str, ...]:
        """Return the keys from the root to the row at `index`; empty for an invalid index."""
        path: list[str] = []
        row = self._rows.get(index.internalId()) if index.isValid() else None
        while row is not None and row.parent is not None:
            path.append(row.node.key)
            row = row.parent
        return tuple(reversed(path))

    def index_of(self, keys: Sequence[str], *, reveal: bool = False, made: bool = False) -> QModelIndex:
        """Return the index of the row that `keys` lead to from the root; an invalid index if there is none.

        `reveal`: also find a row that is hidden by the limit of shown rows, and raise the limit to show it.
        `made`: search only among rows that a view has queried already. While `set_tree` runs, no limit is
        raised.
        """
        level = self._root
        for key in keys:
            if made and level.children is None:
                return QModelIndex()
            found = next((row for row in self._children(level) if row.node.key == key), None)
            if found is None and reveal and not self._updating:
                place = next((at for at, child in enumerate(level.node.children) if child.key == key), None)
                if place is not None:
                    self._raise_limit(level, place + 1)
                    found = self._children(level)[place]
            if found is None:
                return QModelIndex()
            level = found
        return self._index(level)

    def hidden_rows(self, index: AnyIndex = _NOWHERE) -> int:
        """Return the number of children of `index` that are hidden by the limit of shown rows."""
        row = self._row(index)
        return len(row.node.children) - row.count if row is not None else 0

    def reveal_more(self, index: AnyIndex = _NOWHERE, *, everything: bool = False) -> None:
        """Show one more batch of the children of `index`, or all of them with `everything`."""
        row = self._row(index)
        if row is not None:
            self._raise_limit(row, len(row.node.children) if everything else row.count + BATCH)

    def walk(self, index: AnyIndex = _NOWHERE) -> Iterator[QModelIndex]:
        """Yield the index of every shown row below `index`, each before its children."""
        for place in range(self.rowCount(index)):
            child = self.index(place, 0, index)
            yield child
            yield from self.walk(child)

    # QAbstractItemModel

    def rowCount(self, parent: AnyIndex = _NOWHERE) -> int:
        row = self._row(parent)
        return row.count if row is not None else 0

    def columnCount(self, parent: AnyIndex = _NOWHERE) -> int:
        return 1

    def hasChildren(self, parent: AnyIndex = _NOWHERE) -> bool:
        row = self._row(parent)
        return row is not None and row.count > 0

    def index(self, row: int, column: int = 0, parent: AnyIndex = _NOWHERE) -> QModelIndex:
        level = self._row(parent)
        if level is None or column != 0 or not 0 <= row < level.count:
            return QModelIndex()
        return self.createIndex(row, 0, self._children(level)[row].id)

    # Qt has an overload without arguments, which PySide's stubs cannot express.
    def parent(self, child: AnyIndex = _NOWHERE) -> QModelIndex:  # type: ignore[override]
        row = self._rows.get(child.internalId()) if child.isValid() else None
        if row is None or row.parent is None or row.parent is self._root:
            return QModelIndex()
        return self.createIndex(row.parent.row, 0, row.parent.id)

    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        row = self._rows.get(index.internalId()) if index.isValid() else None
        return self.node_flags(row.node) if row is not None else NO_FLAGS

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self._rows.get(index.internalId()) if index.isValid() else None
        if row is None or self._broken:
            return None
        try:
            return self.value(row.node, role)
        except Exception:
            self._broken = True
            raise

    def touch(self, index: QModelIndex) -> None:
        """Make the views repaint the row at `index` although its node has not changed."""
        if index.isValid():
            self.dataChanged.emit(index, index)

    def touch_all(self) -> None:
        """Make the views repaint all rows.

        One signal is emitted for the children of each row, as far as a view has queried them.
        """
        for level in [self._root, *self._rows.values()]:
            if level.children:
                self._tell(level.children, 0, len(level.children) - 1)

    def _tell(self, rows: list[_ModelRow], first: int, last: int) -> None:
        self.dataChanged.emit(self._index(rows[first]), self._index(rows[last]))

    def _row(self, index: AnyIndex) -> _ModelRow | None:
        if not index.isValid():
            return self._root
        return self._rows.get(index.internalId()) if index.column() == 0 else None

    def _index(self, row: _ModelRow) -> QModelIndex:
        return QModelIndex() if row is self._root else self.createIndex(row.row, 0, row.id)

    def _new_row(self, node: RowNode, parent: _ModelRow, place: int) -> _ModelRow:
        row = _ModelRow(self._next_id, node, parent, place)
        self._rows[row.id] = row
        self._next_id += 1
        return row

    def _children(self, level: _ModelRow) -> list[_ModelRow]:
        if level.children is None:
            shown = level.node.children[: level.count]
            level.children = [self._new_row(node, level, place) for place, node in enumerate(shown)]
        return level.children

    def _forget(self, row: _ModelRow) -> None:
        self._rows.pop(row.id, None)
        for child in row.children or ():
            self._forget(child)

    def _raise_limit(self, level: _ModelRow, count: int) -> None:
        if self._updating:
            return  # its rows are being replaced: more rows of the old node would be wrong
        level.limit = max(level.limit, count)
        target = min(len(level.node.children), level.limit)
        if target <= level.count:
            return
        self.beginInsertRows(self._index(level), level.count, target - 1)
        if level.children is not None:
            fresh = level.node.children[level.count : target]
            level.children += [self._new_row(node, level, level.count + at) for at, node in enumerate(fresh)]
        level.count = target
        self.endInsertRows()

    def _update_children(self, level: _ModelRow, node: RowNode) -> None:
        """Replace the children of the row `level` by those of `node`, with the signals that Qt needs.

        The caller then sets `level.node` to `node`.
        """
        if level.node.children is node.children:
            return
        target = min(len(node.children), level.limit)
        if level.children is None:
            self._update_count(level, node, target)
            return
        wanted = node.children[:target]
        for step in steps([row.node.key for row in level.children], [child.key for child in wanted]):
            self._replay(level, level.children, step, wanted)
        changed: list[int] = []
        for place, (row, child) in enumerate(zip(level.children, wanted, strict=True)):
            if row.node is child:
                continue
            self._update_children(row, child)
            if row.node.data != child.data:
                changed.append(place)
            row.node = child
        # Rows beyond the limit are read from the node, so it must be set before any signal is emitted.
        level.node = RowNode(level.node.key, level.node.data, node.children)
        ranges = list(_ranges(changed))
        if len(ranges) > MOST_RANGES:
            ranges = [(changed[0], changed[-1])]
        for first, last in ranges:
            self._tell(level.children, first, last)

    def _update_count(self, level: _ModelRow, node: RowNode, target: int) -> None:
        """Set the node of the row `level` to `node`, and the number of its shown children to `target`.

        Call this only if no view has queried the children yet. Then they have no row objects, so Qt is only
        told that rows were added or removed at the end.
        """
        index, count = self._index(level), level.count
        if target < count:
            self.beginRemoveRows(index, target, count - 1)
        elif target > count:
            self.beginInsertRows(index, count, target - 1)
        level.node = RowNode(level.node.key, level.node.data, node.children)
        level.count = target
        if target < count:
            self.endRemoveRows()
        elif target > count:
            self.endInsertRows()

    def _replay(
        self, level: _ModelRow, rows: list[_ModelRow], step: Remove | Insert | Move, wanted: Sequence[RowNode]
    ) -> None:
        index = self._index(level)
        match step:
            case Remove(first, last):
                self.beginRemoveRows(index, first, last)
                for row in rows[first : last + 1]:
                    self._forget(row)
                del rows[first : last + 1]
                self._renumber(level, rows, first)
                self.endRemoveRows()
            case Insert(place, source_first, source_last):
                fresh = wanted[source_first : source_last + 1]
                self.beginInsertRows(index, place, place + len(fresh) - 1)
                rows[place:place] = [self._new_row(node, level, place) for node in fresh]
                self._renumber(level, rows, place)
                self.endInsertRows()
            case Move(row_number, before):
                if not self.beginMoveRows(index, row_number, row_number, index, before):
                    raise RuntimeError(f"Qt refused to move row {row_number} before {before}")
                row = rows.pop(row_number)
                rows.insert(before if before < row_number else before - 1, row)
                self._renumber(level, rows, min(row_number, before))
                self.endMoveRows()

    def _renumber(self, level: _ModelRow, rows: list[_ModelRow], start: int) -> None:
        for place in range(start, len(rows)):
            rows[place].row = place
        level.count = len(rows)


def _ranges(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last number of each run of consecutive numbers in `places`."""
    first: int | None = None
    last = -1
    for place in places:
        if first is None:
            first = last = place
        elif place == last + 1:
            last = place
        else:
            yield first, last
            first = last = place
    if first is not None:
        yield first, last
