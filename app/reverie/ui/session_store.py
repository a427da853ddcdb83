"""Stores the state of a window, and restores it in the next one.

Threading: GUI thread. Failure: a place or file that no longer exists is skipped.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QTextCursor

from reverie.errors import UserError
from reverie.profile import Profile
from reverie.services.window_state import MOST_FOLDERS, MOST_HOMES, Remembered, write_remembered
from reverie.ui.tree.memory_tree import companion_at
from reverie.ui.window.main_window import MainWindow
from reverie.values import replace

if TYPE_CHECKING:
    from reverie.ui.editor.documents import OpenFile
    from reverie.ui.session import HomeSession, TreeUpdate
    from reverie.ui.window.picker import Picker, Place


window_log = logging.getLogger("reverie.window")


class SessionStore(QObject):
    """The keeper of a window's state: it restores the state of the last window, and stores it at the end.

    The state is a `services.window_state.Remembered`. Create this object once the widgets exist, before a
    home is opened. Sizes are set before the window is shown. The place, open folders, file, cursor and scroll
    positions are restored once the tree is on screen, never before (design.md section 7). If the user selects
    another place or file, nothing more is restored.

    `restoring` is True until the stored place, its tree and its text have been restored. The caller reads the
    file before it creates the window, and calls `keep` after the event loop has ended.
    """

    def __init__(self, window: MainWindow, remembered: Remembered, *, place: bool) -> None:
        """Set the stored sizes of the panes, and start restoring the home, the folders and the file.

        `remembered`: the stored state of the last window. `place`: False restores only the sizes and the tab,
        because the command line names the homes to open.
        """
        super().__init__(window)
        self._window = window
        self._wanted = remembered
        self._session: HomeSession | None = None
        self._tree_width = remembered.tree_width
        self._is_any_picked = self._is_picking = False
        self.restoring = place and bool(remembered.home)
        self._begin()
        self._shown_tab = window.tabs.currentIndex()
        window.tabs.currentChanged.connect(self._on_tab)
        if self.restoring:
            window.homes.opened.connect(self._on_opened)
            window.picker.picked.connect(self._on_picked)
            window.chosen_by_hand.connect(self._on_choice)
            window.tab.memory_picked.connect(self._on_choice)

    def _begin(self) -> None:
        window, wanted = self._window, self._wanted
        window.picker.setVisible(wanted.picker)
        if wanted.picker_width:
            rest = max(1, window.width() - wanted.picker_width)
            window.splitter.set_beside([wanted.picker_width, rest])
        if wanted.tree_width:
            rest = max(1, window.width() - wanted.picker_width * wanted.picker - wanted.tree_width)
            window.tab.splitter.setSizes([wanted.tree_width, rest])
        if 0 < wanted.tab < window.tabs.count():
            window.tabs.setCurrentIndex(wanted.tab)
        if wanted.sort:
            window.tab.order.sort_key = wanted.sort

    @Slot(int)
    def _on_tab(self, tab: int) -> None:
        self._note_tree_width()
        self._shown_tab = tab

    def _note_tree_width(self) -> None:
        """Note the width of the trees if they are visible; hidden ones have no valid width."""
        tab = self._window.tab
        if self._shown_tab == 0 and not tab.is_narrow:
            self._tree_width = tab.splitter.sizes()[0]

    @Slot(object)
    def _on_picked(self, place: Place) -> None:
        """Stop restoring at the second selection in the list of homes.

        The first selection does not count, because the window may have made it.
        """
        if self._window.homes.session(place.home) is not None:
            if self._is_any_picked:
                self._on_choice()
            self._is_any_picked = True

    @Slot()
    def _on_choice(self) -> None:
        """Stop restoring, because the user has selected another place or memory."""
        if not self._is_picking:
            self.restoring = False

    @Slot(object)
    def _on_opened(self, session: HomeSession) -> None:
        if not self.restoring or not session.is_here or str(session.info.root) != self._wanted.home:
            return
        self._window.homes.opened.disconnect(self._on_opened)
        self._is_picking = True
        is_there = self._pick(session.info.id)
        self._is_picking = False
        if is_there:
            self._session = session
            session.tree_changed.connect(self._on_tree)
        else:
            self.restoring = False

    def _pick(self, home: str) -> bool:
        """Select the stored workspace or project in the home with the id `home`, or the home itself.

        Returns False if it no longer exists.
        """
        wanted = self._wanted
        picker: Picker = self._window.picker
        if wanted.workspace:
            return picker.pick(home, workspace_id=wanted.workspace)
        return picker.pick_project(home, wanted.project) if wanted.project else picker.pick_home(home)

    @Slot(object)
    def _on_tree(self, update: TreeUpdate) -> None:
        """Restore the open folders and then the file, once the complete tree is shown."""
        if update.names_only or self._session is None:
            return
        self._session.tree_changed.disconnect(self._on_tree)
        wanted, tab = self._wanted, self._window.tab
        if not self.restoring:
            return
        if wanted.opened is not None:
            tab.tree.reopen(wanted.opened)
        self._is_picking = True
        if not self._open_file(update):
            self.restoring = False
        self._is_picking = False
        tab.tree.verticalScrollBar().setValue(wanted.tree_scroll)

    def _open_file(self, update: TreeUpdate) -> bool:
        wanted, tab = self._wanted, self._window.tab
        if not wanted.file:
            return False
        tab.buffers.opened.connect(self._on_file)
        if not wanted.companion:
            if tab.tree.select_path(wanted.file):
                return True
        elif (companion := companion_at(update.tree, wanted.file)) is not None:
            tab.editor.open(companion)
            return True
        tab.buffers.opened.disconnect(self._on_file)
        return False

    @Slot(object)
    def _on_file(self, file: OpenFile) -> None:
        """Restore the cursor and the scroll position of the editor, once it shows the stored file."""
        self._window.tab.buffers.opened.disconnect(self._on_file)
        wanted, pane = self._wanted, self._window.tab.pane
        was_restoring, self.restoring = self.restoring, False
        if not was_restoring or pane.file is not file or _name(file) != (wanted.file, wanted.companion):
            return
        last = pane.text.document().characterCount() - 1
        cursor = pane.text.textCursor()
        cursor.setPosition(min(wanted.anchor, last))
        cursor.setPosition(min(wanted.cursor, last), QTextCursor.MoveMode.KeepAnchor)
        pane.text.setTextCursor(cursor)
        pane.text.verticalScrollBar().setValue(wanted.text_scroll)

    def capture(self) -> Remembered:
        """Return the state of the window to store; works even after it was closed."""
        window, tab = self._window, self._window.tab
        sizes = window.splitter.beside()
        self._note_tree_width()
        roots = [str(session.info.root) for session in window.homes.sessions if session.is_here]
        # Homes that were not opened this time, or could not be, are still the user's.
        closed = dict.fromkeys((*map(str, sorted(window.homes.left_closed)), *self._wanted.closed))
        closed = {place: None for place in closed if place not in roots}
        homes = [home for home in dict.fromkeys((*roots, *self._wanted.homes)) if home not in closed]
        # If the window closes before its place is restored, that is restored the next time.
        is_to_come = self.restoring and self._wanted.home not in closed
        shown = replace(
            self._wanted if is_to_come else Remembered(),
            homes=tuple(homes[:MOST_HOMES]),
            closed=tuple(closed)[:MOST_HOMES],
            geometry=bytes(window.saveGeometry().toBase64().data()).decode("ascii"),
            picker=not window.picker.isHidden(),
            picker_width=sizes[0] or self._wanted.picker_width,
            tree_width=self._tree_width,
            tab=max(0, window.tabs.currentIndex()),
            sort=tab.order.sort_key,
        )
        session = window.session
        if is_to_come or session is None or session.context is None or not session.is_here:
            return shown
        context, text = session.context, tab.pane.text
        shown = replace(
            shown,
            home=str(session.info.root),
            workspace=context.workspace_id or "",
            project="" if context.workspace_id else context.project_path or "",
            opened=tuple(sorted(tab.tree.opened_keys))[:MOST_FOLDERS],
            tree_scroll=tab.tree.verticalScrollBar().value(),
        )
        file = tab.pane.file
        if file is None:
            return shown
        name, companion = _name(file)
        return replace(
            shown,
            file=name,
            companion=companion,
            cursor=text.textCursor().position(),
            anchor=text.textCursor().anchor(),
            text_scroll=text.verticalScrollBar().value(),
        )

    def keep(self, profile: Profile, throw_away: Path) -> None:
        """Store the state of the window in the profile. Call this after the event loop has ended.

        A home in the directory `throw_away` is left out, because it will not exist next time.
        """
        now = self.capture()
        lasting = tuple(home for home in now.homes if not Path(home).is_relative_to(throw_away))
        now = replace(now, homes=lasting)
        if Path(now.home).is_relative_to(throw_away):
            kept = self._wanted
            now = replace(
                kept,
                home=kept.home if kept.home not in now.closed else "",
                homes=now.homes,
                closed=now.closed,
                geometry=now.geometry,
                picker=now.picker,
                picker_width=now.picker_width,
            )
        try:
            write_remembered(profile, now)
        except UserError as error:
            window_log.warning("the window is not remembered: %s", error.title)


def _name(file: OpenFile) -> tuple[str, bool]:
    address = file.buffer.address
    if address.companion is not None:
        return str(address.companion.path), True
    return address.path, False
