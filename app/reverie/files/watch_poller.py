"""Polling: finding changes without events, by comparing snapshots of the targets.

Polling is for systems that refuse watches and for file systems that send no events. One thread takes a
snapshot of every target, under its given path, and compares it with the last one. The pause grows with the
time that a snapshot takes, so that a slow file system is not kept busy by us.

A changed directory is reported as well as its entries, because a scan of it may have seen an entry that came
and went between two snapshots. A change within the last two seconds is reported once more later, because on a
file system with a coarse clock a second change may have left no trace.

A directory that cannot be read for a moment (a network share that does not respond) keeps its last snapshot:
an entry is reported as deleted only if this is certain. Hidden names are left out, as in
`files.watch_sources`.

Threading: `report` is called on the polling thread. Known limit: a file system that hangs blocks that thread;
it is a daemon, and `close` waits at most a second for it.
"""

# ruff: noqa: PTH100, PTH116, PTH118 - strings, because this runs once per event or per file
from __future__ import annotations

import logging
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from reverie.files.watch_sources import WatchTarget, leads_upwards

log = logging.getLogger("reverie.watch")

Mark = tuple[int, ...]
"""A value for one path that changes when the content of the file or directory changes."""
PolledState = dict[str, Mark]

_GONE = (FileNotFoundError, NotADirectoryError)
_COARSEST_CLOCK_NS = 2_000_000_000

_REST_RATIO = 4.0
"""The seconds of pause per second of work, so that snapshots take at most a fifth of the time."""


class Poller:
    """A thread that takes a snapshot of its targets every `interval_s` seconds, until `close`.

    `report` gets the paths that differ from the previous snapshot, on that thread. The pause is longer if a
    snapshot takes long.
    """

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
        """The number of directories in the last snapshot."""
        return sum(
            stat.S_ISDIR(mark[0]) for seen in tuple(self._seen.values()) for mark in tuple(seen.values())
        )

    @property
    def missing(self) -> tuple[Path, ...]:
        return tuple(target.path for target, seen in tuple(self._seen.items()) if not seen)

    def set_targets(self, targets: Sequence[WatchTarget]) -> None:
        """Replace the targets. New ones are reported as changed once their first snapshot is taken.

        Changes before that snapshot are not reported separately.
        """
        if tuple(targets) != self._targets:
            self._targets = tuple(targets)
            self._wake.set()

    def close(self) -> None:
        """Stop the thread; wait at most a second for a snapshot in progress."""
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
                self._poll()
            except Exception:  # one failed snapshot must not end the polling
                log.exception("the watched folders could not be looked through")
            pause = max(self._interval_s, _REST_RATIO * (time.monotonic() - started))

    def _poll(self) -> None:
        targets = self._targets
        for gone in self._seen.keys() - set(targets):
            del self._seen[gone]
        for target in targets:
            before = self._seen.get(target)
            now: PolledState = {}
            for path, mark in snapshot_of(target, before or {}, time.time_ns()):
                if self._closing:
                    return
                now[path] = mark
            self._seen[target] = now
            dirty = list(target.named()) if before is None else differences(before, now)
            if dirty:
                self._report(dirty)


def differences(before: PolledState, now: PolledState) -> list[str]:
    """Return the paths that were added, removed or changed between the snapshots `before` and `now`."""
    changed = [path for path, mark in now.items() if before.get(path) != mark]
    changed.extend(path for path in before if path not in now)
    return changed


def snapshot_of(target: WatchTarget, before: PolledState, now_ns: int) -> Iterator[tuple[str, Mark]]:
    """Yield every existing path of `target` with its mark, a value that changes when the content changes.

    For a path that cannot be read now, the mark in `before`, the last snapshot, is yielded again. `now_ns`:
    the current time, in ns since the epoch.
    """
    given = os.path.abspath(target.path)
    if target.only:
        for path in (os.path.join(given, name) for name in target.only):
            yield from _one(path, before, now_ns)
        return
    for path, mark in _one(given, before, now_ns):
        yield path, mark
        if stat.S_ISDIR(mark[0]):
            recursive = target.recursive and not leads_upwards(given)
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
            except OSError:  # gone since it was listed, which the next snapshot will confirm
                continue
            yield entry.path, mark
            if recursive and stat.S_ISDIR(mark[0]):
                stack.append(entry.path)


def _mark(status: os.stat_result, now_ns: int) -> Mark:
    settled = status.st_mtime_ns < now_ns - _COARSEST_CLOCK_NS
    # A directory's size and inode times add nothing to its modification time and are less portable.
    detail = () if stat.S_ISDIR(status.st_mode) else (status.st_size, status.st_ctime_ns)
    return (stat.S_IFMT(status.st_mode), status.st_ino, settled, status.st_mtime_ns, *detail)
