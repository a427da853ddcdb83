"""Keeps the history of a home up with what changed outside, behind the views and never in their way.

The first time it catches up with everything that happened while nobody looked; then one batch of changes at a
time. A failure is told and tried again with the next change; what was noted meanwhile is not forgotten.

Threading: GUI thread; the work is done on the history lane.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from reverie.agents.scopes import ScopeContext
from reverie.errors import UserError
from reverie.files.watch import Changes
from reverie.ui.jobs import JobControl, Lane

if TYPE_CHECKING:
    from reverie.memory.usage import UsageRestored
    from reverie.services.drafts import LostSave
    from reverie.services.workbench import Workbench

_AGAIN_MS = 1000


class HistoryRecorder(QObject):
    """`started()`: the history is there. `kept()`: marks of what was seen may be others. `said(str)`.
    `overwritten(tuple[LostSave, ...])`: another program overwrote a save; a draft keeps its text."""

    started = Signal()
    kept = Signal()
    overwritten = Signal(object)
    status_message = Signal(str)

    def __init__(self, workbench: Workbench, lane: Lane, parent: QObject) -> None:
        super().__init__(parent)
        self._workbench = workbench
        self._lane = lane
        self._noted: Changes | None = None
        self._allowed = False
        self._ready = False
        self._busy = False
        self._closed = False
        self._usage_due = False
        self._again = QTimer(self)
        self._again.setSingleShot(True)
        self._again.setInterval(_AGAIN_MS)
        self._again.timeout.connect(self._on_again)

    @property
    def ready(self) -> bool:
        """Caught up once, and nothing is under way."""
        return self._ready and not self._busy

    def start(self) -> None:
        """From now on: before, nothing may be slowed down."""
        self._allowed = True
        self.keep()

    def note(self, changes: Changes) -> None:
        """Something changed; `keep` brings it in."""
        self._noted = changes if self._noted is None else merged(self._noted, changes)

    def keep(self) -> None:
        """Do what there is to do, one thing at a time."""
        if not self._allowed or self._busy or self._closed:
            return
        if not self._ready:
            self._catch_up()
        elif self._noted is not None:
            self._observe(self._noted)
        elif self._usage_due:
            self._keep_usage()

    def mark_seen(self, context: ScopeContext) -> None:
        """Everything that stands now counts as seen."""
        workbench = self._workbench

        def work(_control: JobControl) -> None:
            workbench.mark_opened(context)

        self._lane.submit("mark as seen", work, done=self._on_marked)

    def close(self) -> None:
        """Nothing more is begun; what is under way ends by itself."""
        self._closed = True
        self._again.stop()

    def _catch_up(self) -> None:
        self._busy = True
        workbench = self._workbench

        def work(_control: JobControl) -> None:
            workbench.start_history()

        self._lane.submit("start the history", work, done=self._on_caught_up, failed=self._on_failed)

    def _on_caught_up(self, _nothing: None) -> None:
        self._busy = False
        self._ready = True
        self._usage_due = True
        self.started.emit()
        self.kept.emit()
        self.keep()

    def _observe(self, changes: Changes) -> None:
        self._noted = None
        self._busy = True
        workbench = self._workbench

        def work(_control: JobControl) -> tuple[UsageRestored, tuple[LostSave, ...]]:
            lost = workbench.lost_saves(changes)
            return workbench.observe(changes), lost

        def failed(error: UserError) -> None:
            self.note(changes)
            self._on_failed(error)

        self._lane.submit("observe changes", work, done=self._on_observed, failed=failed)

    def _keep_usage(self) -> None:
        self._usage_due = False
        self._busy = True
        workbench = self._workbench

        def work(_control: JobControl) -> UsageRestored:
            return workbench.keep_usage()

        self._lane.submit("keep pins and use", work, done=self._on_usage_kept, failed=self._on_failed)

    def _on_again(self) -> None:
        self._usage_due = True
        self.keep()

    def _on_observed(self, found: tuple[UsageRestored, tuple[LostSave, ...]]) -> None:
        kept, lost = found
        if lost:
            self.overwritten.emit(lost)
        self._on_usage_kept(kept)

    def _on_usage_kept(self, kept: UsageRestored) -> None:
        self._busy = False
        if kept.announce:
            self.status_message.emit(
                self.tr(
                    "The agent is running and overwrites pins and use counts. "
                    "Reverie keeps its changes ({n}) until the agent is restarted."
                ).format(n=kept.announce)
            )
        if kept.pending:
            self._again.start()
        self.kept.emit()
        self.keep()

    def _on_marked(self, _nothing: None) -> None:
        self.kept.emit()

    def _on_failed(self, error: UserError) -> None:
        self._busy = False
        self.status_message.emit(str(error))


def merged(one: Changes, other: Changes) -> Changes:
    """Both, as one."""
    return replace(
        one,
        paths=one.paths | other.paths,
        rescan=one.rescan or other.rescan,
        events=one.events + other.events,
        reasons=tuple(dict.fromkeys((*one.reasons, *other.reasons))),
    )
