"""Text that is not saved holds up the closing of the window or of a home: the person is asked, and "save"
closes it once everything is saved.

Threading: GUI thread. Failure: where something could not be saved the window or home stays, and says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from reverie.ui import dialogs
from reverie.ui.translation import tr

if TYPE_CHECKING:
    from reverie.ui.memory.documents import OpenFile
    from reverie.ui.window_deeds import WindowDeeds


class SaveFirst:
    """One per furnished window."""

    def __init__(self, window: WindowDeeds) -> None:
        self._window = window
        self._then: Callable[[], object] | None = None
        self._home = ""

    def may_close(self, home: str = "", then: Callable[[], object] | None = None) -> bool:
        """Whether nothing of this home (of all, without one) is unsaved, or the person wants to lose it.
        Asks. `then` follows once everything is saved, if that is the answer; without it the window closes."""
        unsaved = self._unsaved(home)
        if not unsaved:
            return True
        answer = dialogs.ask_unsaved(self._window, [file.buffer.address.label for file in unsaved])
        if answer == "save":
            self._then, self._home = then or self._window.close, home
            for file in unsaved:
                self._window.tab.buffers.save(file)
        return answer == "discard"

    def _unsaved(self, home: str) -> tuple[OpenFile, ...]:
        return tuple(
            file for file in self._window.tab.buffers.unsaved() if not home or file.buffer.ref.home == home
        )

    def follow(self) -> None:
        """What is unsaved may be another: done when nothing is, given up when something went wrong."""
        then = self._then
        if then is None:
            return
        unsaved = self._unsaved(self._home)
        if not unsaved:
            self._then = None
            then()
        elif not any(file.saving for file in unsaved):
            self._then = None
            home = tr("Not everything could be saved; the home stays open.")
            window = tr("Not everything could be saved; the window stays open.")
            self._window.say(home if self._home else window)
