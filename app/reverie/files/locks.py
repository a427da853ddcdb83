"""Locks between processes and threads: Reverie's own, the agents', and the identity of processes.

Reverie's own lock for a target file is a kernel lock on a file in Reverie's own directory, never beside the
target. It belongs to an open file description, so it ends with its process, and two threads exclude each
other just as two processes do. Lock files are never deleted: a waiter could otherwise lock a file that no
other process can find. Agents do not use these locks; compare-and-swap protects against writes by agents. Not
reentrant: a thread that acquires a lock twice waits for itself until the time-out.

The standard library's calls are used directly: `flock` on POSIX, a byte-range lock on Windows. (A wrapper
package takes fifty times as long per lock, and a tenth of a second to import.)

Threading: blocking, any thread but the GUI's. Failure: `Busy` after the time-out, `UserError` if a lock file
cannot be created.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from reverie.errors import Busy, user_error_from_os
from reverie.files.directory import ensure_private, real_path
from reverie.values import Struct

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


_T = TypeVar("_T")

# Short enough to hit the gap between two locks of a busy neighbour; an attempt costs microseconds.
_FIRST_WAIT_S = 0.0005
_LONGEST_WAIT_S = 0.005


@contextlib.contextmanager
def file_lock(lock_dir: Path, target: Path, *, timeout_s: float = 10.0) -> Iterator[None]:
    """Hold Reverie's own lock for the file `target` during the `with` block.

    `lock_dir`: the directory of the lock files, created if missing. The lock belongs to the real path of
    `target`, which need not exist. Raises Busy after `timeout_s` seconds, Unavailable if `lock_dir` cannot be
    used.
    """
    ensure_private(lock_dir)
    real = os.path.normcase(real_path(target))
    file = lock_dir / f"{hashlib.sha256(os.fsencode(real)).hexdigest()}.lock"
    with held_lock(file, target, timeout_s=timeout_s):
        yield


@contextlib.contextmanager
def held_lock(
    file: Path, target: Path, *, timeout_s: float = 10.0, mode: int = 0o600, busy: Busy | None = None
) -> Iterator[None]:
    """Hold the kernel's exclusive lock on the lock file `file` during the `with` block.

    `file` is created with the permission bits `mode` if missing; its directory must exist. `target`: the file
    that the lock protects, for messages. `busy`: the error to raise after `timeout_s` seconds; None: a `Busy`
    that names another Reverie as the holder. Raises Unavailable if `file` cannot be used.
    """
    if busy is None:
        title, advice = "is locked by another Reverie process or job.", "Wait until the other job is done"
        busy = _busy(f"{target.name} {title}", timeout_s, advice)
    try:
        fd = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), mode)
    except OSError as error:
        raise user_error_from_os(error, f"The lock for {target} could not be opened.") from error
    try:
        try:
            _wait(lambda: _try_lock(fd) or None, timeout_s, busy)
        except OSError as error:
            raise user_error_from_os(error, f"The lock for {target} could not be taken.") from error
        try:
            yield
        finally:
            _give_back(fd, target)
    finally:
        with contextlib.suppress(OSError):
            os.close(fd)


def _wait(take: Callable[[], _T | None], timeout_s: float, busy: Busy) -> _T:
    """Call `take` repeatedly until its result is not None; return that result.

    Raises `busy` after `timeout_s` seconds.
    """
    deadline, wait = time.monotonic() + timeout_s, _FIRST_WAIT_S
    while (taken := take()) is None:
        if time.monotonic() >= deadline:
            raise busy
        time.sleep(wait)
        wait = min(wait * 2, _LONGEST_WAIT_S)
    return taken


def _busy(title: str, timeout_s: float, advice: str) -> Busy:
    cause = f"The lock was not released within {timeout_s:g} seconds."
    return Busy(title, cause=cause, next_step=f"{advice}, then try again.")


def _give_back(fd: int, target: Path) -> None:
    """Unlock the lock file that is open as `fd`, explicitly, because closing it may not be enough.

    A child process that was forked while the lock was held has a copy of the descriptor. A failure is only
    logged (with `target`, the protected file): the work under the lock is done, and closing every copy frees
    the lock too.
    """
    try:
        _unlock(fd)
    except OSError as error:
        import logging  # late: an agent waits for `reverie failures`, which takes locks as well

        logging.getLogger("reverie.files").info("the lock for %s could not be given back: %s", target, error)


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


@contextlib.contextmanager
def lock_beside(target: Path, *, timeout_s: float = 10.0) -> Iterator[None]:
    """Hold the lock that the agent itself uses for the file `target` during the `with` block.

    Some agents take an advisory `flock` on `<name>.lock` beside the file, so a write into their store must
    take this lock too. The directory must exist. The lock file is not removed here; its agent removes it when
    it is old and free, and a waiter that has locked a removed file starts over. Raises `Busy` after
    `timeout_s` seconds. Not reentrant. Without `flock` (Windows) the agents lock nothing, and neither does
    this function.
    """
    if sys.platform == "win32":
        yield
        return
    path = target.with_name(f"{target.name}.lock")
    busy = _busy(
        f"{target.name} is locked by its agent.", timeout_s, "Wait until the agent has written the file"
    )
    fd = _wait(lambda: _locked(path, target), timeout_s, busy)
    try:
        yield
    finally:
        _give_back(fd, target)
        with contextlib.suppress(OSError):
            os.close(fd)


def _locked(path: Path, target: Path) -> int | None:
    """Lock the file `path`; return its descriptor, or None if another process holds the lock.

    `target`: the file that the lock protects, for messages. Raises `UserError`.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise user_error_from_os(error, f"The lock for {target} could not be opened.") from error
    try:
        if _try_lock(fd):
            held, named = os.fstat(fd), path.lstat()
            if (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino):
                return fd
    except FileNotFoundError:
        pass
    except OSError as error:
        os.close(fd)
        raise user_error_from_os(error, f"The lock for {target} could not be taken.") from error
    os.close(fd)
    return None


