"""What a window is made of, and the dialogs that it opens; of its frame the splitter, the indicator of a slow
disk, and the watcher's state.

F6 leads from one pane of the window to the next as they stand, from the left to the right. A pane is a list,
a tree or a text that one sees and that takes the focus, or an area to scroll with controls in it. Nobody
lists them: what a tab shows now is asked of its widgets each time; without a pane the focus stays where it
is.

Threading: GUI thread; nothing here reads a file (`DiskCheck` uses threads of its own).
Failure: none of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, QSize, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QApplication,
    QLabel,
    QMessageBox,
    QScrollArea,
    QSplitter,
    QWidget,
)

from reverie import __version__
from reverie.files.directory import DiskCheck
from reverie.profile import Profile
from reverie.services import models as _models  # noqa: F401 - the footer asks it with its first status
from reverie.ui import dialogs
from reverie.ui.appearance import GAP, Icons, descendants
from reverie.ui.display_text import as_tooltip, visible
from reverie.ui.engine_link import EngineLink
from reverie.ui.jobs import Lane, repeating
from reverie.ui.memory.start_page import PrivacyDialog
from reverie.ui.memory.tab import MemoryTab
from reverie.ui.session import HomeSession
from reverie.ui.style import use_calm_style as use_calm_style
from reverie.ui.window.actions import PICKER_MENU, Actions
from reverie.ui.window.homes import HomeCloser, OpenHomes, Picker, UnsavedChanges
from reverie.ui.window.lazy_tabs import LazyTabs, TabContext
from reverie.ui.window.palette import Entry, Palette, action_entries, setting_entries

if TYPE_CHECKING:
    from reverie.files.watch import WatchState
    from reverie.ui.settings.control import SettingsControl


class StackingSplitter(QSplitter):
    """Two parts side by side, or one above the other where that is too narrow. Each order keeps its own
    sizes.

    `narrow`: the width below which it stacks; `above`: the height of the upper part then, at first."""

    def __init__(self, narrow: int, above: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._narrow = narrow
        self._known = {True: [above, 10 * above]}  # by whether it is stacked
        self.splitterMoved.connect(self._remember)

    @property
    def is_stacked(self) -> bool:
        return self.orientation() == Qt.Orientation.Vertical

    def beside(self) -> list[int]:
        """The widths beside each other, also while it is stacked."""
        return self._known.get(False, self.sizes()) if self.is_stacked else self.sizes()

    def set_beside(self, sizes: list[int]) -> None:
        """Give the parts these widths, now or once they are beside each other again."""
        if all(sizes):
            self._known[False] = sizes
        if not self.is_stacked:
            self.setSizes(sizes)

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        if self.is_stacked:
            return hint
        parts = (self.widget(index) for index in range(self.count()))
        widths = [_least_width(part) for part in parts if part is not None and not part.isHidden()]
        return QSize(max(widths, default=hint.width()), hint.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        stacked = event.size().width() < self._narrow
        if stacked != self.is_stacked:
            self._remember()
            self.setOrientation(Qt.Orientation.Vertical if stacked else Qt.Orientation.Horizontal)
            if known := self._known.get(stacked):
                self.setSizes(known)
        super().resizeEvent(event)
        self._remember()

    def _remember(self) -> None:
        """The sizes of this order. A part that is hidden has none, and gets its old one when it is shown."""
        sizes = self.sizes()
        if len(sizes) > 1 and all(sizes):
            self._known[self.is_stacked] = sizes


def _least_width(part: QWidget) -> int:
    return max(part.minimumWidth(), part.minimumSizeHint().width())


patience_log = logging.getLogger("reverie.patience")

CHECK_MS = 500
SLOW_S = 2.0
DEAD_S = 5.0


class SlowDiskIndicator(QLabel):
    """Says in the status bar that a job takes long, and whether a disk or network share does not answer.

    Jobs wait for the disk of a home, and a share that is gone can block them for hours. `places`: the homes
    to check. `status_message(str)`: a disk stopped answering, or answers again."""

    status_message = Signal(str)

    def __init__(
        self, lanes: tuple[Lane, ...], places: Callable[[], tuple[Path, ...]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._lanes = lanes
        self._places = places
        self._check: DiskCheck | None = None
        self._silent = ""
        self.setContentsMargins(GAP, 0, GAP, 0)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.hide()
        self._timer = repeating(self, CHECK_MS, self._update)
        for lane in lanes:
            lane.busy_changed.connect(self._on_busy)
        self._on_busy(any(lane.busy for lane in lanes))

    @Slot(bool)
    def _on_busy(self, busy: bool) -> None:
        if busy and not self._timer.isActive():
            self._timer.start()

    @Slot()
    def _update(self) -> None:
        waited = max(lane.busy_seconds for lane in self._lanes)
        if not waited:
            self._timer.stop()
        if waited < SLOW_S:
            self._show("")
            self._answered()
            return
        check = self._check
        if check is None or (check.at is None and check.took_s > DEAD_S):
            check = self._check = DiskCheck(self._places())
        if check.at is not None and check.took_s > DEAD_S - SLOW_S:
            self._silence(visible(str(check.at)))
        elif not self._silent:
            self._show(self.tr("Still at work…"), self.tr("Something takes long. The disk may be slow."))

    def _silence(self, place: str) -> None:
        sentence = self.tr(
            "{home} lies on a disk or a network share that does not answer. What you type is kept, and the "
            "window may be closed. Reverie goes on as soon as it answers."
        ).format(home=place)
        self._show(self.tr("The disk does not answer"), sentence)
        if not self._silent:
            patience_log.info("%s does not answer", place)
            self._silent = place
            self.status_message.emit(sentence)

    def _answered(self) -> None:
        silent, self._silent = self._silent, ""
        if self._check is not None and self._check.at is None:
            self._check = None
        if silent:
            self.status_message.emit(self.tr("{home} answers again.").format(home=silent))

    def _show(self, text: str, more: str = "") -> None:
        if text != self.text():
            self.setText(text)
            self.setToolTip(as_tooltip(more))
            self.setAccessibleDescription(more)
            self.setVisible(bool(text))


class WatchLabel(QLabel):
    """What the watcher of the shown home does, where it is not what one expects: nothing while it is live."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setContentsMargins(GAP, 0, GAP, 0)
        self.setTextFormat(Qt.TextFormat.PlainText)

    def show_state(self, state: WatchState) -> None:
        text = {
            "events": self.tr("Live"),
            "polling": self.tr("Polling"),
            "stopped": self.tr("Not watching"),
        }.get(state.mode, visible(state.mode))
        self.setText(text)
        self.setVisible(state.mode != "events")
        facts = self.tr("{events} changes came by event, {rescans} by full scan.").format(
            events=state.delivered_events, rescans=state.delivered_rescans
        )
        self.setToolTip(as_tooltip(state.message, facts))


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
        # Late: pydantic comes along, which a window does without until somebody opens the settings.
        from reverie.ui.settings.control import SettingsControl

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


