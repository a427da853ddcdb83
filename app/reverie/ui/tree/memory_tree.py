"""The memory tree as values: the rows of the three scopes, and lookups by memory path.

Keys are unique among siblings and stable over time; selection and expansion are stored by them: `workspace`,
`project`, `global` for the roots, then `c:` companion, `d:` folder, `f:` file, `g:` deleted file, `n:` notice
plus the name. If a file is replaced by a folder of the same name, it therefore gets another row.

Threading: any thread. Failure: none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from reverie.agents.base import Companion
from reverie.agents.scopes import Scope
from reverie.errors import PathRuleError
from reverie.memory.paths import ROOT, parse_memory_path
from reverie.values import Struct, field

if TYPE_CHECKING:
    from reverie.memory.listing import MemoryFile, ScopeListing
    from reverie.services.views import UnseenKind
from reverie.ui.tree.rows import RowNode


class ListedScope(Protocol):
    """The part of a `MemoryView` from which a tree is built."""

    @property
    def scopes(self) -> Mapping[Scope, ScopeListing]: ...
    @property
    def companions(self) -> tuple[Companion, ...]: ...


SCOPES = (Scope.WORKSPACE, Scope.PROJECT, Scope.GLOBAL)


class ScopeData(NamedTuple):
    """The root of a scope. `reason` says why the scope is not available; empty if it is."""

    scope: Scope
    notes: int
    """The number of memories that are shown."""
    reason: str
    problems: tuple[str, ...] = ()


class FolderData(NamedTuple):
    """A folder of a scope. `notes` is the number of memories in it, at any depth."""

    scope: Scope
    rel: str
    notes: int

    @property
    def name(self) -> str:
        return self.rel.rpartition("/")[2]

    @property
    def path(self) -> str:
        return f"{ROOT}/{self.scope.value}/{self.rel}"


class FileData(NamedTuple):
    """A memory. With `names_only`, only its name is known so far.

    It is a named tuple because a tree can have tens of thousands of them.
    """

    scope: Scope
    file: MemoryFile
    changed: Literal["", "new", "changed"]
    """The kind of change that another program made to the file since the user last saw it; empty for none."""
    names_only: bool

    @property
    def name(self) -> str:
        return str(self.file.rel).rpartition("/")[2]

    @property
    def path(self) -> str:
        return f"{ROOT}/{self.scope.value}/{self.file.rel}"


class GoneData(NamedTuple):
    """A memory that another program deleted, shown until the user has seen the deletion."""

    scope: Scope
    rel: str

    @property
    def name(self) -> str:
        return self.rel.rpartition("/")[2]

    @property
    def path(self) -> str:
        return f"{ROOT}/{self.scope.value}/{self.rel}"


class CompanionData(NamedTuple):
    """A file that the agent loads beside its memories."""

    companion: Companion


class NoticeData(NamedTuple):
    """A row that shows only a message."""

    kind: Literal["unavailable", "empty", "filtered"]
    text: str = ""


RowData = ScopeData | FolderData | FileData | GoneData | CompanionData | NoticeData


class MemoryTree(Struct, frozen=True):
    """A tree with its files and folders by memory path, for lookups and for the next build to share."""

    root: RowNode
    files: Mapping[str, RowNode] = field(default_factory=dict)
    folders: Mapping[str, RowNode] = field(default_factory=dict)
    source: TreeSource | None = None
    pinned: int = 0
    """The number of pinned files."""


EMPTY = MemoryTree(RowNode("", None))

SortKey = Literal["name", "recent", "use", "size"]
SORT_KEYS: tuple[SortKey, ...] = ("name", "recent", "use", "size")


Show = Literal["all", "loaded", "changed", "pinned", "stale", "warnings"]
"""The filters of a tree; see `Arrangement.show`."""
SHOWS: tuple[Show, ...] = ("all", "loaded", "changed", "pinned", "stale", "warnings")


class Arrangement(NamedTuple):
    """The order of the files in a folder, and the filter that decides which are shown."""

    sort: SortKey = "name"
    show: Show = "all"
    """The kind of memories that are shown.

    All memories, those that the agent loads in full, that another program changed unseen, that are pinned,
    that have an outdated statement, or that have a warning.
    """
    only: frozenset[str] = frozenset()
    """The memory paths to show for "loaded", "stale" and "warnings", which need more than the tree."""
    also: frozenset[str] = frozenset()
    """Memory paths that are always shown, so that a file does not disappear while the user works on it."""

    def takes(self, data: FileData) -> bool:
        """Return whether the filter lets this memory be shown."""
        if self.show == "all" or data.path in self.also:
            return True
        if self.show == "changed":
            return bool(data.changed)
        return data.file.usage.pinned if self.show == "pinned" else data.path in self.only

    def shows(self, companion: Companion) -> bool:
        """Return whether the filter lets this companion be shown."""
        return self.show == "all" or (self.show == "loaded" and str(companion.path) in self.only)

    def ordered(self, files: list[RowNode]) -> list[RowNode]:
        """Return `files` sorted by `sort`, highest value first; files with equal values keep their order."""
        if self.sort == "name":
            return files
        return sorted(files, key=_MOST_FIRST[self.sort])


class TreeSource(NamedTuple):
    """The input from which a tree was built, stored for comparison with the next input."""

    scopes: Mapping[Scope, ScopeListing]
    companions: tuple[Companion, ...]
    unseen: Mapping[str, UnseenKind]
    arrangement: Arrangement


def _use(node: RowNode) -> tuple[int, int]:
    usage = node.data.file.usage
    return -usage.agent_count, -(usage.last_accessed_at or 0)


_MOST_FIRST: Mapping[str, Callable[[RowNode], Any]] = {
    "recent": lambda node: -node.data.file.mtime_ns,
    "use": _use,
    "size": lambda node: -node.data.file.size,
}
BY_NAME = Arrangement()
NOTHING_UNSEEN: Mapping[str, UnseenKind] = {}


def path_keys(path: str, *, folder: bool = False) -> tuple[str, ...]:
    """Return the keys from the root of the tree to a memory path."""
    parsed = parse_shown(path)
    if parsed is None:
        return ()
    scope, segments = parsed
    if not segments:
        return (scope.value,)
    kinds = ["d:"] * (len(segments) - 1) + ["d:" if folder else "f:"]
    return (scope.value, *(kind + name for kind, name in zip(kinds, segments, strict=True)))


def parse_shown(path: str) -> tuple[Scope, tuple[str, ...]] | None:
    """Split a path of the tree into its scope and segments; None if it has no scope.

    `parse_memory_path` cannot be used, because names on disk can violate the agent's rules.
    """
    head, _, rest = path.removeprefix(ROOT + "/").partition("/")
    try:
        scope = Scope(head)
    except ValueError:
        return None
    return scope, tuple(segment for segment in rest.split("/") if segment)


def mark_of(unseen: Mapping[str, UnseenKind], path: str) -> Literal["", "new", "changed"]:
    """Return `new` or `changed` if another program wrote the memory unseen by the user, else ""."""
    kind = unseen.get(path)
    return kind if kind == "new" or kind == "changed" else ""


def path_of(data: RowData | None) -> str:
    """Return the memory path of a row; empty for rows without one."""
    match data:
        case FileData() | FolderData():
            return data.path
        case ScopeData():
            return f"{ROOT}/{data.scope.value}"
        case _:
            return ""


def companion_at(tree: MemoryTree, path: str) -> CompanionData | None:
    """Return the row of the companion whose file is `path`; None if there is none."""
    beside = (node.data for scope in tree.root.children for node in scope.children)
    return next(
        (data for data in beside if isinstance(data, CompanionData) and str(data.companion.path) == path),
        None,
    )


def name_problem(text: str) -> str:
    """Return a sentence about why `text` cannot be the path of a new memory; empty if it can."""
    try:
        parsed = parse_memory_path(text)
    except PathRuleError as error:
        return error.cause
    if parsed.scope is None or not parsed.segments:
        return "it names no file."
    return ""
