"""The labels of the status bar: one for slow disks, and one for the state of the watcher.

Threading: GUI thread; nothing here reads a file (`DiskCheck` uses threads of its own). Failure: none.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QLabel, QWidget

from reverie.files.directory import DiskCheck
from reverie.ui.appearance import GAP
from reverie.ui.display_text import as_tooltip, visible
from reverie.ui.jobs import Lane, repeating

if TYPE_CHECKING:
    from reverie.files.watch import WatchState


patience_log = logging.getLogger("reverie.patience")


CHECK_MS = 500


SLOW_S = 2.0


DEAD_S = 5.0


class SlowDiskIndicator(QLabel):
    """A label in the status bar, shown while a job takes long or a disk does not answer.

    Jobs wait for the disk of a home, and an unreachable network share can block them for hours. If a job in
    `lanes` (queues of jobs) takes more than `SLOW_S` seconds, `DiskCheck` checks the homes that `places`
    returns, in its own threads.

    Signals:
        status_message(str): A disk stopped answering, or answers again.
    """

    status_message = Signal(str)

    def __init__(
        self, lanes: tuple[Lane, ...], places: Callable[[], tuple[Path, ...]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._lanes = lanes
        self._places = places
        self._check: DiskCheck | None = None
        self._silent = ""
        self.setContentsMargins(GAP, 0, GAP, 0)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.hide()
        self._timer = repeating(self, CHECK_MS, self._update)
        for lane in lanes:
            lane.busy_changed.connect(self._on_busy)
        self._on_busy(any(lane.busy for lane in lanes))

    @Slot(bool)
    def _on_busy(self, busy: bool) -> None:
        if busy and not self._timer.isActive():
            self._timer.start()

    @Slot()
    def _update(self) -> None:
        waited = max(lane.busy_seconds for lane in self._lanes)
        if not waited:
            self._timer.stop()
        if waited < SLOW_S:
            self._show("")
            self._answered()
            return
        check = self._check
        if check is None or (check.at is None and check.took_s > DEAD_S):
            check = self._check = DiskCheck(self._places())
        if check.at is not None and check.took_s > DEAD_S - SLOW_S:
            self._silence(visible(str(check.at)))
        elif not self._silent:
            self._show(
                self.tr("Still working…"),
                self.tr("An operation is taking a long time. The disk might be slow."),
            )

    def _silence(self, place: str) -> None:
        sentence = self.tr(
            "{home} is on a disk or network share that is not responding. Reverie keeps the text "
            "that you type, and you can close the window. Reverie continues as soon as the disk "
            "responds."
        ).format(home=place)
        self._show(self.tr("The disk is not responding"), sentence)
        if not self._silent:
            patience_log.info("%s is not responding", place)
            self._silent = place
            self.status_message.emit(sentence)

    def _answered(self) -> None:
        silent, self._silent = self._silent, ""
        if self._check is not None and self._check.at is None:
            self._check = None
        if silent:
            self.status_message.emit(self.tr("{home} is responding again.").format(home=silent))

    def _show(self, text: str, more: str = "") -> None:
        if text != self.text():
            self.setText(text)
            self.setToolTip(as_tooltip(more))
            self.setAccessibleDescription(more)
            self.setVisible(bool(text))


class WatchLabel(QLabel):
    """A label with the state of the shown home's watcher.

    It is hidden while changes are reported by file events, which is the normal state.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setContentsMargins(GAP, 0, GAP, 0)
        self.setTextFormat(Qt.TextFormat.PlainText)

    def show_state(self, state: WatchState) -> None:
        text = {
            "events": self.tr("Live"),
            "polling": self.tr("Polling"),
            "stopped": self.tr("Not watching"),
        }.get(state.mode, visible(state.mode))
        self.setText(text)
        self.setVisible(state.mode != "events")
        facts = self.tr(
            "Changes reported by the system: {events}. Full checks of all files: {rescans}."
        ).format(events=state.delivered_events, rescans=state.delivered_rescans)
        self.setToolTip(as_tooltip(state.message, facts))
