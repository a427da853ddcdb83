"""Asking again what a run asked: another model, another prompt; original and replay beside each other.

Nothing is written. Before anything leaves this machine for a destination nobody has agreed to, the person is
asked.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Slot
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QSpinBox,
    QTabWidget,
    QWidget,
)

from reverie.errors import MendableError
from reverie.ui import words as common
from reverie.ui.columns import column
from reverie.ui.consent import ConsentDialog
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl
from reverie.ui.labels import WrapLabel
from reverie.ui.memory.bars import MessageBar
from reverie.ui.settings_draft import is_model_name
from reverie.ui.shown import visible
from reverie.ui.theme import GAP, monospace
from reverie.ui.traces import words
from reverie.ui.traces.compare import Side, TwoTraces, side_of
from reverie.ui.traces.feed import TraceFeed
from reverie.ui.translation import tr

if TYPE_CHECKING:
    from reverie.services.replay import ReplayWish
    from reverie.services.traces import TraceDetail
    from reverie.services.views import ConsentView
    from reverie.services.workbench import Workbench

_GROUP = "replay"


class ReplayDialog(QDialog):
    """Stays open beside the window. Closing it ends a replay at work."""

    def __init__(self, feed: TraceFeed, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._feed = feed
        self._workbench: Workbench | None = None
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
        self.model.setAccessibleName(self.tr("Model, as provider:model"))
        self.model.editTextChanged.connect(self._judge)
        self.seconds = QSpinBox()
        self.seconds.setRange(1, 600)
        self.seconds.setSuffix(self.tr(" s"))
        self.seconds.setAccessibleName(self.tr("Time limit"))
        self.system = _editor(self.tr("System prompt"))
        self.user = _editor(self.tr("Message"))
        self.two = TwoTraces()
        self.pages = QTabWidget()
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

    def open_on(self, workbench: Workbench, detail: TraceDetail, models: tuple[str, ...] = ()) -> None:
        """Offer to replay a trace; `models` are at hand to choose from."""
        self.cancel()
        self._workbench, self._detail, self.replayed = workbench, detail, None
        row, facts = detail.row, detail.facts
        self.title.say(
            self.tr(
                "{what} of {when}, on a copy of the memory as it was then. Nothing is written; secrets in "
                "the texts are not sent."
            ).format(what=words.kind(row.kind), when=common.when(row.started_at))
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
        """Ask again, once a person has agreed that it may be sent."""
        from reverie.services.replay import ReplayWish

        workbench, detail = self._workbench, self._detail
        if workbench is None or detail is None or self.running:
            return
        wish = ReplayWish(
            self.model.currentText().strip(),
            self.system.toPlainText(),
            self.user.toPlainText(),
            float(self.seconds.value()),
        )
        self.running = True
        self._follow()
        self.message.say(self.tr("Asking {model}…").format(model=visible(wish.engine)))

        def work(_control: JobControl) -> ConsentView | None:
            return workbench.replays.consent_needed(detail, wish)

        self._submit("ask for consent", work, partial(self._on_consent, wish))

    def _on_consent(self, wish: ReplayWish, needed: ConsentView | None) -> None:
        workbench, detail = self._workbench, self._detail
        if workbench is None or detail is None:
            return
        if needed is not None and not ConsentDialog.ask(self, needed, wish.engine):
            self._end()
            self.message.say(self.tr("Not started. Nothing was sent."))
            return

        def work(control: JobControl) -> tuple[TraceDetail, Side, Side, str]:
            from reverie.services.trace_texts import trace_diff

            if needed is not None:
                workbench.models.give_consent(wish.engine)
            found = workbench.replays.run(detail, wish, cancel=control.cancel, progress=control.report)
            sides = side_of(tr("Original"), detail), side_of(tr("Replay"), found)
            return found, *sides, trace_diff(detail.facts, found.facts)

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
        self.message.say(self.tr("At work: {step}").format(step=visible(str(step))))

    def _on_done(self, found: tuple[TraceDetail, Side, Side, str]) -> None:
        self._end()
        self.replayed, one, other, diff = found
        row = self.replayed.row
        self.message.say(
            f"{words.verdict(row.verdict)}. {visible(row.sentence)}", tone=words.tone(row.verdict)
        )
        self.two.show_sides(one, other, diff)
        self.pages.setTabEnabled(2, True)
        self.pages.setCurrentIndex(2)

    def _on_failed(self, error: MendableError) -> None:
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
        """End a replay at work."""
        if self.running:
            self._feed.cancel(_GROUP)

    def reject(self) -> None:
        self.cancel()
        super().reject()

    @Slot()
    def _judge(self) -> None:
        self._follow()

    def _follow(self) -> None:
        self.run_button.setEnabled(not self.running and is_model_name(self.model.currentText().strip()))
        self.cancel_button.setEnabled(self.running)
        for control in (self.model, self.seconds, self.system, self.user):
            control.setEnabled(not self.running)


def _editor(name: str) -> QPlainTextEdit:
    text = QPlainTextEdit()
    text.setFont(monospace())
    text.setAccessibleName(name)
    text.setTabChangesFocus(True)
    return text
