"""The part of the tour that shows the background services: Activity, the Doctor, the writer's settings; and
the Context tab. The writer is switched on by the Doctor's own fix, with the rules engine, so that no model is
asked."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QApplication, QWidget

from reverie.ui.main_window import MainWindow
from reverie.ui.theme import dark_palette

Picture = Callable[[str, QWidget | None], None]
Wait = Callable[[str, Callable[[], bool]], None]


def show_services(window: MainWindow, picture: Picture, wait: Wait, narrow: tuple[int, int]) -> None:
    """Doctor and Activity, each in both schemes and narrow; then the page of the settings."""
    _doctor(window, picture, wait, narrow)
    _activity(window, picture, wait, narrow)
    _settings(window, picture, wait)
    _context(window, picture, wait, narrow)
    window.tabs.setCurrentWidget(window.tab)


def _doctor(window: MainWindow, picture: Picture, wait: Wait, narrow: tuple[int, int]) -> None:
    tab, control = window.late.services.doctor, window.late.services.doctor_control
    window.late.show_doctor()
    wait("the checks", lambda: bool(tab.findings) and not control.busy)
    _in_all_ways(window, "17-doctor", picture, wait, narrow)
    if "feature" in tab.rows.checks and tab.rows.row("feature").state == "fail":
        tab.rows.row("feature").button.click()
        wait("the writer to be on", lambda: tab.rows.row("feature").state == "pass" and not control.busy)
        wait("the services", lambda: bool(window.late.services.label.text()))


def _activity(window: MainWindow, picture: Picture, wait: Wait, narrow: tuple[int, int]) -> None:
    tab = window.late.services.activity
    window.late.show_activity()
    wait("the decisions", lambda: tab.list.rows.rowCount() > 0)
    tab.list.setCurrentIndex(tab.list.rows.index(0, 0))
    _in_all_ways(window, "18-activity", picture, wait, narrow)


def _context(window: MainWindow, picture: Picture, wait: Wait, narrow: tuple[int, int]) -> None:
    tab, control = window.late.context, window.late.context_control
    window.late.show_context()
    wait("the context", lambda: control.is_settled and tab.view is not None)
    marked = next((row for row, one in enumerate(tab.part.entries) if one.marks), 0) if tab.part else 0
    tab.list.setCurrentIndex(tab.list.rows.index(marked, 0))
    _in_all_ways(window, "20-context", picture, wait, narrow)


def _settings(window: MainWindow, picture: Picture, wait: Wait) -> None:
    control = window.settings
    window.open_settings()
    wait("the settings", lambda: control.dialog is not None and not control.busy)
    if control.dialog is not None:
        control.dialog.pages.setCurrentIndex(3)
        picture("19-system1", control.dialog)
        control.dialog.reject()


def _in_all_ways(
    window: MainWindow, name: str, picture: Picture, wait: Wait, narrow: tuple[int, int]
) -> None:
    """Light, dark, and narrow."""
    light, size = QApplication.palette(), window.size()
    picture(name, None)
    QApplication.setPalette(dark_palette())
    picture(f"{name}-dark", None)
    QApplication.setPalette(light)
    window.picker.hide()
    wait("the window to ask for less room", lambda: window.minimumSizeHint().width() <= narrow[0])
    window.resize(*narrow)
    picture(f"{name}-narrow", None)
    window.picker.show()
    window.resize(size)
