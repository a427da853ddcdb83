"""The part of the tour that shows the history: of the whole global scope, of one memory, who brought each
line, and what a restore would change. Nothing is restored."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QApplication, QWidget

from reverie.ui.main_window import MainWindow
from reverie.ui.memory.history.pages import CHANGES, LINES
from reverie.ui.theme import dark_palette

Picture = Callable[[str, QWidget | None], None]
Wait = Callable[[str, Callable[[], bool]], None]


def show_history(window: MainWindow, picture: Picture, wait: Wait, narrow: tuple[int, int]) -> None:
    """Walk through the window; a home without any change shows its beginning."""
    control = window.tab.history
    control.show_path("/memories/project")
    shown = control.window
    if shown is None:
        return
    wait("the history", lambda: shown.is_read)
    picture("21-history", shown)
    light = QApplication.palette()
    QApplication.setPalette(dark_palette())
    picture("22-history-dark", shown)
    QApplication.setPalette(light)
    compared = shown.pages.compared
    changed = compared.files if compared is not None else ()
    there = [file.path for file in changed if file.verb != "delete"]
    points = shown.timeline.points
    points.select_rows([len(points.timeline.points) - 1])  # the beginning: everything since is in the plan
    shown.restore.click()
    wait("the plan", lambda: control.dialog is not None)
    if control.dialog is not None:
        picture("23-restore", control.dialog)
        control.dialog.reject()
    if there:
        control.show_path(there[0])
        wait("the history of a memory", lambda: shown.is_read)
        shown.pages.setCurrentIndex(LINES)
        wait("the lines", lambda: shown.is_read)
        picture("24-history-lines", shown)
        shown.pages.setCurrentIndex(CHANGES)
    size = shown.size()
    shown.resize(*narrow)
    wait("the change", lambda: shown.is_read)
    picture("25-history-narrow", shown)
    shown.resize(size)
    shown.close()
