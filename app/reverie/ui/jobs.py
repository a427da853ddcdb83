"""Background work of the window: one long-lived thread per purpose, and exactly one end per job.

A `Lane` owns a QThread and a worker object that lives in it. `submit` hands over a callable, which runs
there; jobs run one after the other. Every job ends in exactly one of done, failed or cancelled, delivered
on the GUI thread, also when its thread is stopped or the job is superseded. Answers of superseded and
stopped jobs are dropped.

Threading: the methods of `Lane` are for the GUI thread; the job's callable and `JobControl` run on the
lane's thread. Only methods of QObjects are connected (a lambda would run on the emitter's thread). A
blocking job receives no queued signal, so it is cancelled through a `threading.Event`.

Failure: a `UserError` goes to the job's `failed` handler, to be shown inline. Anything else is a bug: it
goes to `sys.excepthook` on the GUI thread and the job ends as failed, so that no view waits for ever.
"""

from __future__ import annotations

import itertools
import logging
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from PySide6.QtCore import QObject, QThread, QTimer, Signal, Slot

from reverie.errors import UserError

log = logging.getLogger("reverie.jobs")
STOP_LIMIT_MS = 2000
PROGRESS_MS = 100

T = TypeVar("T")
Kind = Literal["done", "failed", "crashed", "cancelled"]
Failure = Callable[[UserError], None]


class JobCancelled(Exception):
    """Raised by a job that noticed its token."""


class JobControl:
    """What a job sees of its surroundings. Thread-safe."""

    def __init__(self, id_: int, stirred: Callable[[int], None]) -> None:
        self.cancel = threading.Event()
        self._id = id_
        self._stirred = stirred
        self._lock = threading.Lock()
        self._values: list[Any] = []

    def report(self, value: Any) -> None:
        """Progress: a frozen value. Any number of values costs one queued signal until they are collected."""
        with self._lock:
            self._values.append(value)
            first = len(self._values) == 1
        if first:
            self._stirred(self._id)

    def collect(self) -> tuple[Any, ...]:
        """What was reported since the last time; the window's side calls it."""
        with self._lock:
            values, self._values = tuple(self._values), []
        return values

    def check(self) -> None:
        """Raise `JobCancelled` if the job is not wanted any more."""
        if self.cancel.is_set():
            raise JobCancelled


@dataclass(frozen=True, slots=True)
class _Job:
    id: int
    name: str
    work: Callable[[JobControl], Any]
    control: JobControl


@dataclass(frozen=True, slots=True)
class _Outcome:
    id: int
    kind: Kind
    value: Any


@dataclass(slots=True, eq=False)
class Ticket:
    """One job that has not ended yet, as the lane keeps it."""

    id: int
    name: str
    group: str
    control: JobControl
    done: Callable[[Any], None]
    failed: Failure
    cancelled: Callable[[], None] | None
    progress: Callable[[Any], None] | None
    started: float = field(default_factory=time.monotonic)

    def cancel(self) -> None:
        """Ask the job to stop. It still ends in exactly one way."""
        self.control.cancel.set()


class _Worker(QObject):
    """Lives in the lane's thread."""

    ended = Signal(object)
    stirred = Signal(object)

    @Slot(object)
    def run(self, job: _Job) -> None:
        outcome = _Outcome(job.id, "cancelled", None)
        try:
            if not job.control.cancel.is_set():
                outcome = _Outcome(job.id, "done", job.work(job.control))
        except JobCancelled:
            pass
        except UserError as error:
            outcome = _Outcome(job.id, "failed", error)
        except Exception as error:  # noqa: BLE001 - handed to the crash path in the GUI thread
            outcome = _Outcome(job.id, "crashed", error)
        finally:
            self.ended.emit(outcome)

    def stir(self, job_id: int) -> None:
        self.stirred.emit(job_id)


