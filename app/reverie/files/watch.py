"""The watcher: reports changed paths, whoever changed them, by events or, without events, by polling.

Events are hints: `deliver` gets paths that may have changed, and its owner reads the truth from disk. Our own
writes are delivered like all others; their author is recorded elsewhere. Opening and reading a file is never
delivered. See `Changes` for the meaning of a path and `files.watch_sources` for names and symlinks.

A full scan is requested (`Changes.rescan`) at the start, on `request_rescan` (the window gains focus), by the
reconcile timer, after an overflow of the system's queue, after a burst of more than 5,000 paths, and after a
failed delivery. A root that appears, vanishes, is replaced or was out of reach is delivered as a changed
path.

The order of steps ensures that no change is missed: a directory is put under watch first, the disk is
examined again until the plan no longer changes, and only then is the directory reported as changed. Changes
after the scan that follows this report arrive as events.

Threading: every method may be called from any thread. `deliver` and `notify` are called on the watcher's own
thread, one at a time. After `stop` has returned nothing is delivered. Failure: an exception in `deliver` or
`notify` is logged once per distinct place, counted, and never ends the thread. When the system refuses
watches, the watcher polls and calls `notify` once with a message that names the limit and how to raise it.
"""

from __future__ import annotations

import logging
import platform
import threading
import time
import traceback
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from reverie.files.watch_changes import Changes, Coalescer
from reverie.files.watch_limits import FileSystems, network_message, refusal_message
from reverie.files.watch_poller import Poller
from reverie.files.watch_sources import (
    EventSource,
    Placement,
    Sink,
    SourceFactory,
    WatchPlan,
    WatchTarget,
    locate_all,
)
from reverie.values import Struct

log = logging.getLogger("reverie.watch")

Polling = Literal["auto", "always", "never"]

_ROUNDS = 10
"""The maximum number of attempts to watch roots that keep changing; the next check tries again."""
_STOP_S = 1.0


class WatchOptions(Struct, frozen=True):
    """The settings of a watcher; times are in seconds."""

    quiet_s: float
    """The time without a change after which a batch of changes is delivered."""
    cap_s: float
    """The longest time between the first change of a batch and its delivery."""
    reconcile_s: float | None
    """The time between full scans; None for no full scans."""
    polling: Polling
    """When to compare snapshots of the targets instead of waiting for events.

    `auto`: only where the system refuses watches or the file system sends no events.
    """
    poll_s: float
    """The time between snapshots."""
    source: SourceFactory
    """A function that creates the source of events."""


