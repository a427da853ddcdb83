"""The lock that some agents take: an advisory `flock` on the file `<name>.lock` beside the file itself.

For writing into a store whose own writers do the same; Reverie's own files are guarded by `files.lock`. The
lock file stays (its owners clear it away when it is old and free; a waiter that locked a removed one begins
anew). Not reentrant. Where there is no `flock` (Windows) the agents have none either, and nothing is locked.

Threading: blocking, any thread but the GUI's. Failure: `Busy` after the time-out, `MendableError` where the
lock file cannot be made.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from reverie.errors import Busy, mendable_from_os

if sys.platform != "win32":
    import fcntl

_FIRST_WAIT_S = 0.0005
_LONGEST_WAIT_S = 0.02


@contextlib.contextmanager
def lock_beside(target: Path, *, timeout_s: float = 10.0) -> Iterator[None]:
    """Hold the lock of `target` for the `with` block; its directory must exist."""
    if sys.platform == "win32":
        yield
        return
    path = target.with_name(f"{target.name}.lock")
    deadline, wait = time.monotonic() + timeout_s, _FIRST_WAIT_S
    while (fd := _locked(path, target)) is None:
        if time.monotonic() >= deadline:
            raise Busy(
                f"{target.name} is locked by its agent.",
                cause=f"It did not become free within {timeout_s:g} seconds.",
                next_step="Wait until the agent has written it, then try again.",
            )
        time.sleep(wait)
        wait = min(wait * 2, _LONGEST_WAIT_S)
    try:
        yield
    finally:
        # Unlocking never fails what was done under the lock: closing frees it as well.
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_UN)
        with contextlib.suppress(OSError):
            os.close(fd)


def _locked(path: Path, target: Path) -> int | None:
    """The descriptor that holds the lock; None: somebody else holds it."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise mendable_from_os(error, f"The lock for {target} could not be opened.") from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held, named = os.fstat(fd), path.lstat()
        if (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino):
            return fd
    except (BlockingIOError, FileNotFoundError):
        pass
    except OSError as error:
        os.close(fd)
        raise mendable_from_os(error, f"The lock for {target} could not be taken.") from error
    os.close(fd)
    return None
