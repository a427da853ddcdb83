"""The parts of the tour outside the Memory tab: settings, traces, the background services, the context, the
palette, the shortcuts, the first start, and the window in German.

The Doctor's own fix turns the memory writer on, with the rules engine, so that no model is asked.
"""

from __future__ import annotations

from typing import cast

from PySide6.QtWidgets import QApplication

from reverie.clock import system_clock
from reverie.profile import Profile
from reverie.ui.dialogs import ShortcutSheet
from reverie.ui.icons import Icons
from reverie.ui.screenshot import is_loaded, select_a_file, shows_the_selected
from reverie.ui.settings.dialog import SettingsDialog
from reverie.ui.startup_options import StartupOptions
from reverie.ui.traces.tab import TracesTab
from reverie.ui.window.main_window import MainWindow
from reverie.ui.window.palette import Palette
from reverie.ui.window_style import AppearanceControl, WindowStyle
from tour.camera import NARROW, Camera, dark_colours


def show_settings(camera: Camera) -> None:
    """Show the first page of the settings and the page of the models."""
    dialog = _opened_settings(camera)
    if dialog is not None:
        camera.picture("9-settings", dialog)
        dialog.show_setting("models")
        camera.picture("10-models", dialog)
        dialog.reject()


def _settings_page(camera: Camera, page: str, name: str) -> None:
    """Take a picture of one page of the settings."""
    dialog = _opened_settings(camera)
    if dialog is not None:
        dialog.show_setting(page)
        camera.picture(name, dialog)
        dialog.reject()


def _opened_settings(camera: Camera) -> SettingsDialog | None:
    control = camera.window.dialogs.settings
    camera.window.dialogs.open_settings()
    camera.wait("the settings", lambda: control.dialog is not None and not control.busy)
    return control.dialog


# --- traces ---


def show_traces(camera: Camera) -> None:
    """Show the Traces tab; for a home without traces it says that there are none."""
    window = camera.window
    tab = window.lazy_tabs.traces
    window.tabs.setCurrentWidget(tab)
    camera.wait("the traces", lambda: tab.is_settled and not tab.checks.is_coming)
    if tab.list.has_none_here:
        tab.list.place.setCurrentIndex(tab.list.place.findData("all"))
        camera.wait("the traces of all homes", lambda: tab.is_settled)
    shown = tab.list.shown
    failed = next((row for row, line in enumerate(shown) if line.row.verdict == "tool-failed"), None)
    if failed is not None:
        tab.list.select(failed)
        camera.wait("a trace", lambda: tab.is_settled)
    camera.picture("13-traces")
    with dark_colours():
        camera.picture("14-traces-dark")
    if failed is not None:
        _look_closer(camera, tab, failed)
    window.tabs.setCurrentWidget(window.tab)


def _look_closer(camera: Camera, tab: TracesTab, failed: int) -> None:
    late = next((row for row, line in enumerate(tab.list.shown) if line.row.verdict == "timed-out"), None)
    if late is not None:
        tab.list.select(late, also=True)
        tab.compare_selected()
        camera.wait("the comparison", lambda: tab.compare is not None and tab.compare.is_read)
        camera.picture("15-traces-compare", tab.compare)
        if tab.compare is not None:
            tab.compare.close()
        tab.list.select(failed)
        camera.wait("the trace again", lambda: tab.is_settled)
    tab.replay_shown()
    camera.picture("16-replay", tab.replay)
    if tab.replay is not None:
        tab.replay.close()


# --- services ---


def show_services(camera: Camera) -> None:
    """Show the checks and the log, each light, dark and narrow; then the page of the settings."""
    window = camera.window
    _checks(camera)
    _log(camera)
    _settings_page(camera, "writer", "19-writer")
    _context(camera)
    window.tabs.setCurrentWidget(window.tab)


