"""The left column of the Memory tab: what stands in it from top to bottom, and how it goes above the editor
in a narrow window.

Threading: GUI thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QSplitter, QVBoxLayout, QWidget

from reverie.ui.columns import Column, scrolling
from reverie.ui.theme import GAP, UNIT

if TYPE_CHECKING:
    from reverie.ui.memory.tab import MemoryTab

SIDE_BY_SIDE = 640
LEFT_WIDTH = 490
_LEAST_ROWS = 116


def column_of(tab: MemoryTab) -> Column:
    """The parts of `tab` that stand left of its editor."""
    left = Column()
    column = QVBoxLayout(left)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    column.addWidget(tab.heading)
    column.addWidget(tab.trouble)
    column.addWidget(tab.drafts.bar)
    field = QHBoxLayout()
    field.setContentsMargins(GAP, 0, GAP, UNIT)
    field.addWidget(tab.search.field)
    field.addWidget(tab.order.button)
    column.addLayout(field)
    column.addWidget(tab.search.pages, 1)
    tab.search.pages.setMinimumHeight(_LEAST_ROWS)
    column.addWidget(tab.undo_bar)
    column.addWidget(tab.notes.row)
    column.addWidget(tab.footer)
    return left


class Parts(QScrollArea):
    """The column and the editor: side by side where there is room, else below each other; in a low window
    they are scrolled to rather than squeezed."""

    def __init__(self, left: Column, right: QWidget) -> None:
        super().__init__()
        self.splitter = QSplitter()
        self.splitter.setHandleWidth(5)
        self.splitter.addWidget(left)
        self.splitter.addWidget(right)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setStretchFactor(1, 1)
        self.splitter.setSizes([LEFT_WIDTH, LEFT_WIDTH])
        scrolling(self, self.splitter)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # what is inside can be reached, and is scrolled to then

    def resizeEvent(self, event: QResizeEvent) -> None:
        # First: how much room the parts need follows from how they lie.
        parts = (self.splitter.widget(0), self.splitter.widget(1))
        needed = sum(part.minimumSizeHint().width() for part in parts if part is not None)
        wide = self.width() >= max(SIDE_BY_SIDE, needed + self.splitter.handleWidth())
        _stack(self.splitter, self.size(), wide=wide)
        super().resizeEvent(event)


def _stack(splitter: QSplitter, size: QSize, *, wide: bool) -> None:
    """Side by side where it is `wide`, with up to `LEFT_WIDTH` for the column; else the editor below it."""
    orientation = Qt.Orientation.Horizontal if wide else Qt.Orientation.Vertical
    if splitter.orientation() == orientation:
        return
    splitter.setOrientation(orientation)
    if wide:
        first = min(LEFT_WIDTH, size.width() // 2)
        splitter.setSizes([first, size.width() - first])
    else:
        splitter.setSizes([size.height() * 3 // 5, size.height() * 2 // 5])
