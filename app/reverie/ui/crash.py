"""What happens to an error nobody expected: recorded always, shown once per distinct traceback.

The hook only records and posts to a GUI-thread object, because it may run on any thread and in the middle of
a paint. Qt's own messages go to the log from whichever thread they come.

What a person may copy and send holds where it happened and which kinds of error, and the last records; not
what errors say of themselves, which may quote a memory, and no secrets. The log file has all of it. A bug of
the helper process (`trace`) counts by where it happened there.
"""

from __future__ import annotations

import hashlib
import logging
import re
import sys
import threading
import traceback
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QMessageLogContext,
    QObject,
    QTimer,
    QtMsgType,
    Signal,
    Slot,
    qInstallMessageHandler,
    qVersion,
)
from PySide6.QtWidgets import QApplication, QWidget

if TYPE_CHECKING:
    from PySide6.QtWidgets import QMessageBox

log = logging.getLogger("reverie.crash")
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
        if record.name == log.name:
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
        self._known: set[str] = set()
        self._box: QMessageBox | None = None
        self._details = ""
        self.shown = 0
        self._waiting: deque[tuple[str, str]] = deque()
        # From any thread, and never in the middle of a paint: the timer goes off in the event loop.
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(0)
        self._soon.timeout.connect(self._show_waiting)
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
        log.error("unexpected error\n%s", text)
        text = without_sayings(getattr(error, "trace", text))
        places = text if hasattr(error, "trace") else "".join(traceback.format_tb(trace))
        key = hashlib.sha256(places.encode() + kind.__name__.encode()).hexdigest()
        if key not in self._known:
            self._known.add(key)
            self._waiting.append((kind.__name__, text))
            self._posted.emit()

    def _thread_hook(self, arguments: threading.ExceptHookArgs) -> None:
        if type(arguments.thread).__module__.startswith("watchdog."):
            # The watcher notices (`files.watch_observer`) and starts over: nobody needs to do anything.
            error = arguments.exc_value
            log.warning("a thread that watches files has ended", exc_info=error)
            return
        if arguments.exc_value is not None:
            self.hook(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)

    def _unraisable_hook(self, arguments: sys.UnraisableHookArgs) -> None:
        if arguments.exc_value is not None:
            self.hook(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)

    @Slot()
    def _copy(self) -> None:
        QApplication.clipboard().setText(self._details)

    @Slot()
    def _show_waiting(self) -> None:
        while self._waiting:
            self._show(*self._waiting.popleft())

    def _show(self, kind: str, text: str) -> None:
        # Late: these are made for nobody who makes no mistake.
        from PySide6.QtCore import Qt
        from PySide6.QtWidgets import QMessageBox

        parent: QWidget | None = QApplication.activeWindow()
        box = QMessageBox(parent)
        box.setIcon(QMessageBox.Icon.Critical)
        box.setWindowTitle(self.tr("Reverie made a mistake"))
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(
            self.tr("Something unexpected happened ({kind}). Your files are untouched.").format(kind=kind)
        )
        box.setInformativeText(
            self.tr("You can go on working. The details below help to mend it; they hold no memory text.")
        )
        self._details = diagnostics(text, self._records)
        box.setDetailedText(self._details)
        box.setStandardButtons(QMessageBox.StandardButton.Close)
        copy = box.addButton(self.tr("Copy &details"), QMessageBox.ButtonRole.ActionRole)
        copy.clicked.disconnect()  # a message box closes with any button
        copy.clicked.connect(self._copy)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._box = box
        self.shown += 1
        box.open()


def diagnostics(text: str, records: RecentRecords) -> str:
    """What may be copied and sent: see the module."""
    import platform

    from reverie import __version__
    from reverie.text.redact import redact

    about = f"Reverie {__version__}, Python {platform.python_version()}, Qt {qVersion()}, {sys.platform}"
    last = list(records.lines)[-LINES_TOLD:]
    return redact("\n".join([about, "", text, *last]))


def without_sayings(text: str) -> str:
    """A traceback with the kinds of its errors, without what they say of themselves."""
    kept: list[str] = []
    told = False
    for line in text.splitlines():
        if line.startswith(("  ", "Traceback ", "During handling", "The above exception")) or not line:
            # After the kind come only lines of its saying, until the next traceback begins.
            if not told or line.startswith(("Traceback ", "During handling", "The above exception")):
                kept.append(line)
                told = False
        elif not told:
            found = _SAYING.match(line)
            kept.append(found["kind"] if found else "(its words are in the log)")
            told = True
    return "\n".join(kept) + "\n"


def qt_message(kind: QtMsgType, _context: QMessageLogContext, message: str | None) -> None:
    """Qt's messages, from any thread, into the log."""
    text = message or ""
    if not any(quiet in text for quiet in _QUIET):
        qt_log.log(_LEVELS.get(kind, logging.WARNING), "%s", text)
