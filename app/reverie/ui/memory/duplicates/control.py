"""Between the tab and the duplicate finder: where it looks, and merging as a hand edit like any other. Window
and thread are made when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from reverie.errors import MendableError
from reverie.ui import words
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lane
from reverie.ui.session import HomeSession
from reverie.ui.shown import visible

if TYPE_CHECKING:
    from reverie.services.duplicates import DuplicateFile
    from reverie.services.views import Undo
    from reverie.ui.memory.duplicates.merge_dialog import MergeDialog
    from reverie.ui.memory.duplicates.window import DuplicatesWindow
    from reverie.ui.memory.tab import MemoryTab


class DuplicatesControl(QObject):
    """The duplicates of the home that `tab` shows."""

    def __init__(self, tab: MemoryTab, icons: Icons) -> None:
        super().__init__(tab)
        self._tab = tab
        self._icons = icons
        self._session: HomeSession | None = None
        self._lane: Lane | None = None
        self._undo: Undo | None = None
        self.window: DuplicatesWindow | None = None
        self.dialog: MergeDialog | None = None
        tab.edits.undone.connect(self._on_undone)

    def set_session(self, session: HomeSession | None) -> None:
        """Another home: what is open of the last one goes."""
        self._session = session
        if self.dialog is not None:
            self.dialog.reject()
        if self.window is not None:
            self.window.close()

    def stop(self) -> None:
        """End the thread; calling it again is harmless."""
        if self._lane is not None:
            self._lane.stop()

    @Slot()
    def show(self) -> None:
        session = self._session
        if session is None or session.context is None:
            return
        if self.window is None:
            self.window = self._made()
        self._undo = None
        if self.window.isVisible():
            self.window.raise_()
        self.window.show()
        self.window.activateWindow()
        self.window.show_home(session.workbench, session.context, visible(session.info.label))

    def _made(self) -> DuplicatesWindow:
        from reverie.ui.memory.duplicates.window import DuplicatesWindow

        self._lane = Lane("duplicates", self)
        window = DuplicatesWindow(self._lane, self._icons, self._tab)
        window.merge_wanted.connect(self._prepare)
        window.message.chosen.connect(self._on_message)
        return window

    @Slot(object)
    def _prepare(self, files: tuple[DuplicateFile, ...]) -> None:
        from reverie.ui.memory.duplicates.merge_dialog import MergeDialog

        session, lane = self._session, self._lane
        if session is None or lane is None:
            return
        self.dialog = MergeDialog(lane, session.workbench, files, self._icons, self.window)
        self.dialog.merge.connect(self._merge)
        self.dialog.finished.connect(self._on_dialog_gone)
        self.dialog.open()

    @Slot()
    def _on_dialog_gone(self) -> None:
        self.dialog = None

    @Slot(object, str)
    def _merge(self, files: tuple[DuplicateFile, ...], content: str) -> None:
        session = self._session
        if session is None:
            return
        workbench = session.workbench

        def work() -> Undo:
            return workbench.duplicates.merge(files, content)

        self._tab.edits.apply(session, "merge memories", work, self._on_merged, self._on_failed)

    def _on_merged(self, undo: Undo) -> None:
        self._undo = undo
        self._tab.situation_changed.emit()
        if self.dialog is not None:
            self.dialog.accept()
        if self.window is not None:
            count = sum(file.after_sha256 is None for file in undo.files)
            text = words.counted("Merged; 1 memory was deleted.", "Merged; %n memories were deleted.", count)
            self.window.message.say(text, buttons=[("undo", self.tr("Undo"), self.tr("Take it back"))])
            self.window.look()

    @Slot()
    def _on_undone(self) -> None:
        if self.window is not None and self.window.isVisible():
            self.window.look()

    def _on_failed(self, error: MendableError) -> None:
        if self.dialog is not None:
            self.dialog.show_error(error)

    @Slot(str)
    def _on_message(self, _key: str) -> None:
        """Take the merge back, unless something else was changed by hand since."""
        if self.window is None:
            return
        self.window.message.clear()
        if self._undo is not None and self._tab.edits.last is self._undo:
            self._tab.edits.undo()
        else:
            self.window.message.say(self.tr("Other changes came after it: undo those first."))
