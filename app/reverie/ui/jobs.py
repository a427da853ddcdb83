"""Jobs that the GUI thread does not wait for: they send requests to an engine and continue with the results.

A job is a coroutine (`async def work(control)`), a single `Request`, or a short function. A `Lane` runs its
jobs one after the other. Every job ends in exactly one way, done, failed or cancelled, which is reported on
the GUI thread, even if the lane is stopped or the job is superseded by another one. Results of superseded and
stopped jobs are dropped.

Threading: call the methods of `Lane` on the GUI thread. A job runs on the thread of its lane, a QThread. The
lanes `writer` and `consolidator` have a thread each. All other lanes share one thread, the link, because a
job that waits for a result does not block its thread. Only methods of QObjects are connected to signals (a
lambda would run on the emitter's thread).

Failure: a `UserError` is passed to the job's `failed` handler, which shows it. Any other exception is a bug:
it is passed to `sys.excepthook` on the GUI thread, and the job ends as failed, so that no view waits for
ever.
"""

from __future__ import annotations

import itertools
import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, Literal, TypeVar

from PySide6.QtCore import QObject, QThread, QTimer, Signal, Slot

from reverie.engine.asking import CallCancelled, Request, never_wait
from reverie.errors import UserError
from reverie.values import Struct, field

log = logging.getLogger("reverie.jobs")
STOP_LIMIT_MS = 2000
LINK_PATIENCE_S = 0.5
"""Seconds that a job may wait for a lock on the thread that the lanes share."""
PROGRESS_MS = 100

T = TypeVar("T")
Kind = Literal["done", "failed", "crashed", "cancelled"]
Failure = Callable[[UserError], None]


class JobCancelled(Exception):
    """Raised inside a job after it has been cancelled, to end it."""


class JobControl:
    """The means of a job to report progress, to be cancelled, and to send requests. Thread-safe."""

    def __init__(self, id_: int, stirred: Callable[[int], None]) -> None:
        self.cancel = threading.Event()
        self._id = id_
        self._stirred = stirred
        self._lock = threading.Lock()
        self._values: list[Any] = []
        self._stop_asking: Callable[[], None] | None = None

    def report(self, value: Any) -> None:
        """Report progress: a frozen value for the `progress` handler of the job.

        All values that are reported before the GUI thread collects them are delivered by one signal.
        """
        with self._lock:
            self._values.append(value)
            first = len(self._values) == 1
        if first:
            self._stirred(self._id)

    def collect(self) -> tuple[Any, ...]:
        """Return the values that the job has reported since the last call. Call this on the GUI thread."""
        with self._lock:
            values, self._values = tuple(self._values), []
        return values

    def check(self) -> None:
        """Raise `JobCancelled` if the job has been cancelled."""
        if self.cancel.is_set():
            raise JobCancelled

    def stop(self) -> None:
        """Cancel the job, and the request whose result it awaits."""
        self.cancel.set()
        stop_asking = self._stop_asking
        if stop_asking is not None:
            stop_asking()

    def ask(self, request: Request[Any], ended: Callable[[Any, BaseException | None], None]) -> None:
        """Send a request of the job.

        `ended` is called once with the result and None, or with None and the error.
        """
        self._stop_asking = request.post(ended)
        if self.cancel.is_set():
            self._stop_asking()


Work = Request[T] | Callable[[JobControl], Coroutine[Any, Any, T] | T]
"""The work of a job: one request, a coroutine that may await several, or a short function."""


class _Job(Struct, frozen=True):
    id: int
    work: Work[Any]
    control: JobControl

    async def begin(self) -> Any:
        work = self.work if isinstance(self.work, Request) else self.work(self.control)
        return await work if isinstance(work, Request | Coroutine) else work


class _Reply(Struct, frozen=True):
    value: Any
    error: BaseException | None


class _Outcome(Struct, frozen=True):
    id: int
    kind: Kind
    value: Any


class Ticket(Struct, eq=False):
    """A job that was submitted, with its handlers; its submitter uses it to cancel the job."""

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
        """Request the job to stop.

        It still ends in exactly one way: done, failed or cancelled.
        """
        self.control.stop()


