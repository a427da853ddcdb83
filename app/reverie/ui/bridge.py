"""From the watcher's thread into the GUI thread.

`post` is the watcher's `deliver`: it is called on the coalescer thread, emits one queued signal and never
raises, because an exception there would end the thread and leave the window deaf. What arrives is a hint; the
truth is then read from disk by a job.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal, Slot

if TYPE_CHECKING:
    from reverie.files.watch import Changes

log = logging.getLogger("reverie.bridge")


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """`source` names the home whose watcher spoke."""

    source: str
    changes: Changes


class WatchBridge(QObject):
    """`arrived(WatchEvent)` is emitted in the thread this object lives in."""

    arrived = Signal(object)
    _posted = Signal(object)

    def __init__(self, source: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.source = source
        self.lost = 0
        self._closed = False
        self._posted.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    def post(self, changes: Changes) -> None:
        """Called on the watcher's thread."""
        if self._closed:
            return
        try:
            self._posted.emit(WatchEvent(self.source, changes))
        except RuntimeError:  # the C++ half is gone: the window was closed meanwhile
            self.lost += 1
            log.debug("changes after the window was closed")

    def close(self) -> None:
        """Deliver nothing any more."""
        self._closed = True

    @Slot(object)
    def _deliver(self, event: WatchEvent) -> None:
        if not self._closed:
            self.arrived.emit(event)
