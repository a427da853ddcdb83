"""The dialogs that the window opens: homes, settings, palette, shortcuts, about and privacy.

Threading: GUI thread; nothing here reads a file. Failure: none of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QMessageBox, QWidget

from reverie import __version__
from reverie.profile import Profile
from reverie.ui import dialogs
from reverie.ui.engine_link import EngineLink
from reverie.ui.icons import Icons
from reverie.ui.memory.start_page import PrivacyDialog
from reverie.ui.memory.tab import MemoryTab
from reverie.ui.session import HomeSession
from reverie.ui.window.actions import Actions
from reverie.ui.window.palette import Entry, Palette, action_entries, setting_entries
from reverie.ui.window.picker import Picker

if TYPE_CHECKING:
    from reverie.ui.settings.control import SettingsControl


class WindowDialogs(QObject):
    """The dialogs of the window itself; the user's choices in them are emitted as signals.

    Signals:
        home_wanted(Path): The user chose a home to open.
        memory_wanted(str): The user chose the memory at this path, in the shown context.
        place_wanted(keys): The user chose a row of the list of homes, given by its keys.
        settings_changed(): Settings or provider keys were saved.
        window_style_changed(WindowStyle): The style of the window was changed.
    """

    home_wanted = Signal(object)
    memory_wanted = Signal(str)
    place_wanted = Signal(object)
    settings_changed = Signal()
    window_style_changed = Signal(object)

    def __init__(
        self,
        window: QWidget,
        icons: Icons,
        profile: Profile,
        engine: EngineLink,
        picker: Picker,
        tab: MemoryTab,
        shown: Callable[[], HomeSession | None],
    ) -> None:
        super().__init__(window)
        self._window = window
        self._icons = icons
        self._profile = profile
        self._engine = engine
        self._picker = picker
        self._tab = tab
        self._shown = shown

    def use_actions(self, actions: Actions) -> None:
        """Set the actions that the palette and the dialog of keyboard shortcuts list."""
        self._actions = actions

    @cached_property
    def settings(self) -> SettingsControl:
        """The controller of the settings dialog; a cached property, created on first use."""
        # Late: this imports pydantic, which is needed only once the settings are opened.
        from reverie.ui.settings.control import SettingsControl

        control = SettingsControl(self._icons, self._window)
        control.changed.connect(self.settings_changed)
        control.window_style_changed.connect(self.window_style_changed)
        return control

    def stop(self) -> None:
        """End the jobs of the settings dialog, because the window closes."""
        if "settings" in self.__dict__:
            self.settings.stop()

    @Slot()
    def open_home(self) -> None:
        """Ask the user for the directory of a home, and emit `home_wanted` unless the user cancels."""
        path = dialogs.ask_home(self._window)
        if path is not None:
            self.home_wanted.emit(path)

    @Slot()
    def open_settings(self) -> None:
        """Show the settings dialog at its first page, including the settings of the shown home."""
        self.show_setting("")

    def show_setting(self, setting: str) -> None:
        """Show the settings dialog at a page or setting.

        `setting`: the id of the page or the key of the setting; "" for the first page.
        """
        session = self._shown()
        here = session if session is not None and session.is_here else None
        self.settings.open_profile(self._profile, self._engine.client, here, setting)

    @Slot()
    def show_palette(self) -> None:
        """Show the palette of commands, settings, memories, homes and workspaces."""
        commands = action_entries(self._actions.rows(), self._actions.state)
        self._show_palette([*commands, *setting_entries(), *self._picker.entries()])

    @Slot()
    def show_goto(self) -> None:
        """Show the palette of memories, projects, workspaces, homes and settings ("Go to")."""
        self._show_palette([*self._picker.entries(), *setting_entries()])

    def _show_palette(self, entries: Sequence[Entry]) -> None:
        paths = tuple(self._tab.model.memory_tree.files) if self._actions.state.context else ()
        palette = Palette(entries, paths, self._icons, self._window)
        palette.chosen.connect(self._on_palette)
        palette.open_over(self._window)

    @Slot(object)
    def _on_palette(self, entry: Entry) -> None:
        if entry.kind == "command":
            self._actions[entry.target].trigger()
        elif entry.kind == "setting":
            self.show_setting(entry.target)
        elif entry.kind == "place":
            self.place_wanted.emit(entry.target)
        else:
            self.memory_wanted.emit(entry.target)

    @Slot()
    def show_shortcuts(self) -> None:
        """Show a dialog with all keyboard shortcuts."""
        dialogs.ShortcutSheet(self._actions.shortcuts(), self._window).exec()

    @Slot()
    def show_about(self) -> None:
        """Show a dialog with the name and version of the program."""
        said = self.tr("Reverie {version}\nA desktop memory browser for coding agents.")
        QMessageBox.about(self._window, self.tr("About Reverie"), said.format(version=__version__))

    @Slot()
    def show_privacy(self) -> None:
        """Show the dialog about which data Reverie reads, which data it sends, and to which services."""
        dialog = PrivacyDialog(self._profile, self._window)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()
