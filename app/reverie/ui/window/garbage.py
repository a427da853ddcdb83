"""Garbage collection of Python objects on the GUI thread only."""

from __future__ import annotations

import gc
import time

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from reverie.ui.jobs import repeating

COLLECT_MS = 50


YOUNG = 2_000


AWAY_S = 600.0


class GarbageCollection(QObject):
    """The collector of Python's cyclic garbage, on the GUI thread only, as long as a window exists.

    By default Python collects on the thread that happens to allocate memory. If a dialog that is part of a
    reference cycle is destroyed on another thread, the program can crash.

    Young (recently created) objects are collected regularly. All objects are collected only while the window
    is inactive, because that takes a tenth of a second with ten thousand memories.
    """

    _alive = 0

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._stopped = False
        self._all_at = time.monotonic()
        self._timer = repeating(self, COLLECT_MS, self.collect)
        self._timer.start()
        GarbageCollection._alive += 1
        gc.disable()

    @Slot()
    def collect(self) -> None:
        """Collect all objects if that is due, else the recently created ones if there are many of them.

        All objects are collected if this was last done more than `AWAY_S` seconds ago and the window is
        inactive.
        """
        if time.monotonic() - self._all_at > AWAY_S and not self._window.isActiveWindow():
            gc.collect()
            self._all_at = time.monotonic()
        elif gc.get_count()[0] > YOUNG:
            gc.collect(0)

    def stop(self) -> None:
        """Stop collecting, because the window closes.

        When the last window stops, Python's own collection is enabled again.
        """
        if not self._stopped:
            self._stopped = True
            self._timer.stop()
            GarbageCollection._alive -= 1
            if not GarbageCollection._alive:
                gc.enable()
