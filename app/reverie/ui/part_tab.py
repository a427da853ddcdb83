"""The base class of the pages Context and Failures: lists with details, in parts, read while visible.

Threading: GUI thread; a page reads on its own lane, which starts when the page is first shown. Failure: shown
in the message bar of the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QListView, QTabBar, QWidget

from reverie.errors import UserError
from reverie.ui.appearance import MARGIN, UNIT
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lane
from reverie.ui.widgets.controls import WrapLabel, embolden
from reverie.ui.widgets.layouts import FlowLayout, column, split, stacked
from reverie.ui.widgets.messages import MessageBar, Overlay
from reverie.ui.widgets.pages import EmptyPage, TabPage

if TYPE_CHECKING:
    from reverie.ui.session import HomeSession


class PartTab(TabPage):
    """A page about one home whose content has several parts, one of which the user chooses in a bar.

    It shows a heading, the bar, the list of items in the chosen part, and the selected item. A subclass calls
    `lay_out` once. It calls `turn_to` to show one of three pages: `blank` (at first), `nothing` (the reason
    why there is no content) or `page` (the content).

    Signals:
        open_wanted(str): Request to show the memory at this path in the editor.
    """

    open_wanted = Signal(str)

    def __init__(self, icons: Icons, name: str, sign: str) -> None:
        """Create the widgets.

        `name`: the name of the lane, and with `-message` the object name of the message bar. `sign`: the icon
        of the page that is shown if there is no content.
        """
        super().__init__()
        self.lane = Lane(name, self)
        self.session: HomeSession | None = None
        self.stale = True
        """Whether the content has changed since it was last requested."""
        self.title = WrapLabel()
        embolden(self.title, 1.15)
        self.message = MessageBar(icons, f"{name}-message")
        self.bar = QTabBar()
        self.bar.setDrawBase(False)
        self.bar.setExpanding(False)
        self.bar.setUsesScrollButtons(True)
        self.nothing = EmptyPage(icons, sign)
        self.blank, self.page = QWidget(), QWidget()
        self._pages = stacked(self.blank, self.nothing, self.page)
        column(self, self._pages, grows=self._pages, margin=0, gap=0)
        # The message lies over every page, so that a failed first read is shown too.
        Overlay(self._pages, self.message)

    def lay_out(
        self,
        head: Sequence[QWidget],
        below: Sequence[QWidget],
        buttons: Sequence[QWidget],
        rows: QListView,
        selected: QWidget,
        sizes: tuple[int, int],
    ) -> None:
        """Arrange the widgets of the page `page`.

        From top to bottom: the title, `head`, the bar of parts, `below`, `buttons`, the list `rows`, and
        `selected`, which shows the selected item. `sizes` are the initial heights of the last two, in pixels.
        """
        above = column(None, self.title, *head, margin=(MARGIN, MARGIN, MARGIN, UNIT), gap=UNIT)
        under = column(None, *below, FlowLayout(*buttons), margin=(MARGIN, UNIT, MARGIN, UNIT), gap=UNIT)
        rows.setFrameShape(QListView.Shape.NoFrame)
        self.splitter = split(rows, selected, sizes=sizes, upright=True)
        column(self.page, above, self.bar, under, self.splitter, grows=self.splitter, margin=0, gap=0)

    def turn_to(self, page: QWidget) -> None:
        """Show one of the pages `blank`, `nothing` and `page`."""
        self._pages.setCurrentWidget(page)

    def show_titles(self, titles: Sequence[str]) -> None:
        """Show these titles of the parts in the bar; the part that is shown stays."""
        self.bar.blockSignals(True)
        while self.bar.count() > len(titles):
            self.bar.removeTab(self.bar.count() - 1)
        while self.bar.count() < len(titles):
            self.bar.addTab("")
        for index, title in enumerate(titles):
            self.bar.setTabText(index, title)
        self.bar.blockSignals(False)

    @property
    def is_settled(self) -> bool:
        """True if the page shows the current content, so that no job is needed or running."""
        return not self.stale and not self.lane.busy

    def stop(self) -> None:
        """Stop the lane and cancel its jobs, because the window closes."""
        self.lane.stop()

    def read(self) -> None:
        """Read the content in a job and show it. To be overridden."""
        raise NotImplementedError

    @Slot()
    def note_change(self, *_change: object) -> None:
        """Read the content again, at once or when the page is next shown, because it may have changed."""
        self.stale = True
        if self.isVisible():
            self.read()

    def show_unread(self, error: UserError) -> None:
        """Show why the content could not be read; the page reads again when it is next shown."""
        self.stale = True
        self.message.say_error(error)
