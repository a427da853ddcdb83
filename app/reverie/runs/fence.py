"""A run's fence: the kernel lock in its directory under which its files and its record change hands.

A lease can run out while its process is suspended; a kernel lock cannot. So a run holds its fence while it
changes files and while it settles its record, and recovery does neither without it. Whoever holds it and
finds the record open knows that nobody has recovered the run, and that nobody can before it is given back.

A thread that holds a fence may take it again. Taken in this order: that of a run, then those of the runs it
is about, which are older. Threading: any thread. Failure: `Busy` (reason "suspended"), `Unavailable`.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from reverie.errors import Busy
from reverie.files.lock import held_lock

FENCE = "fence.lock"
_WAIT_S = 1.0


class _Held(threading.local):
    """The fences that this thread holds."""

    def __init__(self) -> None:
        self.directories: set[Path] = set()


_held = _Held()


@contextlib.contextmanager
def fenced(run_directory: Path) -> Iterator[None]:
    """Hold the fence of a run. Raises `Busy` where another process holds it: it is at work, or suspended."""
    if run_directory in _held.directories:
        yield
        return
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(held_lock(run_directory / FENCE, run_directory, timeout_s=_WAIT_S))
        except Busy as error:
            raise Busy(
                "A run of this home is still in the middle of its changes.",
                cause=f"The process of run {run_directory.name} is suspended, or slow, and holds them.",
                next_step="Let that process go on, or end it; the run is then finished or undone.",
                reason="suspended",
            ) from error
        _held.directories.add(run_directory)
        try:
            yield
        finally:
            _held.directories.discard(run_directory)