def _checks(camera: Camera) -> None:
    window = camera.window
    tab, control = window.lazy_tabs.traces.checks, window.lazy_tabs.services.checks
    window.lazy_tabs.show_checks()
    camera.wait("the checks", lambda: bool(tab.findings) and not control.busy)
    _in_all_ways(camera, "17-checks")
    if "feature" in tab.rows.checks and tab.rows.row("feature").state == "fail":
        tab.rows.row("feature").button.click()
        camera.wait(
            "the writer to be on",
            lambda: "feature" not in tab.rows.checks and not control.busy,
        )
        camera.wait("the services", lambda: bool(window.lazy_tabs.services.label.text()))


def _log(camera: Camera) -> None:
    window = camera.window
    tab = window.lazy_tabs.traces.log
    window.lazy_tabs.show_log()
    camera.wait("the log", lambda: tab.list.rows.rowCount() > 0)
    tab.list.setCurrentIndex(tab.list.rows.index(0, 0))
    _in_all_ways(camera, "18-log")


def _context(camera: Camera) -> None:
    window = camera.window
    tab = window.lazy_tabs.context
    window.lazy_tabs.show_context()
    camera.wait("the context", lambda: tab.is_settled and tab.view is not None)
    marked = next((row for row, one in enumerate(tab.part.entries) if one.marks), 0) if tab.part else 0
    tab.list.setCurrentIndex(tab.list.rows.index(marked, 0))
    _in_all_ways(camera, "20-context")
    window.tab.show_beside(None)


def _in_all_ways(camera: Camera, name: str) -> None:
    """Take the picture light, dark, and narrow."""
    camera.picture(name)
    with dark_colours():
        camera.picture(f"{name}-dark")
    with camera.narrow():
        camera.picture(f"{name}-narrow")


# --- comfort ---


def show_comfort(camera: Camera) -> None:
    """Show the palette, light and dark, the shortcuts and the settings; then German, wide and narrow."""
    _palette(camera)
    _sheet(camera)
    _settings_page(camera, "general", "49-window")
    _welcome(camera)
    _german(camera)


def _palette(camera: Camera) -> None:
    window = camera.window
    window.dialogs.show_palette()
    palette = next(each for each in window.findChildren(Palette) if each.isVisible())
    palette.field.setText("co")
    camera.picture("46-palette", palette)
    with dark_colours():
        camera.picture("47-palette-dark", palette)
    palette.close()


def _sheet(camera: Camera) -> None:
    window = camera.window
    sheet = ShortcutSheet(window.actions_.shortcuts(), window)
    sheet.show()
    camera.picture("48-shortcuts", sheet)
    sheet.close()


def _welcome(camera: Camera) -> None:
    """Show the first start of a window that has found the home of the tour."""
    window = camera.window
    window.tab.show_no_home()
    camera.picture("90-welcome")
    with camera.narrow():
        camera.picture("91-welcome-narrow")
    window.picker.picked.emit(window.picker.place(window.picker.currentIndex()))
    camera.wait("the trees again", lambda: is_loaded(window))


def _german(camera: Camera) -> None:
    window = camera.window
    if window.session is None:
        return
    look = AppearanceControl(cast(QApplication, QApplication.instance()))
    look.begin(WindowStyle(language="de"))
    root = window.session.info.root
    beginning = StartupOptions((root,), watching=False)
    german = MainWindow(Profile.under(root.parent / "german"), system_clock, Icons(), beginning)
    try:
        german.resize(window.size())
        german.show()
        german.start()
        camera.wait("the trees in German", lambda: is_loaded(german))
        if select_a_file(german):
            camera.wait("the editor", lambda: shows_the_selected(german))
        camera.picture("50-german", german)
        german.picker.hide()
        camera.wait("the window to ask for less room", lambda: german.minimumSizeHint().width() <= NARROW[0])
        german.resize(*NARROW)
        camera.picture("51-german-narrow", german)
    finally:
        german.shut_down()
        german.close()
        look.end()