class _Worker(QObject):
    """The worker of one lane: it runs the jobs, one at a time, on the thread of the lane."""

    ended = Signal(object)
    stirred = Signal(object)
    _resumed = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._waiting: deque[_Job] = deque()
        self._job: _Job | None = None
        self._coroutine: Coroutine[Any, Any, Any] | None = None
        self._leaving = threading.RLock()
        self._has_left = False
        self._resumed.connect(self._go_on)

    @Slot(object)
    def run(self, job: _Job) -> None:
        never_wait()
        self._waiting.append(job)
        self._begin()

    def stir(self, job_id: int) -> None:
        self.stirred.emit(job_id)

    def _begin(self) -> None:
        while self._job is None and self._waiting:
            job = self._waiting.popleft()
            if job.control.cancel.is_set():
                self.ended.emit(_Outcome(job.id, "cancelled", None))
            else:
                self._job, self._coroutine = job, job.begin()
                self._go_on(_Reply(None, None))

    @Slot(object)
    def _go_on(self, answer: _Reply) -> None:
        """Continue the current job with the result of its last request, up to its next request or its end.

        `answer` contains the result or the error. For a job that has not begun, both are None.
        """
        job, coroutine = self._job, self._coroutine
        assert job is not None
        assert coroutine is not None
        try:
            error = answer.error
            request = coroutine.send(answer.value) if error is None else coroutine.throw(error)
            if job.control.cancel.is_set():
                request = coroutine.throw(JobCancelled())
            job.control.ask(request, self._answer)
            return
        except StopIteration as end:
            outcome = _Outcome(job.id, "done", end.value)
        except (JobCancelled, CallCancelled):
            outcome = _Outcome(job.id, "cancelled", None)
        except UserError as problem:
            outcome = _Outcome(job.id, "failed", problem)
        except Exception as problem:  # noqa: BLE001 - handed to the crash path in the GUI thread
            outcome = _Outcome(job.id, "crashed", problem)
        self._job = self._coroutine = None
        self.ended.emit(outcome)
        self._begin()

    def _answer(self, value: Any, error: BaseException | None) -> None:
        """Continue the job with the result or the error of its request, on the thread of the lane.

        This is called on the thread that reads the engine's connection. A lock ensures that nothing reaches a
        worker that is being deleted.
        """
        with self._leaving:
            if not self._has_left:
                self._resumed.emit(_Reply(value, error))

    def leave(self) -> None:
        """Ignore all further results, and delete the worker. Call this on the GUI thread."""
        with self._leaving:
            self._has_left = True
        self.deleteLater()


class Lane(QObject):
    """A queue of jobs that run one after the other.

    `own_thread`: the lane has its own thread; otherwise it shares one with other lanes.

    Signals: busy_changed(bool): True if there is a job that has not ended yet. unclaimed(UserError): A job
    that has no `failed` handler failed.
    """

    busy_changed = Signal(bool)
    unclaimed = Signal(object)  # UserError of a job without its own failure handler
    _submitted = Signal(object)

    _ids = itertools.count(1)
    _link: ClassVar[QThread | None] = None
    _on_link: ClassVar[set[int]] = set()
    """The ids of the lanes that share the thread `_link`, which ends with the last of them."""

    def __init__(self, name: str, parent: QObject | None = None, *, own_thread: bool = False) -> None:
        super().__init__(parent)
        self.name = name
        self._open: dict[int, Ticket] = {}
        self._stopping = False
        self._stirring: set[int] = set()
        self._handed_over = 0
        self._since = 0.0
        self._own_thread = own_thread
        self._thread: QThread | None = None
        self._worker: _Worker | None = None
        self._drain = single_shot(self, PROGRESS_MS, self._deliver_progress)

    def _started(self) -> _Worker:
        """Return the worker of the lane; the first call creates it and its thread."""
        if self._worker is None:
            worker = self._worker = _Worker()
            thread = self._thread = (
                _started(f"reverie-{self.name}") if self._own_thread else self._join_link()
            )
            worker.moveToThread(thread)
            self._submitted.connect(worker.run)
            worker.ended.connect(self._on_ended)
            worker.stirred.connect(self._on_stirred)
        return self._worker

    def _join_link(self) -> QThread:
        link = Lane._link
        if link is None:
            link = Lane._link = _started("reverie-link")
        Lane._on_link.add(id(self))
        return link

    def _leave_thread(self, limit_ms: int) -> bool:
        """Delete the worker, and end its thread if no other lane uses it.

        Returns False if the thread has not ended after `limit_ms`. If other lanes use the thread, returns
        True at once.
        """
        if self._worker is None or self._thread is None:
            return True
        self._worker.leave()
        if id(self) in Lane._on_link:
            Lane._on_link.remove(id(self))
            if Lane._on_link:
                return True
            Lane._link = None
        self._thread.quit()
        return self._thread.wait(limit_ms)

    def submit(
        self,
        name: str,
        work: Work[T],
        *,
        done: Callable[[T], None],
        failed: Failure | None = None,
        cancelled: Callable[[], None] | None = None,
        progress: Callable[[Any], None] | None = None,
        group: str = "",
    ) -> Ticket:
        """Add a job to this lane; return a handle by which it can be cancelled.

        `name` is for the log. `done` is called with the result; `progress` with each value that the job
        reports; `failed` with a `UserError`, and if it is None, `unclaimed` is emitted; `cancelled` if the
        job was cancelled. All are called on the GUI thread.

        `group`: a job of the same group that has not ended is superseded: it ends as cancelled at once, and
        its result is dropped; "" means no group. After `stop`, a new job ends as cancelled at once.
        """
        job_id = next(self._ids)
        control = JobControl(job_id, self._started().stir if not self._stopping else _nobody)
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
        self._submitted.emit(_Job(job_id, work, control))
        return ticket

    def abandon(self, group: str) -> None:
        """Cancel the job of `group` that has not ended, if there is one; its result is dropped."""
        for old in [old for old in self._open.values() if old.group == group]:
            self._drop(old)

    @property
    def busy(self) -> bool:
        return bool(self._open)

    @property
    def busy_seconds(self) -> float:
        """Seconds since the current job began or last reported progress; 0.0 if no job is running.

        A job that was abandoned counts until it has really ended.
        """
        return time.monotonic() - self._since if self._handed_over and not self._stopping else 0.0

    def stop(self, limit_ms: int | None = None) -> bool:
        """Refuse new jobs, cancel the others, and end the thread; later calls do nothing.

        Returns False if the thread has not ended after `limit_ms`, by default `STOP_LIMIT_MS`. The object of
        the thread must then be kept until the process ends.
        """
        if self._stopping:
            return True
        self._stopping = True
        self._drain.stop()
        for ticket in list(self._open.values()):
            self._drop(ticket)
        limit_ms = STOP_LIMIT_MS if limit_ms is None else limit_ms
        ended = self._leave_thread(limit_ms)
        if not ended:
            name = "" if self._thread is None else self._thread.objectName()
            log.error("thread %s did not stop within %d ms", name, limit_ms)
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


