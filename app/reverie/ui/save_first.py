"""Text that is not saved holds up the closing of the window: the person is asked, and "save" closes it once
everything is saved.

Threading: GUI thread. Failure: where something could not be saved the window stays, and says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from reverie.ui import dialogs

if TYPE_CHECKING:
    from reverie.ui.window_deeds import WindowDeeds

_CONTEXT = "MainWindow"


def tr(text: str) -> str:
    """Texts stand in a context of their own."""
    return QCoreApplication.translate(_CONTEXT, text)


class SaveFirst:
    """One per furnished window."""

    def __init__(self, window: WindowDeeds) -> None:
        self._window = window
        self._waiting = False

    def may_close(self) -> bool:
        """Whether nothing is unsaved, or the person wants to lose it. Asks."""
        tab = self._window.tab
        unsaved = tab.buffers.unsaved()
        if not unsaved:
            return True
        answer = dialogs.ask_unsaved(self._window, [file.buffer.address.label for file in unsaved])
        if answer == "save":
            self._waiting = True
            tab.editor.save_all()
        return answer == "discard"

    def follow(self) -> None:
        """What is unsaved may be another: done when nothing is, given up when something went wrong."""
        if not self._waiting:
            return
        unsaved = self._window.tab.buffers.unsaved()
        if not unsaved:
            self._waiting = False
            self._window.close()
        elif not any(file.saving for file in unsaved):
            self._waiting = False
            self._window.say(tr("Not everything could be saved; the window stays open."))
