"""Buttons that shorten their text rather than widen what holds them; the tool tip then has all of it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QActionEvent, QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QPushButton, QToolButton, QWidget

_FEWEST_CHARS = 5


class FitPushButton(QPushButton):
    """Set its text with `say`."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._whole = text
        self.say(text)

    def say(self, text: str, tip: str = "") -> None:
        self._whole = text
        self.setAccessibleName(text)
        self.setToolTip(tip)
        self._fit()
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        return _with_whole(self, super().sizeHint(), self._whole)

    def minimumSizeHint(self) -> QSize:
        return _smallest(self, self.sizeHint(), self._whole)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        self.setText(_shortened(self, self._whole, self.sizeHint().width()))


class FitToolButton(QToolButton):
    """Takes its text from its default action."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._whole = ""

    def sizeHint(self) -> QSize:
        return _with_whole(self, super().sizeHint(), self._whole)

    def minimumSizeHint(self) -> QSize:
        return _smallest(self, self.sizeHint(), self._whole)

    def actionEvent(self, event: QActionEvent) -> None:
        super().actionEvent(event)
        self.take_action_text()

    def take_action_text(self) -> None:
        """Qt puts the action's text back at each change of the action."""
        action = self.defaultAction()
        if action is not None:
            self._whole = action.iconText()
            self._fit()
            self.updateGeometry()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        self.setText(_shortened(self, self._whole, self.sizeHint().width()))


def _with_whole(button: QPushButton | QToolButton, hint: QSize, whole: str) -> QSize:
    metrics = QFontMetrics(button.font())
    extra = metrics.horizontalAdvance(whole) - metrics.horizontalAdvance(button.text())
    return QSize(hint.width() + max(0, extra), hint.height())


def _smallest(button: QPushButton | QToolButton, hint: QSize, whole: str) -> QSize:
    metrics = QFontMetrics(button.font())
    few = min(metrics.averageCharWidth() * _FEWEST_CHARS, metrics.horizontalAdvance(whole))
    return QSize(hint.width() - metrics.horizontalAdvance(whole) + few, hint.height())


def _shortened(button: QPushButton | QToolButton, whole: str, wanted: int) -> str:
    metrics = QFontMetrics(button.font())
    room = metrics.horizontalAdvance(whole) - max(0, wanted - button.width())
    return metrics.elidedText(whole, Qt.TextElideMode.ElideRight, max(0, room))
