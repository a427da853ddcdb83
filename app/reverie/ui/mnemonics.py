"""The underlined letters of a window, and the widgets in it.

Threading: GUI thread.
"""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QMenuBar, QTabBar, QWidget

MNEMONICS = "shows-mnemonics"
"""The property of a window that tells the style whether to underline mnemonics."""


def show_mnemonics(window: QWidget, shown: bool) -> None:
    """Underline the letters that Alt reaches in `window`, or none.

    In a window for which it is never called they are always underlined.
    """
    if window.property(MNEMONICS) is shown:
        return
    window.setProperty(MNEMONICS, shown)
    for widget in descendants(window):
        if isinstance(widget, QMenuBar | QAbstractButton | QLabel | QTabBar):
            widget.update()


def descendants(widget: QWidget) -> Iterator[QWidget]:
    """Return every widget below `widget`, in no particular order.

    Use it instead of `findChildren`, the focus chain and `focusProxy`: there PySide takes the queried widget
    for the owner of the one found, and the garbage collector then deletes widgets that are in use.
    """
    return (each for each in QApplication.allWidgets() if each is not widget and widget.isAncestorOf(each))
