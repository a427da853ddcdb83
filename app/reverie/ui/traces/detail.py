"""One trace: why it ended as it did, and everything it holds.

Above the verdict in words with its evidence, below pages: timeline and steps, messages, the memory and what
was tried with it, the raw document. Picking a span, a row or the evidence shows the same place everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import (
    QFrame,
    QPlainTextEdit,
    QScrollArea,
    QSplitter,
    QTabWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from reverie.llm.trace_facts import Timeline, TimeSpan, TraceFacts
from reverie.services.traces import answer_text
from reverie.ui import display_text as common
from reverie.ui.appearance import GAP, UNIT, Icons, monospace
from reverie.ui.display_text import human_size, visible, visible_lines
from reverie.ui.traces import timeline as words
from reverie.ui.traces.feed import TraceFeed
from reverie.ui.traces.raw import RawView
from reverie.ui.traces.timeline import StepPosition, StepsView, TimelineView
from reverie.ui.translation import counted
from reverie.ui.widgets.controls import FitPushButton, WrapLabel, embolden
from reverie.ui.widgets.layouts import Column, FlowLayout, scrolled
from reverie.ui.widgets.message_bar import MessageBar
from reverie.ui.widgets.text_views import DiffView

if TYPE_CHECKING:
    from reverie.services.traces import TraceDetail


# What was sent and what came back, to read: one card a text, long ones folded.


_FOLDED_LINES = 6
_FOLDED_CHARS = 600
_UNFOLDED_LINES = 24
_MOST_CARDS = 80
_MOST_CHARS = 400_000


@dataclass(frozen=True, slots=True)
class Letter:
    """One text: who says it, and what."""

    title: str
    text: str


class MessagesView(QScrollArea):
    """Shows letters; the newest, what the model said, stand last."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(self.tr("Messages"))
        self.cards: list[Card] = []
        self._show(())

    def show_trace(self, document: Mapping[str, Any], facts: TraceFacts) -> None:
        self._show(tuple(self._letters(document, facts)))

    def clear(self) -> None:
        self._show(())

    def _show(self, letters: tuple[Letter, ...]) -> None:
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(GAP, GAP, GAP, GAP)
        column.setSpacing(GAP)
        self.cards = [Card(letter) for letter in letters[:_MOST_CARDS]]
        for card in self.cards:
            column.addWidget(card)
        if len(letters) > _MOST_CARDS:
            more = WrapLabel(
                self.tr("{n} more are in the raw document.").format(n=len(letters) - _MOST_CARDS)
            )
            column.addWidget(more)
        column.addStretch(1)
        self.setWidget(inside)

    def _letters(self, document: Mapping[str, Any], facts: TraceFacts) -> Iterator[Letter]:
        for key, title in (
            ("systemPrompt", self.tr("System prompt")),
            ("globalAgentsMd", self.tr("Global instructions")),
            ("contextAgentsMd", self.tr("Project instructions")),
            ("existingMemory", self.tr("Memory before the run")),
        ):
            text = document.get(key)
            if isinstance(text, str):
                yield Letter(title, text)
        for attempt in facts.attempts:
            for message in attempt.messages:
                title = self.tr("Attempt {n}, sent as {role}").format(n=attempt.index, role=message.role)
                yield Letter(title, message.text)
            answer = answer_text(attempt)
            title = self.tr("Attempt {n}, the model").format(n=attempt.index)
            yield Letter(title, answer or attempt.error or self.tr("(nothing)"))
        events = document.get("events")
        for event in events if isinstance(events, list) else ():
            if isinstance(event, Mapping):
                yield self._event(event)

    def _event(self, event: Mapping[str, Any]) -> Letter:
        title = self.tr("Conversation, {role} {n}").format(
            role=event.get("role", "?"), n=event.get("historySequence", "")
        )
        parts = [str(event["text"])] if isinstance(event.get("text"), str) else []
        calls = event.get("toolCalls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, Mapping):
                given = json.dumps(call.get("input"), ensure_ascii=False)
                parts.append(f"{call.get('toolName', '?')} {given}")
        return Letter(title, "\n".join(parts))


class Card(QFrame):
    """One letter. A long one shows its beginning and a button for the rest."""

    def __init__(self, letter: Letter, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        # What is folded is not looked at: the letters of a large trace are megabytes.
        self._letter = letter.text
        begin = visible_lines(letter.text[: 4 * _FOLDED_CHARS])
        head = "\n".join(begin.splitlines()[:_FOLDED_LINES])[:_FOLDED_CHARS]
        self.is_long = len(letter.text) > 4 * _FOLDED_CHARS or len(head) < len(begin.rstrip("\n"))
        self.title = WrapLabel()
        self.title.say(
            visible(letter.title) + " · " + counted(self.tr("1 character"), "%n characters", len(letter.text))
        )
        embolden(self.title)
        self.body = QPlainTextEdit()
        self.body.setReadOnly(True)
        self.body.setFrameShape(QFrame.Shape.NoFrame)
        self.body.setFont(monospace())
        self.body.setAccessibleName(visible(letter.title))
        self.body.setTabChangesFocus(True)
        self._head = head + ("…" if self.is_long else "")
        self.more = QToolButton()
        self.more.setAutoRaise(True)
        if not self.is_long:
            self.more.hide()  # showing what has no parent yet would open a window
        self.more.clicked.connect(self.toggle)
        column = QVBoxLayout(self)
        column.setContentsMargins(GAP, UNIT, GAP, UNIT)
        column.setSpacing(UNIT)
        column.addWidget(self.title)
        column.addWidget(self.body)
        column.addWidget(self.more)
        self.folded = True
        self._show()

    @Slot()
    def toggle(self) -> None:
        self.folded = not self.folded
        self._show()

    def _show(self) -> None:
        shown = self._head if self.folded else self._whole()
        self.body.setPlainText(shown)
        self.more.setText(self.tr("Show all") if self.folded else self.tr("Fold"))
        most = _FOLDED_LINES + 2 if self.folded else _UNFOLDED_LINES
        lines = sum(1 + len(line) // 110 for line in shown.splitlines()) or 1
        height = QFontMetrics(self.body.font()).lineSpacing()
        self.body.setFixedHeight(height * min(lines, most) + 2 * GAP)

    def _whole(self) -> str:
        text = visible_lines(self._letter[:_MOST_CHARS])
        return text if len(self._letter) <= _MOST_CHARS else f"{text}\n… [{len(self._letter):,}]"


_TIMELINE_HEIGHT = 210


@dataclass(frozen=True, slots=True)
class Shown:
    """A trace as a job read it. `tried`: the memory against what was tried, as a diff; `no_replay`:
    why it cannot be asked again; `workspace`: its name in the list at the left."""

    detail: TraceDetail
    tried: str
    no_replay: str = ""
    workspace: str = ""


class TraceDetailView(Column):
    """`asked(str)` names what a person wants to do: transcript, compare, replay, copy, export."""

    asked = Signal(str)

    def __init__(self, feed: TraceFeed, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.shown: Shown | None = None
        self.verdict = MessageBar(icons, "trace-verdict", closable=False)
        self.verdict.chosen.connect(self._on_verdict)
        self.facts = WrapLabel()
        self.buttons: dict[str, FitPushButton] = {}
        self._icons = icons
        self._signs: dict[str, str] = {}
        self.timeline = TimelineView()
        self.timeline.picked.connect(self._on_span)
        self.steps = StepsView()
        self.steps.picked.connect(self._on_place)
        self.messages = MessagesView()
        self.memory = DiffView()
        self.raw = RawView(feed, icons)
        self.pages = QTabWidget()
        self._lay_out(icons)
        self.clear()

    def _lay_out(self, icons: Icons) -> None:
        row = FlowLayout(gap=GAP)
        for key, icon, label, tip in (
            ("transcript", "open", self.tr("&Transcript"), self.tr("What was said just then")),
            ("compare", "preview", self.tr("C&ompare…"), self.tr("Two selected traces beside each other")),
            ("replay", "refresh", self.tr("Re&play…"), self._replay_tip),
            ("copy", "copy", self.tr("Copy &summary"), self.tr("Verdict, evidence and facts as text")),
            ("export", "save", self.tr("&Export…"), self.tr("Save the document as a file")),
        ):  # fmt: skip
            button = FitPushButton()
            button.setIcon(icons.icon(icon))
            button.say(label, tip)
            button.setAccessibleName(label.replace("&", ""))
            button.setObjectName(key)
            button.clicked.connect(self._on_button)
            row.addWidget(button)
            self.buttons[key] = button
            self._signs[key] = icon
        area = scrolled(self.timeline)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.course = QSplitter(Qt.Orientation.Vertical)
        self.course.addWidget(area)
        self.course.addWidget(self.steps)
        self.course.setSizes([_TIMELINE_HEIGHT, 260])
        self.course.setChildrenCollapsible(False)
        for page, title in (
            (self.course, self.tr("Course")),
            (self.messages, self.tr("Messages")),
            (self.memory, self.tr("Memory and what was tried")),
            (self.raw, self.tr("Raw")),
        ):
            self.pages.addTab(page, title)
        self.pages.setDocumentMode(True)
        top = QVBoxLayout()
        top.setContentsMargins(GAP, GAP, GAP, 0)
        top.setSpacing(GAP)
        top.addWidget(self.verdict)
        top.addWidget(self.facts)
        top.addLayout(row)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(GAP)
        outer.addLayout(top)
        outer.addWidget(self.pages, 1)

    @property
    def _replay_tip(self) -> str:
        return self.tr("Ask another model or with another prompt, on a copy: nothing is written")

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "buttons"):
            for key, button in self.buttons.items():
                button.setIcon(self._icons.icon(self._signs[key]))

    def clear(self, sentence: str = "") -> None:
        """No trace is shown, and why."""
        self.shown = None
        self.verdict.clear()
        self.facts.say(sentence)
        self.timeline.show_timeline(Timeline(1, 0, ()))
        self.steps.show_facts(None, Timeline(1, 0, ()))
        self.messages.clear()
        self.memory.show_diff("")
        self.raw.show_document(None, None)
        self.pages.setEnabled(False)
        for button in self.buttons.values():
            button.setEnabled(False)

    def show_trace(self, shown: Shown) -> None:
        detail = shown.detail
        known = self.shown
        self.shown = shown
        row = detail.row
        buttons = [("evidence", self.tr("Show where"), self.tr("Select the step that shows it"))]
        self.verdict.say(
            f"{words.verdict(row.verdict)}. {visible(row.sentence)}",
            tone=words.tone(row.verdict),
            buttons=buttons if row.place.attempt else (),
        )
        self.facts.say(self._facts(detail))
        self.pages.setEnabled(True)
        for key, button in self.buttons.items():
            if key != "compare":
                button.setEnabled(True)
        self.buttons["transcript"].setEnabled(bool(detail.facts.trigger_message_id))
        self.buttons["replay"].setEnabled(not shown.no_replay)
        self.buttons["replay"].setToolTip(shown.no_replay or self._replay_tip)
        self.timeline.show_timeline(detail.timeline)
        self.steps.show_facts(detail.facts, detail.timeline)
        self.messages.show_trace(detail.dump.document, detail.facts)
        self.memory.show_diff(shown.tried or self.tr("Nothing was tried."))
        if known is None or known.detail.dump.source != detail.dump.source:
            self.raw.show_document(detail.dump.source, detail.dump.root)
        self.show_evidence()

    def show_error(self, text: str) -> None:
        """The trace cannot be read."""
        self.clear()
        self.verdict.say(text, tone="bad")

    def summary(self) -> str:
        """The verdict as text for other people."""
        if self.shown is None:
            return ""
        row = self.shown.detail.row
        return "\n".join(
            (
                f"{words.verdict(row.verdict)}: {row.sentence}",
                self.tr("Evidence: {text}").format(text=row.evidence),
                self._facts(self.shown.detail),
                str(row.path),
            )
        )

    def _facts(self, detail: TraceDetail) -> str:
        row, facts = detail.row, detail.facts
        parts = [
            words.kind(row.kind),
            common.when(row.started_at),
            self.shown.workspace if self.shown is not None else "",
            row.model,
            words.duration(row.duration_ms),
            counted(self.tr("1 attempt"), "%n attempts", row.attempts),
            common.tokens(row.tokens) if row.tokens else "",
            self.tr("triggered by {id}").format(id=facts.trigger_message_id)
            if facts.trigger_message_id
            else "",
            human_size(row.size),
            self.tr("long texts are cut here, not in the raw document") if detail.dump.shortened else "",
        ]
        return " · ".join(visible(part) for part in parts if part)

    def show_evidence(self) -> None:
        """Select the step that the verdict points at."""
        if self.shown is not None and self.shown.detail.row.place.attempt:
            place = self.shown.detail.row.place
            self._show_place(StepPosition(place.attempt, place.step, place.call))

    def _show_place(self, place: StepPosition) -> None:
        self.steps.pick(place)
        self.timeline.pick(place.attempt, place.step, place.call)

    @Slot(str)
    def _on_verdict(self, _key: str) -> None:
        self.pages.setCurrentWidget(self.course)
        self.show_evidence()
        self.steps.tree.setFocus()

    @Slot(object)
    def _on_span(self, span: TimeSpan) -> None:
        self.steps.pick(StepPosition(span.attempt, span.step, span.call))

    @Slot(object)
    def _on_place(self, place: StepPosition) -> None:
        self.timeline.pick(place.attempt, place.step, place.call)

    @Slot()
    def _on_button(self) -> None:
        self.asked.emit(self.sender().objectName())
