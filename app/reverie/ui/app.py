"""The start of the window process: first the log and crash reports, then Qt and the first paint.

Only modules that the first paint needs are imported at the top; afterwards jobs open the homes and import the
other libraries. This module also sets up the handling of Ctrl+C and SIGTERM, and the log file.

Threading: GUI thread, except that signals and Qt's messages can arrive on any thread. Failure: if no window
can be shown, a sentence on stderr and exit code 1.
"""

from __future__ import annotations

import gc
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import reverie.ui.own_imports  # noqa: F401 - first, because it makes the other imports faster

# isort: split
from PySide6.QtCore import QByteArray, QMessageLogContext, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from reverie.clock import Clock, system_clock
from reverie.engine.asking import never_wait
from reverie.engine.start import StartingEngine
from reverie.files.directory import MOST_LIMITS, ask_each
from reverie.profile import Profile
from reverie.services.machines import MachineAddress
from reverie.services.window_state import Remembered, read_remembered
from reverie.ui.crash_report import CrashReporter
from reverie.ui.display import unreachable_display
from reverie.ui.icons import Icons
from reverie.ui.jobs import stuck_lanes
from reverie.ui.screenshot import Screenshot
from reverie.ui.session_store import SessionStore
from reverie.ui.single_instance import Instance, OpenRequest, activation_token
from reverie.ui.startup_options import StartupOptions
from reverie.ui.stop_signals import StopSignals
from reverie.ui.window.main_window import MainWindow
from reverie.ui.window_log import Log, faults_to
from reverie.ui.window_style import AppearanceControl, read_window_style
from reverie.values import replace

log = logging.getLogger("reverie.app")
SWITCH_S = 0.0005
SCREENSHOT_LIMIT_MS = 60_000
LISTEN_LATEST_MS = 3_000
LOG_AFTER_MS = 300
"""The delay in milliseconds after which the log file is opened.

Because of it the imports for the log run after the first tree is shown.
"""


def run_window(
    *,
    homes: Sequence[Path] = (),
    hosts: Sequence[MachineAddress] = (),
    profile: Profile | None = None,
    clock: Clock = system_clock,
    workspace_id: str | None = None,
    project_path: str | None = None,
    demo: bool = False,
    offscreen: bool = False,
    screenshot: Path | None = None,
    starting: StartingEngine | None = None,
) -> int:
    """Show the window, block until it is closed, and return the exit code.

    `homes`: the homes to open; if empty, those that are found on this machine. `hosts`: other machines whose
    homes to open. `workspace_id`, `project_path`: the workspace or project to select; None for no particular
    one. `demo`: open a demo home. `offscreen`: show no window on the screen. `screenshot`: save a picture of
    the window to this path, then close it. `profile`: None for the user's own. `starting`: the engine of the
    profile, if it is being started already.

    If a window of the profile is open already, that window is asked to show these homes, and this returns.
    """
    if offscreen or screenshot is not None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    scratch = demo_place(at_once=demo)
    profile = profile or Profile.default()
    if demo and profile == Profile.default():
        # A throw-away home leaves no history behind.
        profile = Profile.under(scratch / "profile")
    instance = Instance(profile) if screenshot is None else None
    if instance is not None and not instance.is_first:
        request = OpenRequest(
            tuple(homes), workspace_id or "", demo, activation_token(), tuple(hosts), project_path or ""
        )
        problem = instance.hand_over(request)
        if problem:
            sys.stderr.write(f"reverie: {problem}\n")
        shutil.rmtree(scratch, ignore_errors=True)
        return 1 if problem else 0
    try:
        with Log(profile) as logged, faults_to(profile):
            with DisplayFailure(os.environ, lambda: shutil.rmtree(scratch, ignore_errors=True)):
                application = make_application()
            reporter = CrashReporter(logged.recent)
            reporter.install()
            options = StartupOptions(
                tuple(homes),
                workspace_id or "",
                scratch / "demo",
                open_demo=demo,
                watching=screenshot is None,
                # Another process does not know the fixed clock of `--now`.
                engine=screenshot is None and clock is system_clock,
                asking=screenshot is None,
                project=project_path or "",
                hosts=tuple(hosts),
                starting=starting,
            )
            remembered = read_remembered(profile) if screenshot is None else Remembered()
            if not homes and not demo:
                choosing = screenshot is None and remembered == Remembered()
                options = with_remembered(replace(options, choosing=choosing), remembered)
            try:
                return _run(application, profile, clock, options, screenshot, instance, remembered, logged)
            finally:
                reporter.uninstall()
    finally:
        if instance is not None:
            instance.close()
        shutil.rmtree(scratch, ignore_errors=True)


def make_application() -> QApplication:
    """Return the Qt application of this process; create it if there is none."""
    existing = QApplication.instance()
    # The window's own style is a proxy over Fusion.
    arguments = ["reverie", "-style", "fusion"]
    application = existing if isinstance(existing, QApplication) else QApplication(arguments)
    application.setApplicationName("reverie")
    application.setApplicationDisplayName("Reverie")
    application.setDesktopFileName("org.reverie_memory.reverie")
    # A worker that computes in Python holds the interpreter for this long at a time, and painting needs it
    # hundreds of times, so the default of 5 ms is noticeable.
    sys.setswitchinterval(SWITCH_S)
    return application


