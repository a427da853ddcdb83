"""The memory tree as Qt shows it: one model, three roots. What a row says, in roles; how it looks is the
delegate's.

Names, descriptions and reasons come from disk: they are shown escaped, tool tips are never markup of theirs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QByteArray, QMimeData, QModelIndex, QObject, Qt, Signal

from reverie.agents.scopes import EDITABLE, FileRule, Scope, ScopeRoot
from reverie.memory.write_guard import rule_under
from reverie.ui import display_text as words
from reverie.ui.display_text import as_tooltip, human_size, visible
from reverie.ui.translation import tr
from reverie.ui.tree.memory_tree import (
    EMPTY,
    CompanionData,
    FileData,
    FolderData,
    MemoryTree,
    NoticeData,
    ScopeData,
    name_problem,
    path_keys,
    path_of,
    plain_look,
)
from reverie.ui.tree.node_model import BRANCH_FLAGS, LEAF_FLAGS, NOTICE_FLAGS, AnyIndex, NodeModel
from reverie.ui.tree.rows import RowLook, RowNode
from reverie.ui.widgets.lists import ROW_ROLE

if TYPE_CHECKING:
    from reverie.agents.base import Home
    from reverie.memory.lint import LintFinding
    from reverie.services.views import MemoryView


# Who may change the files of the trees, for the sign, the words and the tool tip of a row.
#
# A home's rules are pure, so they are asked for when a row is drawn.


RuleOf = Callable[[Scope, str], FileRule]
SIGNS: Mapping[str, str] = {"generated": "generated", "read-only": "locked"}


def editable(_scope: Scope, _rel: str) -> FileRule:
    """Nothing is known: the store tells whoever tries."""
    return EDITABLE


def rule_of(home: Home, view: MemoryView) -> RuleOf:
    """The rules of the trees of one context."""
    roots: dict[Scope, ScopeRoot] = {
        scope: listing.root for scope, listing in view.scopes.items() if listing.root is not None
    }

    def rule(scope: Scope, rel: str) -> FileRule:
        root = roots.get(scope)
        rule = home.file_rule(root, rel) if root is not None else EDITABLE
        return rule_under(view.refusals.get(scope), rule)

    return rule


def sign_of(rule: FileRule) -> str:
    """The sign of what is not for editing; empty for what is."""
    return SIGNS.get(rule.kind, "")


# What a finding is called, and whether a row of the tree wears a mark for it.


def kind_name(kind: str) -> str:
    """What a finding is about, in two words."""
    return {
        "front-matter": tr("Front matter"),
        "over-cap": tr("Not seen by the agent"),
        "not-utf8": tr("Not valid UTF-8"),
        "nul": tr("NUL byte"),
        "secret": tr("Secret-like text"),
        "hidden": tr("Hidden characters"),
        "bidi": tr("Reading direction"),
        "instruction": tr("Instruction-like text"),
        "description": tr("No description"),
        "empty": tr("Empty"),
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


_USER = int(Qt.ItemDataRole.UserRole)


class Role(IntEnum):
    """What the tree's rows know beyond Qt's own roles."""

    KIND = _USER + 1  # "scope", "folder", "file", "companion", "notice"
    PATH = _USER + 2  # memory path, or ""
    PINNED = _USER + 3
    BADGE = _USER + 4  # edited by someone else since last opened
    SIZE = _USER + 5  # bytes, or None while unknown
    WARNING = _USER + 6  # why the agent does not see it, or ""
    MODIFIED = _USER + 7  # unsaved text in the editor
    DETAIL = _USER + 8  # dim text after the name
    USE = _USER + 9  # "5× · 2 d"
    DATA = _USER + 10  # the node's data


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
    `rename_asked(path, new name)`, `move_asked(paths, folder)`."""

    rename_asked = Signal(str, str)
    move_asked = Signal(object, str)

    def __init__(self, now: Callable[[], int], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._now = now
        self._token = f"{os.getpid()}-{id(self)}"
        self._modified: frozenset[str] = frozenset()
        self._lint: Mapping[str, tuple[LintFinding, ...]] = {}
        self._rule: RuleOf = editable
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

    def set_lint(self, findings: Mapping[str, tuple[LintFinding, ...]]) -> None:
        """What there is to look at in the memories, by memory path; only rows that change are drawn anew."""
        before, self._lint = self._lint, findings
        paths = before.keys() | findings.keys()
        changed = [path for path in paths if before.get(path) != findings.get(path)]
        if len(changed) > _FEW:
            self.touch_all()
            return
        for path in changed:
            self.touch(self.index_of(path_keys(path), made=True))

    def set_rule(self, rule: RuleOf) -> None:
        """Who may change the files of the trees that are shown next."""
        self._rule = rule

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
        """Whether there is a file or folder at a memory path."""
        return path in self.memory_tree.files or path in self.memory_tree.folders

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
        if self.is_taken(target):
            return self.tr("Something is there already.")
        problem = name_problem(target)
        return self.tr("Not a valid name: {problem}").format(problem=problem) if problem else ""

    def setData(self, index: AnyIndex, value: Any, role: int = int(Qt.ItemDataRole.EditRole)) -> bool:
        """A person typed another name: told on, nothing is changed here."""
        path = str(index.data(Role.PATH) or "")
        name = str(value).strip()
        if role == _EDIT and path and not self.name_problem(path, name):
            self.rename_asked.emit(path, name)
        return False

    def supportedDropActions(self) -> Qt.DropAction:
        return Qt.DropAction.MoveAction

    def mimeTypes(self) -> list[str]:
        return [PATHS_MIME]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        """The paths, for this very model; as text for everybody else."""
        paths = [path for index in indexes if (path := str(index.data(Role.PATH) or ""))]
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
            case Role.DATA:
                return data
            case Role.KIND:
                return _kind(data)
            case Role.PATH:
                return path_of(data)
            case _ if role == _EDIT and isinstance(data, FileData | FolderData):
                return data.name
            case _ if role in (_DISPLAY, _EDIT):
                return self._look(data).name
            case _ if role == _TOOLTIP:
                return as_tooltip(*self.tooltip_lines(data))
            case _ if role == _ACCESSIBLE:
                return self._accessible(data)
            case _:
                return self._single(data, role)

    def _single(self, data: Any, role: int) -> Any:
        if role not in _SINGLE:
            return None
        if role == Role.SIZE:
            known = isinstance(data, FileData) and not data.names_only
            return data.file.size if known else None
        look = self._look(data)
        return {
            Role.PINNED: look.pinned,
            Role.BADGE: look.badge,
            Role.WARNING: data.file.unseen_reason if look.warning and isinstance(data, FileData) else "",
            Role.MODIFIED: look.modified,
            Role.DETAIL: look.detail,
            Role.USE: look.use,
        }[Role(role)]

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
                    badge=data.changed,
                    warning=not file.seen_by_agent and not data.names_only,
                    modified=data.path in self._modified,
                    flag=is_marked(self._lint.get(data.path, ())),
                    lock=sign_of(self._rule(data.scope, file.rel)),
                )
            case FolderData():
                return plain_look(data, lock=sign_of(self._rule(data.scope, data.rel)))
        return plain_look(data)

    def _use(self, data: FileData) -> str:
        usage = data.file.usage
        if data.names_only or not usage.agent_count:
            return ""
        if usage.last_accessed_at is None:
            return f"{usage.agent_count}×"
        return f"{usage.agent_count}× · {words.short_age(self._now(), usage.last_accessed_at)}"

    def tooltip_lines(self, data: Any) -> list[str]:
        """What a tool tip says of a row, one fact a line."""
        match data:
            case FileData():
                return [data.path, *self._file_facts(data)]
            case FolderData():
                rule = self._rule(data.scope, data.rel)
                return [data.path, words.notes(data.notes), rule.sentence]
            case ScopeData():
                return [words.scope_name(data.scope), data.reason, *data.problems]
            case CompanionData():
                only_shown = bool(data.companion.read_only)
                said = "" if only_shown else self.tr("The agent reads it beside its memories.")
                return [line for line in (str(data.companion.path), said, data.companion.note) if line]
            case NoticeData():
                return [data.text]
        return []

    def _file_facts(self, data: FileData) -> list[str]:
        file = data.file
        if data.names_only:
            return []
        usage = file.usage
        facts = [file.description, human_size(file.size), self._rule(data.scope, file.rel).sentence]
        if usage.access_count:
            facts.append(words.uses(usage.agent_count, usage.own_count))
        if usage.last_accessed_at is not None:
            facts.append(self.tr("Last used {when}").format(when=words.when(usage.last_accessed_at)))
        if usage.last_write_at is not None:
            facts.append(self.tr("Last written {when}").format(when=words.when(usage.last_write_at)))
        if usage.pinned:
            facts.append(self.tr("Pinned: a consolidation never deletes or renames it"))
        if usage.unknown_to_agent:
            facts.append(
                self.tr("Not yet known to the running agent; Reverie keeps it until the agent is restarted")
            )
        if data.changed:
            facts.append(self.tr("Changed by an agent or a consolidation since you last opened it"))
        if not file.seen_by_agent:
            facts.append(self.tr("The agent does not see it: {reason}").format(reason=file.unseen_reason))
        facts += [headline(each) for each in self._lint.get(data.path, ()) if each.kind != "over-cap"]
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
            parts.append(self.tr("changed since you last opened it"))
        if look.warning:
            parts.append(self.tr("warning"))
        if look.flag:
            parts.append(self.tr("something to look at"))
        if look.modified:
            parts.append(self.tr("not saved"))
        if look.lock:
            generated = look.lock == SIGNS["generated"]
            parts.append(self.tr("made anew by the agent") if generated else self.tr("read-only"))
        return ", ".join(part for part in parts if part)


_SINGLE = frozenset((Role.PINNED, Role.BADGE, Role.SIZE, Role.WARNING, Role.MODIFIED, Role.DETAIL, Role.USE))
_KINDS: dict[type, str] = {
    FileData: "file",
    FolderData: "folder",
    ScopeData: "scope",
    CompanionData: "companion",
    NoticeData: "notice",
}


def _kind(data: Any) -> str:
    return _KINDS.get(type(data), "")


def index_path(index: AnyIndex) -> str:
    """The memory path of an index; empty if it has none."""
    return str(index.data(Role.PATH) or "") if index.isValid() else ""
