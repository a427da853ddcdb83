"""What is at a path: does it exist, opening it as a regular file, resolving it, whether its disk responds.

The tests never raise, unlike `Path.exists` for a folder that may not be entered: in other programs' places
that counts as nothing there, so that one bad entry does not hide its neighbours. A file of Reverie's own that
cannot be examined is an error instead (`own_is_there` raises `Unavailable`), never a missing file.

Light on imports, because the window loads it first. Threading: any thread; only `DiskCheck` and `ask_each`
may be used where blocking is not allowed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from reverie.errors import NotRegularFileError, user_error_from_os


def is_there(path: Path) -> bool:
    """Whether something that can be reached is there; links are followed."""
    return os.path.exists(path)  # noqa: PTH110 - Path's raises


def is_directory(path: Path) -> bool:
    """Whether it is a directory that can be reached; unlike `Path.is_dir`, never raises."""
    return os.path.isdir(path)  # noqa: PTH112


def leads_to_directory(entry: os.DirEntry[str]) -> bool:
    """Whether a listed name is a directory or a link to one; False where that cannot be found out (a link in
    a circle, or to a place that may not be looked at)."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def is_file(path: Path) -> bool:
    """Whether it is a regular file that can be reached; unlike `Path.is_file`, never raises."""
    return os.path.isfile(path)  # noqa: PTH113


def is_irregular(path: Path) -> bool:
    """Whether something else than a regular file can be reached there; links are followed. It is one look: a
    file that goes at this moment is not there, and nothing odd."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(status.st_mode)


def is_link(path: Path) -> bool:
    """Whether it is a symlink that can be reached; unlike `Path.is_symlink`, never raises."""
    return os.path.islink(path)  # noqa: PTH114


def own_is_there(path: Path) -> bool:
    """Whether a file of our own is there. Raises `Unavailable` where that cannot be found out."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise user_error_from_os(error, f"{path} could not be looked at.") from error
    return True


# Opening and reading files. A name may lead to a pipe, a device or ten gigabytes, in a home as well as in
# Reverie's own folders: opening must not block, and reading has a limit. Raises `OSError`, which the caller
# turns into a sentence about its file.


OWN_BYTES = 1 << 28
"""The largest file of our own that is read whole."""


def open_regular(path: Path, flags: int, *, mode: int = 0o666) -> int:
    """`os.open` for a regular file; anything else there raises `OSError` and is not opened. With
    `O_NOFOLLOW` in `flags` a symlink raises, too."""
    nofollow = getattr(os, "O_NOFOLLOW", 0)
    follow = not (nofollow and flags & nofollow)
    # Looked at first: opening a device may do something, and opening a pipe wakes who waits at its other end.
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
    """The bytes of a regular file of at most `limit` bytes. Anything else raises `OSError`, also a symlink
    unless `follow`. Never blocks on a pipe."""
    flags = os.O_RDONLY if follow else os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)
    # Not every system has O_NOFOLLOW; the look before the open serves those that lack it.
    if not follow and stat.S_ISLNK(os.lstat(path).st_mode):
        raise OSError(errno.ELOOP, "it is a symbolic link", str(path))
    with os.fdopen(open_regular(path, flags), "rb") as file:
        # As much as there is, for a read takes the memory it is allowed; then what came meanwhile.
        size = os.fstat(file.fileno()).st_size
        data = file.read(min(limit, size) + 1)
        if size < len(data) <= limit:
            data += file.read(limit + 1 - len(data))
    if len(data) > limit:
        raise OSError(errno.E2BIG, f"it is larger than {limit:,} bytes", str(path))
    return data


def _require_regular(status: os.stat_result, path: Path) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is not a regular file", str(path))
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularFileError(errno.EINVAL, "it is not a regular file", str(path))


# Resolving symlinks. Before 3.13 `os.path.realpath` calls itself for each symlink of a chain, so a repository
# with a chain of a thousand links ends in a RecursionError, and `Path.resolve` raises RuntimeError for a
# loop. Since 3.13 both follow a chain of any length, even if the system does not. Use `real_path` wherever a
# symlink may come from somebody else.


def real_path(path: str | os.PathLike[str], *, strict: bool = False) -> str:
    """The absolute path without symlinks; with them if there are more than the system follows. `strict`:
    raise OSError for those, and for a missing path."""
    if not has_too_many_links(path):
        return os.path.realpath(path, strict=strict)
    if strict:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    return os.path.abspath(path)  # noqa: PTH100 - `Path.resolve` would follow them


def has_too_many_links(path: str | os.PathLike[str]) -> bool:
    """Whether the system refuses to follow the links of `path`: a circle, or more than its limit."""
    try:
        os.stat(path)  # noqa: PTH116
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


# Asking whether disks respond, without waiting for them. A disconnected share blocks its callers in the
# kernel for hours, so each check has a thread of its own, which may hang. A missing path is an answer.
# `ask_each` asks any questions that way: one that hangs delays no other, and what one raises is raised again
# when all are done.


K = TypeVar("K")
T = TypeVar("T")

MOST_AT_ONCE = 16
"""Threads that ask at the same time; one that hangs is replaced."""
MOST_LIMITS = 3
"""`ask_each` gives up after this many times its limit, however many questions are left."""


class DiskCheck:
    """Examines some paths in order, in a thread. `at` is the path whose disk has not responded yet, None once
    all have; `answered` is set then."""

    def __init__(self, places: Iterable[Path]) -> None:
        self._places = tuple(places)
        self.at: Path | None = self._places[0] if self._places else None
        self.answered = threading.Event()
        self._began = time.monotonic()
        threading.Thread(target=self._run, name="reverie-look", daemon=True).start()

    @property
    def took_s(self) -> float:
        """Seconds since the check began."""
        return time.monotonic() - self._began

    def _run(self) -> None:
        for place in self._places:
            self.at = place
            with contextlib.suppress(OSError, ValueError):
                os.stat(place)  # noqa: PTH116 - said as it is
        self.at = None
        self.answered.set()


def ask_each(questions: Mapping[K, Callable[[], T]], limit_s: float) -> dict[K, T]:
    """The answer to each question that came within `limit_s` of being asked, in the order of the questions.
    One without an answer is left out; its thread waits on and is left behind."""
    asking = _DiskProbe(questions)
    asking.wait(limit_s)
    return asking.answers()


class _DiskProbe(Generic[K, T]):
    """Questions in progress. Everything but the questions happens under the lock."""

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
        """Wait until each question is answered or took too long."""
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
            thread.join()  # they only end

    def answers(self) -> dict[K, T]:
        """The answers so far. Raises the first error of a question."""
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
            except BaseException as error:  # noqa: BLE001 - raised again where it was asked
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
