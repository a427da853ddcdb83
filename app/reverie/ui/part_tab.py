"""A tab of several parts: a title, a bar to choose the part, its rows, and below them what is selected; or a
page that says why there is nothing.

Rooms bring rows and words. Threading: GUI thread.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListView, QSplitter, QStackedWidget, QTabBar, QVBoxLayout, QWidget

from reverie.ui.flow import FlowLayout
from reverie.ui.icons import Icons
from reverie.ui.labels import WrapLabel, embolden
from reverie.ui.memory.bars import MessageBar
from reverie.ui.memory.heading import EmptyPage
from reverie.ui.tab_page import TabPage
from reverie.ui.theme import GAP, MARGIN, UNIT


class PartTab(TabPage):
    """Subclasses call `lay_out` once, and `turn_to` what is to be seen: `blank` at first, since nobody has
    looked, `nothing` or `page`."""

    def __init__(self, icons: Icons, name: str, sign: str, parent: QWidget | None = None) -> None:
        """`name`: of the message; `sign`: the icon of the page for nothing."""
        super().__init__(parent)
        self.title = WrapLabel()
        embolden(self.title, 1.15)
        self.message = MessageBar(icons, name)
        self.bar = QTabBar()
        self.bar.setDrawBase(False)
        self.bar.setExpanding(False)
        self.bar.setUsesScrollButtons(True)
        self.nothing = EmptyPage(icons, sign)
        self.blank, self.page = QWidget(), QWidget()
        self._pages = QStackedWidget()
        for each in (self.blank, self.nothing, self.page):
            self._pages.addWidget(each)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        # Above every page: what could not be read at the first look is said, too.
        whole.addWidget(self.message)
        whole.addWidget(self._pages, 1)

    def lay_out(
        self,
        head: Sequence[QWidget],
        below: Sequence[QWidget],
        buttons: Sequence[QWidget],
        rows: QListView,
        selected: QWidget,
        sizes: tuple[int, int],
    ) -> None:
        """`head` stands below the title, `below` and `buttons` below the bar; `sizes`: of the rows and of
        what is selected."""
        above = QVBoxLayout()
        above.setContentsMargins(MARGIN, MARGIN, MARGIN, UNIT)
        above.setSpacing(UNIT)
        for part in (self.title, *head):
            above.addWidget(part)
        under = QVBoxLayout()
        under.setContentsMargins(MARGIN, UNIT, MARGIN, UNIT)
        under.setSpacing(UNIT)
        for part in below:
            under.addWidget(part)
        row = FlowLayout(gap=GAP)
        for button in buttons:
            row.addWidget(button)
        under.addLayout(row)
        rows.setFrameShape(QListView.Shape.NoFrame)
        self.splitter = QSplitter(Qt.Orientation.Vertical)
        self.splitter.addWidget(rows)
        self.splitter.addWidget(selected)
        self.splitter.setSizes(list(sizes))
        self.splitter.setChildrenCollapsible(False)
        outer = QVBoxLayout(self.page)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.addLayout(above)
        outer.addWidget(self.bar)
        outer.addLayout(under)
        outer.addWidget(self.splitter, 1)

    def turn_to(self, page: QWidget) -> None:
        """The page below the rows: a part, or why there is none."""
        self._pages.setCurrentWidget(page)
