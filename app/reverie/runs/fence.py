"""The fence of a run: a kernel lock in the run's directory.

A lease can run out while its process is suspended; a kernel lock cannot. A run therefore holds its fence
while it changes files or its record, and recovery holds the same fence before it changes any of them. A
thread that holds a fence may acquire it again. Lock order: a run's own fence first, then the fences of the
older runs that it reverts or applies.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from reverie.errors import Busy
from reverie.files.locks import held_lock

FENCE = "fence.lock"


_WAIT_S = 1.0


class _FenceHolder(threading.local):
    """The directories of the runs whose fences (locks) this thread holds."""

    def __init__(self) -> None:
        self.directories: set[Path] = set()


_held = _FenceHolder()


@contextlib.contextmanager
def fenced(run_directory: Path) -> Iterator[None]:
    """Context manager: hold the fence of a run, which is a kernel lock in the directory `run_directory`.

    While it is held, no other process changes the files or the record of the run. Does nothing if this thread
    already holds that fence. Raises `Busy` if another process, at work or suspended, still holds it after a
    second.
    """
    if run_directory in _held.directories:
        yield
        return
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(held_lock(run_directory / FENCE, run_directory, timeout_s=_WAIT_S))
        except Busy as error:
            raise Busy(
                "A run of this home has not finished its changes.",
                cause=f"The process of run {run_directory.name} is suspended or slow, and still holds them.",
                next_step="Let that process continue, or end it. Reverie then finishes or undoes the run.",
                reason="suspended",
            ) from error
        _held.directories.add(run_directory)
        try:
            yield
        finally:
            _held.directories.discard(run_directory)
