"""Starting the window process: log and crash reports first, then Qt, then the first paint, and only then the
heavy libraries; and restoring what the last window of the profile showed.

`run_window` blocks until the window is closed and returns the exit code. Nothing is imported at the top
that the first paint does not need; homes are opened by jobs afterwards. Also here: the crash dialog, Ctrl+C
and SIGTERM, the log file, and `--screenshot`.

The next window starts where the last one ended (`services.window_state.Remembered`). Size and splitters are
set before it is shown; place, open folders, file, cursor and scroll positions follow when the tree is on
screen, never before it (design.md section 7). As soon as another place or file is selected by hand, nothing
more is restored. What no longer exists is skipped. The file is read before the window is created and written
after its event loop has ended.

Threading: GUI thread, except the crash hooks and Qt's messages, which come on any thread. Failure: where no
window can be shown, a sentence on stderr and exit code 1.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import linecache
import logging
import os
import platform
import queue
import re
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from PySide6 import QtCore
from PySide6.QtCore import (
    QByteArray,
    QCoreApplication,
    QEventLoop,
    QMessageLogContext,
    QObject,
    QSocketNotifier,
    QTimer,
    QtMsgType,
    Signal,
    Slot,
    qInstallMessageHandler,
    qVersion,
)
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QApplication, QMessageBox, QWidget

from reverie import __version__
from reverie.clock import Clock, system_clock
from reverie.engine.asking import never_wait
from reverie.engine.start import MachineAddress, StartingEngine
from reverie.errors import UserError
from reverie.files.directory import MOST_LIMITS, ask_each, open_regular
from reverie.files.log_file import asked_by, log_handler
from reverie.profile import Profile
from reverie.services.window_state import (
    MOST_FOLDERS,
    MOST_HOMES,
    Remembered,
    read_remembered,
    write_remembered,
)
from reverie.ui.appearance import AppearanceControl, Icons, StartupOptions, read_window_style
from reverie.ui.display import unreachable_display
from reverie.ui.jobs import JobControl, single_shot, stuck_lanes
from reverie.ui.single_instance import Instance, OpenRequest, activation_token
from reverie.ui.tree.memory_tree import companion_at
from reverie.ui.window.main_window import MainWindow
from reverie.values import replace

if TYPE_CHECKING:
    from reverie.ui.editor.documents import OpenFile
    from reverie.ui.session import HomeSession, TreeUpdate
    from reverie.ui.window.picker import Picker, Place

# What the next window remembers of the last one.


window_log = logging.getLogger("reverie.window")


class SessionStore(QObject):
    """Created once the UI is built, before a home is opened. `restoring`: the remembered place is still to
    come, or its tree or text is."""

    def __init__(self, window: MainWindow, remembered: Remembered, *, place: bool) -> None:
        """`place`: restore home and file too; not when the command line names what to open."""
        super().__init__(window)
        self._window = window
        self._wanted = remembered
        self._session: HomeSession | None = None
        self._tree_width = remembered.tree_width
        self._is_any_picked = self._is_picking = False
        self.restoring = place and bool(remembered.home)
        self._begin()
        self._shown_tab = window.tabs.currentIndex()
        window.tabs.currentChanged.connect(self._on_tab)
        if self.restoring:
            window.homes.opened.connect(self._on_opened)
            window.picker.picked.connect(self._on_picked)
            window.chosen_by_hand.connect(self._on_choice)
            window.tab.memory_picked.connect(self._on_choice)

    def _begin(self) -> None:
        window, wanted = self._window, self._wanted
        window.picker.setVisible(wanted.picker)
        if wanted.picker_width:
            rest = max(1, window.width() - wanted.picker_width)
            window.splitter.set_beside([wanted.picker_width, rest])
        if wanted.tree_width:
            rest = max(1, window.width() - wanted.picker_width * wanted.picker - wanted.tree_width)
            window.tab.splitter.setSizes([wanted.tree_width, rest])
        if 0 < wanted.tab < window.tabs.count():
            window.tabs.setCurrentIndex(wanted.tab)
        if wanted.sort:
            window.tab.order.sort_key = wanted.sort

    @Slot(int)
    def _on_tab(self, tab: int) -> None:
        self._note_tree_width()
        self._shown_tab = tab

    def _note_tree_width(self) -> None:
        """As it was seen last; behind another tab the trees are not laid out."""
        tab = self._window.tab
        if self._shown_tab == 0 and not tab.is_narrow:
            self._tree_width = tab.splitter.sizes()[0]

    # Place

    @Slot(object)
    def _on_picked(self, place: Place) -> None:
        """The window may select the first home that opens; whatever comes after it is a person's choice."""
        if self._window.homes.session(place.home) is not None:
            if self._is_any_picked:
                self._on_choice()
            self._is_any_picked = True

    @Slot()
    def _on_choice(self) -> None:
        """Another place or memory is selected. Whoever has moved on is not called back."""
        if not self._is_picking:
            self.restoring = False

    @Slot(object)
    def _on_opened(self, session: HomeSession) -> None:
        if not self.restoring or not session.is_here or str(session.info.root) != self._wanted.home:
            return
        self._window.homes.opened.disconnect(self._on_opened)
        self._is_picking = True
        is_there = self._pick(session.info.id)
        self._is_picking = False
        if is_there:
            self._session = session
            session.tree_changed.connect(self._on_tree)
        else:
            self.restoring = False

    def _pick(self, home: str) -> bool:
        """Select the place in this home; False if it is not there any more."""
        wanted = self._wanted
        picker: Picker = self._window.picker
        if wanted.workspace:
            return picker.pick(home, workspace_id=wanted.workspace)
        return picker.pick_project(home, wanted.project) if wanted.project else picker.pick_home(home)

    @Slot(object)
    def _on_tree(self, update: TreeUpdate) -> None:
        """The tree with everything in it is there: open folders, then the file."""
        if update.names_only or self._session is None:
            return
        self._session.tree_changed.disconnect(self._on_tree)
        wanted, tab = self._wanted, self._window.tab
        if not self.restoring:
            return
        if wanted.opened is not None:
            tab.tree.reopen(wanted.opened)
        self._is_picking = True
        if not self._open_file(update):
            self.restoring = False
        self._is_picking = False
        tab.tree.verticalScrollBar().setValue(wanted.tree_scroll)

    def _open_file(self, update: TreeUpdate) -> bool:
        wanted, tab = self._wanted, self._window.tab
        if not wanted.file:
            return False
        tab.buffers.opened.connect(self._on_file)
        if not wanted.companion:
            if tab.tree.select_path(wanted.file):
                return True
        elif (companion := companion_at(update.tree, wanted.file)) is not None:
            tab.editor.open(companion)
            return True
        tab.buffers.opened.disconnect(self._on_file)
        return False

    @Slot(object)
    def _on_file(self, file: OpenFile) -> None:
        """The text is on screen: cursor and scroll position."""
        self._window.tab.buffers.opened.disconnect(self._on_file)
        wanted, pane = self._wanted, self._window.tab.pane
        was_restoring, self.restoring = self.restoring, False
        if not was_restoring or pane.file is not file or _name(file) != (wanted.file, wanted.companion):
            return
        last = pane.text.document().characterCount() - 1
        cursor = pane.text.textCursor()
        cursor.setPosition(min(wanted.anchor, last))
        cursor.setPosition(min(wanted.cursor, last), QTextCursor.MoveMode.KeepAnchor)
        pane.text.setTextCursor(cursor)
        pane.text.verticalScrollBar().setValue(wanted.text_scroll)

    # Remembering

    def capture(self) -> Remembered:
        """The window as it is now (it may be closed already)."""
        window, tab = self._window, self._window.tab
        sizes = window.splitter.beside()
        self._note_tree_width()
        roots = [str(session.info.root) for session in window.homes.sessions if session.is_here]
        # Those that were not opened this time, or could not be, are still the person's homes.
        closed = dict.fromkeys((*map(str, sorted(window.homes.left_closed)), *self._wanted.closed))
        closed = {place: None for place in closed if place not in roots}
        homes = [home for home in dict.fromkeys((*roots, *self._wanted.homes)) if home not in closed]
        # If the window is closed before the place has come back, it is restored the next time.
        is_to_come = self.restoring and self._wanted.home not in closed
        shown = replace(
            self._wanted if is_to_come else Remembered(),
            homes=tuple(homes[:MOST_HOMES]),
            closed=tuple(closed)[:MOST_HOMES],
            geometry=bytes(window.saveGeometry().toBase64().data()).decode("ascii"),
            picker=not window.picker.isHidden(),
            picker_width=sizes[0] or self._wanted.picker_width,
            tree_width=self._tree_width,
            tab=max(0, window.tabs.currentIndex()),
            sort=tab.order.sort_key,
        )
        session = window.session
        if is_to_come or session is None or session.context is None or not session.is_here:
            return shown
        context, text = session.context, tab.pane.text
        shown = replace(
            shown,
            home=str(session.info.root),
            workspace=context.workspace_id or "",
            project="" if context.workspace_id else context.project_path or "",
            opened=tuple(sorted(tab.tree.opened_keys))[:MOST_FOLDERS],
            tree_scroll=tab.tree.verticalScrollBar().value(),
        )
        file = tab.pane.file
        if file is None:
            return shown
        name, companion = _name(file)
        return replace(
            shown,
            file=name,
            companion=companion,
            cursor=text.textCursor().position(),
            anchor=text.textCursor().anchor(),
            text_scroll=text.verticalScrollBar().value(),
        )

    def keep(self, profile: Profile, throw_away: Path) -> None:
        """Write it down, once the loop has ended. A home below `throw_away` will not be there next time."""
        now = self.capture()
        lasting = tuple(home for home in now.homes if not Path(home).is_relative_to(throw_away))
        now = replace(now, homes=lasting)
        if Path(now.home).is_relative_to(throw_away):
            kept = self._wanted
            now = replace(
                kept,
                home=kept.home if kept.home not in now.closed else "",
                homes=now.homes,
                closed=now.closed,
                geometry=now.geometry,
                picker=now.picker,
                picker_width=now.picker_width,
            )
        try:
            write_remembered(profile, now)
        except UserError as error:
            window_log.warning("the window is not remembered: %s", error.title)


