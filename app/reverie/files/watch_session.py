"""One run of the watcher, from start to stop: the thread that keeps watches in place and hands batches over.

The thread tends (re-arms roots that came, went or moved; replaces a source in trouble; falls back to
polling), then delivers what is due, then sleeps until the next event, timer or request. Sources only fill the
batch.

Order that keeps the promise "nothing is missed": a place is put under watch first, the disk is looked at
again until the plan stands still, and only then the place is reported as dirty. Whoever scans after a report
sees the rest as events.

Threading: `changed`, `roots_changed`, `trouble`, `report_given`, `request_rescan`, `set_targets`
may be called from any thread; everything else happens on the session's own. The lock guards the batch and the
requests, and is never held while the disk, a source or `deliver` is at work.
Failure: `deliver` and `notify` are called through guards of the owner and do not raise here. An error of ours
in tending is logged once; the source is made anew and everything rescanned.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reverie.files.coalesce import Changes, Coalescer
from reverie.files.watch_limits import FileSystems, network_message, refusal_message
from reverie.files.watch_plan import Placement, WatchPlan, WatchTarget, locate_all
from reverie.files.watch_poll import Poller
from reverie.files.watch_source import EventSource, SourceFactory

log = logging.getLogger("reverie.watch")

Polling = Literal["auto", "always", "never"]

# Roots that keep changing while they are armed are looked at again a moment later, not for ever.
_ROUNDS = 10
_STOP_S = 1.0


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """Times in seconds; `reconcile_s` None: no timer."""

    quiet_s: float
    cap_s: float
    reconcile_s: float | None
    polling: Polling
    poll_s: float
    source: SourceFactory


class WatchSession:
    """Implements `Sink` for its sources."""

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
        self._look = True
        self._trouble = ""
        self._targets = tuple(targets)
        self._plan = WatchPlan(())
        self._standing: dict[WatchTarget, Placement] = {}
        self._missing: tuple[Path, ...] = ()
        self._started = False
        self._source: EventSource | None = None
        self._replace_at = 0.0
        self._poller: Poller | None = None
        self._poll_all = options.polling == "always"
        self._file_systems = FileSystems()
        self._told: set[str] = set()
        self.message = ""
        self._thread = threading.Thread(target=self._run, name="reverie-watch", daemon=True)
        self._thread.start()

    # What others say, from any thread.

    def set_targets(self, targets: Sequence[WatchTarget]) -> None:
        """Watch these from now on; the thread of the session sees to it."""
        with self._wake:
            self._targets = tuple(targets)
            self._look = True
            self._wake.notify()

    def request_rescan(self, reason: str) -> None:
        """Tell the consumer to look at everything, with the next batch."""
        with self._wake:
            self._batch.request_rescan(reason, now=time.monotonic())
            self._wake.notify()

    def changed(self, paths: Sequence[str]) -> None:
        """Real paths from a source of events, one per event."""
        plan = self._plan
        routes = {path: plan.route(path) for path in set(paths)}
        events = sum(1 for path in paths if routes[path])
        given = [name for found in routes.values() for name in found]
        self._add(given, events, look=not plan.triggers.isdisjoint(routes))

    def report_given(self, paths: Sequence[str]) -> None:
        """Paths under the names the targets have: from the poller."""
        self._add(paths, len(paths), look=False)

    def roots_changed(self) -> None:
        """As `watch_source.Listener`: the targets are looked for again."""
        with self._wake:
            self._look = True
            self._wake.notify()

    def trouble(self, reason: str) -> None:
        """As `watch_source.Listener`; the first reason is told."""
        with self._wake:
            self._trouble = self._trouble or reason
            self._wake.notify()

    def _add(self, paths: Sequence[str], events: int, *, look: bool) -> None:
        with self._wake:
            idle = self._batch.due() is None
            self._batch.add(paths, now=time.monotonic(), events=events)
            self._look = self._look or look
            # Later events only postpone the batch: the thread wakes at the old time and sees for itself.
            if look or (idle and self._batch.due() is not None):
                self._wake.notify()

    # What the owner asks.

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
        """Join, or give up after a second when `deliver` or the disk does not return. Nothing more comes."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if threading.current_thread() is self._thread:
            return
        self._thread.join(_STOP_S)
        if self._thread.is_alive():
            log.info("the watcher's thread is still busy; it ends when what it waits for returns")
            self._close()

    # The session's own thread.

    def _run(self) -> None:
        next_look = 0.0
        reconcile = self._options.reconcile_s
        next_reconcile = time.monotonic() + reconcile if reconcile is not None else None
        try:
            while not self._stopping:
                now = time.monotonic()
                if next_reconcile is not None and reconcile is not None and now >= next_reconcile:
                    next_reconcile = now + reconcile
                    self.request_rescan("reconcile")
                if self._take_look() or now >= next_look:
                    self._tend_guarded()
                    next_look = time.monotonic() + self._options.poll_s
                self._hand_over()
                self._sleep(min(next_look, next_reconcile or next_look))
        finally:
            self._close()

    def _take_look(self) -> bool:
        with self._wake:
            asked = self._look or self._trouble_is_due()
            self._look = False
            return asked

    def _trouble_is_due(self) -> bool:
        return bool(self._trouble) and time.monotonic() >= self._replace_at

    def _sleep(self, until: float) -> None:
        with self._wake:
            while not (self._stopping or self._look or self._trouble_is_due()):
                times = [until, self._batch.due(), self._replace_at if self._trouble else None]
                pause = min(moment for moment in times if moment is not None) - time.monotonic()
                if pause <= 0:
                    return
                self._wake.wait(pause)

    def _hand_over(self) -> None:
        with self._wake:
            changes = self._batch.take(time.monotonic())
        if changes is not None and not self._stopping and not self._deliver(changes):
            # What was in the batch is lost to the consumer: the next one, whenever it comes, makes up for it.
            with self._wake:
                self._batch.owe_rescan("failed delivery")

    def _tend_guarded(self) -> None:
        try:
            self._tend()
        except Exception:  # the thread must outlive an error of ours, or the program goes deaf
            if not self._stopping:
                if "error" not in self._told:
                    self._told.add("error")
                    log.exception("the watches could not be put in order")
                self.trouble("error")

    def _tend(self) -> None:
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
        """Bring the watches in line with the targets and the disk, then report what that concerns."""
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
            self._look = True
        self._poll(polled)
        self._report(fresh)
        self._standing = {placement.target: placement for placement in self._plan.placements}
        self._missing = self._plan.missing
        if not self._started:
            self._started = True
            self.request_rescan("start")

    def _split(
        self, placements: Sequence[Placement]
    ) -> tuple[tuple[Placement, ...], tuple[WatchTarget, ...]]:
        """Those to be watched by events, and those to be looked at."""
        evented, polled = [], []
        for placement in placements:
            kind = ""
            if self._options.polling == "auto" and not self._poll_all:
                kind = self._file_systems.network_kind(placement.device)
            if kind:
                path = placement.target.path
                self._tell(f"network {kind}", network_message(path, kind, self._options.poll_s))
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
        """Poll from now on; where that is forbidden, keep the watches there are, and scan in full."""
        never = self._options.polling == "never"
        if self._tell("refused", refusal_message(error, poll_s=None if never else self._options.poll_s)):
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
        """Name what came, went, moved or was put under watch anew. At the start a rescan does for it all."""
        dirty: list[str] = []
        for placement in self._plan.placements if self._started else ():
            before = self._standing.get(placement.target)
            absent = before is not None and not before.present and not placement.present
            if not absent and (before != placement or not self._plan.relied_on(placement).isdisjoint(fresh)):
                dirty.extend(placement.target.named())
        if dirty:
            with self._wake:
                self._batch.add(dirty, now=time.monotonic(), reason="root")

    def _tell(self, subject: str, message: str) -> bool:
        """Say a thing once; whether it was said now."""
        if subject in self._told:
            return False
        self._told.add(subject)
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
