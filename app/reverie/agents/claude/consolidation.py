"""The consolidation lock of Claude Code, `.consolidate-lock` (formats/claude-code.md sections 5 and 12).

The file's mtime is the time of the last consolidation, its content the process id of the holder; if the file
is missing, there was no consolidation yet. A consolidation counts as running while that process lives and the
mtime is younger than an hour. Claude Code leaves its process id there after a success, and the process lives
on as the open session. So a consolidation also counts as ended once the session recorded that it improved
memories, or once nothing in the directory has changed for `QUIET_MS` (`Ended`).

To take the lock, a process writes its own id and reads it again, as the agent does; if two processes take it
at once, the last one gets it. When Reverie releases the lock after a consolidation, it sets the mtime to the
current time and empties the file; after any other run it restores both. A foreign lock is never written to,
and never taken while its holder is alive; Reverie releases only its own. Uses real time, because the agent
compares with it.

Threading: any thread but the GUI's. Failure: `Busy` while another process holds the lock, other `UserError`s
if the file cannot be read or written.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from reverie.agents.capabilities import LockBefore
from reverie.agents.claude.locations import LOCK_NAME
from reverie.agents.codex.transcript import timestamp_ms
from reverie.agents.transcript_lines import decoded_row, end_of, opened_transcript
from reverie.clock import HOUR_MS
from reverie.errors import Busy, Conflict, UserError, user_error_from_os
from reverie.files.directory import walk_paths
from reverie.files.locks import is_running
from reverie.values import Struct

STALE_MS = HOUR_MS
QUIET_MS = HOUR_MS // 6
"""The time without a change in the directory after which a consolidation counts as over, in ms.

A consolidation takes about a minute.
"""
_READ_BYTES = 4096
_TAIL_BYTES = 4 << 20
_MOST_ENTRIES = 5000
_SAVED = b'"memory_saved"'
_NUMBER = re.compile(rb"\s*(\d{1,10})(?!\d)")


class LockState(Struct, frozen=True):
    """The state of a memory's consolidation, as its lock file records it."""

    at: int | None = None
    """The time of the last consolidation, or the start of the current one (UTC ms); None for never."""
    holder: int | None = None
    """The process id in the file; None if there is none."""
    alive: bool = False
    """Whether the process `holder` runs."""
    running: bool = False
    """Whether a consolidation is under way."""
    ended: bool = False
    """Whether the consolidation is known to be over although the process is alive."""


def never_ended(_holder: int, _at_ms: int, _now_ms: int) -> bool:
    """Return False: the `HasEnded` for which a consolidation lasts as long as its process."""
    return False


HasEnded = Callable[[int, int, int], bool]
"""A function that returns whether a consolidation is over.

It takes the id of the process that began it, its start, and the current time (both UTC ms).
"""


class Ended(Struct, frozen=True):
    """A callable (`HasEnded`) that returns whether a consolidation is over although its process is alive."""

    directory: Path
    """The memory directory."""
    transcript_of: Callable[[int], Path | None]
    """Returns the transcript of the session that runs in a process, given its id; None if unknown."""

    def __call__(self, holder: int, at_ms: int, now_ms: int) -> bool:
        """Return whether the consolidation of the process `holder` is over at `now_ms`.

        `at_ms`: the time at which it began. All times are UTC ms.
        """
        transcript = self.transcript_of(holder)
        if transcript is not None and _recorded_since(transcript, at_ms):
            return True
        changed_ms: int = max(at_ms, _newest_change(self.directory))
        return now_ms - changed_ms >= QUIET_MS


def _recorded_since(transcript: Path, at_ms: int) -> bool:
    """Return whether the last part of a transcript records that a consolidation ended after `at_ms` (UTC)."""
    try:
        with opened_transcript(transcript) as file:
            tail = end_of(file, _TAIL_BYTES)
    except (OSError, UserError):
        return False
    for line in reversed(tail.split(b"\n")):
        row = decoded_row(line) if _SAVED in line else None
        if row is None or row.get("subtype") != "memory_saved" or not isinstance(row.get("verb"), str):
            continue
        return (timestamp_ms(row.get("timestamp")) or 0) > at_ms
    return False


