"""The main window: the list of homes at the left, tabs beside it, and the status bar at the bottom.

Threading: GUI thread; nothing here reads a file.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QCloseEvent, QKeyEvent, QPaintEvent
from PySide6.QtWidgets import QMainWindow, QTabWidget, QWidget

from reverie.clock import Clock
from reverie.errors import UserError
from reverie.profile import Profile
from reverie.resources import DEMO_FILE
from reverie.services.machines import MachineAddress
from reverie.ui import dialogs
from reverie.ui.display_text import loaded_next_words, visible
from reverie.ui.engine_link import EngineLink
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lane, Lanes
from reverie.ui.memory.tab import MemoryTab
from reverie.ui.metrics import scaled
from reverie.ui.mnemonics import show_mnemonics
from reverie.ui.startup_options import StartupOptions
from reverie.ui.style import use_calm_style
from reverie.ui.widgets.stacking_splitter import StackingSplitter
from reverie.ui.window.actions import PICKER_MENU, Actions
from reverie.ui.window.closing import HomeCloser, UnsavedChanges
from reverie.ui.window.homes import OpenHomes
from reverie.ui.window.lazy_tabs import LazyTabs
from reverie.ui.window.panes import go_to_pane
from reverie.ui.window.picker import Picker
from reverie.ui.window.status_labels import SlowDiskIndicator, WatchLabel
from reverie.ui.window.tab_context import TabContext
from reverie.ui.window.window_dialogs import WindowDialogs
from reverie.values import replace

if TYPE_CHECKING:
    from reverie.agents.base import LoadedNext
    from reverie.files.watch import WatchState
    from reverie.services.views import SearchHit
    from reverie.ui.session import HomeSession
    from reverie.ui.single_instance import OpenRequest
    from reverie.ui.window.picker import Place
from reverie.ui.window.garbage import GarbageCollection

log = logging.getLogger("reverie.window")
PICKER_WIDTH = 220
"""The initial width of the list of homes, in pixels at the default font size."""


class MainWindow(QMainWindow):
    """The main window.

    It owns the lanes (queues of jobs, with their threads), the sessions of the open homes and the actions,
    whose slots are methods of the window or of its parts. `start` opens the homes; it is called after the
    first paint. Closing has three steps: ask about unsaved text, stop the watchers, stop the lanes (at most
    two seconds for each lane).

    Signals:
        chosen_by_hand(): The user chose the place to show, so the place of the last session is not restored.
    """

    chosen_by_hand = Signal()

    def __init__(self, profile: Profile, clock: Clock, icons: Icons, options: StartupOptions) -> None:
        super().__init__()
        self._options = options
        self._icons = icons
        self._profile = profile
        self._clock = clock
        self._session: HomeSession | None = None
        self._chosen = False
        self._wanted: set[Path | MachineAddress] = set()
        """The homes and machines that the user asked to open; each is shown once it is open."""
        self._demo_due = False
        self._gave_up = False
        self._started = False
        self._opening_failed = False
        self._closed = False
        # The home whose orphaned stores were requested before the first search.
        self._orphans_of = ""
        self.lanes = Lanes(
            Lane("scan", self),
            Lane("history", self),
            Lane("writer", self, own_thread=True),
            Lane("consolidator", self, own_thread=True),
        )
        show_mnemonics(self, False)
        for lane in self.lanes.all():
            lane.unclaimed.connect(self._on_unclaimed)
        self.setWindowTitle("Reverie[*]")
        self.resize(1240, 780)
        self.engine = EngineLink(profile, clock, self, own_process=options.engine, starting=options.starting)
        self.homes = OpenHomes(
            self.lanes,
            profile,
            clock,
            self.engine,
            self,
            watching=options.watching,
            asking=options.asking,
            left_closed=options.closed,
        )
        self._build_views()
        # Only now, because the objects of a window that is being built stay alive anyway.
        self._garbage = GarbageCollection(self)

    def _build_views(self) -> None:
        """Create the widgets and the actions, and connect them."""
        self._leave_pane = go_to_pane
        icons, clock, profile = self._icons, self._clock, self._profile
        use_calm_style()
        self.picker = Picker(icons)
        self.tab = MemoryTab(self.lanes, icons, clock, profile)
        self.tab.search.use_engine(self.engine)
        self.tabs = QTabWidget()
        self.tabs.setAccessibleName(self.tr("Views"))
        self.tabs.addTab(self.tab, self.tr("Memory"))
        context = TabContext(
            icons, clock, self.lanes.scan, self.lanes.history, self.tab.dreams, self.homes, self.tab
        )
        self.lazy_tabs = LazyTabs(self.tabs, self.statusBar(), context)
        self.splitter = StackingSplitter(narrow=560, above=112)
        self.slow_disk = SlowDiskIndicator((self.lanes.scan, self.lanes.history), self.places)
        self.watch_label = WatchLabel()
        self.dialogs = WindowDialogs(
            self, icons, profile, self.engine, self.picker, self.tab, lambda: self._session
        )
        self.actions_ = Actions(self, icons)
        self.dialogs.use_actions(self.actions_)
        self._unsaved = UnsavedChanges(self.tab, self.close, self.say)
        menu = self.actions_.menu(PICKER_MENU, self.picker)
        self.closer = HomeCloser(self.homes, self.picker, self.tab, self._unsaved, menu, self.lazy_tabs.hosts)
        self._lay_out()
        self._connect()
        self._update_actions()

    def _lay_out(self) -> None:
        """Place the widgets in the window, fill the menus, and set the order of the Tab key."""
        self.tabs.setDocumentMode(True)
        self.tabs.setTabBarAutoHide(True)
        self.splitter.addWidget(self.picker)
        self.splitter.addWidget(self.tabs)
        self.splitter.setStretchFactor(1, 1)
        width = scaled(self.font(), PICKER_WIDTH)
        self.splitter.setSizes([width, max(1, self.width() - width)])
        self.splitter.setCollapsible(1, False)
        self.picker.setMinimumWidth(120)
        self.setCentralWidget(self.splitter)
        bar = self.statusBar()
        bar.addPermanentWidget(self.slow_disk)
        bar.addPermanentWidget(self.watch_label)
        bar.setSizeGripEnabled(False)
        self.actions_.fill_menu_bar(self.menuBar())
        self.tab.set_actions(self.actions_)
        QWidget.setTabOrder(self.picker, self.tab.search.field)
        QWidget.setTabOrder(self.tab.search.field, self.tab.tree)
        QWidget.setTabOrder(self.tab.tree, self.tab.footer.button)
        QWidget.setTabOrder(self.tab.footer.button, self.tab.pane.text)

    def _connect(self) -> None:
        self.dialogs.home_wanted.connect(self._open_wanted)
        self.dialogs.memory_wanted.connect(self.open_memory)
        self.dialogs.place_wanted.connect(self._go_to_place)
        self.tab.no_home.chosen.connect(self._on_home_chosen)
        self.tab.no_home.privacy_wanted.connect(self.dialogs.show_privacy)
        self.homes.opened.connect(self._on_opened)
        self.homes.opened.connect(self.tab.search.add_session)
        self.homes.opened.connect(self.tab.orphans.add_session)
        self.homes.closed.connect(self.tab.search.remove_session)
        self.homes.closed.connect(self.tab.orphans.remove_session)
        self.tab.filters.displaced.connect(self._on_displaced)
        self.homes.closed.connect(self.lazy_tabs.remove_session)
        self.tab.orphans.found.connect(self.homes.set_lost)
        self.tab.orphans.found.connect(self._on_orphans_found)
        self.tab.place_wanted.connect(self._on_place_wanted)
        self.tab.front_wanted.connect(self.show_memory)
        self.lazy_tabs.open_wanted.connect(self.open_memory)
        self.lazy_tabs.worth_wanted.connect(self.tab.worth.show_page)
        self.homes.failed.connect(self._on_open_failed)
        self.homes.noticed.connect(self.say)
        self.homes.listed.connect(self._on_listed)
        self.homes.none_found.connect(self._on_none_found)
        self.picker.picked.connect(self._on_picked)
        self.picker.memories_dropped.connect(self.tab.hand.refuse_other_place)
        self.closer.status_message.connect(self.say)
        self.closer.none_left.connect(self.show_no_home)
        self.picker.place_gone.connect(self.closer.show_again)
        self.slow_disk.status_message.connect(self.say)
        self.tab.situation_changed.connect(self._update_actions)
        self.dialogs.settings_changed.connect(self.tab.dreams.ask_engine)
        self.dialogs.settings_changed.connect(self.lazy_tabs.settings_changed)
        self.dialogs.settings_changed.connect(self.tab.pane.view.settings_changed)
        self.lazy_tabs.changed.connect(self._update_actions)
        self.lazy_tabs.status_message.connect(self.say)
        self.lazy_tabs.settings_wanted.connect(self.dialogs.show_setting)

    @Slot()
    def start(self) -> None:
        """Open the homes that the options name, or all that are found; later calls do nothing.

        Called after the first paint of the window.
        """
        if self._started:
            return
        self._started = True
        if self._options.open_demo:
            self.open_demo()
        for path in self._options.homes:
            self.homes.open(path)
        if self._options.and_found or not (self._options.homes or self._options.open_demo):
            self.homes.discover()
        for address in self._options.hosts:
            self.homes.open_machine(address)

    @property
    def gave_up(self) -> bool:
        """True if there is no home to show, because none was found or the requested one cannot be opened."""
        return self._gave_up

    @property
    def opening_failed(self) -> bool:
        """True if opening a home failed while no other home was shown."""
        return self._opening_failed

    @property
    def is_watching(self) -> bool:
        """True if the files of the shown home are being watched."""
        return self._session is not None and self._session.is_watched

    @property
    def session(self) -> HomeSession | None:
        return self._session

    @Slot(object)
    def handle_request(self, request: OpenRequest) -> None:
        """Open or show the homes, workspace or project of a request, and raise the window.

        The request comes from the command line of a second start of the program, which then ends.
        """
        if request.homes or request.hosts or request.demo:
            self._options = replace(self._options, workspace=request.workspace, project=request.project)
        elif (request.workspace or request.project) and (self.homes.sessions or self._gave_up):
            self._show_asked(request.workspace, request.project)
        elif request.workspace or request.project:
            # The request is about the home that is about to open.
            self._options = replace(self._options, workspace=request.workspace, project=request.project)
            self.chosen_by_hand.emit()
        if request.demo:
            self.open_demo()
        for path in request.homes:
            self._open_wanted(path)
        for address in request.hosts:
            self._wanted.add(address)
            self.homes.open_machine(address)
        if request.token:
            os.environ["XDG_ACTIVATION_TOKEN"] = request.token
        if self.isMinimized():
            self.showNormal()
        self.raise_()
        self.activateWindow()

    @Slot(object)
    def _on_opened(self, session: HomeSession) -> None:
        """Show a home that was opened, if it is the first one or the user requested it."""
        is_wanted = not self._wanted.isdisjoint(self.homes.asked_by(session))
        if self._options.choosing and not (self._chosen or is_wanted):
            self._show_start_page()
        elif not self._chosen or is_wanted:
            self._chosen = True
            if is_wanted:
                self._wanted.clear()
                self.chosen_by_hand.emit()
            self._pick_in(session)

    def _show_asked(self, workspace: str, project: str) -> None:
        """Select a workspace, or a project if `workspace` is empty, in the first open home that has it.

        `workspace`: an id. `project`: a path. The shown home is searched first. If no home has the place, the
        status bar says so.
        """
        self.chosen_by_hand.emit()
        for session in sorted(self.homes.sessions, key=lambda each: each is not self._session):
            home = session.info.id
            if workspace and self.picker.pick(home, workspace_id=workspace):
                return
            if not workspace and self.picker.pick_project(home, project):
                return
        if workspace:
            self.say(self.tr("No open home has the workspace {id}.").format(id=workspace))
        else:
            self.say(self.tr("No open home has the project {path}.").format(path=project))

    def _pick_in(self, session: HomeSession) -> None:
        """Select the workspace or project that the command line named, in this home.

        If it named none, select the workspace used last, else the first one, else the home itself.
        """
        asked, project = self._options.workspace, self._options.project
        # Only once, because the next home need not have them.
        self._options = replace(self._options, workspace="", project="")
        if project and not asked:
            if self.picker.pick_project(session.info.id, project):
                return
            self.say(self.tr("This home does not have the project {path}.").format(path=project))
        if asked and asked not in {workspace.id for workspace in session.info.contents.workspaces()}:
            self.say(self.tr("This home does not have the workspace {id}.").format(id=asked))
        self.picker.pick_first(session, asked)

    @Slot(str, object)
    def _on_open_failed(self, path: str, error: UserError) -> None:
        log.info("home not opened: %s", error.title)
        title, place = self.tr("This home could not be opened"), self.picker.place(self.picker.currentIndex())
        if place is not None and place.trouble and place.reason == path:
            self._wanted.discard(Path(path))
            self.tab.show_notice(title, str(error))  # if it was selected
        elif self._session is not None or self.tab.no_home.cards:
            self._wanted.discard(Path(path))
            self.say(str(error))
        else:
            self.tab.no_home.say_trouble(title, str(error))
            self._show_start_page()
            self._offer_others(path)

    def _offer_others(self, path: str) -> None:
        """Offer other homes on the start page, because a requested home could not be opened.

        `path`: the path of that home; empty if it is on another machine. A requested home is still shown as
        soon as it can be opened. If the command line named homes, all homes of this user are searched for, to
        be offered.
        """
        options, is_first = self._options, not self._opening_failed
        self._gave_up = self._opening_failed = True
        self._wanted.update((Path(path),) if path else options.hosts)
        if is_first and options.homes and options.asking:
            self._options = replace(options, choosing=True)
            self.homes.discover()

    @Slot()
    def _on_none_found(self) -> None:
        if self._opening_failed:
            return  # the page already says why the named home could not be opened
        self._gave_up = True
        self._show_start_page()

    def _show_start_page(self) -> None:
        if self.tab.no_home.isVisible():
            return  # another home was found, so the focus stays
        self.lazy_tabs.load()
        self.tab.show_no_home()
        self.tab.no_home.focus()

    @Slot(str)
    def _on_home_chosen(self, home: str) -> None:
        """Show the home that the user has chosen on the start page; `home` is its id."""
        session = self.homes.session(home)
        if session is not None:
            self._wanted.clear()
            self.chosen_by_hand.emit()
            self._pick_in(session)

    @Slot()
    def _on_listed(self) -> None:
        self.picker.show_homes(self.homes.nodes)
        self.tab.no_home.show_homes([session.info for session in self.homes.sessions])
        place = self.picker.place(self.picker.currentIndex())
        # The title may have been read just now.
        if (
            place is not None
            and place.kind == "workspace"
            and self.homes.session(place.home) is self._session
        ):
            self.tab.heading.say(*self._said_of(place))
            self._say_title(place)

    def _said_of(self, place: Place) -> tuple[str, str]:
        """Return the heading for a place, and a line with facts about the place to show below the heading."""
        facts = (place.reason, place.below)
        return self.picker.text_of(place), " · ".join(fact for fact in facts if fact)

    def _say_title(self, place: Place) -> None:
        session = self._session
        if session is not None:
            home, name = _literal(session.info.label), _literal(place.title)
            # A home without places is listed under its own name.
            title = home if name == home else self.tr("{place} – {home}").format(place=name, home=home)
            self.setWindowTitle(title + "[*]")

    @Slot(object)
    def _on_picked(self, place: Place) -> None:
        session = self.homes.session(place.home)
        if session is None:
            if place.trouble:
                self.tab.show_notice(self.tr("This home could not be opened"), place.trouble)
                if self.homes.try_again(place):
                    self._wanted.add(Path(place.reason))
            return
        self._chosen = True
        if session is not self._session:
            self._take_session(session)
        self.lazy_tabs.follow_place(self.picker.followed(place, session.info.label))
        if place.kind in ("orphan", "orphans"):
            if session.context is None:
                session.select()  # it is watched from then on
            self.tab.orphans.show(session, place.path)
            return
        self.tab.show_place(*self._said_of(place))
        self._say_title(place)
        if place.kind == "home":
            session.select()
        else:
            session.select_place(place.workspace_id, place.path)

    @Slot(object)
    def _on_place_wanted(self, hit: SearchHit) -> None:
        """Select the workspace, project or home of a search result, so that the result can be opened."""
        self.picker.pick_hit(hit)

    def show_no_home(self) -> None:
        """Show that no home is open; the next home that opens is shown."""
        self._chosen = False
        self._take_session(None)
        self.lazy_tabs.follow_place(None)
        self.setWindowTitle("Reverie[*]")
        self.watch_label.clear()
        self.watch_label.setToolTip("")

    def _take_session(self, session: HomeSession | None) -> None:
        if self._session is not None:
            self._session.watch_changed.disconnect(self._on_watch)
            self._session.notified.disconnect(self.say)
            self._session.status_changed.disconnect(self._on_status)
        self._session = session
        if session is not None:
            self.tab.no_home.forget_trouble()
            session.watch_changed.connect(self._on_watch)
            session.notified.connect(self.say)
            session.status_changed.connect(self._on_status)
        self.tab.set_session(session)
        self.lazy_tabs.set_session(session)

    @Slot(object)
    def _on_status(self, _status: object) -> None:
        # Only now, so that neither the other tabs nor the services delay the first tree.
        self.lazy_tabs.load()
        if self._options.watching:
            self.lazy_tabs.host()
        if self._demo_due and self._session is not None and self._session.is_demo:
            self._demo_due = False
            self.tab.tree.reveal(DEMO_FILE)

    @Slot(object)
    def _on_unclaimed(self, error: UserError) -> None:
        self.say(str(error))

    @Slot(object)
    def _on_watch(self, state: WatchState) -> None:
        self.watch_label.show_state(state)
        if state.message:
            self.say(state.message)

    @Slot()
    def _update_actions(self) -> None:
        known = replace(
            self.actions_.state,
            home=self._session is not None,
            closable=self.closer.possible,
            services=self.lazy_tabs.can_pause,
            failures=self.lazy_tabs.has_failures,
            beside=self.lazy_tabs.beside,
        )
        state = self.tab.situation(known)
        self.actions_.update_state(state)
        self.actions_["view.picker"].setChecked(not self.picker.isHidden())
        self.actions_["view.context"].setChecked(state.beside == "context")
        self.actions_["view.inspector"].setChecked(self.tab.inspector.is_shown)
        self.actions_["view.stale"].setChecked(self.tab.worth.is_stale_shown)
        self.actions_["view.worth"].setChecked(self.tab.worth.is_page_shown)
        self.actions_["view.failures"].setChecked(state.beside == "failures")
        self.actions_["services.pause"].setChecked(self.lazy_tabs.paused)
        self.setWindowModified(state.any_modified)
        self._unsaved.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._started:
            # Only now, because opening imports heavy libraries, which would delay this painting.
            QTimer.singleShot(0, self.start)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        super().keyPressEvent(event)
        if event.key() == Qt.Key.Key_Alt:
            show_mnemonics(self, True)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        super().keyReleaseEvent(event)
        menus = self.menuWidget()
        # Alt alone opens the menu bar, where the next letter is a mnemonic.
        show_mnemonics(self, menus is not None and menus.hasFocus())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and not self.isActiveWindow():
            show_mnemonics(self, False)
        came = event.type() == QEvent.Type.ActivationChange and self.isActiveWindow()
        if came and self._session is not None:
            self._session.focused()
            self.tab.editor.focused()
            self.lazy_tabs.focused()

    @Slot(str)
    def say(self, sentence: str) -> None:
        """Show a sentence in the status bar; it replaces the previous one."""
        self.statusBar().showMessage(visible(sentence))

    def places(self) -> tuple[Path, ...]:
        """Return the paths of the homes on this machine that are open or that the command line named."""
        opened = (session.info.root for session in self.homes.sessions if session.is_here)
        asked = (home for home in self._options.homes if home not in self.homes.left_closed)
        return tuple(dict.fromkeys((*asked, *opened)))

    # Actions: files and homes

    @Slot(object)
    def _open_wanted(self, path: Path) -> None:
        self._wanted.add(path)
        self.homes.open(path)

    @Slot()
    def open_demo(self) -> None:
        if self._options.demo is not None:
            self._wanted.add(self._options.demo)
            self._demo_due = True
            self.homes.open_demo(self._options.demo)

    @Slot()
    def close_home(self) -> None:
        self.closer.close_selected()

    # Actions: view and help

    @Slot()
    def toggle_picker(self) -> None:
        self.picker.setVisible(self.picker.isHidden())
        self._update_actions()

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
    def next_pane(self) -> None:
        self._leave_pane(self, 1)

    @Slot()
    def previous_pane(self) -> None:
        self._leave_pane(self, -1)

    @Slot()
    def next_tab(self) -> None:
        self._go_to_tab(1)

    @Slot()
    def previous_tab(self) -> None:
        self._go_to_tab(-1)

    def _go_to_tab(self, step: int) -> None:
        shown = [at for at in range(self.tabs.count()) if self.tabs.isTabVisible(at)]
        at = shown.index(self.tabs.currentIndex())
        self.tabs.setCurrentIndex(shown[(at + step) % len(shown)])

    @Slot()
    def show_memory(self) -> None:
        self.tabs.setCurrentWidget(self.tab)

    @Slot(str)
    def open_memory(self, path: str) -> None:
        """Show the memory at `path`, in the context that is shown, in the editor.

        If it no longer exists, the status bar says so.
        """
        self.show_memory()
        self.activateWindow()
        if not self.tab.open_line(path):
            self.say(self.tr("This memory no longer exists: {path}").format(path=path))

    @Slot(object)
    def _on_displaced(self, change: LoadedNext) -> None:
        """Show in the status bar how a save changes which files the agent will load."""
        self.say(" ".join(loaded_next_words(change)))

    @Slot(object)
    def _go_to_place(self, keys: tuple[str, ...]) -> None:
        self.show_memory()
        self.picker.pick_keys(keys)

    @Slot()
    def show_orphans(self) -> None:
        """Show the orphaned stores of the shown home; if it has none, the status bar says so.

        An orphaned store is a directory with memories that no project or workspace of the home uses.
        """
        self.show_memory()
        if self._session is None:
            return
        home = self._session.info.id
        if self.picker.pick_orphans(home):
            self.tab.orphans.focus()
        elif not self._session.facts.may_lose_stores:
            self.say(self.tr("This agent has no orphaned stores (notes whose project no longer exists)."))
        elif self.tab.orphans.has_looked(home):
            self.say(self.tr("This home has no orphaned stores (notes whose project no longer exists)."))
        else:
            self._orphans_of = home  # reported after the first search

    @Slot(str, object)
    def _on_orphans_found(self, home: str, _stores: object) -> None:
        if home == self._orphans_of:
            self._orphans_of = ""
            if self._session is not None and self._session.info.id == home:
                self.show_orphans()

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._closed:
            self.shut_down()
            event.accept()
            return
        if not self._unsaved.may_close() or not self._may_stop_runs():
            event.ignore()
            return
        self.tab.keeper.throw_away()
        self.shut_down()
        event.accept()

    def _may_stop_runs(self) -> bool:
        """Return True if the window may close: no run is active, or the user agrees to stop it."""
        jobs = (self.tab.dreams.jobs, self.tab.extraction, self.tab.notes)
        return not any(each.running for each in jobs) or dialogs.ask_stop_run(self)

    def shut_down(self) -> None:
        """Stop the watchers, the parts of the window and its lanes; later calls do nothing."""
        if self._closed:
            return
        self._closed = True
        # Python may destroy the parts of a window before the window, and Qt would lay out a visible one.
        self.hide()
        self.homes.close()
        tab = self.tab
        parts = (tab.keeper, tab.search, tab.lint, tab.stale, tab.worth, tab.comparing, tab.orphans)
        for part in (self.dialogs, self.lazy_tabs, *parts):
            part.stop()
        self.homes.disconnect_machines()
        self.engine.stop()
        for lane in self.lanes.all():
            lane.stop()
        self._garbage.stop()


def _literal(text: str) -> str:
    """Return `text` escaped for a window title, in which Qt would otherwise replace `[*]`."""
    return visible(text).replace("[*]", "[*][*]")
