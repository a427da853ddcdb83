"""Batches of changed paths: many events in, few `Changes` out.

Threading: none; the owner serialises calls.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from reverie.values import Struct

BURST_PATHS = 5_000
"""The number of paths in a batch beyond which a full scan is cheaper than visiting each path."""


class Changes(Struct, frozen=True, dict=True):
    """A batch of paths that may have changed, as a hint: callers read the truth from disk.

    A path represents itself and, if it is (or was) a directory, everything below it. The path may not exist
    any more, and it may not have changed at all.
    """

    paths: frozenset[Path]
    rescan: bool
    """Whether anything may have changed, even paths that are not in `paths`."""
    events: int
    """The number of raw events behind the batch."""
    reasons: tuple[str, ...]
    """The reasons, in a few words each, why the batch asks for a full scan or contains a whole target."""

    def touches(self, path: Path) -> bool:
        """Return whether the batch says that something at `path`, below it or above it may have changed."""
        if self.rescan or path in self.paths or not self.paths.isdisjoint(path.parents):
            return True
        return any(dirty.is_relative_to(path) for dirty in self.paths)

    def merged(self, later: Changes) -> Changes:
        """Return one batch with these changes and those of `later`."""
        return Changes(
            self.paths | later.paths,
            self.rescan or later.rescan,
            self.events + later.events,
            tuple(dict.fromkeys((*self.reasons, *later.reasons))),
        )


class Coalescer:
    """The batch of changes that is being collected. Times are monotonic seconds, which the caller passes in.

    The batch is due `quiet_s` seconds after the last event, at the latest `cap_s` seconds after the first
    one, so that a steady writer cannot postpone delivery for ever. After more than `burst_paths` paths the
    batch requests a full scan in place of the paths.
    """

    def __init__(self, *, quiet_s: float, cap_s: float, burst_paths: int = BURST_PATHS) -> None:
        self._quiet_s = quiet_s
        self._cap_s = cap_s
        self._burst_paths = burst_paths
        self._clear()

    def _clear(self) -> None:
        self._paths: set[str] = set()
        self._reasons: dict[str, None] = {}
        self._rescan = False
        self._overfull = False
        self._events = 0
        self._first: float | None = None
        self._last = 0.0

    def add(self, paths: Iterable[str], *, now: float, events: int = 0, reason: str = "") -> None:
        """Add changed `paths` to the batch; do nothing if there are neither paths nor events.

        `events`: the number of raw events that reported the paths. `now`: the current time (monotonic
        seconds). `reason`: added to the reasons of the batch, unless empty.
        """
        named = set(paths)
        if not named and not events:
            return
        if not self._overfull:
            self._paths |= named
        if len(self._paths) > self._burst_paths:
            self._paths.clear()
            self._overfull = True
            self.owe_rescan("burst")
        self._events += events
        self._note(reason, now)

    def request_rescan(self, reason: str, *, now: float) -> None:
        """Let the batch request a full scan; it becomes due as if an event had arrived at `now`.

        `reason`: added to the reasons of the batch.
        """
        self.owe_rescan(reason)
        self._note("", now)

    def owe_rescan(self, reason: str) -> None:
        """Let the batch request a full scan, for `reason`, without making the batch due any sooner."""
        self._rescan = True
        self._reasons[reason] = None

    def due(self) -> float | None:
        """Return the time at which the batch is due, in monotonic seconds; None while it is empty."""
        if self._first is None:
            return None
        return min(self._last + self._quiet_s, self._first + self._cap_s)

    def take(self, now: float) -> Changes | None:
        """Return the batch and start a new one if it is due at `now` (monotonic seconds), otherwise None."""
        due = self.due()
        if due is None or now < due:
            return None
        changes = Changes(
            paths=frozenset(map(Path, self._paths)),
            rescan=self._rescan,
            events=self._events,
            reasons=tuple(self._reasons),
        )
        self._clear()
        return changes

    def _note(self, reason: str, now: float) -> None:
        if reason:
            self._reasons[reason] = None
        if self._first is None:
            self._first = now
        self._last = now
