"""The application around the window: diagnostics first, then Qt, then paint, and only then the heavy
libraries.

`run_window` blocks until the window is closed and returns the exit code. Nothing is imported here that the
first paint does not need; homes are opened by jobs afterwards.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import logging
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QTimer
from PySide6.QtWidgets import QApplication

import reverie.ui.plain_imports  # noqa: F401 - before the imports that it makes cheaper
from reverie.clock import Clock, system_clock
from reverie.errors import MendableError
from reverie.log_level import asked_by
from reverie.profile import Profile
from reverie.ui.crash import CrashReporter, RecentRecords
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, stuck_lanes
from reverie.ui.look import LookControl, read_look
from reverie.ui.main_window import Beginning, MainWindow
from reverie.ui.remembered import Remembered, read_remembered
from reverie.ui.settle import Screenshot
from reverie.ui.single_instance import Instance, Wish, activation_token
from reverie.ui.stop_signals import StopSignals

if TYPE_CHECKING:
    from reverie.ui.session_store import SessionStore

log = logging.getLogger("reverie.app")
LOG_BYTES = 1_000_000
LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
SWITCH_S = 0.0005
GC_THRESHOLD = 50_000
SCREENSHOT_LIMIT_MS = 60_000
LISTEN_LATEST_MS = 3_000


def run_window(
    *,
    homes: Sequence[Path] = (),
    profile: Profile | None = None,
    clock: Clock = system_clock,
    workspace_id: str | None = None,
    demo: bool = False,
    offscreen: bool = False,
    screenshot: Path | None = None,
) -> int:
    """Show the window on `homes` (none: those that are found). With `screenshot`: save a picture and end.
    Where a window of the profile is open already, it is asked to show them."""
    if offscreen or screenshot is not None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    problem = display_problem(os.environ, sys.platform)
    if problem:
        sys.stderr.write(problem + "\n")
        return 1
    scratch = Path(tempfile.mkdtemp(prefix="reverie-demo-"))
    profile = profile or Profile.default()
    if demo and profile == Profile.default():
        # A throw-away home leaves no history behind either.
        profile = Profile.under(scratch / "profile")
    instance = Instance(profile) if screenshot is None else None
    if instance is not None and not instance.is_first:
        problem = instance.hand_over(Wish(tuple(homes), workspace_id or "", demo, activation_token()))
        if problem:
            sys.stderr.write(f"reverie: {problem}\n")
        shutil.rmtree(scratch, ignore_errors=True)
        return 1 if problem else 0
    try:
        with Log(profile) as logged, faults_to(profile):
            application = make_application()
            reporter = CrashReporter(logged.recent)
            reporter.install()
            beginning = Beginning(
                tuple(homes),
                workspace_id or "",
                scratch / "demo",
                open_demo=demo,
                watching=screenshot is None,
                # A clock that stands still, as `--now` asks, is not known to another process.
                helper=screenshot is None and clock is system_clock,
            )
            remembered = read_remembered(profile) if screenshot is None else Remembered()
            if not homes and not demo and remembered.home and is_or_may_be(remembered.home):
                place = Path(remembered.home), workspace_id or remembered.workspace
                beginning = beginning._replace(homes=place[:1], workspace=place[1], and_found=True)
            try:
                return _run(application, profile, clock, beginning, screenshot, instance, remembered, logged)
            finally:
                reporter.uninstall()
    finally:
        if instance is not None:
            instance.close()
        shutil.rmtree(scratch, ignore_errors=True)


def make_application() -> QApplication:
    """The application, with the native style; offscreen there is none, so Fusion."""
    existing = QApplication.instance()
    application = existing if isinstance(existing, QApplication) else QApplication(["reverie"])
    application.setApplicationName("reverie")
    application.setApplicationDisplayName("Reverie")
    application.setDesktopFileName("org.reverie_memory.reverie")
    # A worker that computes in Python keeps the interpreter for this long at a time, and painting asks for it
    # hundreds of times: the default of 5 ms is felt.
    sys.setswitchinterval(SWITCH_S)
    # Trees of ten thousand values are built at once; collecting after every 700 of them costs more than
    # building.
    gc.set_threshold(GC_THRESHOLD)
    if application.platformName() == "offscreen" and application.style().objectName() != "fusion":
        application.setStyle("Fusion")
    return application


def _run(
    application: QApplication,
    profile: Profile,
    clock: Clock,
    beginning: Beginning,
    screenshot: Path | None,
    instance: Instance | None,
    remembered: Remembered,
    logged: Log,
) -> int:
    look = LookControl(application)
    look.begin(read_look(profile.settings_file))
    icons = Icons()
    application.setWindowIcon(icons.icon("reverie"))
    window = MainWindow(profile, clock, icons, beginning, furnish=screenshot is not None)

    stores: list[SessionStore] = []

    def furnished() -> None:
        from reverie.ui.session_store import SessionStore

        window.lanes.history.submit("start the log file", logged.start_in_job, done=_nothing_more)

        if screenshot is None:
            stores.append(SessionStore(window, remembered, place=beginning.and_found))
            if is_first_start(remembered, demo=beginning.open_demo):
                from reverie.ui.welcome import FirstStart

                FirstStart(window)
        window.settings.look_changed.connect(look.apply)
        if instance is not None:
            instance.asked.connect(window.take_wish)
            window.late.built.connect(instance.listen)
            QTimer.singleShot(LISTEN_LATEST_MS, instance.listen)

    if screenshot is None:
        window.furnished.connect(furnished)
    else:
        furnished()
    restore_geometry(window, remembered)
    window.show()
    if screenshot is None:
        stop = StopSignals()
        stop.asked.connect(window.close)
        with stop.listening():
            code = application.exec()
    else:
        code = Screenshot(window, screenshot).take(SCREENSHOT_LIMIT_MS)
    for store in stores:
        assert beginning.demo is not None
        store.keep(profile, beginning.demo)
    window.shut_down()
    if stuck_lanes():
        log.error("a thread would not end; leaving without it")
        logging.shutdown()
        os._exit(code)
    return code


def is_or_may_be(place: str, *, within_s: float = 1.0) -> bool:
    """Whether there is a directory, also where the disk does not answer: to be opened, since a job may wait
    for that, and no window appears while this thread does."""
    found: list[bool] = []
    look = threading.Thread(target=lambda: found.append(Path(place).is_dir()), daemon=True)
    look.start()
    look.join(within_s)
    return found != [False]


def is_first_start(remembered: Remembered, *, demo: bool) -> bool:
    """Whether no window of the profile has been closed yet; for the demo's throw-away profile, none of the
    person's own either."""
    nothing = Remembered()
    return remembered == nothing and not (demo and read_remembered(Profile.default()) != nothing)


