"""The mnemonics of a window (underlined letters that work with Alt), and a search for its widgets.

Threading: GUI thread.
"""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QMenuBar, QTabBar, QWidget

MNEMONICS = "shows-mnemonics"
"""The name of the window property that tells the style whether to underline mnemonics."""


def show_mnemonics(window: QWidget, shown: bool) -> None:
    """Underline the mnemonics in `window` if `shown`, otherwise show them without underline.

    If this is never called for a window, they are always underlined.
    """
    if window.property(MNEMONICS) is shown:
        return
    window.setProperty(MNEMONICS, shown)
    for widget in descendants(window):
        if isinstance(widget, QMenuBar | QAbstractButton | QLabel | QTabBar):
            widget.update()


def descendants(widget: QWidget) -> Iterator[QWidget]:
    """Yield every widget below `widget`, in no particular order.

    Use this instead of `findChildren`, the focus chain and `focusProxy`. With these, PySide makes the queried
    widget the owner of the widget that was found, and the garbage collector then deletes widgets that are in
    use.
    """
    return (each for each in QApplication.allWidgets() if each is not widget and widget.isAncestorOf(each))
