"""Many events in, few sets of dirty paths out.

Pure: the caller hands in the time (monotonic seconds) and asks. Two timers decide when a batch is due: quiet
time since the last event, and a cap since the first one, so that a steady writer cannot postpone delivery for
ever. Whatever was added is covered by the next batch: by its path, or by `rescan`.

Threading: none; the owner serialises calls.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# Beyond this many paths a full scan is cheaper than visiting each, and keeping them would cost memory for
# nothing.
BURST_PATHS = 5_000


@dataclass(frozen=True)
class Changes:
    """What may have changed. A hint: the truth is read from disk.

    A path stands for itself and, if it is (or was) a directory, for everything below it. It may be gone, and
    it may be one that nobody changed. With `rescan` anything may have changed, whether `paths` names it or
    not. `events` counts the raw events behind the batch; `reasons` are short words on why a rescan or a root
    is in it.
    """

    paths: frozenset[Path]
    rescan: bool
    events: int
    reasons: tuple[str, ...]

    def touches(self, path: Path) -> bool:
        """Whether something at `path`, below it or above it may have changed."""
        if self.rescan or path in self.paths or not self.paths.isdisjoint(path.parents):
            return True
        return any(dirty.is_relative_to(path) for dirty in self.paths)


class Coalescer:
    """The batch that is being gathered. Times are monotonic seconds."""

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
        """`events` raw events said that `paths` are dirty. No paths and no events: nothing happens."""
        named = set(paths)
        if not named and not events:
            return
        if not self._overfull:
            self._paths |= named
        if len(self._paths) > self._burst_paths:
            self._paths.clear()
            self._overfull = True
            self._ask_rescan("burst")
        self._events += events
        self._note(reason, now)

    def request_rescan(self, reason: str, *, now: float) -> None:
        """The next batch asks for a full scan."""
        self._ask_rescan(reason)
        self._note("", now)

    def owe_rescan(self, reason: str) -> None:
        """As `request_rescan`, but the next batch does not come sooner for it."""
        self._ask_rescan(reason)

    def due(self) -> float | None:
        """When the batch is to be handed over; None while there is none."""
        if self._first is None:
            return None
        return min(self._last + self._quiet_s, self._first + self._cap_s)

    def take(self, now: float) -> Changes | None:
        """The batch, if it is due; the next one starts empty."""
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

    def _ask_rescan(self, reason: str) -> None:
        self._rescan = True
        self._reasons[reason] = None

    def _note(self, reason: str, now: float) -> None:
        if reason:
            self._reasons[reason] = None
        if self._first is None:
            self._first = now
        self._last = now
