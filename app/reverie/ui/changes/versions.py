"""A file as one change set left it: compared with what is there now, its text, and who wrote each line.

Everything is read in jobs; an answer that nobody waits for any more is dropped. Restoring is asked for by
signal. Threading: GUI thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.ui.appearance import UNIT, CalmSelection, Icons, monospace, theme_of
from reverie.ui.changes.diff import ReviewDetail
from reverie.ui.changes.rows import actor
from reverie.ui.display_text import as_tooltip, short_age, visible_lines, when
from reverie.ui.jobs import JobControl, Lane, Work
from reverie.ui.widgets.controls import FitCombo, FitPushButton, WrapLabel
from reverie.ui.widgets.layouts import FlowLayout, column, scrolled, stacked
from reverie.ui.widgets.text_views import DiffView, TextView

if TYPE_CHECKING:
    from reverie.agents.scopes import ScopeContext
    from reverie.services.change_log import LoggedChange
    from reverie.services.timeline import BlameView, LineAuthor, TimelineTarget
    from reverie.services.workbench import Workbench
    from reverie.ui.tree.node_model import AnyIndex


# Who wrote each line: the text of one version, and beside each line who and when; from there to the change.
# Only the rows in sight are drawn. Shows what it is given; reads nothing.


_ROOT = QModelIndex()
WHO, TEXT = 0, 1
_LONGEST = 2_000
_WHO_CHARS = 34


class BlameModel(QAbstractTableModel):
    """A row per line; who is told once for neighbours of one author."""

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

    def author(self, row: int) -> LineAuthor | None:
        """Who wrote a line; None where the history does not hold it yet."""
        if self.view is None or not 0 <= row < len(self.view.rows):
            return None
        at = self.view.rows[row].author
        return self.view.authors[at] if at >= 0 else None

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
            same = row > 0 and self.view.rows[row - 1].author == self.view.rows[row].author
            return "" if same else self._who(row)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{self._who(row)}: {visible_lines(self.view.rows[row].text[:_LONGEST])}"
        if role == Qt.ItemDataRole.ToolTipRole:
            author = self.author(row)
            return as_tooltip(_line(author), author.subject) if author is not None else ""
        if role == Qt.ItemDataRole.FontRole and column == TEXT:
            return self._font
        if role == Qt.ItemDataRole.ForegroundRole and column == WHO:
            return self._dim
        return None

    def _who(self, row: int) -> str:
        author = self.author(row)
        if author is None:
            return self.tr("Not in the history yet")
        return f"{_who(author)}, {short_age(self._now(), author.at_ms)}"


class BlameTable(QTableView):
    """`opened()`: Enter or a double click on a line."""

    opened = Signal()

    def __init__(self, model: BlameModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setModel(model)
        CalmSelection(self)
        self.setAccessibleName(self.tr("Lines and who wrote them"))
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
    """`wanted(str)`: show this change set, by its id or that of its run."""

    wanted = Signal(str)

    def __init__(self, now: Callable[[], int], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = BlameModel(now, self)
        self.table = BlameTable(self.model)
        self.table.selectionModel().currentRowChanged.connect(self._follow)
        self.table.opened.connect(self._ask_point)
        self.note = WrapLabel()
        self.to_point = FitPushButton(self.tr("&Go to this change"), clicked=self._ask_point)
        column(self, self.note, self.table, FlowLayout(self.to_point), grows=self.table, margin=0, gap=UNIT)
        self._follow()

    def show_blame(self, view: BlameView) -> None:
        """Another version's lines."""
        self.model.show_view(view, theme_of(self.palette()).dim)
        self.note.say("" if view.rows else self.tr("There is no text."))
        self.note.setVisible(not view.rows)
        if view.rows:
            self.table.setCurrentIndex(self.model.index(0, WHO))
        self._follow()

    @property
    def current(self) -> LineAuthor | None:
        return self.model.author(self.table.currentIndex().row())

    @Slot()
    def _follow(self) -> None:
        author = self.current
        self.to_point.setEnabled(author is not None)

    @Slot()
    def _ask_point(self) -> None:
        author = self.current
        if author is not None:
            self.wanted.emit(author.change)