def _run(
    application: QApplication,
    profile: Profile,
    clock: Clock,
    options: StartupOptions,
    screenshot: Path | None,
    instance: Instance | None,
    remembered: Remembered,
    logged: Log,
) -> int:
    never_wait()
    look = AppearanceControl(application)
    look.begin(read_window_style(profile.settings_file))
    icons = Icons()
    application.setWindowIcon(icons.icon("reverie"))
    window = MainWindow(profile, clock, icons, options)
    gc.freeze()  # the objects of a window stay alive, so no collection needs to visit them
    stores: list[SessionStore] = []

    def start_log() -> None:
        window.lanes.history.submit("start the log file", logged.start_in_job, done=_nothing_more)

    if screenshot is None:
        stores.append(SessionStore(window, remembered, place=options.and_found))
    window.dialogs.window_style_changed.connect(look.apply)
    QTimer.singleShot(LOG_AFTER_MS, start_log)
    if instance is not None:
        instance.asked.connect(window.handle_request)
        window.lazy_tabs.built.connect(instance.listen)
        QTimer.singleShot(LISTEN_LATEST_MS, instance.listen)
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
        assert options.demo is not None
        store.keep(profile, options.demo)
    window.shut_down()
    if stuck_lanes():
        log.error("a thread would not end; leaving without it")
        logged.end()
        if options.demo is not None:
            shutil.rmtree(options.demo.parent, ignore_errors=True)
        os._exit(code)
    return code


def demo_place(*, at_once: bool) -> Path:
    """Return the path of a temporary directory for a demo.

    `at_once`: create the directory now. Otherwise it is created when a demo is opened, so that a window
    without a demo leaves no directory behind.
    """
    if at_once:
        return Path(tempfile.mkdtemp(prefix="reverie-demo-"))
    return Path(tempfile.gettempdir()) / f"reverie-demo-{os.urandom(8).hex()}"


def with_remembered(options: StartupOptions, remembered: Remembered) -> StartupOptions:
    """Return `options` extended by `remembered`, so that the new window continues where the last one ended.

    It first opens the home that the last window showed, then its other homes, if they still exist, and all
    homes that are found on this machine. If none of them still exists, only the list of homes that the user
    closed is taken over.
    """
    wanted = dict.fromkeys(place for place in (remembered.home, *remembered.homes) if place)
    options = replace(options, closed=tuple(Path(place) for place in remembered.closed))
    places = those_that_may_be(tuple(wanted))
    if not places:
        return options
    workspace = remembered.workspace if places[0] == remembered.home else ""
    return replace(
        options,
        homes=tuple(Path(place) for place in places),
        workspace=options.workspace or workspace,
        and_found=True,
    )


def those_that_may_be(places: Sequence[str], *, within_s: float = 1.0) -> tuple[str, ...]:
    """Return those of `places` that are directories, or about which nothing is known yet.

    Nothing is known of a place if its disk does not respond within `within_s` seconds; the limit applies to
    all places together. It is short because no window appears while this thread waits; the job that opens the
    places later can wait longer.
    """

    def is_there(place: str) -> bool:
        try:
            return Path(place).is_dir()
        except OSError:
            return True  # the job that opens it reports the reason

    answers = ask_each({place: partial(is_there, place) for place in places}, within_s / MOST_LIMITS)
    return tuple(place for place in places if answers.get(place, True))


def _nothing_more(_nothing: None) -> None:
    """Ignore the result of the job that opened the log file."""


def restore_geometry(window: MainWindow, remembered: Remembered) -> None:
    """Set the stored size and position of a window that is not shown yet.

    If they are outside all screens, Qt moves the window onto one.
    """
    if remembered.geometry:
        window.restoreGeometry(QByteArray.fromBase64(QByteArray(remembered.geometry.encode())))


class DisplayFailure:
    """A context manager for creating the Qt application; it ends the process with one sentence on failure.

    If Qt cannot show a window, one sentence is printed on stderr, `clean_up` is called, and the process exits
    with code 1. Otherwise Qt would abort the process with a core dump and messages of its own.
    """

    def __init__(self, environment: Mapping[str, str], clean_up: Callable[[], None]) -> None:
        self._environment = environment
        self._clean_up = clean_up
        self._messages: list[str] = []

    def __enter__(self) -> None:
        qInstallMessageHandler(self._take)

    def __exit__(self, *_error: object) -> None:
        qInstallMessageHandler(None)
        for message in self._messages:
            logging.getLogger("reverie.qt").warning("%s", message)

    def _take(self, kind: QtMsgType, _context: QMessageLogContext, message: str | None) -> None:
        self._messages.append(message or "")
        if kind == QtMsgType.QtFatalMsg:
            sys.stderr.write(unreachable_display(self._messages, self._environment) + "\n")
            sys.stderr.flush()
            self._clean_up()
            os._exit(1)  # Qt aborts the process as soon as this returns
