"""Builds the memory tree from the listings of the scopes.

A folder lists companions first, then folders, then files, each sorted by the UTF-16 code units of the names,
which is the agent's own order. An `Arrangement` can sort the files differently or filter them.

Threading: any thread; pure. Failure: none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from reverie.agents.base import Companion
from reverie.agents.scopes import Scope
from reverie.memory.paths import ROOT, utf16_key

if TYPE_CHECKING:
    from reverie.memory.listing import MemoryFile, ScopeListing
    from reverie.services.views import UnseenKind
from reverie.ui.tree.memory_tree import (
    BY_NAME,
    EMPTY,
    NOTHING_UNSEEN,
    SCOPES,
    Arrangement,
    CompanionData,
    FileData,
    FolderData,
    GoneData,
    ListedScope,
    MemoryTree,
    NoticeData,
    RowData,
    ScopeData,
    TreeSource,
    mark_of,
)
from reverie.ui.tree.rows import RowNode, shared


def build_tree(
    view: ListedScope,
    previous: MemoryTree = EMPTY,
    *,
    names_only: bool = False,
    unseen: Mapping[str, UnseenKind] = NOTHING_UNSEEN,
    arrangement: Arrangement = BY_NAME,
) -> MemoryTree:
    """Build the tree of `view`, reusing all unchanged nodes of `previous`, the tree that was built last.

    If only the contents or marks of a few files have changed, only their rows are built (see `patched`).
    `names_only`: True if only the names of the files are known so far. `unseen`: the kind of change that
    another program made since the user last saw the memory, by memory path. `arrangement`: the order and the
    filter.
    """
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


class _ScopeBuild:
    """The construction of the part of the tree that shows one scope.

    Its nodes are added to `files` and `folders`, which map memory paths to nodes.
    """

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
        # Names alone do not tell their order or what changed.
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
        notes = _count_files(content)
        if not content:
            content = (self._nothing(listing, old),)
        data = ScopeData(self.scope, notes, "", listing.problems)
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
        """Return the rows of deleted memories, by folder, if the user has not seen the deletion yet.

        The folder is that of the memory or, if it no longer exists, the nearest parent that does. `folders`:
        the folders that exist.
        """
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


def _count_files(nodes: Iterable[RowNode]) -> int:
    """Return the number of memories in `nodes` and below them, at any depth."""
    return sum(isinstance(node.data, FileData) + _count_files(node.children) for node in nodes)


def _with_ancestors(rels: Iterable[str]) -> set[str]:
    known: set[str] = set()
    for rel in rels:
        while rel and rel not in known:
            known.add(rel)
            rel = rel.rpartition("/")[0]
    return known


def _sorted_folders(named: Iterable[tuple[str, RowNode]]) -> tuple[RowNode, ...]:
    return tuple(node for _, node in sorted(named, key=lambda pair: utf16_key(pair[0])))


# With more changes than this, a complete build costs about as much.
MOST = 1000


_Changes = dict[str, tuple[Scope, "MemoryFile"]]


def patched(
    view: ListedScope, previous: MemoryTree, unseen: Mapping[str, UnseenKind], arrangement: Arrangement
) -> MemoryTree | None:
    """Return the tree of `view`, made from `previous` by replacing only the rows of changed files.

    Returns None if the tree must be built completely. That is so if a row would move or appear: only changes
    of content, use counts or badges of existing files are patched, and only in a tree that is sorted by name
    and not filtered. An entry that is the same object in the old and the new listing counts as unchanged. For
    `unseen` and `arrangement` see `build_tree`.
    """
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
    """Return the files in `new` whose entries differ from those in `old`.

    None if files were added, removed or moved, or if something else in the scope has changed.
    """
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
    # Replaced rows by folder.
    waiting: dict[str, dict[str, RowNode]] = defaultdict(dict)
    for path, (scope, file) in changes.items():
        old = files[path]
        data = FileData(scope, file, mark_of(now.unseen, path), names_only=False)
        if data != old.data:
            files[path] = RowNode(old.key, data)
            pinned += file.usage.pinned - old.data.file.usage.pinned
            waiting[path.rpartition("/")[0]][old.key] = files[path]
    # Deepest first, so that each folder is made once.
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
