"""The history of one file, folder or scope: at the left its points in time, at the right what the selected
one changed, what stood there then, and who brought each line. Stays open beside the window.

One selected point is compared with the version before it or with what is there now, two with each other.
Everything is read in jobs on the history lane, so it waits for what the history is just taking in. Restoring
and showing a run are asked for by signal.

Threading: GUI thread. An answer that nobody waits for any more (another point, another target) is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
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
from reverie.ui.memory.history.points import PointList
from reverie.ui.memory.history.text_view import TextView
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
        TimelinePage,
        TimelinePoint,
        Who,
    )
    from reverie.services.workbench import Workbench

SIDE_BY_SIDE = 700
KEPT_AT_MOST = 1_000
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
        self._desk: TimelineDesk | None = None
        self._target: Target | None = None
        self._place: tuple[Workbench, ScopeContext, str] | None = None
        self._page: TimelinePage | None = None
        self._folder = False
        self._compared: Comparison | None = None
        self._content: State | None = None
        self._wanted_point = ""
        self._reading = 0
        self._in_trouble = False  # the message is about reading, and goes when it can be read again
        self.setWindowTitle(self.tr("History"))
        self.title = WrapLabel()
        self.who = QComboBox()
        self.points = PointList(now)
        self.none = WrapLabel()
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
        self.restore.setIcon(icons.icon("undo"))
        self.restore_one = FitPushButton(self.tr("Restore &only this file…"))
        self.show_run = FitPushButton(self.tr("Show the &run"))
        self._lay_out()
        self._connect()
        self.resize(1080, 640)

    def _lay_out(self) -> None:
        font = self.title.font()
        font.setBold(True)
        self.title.setFont(font)
        self.who.setAccessibleName(self.tr("Whose changes"))
        for key, name in history_words.who_names():
            self.who.addItem(name, key)
        self.against.setAccessibleName(self.tr("Compare with"))
        self.against.addItem(self.tr("Compare with the version before"), "before")
        self.against.addItem(self.tr("Compare with what is there now"), "now")
        for box in (self.who, self.against):
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            box.setMinimumContentsLength(12)
        self.none.setAlignment(Qt.AlignmentFlag.AlignCenter)
        left = QWidget()
        column = QVBoxLayout(left)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        for widget in (self.who, self.none):
            column.addWidget(widget)
        column.addWidget(self.points, 1)
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
        for button in (self.restore, self.restore_one, self.show_run):
            row.addWidget(button)
        column.addLayout(row)
        self.splitter = QSplitter()
        self.splitter.addWidget(left)
        self.splitter.addWidget(right)
        self.splitter.setStretchFactor(1, 1)
        self.splitter.setSizes([300, 780])
        self.splitter.setChildrenCollapsible(False)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        outer.setSpacing(GAP)
        outer.addWidget(self.title)
        outer.addWidget(self.splitter, 1)
        outer.addWidget(buttons)
        self.none.hide()

    def _connect(self) -> None:
        self.who.currentIndexChanged.connect(self._read_points)
        self.against.currentIndexChanged.connect(self._show_page)
        self.points.chosen.connect(self._on_chosen)
        self.points.timeline.more_wanted.connect(self._read_more)
        self.pages.currentChanged.connect(self._show_page)
        self.changes.picked.connect(self._read_difference)
        self.content.picked.connect(self._read_text)
        self.content.picked.connect(self._follow)
        self.lines.point_wanted.connect(self._go_to)
        self.lines.run_wanted.connect(self.run_wanted)
        self.restore.clicked.connect(self._plan_all)
        self.restore_one.clicked.connect(self._plan_one)
        self.show_run.clicked.connect(self._on_show_run)

    # What is shown

    def show_path(self, workbench: Workbench, context: ScopeContext, path: str) -> None:
        """Another file, folder or scope."""
        self._place = (workbench, context, path)
        self._desk = self._target = self._page = None
        self._wanted_point = ""
        self.title.say(path)
        self.setWindowTitle(self.tr("History of {path}").format(path=path.rpartition("/")[2]))
        self.message.clear()
        self.who.blockSignals(True)
        self.who.setCurrentIndex(0)
        self.who.blockSignals(False)
        self.points.show_points((), folder=False, more=False)
        self._read_points()

    @Slot()
    def follow(self) -> None:
        """The history took something in: what is new comes on top."""
        if self.isVisible() and self._place is not None:
            self._read_points()

    @property
    def is_read(self) -> bool:
        """Nothing is being read any more."""
        return self._place is not None and self._page is not None and self._reading == 0

    @property
    def compared(self) -> Comparison | None:
        """What is compared now."""
        return self._compared

    @property
    def _chosen_who(self) -> tuple[Who, ...]:
        who = self.who.currentData()
        return (who,) if who else ()

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
            self._in_trouble = True
            self.message.say_error(error)

        def cancelled() -> None:
            self._reading -= 1

        self._lane.submit(
            name, work, done=ended, failed=failed, cancelled=cancelled, group=f"{group} {id(self)}"
        )

    @Slot()
    def _read_points(self) -> None:
        if self._place is None:
            return
        workbench, context, path = self._place
        who, limit = self._chosen_who, max(100, min(len(self.points.timeline.points), KEPT_AT_MOST))

        def work(_control: JobControl) -> tuple[TimelineDesk, Target, TimelinePage, bool]:
            desk = workbench.timeline
            target = desk.target(context, path)
            return desk, target, desk.page(target, who=who, limit=limit), desk.is_folder(target)

        self._submit("read a history", "history points", work, self._on_points)

    def _on_points(self, found: tuple[TimelineDesk, Target, TimelinePage, bool]) -> None:
        self._desk, self._target, self._page, folder = found
        self._folder = folder
        self.pages.setTabVisible(LINES, not folder)
        if self._in_trouble:
            self._in_trouble = False
            self.message.clear()
        self.points.show_points(self._page.points, folder=folder, more=self._page.next is not None)
        self._say_none()
        if not self._page.points and self._page.next is not None:
            self._read_more()

    @Slot()
    def _read_more(self) -> None:
        desk, target, page, who = self._desk, self._target, self._page, self._chosen_who
        if desk is None or target is None or page is None or page.next is None:
            return
        start = page.next

        def work(_control: JobControl) -> TimelinePage:
            return desk.page(target, start, who=who)

        self._submit("read more of a history", "history points", work, self._on_more)

    def _on_more(self, page: TimelinePage) -> None:
        self._page = page
        first = not self.points.timeline.points
        self.points.timeline.add(page.points, more=page.next is not None)
        if first and page.points:
            self.points.select_rows([0])
        if self._wanted_point:
            self._go_on(self._wanted_point)
        elif not page.points and page.next is not None:
            self._read_more()
        self._say_none()

    def _say_none(self) -> None:
        empty = not self.points.timeline.points
        reading = self._page is not None and self._page.next is not None
        filtered = bool(self._chosen_who)
        self.none.say(
            self.tr("Looking further back…")
            if reading
            else self.tr("Nobody of these changed it.")
            if filtered
            else self.tr("The history holds nothing of it yet.")
        )
        self.none.setVisible(empty)
        self.points.setVisible(not empty)

    # The selected points

    @Slot()
    def _on_chosen(self) -> None:
        self._follow()
        self._show_page()

    @Slot()
    def _follow(self) -> None:
        chosen = self.points.selected
        newest = chosen[0] if chosen else None
        one = newest if len(chosen) == 1 else None
        said = ""
        if one is not None:
            what = history_words.what(one, folder=self._folder)
            said = " · ".join(part for part in (history_words.point_line(one), what, one.subject) if part)
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
        self.restore_one.setVisible(self._folder)
        self.restore_one.setEnabled(one is not None and inside)
        self.show_run.setEnabled(one is not None and one.run_number is not None)

    @Slot()
    def _show_page(self) -> None:
        """Read what the current page shows of the selected points."""
        desk, target, chosen = self._desk, self._target, self.points.selected
        if desk is None or target is None or not chosen:
            self._compared = self._content = None
            self.changes.show_files((), "", listed=False)
            self.content.show_files((), "", listed=False)
            return
        self._follow()
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
        several = self._folder and bool(rows)
        note = history_words.compared(comparison) if self._folder or not rows else ""
        self.changes.show_files(rows, note, listed=several)

    @Slot(str)
    def _read_difference(self, inner: str) -> None:
        desk, comparison = self._desk, self._compared
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
        desk = self._desk
        if desk is None:
            return
        rows = [FileRow(inner, desk.path_of(self._content, inner)) for inner in sorted(inners)]
        note = words.notes(len(rows)) if self._folder else ""
        self.content.show_files(rows, note, listed=self._folder)
        self._follow()

    @Slot(str)
    def _read_text(self, inner: str) -> None:
        desk, state = self._desk, self._content
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
        """Show a change; further pages are read until it is there."""
        self.pages.setCurrentIndex(CHANGES)
        self._go_on(point.id)

    def _go_on(self, point_id: str) -> None:
        self._wanted_point = ""
        if self.points.select_point(point_id):
            self.points.setFocus()
        elif self._page is not None and self._page.next is not None:
            self._wanted_point = point_id
            self._read_more()
        elif self._chosen_who:
            self._wanted_point = point_id
            self.who.setCurrentIndex(0)

    @Slot()
    def _on_show_run(self) -> None:
        chosen = self.points.selected
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
        desk, target, chosen = self._desk, self._target, self.points.selected
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
