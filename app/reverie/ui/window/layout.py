"""Parts of the main window's frame: the splitter, the indicator of a slow disk, and the watcher's state.

Threading: GUI thread; nothing here reads a file (`DiskCheck` uses threads of its own).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QSplitter, QWidget

from reverie.files.directory import DiskCheck
from reverie.ui.appearance import GAP
from reverie.ui.display_text import as_tooltip, visible
from reverie.ui.jobs import Lane, repeating

if TYPE_CHECKING:
    from reverie.files.watch import WatchState


class StackingSplitter(QSplitter):
    """Two parts side by side, or one above the other where that is too narrow. Each order keeps its own
    sizes.

    `narrow`: the width below which it stacks; `above`: the height of the upper part then, at first."""

    def __init__(self, narrow: int, above: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._narrow = narrow
        self._known = {True: [above, 10 * above]}  # by whether it is stacked
        self.splitterMoved.connect(self._remember)

    @property
    def is_stacked(self) -> bool:
        return self.orientation() == Qt.Orientation.Vertical

    def beside(self) -> list[int]:
        """The widths beside each other, also while it is stacked."""
        return self._known.get(False, self.sizes()) if self.is_stacked else self.sizes()

    def set_beside(self, sizes: list[int]) -> None:
        """Give the parts these widths, now or once they are beside each other again."""
        if all(sizes):
            self._known[False] = sizes
        if not self.is_stacked:
            self.setSizes(sizes)

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        if self.is_stacked:
            return hint
        parts = (self.widget(index) for index in range(self.count()))
        widths = [_least_width(part) for part in parts if part is not None and not part.isHidden()]
        return QSize(max(widths, default=hint.width()), hint.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        stacked = event.size().width() < self._narrow
        if stacked != self.is_stacked:
            self._remember()
            self.setOrientation(Qt.Orientation.Vertical if stacked else Qt.Orientation.Horizontal)
            if known := self._known.get(stacked):
                self.setSizes(known)
        super().resizeEvent(event)
        self._remember()

    def _remember(self) -> None:
        """The sizes of this order. A part that is hidden has none, and gets its old one when it is shown."""
        sizes = self.sizes()
        if len(sizes) > 1 and all(sizes):
            self._known[self.is_stacked] = sizes


def _least_width(part: QWidget) -> int:
    return max(part.minimumWidth(), part.minimumSizeHint().width())


log = logging.getLogger("reverie.patience")

CHECK_MS = 500
SLOW_S = 2.0
DEAD_S = 5.0


class SlowDiskIndicator(QLabel):
    """Says in the status bar that a job takes long, and whether a disk or network share does not answer.

    Jobs wait for the disk of a home, and a share that is gone can block them for hours. `places`: the homes
    to check. `status_message(str)`: a disk stopped answering, or answers again."""

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
            self.status_message.emit(sentence)

    def _answered(self) -> None:
        silent, self._silent = self._silent, ""
        if self._check is not None and self._check.at is None:
            self._check = None
        if silent:
            self.status_message.emit(self.tr("{home} answers again.").format(home=silent))

    def _show(self, text: str, more: str = "") -> None:
        if text != self.text():
            self.setText(text)
            self.setToolTip(as_tooltip(more))
            self.setAccessibleDescription(more)
            self.setVisible(bool(text))


class WatchLabel(QLabel):
    """What the watcher of the shown home does, where it is not what one expects: nothing while it is live."""

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
        facts = self.tr("{events} changes came by event, {rescans} by full scan.").format(
            events=state.delivered_events, rescans=state.delivered_rescans
        )
        self.setToolTip(as_tooltip(state.message, facts))
