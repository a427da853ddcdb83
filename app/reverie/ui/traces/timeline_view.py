"""When things happened in a run, drawn to scale: a band per attempt, in it the answers of the model and the
tool calls. Spans can be picked by mouse and by the arrow keys."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
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
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from reverie.agent.timeline import Span, Timeline
from reverie.ui.shown import as_tooltip, visible
from reverie.ui.theme import GAP, MARGIN, UNIT, Theme, mixed, readable, theme_of
from reverie.ui.traces import words
from reverie.ui.translation import tr

_BAR = 22
_AXIS = 26
_LABEL = 84
"""How high a bar and the axis, how wide the names of the attempts are at least; larger type makes them so."""
_LEAST_WIDTH = 3.0
_STEPS_MS = (1, 2, 5)
_MOST_ATTEMPTS = 40


class TimelineView(QWidget):
    """`picked(Span)`: a person chose a span."""

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
        spans = tuple(span for span in timeline.spans if span.attempt <= _MOST_ATTEMPTS)
        self.timeline = replace(timeline, spans=spans)
        self.current = -1
        self._measure()
        self.setAccessibleDescription("; ".join(span_words(span) for span in spans[:50]))

    def _measure(self) -> None:
        """How much room the names of the attempts take."""
        most = max((span.attempt for span in self.timeline.spans), default=1)
        widest = self.fontMetrics().horizontalAdvance(self._attempt_words(most))
        self._label = max(_LABEL, widest + 2 * GAP)
        self.updateGeometry()
        self.update()

    def pick(self, attempt: int, step: int, call: str) -> None:
        """Mark the span of a place, without telling."""
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
        """Where a span is drawn."""
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
            text = self.tr("The trace does not say when anything happened.")
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, text)
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
            label = words.duration(moment) if moment else "0"
            width = metrics.horizontalAdvance(label)
            left = min(x - width / 2, self.width() - width - 2)
            painter.drawText(QPointF(left, self._axis - 9), label)
            moment += step
        limit = self.timeline.limit
        if 0 < limit <= self._scale and self.timeline.spans:
            painter.setPen(QPen(theme.bad, 1.5, Qt.PenStyle.DashLine))
            x = self._x(limit)
            painter.drawLine(QPointF(x, self._axis - 4), QPointF(x, self.height() - GAP))

    def _paint_span(self, painter: QPainter, theme: Theme, place: int, span: Span) -> None:
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
        self, painter: QPainter, theme: Theme, metrics: QFontMetrics, area: QRectF, span: Span
    ) -> None:
        text = self.tr("answer {n}").format(n=span.step) if span.kind == "step" else visible(span.label)
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

    def _next_to(self, span: Span) -> bool:
        """Another span of the same kind follows so closely that a label beside this one would cover it."""
        room = self._label * self._scale / max(1, self.width() - self._label)
        return any(
            other is not span
            and (other.kind, other.attempt) == (span.kind, span.attempt)
            and span.start <= other.start <= span.end + room
            and (other.start, other.call) > (span.start, span.call)
            for other in self.timeline.spans
        )

    def _back(self, theme: Theme, span: Span) -> QColor:
        if span.failed:
            return theme.bad_back
        return theme.accent_back if span.kind == "step" else mixed(theme.good, theme.base, 0.25)

    def _at(self, point: QPointF) -> int:
        """The innermost span at a point; a thin one is met within a few pixels."""
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


def span_words(span: Span) -> str:
    """A span as a sentence."""
    what = {
        "attempt": tr("Attempt {attempt}"),
        "step": tr("Attempt {attempt}, answer {step}"),
        "call": tr("Attempt {attempt}, answer {step}, {label}"),
    }[span.kind].format(attempt=span.attempt, step=span.step, label=visible(span.label))
    length = words.duration(span.end - span.start)
    text = tr("{what}: from {start}, {length}").format(
        what=what, start=words.duration(span.start), length=length
    )
    notes = [tr("failed")] if span.failed else []
    notes += [tr("cut off")] if span.open_end else []
    notes += [tr("not measured")] if span.estimated else []
    return f"{text} ({', '.join(notes)})" if notes else text


def _tick(scale: int, most: float) -> int:
    """A round distance between ticks, so that there are at most `most` of them."""
    size = 1
    while True:
        for factor in _STEPS_MS:
            if scale / (size * factor) <= max(2.0, most):
                return size * factor
        size *= 10
