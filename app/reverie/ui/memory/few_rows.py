"""A list that is as high as its rows, up to a few."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QListWidget, QSizePolicy

from reverie.ui.theme import UNIT, CalmSelection


class FewRows(QListWidget):
    """`most`: rows that are shown without scrolling."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        CalmSelection(self)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setUniformItemSizes(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        row = self.sizeHintForRow(0) if self.count() else QFontMetrics(self.font()).height() + UNIT
        return QSize(100, row * min(self._most, max(1, self.count())) + 2 * self.frameWidth())

    def minimumSizeHint(self) -> QSize:
        return QSize(80, self.sizeHint().height())
