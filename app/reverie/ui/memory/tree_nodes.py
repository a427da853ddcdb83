"""The memory tree as values: what the three scopes hold, as `rows.Node`s that share what did not change.

Pure and without Qt; built on a worker thread from what is `Listed`. Order in a folder: companions, folders,
files, each by UTF-16 code unit of the name (the agent's own order), files as an `Arrangement` says. Keys:
`workspace`, `project`, `global` for the roots, then `c:` companion, `d:` folder, `f:` file, `n:` notice plus
the name, so that a file that becomes a folder is another row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from reverie.homes.listing import Companion
from reverie.homes.scopes import Scope
from reverie.memory.paths import ROOT, parse_memory_path, utf16_key
from reverie.ui.rows import Node, shared

if TYPE_CHECKING:
    from reverie.memory.listing import MemoryFile, ScopeListing


class Listed(Protocol):
    """What a tree is built of: a `MemoryView`, or less."""

    @property
    def scopes(self) -> Mapping[Scope, ScopeListing]: ...
    @property
    def companions(self) -> tuple[Companion, ...]: ...


SCOPES = (Scope.WORKSPACE, Scope.PROJECT, Scope.GLOBAL)


class ScopeData(NamedTuple):
    """A scope root. `reason` says why it is not available; empty when it is."""

    scope: Scope
    notes: int
    reason: str
    problems: tuple[str, ...] = ()


class FolderData(NamedTuple):
    """A folder of a scope. `notes`: how many memories lie in it, at any depth."""

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
    """A memory. With `names_only` nothing but its name is known yet. A named tuple, for there are ten
    thousands."""

    scope: Scope
    file: MemoryFile
    changed: bool
    names_only: bool

    @property
    def name(self) -> str:
        return str(self.file.rel).rpartition("/")[2]

    @property
    def path(self) -> str:
        return f"{ROOT}/{self.scope.value}/{self.file.rel}"


class CompanionData(NamedTuple):
    """A file that the agent loads beside its memories."""

    companion: Companion


class NoticeData(NamedTuple):
    """A row that only says something."""

    kind: Literal["unavailable", "empty", "unchanged"]
    text: str = ""


RowData = ScopeData | FolderData | FileData | CompanionData | NoticeData


@dataclass(frozen=True, slots=True)
class MemoryTree:
    """A tree with its files and folders by memory path, for the next build to share and for lookups."""

    root: Node
    files: Mapping[str, Node] = field(default_factory=dict)
    folders: Mapping[str, Node] = field(default_factory=dict)
    source: Source | None = None


EMPTY = MemoryTree(Node("", None))

SortKey = Literal["name", "recent", "use", "size"]
SORT_KEYS: tuple[SortKey, ...] = ("name", "recent", "use", "size")


class Arrangement(NamedTuple):
    """How the files of a folder are ordered, and which are shown. `only_changed`: those with the badge, and
    the memory paths in `also`, so that nothing goes from under the eyes of who looks at it."""

    sort: SortKey = "name"
    only_changed: bool = False
    also: frozenset[str] = frozenset()

    def ordered(self, files: list[Node]) -> list[Node]:
        """Most of it first; equal ones keep the order of their names."""
        if self.sort == "name":
            return files
        return sorted(files, key=_MOST_FIRST[self.sort])


class Source(NamedTuple):
    """What a tree was built of, for a later one to be compared with."""

    scopes: Mapping[Scope, ScopeListing]
    companions: tuple[Companion, ...]
    changed: frozenset[str]
    arrangement: Arrangement


def _use(node: Node) -> tuple[int, int]:
    usage = node.data.file.usage
    return -usage.agent_count, -(usage.last_accessed_at or 0)


_MOST_FIRST: Mapping[str, Callable[[Node], Any]] = {
    "recent": lambda node: -node.data.file.mtime_ns,
    "use": _use,
    "size": lambda node: -node.data.file.size,
}
BY_NAME = Arrangement()


def build_tree(
    view: Listed,
    previous: MemoryTree = EMPTY,
    *,
    names_only: bool = False,
    changed: frozenset[str] = frozenset(),
    arrangement: Arrangement = BY_NAME,
    closed: bool = False,
) -> MemoryTree:
    """The tree of `view`. `changed` are the memory paths that wear the "edited by someone else" badge. With
    few changes it costs little more than these. `closed`: nobody opens a folder of it, so that one file in
    each is enough."""
    if previous.source is not None and not names_only:
        from reverie.ui.memory.tree_patch import patched

        tree = patched(view, previous, changed, arrangement)
        if tree is not None:
            return tree
    source = None if names_only else Source(dict(view.scopes), view.companions, changed, arrangement)
    files: dict[str, Node] = {}
    folders: dict[str, Node] = {}
    old_roots = {node.key: node for node in previous.root.children}
    roots: list[Node] = []
    for scope in SCOPES:
        listing = view.scopes.get(scope)
        if listing is None:
            continue
        companions = [companion for companion in view.companions if companion.scope is scope]
        build = _ScopeBuild(scope, previous, names_only, changed, files, folders, arrangement, closed)
        roots.append(build.root(listing, companions, old_roots.get(scope.value)))
    return MemoryTree(shared(previous.root, "", None, tuple(roots)), files, folders, source)


def path_keys(path: str, *, folder: bool = False) -> tuple[str, ...]:
    """The keys that lead to a memory path in the tree."""
    parsed = parse_shown(path)
    if parsed is None:
        return ()
    scope, segments = parsed
    if not segments:
        return (scope.value,)
    kinds = ["d:"] * (len(segments) - 1) + ["d:" if folder else "f:"]
    return (scope.value, *(kind + name for kind, name in zip(kinds, segments, strict=True)))


def parse_shown(path: str) -> tuple[Scope, tuple[str, ...]] | None:
    """Scope and segments of a path that is in the tree; names found on disk need not pass the agent's
    rules."""
    head, _, rest = path.removeprefix(ROOT + "/").partition("/")
    try:
        scope = Scope(head)
    except ValueError:
        return None
    return scope, tuple(segment for segment in rest.split("/") if segment)


def path_of(data: RowData | None) -> str:
    """The memory path of a row; empty for rows that are none."""
    match data:
        case FileData() | FolderData():
            return data.path
        case ScopeData():
            return f"{ROOT}/{data.scope.value}"
        case _:
            return ""


def companion_at(tree: MemoryTree, path: str) -> CompanionData | None:
    """The row of the companion whose file is `path`."""
    beside = (node.data for scope in tree.root.children for node in scope.children)
    return next(
        (data for data in beside if isinstance(data, CompanionData) and str(data.companion.path) == path),
        None,
    )


def name_problem(text: str) -> str:
    """Why `text` cannot be the path of a new memory, as a sentence; empty if it can."""
    from reverie.errors import PathRuleError

    try:
        parsed = parse_memory_path(text)
    except PathRuleError as error:
        return error.cause
    if parsed.scope is None or not parsed.segments:
        return "it names no file."
    return ""


class _ScopeBuild:
    """Builds one scope; `files` and `folders` collect what the tree is looked up by."""

    def __init__(
        self,
        scope: Scope,
        previous: MemoryTree,
        names_only: bool,
        changed: frozenset[str],
        files: dict[str, Node],
        folders: dict[str, Node],
        arrangement: Arrangement,
        closed: bool,
    ) -> None:
        self.scope = scope
        self.closed = closed
        self.previous = previous
        self.names_only = names_only
        self.changed = changed
        self.files = files
        self.folders = folders
        # Of names alone nobody knows yet how they are ordered, nor what changed.
        self.arrangement = BY_NAME if names_only else arrangement
        self.shown = changed | arrangement.also
        self.prefix = f"{ROOT}/{scope.value}/"

    def root(self, listing: ScopeListing, companions: Sequence[Companion], old: Node | None) -> Node:
        beside = tuple(
            _reuse(old, "c:" + companion.label, CompanionData(companion)) for companion in companions
        )
        if listing.unavailable:
            notice = _reuse(old, "n:unavailable", NoticeData("unavailable", listing.unavailable))
            data = ScopeData(self.scope, 0, listing.unavailable, listing.problems)
            return shared(old, self.scope.value, data, (*beside, notice))
        content = self._content(listing)
        if not content:
            content = (self._nothing(listing, old),)
        data = ScopeData(self.scope, len(listing.files), "", listing.problems)
        return shared(old, self.scope.value, data, (*beside, *content))

    def _nothing(self, listing: ScopeListing, old: Node | None) -> Node:
        if self.arrangement.only_changed and listing.files:
            return _reuse(old, "n:unchanged", NoticeData("unchanged"))
        root = listing.root
        return _reuse(old, "n:empty", NoticeData("empty", root.read_only or root.empty if root else ""))

    def _content(self, listing: ScopeListing) -> tuple[Node, ...]:
        in_folder: dict[str, list[Node]] = {}
        left_out: dict[str, int] = {}
        for file in listing.files:
            folder, _, name = file.rel.rpartition("/")
            if self.closed and folder and folder in in_folder:
                left_out[folder] = left_out.get(folder, 0) + 1
                continue
            in_folder.setdefault(folder, []).append(self._file(file, name))
        folders = _with_ancestors([*listing.directories, *in_folder])
        below: dict[str, list[tuple[str, Node]]] = {}
        notes: dict[str, int] = {}
        # Deepest first, so that a folder's children exist before the folder.
        for rel in sorted(folders, key=lambda rel: rel.count("/"), reverse=True):
            files = in_folder.get(rel, [])
            inner = _sorted_folders(below.pop(rel, []))
            total = len(files) + left_out.get(rel, 0) + sum(node.data.notes for node in inner)
            notes[rel] = total
            path = self.prefix + rel
            data = FolderData(self.scope, rel, total)
            parent, _, name = rel.rpartition("/")
            children = self._arranged(inner, files)
            node = shared(self.previous.folders.get(path), "d:" + name, data, children)
            self.folders[path] = node
            below.setdefault(parent, []).append((name, node))
        return self._arranged(_sorted_folders(below.get("", [])), in_folder.get("", []))

    def _arranged(self, folders: tuple[Node, ...], files: list[Node]) -> tuple[Node, ...]:
        if self.arrangement.only_changed:
            folders = tuple(node for node in folders if node.children)
            files = [node for node in files if node.data.path in self.shown]
        return (*folders, *self.arrangement.ordered(files))

    def _file(self, file: MemoryFile, name: str) -> Node:
        path = self.prefix + file.rel
        data = FileData(self.scope, file, path in self.changed, self.names_only)
        old = self.previous.files.get(path)
        node = old if old is not None and old.data == data else Node("f:" + name, data)
        self.files[path] = node
        return node


def _reuse(parent: Node | None, key: str, data: RowData) -> Node:
    children = parent.children if parent is not None else ()
    return shared(next((child for child in children if child.key == key), None), key, data)


def _with_ancestors(rels: Iterable[str]) -> set[str]:
    known: set[str] = set()
    for rel in rels:
        while rel and rel not in known:
            known.add(rel)
            rel = rel.rpartition("/")[0]
    return known


def _sorted_folders(named: Iterable[tuple[str, Node]]) -> tuple[Node, ...]:
    return tuple(node for _, node in sorted(named, key=lambda pair: utf16_key(pair[0])))
