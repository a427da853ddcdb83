"""Between the Memory tab, its footer and the extraction of a Codex home.

Where extraction stands is read after each reading of the footer's status, with a rest between, since the
beginnings of rollouts are looked at for it. A run goes through the consolidator's lane, one at a time; before
a model of another machine is used for the first time, a person is asked.

Threading: GUI thread; the desk is touched inside jobs only. Failure: told in the dialog.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAction

from reverie.errors import MendableError
from reverie.homes.codex_names import KIND
from reverie.ui.extraction import words
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lanes, Ticket
from reverie.ui.session import HomeSession

if TYPE_CHECKING:
    from reverie.services.extracting import Candidate, ExtractProgress, ExtractResult, ExtractView
    from reverie.services.views import ConsentView
    from reverie.ui.extraction.dialog import ExtractDialog
    from reverie.ui.memory.tab import MemoryTab

REST_MS = 1_500
AUTO, RULES = "auto", "rules"


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The engine that counts, and what is to be asked before it is used."""

    engine: str
    consent: ConsentView | None


class ExtractControl(QObject):
    """`state_changed()`: whether an extraction is possible, or runs, is another."""

    state_changed = Signal()
    _consent_wanted = Signal(object)

    def __init__(self, tab: MemoryTab, lanes: Lanes, icons: Icons, now: Callable[[], int]) -> None:
        super().__init__(tab)
        self._tab = tab
        self._lanes = lanes
        self._icons = icons
        self._now = now
        self._session: HomeSession | None = None
        self._of: HomeSession | None = None  # whose extraction runs, or ran last
        self._ticket: Ticket | None = None
        self._asking = False
        self._view: ExtractView | None = None
        self._action: QAction | None = None
        self.result: ExtractResult | None = None
        self.dialog: ExtractDialog | None = None
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(REST_MS)
        self._rest.timeout.connect(self._ask)
        # Queued: the question waits in an event loop of its own, which must not stand inside the lane's slot.
        self._consent_wanted.connect(self._on_consent_wanted, Qt.ConnectionType.QueuedConnection)

    def set_action(self, action: QAction) -> None:
        """What stands on the footer's button where a home is extracted, not consolidated."""
        self._action = action

    @property
    def available(self) -> bool:
        """The shown home keeps rollouts."""
        return self._session is not None and self._session.info.kind == KIND

    @property
    def running(self) -> bool:
        return self._ticket is not None or self._asking

    def runs_in(self, session: HomeSession) -> bool:
        """Whether an extraction of this home runs."""
        return self.running and self._of is session

    def set_session(self, session: HomeSession | None) -> None:
        """Another home is shown; what runs goes on."""
        if self._session is not None:
            self._session.status_changed.disconnect(self._soon)
        self._session = session
        self.forget()
        self._tab.footer.offer(self._action if self.available else None)
        if self.dialog is not None and not self.running:
            self.dialog.close()
        if session is not None:
            session.status_changed.connect(self._soon)

    def forget(self) -> None:
        """Another context is being read."""
        self._view = None
        self._rest.stop()
        self._lanes.scan.abandon("extract status")
        self._tab.footer.say_extraction(None)

    # Where it stands

    @Slot()
    def _soon(self) -> None:
        if not self.available:
            return
        if self._view is None:
            self._ask()
        elif not self._rest.isActive():
            self._rest.start()

    @Slot()
    def _ask(self) -> None:
        session = self._session
        if session is None or session.context is None or not self.available:
            return
        desk, project = session.workbench, session.context.project_path

        def work(_control: JobControl) -> ExtractView:
            return desk.extracting.status(project)

        def done(view: ExtractView) -> None:
            if session is self._session:
                self._view = view
                self._tell()

        # What is wrong with the engine is told by the run that needs it.
        self._lanes.scan.submit(
            "ask where extraction stands", work, done=done, failed=self._on_unknown, group="extract status"
        )

    def _on_unknown(self, _error: MendableError) -> None:
        self._view = None
        self._tab.footer.say_extraction(None)

    def _tell(self) -> None:
        view = self._view
        if view is not None:
            self._tab.footer.say_extraction(words.footer_line(view, running=self.running))
            self._tab.footer.say_other_engine(view.engine, to_notes=view.to_notes)
            if self.dialog is not None and not self.running:
                self.dialog.say_standing(view)
        self.state_changed.emit()

    # The dialog

    @Slot()
    def show(self) -> None:
        """Who comes next; while an extraction runs, how far it is."""
        if not self.available:
            return
        if self.dialog is None:
            self.dialog = self._made()
        if not self.running:
            self._read_candidates()
        if self.dialog.isVisible():
            self.dialog.raise_()
            self.dialog.activateWindow()
        else:
            self.dialog.show()

    def _made(self) -> ExtractDialog:
        from reverie.ui.extraction.dialog import ExtractDialog

        dialog = ExtractDialog(self._icons, self._now, self._tab)
        dialog.run.clicked.connect(self.run)
        dialog.run_rules.clicked.connect(self.run_rules)
        dialog.cancel_button.clicked.connect(self.cancel)
        dialog.review.connect(self._tab.dreams.review)
        return dialog

    def _read_candidates(self) -> None:
        session, dialog = self._session, self.dialog
        if session is None or session.context is None or dialog is None:
            return
        self.is_listed = False
        desk, project = session.workbench, session.context.project_path
        dialog.summary.say(self.tr("Reading…"))
        dialog.message.clear()
        dialog.follow(running=False, possible=False)

        def work(_control: JobControl) -> tuple[tuple[Candidate, ...], ExtractView]:
            return desk.extracting.candidates(project), desk.extracting.status(project)

        def done(found: tuple[tuple[Candidate, ...], ExtractView]) -> None:
            self.is_listed = True
            if session is self._session and not self.running:
                candidates, self._view = found
                dialog.show_candidates(candidates)
                # Also without candidates: a directory may wait for its consolidation.
                dialog.follow(running=False, possible=True)
                self._tell()

        def failed(error: MendableError) -> None:
            self.is_listed = True
            dialog.summary.say("")
            dialog.message.say_error(error)

        self._lanes.scan.submit("list threads to extract", work, done=done, failed=failed, group="candidates")

    is_listed = False
    """The dialog shows all candidates."""

    # Running

    @Slot()
    def run(self) -> None:
        """With the engine that the settings name."""
        self._begin(AUTO)

    @Slot()
    def run_rules(self) -> None:
        self._begin(RULES)

    def _begin(self, engine: str) -> None:
        session = self._session
        if self.running or session is None or session.context is None or not self.available:
            return
        self._of, self.result = session, None
        if engine == RULES:
            self._start(RULES, agreed=False)
            return
        desk, context = session.workbench, session.context

        def work(_control: JobControl) -> _Prepared:
            chosen = desk.extracting.choose(AUTO, before_consent=True).engine
            if chosen == RULES:
                return _Prepared(chosen, None)
            consent = desk.models.consent_needed(context, chosen)
            if consent is not None:
                found = desk.extracting.candidates(context.project_path)
                rollouts = tuple(each.title or each.thread_id for each in found if each.chosen)
                consent = replace(consent, files=(*rollouts, *consent.files))
            return _Prepared(chosen, consent)

        self._submit("prepare an extraction", work, self._on_prepared)

    def _on_prepared(self, prepared: _Prepared) -> None:
        cancelled = self._ticket is not None and self._ticket.control.cancel.is_set()
        self._ticket = None
        if cancelled:
            self._on_cancelled()
        elif prepared.consent is None:
            self._start(prepared.engine, agreed=False)
        else:
            self._asking = True
            self._consent_wanted.emit(prepared)

    @Slot(object)
    def _on_consent_wanted(self, prepared: _Prepared) -> None:
        from reverie.ui.extraction.consent import RolloutConsent

        assert prepared.consent is not None
        agreed = RolloutConsent.ask(self.dialog or self._tab, prepared.consent, prepared.engine)
        self._asking = False
        if agreed:
            self._start(prepared.engine, agreed=True)
        else:
            self._follow()
            if self.dialog is not None:
                self.dialog.message.say(self.tr("Not started. Nothing was sent."))

    def _start(self, engine: str, *, agreed: bool) -> None:
        session = self._of
        if session is None or session.context is None:
            return
        desk, context = session.workbench, session.context

        def work(control: JobControl) -> ExtractResult:
            if agreed:
                desk.models.give_consent(engine)
            return desk.extracting.run(
                engine=engine,
                project_path=context.project_path,
                progress=control.report,
                cancel=control.cancel,
            )

        self._submit("extract", work, self._on_ended)

    def _submit(self, name: str, work: Callable[[JobControl], object], done: Callable[..., None]) -> None:
        self._ticket = self._lanes.consolidator.submit(
            name,
            work,
            done=done,
            failed=self._on_failed,
            cancelled=self._on_cancelled,
            progress=self._on_progress,
        )
        if self.dialog is not None:
            self.dialog.message.clear()
        self._follow()

    @Slot()
    def cancel(self) -> None:
        if self._ticket is not None:
            self._ticket.cancel()

    def _on_progress(self, progress: ExtractProgress) -> None:
        if self.dialog is not None:
            self.dialog.show_progress(progress)

    def _on_ended(self, result: ExtractResult) -> None:
        self._ticket, self.result = None, result
        if self.dialog is not None:
            self.dialog.show_result(result)
        self._follow()
        self._ask()

    def _on_failed(self, error: MendableError) -> None:
        self._ticket = None
        if self.dialog is not None:
            self.dialog.message.say_error(error)
        self._follow()

    def _on_cancelled(self) -> None:
        self._ticket = None
        if self.dialog is not None:
            self.dialog.message.say(self.tr("Cancelled."), tone="warn")
        self._follow()

    def _follow(self) -> None:
        if self.dialog is not None:
            self.dialog.follow(running=self.running, possible=self.available)
        self._tell()
