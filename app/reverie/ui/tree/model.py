"""The Qt model of the memory tree: the text, flags and drag data of each row.

Names, descriptions and reasons come from disk: they are shown escaped, and tool tips are never markup.

Threading: GUI thread. Failure: none.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import QByteArray, QMimeData, QModelIndex, QObject, Qt, Signal

from reverie.agents.scopes import EDITABLE, FileRule
from reverie.memory.listing import is_over_cap
from reverie.memory.paths import ROOT
from reverie.memory.write_guard import rule_under
from reverie.ui.display_text import (
    as_tooltip,
    human_size,
    notes,
    scope_name,
    short_age,
    tr,
    uses,
    visible,
    when,
)
from reverie.ui.tree.memory_tree import (
    EMPTY,
    CompanionData,
    FileData,
    FolderData,
    GoneData,
    MemoryTree,
    NoticeData,
    ScopeData,
    name_problem,
    path_keys,
    path_of,
)
from reverie.ui.tree.node_model import BRANCH_FLAGS, LEAF_FLAGS, NOTICE_FLAGS, AnyIndex, NodeModel
from reverie.ui.tree.row_look import RowLook, plain_look
from reverie.ui.tree.rows import RowNode
from reverie.ui.widgets.row_delegate import ROW_ROLE

if TYPE_CHECKING:
    from reverie.agents.base import LoadState
    from reverie.memory.listing import LintFinding
    from reverie.services.views import MemoryView
from reverie.ui.tree.findings import headline, is_marked

SIGNS: Mapping[str, str] = {"generated": "generated", "read-only": "locked"}
"""The name of the icon of a row that the user cannot edit, by the kind of its file rule."""


def sign_of(rule: FileRule) -> str:
    """Return the name of the icon that rows with this rule show; "" if the user can edit the file.

    A rule says who may change a file.
    """
    return SIGNS.get(rule.kind, "")


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


# Up to this many changed rows are signalled one by one.
_FEW = 50


class MemoryTreeModel(NodeModel):
    """The Qt model of the memory tree, with three roots: Workspace, Project, Global.

    If the user renames or moves a row, the model only emits a signal; the row changes once the file has.

    Signals:
        rename_asked(path, new_name): The user typed a new name for the row at `path`.
        move_asked(paths, folder): The user dropped the rows at `paths` on `folder`.
        warnings_changed(): The set of memories with a warning has changed.
        loaded_changed(): The set of memories that the agent loads has changed.
    """

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
        """Show `tree`, an update of the shown tree: the same context, with changed files."""
        self.memory_tree = tree
        self.set_tree(tree.root)

    def show_other(self, tree: MemoryTree) -> None:
        """Show `tree`, which belongs to another context; all old rows are removed."""
        self.memory_tree = tree
        self.reset_tree(tree.root)

    def set_modified(self, paths: Collection[str]) -> None:
        """Mark exactly the memories at `paths` as having unsaved text."""
        after = frozenset(paths)
        changed = after ^ self._modified
        self._modified = after
        for path in changed:
            self.touch(self.index_at(path))

    def set_lint(self, findings: Mapping[str, tuple[LintFinding, ...]] | None) -> None:
        """Set the findings of the memories, by memory path; None if they are not known yet.

        Only the rows whose appearance changes are repainted.
        """
        was_known, is_known = self._lint is not None, findings is not None
        before, after = self._lint or {}, findings or {}
        self._lint = findings
        self._touch_differing(before, after, everything=was_known != is_known)
        self.warnings_changed.emit()

    def set_loaded(self, states: Mapping[str, LoadState]) -> None:
        """Set how much of each file the agent loads, and show it in the rows.

        `states` maps memory paths, and the file paths of companions, to the amount
        (`context.view.load_states`).
        """
        before, self._loaded = self._loaded, states
        self._touch_differing(before, states)
        self.loaded_changed.emit()

    def loaded_at(self, path: str) -> LoadState | Literal[""]:
        """Return how much of the file at `path` the agent loads; "" if nothing, or if it is unknown."""
        return self._loaded.get(path, "")

    def findings_at(self, path: str) -> tuple[LintFinding, ...]:
        """Return the findings of the memory at `path`; empty if there are none or they are not known."""
        return (self._lint or {}).get(path, ())

    def warned_paths(self) -> frozenset[str]:
        """Return the memory paths whose rows show a warning."""
        marked = (path for path, findings in (self._lint or {}).items() if is_marked(findings))
        return frozenset(path for path in marked if path in self.memory_tree.files)

    def stale_paths(self) -> frozenset[str]:
        """Return the paths of the memories with a statement about the project that is no longer true."""
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
        """Set the view in which the model looks up who may change which files.

        Call this before `show_tree` or `show_other`, with the view from which the tree was built.
        """
        self._view = view

    def index_at(self, path: str, *, reveal: bool = False) -> QModelIndex:
        """Return the index of the file, folder or scope at a memory path; invalid if it has no row.

        `reveal`: also find a row that is hidden by the limit of shown rows in its folder, and show it.
        """
        for folder in (False, True):
            keys = path_keys(path, folder=folder)
            index = self.index_of(keys, reveal=reveal) if keys else QModelIndex()
            if index.isValid():
                return index
        return QModelIndex()

    def file_at(self, path: str) -> FileData | None:
        """Return the memory with this path, or None if it is not listed."""
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

    def is_taken(self, path: str) -> bool:
        """Return True if `path` is used by a file, a folder, or the unsaved text of a deleted file."""
        return path in self.memory_tree.files or path in self.memory_tree.folders or path in self._modified

    def with_ending(self, path: str, name: str) -> str:
        """Return `name`; if it has no ending such as `.md`, add that of the memory at `path`."""
        stem, dot, ending = path.rpartition("/")[2].rpartition(".")
        keeps = path in self.memory_tree.files and stem and dot and name and "." not in name
        return f"{name}.{ending}" if keeps else name

    def name_problem(self, path: str, name: str, *, also_same: bool = True) -> str:
        """Return the reason why the row at `path` cannot be renamed to `name`; empty if it can.

        `also_same`: True if the current name of the row is a problem too.
        """
        target = f"{path.rpartition('/')[0]}/{name}"
        if not name:
            return self.tr("Enter a name.")
        if target == path:
            return self.tr("The memory already has this name.") if also_same else ""
        if "/" in name:
            return self.tr("A name cannot contain a slash. To move the memory, use “Move to…”.")
        if name.startswith("."):
            return self.tr("The name must not start with a dot, because such files are never listed.")
        if target in self._modified:
            return self.tr("Another memory with this name has unsaved text. Choose another name.")
        if self.is_taken(target):
            return self.tr("{name} already exists.").format(name=visible(name))
        problem = name_problem(target)
        return self.tr("This name is not valid: {problem}").format(problem=problem) if problem else ""

    def setData(self, index: AnyIndex, value: Any, role: int = int(Qt.ItemDataRole.EditRole)) -> bool:
        """Emit `rename_asked` for the name that the user typed; return False.

        The model itself changes only after the file was renamed.
        """
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
        """Return the memory paths of dragged rows, in this model's format and as text for other targets."""
        paths = [path for index in indexes if (path := str(index.data(PATH_ROLE) or ""))]
        data = QMimeData()
        data.setText("\n".join(paths))
        document = {"model": self._token, "paths": paths}
        data.setData(PATHS_MIME, QByteArray(json.dumps(document).encode()))
        return data

    def canDropMimeData(
        self, data: QMimeData, action: Qt.DropAction, row: int, column: int, parent: AnyIndex
    ) -> bool:
        # A scope that is not available accepts the drop too, and the user is then told why it fails.
        return bool(self._dropped(data)) and bool(index_path(parent))

    def dropMimeData(
        self, data: QMimeData, action: Qt.DropAction, row: int, column: int, parent: AnyIndex
    ) -> bool:
        paths, folder = self._dropped(data), index_path(parent)
        if paths and folder:
            self.move_asked.emit(paths, folder)
        return False

    def _dropped(self, data: QMimeData) -> tuple[str, ...]:
        """Return the memory paths in dropped data that still exist; none if another model made the data."""
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
        """Return the rule of a file or folder: who may change it.

        Before the first view is set, every file counts as editable; the store still refuses a change that is
        not allowed.
        """
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
        """Return the lines of a row's tool tip, each with one fact."""
        match data:
            case FileData():
                return [data.path, *self._file_facts(data)]
            case GoneData():
                return [data.path, self.tr("Deleted by someone else since you last viewed it")]
            case FolderData():
                return [data.path, notes(data.notes), self._rule(data).sentence]
            case ScopeData():
                return [scope_name(data.scope), data.reason, *data.problems]
            case CompanionData():
                loaded = self._loaded.get(str(data.companion.path))
                only_shown = bool(data.companion.read_only)
                said = "" if only_shown else self.tr("The agent reads this file together with its memories.")
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
            facts.append(self.tr("Pinned: a consolidation never deletes or renames this memory"))
        if usage.unknown_to_agent:
            facts.append(
                self.tr("Reverie keeps this pin change; the running agent will read it when it restarts")
            )
        if data.changed:
            facts.append(
                self.tr("New; you have not viewed this memory yet")
                if data.changed == "new"
                else self.tr("Changed by someone else since you last viewed it")
            )
        if not file.seen_by_agent:
            facts.append(
                self.tr("The agent does not see this memory: {reason}").format(reason=file.unseen_reason)
            )
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
            parts.append(self.tr("pin change not yet read by the running agent"))
        if look.badge:
            parts.append(
                {
                    "N": self.tr("new"),
                    "M": self.tr("changed since you last viewed it"),
                    "D": self.tr("deleted"),
                }[look.badge]
            )
        if look.loaded:
            parts.append(loaded_words(look.loaded))
        if look.warning:
            parts.append(self.tr("warning"))
        if look.flag:
            parts.append(self.tr("needs attention"))
        if look.modified:
            parts.append(self.tr("not saved"))
        if look.lock:
            generated = look.lock == SIGNS["generated"]
            parts.append(self.tr("regenerated by the agent") if generated else self.tr("read-only"))
        return ", ".join(part for part in parts if part)


def _drawn(loaded: LoadState | None) -> LoadState | Literal[""]:
    """Return the load state that a row shows as a sign; empty for none.

    A file that the agent loads only when it is needed gets no sign.
    """
    return "" if loaded in (None, "needed") else loaded


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def loaded_words(loaded: LoadState) -> str:
    """Return words for how much of a file the agent loads, such as "loaded in full"."""
    return {
        "full": tr("loaded in full"),
        "part": tr("loaded in part"),
        "line": tr("only its line in the index is loaded"),
        "listed": tr("only its name is loaded"),
        "needed": tr("loaded only when needed"),
    }[loaded]


def index_path(index: AnyIndex) -> str:
    """Return the memory path of the row at `index`; "" if the index is invalid or the row has none."""
    return str(index.data(PATH_ROLE) or "") if index.isValid() else ""
