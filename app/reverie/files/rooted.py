"""Access to everything below one root directory and nothing outside it, even while symlinks are swapped.

A relative path is walked from the opened root, one directory descriptor at a time, without following any
symlink. If one is found, the path is resolved, refused (`EscapesRoot`) unless its real path lies inside the
real root, and the resolved names are walked in the same way; a symlink that is swapped in meanwhile is found
again, not followed, and the path is resolved once more. So a symlink is followed only while it leads to a
path inside the root, and nothing outside is ever opened. Without directory descriptors (Windows, see
`files.directory`) only the check beforehand remains, which is weaker.

`rel` is `/`-separated, `""` is the root itself; absolute paths and empty, `.` and `..` segments are refused.
Removing and renaming act on the last name itself, even if it is a symlink; everything else acts on the
target, and a dangling symlink that leads inside counts as a missing file. Missing files are distinguished
from unreachable ones; reading creates nothing. Writes are those of `files.atomic`, with the same checkpoints;
removing a directory has the checkpoint "hide" (the directory is no longer listed but not yet deleted).

Holds no open file between calls, so one object may be used from any thread. Errors are `UserError`s, with the
reasons "missing", "directory", "special" (neither file nor directory), "name", "escape", "conflict",
"write-protected" and "unavailable".
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, TypeVar

from reverie.errors import (
    Conflict,
    NotRegularFileError,
    StoreError,
    Unavailable,
    UserError,
    user_error_from_os,
)
from reverie.files.atomic import (
    ATTEMPTS,
    Check,
    LeftBehindError,
    checkpoint,
    create_file,
    file_error,
    held_name,
    is_temporary,
    refuse_write_protected,
    replace_file,
    shown,
    sweep_opened,
    sync_changed,
    temporary_name,
)
from reverie.files.directory import (
    SUPPORTS_DIR_FD,
    Descent,
    Directory,
    SwappedError,
    everything_below,
    has_too_many_links,
    is_directory,
    is_itself,
    is_there,
    listed_name,
    real_path,
    refuse_link_upwards,
    remove_tree,
)
from reverie.values import Struct, field

# On Windows also its own separator and the colon of a drive or an alternate stream.
_NOT_IN_NAMES = "\0" if os.sep == "/" else "\0\\:"


class EscapesRoot(StoreError):
    """Raised for a path whose real location is outside the root; nothing was read or changed."""

    reason = "escape"


def names_in(rel: str, done: str) -> list[str]:
    """Return the names in `rel`, a relative path with `/` between the names; empty for "".

    `done`: the past participle of the operation for error messages, such as "read". Raises EscapesRoot for
    `..`, and StoreError for a name that no file system can store.
    """
    if not rel:
        return []
    parts = rel.split("/")
    if ".." in parts:
        raise EscapesRoot(
            f"“{shown(rel)}” is outside its folder.",
            cause="The path contains “..”.",
            next_step="Use a path without “..”.",
        )
    if any(part in ("", ".") for part in parts) or any(mark in rel for mark in _NOT_IN_NAMES):
        raise _bad_name(rel, done, "The path is not a relative path of plain names.")
    if not _is_name(rel):
        raise _bad_name(rel, done, "The path contains half of a surrogate pair.")
    return parts


def _is_name(path: str) -> bool:
    """Return whether a file system could have an entry with this path."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def resolve(root: str, rel: str, parts: list[str], *, follow: bool) -> list[str]:
    """Return the path from `root` to the file `rel`, with symlinks resolved, as a list of names.

    `root`: a real path. `parts`: the names in `rel`. `follow`: whether to resolve the last name too. Raises
    EscapesRoot if the resolved path lies outside `root`, or if its symlinks cannot be followed.
    """
    followed, last = (parts, []) if follow else (parts[:-1], parts[-1:])
    real = str(Path(real_path(Path(root, *followed)), *last))
    inside = root.rstrip(os.sep) + os.sep
    if os.path.normcase(real) == os.path.normcase(root):
        return []
    if not os.path.normcase(real).startswith(os.path.normcase(inside)):
        raise EscapesRoot(
            f"“{shown(rel)}” is outside its folder.",
            cause="A symbolic link in the path points to a place outside the folder.",
            next_step="Open the file at its real place.",
        )
    if has_too_many_links(Path(root, *followed)):
        raise EscapesRoot(
            f"“{shown(rel)}” cannot be reached.",
            cause="Its symbolic links form a loop, or there are more than the system follows.",
            next_step="Check the symbolic links in that folder.",
        )
    return list(Path(real[len(inside) :]).parts)


