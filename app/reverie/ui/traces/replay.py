"""The replay of a run's prompt with another model or prompt, and the comparison of two traces side by side.

Nothing is written. Before anything is sent from this machine to a destination without consent, the dialog
asks for it.

Threading: GUI thread; replays and comparisons are jobs. Failure: shown in the dialog.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QBrush
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QSpinBox,
    QSplitter,
    QTableWidget,
    QTableWidgetItem,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.services.views import ReplayRequest
from reverie.ui.appearance import GAP, monospace, theme_of
from reverie.ui.dialogs import ConsentDialog, is_model_name
from reverie.ui.display_text import said, tokens, tr, visible, visible_lines, when
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl
from reverie.ui.traces.detail import tried_text
from reverie.ui.traces.feed import ListedTrace, TraceFeed
from reverie.ui.traces.steps import (
    StepsTree,
    common_scale,
    duration_label,
    kind_label,
    verdict_label,
    verdict_tone,
)
from reverie.ui.widgets.controls import WrapLabel
from reverie.ui.widgets.layouts import column, split
from reverie.ui.widgets.messages import MessageBar
from reverie.ui.widgets.text_boxes import PlainTextBox
from reverie.ui.widgets.text_views import DiffView, read_only_text
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.engine.engine import HomeEngine
    from reverie.llm.trace_facts import Attempt
    from reverie.llm.trace_timeline import Timeline
    from reverie.services.traces import TraceDetail
    from reverie.services.views import ConsentView


class ComparedTrace(Struct, frozen=True):
    """One of two traces that are compared: its facts, steps, answers and attempted change, as texts."""

    title: str
    facts: tuple[str, ...]
    attempts: tuple[Attempt, ...]
    timeline: Timeline
    answers: str
    tried: str


def side_of(title: str, detail: TraceDetail) -> ComparedTrace:
    """Return the trace as one side of the comparison of two; `title` is shown above it."""

    row, facts = detail.row, detail.facts
    answers = "\n\n".join(
        f"— {tr('Attempt {n}').format(n=attempt.index)} —\n{answer or attempt.error}"
        for attempt, answer in zip(facts.attempts, detail.answers, strict=True)
    )
    cells = (
        verdict_label(row.verdict),
        said(row.evidence),
        row.model,
        duration_label(row.duration_ms) or "–",
        str(row.attempts),
        str(sum(len(attempt.steps) for attempt in facts.attempts)),
        str(sum(len(attempt.calls) for attempt in facts.attempts)),
        tokens(row.tokens) if row.tokens else "–",
    )
    return ComparedTrace(title, cells, facts.attempts, detail.timeline, answers, tried_text(detail))


def fact_names() -> tuple[str, ...]:
    """Return the names of the compared facts in order."""
    return (
        tr("Verdict"), tr("Evidence"), tr("Model"), tr("Duration"), tr("Attempts"), tr("Responses"),
        tr("Tool calls"), tr("Tokens"),
    )  # fmt: skip


class TwoTraces(QWidget):
    """Comparison of two traces: facts with differences highlighted, steps on one scale, answers, diff."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.table = QTableWidget(len(fact_names()), 2)
        self.table.setVerticalHeaderLabels(list(fact_names()))
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setAccessibleName(self.tr("Facts"))
        self.table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.table.setTabKeyNavigation(False)
        self.steps = (StepsTree(), StepsTree())
        self.answers = (
            read_only_text(self.tr("Responses in the first trace")),
            read_only_text(self.tr("Responses in the second trace")),
        )
        self.diff = DiffView()
        self.pages = QTabWidget()
        self.pages.setAccessibleName(self.tr("Parts of the trace"))
        self.pages.setDocumentMode(True)
        self._lay_out()

    def _lay_out(self) -> None:
        lines = QWidget()
        inner = QVBoxLayout(lines)
        self.titles = (QLabel(), QLabel())
        for title, steps in zip(self.titles, self.steps, strict=True):
            title.setTextFormat(Qt.TextFormat.PlainText)
            inner.addWidget(title)
            inner.addWidget(steps)
        beside = QSplitter()
        for answer in self.answers:
            beside.addWidget(answer)
        beside.setChildrenCollapsible(False)
        for page, name in (
            (lines, self.tr("Steps")),
            (beside, self.tr("Responses")),
            (self.diff, self.tr("Differences")),
        ):
            self.pages.addTab(page, name)
        splitter = split(self.table, self.pages, sizes=(270, 330), upright=True)
        column(self, splitter, margin=0, gap=None)

    def show_sides(self, one: ComparedTrace, other: ComparedTrace, diff: str) -> None:
        """Show both traces and their diff; if `diff` is empty, a text says that nothing differs."""
        self.table.setHorizontalHeaderLabels([visible(one.title), visible(other.title)])
        theme = theme_of(self.palette())
        for row, (left, right) in enumerate(zip(one.facts, other.facts, strict=True)):
            for place, text in enumerate((left, right)):
                item = QTableWidgetItem(visible(text))
                item.setToolTip(visible(text))
                if left != right:
                    item.setBackground(QBrush(theme.accent_back))
                self.table.setItem(row, place, item)
        scale = common_scale(one.timeline, other.timeline)
        for place, side in enumerate((one, other)):
            self.titles[place].setText(visible(side.title))
            self.steps[place].show_steps(side.attempts, side.timeline, scale=scale)
            self.answers[place].setPlainText(visible_lines(side.answers))
        self.diff.show_diff(diff or self.tr("No differences."))


