"""Controller of the consolidation footer: starts and cancels runs, shows progress, opens results in Changes.

`Consolidation` runs the jobs, one at a time, on the consolidator's thread: consolidations, the application of
a review, and undos. Runs that use a model first resolve the engine and, if needed, ask for consent to send
memory text to its provider. It emits only progress and outcomes; it refreshes no view.

Threading: GUI thread; the workbench is used only inside jobs. Failure: shown in the footer.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt, Signal, SignalInstance, Slot
from PySide6.QtWidgets import QWidget

from reverie.agents.scopes import ScopeContext
from reverie.engine.asking import Request, ask
from reverie.errors import UserError
from reverie.jobs.consolidate.review import ReviewSelection
from reverie.ui.dialogs import ConsentDialog, ModelDialog
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lane, Lanes, Ticket, Work
from reverie.ui.memory.footer import Footer
from reverie.ui.session import HomeSession
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.runs.parts import Parts
    from reverie.runs.record import Progress, RunResult
    from reverie.services.models import ModelChoice
    from reverie.services.views import ConsentView, StatusView
    from reverie.services.workbench import Workbench


RULES, AUTO = "rules", "auto"
"""Engine names: the rules engine, and the engine that the settings choose."""


class DreamEnded(Struct, frozen=True):
    """The result of a consolidation, a preview, or an applied review."""

    run: RunResult
    dry_run: bool
    kind: str = "dream"
    """`dream`, `preview` or `apply`."""


class PreparedRun(Struct, frozen=True):
    """The engine that a run will use, and the question for consent if it needs one."""

    engine: str
    consent: ConsentView | None
    """The question for the user; None if no consent is needed."""


class ModelRuns(QObject):
    """The runner of jobs that may use a model, one at a time, on one lane.

    Each job emits perhaps `consent_wanted`, then `progressed`, and finally exactly one of `ended`, `failed`
    and `cancelled`.
    """

    consent_wanted = Signal(object, str)
    """Emitted with `ConsentView` and engine; the job waits for `answer`."""
    progressed = Signal(object)
    """Emitted with a value that the job reports as its progress."""
    ended = Signal(object)
    """Emitted with the result of the job."""
    failed = Signal(object)
    """Emitted with a `UserError` when the job failed."""
    cancelled = Signal()
    """Emitted when the job was cancelled, or the user did not consent."""

    def __init__(self, lane: Lane, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lane = lane
        self._ticket: Ticket | None = None
        self._asked: PreparedRun | None = None
        self._start: Callable[[str, bool], None] = lambda _engine, _agreed: None
        self._ends: SignalInstance = self.ended
        self._workbench: Workbench | None = None

    @property
    def running(self) -> bool:
        return self._ticket is not None or self._asked is not None

    def runs_in(self, workbench: Workbench) -> bool:
        """Return True if a job of this home is running or waiting for consent."""
        return self.running and self._workbench is workbench

    def begin(
        self,
        workbench: Workbench,
        name: str,
        run: Callable[[JobControl, str], Coroutine[Any, Any, Any]],
        prepare: Work[PreparedRun] | None,
    ) -> None:
        """Start the job `run(control, engine)`, which is called `name`.

        `prepare` chooses the engine; None: the rules. If a model needs the user's consent, the job waits for
        it, and stores it first. Must not be called while another job runs.
        """

        def start(engine: str, agreed: bool) -> None:
            async def work(control: JobControl) -> Any:
                if agreed:
                    await ask(workbench.models.give_consent, engine)
                return await run(control, engine)

            self._submit(workbench, name, work)

        self._start = start
        if prepare is None:
            start(RULES, False)
        else:
            self._submit(workbench, "prepare", prepare)

    def answer(self, agreed: bool) -> None:
        """Continue the job that waits for consent if the user `agreed`, else cancel it."""
        prepared, self._asked = self._asked, None
        if prepared is not None and agreed:
            self._start(prepared.engine, True)
        elif prepared is not None:
            self.cancelled.emit()

    @Slot()
    def cancel(self) -> None:
        if self._ticket is not None:
            self._ticket.cancel()

    def _submit(
        self, workbench: Workbench, name: str, work: Work[Any], ends: SignalInstance | None = None
    ) -> None:
        """Run a job of a home on the lane; `ends` is emitted with its result, by default `ended`."""
        self._workbench, self._ends = workbench, ends or self.ended
        self._ticket = self._lane.submit(
            name,
            work,
            done=self._on_done,
            failed=self._on_failed,
            cancelled=self._on_cancelled,
            progress=self.progressed.emit,
        )

    def _on_done(self, result: Any) -> None:
        ticket, self._ticket = self._ticket, None
        if not isinstance(result, PreparedRun):
            self._ends.emit(result)
        elif ticket is not None and ticket.control.cancel.is_set():
            self.cancelled.emit()
        elif result.consent is None:
            self._start(result.engine, False)
        else:
            self._asked = result
            self.consent_wanted.emit(result.consent, result.engine)

    def _on_failed(self, error: UserError) -> None:
        self._ticket = None
        self.failed.emit(error)

    def _on_cancelled(self) -> None:
        self._ticket = None
        self.cancelled.emit()


class Consolidation(ModelRuns):
    """The runner of the consolidation jobs of a window, one at a time.

    Each job also emits `started` at its beginning; an undo ends with `reverted` in place of `ended`. The
    value of `progressed` is a `Progress`, that of `ended` a `DreamEnded`.
    """

    started = Signal(str)
    """Emitted with `dream`, `preview`, `apply` or `revert` when a job starts."""
    reverted = Signal(object)
    """Emitted with a `RunResult` after an undo."""

    def dream(
        self, workbench: Workbench, context: ScopeContext, *, dry_run: bool, engine: str = AUTO
    ) -> None:
        """Start a consolidation or, with `dry_run`, a preview.

        The call is ignored while another job of this window runs.
        """
        if self.running:
            return
        kind = "preview" if dry_run else "dream"

        async def prepare(_control: JobControl) -> PreparedRun:
            chosen = (await button_engine(workbench, context)).engine if engine == AUTO else engine
            no_consent = chosen == RULES
            consent = None if no_consent else await ask(workbench.models.consent_needed, context, chosen)
            return PreparedRun(chosen, consent)

        async def run(control: JobControl, engine: str) -> DreamEnded:
            result = await ask(
                workbench.start_dream,
                context,
                dry_run=dry_run,
                engine=engine,
                progress=control.report,
                cancel=control.cancel,
            )
            return DreamEnded(result, dry_run, kind)

        self.begin(workbench, "consolidate", run, None if engine == RULES else prepare)
        self.started.emit(kind)

    def apply(self, workbench: Workbench, run_id: str, selection: ReviewSelection) -> None:
        """Apply the selected operations of a run; ignored while another job of this window runs."""
        if self.running:
            return

        async def work(control: JobControl) -> DreamEnded:
            run = await ask(
                workbench.reviews.apply, run_id, selection, progress=control.report, cancel=control.cancel
            )
            return DreamEnded(run, dry_run=False, kind="apply")

        self._submit(workbench, "apply a review", work)
        self.started.emit("apply")

    def revert(self, workbench: Workbench, run_id: str, part: Parts | None = None) -> None:
        """Undo a run, or only `part` of it; ignored while another job of this window runs."""
        if self.running:
            return
        self._submit(workbench, "undo a run", ask(workbench.revert, run_id, part), self.reverted)
        self.started.emit("revert")


def button_engine(workbench: Workbench, context: ScopeContext) -> Request[ModelChoice]:
    """Return a request for the engine that the Consolidate button would use, and why.

    An engine that still needs the user's consent counts as usable.
    """
    return ask(workbench.models.choose, context, AUTO, before_consent=True)


class FooterControl(QObject):
    """The controller of the footer of the Memory tab."""

    state_changed = Signal()
    """Emitted when the set of enabled actions changes."""
    review_wanted = Signal(object, str)
    """Emitted with `HomeSession` and run id when the user wants to see what the run changed."""
    refused = Signal(object)
    """Emitted with a `UserError` if a run cannot be applied or undone because another one is running."""

    def __init__(self, footer: Footer, lanes: Lanes, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self._window = parent
        self._icons = icons
        self._lanes = lanes
        self.footer = footer
        self.jobs = Consolidation(lanes.consolidator, self)
        self._session: HomeSession | None = None
        self._of: HomeSession | None = None  # the home of the running or last shown run
        self._place = ""
        self._run_place = ""
        self._available = False
        self._choice: ModelChoice | None = None
        self._used: list[str] = []  # models named before, newest first
        self.last_outcome = ""
        panel = footer.panel
        panel.cancel.connect(self.jobs.cancel)
        panel.review.connect(self.review)
        panel.revert.connect(self.revert)
        panel.apply.connect(self.apply_all)
        # Queued: the dialog runs an event loop of its own, which must not run inside the lane's slot.
        self.jobs.consent_wanted.connect(self._on_consent_wanted, Qt.ConnectionType.QueuedConnection)
        self.jobs.started.connect(self._on_started)
        self.jobs.progressed.connect(self._on_progress)
        self.jobs.ended.connect(self._on_ended)
        self.jobs.reverted.connect(self._on_reverted)
        self.jobs.failed.connect(self._on_failed)
        self.jobs.cancelled.connect(self._on_cancelled)

    def set_session(self, session: HomeSession | None) -> None:
        """Set the home to show; None means no home."""
        self._session = session
        self._available = False
        self._choice = None
        self.forget()

    def forget(self, place: str = "") -> None:
        """Clear the status; called while another context is being read.

        `place` is the title of that context; "" if no context is being read.
        """
        self._place = place
        self.footer.forget()
        if not self.jobs.running:
            self.footer.panel.result.clear()
        self._follow()

    @Slot(object)
    def show_status(self, status: StatusView) -> None:
        """Show the status of the context, and read the engine again."""
        self.footer.show_status(status)
        self._follow()
        self.ask_engine()

    def set_available(self, available: bool) -> None:
        """Set whether the home can be read; if not, no consolidation can start."""
        self._available = available
        self._follow()

    # Availability and engine

    @property
    def obstacle(self) -> str:
        """The reason why no consolidation can start now; empty if one can."""
        session = self._session
        if self.jobs.running:
            return self.tr("running")
        if session is None or session.context is None or not self._available:
            return self.tr("not available")
        if not session.facts.consolidates:
            return self.tr("this agent consolidates its memories itself")
        # The same rule as for the command line: homes with workspaces need a workspace or a project.
        has_workspaces = any(project.workspaces for project in session.info.contents.projects)
        is_named = session.context.workspace_id is not None or session.context.project_path
        if has_workspaces and not is_named:
            return self.tr("select a workspace or a project")
        return self._elsewhere

    @property
    def _elsewhere(self) -> str:
        """A sentence about the consolidation that another process runs in this home; empty if none does."""
        status = self._session.status if self._session is not None else None
        running = status.running if status is not None else None
        if running is None or running.ours:
            return ""
        return self.tr("another consolidation is running (process {pid})").format(pid=running.owner.pid)

    def _follow(self) -> None:
        """Show the engine, or the reason why no run can start, and emit `state_changed`.

        A run takes the place of the scopes and needs no reason.
        """
        self.footer.panel.show_elsewhere(self._elsewhere)
        is_shown = self.jobs.running or bool(self._elsewhere)
        self.footer.say_engine("" if is_shown else self.obstacle, self._choice)
        self.state_changed.emit()

    @Slot()
    def ask_engine(self) -> None:
        """Read the engine of the Consolidate button, and show it."""
        session = self._session
        if session is None or session.context is None:
            return
        work = button_engine(session.workbench, session.context)
        # A run reports problems with the engine.
        self._lanes.scan.submit(
            "ask for the engine", work, done=self._on_engine, failed=self._on_no_engine, group="engine"
        )

    def _on_engine(self, choice: ModelChoice) -> None:
        if choice != self._choice:
            self._choice = choice
            self._follow()

    def _on_no_engine(self, _error: UserError) -> None:
        self._choice = None
        self._follow()

    # Running

    def run(self, *, dry_run: bool, engine: str = AUTO) -> None:
        """Start a consolidation of the context that is shown; ignored if there is an obstacle."""
        session = self._session
        if self.obstacle or session is None or session.context is None:
            return
        self._begin(session)
        self.jobs.dream(session.workbench, session.context, dry_run=dry_run, engine=engine)

    @Slot()
    def run_now(self) -> None:
        self.run(dry_run=False)

    @Slot()
    def preview(self) -> None:
        self.run(dry_run=True)

    @Slot()
    def run_rules(self) -> None:
        self.run(dry_run=False, engine=RULES)

    @Slot()
    def run_model(self) -> None:
        """Ask for the name of a model, and start a consolidation with it."""

        model = ModelDialog.ask(self._window, self._known_models())
        if model is not None:
            self._used = [model, *(name for name in self._used if name != model)]
            self.run(dry_run=False, engine=model)

    def _known_models(self) -> list[str]:
        """Return the models that were used, newest first, and the configured one."""
        configured = [self._choice.engine] if self._choice is not None else []
        return list(dict.fromkeys(name for name in (*self._used, *configured) if name != RULES))

    @Slot(object, str)
    def _on_consent_wanted(self, consent: ConsentView, engine: str) -> None:

        agreed = ConsentDialog.ask(self._window, consent, engine)
        self.jobs.answer(agreed)
        if not agreed:
            self.footer.panel.result.say(self.tr("Not started. Nothing was sent."))

    @Slot(str)
    def apply_all(self, run_id: str) -> None:
        """Apply all operations of the preview (dry run) `run_id`."""

        self.apply(run_id, ReviewSelection())

    @Slot(str, object)
    def apply(self, run_id: str, selection: ReviewSelection) -> None:
        """Apply the selected operations of a run."""
        if self._session is not None and not self._refused():
            session = self._session_of(run_id)
            self._begin(session)
            self.jobs.apply(session.workbench, run_id, selection)

    @Slot(str)
    @Slot(str, object)
    def revert(self, run_id: str, part: Parts | None = None) -> None:
        """Undo a run, or only `part` of it."""
        if self._session is not None and not self._refused():
            session = self._session_of(run_id)
            self._begin(session)
            self.jobs.revert(session.workbench, run_id, part)

    def _refused(self) -> bool:
        """Return True if another run is in progress, after emitting `refused`."""
        if not self.jobs.running:
            return False
        busy = UserError(
            self.tr("Another run is in progress."), next_step=self.tr("Try again when that run has finished.")
        )
        self.refused.emit(busy)
        return True

    def _begin(self, session: HomeSession) -> None:
        """Store the home and context of the run that starts."""
        self._of, self._run_place = session, self._place

    def _session_of(self, run_id: str) -> HomeSession:
        """Return the session of the home that the run belongs to.

        If the panel shows the run, this is the home for which the run was started; otherwise it is the home
        that is shown.
        """
        told = run_id == self.footer.panel.run_id and self._of is not None
        session = self._of if told else self._session
        assert session is not None
        return session

    @Slot(str)
    def _on_started(self, kind: str) -> None:
        sentence = {
            "dream": self.tr("Consolidating…"),
            "preview": self.tr("Preparing a preview…"),
            "apply": self.tr("Applying the selected changes…"),
            "revert": self.tr("Undoing…"),
        }[kind]
        with self.footer.keeping_focus():
            self.footer.panel.start(sentence, cancellable=kind != "revert")
            self._follow()

    @Slot(object)
    def _on_progress(self, progress: Progress) -> None:
        self.footer.panel.progress(progress)

    @Slot(object)
    def _on_ended(self, ended: DreamEnded) -> None:
        self.last_outcome = ended.run.outcome
        elsewhere = self._run_place if self._run_place != self._place else ""
        with self.footer.keeping_focus():
            self.footer.panel.ended(ended.run, dry_run=ended.dry_run, place=elsewhere)
            self._follow()

    @Slot(object)
    def _on_reverted(self, result: RunResult) -> None:
        with self.footer.keeping_focus():
            self.footer.panel.reverted(result)
            self._follow()

    @Slot(object)
    def _on_failed(self, error: UserError) -> None:
        with self.footer.keeping_focus():
            self.footer.panel.failed(error)
            self._follow()

    @Slot()
    def _on_cancelled(self) -> None:
        with self.footer.keeping_focus():
            self.footer.panel.cancelled()
            self._follow()

    @Slot(str)
    def review(self, run_id: str) -> None:
        """Emit a request to show the changes of a run in the Changes tab."""
        if self._session is not None:
            self.review_wanted.emit(self._session_of(run_id), run_id)
