"""The helper process: runs the heavy methods of a workbench for the window, each call on its own thread.

What a task needs besides its arguments is on disk; what it changes reaches the window through the watcher.
The process ends when its input ends: everything under way is cancelled, and what does not end in time is left
to recovery. Standard output carries the frames only; prints go to standard error.

Failure: a task raises `UserError`, or `TaskStopped` where it was cancelled without an answer.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agents.scopes import ScopeContext, ScopeRoot
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.errors import UserError
from reverie.files.watch import Changes
from reverie.helper.process import FrameWriter, read_frame
from reverie.log_level import wanted_level
from reverie.memory.search.index import UpdateObserver, UpdateStopped
from reverie.memory.usage import UsageRestored
from reverie.profile import Profile
from reverie.services.views import MemoryView, RevertView, RunView
from reverie.services.workbench import Workbench

if TYPE_CHECKING:
    from reverie.jobs.consolidate.review import ReviewSelection
    from reverie.runs.record import Parts
    from reverie.services.lint import LintResult, LintService


# The tasks, by the names that the window calls.


LINT_SLICE_S = 2.0


class TaskStopped(Exception):
    """Cancelled, without an answer."""


@dataclass(frozen=True, slots=True)
class TaskControl:
    """`progress` reports to the window; `cancel` is set when it does not want the task any more."""

    cancel: threading.Event
    progress: Callable[[Any], None]

    def check(self) -> None:
        """Raises `TaskStopped` once somebody cancelled."""
        if self.cancel.is_set():
            raise TaskStopped


@dataclass(slots=True)
class TaskRunner:
    """One home. `views`: what the last check of its memories saw, by context."""

    workbench: Workbench
    views: dict[ScopeContext, MemoryView] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def open(cls, home: Path, profile: Profile) -> TaskRunner:
        """A desk on its own wiring of the home, in this process."""
        return cls(Workbench(open_parts(home, profile, system_clock)))

    def is_same_home(self) -> bool:
        """Whether the home at its path is still the one that was opened."""
        try:
            self.workbench.parts.require_same_home()
        except UserError:
            return False
        return True


def start_history(runner: TaskRunner, _control: TaskControl) -> None:
    runner.workbench.start_history()


def observe(runner: TaskRunner, _control: TaskControl, changes: Changes) -> UsageRestored:
    return runner.workbench.observe(changes)


def keep_usage(runner: TaskRunner, _control: TaskControl) -> UsageRestored:
    return runner.workbench.keep_usage()


def mark_opened(runner: TaskRunner, _control: TaskControl, context: ScopeContext) -> None:
    if not runner.workbench.history_started:
        runner.workbench.start_history()  # this process is a new one
    runner.workbench.mark_opened(context)


def unseen(runner: TaskRunner, _control: TaskControl, roots: Mapping[str, ScopeRoot]) -> frozenset[str]:
    return runner.workbench.unseen(roots)


def dream(
    runner: TaskRunner, control: TaskControl, context: ScopeContext, dry_run: bool, engine: str
) -> RunView:
    runner.workbench.parts.forget_settings()  # a person may have changed them in the window
    return runner.workbench.start_dream(
        context, dry_run=dry_run, engine=engine, progress=control.progress, cancel=control.cancel
    )


def apply_review(
    runner: TaskRunner, control: TaskControl, run_id: str, selection: ReviewSelection
) -> RunView:
    return runner.workbench.apply_review(run_id, selection, progress=control.progress, cancel=control.cancel)


def revert(runner: TaskRunner, _control: TaskControl, run_id: str, part: Parts | None = None) -> RevertView:
    return runner.workbench.revert(run_id, part)


def lint(
    runner: TaskRunner, control: TaskControl, context: ScopeContext, dirty: frozenset[Path]
) -> LintResult:
    """One look at the memories of a context, which are listed here as well: a listing of many thousands is
    dearer to send than to make."""
    with runner.lock:
        previous = runner.views.get(context)
        view = runner.workbench.view(context, previous=previous, dirty=dirty or None)
        runner.views = {context: view}
        linter: LintService = runner.workbench.lint
        return linter.look(view, dirty=dirty, slice_s=LINT_SLICE_S, check=control.check)


def update_index(runner: TaskRunner, control: TaskControl, dirty: frozenset[Path] | None) -> None:
    try:
        runner.workbench.update_index(dirty, UpdateObserver(control.cancel.is_set, control.progress))
    except UpdateStopped:
        raise TaskStopped from None


TASKS: Mapping[str, Callable[..., Any]] = {
    task.__name__: task
    for task in (
        start_history,
        observe,
        keep_usage,
        mark_opened,
        unseen,
        dream,
        apply_review,
        revert,
        lint,
        update_index,
    )
}


_LEAVE_S = 1.5
_NICENESS = 10


def main() -> int:
    """Serve until the input ends."""
    # The window, which a person looks at, comes first.
    with contextlib.suppress(OSError, AttributeError):
        os.nice(_NICENESS)
    with contextlib.suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    # A Ctrl+C in the terminal is the window's to handle.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    own = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    Server(FrameWriter(own)).serve(sys.stdin.buffer)
    return 0


class Server:
    """The calls under way."""

    def __init__(self, writer: FrameWriter) -> None:
        self._writer = writer
        self._controls: dict[int, TaskControl] = {}
        self._threads: dict[int, threading.Thread] = {}
        self._runners: dict[tuple[Path, Profile], TaskRunner] = {}
        self._opening: dict[tuple[Path, Profile], threading.Lock] = {}
        self._lock = threading.Lock()

    def serve(self, stream: Any) -> None:
        """Until `stream` ends. Then leaves the process if something does not end by itself."""
        root = logging.getLogger("reverie")
        root.setLevel(wanted_level(os.environ) or logging.INFO)
        root.addHandler(_ToWindow(self._writer))
        self._writer.send("ready", os.getpid())
        while (frame := read_frame(stream)) is not None:
            kind, call_id, *rest = frame
            if kind == "call":
                self._begin(call_id, *rest)
            elif kind == "cancel":
                control = self._controls.get(call_id)
                if control is not None:
                    control.cancel.set()
        self._leave()

    def _begin(self, call_id: int, task: str, home: Path, profile: Profile, arguments: Any) -> None:
        def report(value: Any) -> None:
            self._writer.send("progress", call_id, value)

        control = self._controls[call_id] = TaskControl(threading.Event(), report)
        thread = threading.Thread(
            target=self._do, args=(call_id, control, task, home, profile, arguments), name=task, daemon=True
        )
        self._threads[call_id] = thread
        thread.start()

    def _do(
        self, call_id: int, control: TaskControl, task: str, home: Path, profile: Profile, arguments: Any
    ) -> None:
        answer: tuple[Any, ...]
        try:
            answer = ("done", call_id, TASKS[task](self._runner(home, profile), control, *arguments))
        except UserError as error:
            answer = ("failed", call_id, error)
        except TaskStopped:
            answer = ("stopped", call_id)
        except Exception:  # noqa: BLE001 - handed to the window, which has the crash path
            answer = ("bug", call_id, traceback.format_exc())
        self._controls.pop(call_id, None)
        self._threads.pop(call_id, None)
        with contextlib.suppress(OSError):  # the window is gone; `serve` sees that too
            try:
                self._writer.send(*answer)
            except OSError:
                raise
            except Exception:  # noqa: BLE001 - an answer that cannot be sent must not leave the window waiting
                self._writer.send("bug", call_id, traceback.format_exc())

    def _runner(self, home: Path, profile: Profile) -> TaskRunner:
        """A lock for each home: the disk of one may hang, and must not hold up the others."""
        with self._lock:
            opening = self._opening.setdefault((home, profile), threading.Lock())
        with opening:
            runner = self._runners.get((home, profile))
            if runner is None or not runner.is_same_home():
                runner = self._runners[home, profile] = TaskRunner.open(home, profile)
            return runner

    def _leave(self) -> None:
        for control in list(self._controls.values()):
            control.cancel.set()
        until = time.monotonic() + _LEAVE_S
        for thread in list(self._threads.values()):
            thread.join(max(0.0, until - time.monotonic()))
        if self._threads:
            os._exit(0)


class _ToWindow(logging.Handler):
    """Sends what is logged to the window, whose log it belongs to."""

    def __init__(self, writer: FrameWriter) -> None:
        super().__init__()
        self._writer = writer

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._writer.send("log", record.levelno, record.name, record.getMessage())
        except OSError:
            return  # the window is gone, and its log with it
