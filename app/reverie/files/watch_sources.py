"""Targets of the watcher, the plan of directories to watch, and the interface of an event source.

A target has the path that its owner knows; symlinks on the way are resolved before anything is watched (a
linked root loses its own events), and changes are reported under the given path. A missing target is
represented by its nearest existing ancestor, watched non-recursively, until the next component appears.
Hidden names (a leading dot, relative to the target) are not reported: no listing shows them, and editors and
our own atomic writes use them for temporary files. A file named in `only` is reported whatever its name.

A source watches directories and reports to its sink which paths changed; it decides nothing. The program uses
watchdog's observer (`files.watch_observer`); tests use other sources.

Threading: plans are immutable; resolving reads the disk, routing does not. `arm` and `close` are called by
one thread, the sink on the source's own threads. Failure: a target that cannot be reached counts as missing,
never as an error. `arm` and the constructors of sources raise OSError when the system refuses more watches. A
directory that vanishes meanwhile is no failure: the next plan leaves it out.
"""

# ruff: noqa: PTH100, PTH114, PTH116, PTH118, PTH119, PTH120 - strings, because this runs once per event or per file
from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from reverie.files.directory import real_path, refuse_link_upwards
from reverie.values import Struct, field


class WatchTarget(Struct, frozen=True):
    """A directory or file to watch, which need not exist.

    A directory is watched with everything below it (`recursive`), with its direct entries only, or, if `only`
    names files, only for these files in it. A path that turns out to be a file is watched as that file.
    """

    path: Path
    recursive: bool
    only: tuple[str, ...] = ()

    def named(self) -> tuple[str, ...]:
        """Return the paths to report if the whole target changed: the files in `only`, or else `path`."""
        given = os.path.abspath(self.path)
        return tuple(os.path.join(given, name) for name in self.only) if self.only else (given,)


class Watched(Struct, frozen=True):
    """How to watch one directory: with everything below it (`recursive`), or only its direct entries.

    If its `identity` (device, inode) changes, the directory needs a new watch.
    """

    recursive: bool
    identity: tuple[int, int]


class Placement(Struct, frozen=True):
    """The current location of one target on the disk, and the directories to watch for it.

    `tree`, `flat` and `files` map the real paths of events to the paths under which changes are reported.
    """

    target: WatchTarget
    present: bool
    """Whether the target exists."""
    directories: Mapping[str, Watched]
    """The directories to watch for this target, by real path."""
    trigger: str
    """The real path to watch for: once it appears or vanishes, the target must be located again."""
    device: int
    """The device number of the file system that contains the target."""
    tree: tuple[str, str] | None = None
    """A directory that is watched with everything below it: (real path, path for reports)."""
    flat: tuple[str, str] | None = None
    """A directory that is watched with its direct entries: (real path, path for reports)."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The single files that are watched: real path -> path for reports."""


def locate_all(targets: Iterable[WatchTarget]) -> list[Placement]:
    """Return the present location of each target on the disk; shared directories are resolved only once."""
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
    recursive = target.recursive and not target.only and not leads_upwards(given)
    directories = {real: Watched(recursive, _identity(status))}
    files: dict[str, str] = {}
    for name in target.only:
        _add_file(files, directories, os.path.join(real, name), os.path.join(given, name))
    return Placement(
        target,
        present=True,
        directories=directories,
        trigger=real,
        device=status.st_dev,
        tree=(real, given) if recursive else None,
        flat=(real, given) if not recursive and not target.only else None,
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
        files, directories, os.path.join(real_path(os.path.dirname(given)), os.path.basename(given)), given
    )
    return Placement(
        target, present=True, directories=directories, trigger=real, device=status.st_dev, files=files
    )


def _add_file(files: dict[str, str], directories: dict[str, Watched], path: str, given: str) -> None:
    """Add the file `path` to `files`, and its directory to `directories`.

    If it is a symlink (dotfile managers create them), the file that it leads to is added as well. `given`:
    the path under which changes of the file are reported.
    """
    for place in {path, real_path(path)}:
        directory = os.path.dirname(place)
        status = _status(directory)
        if status is not None:
            files[place] = given
            directories.setdefault(directory, Watched(False, _identity(status)))


def _resolved(path: str, known: dict[str, str]) -> str:
    """Return `path`, an absolute, normalised path, with symlinks resolved.

    `known` caches the results for the directories above it.
    """
    parent, name = os.path.split(path)
    if not name:
        return path
    above = known.get(parent)
    if above is None:
        above = known[parent] = _resolved(parent, known)
    joined = os.path.join(above, name)
    return real_path(joined) if os.path.islink(joined) else joined


def leads_upwards(path: str) -> bool:
    """Return whether `path` is a symlink to a folder that contains the symlink itself."""
    try:
        refuse_link_upwards(path)
    except OSError:
        return True
    return False


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


class WatchPlan:
    """All placements combined: a directory is watched once, and an event is routed to all its targets."""

    def __init__(self, placements: Sequence[Placement]) -> None:
        self.placements = tuple(placements)
        self.directories = _without_nested(placements)
        self.triggers = frozenset(placement.trigger for placement in placements)
        self.missing = tuple(placement.target.path for placement in placements if not placement.present)
        self._trees = _grouped(placement.tree for placement in placements)
        self._flats = _grouped(placement.flat for placement in placements)
        self._files = _grouped(pair for placement in placements for pair in placement.files.items())

    def route(self, path: str) -> tuple[str, ...]:
        """Return the paths under which an event at the real path `path` is reported; empty for no target."""
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
        """Return the paths of the watched directories whose events `placement` depends on."""
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
    """Return whether `path` is below a directory in `deep`, with no hidden name on the way from there."""
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
    """Yield each directory above this path, nearest first."""
    while (parent := os.path.dirname(path)) != path:
        yield parent
        path = parent


class Sink(Protocol):
    """The receiver of what an event source reports. Calls return at once and may come from any thread."""

    def changed(self, paths: Sequence[str]) -> None:
        """Report changes, one real path per raw event."""

    def roots_changed(self) -> None:
        """Report that a watched directory has vanished or moved."""

    def trouble(self, reason: str) -> None:
        """Report, with the reason, that events were lost or that the source is no longer reliable.

        The receiver replaces the source and requests a full scan.
        """


class EventSource(Protocol):
    """A source of events for a set of watched directories."""

    @property
    def watches(self) -> int:
        """The number of watched directories; if possible, those below recursive watches are counted, too."""

    def arm(self, directories: Mapping[str, Watched]) -> frozenset[str]:
        """Watch exactly these directories; return the directories that had no working watch before.

        `directories`: for each real path, how to watch it. Raises OSError if the system refuses more watches.
        """

    def healthy(self) -> bool:
        """Return whether the source can still be relied on to send events."""

    def close(self) -> None:
        """Stop the events, and wait until the source's threads have ended. May be called twice."""


SourceFactory = Callable[[Sink], EventSource]
