"""The view of the memory tree: keeps what a person selected, opened and scrolled to, whatever the files do.

Expansion is remembered by key, so a folder that comes back is open again. A selected file that vanishes
leaves nothing selected (a neighbour would show another text in the editor), unless it was deleted here.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QActionGroup, QKeyEvent, QPalette, QResizeEvent, QValidator
from PySide6.QtWidgets import (
    QAbstractItemDelegate,
    QAbstractItemView,
    QLineEdit,
    QMenu,
    QStyleOptionViewItem,
    QToolButton,
    QTreeView,
    QWidget,
)

from reverie.ui.appearance import GAP, UNIT, CalmSelection, Icons, theme_of
from reverie.ui.tree.memory_tree import (
    BY_NAME,
    SCOPES,
    SORT_KEYS,
    Arrangement,
    FileData,
    FolderData,
    MemoryTree,
    RowData,
    ScopeData,
    path_of,
)
from reverie.ui.tree.model import MemoryTreeModel, Role
from reverie.ui.tree.node_model import AnyIndex
from reverie.ui.widgets.lists import RowDelegate

if TYPE_CHECKING:
    from reverie.ui.window.actions import Actions


# The name of a row, edited in its place: the delegate's editor, with the agent's own rules as one types.
#
# A name that cannot be used is not taken by Enter, and it is said why; Escape leaves it. The model only
# tells that a person wants another name; the row changes when the file has.


_SIGN = 16


class NameValidator(QValidator):
    """Acceptable is what may be the new name of the row at `path`."""

    def __init__(self, model: MemoryTreeModel, path: str, parent: QObject) -> None:
        super().__init__(parent)
        self._model = model
        self._path = path

    def problem(self, text: str) -> str:
        """Why it cannot be the name; its own name is none."""
        return self._model.name_problem(self._path, text.strip(), also_same=False)

    def validate(self, text: str, place: int) -> object:
        acceptable = not self._model.name_problem(self._path, text.strip())
        state = QValidator.State.Acceptable if acceptable else QValidator.State.Intermediate
        return state, text, place


def select_stem(editor: QWidget | None) -> None:
    """The name without its ending is what one types over; a view that opens an editor selects all of it."""
    if isinstance(editor, QLineEdit):
        stem = editor.text().rfind(".")
        editor.setSelection(0, stem if stem > 0 else len(editor.text()))


class TreeDelegate(RowDelegate):
    """Draws as every row is drawn, and edits names. `judged(str)`: why what is typed cannot be the name, or
    nothing."""

    judged = Signal(str)

    def createEditor(
        self, parent: QWidget, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QWidget:
        field = QLineEdit(parent)
        field.setAccessibleName(self.tr("New name"))
        model = index.model()
        if isinstance(model, MemoryTreeModel):
            field.setValidator(NameValidator(model, index.data(Role.PATH), field))
            field.textChanged.connect(self._judge)
        return field

    def setEditorData(self, editor: QWidget, index: QModelIndex | QPersistentModelIndex) -> None:
        if not isinstance(editor, QLineEdit) or editor.isModified():
            return  # the row changed outside while somebody types
        editor.setText(str(index.data(Qt.ItemDataRole.EditRole)))

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        editor.setGeometry(option.rect.adjusted(UNIT // 2 + _SIGN + GAP // 2, 0, -GAP, 0))

    def eventFilter(self, editor: QObject, event: QEvent) -> bool:
        """Enter takes the name at once. Qt takes it from the event queue, and complains if the field is gone
        by then: what another process did to the row may come first."""
        is_enter = isinstance(event, QKeyEvent) and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if not is_enter or event.type() != QEvent.Type.KeyPress or not isinstance(editor, QLineEdit):
            return super().eventFilter(editor, event)
        if editor.hasAcceptableInput():
            self.commitData.emit(editor)
            self.closeEditor.emit(editor, QAbstractItemDelegate.EndEditHint.SubmitModelCache)
        return True

    @Slot(str)
    def _judge(self, text: str) -> None:
        field = self.sender()
        if not isinstance(field, QLineEdit):
            return
        validator = field.validator()
        problem = validator.problem(text) if isinstance(validator, NameValidator) else ""
        palette = QPalette()
        if problem:
            palette.setColor(QPalette.ColorRole.Text, theme_of(field.palette()).bad_text)
        field.setPalette(palette)
        field.setAccessibleDescription(problem)
        self.judged.emit(problem)


_NEAR_END = 50
_TYPE_AHEAD_S = 1.0


Keys = tuple[str, ...]


class MemoryTreeView(QTreeView):
    """`picked(object)`: a person selected another row (its data, or None). `opened(object)`: Enter or double
    click. `name_judged(str)`: why the name that is typed into a row cannot be, or nothing."""

    picked = Signal(object)
    opened = Signal(object)
    name_judged = Signal(str)

    def __init__(self, model: MemoryTreeModel, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._memory = model
        self._replaying = False
        self._opened: set[Keys] = {(scope.value,) for scope in SCOPES}
        self._selected: Keys = ()
        self._after_removal: str = ""
        self._typed = ""
        self._order: TreeOrder | None = None
        self._typed_at = 0.0
        self.setModel(model)
        delegate = TreeDelegate(icons, self)
        delegate.judged.connect(self.name_judged)
        delegate.closeEditor.connect(self._on_editor_closed)
        self.setItemDelegate(delegate)
        CalmSelection(self)
        self.setHeaderHidden(True)
        self.setUniformRowHeights(True)
        self.setAccessibleName(self.tr("Memories"))
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setIndentation(16)
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

    # What is shown

    def show_tree(self, tree: MemoryTree, *, other: bool) -> None:
        """The next state of the tree; `other`: of another context."""
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
        if not other:
            self._restore_selection()
        self._reveal_near_end()

    def set_order(self, order: TreeOrder) -> None:
        """Where the order of the rows is chosen."""
        self._order = order

    @property
    def sort_key(self) -> str:
        """How the files of a folder are sorted; a key that is not known is passed over."""
        return self._order.sort_key if self._order is not None else "name"

    @sort_key.setter
    def sort_key(self, key: str) -> None:
        if self._order is not None:
            self._order.sort_key = key

    def data_at(self, index: AnyIndex) -> RowData | None:
        """What a row stands for; None for no row."""
        node = self._memory.node(index)
        return node.data if node is not None else None

    def current_data(self) -> RowData | None:
        """What the current row stands for; None for none."""
        return self.data_at(self.currentIndex())

    def selected_rows(self) -> tuple[RowData, ...]:
        """What is selected, in no order that means anything, the current row first."""
        current = self.currentIndex()
        chosen = self.selectionModel().selectedIndexes()
        indexes = [current, *(index for index in chosen if index != current)] if current in chosen else chosen
        return tuple(data for index in indexes if (data := self.data_at(index)) is not None)

    def edit_name(self) -> None:
        """Let a person type another name into the current row."""
        if isinstance(self.current_data(), FileData | FolderData):
            self.scrollTo(self.currentIndex())
            self.edit(self.currentIndex())
            select_stem(self.indexWidget(self.currentIndex()))

    def select_path(self, path: str, *, tell: bool = True) -> bool:
        """Select and show a memory path; False if there is no such row."""
        index = self._memory.index_at(path, reveal=True)
        if not index.isValid():
            return False
        self._replaying = not tell
        self._select(index)
        self._replaying = False
        self.scrollTo(index)
        return True

    def select_after_removal(self, path: str) -> None:
        """`path` is about to go by our own hand: its neighbour is selected then."""
        index = self._memory.index_at(path)
        neighbour = index.siblingAtRow(index.row() + 1)
        if not neighbour.isValid():
            neighbour = index.siblingAtRow(index.row() - 1)
        data = self.data_at(neighbour)
        self._after_removal = path_of(data) if isinstance(data, FileData) else ""

    def forget_removal(self) -> None:
        """It was not removed after all."""
        self._after_removal = ""

    def current_scope(self) -> str:
        """The scope of the selected row; empty if nothing is selected."""
        keys = self._memory.keys(self.currentIndex())
        return keys[0] if keys else ""

    # What survives

    @property
    def opened_keys(self) -> frozenset[Keys]:
        """The rows that are open, by their paths of keys; some may not be there any more."""
        return frozenset(self._opened)

    def reopen(self, opened: Iterable[Keys]) -> None:
        """Have exactly these rows open."""
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
            # Qt has moved to a neighbour already, silently: begin from nothing, so that the choice is told.
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
        self._opened.add(self._memory.keys(index))

    @Slot(QModelIndex)
    def _on_collapsed(self, index: QModelIndex) -> None:
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

    # Wide levels

    @Slot()
    def _reveal_near_end(self) -> None:
        """Show more of every wide level whose end is near the viewport."""
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
        if self.state() == QAbstractItemView.State.EditingState:
            self.scrollTo(self.currentIndex())  # the sentence on the name takes room from the tree

    # Keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            if self.currentIndex().isValid():
                self.opened.emit(self.current_data())
            return
        super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:
        """Type-ahead by name. Qt looks at the rows shown; rows beyond a level's limit are looked at here."""
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


