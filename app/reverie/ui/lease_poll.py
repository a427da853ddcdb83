"""Whether somebody else's run still holds the lease. Leases lie outside the home and change without a
file, so the session asks every two seconds, and only while one is held.

Threading: GUI thread; the asking is a job of the scan lane, left out while that has something else to do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from reverie.ui.jobs import JobControl, Lane

if TYPE_CHECKING:
    from reverie.homes.scopes import ScopeContext
    from reverie.services.views import StatusView
    from reverie.services.workbench import Workbench

LEASE_POLL_MS = 2000


class LeasePoll(QObject):
    """`told(StatusView)`: the status that was followed, with what runs now. `failed(MendableError)`."""

    told = Signal(object)
    failed = Signal(object)

    def __init__(self, workbench: Workbench, lane: Lane, parent: QObject) -> None:
        super().__init__(parent)
        self._workbench = workbench
        self._lane = lane
        self._about: tuple[ScopeContext, StatusView] | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(LEASE_POLL_MS)
        self._timer.timeout.connect(self._ask)

    def follow(self, context: ScopeContext | None, status: StatusView) -> None:
        """The status that is shown now."""
        self._about = (context, status) if context is not None else None
        if status.running is not None:
            self._timer.start()
        else:
            self._timer.stop()

    def stop(self) -> None:
        """Nothing is shown whose lease matters."""
        self._about = None
        self._timer.stop()

    @Slot()
    def _ask(self) -> None:
        if self._about is None or self._lane.busy:
            return
        workbench = self._workbench
        context, status = self._about

        def work(_control: JobControl) -> StatusView:
            return replace(status, running=workbench.status(context).running)

        self._lane.submit(
            "ask for the lease", work, done=self.told.emit, failed=self.failed.emit, group="lease"
        )
