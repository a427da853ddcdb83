"""Between the Memory tab, its footer and the extraction of a Codex home.

Where extraction stands is read after each reading of the footer's status, with a rest between, since the
beginnings of rollouts are looked at for it. A run goes through the writer's lane, one at a time; before
a model of another machine is used for the first time, a person is asked.

Threading: GUI thread; the workbench is used only inside jobs. Failure: told in the dialog.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QProgressBar,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from reverie.agents.capabilities import StatusLine
from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.ui import display_text
from reverie.ui.appearance import SIGN_CONTRAST, readable, tabular, theme_of
from reverie.ui.dialogs import ConsentDialog
from reverie.ui.display_text import as_tooltip, counted, tr, visible
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lanes, Ticket, Work, single_shot
from reverie.ui.memory.footer import Footer
from reverie.ui.memory.footer_control import AUTO, RULES, PreparedRun
from reverie.ui.session import HomeSession
from reverie.ui.widgets.controls import FitPushButton, WrapLabel
from reverie.ui.widgets.layouts import FlowLayout, column, size_sections
from reverie.ui.widgets.messages import MessageBar
from reverie.values import replace

if TYPE_CHECKING:
    from reverie.jobs.extraction.state import ExtractProgress, ExtractResult, PartEnd
    from reverie.services.background import ExtractCandidate, ExtractView
    from reverie.services.views import ConsentView


# How an extraction is told: its stages, its outcome, where it stands. Pure but for the translation.


def stage(name: str) -> str:
    return {
        "next": tr("comes next"),
        "left-out": tr("skipped"),
        "waiting": tr("waiting"),
        "reading": tr("reading"),
        "thinking": tr("thinking"),
        "writing": tr("writing"),
        "persisted": tr("kept"),
        "consolidated": tr("consolidated"),
        "failed": tr("failed"),
        "skipped": tr("skipped"),
        "cancelled": tr("cancelled"),
    }.get(name, visible(name))


SIGNS = {
    "next": "runs", "waiting": "runs", "reading": "refresh", "thinking": "refresh", "writing": "refresh",
    "persisted": "check", "consolidated": "check", "failed": "error", "cancelled": "cancel",
    "left-out": "info", "skipped": "info",
}  # fmt: skip


def waiting(count: int) -> str:
    if not count:
        return tr("No threads waiting.")
    return counted("1 thread waiting.", "%n threads waiting.", count)


def footer_line(view: ExtractView, *, running: bool) -> StatusLine:
    """Last extraction, candidates waiting, lease holder."""
    state: Literal["ok", "running", "warn", "fail"] = "ok"
    parts = [waiting(view.waiting)]
    if view.to_notes:
        parts.append(tr("Each result becomes a note to Codex."))
    if view.last_at is not None:
        outcome = display_text.outcome(view.last_outcome)
        parts.append(tr("Last consolidation: {outcome}.").format(outcome=outcome))
        state = "fail" if view.last_outcome == "failed" else "ok"
    if view.holder:
        parts.append(tr("Running: {holder}.").format(holder=view.holder.rstrip(".")))
    if view.holder or running:
        state = "running"
    return StatusLine(None, tr("Extraction by Reverie"), " ".join(parts), state, view.last_at)


REST_MS = 1_500


class ExtractControl(QObject):
    """Signals: `state_changed()` when an extraction becomes possible or impossible, starts or ends;
    `review_wanted(run id)`."""

    state_changed = Signal()
    review_wanted = Signal(str)
    _consent_wanted = Signal(object)

    def __init__(
        self, footer: Footer, lanes: Lanes, icons: Icons, now: Callable[[], int], window: QWidget
    ) -> None:
        super().__init__(window)
        self._footer = footer
        self._window = window
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
        self._rest = single_shot(self, REST_MS, self._ask)
        # Queued: the question waits in an event loop of its own, which must not stand inside the lane's slot.
        self._consent_wanted.connect(self._on_consent_wanted, Qt.ConnectionType.QueuedConnection)

    def set_action(self, action: QAction) -> None:
        """What stands on the footer's button where a home is extracted, not consolidated."""
        self._action = action

    @property
    def available(self) -> bool:
        """The shown home keeps rollouts."""
        return self._session is not None and self._session.facts.extracts

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
        self._footer.offer(self._action if self.available else None)
        if self.dialog is not None and not self.running:
            self.dialog.close()
        if session is not None:
            session.status_changed.connect(self._soon)

    def forget(self) -> None:
        """Another context is being read."""
        self._view = None
        self._rest.stop()
        self._lanes.scan.abandon("extract status")
        self._footer.say_extraction(None)

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
        workbench, project = session.workbench, session.context.project_path

        def done(view: ExtractView) -> None:
            if session is self._session:
                self._view = view
                self._tell()

        # What is wrong with the engine is told by the run that needs it.
        self._lanes.scan.submit(
            "ask where extraction stands",
            ask(workbench.extracting.status, project),
            done=done,
            failed=self._on_unknown,
            group="extract status",
        )

    def _on_unknown(self, _error: UserError) -> None:
        self._view = None
        self._footer.say_extraction(None)

    def _tell(self) -> None:
        view = self._view
        if view is not None:
            self._footer.say_extraction(footer_line(view, running=self.running))
            self._footer.say_other_engine(view.engine, to_notes=view.to_notes)
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
        dialog = ExtractDialog(self._icons, self._now, self._window)
        dialog.run.clicked.connect(self.run)
        dialog.run_rules.clicked.connect(self.run_rules)
        dialog.cancel_button.clicked.connect(self.cancel)
        dialog.review.connect(self.review_wanted)
        return dialog

    def _read_candidates(self) -> None:
        session, dialog = self._session, self.dialog
        if session is None or session.context is None or dialog is None:
            return
        self.is_listed = False
        workbench, project = session.workbench, session.context.project_path
        dialog.summary.say(self.tr("Reading…"))
        dialog.message.clear()
        dialog.follow(running=False, possible=False)

        async def work(_control: JobControl) -> tuple[tuple[ExtractCandidate, ...], ExtractView]:
            return await ask(workbench.extracting.candidates, project), await ask(
                workbench.extracting.status, project
            )

        def done(found: tuple[tuple[ExtractCandidate, ...], ExtractView]) -> None:
            self.is_listed = True
            if session is self._session and not self.running:
                candidates, self._view = found
                dialog.show_candidates(candidates)
                # Also without candidates: a directory may wait for its consolidation.
                dialog.follow(running=False, possible=True)
                self._tell()

        def failed(error: UserError) -> None:
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
        workbench, context = session.workbench, session.context

        async def work(_control: JobControl) -> PreparedRun:
            chosen = (await ask(workbench.extracting.choose, AUTO, before_consent=True)).engine
            if chosen == RULES:
                return PreparedRun(chosen, None)
            consent = await ask(workbench.models.consent_needed, context, chosen)
            if consent is not None:
                found = await ask(workbench.extracting.candidates, context.project_path)
                rollouts = tuple(each.title or each.thread_id for each in found if each.chosen)
                consent = replace(consent, files=(*rollouts, *consent.files))
            return PreparedRun(chosen, consent)

        self._submit("prepare an extraction", work, self._on_prepared)

    def _on_prepared(self, prepared: PreparedRun) -> None:
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
    def _on_consent_wanted(self, prepared: PreparedRun) -> None:
        assert prepared.consent is not None
        agreed = RolloutConsent.ask(self.dialog or self._window, prepared.consent, prepared.engine)
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
        workbench, context = session.workbench, session.context

        async def work(control: JobControl) -> ExtractResult:
            if agreed:
                await ask(workbench.models.give_consent, engine)
            return await ask(
                workbench.extracting.run,
                engine=engine,
                project_path=context.project_path,
                progress=control.report,
            )

        self._submit("extract", work, self._on_ended)

    def _submit(self, name: str, work: Work[Any], done: Callable[..., None]) -> None:
        self._ticket = self._lanes.writer.submit(
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

    def _on_failed(self, error: UserError) -> None:
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


# Extracting the rollouts of a Codex home: which threads come next and which are left out and why, then how
# far each of them is, then what became of it. Stays open beside the window.
#
# Shows what it is told; what is done is the control's.


_WIDTHS = (120, 320, 140, 110)
_RUN = Qt.ItemDataRole.UserRole
_TOLD = Qt.ItemDataRole.UserRole + 1


class ExtractDialog(QDialog):
    """`review(str)`: a run to look at. Buttons: `run`, `run_rules`, `cancel_button`."""

    review = Signal(str)

    def __init__(self, icons: Icons, now: Callable[[], int], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icons = icons
        self._now = now
        self.setWindowTitle(self.tr("Extract rollouts"))
        self.resize(900, 520)
        self.summary = WrapLabel()
        self.engine = WrapLabel()
        self.message = MessageBar(icons, "extract-message")
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(self.tr("Rollouts that are done"))
        self.bar.setMaximumHeight(8)
        self.table = QTreeWidget()
        self.told = WrapLabel()
        self.run = FitPushButton()
        self.run_rules = FitPushButton()
        self.cancel_button = FitPushButton()
        self.review_button = FitPushButton()
        self._items: dict[str, QTreeWidgetItem] = {}
        self._lay_out()
        self.follow(running=False, possible=False)

    def _lay_out(self) -> None:
        self.run.say(self.tr("&Extract"), self.tr("With the engine that the settings name"))
        self.run_rules.say(self.tr("With &rules"), self.tr("Offline, by fixed rules"))
        self.cancel_button.say(self.tr("&Cancel"), self.tr("What is kept stays; the rest comes next time"))
        self.review_button.say(self.tr("Re&view changes"), self.tr("What the selected one changed, and undo"))
        self.review_button.clicked.connect(self._on_review)
        table = self.table
        table.setHeaderLabels(
            [self.tr("State"), self.tr("Thread"), self.tr("Project"), self.tr("Changed"), self.tr("Message")]
        )
        table.setRootIsDecorated(False)
        table.setUniformRowHeights(True)
        table.setAccessibleName(self.tr("Threads and directories"))
        table.setFont(tabular(table.font()))
        size_sections(table.header(), _WIDTHS)
        table.currentItemChanged.connect(self._on_current)
        row = FlowLayout()
        for button in (self.run, self.run_rules, self.cancel_button, self.review_button):
            button.setAutoDefault(False)
            row.addWidget(button)
        close = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        close.rejected.connect(self.reject)
        close.button(QDialogButtonBox.StandardButton.Close).setAutoDefault(False)
        column(
            self, self.summary, self.engine, self.message, self.bar, table, self.told, row, close, grows=table
        )
        self.bar.hide()

    def follow(self, *, running: bool, possible: bool) -> None:
        """Which buttons do something now."""
        for button in (self.run, self.run_rules):
            button.setEnabled(possible and not running)
        self.cancel_button.setEnabled(running)
        self.bar.setVisible(running)

    def say_standing(self, view: ExtractView) -> None:
        """How many threads wait, what `run` uses and why, and where the results go."""
        outcome = self.tr(
            "Each result becomes a note to Codex. Codex adds it to its memory the next time it consolidates."
        )
        self.summary.say(" ".join((waiting(view.waiting), *((outcome,) if view.to_notes else ()))))
        name = display_text.engine(view.engine)
        self.engine.say(self.tr("Engine: {engine}. {why}").format(engine=name, why=view.why))
        self.run_rules.setVisible(view.engine != "rules")

    def show_candidates(self, candidates: Sequence[ExtractCandidate]) -> None:
        """Who comes next, and who is left out."""
        self.table.clear()
        self._items.clear()
        for each in candidates:
            state = "next" if each.chosen else "left-out"
            title = each.title or each.thread_id
            self._row(each.thread_id, state, title, each.project_path, each.updated_at, each.sentence)
        self._select_first()

    def show_progress(self, progress: ExtractProgress) -> None:
        """How far one rollout or directory is."""
        item = self._items.get(progress.id)
        if item is None:
            title = progress.title or progress.id
            if progress.kind == "directory":
                title = self.tr("Consolidation")
            item = self._row(progress.id, progress.stage, title, progress.project_path, None, progress.text)
            if progress.kind == "directory":
                self.table.scrollToItem(item)
        self._say(item, progress.stage, progress.text)
        if progress.total:
            self.bar.setRange(0, progress.total)
            self.bar.setValue(progress.done)
        if item is self.table.currentItem():
            self._on_current()

    def show_result(self, result: ExtractResult) -> None:
        """How all of it ended."""
        for part in (*result.rollouts, *result.directories):
            self._take_end(part)
        if result.succeeded:
            self.message.say(visible(result.summary))
        else:
            told = " ".join(each for each in (result.summary, result.reason, result.next_step) if each)
            tone = "warn" if result.outcome in ("cancelled", "skipped", "unchanged") else "bad"
            self.message.say(visible(told), tone=tone)  # type: ignore[arg-type]
        self._on_current()

    def _take_end(self, part: PartEnd) -> None:
        item = self._items.get(part.id)
        if item is None:
            title = part.title or part.id if part.kind == "rollout" else self.tr("Consolidation")
            item = self._row(part.id, "waiting", title, part.project_path, None, "")
        done = "persisted" if part.kind == "rollout" else "consolidated"
        if part.kind == "rollout" and part.outcome == "unchanged":
            done = "skipped"  # there was nothing to remember
        state = (
            done
            if part.succeeded
            else {"cancelled": "cancelled", "skipped": "skipped"}.get(part.outcome, "failed")
        )
        told = part.summary if part.succeeded else part.reason or part.summary
        self._say(item, state, " ".join(each for each in (told, part.next_step) if each))
        item.setData(0, _RUN, part.run_id)

    def _row(
        self, key: str, state: str, title: str, project: str, at: int | None, told: str
    ) -> QTreeWidgetItem:
        name = project.rstrip("/").rpartition("/")[2] or "–"
        age = display_text.age(self._now(), at) if at is not None else "–"
        item = QTreeWidgetItem(["", visible(title), visible(name), age, ""])
        item.setToolTip(1, as_tooltip(title, key))
        item.setToolTip(2, as_tooltip(project))
        self._items[key] = item
        self.table.addTopLevelItem(item)
        self._say(item, state, told)
        return item

    def _say(self, item: QTreeWidgetItem, state: str, told: str) -> None:
        theme = theme_of(self.table.palette())
        color = {"failed": theme.bad, "cancelled": theme.warn, "persisted": theme.good,
                 "consolidated": theme.good, "left-out": theme.dim, "skipped": theme.dim}.get(
            state, theme.accent)  # fmt: skip
        sign = readable(color, theme.base, SIGN_CONTRAST)
        item.setIcon(0, self._icons.sign(SIGNS.get(state, "info"), sign, self.table.palette()))
        item.setText(0, stage(state))
        item.setText(4, visible(told))
        item.setToolTip(4, as_tooltip(told))
        item.setData(0, _TOLD, told)

    def _select_first(self) -> None:
        first = self.table.topLevelItem(0)
        if first is not None:
            self.table.setCurrentItem(first)
        else:
            self._on_current()

    @Slot()
    def _on_current(self) -> None:
        item = self.table.currentItem()
        self.told.say(item.data(0, _TOLD) or "" if item is not None else "")
        self.review_button.setEnabled(item is not None and bool(item.data(0, _RUN)))

    @Slot()
    def _on_review(self) -> None:
        item = self.table.currentItem()
        if item is not None and item.data(0, _RUN):
            self.review.emit(item.data(0, _RUN))


# What is asked before rollouts leave this machine for the first time.


class RolloutConsent(ConsentDialog):
    """The same question; what a thread holds is not read before it is answered."""

    def _facts(self, consent: ConsentView, engine: str) -> str:
        facts = (
            self.tr("The model {engine} reads the threads named first, and may read the memories after them.")
            .format(engine=visible(engine)),
            self.tr("What looks like a secret to Reverie is replaced by a placeholder and is not sent."),
            self.tr("You are asked once for this home and destination."),
        )  # fmt: skip
        return " ".join(facts)
