"""The list of a timeline's points, newest first. It asks for more when somebody scrolls down to its end.

Shows what it is given; reads nothing. Only the rows in sight are drawn, so length costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractListModel, QItemSelectionModel, QModelIndex, QObject, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QListView, QWidget

from reverie.ui import words
from reverie.ui.memory.history import history_words
from reverie.ui.node_model import AnyIndex
from reverie.ui.shown import as_tooltip
from reverie.ui.two_lines import TwoLineDelegate, TwoLines

if TYPE_CHECKING:
    from reverie.services.timeline_views import TimelinePoint

_ROOT = QModelIndex()


class PointModel(QAbstractListModel):
    """`more_wanted()`: the next page is wanted; `add` answers."""

    more_wanted = Signal()

    def __init__(self, now: Callable[[], int], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._now = now
        self._folder = False
        self._more = False
        self.points: tuple[TimelinePoint, ...] = ()

    def show_points(self, points: Sequence[TimelinePoint], *, folder: bool, more: bool) -> None:
        """Another timeline, or the same from its beginning. Nothing new touches nothing."""
        if tuple(points) == self.points and folder == self._folder:
            self._more = more
            return
        self.beginResetModel()
        self.points, self._folder, self._more = tuple(points), folder, more
        self.endResetModel()

    def add(self, points: Sequence[TimelinePoint], *, more: bool) -> None:
        """The next page."""
        self._more = more
        if points:
            first = len(self.points)
            self.beginInsertRows(QModelIndex(), first, first + len(points) - 1)
            self.points += tuple(points)
            self.endInsertRows()

    def add_newer(self, points: Sequence[TimelinePoint]) -> None:
        """What happened since, on top."""
        self.beginInsertRows(QModelIndex(), 0, len(points) - 1)
        self.points = (*points, *self.points)
        self.endInsertRows()

    def rowCount(self, parent: AnyIndex = _ROOT) -> int:
        return 0 if parent.isValid() else len(self.points)

    def canFetchMore(self, parent: AnyIndex) -> bool:
        return self._more and not parent.isValid()

    def fetchMore(self, parent: AnyIndex) -> None:
        if self.canFetchMore(parent):
            self._more = False  # until the answer is there
            self.more_wanted.emit()

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        point = self.points[index.row()]
        if role == TwoLineDelegate.ROLE:
            return TwoLines(
                history_words.who(point),
                history_words.what(point, folder=self._folder),
                words.age(self._now(), point.at_ms),
                quiet=point.gone,
            )
        if role == Qt.ItemDataRole.DisplayRole:
            return history_words.point_line(point)
        if role == Qt.ItemDataRole.ToolTipRole:
            said = history_words.what(point, folder=self._folder)
            return as_tooltip(history_words.point_line(point), said, point.subject, point.notes)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            what = history_words.what(point, folder=self._folder)
            return f"{history_words.who(point)}, {words.age(self._now(), point.at_ms)}, {what}"
        return None


class PointList(QListView):
    """`chosen()`: one or two points are selected; `selected` has them, the newest first."""

    chosen = Signal()

    def __init__(self, now: Callable[[], int], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.timeline = PointModel(now, self)
        self.setModel(self.timeline)
        self.setItemDelegate(TwoLineDelegate(self))
        self.setUniformItemSizes(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setAccessibleName(self.tr("Points in time, newest first"))
        self.setWhatsThis(self.tr("Select two points to see what differs between them."))
        self.selectionModel().selectionChanged.connect(self._on_selection)

    @property
    def selected(self) -> tuple[TimelinePoint, ...]:
        """The selected points, newest first; of more than two the outermost."""
        rows = sorted(index.row() for index in self.selectionModel().selectedIndexes())
        picked = rows if len(rows) < 2 else [rows[0], rows[-1]]
        return tuple(self.timeline.points[row] for row in picked)

    def show_points(self, points: Sequence[TimelinePoint], *, folder: bool, more: bool) -> None:
        """Show a timeline; what was selected stays so where it is still there, else the newest is."""
        before = {point.id for point in self.selected}
        at = self.verticalScrollBar().value()
        self.selectionModel().blockSignals(True)
        self.timeline.show_points(points, folder=folder, more=more)
        self.selectionModel().blockSignals(False)
        kept = [row for row, point in enumerate(points) if point.id in before]
        if kept:
            self.verticalScrollBar().setValue(at)
        self.select_rows(kept or ([0] if points else []))

    def add_newer(self, points: Sequence[TimelinePoint]) -> None:
        """What happened since; the selection stays."""
        self.timeline.add_newer(points)
        if not self.selectionModel().hasSelection():
            self.select_rows([0])

    def select_rows(self, rows: Sequence[int]) -> None:
        """Select just these; the last one is the current one."""
        flags = QItemSelectionModel.SelectionFlag
        selection = self.selectionModel()
        selection.blockSignals(True)
        selection.clearSelection()
        for row in rows:
            index = self.timeline.index(row)
            selection.setCurrentIndex(index, flags.Select)
        selection.blockSignals(False)
        self.viewport().update()
        self.chosen.emit()

    def select_point(self, point_id: str) -> bool:
        """Select one point, if it is in the list already."""
        for row, point in enumerate(self.timeline.points):
            if point.id == point_id:
                self.select_rows([row])
                self.scrollTo(self.timeline.index(row))
                return True
        return False

    def _on_selection(self) -> None:
        self.chosen.emit()
