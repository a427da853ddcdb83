"""Deleted memories of a home: the list of them, with the author of each deletion, and their restoration.

The history is the trash: whatever a person, a run, an agent or another program deleted, a snapshot had
recorded it before, so the last version is in the history. Listing reads only the history. Restoring goes
through `ChangeSet`, which never overwrites: if a file exists at the path again, it is kept, and the deleted
file is restored beside it under another name. Entries of several contexts are restored together; if one
cannot be restored, none is.

Threading: blocking, any thread but the GUI's; `check` may raise to stop. Failure: `UserError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from reverie.agents.scopes import Scope, ScopeContext, ScopeRoot
from reverie.errors import StoreError, Unavailable
from reverie.memory.history.reader import Deletion
from reverie.memory.listing import no_check
from reverie.memory.paths import memory_path
from reverie.services.changes import ChangeSet, all_steps_or_none, joined
from reverie.services.container import Contexts, HomeContainer, rooted_files
from reverie.services.edits import UserEdits
from reverie.services.views import HandChange, Undo
from reverie.values import Struct

_SUBJECT = "Restored from the trash"
_LOOKED_AT = 50
"""The number of entries of the history that are searched for versions of a file or for restores."""


class TrashEntry(Struct, frozen=True):
    """One deleted file."""

    deletion: Deletion
    """The deletion in the history, with its author."""
    path: str
    """The memory path of the file."""
    scope: Scope
    owner: str
    """The name of the file's project or workspace; empty for the global scope."""
    taken: bool
    """Whether a file exists at this path now."""
    reachable: bool
    """Whether the home still has a context that shows the file's root; if not, restoring is impossible."""

    @property
    def id(self) -> str:
        return f"{self.deletion.kept_in} {self.deletion.place.key} {self.deletion.place.rel}"

    @property
    def at_ms(self) -> int:
        return self.deletion.commit.at_ms

    @property
    def actor(self) -> str:
        return self.deletion.commit.actor

    @property
    def run_id(self) -> str | None:
        return self.deletion.commit.run_id

    @property
    def size(self) -> int | None:
        return self.deletion.size


