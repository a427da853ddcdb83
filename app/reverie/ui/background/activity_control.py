"""Between the Activity tab, the homes and what runs: reads decisions when they changed and somebody looks.

Threading: GUI thread; decisions are read by jobs on the scan lane. Failure: told in the tab; the next change,
or coming back to the tab, tries again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from reverie.errors import UserError
from reverie.files.locks import is_ours
from reverie.log_level import is_debug, set_debug
from reverie.ui.background.activity_tab import RunningJob
from reverie.ui.display_text import visible
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.memory.run_panel import step_words
from reverie.ui.translation import tr

if TYPE_CHECKING:
    from reverie.files.lease import LeaseHolder
    from reverie.runs.changes import Progress
    from reverie.services.container import HomeContainer
    from reverie.services.views import StatusView
    from reverie.ui.background.activity_tab import ActivityTab, DecisionRow
    from reverie.ui.memory.footer_control import Consolidation
    from reverie.ui.session import HomeSession

READ_AT_MOST = 2000
BY_HAND = "by-hand"
POLL_MS = 1000


@dataclass(frozen=True, slots=True)
class _RunningWork:
    """A run that holds a lease. `place` names its workspace, empty for the dreams of a home."""

    name: str
    holder: LeaseHolder
    place: str


@dataclass(frozen=True, slots=True)
class _ReadDecisions:
    work: tuple[_RunningWork, ...]
    decisions: tuple[DecisionRow, ...] | None = None


class ActivityControl(QObject):
    """Wires one tab. `level_changed()`: the log tells more, or less. `pause(bool)`: the background services
    of the shown home are to stop, or to go on."""

    level_changed = Signal()
    pause = Signal(bool)

    def __init__(self, tab: ActivityTab, lane: Lane, dreams: Consolidation, log_file: Path) -> None:
        super().__init__(tab)
        self.tab = tab
        self._lane = lane
        self._dreams = dreams
        self._log_file = log_file
        self._session: HomeSession | None = None
        self._decisions: tuple[DecisionRow, ...] = ()
        self._stale = True
        self._jobs: dict[str, RunningJob] = {}
        # A lease changes without a file, so it is asked for while somebody looks at what runs.
        self._poll = QTimer(self)
        self._poll.setInterval(POLL_MS)
        self._poll.timeout.connect(self._ask_who_works)
        tab.shown.connect(self._on_shown)
        tab.services.chosen.connect(self._on_resume)
        tab.debug.connect(self.set_debug)
        tab.running.cancel.connect(self._on_cancel)
        dreams.started.connect(self._on_started)
        dreams.progressed.connect(self._on_progress)
        for ended in (dreams.ended, dreams.reverted, dreams.failed):
            ended.connect(self._on_ended)
        dreams.cancelled.connect(self._on_cancelled)
        self.say_level()

    # Decisions

    def set_session(self, session: HomeSession | None) -> None:
        """The home whose decisions are shown."""
        old = self._session
        if old is not None:
            old.activity_changed.disconnect(self.refresh)
            old.status_changed.disconnect(self._on_status)
        self._session = session
        if session is not None:
            session.activity_changed.connect(self.refresh)
            session.status_changed.connect(self._on_status)
        self._poll.stop()
        self._show_work(())
        self._decisions = ()
        self.tab.show_decisions(())
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Something was decided: read it, now or when somebody looks."""
        self._stale = True
        if self.tab.isVisible():
            self._read()

    @Slot()
    def _on_shown(self) -> None:
        self.say_level()
        if self._stale:
            self._read()

    def _read(self) -> None:
        session = self._session
        if session is None:
            return
        parts, places, before = session.workbench.parts, _places(session), self._decisions
        self._stale = False

        def work(_control: JobControl) -> _ReadDecisions:
            from reverie.ui.background.activity_tab import decisions

            read = parts.activity.read(READ_AT_MOST)
            return _ReadDecisions(_at_work(parts, places), decisions(read, places, before))

        self._lane.submit(
            "read the decisions", work, done=self._on_read, failed=self._on_read_failed, group="activity"
        )

    def _on_read(self, found: _ReadDecisions) -> None:
        self._show_work(found.work)
        if found.decisions is not None:
            self.tab.message.clear()
            self._decisions = found.decisions
            self.tab.show_decisions(found.decisions)

    def _on_read_failed(self, error: UserError) -> None:
        self._stale = True
        self.tab.message.say_error(error)

    # What runs

    @Slot(object)
    def _on_status(self, _status: StatusView) -> None:
        session = self._session
        context = session.context if session is not None else None
        self.tab.show_place(context.workspace_id if context is not None else None)
        self._ask_who_works()

    @Slot()
    def _ask_who_works(self) -> None:
        session = self._session
        if session is None or not self.tab.isVisible():
            self._poll.stop()
            return
        parts, places = session.workbench.parts, _places(session)

        def work(_control: JobControl) -> _ReadDecisions:
            return _ReadDecisions(_at_work(parts, places))

        self._lane.submit(
            "ask who works", work, done=self._on_read, failed=self._on_read_failed, group="who works"
        )

    def _show_work(self, found: tuple[_RunningWork, ...]) -> None:
        """What runs by itself, here or in another process. What a person started here is told already."""
        by_hand = self._jobs.get(BY_HAND)
        self._jobs = {} if by_hand is None else {BY_HAND: by_hand}
        for work in found:
            here = is_ours(work.holder.owner.pid)
            if here and not work.place and by_hand is not None:
                continue
            title = tr("Memory writer") if work.place else visible(work.holder.purpose)
            elsewhere = tr("in process {pid}, which alone can stop it")
            note = "" if here else elsewhere.format(pid=work.holder.owner.pid)
            self._jobs[work.name] = RunningJob(
                work.name, title, visible(work.place), cancellable=here, note=note
            )
        self.tab.running.show_jobs(tuple(self._jobs.values()))
        if found and self.tab.isVisible():
            self._poll.start()
        else:
            self._poll.stop()

    @Slot(str)
    def _on_started(self, kind: str) -> None:
        title = {
            "dream": tr("Consolidation"),
            "preview": tr("Preview of a consolidation"),
            "apply": tr("Applying what was chosen"),
            "revert": tr("Undo"),
        }.get(kind, visible(kind))
        self._show(RunningJob(BY_HAND, title, cancellable=kind != "revert"))

    @Slot(object)
    def _on_progress(self, progress: Progress) -> None:
        job = self._jobs.get(BY_HAND)
        if job is not None:
            self._show(
                RunningJob(
                    BY_HAND,
                    job.title,
                    step_words(progress.step),
                    progress.done,
                    progress.total,
                    job.cancellable,
                )
            )

    @Slot(object)
    def _on_ended(self, _what: object) -> None:
        self._drop(BY_HAND)

    @Slot()
    def _on_cancelled(self) -> None:
        self._drop(BY_HAND)

    @Slot(str)
    def _on_cancel(self, id_: str) -> None:
        if id_ == BY_HAND:
            self._dreams.cancel()
        else:
            # One run of them cannot be taken out: what called for it would call again.
            self.pause.emit(True)

    def say_paused(self, paused: bool) -> None:
        """Whether the background services of the shown home are paused here."""
        if paused:
            self.tab.services.say(
                tr("The background services of this home are paused here."),
                tone="warn",
                buttons=[("resume", tr("Go on"), tr("Let them run again"))],
            )
        else:
            self.tab.services.clear()

    @Slot(str)
    def _on_resume(self, _key: str) -> None:
        self.pause.emit(False)

    def _show(self, job: RunningJob) -> None:
        self._jobs[job.id] = job
        self.tab.running.show_jobs(tuple(self._jobs.values()))

    def _drop(self, id_: str) -> None:
        self._jobs.pop(id_, None)
        self.tab.running.show_jobs(tuple(self._jobs.values()))

    @property
    def jobs(self) -> Mapping[str, RunningJob]:
        return self._jobs

    # The log

    @Slot(bool)
    def set_debug(self, on: bool) -> None:
        """Whether gates and outcomes go to the log, until the window is closed."""
        set_debug(on)
        self.say_level()
        self.level_changed.emit()

    @Slot()
    def say_level(self) -> None:
        """Show how much the log tells now."""
        self.tab.say_log(debug=is_debug(), file=str(self._log_file))


def _places(session: HomeSession) -> dict[str, str]:
    """The names of workspaces by id."""
    return {workspace.id: workspace.label for workspace in session.info.contents.workspaces()}


def _at_work(parts: HomeContainer, places: Mapping[str, str]) -> tuple[_RunningWork, ...]:
    """Who holds a lease of a run of this home. For jobs."""
    from reverie.jobs.consolidate.service import dream_lease_name
    from reverie.jobs.writer.service import writer_lease_name

    names = [(dream_lease_name(parts.home_id), "")]
    names += [(writer_lease_name(parts.home_id, id_), place) for id_, place in places.items()]
    held = [(name, parts.leases.holder(name), place) for name, place in names]
    found = [_RunningWork(name, holder, place) for name, holder, place in held if holder is not None]
    # A writer takes the home's lease for a moment, too; it is one run all the same.
    writing = {work.holder.owner for work in found if work.place}
    return tuple(work for work in found if work.place or work.holder.owner not in writing)
