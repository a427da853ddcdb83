"""Between the tab and the duplicate finder: where it looks, and merging, on a thread made with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Slot

from reverie.errors import MendableError
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lane
from reverie.ui.memory.side_control import SideControl
from reverie.ui.session import HomeSession
from reverie.ui.shown import visible
from reverie.ui.translation import counted

if TYPE_CHECKING:
    from reverie.services.duplicates import DuplicateFile
    from reverie.services.views import Undo
    from reverie.ui.memory.duplicates.merge_dialog import MergeDialog
    from reverie.ui.memory.duplicates.window import DuplicatesWindow
    from reverie.ui.memory.tab import MemoryTab


class DuplicatesControl(SideControl["DuplicatesWindow"]):
    """The duplicates of the home that `tab` shows."""

    def __init__(self, tab: MemoryTab, icons: Icons) -> None:
        super().__init__(tab, icons)
        self._lane: Lane | None = None
        self.dialog: MergeDialog | None = None
        tab.edits.undone.connect(self._on_undone)

    def set_session(self, session: HomeSession | None) -> None:
        if self.dialog is not None:
            self.dialog.reject()
        super().set_session(session)

    def stop(self) -> None:
        """End the thread; calling it again is harmless."""
        if self._lane is not None:
            self._lane.stop()

    @Slot()
    def show(self) -> None:
        session = self._session
        if session is None or session.context is None:
            return
        self.open().show_home(session.workbench, session.context, visible(session.info.label))

    def make(self) -> DuplicatesWindow:
        from reverie.ui.memory.duplicates.window import DuplicatesWindow

        self._lane = Lane("duplicates", self)
        window = DuplicatesWindow(self._lane, self._icons, self._tab)
        window.merge_wanted.connect(self._prepare)
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

        self._tab.edits.apply(session, "merge memories", work, self._on_merged, self.say_failed)

    def _on_merged(self, undo: Undo) -> None:
        self._tab.situation_changed.emit()
        if self.dialog is not None:
            self.dialog.accept()
        count = sum(file.after_sha256 is None for file in undo.files)
        self.say_done(
            undo, counted("Merged; 1 memory was deleted.", "Merged; %n memories were deleted.", count)
        )
        if self.window is not None:
            self.window.look()

    @Slot()
    def _on_undone(self) -> None:
        if self.window is not None and self.window.isVisible():
            self.window.look()

    def say_failed(self, error: MendableError) -> None:
        if self.dialog is not None:
            self.dialog.show_error(error)