@contextlib.contextmanager
def opened_below(
    root: str, parts: list[str], *, create: bool = False, mode: int = 0o777
) -> Iterator[Directory]:
    """Context manager: open a directory below `root`, following no symlink, and yield it.

    `parts`: the names on the path from `root` to the directory. `create`: create missing directories,
    including the root, with the permission bits `mode` less the umask, and remove them again if the block
    fails. Raises OSError and SwappedError.
    """
    start, names = _existing(root, parts) if create else (root, parts)
    directory, made = Directory.open(start), None
    with contextlib.ExitStack() as opened:
        opened.callback(lambda: directory.close())
        for at, name in enumerate(names):
            try:
                child = directory.child(name)
            except FileNotFoundError:
                if not create:
                    raise
                made = opened.enter_context(_made_below(directory, names[at:], mode))
                break
            directory.close()  # a deep path must not use up the descriptors
            directory = child
        yield directory if made is None else made


def _existing(root: str, parts: list[str]) -> tuple[str, list[str]]:
    """Return the deepest existing directory at or above `root`, and the names on the path from it to a place.

    `parts`: the names on the path from `root` to that place. If `root` exists, the result is `root` and
    `parts`; otherwise the names of the missing directories, the last of which is `root`, come before `parts`.
    """
    path = Path(root)
    while not is_there(path) and path != path.parent:
        parts = [path.name, *parts]
        path = path.parent
    return str(path), parts


@contextlib.contextmanager
def _made_below(directory: Directory, names: list[str], mode: int) -> Iterator[Directory]:
    """Context manager: create directories, each inside the previous one, and yield the innermost, opened.

    `names`: their names; the first is created in `directory`. `mode`: permission bits, less the umask. If the
    block fails, the created directories that are still empty are removed again.
    """
    made: list[str] = []
    with contextlib.ExitStack() as opened:
        last = opened.enter_context(directory.reopen())
        try:
            for name in names:
                made.append(name)  # before `make`, which may fail after creating it
                last.make(name, mode)
                child = last.child(name)
                last.close()  # a deep path must not use up the descriptors
                last = opened.enter_context(child)
            yield last
        except BaseException:
            _remove_made(directory, made)
            raise


def _remove_made(directory: Directory, made: list[str]) -> None:
    with Descent(lambda: directory.reopen()) as descent:
        for depth in range(len(made) - 1, -1, -1):
            with contextlib.suppress(OSError, SwappedError):  # somebody else has put something there
                descent.at("/".join(made[:depth])).remove_empty(made[depth])


def _bad_name(rel: str, done: str, cause: str) -> StoreError:
    return StoreError(
        f"“{shown(rel)}” could not be {done}.", cause=cause, next_step="Choose another name.", reason="name"
    )


InspectEntry = Callable[[Directory, str], None]
"""A function that gets a directory and, in it, the hidden name of an entry that is to be removed.

It may raise to prevent the removal.
"""