# In which order the tree shows its files, and whether only those that changed since one last looked.
#
# The tree itself is built in that order by the session's job; here is only the choice, with its menu button
# and its actions. The choice belongs to the window, not to a home: the next session gets it too.


ORDER_MENU = ("view.sort-name", "view.sort-recent", "view.sort-use", "view.sort-size", "view.only-changed")


class TreeOrder(QObject):
    """`chosen(Arrangement)`: show the tree so. `button` opens the menu."""

    chosen = Signal(object)

    def __init__(self, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self._icons = icons
        self._actions: Actions | None = None
        self.arrangement = BY_NAME
        self.button = QToolButton(parent)
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.button.setAutoRaise(True)
        self.button.setAccessibleName(self.tr("Order of the memories"))
        self._say()

    def set_actions(self, actions: Actions) -> None:
        """The window's actions in the button's menu."""
        self._actions = actions
        menu = QMenu(self.button)
        actions.fill_menu(menu, ORDER_MENU)
        self.button.setMenu(menu)
        group = QActionGroup(self)
        for id_ in ORDER_MENU[:-1]:
            group.addAction(actions[id_])
        self._say()

    @property
    def sort_key(self) -> str:
        return self.arrangement.sort

    @sort_key.setter
    def sort_key(self, key: str) -> None:
        """Anything but a known key is passed over: it may come from an older window's memory."""
        for known in SORT_KEYS:
            if known == key:
                self._choose(self.arrangement._replace(sort=known))

    @property
    def only_changed(self) -> bool:
        return self.arrangement.only_changed

    @only_changed.setter
    def only_changed(self, on: bool) -> None:
        self._choose(self.arrangement._replace(only_changed=on))

    @Slot()
    def by_name(self) -> None:
        self.sort_key = "name"

    @Slot()
    def by_recent(self) -> None:
        self.sort_key = "recent"

    @Slot()
    def by_use(self) -> None:
        self.sort_key = "use"

    @Slot()
    def by_size(self) -> None:
        self.sort_key = "size"

    @Slot()
    def toggle_only_changed(self) -> None:
        self.only_changed = not self.only_changed

    def _choose(self, arrangement: Arrangement) -> None:
        changed = arrangement != self.arrangement
        self.arrangement = arrangement
        self._say()
        if changed:
            self.chosen.emit(arrangement)

    def _say(self) -> None:
        now = self.arrangement
        says = {
            "name": self.tr("Sorted by name"),
            "recent": self.tr("Sorted by last change"),
            "use": self.tr("Sorted by use"),
            "size": self.tr("Sorted by size"),
        }[now.sort]
        if now.only_changed:
            says += ". " + self.tr("Only what changed since you last looked")
        self.button.setToolTip(says)
        self.button.setAccessibleDescription(says)
        self.button.setIcon(self._icons.icon("edited" if now.only_changed else "sort"))
        if self._actions is not None:
            self._actions[f"view.sort-{now.sort}"].setChecked(True)
            self._actions["view.only-changed"].setChecked(now.only_changed)

    def update_icons(self) -> None:
        """After a change of the colour scheme."""
        self._say()
