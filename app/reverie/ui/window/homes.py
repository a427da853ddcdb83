"""The homes of one window: finding, opening and closing them.

Threading: GUI thread; jobs find and open homes, and end their watchers and services. Failure: a home that
cannot be opened is listed with the reason, or the signal `failed` reports it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QWidget

from reverie.agents.base import ANSWER_S, DiscoveredHomes, TroubledPlace, not_answering
from reverie.clock import Clock
from reverie.engine.asking import ask
from reverie.engine.remote import RemoteMachine
from reverie.errors import UserError
from reverie.files.directory import DiskCheck
from reverie.profile import Profile
from reverie.resources import copy_demo_home
from reverie.services.machines import MachineAddress
from reverie.ui import dialogs
from reverie.ui.engine_link import EngineLink
from reverie.ui.jobs import JobControl, Lanes, Work, repeating
from reverie.ui.session import HomeOpened, HomeSession, adopt_home, open_home
from reverie.ui.tree.rows import RowNode
from reverie.ui.window.machines import MachineHomes
from reverie.values import replace

if TYPE_CHECKING:
    from reverie.agents.base import LostStore
    from reverie.services.views import HomeInfo
from reverie.ui.window.picker import Place, home_node, troubled_node

AT_ONCE_S = 0.01
"""The seconds for which the GUI thread waits for the answer of a disk; most disks need a tenth of it."""
_ASK_AGAIN_MS = 50


class OpenHomes(QObject):
    """The open homes of the window, and the places that cannot be opened now (`troubled_places`).

    An open home is represented by its session. A place is the path of a home. If the user closes a home, it
    stays closed when it is found again, until the user opens it by its path. Closing changes nothing on disk.

    A home on a slow disk does not delay the others: each place is first checked in its own thread, then
    opened in a job. If its disk does not answer in time, the place is listed as not available, and opened as
    soon as the disk answers.
    """

    opened = Signal(object)
    """Emitted with the `HomeSession` of an opened home, even if the home was open already."""
    closed = Signal(object)
    """Emitted with the `HomeSession` that the user closed."""
    failed = Signal(str, object)
    """Emitted with the path of a home that cannot be opened and the `UserError`.

    The path is "" if another machine cannot be used, or if the search for homes failed.
    """
    listed = Signal()
    """Emitted when the list has to be filled again."""
    none_found = Signal()
    """Emitted when no home was found, and none is open or being opened."""
    noticed = Signal(str)
    """Emitted with the reason why a home or machine cannot be used, if another home is open or being opened.

    Otherwise, and for each home that answers but cannot be opened, `failed` is emitted.
    """

    def __init__(
        self,
        lanes: Lanes,
        profile: Profile,
        clock: Clock,
        engine: EngineLink,
        parent: QObject | None = None,
        *,
        watching: bool = True,
        asking: bool = True,
        left_closed: Iterable[Path] = (),
    ) -> None:
        """Create the list without opening a home.

        `watching`: True to watch the files of open homes. `asking`: True to ask the user whether a home was
        moved; if False, a moved home is opened as a new one. `left_closed`: the paths of homes that the user
        closed earlier.
        """
        super().__init__(parent)
        self._lanes = lanes
        self._profile = profile
        self._clock = clock
        self._watching = watching
        self._engine = engine
        self._asking = asking
        self._sessions: dict[str, HomeSession] = {}
        self._places: dict[str, set[Path]] = {}
        self._left_closed = set(left_closed)
        self._nodes: dict[str, RowNode] = {}
        self._opening = 0
        self._asked: set[str] = set()
        self._lost: dict[str, tuple[LostStore, ...]] = {}
        self._troubled: dict[Path, TroubledPlace] = {}
        self._asking_places: dict[Path, DiskCheck] = {}
        self._asking_again = repeating(self, _ASK_AGAIN_MS, self._ask_again)
        self._machines: dict[MachineAddress, MachineHomes] = {}

    @property
    def sessions(self) -> tuple[HomeSession, ...]:
        return tuple(self._sessions.values())

    @property
    def nodes(self) -> tuple[RowNode, ...]:
        """The rows for the list: open homes in the order of opening, then homes that cannot be opened."""
        troubled = (
            troubled_node(str(place.root), str(place.error), silent=place.silent)
            for place in self._troubled.values()
        )
        elsewhere = (
            troubled_node(root, str(error), silent=not root, machine=there.link.machine_name)
            for there in self._machines.values()
            for root, error in there.troubled
        )
        return (*self._nodes.values(), *troubled, *elsewhere)

    @property
    def troubled_places(self) -> tuple[TroubledPlace, ...]:
        return tuple(self._troubled.values())

    @property
    def left_closed(self) -> frozenset[Path]:
        """The paths of the homes that the user closed; they are not opened again when they are found."""
        return frozenset(self._left_closed)

    def session(self, home_id: str) -> HomeSession | None:
        """Return the session of the open home with this id; None if no open home has it."""
        return self._sessions.get(home_id)

    def asked_by(self, session: HomeSession) -> frozenset[Path | MachineAddress]:
        """Return the paths through which a home was opened or, if it is on another machine, that machine.

        A home can have several paths, for example because of symbolic links.
        """
        if session.engine.machine is not None:
            return frozenset((session.engine.machine.address,))
        return frozenset(self._places.get(session.info.id, ()))

    def discover(self) -> None:
        """Search for all agents' homes of this user in a job, and open them; the call returns at once."""

        services = self._engine.client.services

        def failed(error: UserError) -> None:
            self.failed.emit("", error)

        self._lanes.scan.submit(
            "look for homes", ask(services.find_homes), done=self._on_found, failed=failed
        )

    def open(self, path: Path) -> None:
        """Open the home at `path` in a job; `opened` is emitted then, even if the home was open already.

        If it cannot be opened, `failed` is emitted. If its disk does not answer within a few seconds,
        `noticed` is emitted, or `failed` if no other home is open or being opened; the home is opened once
        the disk answers.
        """
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
        place = path.absolute()
        self._submit(str(path), lambda _control: open_home(place, self._profile, self._engine.client))

    @Slot()
    def _ask_again(self) -> None:
        """Open the homes whose disks answer now, and list those whose disks have not answered in time."""
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
        """List and report a home that cannot be opened now.

        If the reason is that its disk does not answer, the home is opened once the disk does.
        """
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

    def open_machine(self, address: MachineAddress) -> None:
        """Open the homes of another machine, or only the one whose path is part of `address`.

        `opened` is emitted for each, even if it was open already.
        """
        there = self._machines.get(address)
        if there is None:
            machine = RemoteMachine(address)
            link = EngineLink(self._profile, self._clock, self, own_process=True, machine=machine)
            there = self._machines[address] = MachineHomes(link, self._profile, self)
            there.opened.connect(self._on_opened_elsewhere)
            there.listed.connect(self.listed)
            there.failed.connect(self._on_machine_failed)
            there.ended.connect(self._on_machine_ended)
        there.try_again()

    def try_again(self, place: Place) -> bool:
        """Try again to open `place`, the selected row of a home that could not be opened.

        Returns True if the home is on this machine and is being opened now, else False. A home on another
        machine is being retried. A home whose disk does not answer is opened once the disk answers.
        """
        known = self._troubled.get(Path(place.reason)) if not place.machine else None
        if known is not None and not known.silent:
            self.open(known.root)
            return True
        for there in self._machines.values():
            if place.machine and there.link.machine_name == place.machine:
                there.try_again()
        return False

    @Slot(object, object)
    def _on_opened_elsewhere(self, link: EngineLink, opened: HomeOpened) -> None:
        known = self._sessions.get(opened.info.id)
        if known is not None and known.engine is not link:
            text = self.tr(
                "{root} on {machine} was not opened, because its home ID is the same as that of {home}, "
                "which is already open. Close that home first."
            )
            root, home = opened.info.root, known.info.label
            self.noticed.emit(text.format(root=root, machine=link.machine_name, home=home))
            return
        self._take(opened, link)

    @Slot(object)
    def _on_machine_failed(self, error: UserError) -> None:
        if self._sessions or self._opening:
            self.noticed.emit(str(error))
        else:
            self.failed.emit("", error)

    @Slot()
    def _on_machine_ended(self) -> None:
        if not (self._sessions or self._is_opening or self.nodes):
            self.none_found.emit()

    @property
    def _is_opening(self) -> bool:
        return bool(self._opening) or any(there.is_opening for there in self._machines.values())

    def open_demo(self, directory: Path) -> None:
        """Open the copy of the demo home in `directory`; if there is none, create it."""
        profile, engine = self._profile, self._engine.client

        async def work(_control: JobControl) -> HomeOpened:
            # Readable by this user only, wherever temporary files are.
            directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            directory.mkdir(exist_ok=True)
            copy = directory / "demo-home"
            path = copy if copy.is_dir() else copy_demo_home(directory)
            return replace(await open_home(path, profile, engine), is_demo=True)

        self._submit(str(directory), work)

    def _submit(self, path: str, work: Work[HomeOpened]) -> None:
        def failed(error: UserError) -> None:
            self._opening -= 1
            if Path(path) in self._troubled:
                self._troubled[Path(path)] = TroubledPlace(Path(path), error)
                self.listed.emit()
            self.failed.emit(path, error)

        def done(opened: HomeOpened) -> None:
            self._opening -= 1
            self._troubled.pop(Path(path), None)
            if Path(path) in self._left_closed:
                return  # closed while it was being opened again
            self._places.setdefault(opened.info.id, set()).add(Path(path))
            self._on_opened(opened)

        self._opening += 1
        self._lanes.scan.submit("open a home", work, done=done, failed=failed)

    def _on_found(self, found: DiscoveredHomes) -> None:
        found = self._wanted(found)
        if not (found.homes or found.troubled or self._sessions or self._is_opening):
            self.none_found.emit()
        for home in found.homes:
            self.open(home.root)
        for place in found.troubled:
            self._say_troubled(place)
        if found.homes:
            self._discover_projects(found)

    def _wanted(self, found: DiscoveredHomes) -> DiscoveredHomes:
        """Return `found` without the homes at paths that the user closed."""
        closed = self._left_closed
        return DiscoveredHomes(
            tuple(home for home in found.homes if home.root not in closed),
            tuple(place for place in found.troubled if place.root not in closed),
        )

    def _discover_projects(self, homes: DiscoveredHomes) -> None:
        """Search for directories with memories in the projects of these homes, and open them as homes.

        This is done after the homes were found, because it takes longer.
        """
        services = self._engine.client.services

        def failed(error: UserError) -> None:
            self.failed.emit("", error)

        self._lanes.scan.submit(
            "look for projects' stores", ask(services.find_stores, homes), done=self._on_stores, failed=failed
        )

    def _on_stores(self, found: DiscoveredHomes) -> None:
        for home in self._wanted(found).homes:
            self.open(home.root)

    def _on_opened(self, opened: HomeOpened) -> None:
        if self._was_moved(opened.info):
            return
        self._left_closed.discard(opened.info.root)
        self._take(opened, self._engine)

    def _take(self, opened: HomeOpened, engine: EngineLink) -> None:
        session = self._sessions.get(opened.info.id)
        if session is None:
            session = HomeSession(opened, self._lanes, engine, watching=self._watching, parent=self)
            self._sessions[opened.info.id] = session
            session.info_changed.connect(self._on_info)
        self._list(session.info)
        self.opened.emit(session)

    def _was_moved(self, info: HomeInfo) -> bool:
        """Ask the user whether this home is a known home that was moved; if so, open it with its history.

        Returns True if the user agreed. Returns False without a question if no such home is known, if the
        user was asked about it before, or if the window must not ask.
        """
        if not self._asking or not info.adoptable or info.id in self._asked or info.id in self._sessions:
            return False
        self._asked.add(info.id)
        known = info.adoptable[0]
        parent = self.parent()
        window = parent if isinstance(parent, QWidget) else None
        if not dialogs.ask_adoption(window, info.root, known.root):
            return False
        profile, engine = self._profile, self._engine.client
        self._places.setdefault(known.id, set()).update(self._places.pop(info.id, ()))
        self._submit(str(info.root), lambda _control: adopt_home(info.root, known.id, profile, engine))
        return True

    @Slot(object)
    def _on_info(self, info: HomeInfo) -> None:
        self._list(info)

    @Slot(str, object)
    def set_lost(self, home_id: str, stores: tuple[LostStore, ...]) -> None:
        """List the orphaned stores of a home, which a search has found.

        An orphaned store is a directory with memories that no project or workspace of the home uses.
        """
        session = self._sessions.get(home_id)
        if session is not None and self._lost.get(home_id) != stores:
            self._lost[home_id] = stores
            self._list(session.info)

    def close_home(self, home_id: str) -> None:
        """Close a home: remove it from the list and stop watching it; nothing changes on disk."""
        session = self._sessions.pop(home_id, None)
        if session is None:
            return
        for kept in (self._nodes, self._lost):
            kept.pop(home_id, None)
        if session.is_here:
            self._left_closed |= {session.info.root, *self._places.pop(home_id, ())}
        session.info_changed.disconnect(self._on_info)
        session.close()
        self.closed.emit(session)
        self.listed.emit()

    def close_trouble(self, place: Place) -> None:
        """Remove a home that cannot be opened from the list, and no longer retry it.

        `place`: its row. The home may be on another machine.
        """
        if not place.machine:
            self.close_place(Path(place.reason))
        for there in self._machines.values():
            if place.machine and there.link.machine_name == place.machine:
                there.close_place(place.reason)

    def close_place(self, place: Path) -> None:
        """Remove a home on this machine that cannot be opened from the list.

        `place`: its path. The window no longer waits for its disk.
        """
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
        """Close all sessions and stop waiting for disks, because the window closes."""
        self._asking_again.stop()
        for session in self._sessions.values():
            session.close(leave=False)

    def disconnect_machines(self) -> None:
        """End the connections to other machines.

        Call this after the last request to their engines.
        """
        for there in self._machines.values():
            there.stop()
