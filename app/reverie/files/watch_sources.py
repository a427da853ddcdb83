"""Where events come from: the interface of a source.

A source watches directories and tells its sink which paths changed; it decides nothing. The source of the
program is watchdog's observer (`files.watch_observer`); tests put others in its place.

Threading: `arm` and `close` are called by one thread, the sink is called on the source's own threads.
Failure: `arm` and the constructors raise OSError when the system refuses more watches. A directory that
vanishes meanwhile is no failure: whoever plans looks again.
"""

from __future__ import annotations

import logging
import os
import stat
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from reverie.files.directory import real_path, refuse_link_upwards
from reverie.values import Struct, field

# Where the watched things really are: targets resolved to directories to watch, and events routed back.
#
# A target is named as its owner knows it; symlinks on the way are resolved before anything is watched (a
# linked root loses its own events), and what happens is reported under the given name. A target that is
# missing is represented by its nearest existing ancestor, watched without what lies below it, until the
# next component appears.
#
# Hidden names (a leading dot, judged relative to the target) are not reported: no listing shows them, and
# they are what editors and our own atomic writes use for temporary files. A file named in `only` is
# reported whatever its name.
#
# Threading: plans are immutable; resolving reads the disk, routing does not. Failure: what cannot be
# reached counts as missing, never as an error.


# ruff: noqa: PTH100, PTH114, PTH116, PTH118, PTH119, PTH120 - strings, because this runs once per event or per file


class WatchTarget(Struct, frozen=True):
    """What to watch: a directory with everything below it (`recursive`), its direct entries, or `only` the
    files of
    these names in it. A path that turns out to be a file is watched as that file. It need not exist.
    """

    path: Path
    recursive: bool
    only: tuple[str, ...] = ()

    def named(self) -> tuple[str, ...]:
        """The paths under which the whole target is reported."""
        given = os.path.abspath(self.path)
        return tuple(os.path.join(given, name) for name in self.only) if self.only else (given,)


class Watched(Struct, frozen=True):
    """How one directory is watched. `identity` is (device, inode): another directory of that name is another
    watch.
    """

    recursive: bool
    identity: tuple[int, int]