def _nobody(_job_id: int) -> None:
    """Ignore progress; used for jobs that are submitted after `stop`."""


def _started(name: str) -> QThread:
    thread = QThread()
    thread.setObjectName(name)
    thread.start()
    return thread


def single_shot(parent: QObject, ms: int, slot: Callable[[], object]) -> QTimer:
    """Return a timer that calls `slot` once, `ms` milliseconds after it was last started."""
    timer = repeating(parent, ms, slot)
    timer.setSingleShot(True)
    return timer


def repeating(parent: QObject, ms: int, slot: Callable[[], object]) -> QTimer:
    """Return a timer that, once started, calls `slot` every `ms` milliseconds."""
    timer = QTimer(parent)
    timer.setInterval(ms)
    timer.timeout.connect(slot)
    return timer


class Lanes(Struct, frozen=True):
    """The lanes (queues of jobs) that all homes of a window use."""

    scan: Lane
    """The lane of the jobs that read and write files of homes."""
    history: Lane
    """The lane of jobs that may take long, such as bringing the history up to date."""
    writer: Lane
    """The lane of the runs that write notes, with a thread of its own."""
    consolidator: Lane
    """The lane of the other runs, with a thread of its own."""

    def all(self) -> tuple[Lane, ...]:
        """Return all four lanes."""
        return (self.scan, self.history, self.writer, self.consolidator)

    def busy(self) -> bool:
        """Return True if any of the lanes has a job that has not ended."""
        return any(lane.busy for lane in self.all())


# Lanes whose thread would not end: collecting a running QThread aborts the process.
_stuck: list[Lane] = []


def stuck_lanes() -> tuple[Lane, ...]:
    """Return the lanes whose threads did not end in time.

    If there are any, the process must end with `os._exit`, because Python would wait for their threads.
    """
    return tuple(_stuck)


def _end_cancelled(ticket: Ticket) -> None:
    if ticket.cancelled is not None:
        ticket.cancelled()


def _crash(error: BaseException) -> None:
    sys.excepthook(type(error), error, error.__traceback__)


def _own_mistake(name: str, error: BaseException) -> UserError:
    return UserError(
        f"An internal error occurred during “{name}”.",
        cause=f"{type(error).__name__}.",
        next_step="See the log for details. Nothing else is affected.",
        reason="bug",
    )
