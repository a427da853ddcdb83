"""Between the tab and the trash window: which home's trash is shown, and restoring as a hand edit like any
other. The window is made when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from reverie.errors import MendableError
from reverie.ui import words
from reverie.ui.icons import Icons
from reverie.ui.memory.dialogs import PathDialog
from reverie.ui.session import HomeSession, Lanes
from reverie.ui.shown import visible

if TYPE_CHECKING:
    from reverie.services.trash import TrashEntry
    from reverie.services.views import Undo
    from reverie.ui.memory.tab import MemoryTab
    from reverie.ui.memory.trash.window import TrashWindow


class TrashControl(QObject):
    """The trash of the home that `tab` shows."""

    def __init__(self, tab: MemoryTab, lanes: Lanes, icons: Icons, now: Callable[[], int]) -> None:
        super().__init__(tab)
        self._tab = tab
        self._lanes = lanes
        self._icons = icons
        self._now = now
        self._session: HomeSession | None = None
        self._undo: Undo | None = None
        self.window: TrashWindow | None = None

    def set_session(self, session: HomeSession | None) -> None:
        """Another home: what is open of the last one goes."""
        if self._session is not None:
            self._session.keeper.kept.disconnect(self._on_kept)
        self._session = session
        if session is not None:
            session.keeper.kept.connect(self._on_kept)
        if self.window is not None:
            self.window.close()

    @Slot()
    def show(self) -> None:
        session = self._session
        if session is None:
            return
        if self.window is None:
            self.window = self._made()
        self._undo = None
        if self.window.isVisible():
            self.window.raise_()
        self.window.show()
        self.window.activateWindow()
        self.window.show_trash(session.workbench, visible(session.info.label))

    def _made(self) -> TrashWindow:
        from reverie.ui.memory.trash.window import TrashWindow

        window = TrashWindow(self._lanes.history, self._icons, self._now, self._tab)
        window.wanted.connect(self._restore)
        window.wanted_as.connect(self._restore_as)
        window.message.chosen.connect(self._on_message)
        return window

    @Slot()
    def _on_kept(self) -> None:
        if self.window is not None and self.window.isVisible():
            self.window.read_again()

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

        self._tab.edits.apply(session, "restore from the trash", work, self._on_restored, self._on_failed)

    def _on_restored(self, undo: Undo) -> None:
        self._undo = undo
        self._tab.situation_changed.emit()
        if self.window is not None:
            text = words.counted("1 memory was restored.", "%n memories were restored.", undo.count)
            self.window.message.say(text, buttons=[("undo", self.tr("Undo"), self.tr("Take it back"))])
            self.window.read_again()

    def _on_failed(self, error: MendableError) -> None:
        if self.window is not None:
            self.window.message.say_error(error)

    @Slot(str)
    def _on_message(self, _key: str) -> None:
        """Take the restore back, unless something else was changed by hand since."""
        if self.window is None:
            return
        self.window.message.clear()
        if self._undo is not None and self._tab.edits.last is self._undo:
            self._tab.edits.undo()
        else:
            self.window.message.say(self.tr("Other changes came after it: undo those first."))