class WatchSession:
    """One run of the watcher, from start to stop: its thread maintains the watches and delivers batches.

    A watch is the system's report of changes in one directory, a source (`EventSource`) manages all watches,
    and a batch (`Changes`) is a set of changed paths. In a loop, the thread updates the watches if targets
    appeared, vanished or moved, replaces a source that is no longer reliable or polls in its place, and
    delivers the batch if it is due. Then it sleeps until the next event, timer or request. Sources only add
    to the batch. Implements `Sink` for its sources.

    Threading: `changed`, `roots_changed`, `trouble`, `report_given`, `request_rescan`, `set_targets` and
    `stop` may be called from any thread; the work is done on the session's own. The lock guards the batch and
    the requests, and is never held during work on the disk, in a source or in `deliver`. Failure: `deliver`
    and `notify` are wrapped by the owner and do not raise here. A bug in the update of the watches is logged
    once; the source is replaced and everything is scanned again.
    """

    def __init__(
        self,
        options: WatchOptions,
        targets: Sequence[WatchTarget],
        *,
        deliver: Callable[[Changes], bool],
        notify: Callable[[str], None],
    ) -> None:
        self._options = options
        self._deliver = deliver
        self._notify = notify
        self._wake = threading.Condition()
        self._batch = Coalescer(quiet_s=options.quiet_s, cap_s=options.cap_s)
        self._stopping = False
        self._check_needed = True
        self._trouble = ""
        self._targets = tuple(targets)
        self._plan = WatchPlan(())
        self._placed: dict[WatchTarget, Placement] = {}
        self._missing: tuple[Path, ...] = ()
        self._started = False
        self._source: EventSource | None = None
        self._replace_at = 0.0
        self._poller: Poller | None = None
        self._poll_all = options.polling == "always"
        self._file_systems = FileSystems()
        self._announced: set[str] = set()
        self.message = ""
        self._thread = threading.Thread(target=self._run, name="reverie-watch", daemon=True)
        self._thread.start()

    def set_targets(self, targets: Sequence[WatchTarget]) -> None:
        """Replace the targets (directories and files to watch); the session's thread applies the change."""
        with self._wake:
            self._targets = tuple(targets)
            self._check_needed = True
            self._wake.notify()

    def request_rescan(self, reason: str) -> None:
        """Add a request for a full scan to the batch.

        `reason`: a word or two, which is delivered with the batch.
        """
        with self._wake:
            self._batch.request_rescan(reason, now=time.monotonic())
            self._wake.notify()

    def changed(self, paths: Sequence[str]) -> None:
        """Add changed paths to the batch: the real path of each event, as reported by the source."""
        plan = self._plan
        routes = {path: plan.route(path) for path in set(paths)}
        events = sum(1 for path in paths if routes[path])
        given = [name for found in routes.values() for name in found]
        self._add(given, events, check=not plan.triggers.isdisjoint(routes))

    def report_given(self, paths: Sequence[str]) -> None:
        """Add changed paths from polling to the batch.

        They are spelled as in the targets, with symlinks not resolved.
        """
        self._add(paths, len(paths), check=False)

    def roots_changed(self) -> None:
        """Request that the targets are located on the disk again.

        Called because a watched directory vanished or moved. Part of `watch_sources.Sink`.
        """
        with self._wake:
            self._check_needed = True
            self._wake.notify()

    def trouble(self, reason: str) -> None:
        """Request that the source of events is replaced, because it is no longer reliable.

        Part of `watch_sources.Sink`. `reason` is reported; of several reasons, the first one.
        """
        with self._wake:
            self._trouble = self._trouble or reason
            self._wake.notify()

    def _add(self, paths: Sequence[str], events: int, *, check: bool) -> None:
        with self._wake:
            idle = self._batch.due() is None
            self._batch.add(paths, now=time.monotonic(), events=events)
            self._check_needed = self._check_needed or check
            # Later events only postpone the batch: the thread wakes at the old time and calculates anew.
            if check or (idle and self._batch.due() is not None):
                self._wake.notify()

    @property
    def polling(self) -> bool:
        return self._poll_all or (self._poller is not None and self._source is None)

    @property
    def watches(self) -> int:
        source, poller = self._source, self._poller
        return (source.watches if source else 0) + (poller.watches if poller else 0)

    @property
    def missing(self) -> tuple[Path, ...]:
        poller = self._poller
        return self._missing + (poller.missing if poller else ())

    def stop(self) -> None:
        """Stop the thread, and wait at most a second for it to end; nothing is delivered afterwards.

        It does not end in time if `deliver` or the disk does not respond.
        """
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if threading.current_thread() is self._thread:
            return
        self._thread.join(_STOP_S)
        if self._thread.is_alive():
            log.info("the watcher's thread is still busy; it ends when what it waits for returns")
            self._close()

    def _run(self) -> None:
        next_check = 0.0
        reconcile = self._options.reconcile_s
        next_reconcile = time.monotonic() + reconcile if reconcile is not None else None
        try:
            while not self._stopping:
                now = time.monotonic()
                if next_reconcile is not None and reconcile is not None and now >= next_reconcile:
                    next_reconcile = now + reconcile
                    self.request_rescan("reconcile")
                if self._pop_check() or now >= next_check:
                    self._maintain_guarded()
                    next_check = time.monotonic() + self._options.poll_s
                self._hand_over()
                self._sleep(min(next_check, next_reconcile or next_check))
        finally:
            self._close()

    def _pop_check(self) -> bool:
        with self._wake:
            asked = self._check_needed or self._trouble_is_due()
            self._check_needed = False
            return asked

    def _trouble_is_due(self) -> bool:
        return bool(self._trouble) and time.monotonic() >= self._replace_at

    def _sleep(self, until: float) -> None:
        with self._wake:
            while not (self._stopping or self._check_needed or self._trouble_is_due()):
                times = [until, self._batch.due(), self._replace_at if self._trouble else None]
                pause = min(moment for moment in times if moment is not None) - time.monotonic()
                if pause <= 0:
                    return
                self._wake.wait(pause)

    def _hand_over(self) -> None:
        with self._wake:
            changes = self._batch.take(time.monotonic())
        if changes is not None and not self._stopping and not self._deliver(changes):
            # The consumer lost this batch: the next one, whenever it is due, makes up for it.
            with self._wake:
                self._batch.owe_rescan("failed delivery")

    def _maintain_guarded(self) -> None:
        try:
            self._maintain()
        except Exception:  # the thread must outlive an error of ours, or changes would go unnoticed
            if not self._stopping:
                if "error" not in self._announced:
                    self._announced.add("error")
                    log.exception("the watches could not be put in order")
                self.trouble("error")

    def _maintain(self) -> None:
        with self._wake:
            due = self._trouble_is_due()
            trouble = self._trouble if due else ""
            self._trouble = "" if due else self._trouble
        if self._source is not None and not trouble and not self._source.healthy():
            trouble = "source ended"
        if trouble:
            self._replace_at = time.monotonic() + self._options.cap_s
            log.info("the source of file events is replaced: %s", trouble)
            self._drop_source()
        self._arm()
        if trouble:
            self.request_rescan(trouble)

    def _arm(self) -> None:
        """Watch the directories that the targets need now, then add the targets that changed to the batch."""
        targets = tuple(dict.fromkeys(self._targets))
        fresh: set[str] = set()
        armed: tuple[Placement, ...] | None = None
        for _ in range(_ROUNDS):
            placements, polled = self._split(locate_all(targets))
            if placements == armed:
                break
            self._plan = WatchPlan(placements)
            fresh |= self._watch(self._plan)
            armed = placements
        else:
            self._check_needed = True
        self._poll(polled)
        self._report(fresh)
        self._placed = {placement.target: placement for placement in self._plan.placements}
        self._missing = self._plan.missing
        if not self._started:
            self._started = True
            self.request_rescan("start")

    def _split(
        self, placements: Sequence[Placement]
    ) -> tuple[tuple[Placement, ...], tuple[WatchTarget, ...]]:
        """Return the placements to watch by events, and the targets of the others, which are polled.

        A placement is the current location of a target on the disk.
        """
        evented, polled = [], []
        for placement in placements:
            kind = ""
            if self._options.polling == "auto" and not self._poll_all:
                kind = self._file_systems.network_kind(placement.device)
            if kind:
                path = placement.target.path
                self._announce(f"network {kind}", network_message(path, kind, self._options.poll_s))
            if kind or self._poll_all:
                polled.append(placement.target)
            else:
                evented.append(placement)
        return tuple(evented), tuple(polled)

    def _watch(self, plan: WatchPlan) -> frozenset[str]:
        if self._poll_all or self._stopping or not (plan.directories or self._source):
            return frozenset()
        try:
            if self._source is None:
                self._source = self._options.source(self)
            return self._source.arm(plan.directories)
        except OSError as error:
            if not self._stopping:
                self._fall_back(error)
            return frozenset()

    def _fall_back(self, error: OSError) -> None:
        """Poll all targets from now on, because the system refused more watches with `error`.

        If the settings forbid polling, keep the existing watches and request a full scan.
        """
        never = self._options.polling == "never"
        if self._announce("refused", refusal_message(error, poll_s=None if never else self._options.poll_s)):
            self.request_rescan("refused")
        if not never:
            self._poll_all = True
            self._drop_source()

    def _poll(self, targets: tuple[WatchTarget, ...]) -> None:
        if targets and self._poller is None and not self._stopping:
            self._poller = Poller(interval_s=self._options.poll_s, report=self.report_given)
        if self._poller is not None:
            self._poller.set_targets(targets)

    def _report(self, fresh: Collection[str]) -> None:
        """Add the targets that appeared, vanished, moved or were put under watch again to the batch.

        `fresh`: the directories that had no working watch before. At the start nothing is added, because the
        first delivery is a full scan.
        """
        dirty: list[str] = []
        for placement in self._plan.placements if self._started else ():
            before = self._placed.get(placement.target)
            absent = before is not None and not before.present and not placement.present
            if not absent and (before != placement or not self._plan.relied_on(placement).isdisjoint(fresh)):
                dirty.extend(placement.target.named())
        if dirty:
            with self._wake:
                self._batch.add(dirty, now=time.monotonic(), reason="root")

    def _announce(self, subject: str, message: str) -> bool:
        """Log `message` and show it to the user, but only the first time for each `subject`.

        `subject`: a key that messages about the same fact share, such as "refused". Returns whether this was
        the first time.
        """
        if subject in self._announced:
            return False
        self._announced.add(subject)
        self.message = f"{self.message} {message}".strip()
        log.info("%s", message)
        self._notify(message)
        return True

    def _drop_source(self) -> None:
        with self._wake:
            source, self._source = self._source, None
        if source is not None:
            source.close()

    def _close(self) -> None:
        self._drop_source()
        with self._wake:
            poller, self._poller = self._poller, None
        if poller is not None:
            poller.close()


