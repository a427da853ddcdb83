"""Between the tab and a window beside it that shows something of a home and changes memories by hand. The
window is made when it is asked for, and goes with its home.

Changes are hand edits like any other: they go through the one list of what can be undone, and the views
follow by the watcher. Threading: GUI thread. Failure: told in the window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from PySide6.QtCore import QObject, Slot

from reverie.errors import MendableError
from reverie.ui.icons import Icons
from reverie.ui.memory.take_back import TakeBack
from reverie.ui.session import HomeSession

if TYPE_CHECKING:
    from reverie.services.views import Undo
    from reverie.ui.memory.side_window import SideWindow
    from reverie.ui.memory.tab import MemoryTab

Window = TypeVar("Window", bound="SideWindow")


class SideControl(QObject, Generic[Window]):
    """Subclasses say how the window is made (`make`) and what it is shown."""

    def __init__(self, tab: MemoryTab, icons: Icons) -> None:
        super().__init__(tab)
        self._tab = tab
        self._icons = icons
        self._session: HomeSession | None = None
        self._back: TakeBack | None = None
        self.window: Window | None = None

    def set_session(self, session: HomeSession | None) -> None:
        """Another home: what is open of the last one goes."""
        if self._session is not None:
            self._session.keeper.kept.disconnect(self._on_kept)
        self._session = session
        if session is not None:
            session.keeper.kept.connect(self._on_kept)
        if self.window is not None:
            self.window.close()

    def make(self) -> Window:
        """A new window, connected; called at the first use."""
        raise NotImplementedError

    @property
    def too_late(self) -> str:
        """What is said when others came after a change, so that it cannot be taken back; empty: as
        elsewhere."""
        return ""

    def open(self) -> Window:
        """The window, in front of the main one; what was done in it before is not to be taken back there."""
        if self.window is None:
            self.window = self.make()
            self._back = TakeBack(self.window.message, self._tab.edits, self.too_late)
        elif self._back is not None:
            self._back.forget()
        if self.window.isVisible():
            self.window.raise_()  # it may lie behind the main window
        self.window.show()
        self.window.activateWindow()
        return self.window

    def say_done(self, undo: Undo, sentence: str) -> None:
        """A change was made: offer to take it back."""
        if self._back is not None:
            self._back.offer(undo, sentence)

    def say_failed(self, error: MendableError) -> None:
        """A change was not made."""
        if self.window is not None:
            self.window.message.say_error(error)

    @Slot()
    def _on_kept(self) -> None:
        if self.window is not None and self.window.isVisible():
            self.window.follow()
