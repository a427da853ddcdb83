"""A table with a line to search and boxes to narrow it down above it: sorted by a click on a column, used by
keyboard as well. Rooms bring the model and say what fits.

Threading: GUI thread.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractItemModel, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QBoxLayout,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from reverie.ui.columns import size_sections
from reverie.ui.fit_combo import FitCombo
from reverie.ui.search_field import SearchField
from reverie.ui.theme import GAP, CalmSelection, tabular

_LEAST_SEARCH = 14
"""Characters of the line to search; where they have no room beside the boxes, the boxes stand below it."""


class SearchedTable(QWidget):
    """`picked()`: the selection is another; `opened()`: Enter or a double click."""

    picked = Signal()
    opened = Signal()

    def __init__(self, search: str, name: str, parent: QWidget | None = None) -> None:
        """`search`: what the line to search says; `name`: of the table, read aloud."""
        super().__init__(parent)
        self.text = SearchField(search)
        self.view = QTreeView()
        self.view.setAccessibleName(name)
        self.view.activated.connect(self._on_activated)

    def add_box(self, name: str, most_chars: int) -> QComboBox:
        """A box to narrow down with, no wider than so many characters, however long its texts are."""
        box = FitCombo(most_chars=most_chars)
        box.setAccessibleName(name)
        box.view().setAccessibleName(name)
        return box

    def set_up(
        self,
        model: QAbstractItemModel,
        boxes: Sequence[QComboBox],
        *,
        widths: Sequence[int],
        newest_by: int,
        many: bool = False,
        stretches: bool = False,
    ) -> None:
        """`widths` of the columns; `newest_by`: the column it is sorted by at first, downwards; `many`: more
        than one row can be selected; `stretches`: the last column takes the room that is left."""
        modes = QAbstractItemView.SelectionMode
        view = self.view
        view.setModel(model)
        view.setRootIsDecorated(False)
        view.setUniformRowHeights(True)
        view.setAlternatingRowColors(True)
        view.setAllColumnsShowFocus(True)
        view.setFrameShape(QTreeView.Shape.NoFrame)
        view.setSelectionMode(modes.ExtendedSelection if many else modes.SingleSelection)
        view.setSortingEnabled(True)
        view.sortByColumn(newest_by, Qt.SortOrder.DescendingOrder)
        view.setFont(tabular(view.font()))
        view.setTextElideMode(Qt.TextElideMode.ElideRight)
        header = view.header()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setStretchLastSection(stretches)
        size_sections(header, widths)
        CalmSelection(view)
        self._lay_out(boxes)
        self.text.textChanged.connect(self.narrow)
        for box in boxes:
            box.currentIndexChanged.connect(self.narrow)

    def _lay_out(self, boxes: Sequence[QComboBox]) -> None:
        self._narrowing = QWidget()
        boxed = QHBoxLayout(self._narrowing)
        boxed.setContentsMargins(0, 0, 0, 0)
        boxed.setSpacing(GAP)
        for box in boxes:
            boxed.addWidget(box)
        self._head = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._head.setContentsMargins(GAP, GAP, GAP, 0)
        self._head.setSpacing(GAP)
        self._head.addWidget(self.text, 1)
        self._head.addWidget(self._narrowing)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GAP)
        column.addLayout(self._head)
        column.addWidget(self.view, 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        readable = self.text.fontMetrics().averageCharWidth() * _LEAST_SEARCH
        fits = event.size().width() >= readable + self._narrowing.sizeHint().width() + 3 * GAP
        ways = QBoxLayout.Direction
        self._head.setDirection(ways.LeftToRight if fits else ways.TopToBottom)

    @Slot()
    def narrow(self) -> None:
        """Show what the line and the boxes let through."""
        raise NotImplementedError

    @Slot()
    def _on_activated(self) -> None:
        self.opened.emit()
