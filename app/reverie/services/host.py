"""The background services of one home: who hosts them, and from when to when.

One process hosts a home, by lease; the others only view, and take over when the lease is free. What is done
meanwhile is one `Stint`. The window and `reverie watch` use the same host; it knows no Qt.

Threading: every method from any thread but the GUI's (they block on disk for a moment); `start` and `stop`
may be called again and again, and do nothing the second time. `on_status` is called on whatever thread a
change comes from. `stop` returns within about two seconds.
Failure: another home in the place of this one, or a lease database that cannot be used, is told in the status
and in Activity and tried again; nothing is raised.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from reverie.errors import MendableError
from reverie.files.coalesce import Changes
from reverie.files.lease import Lease, LeaseHeld, LeaseHolder
from reverie.files.watch import WatchState
from reverie.services.host_stint import HostServices, Stint, home_services
from reverie.services.parts import HomeParts

_log = logging.getLogger("reverie.host")

RETRY_S = 2.0
_ANSWER_S = 0.5


@dataclass(frozen=True, slots=True)
class HostStatus:
    """`hosting`: here; `viewing`: `holder` hosts; `waiting`: nobody does, and `message` says why not we.
    `sessions` transcripts are followed."""

    state: Literal["stopped", "hosting", "viewing", "waiting"]
    holder: LeaseHolder | None = None
    sessions: int = 0
    message: str = ""


def host_lease_name(home_id: str) -> str:
    """The lease of a home's background services: one process hosts them."""
    return f"host:{home_id}"


class Host:
    """The host of one home in this process. `purpose` tells others who holds the lease. With `own_watcher`
    it watches by itself; else somebody calls `deliver`."""

    def __init__(
        self,
        parts: HomeParts,
        *,
        purpose: str = "background services",
        services: Callable[[HomeParts, threading.Event], HostServices] = home_services,
        own_watcher: bool = True,
        retry_s: float = RETRY_S,
        on_status: Callable[[HostStatus], None] = lambda _status: None,
    ) -> None:
        self._parts = parts
        self._purpose = purpose
        self._services = services
        self._own_watcher = own_watcher
        self._retry_s = retry_s
        self._on_status = on_status
        self._lock = threading.RLock()
        self._stint: Stint | None = None
        self._keeper: threading.Thread | None = None
        self._looking: threading.Thread | None = None
        self._replaced: MendableError | None = None
        self._stopping = threading.Event()
        self._status = HostStatus("stopped")

    @property
    def status(self) -> HostStatus:
        """What holds now."""
        stint, status = self._stint, self._status
        if stint is None or status.state != "hosting":
            return status
        return HostStatus("hosting", None, stint.sessions)

    @property
    def watch_state(self) -> WatchState | None:
        """How the host's own watcher is; None where there is none."""
        stint = self._stint
        return None if stint is None else stint.watch_state

    def start(self) -> HostStatus:
        """Host, or view until the lease is free. What that came to for now."""
        with self._lock:
            if self._keeper is None:
                self._stopping = threading.Event()
                self._try_to_host()
                self._keeper = threading.Thread(
                    target=self._keep, args=(self._stopping,), name="reverie-host", daemon=True
                )
                self._keeper.start()
            return self.status

    def stop(self) -> None:
        """End the services, give the lease back. Safe to call at any time."""
        with self._lock:
            keeper, self._keeper = self._keeper, None
            self._stopping.set()
            hosted = self._stint is not None
            self._end_stint()
            self._tell(HostStatus("stopped"))
        if keeper is not None and keeper is not threading.current_thread():
            keeper.join()
        if hosted:
            self._say("host.stopped", "The background services of this home were stopped here.")

    def deliver(self, changes: Changes) -> None:
        """What a watcher saw; ignored while somebody else hosts."""
        stint = self._stint
        if stint is not None:
            stint.deliver(changes)

    def wait_until_ready(self, timeout_s: float) -> bool:
        """Whether every transcript was looked at once, so that what is said from now on counts."""
        stint = self._stint
        return stint is not None and stint.ready.wait(timeout_s)

    def _keep(self, stopping: threading.Event) -> None:
        """Notice a lost lease, one that is free again, and a home that was replaced."""
        while not stopping.wait(self._retry_s):
            self._look()
            with self._lock:
                if stopping.is_set():
                    return
                if self._stint is not None and self._stint.lease.lost.is_set():
                    self._say("host.lost", "Another process took the background services over.", "warning")
                    self._end_stint()
                if self._replaced is not None:
                    self._end_stint()
                if self._stint is None:
                    self._try_to_host()

    def _look(self) -> None:
        """Whether another home was put in the place of this one. On a thread of its own, because the disk may
        hang and `stop` must not."""
        if self._looking is None or not self._looking.is_alive():
            self._looking = threading.Thread(target=self._compare, name="reverie-same-home", daemon=True)
            self._looking.start()
        self._looking.join(_ANSWER_S)

    def _compare(self) -> None:
        try:
            self._parts.require_same_home()
            self._replaced = None
        except MendableError as error:
            self._replaced = error if error.reason == "replaced" else None

    def _try_to_host(self) -> None:
        leases, name = self._parts.leases, host_lease_name(self._parts.home_id)
        try:
            if self._replaced is not None:
                raise self._replaced
            holder = leases.holder(name)
            if holder is not None:
                self._view(holder)
                return
            self._stint = self._begin(leases.acquire(name, purpose=self._purpose))
        except LeaseHeld as held:
            self._view(held.holder)
            return
        except MendableError as error:
            if self._status.message != str(error):
                self._say("host.waiting", str(error), "warning")
            self._tell(HostStatus("waiting", message=str(error)))
            return
        self._say("host.started", "The background services of this home run here.")
        self._tell(HostStatus("hosting"))

    def _begin(self, lease: Lease) -> Stint:
        try:
            stint = Stint(self._parts, lease, self._services, own_watcher=self._own_watcher)
            stint.start()
        except BaseException:
            lease.release()
            raise
        return stint

    def _view(self, holder: LeaseHolder) -> None:
        if self._status.holder != holder:
            text = f"Process {holder.owner.pid} runs the background services of this home ({holder.purpose})."
            self._say("host.viewing", text)
        self._tell(HostStatus("viewing", holder))

    def _end_stint(self) -> None:
        stint, self._stint = self._stint, None
        if stint is not None and not stint.stop():
            _log.info("a background run is still ending; the lease of the home stays until then")

    def _tell(self, status: HostStatus) -> None:
        changed, self._status = status != self._status, status
        if changed:
            self._on_status(status)

    def _say(self, event: str, text: str, level: str = "info") -> None:
        self._parts.activity.add(
            event,
            level=level,
            text=text,
            home=str(self._parts.home.root),
            workspace_id=None,
        )
