"""Garbage is collected on the GUI thread only, and only what is young while somebody works.

Python's cyclic collector runs on whichever thread happens to allocate, and workers allocate most. A dialog or
a model that is part of a cycle would then be destroyed on a worker, which Qt answers with timers stopped from
another thread and, now and then, a crash. While a `Collector` lives, the automatic collector is off and a
timer of the GUI thread looks instead.

Collecting holds the interpreter, and everything once over takes a tenth of a second with ten thousand
memories. So it is done in small portions, the more often the more is under way, and what survives its first
collection is frozen: not looked at again (what nobody refers to any more goes at once all the same; only
cycles wait). The frozen is looked through when the lanes are idle and the window is not in use, or once in a
long while when the lanes are idle.

Threading: GUI thread. `stop` gives the automatic collector back once no other window needs it off.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Slot
from PySide6.QtGui import QGuiApplication

LOOK_MS = 100
# Jobs make tens of thousands of objects within one look's time; each takes about a microsecond to look at.
BUSY_LOOK_MS = 10
YOUNG = 2_000
AWAY_S = 600.0
LONG_S = 1800.0


class Collector(QObject):
    """One per window. `busy` says whether a job is under way."""

    _alive = 0

    def __init__(self, parent: QObject, busy: Callable[[], bool] = lambda: False) -> None:
        super().__init__(parent)
        self._busy = busy
        self._stopped = False
        self._frozen = False
        self._last_full = time.monotonic()
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MS)
        self._timer.timeout.connect(self.look)
        self._timer.start()
        Collector._alive += 1
        gc.disable()

    @Slot()
    def look(self) -> None:
        """Collect what is due. To be called when jobs begin, too."""
        pace = BUSY_LOOK_MS if self._busy() else LOOK_MS
        if self._timer.interval() != pace and not self._stopped:
            self._timer.setInterval(pace)
        if self._frozen and self._may_take_long():
            self.collect_all()
        elif gc.get_count()[0] > YOUNG:
            gc.collect(0)
            gc.freeze()
            self._frozen = True

    def collect_all(self) -> None:
        """Everything, however long it takes."""
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._frozen = False
        self._last_full = time.monotonic()

    def _may_take_long(self) -> bool:
        since = time.monotonic() - self._last_full
        if since < AWAY_S or self._busy():
            return False
        from PySide6.QtCore import Qt  # late: its enums take longer than all else before the first paint

        away = QGuiApplication.applicationState() != Qt.ApplicationState.ApplicationActive
        return away or since > LONG_S

    def stop(self) -> None:
        """The workers have ended. Calling it again is harmless."""
        if self._stopped:
            return
        self._stopped = True
        self._timer.stop()
        Collector._alive -= 1
        if not Collector._alive:
            gc.unfreeze()
            gc.enable()