class Lane(QObject):
    """One thread of work. `busy_changed(bool)` tells whether a job is open."""

    busy_changed = Signal(bool)
    unclaimed = Signal(object)  # UserError of a job without its own failure handler
    _submitted = Signal(object)

    _ids = itertools.count(1)

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.name = name
        self._open: dict[int, Ticket] = {}
        self._stopping = False
        self._stirring: set[int] = set()
        self._handed_over = 0
        self._since = 0.0
        self._thread = QThread()
        self._thread.setObjectName(f"reverie-{name}")
        self._worker = _Worker()
        self._worker.moveToThread(self._thread)
        # Queued, since each end lives in another thread than the one that emits; said by name it would make
        # every enum of `Qt` before the first paint.
        self._submitted.connect(self._worker.run)
        self._worker.ended.connect(self._on_ended)
        self._worker.stirred.connect(self._on_stirred)
        self._thread.finished.connect(self._worker.deleteLater)
        self._drain = single_shot(self, PROGRESS_MS, self._deliver_progress)
        self._thread.start()

    def submit(
        self,
        name: str,
        work: Callable[[JobControl], T],
        *,
        done: Callable[[T], None],
        failed: Failure | None = None,
        cancelled: Callable[[], None] | None = None,
        progress: Callable[[Any], None] | None = None,
        group: str = "",
    ) -> Ticket:
        """Run `work` on this lane. A job of the same non-empty `group` that is still open is superseded: it
        ends as cancelled now and its answer is dropped. After `stop` a job ends as cancelled at once."""
        job_id = next(self._ids)
        control = JobControl(job_id, self._worker.stir)
        ticket = Ticket(
            job_id, name, group, control, done, failed or self.unclaimed.emit, cancelled, progress
        )
        if self._stopping:
            _end_cancelled(ticket)
            return ticket
        for old in [old for old in self._open.values() if group and old.group == group]:
            self._drop(old)
        self._open[job_id] = ticket
        if len(self._open) == 1:
            self.busy_changed.emit(True)
        if not self._handed_over:
            self._since = time.monotonic()
        self._handed_over += 1
        self._submitted.emit(_Job(job_id, name, work, control))
        return ticket

    def abandon(self, group: str) -> None:
        """Supersede the open job of `group` with nothing."""
        for old in [old for old in self._open.values() if old.group == group]:
            self._drop(old)

    @property
    def busy(self) -> bool:
        return bool(self._open)

    @property
    def busy_seconds(self) -> float:
        """Seconds since the current job last reported progress; 0.0 when idle. Counts abandoned jobs too."""
        return time.monotonic() - self._since if self._handed_over and not self._stopping else 0.0

    def stop(self, limit_ms: int | None = None) -> bool:
        """Refuse new work, cancel what is open, end the thread. False if it did not end within the limit,
        `STOP_LIMIT_MS` unless told; the thread object must then stay alive until the process ends. Calling it
        again is harmless."""
        limit_ms = STOP_LIMIT_MS if limit_ms is None else limit_ms
        self._stopping = True
        self._drain.stop()
        for ticket in list(self._open.values()):
            self._drop(ticket)
        self._thread.quit()
        ended = self._thread.wait(limit_ms)
        if not ended:
            log.error("thread %s did not stop within %d ms", self.name, limit_ms)
            _stuck.append(self)
        return ended

    @Slot(object)
    def _on_ended(self, outcome: _Outcome) -> None:
        self._handed_over -= 1
        self._since = time.monotonic()
        ticket = self._open.get(outcome.id)
        if ticket is None:
            if outcome.kind == "crashed":
                _crash(outcome.value)
            return
        self._hand_over(ticket)
        del self._open[outcome.id]
        took = (time.monotonic() - ticket.started) * 1000
        log.debug("job %d %s: %s after %.0f ms", ticket.id, ticket.name, outcome.kind, took)
        try:
            self._end(ticket, outcome)
        finally:
            if not self._open:
                self.busy_changed.emit(False)

    def _end(self, ticket: Ticket, outcome: _Outcome) -> None:
        match outcome.kind:
            case "done":
                ticket.done(outcome.value)
            case "failed":
                ticket.failed(outcome.value)
            case "crashed":
                _crash(outcome.value)
                ticket.failed(_own_mistake(ticket.name, outcome.value))
            case "cancelled":
                if ticket.cancelled is not None:
                    ticket.cancelled()

    @Slot(object)
    def _on_stirred(self, job_id: int) -> None:
        self._since = time.monotonic()
        self._stirring.add(job_id)
        if not self._drain.isActive():
            self._drain.start()

    @Slot()
    def _deliver_progress(self) -> None:
        stirring, self._stirring = self._stirring, set()
        for job_id in stirring:
            ticket = self._open.get(job_id)
            if ticket is not None:
                self._hand_over(ticket)

    def _hand_over(self, ticket: Ticket) -> None:
        for value in ticket.control.collect():
            if ticket.progress is not None:
                ticket.progress(value)

    def _drop(self, ticket: Ticket) -> None:
        del self._open[ticket.id]
        ticket.cancel()
        _end_cancelled(ticket)
        if not self._open:
            self.busy_changed.emit(False)


def single_shot(parent: QObject, ms: int, slot: Callable[[], object]) -> QTimer:
    """A timer that calls `slot` once, `ms` after it was last started."""
    timer = repeating(parent, ms, slot)
    timer.setSingleShot(True)
    return timer


def repeating(parent: QObject, ms: int, slot: Callable[[], object]) -> QTimer:
    """A timer that calls `slot` every `ms` once it is started."""
    timer = QTimer(parent)
    timer.setInterval(ms)
    timer.timeout.connect(slot)
    return timer


@dataclass(frozen=True, slots=True)
class Lanes:
    """The threads of one window."""

    scan: Lane
    history: Lane
    consolidator: Lane

    def all(self) -> tuple[Lane, ...]:
        """Every thread of the window."""
        return (self.scan, self.history, self.consolidator)

    def busy(self) -> bool:
        """Whether anything is at work on any of them."""
        return any(lane.busy for lane in self.all())


# Lanes whose thread would not end: collecting a running QThread aborts the process.
_stuck: list[Lane] = []


def stuck_lanes() -> tuple[Lane, ...]:
    """Lanes that would not stop; the process must then end through `os._exit`."""
    return tuple(_stuck)


def _end_cancelled(ticket: Ticket) -> None:
    if ticket.cancelled is not None:
        ticket.cancelled()


def _crash(error: BaseException) -> None:
    sys.excepthook(type(error), error, error.__traceback__)


def _own_mistake(name: str, error: BaseException) -> UserError:
    return UserError(
        f"Reverie made a mistake during “{name}”.",
        cause=f"{type(error).__name__}.",
        next_step="The details are in the log; nothing else is affected.",
        reason="bug",
    )