def _name(file: OpenFile) -> tuple[str, bool]:
    address = file.buffer.address
    if address.companion is not None:
        return str(address.companion.path), True
    return address.path, False


# Screenshots: wait until a window is loaded, then take its picture. Every wait has a time limit.


STEP_MS = 20
# How little to compress: the same picture in about half the time, and in no larger file.
_QUICK = 85
# How often a layout may ask for another until it is at rest: a line wraps, so a scroll bar comes, so ...
_LAYOUT_TURNS = 5


def wait_for(condition: Callable[[], bool], limit_ms: int) -> bool:
    """Run the event loop until `condition` holds; False when the time is up."""
    deadline = time.monotonic() + limit_ms / 1000
    while not condition():
        if time.monotonic() > deadline:
            return False
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, STEP_MS)
        time.sleep(STEP_MS / 4000)
    QCoreApplication.processEvents()
    return True


def is_loaded(window: MainWindow) -> bool:
    """Tree and footer of the selection are there, and the other tabs."""
    tab = window.tab
    return (
        window.session is not None
        and window.session.status is not None
        and tab.has_full_tree
        and window.lazy_tabs.is_built
        and not window.lanes.scan.busy
    )


def select_a_file(window: MainWindow) -> bool:
    """Open a memory, so that the editor is not empty: the project's first, else the first of all."""
    paths = list(window.tab.model.memory_tree.files)
    prefix = "/memories/project/"
    own = [path for path in paths if path.startswith(prefix) and "/" not in path.removeprefix(prefix)]
    return any(window.tab.tree.select_path(path) for path in (own or paths)[:1])


