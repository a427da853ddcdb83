"""The window: homes at the left, tabs in the middle, what the watcher does at the bottom.

Owns the lanes, the sessions and the action registry; every action of the registry is a slot here. Painted
before anything is opened: `start` begins the work once the window is on screen. Begun unfurnished it shows
the names of the first memories (`first_look`) while the modules of its parts are imported: those are named
inside methods here. Until `furnished` it has no parts. Closing goes in stages:
unsaved text is asked for, watchers stop, lanes stop (each within two seconds), then the window goes.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QTimer, Signal, Slot
from PySide6.QtGui import QCloseEvent, QPaintEvent
from PySide6.QtWidgets import QLabel, QMainWindow, QStackedWidget, QTabWidget, QWidget

from reverie.clock import Clock
from reverie.errors import MendableError
from reverie.profile import Profile
from reverie.ui.collector import Collector
from reverie.ui.first_look import FirstLook
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lane, Lanes
from reverie.ui.shown import as_tooltip, visible
from reverie.ui.theme import GAP

if TYPE_CHECKING:
    from reverie.files.watch import WatchState
    from reverie.helper.process import Helper
    from reverie.services.search import Hit
    from reverie.ui.palette import Entry
    from reverie.ui.picker import Place
    from reverie.ui.session import HomeSession
    from reverie.ui.single_instance import Wish

log = logging.getLogger("reverie.window")


@dataclass(frozen=True, slots=True)
class Beginning:
    """What to open first. Without homes: those that are found; with `and_found` those as well. `demo` is
    where the demo copy may be put. `helper`: heavy work is done by a process of its own."""

    homes: tuple[Path, ...] = ()
    workspace: str = ""
    demo: Path | None = None
    open_demo: bool = False
    and_found: bool = False
    watching: bool = True
    helper: bool = False


class MainWindow(QMainWindow):
    """`shown_in_full()`: a selection is on screen, footer included. `furnished()`: its parts are there."""

    shown_in_full = Signal()
    furnished = Signal()

    def __init__(
        self, profile: Profile, clock: Clock, icons: Icons, beginning: Beginning, *, furnish: bool = True
    ) -> None:
        super().__init__()
        self._beginning = beginning
        self._icons = icons
        self._profile = profile
        self._clock = clock
        self._look: FirstLook | None = None
        self._is_furnished = False
        self._session: HomeSession | None = None
        self._chosen = False
        self._wants_shown = False
        self._gave_up = False
        self._started = False
        self._opening_failed = False
        self._close_when_saved = False
        self._closed = False
        self._helper: Helper | None = None
        self.lanes = Lanes(Lane("scan", self), Lane("history", self), Lane("consolidator", self))
        self._collector = Collector(self, self._is_busy)
        for lane in self.lanes.all():
            lane.unclaimed.connect(self._on_unclaimed)
        self.setWindowTitle("Reverie[*]")
        self.resize(1240, 780)
        if furnish:
            self._furnish()

    def _furnish(self) -> None:
        """Make the parts. Their modules are imported by now, or nobody waits for the window."""
        from reverie.ui.actions import Actions, Situation
        from reverie.ui.late_tabs import LateTabs, Surroundings
        from reverie.ui.memory.tab import MemoryTab
        from reverie.ui.open_homes import OpenHomes
        from reverie.ui.picker import Picker
        from reverie.ui.settings_control import SettingsControl

        icons, clock, profile, beginning = self._icons, self._clock, self._profile, self._beginning
        self._now = Situation()
        if beginning.helper:
            from reverie.helper.process import Helper

            self._helper = Helper()
        self.homes = OpenHomes(
            self.lanes, profile, clock, self, watching=beginning.watching, helper=self._helper
        )
        self.picker = Picker(icons)
        self.tab = MemoryTab(self.lanes, icons, clock)
        self.tabs = QTabWidget()
        self.tabs.addTab(self.tab, self.tr("Memory"))
        around = Surroundings(
            icons, clock, self.lanes.scan, self.tab.dreams, self.homes, profile.log_file, self.tab
        )
        self.late = LateTabs(self.tabs, self.statusBar(), around)
        self.settings = SettingsControl(icons, self)
        self.watch_label = QLabel()
        self.actions_ = Actions(self, icons)
        self._lay_out()
        self._connect()
        self._is_furnished = True
        self._follow()
        self.furnished.emit()

    def _lay_out(self) -> None:
        from PySide6.QtCore import Qt

        from reverie.ui.actions import MENUS, translated
        from reverie.ui.stacking import StackingSplitter

        self.tabs.setDocumentMode(True)
        self.tabs.setTabBarAutoHide(True)
        self.splitter = StackingSplitter(narrow=560, above=112)
        self.splitter.setHandleWidth(5)
        self.splitter.addWidget(self.picker)
        self.splitter.addWidget(self.tabs)
        self.splitter.setStretchFactor(1, 1)
        self.splitter.setSizes([220, 1020])
        self.splitter.setCollapsible(1, False)
        self.picker.setMinimumWidth(120)
        self._put_in_place()
        self.watch_label.setContentsMargins(GAP, 0, GAP, 0)
        self.watch_label.setTextFormat(Qt.TextFormat.PlainText)
        self.statusBar().addPermanentWidget(self.watch_label)
        self.statusBar().setSizeGripEnabled(False)
        for key, title in MENUS:
            menu = self.menuBar().addMenu(translated(title))
            menu.setToolTipsVisible(True)
            self.actions_.fill_menu(menu, self.actions_.menu_ids(key))
        self.tab.set_actions(self.actions_)
        QWidget.setTabOrder(self.picker, self.tab.search.field)
        QWidget.setTabOrder(self.tab.search.field, self.tab.tree)
        QWidget.setTabOrder(self.tab.tree, self.tab.footer.button)
        QWidget.setTabOrder(self.tab.footer.button, self.tab.pane.text)

    def _put_in_place(self) -> None:
        """The parts take the window's room; after a first look, once they have something to show."""
        first = self.takeCentralWidget()
        if first is None:
            self.setCentralWidget(self.splitter)
            return
        pages = QStackedWidget()
        pages.addWidget(first)
        pages.addWidget(self.splitter)
        self.setCentralWidget(pages)
        pages.show()

    @Slot()
    def _reveal(self) -> None:
        if self._look is not None:
            self.setCentralWidget(self.splitter)
            self.splitter.show()
            self._look.deleteLater()
            self._look = None

    def _connect(self) -> None:
        self.homes.opened.connect(self._on_opened)
        self.homes.opened.connect(self.tab.search.add_session)
        self.homes.opened.connect(self.tab.orphans.add_session)
        self.tab.orphans.found.connect(self.homes.set_lost)
        self.tab.place_wanted.connect(self._on_place_wanted)
        self.homes.failed.connect(self._on_open_failed)
        self.homes.listed.connect(self._on_listed)
        self.homes.none_found.connect(self._on_none_found)
        self.picker.picked.connect(self._on_picked)
        self.tab.situation_changed.connect(self._follow)
        self.settings.changed.connect(self.tab.dreams.ask_engine)
        self.settings.changed.connect(self.late.settings_changed)
        self.late.changed.connect(self._follow)
        self.late.said.connect(self.say)

    # Opening

    @Slot()
    def start(self) -> None:
        """Begin; once. The first painting of the window asks for it."""
        if self._started:
            return
        self._started = True
        if self._is_furnished:
            self._open()
        else:
            self._look_first()

    def _look_first(self) -> None:
        """Show the names, load the parts meanwhile."""
        self._look = FirstLook(self._icons, self.lanes.scan, self)
        self._look.loaded.connect(self._on_loaded)
        self.setCentralWidget(self._look.view)
        if self._beginning.open_demo:
            self._look.load()
        else:
            self._look.begin(self._beginning.homes, self._beginning.workspace)

    @Slot()
    def _on_loaded(self) -> None:
        if not self._closed:
            self._furnish()
            self._open()

    def _open(self) -> None:
        if self._beginning.open_demo:
            self.open_demo()
        for path in self._beginning.homes:
            self.homes.open(path)
        if self._beginning.and_found or not (self._beginning.homes or self._beginning.open_demo):
            self.homes.discover()

    @property
    def look(self) -> FirstLook | None:
        """What is shown before the parts are; None once they show something."""
        return self._look

    @property
    def gave_up(self) -> bool:
        """Nothing more will be shown by itself: no home was found, or it could not be opened."""
        return self._gave_up

    @property
    def opening_failed(self) -> bool:
        """A home could not be opened, and none else is shown."""
        return self._opening_failed

    @property
    def is_watching(self) -> bool:
        """The watcher of the shown home runs."""
        return self._session is not None and self._session.watcher is not None

    @property
    def session(self) -> HomeSession | None:
        return self._session

    @Slot(object)
    def take_wish(self, wish: Wish) -> None:
        """Another start of the program was asked to open this, and handed it over."""
        self._beginning = replace(self._beginning, workspace=wish.workspace)
        if wish.demo:
            self.open_demo()
        for path in wish.homes:
            self._wants_shown = True
            self.homes.open(path)
        if wish.token:
            os.environ["XDG_ACTIVATION_TOKEN"] = wish.token
        if self.isMinimized():
            self.showNormal()
        self.raise_()
        self.activateWindow()

    @Slot(object)
    def _on_opened(self, session: HomeSession) -> None:
        """The first home found is shown; one that a person opens later, too."""
        if not self._chosen or self._wants_shown:
            self._chosen, self._wants_shown = True, False
            self._pick_in(session)

    def _pick_in(self, session: HomeSession) -> None:
        """Select the workspace asked for, else the one used last, else the first, else the home itself."""
        home = session.info.id
        asked = self._beginning.workspace
        if asked and asked not in {workspace.id for workspace in session.info.contents.workspaces()}:
            self.say(self.tr("There is no workspace {id} in this home.").format(id=asked))
        for wanted in (asked, session.recent_workspace):
            if wanted and self.picker.pick(home, workspace_id=wanted):
                return
        if not self.picker.pick(home):
            self.picker.pick_home(home)

    @Slot(str, object)
    def _on_open_failed(self, path: str, error: MendableError) -> None:
        log.info("home not opened: %s", error.title)
        if self._session is None:
            self._gave_up = self._opening_failed = True
            self.late.load()
            self.tab.show_notice(self.tr("This home could not be opened"), str(error))
            self._reveal()
        else:
            self.say(str(error))

    @Slot()
    def _on_none_found(self) -> None:
        self._gave_up = True
        self.late.load()
        self.tab.show_no_home()
        self._reveal()

    @Slot()
    def _on_listed(self) -> None:
        self.picker.show_homes(self.homes.nodes)

    @Slot(object)
    def _on_picked(self, place: Place) -> None:
        from reverie.ui.session import Choice

        session = self.homes.session(place.home)
        if session is None:
            return
        if session is not self._session:
            self._take_session(session)
        if place.kind in ("orphan", "orphans"):
            if session.context is None:
                session.select(Choice())  # it is watched from then on
            self.tab.orphans.show(session, place.path)
            return
        facts = (place.reason, place.below, place.workspace_id)
        self.tab.show_place(self.picker.text_of(place), " · ".join(fact for fact in facts if fact))
        self.setWindowTitle(
            self.tr("{place} – {home}").format(place=_literal(place.title), home=_literal(session.info.label))
            + "[*]"
        )
        session.select(
            Choice(workspace_id=place.workspace_id or None, project_path=place.path or None)
            if place.kind != "home"
            else Choice()
        )

    @Slot(object)
    def _on_place_wanted(self, hit: Hit) -> None:
        """A search result stands elsewhere: show the place, and the tab opens it there."""
        if hit.workspace_id and self.picker.pick(hit.home_id, workspace_id=hit.workspace_id):
            return
        if not hit.project_path or not self.picker.pick_project(hit.home_id, hit.project_path):
            self.picker.pick_home(hit.home_id)

    def _take_session(self, session: HomeSession) -> None:
        if self._session is not None:
            self._session.watch_changed.disconnect(self._on_watch)
            self._session.notified.disconnect(self.say)
            self._session.status_changed.disconnect(self._on_status)
        self._session = session
        session.watch_changed.connect(self._on_watch)
        session.notified.connect(self.say)
        session.status_changed.connect(self._on_status)
        self.tab.set_session(session)
        self.late.set_session(session)
        if self._look is not None:
            session.tree_changed.connect(self._reveal)
            session.trouble.connect(self._reveal)

    @Slot(object)
    def _on_status(self, _status: object) -> None:
        self.shown_in_full.emit()
        # Not before: neither the other tabs nor the services may hold up the first tree.
        self.late.load()
        if self._beginning.watching:
            self.late.host()

    # What is going on

    def _is_busy(self) -> bool:
        return any(lane.busy for lane in self.lanes.all())

    @Slot(str)
    def say(self, sentence: str) -> None:
        """A sentence in the status bar, until the next one."""
        self.statusBar().showMessage(visible(sentence))

    @Slot(object)
    def _on_unclaimed(self, error: MendableError) -> None:
        self.say(str(error))

    @Slot(object)
    def _on_watch(self, state: WatchState) -> None:
        text = {
            "events": self.tr("Live"),
            "polling": self.tr("Polling"),
            "stopped": self.tr("Not watching"),
        }.get(state.mode, visible(state.mode))
        self.watch_label.setText(text)
        facts = self.tr("{events} changes came by event, {rescans} by full scan.").format(
            events=state.delivered_events, rescans=state.delivered_rescans
        )
        self.watch_label.setToolTip(as_tooltip(state.message, facts))
        if state.message:
            self.say(state.message)

    @Slot()
    def _follow(self) -> None:
        from reverie.ui.actions import Situation

        known = Situation(
            home=self._session is not None, services=self.late.can_pause, failures=self.late.has_failures
        )
        now = self.tab.situation(known)
        self._now = now
        self.actions_.follow(now)
        self.actions_["view.picker"].setChecked(not self.picker.isHidden())
        self.actions_["services.pause"].setChecked(self.late.paused)
        self.setWindowModified(now.any_modified)
        if self._close_when_saved:
            self._close_if_saved()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._started:
            # Not before: opening imports heavy libraries, which would hold up this very painting.
            QTimer.singleShot(0, self.start)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            if self._session is not None:
                self._session.focused()
                self.late.focused()
        elif event.type() == QEvent.Type.PaletteChange and hasattr(self, "actions_"):
            self._icons.refresh()
            self.actions_.update_icons()

    # Closing

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._closed or not self._is_furnished:
            self.shut_down()
            event.accept()
            return
        from reverie.ui import dialogs

        unsaved = self.tab.buffers.unsaved()
        answer = (
            dialogs.ask_unsaved(self, [file.buffer.address.label for file in unsaved])
            if unsaved
            else "discard"
        )
        if answer != "discard":
            event.ignore()
            if answer == "save":
                self._close_when_saved = True
                self.tab.editor.save_all()
            return
        self.tab.keeper.throw_away()
        self.shut_down()
        event.accept()

    def _close_if_saved(self) -> None:
        """The person wanted to save and close: done when nothing is unsaved, given up when something went
        wrong."""
        unsaved = self.tab.buffers.unsaved()
        if not unsaved:
            self._close_when_saved = False
            self.close()
        elif not any(file.saving for file in unsaved):
            self._close_when_saved = False
            self.say(self.tr("Not everything could be saved; the window stays open."))

    def shut_down(self) -> None:
        """Stop watchers, then lanes. Calling it again is harmless."""
        if self._closed:
            return
        self._closed = True
        if self._is_furnished:
            self.homes.close()
            self.settings.stop()
            self.late.stop()
            self.tab.keeper.stop()
            self.tab.search.stop()
            self.tab.lint.stop()
            self.tab.duplicates.stop()
            self.tab.orphans.stop()
        if self._helper is not None:
            self._helper.stop()
        for lane in self.lanes.all():
            lane.stop()
        if self._is_furnished:
            self.homes.finish()
        self._collector.stop()

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
    def open_settings(self) -> None:
        session = self._session
        if session is not None:
            self.settings.open(session.workbench, session.info.id, visible(session.info.label))

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
        self.show_memory()
        if self.tab.tree.select_path(entry.id):
            self.tab.edit_selected()

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
    def show_welcome(self) -> None:
        from reverie.ui import welcome

        welcome.show_welcome(self, self._profile)

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


def _literal(text: str) -> str:
    """A name in the window's title, where `[*]` would be the mark of unsaved changes."""
    return visible(text).replace("[*]", "[*][*]")
