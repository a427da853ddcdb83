"""Buttons that shorten their text rather than widen what holds them; a screen reader still gets all of it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QActionEvent, QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QPushButton, QToolButton, QWidget

_FEWEST_CHARS = 5
_RESIZING = (QEvent.Type.FontChange, QEvent.Type.StyleChange)


class FitPushButton(QPushButton):
    """Set its text with `say`."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._whole = ""
        self._hint = QSize()
        self.say(text)

    def say(self, text: str, tip: str = "") -> None:
        """Another text, and what its tool tip says besides."""
        self._whole = text
        self.setAccessibleName(text)
        self.setToolTip(tip)
        self._measure()

    def sizeHint(self) -> QSize:
        return self._hint

    def minimumSizeHint(self) -> QSize:
        return _smallest(self, self._hint, self._whole)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in _RESIZING:
            self._measure()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _measure(self) -> None:
        """The size it wants is that of the whole text, whatever is shown now."""
        self.setText(self._whole)
        self._hint = super().sizeHint()
        self._fit()
        self.updateGeometry()

    def _fit(self) -> None:
        self.setText(_shortened(self, self._whole, self._hint.width()))


class FitToolButton(QToolButton):
    """Takes its text from its default action."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._whole = ""
        self._hint = QSize()

    def sizeHint(self) -> QSize:
        return self._hint

    def minimumSizeHint(self) -> QSize:
        return _smallest(self, self._hint, self._whole)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in _RESIZING:
            self.take_action_text()

    def actionEvent(self, event: QActionEvent) -> None:
        super().actionEvent(event)
        self.take_action_text()

    def take_action_text(self) -> None:
        """Qt puts the action's text back at each change of the action."""
        action = self.defaultAction()
        if action is not None:
            self._whole = action.iconText()
            self.setText(self._whole)
            self._hint = super().sizeHint()
            self._fit()
            self.updateGeometry()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        self.setText(_shortened(self, self._whole, self._hint.width()))


def _smallest(button: QPushButton | QToolButton, hint: QSize, whole: str) -> QSize:
    metrics = QFontMetrics(button.font())
    few = min(metrics.averageCharWidth() * _FEWEST_CHARS, metrics.horizontalAdvance(whole))
    return QSize(hint.width() - metrics.horizontalAdvance(whole) + few, hint.height())


def _shortened(button: QPushButton | QToolButton, whole: str, wanted: int) -> str:
    missing = wanted - button.width()
    if missing <= 0:
        return whole
    metrics = QFontMetrics(button.font())
    room = max(0, metrics.horizontalAdvance(whole) - missing)
    return metrics.elidedText(whole, Qt.TextElideMode.ElideRight, room)
