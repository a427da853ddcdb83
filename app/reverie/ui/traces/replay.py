"""The replay of a run's prompt with another model or prompt, and the comparison of two traces side by side.

Nothing is written. Before anything is sent from this machine to a destination without consent, the dialog
asks for it.

Threading: GUI thread; replays and comparisons are jobs. Failure: shown in the dialog.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

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
    QVBoxLayout,
    QWidget,
)

from reverie.engine.asking import ask
from reverie.services.views import ReplayRequest
from reverie.ui.appearance import GAP, monospace, theme_of
from reverie.ui.dialogs import ConsentDialog, is_model_name
from reverie.ui.display_text import said, tokens, tr, visible, visible_lines, when
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lane, Work
from reverie.ui.traces.feed import ListedTrace
from reverie.ui.traces.steps import (
    StepsTree,
    common_scale,
    duration_label,
    kind_label,
    verdict_label,
    verdict_tone,
)
from reverie.ui.widgets.controls import WrapLabel
from reverie.ui.widgets.layouts import column, split, tabbed
from reverie.ui.widgets.messages import MessageBar
from reverie.ui.widgets.text_boxes import PlainTextBox
from reverie.ui.widgets.text_views import DiffView, read_only_text

if TYPE_CHECKING:
    from reverie.engine.engine import HomeEngine
    from reverie.services.traces import TraceDetail
    from reverie.services.views import ConsentView


Side = tuple[str, "TraceDetail"]
"""One of two traces that are compared, with the title that is shown above it."""


def facts_of(detail: TraceDetail) -> dict[str, str]:
    """Return the compared facts of a trace by their names, in order."""
    row, attempts = detail.row, detail.facts.attempts
    return {
        tr("Verdict"): verdict_label(row.verdict),
        tr("Evidence"): said(row.evidence),
        tr("Model"): row.model,
        tr("Duration"): duration_label(row.duration_ms) or "–",
        tr("Attempts"): str(row.attempts),
        tr("Responses"): str(sum(len(attempt.steps) for attempt in attempts)),
        tr("Tool calls"): str(sum(len(attempt.calls) for attempt in attempts)),
        tr("Tokens"): tokens(row.tokens) if row.tokens else "–",
    }


def answers_of(detail: TraceDetail) -> str:
    """Return the model's answers in all attempts as one text."""
    return "\n\n".join(
        f"— {tr('Attempt {n}').format(n=attempt.index)} —\n{answer or attempt.error}"
        for attempt, answer in zip(detail.facts.attempts, detail.answers, strict=True)
    )