class Placement(Struct, frozen=True):
    """Where one target is now. The three routes map real paths to given ones: `tree` a directory with
    everything below, `flat` a directory's direct entries, `files` single files. `trigger` is the real path
    whose coming or going changes
    the placement; `device` the file system it lies on.
    """

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
    recursive = target.recursive and not target.only and not _leads_upwards(given)
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
    too.
    """
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


def _leads_upwards(path: str) -> bool:
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
    """Return whether the watch of a directory above comes down to this one: it does not enter hidden ones."""
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


class Sink(Protocol):
    """What a source talks to. Every call returns at once and may come from any thread."""

    def changed(self, paths: Sequence[str]) -> None:
        """One real path per raw event."""

    def roots_changed(self) -> None:
        """A directory that was armed is gone or has moved."""

    def trouble(self, reason: str) -> None:
        """Events were lost, or the source can no longer be trusted: make a new one and rescan."""


class EventSource(Protocol):
    """A set of watched directories."""

    @property
    def watches(self) -> int:
        """How many directories are under watch, those below recursive ones included where that is known."""

    def arm(self, directories: Mapping[str, Watched]) -> frozenset[str]:
        """Watch exactly these directories; returns those that were not under (living) watch before."""

    def healthy(self) -> bool:
        """Return whether it can still be trusted to send events."""

    def close(self) -> None:
        """Stop and join. Safe to call twice."""


SourceFactory = Callable[[Sink], EventSource]


# Watching by looking: for systems that refuse watches and for file systems that send no events.
#
# One thread takes a snapshot of every target and compares it with the last. Targets are looked at under the
# names they were given. The pause grows with the time a look takes, so that a slow file system is not kept
# busy by us.
#
# A directory that was changed counts as changed itself: whoever scanned it may have seen an entry that came
# and went between two looks. What was changed within the last two seconds is reported once more when it is
# older: a second change may have left no trace where the file system's clock is coarse.
#
# A directory that cannot be read for a moment (a network share that does not answer) keeps its last
# snapshot: only what is known to be gone is reported as gone. Hidden names are not looked at, as
# `files.watch_sources` says.
#
# Threading: `report` is called on the polling thread. Known limit: a file system that hangs, hangs that
# thread; it is a daemon and `close` does not wait for it longer than a second.


# ruff: noqa: PTH100, PTH116, PTH118 - strings, because this runs once per event or per file


log = logging.getLogger("reverie.watch")

Mark = tuple[int, ...]
PolledState = dict[str, Mark]

_GONE = (FileNotFoundError, NotADirectoryError)
_COARSEST_CLOCK_NS = 2_000_000_000
# A look may take a fifth of the time, no more.
_REST_RATIO = 4.0


class Poller:
    """Looks at its targets every `interval_s` seconds, from the first `set_targets` to `close`."""

    def __init__(self, *, interval_s: float, report: Callable[[Sequence[str]], None]) -> None:
        self._interval_s = interval_s
        self._report = report
        self._targets: tuple[WatchTarget, ...] = ()
        self._seen: dict[WatchTarget, PolledState] = {}
        self._wake = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="reverie-poll", daemon=True)
        self._thread.start()

    @property
    def watches(self) -> int:
        """How many directories were looked at in the last round."""
        return sum(
            stat.S_ISDIR(mark[0]) for seen in tuple(self._seen.values()) for mark in tuple(seen.values())
        )

    @property
    def missing(self) -> tuple[Path, ...]:
        return tuple(target.path for target, seen in tuple(self._seen.items()) if not seen)

    def set_targets(self, targets: Sequence[WatchTarget]) -> None:
        """New targets are reported as dirty once their first snapshot is taken: changes before it show no
        difference.
        """
        if tuple(targets) != self._targets:
            self._targets = tuple(targets)
            self._wake.set()

    def close(self) -> None:
        """Stop looking; waits a moment for a look under way."""
        self._closing = True
        self._wake.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=1.0)

    def _run(self) -> None:
        pause = 0.0
        while not self._closing:
            self._wake.wait(pause)
            self._wake.clear()
            started = time.monotonic()
            try:
                self._look()
            except Exception:  # one look that fails must not end all looking
                log.exception("the watched folders could not be looked through")
            pause = max(self._interval_s, _REST_RATIO * (time.monotonic() - started))

    def _look(self) -> None:
        targets = self._targets
        for gone in self._seen.keys() - set(targets):
            del self._seen[gone]
        for target in targets:
            before = self._seen.get(target)
            now: PolledState = {}
            for path, mark in look_at(target, before or {}, time.time_ns()):
                if self._closing:
                    return
                now[path] = mark
            self._seen[target] = now
            dirty = list(target.named()) if before is None else differences(before, now)
            if dirty:
                self._report(dirty)


def differences(before: PolledState, now: PolledState) -> list[str]:
    """The paths that came, went or changed."""
    changed = [path for path, mark in now.items() if before.get(path) != mark]
    changed.extend(path for path in before if path not in now)
    return changed


def look_at(target: WatchTarget, before: PolledState, now_ns: int) -> Iterator[tuple[str, Mark]]:
    """Everything of a target that exists, each path with a mark that changes when its content does.

    `before` stands in for what cannot be read; `now_ns` is the time, in the file system's terms.
    """
    given = os.path.abspath(target.path)
    if target.only:
        for path in (os.path.join(given, name) for name in target.only):
            yield from _one(path, before, now_ns)
        return
    for path, mark in _one(given, before, now_ns):
        yield path, mark
        if stat.S_ISDIR(mark[0]):
            recursive = target.recursive and not _leads_upwards(given)
            yield from _below(path, before, now_ns, recursive=recursive)


def _one(path: str, before: PolledState, now_ns: int) -> Iterator[tuple[str, Mark]]:
    try:
        yield path, _mark(os.stat(path), now_ns)
    except _GONE:
        return
    except OSError:
        if path in before:
            yield path, before[path]


def _below(top: str, before: PolledState, now_ns: int, *, recursive: bool) -> Iterator[tuple[str, Mark]]:
    stack = [top]
    while stack:
        directory = stack.pop()
        try:
            with os.scandir(directory) as entries:
                listed = [entry for entry in entries if not entry.name.startswith(".")]
        except _GONE:
            continue
        except OSError:
            prefix = directory + os.sep
            yield from ((path, mark) for path, mark in before.items() if path.startswith(prefix))
            continue
        for entry in listed:
            try:
                mark = _mark(entry.stat(follow_symlinks=False), now_ns)
            except OSError:  # gone since the line above: the next look agrees
                continue
            yield entry.path, mark
            if recursive and stat.S_ISDIR(mark[0]):
                stack.append(entry.path)


def _mark(status: os.stat_result, now_ns: int) -> Mark:
    settled = status.st_mtime_ns < now_ns - _COARSEST_CLOCK_NS
    # A directory's size and inode times say no more than its modification time, and less portably.
    detail = () if stat.S_ISDIR(status.st_mode) else (status.st_size, status.st_ctime_ns)
    return (stat.S_IFMT(status.st_mode), status.st_ino, settled, status.st_mtime_ns, *detail)