def remove_entry(directory: Directory, name: str, inspect: InspectEntry | None) -> None:
    """Remove the file, symlink or folder (with its content) `name`, and sync the change to the disk.

    `inspect` gets the directory and a hidden name to which a file or folder has been renamed, so that no
    other program can find it and write to it; it may raise to restore the entry. It is not called for a
    symlink. If it is None, a file is removed without renaming, and a folder is still renamed first, so that
    it vanishes at once.

    If this process may delete only a part of a folder, the whole folder is restored before anything in it is
    deleted, and PermissionError is raised. If the deletion fails later, the entry is renamed back and the
    error is raised, unless `inspect` was given and a part of the folder has already been deleted: then the
    folder counts as removed, the remaining content keeps the hidden name until the next sweep, and
    `LeftBehindError` is raised.

    A kill before the end of the inspection leaves an entry with a `held_name`, which the sweep of
    `files.atomic` renames back; a later kill leaves an entry with a `temporary_name`, which the sweep
    deletes. The checkpoint "hide" is in between. Known limit: if another program creates the file again
    during the inspection, a restore does not overwrite it with the older version, which keeps its hidden
    name.
    """
    mode = directory.lstat(name).st_mode
    if stat.S_ISLNK(mode) or (inspect is None and not stat.S_ISDIR(mode)):
        directory.unlink(name)
        sync_changed(directory)
        return
    at, hidden = held_name(name), temporary_name(name)
    directory.rename_new(name, directory, at)
    try:
        if inspect is not None:
            inspect(directory, at)
        count = _refuse_undeletable(directory, at) if stat.S_ISDIR(mode) else 0
        directory.rename_new(at, directory, hidden)
        at = hidden
        directory.sync()
    except BaseException:
        _give_back(directory, at, directory, name)
        with contextlib.suppress(OSError):  # the error that led here matters more
            directory.sync()
        raise
    checkpoint("hide")
    try:
        _delete(directory, hidden)
    except OSError as error:
        if inspect is not None and count and not _is_whole(directory, hidden, count):
            raise LeftBehindError(error.errno, error.strerror, error.filename) from error
        _give_back(directory, hidden, directory, name)
        with contextlib.suppress(OSError):
            directory.sync()
        raise


def _is_whole(directory: Directory, name: str, count: int) -> bool:
    try:
        return _refuse_undeletable(directory, name) == count
    except OSError:
        return False


def _refuse_undeletable(directory: Directory, name: str) -> int:
    """Raise `PermissionError` if this process may not delete everything below the folder `name`.

    Returns the number of entries below the folder.
    """
    count, checked = 0, None
    for _rel, opened, _item in everything_below(lambda: directory.child(name)):
        count += 1
        if opened is not checked and not opened.is_changeable():
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), opened.path)
        checked = opened
    return count


def _give_back(source: Directory, name: str, target: Directory, new_name: str) -> None:
    """Move the entry `name` in `source` back to `new_name` in `target`.

    If another program has created a folder called `new_name` since, the entries that it lacks are moved into
    it.
    """
    with contextlib.suppress(FileExistsError):
        source.rename_new(name, target, new_name)
        return
    status = source.lstat(name), target.lstat(new_name)
    if all(stat.S_ISDIR(each.st_mode) for each in status):
        with source.child(name) as old, target.child(new_name) as new:
            for item in old.names():
                _give_back(old, item.name, new, item.name)
        with contextlib.suppress(OSError):  # entries that the new folder has as well stay hidden here
            source.remove_empty(name)


def _delete(directory: Directory, name: str) -> None:
    if stat.S_ISDIR(directory.lstat(name).st_mode):
        remove_tree(directory, name)
    else:
        directory.unlink(name)


_T = TypeVar("_T")


class DirectoryEntry(Struct, frozen=True):
    """One entry below the root: its path `rel`, size in bytes, modification time, inode and permission bits.

    `mtime_ns`: ns since the epoch.
    """

    rel: str
    kind: Literal["file", "directory", "other"]
    size: int
    mtime_ns: int
    inode: int
    mode: int


class Walk(Struct, frozen=True):
    """The result of `RootedDirectory.walk`: entries, and a sentence for each unreadable directory."""

    entries: list[DirectoryEntry] = field(default_factory=list)
    """The entries, ordered by the UTF-16 code units of `rel`."""
    problems: list[str] = field(default_factory=list)
    """A sentence for each directory that could not be read."""


RemovalCheck = Callable[[list[DirectoryEntry], bytes | None], None]
"""A function that is called with the entries to be removed, as `walk` lists them.

The second argument is the content if a single file is to be removed, None for a folder.
"""


