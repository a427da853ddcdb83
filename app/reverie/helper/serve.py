"""The helper process itself: takes calls from its input, does each on a thread of its own, says how they end.

Ends when its input ends: everything under way is cancelled, and what does not end by itself in time is left
to recovery, like any run of a dead process. Its standard output belongs to the frames; what anything prints
goes to the error stream.
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
from pathlib import Path
from typing import Any

from reverie.errors import MendableError
from reverie.helper.frames import FrameWriter, read_frame
from reverie.helper.tasks import TASKS, Desk, TaskControl, TaskStopped
from reverie.log_level import wanted_level
from reverie.profile import Profile

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
        self._desks: dict[tuple[Path, Profile], Desk] = {}
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
            answer = ("done", call_id, TASKS[task](self._desk(home, profile), control, *arguments))
        except MendableError as error:
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

    def _desk(self, home: Path, profile: Profile) -> Desk:
        """A lock for each home: the disk of one may hang, and must not hold up the others."""
        with self._lock:
            opening = self._opening.setdefault((home, profile), threading.Lock())
        with opening:
            desk = self._desks.get((home, profile))
            if desk is None or not desk.is_same_home():
                desk = self._desks[home, profile] = Desk.open(home, profile)
            return desk

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
