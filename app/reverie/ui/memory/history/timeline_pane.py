"""The left half of the history window: whose changes, and the points in time, read page by page.

Reads in jobs; what the history takes in while it is shown comes on top, the rest stays where it is. A point
that somebody wants to see is looked for further back until it is there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QComboBox, QVBoxLayout, QWidget

from reverie.ui.jobs import JobControl, Lane
from reverie.ui.labels import WrapLabel
from reverie.ui.memory.history import history_words
from reverie.ui.memory.history.points import PointList
from reverie.ui.memory.history.reader import Reader
from reverie.ui.theme import UNIT

if TYPE_CHECKING:
    from reverie.homes.scopes import ScopeContext
    from reverie.services.timeline import TimelineDesk
    from reverie.services.timeline_views import Target, TimelinePage, TimelinePoint, Who
    from reverie.services.workbench import Workbench

_FIRST_PAGE = 100
_POINTS = "history points"

_Found = tuple["TimelineDesk", "Target", "TimelinePage", bool]


class TimelinePane(QWidget):
    """`chosen()`: other points are selected. `came()`: reading worked."""

    chosen = Signal()
    came = Signal()

    def __init__(self, lane: Lane, now: Callable[[], int], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.reader = Reader(lane, self)
        self._place: tuple[Workbench, ScopeContext, str] | None = None
        self._page: TimelinePage | None = None
        self._head = ""
        self._wanted = ""
        self.desk: TimelineDesk | None = None
        self.target: Target | None = None
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
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        column.addWidget(self.who)
        column.addWidget(self.none)
        column.addWidget(self.points, 1)
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

        def work(_control: JobControl) -> TimelinePage | None:
            return desk.newer(target, head, who=who)

        self.reader.read("read what is new in a history", "history new", work, self._on_newer)

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

        def work(_control: JobControl) -> _Found:
            desk = workbench.timeline
            target = desk.target(context, path)
            return desk, target, desk.page(target, who=who, limit=_FIRST_PAGE), desk.is_folder(target)

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

        def work(_control: JobControl) -> TimelinePage:
            return desk.page(target, start, who=who)

        self.reader.read("read more of a history", _POINTS, work, self._on_more)

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
