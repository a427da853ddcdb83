"""Extraction of the rollouts of a Codex home: the line in the footer, the dialog, and its controller.

The status of the extraction is read after each update of the footer's status. Between two reads there is a
pause, because each requires reading the first lines of rollouts. Runs use the writer's lane, one at a time.
The user is asked for consent before a model on another machine is used for the first time.

Threading: GUI thread; the workbench is used only inside jobs. Failure: shown in the dialog.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QProgressBar, QTreeWidget, QTreeWidgetItem, QWidget

from reverie.agents.capabilities import StatusLine
from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.ui import display_text
from reverie.ui.appearance import SIGN_CONTRAST, readable, tabular, theme_of
from reverie.ui.dialogs import ConsentDialog
from reverie.ui.display_text import as_tooltip, counted, tr, translatable, translated, visible
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lanes, single_shot
from reverie.ui.memory.footer import Footer
from reverie.ui.memory.footer_control import AUTO, RULES, ModelRuns, PreparedRun
from reverie.ui.session import HomeSession
from reverie.ui.widgets.controls import FitPushButton, WrapLabel
from reverie.ui.widgets.layouts import FlowLayout, column, size_sections
from reverie.ui.widgets.messages import MessageBar
from reverie.values import replace

if TYPE_CHECKING:
    from reverie.jobs.extraction.service import ExtractProgress, ExtractResult, ExtractView, PartEnd
    from reverie.jobs.extraction.state import ThreadSelection
    from reverie.services.views import ConsentView


_STAGES: Mapping[str, tuple[str, str, str]] = {
    "next": (translatable("next"), "runs", "accent"),
    "left-out": (translatable("skipped"), "info", "dim"),
    "waiting": (translatable("waiting"), "runs", "accent"),
    "reading": (translatable("reading"), "refresh", "accent"),
    "thinking": (translatable("thinking"), "refresh", "accent"),
    "writing": (translatable("writing"), "refresh", "accent"),
    "persisted": (translatable("saved"), "check", "good"),
    "consolidated": (translatable("consolidated"), "check", "good"),
    "failed": (translatable("failed"), "error", "bad"),
    "skipped": (translatable("skipped"), "info", "dim"),
    "cancelled": (translatable("cancelled"), "cancel", "warn"),
}
"""The text, icon and color (of `Theme`) for each stage of a rollout or directory."""


def waiting(count: int) -> str:
    """Return a sentence with the number of threads (conversations) that wait for extraction."""
    if not count:
        return tr("No sessions waiting.")
    return counted("1 session waiting.", "%n sessions waiting.", count)


def footer_line(view: ExtractView, *, running: bool) -> StatusLine:
    """Return the footer's line about extraction: waiting threads, last outcome, and the active process.

    `running`: an extraction is running in this window.
    """
    state: Literal["ok", "running", "warn", "fail"] = "ok"
    parts = [waiting(view.waiting)]
    if view.to_notes:
        parts.append(tr("Each result is saved as a note for Codex."))
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
"""The pause between two reads of the status, in milliseconds."""


class ExtractControl(QObject):
    """The controller of the extraction of memories: it reads the status, and runs it from the dialog."""

    state_changed = Signal()
    """Emitted when an extraction becomes possible or impossible, starts or ends."""
    review_wanted = Signal(str)
    """Emitted with the id of a run whose changes the user wants to see."""

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
        self._view: ExtractView | None = None
        self._action: QAction | None = None
        self.result: ExtractResult | None = None
        self.dialog: ExtractDialog | None = None
        self._rest = single_shot(self, REST_MS, self._ask)
        self._runs = ModelRuns(lanes.writer, self)
        # Queued: the dialog runs an event loop of its own, which must not run inside the lane's slot.
        self._runs.consent_wanted.connect(self._on_consent_wanted, Qt.ConnectionType.QueuedConnection)
        self._runs.progressed.connect(self._on_progress)
        self._runs.ended.connect(self._on_ended)
        self._runs.failed.connect(self._on_failed)
        self._runs.cancelled.connect(self._on_cancelled)

    def set_action(self, action: QAction) -> None:
        """Set the action of the footer's button for homes that are extracted instead of consolidated."""
        self._action = action

    @property
    def available(self) -> bool:
        """True if the shown home supports extraction."""
        return self._session is not None and self._session.facts.extracts

    @property
    def running(self) -> bool:
        return self._runs.running

    def runs_in(self, session: HomeSession) -> bool:
        """Return True if an extraction of this home is running."""
        return self._runs.runs_in(session.workbench)

    def set_session(self, session: HomeSession | None) -> None:
        """Set the home to show; None means no home. A running extraction continues."""
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
        """Clear the status; called while another context is being read."""
        self._view = None
        self._rest.stop()
        self._lanes.scan.abandon("extract status")
        self._footer.say_extraction(None)

    # Status

    @Slot()
    def _soon(self) -> None:
        """Read the status now if it is not known yet, otherwise after `REST_MS`."""
        if not self.available:
            return
        if self._view is None:
            self._ask()
        elif not self._rest.isActive():
            self._rest.start()

    @Slot()
    def _ask(self) -> None:
        """Read the status in a job, and show it."""
        session = self._session
        if session is None or session.context is None or not self.available:
            return
        workbench, project = session.workbench, session.context.project_path

        def done(view: ExtractView) -> None:
            if session is self._session:
                self._view = view
                self._tell()

        # A run reports problems with the engine.
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
        """Show the status of the extraction in the footer and the dialog, and emit `state_changed`."""
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
        """Open the dialog with the threads to extract or, during a run, with its progress."""
        if not self.available:
            return
        dialog = self.dialog
        if dialog is None:
            dialog = self.dialog = ExtractDialog(self._icons, self._now, self._window)
            dialog.run.clicked.connect(self.run)
            dialog.run_rules.clicked.connect(self.run_rules)
            dialog.cancel_button.clicked.connect(self._runs.cancel)
            dialog.review.connect(self.review_wanted)
        if not self.running:
            self._read_candidates()
        if dialog.isVisible():
            dialog.raise_()
            dialog.activateWindow()
        else:
            dialog.show()

    def _read_candidates(self) -> None:
        """Read the candidates and the status in a job, and show them in the dialog."""
        session, dialog = self._session, self.dialog
        if session is None or session.context is None or dialog is None:
            return
        self.is_listed = False
        workbench, project = session.workbench, session.context.project_path
        dialog.summary.say(self.tr("Reading…"))
        dialog.message.clear()
        dialog.follow(running=False, possible=False)

        async def work(_control: JobControl) -> tuple[ThreadSelection, ExtractView]:
            selection = await ask(workbench.extracting.plan, project)
            return selection, await ask(workbench.extracting.status, project)

        def done(found: tuple[ThreadSelection, ExtractView]) -> None:
            self.is_listed = True
            if session is self._session and not self.running:
                selection, self._view = found
                dialog.show_selection(selection)
                # Possible even without candidates: a directory may wait for its consolidation.
                dialog.follow(running=False, possible=True)
                self._tell()

        def failed(error: UserError) -> None:
            self.is_listed = True
            dialog.summary.say("")
            dialog.message.say_error(error)

        self._lanes.scan.submit("list threads to extract", work, done=done, failed=failed, group="candidates")

    is_listed = False
    """Whether the candidates have been read, successfully or not."""

    # Running

    @Slot()
    def run(self) -> None:
        """Start an extraction with the engine from the settings."""
        self._begin(AUTO)

    @Slot()
    def run_rules(self) -> None:
        self._begin(RULES)

    def _begin(self, engine: str) -> None:
        """Start an extraction with `engine`.

        If that is not the rules engine, first resolve the engine and, if needed, ask for consent.
        """
        session = self._session
        if self.running or session is None or session.context is None or not self.available:
            return
        workbench, context = session.workbench, session.context

        async def prepare(_control: JobControl) -> PreparedRun:
            chosen = (await ask(workbench.extracting.choose, AUTO, before_consent=True)).engine
            if chosen == RULES:
                return PreparedRun(chosen, None)
            consent = await ask(workbench.models.consent_needed, context, chosen)
            if consent is not None:
                found = await ask(workbench.extracting.plan, context.project_path)
                rollouts = tuple(each.title or each.id for each in found.chosen)
                consent = replace(consent, files=(*rollouts, *consent.files))
            return PreparedRun(chosen, consent)

        async def run(control: JobControl, engine: str) -> ExtractResult:
            project = context.project_path
            work = ask(workbench.extracting.run, engine=engine, project_path=project, progress=control.report)
            return await work

        self.result = None
        self._runs.begin(workbench, "extract", run, None if engine == RULES else prepare)
        if self.dialog is not None:
            self.dialog.message.clear()
        self._follow()

    @Slot(object, str)
    def _on_consent_wanted(self, consent: ConsentView, engine: str) -> None:
        agreed = RolloutConsent.ask(self.dialog or self._window, consent, engine)
        self._runs.answer(agreed)
        if not agreed and self.dialog is not None:
            self.dialog.message.say(self.tr("Not started. Nothing was sent."))

    @Slot(object)
    def _on_progress(self, progress: ExtractProgress) -> None:
        if self.dialog is not None:
            self.dialog.show_progress(progress)

    @Slot(object)
    def _on_ended(self, result: ExtractResult) -> None:
        self.result = result
        if self.dialog is not None:
            self.dialog.show_result(result)
        self._follow()
        self._ask()

    @Slot(object)
    def _on_failed(self, error: UserError) -> None:
        if self.dialog is not None:
            self.dialog.message.say_error(error)
        self._follow()

    @Slot()
    def _on_cancelled(self) -> None:
        if self.dialog is not None:
            self.dialog.message.say(self.tr("Cancelled."), tone="warn")
        self._follow()

    def _follow(self) -> None:
        """Update the dialog and the footer, because a run has started or ended."""
        if self.dialog is not None:
            self.dialog.follow(running=self.running, possible=self.available)
        self._tell()


