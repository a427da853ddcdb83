"""The document as it is: a tree that asks for members as it is opened, and a search with its hits.

Reading and searching (`document`) happen in jobs. Threading: GUI thread.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from PySide6.QtCore import (
    QAbstractItemModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QPushButton,
    QSplitter,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from reverie.agent.dump_source import Node, Source
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl
from reverie.ui.search_field import SearchField
from reverie.ui.shown import visible, visible_lines
from reverie.ui.theme import GAP, CalmSelection, monospace
from reverie.ui.traces.document import MOST_HITS, Hit, Piece, full_text, read_page, search
from reverie.ui.traces.feed import TraceFeed
from reverie.ui.translation import counted

Index = QModelIndex | QPersistentModelIndex


@dataclass(slots=True, eq=False)
class Item:
    """One member in the tree. `children` None: not read yet; `more`: there are some beyond those read."""

    node: Node
    preview: str
    parent: Item | None
    row: int
    children: list[Item] = field(default_factory=list)
    more: bool = True
    loading: bool = False


class RawModel(QAbstractItemModel):
    """The members that were read so far; asks `feed`'s lane for more."""

    def __init__(self, feed: TraceFeed, parent: QObject) -> None:
        super().__init__(parent)
        self._feed = feed
        self._source: Source | None = None
        self._root: Item | None = None
        self._generation = 0

    def show_document(self, source: Source | None, root: Node | None) -> None:
        self.beginResetModel()
        self._generation += 1
        self._source = source
        self._root = Item(root, "", None, 0) if root is not None else None
        self.endResetModel()

    def node_at(self, index: Index) -> Node | None:
        """The part of the document that a row shows; None for no row."""
        item = self._item(index)
        return item.node if item is not None else None

    def index_of(self, path: tuple[Node, ...]) -> QModelIndex:
        """The line of the last node of `path` that was read already."""
        item, index = self._root, QModelIndex()
        for node in path[1:]:
            found = next((child for child in item.children if child.node == node), None) if item else None
            if found is None:
                break
            item, index = found, self.createIndex(found.row, 0, found)
        return index

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        item = self._item(parent)
        return len(item.children) if item is not None and parent.column() <= 0 else 0

    def columnCount(self, _parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 2

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008 - Qt's own signature
        item = self._item(parent)
        return item is not None and item.node.is_container and item.node.size > 2 and parent.column() <= 0

    def canFetchMore(self, parent: Index) -> bool:
        item = self._item(parent)
        return item is not None and item.node.is_container and item.more and not item.loading

    def fetchMore(self, parent: Index) -> None:
        item = self._item(parent)
        if item is None or item.loading or not item.more or self._source is None:
            return
        item.loading = True
        source, node, skip, generation = self._source, item.node, len(item.children), self._generation

        def work(_control: JobControl) -> tuple[tuple[Piece, ...], bool]:
            from reverie.errors import mendable_from_os

            try:
                return read_page(source, node, skip)
            except OSError as error:
                raise mendable_from_os(error, "The trace was not read.") from error

        self._feed.submit("open a part", work, done=partial(self._take, item, generation))

    def _take(self, item: Item, generation: int, found: tuple[tuple[Piece, ...], bool]) -> None:
        if generation != self._generation:
            return
        pieces, item.more = found
        item.loading = False
        if not pieces:
            return
        first = len(item.children)
        parent = QModelIndex() if item.parent is None else self.createIndex(item.row, 0, item)
        self.beginInsertRows(parent, first, first + len(pieces) - 1)
        item.children += [
            Item(piece.node, piece.preview, item, first + place) for place, piece in enumerate(pieces)
        ]
        self.endInsertRows()

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        item = self._item(parent)
        if item is None or not 0 <= row < len(item.children) or not 0 <= column < 2:
            return QModelIndex()
        return self.createIndex(row, column, item.children[row])

    def parent(self, index: Any = None) -> Any:
        if index is None:
            return super().parent()
        item = index.internalPointer() if index.isValid() else None
        above = item.parent if isinstance(item, Item) else None
        if above is None or above.parent is None:
            return QModelIndex()
        return self.createIndex(above.row, 0, above)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        item = self._item(index)
        if item is None or role != Qt.ItemDataRole.DisplayRole:
            return None
        return visible(str(item.node.key) if index.column() == 0 else item.preview)

    def headerData(self, section: int, _orientation: Qt.Orientation, role: int = 0) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return (self.tr("Name"), self.tr("Value"))[section]
        return None

    def _item(self, index: Index) -> Item | None:
        if not index.isValid():
            return self._root
        item = index.internalPointer()
        return item if isinstance(item, Item) else None


class RawView(QWidget):
    """The tree, the value of the selected member, and a search with its hits."""

    failed = Signal(object)

    def __init__(self, feed: TraceFeed, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._feed = feed
        self._source: Source | None = None
        self._root: Node | None = None
        self.hits: tuple[Hit, ...] = ()
        self.model = RawModel(feed, self)
        self.tree = QTreeView()
        self.tree.setModel(self.model)
        self.tree.setUniformRowHeights(True)
        self.tree.setAccessibleName(self.tr("Raw document"))
        self.tree.header().resizeSection(0, 220)
        CalmSelection(self.tree)
        self.tree.selectionModel().currentChanged.connect(self._on_current)
        self.needle = SearchField(self.tr("Search in this trace, then press Enter"))
        self.needle.returnPressed.connect(self._search)
        self.found = QLabel()
        self.copy = QPushButton(icons.icon("copy"), self.tr("&Copy value"))
        self.copy.clicked.connect(self._copy)
        self.list = QListWidget()
        self.list.setAccessibleName(self.tr("Where it stands"))
        self.list.setUniformItemSizes(True)
        self.list.hide()
        CalmSelection(self.list)
        self.list.currentRowChanged.connect(self._on_hit)
        self.value = QPlainTextEdit()
        self.value.setReadOnly(True)
        self.value.setFont(monospace())
        self.value.setAccessibleName(self.tr("Value"))
        self._lay_out()

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(GAP)
        row.addWidget(self.needle, 1)
        row.addWidget(self.found)
        row.addWidget(self.copy)
        left = QSplitter(Qt.Orientation.Vertical)
        left.addWidget(self.tree)
        left.addWidget(self.list)
        left.setStretchFactor(0, 2)
        self.splitter = QSplitter()
        self.splitter.addWidget(left)
        self.splitter.addWidget(self.value)
        self.splitter.setSizes([520, 420])
        self.splitter.setChildrenCollapsible(False)
        column = QVBoxLayout(self)
        column.setContentsMargins(GAP, GAP, GAP, 0)
        column.setSpacing(GAP)
        column.addLayout(row)
        column.addWidget(self.splitter, 1)

    def show_document(self, source: Source | None, root: Node | None) -> None:
        self._source, self._root = source, root
        self._show_hits(())
        self.found.clear()
        self.list.hide()
        self.value.clear()
        self.model.show_document(source, root)
        self.copy.setEnabled(False)

    @Slot()
    def _search(self) -> None:
        source, root, needle = self._source, self._root, self.needle.text()
        if source is None or root is None:
            return

        def work(control: JobControl) -> tuple[Hit, ...]:
            return search(source, root, needle, control.check)

        self._feed.submit("search a trace", work, done=self._on_found, group=f"search {id(self)}")

    def _on_found(self, hits: tuple[Hit, ...]) -> None:
        self._show_hits(hits)
        self.list.setVisible(bool(hits))
        if self.needle.text():
            many = counted(self.tr("1 place"), "%n places", len(hits))
            self.found.setText(self.tr("{n} or more").format(n=many) if len(hits) >= MOST_HITS else many)
        else:
            self.found.clear()

    def _show_hits(self, hits: tuple[Hit, ...]) -> None:
        self.hits = hits
        self.list.blockSignals(True)
        self.list.clear()
        for hit in hits:
            where = " › ".join(visible(str(node.key)) for node in hit.path[1:])
            self.list.addItem(QListWidgetItem(f"{where}:  {visible(hit.excerpt)}"))
        self.list.blockSignals(False)

    @Slot(int)
    def _on_hit(self, row: int) -> None:
        if not 0 <= row < len(self.hits):
            return
        hit = self.hits[row]
        index = self.model.index_of(hit.path)
        if index.isValid():
            self.tree.expand(index)
            self.tree.setCurrentIndex(index)
        self._show_value(hit.path[-1])

    @Slot(QModelIndex)
    def _on_current(self, index: QModelIndex) -> None:
        node = self.model.node_at(index) if index.isValid() else None
        if node is not None:
            self._show_value(node)

    def _show_value(self, node: Node) -> None:
        source = self._source
        if source is None:
            return
        self._feed.submit(
            "read a value",
            lambda _control: full_text(source, node),
            done=self._on_value,
            group=f"value {id(self)}",
        )

    def _on_value(self, text: str) -> None:
        self.value.setPlainText(visible_lines(text))
        self.copy.setEnabled(True)

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.value.toPlainText())
