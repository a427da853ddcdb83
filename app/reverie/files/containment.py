"""How a relative path becomes an opened directory that cannot be left.

Names are opened one below the other, following no symlink (`files.directory`); one that is met raises
`SwappedError`, and the caller resolves the path, which is refused unless its real place lies inside the real
root. Nothing outside the root is ever opened.

Threading: blocking, any thread but the GUI's. Failure: `EscapesRoot` and `StoreError` for a path that is
refused, `OSError` for the disk.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from reverie.errors import StoreError
from reverie.files.atomic import shown
from reverie.files.directory import Directory
from reverie.files.real_path import has_too_many_links, real_path

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
    try:
        os.fsencode(rel)
    except UnicodeEncodeError:
        raise _bad_name(rel, done, "It contains half of a character that needs two.") from None
    return parts


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
    made = False
    with contextlib.ExitStack() as opened:
        directory = opened.enter_context(Directory.open(start))
        for name in names:
            try:
                child = directory.child(name)
            except FileNotFoundError:
                if not create:
                    raise
                opened.push(_unless_done(directory, name))
                directory.make(name, mode)
                made = True
                child = directory.child(name)
            if not made:
                directory.close()  # a deep path must not use up the descriptors
            directory = opened.enter_context(child)
        yield directory


def _existing(root: str, parts: list[str]) -> tuple[str, list[str]]:
    """The deepest ancestor of `root` (itself included) that is there, and the names from it to `parts`."""
    path = Path(root)
    while not path.exists() and path != path.parent:
        parts = [path.name, *parts]
        path = path.parent
    return str(path), parts


def _unless_done(directory: Directory, name: str) -> Callable[..., None]:
    """An exit step that takes an empty new directory away when the work it was made for has failed."""

    def step(kind: object, *_: object) -> None:
        if kind is not None:
            with contextlib.suppress(OSError):  # somebody else has put something there
                directory.remove_empty(name)

    return step


def _bad_name(rel: str, done: str, cause: str) -> StoreError:
    return StoreError(
        f"“{shown(rel)}” could not be {done}.", cause=cause, next_step="Choose another name.", reason="name"
    )
