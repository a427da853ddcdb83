"""Mutual exclusion between Reverie processes and threads for one target file, on kernel locks.

The lock belongs to an open file description, so it dies with its process, and two threads exclude each other
as two processes do. Lock files live in Reverie's own directory, never beside the target, and are never
deleted: removing one would let a waiter lock a file that nobody else can find. Agents do not take these
locks; against them compare-and-swap helps.

The standard library's calls are used directly: `flock` on POSIX, a byte-range lock on Windows. (A wrapper
package costs a fiftyfold per lock and a tenth of a second of import.) Not reentrant: a thread that asks twice
waits for itself until the time-out.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from reverie.errors import Busy, mendable_from_os
from reverie.files.directory import ensure_private
from reverie.files.real_path import real_path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_log = logging.getLogger("reverie.files")

# Short enough that a waiter meets the gap between two locks of a busy neighbour; a try costs microseconds.
_FIRST_WAIT_S = 0.0005
_LONGEST_WAIT_S = 0.005


@contextlib.contextmanager
def file_lock(lock_dir: Path, target: Path, *, timeout_s: float = 10.0) -> Iterator[None]:
    """Hold the lock of `target` (named by its real path, which need not exist) for the `with` block.

    Raises Busy after `timeout_s` seconds, Unavailable when `lock_dir` cannot be used.
    """
    ensure_private(lock_dir)
    real = os.path.normcase(real_path(target))
    file = lock_dir / f"{hashlib.sha256(os.fsencode(real)).hexdigest()}.lock"
    with held_lock(file, target, timeout_s=timeout_s):
        yield


@contextlib.contextmanager
def held_lock(file: Path, target: Path, *, timeout_s: float = 10.0) -> Iterator[None]:
    """Hold the kernel's lock on `file` itself, which is made if it is missing, for the `with` block; its
    directory must exist. `target`: what it stands for, in messages. Raises as `file_lock`."""
    try:
        fd = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError as error:
        raise mendable_from_os(error, f"The lock for {target} could not be opened.") from error
    try:
        try:
            _wait_for(fd, target, timeout_s)
        except OSError as error:
            raise mendable_from_os(error, f"The lock for {target} could not be taken.") from error
        try:
            yield
        finally:
            # Explicit: a child process forked in between holds a copy of the descriptor. What was done under
            # the lock is done; where unlocking fails, closing the file frees it.
            try:
                _unlock(fd)
            except OSError as error:
                _log.info("the lock for %s could not be given back: %s", target, error)
    finally:
        with contextlib.suppress(OSError):
            os.close(fd)


def _wait_for(fd: int, target: Path, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    wait = _FIRST_WAIT_S
    while not _try_lock(fd):
        if time.monotonic() >= deadline:
            raise Busy(
                f"{target.name} is locked by another Reverie process or job.",
                cause=f"It did not become free within {timeout_s:g} seconds.",
                next_step="Wait until the other job is done, then try again.",
            )
        time.sleep(wait)
        wait = min(wait * 2, _LONGEST_WAIT_S)


if sys.platform == "win32":

    def _try_lock(fd: int) -> bool:
        os.lseek(fd, 0, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EDEADLOCK):
                return False
            raise
        return True

    def _unlock(fd: int) -> None:
        os.lseek(fd, 0, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

else:

    def _try_lock(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)