def finish_layouts() -> None:
    """Run the event loop until no layout asks for another."""
    for _turn in range(_LAYOUT_TURNS):
        QCoreApplication.processEvents()


def save_picture(widget: QWidget, file: Path) -> bool:
    """A PNG of the widget as it is now."""
    finish_layouts()
    file.parent.mkdir(parents=True, exist_ok=True)
    return widget.grab().save(str(file), "PNG", _QUICK)


class Screenshot:
    """`reverie --screenshot FILE`."""

    def __init__(self, window: MainWindow, file: Path) -> None:
        self._window = window
        self._file = file

    def take(self, limit_ms: int) -> int:
        """Exit code: 0 when everything was loaded and the picture is written."""
        window = self._window
        loaded = wait_for(lambda: is_loaded(window) or window.gave_up, limit_ms)
        if loaded and select_a_file(window):
            wait_for(lambda: window.tab.pane.file is not None, limit_ms // 4)
        saved = save_picture(window, self._file)
        if loaded and saved and not window.opening_failed:
            return 0
        missing = "the picture was not written" if not saved else "not everything could be loaded"
        sys.stderr.write(f"reverie: {missing}: {self._file}\n")
        return 1


# Unexpected errors: always logged, and shown once per distinct traceback. The hook may run on any thread
# and in the middle of a paint, so it only records and posts to a GUI-thread object. The details that can be
# copied hold the places and the kinds of errors and the last log records, but neither error messages (which
# may quote a memory) nor secrets. A bug in the engine counts by its own traceback (`trace`).


crash_log = logging.getLogger("reverie.crash")
qt_log = logging.getLogger("reverie.qt")
RECORDS_KEPT = 500
LINES_TOLD = 40

_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}
# Said by the offscreen platform for every top-level window; it means nothing.
_QUIET = ("propagateSizeHints",)


