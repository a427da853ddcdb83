"""What a change by hand or by an agent's command means beyond the file: locks, attribution, usage, history.

`DiskEffects` is handed to a `MemoryStore` that works on the disk. Usage follows formats/mux.md section 8: an
agent's read and any write count as one use; a person's read never does (the commands do not report it).

Threading: as the store. Failure: history is asked first, so a change that could not be undone does not
happen. A use that cannot be counted after the change is a warning: the change was made. A read that
cannot be counted is a read all the same, and a line in the log.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.clock import Clock
from reverie.errors import MendableError
from reverie.files.beside_lock import lock_beside
from reverie.files.lock import file_lock
from reverie.files.there import is_directory
from reverie.homes.base import Home
from reverie.homes.scopes import ScopeRoot
from reverie.memory.snapshots import Snapshots
from reverie.memory.store import sha256_of_bytes
from reverie.memory.usage import UsageLog
from reverie.memory.write_guard import ReadOnlyStore, WriteGuard
from reverie.memory.write_lock import write_locks

if TYPE_CHECKING:
    from reverie.memory.attribution import ActorLog

_log = logging.getLogger("reverie.memory")


class DiskEffects:
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
        actors: ActorLog,
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
        except MendableError as error:
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
        except MendableError as error:
            why = " ".join(part for part in (error.cause or error.title, error.next_step) if part)
            self._warn(f"{rel} was changed, but its pin and use could not follow. {why}")

    def _with_key(self, root: ScopeRoot, rel: str, change: Callable[[str], object]) -> None:
        key = self._home.usage_key(root, rel)
        if key is not None:
            change(key)