class RootedDirectory:
    """Access to the files below `root`, and to nothing outside it; `root` may be missing or a symlink.

    Methods take the path of an entry relative to `root` (`/`-separated, "" for `root` itself) and raise
    `UserError`.
    """

    def __init__(
        self, root: Path, *, without: str = "", private: bool = False, even_protected: bool = False
    ) -> None:
        """Create access to the files below `root`; the disk is not read yet.

        `without`: a regular expression; walks and sweeps leave out paths that it matches in full. `private`:
        give new files and folders permissions for their owner only. `even_protected`: also write files that
        are write-protected (see `files.atomic.is_write_protected`).
        """
        self.root = root
        self._is_possible = _is_name(str(root))
        self._private = private
        self._even_protected = even_protected
        self._leaves_out = re.compile(without).fullmatch if without else lambda _name: None

    def exists(self) -> bool:
        """Return whether the root is an existing directory.

        Raises Unavailable when that cannot be determined.
        """
        return self._identity() is not None

    def entry(self, rel: str) -> DirectoryEntry | None:
        """Return the file or folder at the path `rel`, following symlinks; None if there is none."""

        def entry_at(directory: Directory, name: str) -> DirectoryEntry:
            status = directory.lstat(name) if name else directory.stat()
            if stat.S_ISLNK(status.st_mode):
                raise SwappedError(name)
            return _entry(rel, status)

        try:
            return self._at(rel, "reached", entry_at)
        except StoreError as error:
            if error.reason == "missing":
                return None
            raise

    def read(self, rel: str, *, limit: int | None = None) -> bytes:
        """Return the content of the regular file `rel`, at most its first `limit` bytes (None: all).

        Never blocks on a fifo or a device.
        """

        def read(directory: Directory, name: str) -> bytes:
            if not name:
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            return directory.read(name, limit)

        return self._at(rel, "read", read)

    def write(
        self,
        rel: str,
        data: bytes,
        *,
        before_replace: Check | None = None,
        create_only: bool = False,
        mode: int | None = None,
    ) -> None:
        """Replace the content of the file `rel` with `data`, in one step and synced to the disk.

        A missing file and missing parent folders are created. `before_replace` gets the current bytes (None:
        no such file) at the last moment and may raise to prevent the change; it is called again if the file
        changed after the call. `create_only`: replace nothing, but raise Conflict if the name is taken.
        `mode`: permission bits; None keeps those of an existing file.
        """

        given = mode

        def write(directory: Directory, name: str) -> None:
            if not name:
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            mode = self._mode_of_new(directory, name) if given is None else given
            if create_only:
                with contextlib.suppress(FileNotFoundError):
                    directory.refuse_symlink(name)
                create_file(directory, name, data, mode=mode, check=before_replace)
                return
            with contextlib.suppress(FileNotFoundError):
                status = directory.lstat(name)
                _refuse_irregular(status, name)
                if not self._even_protected:
                    refuse_write_protected(rel, status.st_mode, "written")
            replace_file(directory, name, data, mode=mode, check=before_replace)

        self._at(rel, "written", write, create=True)

    def _mode_of_new(self, directory: Directory, name: str) -> int | None:
        """Return the permission bits for writing `name`: 0600 if files are private and it is new, else None.

        None keeps the bits of an existing file, and gives a new file those that the umask leaves.
        """
        if self._private:
            try:
                directory.lstat(name)
            except FileNotFoundError:
                return 0o600
        return None

    def remove(self, rel: str, *, check: RemovalCheck | None = None) -> None:
        """Remove the file, symlink (not its target) or folder with its content at the path `rel`.

        A folder vanishes at once; if it cannot be deleted completely, it is restored and the error is raised
        (for the exception to this see `remove_entry`). `check` gets the entries to be removed, and the
        content if it is a single file (else None); it may raise to restore them.
        """

        def inspect(directory: Directory, hidden: str) -> None:
            if check is not None:
                check(*self._taken(directory, hidden, rel))

        def remove(directory: Directory, name: str) -> None:
            if not name:
                raise _refused_root(self.root, "removed")
            remove_entry(directory, name, None if check is None else inspect)

        self._at(rel, "removed", remove, follow=False)

    def remove_bare_folder(self, rel: str) -> None:
        """Remove the folder `rel` if there is no file in it or in its subfolders, not even a hidden one.

        Does nothing if there is no such folder. Temporary files of killed writes do not count and are removed
        as well. Raises `StoreError` (reason "directory") if the folder contains any other file.
        """

        def remove(directory: Directory, name: str) -> None:
            if not name or not stat.S_ISDIR(directory.lstat(name).st_mode):
                return
            folders = []
            for below, _opened, item in everything_below(lambda: directory.child(name)):
                if item.is_dir(follow_symlinks=False):
                    folders.append(below)
                elif not is_temporary(item.name):
                    raise _holds_something(rel)
            try:
                with Descent(lambda: directory.child(name)) as descent:
                    for folder in ("", *folders):
                        opened = descent.at(folder)
                        sweep_opened(opened, opened.names(), older_than_s=-math.inf)
                    for folder in reversed(folders):  # those in a folder come behind it
                        above, _slash, last = folder.rpartition("/")
                        descent.at(above).remove_empty(last)
                directory.remove_empty(name)
            except OSError as error:
                if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                    raise _holds_something(rel) from error
                raise
            sync_changed(directory)

        try:
            self._at(rel, "removed", remove, follow=False)
        except StoreError as error:
            if error.reason != "missing":
                raise

    def rename(self, rel: str, new_rel: str) -> None:
        """Move the file, symlink or directory `rel` to `new_rel`; create missing parents.

        Raises Conflict if `new_rel` exists.
        """

        if new_rel == rel or new_rel.startswith(rel + "/"):
            raise StoreError(
                f"“{shown(rel)}” could not be renamed.",
                cause="The new path is the same as the old one, or inside it.",
                next_step="Choose another path.",
                reason="name",
            )

        def move_from(directory: Directory, name: str) -> None:
            if not name:
                raise _refused_root(self.root, "renamed")
            directory.lstat(name)  # a missing source must not create the parents of its target

            def move_to(target: Directory, new_name: str) -> None:
                if not new_name:
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
                if is_itself(directory, name, target, new_name):
                    _respell(directory, name, new_name)
                else:
                    directory.rename_new(name, target, new_name)
                sync_changed(target)
                sync_changed(directory)

            self._at(new_rel, "created", move_to, create=True, follow=False)

        self._at(rel, "renamed", move_from, follow=False)

    def listed(self, rel: str) -> str:
        """Return `rel` with each name spelled as its directory lists it, on a file system that ignores case.

        On any other file system, and from the first missing name on, `rel` is unchanged.
        """
        try:
            return self._listed(rel)
        except UserError:
            return rel  # the use of the path will raise the same error

    def _listed(self, rel: str) -> str:
        there, found = rel, None
        while there and (found := self.entry(there)) is None:
            there = there.rpartition("/")[0]
        other = there.swapcase()
        if found is None or other == there:
            return rel
        same = self.entry(other)
        if same is None or same.inode != found.inode:
            return rel  # the file system distinguishes upper and lower case
        names: list[str] = []
        for name in rel.split("/"):
            try:
                listed = self._at("/".join((*names, name)), "found", listed_name, follow=False)
            except StoreError:
                listed = None
            names.append(listed or name)
        return "/".join(names)

    def walk(self, *, files_limit: int | None = None) -> Walk:
        """Return the directories and regular files below the root, except hidden and left-out ones.

        Hidden means that a name in the path starts with a dot; `without` of the constructor tells what to
        leave out. Symlinks are not returned either. The walk goes depth first, with names in UTF-16 order,
        and stops after `files_limit` files (None: no limit), so that a limited walk finds the same files
        everywhere. The result is empty for a missing root. Raises Unavailable if the root is unreadable or
        vanishes meanwhile; an unreadable directory below the root is reported in `problems` of the result.
        """
        before = self._identity()
        walk = Walk()
        if before is None:
            return walk
        try:
            refuse_link_upwards(self.root)
        except OSError as error:
            raise file_error(error, str(self.root), "listed") from error
        root = real_path(self.root)
        files = 0
        with Descent(lambda: Directory.open(root)) as descent:
            pending = self._children(descent, "", walk.problems)
            while pending and (files_limit is None or files < files_limit):
                entry = pending.pop()
                walk.entries.append(entry)
                if entry.kind == "file":
                    files += 1
                else:
                    pending.extend(self._children(descent, entry.rel, walk.problems))
        if self._identity() != before:
            raise Unavailable(
                f"The folder {shown(str(self.root))} became unavailable while Reverie was listing it.",
                cause="It was removed, replaced or unmounted.",
                next_step="Refresh when the folder is available again.",
            )
        walk.entries.sort(key=lambda entry: _utf16(entry.rel))
        return walk

    def sweep(self, *, older_than_s: float) -> int:
        """Remove the temporary files of killed processes in the folders below the root; return their number.

        Only files older than `older_than_s` seconds are removed; see `files.atomic.sweep_temporaries`.
        Folders that are hidden, that `without` matches, or that this process may not change are left out.
        """
        try:
            refuse_link_upwards(self.root)
        except OSError as error:
            raise file_error(error, str(self.root), "swept") from error
        root = real_path(self.root)
        swept = 0
        pending = [""]
        with Descent(lambda: Directory.open(root)) as descent:
            while pending:
                rel = pending.pop()
                try:
                    with contextlib.suppress(
                        SwappedError, FileNotFoundError, NotADirectoryError, PermissionError
                    ):
                        directory = descent.at(rel)
                        names = directory.names()
                        folders = (item.name for item in names if _is_folder(item))
                        below = (f"{rel}/{folder}" if rel else folder for folder in folders)
                        pending += [child for child in below if not self._leaves_out(child)]
                        swept += sweep_opened(directory, names, older_than_s=older_than_s)
                except OSError as error:
                    raise file_error(error, rel, "swept") from error
        return swept

    def _taken(
        self, directory: Directory, hidden: str, rel: str
    ) -> tuple[list[DirectoryEntry], bytes | None]:
        status = directory.lstat(hidden)
        if not stat.S_ISDIR(status.st_mode):
            return [_entry(rel, status)], directory.read(hidden)
        taken = _all_below(directory, hidden, rel)
        taken.sort(key=lambda entry: _utf16(entry.rel))
        return [entry for entry in taken if not self._leaves_out(entry.rel)], None

    def _identity(self) -> tuple[int, int] | None:
        if not self._is_possible:
            return None
        try:
            status = self.root.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise user_error_from_os(
                error, f"The folder {shown(str(self.root))} could not be reached."
            ) from error
        return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None

    def _children(self, descent: Descent, rel: str, problems: list[str]) -> list[DirectoryEntry]:
        """Return the files and directories in the directory `rel`, in reverse order of names.

        The result is empty if the directory has vanished. An error is added to `problems` as a sentence; for
        the root it is raised.
        """
        found: list[DirectoryEntry] = []
        try:
            names = descent.at(rel).names()
            for item in sorted(names, key=lambda item: _utf16(item.name), reverse=True):
                child = f"{rel}/{item.name}" if rel else item.name
                if item.name.startswith(".") or self._leaves_out(child):
                    continue
                with contextlib.suppress(FileNotFoundError):
                    entry = _entry(child, item.stat(follow_symlinks=False))
                    if entry.kind != "other":
                        found.append(entry)
        except (FileNotFoundError, NotADirectoryError, SwappedError):
            return found
        except OSError as error:
            if not rel:
                raise file_error(error, str(self.root), "listed") from error
            problems.append(str(file_error(error, rel, "listed")))
        return found

    def _at(
        self,
        rel: str,
        done: str,
        act: Callable[[Directory, str], _T],
        *,
        create: bool = False,
        follow: bool = True,
    ) -> _T:
        """Call `act` with the opened parent directory of `rel` and the last name in `rel`; return its result.

        The name is "" for the root itself. `follow`: whether to resolve a symlink at the last name too.
        `create`: create missing parent directories. Every OSError becomes a `UserError`, whose message uses
        `done`, the past participle of the operation.
        """
        parts = names_in(rel, done)
        if not self._is_possible:
            if create:
                why = "The path contains a name that no file system can store."
                raise _bad_name(rel or self.root.name, done, why)
            missing = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            raise file_error(missing, rel or self.root.name, done)
        try:
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    root, (*above, name) = self._place(rel, parts, follow=follow, resolved=attempt > 1)
                    made = 0o700 if self._private else 0o777
                    with opened_below(root, above, create=create, mode=made) as directory:
                        return act(directory, name)
                except SwappedError:
                    continue
                except FileNotFoundError:
                    # A directory just created may have been removed by another writer that failed.
                    if not create or attempt == ATTEMPTS:
                        raise
        except FileExistsError as error:
            raise Conflict(
                f"“{shown(rel)}” could not be {done}.",
                cause="A file or folder with this name already exists.",
                next_step="Choose another name, or rename the existing one first.",
            ) from error
        except NotADirectoryError as error:
            raise self._not_a_directory(error, rel or self.root.name, done, create=create) from error
        except OSError as error:
            raise file_error(error, rel or self.root.name, done) from error
        raise EscapesRoot(
            f"“{shown(rel)}” could not be {done}.",
            cause="Its symbolic links form a loop, or change while they are followed.",
            next_step="Check the symbolic links in that folder.",
        )

    def _place(self, rel: str, parts: list[str], *, follow: bool, resolved: bool) -> tuple[str, list[str]]:
        """Return the path of the root, and the names on the path from there to `rel`.

        The names are [""] for the root itself. `parts`: the names in `rel`. `resolved`: whether to resolve
        the symlinks in both; False for the first attempt, because resolving is the most expensive part of a
        small read and most paths contain no symlink. On Windows they are always resolved, because nothing
        else finds symlinks there. `follow`: if symlinks are resolved, whether to resolve the last name too.
        """
        if not resolved and SUPPORTS_DIR_FD:
            return str(self.root), parts or [""]
        root = real_path(self.root)
        return root, resolve(root, rel, parts, follow=follow) or [""]

    def _not_a_directory(self, error: OSError, rel: str, done: str, *, create: bool) -> UserError:
        title = f"“{shown(rel)}” could not be {done}."
        if create or (is_there(self.root) and not is_directory(self.root)):
            return StoreError(
                title,
                cause="There is a file where a folder is needed.",
                next_step="Choose another name, or move that file elsewhere.",
                reason="directory",
            )
        return file_error(FileNotFoundError(*error.args), rel, done)


