"""What one scope holds: every memory with its description, pin and use, and whether the agent sees it.

People see every file; what lies beyond the agent's caps or rules is marked, with the reason in words
(design.md section 4). `index_entries` is the agent's own view of a listing (formats/mux.md section 7): its
order, its cap, without the names it refuses.

A later scan may start from an earlier listing: files that look unchanged are not read again, and with a set
of dirty paths only those places are looked at.

Failure: a root that is missing is empty, unless its home is gone too: then `Unavailable` is raised, for a
vanished disk is not a thousand deletions. A root that is there but cannot be read says so in `unavailable`, a
directory in `problems`. Blocking I/O; any thread but the GUI's.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from reverie.errors import Unavailable
from reverie.homes.scopes import Caps, Scope, ScopeRoot
from reverie.memory.paths import memory_path, rel_problem, utf16_key
from reverie.memory.rescanning import Update, dirty_rels
from reverie.memory.scanning import NameScanner, Scanner, is_gone
from reverie.memory.scope_listing import (
    KeyOf,
    UsageOf,
    Use,
    in_order,
    is_unspeakable,
    mark_beyond,
    mark_old,
    position,
    use_of,
)
from reverie.memory.scope_listing import MemoryFile as MemoryFile
from reverie.memory.scope_listing import ScopeListing as ScopeListing
from reverie.memory.usage_entries import UNUSED, Usage

# A file modified this shortly before it was read may change again without a new mtime (FAT counts in 2 s).
_RACY_NS = 2_000_000_000


class IndexEntry(TypedDict):
    """One line of the agent's index, in the spelling of its own list operation."""

    path: str
    scope: str
    description: str
    pinned: bool
    accessCount: int
    lastAccessedAt: int | None


def scan_scope(
    root: ScopeRoot,
    caps: Caps,
    usage: Mapping[str, Usage],
    key_of: KeyOf,
    *,
    previous: ScopeListing | None = None,
    dirty: Collection[Path] | None = None,
    available: Callable[[], bool] = lambda: True,
) -> ScopeListing:
    """The scope as it is now. `usage` is by logical key; `key_of` gives the key of a relative path.

    Without `dirty` every file is looked at, and read again if its size, mtime or inode differ from those in
    `previous`; with it only what those absolute paths name. `available` says whether the home is there:
    raises `Unavailable` if it is not and the root is missing.
    """
    if previous is not None and (previous.names_only or previous.unavailable or previous.root != root):
        previous = None
    use = use_of(root, usage, key_of, previous.use if previous is not None else None)

    # The table's own method where there is one: it is called for each file.
    usage_of: UsageOf = use.by_rel.get if use is not None else lambda rel: usage.get(key_of(rel) or "")

    def look() -> ScopeListing:
        rels = dirty_rels(root, dirty) if previous is not None and dirty is not None else None
        if previous is None or rels is None:
            return _all(root, caps, usage_of, use, previous)
        return _changed(root, caps, usage_of, use, previous, rels)

    return _present(root, available, look)


def names_only(root: ScopeRoot, *, available: Callable[[], bool] = lambda: True) -> ScopeListing:
    """The names in a scope, for a first look: no file is opened, only `rel` of its files means anything."""

    def look() -> ScopeListing:
        scanner = NameScanner(os.fspath(root.directory), without=root.without)
        scanner.scan()
        return _listing(root, in_order(scanner.files), scanner.directories, scanner.faults, names_only=True)

    return _present(root, available, look)


def index_entries(listing: ScopeListing, scope: Scope, caps: Caps) -> list[IndexEntry]:
    """What the agent's index shows of a scope, in its order: the files below its cap whose names it takes."""
    return [
        IndexEntry(
            path=str(memory_path(scope, file.rel)),
            scope=scope.value,
            description=file.description,
            pinned=file.usage.pinned,
            accessCount=file.usage.access_count,
            lastAccessedAt=file.usage.last_accessed_at,
        )
        for file in listing.files[: caps.files_per_scope]
        if rel_problem(file.rel) is None and not is_unspeakable(file.rel)
    ]


def tree(scope: Scope, listing: ScopeListing) -> dict[str, Any]:
    """A scope as nested nodes for `reverie tree --json`; what has `children` is a directory.

    Directories count the `files` below them and their `size`; in a directory names are in the agent's order.
    """
    top = _node(scope.value, str(memory_path(scope, "")), scope)
    if listing.unavailable:
        top["unavailable"] = listing.unavailable
        top["gap"] = None if listing.gap is None else listing.gap.value
    if listing.problems:
        top["problems"] = list(listing.problems)
    nodes = {"": top}
    for rel in listing.directories:
        nodes[rel] = _node(rel.rpartition("/")[2], str(memory_path(scope, rel)), scope)
    for file in listing.files:
        _place(nodes, file.rel, _leaf(scope, file))
    for rel in reversed(listing.directories):
        _place(nodes, rel, nodes[rel])
    for node in nodes.values():
        node["children"].sort(
            key=lambda child: utf16_key(child["name"] + ("/" if "children" in child else ""))
        )
    return top


