"""What the window waits for, at the right of the status bar, once that takes longer than people expect.

Jobs on a home wait for its disk, and a share that is gone lets them wait for hours. While a thread of the
window is at one job for more than a moment this says so; whether the disk answers is asked by a look at each
home's directory (`files.look`).

Threading: GUI thread. Failure: a home that is gone is an answer; what that means, the job says.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QLabel, QWidget

from reverie.files.look import Look
from reverie.ui.jobs import Lane
from reverie.ui.shown import as_tooltip, visible
from reverie.ui.theme import GAP

log = logging.getLogger("reverie.patience")

LOOK_MS = 500
SLOW_S = 2.0
DEAD_S = 5.0


class WaitingLabel(QLabel):
    """Empty while nothing takes long. `places` are those whose disks may be waited for. `said(str)`: a
    sentence on a disk that does not answer, and on one that does again."""

    said = Signal(str)

    def __init__(
        self, lanes: tuple[Lane, ...], places: Callable[[], tuple[Path, ...]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._lanes = lanes
        self._places = places
        self._looking: Look | None = None
        self._silent = ""
        self.setContentsMargins(GAP, 0, GAP, 0)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.hide()
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MS)
        self._timer.timeout.connect(self._look)
        for lane in lanes:
            lane.busy_changed.connect(self._on_busy)
        self._on_busy(any(lane.busy for lane in lanes))

    @Slot(bool)
    def _on_busy(self, busy: bool) -> None:
        if busy and not self._timer.isActive():
            self._timer.start()

    @Slot()
    def _look(self) -> None:
        waited = max(lane.at_it_s for lane in self._lanes)
        if not waited:
            self._timer.stop()
        if waited < SLOW_S:
            self._show("")
            self._answered()
            return
        look = self._looking
        if look is None or (look.at is None and look.took_s > DEAD_S):
            look = self._looking = Look(self._places())
        if look.at is not None and look.took_s > DEAD_S - SLOW_S:
            self._silence(visible(str(look.at)))
        elif not self._silent:
            self._show(self.tr("Still at work…"), self.tr("Something takes long. The disk may be slow."))

    def _silence(self, place: str) -> None:
        sentence = self.tr(
            "{home} lies on a disk or a network share that does not answer. What you type is kept, and the "
            "window may be closed. Reverie goes on as soon as it answers."
        ).format(home=place)
        self._show(self.tr("The disk does not answer"), sentence)
        if not self._silent:
            log.info("%s does not answer", place)
            self._silent = place
            self.said.emit(sentence)

    def _answered(self) -> None:
        silent, self._silent = self._silent, ""
        if self._looking is not None and self._looking.at is None:
            self._looking = None
        if silent:
            self.said.emit(self.tr("{home} answers again.").format(home=silent))

    def _show(self, text: str, more: str = "") -> None:
        if text != self.text():
            self.setText(text)
            self.setToolTip(as_tooltip(more))
            self.setAccessibleDescription(more)
            self.setVisible(bool(text))
