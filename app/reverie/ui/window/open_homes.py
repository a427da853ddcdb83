"""The homes of one window: finding, opening and closing them, and what the picker shows of them.

A home that a person closed stays closed when it is found again, until it is asked for by its path.

One bad home never keeps the others away. Each place is asked in a thread of its own before a job opens it;
one that does not answer in time is listed as such, and opened as soon as it answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtWidgets import QWidget

from reverie.agents.discovery import ANSWER_S, DiscoveredHomes, TroubledPlace, not_answering
from reverie.clock import Clock
from reverie.errors import UserError
from reverie.files.paths import DiskCheck
from reverie.profile import Profile
from reverie.ui import dialogs
from reverie.ui.jobs import JobControl, Lanes
from reverie.ui.session import HomeSession, Opened, adopt_home_job, open_home_job
from reverie.ui.tree.rows import RowNode
from reverie.ui.window.home_list import home_node, troubled_node

if TYPE_CHECKING:
    from reverie.agents.base import LostStore
    from reverie.helper.process import Helper
    from reverie.services.views import HomeInfo


AT_ONCE_S = 0.01
"""How long the GUI thread waits for a place; most answer in a tenth of that."""
_ASK_AGAIN_MS = 50


class OpenHomes(QObject):
    """Signals: `opened(HomeSession)`; `closed(HomeSession)`: by a person; `failed(str, UserError)` with
    the path; `listed()` when the picker has to be filled again; `none_found()` when the search found no home
    and no other is open or being opened; `noticed(str)`: why a place could not be looked at, while others
    can. `troubled_places` are those that cannot be opened now, with the reason."""

    opened = Signal(object)
    closed = Signal(object)
    failed = Signal(str, object)
    listed = Signal()
    none_found = Signal()
    noticed = Signal(str)

    def __init__(
        self,
        lanes: Lanes,
        profile: Profile,
        clock: Clock,
        parent: QObject | None = None,
        *,
        watching: bool = True,
        helper: Helper | None = None,
        asking: bool = True,
        left_closed: Iterable[Path] = (),
    ) -> None:
        """`left_closed`: the places of homes that a person closed."""
        super().__init__(parent)
        self._lanes = lanes
        self._profile = profile
        self._clock = clock
        self._watching = watching
        self._helper = helper
        self._asking = asking
        self._sessions: dict[str, HomeSession] = {}
        self._places: dict[str, set[Path]] = {}
        self._left_closed = set(left_closed)
        self._ended: list[HomeSession] = []
        self._nodes: dict[str, RowNode] = {}
        self._opening = 0
        self._asked: set[str] = set()
        self._lost: dict[str, tuple[LostStore, ...]] = {}
        self._troubled: dict[Path, TroubledPlace] = {}
        self._asking_places: dict[Path, DiskCheck] = {}
        self._asking_again = QTimer(self)
        self._asking_again.setInterval(_ASK_AGAIN_MS)
        self._asking_again.timeout.connect(self._ask_again)

    @property
    def sessions(self) -> tuple[HomeSession, ...]:
        return tuple(self._sessions.values())

    @property
    def nodes(self) -> tuple[RowNode, ...]:
        """What the picker shows, in the order the homes were opened; last those that cannot be."""
        troubled = (
            troubled_node(str(place.root), str(place.error), silent=place.silent)
            for place in self._troubled.values()
        )
        return (*self._nodes.values(), *troubled)

    @property
    def troubled_places(self) -> tuple[TroubledPlace, ...]:
        return tuple(self._troubled.values())

    @property
    def left_closed(self) -> frozenset[Path]:
        """The places that are not opened although they are found."""
        return frozenset(self._left_closed)

    def session(self, home_id: str) -> HomeSession | None:
        """The session of a home that is open; None where it is not."""
        return self._sessions.get(home_id)

    def discover(self) -> None:
        """Open every home an agent of this user has."""

        def work(_control: JobControl) -> DiscoveredHomes:
            from reverie.compose import look_for_homes

            return look_for_homes()

        def failed(error: UserError) -> None:
            self.failed.emit("", error)

        self._lanes.scan.submit("look for homes", work, done=self._on_found, failed=failed)

    def open(self, path: Path) -> None:
        """Open the home at `path`; one that is open already is told as opened again. One whose disk does not
        answer fails after a few seconds, and is opened once it answers."""
        self._left_closed.discard(path)
        if path in self._asking_places:
            if path in self._troubled:
                self.failed.emit(str(path), self._troubled[path].error)
            return
        look = DiskCheck((path,))
        if look.answered.wait(AT_ONCE_S):
            self._open_answering(path)
            return
        self._asking_places[path] = look
        self._opening += 1
        self._asking_again.start()

    def _open_answering(self, path: Path) -> None:
        self._submit(str(path), open_home_job(path, self._profile, self._clock, self._helper))

    @Slot()
    def _ask_again(self) -> None:
        """Whether the places that gave no answer have one by now."""
        for path, look in list(self._asking_places.items()):
            known = self._troubled.get(path)
            if look.answered.is_set():
                del self._asking_places[path]
                if known is None or not known.silent:
                    self._opening -= 1
                self._open_answering(path)
            elif known is None and look.took_s > ANSWER_S:
                self._opening -= 1
                self._say_troubled(TroubledPlace(path, not_answering(path), silent=True))
        if not self._asking_places:
            self._asking_again.stop()

    def _say_troubled(self, place: TroubledPlace) -> None:
        """List a place that cannot be opened now; one whose disk hangs is waited for."""
        known = self._troubled.get(place.root)
        self._troubled[place.root] = place
        if place.silent and place.root not in self._asking_places:
            self._asking_places[place.root] = DiskCheck((place.root,))
            self._asking_again.start()
        if known is None or known.silent != place.silent:
            self.listed.emit()
            if self._opening or self._sessions:
                self.noticed.emit(str(place.error))
            else:
                self.failed.emit(str(place.root), place.error)

    def open_demo(self, directory: Path) -> None:
        """Open a throw-away copy of the demo home, made below `directory`."""
        profile, clock, helper = self._profile, self._clock, self._helper

        def work(control: JobControl) -> Opened:
            from reverie.compose import copy_demo_home

            # Nobody else's to read, wherever temporary files are.
            directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            directory.mkdir(exist_ok=True)
            copy = directory / "demo-home"
            path = copy if copy.is_dir() else copy_demo_home(directory)
            return open_home_job(path, profile, clock, helper)(control)

        self._submit(str(directory), work)

    def _submit(self, path: str, work: Callable[[JobControl], Opened]) -> None:
        def failed(error: UserError) -> None:
            self._opening -= 1
            if self._troubled.pop(Path(path), None) is not None:
                self.listed.emit()
            self.failed.emit(path, error)

        def done(opened: Opened) -> None:
            self._opening -= 1
            self._troubled.pop(Path(path), None)
            if Path(path) in self._left_closed:
                return  # closed while it was being opened once more
            self._places.setdefault(opened.info.id, set()).add(Path(path))
            self._on_opened(opened)

        self._opening += 1
        self._lanes.scan.submit("open a home", work, done=done, failed=failed)

    def _on_found(self, found: DiscoveredHomes) -> None:
        found = self._wanted(found)
        if not (found.homes or found.troubled or self._sessions or self._opening):
            self.none_found.emit()
        for home in found.homes:
            self.open(home.root)
        for place in found.troubled:
            self._say_troubled(place)
        if found.homes:
            self._discover_projects(found)

    def _wanted(self, found: DiscoveredHomes) -> DiscoveredHomes:
        """Without what a person closed."""
        closed = self._left_closed
        return DiscoveredHomes(
            tuple(home for home in found.homes if home.root not in closed),
            tuple(place for place in found.troubled if place.root not in closed),
        )

    def _discover_projects(self, homes: DiscoveredHomes) -> None:
        """Open the stores in the projects of these homes, after the homes: it takes longer."""
        profile = self._profile

        def work(_control: JobControl) -> DiscoveredHomes:
            from reverie.compose import look_for_stores

            return look_for_stores(homes, profile)

        def failed(error: UserError) -> None:
            self.failed.emit("", error)

        self._lanes.scan.submit("look for projects' stores", work, done=self._on_stores, failed=failed)

    def _on_stores(self, found: DiscoveredHomes) -> None:
        for home in self._wanted(found).homes:
            self.open(home.root)

    def _on_opened(self, opened: Opened) -> None:
        if self._was_moved(opened.info):
            return
        self._left_closed.discard(opened.info.root)
        session = self._sessions.get(opened.info.id)
        if session is None:
            session = HomeSession(opened, self._lanes, watching=self._watching, parent=self)
            self._sessions[opened.info.id] = session
            session.info_changed.connect(self._on_info)
        self._list(opened.info)
        self.opened.emit(session)

    def _was_moved(self, info: HomeInfo) -> bool:
        """Whether a person says that this is a known home at a new place: it is then opened as that one.
        Asked once per window, and only where somebody can answer."""
        if not self._asking or not info.adoptable or info.id in self._asked or info.id in self._sessions:
            return False
        self._asked.add(info.id)
        known = info.adoptable[0]
        parent = self.parent()
        window = parent if isinstance(parent, QWidget) else None
        if not dialogs.ask_adoption(window, info.root, known.root):
            return False
        job = adopt_home_job(info.root, known.id, self._profile, self._clock, self._helper)
        self._submit(str(info.root), job)
        return True

    @Slot(object)
    def _on_info(self, info: HomeInfo) -> None:
        self._list(info)

    @Slot(str, object)
    def set_lost(self, home_id: str, stores: tuple[LostStore, ...]) -> None:
        """The stores of a home that nobody works on, once somebody looked closely."""
        session = self._sessions.get(home_id)
        if session is not None and self._lost.get(home_id) != stores:
            self._lost[home_id] = stores
            self._list(session.info)

    def close_home(self, home_id: str) -> None:
        """It leaves the list, and nothing of it is watched any more; on disk nothing changes."""
        session = self._sessions.pop(home_id, None)
        if session is None:
            return
        for kept in (self._nodes, self._lost):
            kept.pop(home_id, None)
        self._left_closed |= {session.info.root, *self._places.pop(home_id, ())}
        session.info_changed.disconnect(self._on_info)
        session.close(wait=False)
        # Jobs of the moment still answer to it.
        self._ended.append(session)
        self.closed.emit(session)
        self.listed.emit()

    def close_place(self, place: Path) -> None:
        """The same for a place that cannot be opened: it is asked no more."""
        if self._asking_places.pop(place, None) is not None and place not in self._troubled:
            self._opening -= 1
        if self._troubled.pop(place, None) is not None:
            self._left_closed.add(place)
            self.listed.emit()

    def _list(self, info: HomeInfo) -> None:
        self._nodes[info.id] = home_node(
            info.id,
            info.label,
            str(info.root),
            info.contents,
            self._nodes.get(info.id),
            self._lost.get(info.id),
        )
        self.listed.emit()

    def close(self) -> None:
        """Stop every watcher, and wait for no place any more."""
        self._asking_again.stop()
        for session in self._sessions.values():
            session.close()

    def finish(self) -> None:
        """After the lanes have ended: nothing may go on watching."""
        for session in (*self._sessions.values(), *self._ended):
            session.finish()
