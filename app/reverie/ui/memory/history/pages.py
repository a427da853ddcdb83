"""What is told of the selected points: what differs, what stood there, and who brought each line.

One selected point is compared with the version before it or with what is there now, two with each other.
Everything is read in jobs; an answer that nobody waits for any more is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QComboBox, QTabWidget, QVBoxLayout, QWidget

from reverie.ui import words
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.memory.diff_view import DiffView
from reverie.ui.memory.history import history_words
from reverie.ui.memory.history.blame_pane import BlamePane
from reverie.ui.memory.history.file_pane import FilePane, FileRow
from reverie.ui.memory.history.reader import Reader
from reverie.ui.memory.history.text_view import TextView
from reverie.ui.theme import UNIT

if TYPE_CHECKING:
    from reverie.services.timeline import TimelineDesk
    from reverie.services.timeline_views import BlameView, Comparison, State, Target, TimelinePoint

CHANGES, CONTENT, LINES = 0, 1, 2
_PAGE, _TEXT = "history page", "history text"


class HistoryPages(QTabWidget):
    """`changed()`: another file or page is shown. `opened(str)`: the history of this memory path is
    wanted."""

    changed = Signal()
    opened = Signal(str)

    def __init__(self, lane: Lane, now: Callable[[], int], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.reader = Reader(lane, self)
        self._desk: TimelineDesk | None = None
        self._target: Target | None = None
        self._points: tuple[TimelinePoint, ...] = ()
        self._folder = False
        self._content: State | None = None
        self.compared: Comparison | None = None
        self.against = QComboBox()
        self.against.setAccessibleName(self.tr("Compare with"))
        self.against.addItem(self.tr("Compare with the version before"), "before")
        self.against.addItem(self.tr("Compare with what is there now"), "now")
        self.against.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.against.setMinimumContentsLength(12)
        self.diff = DiffView()
        self.text = TextView()
        self.changes = FilePane(self.diff)
        self.content = FilePane(self.text)
        self.lines = BlamePane(now)
        self.addTab(_padded(self.against, self.changes), self.tr("Changes"))
        self.addTab(_padded(self.content), self.tr("Content"))
        self.addTab(_padded(self.lines), self.tr("Lines"))
        self.against.currentIndexChanged.connect(self._show_page)
        self.currentChanged.connect(self._show_page)
        self.changes.picked.connect(self._read_difference)
        self.content.picked.connect(self._read_text)
        self.changes.opened.connect(self.open_file)
        self.content.opened.connect(self.open_file)

    def show_points(
        self,
        desk: TimelineDesk | None,
        target: Target | None,
        points: tuple[TimelinePoint, ...],
        *,
        folder: bool,
    ) -> None:
        """Other points are selected: none, one or two."""
        self._desk, self._target, self._points, self._folder = desk, target, points, folder
        one = len(points) == 1
        self.against.setEnabled(one)
        self.setTabVisible(LINES, not folder)
        for page in (CONTENT, LINES):
            self.setTabEnabled(page, one)
        self._show_page()

    def follow(self) -> None:
        """Files may have changed: what is compared with them is read again."""
        if self.against.currentData() == "now" and self.currentIndex() == CHANGES and len(self._points) == 1:
            self._show_page()

    @property
    def file(self) -> FileRow | None:
        """The file of the folder that is selected on this page."""
        pane = {CHANGES: self.changes, CONTENT: self.content}.get(self.currentIndex())
        return pane.current if pane is not None and self._folder else None

    @Slot()
    def open_file(self) -> None:
        """Ask for the history of the selected file, there or gone."""
        if self.file is not None:
            self.opened.emit(self.file.path)

    @Slot()
    def _show_page(self) -> None:
        """Read what this page shows of the selected points."""
        desk, target, points = self._desk, self._target, self._points
        if desk is None or target is None or not points:
            self.reader.drop(_PAGE)
            self.reader.drop(_TEXT)
            self.compared = self._content = None
            self.changes.show_files((), "", listed=False)
            self.content.show_files((), "", listed=False)
        elif self.currentIndex() == CHANGES or len(points) > 1:
            self._compare(desk, *self._states(desk, target))
        elif self.currentIndex() == CONTENT:
            self._list_content(desk, standing(points[0]))
        else:
            self._blame(desk, target, points[0])
        self.changed.emit()

    def _states(self, desk: TimelineDesk, target: Target) -> tuple[State, State]:
        newest, oldest = self._points[0], self._points[-1]
        if len(self._points) > 1:
            return oldest.after, newest.after
        if self.against.currentData() == "now":
            return newest.after, desk.now(target)
        return newest.before, newest.after

    def _compare(self, desk: TimelineDesk, old: State, new: State) -> None:
        def work(control: JobControl) -> Comparison:
            return desk.compare(old, new, check=control.check)

        self.reader.read("compare two points", _PAGE, work, self._on_compared)

    def _on_compared(self, comparison: Comparison) -> None:
        self.compared = comparison
        rows = [FileRow(file.inner, file.path, history_words.verb(file.verb)) for file in comparison.files]
        note = history_words.compared(comparison) if self._folder or not rows else ""
        self.changes.show_files(rows, note, listed=self._folder)
        self.changed.emit()

    @Slot(str)
    def _read_difference(self, inner: str) -> None:
        desk, comparison = self._desk, self.compared
        file = next((each for each in comparison.files if each.inner == inner), None) if comparison else None
        if desk is None or comparison is None or file is None:
            return

        def work(_control: JobControl) -> str:
            return desk.difference(comparison, file)

        self.reader.read("read a difference", _TEXT, work, self.diff.show_diff)
        self.changed.emit()

    def _list_content(self, desk: TimelineDesk, state: State) -> None:
        def work(control: JobControl) -> tuple[FileRow, ...]:
            inners = sorted(desk.files(state, check=control.check))
            return tuple(FileRow(inner, desk.path_of(state, inner)) for inner in inners)

        def done(rows: tuple[FileRow, ...]) -> None:
            self._content = state
            self.content.show_files(rows, words.notes(len(rows)) if self._folder else "", listed=self._folder)
            self.changed.emit()

        self.reader.read("list what stood there", _PAGE, work, done)

    @Slot(str)
    def _read_text(self, inner: str) -> None:
        desk, state = self._desk, self._content
        if desk is None or state is None:
            return

        def work(_control: JobControl) -> bytes | None:
            return desk.read(state, inner)

        self.reader.read("read a version", _TEXT, work, self.text.show_bytes)
        self.changed.emit()

    def _blame(self, desk: TimelineDesk, target: Target, point: TimelinePoint) -> None:
        def work(control: JobControl) -> BlameView:
            return desk.blame(target, point, check=control.check)

        self.reader.read("tell who brought each line", _PAGE, work, self.lines.show_blame)


def standing(point: TimelinePoint) -> State:
    """What stood there at a point; where it went away, what stood there just before."""
    return point.before if point.gone else point.after


def _padded(*widgets: QWidget) -> QWidget:
    around = QWidget()
    column = QVBoxLayout(around)
    column.setContentsMargins(UNIT, UNIT, UNIT, UNIT)
    column.setSpacing(UNIT)
    for widget in widgets:
        column.addWidget(widget)
    column.setStretch(len(widgets) - 1, 1)
    return around
