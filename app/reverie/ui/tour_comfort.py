"""The part of the tour that shows the palette, the shortcut sheet, the settings of the window, and German: a
window of its own on the same copy, because texts are asked for once."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from PySide6.QtWidgets import QApplication, QWidget

from reverie.clock import system_clock
from reverie.profile import Profile
from reverie.ui.icons import Icons
from reverie.ui.look import LookControl
from reverie.ui.main_window import Beginning, MainWindow
from reverie.ui.settle import is_loaded, select_a_file
from reverie.ui.theme import dark_palette
from reverie.ui.window_wishes import Window

Picture = Callable[[str, QWidget | None], None]
Wait = Callable[[str, Callable[[], bool]], None]


def show_comfort(window: MainWindow, picture: Picture, wait: Wait, narrow: tuple[int, int]) -> None:
    """Palette in both schemes, sheet, settings; then German, wide and narrow."""
    _palette(window, picture)
    _sheet(window, picture)
    _settings(window, picture, wait)
    _welcome(window, picture, wait, narrow)
    _german(window, picture, wait, narrow)


def _palette(window: MainWindow, picture: Picture) -> None:
    from reverie.ui.palette import Palette

    window.show_palette()
    palette = next(each for each in window.findChildren(Palette) if each.isVisible())
    palette.field.setText("co")
    picture("46-palette", palette)
    light = QApplication.palette()
    QApplication.setPalette(dark_palette())
    picture("47-palette-dark", palette)
    QApplication.setPalette(light)
    palette.close()


def _sheet(window: MainWindow, picture: Picture) -> None:
    from reverie.ui.dialogs import ShortcutSheet

    sheet = ShortcutSheet(window.actions_.shortcuts(), window)
    sheet.show()
    picture("48-shortcuts", sheet)
    sheet.close()


def _settings(window: MainWindow, picture: Picture, wait: Wait) -> None:
    control = window.settings
    window.open_settings()
    wait("the settings", lambda: control.dialog is not None and not control.busy)
    if control.dialog is not None:
        control.dialog.pages.setCurrentIndex(4)
        picture("49-window", control.dialog)
        control.dialog.reject()


def _welcome(window: MainWindow, picture: Picture, wait: Wait, narrow: tuple[int, int]) -> None:
    from reverie.ui.welcome import Welcome

    window.show_welcome()
    welcome = next(each for each in window.findChildren(Welcome) if each.isVisible())
    wait("the welcome", lambda: not window.lanes.scan.busy)
    picture("90-welcome", welcome)
    welcome.resize(*narrow)
    picture("91-welcome-narrow", welcome)
    welcome.close()


def _german(window: MainWindow, picture: Picture, wait: Wait, narrow: tuple[int, int]) -> None:
    if window.session is None:
        return
    look = LookControl(cast(QApplication, QApplication.instance()))
    look.begin(Window(language="de"))
    root = window.session.info.root
    beginning = Beginning((root,), watching=False)
    german = MainWindow(Profile.under(root.parent / "german"), system_clock, Icons(), beginning)
    try:
        german.resize(window.size())
        german.show()
        german.start()
        wait("the trees in German", lambda: is_loaded(german))
        if select_a_file(german):
            wait("the editor", lambda: german.tab.pane.file is not None)
        picture("50-german", german)
        german.picker.hide()
        wait("the window to ask for less room", lambda: german.minimumSizeHint().width() <= narrow[0])
        german.resize(*narrow)
        picture("51-german-narrow", german)
    finally:
        german.shut_down()
        german.close()
        look.end()