def _who(author: LineAuthor) -> str:
    return actor(author.actor if author.who == "other" else author.who)


def _line(author: LineAuthor) -> str:
    return f"{_who(author)}, {when(author.at_ms)}"


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


View = Literal["change", "now", "text", "lines"]


@dataclass(frozen=True, slots=True)
class ShownFile:
    """The selected file of a change set that is in the history."""

    workbench: Workbench
    context: ScopeContext
    change: LoggedChange
    path: str
    target: TimelineTarget | None = None
    """The companion that is followed."""


class VersionPane(QWidget):
    """What changed in the selected file, or the file itself. `restore_wanted(ShownFile)`: as this change set
    left it; `wanted(str)`: another change set."""

    restore_wanted = Signal(object)
    wanted = Signal(str)

    def __init__(
        self, lane: Lane, icons: Icons, now: Callable[[], int], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.reader = PaneReader(lane, self)
        self._file: ShownFile | None = None
        self.view = FitCombo(most_chars=24)
        self.view.setAccessibleName(self.tr("What is shown of the file"))
        names: tuple[tuple[View, str], ...] = (
            ("change", self.tr("What changed")),
            ("now", self.tr("Since then")),
            ("text", self.tr("Text of this version")),
            ("lines", self.tr("Who wrote each line")),
        )
        for key, name in names:
            self.view.addItem(name, key)
        self.restore = FitPushButton(
            self.tr("&Restore this version"),
            self.tr("Give the file this text again; it can be undone"),
            icon=icons.icon("undo"),
            clicked=self._ask_restore,
        )
        self.detail = ReviewDetail(icons)
        self.since = DiffView()
        self.text = TextView()
        self.lines = BlamePane(now)
        # Where there is little room, all of a merge is scrolled.
        whole = scrolled(self.detail, self.tr("What changed"))
        self._pages = stacked(whole, self.since, self.text, self.lines)
        self._head = QWidget()
        FlowLayout(self.view, self.restore, holder=self._head)
        column(self, self._head, self._pages, grows=self._pages, margin=(UNIT, 0, 0, 0), gap=UNIT)
        self.view.currentIndexChanged.connect(self._read)
        self.lines.wanted.connect(self.wanted)
        self.show_file(None)

    def show_file(self, file: ShownFile | None) -> None:
        """Another file of a change set; None: nothing of which the history has versions."""
        self._head.setVisible(file is not None)
        if file is None:
            self.view.setCurrentIndex(0)
        if file != self._file:
            self._file = file
            self._read()

    def show_view(self, view: View) -> None:
        """What changed, or another view of the file."""
        self.view.setCurrentIndex(self.view.findData(view))

    def follow(self) -> None:
        """Files may have changed: what is compared with them is read again."""
        if self.view.currentData() == "now":
            self._read()

    @Slot()
    def _read(self) -> None:
        view: View = self.view.currentData()
        self._pages.setCurrentIndex(self.view.currentIndex())
        file = self._file
        if file is None or view == "change":
            self.reader.drop("version")
            return
        log, timeline = file.workbench.change_log, file.workbench.timeline

        async def work(_control: JobControl) -> Any:
            target, before, after = await ask(log.version, file.context, file.change, file.path, file.target)
            text = await ask(timeline.read, after)
            state = before if text is None else after  # of what was deleted, what it was
            if view == "now":
                return await ask(timeline.difference, state, await ask(timeline.on_disk, state.place))
            if view == "text":
                return await ask(timeline.read, state) if text is None else text
            return await ask(timeline.blame, target, state)

        self.reader.read(f"read a version: {view}", "version", work, self._on_read)

    def _on_read(self, found: Any) -> None:
        view: View = self.view.currentData()
        if view == "now":
            self.since.show_diff(found or self.tr("The file is as it was then."))
        elif view == "text":
            self.text.show_bytes(found)
        elif view == "lines":
            self.lines.show_blame(found)

    @Slot()
    def _ask_restore(self) -> None:
        if self._file is not None:
            self.restore_wanted.emit(self._file)
