"""The memory tree as Qt shows it: one model, three roots. What a row says, in roles; how it looks is the
delegate's.

Names, descriptions and reasons come from disk: they are shown escaped, tool tips are never markup of theirs.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import (
    QByteArray,
    QEvent,
    QItemSelectionModel,
    QMimeData,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QDrag, QKeyEvent, QPainter, QPalette, QPixmap, QResizeEvent, QValidator
from PySide6.QtWidgets import (
    QAbstractItemDelegate,
    QAbstractItemView,
    QLineEdit,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from reverie.agents.scopes import EDITABLE, FileRule
from reverie.memory.listing import is_over_cap
from reverie.memory.paths import ROOT
from reverie.memory.store import rule_under
from reverie.ui.appearance import GAP, UNIT, Icons, icon_size, theme_of
from reverie.ui.display_text import (
    as_tooltip,
    human_size,
    notes,
    scope_name,
    short_age,
    things,
    tr,
    uses,
    visible,
    when,
)
from reverie.ui.tree.memory_tree import (
    EMPTY,
    SCOPES,
    CompanionData,
    FileData,
    FolderData,
    GoneData,
    MemoryTree,
    NoticeData,
    RowData,
    RowLook,
    RowNode,
    ScopeData,
    name_problem,
    path_keys,
    path_of,
    plain_look,
)
from reverie.ui.tree.node_model import BRANCH_FLAGS, LEAF_FLAGS, NOTICE_FLAGS, AnyIndex, NodeModel
from reverie.ui.widgets.lists import ROW_ROLE, RowDelegate

if TYPE_CHECKING:
    from reverie.agents.base import LoadState
    from reverie.memory.listing import LintFinding
    from reverie.services.views import MemoryView


# Who may change the files of the trees, for the sign, the words and the tool tip of a row.


SIGNS: Mapping[str, str] = {"generated": "generated", "read-only": "locked"}


def sign_of(rule: FileRule) -> str:
    """The sign of what is not for editing; empty for what is."""
    return SIGNS.get(rule.kind, "")


# What a finding is called, and whether a row of the tree wears a mark for it.


def kind_name(kind: str) -> str:
    """What a finding is about, in two words."""
    return {
        "front-matter": tr("Front matter"),
        "cut": tr("Cut description"),
        "conflict": tr("Unfinished merge"),
        "placeholder": tr("Lost text"),
        "over-cap": tr("Not seen by the agent"),
        "not-utf8": tr("Not valid UTF-8"),
        "nul": tr("NUL byte"),
        "secret": tr("Secret-like text"),
        "hidden": tr("Hidden characters"),
        "bidi": tr("Reading direction"),
        "instruction": tr("Instruction-like text"),
        "description": tr("No description"),
        "empty": tr("Empty"),
        "stale": tr("Stale"),
    }.get(kind, kind)


def headline(finding: LintFinding) -> str:
    """`Secret-like text, line 4: This looks like …`"""
    name = kind_name(finding.kind)
    where = (
        tr("{what}, line {line}").format(what=name, line=f"{finding.line:,}") if finding.line > 1 else name
    )
    return f"{where}: {finding.sentence}"


def is_marked(findings: Sequence[LintFinding]) -> bool:
    """Whether a row of the tree wears a mark for them: not for notes alone, or half of all rows would wear
    one."""
    return any(finding.severity != "note" for finding in findings)


PATH_ROLE = int(Qt.ItemDataRole.UserRole) + 2
"""The memory path of a row, or ""."""
PATHS_MIME = "application/x-reverie-memory-paths"
_DISPLAY = int(Qt.ItemDataRole.DisplayRole)
_TOOLTIP = int(Qt.ItemDataRole.ToolTipRole)
_ACCESSIBLE = int(Qt.ItemDataRole.AccessibleTextRole)
_EDIT = int(Qt.ItemDataRole.EditRole)


_ROW_FLAGS = Qt.ItemFlag.ItemIsEditable | Qt.ItemFlag.ItemIsDragEnabled
_FILE_FLAGS = LEAF_FLAGS | _ROW_FLAGS
_FOLDER_FLAGS = BRANCH_FLAGS | _ROW_FLAGS | Qt.ItemFlag.ItemIsDropEnabled
_SCOPE_FLAGS = BRANCH_FLAGS | Qt.ItemFlag.ItemIsDropEnabled

# So many rows are told one by one.
_FEW = 50


class MemoryTreeModel(NodeModel):
    """Three roots: Workspace, Project, Global. Call `show_tree`; mark unsaved files with `set_modified`.

    What a person asks for in the tree is only told, and shows when the files have changed:
    `rename_asked(path, new name)`, `move_asked(paths, folder)`. `warnings_changed()`: other memories have a
    warning; `loaded_changed()`: the agent loads others."""

    rename_asked = Signal(str, str)
    move_asked = Signal(object, str)
    warnings_changed = Signal()
    loaded_changed = Signal()

    def __init__(self, now: Callable[[], int], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._now = now
        self._token = f"{os.getpid()}-{id(self)}"
        self._modified: frozenset[str] = frozenset()
        self._lint: Mapping[str, tuple[LintFinding, ...]] | None = None
        self._loaded: Mapping[str, LoadState] = {}
        self._view: MemoryView | None = None
        self.memory_tree: MemoryTree = EMPTY

    def show_tree(self, tree: MemoryTree) -> None:
        """The next state of the same context."""
        self.memory_tree = tree
        self.set_tree(tree.root)

    def show_other(self, tree: MemoryTree) -> None:
        """Another context: nothing of the old rows survives."""
        self.memory_tree = tree
        self.reset_tree(tree.root)

    def set_modified(self, paths: Collection[str]) -> None:
        """The memory paths with unsaved text."""
        after = frozenset(paths)
        changed = after ^ self._modified
        self._modified = after
        for path in changed:
            self.touch(self.index_at(path))

    def set_lint(self, findings: Mapping[str, tuple[LintFinding, ...]] | None) -> None:
        """What there is to look at in the memories, by memory path; None: that is not known. Only rows that
        change are drawn anew."""
        was_known, is_known = self._lint is not None, findings is not None
        before, after = self._lint or {}, findings or {}
        self._lint = findings
        self._touch_differing(before, after, everything=was_known != is_known)
        self.warnings_changed.emit()

    def set_loaded(self, states: Mapping[str, LoadState]) -> None:
        """Show how much of each file the agent loads; see `context.view.load_states`."""
        before, self._loaded = self._loaded, states
        self._touch_differing(before, states)
        self.loaded_changed.emit()

    def loaded_at(self, path: str) -> LoadState | Literal[""]:
        """Return how much of a file the agent loads; empty for nothing, or where it is not known."""
        return self._loaded.get(path, "")

    def findings_at(self, path: str) -> tuple[LintFinding, ...]:
        """What there is to look at in a memory."""
        return (self._lint or {}).get(path, ())

    def warned_paths(self) -> frozenset[str]:
        """The memories whose rows wear a warning."""
        marked = (path for path, findings in (self._lint or {}).items() if is_marked(findings))
        return frozenset(path for path in marked if path in self.memory_tree.files)

    def stale_paths(self) -> frozenset[str]:
        """The memories with a statement that is not true any more."""
        known = (self._lint or {}).items()
        return frozenset(path for path, found in known if any(each.kind == "stale" for each in found))

    def _touch_differing(
        self, before: Mapping[str, object], after: Mapping[str, object], *, everything: bool = False
    ) -> None:
        changed = [path for path in before.keys() | after.keys() if before.get(path) != after.get(path)]
        beside = any(not path.startswith(f"{ROOT}/") for path in changed)
        if len(changed) > _FEW or beside or everything:
            self.touch_all()
            return
        for path in changed:
            self.touch(self.index_of(path_keys(path), made=True))

    def set_view(self, view: MemoryView) -> None:
        """What the trees that are shown next are made of."""
        self._view = view

    def index_at(self, path: str, *, reveal: bool = False) -> QModelIndex:
        """The row of a memory path, whether it is a file, a folder or a scope root."""
        for folder in (False, True):
            keys = path_keys(path, folder=folder)
            index = self.index_of(keys, reveal=reveal) if keys else QModelIndex()
            if index.isValid():
                return index
        return QModelIndex()

    def file_at(self, path: str) -> FileData | None:
        """The memory with this path, if it is listed."""
        node = self.memory_tree.files.get(path)
        return node.data if node is not None else None

    def node_flags(self, node: RowNode) -> Qt.ItemFlag:
        match node.data:
            case NoticeData():
                return NOTICE_FLAGS
            case ScopeData():
                return _SCOPE_FLAGS
            case FolderData():
                return _FOLDER_FLAGS
            case FileData():
                return _FILE_FLAGS
            case _:
                return LEAF_FLAGS

    # Asking for another name or place

    def is_taken(self, path: str) -> bool:
        """Whether there is a file or folder at a memory path, or the unsaved text of a deleted file."""
        return path in self.memory_tree.files or path in self.memory_tree.folders or path in self._modified

    def with_ending(self, path: str, name: str) -> str:
        """`name` for the row at `path`; what is typed for a memory without an ending keeps the old one."""
        stem, dot, ending = path.rpartition("/")[2].rpartition(".")
        keeps = path in self.memory_tree.files and stem and dot and name and "." not in name
        return f"{name}.{ending}" if keeps else name

    def name_problem(self, path: str, name: str, *, also_same: bool = True) -> str:
        """Why the row at `path` cannot be called `name`; empty if it can. `also_same`: its own name is
        one."""
        target = f"{path.rpartition('/')[0]}/{name}"
        if not name:
            return self.tr("Give it a name.")
        if target == path:
            return self.tr("That is its name already.") if also_same else ""
        if "/" in name:
            return self.tr("A name has no slash; “Move to…” moves it.")
        if name.startswith("."):
            return self.tr("A name that begins with a dot is never listed.")
        if target in self._modified:
            return self.tr("There is unsaved text under this name.")
        if self.is_taken(target):
            return self.tr("{name} is there already.").format(name=visible(name))
        problem = name_problem(target)
        return self.tr("Not a valid name: {problem}").format(problem=problem) if problem else ""

    def setData(self, index: AnyIndex, value: Any, role: int = int(Qt.ItemDataRole.EditRole)) -> bool:
        """A person typed another name: told on, nothing is changed here."""
        path = str(index.data(PATH_ROLE) or "")
        name = self.with_ending(path, str(value).strip())
        if role == _EDIT and path and not self.name_problem(path, name):
            self.rename_asked.emit(path, name)
        return False

    def supportedDropActions(self) -> Qt.DropAction:
        return Qt.DropAction.MoveAction

    def mimeTypes(self) -> list[str]:
        return [PATHS_MIME]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        """The paths, for this very model; as text for everybody else."""
        paths = [path for index in indexes if (path := str(index.data(PATH_ROLE) or ""))]
        data = QMimeData()
        data.setText("\n".join(paths))
        document = {"model": self._token, "paths": paths}
        data.setData(PATHS_MIME, QByteArray(json.dumps(document).encode()))
        return data

    def canDropMimeData(
        self, data: QMimeData, action: Qt.DropAction, row: int, column: int, parent: AnyIndex
    ) -> bool:
        # A scope that is not there takes the drop too: what was dropped is then told why it stays.
        return bool(self._dropped(data)) and bool(index_path(parent))

    def dropMimeData(
        self, data: QMimeData, action: Qt.DropAction, row: int, column: int, parent: AnyIndex
    ) -> bool:
        paths, folder = self._dropped(data), index_path(parent)
        if paths and folder:
            self.move_asked.emit(paths, folder)
        return False

    def _dropped(self, data: QMimeData) -> tuple[str, ...]:
        """The paths that were dragged out of this very tree as it is now."""
        try:
            document = json.loads(bytes(data.data(PATHS_MIME).data()) or b"{}")
        except ValueError:
            return ()
        if document.get("model") != self._token:
            return ()
        return tuple(path for path in document["paths"] if self.is_taken(path))

    def value(self, node: RowNode, role: int) -> Any:
        data = node.data
        match role:
            case _ if role == ROW_ROLE:
                return self._look(data)
            case _ if role == PATH_ROLE:
                return path_of(data)
            case _ if role == _EDIT and isinstance(data, FileData | FolderData):
                return data.name
            case _ if role in (_DISPLAY, _EDIT):
                return self._look(data).name
            case _ if role == _TOOLTIP:
                return as_tooltip(*self.tooltip_lines(data))
            case _ if role == _ACCESSIBLE:
                return self._accessible(data)
        return None

    def _look(self, data: Any) -> RowLook:
        match data:
            case FileData():
                file = data.file
                return RowLook(
                    visible(data.name),
                    visible(file.description),
                    "file",
                    self._use(data),
                    has_use=True,
                    pinned=file.usage.pinned,
                    pin_unknown=file.usage.unknown_to_agent,
                    badge={"": "", "new": "N", "changed": "M"}[data.changed],
                    warning=not file.seen_by_agent and not data.names_only,
                    modified=data.path in self._modified,
                    flag=self._is_flagged(data),
                    loaded=_drawn(self._loaded.get(data.path)),
                    lock=sign_of(self._rule(data)),
                )
            case FolderData():
                return plain_look(data, lock=sign_of(self._rule(data)))
            case CompanionData():
                loaded = _drawn(self._loaded.get(str(data.companion.path)))
                return plain_look(data)._replace(loaded=loaded)
        return plain_look(data)

    def _is_flagged(self, data: FileData) -> bool:
        if self._lint is None:
            return False
        return is_over_cap(data.file.unseen_reason) or is_marked(self._lint.get(data.path, ()))

    def _rule(self, data: FileData | FolderData) -> FileRule:
        """Who may change it. Before the first view nothing is known: the store tells whoever tries."""
        view = self._view
        if view is None:
            return EDITABLE
        if isinstance(data, FileData):
            rule = data.file.rule
        else:
            listing = view.scopes.get(data.scope)
            rule = listing.folder_rules.get(data.rel) if listing is not None else None
        return rule_under(view.refusals.get(data.scope), rule or EDITABLE)

    def _use(self, data: FileData) -> str:
        usage = data.file.usage
        if data.names_only or not usage.agent_count:
            return ""
        if usage.last_accessed_at is None:
            return f"{usage.agent_count}×"
        return f"{usage.agent_count}× · {short_age(self._now(), usage.last_accessed_at)}"

    def tooltip_lines(self, data: Any) -> list[str]:
        """What a tool tip says of a row, one fact a line."""
        match data:
            case FileData():
                return [data.path, *self._file_facts(data)]
            case GoneData():
                return [data.path, self.tr("Deleted by someone else since you saw it")]
            case FolderData():
                return [data.path, notes(data.notes), self._rule(data).sentence]
            case ScopeData():
                return [scope_name(data.scope), data.reason, *data.problems]
            case CompanionData():
                loaded = self._loaded.get(str(data.companion.path))
                only_shown = bool(data.companion.read_only)
                said = "" if only_shown else self.tr("The agent reads it beside its memories.")
                said = _capital(loaded_words(loaded)) if loaded else said
                return [line for line in (str(data.companion.path), said, data.companion.note) if line]
            case NoticeData():
                return [data.text]
        return []

    def _file_facts(self, data: FileData) -> list[str]:
        file = data.file
        if data.names_only:
            return []
        usage = file.usage
        facts = [file.description, human_size(file.size), self._rule(data).sentence]
        if loaded := self._loaded.get(data.path):
            facts.append(loaded_words(loaded))
        if usage.access_count:
            facts.append(uses(usage.agent_count, usage.own_count))
        if usage.last_accessed_at is not None:
            facts.append(self.tr("Last used {when}").format(when=when(usage.last_accessed_at)))
        if usage.last_write_at is not None:
            facts.append(self.tr("Last written {when}").format(when=when(usage.last_write_at)))
        if usage.pinned:
            facts.append(self.tr("Pinned: a consolidation never deletes or renames it"))
        if usage.unknown_to_agent:
            facts.append(
                self.tr("Not yet known to the running agent; Reverie keeps it until the agent is restarted")
            )
        if data.changed:
            facts.append(
                self.tr("New; you have not seen it yet")
                if data.changed == "new"
                else self.tr("Changed by someone else since you saw it")
            )
        if not file.seen_by_agent:
            facts.append(self.tr("The agent does not see it: {reason}").format(reason=file.unseen_reason))
        findings = (self._lint or {}).get(data.path, ())
        facts += [headline(each) for each in findings if each.kind != "over-cap"]
        if data.path in self._modified:
            facts.append(self.tr("Not saved yet"))
        return facts

    def _accessible(self, data: Any) -> str:
        look = self._look(data)
        parts = [look.name, look.detail]
        if look.pinned:
            parts.append(self.tr("pinned"))
        if look.pin_unknown:
            parts.append(self.tr("not yet known to the running agent"))
        if look.badge:
            parts.append(
                {"N": self.tr("new"), "M": self.tr("changed since you saw it"), "D": self.tr("deleted")}[
                    look.badge
                ]
            )
        if look.loaded:
            parts.append(loaded_words(look.loaded))
        if look.warning:
            parts.append(self.tr("warning"))
        if look.flag:
            parts.append(self.tr("something to look at"))
        if look.modified:
            parts.append(self.tr("not saved"))
        if look.lock:
            generated = look.lock == SIGNS["generated"]
            parts.append(self.tr("regenerated by the agent") if generated else self.tr("read-only"))
        return ", ".join(part for part in parts if part)


def _drawn(loaded: LoadState | None) -> LoadState | Literal[""]:
    """Return the state that a row has a sign for; what is loaded only when it is needed has none."""
    return "" if loaded in (None, "needed") else loaded


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def loaded_words(loaded: LoadState) -> str:
    """Word how much of a file the agent loads."""
    return {
        "full": tr("loaded in full"),
        "part": tr("loaded in part"),
        "line": tr("only its line in the index is loaded"),
        "listed": tr("only its name is loaded"),
        "needed": tr("loaded only when it is needed"),
    }[loaded]


def index_path(index: AnyIndex) -> str:
    """The memory path of an index; empty if it has none."""
    return str(index.data(PATH_ROLE) or "") if index.isValid() else ""


# The view of the memory tree: keeps what a person selected, opened and scrolled to, whatever the files do.
#
# Expansion is remembered by key, so a folder that comes back is open again. A selected file that vanishes
# leaves nothing selected (a neighbour would show another text in the editor), unless it was deleted here.


# The name of a row, edited in its place: the delegate's editor, with the agent's own rules as one types.
#
# A name that cannot be used is not taken by Enter, and it is said why; Escape leaves it. The model only
# tells that a person wants another name; the row changes when the file has.


class NameValidator(QValidator):
    """Acceptable is what may be the new name of the row at `path`."""

    def __init__(self, model: MemoryTreeModel, path: str, parent: QObject) -> None:
        super().__init__(parent)
        self._model = model
        self._path = path

    def problem(self, text: str) -> str:
        """Why it cannot be the name; its own name is none."""
        return self._model.name_problem(
            self._path, self._model.with_ending(self._path, text.strip()), also_same=False
        )

    def validate(self, text: str, place: int) -> object:
        acceptable = not self._model.name_problem(
            self._path, self._model.with_ending(self._path, text.strip())
        )
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
            field.setValidator(NameValidator(model, index.data(PATH_ROLE), field))
            field.textChanged.connect(self._judge)
        return field

    def setEditorData(self, editor: QWidget, index: QModelIndex | QPersistentModelIndex) -> None:
        if not isinstance(editor, QLineEdit) or editor.isModified():
            return  # the row changed outside while somebody types
        editor.setText(str(index.data(Qt.ItemDataRole.EditRole)))

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        editor.setGeometry(option.rect.adjusted(UNIT // 2 + icon_size(option.font) + GAP // 2, 0, -GAP, 0))

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
_UNFOLDED_AT_ONCE = 300
_TYPE_AHEAD_S = 1.0


Keys = tuple[str, ...]


class MemoryTreeView(QTreeView):
    """`picked(object)`: a person selected another row (its data, or None). `opened(object)`: Enter or double
    click. `name_judged(str)`: why the name that is typed into a row cannot be, or nothing.
    `hidden_wanted(str)`: a memory is to be selected whose row a filter hides."""

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
        """Folders that a filter opened, so that one sees what it found."""
        self._unfolding = False
        self._selected: Keys = ()
        self._after_removal: str = ""
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
        """With the names beside the pointer: Qt would draw whole rows over the place where they go."""
        drag = self.drag_of_selection()
        if drag is not None:
            drag.exec(actions, self.defaultDropAction())

    def drag_of_selection(self) -> QDrag | None:
        """What is dragged; None where nothing that is selected can be."""
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
        """The model it was made with."""
        return self._memory

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
        self._unfold(tree)
        if not other:
            self._restore_selection()
        self._reveal_near_end()

    def _unfold(self, tree: MemoryTree) -> None:
        """Under a filter each folder is opened once; without one they are as a person left them."""
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

    def select_path(self, path: str) -> bool:
        """Select and show a memory path; False if there is no such row."""
        index = self._memory.index_at(path, reveal=True)
        if not index.isValid():
            return False
        self._select(index)
        self.scrollTo(index)
        return True

    def reveal(self, path: str) -> RowData | None:
        """Select a memory path, and say what it is; None: there is none. The row of a memory that a filter
        hides is asked for, and selected once it is there."""
        if self.select_path(path):
            return self.current_data()
        hidden = self._memory.file_at(path)
        if hidden is not None:
            self.hidden_wanted.emit(path)
        return hidden

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
        # What is said below takes room from the tree: a row in sight stays so.
        row = self.visualRect(self.currentIndex())
        was_seen = row.isValid() and row.top() >= 0 and row.bottom() < event.oldSize().height()
        if was_seen or self.state() == QAbstractItemView.State.EditingState:
            self.scrollTo(self.currentIndex())

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
