"""Tests of paths, and directories held open so that nothing below them can be redirected.

The tests (does a path exist, is it a directory or a link, can it be opened as a regular file, where does it
lead, does its disk respond) never raise, unlike `Path.exists` for a folder that may not be entered. In the
directories of other programs, an entry that cannot be examined counts as missing, so that one bad entry does
not hide its neighbours. A file of Reverie's own that cannot be examined is an error instead (`own_is_there`
raises `Unavailable`), never a missing file.

On POSIX a `Directory` is a file descriptor and every call is relative to it (`openat` and friends): renaming
the directory or putting a symlink in its place while we work has no effect on us, and no call here follows a
symlink in its last component. If the system has no such calls (Windows; `SUPPORTS_DIR_FD`, chosen once at
import), the path is joined for each call and checked for symlinks first. This is weaker, because a symlink
that is swapped in between the check and the use is followed. Names are single components that the caller has
checked.

This module imports little, because the window loads it first. Threading: any thread, but a `Directory`
belongs to the thread that opened it; only `DiskCheck` and `ask_each` may be used where blocking is not
allowed. Failure: `OSError`, which callers turn into a `UserError`, and `SwappedError`.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import signal
import stat
import sys
import threading
import time
import unicodedata
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Generic, NamedTuple, Self, TypeVar

from reverie.errors import NotRegularFileError, RefusedFileError, Unavailable, user_error_from_os


def is_there(path: Path) -> bool:
    """Return whether `path` exists and can be reached, following links; never raises."""
    return os.path.exists(path)  # noqa: PTH110 - Path's raises


def is_directory(path: Path) -> bool:
    """Return whether `path` is a directory that can be reached; unlike `Path.is_dir`, never raises."""
    return os.path.isdir(path)  # noqa: PTH112


def leads_to_directory(entry: os.DirEntry[str]) -> bool:
    """Return whether `entry`, of a directory listing, is a directory or a link to one.

    False if that cannot be determined (a circular link, or one to a place that may not be read).
    """
    try:
        return entry.is_dir()
    except OSError:
        return False


def is_file(path: Path) -> bool:
    """Return whether `path` is a regular file that can be reached; unlike `Path.is_file`, never raises."""
    return os.path.isfile(path)  # noqa: PTH113


def is_irregular(path: Path) -> bool:
    """Return whether `path` leads to something other than a regular file; False if it leads to nothing.

    Links are followed. A single `stat` call decides, so a file that vanishes at this moment is not irregular.
    """
    try:
        status = path.stat()
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(status.st_mode)


def is_link(path: Path) -> bool:
    """Return whether `path` is a symlink that can be reached; unlike `Path.is_symlink`, never raises."""
    return os.path.islink(path)  # noqa: PTH114


def own_is_there(path: Path) -> bool:
    """Return whether `path`, a file of Reverie's own, exists.

    Raises `Unavailable` if that cannot be determined.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise user_error_from_os(error, f"{path} could not be read.") from error
    return True


OWN_BYTES = 1 << 28
"""The largest file of Reverie's own that is read whole, in bytes."""


def open_regular(path: Path, flags: int, *, mode: int = 0o666) -> int:
    """Open a regular file like `os.open`, without ever blocking; return the descriptor.

    Use it for any file in a home or in Reverie's own folders, because a name there may lead to a pipe or a
    device. Raises `OSError` for anything but a regular file, and for a symlink if `flags` contain
    `O_NOFOLLOW`; neither is opened. `mode`: the permission bits of a new file, less the umask.
    """
    nofollow = getattr(os, "O_NOFOLLOW", 0)
    follow = not (nofollow and flags & nofollow)
    # Checked before opening: opening a device may have effects, and opening a pipe wakes a process that waits
    # at its other end.
    try:
        _require_regular(os.stat(path, follow_symlinks=follow), path)  # noqa: PTH116 - its own errors
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
    fd = os.open(
        path,
        flags
        | getattr(os, "O_NONBLOCK", 0)
        | getattr(os, "O_NOCTTY", 0)
        | getattr(os, "O_BINARY", 0)
        | getattr(os, "O_CLOEXEC", 0),
        mode,
    )
    try:
        _require_regular(os.fstat(fd), path)
    except OSError:
        os.close(fd)
        raise
    return fd


