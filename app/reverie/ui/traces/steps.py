"""The tree of the steps of a run, with a bar for the time of each, and the labels of traces.

Threading: GUI thread; nothing is read here.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QBrush, QPainter, QPen
from PySide6.QtWidgets import (
    QCheckBox,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from reverie.llm.trace_facts import Attempt, Call, Step, TraceFacts, call_text
from reverie.llm.trace_timeline import Timeline, TimeSpan
from reverie.ui.appearance import GAP, UNIT, mixed, theme_of
from reverie.ui.display_text import as_tooltip, counted, tr, translated, visible, visible_lines
from reverie.ui.display_text import translatable as _
from reverie.ui.metrics import row_height
from reverie.ui.run_labels import kind_title
from reverie.ui.widgets.layouts import column, size_sections, split
from reverie.ui.widgets.messages import Tone
from reverie.ui.widgets.text_views import read_only_text
from reverie.values import Struct

# Labels of traces.
_GOOD = frozenset({"wrote", "nothing-to-write"})
_BAD = frozenset({"timed-out", "provider-error", "damaged"})
VERDICTS = {
    "wrote": _("Wrote"),
    "nothing-to-write": _("Nothing to write"),
    "timed-out": _("Timed out"),
    "provider-error": _("Provider error"),
    "no-tool-support": _("Cannot call tools"),
    "bad-json": _("Bad JSON"),
    "rejected": _("Blocked by a safety check"),
    "tool-failed": _("Tool failed"),
    "prose": _("Responded with text only"),
    "never-called": _("Never called the write tool"),
    "limit": _("Reached a limit"),
    "cancelled": _("Cancelled"),
    "damaged": _("Damaged trace"),
}
"""The names of the verdicts for display, before translation."""


def verdict_label(name: str) -> str:
    """Return the name of a verdict for display."""
    return translated(VERDICTS[name]) if name in VERDICTS else visible(name)


def verdict_tone(name: str) -> Tone:
    """Return the tone (colour and icon of a message) in which a verdict is shown."""
    if name in _GOOD:
        return "info"
    return "bad" if name in _BAD else "warn"


def kind_label(name: str) -> str:
    """Return the name of a kind of run for display."""
    return {"consolidate": tr("Directory handbook"), "replay": tr("Replay")}.get(name) or kind_title(name)


def duration_label(ms: int | None) -> str:
    """Return a duration such as `850 ms`, `4.1 s`, `2 min 5 s`; empty if it is unknown."""
    if ms is None:
        return ""
    if ms < 1000:
        return tr("{n} ms").format(n=ms)
    if ms < 60_000:
        return tr("{n} s").format(n=f"{ms / 1000:.1f}")
    minutes, seconds = divmod(round(ms / 1000), 60)
    return tr("{m} min {s} s").format(m=minutes, s=seconds)


SPAN = Qt.ItemDataRole.UserRole + 1
"""The role of the time span of a step (`TimeSpan`), in the column that shows it as a bar."""
_LEAST_WIDTH = 3
_LONGEST_LABEL = "000.0 ms"


class SpanDelegate(QStyledItemDelegate):
    """A delegate that draws when a step ran, as a bar on the time scale of the run, after its duration."""

    def __init__(self, tree: StepsTree) -> None:
        super().__init__(tree)
        self._tree = tree

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().initStyleOption(option, index)
        option.text = ""  # `paint` draws it before the bar

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        super().paint(painter, option, index)
        span = index.data(SPAN)
        if not isinstance(span, TimeSpan):
            return
        theme, scale, limit = theme_of(self._tree.palette()), self._tree.scale, self._tree.limit
        cell = QRectF(option.rect).adjusted(UNIT, 3, -UNIT, -3)
        area = cell.adjusted(option.fontMetrics.horizontalAdvance(_LONGEST_LABEL), 0, 0, 0)
        left = area.left() + area.width() * min(1.0, span.start / scale)
        right = area.left() + area.width() * min(1.0, span.end / scale)
        back = theme.bad_back if span.failed else theme.accent_back
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(QBrush(back, Qt.BrushStyle.Dense3Pattern) if span.open_end else QBrush(back))
        style = Qt.PenStyle.DotLine if span.estimated else Qt.PenStyle.SolidLine
        painter.setPen(QPen(theme.bad if span.failed else mixed(theme.accent, theme.base, 0.6), 1.0, style))
        width = max(_LEAST_WIDTH, right - left)
        painter.drawRoundedRect(
            QRectF(min(left, area.right() - width), area.top(), width, area.height()), 3, 3
        )
        if 0 < limit <= scale:
            x = area.left() + area.width() * limit / scale
            painter.setPen(QPen(theme.bad, 1.5, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(x, option.rect.top()), QPointF(x, option.rect.bottom()))
        painter.setPen(theme.text)
        text = str(index.data(Qt.ItemDataRole.DisplayRole) or "")
        painter.drawText(cell, int(Qt.AlignmentFlag.AlignVCenter), text)
        painter.restore()


def common_scale(*timelines: Timeline) -> int:
    """Return the time in ms that bars of full width stand for, so that all timelines can be compared.

    It is the longest duration or, if that is greater, the largest time limit of at most three times this
    duration.
    """
    longest = max(each.duration for each in timelines)
    return max([longest, *(each.limit for each in timelines if each.limit <= 3 * longest)])


def span_words(span: TimeSpan) -> str:
    """Return a span as a sentence."""
    what = {
        "attempt": tr("Attempt {attempt}"),
        "step": tr("Attempt {attempt}, response {step}"),
        "call": tr("Attempt {attempt}, response {step}, {label}"),
    }[span.kind].format(attempt=span.attempt, step=span.step, label=visible(span.label))
    length = duration_label(span.end - span.start)
    text = tr("{what}: started {start} into the run, took {length}").format(
        what=what, start=duration_label(span.start), length=length
    )
    notes = [tr("failed")] if span.failed else []
    notes += [tr("cut off")] if span.open_end else []
    notes += [tr("not measured")] if span.estimated else []
    return f"{text} ({', '.join(notes)})" if notes else text


PLACE = Qt.ItemDataRole.UserRole
_PREVIEW = 140
_LEAST_TEXT = 64
_MOST_ROWS = 2_000
_COURSE = 1
"""The column with the bars."""


class StepPosition(Struct, frozen=True):
    """The position of a row in the trace.

    If `step` is 0, the row is that of the whole attempt; if `call` is empty, that of the whole step.
    """

    attempt: int
    step: int = 0
    call: str = ""


class StepsTree(QTreeWidget):
    """The attempts, answers and tool calls of a run, with their time spans on one scale."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.scale = 1
        """The time in ms that the whole width of a bar's cell stands for."""
        self.limit = 0
        """The time limit of the run in ms; 0 if there is none."""
        self._spans: dict[tuple[int, int, str], TimeSpan] = {}
        self.setAccessibleName(self.tr("Attempts, responses and tool calls"))
        self.setHeaderLabels([self.tr("Step"), self.tr("Duration"), self.tr("Result")])
        self.setUniformRowHeights(True)
        self.setItemDelegateForColumn(_COURSE, SpanDelegate(self))
        size_sections(self.header(), (150, 150))

    def show_steps(
        self, attempts: Sequence[Attempt], timeline: Timeline, *, scale: int, flat: bool = False
    ) -> None:
        """Show the steps of a trace, as a tree or, if `flat`, in chronological order.

        `scale`: the time in ms that the whole width of a bar's cell stands for.
        """
        self.scale, self.limit = scale, timeline.limit
        self._spans = {(span.attempt, span.step, span.call): span for span in timeline.spans}
        self.clear()
        self.setRootIsDecorated(not flat)
        left = _MOST_ROWS
        for attempt in attempts:
            top = self._attempt_item(attempt)
            if not flat:
                self.addTopLevelItem(top)
            for step in attempt.steps:
                if left <= 0:
                    break
                item = self._step_item(step)
                calls = [self._call_item(call) for call in step.calls[:left]]
                left -= 1 + len(calls)
                if flat:
                    self.addTopLevelItems([item, *calls])
                else:
                    top.addChild(item)
                    item.addChildren(calls)
            loose = [self._call_item(call) for call in attempt.calls if call.step == 0]
            if attempt.error:
                place = StepPosition(attempt.index, len(attempt.steps) + 1)
                loose.append(self._item(place, self.tr("No response"), attempt.error, bad=True))
            self.addTopLevelItems(loose) if flat else top.addChildren(loose)
        self.expandAll()

    def items(self) -> list[QTreeWidgetItem]:
        """Return all rows in order."""
        found: list[QTreeWidgetItem] = []
        waiting = [self.topLevelItem(row) for row in range(self.topLevelItemCount())]
        while waiting:
            item = waiting.pop(0)
            if item is not None:
                found.append(item)
                waiting = [item.child(row) for row in range(item.childCount())] + waiting
        return found

    def _attempt_item(self, attempt: Attempt) -> QTreeWidgetItem:
        ended = attempt.error or (self.tr("wrote") if attempt.wrote else "") or attempt.finish
        name = self.tr("Attempt {n}").format(n=attempt.index)
        return self._item(StepPosition(attempt.index), name, ended, bad=bool(attempt.error))

    def _step_item(self, step: Step) -> QTreeWidgetItem:
        label = step.text.strip() or counted(self.tr("1 tool call"), "%n tool calls", len(step.calls))
        return self._item(
            StepPosition(step.attempt, step.index), self.tr("Response {n}").format(n=step.index), label
        )

    def _call_item(self, call: Call) -> QTreeWidgetItem:
        came = call.problem or (self.tr("done") if call.ran else self.tr("not run"))
        bad = bool(call.problem) or call.broken_input
        return self._item(StepPosition(call.attempt, call.step, call.id), call.name or "?", came, bad=bad)

    def _item(self, place: StepPosition, name: str, came: str, *, bad: bool = False) -> QTreeWidgetItem:
        span = self._spans.get((place.attempt, place.step, place.call))
        length = duration_label(span.end - span.start) if span else ""
        line = visible(" ".join(came[: 4 * _PREVIEW].split())[:_PREVIEW])
        item = QTreeWidgetItem([visible(name), length, line])
        item.setData(0, PLACE, place)
        if span is not None:
            item.setData(_COURSE, SPAN, span)
            item.setToolTip(_COURSE, as_tooltip(span_words(span)))
        item.setSizeHint(0, QSize(0, row_height(self.font())))
        if bad:
            theme = theme_of(self.palette())
            for column in (0, 2):
                item.setForeground(column, QBrush(theme.removed if theme.dark else theme.bad_text))
        return item