def _newest_change(directory: Path) -> int:
    """Return the time of the last change in a memory directory (UTC ms), ignoring the lock itself.

    0 if nothing in it can be examined.
    """
    newest = 0

    def not_listed(_error: OSError) -> None:
        """Do nothing when `walk_paths` cannot list a folder, because the status lines report it."""

    for number, (folder, _folders, names) in enumerate(walk_paths(directory, onerror=not_listed)):
        if number >= _MOST_ENTRIES:
            break
        places = [folder, *(f"{folder}/{name}" for name in names[:_MOST_ENTRIES] if name != LOCK_NAME)]
        # The memory's own directory changes with the lock, too.
        for place in places[1:] if folder == str(directory) else places:
            with suppress(OSError):
                newest = max(newest, os.stat(place).st_mtime_ns // 1_000_000)  # noqa: PTH116 - thousands
    return newest


def read_lock(
    file: Path,
    now_ms: int,
    is_alive: Callable[[int], bool] = is_running,
    has_ended: HasEnded = never_ended,
) -> LockState:
    """Return the state of the lock at `now_ms` (UTC).

    A missing or unreadable file means "never consolidated". `is_alive` returns whether a process with this id
    runs; `has_ended` returns whether the consolidation of a living process is over (`HasEnded`).
    """
    try:
        before = _look(file)
    except OSError:
        return LockState()
    return _state(before, now_ms, is_alive, has_ended)


class ClaudeLock:
    """The lock of one memory directory; implements `agents.capabilities.AgentLock`."""

    def __init__(
        self,
        file: Path,
        *,
        pid: int | None = None,
        clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        is_alive: Callable[[int], bool] = is_running,
        has_ended: HasEnded = never_ended,
    ) -> None:
        self._has_ended = has_ended
        self._file = file
        self._pid = os.getpid() if pid is None else pid
        self._clock_ms = clock_ms
        self._is_alive = is_alive

    @property
    def file(self) -> Path:
        return self._file

    @property
    def holder(self) -> int:
        return self._pid

    def look(self) -> LockBefore:
        """Return the current state of the lock.

        Raises `Busy` while another process holds it.
        """
        with self._telling("read"):
            before = _look(self._file)
        state = _state(before, self._clock_ms(), self._is_alive, self._has_ended)
        if state.running and state.holder != self._pid:
            raise self._busy(f"Process {state.holder} holds the lock {self._file}.")
        return before

    def take(self, before: LockBefore) -> None:
        """Take the lock if its state is still `before`, which `look` returned.

        Raises `Busy` if another process took it first.
        """
        with self._telling("taken"):
            if _look(self._file) != before:
                raise self._busy(f"{self._file} has just changed.")
            flags = os.O_WRONLY | os.O_CREAT | (os.O_EXCL if before.body is None else 0)
            try:
                self._write(flags, str(self._pid).encode())
            except FileExistsError:
                raise self._busy(f"{self._file} has just been created.") from None
            if not self._is_ours(_look(self._file), self._pid):
                raise self._busy(f"Another process has just taken {self._file}.")

    def done(self, holder: int) -> None:
        """Release the lock after a consolidation: set its time to now and remove its holder.

        Raises `Conflict` and leaves the file unchanged if the process `holder` no longer holds it.
        """
        with self._telling("released"):
            self._require_ours(holder)
            self._write(os.O_WRONLY, b"")
            os.utime(self._file, ns=(self._clock_ms() * 1_000_000,) * 2)

    def put_back(self, before: LockBefore, holder: int) -> None:
        """Restore the lock to the state `before`.

        Raises `Conflict` and leaves the file unchanged if the process `holder` no longer holds it.
        """
        with self._telling("restored"):
            self._require_ours(holder)
            if before.body is None:
                self._file.unlink()
                return
            self._write(os.O_WRONLY, before.body)
            os.utime(self._file, ns=(before.mtime_ns, before.mtime_ns))

    def _write(self, flags: int, data: bytes) -> None:
        # In place, as the agent does it: to a process that has it open, a new file would be another lock.
        fd = os.open(self._file, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0), 0o666)
        try:
            os.ftruncate(fd, 0)
            os.write(fd, data)
        finally:
            os.close(fd)

    def _require_ours(self, holder: int) -> None:
        if not self._is_ours(_look(self._file), holder):
            raise Conflict(
                f"{self._file.name} was not changed.",
                cause="Another process has just taken or removed this lock file.",
                next_step="You do not need to do anything.",
            )

    @staticmethod
    def _is_ours(now: LockBefore, holder: int) -> bool:
        return _holder(now.body) == holder

    def _busy(self, cause: str) -> Busy:
        return Busy(
            "Claude Code is consolidating these memories.",
            cause=cause,
            next_step="Try again when it is done. After ten minutes without a change it counts as ended.",
            reason="agent-busy",
        )

    @contextmanager
    def _telling(self, done: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise user_error_from_os(error, f"{self._file} could not be {done}.") from error


def _look(file: Path) -> LockBefore:
    try:
        fd = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return LockBefore(None, 0)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{file} is not a file")
        return LockBefore(os.read(fd, _READ_BYTES), status.st_mtime_ns)
    finally:
        os.close(fd)


def _holder(body: bytes | None) -> int | None:
    """Return the process id at the beginning of a lock file's content `body`; None if it is 0 or missing.

    It is parsed like JavaScript's `parseInt`. `body` None: there is no file.
    """
    found = _NUMBER.match(body or b"")
    return int(found[1]) or None if found else None


def _state(
    before: LockBefore, now_ms: int, is_alive: Callable[[int], bool], has_ended: HasEnded
) -> LockState:
    if before.body is None:
        return LockState()
    at, holder = before.mtime_ns // 1_000_000, _holder(before.body)
    if holder is None or not is_alive(holder):
        return LockState(at, holder)
    ended = has_ended(holder, at, now_ms)
    running = not ended and now_ms - at < STALE_MS
    return LockState(at, holder, alive=True, running=running, ended=ended)