class TrashService:
    """The service that lists and restores the deleted files of one home."""

    def __init__(self, parts: HomeContainer) -> None:
        self._parts = parts

    def page(
        self, start: str | None = None, *, check: Callable[[], None] = no_check
    ) -> tuple[tuple[TrashEntry, ...], str | None]:
        """Return a page of deletions, newest first, and the start of the next page (None: there is none).

        `start`: None for the first page. `check` is called repeatedly and may raise to stop.
        """
        history = self._parts.snapshots.history
        page = history.deletions(start, check=check)
        contexts = Contexts(self._parts)
        roots = {root.key: root for root in self._parts.home.roots()}
        entries = []
        elsewhere = self._restored_elsewhere() if page.deletions else {}
        reachable: dict[str, bool] = {}
        for deletion in page.deletions:
            check()
            key = deletion.place.key
            if key not in reachable:
                reachable[key] = contexts.of([key]) is not None
            entry = self._entry(deletion, contexts.owner(key), roots, reachable=reachable[key])
            if entry is None or deletion.commit.at_ms <= elsewhere.get((key, deletion.blob), -1):
                continue
            if entry.taken:
                later = history.log(deletion.place, limit=_LOOKED_AT, until=deletion.commit.id).entries
                if any(each.blob == deletion.blob for each in later):
                    continue  # the file has existed again with the deleted content
            entries.append(entry)
        return tuple(entries), page.next

    def read(self, entry: TrashEntry) -> bytes:
        """Return the deleted content. Raises `StoreError` if the file was too large for the history."""
        place = entry.deletion.place
        data = self._parts.snapshots.history.read(entry.deletion.kept_in, place.key, place.rel)
        if data is None:
            raise StoreError(f"The history does not contain {entry.path}.", next_step="Check its history.")
        return data

    def names(self, entries: Sequence[TrashEntry]) -> dict[str, str]:
        """Return the path to which each entry would be restored, by entry id.

        This is its own path, or a free name beside it.
        """
        contexts, names, used = Contexts(self._parts), dict[str, str](), set[tuple[str, str]]()
        for entry in entries:
            key, wanted = entry.deletion.place.key, entry.deletion.place.rel
            context = contexts.of([key])
            root = None if context is None else self._parts.home.scope_root(context, entry.scope)
            files = None if root is None else rooted_files(root)
            rel, number = wanted, 2
            while (key, rel) in used or (files is not None and files.entry(rel) is not None):
                rel, number = numbered(wanted, number), number + 1
            used.add((key, rel))
            names[entry.id] = str(memory_path(entry.scope, rel))
        return names

    def restore(self, entries: Sequence[TrashEntry], names: Mapping[str, str] | None = None) -> Undo:
        """Restore all of these entries or none; return the `Undo`.

        `names`: entry id -> a path other than the one that `self.names` would choose; None: no such paths.
        Raises `Unavailable` if an entry is not `reachable`, `Conflict` if a path was taken meanwhile.
        """
        if not entries:
            raise StoreError("Nothing is selected.", next_step="Select the memories to restore.")
        paths = {**self.names(entries), **(names or {})}
        groups: dict[ScopeContext, list[TrashEntry]] = {}
        known = Contexts(self._parts).grouped({entry.deletion.place.key for entry in entries})
        for entry in entries:
            context = known.get(entry.deletion.place.key)
            if context is None:
                raise Unavailable(
                    f"{entry.path} cannot be restored:",
                    cause=f"no project of this home uses the memories of “{entry.owner}” any more.",
                    next_step="Open the preview, and copy the text into another memory.",
                )
            groups.setdefault(context, []).append(entry)
        history, changes, done = self._parts.snapshots.history, ChangeSet(self._parts), list[Undo]()
        files, metadata = cache(history.files), cache(history.metadata)
        with all_steps_or_none(done, UserEdits(self._parts).undo):
            for context, chosen in groups.items():
                made, pins = list[HandChange](), dict[str, bool]()
                for entry in chosen:
                    place, kept, path = entry.deletion.place, entry.deletion.kept_in, paths[entry.id]
                    version = files(kept, place.key).get(place.rel)
                    mode = None if version is None else version.mode
                    made.append(HandChange(path, self.read(entry), None, mode))
                    if metadata(kept, place.key).get(place.rel, {}).get("pinned") is True:
                        pins[path] = True
                done.append(changes.apply(context, made, kind="restore", subject=_SUBJECT, pins=pins))
        return joined(done)

    def _entry(
        self, deletion: Deletion, owner: str, roots: Mapping[str, ScopeRoot], *, reachable: bool
    ) -> TrashEntry | None:
        key, rel = deletion.place.key, deletion.place.rel
        try:
            scope = Scope(key.partition("/")[0])
        except ValueError:
            return None  # the key is not that of a scope, so this is no memory
        root = roots.get(key)
        taken = root is not None and rooted_files(root).entry(rel) is not None
        return TrashEntry(deletion, str(memory_path(scope, rel)), scope, owner, taken, reachable)

    def _restored_elsewhere(self) -> dict[tuple[str, str], int]:
        """Return the times (UTC ms) at which contents were restored from the trash, maybe under another name.

        The times are by the key of the root and the id of the content. Restored files that no longer exist
        are left out. Only the newest commits are searched.
        """
        history = self._parts.snapshots.history
        found = {
            step.place: (step.after, each.commit.at_ms)
            for each in reversed(history.newest_steps(limit=_LOOKED_AT).commits)
            if each.commit.subject == _SUBJECT
            for step in each.steps
            if step.after
        }
        now = history.newest(list(found))
        there = [place for place, content in zip(found, now, strict=True) if content is not None]
        return {(place.key, found[place][0]): found[place][1] for place in there}


def numbered(rel: str, number: int) -> str:
    """Return a path with `number` added to the file name: `notes/a.md` and 2 become `notes/a-2.md`."""
    folder, slash, name = rel.rpartition("/")
    stem, dot, suffix = name.rpartition(".")
    return f"{folder}{slash}{stem}-{number}.{suffix}" if dot and stem else f"{folder}{slash}{name}-{number}"
