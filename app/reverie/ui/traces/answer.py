"""The answer at the top of the Traces tab: why nothing happened, in a sentence, with the remedy as a button.

The agent's own memory writer comes first; apart from it, what Reverie itself is doing. `answer_of` makes it
of the checks, so that the answer never says anything else than they do.

Threading: GUI thread; nothing is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QWidget

from reverie.doctor.findings import first_cause
from reverie.ui.appearance import GAP, MARGIN, UNIT
from reverie.ui.display_text import visible
from reverie.ui.traces.checks import remedy_label
from reverie.ui.translation import counted, said, tr
from reverie.ui.widgets.controls import FitPushButton, WrapLabel, embolden
from reverie.ui.widgets.layouts import Column, FlowLayout, column

if TYPE_CHECKING:
    from reverie.doctor.findings import FindingView

AGENT = "agent-writer"
"""The check that answers for the agent's own writer."""
_MOST_OTHERS = 2

Remedy = tuple[str, str]
"""What is asked for (`fix CHECK`, `model`, `key`, `replay`), and the label of its button."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is shown; empty texts take no room."""

    title: str
    cause: str = ""
    remedies: tuple[Remedy, ...] = ()
    own: str = ""
    """What Reverie itself is doing, where the title is about the agent."""
    own_remedies: tuple[Remedy, ...] = ()


def answer_of(findings: Sequence[FindingView], place: str, *, can_replay: bool = False) -> Answer:
    """The answer for the workspace called `place`."""
    agent = next((one for one in findings if one.check == AGENT and one.state != "pass"), None)
    rest = [one for one in findings if one.check != AGENT]
    first = agent or first_cause(rest)
    own, own_remedies = _own([one for one in rest if one is not first])
    if first is None:
        title = tr("{place}: nothing is wrong").format(place=place)
        cause = counted("The check found no problem.", "%n checks found no problem.", len(findings))
        return Answer(title, cause, (), own, own_remedies)
    replay = (("replay", tr("Replay…")),) if first is agent and can_replay else ()
    title = tr("{place}: {fact}").format(place=place, fact=said(first.title))
    return Answer(title, said(first.evidence), (*_remedies(first), *replay), own, own_remedies)


def _own(findings: Sequence[FindingView]) -> tuple[str, tuple[Remedy, ...]]:
    """What Reverie's own writer is doing, then what else is wrong; buttons for the first."""
    of = {one.check: one for one in findings}
    writer = of.get("feature")
    if writer is not None and writer.state == "pass":
        writer = of.get("state-file")  # it is on: what came of it says more
    others = [one for one in findings if one.state in ("fail", "warn") and one is not writer]
    others.sort(key=lambda one: one.state != "fail")
    shown = ([writer] if writer is not None else []) + others
    facts = " · ".join(said(one.title) for one in shown[:_MOST_OTHERS])
    if not facts:
        return "", ()
    first = shown[0]
    return tr("Reverie itself: {facts}").format(facts=facts), () if first.state == "pass" else _remedies(
        first
    )


def _remedies(finding: FindingView) -> tuple[Remedy, ...]:
    setting = ((finding.remedy, remedy_label(finding.remedy)),) if finding.remedy else ()
    fix = ((f"fix {finding.check}", said(finding.fix.label)),) if finding.fix is not None else ()
    return (*setting, *fix)


class AnswerLine(QWidget):
    """A sentence and its buttons: beside each other where both fit on one line, else below each other."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = WrapLabel()
        self._buttons = FlowLayout()
        self._box = QBoxLayout(QBoxLayout.Direction.TopToBottom, self)
        self._box.setContentsMargins(0, 0, 0, 0)
        self._box.setSpacing(UNIT)
        self._box.addWidget(self.text)
        self._box.addLayout(self._buttons, 1)

    def say(self, text: str, buttons: Sequence[QWidget]) -> None:
        """Another sentence and other buttons; those of before are the caller's again."""
        self.text.say(text)
        self.text.setVisible(bool(text))
        while self._buttons.count():
            self._buttons.takeAt(0)
        for button in buttons:
            self._buttons.addWidget(button)
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        needed = self.text.sizeHint().width() + self._buttons.sizeHint().width() + 2 * MARGIN
        beside = needed <= self.width()
        ways = QBoxLayout.Direction
        self._box.setDirection(ways.LeftToRight if beside else ways.TopToBottom)
        self._box.setSpacing(MARGIN if beside else UNIT)


class AnswerView(Column):
    """`asked(str)`: the first part of a `Remedy`; `checks()` and `log()`: show that view."""

    asked = Signal(str)
    checks = Signal()
    log = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = WrapLabel()
        embolden(self.title, 1.15)
        self._first, self._second = AnswerLine(), AnswerLine()
        self.cause, self.own = self._first.text, self._second.text
        self.all = FitPushButton()
        self.log_button = FitPushButton(self.tr("Log"), self.tr("What the background services did, and why"))
        self.all.clicked.connect(self.checks)
        self.log_button.clicked.connect(self.log)
        self._remedies: dict[str, FitPushButton] = {}
        parts = (self.title, self._first, self._second)
        column(self, *parts, margin=(MARGIN, GAP, MARGIN, GAP), gap=UNIT)

    @property
    def keys(self) -> tuple[str, ...]:
        """What the buttons ask for, in their order."""
        return tuple(self._remedies)

    def remedy(self, key: str) -> FitPushButton:
        """The button that asks for this."""
        return self._remedies[key]

    def show_answer(self, answer: Answer, checks: int, *, busy: bool = False) -> None:
        """Show it; `checks`: of how many. While `busy` no remedy can be chosen."""
        wanted = dict((*answer.remedies, *answer.own_remedies))
        for key in [key for key in self._remedies if key not in wanted]:
            button = self._remedies.pop(key)
            button.hide()
            button.deleteLater()
        for key, label in wanted.items():
            if key not in self._remedies:
                self._remedies[key] = FitPushButton(clicked=self._on_remedy)
                self._remedies[key].setObjectName(key)
            self._remedies[key].say(visible(label))
            self._remedies[key].setEnabled(not busy)
        self._remedies = {key: self._remedies[key] for key in wanted}
        self.title.say(answer.title)
        self._first.say(answer.cause, [self._remedies[key] for key, _label in answer.remedies])
        own = [self._remedies[key] for key, _label in answer.own_remedies]
        self.all.say(counted(self.tr("1 check ›"), "All %n checks ›", checks))
        self._second.say(answer.own, [*own, self.all, self.log_button])
        self.all.setVisible(bool(checks))

    @Slot()
    def _on_remedy(self) -> None:
        self.asked.emit(self.sender().objectName())
