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
from collections.abc import Iterator
from pathlib import Path

from reverie.errors import StoreError
from reverie.files.atomic import shown
from reverie.files.descent import Descent
from reverie.files.directory import Directory, SwappedError
from reverie.files.real_path import has_too_many_links, real_path
from reverie.files.there import is_there

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
    directory = Directory.open(start)
    with contextlib.ExitStack() as opened:
        opened.callback(lambda: directory.close())
        for at, name in enumerate(names):
            try:
                child = directory.child(name)
            except FileNotFoundError:
                if not create:
                    raise
                directory = opened.enter_context(_made_below(directory, names[at:], mode))
                break
            directory.close()  # a deep path must not use up the descriptors
            directory = child
        yield directory


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
    still empty are removed again."""
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
