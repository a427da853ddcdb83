"""The memory tree as values: the rows of the three scopes, and lookups by memory path.

Each row has a key, under which its selection and expansion are stored. It is unique among the siblings and
does not change over time: `workspace`, `project` or `global` for the roots; below them, the name after a
prefix: `c:` companion, `d:` folder, `f:` file, `g:` deleted file, `n:` notice. Because of the prefix, a
folder that replaces a file of the same name gets a new row.

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
    """The attributes of a `MemoryView` from which a tree is built."""

    @property
    def scopes(self) -> Mapping[Scope, ScopeListing]: ...
    @property
    def companions(self) -> tuple[Companion, ...]: ...


SCOPES = (Scope.WORKSPACE, Scope.PROJECT, Scope.GLOBAL)


class ScopeData(NamedTuple):
    """The data of the root row of a scope."""

    scope: Scope
    notes: int
    """The number of memories that are shown."""
    reason: str
    """Why the scope is not available; empty if it is."""
    problems: tuple[str, ...] = ()
    """Sentences about directories that could not be read."""


class FolderData(NamedTuple):
    """The data of the row of a folder."""

    scope: Scope
    rel: str
    """The path of the folder in the scope."""
    notes: int
    """The number of memories in the folder, at any depth."""

    @property
    def name(self) -> str:
        return self.rel.rpartition("/")[2]

    @property
    def path(self) -> str:
        return f"{ROOT}/{self.scope.value}/{self.rel}"


class FileData(NamedTuple):
    """The data of the row of a memory; a named tuple, because a tree can have tens of thousands of them."""

    scope: Scope
    file: MemoryFile
    changed: Literal["", "new", "changed"]
    """The kind of change that another program made to the file since the user last saw it; empty for none."""
    names_only: bool
    """True if only the name of the memory is known so far."""

    @property
    def name(self) -> str:
        return str(self.file.rel).rpartition("/")[2]

    @property
    def path(self) -> str:
        return f"{ROOT}/{self.scope.value}/{self.file.rel}"


class GoneData(NamedTuple):
    """The data of the row of a memory that another program deleted.

    The row is shown until the user has seen the deletion.
    """

    scope: Scope
    rel: str
    """The path of the memory in the scope."""

    @property
    def name(self) -> str:
        return self.rel.rpartition("/")[2]

    @property
    def path(self) -> str:
        return f"{ROOT}/{self.scope.value}/{self.rel}"


class CompanionData(NamedTuple):
    """The data of the row of a companion: a file that the agent loads beside its memories."""

    companion: Companion


class NoticeData(NamedTuple):
    """The data of a row that only shows a message."""

    kind: Literal["unavailable", "empty", "filtered"]
    """The scope is unavailable, it is empty, or no memory in it matches the filter."""
    text: str = ""
    """The message; empty for the usual one of the kind."""


RowData = ScopeData | FolderData | FileData | GoneData | CompanionData | NoticeData


class MemoryTree(Struct, frozen=True):
    """A tree of memories. The next build of the tree reuses its nodes."""

    root: RowNode
    files: Mapping[str, RowNode] = field(default_factory=dict)
    """The nodes of the files, by memory path."""
    folders: Mapping[str, RowNode] = field(default_factory=dict)
    """The nodes of the folders, by memory path."""
    source: TreeSource | None = None
    """The input from which this tree was built; None for an empty tree."""
    pinned: int = 0
    """The number of pinned files."""


EMPTY = MemoryTree(RowNode("", None))

SortKey = Literal["name", "recent", "use", "size"]
SORT_KEYS: tuple[SortKey, ...] = ("name", "recent", "use", "size")


Show = Literal["all", "loaded", "changed", "pinned", "stale", "warnings"]
"""The filters of a tree; see `Arrangement.show`."""


class Arrangement(NamedTuple):
    """The order of the files in a folder, and the filter that decides which memories are shown."""

    sort: SortKey = "name"
    show: Show = "all"
    """Which memories are shown: `all`, or only some.

    `loaded`: those that the agent loads in full. `changed`: those that another program changed and the user
    has not seen. `pinned`: pinned ones. `stale`: those with an outdated statement. `warnings`: those with a
    warning.
    """
    only: frozenset[str] = frozenset()
    """The memory paths, and for `loaded` also the file paths of companions, to show.

    Used only if `show` is `loaded`, `stale` or `warnings`, because the data of a row does not say whether
    these filters show the row.
    """
    also: frozenset[str] = frozenset()
    """Memory paths that are always shown, so that a file does not disappear while the user works on it."""

    def takes(self, data: FileData) -> bool:
        """Return True if the filter shows this memory."""
        if self.show == "all" or data.path in self.also:
            return True
        if self.show == "changed":
            return bool(data.changed)
        return data.file.usage.pinned if self.show == "pinned" else data.path in self.only

    def shows(self, companion: Companion) -> bool:
        """Return True if the filter shows this companion."""
        return self.show == "all" or (self.show == "loaded" and str(companion.path) in self.only)

    def ordered(self, files: list[RowNode]) -> list[RowNode]:
        """Return `files`, which are sorted by name, in the order `sort`.

        By `recent`, `use` and `size`, the highest value comes first; files with equal values stay sorted by
        name.
        """
        if self.sort == "name":
            return files
        return sorted(files, key=_MOST_FIRST[self.sort])


class TreeSource(NamedTuple):
    """The input from which a tree was built, kept to find out what has changed in the next input."""

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
    """Return the keys from the root of the tree to the row at a memory path; empty if the path has no scope.

    `folder`: True if the path is that of a folder, not of a file.
    """
    parsed = parse_shown(path)
    if parsed is None:
        return ()
    scope, segments = parsed
    if not segments:
        return (scope.value,)
    kinds = ["d:"] * (len(segments) - 1) + ["d:" if folder else "f:"]
    return (scope.value, *(kind + name for kind, name in zip(kinds, segments, strict=True)))


def parse_shown(path: str) -> tuple[Scope, tuple[str, ...]] | None:
    """Split a memory path of a row into its scope and segments; None if it has no valid scope.

    Unlike `parse_memory_path`, this accepts names that violate the agent's rules, because a file on disk can
    have such a name.
    """
    head, _, rest = path.removeprefix(ROOT + "/").partition("/")
    try:
        scope = Scope(head)
    except ValueError:
        return None
    return scope, tuple(segment for segment in rest.split("/") if segment)


def mark_of(unseen: Mapping[str, UnseenKind], path: str) -> Literal["", "new", "changed"]:
    """Return `new` or `changed` if another program wrote the memory at `path`, else "".

    `unseen`: the kinds of the changes that the user has not seen yet, by memory path.
    """
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
    """Return the reason why `text` cannot be the memory path of a new memory; empty if it can."""
    try:
        parsed = parse_memory_path(text)
    except PathRuleError as error:
        return error.cause
    if parsed.scope is None or not parsed.segments:
        return "it names no file."
    return ""
