"""A gauge of one budget: a short bar and how much of it is used. Without a cap no bar."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from reverie.context.view import Gauge
from reverie.ui.context.words import gauge_text
from reverie.ui.theme import GAP, UNIT, tabular, theme_of

_BAR = 64
_AMBER_SHARE = 0.9


class BudgetGauge(QWidget):
    """Shows a `Gauge`."""

    def __init__(self, gauge: Gauge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.gauge = gauge
        self.setFont(tabular(self.font()))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.text)

    @property
    def text(self) -> str:
        return gauge_text(self.gauge)

    def show_gauge(self, gauge: Gauge) -> None:
        """The same figures again draw nothing."""
        if gauge != self.gauge:
            self.gauge = gauge
            self.setAccessibleName(self.text)
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        bar = _BAR + GAP if self.gauge.cap else 0
        return QSize(metrics.horizontalAdvance(self.text) + bar + 2, metrics.height() + UNIT)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = theme_of(self.palette())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        left = 0
        if self.gauge.cap:
            share = min(1.0, self.gauge.used / self.gauge.cap)
            groove = QRectF(0.5, self.height() / 2 - 3, _BAR, 6)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.line)
            painter.drawRoundedRect(groove, 3, 3)
            if share:
                painter.setBrush(theme.warn if share > _AMBER_SHARE else theme.accent)
                filled = QRectF(groove.left(), groove.top(), max(6.0, _BAR * share), 6)
                painter.drawRoundedRect(filled, 3, 3)
            left = _BAR + GAP
        painter.setPen(theme.dim_window)
        painter.drawText(self.rect().adjusted(left, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, self.text)
