"""Several files changed by hand as one: a move between scopes, a merge, a restore, and taking each back.

Order: everything is checked and brought into the history, then files are written, then deleted, so that what
moves is never nowhere; then pins and use; each file by compare-and-swap through the store. If one step fails
or a file is not what the caller saw, what was done is put back, each file by compare-and-swap again, and the
error names what somebody else changed in between and was left. Nothing is overwritten or deleted that the
history does not keep (`_refuse_not_kept`), so every `Undo` can be taken back.

Threading: blocking, any thread but the GUI's. Failure: `UserError`; `Conflict` names the file.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from reverie.agents.scopes import ScopeContext, ScopeRoot
from reverie.errors import Conflict, StoreError, UserError
from reverie.files.directory import SwappedError
from reverie.files.paths import real_path
from reverie.files.rooted import opened_below
from reverie.memory.paths import MemoryPath, memory_path, parse_memory_path
from reverie.memory.store import MemoryStore, sha256_of_bytes
from reverie.memory.usage_rules import UNUSED, MemoryUsage
from reverie.memory.write_guard import write_locks
from reverie.services.container import HomeContainer
from reverie.services.views import HandChange, Undo, UndoFile
from reverie.text.summaries import was_left

# The single files of a change by hand, as `services.changes` puts them together: what is planned, and
# each step there and back through the store, by compare-and-swap.
#
# Threading: blocking, any thread but the GUI's. Failure: `UserError`; `Conflict` names the file.


ChangeKind = Literal["move", "merge", "restore"]


@dataclass(frozen=True, slots=True)
class PlannedWrite:
    """One file with all that is needed to change it and to put it back."""

    path: MemoryPath
    root: ScopeRoot
    before: bytes | None
    after: bytes | None
    mode: int | None
    mode_before: int | None

    @property
    def before_sha256(self) -> str | None:
        return sha256_of_bytes(self.before)

    @property
    def after_sha256(self) -> str | None:
        return sha256_of_bytes(self.after)


def each_once(changes: Sequence[HandChange]) -> Sequence[HandChange]:
    """The changes, where there is one at least and no two are of one file; else `StoreError`."""
    if not changes:
        raise StoreError("There is nothing to change.", next_step="Select a memory first.")
    if len({change.path for change in changes}) != len(changes):
        raise StoreError("One file cannot be changed twice at once.", next_step="Choose other names.")
    return changes


def lenient_path(path: str) -> MemoryPath:
    """A path of something that is or was on disk, whose name need not pass the agent's rules; leading out
    of its root is refused by the files below it all the same."""
    parsed = parse_memory_path("/".join(path.split("/")[:3]))
    if parsed.scope is None:
        return parsed
    return memory_path(parsed.scope, "/".join(part for part in path.split("/")[3:] if part))


def bytes_now(store: MemoryStore, path: MemoryPath) -> bytes | None:
    """What the file holds now; None for none. Raises `Conflict` where a folder stands."""
    _path, _root, files = store.resolve(path)
    entry = files.entry(path.rel)
    if entry is not None and entry.kind != "file":
        raise Conflict(f"{path} is a folder by now.", next_step="Look again and repeat it.")
    return None if entry is None else files.read(path.rel)


def verify(store: MemoryStore, one: PlannedWrite) -> None:
    """What was written is read back before anything that it replaces goes."""
    if one.after is not None and bytes_now(store, one.path) != one.after:
        raise Conflict(
            f"{one.path} was changed right after it was written.", next_step="Look again and repeat it."
        )


def put_all_back(store: MemoryStore, done: Sequence[PlannedWrite], made: Sequence[str]) -> list[str]:
    """Newest first; the paths that somebody else changed meanwhile, and were left."""
    left: list[str] = []
    for one in reversed(done):
        try:
            store.swap(one.path, one.before, one.after_sha256, mode=one.mode_before)
        except UserError:
            left.append(str(one.path))
    for folder in made:
        remove_empty(store, lenient_path(folder))
    return left


@contextlib.contextmanager
def all_or_nothing(store: MemoryStore, done: Sequence[PlannedWrite], made: Sequence[str]) -> Iterator[None]:
    """Whatever the block raises, what it had `done` by then is put back first; what could not be is named."""
    try:
        yield
    except BaseException as error:
        left = put_all_back(store, done, made)
        if left and isinstance(error, UserError):
            raise Conflict(
                error.title,
                cause=f"{error.cause} {listed(left)} changed meanwhile, and {was_left(len(left))}.".strip(),
                next_step=error.next_step,
            ) from error
        raise


@contextlib.contextmanager
def all_steps_or_none(done: Sequence[Undo], take_back: Callable[[Undo], object]) -> Iterator[None]:
    """Whatever the block raises, the steps `done` by then are taken back first, newest first; what could not
    be is named, and keeps none of the others."""
    try:
        yield
    except BaseException as error:
        problems: list[UserError] = []
        for undo in reversed(done):
            try:
                take_back(undo)
            except UserError as problem:
                problems.append(problem)
        if problems and isinstance(error, UserError):
            stays = " ".join(f"{problem.title} {problem.cause}".strip() for problem in problems)
            raise Conflict(
                error.title, cause=f"{error.cause} {stays}".strip(), next_step=error.next_step
            ) from error
        raise


def _folders(paths: Iterable[MemoryPath]) -> list[MemoryPath]:
    """Every folder above these paths, deepest first."""
    found = {
        MemoryPath(path.scope, path.segments[:depth])
        for path in paths
        for depth in range(1, len(path.segments))
    }
    return sorted(found, key=lambda path: -len(path.segments))


def new_folders(store: MemoryStore, planned: Iterable[PlannedWrite]) -> tuple[str, ...]:
    """The folders that come into being with these changes."""
    new = [one.path for one in planned if one.before is None and one.after is not None]
    return tuple(str(folder) for folder in _folders(new) if store.entry(folder) is None)


def remove_empty(store: MemoryStore, folder: MemoryPath) -> None:
    """It goes if nothing is in it; what an agent hides in it keeps it."""
    _path, root, _files = store.resolve(folder)
    *above, name = folder.segments
    with (
        contextlib.suppress(OSError, SwappedError),
        opened_below(real_path(root.directory), above) as directory,
    ):
        directory.remove_empty(name)


def warnings_of(steps: Iterable[Undo]) -> str:
    """What went wrong once the steps of one change were made, each said once."""
    return " ".join(dict.fromkeys(undo.warning for undo in steps if undo.warning))


def listed(paths: Sequence[str]) -> str:
    """The first three paths and how many more, for a sentence."""
    more = len(paths) - 3
    return ", ".join(paths[:3]) + (f" and {more} more" if more > 0 else "")


_log = logging.getLogger("reverie.services")

_SUBJECT_UNDONE = "Undone by hand"
# Above this the history does not look whose each change was (`memory.recording`).
_AT_ONCE = 400


class ChangeSet:
    """Changes of several files of one home as one."""

    def __init__(self, parts: HomeContainer) -> None:
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
        done: list[PlannedWrite] = []
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
        except UserError as error:
            warn(str(error))
        self._record_paths(store, [one.path for one in done])
        if left:
            raise Conflict(
                "Not everything was taken back:",
                cause=f"{listed(left)} changed since, and {was_left(len(left))}.",
                next_step="Look at it, and change it by hand.",
            )
        return len(done)

    def _way_back(self, store: MemoryStore, file: UndoFile, commit: str) -> PlannedWrite:
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
        return PlannedWrite(path, root, bytes_now(store, path), before, file.mode, mode_now)

    # Checking

    def _plan(self, store: MemoryStore, change: HandChange, kind: ChangeKind) -> PlannedWrite:
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
        return PlannedWrite(
            path,
            root,
            before,
            change.after,
            change.mode,
            None if entry is None else entry.mode & 0o777,
        )

    @staticmethod
    def _refuse_full_scopes(store: MemoryStore, planned: Iterable[PlannedWrite], kind: ChangeKind) -> None:
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

    def _keep(self, planned: Sequence[PlannedWrite]) -> str:
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
    def _refuse_not_kept(one: PlannedWrite, kept: bytes | None) -> None:
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
        self, store: MemoryStore, planned: Sequence[PlannedWrite], usage: _Usages, made: Sequence[str]
    ) -> None:
        done: list[PlannedWrite] = []
        # Held for all of it: what was begun must also be put back before the agent rewrites the store.
        with write_locks(store.home, [one.root for one in planned], lock_dir=self._parts.profile.locks):
            self._do_each(store, planned, usage, made, done)

    def _do_each(
        self,
        store: MemoryStore,
        planned: Sequence[PlannedWrite],
        usage: _Usages,
        made: Sequence[str],
        done: list[PlannedWrite],
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
        planned: Sequence[PlannedWrite],
        kind: ChangeKind,
        pins: Mapping[str, bool],
        moved: Mapping[str, str],
    ) -> _Usages:
        """Entries before and after: what goes loses its own, what is written by a merge is one use (mux.md
        section 8), what moves takes its own along, what is restored counts for nothing."""
        load, now = self._parts.usage.load(), self._parts.clock()
        store = self._parts.store(context, actor="user")
        before: dict[str, MemoryUsage | None] = {}
        after: dict[str, MemoryUsage | None] = {}

        def note(path: MemoryPath, value: MemoryUsage | None) -> None:
            key = self._key(store, path)
            if key is not None:
                before.setdefault(key, load.get(key))
                after[key] = value

        def current(path: MemoryPath) -> MemoryUsage:
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

    def _record(self, planned: Iterable[PlannedWrite], subject: str) -> str:
        """Note in the history what was changed; if that fails, a sentence: the next snapshot takes it in."""
        paths = [one.root.directory / one.path.rel for one in planned]
        try:
            self._parts.snapshots.record(actor="user", source="by hand", subject=subject, dirty=paths)
        except UserError as error:
            return str(error)
        return ""

    def _record_paths(self, store: MemoryStore, paths: Iterable[MemoryPath]) -> None:
        dirty = [store.resolve(path)[1].directory / path.rel for path in paths]
        if dirty:
            with contextlib.suppress(UserError):  # the files are back; the next snapshot takes them in
                self._parts.snapshots.record(
                    actor="user", source="by hand", subject=_SUBJECT_UNDONE, dirty=dirty
                )


_Usages = tuple[dict[str, MemoryUsage | None], dict[str, MemoryUsage | None]]


def _delta(before: Mapping[str, MemoryUsage], after: Mapping[str, MemoryUsage]) -> _Usages:
    keys = {*before, *after}
    return {key: before.get(key) for key in keys}, {key: after.get(key) for key in keys}
