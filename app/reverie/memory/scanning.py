"""Reading the directories of one scope: which memories there are, and what stands at their beginning.

Who is listed follows formats/mux.md section 5: no names that begin with a dot, no symlinks, nothing but
regular files and real directories. Everything is opened relative to the directory it was found in and, where
the system can, without following symlinks (else by path, after a look), so that nothing swapped in meanwhile
leads the scan out of its root. Only the root itself may be a symlink.

What vanishes while it is read is left out: it is gone. What cannot be read is kept and named in words.
`Unavailable` is raised when this process has no file descriptor left, for then what it sees means nothing.

This is the hot path of the program: per file one open, one stat, one read; no `Path` objects. A `Scanner`
belongs to one thread and one scan.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Container, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from reverie.errors import mendable_from_os
from reverie.files.directory import SUPPORTS_DIR_FD
from reverie.homes.scopes import Caps
from reverie.memory.scope_listing import MemoryFile, UsageOf, unseen_reason
from reverie.memory.usage_entries import UNUSED
from reverie.text.headings import first_heading

if TYPE_CHECKING:
    from reverie.memory.frontmatter import DescriptionState

# Deeper directories are named, not entered: each level holds a descriptor open.
MAX_DEPTH = 128
# Up to this many entries a directory is looked at as a whole when something in it changed, which also finds
# what no event told; beyond it only what events and names tell is looked at.
SMALL = 2_000

UNREADABLE = "it cannot be read"

_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FILE = (
    os.O_RDONLY
    | _NOFOLLOW
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_NO_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)
NO_CAPS = Caps(0, 0, 0, 0, 0)

# A directory held open: a descriptor, or a path where the system has no calls relative to descriptors.
Handle = int | str


class Scanner:
    """Collects `files` (unsorted), `directories` and `faults` (a sentence per directory) of one root.

    `known` are the files of an earlier scan. One that was last modified before `settled_ns`, still has its
    size, mtime and inode and is not among `dirty` is not read again. With `trusting`, files of large
    directories that are not dirty are not even looked at. `without`, `headed`: see `homes.scopes.ScopeRoot`.
    """

    def __init__(
        self,
        root: str,
        caps: Caps,
        usage_of: UsageOf = lambda rel: None,
        *,
        known: Mapping[str, MemoryFile] | None = None,
        settled_ns: int = 0,
        dirty: Container[str] = (),
        trusting: bool = False,
        without: str = "",
        headed: str = "",
    ) -> None:
        self.files: list[MemoryFile] = []
        self.directories: list[str] = []
        self.faults: dict[str, str] = {}
        self._root = root
        self._caps = caps
        self._usage_of = usage_of
        self._known: Mapping[str, MemoryFile] = {} if known is None else known
        self._settled_ns = settled_ns
        self._dirty = dirty
        self._trusting = trusting
        self._left_out = re.compile(without).fullmatch if without else None
        self._headed = re.compile(headed).fullmatch if headed else None

    @cached_property
    def _describe(self) -> Callable[[bytes, Caps], tuple[str, DescriptionState]]:
        """Imported when a file is read: names, which are shown first, need no front matter."""
        from reverie.memory.frontmatter import description

        return description

    def scan(self, rel: str = "", *, keep: Container[str] = ()) -> None:
        """Read the directory `rel` and all below it, but for directories in `keep`, which are only noted.

        Raises OSError if `rel` cannot be opened as a real directory or cannot be listed.
        """
        handle = _open_root(self._root)
        try:
            for name in rel.split("/") if rel else ():
                child = _open_folder(handle, name)
                _close(handle)
                handle = child
            self._read(handle, rel, _listed(handle), keep)
        finally:
            _close(handle)

    def _read(self, handle: Handle, rel: str, entries: list[os.DirEntry[str]], keep: Container[str]) -> None:
        prefix = f"{rel}/" if rel else ""
        trusting = self._trusting and len(entries) > SMALL
        folders: list[str] = []
        for entry in entries:
            name = entry.name
            if name.startswith(".") or (self._left_out is not None and self._left_out(prefix + name)):
                continue
            try:
                if entry.is_file(follow_symlinks=False):
                    self._take(handle, prefix + name, entry, trusting)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(name)
            except OSError as error:
                if not is_gone(error):
                    self.faults[prefix + name] = (
                        f"{prefix + name} could not be looked at: {error.strerror or error}."
                    )
        for name in folders:
            self._enter(handle, prefix + name, name, keep)

    def _enter(self, handle: Handle, rel: str, name: str, keep: Container[str]) -> None:
        if rel in keep:
            self.directories.append(rel)
            return
        if rel.count("/") >= MAX_DEPTH:
            self.directories.append(rel)
            self.faults[rel] = f"The folder {rel} lies too deep to be read."
            return
        folder: Handle | None = None
        try:
            folder = _open_folder(handle, name)
            entries = _listed(folder)
        except OSError as error:
            if not is_gone(error):
                self.directories.append(rel)
                self.faults[rel] = unreadable_folder(rel, error)
        else:
            self.directories.append(rel)
            self._read(folder, rel, entries, keep)
        finally:
            if folder is not None:
                _close(folder)

    def _take(self, handle: Handle, rel: str, entry: os.DirEntry[str], trusting: bool) -> None:
        usage = self._usage_of(rel) or UNUSED
        old = self._known.get(rel)
        if old is not None and rel not in self._dirty and (trusting or self._is_unchanged(old, entry)):
            self.files.append(old if old.usage == usage else old._replace(usage=usage))
            return
        reason = ""
        try:
            status, prefix = _beginning(handle, entry.name, self._caps.description_prefix_bytes)
        except OSError as error:
            if is_gone(error):
                raise
            status, prefix = entry.stat(follow_symlinks=False), b""
            reason = f"{UNREADABLE}: {error.strerror or error}"
        size = status.st_size
        reason = reason or unseen_reason(rel, size, self._caps)
        text, state = self._describe(prefix, self._caps)
        if not text and self._headed is not None and self._headed(rel):
            text = first_heading(prefix)[: self._caps.description_chars]
        self.files.append(
            MemoryFile(rel, size, status.st_mtime_ns, status.st_ino, text, state, usage, not reason, reason)
        )

    def _is_unchanged(self, old: MemoryFile, entry: os.DirEntry[str]) -> bool:
        if old.mtime_ns >= self._settled_ns or old.unseen_reason.startswith(UNREADABLE):
            return False
        status = entry.stat(follow_symlinks=False)
        return (status.st_mtime_ns, status.st_size, status.st_ino) == (old.mtime_ns, old.size, old.inode)


class NameScanner(Scanner):
    """Collects names only: no file is opened or looked at. Sizes, descriptions and times are empty."""

    def __init__(self, root: str, *, without: str = "") -> None:
        super().__init__(root, NO_CAPS, without=without)

    def _take(self, handle: Handle, rel: str, entry: os.DirEntry[str], trusting: bool) -> None:
        self.files.append(MemoryFile(rel, 0, 0, 0, "", "none", UNUSED, True, ""))


def _open_root(path: str) -> Handle:
    if SUPPORTS_DIR_FD:
        return os.open(path, _DIRECTORY)
    if not stat.S_ISDIR(os.stat(path).st_mode):  # noqa: PTH116 - raises as os.open does
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    return path


def _open_folder(handle: Handle, name: str) -> Handle:
    """Open the real directory `name` in `handle`; anything else, a symlink too, is an error among `_GONE`."""
    if isinstance(handle, int):
        return os.open(name, _DIRECTORY | _NOFOLLOW, dir_fd=handle)
    path = f"{handle}{os.sep}{name}"
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    return path


def _close(handle: Handle) -> None:
    if isinstance(handle, int):
        os.close(handle)


def _listed(handle: Handle) -> list[os.DirEntry[str]]:
    with os.scandir(handle) as entries:
        return list(entries)


def _beginning(handle: Handle, name: str, size: int) -> tuple[os.stat_result, bytes]:
    """Status and first bytes of a regular file; never blocks, never follows a symlink."""
    if isinstance(handle, int):
        file = os.open(name, _FILE, dir_fd=handle)
    else:
        path = f"{handle}{os.sep}{name}"
        if stat.S_ISLNK(os.lstat(path).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        file = os.open(path, _FILE)
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise FileNotFoundError(errno.ENOENT, "It is no regular file any more", name)
        data = os.read(file, size)
        # Some network file systems give less at once than there is.
        while len(data) < size and len(data) < status.st_size and (more := os.read(file, size - len(data))):
            data += more
        return status, data
    finally:
        os.close(file)


def read_entry(handle: Handle, name: str, size: int) -> tuple[os.stat_result, bytes]:
    """Status and up to `size` bytes of a regular file in an open directory. Raises OSError; see `is_gone`."""
    return _beginning(handle, name, size)


def read_rel(root: str, rel: str, size: int) -> tuple[os.stat_result, bytes]:
    """Status and up to `size` bytes of the regular file `rel`; no symlink below `root` is followed. Raises
    OSError; see `is_gone`."""
    *folders, name = rel.split("/")
    handle = _open_root(root)
    try:
        for folder in folders:
            child = _open_folder(handle, folder)
            _close(handle)
            handle = child
        return _beginning(handle, name, size)
    finally:
        _close(handle)


def is_gone(error: OSError) -> bool:
    """Whether the thing vanished, or became another kind of thing, while it was looked at.

    Raises `Unavailable` if the error is this process's own poverty.
    """
    if error.errno in _NO_DESCRIPTORS:
        raise mendable_from_os(error, "The memories could not be listed.") from error
    return error.errno in _GONE


def unreadable_folder(rel: str, error: OSError) -> str:
    """The problem of a folder that cannot be listed, as a sentence."""
    return f"The folder {rel} could not be read: {error.strerror or error}."
