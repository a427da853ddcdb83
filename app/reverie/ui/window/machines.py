"""The homes of another machine, which are found and opened through an engine on that machine.

No disk of this machine is accessed for them. Threading: GUI thread; each machine has its own lane, so that a
slow machine does not delay other homes. Failure: a home that cannot be opened is listed; `failed` reports
that the machine itself cannot be used.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from reverie.agents.base import DiscoveredHomes, TroubledPlace
from reverie.engine.asking import ask
from reverie.engine.client import EngineClient
from reverie.errors import UserError
from reverie.profile import Profile
from reverie.ui.engine_link import EngineLink
from reverie.ui.jobs import JobControl, Lane, single_shot
from reverie.ui.session import HomeOpened, open_home

TRY_AGAIN_MS = 10_000
_THE_MACHINE = Path()
"""The key under which an error of the machine itself is stored, as opposed to one of its homes."""


class MachineHomes(QObject):
    """The homes of one other machine.

    A home that cannot be opened is listed in `troubled` with the reason. If the machine cannot be reached, it
    is tried again regularly until that succeeds or the user closes its row.

    Signals:
        opened(EngineLink, HomeOpened): A home was opened.
        failed(UserError): The machine cannot be used now.
        listed(): The property `troubled` has changed.
        ended(): Everything that was found is open or in `troubled`.
    """

    opened = Signal(object, object)
    failed = Signal(object)
    listed = Signal()
    ended = Signal()

    def __init__(self, link: EngineLink, profile: Profile, parent: QObject) -> None:
        super().__init__(parent)
        self.link = link
        self._profile = profile
        self.is_opening = False
        self._troubled: dict[Path, UserError] = {}
        self._lane = Lane("machine", self)
        self._again = single_shot(self, TRY_AGAIN_MS, self.open)

    @property
    def troubled(self) -> tuple[tuple[str, UserError], ...]:
        """The homes that cannot be opened now, as (path, error) pairs.

        If the path is empty, the machine itself cannot be used.
        """
        return tuple(
            ("" if place == _THE_MACHINE else str(place), error) for place, error in self._troubled.items()
        )

    def open(self) -> None:
        """Find and open the homes of the machine, in a job; do nothing if that is in progress."""
        machine = self.link.machine
        if self.is_opening or machine is None:
            return
        self.is_opening = True
        path, client, profile = machine.address.path, self.link.client, self._profile

        async def work(control: JobControl) -> None:
            if path is not None:
                control.report(await _opened(path, profile, client))
                return
            found = await ask(client.services.find_homes)
            for place in found.troubled:
                control.report(place)
            await _open_each(found, profile, client, control)
            await _open_each(await ask(client.services.find_stores, found), profile, client, control)

        self._lane.submit(
            "open the homes of a machine",
            work,
            progress=self._on_found,
            done=self._on_done,
            failed=self._on_failed,
            cancelled=self._on_cancelled,
        )

    def try_again(self) -> None:
        """Open the homes of the machine at once, without the pause that follows a failed connection.

        Call this when the user requests it.
        """
        if self.link.machine is not None:
            self.link.machine.hurry()
        self.open()

    def close_place(self, place: str) -> None:
        """Remove a home that cannot be opened from `troubled`.

        If `place` is empty, remove the machine itself and no longer try to reach it.
        """
        if self._troubled.pop(Path(place), None) is not None:
            if not place:
                self._again.stop()
            self.listed.emit()

    def stop(self) -> None:
        """End the connection to the machine, because the window closes."""
        self._again.stop()
        self.link.stop()
        self._lane.stop()

    def _on_found(self, found: HomeOpened | TroubledPlace) -> None:
        if isinstance(found, TroubledPlace):
            self._say(found.root, found.error)
        else:
            if self._troubled.pop(found.info.root, None) is not None:
                self.listed.emit()
            self.opened.emit(self.link, found)

    def _on_done(self, _nothing: None) -> None:
        self.is_opening = False
        if self._troubled.pop(_THE_MACHINE, None) is not None:
            self.listed.emit()
        self.ended.emit()

    def _on_failed(self, error: UserError) -> None:
        self.is_opening = False
        is_new = _THE_MACHINE not in self._troubled
        self._say(_THE_MACHINE, error)
        self._again.start()
        if is_new:
            self.failed.emit(error)

    def _on_cancelled(self) -> None:
        self.is_opening = False

    def _say(self, place: Path, error: UserError) -> None:
        known = self._troubled.get(place)
        self._troubled[place] = error
        if known is None or str(known) != str(error):
            self.listed.emit()


async def _open_each(
    found: DiscoveredHomes, profile: Profile, client: EngineClient, control: JobControl
) -> None:
    for home in found.homes:
        control.report(await _opened(home.root, profile, client))


async def _opened(path: Path, profile: Profile, client: EngineClient) -> HomeOpened | TroubledPlace:
    try:
        return await open_home(path, profile, client)
    except UserError as error:
        if not client.is_connected:
            raise
        return TroubledPlace(path, error)
