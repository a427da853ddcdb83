"""The history of one file, folder or scope: at the left its points in time, at the right what the selected
one changed, what stood there then, and who brought each line. Stays open beside the window.

Everything is read in jobs on the history lane, so it waits for what the history is just taking in. Restoring
and showing a run are asked for by signal. Threading: GUI thread.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractListModel, QItemSelectionModel, QModelIndex, QObject, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QListView,
    QListWidgetItem,
    QWidget,
)

from reverie.agents.scopes import Scope
from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.memory.paths import ROOT
from reverie.ui import display_text
from reverie.ui.appearance import UNIT, Icons
from reverie.ui.display_text import age, as_tooltip, visible
from reverie.ui.editor.control import EditorControl
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.memory import history_pages as history_words
from reverie.ui.memory.edits import Edits, SideControl
from reverie.ui.memory.history_pages import CHANGES, CONTENT, LINES, HistoryPages, PaneReader, standing
from reverie.ui.session import HomeSession
from reverie.ui.translation import counted
from reverie.ui.tree.memory_tree import CompanionData, parse_shown, path_of
from reverie.ui.tree.node_model import AnyIndex
from reverie.ui.tree.view import MemoryTreeView
from reverie.ui.widgets.controls import FitPushButton, WrapLabel, embolden
from reverie.ui.widgets.frames import SideWindow
from reverie.ui.widgets.layouts import FlowLayout, Panes, column, pane, row_of
from reverie.ui.widgets.lists import TwoLineDelegate, TwoLines, two_line_list
from reverie.ui.widgets.message_bar import MessageBar

if TYPE_CHECKING:
    from reverie.agents.scopes import ScopeContext
    from reverie.services.timeline import (
        RestorePlan,
        TimelinePage,
        TimelinePoint,
        TimelineService,
        TimelineTarget,
        Who,
    )
    from reverie.services.views import Undo
    from reverie.services.workbench import Workbench


# The list of a timeline's points, newest first. It asks for more when somebody scrolls down to its end.
#
# Shows what it is given; reads nothing. Only the rows in sight are drawn, so length costs nothing.


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
                age(self._now(), point.at_ms),
                quiet=point.gone,
            )
        if role == Qt.ItemDataRole.DisplayRole:
            return history_words.point_line(point)
        if role == Qt.ItemDataRole.ToolTipRole:
            said = history_words.what(point, folder=self._folder)
            return as_tooltip(history_words.point_line(point), said, point.subject, point.notes)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            what = history_words.what(point, folder=self._folder)
            return f"{history_words.who(point)}, {age(self._now(), point.at_ms)}, {what}"
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


# The left half of the history window: whose changes, and the points in time, read page by page.
#
# Reads in jobs; what the history takes in while it is shown comes on top, the rest stays where it is. A
# point that somebody wants to see is looked for further back until it is there.


_FIRST_PAGE = 100
_POINTS = "history points"

_Found = tuple["TimelineService", "TimelineTarget", "TimelinePage", bool]


class TimelinePane(QWidget):
    """`chosen()`: other points are selected. `came()`: reading worked."""

    chosen = Signal()
    came = Signal()

    def __init__(self, lane: Lane, now: Callable[[], int], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.reader = PaneReader(lane, self)
        self._place: tuple[Workbench, ScopeContext, str] | None = None
        self._page: TimelinePage | None = None
        self._head = ""
        self._wanted = ""
        self.desk: TimelineService | None = None
        self.target: TimelineTarget | None = None
        self.folder = False
        self.who = QComboBox()
        self.who.setAccessibleName(self.tr("Whose changes"))
        self.who.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.who.setMinimumContentsLength(12)
        for key, name in history_words.who_names():
            self.who.addItem(name, key)
        self.none = WrapLabel()
        self.none.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.points = PointList(now)
        column(self, self.who, self.none, self.points, grows=self.points, margin=0, gap=UNIT)
        self.none.hide()
        self.who.currentIndexChanged.connect(self._read)
        self.points.chosen.connect(self.chosen)
        self.points.timeline.more_wanted.connect(self._read_more)

    @property
    def is_read(self) -> bool:
        """Nothing is being read any more."""
        return self._page is not None and not self.reader.busy

    @property
    def selected(self) -> tuple[TimelinePoint, ...]:
        return self.points.selected

    def show_path(self, workbench: Workbench, context: ScopeContext, path: str) -> None:
        """Another file, folder or scope, from its newest point."""
        self._place = (workbench, context, path)
        self.reader.drop("history new")
        self.desk = self.target = self._page = None
        self._wanted = ""
        self.who.blockSignals(True)
        self.who.setCurrentIndex(0)
        self.who.blockSignals(False)
        self.points.show_points((), folder=False, more=False)
        self._read()

    @Slot()
    def follow(self) -> None:
        """The history may have taken something in."""
        desk, target, head, who = self.desk, self.target, self._head, self._whose
        if desk is None or target is None:
            self._read()
            return

        self.reader.read(
            "read what is new in a history",
            "history new",
            ask(desk.newer, target, head, who=who),
            self._on_newer,
        )

    def go_to(self, point_id: str) -> None:
        """Select a point; further pages are read until it is there."""
        self._wanted = ""
        if self.points.select_point(point_id):
            self.points.setFocus()
        elif self._page is not None and self._page.next is not None:
            self._wanted = point_id
            self._read_more()
        elif self._whose:
            self._wanted = point_id
            self.who.setCurrentIndex(0)

    @property
    def _whose(self) -> tuple[Who, ...]:
        who = self.who.currentData()
        return (who,) if who else ()

    @Slot()
    def _read(self) -> None:
        if self._place is None:
            return
        workbench, context, path = self._place
        who = self._whose

        async def work(_control: JobControl) -> _Found:
            desk = workbench.timeline
            target = await ask(desk.target, context, path)
            return (
                desk,
                target,
                await ask(desk.page, target, who=who, limit=_FIRST_PAGE),
                await ask(desk.is_folder, target),
            )

        self.reader.read("read a history", _POINTS, work, self._on_read)

    def _on_read(self, found: _Found) -> None:
        self.desk, self.target, page, self.folder = found
        self._page, self._head = page, page.head
        self.came.emit()
        self.points.show_points(page.points, folder=self.folder, more=page.next is not None)
        self._go_on(page)

    @Slot()
    def _read_more(self) -> None:
        desk, target, page, who = self.desk, self.target, self._page, self._whose
        if desk is None or target is None or page is None or page.next is None:
            return
        start = page.next

        self.reader.read(
            "read more of a history", _POINTS, ask(desk.page, target, start, who=who), self._on_more
        )

    def _on_more(self, page: TimelinePage) -> None:
        self._page = page
        first = not self.points.timeline.points
        self.points.timeline.add(page.points, more=page.next is not None)
        if first and page.points:
            self.points.select_rows([0])
        self._go_on(page)

    def _go_on(self, page: TimelinePage) -> None:
        """There is more to read while nothing is shown, or while a point is looked for."""
        self._say_none()
        if self._wanted:
            self.go_to(self._wanted)
        elif not page.points and page.next is not None:
            self._read_more()

    def _on_newer(self, page: TimelinePage | None) -> None:
        if page is None:
            self._read()
            return
        self._head = page.head
        if page.points:
            self.points.add_newer(page.points)
            self._say_none()

    def _say_none(self) -> None:
        empty = not self.points.timeline.points
        if self._page is not None and self._page.next is not None:
            said = self.tr("Looking further back…")
        elif self._whose:
            said = self.tr("Nobody of these changed it.")
        else:
            said = self.tr("The history holds nothing of it yet.")
        self.none.say(said)
        self.none.setVisible(empty)
        self.points.setVisible(not empty)


SIDE_BY_SIDE = 700


class HistoryWindow(SideWindow):
    """`planned(RestorePlan, str)`: a restore is wanted, and which moment it is in words. `run_wanted(str)`:
    show this run."""

    planned = Signal(object, str)
    run_wanted = Signal(str)

    def __init__(
        self, lane: Lane, icons: Icons, now: Callable[[], int], parent: QWidget | None = None
    ) -> None:
        super().__init__(icons, "history-message", parent, closable=False)
        self._place: tuple[Workbench, ScopeContext, str] | None = None
        self._trail: list[str] = []  # from where one came, the last one last
        self._in_trouble = False  # the message is about reading, and goes when it can be read again
        self._plans = PaneReader(lane, self)
        self.setWindowTitle(self.tr("History"))
        self.back = FitPushButton(self.tr("&Back"))
        self.title = WrapLabel()
        self.timeline = TimelinePane(lane, now)
        self.facts = WrapLabel()
        self.pages = HistoryPages(lane, now)
        self.restore = FitPushButton(self.tr("&Restore…"))
        self.restore_one = FitPushButton(self.tr("Restore &only this file…"))
        self.open_file = FitPushButton(self.tr("&History of this file"))
        self.show_run = FitPushButton(self.tr("Show the r&un"))
        self._arrange()
        self._connect()
        self.resize(1080, 640)
        self._follow()

    def _arrange(self) -> None:
        embolden(self.title)
        head = row_of(self.back, self.title, grows=self.title)
        row = FlowLayout(self.restore, self.restore_one, self.open_file, self.show_run)
        right = pane(self.facts, self.message, self.pages, row, grows=self.pages)
        close = self.lay_out(
            Panes(self.timeline, right, beside_from=SIDE_BY_SIDE, sizes=(300, 780), below=(200, 400)), head
        )
        own = (self.back, self.restore, self.restore_one, self.open_file, self.show_run)
        for each in (*own, close):
            each.setAutoDefault(False)  # Enter in a list is not for a button
        self._order(close)

    def _order(self, close: QWidget) -> None:
        """Tab goes as one reads."""
        pages = self.pages
        order = (
            *(self.back, self.timeline.who, self.timeline.points),
            *(pages, pages.against, pages.changes.list, pages.diff, pages.content.list, pages.text),
            *(pages.lines.table, pages.lines.to_point, pages.lines.to_run),
            *(self.restore, self.restore_one, self.open_file, self.show_run, close),
        )
        for one, following in itertools.pairwise(order):
            QWidget.setTabOrder(one, following)

    def _connect(self) -> None:
        self.timeline.chosen.connect(self._on_chosen)
        self.timeline.came.connect(self._on_came)
        for reader in (self.timeline.reader, self.pages.reader, self._plans):
            reader.failed.connect(self._on_failed)
        self.pages.changed.connect(self._follow)
        self.pages.opened.connect(self._open)
        self.pages.lines.point_wanted.connect(self._go_to)
        self.pages.lines.run_wanted.connect(self.run_wanted)
        self.open_file.clicked.connect(self.pages.open_file)
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

    def follow(self) -> None:
        """What is new comes on top."""
        self.timeline.follow()
        self.pages.follow()

    @property
    def is_read(self) -> bool:
        """Nothing is being read any more."""
        return self.timeline.is_read and not self.pages.reader.busy and not self._plans.busy

    @Slot(object)
    def _on_failed(self, error: UserError) -> None:
        self._in_trouble = True
        self.message.say_error(error)

    @Slot()
    def _on_came(self) -> None:
        """A timeline was read."""
        if self._in_trouble:
            self._in_trouble = False
            self.message.clear()

    @Slot()
    def _on_chosen(self) -> None:
        timeline = self.timeline
        self.pages.show_points(timeline.desk, timeline.target, timeline.selected, folder=timeline.folder)

    @Slot()
    def _follow(self) -> None:
        """Words and buttons follow what is selected."""
        chosen, folder, page = self.timeline.selected, self.timeline.folder, self.pages.currentIndex()
        one = chosen[0] if len(chosen) == 1 else None
        said = ""
        if one is not None:
            said = history_words.facts(one, folder=folder)
        elif chosen:
            old, new = history_words.point_line(chosen[-1]), history_words.point_line(chosen[0])
            said = self.tr("From {old} to {new}").format(old=old, new=new)
        self.facts.say(said)
        self.restore.setEnabled(one is not None)
        self.restore.say(
            self.tr("&Restore it…") if one is not None and one.gone else self.tr("&Restore…"),
            self.tr("Bring back what stood there then; you see first what would change"),
        )
        self.restore_one.setVisible(folder)
        self.restore_one.setEnabled(one is not None and page == CONTENT and self.pages.file is not None)
        self.open_file.setVisible(folder)
        self.open_file.setEnabled(self.pages.file is not None)
        self.show_run.setVisible(page != LINES)  # there each line leads to its own
        self.show_run.setEnabled(one is not None and one.run_number is not None)

    # Going elsewhere

    @Slot(object)
    def _go_to(self, point: TimelinePoint) -> None:
        """Show a change."""
        self.pages.setCurrentIndex(CHANGES)
        self.timeline.go_to(point.id)

    @Slot(str)
    def _open(self, path: str) -> None:
        """The history of one file of the folder that is shown."""
        if self._place is not None:
            self._trail.append(self._place[2])
            self._show(self._place[0], self._place[1], path)

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
        if self.pages.file is not None:
            self._plan(self.pages.file.inner)

    def _plan(self, inner: str | None) -> None:
        desk, target, chosen = self.timeline.desk, self.timeline.target, self.timeline.selected
        if desk is None or target is None or len(chosen) != 1:
            return
        state, when = standing(chosen[0]), display_text.when(chosen[0].at_ms)

        async def work(control: JobControl) -> RestorePlan:
            wanted, of = (target, state) if inner is None else await ask(desk.inside, target, state, inner)
            return await ask(desk.plan, wanted, of)

        def done(plan: RestorePlan) -> None:
            self.planned.emit(plan, when)

        self._plans.read("plan a restore", "history plan", work, done)


# What bringing a point back would change, before anything is changed: counts, every file, and whether what
# came since shall go. `wanted(RestorePlan, bool)` asks for it; somebody else does it.


MOST_ROWS = 1_000


class RestoreDialog(QDialog):
    """Made for one plan; closes itself once it was agreed to."""

    wanted = Signal(object, bool)

    def __init__(self, plan: RestorePlan, when: str, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Restore"))
        self.plan = plan
        head = WrapLabel(self.tr("{path} as it was on {when}").format(path=plan.path, when=when))
        embolden(head)
        self.summary = WrapLabel(history_words.planned(plan))
        self.refused = MessageBar(icons, "restore-refused", closable=False)
        self.list = two_line_list(self.tr("What would change"))
        delete = counted(
            "Also &delete 1 file that came since",
            "Also &delete %n files that came since",
            len(plan.newer),
        )
        self.newer = QCheckBox(delete)
        self.newer.setToolTip(self.tr("They stay in the history and can be brought back"))
        self.newer.toggled.connect(self._follow)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.agree = self.buttons.addButton(self.tr("&Restore"), QDialogButtonBox.ButtonRole.AcceptRole)
        self.agree.setIcon(icons.icon("undo"))
        self.agree.setToolTip(self.tr("Write this; it can be undone"))
        self.buttons.accepted.connect(self._on_agreed)
        self.buttons.rejected.connect(self.reject)
        outer = column(
            self, head, self.summary, self.refused, self.list, self.newer, self.buttons, grows=self.list
        )
        self.newer.setVisible(bool(plan.newer))
        listed = bool(plan.files or plan.newer)
        self.list.setVisible(listed)
        outer.addStretch(0 if listed else 1)
        self.resize(560, 420 if listed else 140)
        self._say_refused()
        self._follow()

    def _say_refused(self) -> None:
        if not self.plan.refused:
            self.refused.clear()
            return
        path, why = self.plan.refused[0]
        count = len(self.plan.refused)
        said = self.tr("{path} cannot be brought back: {why}").format(path=visible(path), why=visible(why))
        if count > 1:
            said += " " + counted("So for 1 more.", "So for %n more.", count - 1)
        self.refused.say(said, tone="warn")

    @Slot()
    def _follow(self) -> None:
        """The list and the button follow the tick."""
        shown = [*self.plan.files, *(self.plan.newer if self.newer.isChecked() else ())]
        self.list.clear()
        for file in shown[:MOST_ROWS]:
            folder, _, name = file.path.rpartition("/")
            said = {
                "create": self.tr("comes back"),
                "change": self.tr("gets its text of then"),
                "delete": self.tr("goes"),
            }[file.verb]
            item = QListWidgetItem(f"{visible(file.path)} {said}")
            item.setData(TwoLineDelegate.ROLE, TwoLines(visible(name), visible(folder), said))
            item.setToolTip(as_tooltip(file.path, said))
            self.list.addItem(item)
        if len(shown) > MOST_ROWS:
            self.list.addItem(self.tr("… and {n} more").format(n=len(shown) - MOST_ROWS))
        self.agree.setEnabled(bool(shown))

    @Slot()
    def _on_agreed(self) -> None:
        self.wanted.emit(self.plan, self.newer.isChecked())
        self.accept()


class HistoryControl(SideControl[HistoryWindow]):
    """The history of the shown home: of what, restoring, and the way to a run (`run_wanted(run id)`)."""

    run_wanted = Signal(str)

    def __init__(
        self,
        edits: Edits,
        tree: MemoryTreeView,
        editor: EditorControl,
        lane: Lane,
        icons: Icons,
        now: Callable[[], int],
        owner: QWidget,
    ) -> None:
        super().__init__(edits, icons, owner)
        self._tree = tree
        self._editor = editor
        self._lane = lane
        self._now = now
        self.dialog: RestoreDialog | None = None

    def set_session(self, session: HomeSession | None) -> None:
        self._close_dialog()
        super().set_session(session)

    @Slot()
    def show(self) -> None:
        """The history of the selected row; without one that of the open memory, else of the global scope."""
        row = self._tree.current_data()
        beside = str(row.companion.path) if isinstance(row, CompanionData) else ""
        self.show_path(beside or path_of(row) or self._open_path() or _global())

    def show_path(self, path: str, context: ScopeContext | None = None) -> None:
        """The history of a memory path, there or gone, or of a companion's file; in the context that is shown
        unless another is given."""
        session = self._session
        context = context or (session.context if session is not None else None)
        if session is None or context is None:
            return
        self.open().show_path(session.workbench, context, path)

    def _open_path(self) -> str:
        file = self._editor.file
        path = file.buffer.address.path if file is not None else ""
        return path if parse_shown(path) is not None else ""

    def make(self) -> HistoryWindow:
        window = HistoryWindow(self._lane, self._icons, self._now, self._owner)
        window.run_wanted.connect(self.run_wanted)
        window.planned.connect(self._on_planned)
        return window

    @Slot()
    def update_ages(self) -> None:
        """Paint the times again: they say how long ago something was."""
        if self.window is not None:
            self.window.timeline.points.viewport().update()

    # Restoring

    @Slot(object, str)
    def _on_planned(self, plan: RestorePlan, when: str) -> None:
        self._close_dialog()
        self.dialog = RestoreDialog(plan, when, self._icons, self.window)
        self.dialog.wanted.connect(self._restore)
        self.dialog.finished.connect(self._on_dialog_gone)
        self.dialog.open()

    @Slot()
    def _on_dialog_gone(self) -> None:
        self.dialog = None

    def _close_dialog(self) -> None:
        if self.dialog is not None:
            self.dialog.reject()

    @Slot(object, bool)
    def _restore(self, plan: RestorePlan, remove_newer: bool) -> None:
        session = self._session
        if session is None:
            return
        workbench = session.workbench

        work = ask(workbench.restore, plan, remove_newer=remove_newer)

        self._edits.apply(session, "restore", work, self._on_restored, self.say_failed)

    def _on_restored(self, undo: Undo) -> None:
        self.say_done(undo, counted("1 file was restored.", "%n files were restored.", undo.count))

    @property
    def too_late(self) -> str:
        return self.tr("Other changes came after it: undo those first, or restore another point.")


def _global() -> str:
    return f"{ROOT}/{Scope.GLOBAL.value}"
