"""What is told of the selected points: what differs, what stood there, and who brought each line.

One selected point is compared with the version before it or with what is there now, two with each other.
Everything is read in jobs; an answer that nobody waits for any more is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHeaderView,
    QListWidgetItem,
    QPlainTextEdit,
    QTableView,
    QTabWidget,
    QWidget,
)

from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.ui.appearance import UNIT, CalmSelection, monospace, theme_of
from reverie.ui.display_text import as_tooltip, notes, short_age, visible, visible_lines, when
from reverie.ui.jobs import JobControl, Lane, Work
from reverie.ui.run_kinds import LABELS, RUN_KINDS
from reverie.ui.translation import counted, tr, translated
from reverie.ui.tree.node_model import AnyIndex
from reverie.ui.widgets.controls import FitPushButton, WrapLabel
from reverie.ui.widgets.layouts import FlowLayout, column, split
from reverie.ui.widgets.lists import TwoLineDelegate, TwoLines, two_line_list
from reverie.ui.widgets.text_views import DiffView, TextView

if TYPE_CHECKING:
    from reverie.services.timeline import (
        BlameView,
        Comparison,
        RestorePlan,
        State,
        TimelinePoint,
        TimelineService,
        TimelineTarget,
    )


# Files at the left (only where there are several), and what one of them says at the right.


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
        self.list = two_line_list(self.tr("Files"))
        self.list.currentRowChanged.connect(self._on_row)
        self.list.itemActivated.connect(self._on_activated)
        self.splitter = split(self.list, text, sizes=(220, 460), grows=text)
        column(self, self.note, self.splitter, grows=self.splitter, margin=0, gap=UNIT)
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


# How a point of a timeline is told: pure functions of a `TimelinePoint`.


def who_names() -> tuple[tuple[str, str], ...]:
    """(key, name) of each choice of the filter, in the order they are offered; "" is everybody."""
    return (
        ("", tr("Everybody")),
        ("you", tr("You")),
        ("agent", tr("The agent")),
        *((labels.kind, translated(labels.in_history)) for labels in RUN_KINDS),
        ("outside", tr("Unknown outside process")),
    )


def who(point: TimelinePoint) -> str:
    """`You`, `Dream run 3`, `Unknown outside process`."""
    match point.who:
        case "you":
            return tr("You")
        case "agent":
            return tr("The agent")
        case "outside":
            return tr("Unknown outside process")
        case "other":
            return visible(point.actor)
    labels = LABELS[point.who]
    if point.run_number is None:
        return translated(labels.one)
    return translated(labels.numbered).format(n=point.run_number)


def what(point: TimelinePoint, *, folder: bool) -> str:
    """`Renamed from notes.md`, `2 changed, 1 created`."""
    said = []
    if point.what == "renamed":
        said.append(tr("Renamed from {path}").format(path=_beside(point)))
    elif point.what == "moved-away":
        said.append(tr("Moved to {path}").format(path=_beside(point)))
    elif not folder:
        return {
            "created": tr("Created"),
            "changed": tr("Changed"),
            "deleted": tr("Deleted"),
        }[point.what]
    if folder and point.what != "moved-away":
        said.append(counts(point.created, point.changed, point.deleted, point.moved))
    elif not folder and point.changed:
        said.append(tr("changed"))
    return ", ".join(part for part in said if part)


def counts(created: int, changed: int, deleted: int, moved: int) -> str:
    """`2 created, 1 changed`; empty for nothing."""
    said = (
        counted("1 created", "%n created", created) if created else "",
        counted("1 changed", "%n changed", changed) if changed else "",
        counted("1 deleted", "%n deleted", deleted) if deleted else "",
        counted("1 renamed", "%n renamed", moved) if moved else "",
    )
    return ", ".join(part for part in said if part)


def point_line(point: TimelinePoint) -> str:
    """`You, 2026-08-17 09:13:35`."""
    return f"{who(point)}, {when(point.at_ms)}"


def facts(point: TimelinePoint, *, folder: bool) -> str:
    """All there is to say of a point: who, when, what, what a run said of itself, what was not kept."""
    said = point.subject if point.run_id is not None else ""
    parts = (point_line(point), what(point, folder=folder), visible(said), visible(point.notes))
    return " · ".join(part for part in parts if part)


def compared(comparison: Comparison) -> str:
    said = counts(
        comparison.count("create"),
        comparison.count("change"),
        comparison.count("delete"),
        comparison.count("rename"),
    )
    return said or tr("Nothing differs.")


def verb(name: str) -> str:
    return {
        "create": tr("created"),
        "change": tr("changed"),
        "delete": tr("deleted"),
        "rename": tr("renamed"),
    }[name]


def planned(plan: RestorePlan) -> str:
    """What a restore would do, in a sentence."""
    created = sum(file.verb == "create" for file in plan.files)
    changed = len(plan.files) - created
    if not plan.files:
        return tr("Nothing is to be brought back: what stood there then is there now.")
    said = (
        counted("1 file comes back", "%n files come back", created) if created else "",
        counted("1 file gets its text of then", "%n files get their text of then", changed)
        if changed
        else "",
        counted("1 is the same already", "%n are the same already", plan.same) if plan.same else "",
    )
    return ", ".join(part for part in said if part) + "."


def _beside(point: TimelinePoint) -> str:
    """The other path; only its name if it lay in the same folder."""
    folder, _, name = point.other_path.rpartition("/")
    return visible(name if folder == point.path.rpartition("/")[0] else point.other_path)


# Who brought each line: the text of one version, beside each line who and when; from there to the change or
# to the run. Only the rows in sight are drawn. Shows what it is given; reads nothing.


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
            return as_tooltip(point_line(point), point.subject) if point is not None else ""
        if role == Qt.ItemDataRole.FontRole and column == TEXT:
            return self._font
        if role == Qt.ItemDataRole.ForegroundRole and column == WHO:
            return self._dim
        return None

    def _who(self, row: int) -> str:
        point = self.point(row)
        if point is None:
            return self.tr("Not in the history yet")
        return f"{who(point)}, {short_age(self._now(), point.at_ms)}"


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
        self.to_point = FitPushButton(self.tr("&Go to this change"), clicked=self._ask_point)
        self.to_run = FitPushButton(self.tr("Show its r&un"), clicked=self._ask_run)
        row = FlowLayout()
        for button in (self.to_point, self.to_run):
            button.setAutoDefault(False)  # Enter in a list is not for a button
            row.addWidget(button)
        column(self, self.note, self.table, row, grows=self.table, margin=0, gap=UNIT)
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


# Reading jobs of one part of a window: how many are under way, and one place for what goes wrong.


class PaneReader(QObject):
    """`failed(UserError)`. A newer job of the same group takes an older one's place."""

    failed = Signal(object)

    def __init__(self, lane: Lane, parent: QObject) -> None:
        super().__init__(parent)
        self._lane = lane
        self._open = 0

    @property
    def busy(self) -> bool:
        return self._open > 0

    def read(self, name: str, group: str, work: Work[Any], done: Callable[[Any], None]) -> None:
        """Run `work` on the lane and hand what it found to `done`."""
        self._open += 1

        def ended(value: Any) -> None:
            self._open -= 1
            done(value)

        def failed(error: UserError) -> None:
            self._open -= 1
            self.failed.emit(error)

        def cancelled() -> None:
            self._open -= 1

        self._lane.submit(name, work, done=ended, failed=failed, cancelled=cancelled, group=self._name(group))

    def drop(self, group: str) -> None:
        """Nobody waits for the open job of this group any more."""
        self._lane.abandon(self._name(group))

    def _name(self, group: str) -> str:
        return f"{group} {id(self)}"


