"""Where the parts of the window stand: the homes at the left, the tabs beside them, menus, what the watcher
does at the bottom, and in which order the Tab key visits them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QStackedWidget, QWidget

from reverie.ui.actions import MENUS
from reverie.ui.patience import WaitingLabel
from reverie.ui.shown import as_tooltip, visible
from reverie.ui.stacking import StackingSplitter
from reverie.ui.theme import GAP
from reverie.ui.translation import translated

if TYPE_CHECKING:
    from reverie.files.watch import WatchState
    from reverie.ui.main_window import MainWindow


class WatchLabel(QLabel):
    """What the watcher of the shown home does."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setContentsMargins(GAP, 0, GAP, 0)
        self.setTextFormat(Qt.TextFormat.PlainText)

    def show_state(self, state: WatchState) -> None:
        text = {
            "events": self.tr("Live"),
            "polling": self.tr("Polling"),
            "stopped": self.tr("Not watching"),
        }.get(state.mode, visible(state.mode))
        self.setText(text)
        facts = self.tr("{events} changes came by event, {rescans} by full scan.").format(
            events=state.delivered_events, rescans=state.delivered_rescans
        )
        self.setToolTip(as_tooltip(state.message, facts))


def lay_out(window: MainWindow) -> None:
    """Put the parts of a window that is being furnished in their places; `window.splitter` is made here."""
    window.tabs.setDocumentMode(True)
    window.tabs.setTabBarAutoHide(True)
    window.splitter = StackingSplitter(narrow=560, above=112)
    window.splitter.setHandleWidth(5)
    window.splitter.addWidget(window.picker)
    window.splitter.addWidget(window.tabs)
    window.splitter.setStretchFactor(1, 1)
    window.splitter.setSizes([220, 1020])
    window.splitter.setCollapsible(1, False)
    window.picker.setMinimumWidth(120)
    _put_in_place(window)
    window.waiting = WaitingLabel((window.lanes.scan, window.lanes.history), window.places)
    window.waiting.said.connect(window.say)
    window.statusBar().addPermanentWidget(window.waiting)
    window.statusBar().addPermanentWidget(window.watch_label)
    window.statusBar().setSizeGripEnabled(False)
    for key, title in MENUS:
        menu = window.menuBar().addMenu(translated(title))
        menu.setToolTipsVisible(True)
        window.actions_.fill_menu(menu, window.actions_.menu_ids(key))
    window.tab.set_actions(window.actions_)
    QWidget.setTabOrder(window.picker, window.tab.search.field)
    QWidget.setTabOrder(window.tab.search.field, window.tab.tree)
    QWidget.setTabOrder(window.tab.tree, window.tab.footer.button)
    QWidget.setTabOrder(window.tab.footer.button, window.tab.pane.text)


def _put_in_place(window: MainWindow) -> None:
    """The parts take the window's room; after a first look, once they have something to show."""
    first = window.takeCentralWidget()
    if first is None:
        window.setCentralWidget(window.splitter)
        return
    pages = QStackedWidget()
    pages.addWidget(first)
    pages.addWidget(window.splitter)
    window.setCentralWidget(pages)
    pages.show()
