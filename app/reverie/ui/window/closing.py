"""Closing one home of a window: it leaves the list and is not opened again because it is found. Nothing in it
changes on disk.

Unsaved text is asked for first, and a run in the home holds it up with a sentence. Then another home is
shown, or the page that says that none is open.

Threading: GUI thread; the watcher and the services of the home end in jobs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, QTimer
from PySide6.QtWidgets import QMenu

from reverie.files.locks import is_ours
from reverie.ui import dialogs
from reverie.ui.translation import tr
from reverie.ui.window.actions import PICKER_MENU
from reverie.ui.window.selection import pick_first

if TYPE_CHECKING:
    from reverie.ui.editor.documents import OpenFile
    from reverie.ui.session import HomeSession
    from reverie.ui.window.main_window import MainWindow, WindowDeeds


class HomeCloser(QObject):
    """One per window."""

    def __init__(self, window: MainWindow, save_first: SaveFirst) -> None:
        super().__init__(window)
        self._window = window
        self._save_first = save_first
        self.menu = QMenu(window.picker)
        window.actions_.fill_menu(self.menu, PICKER_MENU)
        window.picker.customContextMenuRequested.connect(self._show_menu)
        tab, homes = window.tab, window.homes
        for drop in (tab.search.remove_session, tab.orphans.remove_session, window.lazy_tabs.remove_session):
            homes.closed.connect(drop)

    @property
    def possible(self) -> bool:
        """There is something to close."""
        picker = self._window.picker
        return self._window.session is not None or picker.place(picker.currentIndex()) is not None

    def close_selected(self) -> None:
        """Close the home that is selected at the left, or that one of its rows belongs to."""
        window = self._window
        place = window.picker.place(window.picker.currentIndex())
        if place is not None and place.trouble:
            window.homes.close_place(Path(place.reason))
            self._show_again()
            return
        home = place.home if place is not None else window.session.info.id if window.session else ""
        session = window.homes.session(home)
        if session is not None:
            self._ask(session)

    def _ask(self, session: HomeSession) -> None:
        if self._runs_in(session):
            said = self.tr("A run is going on in {home}. Cancel it or wait for its end, then close the home.")
            self._window.say(said.format(home=session.info.label))
        # Later: the answer to a save comes in the middle of what the editor still has to do.
        elif self._save_first.may_close(
            session.info.id, lambda: QTimer.singleShot(0, self, lambda: self._ask(session))
        ):
            self._close(session)

    def _runs_in(self, session: HomeSession) -> bool:
        tab = self._window.tab
        running = session.status.running if session.status is not None else None
        # What a person began is known exactly; what the services began shows by its lease.
        hosted = self._window.lazy_tabs.hosts(session.info.id)
        return (
            tab.dreams.jobs.runs_in(session.workbench)
            or tab.extraction.runs_in(session)
            or tab.notes.runs_in(session)
            or (hosted and running is not None and is_ours(running.owner.pid))
        )

    def _close(self, session: HomeSession) -> None:
        window, home = self._window, session.info.id
        if window.homes.session(home) is not session:
            return
        # Unsaved text was saved or given up.
        window.tab.editor.forget_home(home)
        if session is window.session:
            self._show_another(home)
        window.homes.close_home(home)
        window.tab.situation_changed.emit()
        window.say(self.tr("Closed {home}; its files are as they were.").format(home=session.info.label))

    def _show_another(self, but: str) -> None:
        """The next home of the list, else the one before; without any, that none is open."""
        window = self._window
        sessions = window.homes.sessions
        ids = [session.info.id for session in sessions]
        at = ids.index(but) if but in ids else -1
        others = [*sessions[at + 1 :], *reversed(sessions[: max(at, 0)])]
        if others:
            pick_first(window.picker, others[0], "")
        else:
            window.show_no_home()

    def _show_again(self) -> None:
        """The place that is shown is selected again."""
        session, picker = self._window.session, self._window.picker
        if session is None or session.context is None:
            self._show_another("")
            return
        home, context = session.info.id, session.context
        if context.workspace_id and picker.pick(home, workspace_id=context.workspace_id):
            return
        if not context.project_path or not picker.pick_project(home, context.project_path):
            picker.pick_home(home)

    def _show_menu(self, at: QPoint) -> None:
        if self._window.picker.indexAt(at).isValid():
            self.menu.popup(self._window.picker.viewport().mapToGlobal(at))


# Text that is not saved holds up the closing of the window or of a home: the person is asked, and "save"
# closes it once everything is saved.
#
# Threading: GUI thread. Failure: where something could not be saved the window or home stays, and says so.


class SaveFirst:
    """One per window."""

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