def read_regular(path: Path, limit: int = OWN_BYTES, *, follow: bool = True) -> bytes:
    """Return the content of a regular file; never blocks on a pipe.

    Raises `OSError` if the file has more than `limit` bytes or is not a regular file, and for a symlink if
    `follow` is False. The caller turns the error into a message that names the file.
    """
    flags = os.O_RDONLY if follow else os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)
    # For systems without O_NOFOLLOW.
    if not follow and stat.S_ISLNK(os.lstat(path).st_mode):
        raise OSError(errno.ELOOP, "it is a symbolic link", str(path))
    with os.fdopen(open_regular(path, flags), "rb") as file:
        # First the current size, because a read allocates all the memory it is allowed; then any growth.
        size = os.fstat(file.fileno()).st_size
        data = file.read(min(limit, size) + 1)
        if size < len(data) <= limit:
            data += file.read(limit + 1 - len(data))
    if len(data) > limit:
        raise OSError(errno.E2BIG, f"the file is larger than {limit:,} bytes", str(path))
    return data


def _require_regular(status: os.stat_result, path: Path) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is not a regular file", str(path))
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularFileError(errno.EINVAL, "it is not a regular file", str(path))


def real_path(path: str | os.PathLike[str], *, strict: bool = False) -> str:
    """Return the absolute path with all symlinks resolved, or with none if the system refuses to follow them.

    The system refuses a circle of links, or too many. With `strict`, this and a missing path raise `OSError`.
    Use this function for any path that others may have linked: before Python 3.13, `os.path.realpath` ends in
    a RecursionError for a chain of a thousand links, and `Path.resolve` in a RuntimeError for a circle; since
    3.13 both follow a chain of any length, even if the system does not.
    """
    if not has_too_many_links(path):
        return os.path.realpath(path, strict=strict)
    if strict:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    return os.path.abspath(path)  # noqa: PTH100 - `Path.resolve` would follow them


def has_too_many_links(path: str | os.PathLike[str]) -> bool:
    """Return whether the system refuses to follow the links in `path`: a circle, or too many of them."""
    try:
        os.stat(path)  # noqa: PTH116
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


K = TypeVar("K")
T = TypeVar("T")

MOST_AT_ONCE = 16
"""The maximum number of threads of `ask_each` at the same time; a thread that hangs is replaced."""
MOST_LIMITS = 3
"""The time after which `ask_each` gives up, as a multiple of its `limit_s`, however many calls are left."""


class DiskCheck:
    """A check of whether the disks of some paths respond, in a thread of its own.

    A disconnected network share can block its callers for hours, so the thread may hang. The paths are
    examined in order; a missing path counts as a response. `at`: the path whose disk has not responded yet,
    None once all have responded; `answered`: an event that is set then.
    """

    def __init__(self, places: Iterable[Path]) -> None:
        self._places = tuple(places)
        self.at: Path | None = self._places[0] if self._places else None
        self.answered = threading.Event()
        self._began = time.monotonic()
        threading.Thread(target=self._run, name="reverie-look", daemon=True).start()

    @property
    def took_s(self) -> float:
        """Seconds since the check began; it grows even after all disks have responded."""
        return time.monotonic() - self._began

    def _run(self) -> None:
        for place in self._places:
            self.at = place
            with contextlib.suppress(OSError, ValueError):
                os.stat(place)  # noqa: PTH116 - the plain system call
        self.at = None
        self.answered.set()


def ask_each(questions: Mapping[K, Callable[[], T]], limit_s: float) -> dict[K, T]:
    """Call each function in a thread of its own and return the results by key, in the order of `questions`.

    At most `MOST_AT_ONCE` are called at the same time. A function that takes longer than `limit_s` seconds
    does not delay the others: it is left out of the result, and its thread is abandoned. After three times
    `limit_s` all functions that have not returned are left out. If any raise, the first exception is raised
    again once all are done.
    """
    asking = _DiskProbe(questions)
    asking.wait(limit_s)
    return asking.answers()


