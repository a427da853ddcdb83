"""Helpers for watcher tests: waiting for a condition, a recorder of deliveries, a consumer with a view."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from reverie.files.watch import Changes, Watcher
from reverie.files.watch_sources import Placement, WatchTarget, locate_all

Start = Callable[..., Watcher]

# Long enough for a machine that is busy with other things; only a failing test waits for it.
PATIENCE_S = 60.0


def locate(target: WatchTarget) -> Placement:
    """One target alone."""
    (placement,) = locate_all([target])
    return placement


def tree(path: Path) -> WatchTarget:
    """A directory with all that is below it."""
    return WatchTarget(path, recursive=True)


def wait_until(holds: Callable[[], object], what: str = "") -> None:
    """Look every few milliseconds until `holds()` is true; fail after a long while."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain for {what or holds}")
        time.sleep(0.002)


class Recorder:
    """A `deliver` that remembers. `paths` is the union of all that was delivered since `forget`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.batches: list[Changes] = []

    def __call__(self, changes: Changes) -> None:
        with self._lock:
            self.batches.append(changes)

    @property
    def paths(self) -> set[Path]:
        with self._lock:
            return {path for changes in self.batches for path in changes.paths}

    @property
    def reasons(self) -> set[str]:
        with self._lock:
            return {reason for changes in self.batches for reason in changes.reasons}

    @property
    def rescans(self) -> int:
        with self._lock:
            return sum(changes.rescan for changes in self.batches)

    def forget(self) -> None:
        with self._lock:
            self.batches.clear()

    def wait_for(self, *paths: Path) -> None:
        wait_until(lambda: self.paths.issuperset(paths), f"{[str(path) for path in paths]}")

    def wait_for_reason(self, reason: str) -> None:
        wait_until(lambda: reason in self.reasons, reason)


class View:
    """The simplest consumer: file names and contents below a root, kept true by looking where a batch points.
    `paths_seen` counts the paths it was pointed at, `rescans` how often it had to look at everything."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files: dict[str, bytes] = {}
        self._folders: set[str] = set()
        self.paths_seen = 0
        self.rescans = 0

    def __call__(self, changes: Changes) -> None:
        self.paths_seen += len(changes.paths)
        self.rescans += changes.rescan
        for path in [self.root] if changes.rescan else changes.paths:
            self._look(path)

    def _look(self, path: Path) -> None:
        name, found = str(path), contents(path)
        if found.keys() == {name} and name not in self._folders:
            self.files[name] = found[name]  # the usual case must not cost more with many files
        else:
            kept = {
                known: data
                for known, data in self.files.items()
                if known != name and not known.startswith(name + os.sep)
            }
            self.files = kept | found
        self._folders.update(str(parent) for each in found for parent in Path(each).parents)


def contents(path: Path) -> dict[str, bytes]:
    """Name and bytes of the file, or of every shown file below the directory; what vanishes meanwhile is left
    out."""
    found: dict[str, bytes] = {}
    if path.is_dir():
        for directory, folders, names in os.walk(path):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in names:
                if not name.startswith("."):
                    found |= contents(Path(directory) / name)
        return found
    try:
        found[str(path)] = path.read_bytes()
    except OSError:
        return {}
    return found
