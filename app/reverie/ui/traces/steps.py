"""Attempts, answers and tool calls as a tree, or flat in the order of time; what is selected, in full."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QBrush
from PySide6.QtWidgets import (
    QCheckBox,
    QPlainTextEdit,
    QSplitter,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from reverie.agent.dump_facts import Attempt, Call, Facts, Step
from reverie.agent.timeline import Timeline
from reverie.services.trace_texts import call_text
from reverie.ui.columns import size_sections
from reverie.ui.shown import visible, visible_lines
from reverie.ui.theme import GAP, CalmSelection, monospace, theme_of
from reverie.ui.traces import words
from reverie.ui.translation import counted

PLACE = Qt.ItemDataRole.UserRole
_PREVIEW = 140
_LEAST_TEXT = 64
_MOST_ROWS = 2_000


@dataclass(frozen=True, slots=True)
class Place:
    """What a row is about; `step` 0 and `call` empty where they do not apply."""

    attempt: int
    step: int = 0
    call: str = ""


class StepsView(QWidget):
    """`picked(Place)`: a person chose a row."""

    picked = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._facts: Facts | None = None
        self._starts: dict[tuple[int, int, str], str] = {}
        self._telling = True
        self.flat = QCheckBox(self.tr("&Flat, in the order of time"))
        self.flat.toggled.connect(self._fill)
        self.tree = QTreeWidget()
        self.tree.setAccessibleName(self.tr("Attempts, answers and tool calls"))
        self.tree.setHeaderLabels([self.tr("Step"), self.tr("At"), self.tr("What came of it")])
        self.tree.setUniformRowHeights(True)
        size_sections(self.tree.header(), (230, 70))
        CalmSelection(self.tree)
        self.tree.currentItemChanged.connect(self._on_current)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setFont(monospace())
        self.text.setMinimumWidth(_LEAST_TEXT)
        self.text.setAccessibleName(self.tr("The selected step in full"))
        self.text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        left = QWidget()
        column = QVBoxLayout(left)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GAP // 2)
        column.addWidget(self.tree, 1)
        column.addWidget(self.flat)
        self.splitter = QSplitter()
        self.splitter.addWidget(left)
        self.splitter.addWidget(self.text)
        self.splitter.setSizes([560, 380])
        self.splitter.setChildrenCollapsible(False)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.splitter)

    def show_facts(self, facts: Facts | None, timeline: Timeline) -> None:
        self._facts = facts
        self._starts = {
            (span.attempt, span.step, span.call): words.duration(span.start) for span in timeline.spans
        }
        self._fill()

    def pick(self, place: Place) -> bool:
        """Select the row of a place, or of what it is in."""
        for wanted in (place, Place(place.attempt, place.step), Place(place.attempt)):
            for item in self._items():
                if item.data(0, PLACE) == wanted:
                    self._telling = False
                    self.tree.setCurrentItem(item)
                    self.tree.scrollToItem(item)
                    self._telling = True
                    return True
        return False

    @Slot()
    def _fill(self) -> None:
        self._telling = False
        self.tree.clear()
        self.text.clear()
        flat = self.flat.isChecked()
        self.tree.setRootIsDecorated(not flat)
        left = _MOST_ROWS
        for attempt in self._facts.attempts if self._facts is not None else ():
            top = self._attempt_item(attempt)
            if not flat:
                self.tree.addTopLevelItem(top)
            for step in attempt.steps:
                if left <= 0:
                    break
                item = self._step_item(step)
                calls = [self._call_item(call) for call in step.calls[:left]]
                left -= 1 + len(calls)
                if flat:
                    self.tree.addTopLevelItems([item, *calls])
                else:
                    top.addChild(item)
                    item.addChildren(calls)
            loose = [self._call_item(call) for call in attempt.calls if call.step == 0]
            if flat:
                self.tree.addTopLevelItems(loose)
            else:
                top.addChildren(loose)
            if attempt.error:
                item = self._item(
                    Place(attempt.index, len(attempt.steps) + 1),
                    self.tr("No answer"),
                    attempt.error,
                    bad=True,
                )
                self.tree.addTopLevelItem(item) if flat else top.addChild(item)
        self.tree.expandAll()
        self._telling = True

    def _attempt_item(self, attempt: Attempt) -> QTreeWidgetItem:
        ended = attempt.error or (self.tr("wrote") if attempt.wrote else "") or attempt.finish
        name = self.tr("Attempt {n}").format(n=attempt.index)
        return self._item(Place(attempt.index), name, ended, bad=bool(attempt.error))

    def _step_item(self, step: Step) -> QTreeWidgetItem:
        said = step.text.strip() or counted(self.tr("1 tool call"), "%n tool calls", len(step.calls))
        return self._item(Place(step.attempt, step.index), self.tr("Answer {n}").format(n=step.index), said)

    def _call_item(self, call: Call) -> QTreeWidgetItem:
        came = call.problem or (self.tr("done") if call.ran else self.tr("was not run"))
        bad = bool(call.problem) or call.broken_input
        return self._item(Place(call.attempt, call.step, call.id), call.name or "?", came, bad=bad)

    def _item(self, place: Place, name: str, came: str, *, bad: bool = False) -> QTreeWidgetItem:
        start = self._starts.get((place.attempt, place.step, place.call), "")
        line = visible(" ".join(came[: 4 * _PREVIEW].split())[:_PREVIEW])
        item = QTreeWidgetItem([visible(name), start, line])
        item.setData(0, PLACE, place)
        if bad:
            theme = theme_of(self.palette())
            for column in (0, 2):
                item.setForeground(column, QBrush(theme.removed if theme.dark else theme.bad_text))
        return item

    def _items(self) -> list[QTreeWidgetItem]:
        found: list[QTreeWidgetItem] = []
        waiting = [self.tree.topLevelItem(row) for row in range(self.tree.topLevelItemCount())]
        while waiting:
            item = waiting.pop(0)
            if item is not None:
                found.append(item)
                waiting = [item.child(row) for row in range(item.childCount())] + waiting
        return found

    @Slot()
    def _on_current(self) -> None:
        item = self.tree.currentItem()
        place = item.data(0, PLACE) if item is not None else None
        if not isinstance(place, Place):
            return
        self.text.setPlainText(visible_lines(self._text_of(place)))
        if self._telling:
            self.picked.emit(place)

    def _text_of(self, place: Place) -> str:
        attempt = next((each for each in self._attempts() if each.index == place.attempt), None)
        if attempt is None:
            return ""
        if place.call:
            call = next((each for each in attempt.calls if each.id == place.call), None)
            return call_text(call) if call is not None else ""
        step = next((each for each in attempt.steps if each.index == place.step), None)
        if step is not None:
            usage = f"{step.input_tokens:,} / {step.output_tokens:,}"
            facts = self.tr("ended: {finish}, tokens in and out: {usage}").format(
                finish=step.finish or "–", usage=usage
            )
            return "\n\n".join([facts, step.text, *(call_text(call) for call in step.calls)])
        return attempt.error or attempt.text or attempt.finish

    def _attempts(self) -> tuple[Attempt, ...]:
        return self._facts.attempts if self._facts is not None else ()
