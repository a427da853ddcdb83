"""A tab of the window that is filled when somebody looks at it, and that fits a narrow window."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

_NARROWEST = 320


class TabPage(QWidget):
    """`shown()`: it came to the front."""

    shown = Signal()

    def minimumSizeHint(self) -> QSize:
        return QSize(_NARROWEST, super().minimumSizeHint().height())

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit()