_LIST = Path("/proc/locks")


def is_held(file: Path) -> bool:
    """Return whether a process holds a `flock` lock on `file` now.

    Reads the kernel's list of locks, because a test by locking would interfere with a program that locks the
    file at that moment. Without such a list (anywhere but Linux) the result is False.
    """
    try:
        status, lines = file.stat(), _LIST.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return False
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    for line in lines:
        fields = line.split()
        if len(fields) < 6 or fields[1] != "FLOCK":
            continue
        of_device, _, inode = fields[5].rpartition(":")
        # Some file systems report another device here than in `stat`; those numbers begin with 00.
        if inode == str(status.st_ino) and (of_device == device or "00" in (of_device[:2], device[:2])):
            return True
    return False


class ProcessId(Struct, frozen=True):
    """The identity of a process: its id, which is reused sooner or later, with its start time and boot.

    The formats of `started` and `boot` depend on the system; they are only compared, never shown.
    """

    pid: int
    started: int
    """Ticks since boot on Linux, from /proc; elsewhere milliseconds since the epoch, from psutil."""
    boot: str
    """Boot and process-id namespace on Linux; elsewhere empty."""


class LeaseHolder(Struct, frozen=True):
    """The holder of a lease; times are UTC milliseconds since the epoch."""

    owner: ProcessId
    purpose: str
    """What the lease is for."""
    acquired_at_ms: int
    expires_at_ms: int
    ours: bool = False
    """Whether the lease is held by the calling process, or by a child process that works only for it."""


def this_process() -> ProcessId:
    """Return the identity of the calling process."""
    return process_id(os.getpid())


def process_id(pid: int) -> ProcessId:
    """Return the identity of process `pid`; for a missing process, an identity that never counts as alive."""
    return ProcessId(pid, _started(pid) or 0, _boot())


_ours = {os.getpid()}


def count_as_ours(pid: int) -> None:
    """Register the child process `pid`, which works only for this process, so that `is_ours` accepts it."""
    _ours.add(pid)


def forget_ours(pid: int) -> None:
    """Unregister child process `pid`, which has ended: its id may be reused."""
    _ours.discard(pid)


def is_ours(pid: int) -> bool:
    """Return whether `pid` is this process or a child process registered with `count_as_ours`."""
    return pid in _ours or pid == os.getpid()


def is_alive(process: ProcessId) -> bool:
    """Return whether the process with exactly this identity is still running; a zombie is not.

    A process in another container cannot be seen from here and counts as alive: then only the expiry of its
    lease matters.
    """
    boot, _, namespace = process.boot.partition("/")
    own_boot, _, own_namespace = _boot().partition("/")
    if boot != own_boot:
        return False
    if namespace != own_namespace:
        return True
    return _started(process.pid) == process.started


def is_running(pid: int) -> bool:
    """Return whether any process on this machine has the id `pid`, even if the id has been reused.

    Use it for files of other programs, which store only the id; `is_alive` tests for one certain process.
    """
    return pid > 0 and _started(pid) is not None


if sys.platform == "linux":

    def _boot() -> str:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"

    def _started(pid: int) -> int | None:
        """Return the start time of the process `pid` (clock ticks since boot); None if it does not run."""
        try:
            text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            return None
        # The program's name is in brackets and may contain brackets and spaces; the state is the field after
        # it.
        fields = text.rpartition(")")[2].split()
        return None if fields[0] in "ZXx" else int(fields[19])

else:

    def _boot() -> str:
        return ""

    def _started(pid: int) -> int | None:
        """Return the start time of the process `pid` (UTC ms); None if it does not run."""
        import psutil  # late: only a lease or a run record needs it

        try:
            process = psutil.Process(pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                return None
            return int(process.create_time() * 1000)
        except psutil.NoSuchProcess:
            return None