class _DiskProbe(Generic[K, T]):
    """The state of one `ask_each` call.

    Everything except the calls of the functions happens under its lock.
    """

    def __init__(self, questions: Mapping[K, Callable[[], T]]) -> None:
        self._questions = questions
        self._left: list[K] = list(questions)[::-1]
        self._since: dict[K, float] = {}
        self._answers: dict[K, T] = {}
        self._errors: list[BaseException] = []
        self._changed = threading.Condition()
        self._over = False
        self._threads: list[threading.Thread] = []

    def wait(self, limit_s: float) -> None:
        """Wait until each function has returned or has taken longer than `limit_s` seconds.

        Ends after three times `limit_s` in any case.
        """
        end = time.monotonic() + MOST_LIMITS * limit_s
        for _ in range(min(MOST_AT_ONCE, len(self._left))):
            self._start_thread()
        silent: set[K] = set()
        with self._changed:
            while True:
                now = time.monotonic()
                late = {key for key, since in self._since.items() if now - since >= limit_s} - silent
                silent |= late
                for _ in late if self._left else ():
                    self._start_thread()
                waiting = [since for key, since in self._since.items() if key not in silent]
                if now >= end or not (self._left or waiting):
                    silent |= set(self._since)
                    break
                self._changed.wait(
                    min(end, *(since + limit_s for since in waiting)) - now if waiting else 0.01
                )
            self._over = True
        for thread in () if silent else self._threads:
            thread.join()  # all answers are in, so they are about to end

    def answers(self) -> dict[K, T]:
        """Return the results so far, by key. If any function raised, raise its exception (the first one)."""
        with self._changed:
            if self._errors:
                raise self._errors[0]
            return {key: self._answers[key] for key in self._questions if key in self._answers}

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._run, name="reverie-ask", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._over or not self._left:
                    return
                key = self._left.pop()
                self._since[key] = time.monotonic()
            try:
                answer = self._questions[key]()
            except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
                with self._changed:
                    self._errors.append(error)
                    self._done(key)
                continue
            with self._changed:
                self._answers[key] = answer
                self._done(key)

    def _done(self, key: K) -> None:
        del self._since[key]
        self._changed.notify()


if sys.platform != "win32":
    import fcntl

SUPPORTS_DIR_FD = {os.open, os.stat, os.mkdir, os.unlink, os.rename, os.link} <= os.supports_dir_fd

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_NOCTTY = getattr(os, "O_NOCTTY", 0)
_PATH = getattr(os, "O_PATH", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_READ = os.O_RDONLY | _NOFOLLOW | _NONBLOCK | _NOCTTY | _BINARY

RACY_NS = 2_000_000_000
"""The granularity of the coarsest time stamps of file systems in use, in ns: FAT counts in two seconds."""
_PORTION = 1 << 20
_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2
# Errors of a kernel or file system that does not support the flag of a renameat2 call, or hard links.
_NOT_OFFERED = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EPERM, errno.EMLINK}


class Stamp(NamedTuple):
    """The size, times (ns since the epoch) and inode of a file, to notice a change without reading it.

    It is a plain tuple to be cheap, because there is one for each file of a home.
    """

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


def stamp_of(status: os.stat_result) -> Stamp:
    """Return the `Stamp` of a file from `status`, its `os.stat_result`; on Windows the inode is 0."""
    # In a directory scan Windows gives no inode, and the time of creation as `st_ctime`.
    inode = status.st_ino if os.name != "nt" else 0
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, inode)


def at_rest(stamp: Stamp, read_ns: int) -> bool:
    """Return whether a file had not changed for more than two seconds when it was read.

    If this is False, the file may change once more without a change of its `stamp`, because the time stamps
    of some file systems are two seconds coarse (git calls such a file racily clean). `read_ns`: the time of
    the read, in ns since the epoch.
    """
    return read_ns - max(stamp.mtime_ns, stamp.ctime_ns) > RACY_NS


class SwappedError(Exception):
    """Raised if a name in a path is a symlink: the path was not resolved, or the symlink is new.

    Callers resolve the path and try again.
    """


