"""Everything below one root directory, and nothing outside it, whoever swaps symlinks meanwhile.

A relative path is walked from the opened root, one directory descriptor at a time, without following any
symlink. Where one is met, the path is resolved, refused (`EscapesRoot`) unless its real path lies inside the
real root, and the resolved names are walked in the same way; a symlink swapped in between is met again, not
followed, and the path resolved anew. So a symlink is honoured exactly while it leads to a place inside the
root, and the containment promise does not depend on luck. Without directory descriptors (Windows, see
`files.directory`) only the check before remains, which is weaker.

`rel` is `/`-separated, `""` is the root itself; absolute paths, empty, `.` and `..` segments are refused.
Removing and renaming act on the last name itself, a symlink included; everything else acts on what it leads
to, and a dangling symlink that leads inside counts as a missing file. Missing things are told apart from
unreachable ones; nothing is created by looking. Writes are those of `files.atomic`, with the same
checkpoints; removing a directory has the checkpoint "hide" (it is gone from every listing and still to be
deleted).

Holds no open file between calls, so one object may be used from any thread. Errors are `UserError`s, with
the reasons "missing", "directory", "special" (neither file nor directory), "name", "escape", "conflict",
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

# Containment: how a relative path becomes an open directory. Names are opened one below the other, following
# no symlink (`files.directory`); one that is met raises `SwappedError`, and the caller resolves the path,
# which is refused unless its real path is inside the real root. Nothing outside the root is ever opened.
# Failure: `EscapesRoot` and `StoreError` for a refused path, `OSError` for the disk.


# On Windows also its own separator and the mark of a drive or an alternate stream.
_NOT_IN_NAMES = "\0" if os.sep == "/" else "\0\\:"


class EscapesRoot(StoreError):
    """A path whose real place is not inside the root; nothing was read or changed there."""

    reason = "escape"


def names_in(rel: str, done: str) -> list[str]:
    """The names in `rel`. Raises StoreError for what no file system holds and EscapesRoot for `..`."""
    if not rel:
        return []
    parts = rel.split("/")
    if ".." in parts:
        raise EscapesRoot(
            f"“{shown(rel)}” leads outside its folder.",
            cause="It contains “..”.",
            next_step="Name it without “..”.",
        )
    if any(part in ("", ".") for part in parts) or any(mark in rel for mark in _NOT_IN_NAMES):
        raise _bad_name(rel, done, "It is not a relative path of plain names.")
    if not _is_name(rel):
        raise _bad_name(rel, done, "It contains half of a character that needs two.")
    return parts


def _is_name(path: str) -> bool:
    """Return whether a file system could hold this path."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def resolve(root: str, rel: str, parts: list[str], *, follow: bool) -> list[str]:
    """The real path of `rel` below the real path `root`, as names. Raises EscapesRoot."""
    followed, last = (parts, []) if follow else (parts[:-1], parts[-1:])
    real = str(Path(real_path(Path(root, *followed)), *last))
    inside = root.rstrip(os.sep) + os.sep
    if os.path.normcase(real) == os.path.normcase(root):
        return []
    if not os.path.normcase(real).startswith(os.path.normcase(inside)):
        raise EscapesRoot(
            f"“{shown(rel)}” leads outside its folder.",
            cause="A symbolic link on the way points elsewhere.",
            next_step="Open the file where it really is.",
        )
    if has_too_many_links(Path(root, *followed)):
        raise EscapesRoot(
            f"“{shown(rel)}” cannot be reached.",
            cause="Its symbolic links lead in a circle, or there are more than the system follows.",
            next_step="Check the symbolic links in that folder.",
        )
    return list(Path(real[len(inside) :]).parts)


