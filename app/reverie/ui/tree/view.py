"""The view of the memory tree. Selection, expansion and scroll position stay when files change.

Expansion is stored by key, so a folder that is removed and created again is open again. If the file of the
selected row disappears, nothing is selected afterwards, because otherwise the editor would show another text.
Only if the user deleted the file in this window, a neighbour is selected.

Threading: GUI thread. Failure: none.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPoint, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QDrag, QKeyEvent, QPainter, QPixmap, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QTreeView, QWidget

from reverie.ui.appearance import GAP, theme_of
from reverie.ui.display_text import things, visible
from reverie.ui.icons import Icons
from reverie.ui.tree.memory_tree import (
    SCOPES,
    FileData,
    FolderData,
    MemoryTree,
    RowData,
    ScopeData,
    path_keys,
    path_of,
)
from reverie.ui.tree.model import PATH_ROLE, MemoryTreeModel
from reverie.ui.tree.name_editor import TreeDelegate, select_stem
from reverie.ui.tree.node_model import AnyIndex

_NEAR_END = 50
_UNFOLDED_AT_ONCE = 300
_TYPE_AHEAD_S = 1.0


Keys = tuple[str, ...]


class MemoryTreeView(QTreeView):
    """The tree of memories in the window.

    Signals:
        picked(object): Another row was selected: its `RowData`, or None.
        opened(object): The user pressed Enter on a row or double-clicked it: its `RowData`.
        name_judged(str): The reason why the name that is being typed cannot be used; empty if it can.
        hidden_wanted(str): The memory at this path is to be selected, but the filter hides it.
    """

    picked = Signal(object)
    opened = Signal(object)
    name_judged = Signal(str)
    hidden_wanted = Signal(str)

    def __init__(self, model: MemoryTreeModel, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._memory = model
        self._replaying = False
        self._opened: set[Keys] = {(scope.value,) for scope in SCOPES}
        self._unfolded: set[Keys] = set()
        """The folders that were opened to show the rows that a filter found."""
        self._unfolding = False
        self._selected: Keys = ()
        self._after_removal: str = ""
        """The path of the row to select once the selected memory is deleted; "" for none."""
        self._typed = ""
        self._typed_at = 0.0
        self.setModel(model)
        delegate = TreeDelegate(icons, self)
        delegate.judged.connect(self.name_judged)
        delegate.closeEditor.connect(self._on_editor_closed)
        self.setItemDelegate(delegate)
        self.setHeaderHidden(True)
        self.setUniformRowHeights(True)
        self.setAccessibleName(self.tr("Memories"))
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragDrop)
        self.setDefaultDropAction(Qt.DropAction.MoveAction)
        self.setAutoExpandDelay(700)
        self.setMouseTracking(True)
        self.expanded.connect(self._on_expanded)
        self.collapsed.connect(self._on_collapsed)
        self.activated.connect(self._on_activated)
        model.rowsInserted.connect(self._on_rows_inserted)
        self.selectionModel().currentChanged.connect(self._on_current_changed)
        self.verticalScrollBar().valueChanged.connect(self._reveal_near_end)

    def startDrag(self, actions: Qt.DropAction) -> None:
        """Start a drag of the selected rows, shown as a label with their name or number.

        Qt itself would draw whole rows, which would cover the drop target.
        """
        drag = self.drag_of_selection()
        if drag is not None:
            drag.exec(actions, self.defaultDropAction())

    def drag_of_selection(self) -> QDrag | None:
        """Return a drag of those selected rows that can be moved; None if there are none."""
        movable = Qt.ItemFlag.ItemIsDragEnabled
        rows = [index for index in self.selectedIndexes() if index.flags() & movable]
        if not rows:
            return None
        name = str(rows[0].data(PATH_ROLE) or "").rpartition("/")[2]
        drag = QDrag(self)
        drag.setMimeData(self._memory.mimeData(rows))
        drag.setPixmap(self._label(visible(name) if len(rows) == 1 else things(len(rows))))
        drag.setHotSpot(QPoint(-2 * GAP, -GAP))
        return drag

    def _label(self, text: str) -> QPixmap:
        theme, metrics = theme_of(self.palette()), self.fontMetrics()
        size = QSize(metrics.horizontalAdvance(text) + 2 * GAP, metrics.height() + GAP)
        pixmap = QPixmap(size * self.devicePixelRatioF())
        pixmap.setDevicePixelRatio(self.devicePixelRatioF())
        pixmap.fill(theme.selected)
        painter = QPainter(pixmap)
        painter.setFont(self.font())
        painter.setPen(theme.text)
        painter.drawText(QRect(QPoint(), size), Qt.AlignmentFlag.AlignCenter, text)
        painter.end()
        return pixmap

    @property
    def memory_model(self) -> MemoryTreeModel:
        """The model that the view shows."""
        return self._memory

    def show_tree(self, tree: MemoryTree, *, other: bool) -> None:
        """Show `tree`. If `other`, it belongs to another context, else it is an update of the shown tree."""
        self._replaying = True
        try:
            if other:
                self._memory.show_other(tree)
                self._restore_expansion()
                self._selected = ()
                self.scrollToTop()
            else:
                self._memory.show_tree(tree)
        finally:
            self._replaying = False
        self._unfold(tree)
        if not other:
            self._restore_selection()
        self._reveal_near_end()

    def _unfold(self, tree: MemoryTree) -> None:
        """Open all folders of a filtered tree, each only once; a folder that the user closes stays closed.

        Without a filter, restore the folders that were open before filtering.
        """
        is_filtered = tree.source is not None and tree.source.arrangement.show != "all"
        if not is_filtered and not self._unfolded:
            return
        self._unfolding = True
        try:
            if is_filtered:
                self._open_folders(tree)
            else:
                for keys in sorted(self._unfolded, key=len, reverse=True):
                    index = self._memory.index_of(keys)
                    if index.isValid():
                        self.setExpanded(index, keys in self._opened)
                self._unfolded.clear()
        finally:
            self._unfolding = False

    def _open_folders(self, tree: MemoryTree) -> None:
        shown = {path_keys(path, folder=True) for path, node in tree.folders.items() if node.children}
        for keys in sorted(shown - self._unfolded, key=len)[:_UNFOLDED_AT_ONCE]:
            self._unfolded.add(keys)
            index = self._memory.index_of(keys)
            if index.isValid():
                self.setExpanded(index, True)

    def data_at(self, index: AnyIndex) -> RowData | None:
        """Return the data of a row; None if the index is invalid."""
        node = self._memory.node(index)
        return node.data if node is not None else None

    def current_rect(self) -> QRect:
        """Return the rectangle of the selected row in the viewport; empty if the row is not visible."""
        shown = self.visualRect(self.currentIndex()) & self.viewport().rect()
        return shown if self.isVisible() else QRect()

    def current_data(self) -> RowData | None:
        """Return the data of the current row, or None if there is no current row."""
        return self.data_at(self.currentIndex())

    def selected_rows(self) -> tuple[RowData, ...]:
        """Return the data of the selected rows, the current row first, the others in no particular order."""
        current = self.currentIndex()
        chosen = self.selectionModel().selectedIndexes()
        indexes = [current, *(index for index in chosen if index != current)] if current in chosen else chosen
        return tuple(data for index in indexes if (data := self.data_at(index)) is not None)

    def edit_name(self) -> None:
        """Open the field for the name in the current row, if the row is a memory or folder."""
        if isinstance(self.current_data(), FileData | FolderData):
            self.scrollTo(self.currentIndex())
            self.edit(self.currentIndex())
            select_stem(self.indexWidget(self.currentIndex()))

    def select_path(self, path: str) -> bool:
        """Select the row at a memory path and scroll to it; return False if there is no such row."""
        index = self._memory.index_at(path, reveal=True)
        if not index.isValid():
            return False
        self._select(index)
        self.scrollTo(index)
        return True

    def reveal(self, path: str) -> RowData | None:
        """Select the memory at `path` and return the data of its row; None if the memory does not exist.

        If a filter hides the row, it is not selected; `hidden_wanted` is emitted, so that the receiver can
        show and select it.
        """
        if self.select_path(path):
            return self.current_data()
        hidden = self._memory.file_at(path)
        if hidden is not None:
            self.hidden_wanted.emit(path)
        return hidden

    def select_after_removal(self, path: str) -> None:
        """Remember the neighbour of the row at `path`, to select it once the memory is deleted.

        Call this before this window deletes the memory.
        """
        index = self._memory.index_at(path)
        neighbour = index.siblingAtRow(index.row() + 1)
        if not neighbour.isValid():
            neighbour = index.siblingAtRow(index.row() - 1)
        data = self.data_at(neighbour)
        self._after_removal = path_of(data) if isinstance(data, FileData) else ""

    def forget_removal(self) -> None:
        """Cancel `select_after_removal`, because the memory was not deleted."""
        self._after_removal = ""

    def current_scope(self) -> str:
        """Return the name of the scope of the current row; "" if there is no current row."""
        keys = self._memory.keys(self.currentIndex())
        return keys[0] if keys else ""

    @property
    def opened_keys(self) -> frozenset[Keys]:
        """The keys from the root to each expanded row; some of these rows may no longer exist."""
        return frozenset(self._opened)

    def reopen(self, opened: Iterable[Keys]) -> None:
        """Expand exactly the rows with these keys, and collapse all others."""
        for keys in self._opened.copy():
            index = self._memory.index_of(keys)
            if index.isValid():
                self.collapse(index)
        self._opened = set(opened)
        self._restore_expansion()

    def _restore_expansion(self) -> None:
        for keys in sorted(self._opened, key=len):
            index = self._memory.index_of(keys)
            if index.isValid():
                self.setExpanded(index, True)

    def _restore_selection(self) -> None:
        current = self._memory.keys(self.currentIndex())
        if not self._selected or current == self._selected:
            return
        index = self._memory.index_of(self._selected)
        if index.isValid():
            self._replaying = True
            self.setAutoScroll(False)  # it would scroll, and open folders that a person closed
            self._select(index)
            self.setAutoScroll(True)
            self._replaying = False
        elif self._after_removal:
            follow, self._after_removal = self._after_removal, ""
            # Qt has already moved to a neighbour without a signal: clear first, so that `picked` is emitted.
            self._clear_selection()
            self.select_path(follow)
        else:
            self._clear_selection()

    def _clear_selection(self) -> None:
        self._replaying = True
        self.selectionModel().clear()
        self._replaying = False

    def _select(self, index: QModelIndex) -> None:
        flags = QItemSelectionModel.SelectionFlag
        self.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)

    @Slot(QModelIndex, QModelIndex)
    def _on_current_changed(self, current: QModelIndex, _previous: QModelIndex) -> None:
        if self._replaying:
            return
        self._selected = self._memory.keys(current)
        self.picked.emit(self.data_at(current))

    @Slot(QModelIndex)
    def _on_expanded(self, index: QModelIndex) -> None:
        if not self._unfolding:
            self._opened.add(self._memory.keys(index))

    @Slot(QModelIndex)
    def _on_collapsed(self, index: QModelIndex) -> None:
        if not self._unfolding:
            self._opened.discard(self._memory.keys(index))

    @Slot(QModelIndex, int, int)
    def _on_rows_inserted(self, parent: QModelIndex, first: int, last: int) -> None:
        keys = self._memory.keys(parent)
        wanted = {opened for opened in self._opened if opened[:-1] == keys}
        for place in range(first, last + 1) if wanted else ():
            index = self._memory.index(place, 0, parent)
            if self._memory.keys(index) in wanted:
                self.setExpanded(index, True)

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        self.opened.emit(self.data_at(index))

    @Slot()
    def _reveal_near_end(self) -> None:
        """Show more children of each row whose last shown child is on screen or near it."""
        wide: list[QModelIndex] = []
        for index in self._visible():
            parent = index.parent()
            near = index.row() >= self._memory.rowCount(parent) - _NEAR_END
            if near and self._memory.hidden_rows(parent) and parent not in wide:
                wide.append(parent)
        for parent in wide:
            self._memory.reveal_more(parent)

    def _visible(self) -> Iterable[QModelIndex]:
        index = self.indexAt(self.viewport().rect().topLeft())
        bottom = self.viewport().rect().bottom()
        while index.isValid() and self.visualRect(index).top() <= bottom:
            yield index
            index = self.indexBelow(index)

    @Slot()
    def _on_editor_closed(self) -> None:
        self.name_judged.emit("")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # A message below takes space from the tree: keep the current row visible.
        row = self.visualRect(self.currentIndex())
        was_seen = row.isValid() and row.top() >= 0 and row.bottom() < event.oldSize().height()
        if was_seen or self.state() == QAbstractItemView.State.EditingState:
            self.scrollTo(self.currentIndex())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            if self.currentIndex().isValid():
                self.opened.emit(self.current_data())
            return
        super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:
        """Select the row whose name begins with the typed letters.

        Qt searches only the shown rows, so this also searches the memories beside the current row that are
        hidden by the limit of shown rows.
        """
        now = time.monotonic()
        self._typed = search if now - self._typed_at > _TYPE_AHEAD_S else self._typed + search
        self._typed_at = now
        super().keyboardSearch(search)
        wanted = self._typed.casefold()
        if self._name(self.currentIndex()).casefold().startswith(wanted):
            return
        parent = self.currentIndex().parent()
        node = self._memory.node(parent)
        if node is None or not self._memory.hidden_rows(parent):
            return
        for child in node.children[self._memory.rowCount(parent) :]:
            if isinstance(child.data, FileData) and child.data.name.casefold().startswith(wanted):
                index = self._memory.index_of((*self._memory.keys(parent), child.key), reveal=True)
                self._select(index)
                self.scrollTo(index)
                return

    def _name(self, index: QModelIndex) -> str:
        return str(index.data() or "")

    def collapse_folders(self) -> None:
        """Close every folder; the scopes stay open."""
        for index in list(self._memory.walk()):
            if not isinstance(self.data_at(index), ScopeData):
                self.collapse(index)