def _respell(directory: Directory, name: str, new_name: str) -> None:
    """Rename the file `name` to `new_name`, which differs from it only in case.

    The system treats both names as the same and would change nothing, so the file is first renamed to a
    hidden name; if the process is killed then, the sweep restores the old name.
    """
    between = held_name(name)
    directory.rename_new(name, directory, between)
    try:
        directory.rename_new(between, directory, new_name)
    except BaseException:
        directory.rename_new(between, directory, name)
        raise


def _holds_something(rel: str) -> StoreError:
    return StoreError(
        f"“{shown(rel)}” could not be written.",
        cause="A folder that is not empty already exists at this path.",
        next_step="Move the folder elsewhere, then try again.",
        reason="directory",
    )


def _refused_root(root: Path, done: str) -> StoreError:
    return StoreError(
        f"The folder “{shown(root.name)}” as a whole cannot be {done}.",
        next_step="Choose a file or folder inside it.",
        reason="directory",
    )


def _refuse_irregular(status: os.stat_result, name: str) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise SwappedError(name)
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise NotRegularFileError(errno.EINVAL, "It is not a regular file", name)


def _entry(rel: str, status: os.stat_result) -> DirectoryEntry:
    kind: Literal["file", "directory", "other"] = "other"
    if stat.S_ISREG(status.st_mode):
        kind = "file"
    elif stat.S_ISDIR(status.st_mode):
        kind = "directory"
    return DirectoryEntry(
        rel, kind, status.st_size, status.st_mtime_ns, status.st_ino, stat.S_IMODE(status.st_mode)
    )


def _all_below(directory: Directory, name: str, rel: str) -> list[DirectoryEntry]:
    """Return all entries at any depth below the folder `name`, except folders; their paths start with `rel`.

    Unlike `walk`, this includes hidden entries and symlinks, but not temporary files. Raises OSError if a
    folder cannot be read, because its content must not be overlooked.
    """
    return [
        _entry(f"{rel}/{below}", item.stat(follow_symlinks=False))
        for below, _opened, item in everything_below(lambda: directory.child(name))
        if not item.is_dir(follow_symlinks=False) and not is_temporary(item.name)
    ]


def _is_folder(item: os.DirEntry[str]) -> bool:
    """Return whether `item` is a folder that a walk enters: not a symlink, and not hidden (dot in front)."""
    return not item.name.startswith(".") and item.is_dir(follow_symlinks=False)


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")
