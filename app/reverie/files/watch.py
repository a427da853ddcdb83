"""The watcher: sets of dirty paths, from whoever changed them, by events where they can be had.

Events are hints: `deliver` gets paths to look at again, and whoever gets them reads the truth from disk. Own
writes are delivered like all others; who did it is told elsewhere. Opening and reading is never delivered.
See `Changes` for what a path means, `files.watch_plan` for names and symlinks, `files.watch_session` for the
order that misses nothing.

When a full scan is asked for (`Changes.rescan`): at the start, on `request_rescan` (the window gains focus),
by the reconcile timer, after an overflow of the system's queue, after a burst of more than 5,000 paths, and
after a delivery that failed. A root that appears, vanishes, is replaced or was out of sight is delivered as a
dirty path.

Threading: every method may be called from any thread. `deliver` and `notify` are called on the watcher's own
thread, one at a time. After `stop` has returned nothing is delivered.
Failure: an exception in `deliver` or `notify` is logged once per distinct place, counted, and never ends the
thread. When the system refuses watches the watcher polls and tells `notify` once which limit it was and how
to raise it.
"""

from __future__ import annotations

import logging
import platform
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from reverie.files.coalesce import Changes
from reverie.files.watch_plan import WatchTarget
from reverie.files.watch_session import Polling, WatchOptions, WatchSession
from reverie.files.watch_source import EventSource, Sink, SourceFactory

__all__ = ["Changes", "Polling", "WatchState", "WatchTarget", "Watcher"]

log = logging.getLogger("reverie.watch")


def native_source(sink: Sink) -> EventSource:
    """The best source of this system. Imports watchdog, which is why it is done late, on the watcher's
    thread.
    """
    from reverie.files.watch_observer import ObserverSource

    # Not sys.platform: the type checker, which knows it, would call the other branch unreachable.
    if platform.system() == "Linux":
        from watchdog.observers.inotify import InotifyObserver

        # So that a directory that is moved out of a watched tree can be told from one that is deleted.
        return ObserverSource(sink, partial(InotifyObserver, generate_full_events=True))
    from watchdog.observers import Observer

    return ObserverSource(sink, Observer)


@dataclass(frozen=True, slots=True)
class WatchState:
    """What a diagnostic shows. `watches` counts directories; `delivered_events` raw events in what was
    delivered, `delivered_rescans` deliveries that asked for a full scan; `missing` targets that are not there
    now; `failures` calls of `deliver` or `notify` that raised. The counters run on over stop and start."""

    mode: Literal["events", "polling", "stopped"]
    watches: int
    delivered_events: int
    delivered_rescans: int
    missing: tuple[Path, ...]
    message: str
    failures: int = 0


class Watcher:
    """Watches its targets from `start` to `stop`."""

    def __init__(
        self,
        deliver: Callable[[Changes], None],
        *,
        quiet_s: float = 0.15,
        cap_s: float = 1.0,
        reconcile_s: float | None = 300.0,
        polling: Polling = "auto",
        poll_s: float = 2.0,
        notify: Callable[[str], None],
        source: SourceFactory = native_source,
    ) -> None:
        self._deliver = deliver
        self._notify = notify
        self._options = WatchOptions(quiet_s, cap_s, reconcile_s, polling, poll_s, source)
        self._lock = threading.Lock()
        self._targets: tuple[WatchTarget, ...] = ()
        self._session: WatchSession | None = None
        self._events = 0
        self._rescans = 0
        self._failures = 0
        self._logged: set[tuple[str, str, int]] = set()

    def set_targets(self, targets: Sequence[WatchTarget]) -> None:
        """Watch exactly these. Returns at once; targets that are new are delivered as dirty when they are in
        place."""
        with self._lock:
            self._targets = tuple(targets)
            if self._session is not None:
                self._session.set_targets(self._targets)

    def start(self) -> None:
        """Returns at once; the first delivery is a rescan, made when the watches are in place. Again: no
        effect."""
        with self._lock:
            if self._session is None:
                self._session = WatchSession(
                    self._options, self._targets, deliver=self._hand_over, notify=self._tell
                )

    def stop(self) -> None:
        """Stop and join, within two seconds. Safe to call twice, and from `deliver`."""
        with self._lock:
            session, self._session = self._session, None
        if session is not None:
            session.stop()

    def request_rescan(self, reason: str) -> None:
        """Ask for a full scan; it is delivered as every change is. Nothing happens while stopped."""
        session = self._session
        if session is not None:
            session.request_rescan(reason)

    def state(self) -> WatchState:
        """How it watches now and what it delivered so far; a snapshot, from any thread."""
        session = self._session
        return WatchState(
            mode="stopped" if session is None else "polling" if session.polling else "events",
            watches=session.watches if session else 0,
            delivered_events=self._events,
            delivered_rescans=self._rescans,
            missing=session.missing if session else (),
            message=session.message if session else "",
            failures=self._failures,
        )

    def _hand_over(self, changes: Changes) -> bool:
        try:
            self._deliver(changes)
        except Exception as error:  # noqa: BLE001 - the thread goes on whatever a consumer does
            self._note_failure(error, "changed files could not be handed over")
            return False
        self._events += changes.events
        self._rescans += changes.rescan
        return True

    def _tell(self, message: str) -> None:
        try:
            self._notify(message)
        except Exception as error:  # noqa: BLE001 - as above
            self._note_failure(error, "a message of the watcher could not be shown")

    def _note_failure(self, error: Exception, what: str) -> None:
        self._failures += 1
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = (type(error).__name__, frame.filename, frame.lineno or 0)
        if place not in self._logged:
            self._logged.add(place)
            log.error("%s", what, exc_info=error)
