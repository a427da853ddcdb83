"""The homes of one window: finding, opening and closing them, and what the picker shows of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QWidget

from reverie.clock import Clock
from reverie.errors import MendableError
from reverie.profile import Profile
from reverie.ui import dialogs
from reverie.ui.jobs import JobControl, Lanes
from reverie.ui.opening import Opened, adopt_home_job, open_home_job
from reverie.ui.picker import home_node
from reverie.ui.rows import Node
from reverie.ui.session import HomeSession

if TYPE_CHECKING:
    from reverie.helper.process import Helper
    from reverie.homes.listing import LostStore
    from reverie.services.views import HomeInfo


@dataclass(frozen=True, slots=True)
class _Found:
    roots: tuple[Path, ...]


class OpenHomes(QObject):
    """`opened(HomeSession)`; `failed(str, MendableError)` with the path; `listed()`: the picker has to be
    filled anew; `none_found()`."""

    opened = Signal(object)
    failed = Signal(str, object)
    listed = Signal()
    none_found = Signal()

    def __init__(
        self,
        lanes: Lanes,
        profile: Profile,
        clock: Clock,
        parent: QObject | None = None,
        *,
        watching: bool = True,
        helper: Helper | None = None,
    ) -> None:
        super().__init__(parent)
        self._lanes = lanes
        self._profile = profile
        self._clock = clock
        self._watching = watching
        self._helper = helper
        self._sessions: dict[str, HomeSession] = {}
        self._nodes: dict[str, Node] = {}
        self._asked: set[str] = set()
        self._lost: dict[str, tuple[LostStore, ...]] = {}

    @property
    def sessions(self) -> tuple[HomeSession, ...]:
        return tuple(self._sessions.values())

    @property
    def nodes(self) -> tuple[Node, ...]:
        """What the picker shows, in the order the homes were opened."""
        return tuple(self._nodes.values())

    def session(self, home_id: str) -> HomeSession | None:
        """The session of a home that is open; None where it is not."""
        return self._sessions.get(home_id)

    def discover(self) -> None:
        """Open every home an agent of this user has."""

        def work(_control: JobControl) -> _Found:
            from reverie.compose import discover_homes

            return _Found(tuple(found.root for found in discover_homes()))

        def failed(error: MendableError) -> None:
            self.failed.emit("", error)

        self._lanes.scan.submit("look for homes", work, done=self._on_found, failed=failed)

    def open(self, path: Path) -> None:
        """Open the home at `path`; one that is open already is told as opened again."""
        self._submit(str(path), open_home_job(path, self._profile, self._clock, self._helper))

    def open_demo(self, directory: Path) -> None:
        """Open a throw-away copy of the demo home, made below `directory`."""
        profile, clock, helper = self._profile, self._clock, self._helper

        def work(control: JobControl) -> Opened:
            from reverie.compose import copy_demo_home

            directory.mkdir(parents=True, exist_ok=True)
            copy = directory / "demo-home"
            path = copy if copy.is_dir() else copy_demo_home(directory)
            return open_home_job(path, profile, clock, helper)(control)

        self._submit(str(directory), work)

    def _submit(self, path: str, work: Callable[[JobControl], Opened]) -> None:
        def failed(error: MendableError) -> None:
            self.failed.emit(path, error)

        self._lanes.scan.submit("open a home", work, done=self._on_opened, failed=failed)

    def _on_found(self, found: _Found) -> None:
        if not found.roots:
            self.none_found.emit()
        for root in found.roots:
            self.open(root)
        if found.roots:
            self._discover_projects()

    def _discover_projects(self) -> None:
        """Open the stores in the projects of these homes, after the homes: it takes longer."""
        profile = self._profile

        def work(_control: JobControl) -> _Found:
            from reverie.compose import discover_all

            return _Found(tuple(found.root for found in discover_all(profile) if found.of_project))

        def failed(error: MendableError) -> None:
            self.failed.emit("", error)

        self._lanes.scan.submit("look for projects' stores", work, done=self._on_stores, failed=failed)

    def _on_stores(self, found: _Found) -> None:
        for root in found.roots:
            self.open(root)

    def _on_opened(self, opened: Opened) -> None:
        if self._was_moved(opened.info):
            return
        session = self._sessions.get(opened.info.id)
        if session is None:
            session = HomeSession(opened, self._lanes, watching=self._watching, parent=self)
            self._sessions[opened.info.id] = session
            session.info_changed.connect(self._on_info)
        self._list(opened.info)
        self.opened.emit(session)

    def _was_moved(self, info: HomeInfo) -> bool:
        """Whether a person says that this is a known home at a new place: it is then opened as that one.
        Asked once per window."""
        if not info.adoptable or info.id in self._asked or info.id in self._sessions:
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
        """Stop every watcher."""
        for session in self._sessions.values():
            session.close()

    def finish(self) -> None:
        """After the lanes have ended: nothing may go on watching."""
        for session in self._sessions.values():
            session.finish()
