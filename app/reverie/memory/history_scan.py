"""Reading a memory root into the history: which files are there, and the bytes of those that changed.

What counts as a file is the rule of `files.rooted.walk`: regular files in real directories, no symlinks, no
names that begin with a dot. Directories are held open while they are read (`files.directory`), so a symlink
swapped in meanwhile leads nowhere. A file is looked at before and after it is read, and read again if it
changed in between.

A name that was listed and then could not be read, for whatever reason, is not taken for deleted: it goes to
`unreadable` and the caller keeps its last version. A name that is not listed is gone.

Threading: as `memory.history`, under the commit lock. Failure: what one file or directory does not give is
told in `unreadable`; nothing is raised for it.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from reverie.errors import MendableError
from reverie.files.descent import Descent
from reverie.files.directory import Directory, SwappedError
from reverie.files.regular import open_regular
from reverie.files.rooted import RootedDirectory
from reverie.memory.history_stat import Remembered, stamp_of

# Larger files are kept by hash only: a memory is text, and the history must not fill the disk.
LARGEST_BYTES = 64 * 1024 * 1024
# Of files that take seconds to read only the ends are hashed; their time tells the rest.
LARGEST_HASHED_BYTES = 1024 * 1024 * 1024
_END_BYTES = 1024 * 1024
_READ_ATTEMPTS = 3


class Found(NamedTuple):
    """A file as it is now: permission bits, raw id of the stored blob, what the stat cache shall remember
    (None: nothing), and whether the blob only stands for a file that is too large to keep."""

    mode: int
    blob: bytes
    remembered: Remembered | None
    omitted: bool = False


@dataclass(slots=True)
class Scan:
    """What was found, by path relative to the root. `unreadable` gives the reason for each path; a directory
    there stands for all below it, "" for the whole root."""

    files: dict[str, Found] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)


class Scanner:
    """Reads one root. `put` stores bytes and returns their raw id, `has` tells whether an id is stored;
    `without` leaves out what is of other roots (see `homes.scopes.ScopeRoot`)."""

    def __init__(
        self,
        root: Path,
        *,
        remembered: Callable[[str], Mapping[str, Remembered]],
        put: Callable[[bytes], bytes],
        has: Callable[[bytes], bool],
        now_ns: int,
        without: str = "",
    ) -> None:
        self.found = Scan()
        self._root = root
        self._recall = remembered
        self._remembered: Mapping[str, Remembered] = {}
        self._put = put
        self._has = has
        self._now_ns = now_ns
        self._without = without

    def scan(self, rel: str = "") -> str:
        """Read what lies at `rel` and below ("" for the root) and return the path that was really looked at.

        That is `rel`, or the nearest path above it that is not a directory (any more): a change below it is a
        change of that.
        """
        segments = rel.split("/") if rel else []
        try:
            directory = Directory.open(self._root)
        except (FileNotFoundError, NotADirectoryError):
            return ""
        except OSError as error:
            self.found.unreadable[""] = _reason(error)
            return ""
        for at, segment in enumerate(segments):
            with directory:
                here = "/".join(segments[: at + 1])
                try:
                    status = directory.lstat(segment)
                    if at < len(segments) - 1 and stat.S_ISDIR(status.st_mode):
                        directory = directory.child(segment)
                        continue
                except (FileNotFoundError, SwappedError):
                    return here
                except OSError as error:
                    self.found.unreadable[here] = _reason(error)
                    return here
                self._remembered = self._recall(here)
                if stat.S_ISREG(status.st_mode):
                    self._take(directory, segment, here, status)
                elif stat.S_ISDIR(status.st_mode):
                    self._scan_directories(here)
                return here
        directory.close()
        self._remembered = self._recall("")
        self._scan_directories("")
        return ""

    def take_listed(self, rels: Sequence[str]) -> None:
        """Read exactly these files; one that is missing is gone. They may be symlinks that stay in the root.

        For a handful of companions: they are read each time, without the stat cache.
        """
        rooted = RootedDirectory(self._root)
        for rel in rels:
            try:
                entry = rooted.entry(rel)
                if entry is None or entry.kind != "file":
                    continue
                if entry.size > LARGEST_BYTES:
                    self.found.unreadable[rel] = "it is larger than 64 MiB"
                    continue
                content = rooted.read(rel, limit=LARGEST_BYTES)
            except MendableError as error:
                self.found.unreadable[rel] = (error.cause or error.title).rstrip(".")
                continue
            self.found.files[rel] = Found(stat.S_IMODE(entry.mode), self._put(content), None)

    def _scan_directories(self, rel: str) -> None:
        stack = [rel]
        with Descent(lambda: Directory.open(self._root)) as descent:
            while stack:
                at = stack.pop()
                try:
                    directory = descent.at(at)
                    for entry in directory.names():
                        if entry.name.startswith("."):
                            continue
                        child = f"{at}/{entry.name}" if at else entry.name
                        if self._without and re.fullmatch(self._without, child):
                            continue
                        self._take_entry(directory, entry, child, stack)
                except (OSError, SwappedError) as error:
                    self.found.unreadable[at] = _reason(error)

    def _take_entry(
        self, directory: Directory, entry: os.DirEntry[str], rel: str, directories: list[str]
    ) -> None:
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError as error:
            self.found.unreadable[rel] = _reason(error)
            return
        if stat.S_ISDIR(status.st_mode):
            directories.append(rel)
        elif stat.S_ISREG(status.st_mode):
            self._take(directory, entry.name, rel, status)

    def _take(self, directory: Directory, name: str, rel: str, status: os.stat_result) -> None:
        stamp = stamp_of(status)
        row = self._remembered.get(rel)
        if row is not None and row.still_holds(stamp) and self._has(row.blob):
            omitted = stamp.size > LARGEST_BYTES
            self.found.files[rel] = Found(stat.S_IMODE(status.st_mode), row.blob, row, omitted)
            return
        try:
            content, read_status, stable = _read(directory, name)
        except (OSError, SwappedError) as error:
            self.found.unreadable[rel] = _reason(error)
            return
        stamp = stamp_of(read_status)
        blob = self._put(content)
        remembered = Remembered(stamp, self._now_ns, blob) if stable else None
        omitted = stamp.size > LARGEST_BYTES
        self.found.files[rel] = Found(stat.S_IMODE(read_status.st_mode), blob, remembered, omitted)


def _read(directory: Directory, name: str) -> tuple[bytes, os.stat_result, bool]:
    """The bytes of a file, its status before it was read, and whether it held still meanwhile."""
    for _ in range(_READ_ATTEMPTS):
        before = directory.lstat(name)
        if before.st_size > LARGEST_BYTES:
            content, size = _stand_in(Path(directory.path, name), before.st_size), before.st_size
        else:
            content = directory.read(name, limit=before.st_size + 1)
            size = len(content)
        if size == before.st_size and stamp_of(directory.lstat(name)) == stamp_of(before):
            return content, before, True
    # It never holds still: what is there now is kept, and read again next time.
    return directory.read(name, limit=LARGEST_BYTES), before, False


def _stand_in(path: Path, size: int) -> bytes:
    """What the history keeps of a file that is too large: its size and hash; of a huge one the hash of its
    ends, and its time, so that every change shows. Raises OSError, NotRegularFileError."""
    with os.fdopen(open_regular(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
        if size > LARGEST_HASHED_BYTES:
            changed_ns = os.fstat(file.fileno()).st_mtime_ns
            digest = hashlib.sha256(file.read(_END_BYTES))
            file.seek(-_END_BYTES, os.SEEK_END)
            digest.update(file.read(_END_BYTES))
            hashed = f"{digest.hexdigest()} of its first and last MiB, changed at {changed_ns} ns"
        else:
            hashed = hashlib.file_digest(file, "sha256").hexdigest()
    return f"Kept by hash only: {size} bytes, sha256 {hashed}\n".encode()


def _reason(error: OSError | SwappedError) -> str:
    if isinstance(error, FileNotFoundError):
        return "it vanished while it was being read"
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    return "it was replaced by a symlink while it was being read"
