"""The window's connection to an engine: connects when needed and turns the engine's events into signals.

Normally the window uses the engine of its profile and environment, which is another process, and one engine
on each other machine whose homes it shows. If no process may be started (for a screenshot, a fixed clock, or
tests), it creates an engine in this process and uses the same messages.

Threading: signals are emitted in the thread of this object; the client is used in jobs. Failure: see
`engine.client`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal

from reverie.clock import Clock
from reverie.engine.channel import Channel, Event
from reverie.engine.client import EngineClient
from reverie.engine.reach import connect
from reverie.engine.remote import RemoteMachine
from reverie.engine.start import StartingEngine
from reverie.errors import UserError
from reverie.profile import Profile

if TYPE_CHECKING:
    from reverie.engine.engine import ProfileEngine

log = logging.getLogger("reverie.engine")


class EngineLink(QObject):
    """The connection of a window to one engine.

    Signals: `heard(Event)`, emitted for each event of any home; `lost(UserError)`, emitted when the other
    machine cannot be reached; `replaced()`, emitted when the connection was lost and an engine is connected
    again, so that requests have to be repeated.
    """

    heard = Signal(object)
    lost = Signal(object)
    replaced = Signal()
    _posted = Signal(object)

    def __init__(
        self,
        profile: Profile,
        clock: Clock,
        parent: QObject | None = None,
        *,
        own_process: bool,
        starting: StartingEngine | None = None,
        machine: RemoteMachine | None = None,
    ) -> None:
        """Create the link without connecting.

        `own_process`: the engine is a process of its own, not part of this one. `starting`: this engine, if
        it is being started already. `machine`: the other machine on which the engine runs; None for this
        machine.
        """
        super().__init__(parent)
        self._starting = starting
        self._profile = profile
        self.machine = machine
        self.inline = None if own_process or machine is not None else _engine_here(profile, clock)
        """The engine in this process; None if the engine is another process."""
        self._closed = False
        self.client = EngineClient(
            self._connect,
            on_event=self._post,
            on_again=self._post_replaced,
            on_lost=self._post,
            explain=None if machine is None else machine.explain,
        )
        # Queued: events come on the reader's thread.
        self._posted.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    @property
    def machine_name(self) -> str:
        """The user's name for the machine on which the engine runs; empty for this machine."""
        return "" if self.machine is None else self.machine.address.name

    @property
    def pid(self) -> int:
        """The process id of the engine that was reached last; 0 if none has been reached."""
        return self.client.pid

    def stop(self) -> None:
        """Close the connection, so that calls in progress fail; repeated calls have no effect."""
        self._closed = True
        self.client.stop()
        if self.inline is not None:
            self.inline.close()

    def _connect(self) -> Channel:
        if self.machine is not None:
            return self.machine.connect()
        if self.inline is not None:
            from reverie.engine.process import inline_channel  # imported late, as in `_engine_here`

            return inline_channel(self.inline)
        starting, self._starting = self._starting, None
        return connect(self._profile, starting=starting)

    def _post(self, event: Event | UserError | None) -> None:
        """Emit the signal for `event`, on the thread of this object.

        An error means that the engine cannot be reached (`lost`); None means that an engine is connected
        again (`replaced`).
        """
        if not self._closed:
            try:
                self._posted.emit(event)
            except RuntimeError:  # the C++ object was deleted: the window was closed meanwhile
                log.debug("an event after the window was closed")

    def _post_replaced(self) -> None:
        self._post(None)

    def _deliver(self, event: Event | UserError | None) -> None:
        if self._closed:
            return
        if event is None:
            self.replaced.emit()
        elif isinstance(event, UserError):
            self.lost.emit(event)
        else:
            self.heard.emit(event)


def _engine_here(profile: Profile, clock: Clock) -> ProfileEngine:
    # Imported late: a person's window has its engine in another process and does not load it.
    from reverie.engine import engine

    return engine.ProfileEngine(profile, clock)