class Directory:
    """One open directory; a context manager that closes it.

    `path` is the path it was opened with, for messages and for systems without directory descriptors. Its
    methods take the name of an entry (one path component) and raise `OSError`.
    """

    def __init__(self, path: str, fd: int | None) -> None:
        self.path = path
        self._fd = fd

    @classmethod
    def open(cls, path: str | Path) -> Directory:
        """Open the directory at `path` and return it.

        Symlinks in the path are followed, so callers that do not want this resolve the path first.
        """
        if SUPPORTS_DIR_FD:
            return cls(str(path), os.open(path, os.O_RDONLY | _DIRECTORY))
        if not stat.S_ISDIR(os.stat(path).st_mode):  # noqa: PTH116 - errors as from os.open
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
        return cls(str(path), None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the directory; further calls do nothing."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def child(self, name: str) -> Directory:
        """Open the subdirectory `name`, which must not be a symlink, and return it.

        Raises SwappedError for a symlink, FileNotFoundError, NotADirectoryError.
        """
        if self._fd is None:
            self.refuse_symlink(name)
            return Directory.open(self._at(name))
        try:
            fd = os.open(name, os.O_RDONLY | _DIRECTORY | _NOFOLLOW, dir_fd=self._fd)
        except OSError as error:
            # Linux says ENOTDIR and BSD ELOOP for a symlink opened as a directory.
            if error.errno in (errno.ENOTDIR, errno.ELOOP):
                self.refuse_symlink(name)
            raise
        return Directory(f"{self.path.rstrip('/')}/{name}", fd)

    def reopen(self) -> Directory:
        """Open this directory a second time and return the new object."""
        if self._fd is None:
            return Directory(self.path, None)
        return Directory(self.path, os.open(".", os.O_RDONLY | _DIRECTORY, dir_fd=self._fd))

    def names(self) -> list[os.DirEntry[str]]:
        """Return all entries of this directory, unordered.

        `DirEntry.stat(follow_symlinks=False)` works while this directory is open.
        """
        with os.scandir(self.path if self._fd is None else self._fd) as entries:
            return list(entries)

    def lstat(self, name: str) -> os.stat_result:
        """Return the status of the entry `name`; for a symlink, that of the link itself."""
        return os.stat(self._at(name), dir_fd=self._fd, follow_symlinks=False)

    def refuse_symlink(self, name: str) -> None:
        """Raise SwappedError if `name` is a symlink, FileNotFoundError if it does not exist."""
        if stat.S_ISLNK(self.lstat(name).st_mode):
            raise SwappedError(name)

    def stat(self) -> os.stat_result:
        """Return the status of this directory."""
        return os.stat(self.path if self._fd is None else self._fd)  # noqa: PTH116 - needs the descriptor

    @contextlib.contextmanager
    def held(self, name: str) -> Iterator[int]:
        """Context manager: keep the inode of the entry `name` from being reused; yield its number.

        The entry may be of any type. Systems without `O_PATH` do not keep the inode.
        """
        if not _PATH or self._fd is None:
            yield self.lstat(name).st_ino
            return
        fd = os.open(name, _PATH | _NOFOLLOW, dir_fd=self._fd)
        try:
            yield os.fstat(fd).st_ino
        finally:
            os.close(fd)

    def create(self, name: str, mode: int) -> int:
        """Create the file `name` for writing; return the open descriptor.

        `mode`: permission bits, less the umask. Raises FileExistsError if the name is taken, even by a
        symlink.
        """
        return os.open(
            self._at(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW | _BINARY, mode, dir_fd=self._fd
        )

    def block_writers(self, name: str) -> WriterLease | None:
        """Keep every program from opening the file `name` for writing until the returned lease is closed.

        Returns None if that is impossible (the file belongs to another user, or the file system or the
        system has no leases). Raises `BlockingIOError` while a program has it open for writing.
        """
        if self._fd is None or not hasattr(fcntl, "F_SETLEASE"):
            return None
        fd = os.open(name, os.O_RDONLY | _NOFOLLOW | _NONBLOCK | _NOCTTY, dir_fd=self._fd)
        try:
            # The default signal of a lease ends the process; this one is ignored by default.
            fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except OSError as error:
            os.close(fd)
            if error.errno == errno.EAGAIN:
                raise
            return None
        return WriterLease(fd)

    def read(self, name: str, limit: int | None = None) -> bytes:
        """Return the content of the regular file `name`, at most its first `limit` bytes (None: all).

        Never blocks on a fifo or a device. Raises FileNotFoundError, IsADirectoryError, NotRegularFileError,
        SwappedError.
        """
        # Checked before opening, because even a non-blocking open wakes a writer that waits at the other end
        # of a fifo.
        _refuse_irregular(self.lstat(name), name)
        try:
            fd = os.open(self._at(name), _READ, dir_fd=self._fd)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise SwappedError(name) from error
            raise
        with os.fdopen(fd, "rb", buffering=0) as file:
            _refuse_irregular(os.fstat(fd), name)
            return file.read() if limit is None else _read_up_to(fd, limit)

    def beginning(self, name: str, size: int) -> tuple[os.stat_result, bytes]:
        """Return the status and the first `size` bytes of `name`, which was listed as a regular file.

        Takes one open, one stat and usually one read, because a scan does this for each file. Never blocks,
        and never follows a symlink, for which it raises OSError, as for a name that is no regular file any
        more.
        """
        if self._fd is None and stat.S_ISLNK(self.lstat(name).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        file = os.open(self._at(name), _READ, dir_fd=self._fd)
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise FileNotFoundError(errno.ENOENT, "It is no regular file any more", name)
            data = os.read(file, size)
            # Some network file systems return less than the whole file at once.
            while (
                len(data) < size and len(data) < status.st_size and (more := os.read(file, size - len(data)))
            ):
                data += more
            return status, data
        finally:
            os.close(file)

    def make(self, name: str, mode: int = 0o777) -> None:
        """Create the subdirectory `name` and sync this directory; do nothing if the name is taken.

        If a file has the name, the next call of `child` raises. `mode`: permission bits, less the umask.
        """
        try:
            os.mkdir(self._at(name), mode, dir_fd=self._fd)
        except FileExistsError:
            return
        self.sync()

    def unlink(self, name: str) -> None:
        """Remove the file or symlink `name`, never the target of a symlink. Raises `OSError`."""
        os.unlink(self._at(name), dir_fd=self._fd)

    def is_changeable(self) -> bool:
        """Return whether this process has the permissions to add and remove entries of this directory."""
        if self._fd is None or os.access not in os.supports_dir_fd:
            return os.access(self.path, os.W_OK | os.X_OK)
        return os.access(
            ".", os.W_OK | os.X_OK, dir_fd=self._fd, effective_ids=os.access in os.supports_effective_ids
        )

    def remove_empty(self, name: str) -> None:
        """Remove the empty directory `name`."""
        os.rmdir(self._at(name), dir_fd=self._fd)

    def replace(self, name: str, new_name: str) -> None:
        """Rename the file `name` in this directory to `new_name`, replacing any file of that name."""
        os.replace(self._at(name), self._at(new_name), src_dir_fd=self._fd, dst_dir_fd=self._fd)

    def rename_new(self, name: str, target: Directory, new_name: str) -> None:
        """Rename `name` to `new_name` in the directory `target`, never replacing anything.

        Raises FileExistsError if `new_name` is taken. This is a single step if the kernel offers it.
        Otherwise a file is hard-linked under its new name, which never replaces anything either. Directories,
        and files on file systems without hard links, are renamed after a check, because no portable call
        refuses to replace an empty directory that appears in between.
        """
        if self._renameat2(name, target, new_name, _RENAME_NOREPLACE):
            return
        if stat.S_ISREG(self.lstat(name).st_mode) and self._link_new(name, target, new_name):
            self.unlink(name)
            return
        try:
            target.lstat(new_name)
        except FileNotFoundError:
            os.rename(self._at(name), target._at(new_name), src_dir_fd=self._fd, dst_dir_fd=target._fd)
            return
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new_name)

    def exchange(self, name: str, other: str) -> bool:
        """Exchange the entries `name` and `other` in one step; return False if the system cannot do this.

        Raises FileNotFoundError if one of the names is missing.
        """
        return self._renameat2(name, self, other, _RENAME_EXCHANGE)

    def sync(self) -> None:
        """Sync this directory to the disk, so that changes of its entries survive a power failure."""
        if self._fd is None:
            return
        try:
            os.fsync(self._fd)
        except OSError as error:
            # Some network and user-space file systems cannot sync a directory; they make names durable on
            # their own.
            if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP):
                raise

    def _at(self, name: str) -> str:
        return str(Path(self.path, name)) if self._fd is None else name

    def _link_new(self, name: str, target: Directory, new_name: str) -> bool:
        try:
            os.link(self._at(name), target._at(new_name), src_dir_fd=self._fd, dst_dir_fd=target._fd)
        except OSError as error:
            if error.errno in _NOT_OFFERED:
                return False
            raise
        return True

    def _renameat2(self, name: str, target: Directory, new_name: str, flags: int) -> bool:
        call = _renameat2()
        if call is None or self._fd is None or target._fd is None:
            return False
        code = call(self._fd, os.fsencode(name), target._fd, os.fsencode(new_name), flags)
        if code == 0:
            return True
        if code in _NOT_OFFERED:
            return False
        raise OSError(code, os.strerror(code), name, None, new_name)


class WriterLease:
    """A lease on a file: programs that open the file for writing wait in the kernel until the lease ends.

    As a context manager it ends the lease at the end of the block.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._is_open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the lease, so that blocked writers continue; further calls do nothing."""
        if self._is_open:
            self._is_open = False
            os.close(self._fd)

    def is_awaited(self) -> bool:
        """Return whether a program waits for the end of the lease to open the file for writing."""
        return bool(fcntl.fcntl(self._fd, fcntl.F_GETLEASE) == fcntl.F_UNLCK)


def ensure_private(path: Path) -> Path:
    """Create the directory `path` and its missing parents, accessible to their owner only; return `path`.

    The new names are synced to the disk. An existing directory keeps its mode, because a person may have
    chosen it; `reverie doctor --self` reports if other users can read it. Raises Unavailable, also if the
    directory belongs to another user.
    """
    try:
        status = _made_private(path)
        if os.name == "nt":
            return path
        if status.st_uid != os.geteuid():
            raise Unavailable(
                f"The folder {path} belongs to another user.",
                cause="Reverie stores its own state only in folders that no other user can change.",
                next_step="Choose another profile with --profile, or make yourself the owner of the folder.",
            )
    except OSError as error:
        raise user_error_from_os(error, f"The folder {path} could not be created.") from error
    return path


def _made_private(path: Path) -> os.stat_result:
    try:
        status = path.stat()
    except FileNotFoundError:
        for missing in reversed([above for above in (path, *path.parents) if not above.exists()]):
            missing.mkdir(mode=0o700, exist_ok=True)
            # Content below is durable only if the names of the folders above it are.
            with contextlib.suppress(PermissionError), Directory.open(missing.parent) as parent:
                parent.sync()
        status = path.stat()
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    return status


@functools.cache
def _renameat2() -> Callable[[int, bytes, int, bytes, int], int] | None:
    """Return Linux's `renameat2` as a function that returns 0 or an errno; None if it does not exist."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes  # late: only writing needs it

    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return None
    call.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    call.restype = ctypes.c_int

    def renameat2(old_fd: int, old: bytes, new_fd: int, new: bytes, flags: int) -> int:
        return 0 if call(old_fd, old, new_fd, new, flags) == 0 else ctypes.get_errno()

    return renameat2


def _refuse_irregular(status: os.stat_result, name: str) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise SwappedError(name)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularFileError(errno.EINVAL, "It is not a regular file", name)


def _read_up_to(fd: int, limit: int) -> bytes:
    parts: list[bytes] = []
    # In portions, because each read allocates as much memory as it may return.
    while limit > 0 and (part := os.read(fd, min(limit, _PORTION))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


MOST_OPEN = 32
"""The number of directories that a `Descent` keeps open at the same time."""


class Descent:
    """The open directories on the path to one directory of a tree, to visit a tree depth first.

    The path to the last visited directory stays open, so the next directory costs a single step, however deep
    it is. No symlink is followed. Only the deepest `MOST_OPEN` directories of the path stay open, so that a
    deep tree does not use up the descriptors; to go back above them, the path is opened again from the top.
    If a directory is moved while it is open, its content is still visited, at the new place. A descent is a
    context manager, belongs to one thread and remains usable after an `OSError` or `SwappedError`.
    """

    def __init__(self, open_top: Callable[[], Directory]) -> None:
        """Store `open_top`, which opens the top directory of the tree; nothing is opened yet.

        `open_top` is called again if the top directory has been closed meanwhile.
        """
        self._open_top = open_top
        self._way: deque[tuple[str, Directory]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close_all()

    def at(self, rel: str) -> Directory:
        """Open the directory `rel` and return it; it stays open until the next call.

        `rel`: the path below the top, `/`-separated; empty for the top itself.
        """
        while self._way and not _leads_to(self._way[-1][0], rel):
            self._way.pop()[1].close()
        if not self._way:
            self._way.append(("", self._open_top()))
        here, directory = self._way[-1]
        rest = rel[len(here) :].removeprefix("/")
        for name in rest.split("/") if rest else ():
            directory = directory.child(name)
            here = f"{here}/{name}" if here else name
            self._way.append((here, directory))
            if len(self._way) > MOST_OPEN:
                self._way.popleft()[1].close()
        return directory

    def _close_all(self) -> None:
        while self._way:
            self._way.pop()[1].close()


def everything_below(open_top: Callable[[], Directory]) -> Iterator[tuple[str, Directory, os.DirEntry[str]]]:
    """Yield (path, open directory that contains it, `DirEntry`) for each entry below the top directory.

    Paths are relative to the top. Folders come before their contents, and symlinks are not followed.
    `open_top` opens the top directory; it may be called more than once.
    """
    with Descent(open_top) as descent:
        pending = [""]
        while pending:
            rel = pending.pop()
            directory = descent.at(rel)
            for item in directory.names():
                path = f"{rel}/{item.name}" if rel else item.name
                if item.is_dir(follow_symlinks=False):
                    pending.append(path)
                yield path, directory, item


def walk_paths(
    top: Path, onerror: Callable[[OSError], None] = lambda _error: None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield path, folder names and file names of each directory from `top` down, like `os.walk`.

    `onerror` gets the error of a directory that cannot be listed. Links to folders are listed as folders but
    not followed. Before Python 3.12 `os.walk` calls itself for each level and fails on a tree of a thousand
    levels.
    """
    pending = [str(top)]
    while pending:
        folder = pending.pop()
        folders: list[str] = []
        names: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    (folders if leads_to_directory(entry) else names).append(entry.name)
        except OSError as error:
            onerror(error)
            continue
        yield folder, folders, names
        below = (f"{folder.rstrip(os.sep)}{os.sep}{name}" for name in reversed(folders))
        pending += [path for path in below if not os.path.islink(path)]  # noqa: PTH114 - thousands


def remove_tree(directory: Directory, name: str) -> None:
    """Remove the directory `name` in `directory` and everything below it, following no symlink."""
    with Descent(lambda: directory.child(name)) as descent:
        pending = [("", False)]
        while pending:
            rel, is_empty = pending.pop()
            if is_empty:
                above, _, last = rel.rpartition("/")
                descent.at(above).remove_empty(last)
                continue
            if rel:
                pending.append((rel, True))
            opened = descent.at(rel)
            for item in opened.names():
                if item.is_dir(follow_symlinks=False):
                    pending.append((f"{rel}/{item.name}" if rel else item.name, False))
                else:
                    opened.unlink(item.name)
    directory.remove_empty(name)


def _leads_to(above: str, rel: str) -> bool:
    return not above or (rel.startswith(above) and rel[len(above) : len(above) + 1] in ("", "/"))


def refuse_link_upwards(path: str | Path) -> None:
    """Raise `RefusedFileError` if `path` is a symlink to a folder that contains the link itself.

    An example is a link to the root of the file system; a walk that follows such a link would never end.
    """
    if not is_link(Path(path)):
        return
    real, above = real_path(path), real_path(Path(path).parent)
    if f"{above.rstrip(os.sep)}{os.sep}".startswith(f"{real.rstrip(os.sep)}{os.sep}"):
        raise RefusedFileError(
            errno.ELOOP, "It is a symbolic link to a folder that contains the link", str(path)
        )


def differ_in_case_only(one: str, other: str) -> bool:
    """Return whether two names or paths are different, but only in case or in Unicode normalisation.

    A file system that ignores case may find the same file by both, and the history would store that file
    under several names. So callers use names as the directory lists them, and treat a change of case as a
    rename, not as a conflict of the file with itself.
    """
    return one != other and _folded(one) == _folded(other)


def listed_name(directory: Directory, name: str) -> str | None:
    """Return the name under which `directory` lists the entry `name`; None if there is no such entry.

    On a file system that ignores case, the two names may differ in case.
    """
    try:
        status = directory.lstat(name)
    except FileNotFoundError:
        return None
    names = [item.name for item in directory.names()]
    if name in names:
        return name
    for other in names:
        if differ_in_case_only(other, name) and os.path.samestat(directory.lstat(other), status):
            return other
    return name


def is_itself(directory: Directory, name: str, target: Directory, new_name: str) -> bool:
    """Return whether `new_name` in `target` finds the same entry as `name` in `directory`.

    This is so if the names differ in case only and the file system ignores case.
    """
    if not differ_in_case_only(name, new_name) or not os.path.samestat(directory.stat(), target.stat()):
        return False
    return listed_name(target, new_name) == name


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
