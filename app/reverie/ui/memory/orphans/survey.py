"""Looks for the orphaned stores of one open home: once its first tree is on screen, and again when something
changed outside of what is shown.

Threading: GUI thread; the looking is a job on the history lane, where it holds up neither trees nor edits.
Failure: told by `failed`; the next change looks again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from reverie.ui.jobs import JobControl
from reverie.ui.session import HomeSession

if TYPE_CHECKING:
    from reverie.services.orphan_views import OrphansView

# An agent at work touches its home many times a second.
_QUIET_MS = 400


class OrphanSurvey(QObject):
    """`surveyed(OrphanSurvey)`: `view` is new. `failed(MendableError)`."""

    surveyed = Signal(object)
    failed = Signal(object)

    def __init__(self, session: HomeSession, parent: QObject) -> None:
        super().__init__(parent)
        self.session = session
        self.view: OrphansView | None = None
        self._closed = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_QUIET_MS)
        self._timer.timeout.connect(self.look)
        session.status_changed.connect(self._begin)
        session.outside_changed.connect(self._stir)

    @Slot()
    def look(self) -> None:
        """Look now; an answer that is under way is not waited for."""
        if self._closed:
            return
        self._timer.stop()
        workbench = self.session.workbench

        def work(control: JobControl) -> OrphansView:
            return workbench.orphans.survey(control.check)

        self.session.lanes.history.submit(
            "look for orphaned stores",
            work,
            done=self._on_view,
            failed=self.failed.emit,
            group=f"orphans {id(self)}",
        )

    def stop(self) -> None:
        """The window closes."""
        self._closed = True
        self._timer.stop()

    def _on_view(self, view: OrphansView) -> None:
        if view != self.view:
            self.view = view
            self.surveyed.emit(self)

    @Slot()
    def _begin(self) -> None:
        self.session.status_changed.disconnect(self._begin)
        self._stir()

    @Slot()
    def _stir(self) -> None:
        if not self._closed and not self._timer.isActive():
            self._timer.start()
