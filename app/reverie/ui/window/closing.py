"""Closing a home or the window, with the question about unsaved text.

Threading: GUI thread. Failure: reported by the signal `status_message`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, QTimer, Signal, Slot
from PySide6.QtWidgets import QMenu

from reverie.ui import dialogs
from reverie.ui.display_text import tr
from reverie.ui.session import HomeSession

if TYPE_CHECKING:
    from reverie.ui.editor.documents import OpenFile
    from reverie.ui.memory.tab import MemoryTab
from reverie.ui.window.homes import OpenHomes
from reverie.ui.window.picker import Picker


class HomeCloser(QObject):
    """The controller that closes a home of the window at the request of the user.

    It refuses while a run (a job that may change memories) is active, asks about unsaved text, and then shows
    another home.

    Signals:
        status_message(str): There is a message for the status bar.
        none_left(): The last home was closed.
    """

    status_message = Signal(str)
    none_left = Signal()

    def __init__(
        self,
        homes: OpenHomes,
        picker: Picker,
        tab: MemoryTab,
        unsaved: UnsavedChanges,
        menu: QMenu,
        hosts: Callable[[str], bool],
    ) -> None:
        """Connect the closer to `picker`, the list of homes.

        `tab`: the Memory tab. `unsaved` asks about unsaved text. `menu` is the context menu for the row of a
        home. `hosts` returns True if the background services of the home with this id run for this window.
        """
        super().__init__(picker)
        self._homes, self._picker, self._tab = homes, picker, tab
        self._unsaved, self._hosts = unsaved, hosts
        self.menu = menu
        picker.customContextMenuRequested.connect(self._show_menu)

    @property
    def possible(self) -> bool:
        """True if a home is shown or a row of the list is selected, so that there is something to close."""
        return self._tab.session is not None or self._picker.place(self._picker.currentIndex()) is not None

    def close_selected(self) -> None:
        """Close the home of the selected row in the list; if no row is selected, the home that is shown.

        The user is asked first if there is unsaved text. While a run is active, nothing is closed, and a
        message says so.
        """
        place, shown = self._picker.place(self._picker.currentIndex()), self._tab.session
        if place is not None and place.trouble:
            self._homes.close_trouble(place)
            self.show_again()
            return
        home = place.home if place is not None else shown.info.id if shown else ""
        session = self._homes.session(home)
        if session is not None:
            self._ask(session)

    def _ask(self, session: HomeSession) -> None:
        if self._runs_in(session):
            text = self.tr(
                "A run is in progress in {home}. Cancel the run or wait until it has finished, then "
                "close the home."
            )
            self.status_message.emit(text.format(home=session.info.label))
        # Later, because the result of a save arrives while the editor is still updating.
        elif self._unsaved.may_close(
            session.info.id, lambda: QTimer.singleShot(0, self, lambda: self._ask(session))
        ):
            self._close(session)

    def _runs_in(self, session: HomeSession) -> bool:
        tab = self._tab
        running = session.status.running if session.status is not None else None
        # Runs started by the user are known here; a run of the services is recognized by its lease.
        return (
            tab.dreams.jobs.runs_in(session.workbench)
            or tab.extraction.runs_in(session)
            or tab.notes.runs_in(session)
            or (self._hosts(session.info.id) and running is not None and running.ours)
        )

    def _close(self, session: HomeSession) -> None:
        home = session.info.id
        if self._homes.session(home) is not session:
            return
        # Unsaved text was saved or discarded.
        self._tab.editor.forget_home(home)
        if session is self._tab.session:
            self._show_another(home)
        self._homes.close_home(home)
        self._tab.situation_changed.emit()
        text = self.tr("Closed {home}. Its files remain on disk.")
        self.status_message.emit(text.format(home=session.info.label))

    def _show_another(self, closed: str) -> None:
        """Show the home that follows `closed` in the list or, if that is the last one, the one before it.

        `closed`: the id of a home; "" to show the first home. If there is no home to show, `none_left` is
        emitted.
        """
        sessions = self._homes.sessions
        ids = [session.info.id for session in sessions]
        at = ids.index(closed) if closed in ids else -1
        others = [*sessions[at + 1 :], *reversed(sessions[: max(at, 0)])]
        if others:
            self._picker.pick_first(others[0], "")
        else:
            self.none_left.emit()

    @Slot()
    def show_again(self) -> None:
        """Select the row of the workspace or project that the window shows.

        A workspace is found even if it belongs to another project now. If the list no longer has the row of
        the workspace, select that of its project, else that of the home. If no place is shown, show the first
        home.
        """
        session, picker = self._tab.session, self._picker
        if session is None or session.context is None:
            self._show_another("")
            return
        home, context = session.info.id, session.context
        if context.workspace_id and picker.pick(home, workspace_id=context.workspace_id):
            return
        if not context.project_path or not picker.pick_project(home, context.project_path):
            picker.pick_home(home)

    def _show_menu(self, at: QPoint) -> None:
        place = self._picker.place(self._picker.indexAt(at))
        if place is not None and place.kind == "home":
            self.menu.popup(self._picker.viewport().mapToGlobal(at))


class UnsavedChanges:
    """The question about unsaved text before the window or a home closes.

    If the user answers "Save", the window or home closes once everything is saved. If saving fails, it stays
    open, and the status bar shows this.
    """

    def __init__(
        self, tab: MemoryTab, close_window: Callable[[], object], say: Callable[[str], object]
    ) -> None:
        self._tab, self._close_window, self._say = tab, close_window, say
        self._then: Callable[[], object] | None = None
        self._home = ""

    def may_close(self, home: str = "", then: Callable[[], object] | None = None) -> bool:
        """Return True if `home` can be closed now; ask the user if there is unsaved text.

        `home`: the id of the home; "" if the window is to be closed, with every home. If the user answers
        "Save", this returns False, and `then` is called once everything is saved. If `then` is None, the
        window is closed at that time.
        """
        if not self._tab.telling.may_close(home):
            return False
        unsaved = self._files(home)
        if not unsaved:
            return True
        answer = dialogs.ask_unsaved(self._tab.window(), [file.buffer.address.label for file in unsaved])
        if answer == "save":
            self._then, self._home = then or self._close_window, home
            for file in unsaved:
                self._tab.buffers.save(file)
        return answer == "discard"

    def _files(self, home: str) -> tuple[OpenFile, ...]:
        return tuple(file for file in self._tab.buffers.unsaved() if not home or file.buffer.ref.home == home)

    def update(self) -> None:
        """Continue closing after "Save" once everything is saved; stop closing if saving failed.

        Call this whenever the state of the open files changes.
        """
        then = self._then
        if then is None:
            return
        unsaved = self._files(self._home)
        if not unsaved:
            self._then = None
            then()
        elif not any(file.saving for file in unsaved):
            self._then = None
            home = tr("Some files could not be saved, so the home remains open.")
            window = tr("Some files could not be saved, so the window remains open.")
            self._say(home if self._home else window)