def _nothing_more(_nothing: None) -> None:
    """What is logged from now on says so itself."""


def restore_geometry(window: MainWindow, remembered: Remembered) -> None:
    """Size and place of a window that is not shown yet; Qt keeps it on a screen that is there."""
    if remembered.geometry:
        window.restoreGeometry(QByteArray.fromBase64(QByteArray(remembered.geometry.encode())))


def display_problem(environment: Mapping[str, str], platform: str) -> str:
    """Why no window can be shown here, and what to do instead; empty where one can."""
    if platform != "linux" or environment.get("QT_QPA_PLATFORM"):
        return ""
    if environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"):
        return ""
    return (
        "reverie: there is no display. "
        "Commands work without one: reverie homes, tree, status, consolidate, runs.\n"
        "For a picture of the window: reverie --demo --screenshot reverie.png"
    )


class WaitingRecords(logging.Handler):
    """Keeps records until there is a file for them."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


class Log:
    """The log of the window: the last records in memory at once, and a file of the profile, written by a
    thread of its own, from `start_file` on, since what that needs takes time to import. Nothing in between is
    lost."""

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
        self.start_file()
        self._undo.close()

    def start_in_job(self, _control: JobControl) -> None:
        self.start_file()

    def start_file(self) -> None:
        """From now on into the file as well. Calling it again is harmless."""
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            return
        import logging.handlers
        import queue

        self._root.removeHandler(waiting)
        try:
            self._profile.ensure(self._profile.log_file.parent)
            file = logging.handlers.RotatingFileHandler(
                self._profile.log_file, maxBytes=LOG_BYTES, backupCount=2, encoding="utf-8"
            )
        except (OSError, MendableError) as error:
            log.warning("no log file: %s", error)
            return
        self._undo.callback(file.close)
        file.setFormatter(logging.Formatter(LOG_FORMAT))
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
    """Where the interpreter itself writes when it is killed by a signal."""
    try:
        file = (profile.ensure(profile.state / "logs") / "faults.log").open("a", encoding="utf-8")
    except (OSError, MendableError) as error:
        log.warning("no file for faults: %s", error)
        yield
        return
    with file:
        faulthandler.enable(file)
        try:
            yield
        finally:
            faulthandler.disable()
