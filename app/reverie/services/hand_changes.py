"""Several files changed by hand as one: a move between scopes, a merge, a restore, and taking each back.

Order: everything is checked and brought into the history, then files are written, then deleted, so that what
moves is never nowhere; then pins and use; each file by compare-and-swap through the store. If one step fails
or a file is not what the caller saw, what was done is put back, each file by compare-and-swap again, and the
error names what somebody else changed in between and was left. Nothing is overwritten or deleted that the
history does not keep (`_refuse_not_kept`), so every `Undo` can be taken back.

Threading: blocking, any thread but the GUI's. Failure: `MendableError`; `Conflict` names the file.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from reverie.errors import Conflict, MendableError, StoreError
from reverie.homes.scopes import ScopeContext
from reverie.memory.paths import MemoryPath, parse_memory_path
from reverie.memory.store import MemoryStore, sha256_of_bytes
from reverie.memory.usage import UNUSED, Usage
from reverie.memory.write_lock import write_locks
from reverie.services.parts import HomeParts
from reverie.services.planned_changes import (
    ChangeKind,
    PlannedFile,
    all_or_nothing,
    bytes_now,
    each_once,
    lenient_path,
    listed,
    new_folders,
    remove_empty,
    verify,
)
from reverie.services.views import HandChange, Undo, UndoFile
from reverie.text.counts import was_left

_log = logging.getLogger("reverie.services")

_SUBJECT_UNDONE = "Undone by hand"
# Above this the history does not look whose each change was (`memory.snapshots`).
_AT_ONCE = 400


class HandChanges:
    """Changes of several files of one home as one."""

    def __init__(self, parts: HomeParts) -> None:
        self._parts = parts

    def apply(
        self,
        context: ScopeContext,
        changes: Sequence[HandChange],
        *,
        kind: ChangeKind,
        subject: str,
        pins: Mapping[str, bool] | None = None,
        moved: Mapping[str, str] | None = None,
        emptied: Sequence[str] = (),
    ) -> Undo:
        """Do all of it or nothing. `subject`: what the history says of it. `pins`: what these paths' pins
        become; `moved`: old path -> new path, whose pin and use go along; `emptied`: folders that go once
        they are empty."""
        warnings: list[str] = []
        store = self._parts.store(context, actor="user", warn=warnings.append)
        planned = [self._plan(store, change, kind) for change in each_once(changes)]
        for root in dict.fromkeys(one.root for one in planned):
            self._parts.write_guard.require(root)  # before any lock is taken or folder made
        self._refuse_full_scopes(store, planned, kind)
        commit = self._keep(planned)
        usage = self._usage_change(context, planned, kind, pins or {}, moved or {})
        made = new_folders(store, planned)
        try:
            self._do(store, planned, usage, made)
        except BaseException:
            for text in warnings:  # of a change that was put back, for which there is no result
                _log.warning("%s", text)
            raise
        for folder in emptied:
            remove_empty(store, lenient_path(folder))
        problem = self._record(planned, subject)
        files = tuple(
            UndoFile(str(one.path), one.before_sha256, one.after_sha256, one.mode_before) for one in planned
        )
        # What was moved is named by the place that Undo brings it back to.
        first = next((change.path for change in changes if change.after is not None), changes[0].path)
        shown = next(iter(moved), first) if moved else first
        return Undo(
            kind,
            context,
            shown,
            commit=commit,
            usage={key: value for key, value in usage[0].items() if value is not None},
            usage_after={key: value for key, value in usage[1].items() if value is not None},
            files=files,
            made=made,
            moved=dict(moved or {}),
            count=len(moved) if moved else len(files),
            warning=" ".join(dict.fromkeys((*warnings, *filter(None, [problem])))),
        )

    def undo(self, undo: Undo, warnings: list[str] | None = None) -> int:
        """Put back what still is as it became; how many files. What changed since is left, and the
        `Conflict` raised after the rest names it; any other failure leaves everything as it became.
        `warnings` gets what went wrong once the files were back."""
        warn = _log.warning if warnings is None else warnings.append
        store = self._parts.store(undo.context, actor="user", warn=warn)
        done: list[PlannedFile] = []
        left: list[str] = []
        with all_or_nothing(store, done, ()):
            for file in sorted(undo.files, key=lambda file: file.before_sha256 is None):
                try:
                    one = self._way_back(store, file, undo.commit)
                    if one.before_sha256 != one.after_sha256:
                        store.swap(one.path, one.after, file.after_sha256, mode=one.mode)
                        done.append(one)
                except Conflict:
                    left.append(file.path)
        for folder in undo.made:
            remove_empty(store, lenient_path(folder))
        try:
            self._parts.usage.apply_delta(*_delta(undo.usage_after, undo.usage))
        except MendableError as error:
            warn(str(error))
        self._record_paths(store, [one.path for one in done])
        if left:
            raise Conflict(
                "Not everything was taken back:",
                cause=f"{listed(left)} changed since, and {was_left(len(left))}.",
                next_step="Look at it, and change it by hand.",
            )
        return len(done)

    def _way_back(self, store: MemoryStore, file: UndoFile, commit: str) -> PlannedFile:
        """From what stands there now to what the history holds. Raises `Conflict` where a folder stands."""
        path, root, files = store.resolve(lenient_path(file.path))
        self._parts.write_guard.require(root)
        before = None
        if file.before_sha256 is not None:
            before = self._parts.snapshots.history.read(commit, root.key, path.rel)
            if sha256_of_bytes(before) != file.before_sha256:
                raise StoreError(f"The history holds no {path}.", next_step="Look at its history.")
        entry = files.entry(path.rel)
        mode_now = None if entry is None else entry.mode & 0o777
        return PlannedFile(path, root, bytes_now(store, path), before, file.mode, mode_now)

    # Checking

    def _plan(self, store: MemoryStore, change: HandChange, kind: ChangeKind) -> PlannedFile:
        """The change with what stands there now. Raises `Conflict` where that is not what was expected."""
        # Names that are there may be such that no agent would take them; new ones may not, unless they were.
        known = change.expected_sha256 is not None or kind == "restore"
        path = lenient_path(change.path) if known else parse_memory_path(change.path)
        if not path.segments:
            raise StoreError(f"{path} is a whole scope.", next_step="Name files inside it.")
        path, root, files = store.resolve(path)
        entry = files.entry(path.rel)
        if entry is not None and entry.kind != "file":
            raise Conflict(
                f"{path} was not changed:",
                cause="A folder stands there.",
                next_step="Choose another name.",
            )
        before = None if entry is None else files.read(path.rel)
        if sha256_of_bytes(before) != change.expected_sha256:
            what = "it was deleted" if entry is None else "it exists by now"
            what = "it changed" if entry is not None and change.expected_sha256 is not None else what
            raise Conflict(
                f"{path} was not changed:", cause=f"{what} meanwhile.", next_step="Look again and repeat it."
            )
        cap = store.home.caps.file_bytes
        if kind == "merge" and change.after is not None and len(change.after) > max(cap, len(before or b"")):
            raise StoreError(
                f"{path} would be too large: {len(change.after):,} bytes.",
                cause=f"The limit of this home is {cap:,} bytes a file.",
                next_step="Shorten it, or keep part of it in another memory.",
                reason="too-large",
            )
        return PlannedFile(
            path,
            root,
            before,
            change.after,
            change.mode,
            None if entry is None else entry.mode & 0o777,
        )

    @staticmethod
    def _refuse_full_scopes(store: MemoryStore, planned: Iterable[PlannedFile], kind: ChangeKind) -> None:
        """What comes back may come back; what is new must fit."""
        if kind == "restore":
            return
        more: dict[str, int] = {}
        at: dict[str, MemoryPath] = {}
        for one in planned:
            step = (one.after is not None) - (one.before is not None)
            more[one.root.key] = more.get(one.root.key, 0) + step
            at[one.root.key] = one.path
        cap = store.home.caps.files_per_scope
        for key, count in more.items():
            if count <= 0:
                continue
            _path, _root, files = store.resolve(at[key])
            there = sum(entry.kind == "file" for entry in files.walk(files_limit=cap).entries)
            if there + count > cap:
                raise StoreError(
                    f"Nothing was changed: the scope {at[key].scope} is full.",
                    cause=f"It would hold more than {cap:,} files, the limit of this home.",
                    next_step="Merge or delete memories there first.",
                    reason="scope-full",
                )

    def _keep(self, planned: Sequence[PlannedFile]) -> str:
        """Bring what stands there into the history; the commit that holds it."""
        snapshots = self._parts.snapshots
        paths = [one.root.directory / one.path.rel for one in planned]
        for start in range(0, len(paths), _AT_ONCE):
            snapshots.observe(source="before a change", dirty=paths[start : start + _AT_ONCE])
        commit = snapshots.history.head()
        for one in planned:
            if one.before is None:
                continue
            kept = None
            if commit is not None:
                with contextlib.suppress(StoreError):  # too large: only its hash was kept
                    kept = snapshots.history.read(commit, one.root.key, one.path.rel)
            if kept != one.before:
                self._refuse_not_kept(one, kept)
        return commit or ""

    @staticmethod
    def _refuse_not_kept(one: PlannedFile, kept: bytes | None) -> None:
        if kept is not None:
            raise Conflict(
                f"{one.path} was not changed:",
                cause="it changed meanwhile.",
                next_step="Look again and repeat it.",
            )
        raise StoreError(
            f"{one.path} was not changed:",
            cause="it is hidden, or too large for the history, so it could not be brought back.",
            next_step="Change it outside if you are sure.",
            reason="not-kept",
        )

    # Doing

    def _do(
        self, store: MemoryStore, planned: Sequence[PlannedFile], usage: _Usages, made: Sequence[str]
    ) -> None:
        done: list[PlannedFile] = []
        # Held for all of it: what was begun must also be put back before the agent rewrites the store.
        with write_locks(store.home, [one.root for one in planned], lock_dir=self._parts.profile.locks):
            self._do_each(store, planned, usage, made, done)

    def _do_each(
        self,
        store: MemoryStore,
        planned: Sequence[PlannedFile],
        usage: _Usages,
        made: Sequence[str],
        done: list[PlannedFile],
    ) -> None:
        try:
            with all_or_nothing(store, done, made):
                for one in sorted(planned, key=lambda one: one.after is None):
                    if one.after != one.before:
                        store.swap(one.path, one.after, one.before_sha256, mode=one.mode)
                        done.append(one)
                        verify(store, one)
                self._parts.usage.apply_delta(*usage)
        except BaseException:
            self._record(planned, _SUBJECT_UNDONE)
            raise

    def _usage_change(
        self,
        context: ScopeContext,
        planned: Sequence[PlannedFile],
        kind: ChangeKind,
        pins: Mapping[str, bool],
        moved: Mapping[str, str],
    ) -> _Usages:
        """Entries before and after: what goes loses its own, what is written by a merge is one use (mux.md
        section 8), what moves takes its own along, what is restored counts for nothing."""
        load, now = self._parts.usage.load(), self._parts.clock()
        store = self._parts.store(context, actor="user")
        before: dict[str, Usage | None] = {}
        after: dict[str, Usage | None] = {}

        def note(path: MemoryPath, value: Usage | None) -> None:
            key = self._key(store, path)
            if key is not None:
                before.setdefault(key, load.get(key))
                after[key] = value

        def current(path: MemoryPath) -> Usage:
            key = self._key(store, path)
            found = after.get(key, load.get(key)) if key is not None else None
            return found or UNUSED

        for one in planned:
            if one.after is None:
                note(one.path, None)
            elif kind == "merge" and one.after != one.before:
                used = current(one.path)
                note(
                    one.path,
                    replace(
                        used, access_count=used.access_count + 1, last_accessed_at=now, last_write_at=now
                    ),
                )
        for old, new in moved.items():
            key = self._key(store, lenient_path(old))
            if key is not None and key in load:
                note(lenient_path(new), load[key])
        for path, pinned in pins.items():
            target = lenient_path(path)
            note(target, replace(current(target), pinned=pinned))
        return before, after

    def _key(self, store: MemoryStore, path: MemoryPath) -> str | None:
        _path, root, _files = store.resolve(path)
        return self._parts.home.usage_key(root, path.rel)

    def _record(self, planned: Iterable[PlannedFile], subject: str) -> str:
        """Note in the history what was changed; if that fails, a sentence: the next snapshot takes it in."""
        paths = [one.root.directory / one.path.rel for one in planned]
        try:
            self._parts.snapshots.record(actor="user", source="by hand", subject=subject, dirty=paths)
        except MendableError as error:
            return str(error)
        return ""

    def _record_paths(self, store: MemoryStore, paths: Iterable[MemoryPath]) -> None:
        dirty = [store.resolve(path)[1].directory / path.rel for path in paths]
        if dirty:
            with contextlib.suppress(MendableError):  # the files are back; the next snapshot takes them in
                self._parts.snapshots.record(
                    actor="user", source="by hand", subject=_SUBJECT_UNDONE, dirty=dirty
                )


_Usages = tuple[dict[str, Usage | None], dict[str, Usage | None]]


def _delta(before: Mapping[str, Usage], after: Mapping[str, Usage]) -> _Usages:
    keys = {*before, *after}
    return {key: before.get(key) for key in keys}, {key: after.get(key) for key in keys}