# The panes of a window, where F6 leads.


def panes(window: QWidget) -> list[QWidget]:
    """What takes the focus in each visible pane, from the left to the right and from the top down."""
    areas = [each for each in descendants(window) if isinstance(each, QAbstractScrollArea)]
    found = {stop for area in areas for stop in _stops(window, area)}
    return sorted(found, key=lambda stop: _place(window, stop))


def go_to_pane(window: QWidget, step: int) -> None:
    """Give the focus to the pane after (1) or before (-1) that of the focus; after the last the first."""
    stops = panes(window)
    if not stops:
        return
    focus = QApplication.focusWidget()
    at = next((stop for stop in stops if focus is not None and stop.isAncestorOf(focus)), focus)
    if at in stops:
        wanted = stops[(stops.index(at) + step) % len(stops)]
    else:
        # In a bar or a field: to the pane that it belongs to.
        wanted = _beside(at, stops)[0 if step > 0 else -1]
    wanted.setFocus(Qt.FocusReason.ShortcutFocusReason)


def _beside(widget: QWidget | None, stops: list[QWidget]) -> list[QWidget]:
    """Those of the smallest part of the window that holds the widget and any of them."""
    while widget is not None:
        near = [stop for stop in stops if widget.isAncestorOf(stop)]
        if near:
            return near
        widget = widget.parentWidget()
    return stops


def _stops(window: QWidget, area: QAbstractScrollArea) -> Iterator[QWidget]:
    if area.window() is not window or not _is_stop(area, shown=True):
        return
    inside = [each for each in descendants(area) if _is_stop(each, shown=False)]
    controls = [each for each in inside if each.focusPolicy() & Qt.FocusPolicy.TabFocus]
    is_list = not isinstance(area, QScrollArea)
    if area.focusPolicy() & Qt.FocusPolicy.TabFocus and (is_list or not controls):
        yield area
    elif controls and not any(isinstance(each, QAbstractScrollArea) for each in controls):
        yield min(controls, key=lambda each: _place(window, each))


def _is_stop(widget: QWidget, *, shown: bool) -> bool:
    """`shown`: a part of it is on screen, not only scrolled out of sight."""
    return widget.isVisible() and widget.isEnabled() and (not shown or _is_seen(widget))


def _is_seen(widget: QWidget) -> bool:
    """Qt's `visibleRegion` is empty below an opaque child, too."""
    seen, inner = widget.rect(), widget
    while not inner.isWindow() and (outer := inner.parentWidget()) is not None:
        seen = seen.translated(inner.pos()).intersected(outer.rect())
        inner = outer
    return not seen.isEmpty()


def _place(window: QWidget, widget: QWidget) -> tuple[int, int]:
    corner = widget.mapTo(window, QPoint(0, 0))
    return corner.x(), corner.y()
