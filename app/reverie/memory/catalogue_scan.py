"""Scanning of memories and companions for the catalogue.

Threading: any thread but the GUI's. Failure: as `memory.listing`, and OSError if a file's state is
unknown.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from reverie.agents.never_opened import never_opened
from reverie.agents.scopes import ScopeRoot
from reverie.errors import NotRegularFileError
from reverie.files.directory import (
    Descent,
    Directory,
    Stamp,
    SwappedError,
    at_rest,
    open_regular,
    real_path,
    stamp_of,
)
from reverie.memory.listing import NO_CAPS, ScopeScanner, is_gone
from reverie.values import Struct

SEARCHED_BYTES = 4 * 1024 * 1024


class KnownVersion(NamedTuple):
    """The state of a file when it was last read.

    A named tuple takes little time and memory, and there is one for each file of a home.
    """

    stamp: Stamp
    """The size, times and inode of the file."""
    read_ns: int
    """The time of reading, in ns since the epoch; 0 if reading failed, so that the next scan tries again."""
    blob: bytes
    """Git's raw id of the content; empty if the file was not read whole."""

    def still_holds(self, stamp: Stamp) -> bool:
        """Return whether a file with this stamp certainly has the content that was read."""
        return self.stamp == stamp and at_rest(stamp, self.read_ns)


class ReadFile(Struct, frozen=True):
    """A file that a scan has read, or tried to read."""

    rel: str
    """The path below the root, or the absolute path of a companion (a file loaded beside the memories)."""
    stamp: Stamp
    """The size, times and inode of the file."""
    read_ns: int
    """The time of reading, in ns since the epoch; 0 if reading failed."""
    data: bytes
    """The content, up to a limit; empty if reading failed."""

    @property
    def is_all(self) -> bool:
        return self.stamp.size == len(self.data)

    @property
    def blob(self) -> bytes:
        """The raw git id of the content; empty if the file was not read whole."""
        if not self.is_all or not self.read_ns:
            return b""
        return hashlib.sha1(b"blob %d\0" % len(self.data) + self.data, usedforsecurity=False).digest()


class CatalogueScanner(ScopeScanner):
    """A scanner that reads the new and changed files of a root for the catalogue.

    The base class decides which files are memories, and never leaves the root. This class adds the path of
    each file that exists to `seen`. It reads a file (whole, up to a limit) only if its row in the catalogue
    is no longer valid, and calls `take` with it. `known`: the versions in the rows, by path. `dirty`: the
    paths that a watcher reported as changed; they are always read.
    """

    def __init__(
        self,
        root: ScopeRoot,
        known: Mapping[str, KnownVersion],
        take: Callable[[ReadFile], None],
        *,
        dirty: Container[str] = (),
    ) -> None:
        super().__init__(root, NO_CAPS, dirty=dirty)
        self.seen: set[str] = set()
        self._versions = known
        self._give = take

    def _take(self, directory: Directory, rel: str, entry: os.DirEntry[str], trusting: bool) -> None:
        stamp = stamp_of(entry.stat(follow_symlinks=False))
        known = self._versions.get(rel)
        if known is None or not known.still_holds(stamp) or rel in self._dirty:
            now_ns = time.time_ns()
            try:
                status, data = directory.beginning(entry.name, SEARCHED_BYTES)
            except OSError as error:
                if is_gone(error):
                    return
                # It cannot be read: its name is found, and it is tried again with every scan.
                self._give(ReadFile(rel, stamp, 0, b""))
            else:
                self._give(ReadFile(rel, stamp_of(status), now_ns, data))
        self.seen.add(rel)


def read_below(
    root: Path, rel: str, *, limit: int = SEARCHED_BYTES
) -> ReadFile | Literal["directory"] | None:
    """Return the file at `rel`, "directory" if it is a directory, or None if neither exists.

    At most `limit` bytes of the file are read. A file without read permission is returned with `read_ns` 0
    and without data. Follows no symlink below `root`. Raises OSError if it cannot be determined what is at
    `rel`.
    """
    folder, _slash, name = rel.rpartition("/")
    try:
        with Descent(lambda: Directory.open(root)) as descent:
            directory = descent.at(folder)
            status = directory.lstat(name)
            if stat.S_ISDIR(status.st_mode):
                return "directory"
            if not stat.S_ISREG(status.st_mode):
                return None
            now_ns = time.time_ns()
            try:
                return ReadFile(rel, stamp_of(status), now_ns, directory.read(name, limit))
            except PermissionError:
                return ReadFile(rel, stamp_of(status), 0, b"")
    except (FileNotFoundError, NotADirectoryError, SwappedError, NotRegularFileError):
        return None


def read_companion(path: Path, limit: int = SEARCHED_BYTES) -> ReadFile | None:
    """Return the first `limit` bytes of the companion at `path`, read through symlinks as its agent does.

    A companion is a file that an agent loads beside its memories. Returns None if it is missing, is not a
    regular file, or must never be opened (`never_opened`). Without read permission, the result has `read_ns`
    0 and no data. Raises OSError for any other failure.
    """
    real = Path(real_path(path))
    if never_opened(path, real):
        return None
    now_ns, flags = time.time_ns(), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)
    try:
        with os.fdopen(open_regular(real, flags), "rb") as file:
            return ReadFile(str(path), stamp_of(os.fstat(file.fileno())), now_ns, file.read(limit))
    except PermissionError:
        return ReadFile(str(path), stamp_of(real.stat()), 0, b"")
    except (NotRegularFileError, IsADirectoryError):
        return None
    except OSError as error:
        if is_gone(error):
            return None
        raise
