"""The timeline of a run, the tree of its steps, and the labels of traces.

The timeline has a band for each attempt, drawn to scale; it contains the model's answers and the tool calls.
Spans are selected with the mouse and the arrow keys. Threading: GUI thread; nothing is read here.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFontMetrics,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import (
    QCheckBox,
    QSizePolicy,
    QStyle,
    QStyleOptionFocusRect,
    QToolTip,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from reverie.llm.trace_facts import Attempt, Call, Step, TraceFacts, call_text
from reverie.llm.trace_timeline import Timeline, TimeSpan
from reverie.ui.appearance import GAP, MARGIN, UNIT, Theme, mixed, readable, theme_of
from reverie.ui.display_text import as_tooltip, counted, tr, visible, visible_lines
from reverie.ui.metrics import row_height
from reverie.ui.run_labels import kind_title
from reverie.ui.widgets.layouts import column, size_sections, split
from reverie.ui.widgets.messages import Tone
from reverie.ui.widgets.text_views import read_only_text
from reverie.values import Struct, replace

# Labels of traces.
_GOOD = frozenset({"wrote", "nothing-to-write"})
_BAD = frozenset({"timed-out", "provider-error", "damaged"})
VERDICTS = (
    "wrote", "nothing-to-write", "timed-out", "provider-error", "no-tool-support", "bad-json", "rejected",
    "tool-failed", "prose", "never-called", "limit", "cancelled", "damaged",
)  # fmt: skip


def verdict_label(name: str) -> str:
    """Return the name of a verdict for display."""
    return {
        "wrote": tr("Wrote"),
        "nothing-to-write": tr("Nothing to write"),
        "timed-out": tr("Timed out"),
        "provider-error": tr("Provider error"),
        "no-tool-support": tr("Cannot call tools"),
        "bad-json": tr("Bad JSON"),
        "rejected": tr("Blocked by a safety check"),
        "tool-failed": tr("Tool failed"),
        "prose": tr("Responded with text only"),
        "never-called": tr("Never called the tool"),
        "limit": tr("Reached a limit"),
        "cancelled": tr("Cancelled"),
        "damaged": tr("Damaged trace"),
    }.get(name, visible(name))


def verdict_tone(name: str) -> Tone:
    """Return the tone (style of message) in which a verdict is shown."""
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


_BAR = 22
_AXIS = 26
_LABEL = 84
"""Pixels: the height of a bar and of the axis, and the least width of the attempts' names.

