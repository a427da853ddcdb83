"""Dreams and undos asked for by a person: one at a time, on the consolidator thread.

Emits progress and outcomes only; no view is refreshed from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal, Slot

from reverie.errors import MendableError
from reverie.homes.base import ScopeContext
from reverie.ui.jobs import JobControl, Lane, Ticket

if TYPE_CHECKING:
    from reverie.services.views import RevertView, RunView
    from reverie.services.workbench import Workbench


@dataclass(frozen=True, slots=True)
class DreamEnded:
    run: RunView
    dry_run: bool


class Consolidation(QObject):
    """`started(bool cancellable)`, then `progressed(DreamProgress)`, then exactly one of `ended(DreamEnded)`,
    `reverted(RevertView)`, `failed(MendableError)`, `cancelled()`."""

    started = Signal(str)
    progressed = Signal(object)
    ended = Signal(object)
    reverted = Signal(object)
    failed = Signal(object)
    cancelled = Signal()

    def __init__(self, lane: Lane, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lane = lane
        self._ticket: Ticket | None = None

    @property
    def running(self) -> bool:
        return self._ticket is not None

    def dream(
        self, workbench: Workbench, context: ScopeContext, *, dry_run: bool, engine: str = "rules"
    ) -> None:
        """Start one; ignored while another one of this window runs."""
        if self.running:
            return

        def work(control: JobControl) -> DreamEnded:
            run = workbench.start_dream(
                context, dry_run=dry_run, engine=engine, progress=control.report, cancel=control.cancel
            )
            return DreamEnded(run, dry_run)

        self._submit("consolidate", work)
        self.started.emit("preview" if dry_run else "dream")

    def revert(self, workbench: Workbench, run_id: str) -> None:
        """Undo a run; ignored while another job of this window runs."""
        if self.running:
            return

        def work(_control: JobControl) -> RevertView:
            return workbench.revert(run_id)

        self._submit("undo a run", work)
        self.started.emit("revert")

    @Slot()
    def cancel(self) -> None:
        if self._ticket is not None:
            self._ticket.cancel()

    def _submit(self, name: str, work: Any) -> None:
        self._ticket = self._lane.submit(
            name,
            work,
            done=self._on_done,
            failed=self._on_failed,
            cancelled=self._on_cancelled,
            progress=self.progressed.emit,
        )

    def _on_done(self, result: DreamEnded | RevertView) -> None:
        self._ticket = None
        if isinstance(result, DreamEnded):
            self.ended.emit(result)
        else:
            self.reverted.emit(result)

    def _on_failed(self, error: MendableError) -> None:
        self._ticket = None
        self.failed.emit(error)

    def _on_cancelled(self) -> None:
        self._ticket = None
        self.cancelled.emit()
