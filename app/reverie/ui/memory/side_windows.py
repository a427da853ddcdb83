"""Between the tab and a window beside it that shows something of a home and changes memories by hand. The
window is made when it is asked for, and goes with its home.

Changes are hand edits like any other: they go through the one list of what can be undone, and the views
follow by the watcher. Threading: GUI thread. Failure: told in the window.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from PySide6.QtCore import QObject, Slot

from reverie.agents.scopes import Scope
from reverie.errors import UserError
from reverie.memory.paths import ROOT
from reverie.ui.appearance import Icons
from reverie.ui.display_text import visible
from reverie.ui.jobs import Lane, Lanes
from reverie.ui.memory.edit_dialogs import PathDialog
from reverie.ui.memory.user_edits import TakeBack
from reverie.ui.session import HomeSession
from reverie.ui.translation import counted
from reverie.ui.tree.memory_tree import CompanionData, parse_shown, path_of

if TYPE_CHECKING:
    from reverie.agents.scopes import ScopeContext
    from reverie.services.duplicates import DuplicateFile
    from reverie.services.timeline import RestorePlan
    from reverie.services.trash import TrashEntry
    from reverie.services.views import Undo
    from reverie.ui.memory.duplicates_window import DuplicatesWindow, MergeMemoriesDialog
    from reverie.ui.memory.history.window import HistoryWindow, RestoreDialog
    from reverie.ui.memory.tab import MemoryTab
    from reverie.ui.memory.trash_window import TrashWindow
    from reverie.ui.widgets.frames import SideWindow


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

    def say_failed(self, error: UserError) -> None:
        """A change was not made."""
        if self.window is not None:
            self.window.message.say_error(error)

    @Slot()
    def _on_kept(self) -> None:
        if self.window is not None and self.window.isVisible():
            self.window.follow()


# Between the tree and the history window: whose history is shown, restoring, and the way to a run.


class HistoryControl(SideControl["HistoryWindow"]):
    """The history of the home that `tab` shows."""

    def __init__(self, tab: MemoryTab, lanes: Lanes, icons: Icons, now: Callable[[], int]) -> None:
        super().__init__(tab, icons)
        self._lanes = lanes
        self._now = now
        self.dialog: RestoreDialog | None = None

    def set_session(self, session: HomeSession | None) -> None:
        self._close_dialog()
        super().set_session(session)

    @Slot()
    def show(self) -> None:
        """The history of the selected row; without one that of the open memory, else of the global scope."""
        row = self._tab.tree.current_data()
        beside = str(row.companion.path) if isinstance(row, CompanionData) else ""
        self.show_path(beside or path_of(row) or self._open_path() or _global())

    def show_path(self, path: str, context: ScopeContext | None = None) -> None:
        """The history of a memory path, there or gone, or of a companion's file; in the context that is shown
        unless another is given."""
        session = self._session
        context = context or (session.context if session is not None else None)
        if session is None or context is None:
            return
        self.open().show_path(session.workbench, context, path)

    def _open_path(self) -> str:
        file = self._tab.editor.file
        path = file.buffer.address.path if file is not None else ""
        return path if parse_shown(path) is not None else ""

    def make(self) -> HistoryWindow:
        from reverie.ui.memory.history.window import HistoryWindow

        window = HistoryWindow(self._lanes.history, self._icons, self._now, self._tab)
        window.run_wanted.connect(self._tab.dreams.review)
        window.planned.connect(self._on_planned)
        self._tab.footer.aged.connect(window.timeline.points.viewport().update)
        return window

    # Bringing back

    @Slot(object, str)
    def _on_planned(self, plan: RestorePlan, when: str) -> None:
        from reverie.ui.memory.history.window import RestoreDialog

        self._close_dialog()
        self.dialog = RestoreDialog(plan, when, self._icons, self.window)
        self.dialog.wanted.connect(self._restore)
        self.dialog.finished.connect(self._on_dialog_gone)
        self.dialog.open()

    @Slot()
    def _on_dialog_gone(self) -> None:
        self.dialog = None

    def _close_dialog(self) -> None:
        if self.dialog is not None:
            self.dialog.reject()

    @Slot(object, bool)
    def _restore(self, plan: RestorePlan, remove_newer: bool) -> None:
        session = self._session
        if session is None:
            return
        workbench = session.workbench

        def work() -> Undo:
            return workbench.restore(plan, remove_newer=remove_newer)

        self._tab.edits.apply(session, "restore", work, self._on_restored, self.say_failed)

    def _on_restored(self, undo: Undo) -> None:
        self.say_done(undo, counted("1 file was restored.", "%n files were restored.", undo.count))

    @property
    def too_late(self) -> str:
        return self.tr("Other changes came after it: undo those first, or restore another point.")


def _global() -> str:
    return f"{ROOT}/{Scope.GLOBAL.value}"


# Between the tab and the duplicate finder: where it looks, and merging, on a thread made with it.


class DuplicatesControl(SideControl["DuplicatesWindow"]):
    """The duplicates of the home that `tab` shows."""

    def __init__(self, tab: MemoryTab, icons: Icons) -> None:
        super().__init__(tab, icons)
        self._lane: Lane | None = None
        self.dialog: MergeMemoriesDialog | None = None
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
        from reverie.ui.memory.duplicates_window import DuplicatesWindow

        self._lane = Lane("duplicates", self)
        window = DuplicatesWindow(self._lane, self._icons, self._tab)
        window.merge_wanted.connect(self._prepare)
        return window

    @Slot(object)
    def _prepare(self, files: tuple[DuplicateFile, ...]) -> None:
        from reverie.ui.memory.duplicates_window import MergeMemoriesDialog

        session, lane = self._session, self._lane
        if session is None or lane is None:
            return
        self.dialog = MergeMemoriesDialog(lane, session.workbench, files, self._icons, self.window)
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
        count = len(undo.removed)
        self.say_done(
            undo, counted("Merged; 1 memory was deleted.", "Merged; %n memories were deleted.", count)
        )
        if self.window is not None:
            self.window.look()

    @Slot()
    def _on_undone(self) -> None:
        if self.window is not None and self.window.isVisible():
            self.window.look()

    def say_failed(self, error: UserError) -> None:
        if self.dialog is not None:
            self.dialog.show_error(error)


# Between the tab and the trash window: which home's trash is shown, and restoring.


class TrashControl(SideControl["TrashWindow"]):
    """The trash of the home that `tab` shows."""

    def __init__(self, tab: MemoryTab, lanes: Lanes, icons: Icons, now: Callable[[], int]) -> None:
        super().__init__(tab, icons)
        self._lanes = lanes
        self._now = now

    @Slot()
    def show(self) -> None:
        session = self._session
        if session is None:
            return
        self.open().show_trash(session.workbench, visible(session.info.label))

    def make(self) -> TrashWindow:
        from reverie.ui.memory.trash_window import TrashWindow

        window = TrashWindow(self._lanes.history, self._icons, self._now, self._tab)
        window.wanted.connect(self._restore)
        window.wanted_as.connect(self._restore_as)
        return window

    @Slot(object)
    def _restore(self, entries: tuple[TrashEntry, ...]) -> None:
        self._apply(entries, {})

    @Slot(object)
    def _restore_as(self, entry: TrashEntry) -> None:
        path = self.ask_name(entry)
        if path:
            self._apply((entry,), {entry.id: path})

    def ask_name(self, entry: TrashEntry) -> str:
        """Under which path it is to come back; empty for not at all. A place that is taken is refused
        later."""
        dialog = PathDialog(
            self.tr("Restore as"),
            self.tr("Restore"),
            (entry.scope,),
            entry.deletion.place.rel,
            lambda _path: False,
            self.window or self._tab,
        )
        return dialog.path if dialog.exec() == PathDialog.DialogCode.Accepted else ""

    def _apply(self, entries: tuple[TrashEntry, ...], names: dict[str, str]) -> None:
        session = self._session
        if session is None:
            return
        workbench = session.workbench
        if self.window is not None:
            self.window.message.clear()

        def work() -> Undo:
            return workbench.trash.restore(entries, names)

        self._tab.edits.apply(session, "restore from the trash", work, self._on_restored, self.say_failed)

    def _on_restored(self, undo: Undo) -> None:
        self._tab.situation_changed.emit()
        self.say_done(undo, counted("1 memory was restored.", "%n memories were restored.", undo.count))
        if self.window is not None:
            self.window.follow()