class StepsView(QWidget):
    """Attempts, answers and tool calls as a tree or in chronological order, and the selected one in full."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._facts: TraceFacts | None = None
        self._timeline = Timeline(1, 0, ())
        self.flat = QCheckBox(self.tr("&Chronological"))
        self.flat.toggled.connect(self._fill)
        self.tree = StepsTree()
        self.tree.currentItemChanged.connect(self._on_current)
        self.text = read_only_text(self.tr("The selected step in full"), fixed=True)
        self.text.setMinimumWidth(_LEAST_TEXT)
        left = QWidget()
        column(left, self.tree, self.flat, grows=self.tree, margin=0, gap=GAP // 2)
        self.splitter = split(left, self.text, sizes=(560, 380))
        column(self, self.splitter, margin=0, gap=None)

    def show_facts(self, facts: TraceFacts | None, timeline: Timeline) -> None:
        """Show the steps of a trace with their times; None shows none."""
        self._facts, self._timeline = facts, timeline
        self._fill()

    def pick(self, place: StepPosition) -> bool:
        """Select the row of a position, else that of its step or attempt; return True if one exists."""
        rows = {item.data(0, PLACE): item for item in self.tree.items()}
        for wanted in (place, StepPosition(place.attempt, place.step), StepPosition(place.attempt)):
            if wanted in rows:
                self.tree.setCurrentItem(rows[wanted])
                self.tree.scrollToItem(rows[wanted])
                return True
        return False

    @Slot()
    def _fill(self) -> None:
        self.text.clear()
        scale = common_scale(self._timeline)
        self.tree.show_steps(self._attempts(), self._timeline, scale=scale, flat=self.flat.isChecked())

    @Slot()
    def _on_current(self) -> None:
        item = self.tree.currentItem()
        place = item.data(0, PLACE) if item is not None else None
        if not isinstance(place, StepPosition):
            return
        self.text.setPlainText(visible_lines(self._text_of(place)))

    def _text_of(self, place: StepPosition) -> str:
        attempt = next((each for each in self._attempts() if each.index == place.attempt), None)
        if attempt is None:
            return ""
        if place.call:
            call = next((each for each in attempt.calls if each.id == place.call), None)
            return call_text(call) if call is not None else ""
        step = next((each for each in attempt.steps if each.index == place.step), None)
        if step is not None:
            usage = f"{step.input_tokens:,} / {step.output_tokens:,}"
            facts = self.tr("Stop reason: {finish}. Input / output tokens: {usage}").format(
                finish=step.finish or "–", usage=usage
            )
            return "\n\n".join([facts, step.text, *(call_text(call) for call in step.calls)])
        return attempt.error or attempt.text or attempt.finish

    def _attempts(self) -> tuple[Attempt, ...]:
        return self._facts.attempts if self._facts is not None else ()
