"""The memory tree as values: what the three scopes hold, as `RowNode`s that share what did not change; and
the smallest steps between two lists of rows.

Pure; built on a worker thread from what is `Listed`. A new tree shares every unchanged node with the old one,
so that "is it the same object?" answers "did anything change below?"; the model on the GUI thread replays
`steps` level by level. Keys are unique among siblings and stable over time; they are what selection and
expansion are remembered by: `workspace`, `project`, `global` for the roots, then `c:` companion, `d:` folder,
`f:` file, `n:` notice plus the name, so that a file that becomes a folder is another row. Order in a folder:
companions, folders, files, each by UTF-16 code unit of the name (the agent's own order), files as an
`Arrangement` says.

Threading: any thread. Failure: none.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from reverie.agents.base import Companion, Loading
from reverie.agents.scopes import Scope
from reverie.errors import PathRuleError
from reverie.memory.paths import ROOT, parse_memory_path, utf16_key
from reverie.ui import display_text
from reverie.ui.display_text import scope_name, tr, visible
from reverie.values import Struct, field

if TYPE_CHECKING:
    from reverie.agents.base import LoadState
    from reverie.memory.listing import MemoryFile, ScopeListing
    from reverie.services.views import UnseenKind

# Rows of any tree, and the steps between two lists of them.


class RowNode(NamedTuple):
    """One row. `data` is a frozen value of the model that shows it. Compare nodes with `is`, never with
    `==`."""

    key: str
    data: Any
    children: tuple[RowNode, ...] = ()


def shared(previous: RowNode | None, key: str, data: Any, children: tuple[RowNode, ...] = ()) -> RowNode:
    """`previous` itself where it already says the same, else a new node."""
    if (
        previous is not None
        and previous.key == key
        and len(previous.children) == len(children)
        and all(old is new for old, new in zip(previous.children, children, strict=True))
        and previous.data == data
    ):
        return previous
    return RowNode(key, data, children)


class Remove(NamedTuple):
    """Rows first..last go."""

    first: int
    last: int


class Insert(NamedTuple):
    """New rows at `row`: positions source_first..source_last of the target list."""

    row: int
    source_first: int
    source_last: int


class Move(NamedTuple):
    """One row goes to stand before `before`, counted before the move (Qt's rule). Never a move to its own
    place."""

    row: int
    before: int


Step = Remove | Insert | Move


def steps(old: Sequence[str], new: Sequence[str]) -> list[Step]:
    """Steps that turn the keys `old` into `new`: removals from the end, then moves and inserts in target
    order.

    Rows that keep their order relative to each other never move (the longest such run is kept in place), so a
    selected or current row is touched only when it really changes place. Keys must be unique in each list.
    """
    if old == new:
        return []
    wanted = {key: position for position, key in enumerate(new)}
    result: list[Step] = list(_removals(old, wanted))
    current = [key for key in old if key in wanted]
    staying = _staying(current, wanted)
    position, at = 0, 0  # `at`: where the next key of the target belongs in `current`
    kept = frozenset(current)
    while position < len(new):
        key = new[position]
        if key not in kept:
            last = position
            while last + 1 < len(new) and new[last + 1] not in kept:
                last += 1
            result.append(Insert(at, position, last))
            current[at:at] = new[position : last + 1]
            at += last - position + 1
            position = last + 1
            continue
        row = at if at < len(current) and current[at] == key else current.index(key)
        if key not in staying and row != at:
            result.append(Move(row, at))
            current.insert(at if at < row else at - 1, current.pop(row))
            row = at if at < row else at - 1
        at = row + 1
        position += 1
    return result


def _removals(old: Sequence[str], wanted: dict[str, int]) -> list[Remove]:
    ranges: list[Remove] = []
    row = len(old) - 1
    while row >= 0:
        if old[row] in wanted:
            row -= 1
            continue
        last = row
        while row > 0 and old[row - 1] not in wanted:
            row -= 1
        ranges.append(Remove(row, last))
        row -= 1
    return ranges


def _staying(current: Sequence[str], wanted: dict[str, int]) -> frozenset[str]:
    """A longest run of keys whose order is the same in both lists (patience sorting, n log n)."""
    tails: list[int] = []
    tail_rows: list[int] = []
    before: list[int] = [-1] * len(current)
    for row, key in enumerate(current):
        place = bisect_left(tails, wanted[key])
        before[row] = tail_rows[place - 1] if place else -1
        if place == len(tails):
            tails.append(wanted[key])
            tail_rows.append(row)
        else:
            tails[place] = wanted[key]
            tail_rows[place] = row
    kept: set[str] = set()
    row = tail_rows[-1] if tail_rows else -1
    while row >= 0:
        kept.add(current[row])
        row = before[row]
    return frozenset(kept)


# What a painter needs to know of a row of a tree. A value, without Qt, so that a model can say it without
# what draws it.


class RowLook(NamedTuple):
    """Everything a painter needs of a row, in one call across the language border. Texts are safe to draw.

    `lock` is the sign of what is not for editing. `use` is right-aligned; with `has_use` its room is kept on
    every row, so that the marks stand in one column. `pin_unknown`: the running agent has not read that it
    is pinned, or that it is not any more. `cut_end`: the name is a sentence, which loses its end where there
    is no room; others lose their middle. `badge`: N, M or D, what someone else did to it unseen. `struck`: it
    is gone.
    """

    name: str
    detail: str = ""
    icon: str = ""
    use: str = ""
    has_use: bool = False
    bold: bool = False
    italic: bool = False
    quiet: bool = False
    pinned: bool = False
    pin_unknown: bool = False
    badge: str = ""
    loaded: LoadState | Literal[""] = ""
    warning: bool = False
    modified: bool = False
    flag: bool = False
    lock: str = ""
    cut_end: bool = False
    struck: bool = False


# The tree of memories.


class ListedScope(Protocol):
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
    changed: Literal["", "new", "changed"]
    """What someone else did to it since it was seen."""
    names_only: bool

    @property
    def name(self) -> str:
        return str(self.file.rel).rpartition("/")[2]

    @property
    def path(self) -> str:
        return f"{ROOT}/{self.scope.value}/{self.file.rel}"


class GoneData(NamedTuple):
    """A memory that someone else deleted, until a person has seen that."""

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
    """A row that only says something."""

    kind: Literal["unavailable", "empty", "filtered"]
    text: str = ""


RowData = ScopeData | FolderData | FileData | GoneData | CompanionData | NoticeData


class MemoryTree(Struct, frozen=True):
    """A tree with its files and folders by memory path, for the next build to share and for lookups."""

    root: RowNode
    files: Mapping[str, RowNode] = field(default_factory=dict)
    folders: Mapping[str, RowNode] = field(default_factory=dict)
    source: TreeSource | None = None
    pinned: int = 0
    """How many of the files are pinned."""


EMPTY = MemoryTree(RowNode("", None))

SortKey = Literal["name", "recent", "use", "size"]
SORT_KEYS: tuple[SortKey, ...] = ("name", "recent", "use", "size")


Show = Literal["all", "loaded", "changed", "pinned", "stale", "warnings"]
"""Which memories a tree shows; see `Arrangement.show`."""
SHOWS: tuple[Show, ...] = ("all", "loaded", "changed", "pinned", "stale", "warnings")


class Arrangement(NamedTuple):
    """How the files of a folder are ordered, and which are shown.

    `show`: all of them, what the agent loads in full, what someone else changed since it was seen, what is
    pinned, what says something that is not true any more, or what has a warning. `only` are the memory
    paths of "loaded", "stale" and "warnings", which the tree cannot tell itself. Those in `also` stay, so
    that nothing goes from under the eyes of who looks at it."""

    sort: SortKey = "name"
    show: Show = "all"
    only: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()

    def takes(self, data: FileData) -> bool:
        """Whether it shows this memory."""
        if self.show == "all" or data.path in self.also:
            return True
        if self.show == "changed":
            return bool(data.changed)
        return data.file.usage.pinned if self.show == "pinned" else data.path in self.only

    def shows(self, companion: Companion) -> bool:
        """Whether it shows this file beside the memories."""
        return self.show == "all" or (self.show == "loaded" and str(companion.path) in self.only)

    def ordered(self, files: list[RowNode]) -> list[RowNode]:
        """Most of it first; equal ones keep the order of their names."""
        if self.sort == "name":
            return files
        return sorted(files, key=_MOST_FIRST[self.sort])


class TreeSource(NamedTuple):
    """What a tree was built of, for a later one to be compared with."""

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


def build_tree(
    view: ListedScope,
    previous: MemoryTree = EMPTY,
    *,
    names_only: bool = False,
    unseen: Mapping[str, UnseenKind] = NOTHING_UNSEEN,
    arrangement: Arrangement = BY_NAME,
) -> MemoryTree:
    """The tree of `view`. `unseen`: what someone else did to a memory since it was seen, by its path. With
    few changes it costs little more than these."""
    if previous.source is not None and not names_only:
        tree = patched(view, previous, unseen, arrangement)
        if tree is not None:
            return tree
    source = None if names_only else TreeSource(dict(view.scopes), view.companions, unseen, arrangement)
    files: dict[str, RowNode] = {}
    folders: dict[str, RowNode] = {}
    old_roots = {node.key: node for node in previous.root.children}
    roots: list[RowNode] = []
    for scope in SCOPES:
        listing = view.scopes.get(scope)
        if listing is None:
            continue
        companions = [companion for companion in view.companions if companion.scope is scope]
        build = _ScopeBuild(scope, previous, names_only, unseen, files, folders, arrangement)
        roots.append(build.root(listing, companions, old_roots.get(scope.value)))
    pinned = sum(node.data.file.usage.pinned for node in files.values())
    return MemoryTree(shared(previous.root, "", None, tuple(roots)), files, folders, source, pinned)


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


def mark_of(unseen: Mapping[str, UnseenKind], path: str) -> Literal["", "new", "changed"]:
    """What someone else did to a memory that is there."""
    kind = unseen.get(path)
    return kind if kind == "new" or kind == "changed" else ""


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
        unseen: Mapping[str, UnseenKind],
        files: dict[str, RowNode],
        folders: dict[str, RowNode],
        arrangement: Arrangement,
    ) -> None:
        self.scope = scope
        self.previous = previous
        self.names_only = names_only
        self.unseen = unseen
        self.files = files
        self.folders = folders
        # Of names alone nobody knows yet how they are ordered, nor what changed.
        self.arrangement = BY_NAME if names_only else arrangement
        self.prefix = f"{ROOT}/{scope.value}/"

    def root(self, listing: ScopeListing, companions: Sequence[Companion], old: RowNode | None) -> RowNode:
        beside = tuple(
            _reuse(old, "c:" + companion.label, CompanionData(companion))
            for companion in companions
            if self.arrangement.shows(companion)
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

    def _nothing(self, listing: ScopeListing, old: RowNode | None) -> RowNode:
        if self.arrangement.show != "all":
            return _reuse(old, "n:filtered", NoticeData("filtered"))
        root = listing.root
        return _reuse(old, "n:empty", NoticeData("empty", root.read_only or root.empty if root else ""))

    def _content(self, listing: ScopeListing) -> tuple[RowNode, ...]:
        in_folder: dict[str, list[RowNode]] = {}
        for file in listing.files:
            folder, _, name = file.rel.rpartition("/")
            in_folder.setdefault(folder, []).append(self._file(file, name))
        folders = _with_ancestors([*listing.directories, *in_folder])
        gone = self._gone(listing, folders)
        below: dict[str, list[tuple[str, RowNode]]] = {}
        notes: dict[str, int] = {}
        # Deepest first, so that a folder's children exist before the folder.
        for rel in sorted(folders, key=lambda rel: rel.count("/"), reverse=True):
            files = in_folder.get(rel, [])
            inner = _sorted_folders(below.pop(rel, []))
            total = len(files) + sum(node.data.notes for node in inner)
            notes[rel] = total
            path = self.prefix + rel
            data = FolderData(self.scope, rel, total)
            parent, _, name = rel.rpartition("/")
            children = self._arranged(inner, files, gone.get(rel, ()))
            node = shared(self.previous.folders.get(path), "d:" + name, data, children)
            self.folders[path] = node
            below.setdefault(parent, []).append((name, node))
        return self._arranged(_sorted_folders(below.get("", [])), in_folder.get("", []), gone.get("", ()))

    def _gone(self, listing: ScopeListing, folders: Collection[str]) -> dict[str, list[RowNode]]:
        """The memories that someone deleted unseen, by the folder that shows them: their own, or the nearest
        that is still there."""
        found: dict[str, list[RowNode]] = {}
        if self.names_only or "deleted" not in self.unseen.values():
            return found
        there = {file.rel for file in listing.files}
        for path in sorted(path for path, kind in self.unseen.items() if kind == "deleted"):
            rel = path.removeprefix(self.prefix)
            if rel == path or rel in there:
                continue
            folder = rel.rpartition("/")[0]
            while folder and folder not in folders:
                folder = folder.rpartition("/")[0]
            found.setdefault(folder, []).append(RowNode("g:" + rel, GoneData(self.scope, rel)))
        return found

    def _arranged(
        self, folders: tuple[RowNode, ...], files: list[RowNode], gone: Sequence[RowNode] = ()
    ) -> tuple[RowNode, ...]:
        if self.arrangement.show != "all":
            folders = tuple(node for node in folders if node.children)
            files = [node for node in files if self.arrangement.takes(node.data)]
        ordered = self.arrangement.ordered(files)
        if self.arrangement.show not in ("all", "changed") or not gone:
            return (*folders, *ordered)
        if self.arrangement.sort == "name":
            ordered = sorted((*ordered, *gone), key=lambda node: utf16_key(node.data.name))
            return (*folders, *ordered)
        return (*folders, *ordered, *gone)

    def _file(self, file: MemoryFile, name: str) -> RowNode:
        path = self.prefix + file.rel
        data = FileData(self.scope, file, mark_of(self.unseen, path), self.names_only)
        old = self.previous.files.get(path)
        node = old if old is not None and old.data == data else RowNode("f:" + name, data)
        self.files[path] = node
        return node


def _reuse(parent: RowNode | None, key: str, data: RowData) -> RowNode:
    children = parent.children if parent is not None else ()
    return shared(next((child for child in children if child.key == key), None), key, data)


def _with_ancestors(rels: Iterable[str]) -> set[str]:
    known: set[str] = set()
    for rel in rels:
        while rel and rel not in known:
            known.add(rel)
            rel = rel.rpartition("/")[0]
    return known


def _sorted_folders(named: Iterable[tuple[str, RowNode]]) -> tuple[RowNode, ...]:
    return tuple(node for _, node in sorted(named, key=lambda pair: utf16_key(pair[0])))


# A memory tree brought up to date where few files say something new: what one change among a hundred
# thousand memories costs.
#
# Only what keeps every row in its place is patched: other content, use or badges of files that are there
# already, in a tree ordered by name. For anything else the answer is None, and the tree is built anew.
# Listings share the entries of unchanged files, so they are compared by identity.
#
# Pure; in the thread of whoever builds the tree.


# Beyond this many changes building all of it costs about as much.
MOST = 1000

_Changes = dict[str, tuple[Scope, "MemoryFile"]]


def patched(
    view: ListedScope, previous: MemoryTree, unseen: Mapping[str, UnseenKind], arrangement: Arrangement
) -> MemoryTree | None:
    """The tree of `view` from `previous`; None where it has to be built."""
    source = previous.source
    if source is None or arrangement != source.arrangement or arrangement != Arrangement():
        return None
    if view.companions != source.companions or view.scopes.keys() != source.scopes.keys():
        return None
    changes: _Changes = {}
    for path in unseen.keys() | source.unseen.keys():
        before, after = source.unseen.get(path), unseen.get(path)
        if before == after:
            continue
        if "deleted" in (before, after):
            return None
        node = previous.files.get(path)
        if node is not None:
            changes[path] = (node.data.scope, node.data.file)
    for scope, listing in view.scopes.items():
        differing = _differing(source.scopes[scope], listing)
        if differing is None:
            return None
        changes.update({f"/memories/{scope.value}/{file.rel}": (scope, file) for file in differing})
    if len(changes) > MOST:
        return None
    now = TreeSource(dict(view.scopes), view.companions, unseen, arrangement)
    return _replaced(previous, changes, now)


def _differing(old: ScopeListing, new: ScopeListing) -> list[MemoryFile] | None:
    """The files that say something new; None if there are others now, or they stand elsewhere."""
    if old is new:
        return []
    if (
        (old.root, old.unavailable, old.problems) != (new.root, new.unavailable, new.problems)
        or len(old.files) != len(new.files)
        or old.directories != new.directories
    ):
        return None
    found = []
    for before, after in zip(old.files, new.files, strict=True):
        if before is not after:
            if before.rel != after.rel:
                return None
            found.append(after)
    return found


def _replaced(previous: MemoryTree, changes: _Changes, now: TreeSource) -> MemoryTree:
    files, folders, root = dict(previous.files), dict(previous.folders), previous.root
    pinned = previous.pinned
    # By folder: which of its rows are others now.
    waiting: dict[str, dict[str, RowNode]] = defaultdict(dict)
    for path, (scope, file) in changes.items():
        old = files[path]
        data = FileData(scope, file, mark_of(now.unseen, path), names_only=False)
        if data != old.data:
            files[path] = RowNode(old.key, data)
            pinned += file.usage.pinned - old.data.file.usage.pinned
            waiting[path.rpartition("/")[0]][old.key] = files[path]
    # The deepest first, so that each folder is made once.
    tops: dict[str, RowNode] = {}
    while waiting:
        path = max(waiting, key=lambda path: path.count("/"))
        rows = waiting.pop(path)
        above, _, name = path.rpartition("/")
        if path not in folders:
            top = next(node for node in root.children if node.key == name)
            tops[name] = _with_rows(top, rows)
            continue
        folders[path] = _with_rows(folders[path], rows)
        waiting[above][folders[path].key] = folders[path]
    return MemoryTree(_with_rows(root, tops) if tops else root, files, folders, now, pinned)


def _with_rows(node: RowNode, rows: dict[str, RowNode]) -> RowNode:
    return RowNode(node.key, node.data, tuple(rows.get(child.key, child) for child in node.children))


# How a row of the memory tree looks, as far as its data alone tells: the tree and the first look say it
# alike. Pure but for the translation; nothing here needs what draws or edits a row.


def plain_look(data: RowData | None, *, lock: str = "") -> RowLook:
    """A row without what other parts of the window know of it. `lock`: the sign of what is not for
    editing."""
    match data:
        case FileData():
            return RowLook(visible(data.name), icon="file", has_use=True, lock=lock)
        case FolderData():
            return RowLook(visible(data.name), f"{data.notes:,}", "folder", lock=lock)
        case ScopeData():
            return _of_scope(data)
        case GoneData():
            return RowLook(
                visible(data.name), tr("deleted"), "file", has_use=True, badge="D", quiet=True, struck=True
            )
        case CompanionData():
            return _of_companion(data)
        case NoticeData():
            return _of_notice(data)
    return RowLook("")


def _of_scope(data: ScopeData) -> RowLook:
    return RowLook(
        scope_name(data.scope),
        "" if data.reason else display_text.notes(data.notes),
        data.scope.value,
        bold=True,
        warning=bool(data.problems),
        quiet=bool(data.reason),
    )


def _of_companion(data: CompanionData) -> RowLook:
    companion = data.companion
    detail = _when_read(companion.loading) if companion.exists else tr("not there yet")
    detail = tr("read-only") if companion.read_only else detail
    detail = visible(companion.about) or detail
    return RowLook(visible(companion.label), detail, "companion", italic=True, quiet=not companion.exists)


def _when_read(loading: Loading) -> str:
    """When the agent reads a file that it loads beside its memories."""
    if loading in ("start", "unopened"):
        return tr("instructions file")
    if loading == "on-demand":
        return tr("read when it is needed")
    if loading == "approval":
        return tr("read once it was approved")
    return tr("read by a part of the agent") if loading == "elsewhere" else tr("not read by the agent")


def _of_notice(data: NoticeData) -> RowLook:
    text = data.text or tr("Nothing here yet. Ctrl+N creates the first memory.")
    if data.kind == "filtered":
        text = tr("None here.")
    return RowLook(visible(text), italic=True, quiet=True)
