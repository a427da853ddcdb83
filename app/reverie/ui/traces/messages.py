"""What was sent and what came back, to read: one card a text, long ones folded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QScrollArea, QToolButton, QVBoxLayout, QWidget

from reverie.agent.dump_facts import Facts
from reverie.services.trace_texts import answer_text
from reverie.ui.labels import WrapLabel, embolden
from reverie.ui.shown import visible, visible_lines
from reverie.ui.theme import GAP, UNIT, monospace
from reverie.ui.translation import counted

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

    def show_trace(self, document: Mapping[str, Any], facts: Facts) -> None:
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

    def _letters(self, document: Mapping[str, Any], facts: Facts) -> Iterator[Letter]:
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
