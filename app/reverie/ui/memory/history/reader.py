"""Reading jobs of one part of a window: how many are under way, and one place for what goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Signal

from reverie.errors import MendableError
from reverie.ui.jobs import JobControl, Lane


class Reader(QObject):
    """`failed(MendableError)`. A newer job of the same group takes an older one's place."""

    failed = Signal(object)

    def __init__(self, lane: Lane, parent: QObject) -> None:
        super().__init__(parent)
        self._lane = lane
        self._open = 0

    @property
    def busy(self) -> bool:
        return self._open > 0

    def read(
        self, name: str, group: str, work: Callable[[JobControl], Any], done: Callable[[Any], None]
    ) -> None:
        """Run `work` on the lane and hand what it found to `done`."""
        self._open += 1

        def ended(value: Any) -> None:
            self._open -= 1
            done(value)

        def failed(error: MendableError) -> None:
            self._open -= 1
            self.failed.emit(error)

        def cancelled() -> None:
            self._open -= 1

        self._lane.submit(name, work, done=ended, failed=failed, cancelled=cancelled, group=self._name(group))

    def drop(self, group: str) -> None:
        """Nobody waits for the open job of this group any more."""
        self._lane.abandon(self._name(group))

    def _name(self, group: str) -> str:
        return f"{group} {id(self)}"
