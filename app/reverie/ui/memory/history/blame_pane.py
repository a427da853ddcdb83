"""Who brought each line: the text of one version, beside each line who and when; from there to the change or
to the run. Only the rows in sight are drawn. Shows what it is given; reads nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QVBoxLayout, QWidget

from reverie.ui import words
from reverie.ui.buttons import FitPushButton
from reverie.ui.flow import FlowLayout
from reverie.ui.labels import WrapLabel
from reverie.ui.memory.history import history_words
from reverie.ui.node_model import AnyIndex
from reverie.ui.shown import as_tooltip, visible_lines
from reverie.ui.theme import GAP, UNIT, CalmSelection, monospace, theme_of

if TYPE_CHECKING:
    from reverie.services.timeline_views import BlameView, TimelinePoint

_ROOT = QModelIndex()
WHO, TEXT = 0, 1
_LONGEST = 2_000
_WHO_CHARS = 34


class BlameModel(QAbstractTableModel):
    """A row per line; who is told once for neighbours of one point."""

    def __init__(self, now: Callable[[], int], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._now = now
        self._font = monospace()
        self._dim = QColor()
        self.view: BlameView | None = None

    def show_view(self, view: BlameView | None, dim: QColor) -> None:
        self.beginResetModel()
        self.view, self._dim = view, dim
        self.endResetModel()

    def point(self, row: int) -> TimelinePoint | None:
        """The point of a line; None where the history does not hold it yet."""
        if self.view is None or not 0 <= row < len(self.view.rows):
            return None
        at = self.view.rows[row].point
        return self.view.points[at] if at >= 0 else None

    def rowCount(self, parent: AnyIndex = _ROOT) -> int:
        return len(self.view.rows) if self.view is not None and not parent.isValid() else 0

    def columnCount(self, parent: AnyIndex = _ROOT) -> int:
        return 0 if parent.isValid() else 2

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if orientation == Qt.Orientation.Vertical:
            return section + 1
        return self.tr("Who") if section == WHO else self.tr("Line")

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or self.view is None:
            return None
        row, column = index.row(), index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            if column == TEXT:
                return visible_lines(self.view.rows[row].text[:_LONGEST])
            same = row > 0 and self.view.rows[row - 1].point == self.view.rows[row].point
            return "" if same else self._who(row)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{self._who(row)}: {visible_lines(self.view.rows[row].text[:_LONGEST])}"
        if role == Qt.ItemDataRole.ToolTipRole:
            point = self.point(row)
            return as_tooltip(history_words.point_line(point), point.subject) if point is not None else ""
        if role == Qt.ItemDataRole.FontRole and column == TEXT:
            return self._font
        if role == Qt.ItemDataRole.ForegroundRole and column == WHO:
            return self._dim
        return None

    def _who(self, row: int) -> str:
        point = self.point(row)
        if point is None:
            return self.tr("Not in the history yet")
        return f"{history_words.who(point)}, {words.short_age(self._now(), point.at_ms)}"


class BlameTable(QTableView):
    """`opened()`: Enter or a double click on a line."""

    opened = Signal()

    def __init__(self, model: BlameModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setModel(model)
        CalmSelection(self)
        self.setAccessibleName(self.tr("Lines and who brought them"))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        metrics = QFontMetrics(self.font())
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setHighlightSections(False)
        self.verticalHeader().setDefaultSectionSize(metrics.height() + UNIT)
        self.horizontalHeader().setSectionResizeMode(TEXT, QHeaderView.ResizeMode.Stretch)
        self.horizontalHeader().setDefaultAlignment(
            Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        )
        self.horizontalHeader().setHighlightSections(False)
        self.doubleClicked.connect(self._on_double_click)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        wanted = QFontMetrics(self.font()).averageCharWidth() * _WHO_CHARS
        self.horizontalHeader().resizeSection(WHO, min(wanted, event.size().width() * 2 // 5))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.opened.emit()
            event.accept()
        else:
            super().keyPressEvent(event)

    @Slot(QModelIndex)
    def _on_double_click(self, _index: QModelIndex) -> None:
        self.opened.emit()


class BlamePane(QWidget):
    """`point_wanted(TimelinePoint)`: show this change. `run_wanted(str)`: show this run."""

    point_wanted = Signal(object)
    run_wanted = Signal(str)

    def __init__(self, now: Callable[[], int], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = BlameModel(now, self)
        self.table = BlameTable(self.model)
        self.table.selectionModel().currentRowChanged.connect(self._follow)
        self.table.opened.connect(self._ask_point)
        self.note = WrapLabel()
        self.to_point = FitPushButton(self.tr("&Go to this change"))
        self.to_point.clicked.connect(self._ask_point)
        self.to_run = FitPushButton(self.tr("Show its r&un"))
        self.to_run.clicked.connect(self._ask_run)
        row = FlowLayout(gap=GAP)
        for button in (self.to_point, self.to_run):
            button.setAutoDefault(False)  # Enter in a list is not for a button
            row.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        column.addWidget(self.note)
        column.addWidget(self.table, 1)
        column.addLayout(row)
        self._follow()

    def show_blame(self, view: BlameView) -> None:
        """Another version's lines."""
        self.model.show_view(view, theme_of(self.palette()).dim)
        self.note.say("" if view.rows else self.tr("There is no text to tell the lines of."))
        self.note.setVisible(not view.rows)
        if view.rows:
            self.table.setCurrentIndex(self.model.index(0, WHO))
        self._follow()

    @property
    def current(self) -> TimelinePoint | None:
        return self.model.point(self.table.currentIndex().row())

    @Slot()
    def _follow(self) -> None:
        point = self.current
        self.to_point.setEnabled(point is not None)
        self.to_run.setEnabled(point is not None and point.run_number is not None)

    @Slot()
    def _ask_point(self) -> None:
        if self.current is not None:
            self.point_wanted.emit(self.current)

    @Slot()
    def _ask_run(self) -> None:
        point = self.current
        if point is not None and point.run_id is not None and point.run_number is not None:
            self.run_wanted.emit(point.run_id)
