"""Visiting the directories below an open one, depth first, without opening the whole path for each.

A `Descent` keeps the way to the directory that was visited last open, so the next one costs a single step,
however deep it lies. No symlink is followed (`files.directory`). Only the deepest `MOST_OPEN` directories of
the way stay open, so a deep tree does not use up the descriptors; going back above them opens the path again.

A directory that is moved away during the visit is visited to its end where it is now.

Threading: a descent belongs to the thread that made it. Failure: `OSError` and `SwappedError`, as those of
`Directory.child`; the descent can go on elsewhere after them.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from reverie.files.directory import Directory

MOST_OPEN = 32


class Descent:
    """A context manager; closes what it opened."""

    def __init__(self, open_top: Callable[[], Directory]) -> None:
        """`open_top` opens the directory that paths start from; called again when the way to it was
        closed."""
        self._open_top = open_top
        self._way: deque[tuple[str, Directory]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close_all()

    def at(self, rel: str) -> Directory:
        """The directory `rel`, `/`-separated, "" for the top: open until the next call."""
        while self._way and not _leads_to(self._way[-1][0], rel):
            self._way.pop()[1].close()
        if not self._way:
            self._way.append(("", self._open_top()))
        here, directory = self._way[-1]
        rest = rel[len(here) :].removeprefix("/")
        for name in rest.split("/") if rest else ():
            directory = directory.child(name)
            here = f"{here}/{name}" if here else name
            self._way.append((here, directory))
            if len(self._way) > MOST_OPEN:
                self._way.popleft()[1].close()
        return directory

    def _close_all(self) -> None:
        while self._way:
            self._way.pop()[1].close()


def everything_below(open_top: Callable[[], Directory]) -> Iterator[tuple[str, Directory, os.DirEntry[str]]]:
    """Everything below, folders before what is in them: its path, and the open directory with the entry."""
    with Descent(open_top) as descent:
        pending = [""]
        while pending:
            rel = pending.pop()
            directory = descent.at(rel)
            for item in directory.names():
                path = f"{rel}/{item.name}" if rel else item.name
                if item.is_dir(follow_symlinks=False):
                    pending.append(path)
                yield path, directory, item


def walk_paths(
    top: Path, onerror: Callable[[OSError], None] = lambda _error: None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """As `os.walk` from the top down. Before Python 3.12 that one calls itself for each level, and a tree of
    a thousand levels ends it."""
    pending = [str(top)]
    while pending:
        folder = pending.pop()
        folders: list[str] = []
        names: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    (folders if _is_folder(entry) else names).append(entry.name)
        except OSError as error:
            onerror(error)
            continue
        yield folder, folders, names
        below = (f"{folder.rstrip(os.sep)}{os.sep}{name}" for name in reversed(folders))
        pending += [path for path in below if not os.path.islink(path)]  # noqa: PTH114 - thousands


def remove_tree(directory: Directory, name: str) -> None:
    """Remove the directory `name` and everything below it."""
    with Descent(lambda: directory.child(name)) as descent:
        pending = [("", False)]
        while pending:
            rel, is_empty = pending.pop()
            if is_empty:
                above, _, last = rel.rpartition("/")
                descent.at(above).remove_empty(last)
                continue
            if rel:
                pending.append((rel, True))
            opened = descent.at(rel)
            for item in opened.names():
                if item.is_dir(follow_symlinks=False):
                    pending.append((f"{rel}/{item.name}" if rel else item.name, False))
                else:
                    opened.unlink(item.name)
    directory.remove_empty(name)


def _leads_to(above: str, rel: str) -> bool:
    return not above or (rel.startswith(above) and rel[len(above) : len(above) + 1] in ("", "/"))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
