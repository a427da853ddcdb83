"""Finding what of a root's files the search index does not know yet, and reading it.

Who is a memory, and how nothing swapped in meanwhile leads out of the root, is `memory.scanning`'s business;
here a file is read whole (up to a cap), and only if its size, mtime or inode are not those that are known.

Threading: a scanner belongs to one thread and one scan. Failure: as `memory.scanning`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reverie.files.directory import Directory, NotRegularFileError, SwappedError
from reverie.memory.scanning import NO_CAPS, Handle, Scanner, is_gone, read_entry

# So much of a file is searched. What lies beyond an agent's own cap is shown to people, so it is found, too.
SEARCHED_BYTES = 4 * 1024 * 1024
# A file modified this shortly before it was read may change again without a new mtime (FAT counts in 2 s).
_RACY_NS = 2_000_000_000

Known = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Found:
    """A file that was read. `mtime_ns` is what the file says; `stamp` what to compare with next time (0: read
    it again in any case)."""

    rel: str
    size: int
    mtime_ns: int
    inode: int
    sha256: bytes
    text: str
    stamp: int


class IndexScanner(Scanner):
    """Notes in `seen` what is there, and hands what is new or changed to `take`."""

    def __init__(
        self,
        root: str,
        known: Mapping[str, Known],
        take: Callable[[Found], None],
        *,
        dirty: Container[str] = (),
        without: str = "",
    ) -> None:
        super().__init__(root, NO_CAPS, dirty=dirty, without=without)
        self.seen: set[str] = set()
        self._stamps = known
        self._give = take

    def _take(self, handle: Handle, rel: str, entry: os.DirEntry[str], trusting: bool) -> None:
        status = entry.stat(follow_symlinks=False)
        known = self._stamps.get(rel)
        if known != (status.st_size, status.st_mtime_ns, status.st_ino) or rel in self._dirty:
            try:
                status, data = read_entry(handle, entry.name, SEARCHED_BYTES)
            except OSError as error:
                if is_gone(error):
                    return
                # It cannot be read: its name is found, and it is tried again with every scan.
                self._give(found(rel, status, b"", readable=False))
            else:
                self._give(found(rel, status, data))
        self.seen.add(rel)


def read_below(root: Path, rel: str, *, limit: int = SEARCHED_BYTES) -> Found | Literal["directory"] | None:
    """What `rel` is, without following any symlink below `root`; None where no file or directory is. Raises
    OSError where it cannot be told."""
    *folders, name = rel.split("/")
    try:
        with contextlib.ExitStack() as open_:
            directory = open_.enter_context(Directory.open(root))
            for folder in folders:
                directory = open_.enter_context(directory.child(folder))
            status = directory.lstat(name)
            if stat.S_ISDIR(status.st_mode):
                return "directory"
            if not stat.S_ISREG(status.st_mode):
                return None
            try:
                return found(rel, status, directory.read(name, limit))
            except PermissionError:
                return found(rel, status, b"", readable=False)
    except (FileNotFoundError, NotADirectoryError, SwappedError, NotRegularFileError):
        return None


def found(rel: str, status: os.stat_result, data: bytes, *, readable: bool = True) -> Found:
    """What was read, as text. Bytes that are no UTF-8 stand for nothing that could be searched."""
    settled = readable and status.st_mtime_ns < time.time_ns() - _RACY_NS
    return Found(
        rel,
        status.st_size,
        status.st_mtime_ns,
        status.st_ino,
        hashlib.sha256(data).digest(),
        data.decode("utf-8", "replace"),
        status.st_mtime_ns if settled else 0,
    )
