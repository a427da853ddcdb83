"""How a change of memories is recorded: snapshots in the history, attribution, usage.

`Snapshots.observe` commits what changed since the last snapshot in the name of whoever changed it
(`memory.attribution`). `record` commits under a given actor, before and after runs and hand edits.

Threading: blocking, any thread but the GUI's; commits of one home are serialised by the history's own lock.
Failure: `UserError`. A caller that is about to destroy something must not go on then.
"""

from __future__ import annotations

import contextlib
import logging
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reverie.agents.base import Home
from reverie.agents.scopes import COMPANIONS, ScopeRoot
from reverie.clock import Clock
from reverie.errors import StoreError, Unavailable, UserError, user_error_from_os
from reverie.files.atomic import is_temporary
from reverie.files.directory import (
    Directory,
    SwappedError,
    everything_below,
    is_directory,
    is_file,
    is_link,
    own_is_there,
)
from reverie.files.locks import file_lock, lock_beside
from reverie.memory.attribution import OUTSIDE, AgentWrites, ShareAssigner, WriteLog
from reverie.memory.history.history import History, SnapshotSource
from reverie.memory.history.reader import HistoryPlace
from reverie.memory.history.roots import SeenChange
from reverie.memory.listing import read_rel
from reverie.memory.paths import CompanionPlace, companion_place, memory_path
from reverie.memory.store import sha256_of_bytes
from reverie.memory.usage import UsageLog
from reverie.memory.usage_rules import MemoryUsage, unescaped
from reverie.memory.write_guard import ReadOnlyStore, WriteGuard, write_locks
from reverie.values import fields_of


def never_kept(directory: Path) -> list[str]:
    """Names below a directory that the history never lists, except temporary files of killed writes. Raises
    `Unavailable` if a folder cannot be read, because its contents are unknown."""
    return [
        item.name
        for _rel, item in _all_below(directory)
        if (item.name.startswith(".") or item.is_symlink()) and not is_temporary(item.name)
    ]


def _files_below(directory: Path) -> list[str]:
    """The paths, relative to the directory, of all that is no folder."""
    return [
        rel
        for rel, item in _all_below(directory)
        if not is_temporary(item.name) and not item.is_dir(follow_symlinks=False)
    ]


