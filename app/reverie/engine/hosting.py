"""Hosts the background services of a home for all clients that request them.

Services run while three conditions hold: at least one client has requested them, none of these clients has
paused them, and the settings enable them. The host is a process of its own, so that a busy run does not slow
down views or searches. It has its own watcher for the files that the services need, such as transcripts. If
the process dies, its unfinished runs are recovered, and it is started again.

`reverie watch` hosts a home without this module: it calls `HomeEngine.run_host` directly, which also runs in
a process of its own but does not require that the settings enable a service. If both processes exist, the one
that holds the lease of the home hosts it.

Threading: starting a host returns at once; stopping one blocks for up to about three seconds; starts and
stops exclude each other. A client gets the states in their order. Failure: a problem of the host is shown in
its status and in Activity, and the host is started again.
"""

from __future__ import annotations

import logging
import threading
from functools import partial

from reverie.engine.channel import CallMessage, HostChanged
from reverie.engine.codec import decode
from reverie.engine.server import CallControl, CallStopped, ClientConnection, RunProcesses
from reverie.errors import UserError
from reverie.services.container import HomeContainer
from reverie.services.host import RETRY_S, WINDOW, Host, services_wanted
from reverie.services.views import HostStatus
from reverie.text.summaries import phrase, plain

log = logging.getLogger("reverie.engine")

PAUSED_ELSEWHERE = phrase("The background services are paused in another window.")
STARTING = phrase("The background services are starting.")
FAILED = phrase("The background services failed and will be restarted. The log has the reason.")


class HomeHost:
    """The host of one home's background services, for the clients that request them.

    `workers` run the host in a process of its own; None: it runs in this process.
    """

    def __init__(self, parts: HomeContainer, workers: RunProcesses | None = None) -> None:
        self._parts = parts
        self._workers = workers
        self._paused: dict[ClientConnection, bool] = {}
        self._held_up = False
        self._lock = threading.RLock()
        self._control: CallControl | None = None
        self._thread: threading.Thread | None = None
        self._status = HostStatus("stopped")

    def ask(self, client: ClientConnection, *, paused: bool) -> HostStatus:
        """Request the background services for this client, or pause them if `paused`; return their state.

        It is the state as this client sees it (`_seen_by`).
        """
        with self._lock:
            # `forget` was already called for a client that has left.
            if not client.is_gone:
                self._paused[client] = paused
            self._apply()
            return self._seen_by(client, self._status)

    def forget(self, client: ClientConnection) -> None:
        """Withdraw this client's request; if the client has paused the services, the pause ends."""
        with self._lock:
            if self._paused.pop(client, None) is not None:
                self._apply_quietly()

    def apply_settings(self) -> None:
        """Start or stop the services as the settings require now. Returns at once."""
        threading.Thread(target=self._apply_quietly, name="reverie-settings", daemon=True).start()

    def _apply_quietly(self) -> None:
        try:
            with self._lock:
                self._apply()
        except UserError as error:
            # No caller waits for the result; the next call tries again.
            log.info("the background services wait: %s", error)

    def _apply(self) -> None:
        was_held_up = self._held_up
        is_wanted = bool(self._paused) and services_wanted(self._parts)
        self._held_up = is_wanted and any(self._paused.values())
        if self._held_up or not is_wanted:
            self._stop()
            if self._held_up != was_held_up:
                self._report(self._status)
        elif self._control is None:
            self._start()

    def _start(self) -> None:
        self._parts.forget_settings()  # without a host, changes of the settings were not noticed
        call = CallMessage(0, self._parts.home.root, self._parts.home_id, "run_host")
        control = self._control = CallControl(
            call, lambda value: self._update(control, decode(value, HostStatus))
        )
        self._set(HostStatus("waiting", message=STARTING))
        self._thread = threading.Thread(target=self._run, args=(control,), name="reverie-host", daemon=True)
        self._thread.start()

    def _stop(self) -> None:
        """End the host and its runs, and wait for that; does nothing if the host is not running."""
        control, self._control = self._control, None
        if control is not None:
            control.stop()
            assert self._thread is not None
            self._thread.join()
            self._set(HostStatus("stopped"))

    def _run(self, control: CallControl) -> None:
        while not control.cancel.is_set():
            try:
                if self._workers is None:
                    Host(self._parts, purpose=WINDOW).run(partial(self._update, control), control.cancel)
                else:
                    self._workers.run(control, self._parts.run_dependencies)
            except CallStopped:
                return
            except UserError as error:
                # Also if its process was killed because it did not stop in time.
                log.info("the background services ended: %s", error)
                self._update(control, HostStatus("waiting", message=plain(str(error))))
            except Exception:
                log.exception("the background services failed")
                self._update(control, HostStatus("waiting", message=FAILED))
            control.cancel.wait(RETRY_S)

    def _update(self, control: CallControl, status: HostStatus) -> None:
        if not control.cancel.is_set() and status.state != "stopped":
            self._set(status)

    def _set(self, status: HostStatus) -> None:
        if status != self._status:
            self._status = status
            self._report(status)

    def _report(self, status: HostStatus) -> None:
        for client in list(self._paused):
            client.tell(HostChanged(self._parts.home.root, self._seen_by(client, status)))

    def _seen_by(self, client: ClientConnection, status: HostStatus) -> HostStatus:
        """Return `status` as one client sees it.

        If another client has paused the services, a client that has not paused them gets a status that says
        so.
        """
        if self._held_up and not self._paused.get(client, True):
            return HostStatus("waiting", message=PAUSED_ELSEWHERE)
        return status
