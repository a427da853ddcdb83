"""The part of the tour that shows the Traces tab: the list with a verdict, both schemes, two traces compared,
the raw document, a replay about to be asked. No model is asked."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QApplication, QWidget

from reverie.ui.main_window import MainWindow
from reverie.ui.theme import dark_palette
from reverie.ui.traces.tab import TracesTab

Picture = Callable[[str, QWidget | None], None]
Wait = Callable[[str, Callable[[], bool]], None]


def show_traces(window: MainWindow, picture: Picture, wait: Wait) -> None:
    """Walk through the tab; a home without traces shows that there are none."""
    tab = window.late.traces
    window.tabs.setCurrentWidget(tab)
    wait("the traces", lambda: tab.is_settled)
    shown = tab.list.shown
    failed = next((row for row, line in enumerate(shown) if line.row.verdict == "tool-failed"), None)
    if failed is not None:
        tab.list.select(failed)
        wait("a trace", lambda: tab.is_settled)
    picture("13-traces", None)
    light = QApplication.palette()
    QApplication.setPalette(dark_palette())
    picture("14-traces-dark", None)
    QApplication.setPalette(light)
    if failed is not None:
        _look_closer(tab, failed, picture, wait)
    window.tabs.setCurrentWidget(window.tab)


def _look_closer(tab: TracesTab, failed: int, picture: Picture, wait: Wait) -> None:
    late = next((row for row, line in enumerate(tab.list.shown) if line.row.verdict == "timed-out"), None)
    if late is not None:
        tab.list.select(late, also=True)
        tab.compare_selected()
        wait("the comparison", lambda: tab.compare is not None and tab.compare.is_read)
        picture("15-traces-compare", tab.compare)
        if tab.compare is not None:
            tab.compare.close()
        tab.list.select(failed)
        wait("the trace again", lambda: tab.is_settled)
    tab.replay_shown()
    picture("16-replay", tab.replay)
    if tab.replay is not None:
        tab.replay.close()
