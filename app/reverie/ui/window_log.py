"""The log of the window, and the file in which the interpreter reports its own crashes.

Threading: any thread may log. Failure: if there is no file, only the last records are kept, in memory.
"""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import os
import queue
from collections.abc import Iterator

from reverie.errors import UserError
from reverie.files.directory import open_regular
from reverie.files.log_file import asked_by, log_handler
from reverie.profile import Profile
from reverie.ui.crash_report import RecentRecords
from reverie.ui.jobs import JobControl

log = logging.getLogger("reverie.app")


class WaitingRecords(logging.Handler):
    """A log handler that keeps records in memory until the log file is open."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


class Log:
    """The log of the window: its last records in memory, and a file in the profile.

    A job calls `start_file` some time after the start, because the imports for it take time. From then on, a
    thread writes the file, beginning with the records from before, so that none is lost.
    """

    def __init__(self, profile: Profile) -> None:
        self.recent = RecentRecords()
        self._profile = profile
        self._waiting: WaitingRecords | None = WaitingRecords()
        self._root = logging.getLogger("reverie")
        self._undo = contextlib.ExitStack()

    def __enter__(self) -> Log:
        self._root.setLevel(logging.DEBUG if asked_by(os.environ) else logging.INFO)
        for handler in (self.recent, self._waiting):
            assert handler is not None
            self._root.addHandler(handler)
            self._undo.callback(self._root.removeHandler, handler)
        return self

    def __exit__(self, *_error: object) -> None:
        self.end()

    def end(self) -> None:
        """Write the waiting records, and close the file."""
        self.start_file()
        self._undo.close()

    def start_in_job(self, _control: JobControl) -> None:
        self.start_file()

    def start_file(self) -> None:
        """Start to write the log to the file as well; later calls do nothing."""
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            return
        # Late: a job calls this once the window is on screen.
        import logging.handlers

        self._root.removeHandler(waiting)
        try:
            file = log_handler(self._profile.log_file)
        except (OSError, UserError) as error:
            log.warning("no log file: %s", error)
            return
        self._undo.callback(file.close)
        passing: queue.SimpleQueue[logging.LogRecord] = queue.SimpleQueue()
        for record in waiting.records:
            passing.put(record)
        listener = logging.handlers.QueueListener(passing, file)
        listener.start()
        self._undo.callback(listener.stop)
        handler = logging.handlers.QueueHandler(passing)
        self._root.addHandler(handler)
        self._undo.callback(self._root.removeHandler, handler)


@contextlib.contextmanager
def faults_to(profile: Profile) -> Iterator[None]:
    """Context manager: if a signal such as SIGSEGV kills the process, a traceback is written to a file."""
    try:
        place = profile.ensure(profile.state / "logs") / "faults.log"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        file = os.fdopen(open_regular(place, flags), "a", encoding="utf-8")
    except (OSError, UserError) as error:
        log.warning("no file for faults: %s", error)
        yield
        return
    with file:
        faulthandler.enable(file)
        try:
            yield
        finally:
            faulthandler.disable()
