"""The list of runs, and above it what narrows it down. Shows what it is given; reads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from reverie.ui import words
from reverie.ui.memory.run_words import RunFilter, filter_names, headline, run_line, state_words
from reverie.ui.shown import as_tooltip
from reverie.ui.theme import GAP
from reverie.ui.two_lines import TwoLineDelegate, TwoLines

if TYPE_CHECKING:
    from reverie.services.views import RunSummary


class RunList(QWidget):
    """`picked(RunSummary | None)`: another run is selected."""

    picked = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._runs: tuple[RunSummary, ...] = ()
        self._shown: tuple[RunSummary, ...] = ()
        self._picked: RunSummary | None = None
        self.text = QLineEdit()
        self.text.setPlaceholderText(self.tr("Search runs"))
        self.text.setAccessibleName(self.tr("Search runs"))
        self.text.setClearButtonEnabled(True)
        self.text.textChanged.connect(self._narrow)
        self.show_only = QComboBox()
        self.show_only.setAccessibleName(self.tr("Which runs"))
        for key, name in filter_names():
            self.show_only.addItem(name, key)
        self.show_only.currentIndexChanged.connect(self._narrow)
        self.list = QListWidget()
        self.list.setItemDelegate(TwoLineDelegate(self.list))
        self.list.setAccessibleName(self.tr("Runs, newest first"))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.currentRowChanged.connect(self._on_row)
        self.none = QLabel(self.tr("No run fits."))
        self.none.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.none.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GAP)
        column.addWidget(self.text)
        column.addWidget(self.show_only)
        column.addWidget(self.none)
        column.addWidget(self.list, 1)

    @property
    def runs(self) -> tuple[RunSummary, ...]:
        """All of them, narrowed down or not."""
        return self._runs

    @property
    def current(self) -> RunSummary | None:
        return self._picked

    def show_runs(self, runs: Sequence[RunSummary], wanted: str = "") -> None:
        """Show `runs`; select the run `wanted`, or keep the selection, or select the newest. A run asked for
        by id is shown whatever the filter says."""
        same = tuple(runs) == self._runs
        self._runs = tuple(runs)
        asked = next((run for run in self._runs if run.id == wanted), None)
        if asked is not None and not self.filter.takes(asked):
            self._open_filter()
        kept = wanted or (self._picked.id if self._picked is not None else "")
        if not same or asked is not None:
            self._fill(kept)

    @property
    def filter(self) -> RunFilter:
        return RunFilter(str(self.show_only.currentData()), self.text.text())

    def _open_filter(self) -> None:
        for control in (self.text, self.show_only):
            control.blockSignals(True)
        self.text.clear()
        self.show_only.setCurrentIndex(0)
        for control in (self.text, self.show_only):
            control.blockSignals(False)

    @Slot()
    def _narrow(self) -> None:
        self._fill(self._picked.id if self._picked is not None else "")

    def _fill(self, wanted: str) -> None:
        wants = self.filter
        self._shown = tuple(run for run in self._runs if wants.takes(run))
        self.list.blockSignals(True)
        self.list.clear()
        for run in self._shown:
            item = QListWidgetItem(headline(run))
            item.setData(
                TwoLineDelegate.ROLE,
                TwoLines(words.when(run.started_at), run_line(run), state_words(run), quiet=run.reverted),
            )
            item.setToolTip(as_tooltip(headline(run), run.summary, run.reason))
            self.list.addItem(item)
        row = next((row for row, run in enumerate(self._shown) if run.id == wanted), 0 if self._shown else -1)
        self.list.setCurrentRow(row)
        self.list.blockSignals(False)
        self.none.setVisible(bool(self._runs) and not self._shown)
        self._on_row(row)

    @Slot(int)
    def _on_row(self, row: int) -> None:
        run = self._shown[row] if 0 <= row < len(self._shown) else None
        if run != self._picked:
            self._picked = run
            self.picked.emit(run)
