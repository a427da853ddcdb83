"""A memory tree brought up to date where few files say something new: what one change among a hundred
thousand memories costs.

Only what keeps every row in its place is patched: other content, use or badges of files that are there
already, in a tree ordered by name. For anything else the answer is None, and the tree is built anew. Listings
share the entries of unchanged files, so they are compared by identity.

Pure; in the thread of whoever builds the tree.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from reverie.homes.scopes import Scope
from reverie.ui.memory.tree_nodes import Arrangement, FileData, Listed, MemoryTree, Source
from reverie.ui.rows import Node

if TYPE_CHECKING:
    from reverie.memory.listing import MemoryFile, ScopeListing

# Beyond this many changes building all of it costs about as much.
MOST = 1000

_Changes = dict[str, tuple[Scope, "MemoryFile"]]


def patched(
    view: Listed, previous: MemoryTree, changed: frozenset[str], arrangement: Arrangement
) -> MemoryTree | None:
    """The tree of `view` from `previous`; None where it has to be built."""
    source = previous.source
    if source is None or arrangement != source.arrangement or arrangement != Arrangement():
        return None
    if view.companions != source.companions or view.scopes.keys() != source.scopes.keys():
        return None
    changes: _Changes = {}
    for path in changed ^ source.changed:
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
    now = Source(dict(view.scopes), view.companions, changed, arrangement)
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


def _replaced(previous: MemoryTree, changes: _Changes, now: Source) -> MemoryTree:
    files, folders, root = dict(previous.files), dict(previous.folders), previous.root
    # By folder: which of its rows are others now.
    waiting: dict[str, dict[str, Node]] = defaultdict(dict)
    for path, (scope, file) in changes.items():
        old = files[path]
        data = FileData(scope, file, path in now.changed, names_only=False)
        if data != old.data:
            files[path] = Node(old.key, data)
            waiting[path.rpartition("/")[0]][old.key] = files[path]
    # The deepest first, so that each folder is made once.
    tops: dict[str, Node] = {}
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
    return MemoryTree(_with_rows(root, tops) if tops else root, files, folders, now)


def _with_rows(node: Node, rows: dict[str, Node]) -> Node:
    return Node(node.key, node.data, tuple(rows.get(child.key, child) for child in node.children))