_SAYING = re.compile(r"^(?P<kind>[A-Za-z_][\w.]*)(?::.*)?$", re.DOTALL)


class _PlacesOnly(logging.Formatter):
    """Of an error only where it happened and its kind."""

    def formatException(
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None],
    ) -> str:
        return without_sayings("".join(traceback.format_exception(*ei)))


class RecentRecords(logging.Handler):
    """The last records, for "copy details"."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: deque[str] = deque(maxlen=RECORDS_KEPT)
        self.setFormatter(_PlacesOnly("%(asctime)s %(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        if record.name == crash_log.name:
            return  # the dialog has it already
        # A text that another handler made before is not ours to use.
        known, record.exc_text = record.exc_text, None
        try:
            self.lines.append(self.format(record))
        finally:
            record.exc_text = known


class CrashReporter(QObject):
    """Install it once the application exists. Shows at most one dialog per distinct traceback."""

    _posted = Signal()

    def __init__(self, records: RecentRecords, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._records = records
        self._known: set[tuple[str, str]] = set()
        self._boxes: list[QMessageBox] = []
        """Those that are open."""
        self.shown = 0
        self._waiting: deque[tuple[str, str]] = deque()
        # From any thread, and never in the middle of a paint: the timer goes off in the event loop.
        self._soon = single_shot(self, 0, self._show_waiting)
        self._posted.connect(self._soon.start)

    def install(self) -> None:
        """From now on it hears of what nobody caught: in any thread, in a finaliser, and Qt's own
        messages."""
        sys.excepthook = self.hook
        threading.excepthook = self._thread_hook
        sys.unraisablehook = self._unraisable_hook
        qInstallMessageHandler(qt_message)

    def uninstall(self) -> None:
        """During shutdown Python's own hooks are the safer ones."""
        sys.excepthook = sys.__excepthook__
        threading.excepthook = threading.__excepthook__
        sys.unraisablehook = sys.__unraisablehook__
        qInstallMessageHandler(None)

    def hook(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Any thread. Never raises."""
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        text = "".join(traceback.format_exception(kind, error, trace))
        crash_log.error("unexpected error\n%s", text)
        text = without_sayings(getattr(error, "trace", text))
        places = text if hasattr(error, "trace") else "".join(traceback.format_tb(trace))
        key = places, kind.__name__
        if key not in self._known:
            self._known.add(key)
            self._waiting.append((kind.__name__, text))
            self._posted.emit()

    def _thread_hook(self, arguments: threading.ExceptHookArgs) -> None:
        if type(arguments.thread).__module__.startswith("watchdog."):
            # The watcher notices (`files.watch_observer`) and starts over: nobody needs to do anything.
            crash_log.warning("a thread that watches files has ended", exc_info=arguments.exc_value)
            return
        if arguments.exc_value is not None:
            self.hook(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)

    def _unraisable_hook(self, arguments: sys.UnraisableHookArgs) -> None:
        if arguments.exc_value is not None:
            self.hook(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)

    @Slot()
    def _show_waiting(self) -> None:
        while self._waiting:
            self._show(*self._waiting.popleft())

    def _show(self, kind: str, text: str) -> None:
        # Not the active window, which may be a palette or a dialog: the box would go with it.
        windows = QApplication.topLevelWidgets()
        parent = next((each for each in windows if isinstance(each, MainWindow) and each.isVisible()), None)
        box = QMessageBox(parent)
        box.setIcon(QMessageBox.Icon.Critical)
        box.setWindowTitle(self.tr("Reverie made a mistake"))
        box.setTextFormat(QtCore.Qt.TextFormat.PlainText)
        box.setText(self.tr("Something unexpected happened ({kind}).").format(kind=kind))
        box.setInformativeText(
            self.tr("You can keep working. The details below help to fix it; they contain no memory text.")
        )
        details = diagnostics(text, self._records)
        box.setDetailedText(details)
        box.setStandardButtons(QMessageBox.StandardButton.Close)
        copy = box.addButton(self.tr("Copy &details"), QMessageBox.ButtonRole.ActionRole)
        copy.clicked.disconnect()  # a message box closes with any button
        copy.clicked.connect(lambda: QApplication.clipboard().setText(details))
        box.setAttribute(QtCore.Qt.WidgetAttribute.WA_DeleteOnClose)
        box.finished.connect(lambda: self._boxes.remove(box))
        self._boxes.append(box)
        self.shown += 1
        box.open()


def diagnostics(text: str, records: RecentRecords) -> str:
    """What may be copied and sent: see the module."""
    from reverie.text.redact import redact  # late: for nobody who meets no mistake

    about = f"Reverie {__version__}, Python {platform.python_version()}, Qt {qVersion()}, {sys.platform}"
    last = list(records.lines)[-LINES_TOLD:]
    return redact("\n".join([about, "", text, *last]))


def without_sayings(text: str) -> str:
    """A traceback with the kinds of its errors, without what they say of themselves."""
    kept: list[str] = []
    has_kind = False
    for line in text.splitlines():
        if line.startswith(("  ", "Traceback ", "During handling", "The above exception")) or not line:
            # After the kind come only lines of its saying, until the next traceback begins.
            if not has_kind or line.startswith(("Traceback ", "During handling", "The above exception")):
                kept.append(line)
                has_kind = False
        elif not has_kind:
            found = _SAYING.match(line)
            kept.append(found["kind"] if found else "(its words are in the log)")
            has_kind = True
    return "\n".join(kept) + "\n"


def qt_message(kind: QtMsgType, _context: QMessageLogContext, message: str | None) -> None:
    """Qt's messages, from any thread, into the log."""
    text = message or ""
    if not any(quiet in text for quiet in _QUIET):
        qt_log.log(_LEVELS.get(kind, logging.WARNING), "%s", text)


# Ctrl+C and SIGTERM close the window like its close button. Python runs signal handlers between its own
# instructions only, and there are none while Qt waits for events; so the interpreter writes the signal's
# number to a socket, which wakes Qt up.


_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class StopSignals(QObject):
    """`asked()`: the process was asked to end."""

    asked = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._reading, self._writing = socket.socketpair()
        self._reading.setblocking(False)
        self._writing.setblocking(False)
        self._notifier = QSocketNotifier(self._reading.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._on_signal)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Handlers are put back afterwards. Main thread only."""
        numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
        before = {number: signal.signal(number, _nothing) for number in numbers}
        fd = signal.set_wakeup_fd(self._writing.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(fd)
            for number, handler in before.items():
                signal.signal(number, handler)
            self._notifier.setEnabled(False)
            self._reading.close()
            self._writing.close()

    @Slot()
    def _on_signal(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._reading.recv(64)
        self.asked.emit()


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """The socket does the work; without a handler the process would end at once."""


log = logging.getLogger("reverie.app")
SWITCH_S = 0.0005
SCREENSHOT_LIMIT_MS = 60_000
LISTEN_LATEST_MS = 3_000
LOG_AFTER_MS = 300
"""When the log file is opened: what that needs is imported once the first tree is there."""


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
    """Show the window on `homes` (none: those that are found) and on those of the machines `hosts`. With
    `screenshot`: save a picture and end. Where a window of the profile is open already, it is asked to show
    them. `starting`: the engine of `profile`, if it was started already."""
    if offscreen or screenshot is not None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    scratch = demo_place(at_once=demo)
    profile = profile or Profile.default()
    if demo and profile == Profile.default():
        # A throw-away home leaves no history behind either.
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
                # A clock that stands still, as `--now` asks, is not known to another process.
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
    """The application."""
    existing = QApplication.instance()
    # Our style, which the window sets, is a proxy over Fusion.
    arguments = ["reverie", "-style", "fusion"]
    application = existing if isinstance(existing, QApplication) else QApplication(arguments)
    application.setApplicationName("reverie")
    application.setApplicationDisplayName("Reverie")
    application.setDesktopFileName("org.reverie_memory.reverie")
    # A worker that computes in Python keeps the interpreter for this long at a time, and painting asks for it
    # hundreds of times: the default of 5 ms is felt.
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
    gc.freeze()  # what a window is made of stays: no collection need look at it
    let_sources_go()
    stores: list[SessionStore] = []

    def start_log() -> None:
        window.lanes.history.submit("start the log file", logged.start_in_job, done=_nothing_more)

    if screenshot is None:
        stores.append(SessionStore(window, remembered, place=options.and_found))
    window.dialogs.window_style_changed.connect(look.apply)
    window.lazy_tabs.built.connect(let_sources_go)
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


def let_sources_go() -> None:
    """PySide reads the source of each module that is imported, and Python keeps it for tracebacks: some ten
    MiB, which are read again where a traceback is written."""
    linecache.clearcache()


def demo_place(*, at_once: bool) -> Path:
    """Where a demo may be put. It is made when one is opened, or now, so that other windows leave nothing."""
    if at_once:
        return Path(tempfile.mkdtemp(prefix="reverie-demo-"))
    return Path(tempfile.gettempdir()) / f"reverie-demo-{os.urandom(8).hex()}"


def with_remembered(options: StartupOptions, remembered: Remembered) -> StartupOptions:
    """Where the last window ended: its homes that are still there, the one it showed first, and the homes
    that are found."""
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
    """The places that are directories, and those whose disk does not answer within `within_s` seconds in all:
    they are opened by a job, which may wait; no window appears while this thread does."""

    def is_there(place: str) -> bool:
        try:
            return Path(place).is_dir()
        except OSError:
            return True  # the job that opens it says why it cannot be looked at

    answers = ask_each({place: partial(is_there, place) for place in places}, within_s / MOST_LIMITS)
    return tuple(place for place in places if answers.get(place, True))


def _nothing_more(_nothing: None) -> None:
    """The log file is open; there is nothing to do."""


def restore_geometry(window: MainWindow, remembered: Remembered) -> None:
    """Size and place of a window that is not shown yet; Qt keeps it on a screen that is there."""
    if remembered.geometry:
        window.restoreGeometry(QByteArray.fromBase64(QByteArray(remembered.geometry.encode())))


class DisplayFailure:
    """While the application is made: where Qt cannot show a window it ends the process with a core dump and
    words of its own; this says what is wrong in a sentence and exits with 1."""

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
        self.end()

    def end(self) -> None:
        """Write down what waits, and close the file."""
        self.start_file()
        self._undo.close()

    def start_in_job(self, _control: JobControl) -> None:
        self.start_file()

    def start_file(self) -> None:
        """From now on into the file as well. Calling it again is harmless."""
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
    """Where the interpreter itself writes when it is killed by a signal."""
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
