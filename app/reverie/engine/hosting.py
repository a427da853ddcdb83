"""The background services of one home in the engine: one host, for all clients that want them.

They run while a client asks for them, none of those that ask has paused them, and the settings want them;
with the last of these clients they end. The host is a process of its own (`HostApart`), so that a busy run
slows no view and no search; it watches what it follows, such as transcripts, by itself. When it dies what it
had under way is put in order, and it is started again.

Threading: any thread; starting returns at once, stopping blocks for up to about three seconds, and they
exclude each other. A client hears of each state in its order. Failure: what the host cannot do is in its
status and in Activity, and is tried again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from reverie.engine.codec import decode, pack
from reverie.engine.server import NOBODY, CallControl, CallStopped, ClientConnection
from reverie.engine.wire import CallMessage, HostChanged
from reverie.errors import UserError
from reverie.services.host import RETRY_S, Host, HostStatus, services_wanted

if TYPE_CHECKING:
    from reverie.runs.run import RunDependencies
    from reverie.services.container import HomeContainer

log = logging.getLogger("reverie.engine")

PAUSED_ELSEWHERE = "The background services are paused in another window."
STARTING = "The background services are being started."
PURPOSE = "the window"
"""Who hosts, for a person: what the engine does is done for its windows."""
_LOOK_S = 0.2


class RunsHost(Protocol):
    """What does a run in a process of its own; see `engine.workers.Workers`."""

    def run(self, control: CallControl, home: RunDependencies) -> bytes:
        """Do the run that was called for."""


def host_until(parts: HomeContainer, progress: Callable[[HostStatus], None], cancel: threading.Event) -> None:
    """Host the services of a home in this process until `cancel`; each state is reported."""
    host = Host(parts, purpose=PURPOSE)
    told: HostStatus | None = None
    try:
        host.start()
        while True:
            if host.status != told:
                told = host.status
                progress(told)
            if cancel.wait(_LOOK_S):
                return
    finally:
        host.stop()


class _HostControl(CallControl):
    """The host as a call of the engine itself."""

    def __init__(self, call: CallMessage, heard: Callable[[HostStatus], None]) -> None:
        super().__init__(NOBODY, call)
        self._heard = heard

    def report(self, value: bytes) -> None:
        self._heard(decode(value, HostStatus))


class HostApart:
    """The host of one home in a process of its own. `on_status` is told each state."""

    def __init__(
        self, parts: HomeContainer, workers: RunsHost, *, on_status: Callable[[HostStatus], None]
    ) -> None:
        self._parts = parts
        self._workers = workers
        self._on_status = on_status
        self._control: _HostControl | None = None
        self._thread: threading.Thread | None = None
        self.status = HostStatus("stopped")

    def start(self) -> HostStatus:
        """Start it unless it was; what that came to for now."""
        if self._control is None:
            home = self._parts.home
            call = CallMessage(0, home.root, self._parts.home_id, "run_host", pack([]))
            control = self._control = _HostControl(call, lambda status: self._heard(control, status))
            self._set(HostStatus("waiting", message=STARTING))
            self._thread = threading.Thread(
                target=self._keep, args=(control,), name="reverie-host", daemon=True
            )
            self._thread.start()
        return self.status

    def stop(self) -> None:
        """End it, with what it has under way. Calling it again is harmless."""
        control, self._control = self._control, None
        if control is not None:
            control.cancel.set()
            assert self._thread is not None
            self._thread.join()
        if self.status.state != "stopped":
            self._set(HostStatus("stopped"))

    def _keep(self, control: _HostControl) -> None:
        while not control.cancel.is_set():
            try:
                self._workers.run(control, self._parts.run_dependencies)
            except CallStopped:
                return
            except UserError as error:
                # Also where its process had to be ended because it did not stop in time.
                log.info("the background services ended: %s", error)
                self._heard(control, HostStatus("waiting", message=str(error)))
            control.cancel.wait(RETRY_S)

    def _heard(self, control: _HostControl, status: HostStatus) -> None:
        if not control.cancel.is_set() and status.state != "stopped":
            self._set(status)

    def _set(self, status: HostStatus) -> None:
        if status != self.status:
            self.status = status
            self._on_status(status)


class HomeHost:
    """The host of one home for the clients that ask for it. Without `workers` it is in this process."""

    def __init__(self, parts: HomeContainer, workers: RunsHost | None = None) -> None:
        self._parts = parts
        self._paused: dict[ClientConnection, bool] = {}
        self._held_up = False
        self._lock = threading.Lock()
        self._host: Host | HostApart = (
            Host(parts, purpose=PURPOSE, on_status=self._tell)
            if workers is None
            else HostApart(parts, workers, on_status=self._tell)
        )

    def ask(self, client: ClientConnection, *, paused: bool) -> HostStatus:
        """This client wants the services from now on, or wants them `paused`."""
        with self._lock:
            # One that left while its question was under way is not forgotten again.
            if not client.is_gone:
                self._paused[client] = paused
            self._settle()
            return self._seen_by(client, self._host.status)

    def forget(self, client: ClientConnection) -> None:
        """This client does not ask for them any more, nor for a pause."""
        with self._lock:
            if self._paused.pop(client, None) is not None:
                self._settle_unasked()

    def settle(self) -> None:
        """The settings may have changed. Returns at once."""
        threading.Thread(target=self._follow_settings, name="reverie-settle", daemon=True).start()

    def _follow_settings(self) -> None:
        with self._lock:
            if self._paused:
                self._settle_unasked()

    def _settle_unasked(self) -> None:
        try:
            self._settle()
        except UserError as error:
            # Nobody waits for an answer; the next question fails with it or mends it.
            log.info("the background services wait: %s", error)

    def _settle(self) -> None:
        is_paused, was_held_up = any(self._paused.values()), self._held_up
        wanted = bool(self._paused) and services_wanted(self._parts)
        self._held_up = wanted and is_paused
        if is_paused or not wanted:
            self._host.stop()
            if self._held_up != was_held_up:
                self._tell(self._host.status)
            return
        if self._host.status.state == "stopped":
            self._parts.forget_settings()  # while nobody hosted, nobody watched them
        self._host.start()

    def _tell(self, status: HostStatus) -> None:
        for client in list(self._paused):
            client.tell(HostChanged(self._parts.home.root, self._seen_by(client, status)))

    def _seen_by(self, client: ClientConnection, status: HostStatus) -> HostStatus:
        """Who paused them knows; another one is told why they wait."""
        if self._held_up and not self._paused.get(client, True):
            return HostStatus("waiting", message=PAUSED_ELSEWHERE)
        return status
