"""What a window is made of, and the dialogs that it opens.

A window that starts shows the names of the memories first and loads this module meanwhile, so everything that
is not needed for the names is imported here, and nowhere late.

Threading: GUI thread; imported in a job. Failure: none of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QMessageBox, QWidget

from reverie import __version__
from reverie.profile import Profile
from reverie.services import models as _models  # noqa: F401 - the footer asks it with its first status
from reverie.ui import dialogs
from reverie.ui.appearance import Icons
from reverie.ui.engine_link import EngineLink
from reverie.ui.memory.start_page import PrivacyDialog
from reverie.ui.memory.tab import MemoryTab
from reverie.ui.session import HomeSession
from reverie.ui.window.actions import PICKER_MENU, Actions
from reverie.ui.window.homes import HomeCloser, OpenHomes, Picker, UnsavedChanges
from reverie.ui.window.layout import SlowDiskIndicator, StackingSplitter, WatchLabel
from reverie.ui.window.lazy_tabs import LazyTabs, TabContext
from reverie.ui.window.palette import Entry, Palette, action_entries, setting_entries

if TYPE_CHECKING:
    from reverie.ui.settings.dialog import SettingsControl

__all__ = [
    "PICKER_MENU",
    "Actions",
    "EngineLink",
    "HomeCloser",
    "LazyTabs",
    "MemoryTab",
    "OpenHomes",
    "Picker",
    "SlowDiskIndicator",
    "StackingSplitter",
    "TabContext",
    "UnsavedChanges",
    "WatchLabel",
    "WindowDialogs",
]


class WindowDialogs(QObject):
    """The dialogs of the window itself. Signals: `home_wanted(Path)`: a person chose a home to open;
    `memory_wanted(str)`: a memory of the shown context; `place_wanted(keys)`: a row of the picker; those of
    `SettingsControl`."""

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
        """The actions of the window."""
        self._actions = actions

    @cached_property
    def settings(self) -> SettingsControl:
        """The settings dialog and what it asks."""
        # Late: pydantic comes along; a job has imported it, unless a person is very quick.
        from reverie.ui.settings.dialog import SettingsControl

        control = SettingsControl(self._icons, self._window)
        control.changed.connect(self.settings_changed)
        control.window_style_changed.connect(self.window_style_changed)
        return control

    def stop(self) -> None:
        """The window closes."""
        if "settings" in self.__dict__:
            self.settings.stop()

    @Slot()
    def open_home(self) -> None:
        """Ask for a home to open."""
        path = dialogs.ask_home(self._window)
        if path is not None:
            self.home_wanted.emit(path)

    @Slot()
    def open_settings(self) -> None:
        """The settings, with those of the shown home."""
        self.show_setting("")

    def show_setting(self, setting: str) -> None:
        """The settings, at a page or at one of them."""
        session = self._shown()
        here = session if session is not None and session.is_here else None
        self.settings.open_profile(self._profile, self._engine.client, here, setting)

    @Slot()
    def show_palette(self) -> None:
        """Every command, setting and name."""
        commands = action_entries(self._actions.rows(), self._actions.state)
        self._show_palette([*commands, *setting_entries(), *self._picker.entries()])

    @Slot()
    def show_goto(self) -> None:
        """Every memory, workspace, home and setting by name."""
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
        """Every key."""
        dialogs.ShortcutSheet(self._actions.shortcuts(), self._window).exec()

    @Slot()
    def show_about(self) -> None:
        """What this is."""
        said = self.tr("Reverie {version}\nA desktop memory browser for coding agents.")
        QMessageBox.about(self._window, self.tr("About Reverie"), said.format(version=__version__))

    @Slot()
    def show_privacy(self) -> None:
        """What is read, and what is sent where."""
        dialog = PrivacyDialog(self._profile, self._window)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()
