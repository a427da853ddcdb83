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
from PySide6.QtWidgets import QWidget

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
    if agent is not None:
        replay = (("replay", tr("Replay…")),) if can_replay else ()
        own, own_remedies = _own(rest)
        remedies = (*_remedies(agent), *replay)
        return Answer(_title(place, agent), said(agent.evidence), remedies, own, own_remedies)
    first = first_cause(rest)
    if first is None:
        nothing = tr("{place}: nothing is wrong").format(place=place)
        return Answer(
            nothing, counted("The check found no problem.", "%n checks found no problem.", len(rest))
        )
    return Answer(_title(place, first), said(first.evidence), _remedies(first))


def _title(place: str, finding: FindingView) -> str:
    return tr("{place}: {fact}").format(place=place, fact=said(finding.title))


def _own(findings: Sequence[FindingView]) -> tuple[str, tuple[Remedy, ...]]:
    """What Reverie's own writer is doing, then what else is wrong; one button, for the first."""
    others = [one for one in findings if one.state in ("fail", "warn") or one.check == "feature"]
    others.sort(key=lambda one: (one.check != "feature", one.state != "fail"))
    others = others[:_MOST_OTHERS]
    if not others:
        return "", ()
    facts = " · ".join(said(one.title) for one in others)
    first = others[0]
    return tr("Reverie itself: {facts}").format(facts=facts), () if first.state == "pass" else _remedies(
        first
    )


def _remedies(finding: FindingView) -> tuple[Remedy, ...]:
    setting = ((finding.remedy, remedy_label(finding.remedy)),) if finding.remedy else ()
    fix = ((f"fix {finding.check}", said(finding.fix.label)),) if finding.fix is not None else ()
    return (*setting, *fix)


class AnswerView(Column):
    """`asked(str)`: the first part of a `Remedy`; `checks()` and `log()`: show that view."""

    asked = Signal(str)
    checks = Signal()
    log = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title, self.cause, self.own = WrapLabel(), WrapLabel(), WrapLabel()
        embolden(self.title, 1.15)
        self.all = FitPushButton()
        self.log_button = FitPushButton(self.tr("Log"), self.tr("What the background services did, and why"))
        self.all.clicked.connect(self.checks)
        self.log_button.clicked.connect(self.log)
        self._remedies: dict[str, FitPushButton] = {}
        self._row = FlowLayout()
        self._own_row = FlowLayout(self.all, self.log_button)
        parts = (self.title, self.cause, self._row, self.own, self._own_row)
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
        self.title.say(answer.title)
        for label, text in ((self.cause, answer.cause), (self.own, answer.own)):
            label.say(text)
            label.setVisible(bool(text))
        wanted = dict((*answer.remedies, *answer.own_remedies))
        if tuple(wanted) != self.keys:
            self._make([key for key, _label in answer.remedies], [key for key, _label in answer.own_remedies])
        for key, button in self._remedies.items():
            button.say(visible(wanted[key]))
            button.setEnabled(not busy)
        self.all.setVisible(bool(checks))
        self.all.say(counted(self.tr("1 check ›"), "All %n checks ›", checks))

    def _make(self, first: Sequence[str], own: Sequence[str]) -> None:
        for button in (*self._remedies.values(), self.all, self.log_button):
            self._row.removeWidget(button)
            self._own_row.removeWidget(button)
        for button in self._remedies.values():
            button.hide()
            button.deleteLater()
        self._remedies = {}
        for row, keys in ((self._row, first), (self._own_row, own)):
            for key in keys:
                button = FitPushButton(clicked=self._on_remedy)
                button.setObjectName(key)
                row.addWidget(button)
                self._remedies[key] = button
        self._own_row.addWidget(self.all)
        self._own_row.addWidget(self.log_button)

    @Slot()
    def _on_remedy(self) -> None:
        self.asked.emit(self.sender().objectName())
