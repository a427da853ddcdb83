"""Removing what somebody may still be writing to: set aside under a hidden name, looked at, then deleted.

A folder always goes this way, so that it vanishes at once. With a `look` a file does, too: the look sees
what was taken, which nobody finds to write to any more, and may raise to give it back. Without a look a file
is unlinked. A folder that this process could delete only in part is given back whole before anything in it
is deleted. If deleting fails all the same, a folder that is still whole gets its name back, and the error is
raised. One that was looked at and has lost something by then counts as removed: what is left of it keeps the
hidden name until the sweep, and `LeftBehindError` says so.

A kill before the look has ended leaves a held name, to which the sweep of `files.atomic` gives its own name
back; a kill after it leaves a temporary, which the sweep deletes. The checkpoint "hide" is passed in between.

Callable from any thread. Raises OSError, SwappedError, and what the look raises. Known limit: a file that its
writer made anew while it was looked at is not overwritten by the older one, which stays hidden.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable

from reverie.files.atomic import LeftBehindError, held_name, sync_changed, temporary_name
from reverie.files.checkpoint import checkpoint
from reverie.files.descent import Descent, remove_tree
from reverie.files.directory import Directory

Look = Callable[[Directory, str], None]
"""Gets the directory and the name under which what was taken lies in it now."""


def remove_entry(directory: Directory, name: str, look: Look | None) -> None:
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
    many things are in it."""
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
