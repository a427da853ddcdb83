"""Opening files by name without being blocked or flooded by what lies there.

The name of a file may lead to a pipe, a device or ten gigabytes, in a home as well as in our own folders. A
pipe would wait for its other end, a device never ends.

Threading: stateless; any thread. Failure: plain `OSError`, which the caller turns into a sentence about its
file.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from reverie.errors import NotRegularFileError

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
