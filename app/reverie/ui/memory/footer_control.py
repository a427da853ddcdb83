"""Between the footer, the running consolidation and the dialogs that show runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QWidget

from reverie.errors import MendableError
from reverie.files.process import is_ours
from reverie.homes.scopes import Scope
from reverie.memory.paths import ROOT
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lanes
from reverie.ui.memory.consolidation import AUTO, RULES, Consolidation, DreamEnded, button_engine
from reverie.ui.memory.footer import Footer
from reverie.ui.session import HomeSession

if TYPE_CHECKING:
    from reverie.dream.review import Selection
    from reverie.homes.scopes import ScopeContext
    from reverie.runs.parts import Parts
    from reverie.services.models import Choice
    from reverie.services.views import ConsentView, DreamProgress, RevertView, RunSummary, StatusView
    from reverie.services.workbench import Workbench
    from reverie.ui.memory.runs_dialog import RunsDialog


class FooterControl(QObject):
    """`state_changed()`: whether one can consolidate is another. `open_wanted(str)`: open this memory path of
    the shown context in the editor."""

    state_changed = Signal()
    open_wanted = Signal(str)

    def __init__(self, footer: Footer, lanes: Lanes, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self._window = parent
        self._icons = icons
        self._lanes = lanes
        self.footer = footer
        self.jobs = Consolidation(lanes.consolidator, self)
        self._session: HomeSession | None = None
        self._of: HomeSession | None = None  # whose run is running, or told last
        self._place = ""
        self._run_place = ""
        self._available = False
        self._choice: Choice | None = None
        self._used: list[str] = []  # models named before, newest first
        self.last_outcome = ""
        self._runs: RunsDialog | None = None
        self._review: RunsDialog | None = None
        panel = footer.panel
        panel.cancel.connect(self.jobs.cancel)
        panel.review.connect(self.review)
        panel.revert.connect(self.revert)
        panel.apply.connect(self.apply_all)
        # Queued: the question waits in an event loop of its own, which must not stand inside the lane's slot.
        self.jobs.consent_wanted.connect(self._on_consent_wanted, Qt.ConnectionType.QueuedConnection)
        self.jobs.started.connect(self._on_started)
        self.jobs.progressed.connect(self._on_progress)
        self.jobs.ended.connect(self._on_ended)
        self.jobs.reverted.connect(self._on_reverted)
        self.jobs.failed.connect(self._on_failed)
        self.jobs.cancelled.connect(self._on_cancelled)

    def set_session(self, session: HomeSession | None) -> None:
        """Another home, or none: dialogs of the last one are closed."""
        self._session = session
        self._available = False
        self._choice = None
        for dialog in (self._runs, self._review):
            if dialog is not None:
                dialog.close()
        self.forget()

    def forget(self, place: str = "") -> None:
        """Another context, called `place`, is being read."""
        self._place = place
        self.footer.forget()
        if not self.jobs.running:
            self.footer.panel.result.clear()
        self._follow()

    @Slot(object)
    def show_status(self, status: StatusView) -> None:
        self.footer.show_status(status)
        self._follow()
        self.ask_engine()

    def set_available(self, available: bool) -> None:
        """Whether the home can be reached."""
        self._available = available
        self._follow()

    # May one consolidate?

    @property
    def obstacle(self) -> str:
        """Why the button cannot be pressed now; empty if it can."""
        session = self._session
        if self.jobs.running:
            return self.tr("running")
        if session is None or session.context is None or not self._available:
            return self.tr("not available")
        keeps_records = session.workbench.parts.home.records() is not None
        # A home that has none is consolidated as it is, or by project, as the command does.
        has_workspaces = any(project.workspaces for project in session.info.contents.projects)
        if session.context.workspace_id is None and has_workspaces and not keeps_records:
            return self.tr("select a workspace")
        running = session.status.running if session.status is not None else None
        if running is not None and not is_ours(running.owner.pid):
            return self.tr("another one is running (process {pid})").format(pid=running.owner.pid)
        return ""

    def _follow(self) -> None:
        self.footer.say_engine(self.obstacle, self._choice)
        self.state_changed.emit()

    @Slot()
    def ask_engine(self) -> None:
        """Read which engine the button means."""
        session = self._session
        if session is None or session.context is None:
            return
        workbench, context = session.workbench, session.context

        def work(_control: JobControl) -> Choice:
            return button_engine(workbench, context)

        # What is wrong is told by the run that needs it.
        self._lanes.scan.submit(
            "ask for the engine", work, done=self._on_engine, failed=self._on_no_engine, group="engine"
        )

    def _on_engine(self, choice: Choice) -> None:
        if choice != self._choice:
            self._choice = choice
            self._follow()

    def _on_no_engine(self, _error: MendableError) -> None:
        self._choice = None
        self._follow()

    # Running

    def run(self, *, dry_run: bool, engine: str = AUTO) -> None:
        """Begin a consolidation of the shown context; nothing happens where one cannot begin."""
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
        """With a model that is asked for by name."""
        from reverie.ui.model_choice import ModelDialog

        model = ModelDialog.ask(self._window, self._known_models())
        if model is not None:
            self._used = [model, *(name for name in self._used if name != model)]
            self.run(dry_run=False, engine=model)

    def _known_models(self) -> list[str]:
        configured = [self._choice.engine] if self._choice is not None else []
        return list(dict.fromkeys(name for name in (*self._used, *configured) if name != RULES))

    @Slot(object, str)
    def _on_consent_wanted(self, consent: ConsentView, engine: str) -> None:
        from reverie.ui.consent import ConsentDialog

        agreed = ConsentDialog.ask(self._window, consent, engine)
        self.jobs.answer(agreed)
        if not agreed:
            self.footer.panel.result.say(self.tr("Not started. Nothing was sent."))

    @Slot(str)
    def apply_all(self, run_id: str) -> None:
        """Carry out a plan as it is."""
        from reverie.dream.review import Selection

        self.apply(run_id, Selection())

    @Slot(str, object)
    def apply(self, run_id: str, selection: Selection) -> None:
        """Carry out what was chosen of a run."""
        if self._session is not None and not self._refused():
            session = self._session_of(run_id)
            self._begin(session)
            self.jobs.apply(session.workbench, run_id, selection)

    @Slot(str)
    @Slot(str, object)
    def revert(self, run_id: str, part: Parts | None = None) -> None:
        """Undo a run, or a part of it."""
        if self._session is not None and not self._refused():
            session = self._session_of(run_id)
            self._begin(session)
            self.jobs.revert(session.workbench, run_id, part)

    def _refused(self) -> bool:
        """Whether another run is going on; the reviews that asked are told."""
        if not self.jobs.running:
            return False
        busy = MendableError(
            self.tr("Another run is going on."), next_step=self.tr("Try again when it has ended.")
        )
        for dialog in self._dialogs():
            dialog.show_failed(busy)
        return True

    def _begin(self, session: HomeSession) -> None:
        self._of, self._run_place = session, self._place

    def _session_of(self, run_id: str) -> HomeSession:
        """The home of a run: that of the run told last, else the one that is shown."""
        told = run_id == self.footer.panel.run_id and self._of is not None
        session = self._of if told else self._session
        assert session is not None
        return session

    @Slot(str)
    def _on_started(self, kind: str) -> None:
        sentence = {
            "dream": self.tr("Consolidating…"),
            "preview": self.tr("Preparing a preview…"),
            "apply": self.tr("Applying what was chosen…"),
            "revert": self.tr("Undoing…"),
        }[kind]
        with self.footer.keeping_focus():
            self.footer.panel.start(sentence, cancellable=kind != "revert")
            self._follow()

    @Slot(object)
    def _on_progress(self, progress: DreamProgress) -> None:
        self.footer.panel.progress(progress)

    @Slot(object)
    def _on_ended(self, ended: DreamEnded) -> None:
        self.last_outcome = ended.run.outcome
        elsewhere = self._run_place if self._run_place != self._place else ""
        with self.footer.keeping_focus():
            self.footer.panel.ended(ended.run, dry_run=ended.dry_run, place=elsewhere)
            self._follow()
        if ended.kind == "apply":
            for dialog in self._dialogs():
                dialog.show_applied(ended.run)

    @Slot(object)
    def _on_reverted(self, result: RevertView) -> None:
        with self.footer.keeping_focus():
            self.footer.panel.reverted(result)
            self._follow()
        for dialog in self._dialogs():
            dialog.show_reverted(result)

    @Slot(object)
    def _on_failed(self, error: MendableError) -> None:
        with self.footer.keeping_focus():
            self.footer.panel.failed(error)
            self._follow()
        for dialog in self._dialogs():
            dialog.show_failed(error)

    @Slot()
    def _on_cancelled(self) -> None:
        with self.footer.keeping_focus():
            self.footer.panel.cancelled()
            self._follow()

    # Reading runs

    @Slot(str)
    def review(self, run_id: str) -> None:
        """What one run changed."""
        if self._session is None:
            return
        if self._review is None:
            self._review = self._new_dialog(with_list=False)
        self._review.show_runs(self._session_of(run_id).workbench, run_id)
        _bring_up(self._review)

    @property
    def review_dialog(self) -> RunsDialog | None:
        return self._review

    @Slot()
    def show_runs(self) -> None:
        """All runs of the home."""
        if self._session is None:
            return
        if self._runs is None:
            self._runs = self._new_dialog(with_list=True)
        self._runs.show_runs(self._session.workbench)
        _bring_up(self._runs)

    @Slot()
    def runs_changed(self) -> None:
        if self._session is not None:
            for dialog in self._dialogs():
                dialog.follow(self._session.workbench)

    @Slot(object, object, str)
    def _on_open_wanted(self, workbench: Workbench, run: RunSummary, path: str) -> None:
        """Open a file of a review; the same path means another file where another place is shown."""
        session = self._session
        context = session.context if session is not None and session.workbench is workbench else None
        if context is not None and _is_of(run, path, context):
            self.open_wanted.emit(path)
            return
        elsewhere = MendableError(
            self.tr("This memory belongs to another project or workspace."),
            next_step=self.tr("Choose that one in the list of homes, then open it again."),
        )
        for dialog in self._dialogs():
            dialog.show_failed(elsewhere)

    def _dialogs(self) -> list[RunsDialog]:
        return [dialog for dialog in (self._runs, self._review) if dialog is not None and dialog.isVisible()]

    def _new_dialog(self, *, with_list: bool) -> RunsDialog:
        from reverie.ui.memory.runs_dialog import RunsDialog

        dialog = RunsDialog(self._lanes.scan, self._icons, self._window, with_list=with_list)
        dialog.revert.connect(self.revert)
        dialog.open_wanted.connect(self._on_open_wanted)
        dialog.pane.apply.connect(self.apply)
        dialog.pane.take_back.connect(self.revert)
        return dialog


def _is_of(run: RunSummary, path: str, context: ScopeContext) -> bool:
    """Whether `path` names the same file in `context` as it did in the run."""
    scope = path.removeprefix(f"{ROOT}/").partition("/")[0]
    if scope == Scope.WORKSPACE.value:
        return run.workspace_id == context.workspace_id
    return scope != Scope.PROJECT.value or run.project_path == context.project_path


def _bring_up(dialog: RunsDialog) -> None:
    """A dialog that is open already may lie behind the window."""
    if dialog.isVisible():
        dialog.raise_()
        dialog.activateWindow()
    else:
        dialog.show()
