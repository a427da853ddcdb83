"""Files at the left (only where there are several), and what one of them says at the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QPlainTextEdit, QSplitter, QVBoxLayout, QWidget

from reverie.ui.labels import WrapLabel
from reverie.ui.shown import as_tooltip, visible
from reverie.ui.theme import UNIT
from reverie.ui.two_lines import TwoLineDelegate, TwoLines

MOST_ROWS = 2_000


@dataclass(frozen=True, slots=True)
class FileRow:
    """One file. `inner` is what `picked` names; `said` a word on what became of it."""

    inner: str
    path: str
    said: str = ""


class FilePane(QWidget):
    """`picked(str)`: the text of this file is wanted, by its `inner`. `opened(str)`: Enter or a double
    click on it."""

    picked = Signal(str)
    opened = Signal(str)

    def __init__(self, text: QPlainTextEdit, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = text
        self._rows: tuple[FileRow, ...] = ()
        self.note = WrapLabel()
        self.list = QListWidget()
        self.list.setItemDelegate(TwoLineDelegate(self.list))
        self.list.setUniformItemSizes(True)
        self.list.setAccessibleName(self.tr("Files"))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.currentRowChanged.connect(self._on_row)
        self.list.itemActivated.connect(self._on_activated)
        self.splitter = QSplitter()
        self.splitter.addWidget(self.list)
        self.splitter.addWidget(text)
        self.splitter.setStretchFactor(1, 1)
        self.splitter.setSizes([220, 460])
        self.splitter.setChildrenCollapsible(False)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        column.addWidget(self.note)
        column.addWidget(self.splitter, 1)
        self.list.hide()

    @property
    def current(self) -> FileRow | None:
        row = self.list.currentRow()
        return self._rows[row] if 0 <= row < len(self._rows) else None

    def show_files(self, rows: Sequence[FileRow], note: str, *, listed: bool) -> None:
        """Show `rows`, with the list if `listed`; the file selected before stays so, else the first is."""
        before = self.current
        self._rows = tuple(rows[:MOST_ROWS])
        if len(rows) > MOST_ROWS:
            note += " " + self.tr("The first {n} files are listed.").format(n=MOST_ROWS)
        self.note.say(note)
        self.note.setVisible(bool(note))
        self.list.blockSignals(True)
        self.list.clear()
        for row in self._rows:
            folder, _, name = row.inner.rpartition("/")
            item = QListWidgetItem(f"{visible(row.path)} {row.said}".rstrip())
            item.setData(
                TwoLineDelegate.ROLE,
                TwoLines(visible(name or row.path.rpartition("/")[2]), visible(folder), row.said),
            )
            item.setToolTip(as_tooltip(row.path, row.said))
            self.list.addItem(item)
        inner = before.inner if before is not None else ""
        at = next((at for at, row in enumerate(self._rows) if row.inner == inner), 0 if self._rows else -1)
        self.list.setCurrentRow(at)
        self.list.blockSignals(False)
        self.list.setVisible(listed and bool(rows))
        self._on_row(at)

    @Slot(int)
    def _on_row(self, row: int) -> None:
        if 0 <= row < len(self._rows):
            self.picked.emit(self._rows[row].inner)
        else:
            self.text.clear()

    @Slot(QListWidgetItem)
    def _on_activated(self, _item: QListWidgetItem) -> None:
        if self.current is not None:
            self.opened.emit(self.current.inner)