def _all_below(directory: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    try:
        for rel, _opened, item in everything_below(lambda: Directory.open(directory)):
            yield rel, item
    except (OSError, SwappedError) as error:
        title = f"A folder in {directory} cannot be read."
        if isinstance(error, SwappedError):
            raise Unavailable(title, cause="It changes at the moment.", next_step="Try again.") from error
        raise user_error_from_os(error, title) from error


def _not_kept(shown: str, cause: str) -> StoreError:
    return StoreError(
        f"{shown} was not deleted:",
        cause=cause,
        next_step="Move it away first, or delete it outside if you are sure.",
        reason="not-kept",
    )


# A larger file is left to a snapshot.
_GLANCE = 1024 * 1024
_USAGE_FIELDS = fields_of(MemoryUsage)


class Snapshots:
    """The history of one home, fed."""

    def __init__(
        self,
        home: Home,
        history: History,
        usage: UsageLog,
        actors: WriteLog,
        clock: Clock,
        *,
        require_same: Callable[[], None] = lambda: None,
    ) -> None:
        """`require_same` raises `Unavailable` once another home is in the place of this one."""
        self._clock = clock
        self._require_same = require_same
        self._home = home
        self.history = history
        self._usage = usage
        self._actors = actors
        self._agent = AgentWrites(home)

    def record(
        self,
        *,
        actor: str,
        source: str,
        subject: str,
        run_id: str | None = None,
        dirty: Collection[Path] | None = None,
    ) -> str | None:
        """Commit everything that changed (or what changed at `dirty`) as `actor`'s; None when nothing did."""
        self._require_same()
        return self.history.snapshot(
            self._sources(self._home.roots()),
            actor=actor,
            source=source,
            subject=subject,
            run_id=run_id,
            dirty=dirty,
        )

    def observe(self, *, source: str, dirty: Collection[Path] | None = None) -> None:
        """Commit what changed since the last snapshot, by whoever did it."""
        self._require_same()
        subject = "Changes found by a scan" if dirty is None else "Changes seen"
        roots = self._home.roots()
        sharing = self._sharing(roots)
        self.history.snapshot(
            self._sources(roots),
            actor=OUTSIDE,
            source=source,
            subject=subject,
            dirty=dirty,
            share=sharing.share,
        )
        sharing.log(self._clock())

    def _sharing(self, roots: Sequence[ScopeRoot], companion: CompanionPlace | None = None) -> ShareAssigner:
        directories = {root.key: root.directory for root in roots}
        directories[COMPANIONS] = self._home.root
        if companion is not None:
            directories[companion.key] = companion.directory
        return ShareAssigner(self._actors, self._agent, directories)

    def record_companion(
        self, path: str | Path, *, actor: str, source: str, run_id: str | None = None
    ) -> str | None:
        """Commit one companion (below the home, or an absolute path) as it is now; None if unchanged."""
        self._require_same()
        place = companion_place(self._home.root, self._home.root / path)
        head = self.history.head()
        known = set(self.history.files(head, place.key)) if head is not None else set()
        paths = {name: place.directory / name for name in sorted(known | {place.rel})}
        # One that cannot be looked at must not read as deleted.
        names = [name for name, file in paths.items() if own_is_there(file) and is_file(file)]
        # Before a change of ours, what is new there is whoever's the log and the transcripts say.
        sharing = self._sharing(self._home.roots(), place) if actor == OUTSIDE else None
        commit = self.history.snapshot(
            [SnapshotSource(place.key, place.directory, names)],
            actor=actor,
            source=source,
            subject=f"Companion {path}",
            run_id=run_id,
            share=sharing.share if sharing is not None else None,
        )
        if sharing is not None:
            sharing.log(self._clock())
        return commit

    def is_agents(self, key: str, rel: str, content: bytes) -> bool:
        """Whether the agent gave this file (`key` of its root) the content that it has now, as far as its
        transcripts tell; for what no snapshot has seen yet."""
        newest = self.history.commits(limit=1)
        if not newest:
            return False
        before = self.history.read(newest[0].id, key, rel)
        change = SeenChange(key, rel, lambda: before, lambda: content)
        return before != content and bool(self._agent.of([change], newest[0].at_ms))

    def preserve(self, root: ScopeRoot, rel: str) -> None:
        """Make sure the history holds the file or folder at this path, before it is changed."""
        self._require_same()
        if not self._is_kept(root, rel):
            self.observe(source="before a change", dirty=[root.directory / rel])

    def _is_kept(self, root: ScopeRoot, rel: str) -> bool:
        """Whether the newest commit certainly has a file as it is now: then there is nothing to scan."""
        try:
            status, data = read_rel(os.fspath(root.directory), rel, _GLANCE)
            place, mode = HistoryPlace(root.key, rel), stat.S_IMODE(status.st_mode)
            return status.st_size == len(data) and self.history.is_newest(place, data, mode)
        except (OSError, UserError):
            return False  # a snapshot says what is wrong

    def refuse_unkept(self, root: ScopeRoot, rel: str) -> None:
        """Raises `StoreError` (reason "not-kept") if something at or below this path could not be restored:
        the history has no bytes of it, or it cannot be read now, so that this is unknown."""
        path, shown = root.directory / rel, str(memory_path(root.scope, rel))
        head = self.history.head()
        versions = {} if head is None else self.history.files(head, root.key)
        found = [rel]
        if is_directory(path) and not is_link(path):
            if unlisted := never_kept(path):
                raise _not_kept(shown, f"{unlisted[0]} in it is hidden or a link, which the history lacks.")
            found = [f"{rel}/{each}" for each in _files_below(path)]
        for each in found:
            if each not in versions or versions[each].omitted:
                which = "it" if each == rel else each
                raise _not_kept(
                    shown,
                    f"{which} is hidden, or too large for the history, so it could not be brought back.",
                )
            try:
                with (root.directory / each).open("rb"):
                    pass
            except OSError as error:
                raise user_error_from_os(error, f"{shown} was not deleted: {each} cannot be read.") from error

    def keep(self, versions: Iterable[tuple[ScopeRoot, str, str]]) -> None:
        """Make sure the history holds the current versions of these files (root, path, sha256). Callers
        record companions themselves."""
        wanted = [each for each in versions if each[0].key != COMPANIONS]
        kept = self.history.newest([HistoryPlace(root.key, rel) for root, rel, _sha256 in wanted])
        unseen = [
            root.directory / rel
            for (root, rel, sha256), data in zip(wanted, kept, strict=True)
            if sha256_of_bytes(data) != sha256
        ]
        if unseen:
            self.observe(source="before a change", dirty=unseen)

    def _sources(self, roots: Sequence[ScopeRoot]) -> Sequence[SnapshotSource]:
        by_prefix: dict[str, dict[str, MemoryUsage]] = {}
        for key, value in self._usage.load().items():
            prefix = key[: key.rfind(":") + 1]
            by_prefix.setdefault(prefix, {})[key] = value
        return [self._source(root, by_prefix.get(root.usage_prefix or "", {})) for root in roots]

    def _source(self, root: ScopeRoot, usage: Mapping[str, MemoryUsage]) -> SnapshotSource:
        metadata: dict[str, dict[str, Any]] = {}
        for key, value in usage.items():
            rel = unescaped(key[len(root.usage_prefix or "") :])
            if self._home.usage_key(root, rel) == key:
                metadata[rel] = {name: getattr(value, name) for name in _USAGE_FIELDS}
        return SnapshotSource(root.key, root.directory, metadata=metadata, without=root.without)


# What a change means beyond the file, for a store that works on the disk: locks, attribution, usage, history.
# Usage follows formats/mux.md section 8: an agent's read and any write count as one use, a person's read does
# not (the commands do not report it). The history comes first, so a change that could not be undone is not
# made. A use that cannot be counted after a change is a warning; after a read, a line in the log.


_log = logging.getLogger("reverie.memory")


class DiskChangeListener:
    """Effects of one actor on one home. `after_change` hears of each changed path, for the snapshot after
    it; `writing` of each file and its new content, before it is replaced; `warn` gets a sentence for what
    went wrong after the change was made. `counts_renames`: a rename is a use, as by the agent's command. A
    person's in the window is none, like a move: the agent's own window has no such thing."""

    def __init__(
        self,
        home: Home,
        *,
        actor: str,
        usage: UsageLog,
        actors: WriteLog,
        snapshots: Snapshots,
        lock_dir: Path,
        clock: Clock,
        guard: WriteGuard,
        after_change: Callable[[Path], None] = lambda path: None,
        writing: Callable[[ScopeRoot, str, bytes | None], None] = lambda root, rel, after: None,
        warn: Callable[[str], None] = _log.warning,
        counts_renames: bool = True,
    ) -> None:
        self._home = home
        self._actor = actor
        self._own = actor != "agent"
        self._counts_renames = counts_renames
        self._usage = usage
        self._actors = actors
        self._snapshots = snapshots
        self._lock_dir = lock_dir
        self._clock = clock
        self._guard = guard
        self._after_change = after_change
        self._writing = writing
        self._warn = warn

    @contextlib.contextmanager
    def exclusive(self, root: ScopeRoot, rel: str = "") -> Iterator[None]:
        self._guard.require(root)
        with contextlib.ExitStack() as held:
            held.enter_context(write_locks(self._home, (root,), lock_dir=self._lock_dir))
            held.enter_context(file_lock(self._lock_dir, root.directory))
            path = root.directory / rel
            if rel and self._home.file_rule(root, rel).deletable and is_directory(path.parent):
                held.enter_context(lock_beside(path))
            yield

    def will_change(self, root: ScopeRoot, rel: str) -> None:
        self._snapshots.preserve(root, rel)

    def will_delete(self, root: ScopeRoot, rel: str) -> None:
        self._snapshots.refuse_unkept(root, rel)

    def replacing(self, root: ScopeRoot, rel: str, after: bytes | None) -> None:
        self._actors.record(
            root.directory / rel, sha256_of_bytes(after), actor=self._actor, run_id=None, at_ms=self._clock()
        )
        self._writing(root, rel, after)

    def wrote(self, root: ScopeRoot, rel: str) -> None:
        self._after_change(root.directory / rel)
        with self._counting(rel):
            self._with_key(root, rel, lambda key: self._usage.record_write(key, own=self._own))

    def deleted(self, root: ScopeRoot, rel: str) -> None:
        self._after_change(root.directory / rel)
        with self._counting(rel):
            self._with_key(root, rel, self._usage.delete)

    def renamed(self, root: ScopeRoot, rel: str, new_rel: str) -> None:
        self._after_change(root.directory / rel)
        self._after_change(root.directory / new_rel)
        old, new = self._home.usage_key(root, rel), self._home.usage_key(root, new_rel)
        if old is not None and new is not None:
            with self._counting(new_rel):
                self._usage.rename(old, new, counts=self._counts_renames, own=self._own)

    def read(self, root: ScopeRoot, rel: str) -> None:
        # What was read is read, also on a disk that is mounted read-only: to the agent, too, counts are
        # a courtesy.
        try:
            self._with_key(root, rel, self._usage.record_read)
        except ReadOnlyStore:
            return  # the doctor says so once, not each read
        except UserError as error:
            _log.warning("a use of %s is not counted: %s", rel, error)

    def pinned(self, root: ScopeRoot, rel: str, pinned: bool) -> None:
        self._with_key(root, rel, lambda key: self._usage.set_pinned(key, pinned, own=self._own))

    def warn(self, sentence: str) -> None:
        self._warn(sentence)

    @contextlib.contextmanager
    def _counting(self, rel: str) -> Iterator[None]:
        """The file has changed by now: a sidecar that cannot follow must not look like a failed change."""
        try:
            yield
        except UserError as error:
            why = " ".join(part for part in (error.cause or error.title, error.next_step) if part)
            self._warn(f"{rel} was changed, but its pin and use could not follow. {why}")

    def _with_key(self, root: ScopeRoot, rel: str, change: Callable[[str], object]) -> None:
        key = self._home.usage_key(root, rel)
        if key is not None:
            change(key)