__all__ = ["Changes", "Polling", "WatchState", "WatchTarget", "Watcher"]


def native_source(sink: Sink) -> EventSource:
    """Return the best source of file events that this system offers; it reports to `sink`.

    Imports watchdog, and is therefore called late, on the watcher's thread.
    """
    from reverie.files.watch_observer import ObserverSource

    # Not sys.platform: the type checker, which knows it, would call the other branch unreachable.
    if platform.system() == "Linux":
        from watchdog.observers.inotify import InotifyObserver

        # Full events distinguish a directory that is moved out of a watched tree from a deleted one.
        return ObserverSource(sink, partial(InotifyObserver, generate_full_events=True))
    from watchdog.observers import Observer

    return ObserverSource(sink, Observer)


class WatchState(Struct, frozen=True):
    """The state of the watcher for diagnostics: its watches, deliveries, messages and failures.

    The counters are never reset, not even by a new start.
    """

    mode: Literal["events", "polling", "stopped"]
    watches: int
    """The number of watched directories."""
    delivered_events: int
    """The number of raw events in the delivered batches."""
    delivered_rescans: int
    """The number of deliveries that requested a full scan."""
    missing: tuple[Path, ...]
    """The targets that do not exist now."""
    message: str
    """All messages for the user since the start, as one text."""
    failures: int = 0
    """The number of calls of `deliver` or `notify` that raised."""


