"""The mnemonics (underlined letters) of a window, and a function that finds the widgets in it.

Threading: GUI thread.
"""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QMenuBar, QTabBar, QWidget

MNEMONICS = "shows-mnemonics"
"""The name of the window property that tells the style whether to underline mnemonics."""


def show_mnemonics(window: QWidget, shown: bool) -> None:
    """Set whether the mnemonics (letters used with Alt) in `window` are underlined.

    In a window for which this is never called, mnemonics are always underlined.
    """
    if window.property(MNEMONICS) is shown:
        return
    window.setProperty(MNEMONICS, shown)
    for widget in descendants(window):
        if isinstance(widget, QMenuBar | QAbstractButton | QLabel | QTabBar):
            widget.update()


def descendants(widget: QWidget) -> Iterator[QWidget]:
    """Return every widget below `widget`, in no particular order.

    Use it instead of `findChildren`, the focus chain and `focusProxy`: with these, PySide treats the queried
    widget as the owner of the widget that was found, and the garbage collector then deletes widgets that are
    in use.
    """
    return (each for each in QApplication.allWidgets() if each is not widget and widget.isAncestorOf(each))
