"""The history of one file, folder or scope: at the left its points in time, at the right what the selected
one changed, what stood there then, and who brought each line. Stays open beside the window.

Everything is read in jobs on the history lane, so it waits for what the history is just taking in. Restoring
and showing a run are asked for by signal. Threading: GUI thread.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from reverie.errors import MendableError
from reverie.ui import words
from reverie.ui.buttons import FitPushButton
from reverie.ui.columns import pane
from reverie.ui.flow import FlowLayout
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.labels import WrapLabel, embolden
from reverie.ui.memory.history import history_words
from reverie.ui.memory.history.pages import CHANGES, CONTENT, LINES, HistoryPages, standing
from reverie.ui.memory.history.reader import Reader
from reverie.ui.memory.history.timeline_pane import TimelinePane
from reverie.ui.memory.side_window import SideWindow
from reverie.ui.panes import Panes
from reverie.ui.shown import visible
from reverie.ui.theme import GAP

if TYPE_CHECKING:
    from reverie.homes.scopes import ScopeContext
    from reverie.services.timeline_views import RestorePlan, TimelinePoint
    from reverie.services.workbench import Workbench

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
        self._plans = Reader(lane, self)
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
        head = QHBoxLayout()
        head.setSpacing(GAP)
        head.addWidget(self.back)
        head.addWidget(self.title, 1)
        row = FlowLayout(gap=GAP)
        for button in (self.restore, self.restore_one, self.open_file, self.show_run):
            row.addWidget(button)
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
    def _on_failed(self, error: MendableError) -> None:
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
        state, when = standing(chosen[0]), words.when(chosen[0].at_ms)

        def work(control: JobControl) -> RestorePlan:
            wanted, of = (target, state) if inner is None else desk.inside(target, state, inner)
            return desk.plan(wanted, of, check=control.check)

        def done(plan: RestorePlan) -> None:
            self.planned.emit(plan, when)

        self._plans.read("plan a restore", "history plan", work, done)