class TwoTraces(QWidget):
    """Comparison of two traces: facts with differences highlighted, steps on one scale, answers, diff."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.table = QTableWidget(0, 2)
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
        pages = tabbed(
            self.tr("Parts of the trace"),
            (self.tr("Steps"), lines),
            (self.tr("Responses"), beside),
            (self.tr("Differences"), self.diff),
        )
        splitter = split(self.table, pages, sizes=(270, 330), upright=True)
        column(self, splitter, margin=0, gap=None)

    def show_sides(self, one: Side, other: Side, diff: str) -> None:
        """Show both traces and their diff; if `diff` is empty, a text says that nothing differs."""
        theme, sides = theme_of(self.palette()), (one, other)
        facts = [facts_of(detail) for _title, detail in sides]
        self.table.setRowCount(len(facts[0]))
        self.table.setVerticalHeaderLabels(list(facts[0]))
        self.table.setHorizontalHeaderLabels([visible(title) for title, _detail in sides])
        for row, texts in enumerate(zip(*(each.values() for each in facts), strict=True)):
            for place, text in enumerate(texts):
                item = QTableWidgetItem(visible(text))
                item.setToolTip(visible(text))
                if texts[0] != texts[1]:
                    item.setBackground(QBrush(theme.accent_back))
                self.table.setItem(row, place, item)
        scale = common_scale(*(detail.timeline for _title, detail in sides))
        for place, (title, detail) in enumerate(sides):
            self.titles[place].setText(visible(title))
            self.steps[place].show_steps(detail.facts.attempts, detail.timeline, scale=scale)
            self.answers[place].setPlainText(visible_lines(answers_of(detail)))
        self.diff.show_diff(diff or self.tr("No differences."))


class TraceCompare(QDialog):
    """Dialog that compares two traces of the list."""

    def __init__(self, lane: Lane, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lane = lane
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

        async def work(_control: JobControl) -> tuple[Side, Side, str]:
            # They may be from two homes, each with a service of its own.
            asked = [(line.session.workbench.traces, str(line.row.path)) for line in (one, other)]
            details = [await ask(traces.open, trace_id) for traces, trace_id in asked]
            (before, before_id), (after, after_id) = asked
            difference = await ask(before.difference, before_id, await ask(after.text, after_id))
            sides = [(when(detail.row.started_at), detail) for detail in details]
            return sides[0], sides[1], difference

        self._lane.submit("compare traces", work, done=self._on_read, group="compare traces")

    def _on_read(self, found: tuple[Side, Side, str]) -> None:
        self.is_read = True
        self.title.say(self.tr("Differences are highlighted. “-” marks the older trace, “+” the newer one."))
        self.two.show_sides(*found)


_GROUP = "replay"


class ReplayDialog(QDialog):
    """Non-modal dialog for replays of a trace; closing it cancels a replay in progress."""

    def __init__(self, lane: Lane, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lane = lane
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
        self.model.editTextChanged.connect(self._follow)
        self.seconds = QSpinBox()
        self.seconds.setRange(1, 600)
        self.seconds.setSuffix(self.tr(" s"))
        self.seconds.setAccessibleName(self.tr("Time limit"))
        self.system = _editor(self.tr("System prompt"))
        self.user = _editor(self.tr("Message"))
        self.two = TwoTraces()
        self.pages = tabbed(
            self.tr("Parts of the trace"),
            (self.tr("System prompt"), self.system),
            (self.tr("Message"), self.user),
            (self.tr("Original and replay"), self.two),
        )
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
            self._end().say(self.tr("Not started. Nothing was sent."))
            return

        async def work(control: JobControl) -> tuple[TraceDetail, str]:
            if needed is not None:
                await ask(workbench.models.give_consent, request.engine)
            return await ask(
                workbench.replays.run,
                str(detail.row.path),
                request,
                cancel=control.cancel,
                progress=control.report,
            )

        self._submit("replay a run", work, self._on_done)

    def _submit(self, name: str, work: Work[Any], done: Callable[[Any], None]) -> None:
        self._lane.submit(
            name,
            work,
            done=done,
            failed=lambda error: self._end().say_error(error),
            cancelled=lambda: self._end().say(self.tr("Cancelled.")),
            progress=self._on_progress,
            group=_GROUP,
        )

    def _on_progress(self, step: object) -> None:
        self.message.say(self.tr("In progress: {step}").format(step=visible(str(step))))

    def _on_done(self, found: tuple[TraceDetail, str]) -> None:
        replayed, difference = found
        self.replayed, row = replayed, replayed.row
        self._end().say(
            f"{verdict_label(row.verdict)}. {visible(said(row.sentence))}", tone=verdict_tone(row.verdict)
        )
        if self._detail is not None:
            sides = (self.tr("Original"), self._detail), (self.tr("Replay"), replayed)
            self.two.show_sides(*sides, difference)
        self.pages.setTabEnabled(2, True)
        self.pages.setCurrentIndex(2)

    def _end(self) -> MessageBar:
        """Enable the controls again, and return the bar in which to say how the replay ended."""
        self.running = False
        self._follow()
        return self.message

    @Slot()
    def cancel(self) -> None:
        """Cancel a replay in progress."""
        if self.running:
            self._lane.abandon(_GROUP)

    def reject(self) -> None:
        self.cancel()
        super().reject()

    @Slot()
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
