"""Between the tab and the trash window: which home's trash is shown, and restoring."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Slot

from reverie.ui.icons import Icons
from reverie.ui.jobs import Lanes
from reverie.ui.memory.dialogs import PathDialog
from reverie.ui.memory.side_control import SideControl
from reverie.ui.shown import visible
from reverie.ui.translation import counted

if TYPE_CHECKING:
    from reverie.services.trash import TrashEntry
    from reverie.services.views import Undo
    from reverie.ui.memory.tab import MemoryTab
    from reverie.ui.memory.trash.window import TrashWindow


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
        from reverie.ui.memory.trash.window import TrashWindow

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
