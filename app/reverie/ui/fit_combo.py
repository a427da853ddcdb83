"""A box to choose from that shortens its text with an ellipsis rather than cut it off; the tool tip has all
of it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QComboBox, QStyle, QStyleOptionComboBox, QStylePainter, QWidget

from reverie.ui.shown import as_tooltip

_NARROWEST = 80


class FitCombo(QComboBox):
    """Its tool tip follows the current item's, or is the item's text."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.currentIndexChanged.connect(self.follow)

    def minimumSizeHint(self) -> QSize:
        return QSize(_NARROWEST, super().minimumSizeHint().height())

    def follow(self) -> None:
        """The current item is another one; called by itself but where signals are blocked."""
        tip = self.currentData(Qt.ItemDataRole.ToolTipRole)
        self.setToolTip(str(tip) if tip else as_tooltip(self.currentText()))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QStylePainter(self)
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        room = self.style().subControlRect(
            QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, self
        )
        option.currentText = self.fontMetrics().elidedText(
            self.currentText(), Qt.TextElideMode.ElideMiddle, room.width() - 4
        )
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
