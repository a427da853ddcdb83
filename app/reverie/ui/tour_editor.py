"""The part of the tour that shows the editor: side by side with the form, find and replace, the rendered text
in the dark, and all of it in a narrow window. Nothing is typed."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QApplication, QWidget

from reverie.ui.main_window import MainWindow
from reverie.ui.theme import dark_palette

Picture = Callable[[str, QWidget | None], None]
Wait = Callable[[str, Callable[[], bool]], None]


def show_editor(window: MainWindow, picture: Picture, wait: Wait, narrow: tuple[int, int]) -> None:
    """Walk through the ways to look at the open memory, if one is open."""
    view = window.tab.pane.view
    if window.tab.pane.file is None:
        return
    view.toggle_form()
    view.show_side()
    picture("1-editor-side", None)
    view.open_replace()
    finder = view.finder
    if finder is not None:
        finder.field.setText("the")
        finder.look()
    picture("1-editor-find", None)
    light = QApplication.palette()
    QApplication.setPalette(dark_palette())
    picture("1-editor-dark", None)
    size, homes_hidden = window.size(), window.picker.isHidden()
    window.picker.hide()
    wait("the narrow window", lambda: window.minimumSizeHint().width() <= narrow[0])
    window.resize(*narrow)
    picture("1-editor-narrow", None)
    QApplication.setPalette(light)
    window.resize(size)
    window.picker.setVisible(not homes_hidden)
    if finder is not None:
        finder.put_away()
    view.toggle_form()
    view.show_preview()
    picture("1-editor-preview", None)
    view.show_source()
