"""The start of a home's watcher, and the polling for a run of another process.

Threading: GUI thread; requests to the engine run as jobs. Failure: emitted as `failed`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from reverie.agents.scopes import ScopeContext
from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.ui.jobs import JobControl, Lane, repeating
from reverie.values import replace

if TYPE_CHECKING:
    from reverie.engine.engine import HomeEngine
    from reverie.files.watch import WatchState
    from reverie.services.views import StatusView


class HomeWatcher(QObject):
    """The starter of one home's watcher, which runs in the engine; it does nothing if not `enabled`.

    The watcher is started by a job on the scan lane, after the first content is shown. If that fails, the
    next call of `start` tries again.

    Signals: started(WatchState): The watcher runs. failed(UserError): The watcher could not be started.
    """

    started = Signal(object)
    failed = Signal(object)

    def __init__(self, workbench: HomeEngine, lane: Lane, parent: QObject, *, enabled: bool) -> None:
        super().__init__(parent)
        self._workbench = workbench
        self._lane = lane
        self._enabled = enabled
        self._starting = False
        self._engines = 1
        self.is_started = False

    def start(self, context: ScopeContext | None) -> None:
        """Start the watcher for the home and the files of `context`, unless it runs or is being started.

        `context` None: for the files of the home alone.
        """
        if self._starting or self.is_started or not self._enabled:
            return
        self._starting = True
        workbench, engine = self._workbench, self._engines

        def done(state: WatchState) -> None:
            if engine != self._engines:
                return  # the engine that answered has died since
            self._starting, self.is_started = False, True
            self.started.emit(state)

        def failed(error: UserError) -> None:
            if engine == self._engines:
                self._starting = False  # the next read tries again
            self.failed.emit(error)

        self._lane.submit("start watching", ask(workbench.watch_for, context), done=done, failed=failed)

    def lost(self) -> None:
        """Note that the watcher has ended together with its engine, so that `start` starts it again."""
        self._engines += 1
        self._starting = self.is_started = False

    def rescan(self, reason: str) -> None:
        """Make the watcher compare all files with the disk; `reason` is for the log."""
        workbench = self._workbench

        self._lane.submit(
            "compare with the disk",
            ask(workbench.rescan, reason),
            done=lambda _nothing: None,
            failed=self.failed.emit,
        )


LEASE_POLL_MS = 2000


class LeasePoll(QObject):
    """A timer that asks every two seconds, while a consolidation runs, whether it still runs.

    This is necessary because the lease of a run is stored outside the home, where nothing is watched. Nothing
    is asked while the scan lane is busy.

    Signals: status_read(StatusView): The status passed to `follow`, with the run that is active now.
    failed(UserError): The lease could not be read.
    """

    status_read = Signal(object)
    failed = Signal(object)

    def __init__(self, workbench: HomeEngine, lane: Lane, parent: QObject) -> None:
        super().__init__(parent)
        self._workbench = workbench
        self._lane = lane
        self._about: tuple[ScopeContext, StatusView] | None = None
        self._timer = repeating(self, LEASE_POLL_MS, self._ask)

    def follow(self, context: ScopeContext | None, status: StatusView) -> None:
        """Poll as long as `status` has a running consolidation; replaces the previous status.

        `context` is the context of the status; None if there is none, then nothing is asked.
        """
        self._about = (context, status) if context is not None else None
        if status.running is not None:
            self._timer.start()
        else:
            self._timer.stop()

    def stop(self) -> None:
        """Stop polling, because no home is shown."""
        self._about = None
        self._timer.stop()

    @Slot()
    def _ask(self) -> None:
        if self._about is None or self._lane.busy:
            return
        workbench = self._workbench
        context, status = self._about

        async def work(_control: JobControl) -> StatusView:
            return replace(status, running=(await ask(workbench.status, context)).running)

        self._lane.submit(
            "ask for the lease", work, done=self.status_read.emit, failed=self.failed.emit, group="lease"
        )
