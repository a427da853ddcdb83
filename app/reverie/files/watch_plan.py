"""Where the watched things really are: targets resolved to directories to watch, and events routed back.

A target is named as its owner knows it; symlinks on the way are resolved before anything is watched (a linked
root loses its own events), and what happens is reported under the given name. A target that is missing is
represented by its nearest existing ancestor, watched without what lies below it, until the next component
appears.

Hidden names (a leading dot, judged relative to the target) are not reported: no listing shows them, and they
are what editors and our own atomic writes use for temporary files. A file named in `only` is reported
whatever its name.

Threading: plans are immutable; resolving reads the disk, routing does not.
Failure: what cannot be reached counts as missing, never as an error.
"""

# ruff: noqa: PTH100, PTH114, PTH116, PTH118, PTH119, PTH120 - strings, because this runs once per event or per file

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reverie.files.paths import real_path


@dataclass(frozen=True, slots=True)
class WatchTarget:
    """What to watch: a directory with everything below it (`recursive`), its direct entries, or `only` the
    files of
    these names in it. A path that turns out to be a file is watched as that file. It need not exist."""

    path: Path
    recursive: bool
    only: tuple[str, ...] = ()

    def named(self) -> tuple[str, ...]:
        """The paths under which the whole target is reported."""
        given = os.path.abspath(self.path)
        return tuple(os.path.join(given, name) for name in self.only) if self.only else (given,)


@dataclass(frozen=True, slots=True)
class Watched:
    """How one directory is watched. `identity` is (device, inode): another directory of that name is another
    watch.
    """

    recursive: bool
    identity: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where one target is now. The three routes map real paths to given ones: `tree` a directory with
    everything below, `flat` a directory's direct entries, `files` single files. `trigger` is the real path
    whose coming or going changes
    the placement; `device` the file system it lies on."""

    target: WatchTarget
    present: bool
    directories: Mapping[str, Watched]
    trigger: str
    device: int
    tree: tuple[str, str] | None = None
    flat: tuple[str, str] | None = None
    files: Mapping[str, str] = field(default_factory=dict)


def locate_all(targets: Iterable[WatchTarget]) -> list[Placement]:
    """Find targets on the disk; directories that many of them share are resolved once."""
    known: dict[str, str] = {}
    return [_located(target, known) for target in targets]


def _located(target: WatchTarget, known: dict[str, str]) -> Placement:
    given = os.path.abspath(target.path)
    real = _resolved(given, known)
    status = _status(real)
    if status is None:
        return _absent(target, real)
    if not stat.S_ISDIR(status.st_mode):
        return _single_file(target, given, real, status)
    directories = {real: Watched(target.recursive and not target.only, _identity(status))}
    files: dict[str, str] = {}
    for name in target.only:
        _add_file(files, directories, os.path.join(real, name), os.path.join(given, name))
    return Placement(
        target,
        present=True,
        directories=directories,
        trigger=real,
        device=status.st_dev,
        tree=(real, given) if target.recursive and not target.only else None,
        flat=(real, given) if not target.recursive and not target.only else None,
        files=files,
    )


def _absent(target: WatchTarget, real: str) -> Placement:
    child = real
    while (parent := os.path.dirname(child)) != child:
        status = _status(parent)
        if status is not None and stat.S_ISDIR(status.st_mode):
            watched = {parent: Watched(False, _identity(status))}
            return Placement(target, present=False, directories=watched, trigger=child, device=status.st_dev)
        child = parent
    return Placement(target, present=False, directories={}, trigger=child, device=0)


def _single_file(target: WatchTarget, given: str, real: str, status: os.stat_result) -> Placement:
    files: dict[str, str] = {}
    directories: dict[str, Watched] = {}
    _add_file(
        files,
        directories,
        os.path.join(real_path(os.path.dirname(given)), os.path.basename(given)),
        given,
    )
    return Placement(
        target, present=True, directories=directories, trigger=real, device=status.st_dev, files=files
    )


def _add_file(files: dict[str, str], directories: dict[str, Watched], path: str, given: str) -> None:
    """Watch one file. Where its name is a symlink (dotfiles managers), the file it leads to is watched
    too."""
    for place in {path, real_path(path)}:
        directory = os.path.dirname(place)
        status = _status(directory)
        if status is not None:
            files[place] = given
            directories.setdefault(directory, Watched(False, _identity(status)))


def _resolved(path: str, known: dict[str, str]) -> str:
    """As os.path.realpath for an absolute, normalised path; `known` remembers the directories above it."""
    parent, name = os.path.split(path)
    if not name:
        return path
    above = known.get(parent)
    if above is None:
        above = known[parent] = _resolved(parent, known)
    joined = os.path.join(above, name)
    return real_path(joined) if os.path.islink(joined) else joined


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


class WatchPlan:
    """All placements put together: each directory is watched once, each event finds every target it belongs
    to.
    """

    def __init__(self, placements: Sequence[Placement]) -> None:
        self.placements = tuple(placements)
        self.directories = _without_nested(placements)
        self.triggers = frozenset(placement.trigger for placement in placements)
        self.missing = tuple(placement.target.path for placement in placements if not placement.present)
        self._trees = _grouped(placement.tree for placement in placements)
        self._flats = _grouped(placement.flat for placement in placements)
        self._files = _grouped(pair for placement in placements for pair in placement.files.items())

    def route(self, path: str) -> tuple[str, ...]:
        """The names under which an event at this real path is reported; none: nobody asked for it."""
        found = list(self._files.get(path, ()))
        parent, name = os.path.split(path)
        if not name.startswith("."):
            found.extend(os.path.join(given, name) for given in self._flats.get(parent, ()))
        found.extend(self._flats.get(path, ()))
        for root in _upwards(path):
            below = path[len(root) :]
            if f"{os.sep}." not in below:
                found.extend(given + below for given in self._trees.get(root, ()))
        return tuple(found)

    def relied_on(self, placement: Placement) -> set[str]:
        """The watched directories through which this placement's events come."""
        return {
            next((above for above in _upwards(path) if above in self.directories), path)
            for path in placement.directories
        }


def _without_nested(placements: Iterable[Placement]) -> dict[str, Watched]:
    wanted: dict[str, Watched] = {}
    for placement in placements:
        for path, watched in placement.directories.items():
            if path not in wanted or watched.recursive:
                wanted[path] = watched
    deep = {path for path, watched in wanted.items() if watched.recursive}
    return {path: watched for path, watched in wanted.items() if not _covered(path, deep)}


def _covered(path: str, deep: Collection[str]) -> bool:
    """Whether the watch of a directory above comes down to this one: it does not enter hidden ones."""
    return any(above in deep and f"{os.sep}." not in path[len(above) :] for above in _above(path))


def _grouped(pairs: Iterable[tuple[str, str] | None]) -> dict[str, tuple[str, ...]]:
    groups: dict[str, tuple[str, ...]] = {}
    for pair in pairs:
        if pair is not None:
            groups[pair[0]] = (*groups.get(pair[0], ()), pair[1])
    return groups


def _upwards(path: str) -> Iterator[str]:
    yield path
    yield from _above(path)


def _above(path: str) -> Iterator[str]:
    """Each directory above this path, nearest first."""
    while (parent := os.path.dirname(path)) != path:
        yield parent
        path = parent