class Watcher:
    """A watch on a set of targets (directories and files), from `start` to `stop`.

    `deliver` gets each batch of changed paths, and `notify` each message for the user, both on the watcher's
    thread. A batch is delivered after `quiet_s` seconds without a change, at the latest `cap_s` seconds after
    its first change. `reconcile_s`: the seconds between full scans (None: none). `polling`: "always";
    "never"; or "auto", which polls only where the system refuses watches or the file system sends no events.
    `poll_s`: the seconds between snapshots while polling. `source` creates the source of events.
    """

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
        """Replace the targets and return at once.

        New targets are delivered as changed paths once they are watched.
        """
        with self._lock:
            self._targets = tuple(targets)
            if self._session is not None:
                self._session.set_targets(self._targets)

    def start(self) -> None:
        """Start watching; does nothing if started already.

        Returns at once. The first delivery requests a full scan, when the watches are in place.
        """
        with self._lock:
            if self._session is None:
                self._session = WatchSession(
                    self._options, self._targets, deliver=self._hand_over, notify=self._tell
                )

    def stop(self) -> None:
        """Stop watching, and wait at most two seconds for the threads to end.

        May be called twice, and from `deliver`.
        """
        with self._lock:
            session, self._session = self._session, None
        if session is not None:
            session.stop()

    def request_rescan(self, reason: str) -> None:
        """Deliver a batch that requests a full scan (`Changes.rescan`).

        It is delivered like a change; nothing is delivered while the watcher is stopped. `reason`: a word or
        two for the delivered batch, such as "focus".
        """
        session = self._session
        if session is not None:
            session.request_rescan(reason)

    def state(self) -> WatchState:
        """Return a snapshot of the watcher's state and counters, from any thread."""
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
        except Exception as error:  # noqa: BLE001 - the thread must outlive any error of a consumer
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
