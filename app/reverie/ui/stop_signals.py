"""Closing the window on Ctrl+C and SIGTERM, as by its close button.

Threading: the main thread.
"""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Iterator
from types import FrameType

from PySide6.QtCore import QObject, QSocketNotifier, Signal, Slot

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class StopSignals(QObject):
    """Receives SIGINT, SIGTERM and SIGHUP and emits `asked`, so that the window can close.

    Python runs signal handlers only between its own instructions, and there are none while Qt waits for
    events. So the interpreter writes the number of the signal to a socket, which wakes Qt up.

    Signals:
        asked(): The process was asked to end.
    """

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
        """Context manager: receive the signals within the block, and restore the previous handlers after it.

        Main thread only.
        """
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
    """Do nothing: the socket reports the signal, but without a handler the process would end at once."""
