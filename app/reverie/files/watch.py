"""The watcher: sets of dirty paths, from whoever changed them, by events where they can be had.

Events are hints: `deliver` gets paths to look at again, and whoever gets them reads the truth from disk. Own
writes are delivered like all others; who did it is told elsewhere. Opening and reading is never delivered.
See `Changes` for what a path means, `files.watch_sources` for names and symlinks, `files.watch` for the
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

import errno
import logging
import os
import platform
import threading
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Literal

from reverie.files.watch_sources import (
    EventSource,
    Placement,
    Poller,
    Sink,
    SourceFactory,
    WatchPlan,
    WatchTarget,
    locate_all,
)
from reverie.resources import resource_table
from reverie.values import Struct

# Many events in, few sets of dirty paths out.
#
# Pure: the caller hands in the time (monotonic seconds) and asks. Two timers decide when a batch is due:
# quiet time since the last event, and a cap since the first one, so that a steady writer cannot postpone
# delivery for ever. Whatever was added is covered by the next batch: by its path, or by `rescan`.
#
# Threading: none; the owner serialises calls.


# Beyond this many paths a full scan is cheaper than visiting each, and keeping them would cost memory for
# nothing.
BURST_PATHS = 5_000


class Changes(Struct, frozen=True, dict=True):
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
        """Return whether something at `path`, below it or above it may have changed."""
        if self.rescan or path in self.paths or not self.paths.isdisjoint(path.parents):
            return True
        return any(dirty.is_relative_to(path) for dirty in self.paths)

    def merged(self, later: Changes) -> Changes:
        """These and `later`, as one."""
        return Changes(
            self.paths | later.paths,
            self.rescan or later.rescan,
            self.events + later.events,
            tuple(dict.fromkeys((*self.reasons, *later.reasons))),
        )


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


# When events cannot be had, and how to say so: one sentence on what happened, one on what to do.
#
# The table of file systems (`resources/file_systems.toml`) is a judgement: network and host-shared file
# systems deliver no event for a change that was made on the other side. `watch.polling` in the settings
# overrides it.


@cache
def network_file_systems() -> frozenset[str]:
    """The kinds of file system that tell nobody of changes made elsewhere."""
    return frozenset(resource_table("file_systems.toml")["network"])


_MOUNTS = Path("/proc/self/mountinfo")
_LIMITS = Path("/proc/sys/fs/inotify")


def refusal_message(error: OSError, *, poll_s: float | None, limits: Path = _LIMITS) -> str:
    """What to tell a person when the system refuses watches: the limit, its number, how to raise it.

    `poll_s` is how often the folders are looked through instead, None if they are not.
    """
    instead = (
        f"Reverie looks through the memory folders every {poll_s:g} s instead; changes show a little later."
        if poll_s is not None
        else "Polling is switched off in the settings, so some changes show only at the next full scan."
    )
    if error.errno == errno.ENOSPC:
        return f"{_limit('max_user_watches', 'watched folders', 524_288, limits)} {instead}"
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return (
            f"{_limit('max_user_instances', 'programs that watch', 1_024, limits)} "
            f"If that is not it, raise the limit of open files (ulimit -n). {instead}"
        )
    return f"The system refuses to watch the memory folders ({os.strerror(error.errno or 0)}). {instead}"


def _limit(name: str, counts: str, least: int, limits: Path) -> str:
    try:
        current = int((limits / name).read_text("ascii"))
    except (OSError, ValueError):
        return f"The system's limit of {counts} is reached; raise it, then start Reverie again."
    wanted = max(least, 2 * current)
    return (
        f"The limit of {counts}, fs.inotify.{name} = {current}, is reached. "
        f"To raise it: sudo sysctl fs.inotify.{name}={wanted}, then start Reverie again."
    )


def network_message(path: Path, kind: str, poll_s: float) -> str:
    """What to tell a person about a folder whose file system sends no events."""
    return (
        f"{path} lies on a network or shared file system ({kind}), which does not report changes. "
        f'Reverie looks through it every {poll_s:g} s. The setting watch.polling = "never" turns this off.'
    )


class FileSystems:
    """Which kind of file system a device number is; the mount table is read again for each unknown device."""

    def __init__(self, mounts: Path = _MOUNTS) -> None:
        self._mounts = mounts
        self._kinds: dict[int, str] = {}

    def network_kind(self, device: int) -> str:
        """The kind, if it is one that sends no events; else empty."""
        if device not in self._kinds:
            self._kinds |= self._read()
        kind = self._kinds.setdefault(device, "")
        return kind if kind in network_file_systems() else ""

    def _read(self) -> Mapping[int, str]:
        try:
            table = self._mounts.read_text("utf-8", "surrogateescape")
        except OSError:  # not Linux, or no /proc: events are tried, and the reconcile timer remains
            return {}
        return parse_mounts(table)


def parse_mounts(table: str) -> dict[int, str]:
    """Device number to file-system kind, from the text of mountinfo. Lines of another shape are passed
    over.
    """
    kinds: dict[int, str] = {}
    for line in table.splitlines():
        left, separator, right = line.partition(" - ")
        fields, kind = left.split(), right.split()
        major, _, minor = fields[2].partition(":") if separator and len(fields) > 2 else ("", "", "")
        if kind and major.isdigit() and minor.isdigit():
            kinds[os.makedev(int(major), int(minor))] = kind[0]
    return kinds


# One run of the watcher, from start to stop: the thread that keeps watches in place and hands batches over.
#
# The thread tends (re-arms roots that came, went or moved; replaces a source in trouble; falls back to
# polling), then delivers what is due, then sleeps until the next event, timer or request. Sources only fill
# the batch.
#
# Order that keeps the promise "nothing is missed": a place is put under watch first, the disk is looked at
# again until the plan stands still, and only then the place is reported as dirty. Whoever scans after a
# report sees the rest as events.
#
# Threading: `changed`, `roots_changed`, `trouble`, `report_given`, `request_rescan`, `set_targets` may be
# called from any thread; everything else happens on the session's own. The lock guards the batch and the
# requests, and is never held while the disk, a source or `deliver` is at work. Failure: `deliver` and
# `notify` are called through guards of the owner and do not raise here. An error of ours in tending is
# logged once; the source is made anew and everything rescanned.


log = logging.getLogger("reverie.watch")

Polling = Literal["auto", "always", "never"]

# Roots that keep changing while they are armed are looked at again a moment later, not for ever.
_ROUNDS = 10
_STOP_S = 1.0


class WatchOptions(Struct, frozen=True):
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
        """As `watch_sources.Sink`: the targets are looked for again."""
        with self._wake:
            self._look = True
            self._wake.notify()

    def trouble(self, reason: str) -> None:
        """As `watch_sources.Sink`; the first reason is told."""
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


__all__ = ["Changes", "Polling", "WatchState", "WatchTarget", "Watcher"]


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


class WatchState(Struct, frozen=True):
    """What a diagnostic shows. `watches` counts directories; `delivered_events` raw events in what was
    delivered, `delivered_rescans` deliveries that asked for a full scan; `missing` targets that are not there
    now; `failures` calls of `deliver` or `notify` that raised. The counters run on over stop and start.
    """

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
        place.
        """
        with self._lock:
            self._targets = tuple(targets)
            if self._session is not None:
                self._session.set_targets(self._targets)

    def start(self) -> None:
        """Returns at once; the first delivery is a rescan, made when the watches are in place. Again: no
        effect.
        """
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