With larger type each of them is larger.
"""
_LEAST_WIDTH = 3.0
_STEPS_MS = (1, 2, 5)
_MOST_ATTEMPTS = 40


class TimelineView(QWidget):
    """The timeline of a run.

    Signal: `picked(TimeSpan)`, emitted when the user selects a span.
    """

    picked = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.timeline = Timeline(1, 0, ())
        self.current = -1
        self._label = _LABEL
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Timeline"))
        self.setMouseTracking(True)

    def show_timeline(self, timeline: Timeline) -> None:
        """Show a timeline, limited to its first 40 attempts."""
        spans = tuple(span for span in timeline.spans if span.attempt <= _MOST_ATTEMPTS)
        self.timeline = replace(timeline, spans=spans)
        self.current = -1
        self._measure()
        self.setAccessibleDescription("; ".join(span_words(span) for span in spans[:50]))

    def _measure(self) -> None:
        """Compute the width of the column with the names of the attempts."""
        most = max((span.attempt for span in self.timeline.spans), default=1)
        widest = self.fontMetrics().horizontalAdvance(self._attempt_words(most))
        self._label = max(_LABEL, widest + 2 * GAP)
        self.updateGeometry()
        self.update()

    def pick(self, attempt: int, step: int, call: str) -> None:
        """Mark the span of a step or call without emitting `picked`; if there is none, clear the mark."""
        wanted = (attempt, step, call)
        self.current = next(
            (
                place
                for place, span in enumerate(self.timeline.spans)
                if (span.attempt, span.step, span.call) == wanted
            ),
            -1,
        )
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(400, self._axis + max(1, self._bands) * self._band + GAP)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, self.sizeHint().height())

    @property
    def _bar(self) -> int:
        return max(_BAR, self.fontMetrics().height() + UNIT)

    @property
    def _band(self) -> int:
        return 2 * self._bar + 3 * UNIT

    @property
    def _axis(self) -> int:
        return max(_AXIS, self.fontMetrics().height() + GAP)

    def _attempt_words(self, attempt: int) -> str:
        return self.tr("Attempt {n}").format(n=attempt)

    @property
    def _bands(self) -> int:
        return len({span.attempt for span in self.timeline.spans})

    def area_of(self, place: int) -> QRectF:
        """Return the rectangle of the span with the index `place`."""
        span = self.timeline.spans[place]
        order = sorted({each.attempt for each in self.timeline.spans})
        top = self._axis + order.index(span.attempt) * self._band
        left, right = self._x(span.start), self._x(span.end)
        if span.kind == "attempt":
            return QRectF(left, top, max(_LEAST_WIDTH, right - left), self._band - UNIT)
        offset = UNIT if span.kind == "step" else UNIT + self._bar + 2
        return QRectF(left, top + offset, max(_LEAST_WIDTH, right - left), self._bar - 2)

    def _x(self, moment: int) -> float:
        room = max(1, self.width() - self._label - MARGIN)
        return self._label + room * min(1.0, moment / self._scale)

    @property
    def _scale(self) -> int:
        limit = self.timeline.limit
        return max(self.timeline.duration, limit if 0 < limit <= 3 * self.timeline.duration else 0, 1)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme = theme_of(self.palette())
        painter.fillRect(event.rect(), theme.base)
        self._paint_axis(painter, theme)
        for place, span in enumerate(self.timeline.spans):
            self._paint_span(painter, theme, place, span)
        if not self.timeline.spans:
            painter.setPen(theme.dim)
            text = self.tr("The trace contains no times.")
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, text)
        if self.hasFocus():
            ring = QStyleOptionFocusRect()
            ring.initFrom(self)
            ring.rect = self.rect().adjusted(1, 1, -1, -1)
            self.style().drawPrimitive(QStyle.PrimitiveElement.PE_FrameFocusRect, ring, painter, self)
        painter.end()

    def _paint_axis(self, painter: QPainter, theme: Theme) -> None:
        metrics = QFontMetrics(self.font())
        painter.setPen(theme.line)
        step = _tick(self._scale, (self.width() - self._label) / (metrics.averageCharWidth() * 12 or 1))
        moment = 0
        while moment <= self._scale and self.timeline.spans:
            x = self._x(moment)
            painter.setPen(theme.line)
            painter.drawLine(QPointF(x, self._axis - 4), QPointF(x, self.height() - GAP))
            painter.setPen(theme.dim)
            label = duration_label(moment) if moment else "0"
            width = metrics.horizontalAdvance(label)
            left = min(x - width / 2, self.width() - width - 2)
            painter.drawText(QPointF(left, self._axis - 9), label)
            moment += step
        limit = self.timeline.limit
        if 0 < limit <= self._scale and self.timeline.spans:
            painter.setPen(QPen(theme.bad, 1.5, Qt.PenStyle.DashLine))
            x = self._x(limit)
            painter.drawLine(QPointF(x, self._axis - 4), QPointF(x, self.height() - GAP))

    def _paint_span(self, painter: QPainter, theme: Theme, place: int, span: TimeSpan) -> None:
        area = self.area_of(place)
        metrics = QFontMetrics(self.font())
        if span.kind == "attempt":
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(mixed(theme.text, theme.base, 0.05))
            painter.drawRoundedRect(area, UNIT, UNIT)
            painter.setPen(theme.text)
            cell = QRectF(GAP, area.top(), self._label - GAP, area.height())
            painter.drawText(cell, int(Qt.AlignmentFlag.AlignVCenter), self._attempt_words(span.attempt))
        else:
            back = self._back(theme, span)
            painter.setBrush(QBrush(back, Qt.BrushStyle.Dense3Pattern) if span.open_end else QBrush(back))
            border = theme.bad if span.failed else mixed(theme.accent, theme.base, 0.6)
            dashed = Qt.PenStyle.DotLine if span.estimated else Qt.PenStyle.SolidLine
            painter.setPen(QPen(border, 1.0, dashed))
            painter.drawRoundedRect(area, 3, 3)
            self._paint_label(painter, theme, metrics, area, span)
        if place == self.current:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme.accent, 2))
            painter.drawRoundedRect(area.adjusted(-1, -1, 1, 1), 4, 4)

    def _paint_label(
        self, painter: QPainter, theme: Theme, metrics: QFontMetrics, area: QRectF, span: TimeSpan
    ) -> None:
        text = self.tr("response {n}").format(n=span.step) if span.kind == "step" else visible(span.label)
        room = area.width() - 2 * UNIT
        inside = metrics.horizontalAdvance(text) <= room
        right = self.width() - MARGIN
        outside = area.right() + UNIT + metrics.horizontalAdvance(text) <= right and not self._next_to(span)
        if inside or not outside:
            if room < metrics.averageCharWidth() * 3:
                return
            painter.setPen(readable(theme.text, self._back(theme, span)))
            cell = area.adjusted(UNIT, 0, -UNIT, 0)
            shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(room))
            painter.drawText(cell, int(Qt.AlignmentFlag.AlignVCenter), shown)
            return
        painter.setPen(theme.bad_text if span.failed else theme.dim)
        cell = QRectF(area.right() + UNIT, area.top(), right - area.right(), area.height())
        painter.drawText(cell, int(Qt.AlignmentFlag.AlignVCenter), text)

    def _next_to(self, span: TimeSpan) -> bool:
        """Return whether a label beside `span` would cover the next span of the same kind."""
        room = self._label * self._scale / max(1, self.width() - self._label)
        return any(
            other is not span
            and (other.kind, other.attempt) == (span.kind, span.attempt)
            and span.start <= other.start <= span.end + room
            and (other.start, other.call) > (span.start, span.call)
            for other in self.timeline.spans
        )

    def _back(self, theme: Theme, span: TimeSpan) -> QColor:
        if span.failed:
            return theme.bad_back
        return theme.accent_back if span.kind == "step" else mixed(theme.good, theme.base, 0.25)

    def _at(self, point: QPointF) -> int:
        """Return the index of the innermost span at a point or within 3 pixels of it; -1 if there is none."""
        found = [
            place
            for place in range(len(self.timeline.spans))
            if self.area_of(place).adjusted(-3, 0, 3, 0).contains(point)
        ]
        return max(found, key=lambda place: (self.timeline.spans[place].kind != "attempt", place), default=-1)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._choose(self._at(event.position()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        count = len(self.timeline.spans)
        step = {Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1, Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1}.get(
            Qt.Key(event.key()), 0
        )
        if not step or not count:
            super().keyPressEvent(event)
            return
        self._choose(min(count - 1, max(0, self.current + step)))

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            place = self._at(QPointF(event.pos()))
            text = as_tooltip(span_words(self.timeline.spans[place])) if place >= 0 else ""
            QToolTip.showText(event.globalPos(), text, self)
            return True
        return super().event(event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_label"):
            self._measure()
        if event.type() == QEvent.Type.PaletteChange:
            self.update()

    def _choose(self, place: int) -> None:
        if place >= 0:
            self.current = place
            self.update()
            self.picked.emit(self.timeline.spans[place])


def span_words(span: TimeSpan) -> str:
    """Return a span as a sentence."""
    what = {
        "attempt": tr("Attempt {attempt}"),
        "step": tr("Attempt {attempt}, response {step}"),
        "call": tr("Attempt {attempt}, response {step}, {label}"),
    }[span.kind].format(attempt=span.attempt, step=span.step, label=visible(span.label))
    length = duration_label(span.end - span.start)
    text = tr("{what}: from {start}, {length}").format(
        what=what, start=duration_label(span.start), length=length
    )
    notes = [tr("failed")] if span.failed else []
    notes += [tr("cut off")] if span.open_end else []
    notes += [tr("not measured")] if span.estimated else []
    return f"{text} ({', '.join(notes)})" if notes else text


def _tick(scale: int, most: float) -> int:
    """Return a round distance in ms that divides `scale` into at most `most` parts (or 2 if more)."""
    size = 1
    while True:
        for factor in _STEPS_MS:
            if scale / (size * factor) <= max(2.0, most):
                return size * factor
        size *= 10


PLACE = Qt.ItemDataRole.UserRole
_PREVIEW = 140
_LEAST_TEXT = 64
_MOST_ROWS = 2_000


class StepPosition(Struct, frozen=True):
    """The position of a row in the trace.

    If `step` is 0, the row is that of the whole attempt; if `call` is empty, that of the whole step.
    """

    attempt: int
    step: int = 0
    call: str = ""


class StepsView(QWidget):
    """Attempts, answers and tool calls as a tree or in chronological order, and the selected one in full.

    Signal: `picked(StepPosition)`, emitted when the user selects a row.
    """

    picked = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._facts: TraceFacts | None = None
        self._starts: dict[tuple[int, int, str], str] = {}
        self._telling = True
        self.flat = QCheckBox(self.tr("&Chronological"))
        self.flat.toggled.connect(self._fill)
        self.tree = QTreeWidget()
        self.tree.setAccessibleName(self.tr("Attempts, responses and tool calls"))
        self.tree.setHeaderLabels([self.tr("Step"), self.tr("Time"), self.tr("Result")])
        self.tree.setUniformRowHeights(True)
        size_sections(self.tree.header(), (230, 70))
        self.tree.currentItemChanged.connect(self._on_current)
        self.text = read_only_text(self.tr("The selected step in full"), fixed=True)
        self.text.setMinimumWidth(_LEAST_TEXT)
        left = QWidget()
        column(left, self.tree, self.flat, grows=self.tree, margin=0, gap=GAP // 2)
        self.splitter = split(left, self.text, sizes=(560, 380))
        column(self, self.splitter, margin=0, gap=None)

    def show_facts(self, facts: TraceFacts | None, timeline: Timeline) -> None:
        """Show the steps of a trace with their start times; None shows none."""
        self._facts = facts
        self._starts = {
            (span.attempt, span.step, span.call): duration_label(span.start) for span in timeline.spans
        }
        self._fill()

    def pick(self, place: StepPosition) -> bool:
        """Select the row of a position, else that of its step or attempt, without emitting `picked`.

        Return whether there is such a row.
        """
        for wanted in (place, StepPosition(place.attempt, place.step), StepPosition(place.attempt)):
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
                    StepPosition(attempt.index, len(attempt.steps) + 1),
                    self.tr("No response"),
                    attempt.error,
                    bad=True,
                )
                self.tree.addTopLevelItem(item) if flat else top.addChild(item)
        self.tree.expandAll()
        self._telling = True

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
        start = self._starts.get((place.attempt, place.step, place.call), "")
        line = visible(" ".join(came[: 4 * _PREVIEW].split())[:_PREVIEW])
        item = QTreeWidgetItem([visible(name), start, line])
        item.setData(0, PLACE, place)
        item.setSizeHint(0, QSize(0, row_height(self.font())))
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
        if not isinstance(place, StepPosition):
            return
        self.text.setPlainText(visible_lines(self._text_of(place)))
        if self._telling:
            self.picked.emit(place)

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
            facts = self.tr("ended: {finish}, tokens in and out: {usage}").format(
                finish=step.finish or "–", usage=usage
            )
            return "\n\n".join([facts, step.text, *(call_text(call) for call in step.calls)])
        return attempt.error or attempt.text or attempt.finish

    def _attempts(self) -> tuple[Attempt, ...]:
        return self._facts.attempts if self._facts is not None else ()