class TraceCompare(QDialog):
    """Dialog that compares two traces of the list."""

    def __init__(self, feed: TraceFeed, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._feed = feed
        self.is_read = False
        self.setWindowTitle(self.tr("Compare traces"))
        self.resize(1000, 680)
        self.title = WrapLabel()
        self.two = TwoTraces()
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self.buttons.rejected.connect(self.reject)
        column(self, self.title, self.two, self.buttons, grows=self.two)

    def open_on(self, one: ListedTrace, other: ListedTrace) -> None:
        """Open the dialog, read both traces and show them."""
        self.is_read = False
        self.title.say(self.tr("Reading…"))
        self.show()

        async def work(_control: JobControl) -> tuple[ComparedTrace, ComparedTrace, str]:
            # They may be from two homes, each with a service of its own.
            asked = [(line.session.workbench.traces, str(line.row.path)) for line in (one, other)]
            details = [await ask(traces.open, trace_id) for traces, trace_id in asked]
            (before, before_id), (after, after_id) = asked
            difference = await ask(before.difference, before_id, await ask(after.text, after_id))
            sides = [side_of(when(detail.row.started_at), detail) for detail in details]
            return sides[0], sides[1], difference

        self._feed.submit("compare traces", work, done=self._on_read, group="compare traces")

    def _on_read(self, found: tuple[ComparedTrace, ComparedTrace, str]) -> None:
        self.is_read = True
        self.title.say(self.tr("Differences are highlighted. “-” marks the older trace, “+” the newer one."))
        self.two.show_sides(*found)


_GROUP = "replay"


class ReplayDialog(QDialog):
    """Non-modal dialog for replays of a trace; closing it cancels a replay in progress."""

    def __init__(self, feed: TraceFeed, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._feed = feed
        self._workbench: HomeEngine | None = None
        self._detail: TraceDetail | None = None
        self.running = False
        self.replayed: TraceDetail | None = None
        self.setWindowTitle(self.tr("Replay"))
        self.resize(1000, 700)
        self.title = WrapLabel()
        self.message = MessageBar(icons, "replay-message", closable=False)
        self.model = QComboBox()
        self.model.setEditable(True)
        self.model.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.model.setAccessibleName(self.tr("Model, in the form provider:model"))
        self.model.editTextChanged.connect(self._validate)
        self.seconds = QSpinBox()
        self.seconds.setRange(1, 600)
        self.seconds.setSuffix(self.tr(" s"))
        self.seconds.setAccessibleName(self.tr("Time limit"))
        self.system = _editor(self.tr("System prompt"))
        self.user = _editor(self.tr("Message"))
        self.two = TwoTraces()
        self.pages = QTabWidget()
        self.pages.setAccessibleName(self.tr("Parts of the trace"))
        self.pages.setDocumentMode(True)
        self.run_button = QPushButton(icons.icon("refresh"), self.tr("&Replay"))
        self.run_button.setDefault(True)
        self.run_button.clicked.connect(self.start)
        self.cancel_button = QPushButton(self.tr("Ca&ncel"))
        self.cancel_button.clicked.connect(self.cancel)
        self._lay_out()

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(GAP)
        for text, control, stretch in (
            (self.tr("&Model:"), self.model, 1),
            (self.tr("Time &limit:"), self.seconds, 0),
        ):
            label = QLabel(text)
            label.setBuddy(control)
            row.addWidget(label)
            row.addWidget(control, stretch)
        row.addWidget(self.run_button)
        row.addWidget(self.cancel_button)
        for page, name in (
            (self.system, self.tr("System prompt")),
            (self.user, self.tr("Message")),
            (self.two, self.tr("Original and replay")),
        ):
            self.pages.addTab(page, name)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self.buttons.rejected.connect(self.reject)
        column(self, self.title, row, self.message, self.pages, self.buttons, grows=self.pages)

    def open_on(self, workbench: HomeEngine, detail: TraceDetail, models: tuple[str, ...] = ()) -> None:
        """Open the dialog for a trace; `models` are offered as choices."""
        self.cancel()
        self._workbench, self._detail, self.replayed = workbench, detail, None
        row, facts = detail.row, detail.facts
        self.title.say(
            self.tr(
                "{what} from {when}, replayed on a copy of the memory as it was then. No files are "
                "changed, and secrets in the text are not sent."
            ).format(what=kind_label(row.kind), when=when(row.started_at))
        )
        self.model.clear()
        self.model.addItems([visible(name) for name in models if is_model_name(name)])
        self.model.setEditText(row.model)
        self.seconds.setValue(60)
        self.system.setPlainText(facts.system_prompt)
        self.user.setPlainText(facts.user_message)
        self.pages.setTabEnabled(2, False)
        self.pages.setCurrentIndex(0)
        self.message.clear()
        self._follow()
        self.show()

    @Slot()
    def start(self) -> None:
        """Start a replay, after asking for consent to send the texts if needed."""

        workbench, detail = self._workbench, self._detail
        if workbench is None or detail is None or self.running:
            return
        request = ReplayRequest(
            self.model.currentText().strip(),
            self.system.content,
            self.user.content,
            float(self.seconds.value()),
        )
        self.running = True
        self._follow()
        self.message.say(self.tr("Asking {model}…").format(model=visible(request.engine)))

        self._submit(
            "ask for consent",
            ask(workbench.replays.consent_needed, str(detail.row.path), request),
            partial(self._on_consent, request),
        )

    def _on_consent(self, request: ReplayRequest, needed: ConsentView | None) -> None:
        workbench, detail = self._workbench, self._detail
        if workbench is None or detail is None:
            return
        if needed is not None and not ConsentDialog.ask(self, needed, request.engine):
            self._end()
            self.message.say(self.tr("Not started. Nothing was sent."))
            return

        async def work(control: JobControl) -> tuple[TraceDetail, ComparedTrace, ComparedTrace, str]:

            if needed is not None:
                await ask(workbench.models.give_consent, request.engine)
            found = await ask(
                workbench.replays.run,
                str(detail.row.path),
                request,
                cancel=control.cancel,
                progress=control.report,
            )
            sides = side_of(tr("Original"), detail), side_of(tr("Replay"), found.detail)
            return found.detail, *sides, found.difference

        self._submit("replay a run", work, self._on_done)

    def _submit(self, name: str, work, done) -> None:  # type: ignore[no-untyped-def]
        self._feed.submit(
            name,
            work,
            done=done,
            failed=self._on_failed,
            cancelled=self._on_cancelled,
            progress=self._on_progress,
            group=_GROUP,
        )

    def _on_progress(self, step: object) -> None:
        self.message.say(self.tr("In progress: {step}").format(step=visible(str(step))))

    def _on_done(self, found: tuple[TraceDetail, ComparedTrace, ComparedTrace, str]) -> None:
        self._end()
        self.replayed, one, other, diff = found
        row = self.replayed.row
        self.message.say(
            f"{verdict_label(row.verdict)}. {visible(said(row.sentence))}", tone=verdict_tone(row.verdict)
        )
        self.two.show_sides(one, other, diff)
        self.pages.setTabEnabled(2, True)
        self.pages.setCurrentIndex(2)

    def _on_failed(self, error: UserError) -> None:
        self._end()
        self.message.say_error(error)

    def _on_cancelled(self) -> None:
        self._end()
        self.message.say(self.tr("Cancelled."))

    def _end(self) -> None:
        self.running = False
        self._follow()

    @Slot()
    def cancel(self) -> None:
        """Cancel a replay in progress."""
        if self.running:
            self._feed.cancel(_GROUP)

    def reject(self) -> None:
        self.cancel()
        super().reject()

    @Slot()
    def _validate(self) -> None:
        self._follow()

    def _follow(self) -> None:
        """Enable the controls that can be used."""
        self.run_button.setEnabled(not self.running and is_model_name(self.model.currentText().strip()))
        self.cancel_button.setEnabled(self.running)
        for control in (self.model, self.seconds, self.system, self.user):
            control.setEnabled(not self.running)


def _editor(name: str) -> PlainTextBox:
    text = PlainTextBox()
    text.setFont(monospace())
    text.setAccessibleName(name)
    text.setTabChangesFocus(True)
    return text
