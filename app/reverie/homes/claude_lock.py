"""`.consolidate-lock`: by this file Claude Code tells when it consolidated a memory directory, and that it is
at it (formats/claude-code.md section 5).

The file's mtime is the time of the last consolidation, its body the process id of the holder; without the
file there was none yet. Somebody is at it while that process lives and the mtime is younger than an hour. Who
takes it writes their own id and reads it again, as the agent does; of two that take it at once the last one
has it. When it is given back after a success the mtime is the present and the body empty: nobody holds it,
though the process that did may live on as long as a window is open. After a failure everything is as it was.

A foreign lock is never written to, and never taken while its holder is alive; what we give back must still be
ours. Real time, as the agent compares with it. Threading: any thread but the GUI's. Failure: `Busy` while
another holds it, other `MendableError`s where the file cannot be read or written.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.clock import HOUR_MS
from reverie.errors import Busy, Conflict, mendable_from_os
from reverie.files.process import is_running
from reverie.homes.agents import LockBefore

if TYPE_CHECKING:
    from collections.abc import Iterator

STALE_MS = HOUR_MS
_READ_BYTES = 4096
_NUMBER = re.compile(rb"\s*(\d{1,10})(?!\d)")


@dataclass(frozen=True, slots=True)
class LockState:
    """What the file says. `at`: the last consolidation (or when the present one began), UTC ms, None for
    never; `holder`: the process in the body, None for none; `alive`: whether that one runs; `running`:
    whether a consolidation is under way."""

    at: int | None = None
    holder: int | None = None
    alive: bool = False
    running: bool = False


def read_lock(file: Path, now_ms: int, is_alive: Callable[[int], bool] = is_running) -> LockState:
    """The state at `now_ms`; a file that is not there, or cannot be read, says "never"."""
    try:
        before = _look(file)
    except OSError:
        return LockState()
    return _state(before, now_ms, is_alive)


class ClaudeLock:
    """Implements `homes.agents.AgentLock` for one memory directory."""

    def __init__(
        self,
        file: Path,
        *,
        pid: int | None = None,
        clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        is_alive: Callable[[int], bool] = is_running,
    ) -> None:
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
        """How the lock stands now. Raises `Busy` while another process holds it."""
        with self._telling("read"):
            before = _look(self._file)
        state = _state(before, self._clock_ms(), self._is_alive)
        if state.running and state.holder != self._pid:
            raise self._busy(f"Process {state.holder} holds {self._file}.")
        return before

    def take(self, before: LockBefore) -> None:
        """Take the lock that stands as `look` saw it. Raises `Busy` where another was quicker."""
        with self._telling("taken"):
            if _look(self._file) != before:
                raise self._busy(f"{self._file} changed at this moment.")
            flags = os.O_WRONLY | os.O_CREAT | (os.O_EXCL if before.body is None else 0)
            try:
                self._write(flags, str(self._pid).encode())
            except FileExistsError:
                raise self._busy(f"{self._file} appeared at this moment.") from None
            if not self._is_ours(_look(self._file), self._pid):
                raise self._busy(f"Another process took {self._file} at this moment.")

    def done(self, holder: int) -> None:
        """Give it back: consolidated now, held by nobody. Raises `Conflict` where `holder` does not hold it
        any more; it is left then."""
        with self._telling("given back"):
            self._require_ours(holder)
            self._write(os.O_WRONLY, b"")
            os.utime(self._file, ns=(self._clock_ms() * 1_000_000,) * 2)

    def put_back(self, before: LockBefore, holder: int) -> None:
        """Make it what it was before. Raises `Conflict` where `holder` does not hold it any more; it is left
        then."""
        with self._telling("put back"):
            self._require_ours(holder)
            if before.body is None:
                self._file.unlink()
                return
            self._write(os.O_WRONLY, before.body)
            os.utime(self._file, ns=(before.mtime_ns, before.mtime_ns))

    def _write(self, flags: int, data: bytes) -> None:
        # In place, as the agent does it: a new file of that name would be another lock to who has it open.
        fd = os.open(self._file, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0), 0o666)
        try:
            os.ftruncate(fd, 0)
            os.write(fd, data)
        finally:
            os.close(fd)

    def _require_ours(self, holder: int) -> None:
        if not self._is_ours(_look(self._file), holder):
            raise Conflict(
                f"{self._file.name} was left as it is.",
                cause="Another process has taken or removed it meanwhile.",
                next_step="Nothing needs to be done.",
            )

    @staticmethod
    def _is_ours(now: LockBefore, holder: int) -> bool:
        return _holder(now.body) == holder

    def _busy(self, cause: str) -> Busy:
        return Busy(
            "Claude Code is consolidating these memories.",
            cause=cause,
            next_step="Try again when it is done; a lock older than an hour counts as left behind.",
            reason="agent-busy",
        )

    @contextmanager
    def _telling(self, done: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise mendable_from_os(error, f"{self._file} could not be {done}.") from error


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
    """The process a body names: its leading number, as the agent's `parseInt` reads it; none for 0."""
    found = _NUMBER.match(body or b"")
    return int(found[1]) or None if found else None


def _state(before: LockBefore, now_ms: int, is_alive: Callable[[int], bool]) -> LockState:
    if before.body is None:
        return LockState()
    at, holder = before.mtime_ns // 1_000_000, _holder(before.body)
    alive = holder is not None and is_alive(holder)
    return LockState(at, holder, alive, alive and now_ms - at < STALE_MS)
