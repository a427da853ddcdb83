"""The list of traces: what can be sorted and narrowed down, by keyboard too. Shows what it is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
    Slot,
)
from PySide6.QtGui import QIcon, QPalette
from PySide6.QtWidgets import QWidget

from reverie.ui import words
from reverie.ui.icons import SIZE, Icons
from reverie.ui.searched_table import SearchedTable
from reverie.ui.shown import as_tooltip, visible
from reverie.ui.theme import Theme, theme_of
from reverie.ui.traces import words as trace_words
from reverie.ui.traces.feed import Listed
from reverie.ui.traces.places import Followed

Index = QModelIndex | QPersistentModelIndex
SORT = Qt.ItemDataRole.UserRole + 1
_SIGNS = {"info": "check", "warn": "warning", "bad": "error"}
_WIDTHS = (152, 116, 116, 162, 70, 76, 206, 68)
_CHARS = 13
_NUMBERS = frozenset({4, 5, 7})


class TraceModel(QAbstractTableModel):
    """One line a trace."""

    def __init__(self, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self._icons = icons
        self._view = parent
        self.lines: tuple[Listed, ...] = ()
        self._titles = (
            self.tr("Time"), self.tr("Workspace"), self.tr("Run"), self.tr("Verdict"), self.tr("Attempts"),
            self.tr("Duration"), self.tr("Model"), self.tr("Tokens"),
        )  # fmt: skip

    def show_lines(self, lines: Sequence[Listed]) -> None:
        """Other lines, newest first; what stays the same keeps its place, selection and all."""
        wanted = {line.key: line for line in lines}
        for row in range(len(self.lines) - 1, -1, -1):
            if self.lines[row].key not in wanted:
                self.beginRemoveRows(QModelIndex(), row, row)
                self.lines = self.lines[:row] + self.lines[row + 1 :]
                self.endRemoveRows()
        kept = {line.key for line in self.lines}
        order = [line.key for line in lines if line.key in kept]
        if order != [line.key for line in self.lines]:
            self.beginResetModel()
            self.lines = tuple(lines)
            self.endResetModel()
            return
        self._renew(tuple(wanted[key] for key in order))
        for first, group in _groups(lines, kept):
            self.beginInsertRows(QModelIndex(), first, first + len(group) - 1)
            self.lines = (*self.lines[:first], *group, *self.lines[first:])
            self.endInsertRows()

    def _renew(self, lines: tuple[Listed, ...]) -> None:
        """The same lines, some of which may say something else."""
        other = [
            row
            for row, line in enumerate(lines)
            if (line.row, line.place) != (self.lines[row].row, self.lines[row].place)
        ]
        self.lines = lines
        if other:
            self.dataChanged.emit(self.index(other[0], 0), self.index(other[-1], self.columnCount() - 1))

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(self.lines)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(self._titles)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return self._titles[section]
        if role == Qt.ItemDataRole.TextAlignmentRole and section in _NUMBERS:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        line, column = self.lines[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._shown(line, column)
        if role == SORT:
            return _sort_key(line, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return as_tooltip(line.row.sentence, line.row.evidence, str(line.row.path))
        if role == Qt.ItemDataRole.TextAlignmentRole and column in _NUMBERS:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.DecorationRole and column == 3:
            tone = trace_words.tone(line.row.verdict)
            theme: Theme = theme_of(self._view.palette())
            color = {"info": theme.good, "warn": theme.warn, "bad": theme.bad}[tone]
            icon = self._icons.icon(_SIGNS[tone], color)
            chosen = self._view.palette().color(QPalette.ColorRole.HighlightedText)
            ratio = self._view.devicePixelRatioF()
            icon.addPixmap(
                self._icons.pixmap(_SIGNS[tone], SIZE, chosen, ratio), QIcon.Mode.Selected, QIcon.State.Off
            )
            return icon
        return None

    def _shown(self, line: Listed, column: int) -> str:
        row = line.row
        return (
            words.when(row.started_at),
            visible(line.place.workspace or "–"),
            trace_words.kind(row.kind),
            trace_words.verdict(row.verdict),
            str(row.attempts) if row.attempts else "–",
            trace_words.duration(row.duration_ms) or "–",
            visible(row.model) or "–",
            words.amount(row.tokens) if row.tokens else "–",
        )[column]


def _groups(lines: Sequence[Listed], kept: set[str]) -> Iterator[tuple[int, list[Listed]]]:
    """Runs of new lines, each with the row it begins at."""
    group: list[Listed] = []
    for row, line in enumerate(lines):
        if line.key not in kept:
            group.append(line)
        elif group:
            yield row - len(group), group
            group = []
    if group:
        yield len(lines) - len(group), group


def _sort_key(line: Listed, column: int) -> Any:
    row = line.row
    keys: tuple[Any, ...] = (
        row.started_at, line.place.workspace, row.kind, trace_words.verdict(row.verdict),
        row.attempts, -1 if row.duration_ms is None else row.duration_ms, row.model, row.tokens,
    )  # fmt: skip
    return keys[column]


class _Narrowed(QSortFilterProxyModel):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.text = ""
        self.verdict = ""
        self.kind = ""
        self.followed: Followed | None = None
        self.setSortRole(SORT)
        self.setDynamicSortFilter(True)

    def narrow(self, text: str, verdict: str, kind: str, followed: Followed | None) -> None:
        """`followed` None: of all homes."""
        self.text, self.verdict, self.kind = text.casefold().strip(), verdict, kind
        self.followed = followed
        self.invalidate()

    def filterAcceptsRow(self, row: int, parent: Index) -> bool:
        model = self.sourceModel()
        if not isinstance(model, TraceModel):
            return False
        line = model.lines[row]
        found = line.row
        if self.followed is not None and not self.followed.holds(line.session.info.id, line.place.project):
            return False
        if self.verdict == "failed":
            if found.verdict in ("wrote", "nothing-to-write"):
                return False
        elif self.verdict and found.verdict != self.verdict:
            return False
        if self.kind and found.kind != self.kind:
            return False
        said = (
            found.id, found.workspace_name, found.workspace_id, found.model, found.sentence, found.evidence,
            found.home, line.place.workspace,
        )  # fmt: skip
        return not self.text or self.text in "\n".join(said).casefold()

    def lessThan(self, left: Index, right: Index) -> bool:
        one, other = left.data(SORT), right.data(SORT)
        return bool(one < other)


class TraceList(SearchedTable):
    """The traces of the place selected at the left, or of all homes where a person asks for that."""

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Search traces"), self.tr("Traces"), parent)
        self._followed: Followed | None = None
        self.place = self.add_box(self.tr("Whose traces"), _CHARS)
        self.place.addItem(self.tr("Selected home"), "selected")
        self.place.addItem(self.tr("All homes"), "all")
        self.verdict = self.add_box(self.tr("Which verdicts"), _CHARS)
        self.verdict.addItem(self.tr("All verdicts"), "")
        self.verdict.addItem(self.tr("Wrote nothing"), "failed")
        for name in trace_words.VERDICTS:
            self.verdict.addItem(trace_words.verdict(name), name)
        self.kind = self.add_box(self.tr("Which runs"), _CHARS)
        self.kind.addItem(self.tr("All runs"), "")
        for name in ("writer", "dream", "harvest", "extract", "consolidate", "notes"):
            self.kind.addItem(trace_words.kind(name), name)
        self.model = TraceModel(icons, self.view)
        self.narrowed = _Narrowed(self)
        self.narrowed.setSourceModel(self.model)
        self.set_up(
            self.narrowed, (self.place, self.verdict, self.kind), widths=_WIDTHS, newest_by=0, many=True
        )
        self.view.selectionModel().selectionChanged.connect(self._on_selection)

    @property
    def selected(self) -> tuple[Listed, ...]:
        """The selected lines, the current one first."""
        rows = self.view.selectionModel().selectedRows()
        current = self.view.currentIndex().row()
        ordered = sorted(rows, key=lambda index: index.row() != current)
        return tuple(self.model.lines[self.narrowed.mapToSource(index).row()] for index in ordered)

    @property
    def has_none_here(self) -> bool:
        """There are traces, but none of the selected place."""
        narrowed = self.narrowed
        if narrowed.followed is None or narrowed.text or narrowed.verdict or narrowed.kind:
            return False
        return bool(self.model.lines) and not narrowed.rowCount()

    @property
    def shown(self) -> tuple[Listed, ...]:
        """What the filter lets through, in the order shown."""
        return tuple(
            self.model.lines[self.narrowed.mapToSource(self.narrowed.index(row, 0)).row()]
            for row in range(self.narrowed.rowCount())
        )

    def show_lines(self, lines: Sequence[Listed]) -> None:
        """Rows change by what differs; the selection stays, at first the newest is selected."""
        first = not self.model.lines
        self.model.show_lines(lines)
        if first and self.narrowed.rowCount() and not self.view.currentIndex().isValid():
            self.select(0)

    def select(self, row: int, *, also: bool = False) -> None:
        """Select a shown line, instead of or beside what is selected."""
        flags = QItemSelectionModel.SelectionFlag
        how = (flags.Select if also else flags.ClearAndSelect) | flags.Rows
        self.view.selectionModel().setCurrentIndex(self.narrowed.index(row, 0), how)

    def select_id(self, trace_id: str) -> bool:
        """Whether the trace is among those shown, and selected now."""
        for row, line in enumerate(self.shown):
            if line.row.id == trace_id:
                self.select(row)
                return True
        return False

    @Slot()
    def narrow(self) -> None:
        followed = self._followed if self.place.currentData() == "selected" else None
        self.narrowed.narrow(self.text.text(), self.verdict.currentData(), self.kind.currentData(), followed)
        if self.selected:
            return
        if self.narrowed.rowCount():
            self.select(0)
        else:
            self.picked.emit()  # what is said of an empty list is another

    def follow_place(self, followed: Followed | None) -> None:
        """Another place is selected at the left; None: no home is open."""
        if followed == self._followed:
            return
        self._followed = followed
        name = visible(followed.name) if followed is not None else self.tr("Selected home")
        tip = as_tooltip(name, visible(followed.home_name)) if followed is not None else ""
        self.place.setItemText(0, name)
        self.place.setItemData(0, tip, Qt.ItemDataRole.ToolTipRole)
        self.narrow()

    @Slot()
    def _on_selection(self) -> None:
        self.picked.emit()