def _present(
    root: ScopeRoot, available: Callable[[], bool], look: Callable[[], ScopeListing]
) -> ScopeListing:
    """What `look` sees; a missing root is empty as long as its home is there."""
    try:
        listing = look()
        os.stat(root.directory)  # noqa: PTH116 - a root that vanished meanwhile was not seen as it was
    except FileNotFoundError:
        if available():
            return _listing(root, [], [], {})
        raise Unavailable(
            f"The memories in {root.directory} cannot be listed:",
            cause="their home is not there now.",
            next_step="Bring it back, or choose another home.",
        ) from None
    except OSError as error:
        is_gone(error)
        reason = f"{root.directory} could not be read: {error.strerror or error}."
        return ScopeListing(root, reason, None, (), (), ())
    return listing


def _all(
    root: ScopeRoot,
    caps: Caps,
    usage_of: UsageOf,
    use: Use | None,
    previous: ScopeListing | None,
) -> ScopeListing:
    started = time.time_ns()
    known = {file.rel: file for file in previous.files} if previous is not None else {}
    settled_ns = previous.scanned_ns - _RACY_NS if previous is not None else 0
    scanner = Scanner(
        os.fspath(root.directory),
        caps,
        usage_of,
        known=known,
        settled_ns=settled_ns,
        without=root.without,
        headed=root.headed,
    )
    scanner.scan()
    files = in_order(scanner.files)
    mark_beyond(files, caps)
    mark_old(files, root.newest)
    directories = sorted(scanner.directories, key=utf16_key)
    return _listing(root, files, directories, scanner.faults, use=use, scanned_ns=started)


def _changed(
    root: ScopeRoot,
    caps: Caps,
    usage_of: UsageOf,
    use: Use | None,
    previous: ScopeListing,
    rels: set[str],
) -> ScopeListing:
    update = Update(root, caps, usage_of, previous, rels, previous.scanned_ns - _RACY_NS)
    update.run()
    files = update.files()
    for rel in _used_otherwise(files, previous.use, use):
        index, is_there = position(files, rel)
        usage = usage_of(rel) or UNUSED
        if is_there and files[index].usage != usage:
            files[index] = files[index]._replace(usage=usage)
    mark_beyond(files, caps)
    mark_old(files, root.newest)
    # The look at most files is as old as it was.
    scanned_ns = previous.scanned_ns
    return _listing(root, files, update.directories(), update.faults(), use=use, scanned_ns=scanned_ns)


def _used_otherwise(files: Sequence[MemoryFile], before: Use | None, now: Use | None) -> list[str]:
    """The paths whose usage is not what it was; all of them where nobody can tell."""
    if before is None or now is None:
        return [file.rel for file in files]
    old, new = before.by_rel, now.by_rel
    return [] if old == new else [rel for rel in old.keys() | new.keys() if old.get(rel) != new.get(rel)]


def _listing(
    root: ScopeRoot,
    files: Sequence[MemoryFile],
    directories: Sequence[str],
    faults: Mapping[str, str],
    *,
    names_only: bool = False,
    use: Use | None = None,
    scanned_ns: int = 0,
) -> ScopeListing:
    problems = tuple(faults[rel] for rel in sorted(faults, key=utf16_key))
    return ScopeListing(
        root,
        "",
        None,
        tuple(files),
        tuple(directories),
        problems,
        names_only=names_only,
        faults=faults,
        use=use,
        scanned_ns=scanned_ns,
    )


def _node(name: str, path: str, scope: Scope) -> dict[str, Any]:
    return {"name": name, "path": path, "scope": scope.value, "size": 0, "files": 0, "children": []}


def _leaf(scope: Scope, file: MemoryFile) -> dict[str, Any]:
    return {
        "name": file.rel.rpartition("/")[2],
        "path": str(memory_path(scope, file.rel)),
        "scope": scope.value,
        "size": file.size,
        "description": file.description,
        "descriptionState": file.description_state,
        "pinned": file.usage.pinned,
        "accessCount": file.usage.access_count,
        "lastAccessedAt": file.usage.last_accessed_at,
        "lastWriteAt": file.usage.last_write_at,
        "seenByAgent": file.seen_by_agent,
        "unseenReason": file.unseen_reason,
    }


def _place(nodes: Mapping[str, dict[str, Any]], rel: str, node: dict[str, Any]) -> None:
    """Put a node into its directory and count it there."""
    parent = nodes[rel.rpartition("/")[0]]
    parent["children"].append(node)
    parent["size"] += node["size"]
    parent["files"] += node.get("files", 1)
