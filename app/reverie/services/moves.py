"""Moves of memories and folders by hand: between folders, and between the scopes of one context.

Inside one scope a move is a rename. Between scopes it is a copy, read back, and then a delete, each by
compare-and-swap (`services.changes`); pin and usage go along. Several moves in one request are made, and
undone, as one change. An existing file is never replaced: name clashes are resolved with the user beforehand
(`memory.moves`), and a name that was taken in between raises `Conflict`.

Threading: blocking, any thread but the GUI's. Failure: `UserError`, nothing moved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from reverie.agents.scopes import ScopeContext
from reverie.errors import StoreError
from reverie.memory.paths import memory_path
from reverie.memory.recording import never_kept
from reverie.memory.scope_files import sha256_of_bytes
from reverie.memory.store import MemoryStore
from reverie.services.changes import ChangeSet, lenient_path
from reverie.services.container import HomeContainer
from reverie.services.edits import UserEdits
from reverie.services.views import HandChange, Undo


class Moves:
    """Moves of memories and folders within one home: between folders, and between scopes of one context."""

    def __init__(self, parts: HomeContainer) -> None:
        self._parts = parts
        self._edits = UserEdits(parts)
        self._changes = ChangeSet(parts)

    def move(self, context: ScopeContext, targets: Mapping[str, str]) -> Undo:
        """Move each path to its new path, all or none; return the `Undo`.

        `targets`: old path -> new path. Raises `Conflict` if a file already exists at a new path.
        """
        store = self._parts.store(context, actor="user")
        steps: list[Callable[[], Undo]] = []
        across: dict[str, str] = {}
        for old, new in targets.items():
            if store.resolve(lenient_path(old))[1].key == store.resolve(lenient_path(new))[1].key:
                steps.append(partial(self._edits.rename, context, old, new))
            else:
                across[old] = new
        if across:
            steps.append(partial(self._across, context, store, across))
        if not steps:
            raise StoreError("Nothing is selected.", next_step="Select the memories to move.")
        return self._edits.as_one(steps)

    def _across(self, context: ScopeContext, store: MemoryStore, targets: Mapping[str, str]) -> Undo:
        changes: list[HandChange] = []
        moved: dict[str, str] = {}
        emptied: list[str] = []
        for old, new in targets.items():
            for source, target in files_below(store, old, new, emptied).items():
                _path, _root, files = store.resolve(lenient_path(source))
                entry, data = files.entry(_path.rel), files.read(_path.rel)
                mode = entry.mode & 0o777 if entry is not None else None
                changes += [
                    HandChange(target, data, None, mode),
                    HandChange(source, None, sha256_of_bytes(data)),
                ]
                moved[source] = target
        if not changes:
            raise StoreError(
                "Nothing was moved:", cause="the folder is empty.", next_step="Create it there instead."
            )
        return self._changes.apply(
            context, changes, kind="move", subject="Moved by hand", moved=moved, emptied=emptied
        )


def files_below(store: MemoryStore, old: str, new: str, emptied: list[str]) -> dict[str, str]:
    """Return the new path of every file that moves if the file or folder `old` moves to `new`, by old path.

    The folders that the move empties are appended to `emptied`, deepest first.
    """
    path, root, files = store.resolve(lenient_path(old))
    entry = files.entry(path.rel)
    if entry is None:
        raise StoreError(
            f"There is no memory {path}.", next_step="It may have just been deleted.", reason="missing"
        )
    if store.entry(lenient_path(new)) is not None:
        raise StoreError(f"{new} already exists.", next_step="Choose another name.", reason="exists")
    if entry.kind == "file":
        return {str(path): new}
    hidden = never_kept(root.directory / path.rel)
    if hidden:
        raise StoreError(
            f"{path} was not moved:",
            cause=f"{hidden[0]} in this folder is hidden or a link, and Reverie does not move such files.",
            next_step="Move it elsewhere first, or move the other files one by one.",
            reason="not-kept",
        )
    below = [found for found in files.walk().entries if found.rel.startswith(path.rel + "/")]
    folders = [path.rel, *(found.rel for found in below if found.kind == "directory")]
    emptied += [str(memory_path(root.scope, rel)) for rel in sorted(folders, key=len, reverse=True)]
    return {
        str(memory_path(root.scope, found.rel)): new + found.rel[len(path.rel) :]
        for found in below
        if found.kind == "file"
    }
