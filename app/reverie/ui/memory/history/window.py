"""The history of one file, folder or scope: at the left its points in time, at the right what the selected
one changed, what stood there then, and who brought each line. Stays open beside the window.

One selected point is compared with the version before it or with what is there now, two with each other.
Everything is read in jobs on the history lane, so it waits for what the history is just taking in. Restoring
and showing a run are asked for by signal.

Threading: GUI thread. An answer that nobody waits for any more (another point, another target) is dropped.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QSplitter,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from reverie.errors import MendableError
from reverie.ui import words
from reverie.ui.buttons import FitPushButton
from reverie.ui.flow import FlowLayout
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.labels import WrapLabel
from reverie.ui.memory.bars import MessageBar
from reverie.ui.memory.diff_view import DiffView
from reverie.ui.memory.history import history_words
from reverie.ui.memory.history.blame_pane import BlamePane
from reverie.ui.memory.history.file_pane import FilePane, FileRow
from reverie.ui.memory.history.text_view import TextView
from reverie.ui.memory.history.timeline_pane import TimelinePane
from reverie.ui.shown import visible
from reverie.ui.theme import GAP, MARGIN, UNIT

if TYPE_CHECKING:
    from reverie.homes.base import ScopeContext
    from reverie.services.timeline import TimelineDesk
    from reverie.services.timeline_views import (
        BlameView,
        Comparison,
        RestorePlan,
        State,
        Target,
        TimelinePoint,
    )
    from reverie.services.workbench import Workbench

SIDE_BY_SIDE = 700
CHANGES, CONTENT, LINES = 0, 1, 2


class HistoryWindow(QDialog):
    """`planned(RestorePlan, str)`: a restore is wanted, and which moment it is in words. `run_wanted(str)`:
    show this run."""

    planned = Signal(object, str)
    run_wanted = Signal(str)

    def __init__(
        self, lane: Lane, icons: Icons, now: Callable[[], int], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._lane = lane
        self._place: tuple[Workbench, ScopeContext, str] | None = None
        self._trail: list[str] = []  # from where one came, the last one last
        self._compared: Comparison | None = None
        self._content: State | None = None
        self._reading = 0
        self._in_trouble = False  # the message is about reading, and goes when it can be read again
        self.setWindowTitle(self.tr("History"))
        self.title = WrapLabel()
        self.timeline = TimelinePane(lane, now)
        self.facts = WrapLabel()
        self.message = MessageBar(icons, "history-message", closable=False)
        self.against = QComboBox()
        self.diff = DiffView()
        self.text = TextView()
        self.changes = FilePane(self.diff)
        self.content = FilePane(self.text)
        self.lines = BlamePane(now)
        self.pages = QTabWidget()
        self.restore = FitPushButton(self.tr("&Restore…"))
        self.restore_one = FitPushButton(self.tr("Restore &only this file…"))
        self.back = FitPushButton(self.tr("&Back"))
        self.open_file = FitPushButton(self.tr("&History of this file"))
        self.show_run = FitPushButton(self.tr("Show the r&un"))
        self._lay_out()
        self._connect()
        self.resize(1080, 640)

    def _lay_out(self) -> None:
        font = self.title.font()
        font.setBold(True)
        self.title.setFont(font)
        self.against.setAccessibleName(self.tr("Compare with"))
        self.against.addItem(self.tr("Compare with the version before"), "before")
        self.against.addItem(self.tr("Compare with what is there now"), "now")
        self.against.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.against.setMinimumContentsLength(12)
        changed = QWidget()
        column = QVBoxLayout(changed)
        column.setContentsMargins(UNIT, UNIT, UNIT, UNIT)
        column.setSpacing(UNIT)
        column.addWidget(self.against)
        column.addWidget(self.changes, 1)
        self.pages.addTab(changed, self.tr("Changes"))
        self.pages.addTab(_padded(self.content), self.tr("Content"))
        self.pages.addTab(_padded(self.lines), self.tr("Lines"))
        right = QWidget()
        column = QVBoxLayout(right)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        column.addWidget(self.facts)
        column.addWidget(self.message)
        column.addWidget(self.pages, 1)
        row = FlowLayout(gap=GAP)
        self.back.setAutoDefault(False)
        for button in (self.restore, self.restore_one, self.open_file, self.show_run):
            button.setAutoDefault(False)  # Enter in a list is not for a button
            row.addWidget(button)
        column.addLayout(row)
        self.splitter = QSplitter()
        self.splitter.addWidget(self.timeline)
        self.splitter.addWidget(right)
        self.splitter.setStretchFactor(1, 1)
        self.splitter.setSizes([300, 780])
        self.splitter.setChildrenCollapsible(False)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        buttons.button(QDialogButtonBox.StandardButton.Close).setAutoDefault(False)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        outer.setSpacing(GAP)
        head = QHBoxLayout()
        head.setSpacing(GAP)
        head.addWidget(self.back)
        head.addWidget(self.title, 1)
        outer.addLayout(head)
        outer.addWidget(self.splitter, 1)
        outer.addWidget(buttons)
        self._order(buttons.button(QDialogButtonBox.StandardButton.Close))

    def _order(self, close: QWidget) -> None:
        """Tab goes as one reads."""
        order = (
            self.back,
            self.timeline.who,
            self.timeline.points,
            self.pages,
            self.against,
            self.changes.list,
            self.diff,
            self.content.list,
            self.text,
            self.lines.table,
            self.lines.to_point,
            self.lines.to_run,
            self.restore,
            self.restore_one,
            self.open_file,
            self.show_run,
            close,
        )
        for one, following in itertools.pairwise(order):
            QWidget.setTabOrder(one, following)

    def _connect(self) -> None:
        self.against.currentIndexChanged.connect(self._show_page)
        self.timeline.chosen.connect(self._show_page)
        self.timeline.failed.connect(self._on_failed)
        self.timeline.came.connect(self._on_came)
        self.pages.currentChanged.connect(self._show_page)
        self.changes.picked.connect(self._read_difference)
        self.content.picked.connect(self._read_text)
        self.content.picked.connect(self._follow)
        self.lines.point_wanted.connect(self._go_to)
        self.lines.run_wanted.connect(self.run_wanted)
        self.changes.opened.connect(self._open_inside)
        self.content.opened.connect(self._open_inside)
        self.open_file.clicked.connect(self._open_current)
        self.back.clicked.connect(self._go_back)
        self.restore.clicked.connect(self._plan_all)
        self.restore_one.clicked.connect(self._plan_one)
        self.show_run.clicked.connect(self._on_show_run)

    # What is shown

    def show_path(self, workbench: Workbench, context: ScopeContext, path: str) -> None:
        """Another file, folder or scope; nothing to go back to."""
        self._trail.clear()
        self._show(workbench, context, path)

    def _show(self, workbench: Workbench, context: ScopeContext, path: str) -> None:
        self._place = (workbench, context, path)
        self.back.setVisible(bool(self._trail))
        self.title.say(path)
        self.setWindowTitle(self.tr("History of {path}").format(path=visible(path.rpartition("/")[2])))
        self.message.clear()
        self.timeline.show_path(workbench, context, path)
        self.timeline.points.setFocus()

    @Slot()
    def follow(self) -> None:
        """The history took something in: what is new comes on top."""
        if self.isVisible():
            self.timeline.follow()
            if self.against.currentData() == "now":
                self._show_page()

    @property
    def is_read(self) -> bool:
        """Nothing is being read any more."""
        return self.timeline.is_read and self._reading == 0

    @property
    def compared(self) -> Comparison | None:
        """What is compared now."""
        return self._compared

    def _submit(
        self, name: str, group: str, work: Callable[[JobControl], Any], done: Callable[[Any], None]
    ) -> None:
        """A job of this window; a newer one of the same group takes its place."""
        self._reading += 1

        def ended(value: Any) -> None:
            self._reading -= 1
            done(value)

        def failed(error: MendableError) -> None:
            self._reading -= 1
            self._on_failed(error)

        def cancelled() -> None:
            self._reading -= 1

        self._lane.submit(
            name, work, done=ended, failed=failed, cancelled=cancelled, group=f"{group} {id(self)}"
        )

    @Slot(object)
    def _on_failed(self, error: MendableError) -> None:
        self._in_trouble = True
        self.message.say_error(error)

    @Slot()
    def _on_came(self) -> None:
        """A timeline was read."""
        self.pages.setTabVisible(LINES, not self.timeline.folder)
        if self._in_trouble:
            self._in_trouble = False
            self.message.clear()

    # The selected points

    @Slot()
    def _follow(self) -> None:
        chosen = self.timeline.selected
        newest = chosen[0] if chosen else None
        one = newest if len(chosen) == 1 else None
        said = ""
        if one is not None:
            said = history_words.facts(one, folder=self.timeline.folder)
        elif newest is not None:
            said = self.tr("From {old} to {new}").format(
                old=history_words.point_line(chosen[1]), new=history_words.point_line(newest)
            )
        self.facts.say(said)
        self.against.setEnabled(one is not None)
        self.pages.setTabEnabled(CONTENT, one is not None)
        self.pages.setTabEnabled(LINES, one is not None)
        self.restore.setEnabled(one is not None)
        self.restore.say(
            self.tr("&Restore it…") if one is not None and one.gone else self.tr("&Restore…"),
            self.tr("Bring back what stood there then; you see first what would change"),
        )
        inside = self.pages.currentIndex() == CONTENT and self.content.current is not None
        self.restore_one.setVisible(self.timeline.folder)
        self.restore_one.setEnabled(one is not None and inside)
        page = {CHANGES: self.changes, CONTENT: self.content}.get(self.pages.currentIndex())
        self.open_file.setVisible(self.timeline.folder)
        self.open_file.setEnabled(page is not None and page.current is not None)
        self.show_run.setVisible(self.pages.currentIndex() != LINES)  # each line leads to its own
        self.show_run.setEnabled(one is not None and one.run_number is not None)

    @Slot()
    def _show_page(self) -> None:
        """Read what the current page shows of the selected points."""
        desk, target, chosen = self.timeline.desk, self.timeline.target, self.timeline.selected
        self._follow()
        if desk is None or target is None or not chosen:
            self._compared = self._content = None
            self.changes.show_files((), "", listed=False)
            self.content.show_files((), "", listed=False)
            return
        page = self.pages.currentIndex() if len(chosen) == 1 else CHANGES
        if page == CHANGES:
            self._compare(desk, *self._states(desk, target, chosen))
        elif page == CONTENT:
            self._list_content(desk, standing(chosen[0]))
        else:
            self._blame(desk, target, chosen[0])

    def _states(
        self, desk: TimelineDesk, target: Target, chosen: tuple[TimelinePoint, ...]
    ) -> tuple[State, State]:
        if len(chosen) == 2:
            return chosen[1].after, chosen[0].after
        if self.against.currentData() == "now":
            return chosen[0].after, desk.now(target)
        return chosen[0].before, chosen[0].after

    def _compare(self, desk: TimelineDesk, old: State, new: State) -> None:
        def work(control: JobControl) -> Comparison:
            return desk.compare(old, new, check=control.check)

        self._submit("compare two points", "history page", work, self._on_compared)

    def _on_compared(self, comparison: Comparison) -> None:
        self._compared = comparison
        rows = [FileRow(file.inner, file.path, history_words.verb(file.verb)) for file in comparison.files]
        several = self.timeline.folder and bool(rows)
        note = history_words.compared(comparison) if self.timeline.folder or not rows else ""
        self.changes.show_files(rows, note, listed=several)
        self._follow()

    @Slot(str)
    def _read_difference(self, inner: str) -> None:
        desk, comparison = self.timeline.desk, self._compared
        file = next((each for each in comparison.files if each.inner == inner), None) if comparison else None
        if desk is None or comparison is None or file is None:
            return

        def work(_control: JobControl) -> str:
            return desk.difference(comparison, file)

        self._submit("read a difference", "history text", work, self.diff.show_diff)

    def _list_content(self, desk: TimelineDesk, state: State) -> None:
        def work(control: JobControl) -> tuple[State, tuple[str, ...]]:
            return state, tuple(desk.files(state, check=control.check))

        self._submit("list what stood there", "history page", work, self._on_content)

    def _on_content(self, found: tuple[State, tuple[str, ...]]) -> None:
        self._content, inners = found
        desk = self.timeline.desk
        if desk is None:
            return
        rows = [FileRow(inner, desk.path_of(self._content, inner)) for inner in sorted(inners)]
        note = words.notes(len(rows)) if self.timeline.folder else ""
        self.content.show_files(rows, note, listed=self.timeline.folder)
        self._follow()

    @Slot(str)
    def _read_text(self, inner: str) -> None:
        desk, state = self.timeline.desk, self._content
        if desk is None or state is None:
            return

        def work(_control: JobControl) -> bytes | None:
            return desk.read(state, inner)

        self._submit("read a version", "history text", work, self.text.show_bytes)

    def _blame(self, desk: TimelineDesk, target: Target, point: TimelinePoint) -> None:
        def work(control: JobControl) -> BlameView:
            return desk.blame(target, point, check=control.check)

        self._submit("tell who brought each line", "history page", work, self.lines.show_blame)

    # Going elsewhere

    @Slot(object)
    def _go_to(self, point: TimelinePoint) -> None:
        """Show a change."""
        self.pages.setCurrentIndex(CHANGES)
        self.timeline.go_to(point.id)

    @Slot(str)
    def _open_inside(self, inner: str) -> None:
        """The history of one file of the folder that is shown, there or gone."""
        desk, place = self.timeline.desk, self._place
        state = self._content
        if self.pages.currentIndex() == CHANGES and self._compared is not None:
            gone = any(file.inner == inner and file.verb == "delete" for file in self._compared.files)
            state = self._compared.old if gone else self._compared.new
        if desk is None or place is None or state is None or not inner:
            return
        self._trail.append(place[2])
        self._show(place[0], place[1], desk.path_of(state, inner))

    @Slot()
    def _open_current(self) -> None:
        pane = self.content if self.pages.currentIndex() == CONTENT else self.changes
        if pane.current is not None:
            self._open_inside(pane.current.inner)

    @Slot()
    def _go_back(self) -> None:
        if self._trail and self._place is not None:
            self._show(self._place[0], self._place[1], self._trail.pop())

    @Slot()
    def _on_show_run(self) -> None:
        chosen = self.timeline.selected
        if len(chosen) == 1 and chosen[0].run_id is not None:
            self.run_wanted.emit(chosen[0].run_id)

    @Slot()
    def _plan_all(self) -> None:
        self._plan(None)

    @Slot()
    def _plan_one(self) -> None:
        row = self.content.current
        if row is not None:
            self._plan(row.inner)

    def _plan(self, inner: str | None) -> None:
        desk, target, chosen = self.timeline.desk, self.timeline.target, self.timeline.selected
        if desk is None or target is None or len(chosen) != 1:
            return
        state, when = standing(chosen[0]), words.when(chosen[0].at_ms)

        def work(control: JobControl) -> RestorePlan:
            wanted, of = (target, state) if inner is None else desk.inside(target, state, inner)
            return desk.plan(wanted, of, check=control.check)

        def done(plan: RestorePlan) -> None:
            self.planned.emit(plan, when)

        self._submit("plan a restore", "history plan", work, done)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        wide = event.size().width() >= SIDE_BY_SIDE
        orientation = Qt.Orientation.Horizontal if wide else Qt.Orientation.Vertical
        if self.splitter.orientation() != orientation:
            self.splitter.setOrientation(orientation)
            self.splitter.setSizes([300, 780] if wide else [200, 400])


def standing(point: TimelinePoint) -> State:
    """What stood there at a point; where it went away, what stood there just before."""
    return point.before if point.gone else point.after


def _padded(pane: QWidget) -> QWidget:
    around = QWidget()
    column = QVBoxLayout(around)
    column.setContentsMargins(UNIT, UNIT, UNIT, UNIT)
    column.addWidget(pane)
    return around
