"""Between the tree and the history window: whose history is shown, restoring, and the way to a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Slot

from reverie.homes.scopes import Scope
from reverie.memory.paths import ROOT
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lanes
from reverie.ui.memory.side_control import SideControl
from reverie.ui.memory.tree_nodes import CompanionData, parse_shown, path_of
from reverie.ui.session import HomeSession
from reverie.ui.translation import counted

if TYPE_CHECKING:
    from reverie.homes.scopes import ScopeContext
    from reverie.services.timeline_views import RestorePlan
    from reverie.services.views import Undo
    from reverie.ui.memory.history.restore_dialog import RestoreDialog
    from reverie.ui.memory.history.window import HistoryWindow
    from reverie.ui.memory.tab import MemoryTab


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
        from reverie.ui.memory.history.restore_dialog import RestoreDialog

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