@contextlib.contextmanager
def opened_below(
    root: str, parts: list[str], *, create: bool = False, mode: int = 0o777
) -> Iterator[Directory]:
    """The directory with these names below `root`, none of them a symlink. Raises OSError and SwappedError.

    `create`: make what is missing of it, the root too, with `mode` less the umask, and take that away again
    if the block fails.
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
    """The deepest ancestor of `root` (itself included) that is there, and the names from it to `parts`."""
    path = Path(root)
    while not is_there(path) and path != path.parent:
        parts = [path.name, *parts]
        path = path.parent
    return str(path), parts


@contextlib.contextmanager
def _made_below(directory: Directory, names: list[str], mode: int) -> Iterator[Directory]:
    """Make these directories, each in the one before; the last one, open. If the block fails, those that are
    still empty are removed again.
    """
    made: list[str] = []
    with contextlib.ExitStack() as opened:
        last = opened.enter_context(directory.again())
        try:
            for name in names:
                made.append(name)  # before: it may be there although making it fails
                last.make(name, mode)
                child = last.child(name)
                last.close()  # a deep path must not use up the descriptors
                last = opened.enter_context(child)
            yield last
        except BaseException:
            _remove_made(directory, made)
            raise


def _remove_made(directory: Directory, made: list[str]) -> None:
    with Descent(lambda: directory.again()) as descent:
        for depth in range(len(made) - 1, -1, -1):
            with contextlib.suppress(OSError, SwappedError):  # somebody else has put something there
                descent.at("/".join(made[:depth])).remove_empty(made[depth])


def _bad_name(rel: str, done: str, cause: str) -> StoreError:
    return StoreError(
        f"“{shown(rel)}” could not be {done}.", cause=cause, next_step="Choose another name.", reason="name"
    )


# Removing: renamed to a hidden name, inspected, then deleted. A folder always goes this way, so that it
# vanishes at once; a file only with an `InspectEntry`, which sees what was taken, when nobody can find it to
# write to any more, and may raise to give it back. A folder that this process could delete only in part is
# given back whole before anything in it is deleted. If deleting fails all the same, a folder that is still
# whole gets its name back, and the error is raised; if an inspected one has lost something by then, it counts
# as removed, its rest keeps the hidden name until the sweep, and `LeftBehindError` says so.
#
# A kill before the inspection has ended leaves a held name, which the sweep of `files.atomic` gives its own
# name back; a kill after it leaves a temporary, which the sweep deletes. The checkpoint "hide" is in between.
# Known limit: a file that its writer created again during the inspection is not overwritten by the older one,
# which stays hidden.


InspectEntry = Callable[[Directory, str], None]
"""Gets the directory and the name under which what was taken lies in it now."""


def remove_entry(directory: Directory, name: str, look: InspectEntry | None) -> None:
    """Remove a file, a symlink (which is not looked at) or a folder with all that is in it, durably."""
    mode = directory.lstat(name).st_mode
    if stat.S_ISLNK(mode) or (look is None and not stat.S_ISDIR(mode)):
        directory.unlink(name)
        sync_changed(directory)
        return
    at, hidden = held_name(name), temporary_name(name)
    directory.rename_new(name, directory, at)
    try:
        if look is not None:
            look(directory, at)
        count = _refuse_undeletable(directory, at) if stat.S_ISDIR(mode) else 0
        directory.rename_new(at, directory, hidden)
        at = hidden
        directory.sync()
    except BaseException:
        _give_back(directory, at, directory, name)
        with contextlib.suppress(OSError):  # what led here matters more
            directory.sync()
        raise
    checkpoint("hide")
    try:
        _delete(directory, hidden)
    except OSError as error:
        if look is not None and count and not _is_whole(directory, hidden, count):
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
    """Raises `PermissionError` where a folder at or below `name` holds something and may not be changed; how
    many things are in it.
    """
    count = 0
    with Descent(lambda: directory.child(name)) as descent:
        pending = [""]
        while pending:
            rel = pending.pop()
            opened = descent.at(rel)
            found = opened.names()
            count += len(found)
            if found and not opened.is_changeable():
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), opened.path)
            folders = [item.name for item in found if item.is_dir(follow_symlinks=False)]
            pending += (f"{rel}/{folder}" if rel else folder for folder in folders)
    return count


def _give_back(source: Directory, name: str, target: Directory, new_name: str) -> None:
    """Move it to where it was; of a folder that somebody made anew meanwhile, what the new one lacks."""
    with contextlib.suppress(FileExistsError):
        source.rename_new(name, target, new_name)
        return
    status = source.lstat(name), target.lstat(new_name)
    if all(stat.S_ISDIR(each.st_mode) for each in status):
        with source.child(name) as old, target.child(new_name) as new:
            for item in old.names():
                _give_back(old, item.name, new, item.name)
        with contextlib.suppress(OSError):  # what the new folder has as well stays hidden here
            source.remove_empty(name)


def _delete(directory: Directory, name: str) -> None:
    if stat.S_ISDIR(directory.lstat(name).st_mode):
        remove_tree(directory, name)
    else:
        directory.unlink(name)


_T = TypeVar("_T")


class DirectoryEntry(Struct, frozen=True):
    """One thing below the root. Sizes in bytes, `mtime_ns` since the epoch, `mode` the permission bits."""

    rel: str
    kind: Literal["file", "directory", "other"]
    size: int
    mtime_ns: int
    inode: int
    mode: int


class Walk(Struct, frozen=True):
    """What a walk found, ordered by UTF-16 code unit of `rel`, and in words which directories it could not
    read.
    """

    entries: list[DirectoryEntry] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


RemovalCheck = Callable[[list[DirectoryEntry], bytes | None], None]
"""Gets the files that were taken, as the walk before had them, and of a single one the bytes."""


class RootedDirectory:
    """The files below `root`, which may be missing and may itself be a symlink."""

    def __init__(
        self, root: Path, *, without: str = "", private: bool = False, even_protected: bool = False
    ) -> None:
        """`without`: a walk leaves out what this regular expression matches in full, by its path. `private`:
        what is made here is for its owner only. `even_protected`: write-protected files are written, too
        (see `files.atomic`).
        """
        self.root = root
        self._is_possible = _is_name(str(root))
        self._private = private
        self._even_protected = even_protected
        self._leaves_out = re.compile(without).fullmatch if without else lambda _name: None

    def exists(self) -> bool:
        """Return whether the root is there and a directory. Raises Unavailable when that cannot be found out."""
        return self._identity() is not None

    def entry(self, rel: str) -> DirectoryEntry | None:
        """What `rel` leads to; None if there is no such thing."""

        def look(directory: Directory, name: str) -> DirectoryEntry:
            status = directory.lstat(name) if name else directory.stat()
            if stat.S_ISLNK(status.st_mode):
                raise SwappedError(name)
            return _entry(rel, status)

        try:
            return self._at(rel, "reached", look)
        except StoreError as error:
            if error.reason == "missing":
                return None
            raise

    def read(self, rel: str, *, limit: int | None = None) -> bytes:
        """The bytes of a regular file, at most `limit` of them. Never blocks on a fifo or a device."""

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
        """Give the file `rel` these bytes, atomically and durably; missing parents, the root too, are
        created.

        `before_replace` gets the current bytes (None: no such file) at the last moment and may raise to keep
        them; it is called again when the file changed after it looked. `create_only`: raises Conflict if
        there is anything of that name, in one step with the creation. `mode`: permission bits, None keeps
        those of the existing file.
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
        """Permissions for a file that is not there yet; None for those it has, or the usual ones."""
        if self._private:
            try:
                directory.lstat(name)
            except FileNotFoundError:
                return 0o600
        return None

    def remove(self, rel: str, *, check: RemovalCheck | None = None) -> None:
        """Remove a file, a symlink (not what it leads to) or a whole directory.

        A directory vanishes at once; one that cannot be deleted as a whole is given back, and the error is
        raised. `check` sees what was taken and may raise to give it back (see `files.rooted`).
        """

        def look(directory: Directory, hidden: str) -> None:
            if check is not None:
                check(*self._taken(directory, hidden, rel))

        def remove(directory: Directory, name: str) -> None:
            if not name:
                raise _refused_root("removed")
            remove_entry(directory, name, None if check is None else look)

        self._at(rel, "removed", remove, follow=False)

    def remove_bare_folder(self, rel: str) -> None:
        """Remove the folder `rel` if there is no file in it, at any depth, hidden or not; what a killed write
        left of a temporary file goes with it. Does nothing where no folder stands there. Raises `StoreError`
        (reason "directory") where the folder holds something.
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
        """Move a file, symlink or directory; missing parents are created. Never replaces: raises Conflict."""

        if new_rel == rel or new_rel.startswith(rel + "/"):
            raise StoreError(
                f"“{shown(rel)}” could not be renamed.",
                cause="Its new place is itself or inside itself.",
                next_step="Choose another place.",
                reason="name",
            )

        def move_from(directory: Directory, name: str) -> None:
            if not name:
                raise _refused_root("renamed")
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
        """`rel` with its names as the directories list them, where the file system does not tell upper case
        from lower case; unchanged from the first name on that is missing.
        """
        try:
            return self._listed(rel)
        except UserError:
            return rel  # whoever uses the path hears of it

    def _listed(self, rel: str) -> str:
        there, found = rel, None
        while there and (found := self.entry(there)) is None:
            there = there.rpartition("/")[0]
        other = there.swapcase()
        if found is None or other == there:
            return rel
        same = self.entry(other)
        if same is None or same.inode != found.inode:
            return rel  # it tells them apart
        names: list[str] = []
        for name in rel.split("/"):
            try:
                listed = self._at("/".join((*names, name)), "found", listed_name, follow=False)
            except StoreError:
                listed = None
            names.append(listed or name)
        return "/".join(names)

    def walk(self, *, files_limit: int | None = None) -> Walk:
        """All real directories and regular files whose path has no part that starts with a dot; symlinks
        never.

        Goes depth first, names in UTF-16 order, and stops after `files_limit` files, so that a cut walk finds
        the same files everywhere. A missing root has none. An unreadable root, or one that goes away
        meanwhile, raises Unavailable; an unreadable directory below it is a problem of the result.
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
                f"The folder {shown(str(self.root))} went away while it was listed.",
                cause="It was removed, replaced or unmounted.",
                next_step="Refresh once it is there again.",
            )
        walk.entries.sort(key=lambda entry: _utf16(entry.rel))
        return walk

    def sweep(self, *, older_than_s: float) -> int:
        """Remove what killed processes left anywhere below the root; see `files.atomic.sweep_temporaries`.

        A directory that this process may not change is passed over: nothing of ours can be in it.
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
        """The files and directories in the real directory `rel`, last one first; none once it is gone."""
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
        """Call `act` with the opened directory that holds `rel` and the name in it ("" for the root itself).

        `follow`: resolve a symlink at the last name too. `create`: make the directories above it. `done` is
        the participle for the words that every OSError becomes here.
        """
        parts = names_in(rel, done)
        if not self._is_possible:
            if create:
                why = "Its folder has a name that no file system can hold."
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
                    # A directory just made may have been taken away by another writer that failed.
                    if not create or attempt == ATTEMPTS:
                        raise
        except FileExistsError as error:
            raise Conflict(
                f"“{shown(rel)}” could not be {done}.",
                cause="There is something of that name already.",
                next_step="Choose another name, or look at what is there first.",
            ) from error
        except NotADirectoryError as error:
            raise self._not_a_directory(error, rel or self.root.name, done, create=create) from error
        except OSError as error:
            raise file_error(error, rel or self.root.name, done) from error
        raise EscapesRoot(
            f"“{shown(rel)}” could not be {done}.",
            cause="Its symbolic links lead in a circle, or change while they are followed.",
            next_step="Check the symbolic links in that folder.",
        )

    def _place(self, rel: str, parts: list[str], *, follow: bool, resolved: bool) -> tuple[str, list[str]]:
        """The root to open, and the names below it down to `rel` ([""] for the root itself).

        The names as given are tried first: where no symlink is met on the way, they are the real path
        already, and resolving is the dearest part of a small read. Windows knows links that are met by
        resolving only.
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
                cause="A file stands where a folder is needed.",
                next_step="Choose another name, or move that file away.",
                reason="directory",
            )
        return file_error(FileNotFoundError(*error.args), rel, done)


def _respell(directory: Directory, name: str, new_name: str) -> None:
    """Give a file its name in another case. The system takes both for one and would leave it as it is; so it
    has a hidden name in between, and the sweep gives it its old name back after a kill.
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
        cause="A folder stands in its place, and something is in it.",
        next_step="Move that folder away, then try again.",
        reason="directory",
    )


def _refused_root(done: str) -> StoreError:
    return StoreError(
        f"The folder itself cannot be {done}.", next_step="Name something in it.", reason="directory"
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
    """All that is no folder in the folder `name`, as below `rel`: also what a walk passes over (hidden, a
    link), but for temporaries of our own. Raises OSError where a folder cannot be read: what is in it must
    not go unseen.
    """
    return [
        _entry(f"{rel}/{below}", item.stat(follow_symlinks=False))
        for below, _opened, item in everything_below(lambda: directory.child(name))
        if not item.is_dir(follow_symlinks=False) and not is_temporary(item.name)
    ]


def _is_folder(item: os.DirEntry[str]) -> bool:
    """Return whether a walk enters this entry."""
    return not item.name.startswith(".") and item.is_dir(follow_symlinks=False)


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")