CHANGES, CONTENT, LINES = 0, 1, 2
_PAGE, _TEXT = "history page", "history text"


class HistoryPages(QTabWidget):
    """`changed()`: another file or page is shown. `opened(str)`: the history of this memory path is
    wanted."""

    changed = Signal()
    opened = Signal(str)

    def __init__(self, lane: Lane, now: Callable[[], int], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.reader = PaneReader(lane, self)
        self._desk: TimelineService | None = None
        self._target: TimelineTarget | None = None
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
        desk: TimelineService | None,
        target: TimelineTarget | None,
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

    def _states(self, desk: TimelineService, target: TimelineTarget) -> tuple[State, State]:
        newest, oldest = self._points[0], self._points[-1]
        if len(self._points) > 1:
            return oldest.after, newest.after
        if self.against.currentData() == "now":
            return newest.after, desk.now(target)
        return newest.before, newest.after

    def _compare(self, desk: TimelineService, old: State, new: State) -> None:
        self.reader.read("compare two points", _PAGE, ask(desk.compare, old, new), self._on_compared)

    def _on_compared(self, comparison: Comparison) -> None:
        self.compared = comparison
        rows = [FileRow(file.inner, file.path, verb(file.verb)) for file in comparison.files]
        note = compared(comparison) if self._folder or not rows else ""
        self.changes.show_files(rows, note, listed=self._folder)
        self.changed.emit()

    @Slot(str)
    def _read_difference(self, inner: str) -> None:
        desk, comparison = self._desk, self.compared
        file = next((each for each in comparison.files if each.inner == inner), None) if comparison else None
        if desk is None or comparison is None or file is None:
            return

        self.reader.read(
            "read a difference", _TEXT, ask(desk.difference, comparison, file), self.diff.show_diff
        )
        self.changed.emit()

    def _list_content(self, desk: TimelineService, state: State) -> None:
        async def work(control: JobControl) -> tuple[FileRow, ...]:
            inners = sorted(await ask(desk.files, state))
            return tuple([FileRow(inner, await ask(desk.path_of, state, inner)) for inner in inners])

        def done(rows: tuple[FileRow, ...]) -> None:
            self._content = state
            self.content.show_files(rows, notes(len(rows)) if self._folder else "", listed=self._folder)
            self.changed.emit()

        self.reader.read("list what stood there", _PAGE, work, done)

    @Slot(str)
    def _read_text(self, inner: str) -> None:
        desk, state = self._desk, self._content
        if desk is None or state is None:
            return

        self.reader.read("read a version", _TEXT, ask(desk.read, state, inner), self.text.show_bytes)
        self.changed.emit()

    def _blame(self, desk: TimelineService, target: TimelineTarget, point: TimelinePoint) -> None:
        self.reader.read(
            "tell who brought each line", _PAGE, ask(desk.blame, target, point), self.lines.show_blame
        )


def standing(point: TimelinePoint) -> State:
    """What stood there at a point; where it went away, what stood there just before."""
    return point.before if point.gone else point.after


def _padded(*widgets: QWidget) -> QWidget:
    around = QWidget()
    outer = column(around, margin=UNIT, gap=UNIT)
    for widget in widgets:
        outer.addWidget(widget)
    outer.setStretch(len(widgets) - 1, 1)
    return around
