"""Removing what somebody may still be writing to: set aside under a hidden name, looked at, then deleted.

A folder always goes this way, so that it vanishes at once. With a `look` a file does, too: the look sees
what was taken, which nobody finds to write to any more, and may raise to give it back. Without a look a file
is unlinked. A kill in between leaves a hidden temporary that the sweep of `files.atomic` clears away; what
cannot be deleted is logged and left to the sweep. The checkpoint "hide" is passed once something is set aside
for good.

Callable from any thread. Raises OSError, SwappedError, and what the look raises. Known limit: a file that its
writer made anew while it was looked at is not overwritten by the older one, which stays hidden.
"""

from __future__ import annotations

import contextlib
import logging
import stat
from collections.abc import Callable

from reverie.files.atomic import temporary_name
from reverie.files.checkpoint import checkpoint
from reverie.files.directory import Directory

_log = logging.getLogger("reverie.files")

Look = Callable[[Directory, str], None]
"""Gets the directory and the name under which what was taken lies in it now."""


def remove_entry(directory: Directory, name: str, look: Look | None) -> None:
    """Remove a file, a symlink (which is not looked at) or a folder with all that is in it, durably."""
    mode = directory.lstat(name).st_mode
    if stat.S_ISLNK(mode) or (look is None and not stat.S_ISDIR(mode)):
        directory.unlink(name)
        directory.sync()
        return
    hidden = temporary_name(name)
    directory.rename_new(name, directory, hidden)
    if look is not None:
        try:
            look(directory, hidden)
        except BaseException:
            _give_back(directory, hidden, directory, name)
            directory.sync()
            raise
    directory.sync()
    checkpoint("hide")
    try:
        _delete(directory, hidden)
    except OSError as error:
        _log.warning("what was removed could not be deleted and is kept as %s: %s", hidden, error)


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


def _delete(directory: Directory, name: str) -> None:
    if stat.S_ISDIR(directory.lstat(name).st_mode):
        directory.remove_tree(name)
    else:
        directory.unlink(name)
