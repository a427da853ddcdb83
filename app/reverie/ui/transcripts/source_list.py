"""The list of transcripts: sorted, narrowed down, by keyboard too. Shows what it is given.

Five thousand rows are nothing special: a row's texts are made when it is drawn. Titles that only the
transcript tells come later and fill in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QSize,
    QSortFilterProxyModel,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from reverie.ui import words as common
from reverie.ui.shown import as_tooltip, human_size, visible
from reverie.ui.theme import GAP, UNIT, CalmSelection, tabular
from reverie.ui.traces.search_field import SearchField
from reverie.ui.transcripts import words

if TYPE_CHECKING:
    from reverie.homes.base import Source

Index = QModelIndex | QPersistentModelIndex
SORT = Qt.ItemDataRole.UserRole + 1
_WIDTHS = (360, 150, 110, 76, 130)
_SIZE = 3


class SourceModel(QAbstractTableModel):
    """One row a transcript. What its beginning tells comes later (`take_told`)."""

    def __init__(self, now: Callable[[], int], parent: QWidget) -> None:
        super().__init__(parent)
        self._now = now
        self.sources: tuple[Source, ...] = ()
        self._listed: tuple[Source, ...] = ()
        self._told: dict[str, Source] = {}
        self._height = QFontMetrics(parent.font()).height() + UNIT
        self._heads = (
            self.tr("Title"), self.tr("Project"), self.tr("Changed"), self.tr("Size"), self.tr("State"),
        )  # fmt: skip

    def show_sources(self, sources: Sequence[Source]) -> bool:
        """Other rows; False where they are the same ones in the same order."""
        self._listed = tuple(sources)
        after = tuple(self._with_told(each) for each in sources)
        if [each.id for each in after] == [each.id for each in self.sources]:
            self.sources = after
            self._touch(range(len(after)))
            return False
        self.beginResetModel()
        self.sources = after
        self.endResetModel()
        return True

    def take_told(self, told: Mapping[str, Source]) -> None:
        """What the beginnings of some transcripts tell."""
        self._told.update(told)
        rows = [row for row, source in enumerate(self._listed) if source.id in told]
        after = list(self.sources)
        for row in rows:
            after[row] = self._with_told(self._listed[row])
        self.sources = tuple(after)
        self._touch(rows)

    def _with_told(self, source: Source) -> Source:
        told = self._told.get(source.id)
        if told is None:
            return source
        return replace(
            source,
            title=source.title or told.title,
            project_path=source.project_path or told.project_path,
            state=source.state or told.state,
        )

    def _touch(self, rows: Sequence[int]) -> None:
        if rows:
            self.dataChanged.emit(self.index(rows[0], 0), self.index(rows[-1], len(self._heads) - 1))

    def forget(self) -> None:
        self._told.clear()
        self.show_sources(())

    def untold(self) -> tuple[Source, ...]:
        """Those of which the list says too little, and whose beginning nobody read yet."""
        return tuple(
            each
            for each in self._listed
            if each.id not in self._told and not (each.title and each.project_path)
        )

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(self.sources)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(self._heads)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return self._heads[section]
        if role == Qt.ItemDataRole.TextAlignmentRole and section == _SIZE:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        source, column = self.sources[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._shown(source, column)
        if role == SORT:
            return self._sort_key(source, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            when = common.when(source.updated_at) if source.updated_at is not None else ""
            return as_tooltip(source.title, source.project_path or "", when, str(source.path))
        if role == Qt.ItemDataRole.TextAlignmentRole and column == _SIZE:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.SizeHintRole:
            return QSize(40, self._height)
        return None

    def _shown(self, source: Source, column: int) -> str:
        match column:
            case 0:
                return visible(source.title or source.id)
            case 1:
                return visible((source.project_path or "").rstrip("/").rpartition("/")[2] or "–")
            case 2:
                return common.age(self._now(), source.updated_at) if source.updated_at is not None else "–"
            case 3:
                return human_size(source.size)
        return words.state_of(source)

    def _sort_key(self, source: Source, column: int) -> Any:
        keys: tuple[Any, ...] = (
            source.title.casefold(), (source.project_path or "").casefold(), source.updated_at or 0,
            source.size, words.state_of(source),
        )  # fmt: skip
        return keys[column]


class _Narrowed(QSortFilterProxyModel):
    def __init__(self, model: SourceModel, parent: QWidget) -> None:
        super().__init__(parent)
        self._model = model
        self._text = ""
        self._project: str | None = None
        self.setSortRole(SORT)
        self.setDynamicSortFilter(True)
        self.setSourceModel(model)

    def narrow(self, text: str, project: str | None) -> None:
        self._text, self._project = text.casefold().strip(), project
        self.invalidate()

    def filterAcceptsRow(self, row: int, parent: Index) -> bool:
        source = self._model.sources[row]
        if self._project is not None and source.project_path != self._project:
            return False
        if not self._text:
            return True
        said = (source.title, source.project_path or "", source.id, words.state_of(source))
        return self._text in "\n".join(said).casefold()

    def lessThan(self, left: Index, right: Index) -> bool:
        return bool(left.data(SORT) < right.data(SORT))


class SourceList(QWidget):
    """`picked()`: another transcript is selected; `opened()`: Enter or a double click."""

    picked = Signal()
    opened = Signal()

    def __init__(self, now: Callable[[], int], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = SearchField(self.tr("Find a transcript"))
        self.project = QComboBox()
        self.project.setAccessibleName(self.tr("Of which project"))
        self.project.addItem(self.tr("All projects"), None)
        self.project.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.project.setMinimumContentsLength(10)
        self.project.view().setAccessibleName(self.project.accessibleName())
        self.view = QTreeView()
        self.model = SourceModel(now, self.view)
        self.narrowed = _Narrowed(self.model, self)
        self._restoring = False
        self._set_up_view()
        row = QHBoxLayout()
        row.setContentsMargins(GAP, GAP, GAP, 0)
        row.setSpacing(GAP)
        row.addWidget(self.text, 1)
        row.addWidget(self.project)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GAP)
        column.addLayout(row)
        column.addWidget(self.view, 1)
        self.text.textChanged.connect(self._narrow)
        self.project.currentIndexChanged.connect(self._narrow)

    def _set_up_view(self) -> None:
        view = self.view
        view.setModel(self.narrowed)
        view.setRootIsDecorated(False)
        view.setUniformRowHeights(True)
        view.setAlternatingRowColors(True)
        view.setAllColumnsShowFocus(True)
        view.setFrameShape(QTreeView.Shape.NoFrame)
        view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        view.setSortingEnabled(True)
        view.sortByColumn(2, Qt.SortOrder.DescendingOrder)
        view.setAccessibleName(self.tr("Transcripts"))
        view.setFont(tabular(view.font()))
        view.setTextElideMode(Qt.TextElideMode.ElideRight)
        header = view.header()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setStretchLastSection(True)
        for column, width in enumerate(_WIDTHS):
            header.resizeSection(column, width)
        CalmSelection(view)
        view.selectionModel().currentRowChanged.connect(self._on_current)
        view.activated.connect(self._on_activated)

    @property
    def selected(self) -> Source | None:
        index = self.view.currentIndex()
        return self._at(index.row()) if index.isValid() else None

    @property
    def shown(self) -> tuple[Source, ...]:
        """What the filter lets through, in the order shown."""
        return tuple(self._at(row) for row in range(self.narrowed.rowCount()))

    def _at(self, row: int) -> Source:
        return self.model.sources[self.narrowed.mapToSource(self.narrowed.index(row, 0)).row()]

    def show_sources(self, sources: Sequence[Source]) -> None:
        """Other rows; what was selected stays so if it is still there."""
        selected = self.selected
        self._restoring = True
        changed = self.model.show_sources(sources)
        if changed and selected is not None:
            self.select_id(selected.id)
        self._restoring = False
        self._list_projects()
        if changed and selected is not None and self.selected is None:
            self.picked.emit()

    def take_told(self, told: Mapping[str, Source]) -> None:
        """What the beginnings of some transcripts tell."""
        self.model.take_told(told)
        self._list_projects()

    def _list_projects(self) -> None:
        known = sorted({each.project_path for each in self.model.sources if each.project_path})
        if [self.project.itemData(at) for at in range(1, self.project.count())] == known:
            return
        chosen = self.project.currentData()
        self.project.blockSignals(True)
        while self.project.count() > 1:
            self.project.removeItem(1)
        for path in known:
            self.project.addItem(visible(path.rstrip("/").rpartition("/")[2] or path), path)
            self.project.setItemData(self.project.count() - 1, as_tooltip(path), Qt.ItemDataRole.ToolTipRole)
        self.project.setCurrentIndex(max(0, self.project.findData(chosen)) if chosen else 0)
        self.project.blockSignals(False)
        self._narrow()

    def select_id(self, source_id: str) -> bool:
        """Select a shown row by the id of its transcript."""
        for row, source in enumerate(self.shown):
            if source.id == source_id:
                flags = QItemSelectionModel.SelectionFlag
                index = self.narrowed.index(row, 0)
                self.view.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
                self.view.scrollTo(index)
                return True
        return False

    def show_all(self) -> None:
        """Nothing is left out any more."""
        self.text.clear()
        self.project.setCurrentIndex(0)

    @Slot()
    def _narrow(self) -> None:
        self.project.setToolTip(as_tooltip(self.project.currentData() or ""))
        self.narrowed.narrow(self.text.text(), self.project.currentData())

    @Slot()
    def _on_current(self) -> None:
        if not self._restoring:
            self.picked.emit()

    @Slot()
    def _on_activated(self) -> None:
        self.opened.emit()
