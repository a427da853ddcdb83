"""Reports of unexpected errors: each is logged, and each distinct one is shown once in a dialog.

Threading: the hooks are called on any thread; the dialog is shown on the GUI thread. Failure: none.
"""

from __future__ import annotations

import logging
import platform
import re
import sys
import threading
import traceback
from collections import deque
from types import TracebackType

from PySide6 import QtCore
from PySide6.QtCore import (
    QMessageLogContext,
    QObject,
    QtMsgType,
    Signal,
    Slot,
    qInstallMessageHandler,
    qVersion,
)
from PySide6.QtWidgets import QApplication, QMessageBox

from reverie import __version__
from reverie.ui.jobs import single_shot
from reverie.ui.window.main_window import MainWindow

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


# The offscreen platform logs this for every top-level window; it is harmless.
_QUIET = ("propagateSizeHints",)


_SAYING = re.compile(r"^(?P<kind>[A-Za-z_][\w.]*)(?::.*)?$", re.DOTALL)


class _PlacesOnly(logging.Formatter):
    """A log formatter that writes only the types and source lines of errors.

    It leaves out their messages, because these may quote memories.
    """

    def formatException(
        self, ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    ) -> str:
        return without_sayings("".join(traceback.format_exception(*ei)))


class RecentRecords(logging.Handler):
    """A log handler that keeps the last records, for the details of a crash report."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: deque[str] = deque(maxlen=RECORDS_KEPT)
        self.setFormatter(_PlacesOnly("%(asctime)s %(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        if record.name == crash_log.name:
            return  # the dialog already has it
        # A text cached by another handler must not be used.
        known, record.exc_text = record.exc_text, None
        try:
            self.lines.append(self.format(record))
        finally:
            record.exc_text = known


class CrashReporter(QObject):
    """The reporter of unexpected errors: it logs each, and shows a dialog for each distinct traceback.

    Create it once the application exists. The hook can run on any thread and in the middle of a paint, so it
    only records the error; the dialog is shown later on the GUI thread. The details that the user can copy
    contain the types and source lines of errors and the last log records, but neither error messages (which
    may quote a memory) nor secrets. For an error from the engine, the engine's traceback is used (`trace`).
    """

    _posted = Signal()

    def __init__(self, records: RecentRecords, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._records = records
        self._known: set[tuple[str, str]] = set()
        self._boxes: list[QMessageBox] = []
        """The dialogs that are open."""
        self.shown = 0
        self._waiting: deque[tuple[str, str]] = deque()
        # From any thread, but never in the middle of a paint: the timer fires in the event loop.
        self._soon = single_shot(self, 0, self._show_waiting)
        self._posted.connect(self._soon.start)

    def install(self) -> None:
        """Install the hooks for uncaught errors in any thread and in finalisers, and for Qt's messages."""
        sys.excepthook = self.hook
        threading.excepthook = self._thread_hook
        sys.unraisablehook = self._unraisable_hook
        qInstallMessageHandler(qt_message)

    def uninstall(self) -> None:
        """Restore Python's own hooks, which are safer while the process ends."""
        sys.excepthook = sys.__excepthook__
        threading.excepthook = threading.__excepthook__
        sys.unraisablehook = sys.__unraisablehook__
        qInstallMessageHandler(None)

    def hook(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Log an uncaught error, with its traceback `trace`, and cause its dialog to be shown.

        This is called on any thread and never raises.
        """
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
            # The watcher notices (`files.watch_observer`) and restarts by itself.
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
        # Not the active window: if that is a palette or a dialog, the box would close with it.
        windows = QApplication.topLevelWidgets()
        parent = next((each for each in windows if isinstance(each, MainWindow) and each.isVisible()), None)
        box = QMessageBox(parent)
        box.setIcon(QMessageBox.Icon.Critical)
        box.setWindowTitle(self.tr("Internal error in Reverie"))
        box.setTextFormat(QtCore.Qt.TextFormat.PlainText)
        box.setText(self.tr("An unexpected error occurred ({kind}).").format(kind=kind))
        box.setInformativeText(
            self.tr(
                "You can keep working. If you report this bug, include the details below; they contain "
                "no memory text."
            )
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
    """Return the details of an error that the user can copy and send.

    `text` is its traceback without messages; the last log records are added, and secrets are removed.
    """
    from reverie.text.redact import redact  # late: needed only after an error

    about = f"Reverie {__version__}, Python {platform.python_version()}, Qt {qVersion()}, {sys.platform}"
    last = list(records.lines)[-LINES_TOLD:]
    return redact("\n".join([about, "", text, *last]))


def without_sayings(text: str) -> str:
    """Return the traceback `text` with only the types of its errors, without their messages."""
    kept: list[str] = []
    has_kind = False
    for line in text.splitlines():
        if line.startswith(("  ", "Traceback ", "During handling", "The above exception")) or not line:
            # After the kind, all lines are the message, until the next traceback begins.
            if not has_kind or line.startswith(("Traceback ", "During handling", "The above exception")):
                kept.append(line)
                has_kind = False
        elif not has_kind:
            found = _SAYING.match(line)
            kept.append(found["kind"] if found else "(message omitted; see the log)")
            has_kind = True
    return "\n".join(kept) + "\n"


def qt_message(kind: QtMsgType, _context: QMessageLogContext, message: str | None) -> None:
    """Log a message of Qt, from any thread."""
    text = message or ""
    if not any(quiet in text for quiet in _QUIET):
        qt_log.log(_LEVELS.get(kind, logging.WARNING), "%s", text)
