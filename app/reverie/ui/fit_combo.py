"""A box to choose from that shortens its text with an ellipsis rather than cut it off; the tool tip has all
of it.

It would like to be as wide as its widest item, and takes what the layout gives it: Qt's own way to follow the
contents resizes a box behind the back of its layout. GUI thread.
"""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QComboBox, QStyle, QStyleOptionComboBox, QStylePainter, QWidget

from reverie.ui.shown import as_tooltip

_NARROWEST = 80


class FitCombo(QComboBox):
    """Its tool tip follows the current item's, or is the item's text."""

    def __init__(self, parent: QWidget | None = None, *, most_chars: int = 0) -> None:
        """`most_chars`: it does not ask for room for more of them, however long its items are; 0: it does."""
        super().__init__(parent)
        self._most_chars = most_chars
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        for changed in (self.model().rowsInserted, self.model().rowsRemoved, self.model().dataChanged):
            changed.connect(self._on_items)
        self.currentIndexChanged.connect(self.follow)

    def sizeHint(self) -> QSize:
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        metrics = self.fontMetrics()
        widest = max((metrics.horizontalAdvance(self.itemText(at)) for at in range(self.count())), default=0)
        if self._most_chars:
            widest = min(widest, metrics.averageCharWidth() * self._most_chars)
        contents = QSize(widest, metrics.height())
        wanted = self.style().sizeFromContents(QStyle.ContentsType.CT_ComboBox, option, contents, self)
        return QSize(max(wanted.width(), _NARROWEST), super().sizeHint().height())

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

    def _on_items(self) -> None:
        self.updateGeometry()
