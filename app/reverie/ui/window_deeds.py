"""What a person can ask of the window as a whole: the slots that the action registry names.

Opening homes, going to a part of the window, and help. The parts are made by the window itself
(`main_window`); no action is there to be asked before they are.

Threading: GUI thread. Nothing here reads a file; what does is imported by the slot that needs it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QMainWindow, QTabWidget

from reverie.ui.icons import Icons
from reverie.ui.shown import visible

if TYPE_CHECKING:
    from reverie.profile import Profile
    from reverie.ui.actions import Actions, Situation
    from reverie.ui.close_home import HomeCloser
    from reverie.ui.memory.tab import MemoryTab
    from reverie.ui.open_homes import OpenHomes
    from reverie.ui.palette import Entry
    from reverie.ui.patience import WaitingLabel
    from reverie.ui.picker import Picker
    from reverie.ui.session import HomeSession
    from reverie.ui.settings_control import SettingsControl
    from reverie.ui.window_wishes import Beginning


class WindowDeeds(QMainWindow):
    """A window that has these parts."""

    homes: OpenHomes
    picker: Picker
    tab: MemoryTab
    tabs: QTabWidget
    settings: SettingsControl
    actions_: Actions
    closer: HomeCloser
    waiting: WaitingLabel
    _beginning: Beginning
    _icons: Icons
    _now: Situation
    _profile: Profile
    _session: HomeSession | None
    _wants_shown: bool

    @Slot(str)
    def say(self, sentence: str) -> None:
        """A sentence in the status bar, until the next one."""
        self.statusBar().showMessage(visible(sentence))

    def places(self) -> tuple[Path, ...]:
        """Where the homes of this window are, those included that it was only asked to open."""
        opened = (session.info.root for session in self.homes.sessions)
        asked = (home for home in self._beginning.homes if home not in self.homes.left_closed)
        return tuple(dict.fromkeys((*asked, *opened)))

    def _follow(self) -> None:
        """What is possible is another."""
        raise NotImplementedError

    # Actions: files and homes

    @Slot()
    def open_home(self) -> None:
        from reverie.ui import dialogs

        path = dialogs.ask_home(self)
        if path is not None:
            self._wants_shown = True
            self.homes.open(path)

    @Slot()
    def open_demo(self) -> None:
        if self._beginning.demo is not None:
            self._wants_shown = True
            self.homes.open_demo(self._beginning.demo)

    @Slot()
    def close_home(self) -> None:
        self.closer.close_selected()

    @Slot()
    def open_settings(self) -> None:
        session = self._session
        if session is not None:
            self.settings.open(session.workbench, session.info.id, visible(session.info.label))
            return
        from reverie.services.settings_desk import SettingsDesk

        self.settings.open(SettingsDesk(self._profile))

    # Actions: view and help

    @Slot()
    def toggle_picker(self) -> None:
        self.picker.setVisible(self.picker.isHidden())
        self._follow()

    @Slot()
    def refresh(self) -> None:
        if self._session is not None:
            self._session.reload()

    @Slot()
    def focus_picker(self) -> None:
        self.picker.show()
        self.picker.setFocus()

    @Slot()
    def focus_tree(self) -> None:
        self.show_memory()
        self.tab.focus_tree()

    @Slot()
    def focus_search(self) -> None:
        self.show_memory()
        self.tab.focus_search()

    @Slot()
    def focus_editor(self) -> None:
        self.show_memory()
        self.tab.pane.focus_text()

    @Slot()
    def show_memory(self) -> None:
        self.tabs.setCurrentWidget(self.tab)

    @Slot()
    def show_palette(self) -> None:
        from reverie.ui.palette import show_palette

        paths = tuple(self.tab.model.memory_tree.files) if self._now.context else ()
        show_palette(self, self._icons, self.actions_.rows(), self._now, paths, self._on_palette)

    def _on_palette(self, entry: Entry) -> None:
        """Do what was chosen in the palette."""
        if not entry.memory:
            self.actions_[entry.id].trigger()
            return
        self.open_memory(entry.id)

    @Slot(str)
    def open_memory(self, path: str) -> None:
        """Show a memory of the shown context in the editor."""
        self.show_memory()
        self.activateWindow()
        if self.tab.tree.select_path(path):
            self.tab.edit_selected()
        else:
            self.say(self.tr("There is no such memory now: {path}").format(path=path))

    @Slot()
    def show_orphans(self) -> None:
        """The stores of this home that nobody works on any more."""
        self.show_memory()
        if self._session is None:
            return
        if self.picker.pick_orphans(self._session.info.id):
            self.tab.orphans.focus()
        else:
            self.say(self.tr("Nothing is orphaned in this home."))

    @Slot()
    def show_shortcuts(self) -> None:
        from reverie.ui import dialogs

        dialogs.ShortcutSheet(self.actions_.shortcuts(), self).exec()

    @Slot()
    def show_about(self) -> None:
        from PySide6.QtWidgets import QMessageBox

        from reverie import __version__

        QMessageBox.about(
            self,
            self.tr("About Reverie"),
            self.tr("Reverie {version}\nA desktop memory browser for coding agents.").format(
                version=__version__
            ),
        )