_WIDTHS = (120, 320, 140, 110)
_RUN = Qt.ItemDataRole.UserRole
_TOLD = Qt.ItemDataRole.UserRole + 1


class ExtractDialog(QDialog):
    """The dialog of an extraction, which stays open beside the window.

    Before a run it lists the threads to extract, and the skipped threads with the reason. During and after
    the run it shows the progress and the result of each thread. It only displays; the controller connects
    `run`, `run_rules` and `cancel_button`.
    """

    review = Signal(str)
    """Emitted with the id of the selected run when the user wants to review its changes."""

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
        self.bar.setAccessibleName(self.tr("Progress of this run"))
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
        self.run.say(self.tr("&Extract"), self.tr("Use the model or rules selected in Settings"))
        self.run_rules.say(self.tr("With &rules"), self.tr("Use fixed rules, offline and without a model"))
        self.cancel_button.say(
            self.tr("&Cancel"),
            self.tr("Stop the run. Saved results are kept, and the next run continues with the rest."),
        )
        self.review_button.say(
            self.tr("Re&view changes"), self.tr("Show or undo what the selected run changed")
        )
        self.review_button.clicked.connect(self._on_review)
        table = self.table
        table.setHeaderLabels(
            [self.tr("State"), self.tr("Session"), self.tr("Project"), self.tr("Changed"), self.tr("Message")]
        )
        table.setRootIsDecorated(False)
        table.setUniformRowHeights(True)
        table.setAccessibleName(self.tr("Sessions and directories"))
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
        above = self.summary, self.engine, self.message, self.bar
        column(self, *above, table, self.told, row, close, grows=table)
        self.bar.hide()

    def follow(self, *, running: bool, possible: bool) -> None:
        """Enable the buttons and show the progress bar.

        `running`: True if an extraction is running; `possible`: True if one can start.
        """
        for button in (self.run, self.run_rules):
            button.setEnabled(possible and not running)
        self.cancel_button.setEnabled(running)
        self.bar.setVisible(running)

    def say_standing(self, view: ExtractView) -> None:
        """Show the number of waiting threads, the engine and the reason for it, and what results become.

        Results may become notes to the agent.
        """
        outcome = self.tr(
            "Each result is saved as a note for Codex. Codex adds the note to its memory the "
            "next time it consolidates."
        )
        self.summary.say(" ".join((waiting(view.waiting), *((outcome,) if view.to_notes else ()))))
        name = display_text.engine(view.engine)
        self.engine.say(self.tr("Engine: {engine}. {why}").format(engine=name, why=view.why))
        self.run_rules.setVisible(view.engine != "rules")

    def show_selection(self, selection: ThreadSelection) -> None:
        """List the threads to extract, and the skipped ones with the reason."""
        self.table.clear()
        self._items.clear()
        for thread, reason, sentence in selection.considered:
            title, state = thread.title or thread.id, "left-out" if reason else "next"
            self._row(thread.id, state, title, thread.cwd, thread.updated_at, sentence)
        first = self.table.topLevelItem(0)
        if first is not None:
            self.table.setCurrentItem(first)
        else:
            self._on_current()

    def show_progress(self, progress: ExtractProgress) -> None:
        """Show the progress of one rollout or directory, and of the whole run."""
        item = self._item_of(progress)
        self._say(item, progress.stage, progress.text)
        if progress.total:
            self.bar.setRange(0, progress.total)
            self.bar.setValue(progress.done)
        if item is self.table.currentItem():
            self._on_current()

    def show_result(self, result: ExtractResult) -> None:
        """Show the result of each rollout and directory, and the summary of the run or why it failed."""
        for part in (*result.rollouts, *result.directories):
            told = part.summary if part.succeeded else part.reason or part.summary
            item = self._item_of(part)
            self._say(item, part.stage, " ".join(each for each in (told, part.next_step) if each))
            item.setData(0, _RUN, part.run_id)
        if result.succeeded:
            self.message.say(visible(result.summary))
        else:
            told = " ".join(each for each in (result.summary, result.reason, result.next_step) if each)
            tone = "warn" if result.outcome in ("cancelled", "skipped", "unchanged") else "bad"
            self.message.say(visible(told), tone=tone)  # type: ignore[arg-type]
        self._on_current()

    def _item_of(self, part: ExtractProgress | PartEnd) -> QTreeWidgetItem:
        """Return the item of a rollout or directory; a new row if the list does not have it yet."""
        item = self._items.get(part.id)
        if item is None:
            title = part.title or part.id if part.kind == "rollout" else self.tr("Consolidation")
            item = self._row(part.id, part.stage, title, part.project_path, None, "")
            if part.kind == "directory":
                self.table.scrollToItem(item)
        return item

    def _row(
        self, key: str, state: str, title: str, project: str, at: int | None, told: str
    ) -> QTreeWidgetItem:
        """Add a row to the list, and return its item.

        `key`: the id of the thread or directory. `state`: the text of the state. `at` is the time of the
        thread's last change in milliseconds, None for a directory; `told` is the message of the row.
        """
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
        """Show the state of a rollout or directory in its row, and the message `told` about it."""
        theme = theme_of(self.table.palette())
        text, icon, color = _STAGES[state]
        sign = readable(getattr(theme, color), theme.base, SIGN_CONTRAST)
        item.setIcon(0, self._icons.icon(icon, sign))
        item.setText(0, translated(text))
        item.setText(4, visible(told))
        item.setToolTip(4, as_tooltip(told))
        item.setData(0, _TOLD, told)

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


class RolloutConsent(ConsentDialog):
    """The dialog that asks for consent before rollouts are sent to another machine for the first time.

    The contents of a thread are not read before the user has agreed.
    """

    def _facts(self, consent: ConsentView, engine: str) -> str:
        facts = (
            self.tr("The model {engine} will read the sessions, which are listed first. It can "
"also read the memories, which are listed after them.")
            .format(engine=visible(engine)),
            self.tr("Text that Reverie recognizes as a secret is replaced with a placeholder and is not "
"sent."),
            self.tr("Reverie will not ask again for this home and destination."),
        )  # fmt: skip
        return " ".join(facts)
