"""The watcher of one open home, made and begun by a job of the scan lane once something is shown.

Asked for again and again, it begins once; where it could not begin, it begins with the next asking. Every
watcher that a job made is stopped by `finish`, also one that nobody waited for any more.

Threading: GUI thread; the watcher's own threads deliver to `deliver`, which may be called from any.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from reverie.errors import MendableError
from reverie.ui.jobs import JobControl, Lane

if TYPE_CHECKING:
    from reverie.files.watch import Watcher, WatchState
    from reverie.homes.scopes import ScopeContext
    from reverie.services.workbench import Workbench


class HomeWatch(QObject):
    """`begun(WatchState)`: it watches from now on. `said(str)`: a sentence of the watcher's, from any thread.
    `failed(MendableError)`: it could not begin. Without `wanted` nothing is ever watched."""

    begun = Signal(object)
    said = Signal(str)
    failed = Signal(object)

    def __init__(
        self,
        workbench: Workbench,
        lane: Lane,
        deliver: Callable[[Any], None],
        parent: QObject,
        *,
        wanted: bool,
    ) -> None:
        super().__init__(parent)
        self._workbench = workbench
        self._lane = lane
        self._deliver = deliver
        self._wanted = wanted
        self._starting = self._finished = False
        self._made: list[Watcher] = []
        self.watcher: Watcher | None = None

    def start(self, context: ScopeContext | None) -> None:
        """Watch what `context` is made of; None: the home alone."""
        if self._starting or not self._wanted:
            return
        self._starting = True
        workbench, deliver, say, made = self._workbench, self._deliver, self.said.emit, self._made

        def work(_control: JobControl) -> tuple[Watcher, WatchState]:
            watcher = workbench.watch(deliver, notify=say)
            made.append(watcher)  # so that it is stopped even if nobody waits for this job any more
            watcher.set_targets(workbench.watch_targets(context))
            watcher.start()
            if self._finished:
                watcher.stop()
            return watcher, watcher.state()

        def failed(error: MendableError) -> None:
            self._starting = False  # the next reading tries again
            self.failed.emit(error)

        self._lane.submit("start watching", work, done=self._on_watching, failed=failed)

    def _on_watching(self, found: tuple[Watcher, WatchState]) -> None:
        if self._finished:
            return
        watcher, state = found
        self.watcher = watcher
        self.begun.emit(state)

    def finish(self) -> None:
        """Stop what was made, and begin nothing more. Waits for the watcher's threads (under 2 s). From any
        thread; calling it again is harmless."""
        self._finished = True
        for watcher in self._made:
            watcher.stop()
