"""What happens to an error nobody expected: recorded always, shown once per distinct traceback.

The hook only records and posts to a GUI-thread object, because it may run on any thread and in the middle of
a paint. Qt's own messages go to the log from whichever thread they come.
"""

from __future__ import annotations

import hashlib
import logging
import sys
import threading
import traceback
from collections import deque
from types import TracebackType

from PySide6.QtCore import QMessageLogContext, QObject, Qt, QtMsgType, Signal, Slot, qInstallMessageHandler
from PySide6.QtWidgets import QApplication, QMessageBox, QWidget

log = logging.getLogger("reverie.crash")
qt_log = logging.getLogger("reverie.qt")
RECORDS_KEPT = 500

_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}
# Said by the offscreen platform for every top-level window; it means nothing.
_QUIET = ("propagateSizeHints",)


class RecentRecords(logging.Handler):
    """The last records, for "copy details"."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: deque[str] = deque(maxlen=RECORDS_KEPT)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


class CrashReporter(QObject):
    """Install it once the application exists. Shows at most one dialog per distinct traceback."""

    _posted = Signal(str, str)

    def __init__(self, records: RecentRecords, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._records = records
        self._known: set[str] = set()
        self._box: QMessageBox | None = None
        self.shown = 0
        self._posted.connect(self._show, Qt.ConnectionType.QueuedConnection)

    def install(self) -> None:
        sys.excepthook = self.hook
        threading.excepthook = self._thread_hook
        qInstallMessageHandler(qt_message)

    def uninstall(self) -> None:
        """During shutdown Python's own hooks are the safer ones."""
        sys.excepthook = sys.__excepthook__
        threading.excepthook = threading.__excepthook__
        qInstallMessageHandler(None)

    def hook(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Any thread. Never raises."""
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        text = "".join(traceback.format_exception(kind, error, trace))
        log.error("unexpected error\n%s", text)
        key = hashlib.sha256(
            "".join(traceback.format_tb(trace)).encode() + kind.__name__.encode()
        ).hexdigest()
        if key not in self._known:
            self._known.add(key)
            self._posted.emit(kind.__name__, text)

    def _thread_hook(self, arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None:
            self.hook(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)

    @Slot(str, str)
    def _show(self, kind: str, text: str) -> None:
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
        box.setDetailedText(text + "\n" + "\n".join(list(self._records.lines)[-40:]))
        box.setStandardButtons(QMessageBox.StandardButton.Close)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._box = box
        self.shown += 1
        box.open()


def qt_message(kind: QtMsgType, _context: QMessageLogContext, message: str | None) -> None:
    """Qt's messages, from any thread, into the log."""
    text = message or ""
    if not any(quiet in text for quiet in _QUIET):
        qt_log.log(_LEVELS.get(kind, logging.WARNING), "%s", text)
