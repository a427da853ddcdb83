"""Two traces beside each other: the facts that differ, both timelines on one scale, and every text that
differs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLabel,
    QPlainTextEdit,
    QSplitter,
    QTableWidget,
    QTableWidgetItem,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from reverie.ui import words as common
from reverie.ui.columns import column
from reverie.ui.jobs import JobControl
from reverie.ui.labels import WrapLabel
from reverie.ui.memory.diff_view import DiffView
from reverie.ui.shown import visible, visible_lines
from reverie.ui.theme import theme_of
from reverie.ui.traces import words
from reverie.ui.traces.feed import Listed, TraceFeed
from reverie.ui.traces.timeline_view import TimelineView
from reverie.ui.translation import tr

if TYPE_CHECKING:
    from reverie.agent.timeline import Timeline
    from reverie.services.traces import TraceDetail


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two, as it is shown."""

    title: str
    facts: tuple[str, ...]
    timeline: Timeline
    answers: str
    tried: str


def side_of(title: str, detail: TraceDetail) -> Side:
    """What is compared of a trace."""
    from reverie.services.trace_texts import answer_text, tried_diff

    row, facts = detail.row, detail.facts
    answers = "\n\n".join(
        f"— {tr('Attempt {n}').format(n=attempt.index)} —\n{answer_text(attempt) or attempt.error}"
        for attempt in facts.attempts
    )
    told = (
        words.verdict(row.verdict),
        row.evidence,
        row.model,
        words.duration(row.duration_ms) or "–",
        str(row.attempts),
        str(sum(len(attempt.steps) for attempt in facts.attempts)),
        str(sum(len(attempt.calls) for attempt in facts.attempts)),
        common.tokens(row.tokens) if row.tokens else "–",
    )
    return Side(title, told, detail.timeline, answers, tried_diff(facts))


def fact_names() -> tuple[str, ...]:
    """The headings of the facts, in the order in which they are compared."""
    return (
        tr("Verdict"), tr("Evidence"), tr("Model"), tr("Duration"), tr("Attempts"), tr("Answers"),
        tr("Tool calls"), tr("Tokens"),
    )  # fmt: skip


def on_one_scale(one: Timeline, other: Timeline) -> tuple[Timeline, Timeline]:
    """Both as long as the longer, time limits included where they are near enough to be shown."""
    longest = max(one.duration, other.duration)
    longest = max([longest, *(each.limit for each in (one, other) if each.limit <= 3 * longest)])

    def fitted(timeline: Timeline) -> Timeline:
        return replace(timeline, duration=longest, limit=timeline.limit if timeline.limit <= longest else 0)

    return fitted(one), fitted(other)


class TwoTraces(QWidget):
    """Two sides and their difference."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.table = QTableWidget(len(fact_names()), 2)
        self.table.setVerticalHeaderLabels(list(fact_names()))
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setAccessibleName(self.tr("Facts"))
        self.table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.table.setTabKeyNavigation(False)
        self.timelines = (TimelineView(), TimelineView())
        self.answers = (_reader(self.tr("Answers of the first")), _reader(self.tr("Answers of the second")))
        self.diff = DiffView()
        self.pages = QTabWidget()
        self.pages.setDocumentMode(True)
        self._lay_out()

    def _lay_out(self) -> None:
        lines = QWidget()
        column = QVBoxLayout(lines)
        self.titles = (QLabel(), QLabel())
        for title, timeline in zip(self.titles, self.timelines, strict=True):
            title.setTextFormat(Qt.TextFormat.PlainText)
            column.addWidget(title)
            column.addWidget(timeline)
        column.addStretch(1)
        beside = QSplitter()
        for answer in self.answers:
            beside.addWidget(answer)
        beside.setChildrenCollapsible(False)
        for page, name in (
            (lines, self.tr("Timelines")),
            (beside, self.tr("Answers")),
            (self.diff, self.tr("Differences")),
        ):
            self.pages.addTab(page, name)
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.addWidget(self.table)
        splitter.addWidget(self.pages)
        splitter.setSizes([270, 330])
        splitter.setChildrenCollapsible(False)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(splitter)

    def show_sides(self, one: Side, other: Side, diff: str) -> None:
        self.table.setHorizontalHeaderLabels([visible(one.title), visible(other.title)])
        theme = theme_of(self.palette())
        for row, (left, right) in enumerate(zip(one.facts, other.facts, strict=True)):
            for place, text in enumerate((left, right)):
                item = QTableWidgetItem(visible(text))
                item.setToolTip(visible(text))
                if left != right:
                    item.setBackground(QBrush(theme.accent_back))
                self.table.setItem(row, place, item)
        timelines = on_one_scale(one.timeline, other.timeline)
        for title, side in zip(self.titles, (one, other), strict=True):
            title.setText(visible(side.title))
        for view, timeline in zip(self.timelines, timelines, strict=True):
            view.show_timeline(timeline)
        for answer, side in zip(self.answers, (one, other), strict=True):
            answer.setPlainText(visible_lines(side.answers))
        self.diff.show_diff(diff or self.tr("Nothing differs."))


class TraceCompare(QDialog):
    """Two traces of the list."""

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

    def open_on(self, one: Listed, other: Listed) -> None:
        """Read both and show them."""
        self.is_read = False
        self.title.say(self.tr("Reading…"))
        self.show()

        def work(_control: JobControl) -> tuple[Side, Side, str]:
            from reverie.services.trace_texts import trace_diff

            details = [line.session.workbench.traces.open(str(line.row.path)) for line in (one, other)]
            sides = [side_of(common.when(detail.row.started_at), detail) for detail in details]
            return sides[0], sides[1], trace_diff(details[0].facts, details[1].facts)

        self._feed.submit("compare traces", work, done=self._on_read, group="compare traces")

    def _on_read(self, found: tuple[Side, Side, str]) -> None:
        self.is_read = True
        self.title.say(self.tr("What differs is tinted; “-” is the older one, “+” the newer."))
        self.two.show_sides(*found)


def _reader(name: str) -> QPlainTextEdit:
    text = QPlainTextEdit()
    text.setReadOnly(True)
    text.setAccessibleName(name)
    return text
