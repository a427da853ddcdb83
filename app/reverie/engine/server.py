"""Serves clients: reads their calls, does each on a thread of its own, sends what came of it; and hosts the
background services of a home for all clients that want them.

One `ClientConnection` is one client. What it may ask is what the interface names (`engine.methods.Method`); a
client that sends anything else is shut out, since only a fault or an attack does.

Services run while a client asks for them, none of those that ask has paused them, and the settings want them;
with the last of these clients they end. The host is a process of its own (`HostApart`), so that a busy run
slows no view and no search; it watches what it follows, such as transcripts, by itself. When it dies what it
had under way is put in order, and it is started again.

Threading: `serve` blocks its thread until the client is gone; each call has its own. Sending to a client that
does not read blocks that client's calls, and theirs alone; events are merged meanwhile. Starting a host
returns at once, stopping one blocks for up to about three seconds, and they exclude each other; a client
hears of each state in its order. Failure: a `UserError` and a bug go to the client that asked; a client that
is gone cancels what it asked for. What the host cannot do is in its status and in Activity, and is tried
again.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from reverie import __version__
from reverie.engine.channel import (
    PROTOCOL,
    Bug,
    CallMessage,
    Cancel,
    Channel,
    ConnectionLost,
    Done,
    Event,
    Failed,
    Hello,
    HostChanged,
    ProgressMessage,
    Refused,
    Stopped,
    WelcomeMessage,
    merged,
)
from reverie.engine.codec import WireError, decode, encode
from reverie.engine.methods import Method, method_of
from reverie.errors import Busy, UserError
from reverie.services.host import RETRY_S, Host, services_wanted
from reverie.services.views import HostStatus
from reverie.text.summaries import phrase, plain

if TYPE_CHECKING:
    from reverie.runs.run import RunDependencies
    from reverie.services.container import HomeContainer

log = logging.getLogger("reverie.engine")

MOST_CALLS = 256
"""Calls of one client at once; a window has a dozen."""
LEAVE_S = 1.5


class Nonsense(Exception):
    """A client asks for what no client of ours asks for; it is shut out."""


class CallStopped(Exception):
    """The client does not want the answer any more."""


class Server(Protocol):
    """What a connection needs of the engine around it."""

    def target(self, home: Path, home_id: str, client: ClientConnection) -> Any:
        """Whose methods may be called: of one home, or without an id of the engine. Raises `UserError`."""

    def run_apart(self, call: CallMessage, control: CallControl) -> bytes | None:
        """The encoded result of a call that a process of its own does; None: it is not such a call."""

    def join(self, connection: ClientConnection) -> bool:
        """A client has come; False: too late, the engine ends."""

    def leave(self, connection: ClientConnection) -> None:
        """The client is gone."""


class RunProcesses(Protocol):
    """What an engine needs of its `engine.workers.Workers`."""

    def warm_up(self) -> None:
        """A run may soon be wanted. Returns at once."""

    def run(self, control: CallControl, home: RunDependencies) -> bytes:
        """Do the run that was called for; its encoded result."""

    def run_aside(self, control: CallControl, home: RunDependencies | None = None) -> bytes:
        """As `run`, while nobody else needs the processor. Without `home` there is nothing to recover."""

    def is_for_another(self, pid: int, client: ClientConnection) -> bool:
        """Whether this process does a run of another client than this one."""

    def close(self) -> None:
        """End what is under way."""


class Cancellation(threading.Event):
    """The event that a call is not wanted any more, and what is to be done at once then."""

    def __init__(self) -> None:
        super().__init__()
        self._acts: list[Callable[[], None]] = []
        self._acting = threading.Lock()

    def set(self) -> None:
        """Set the event, and do what `calling` was given."""
        with self._acting:
            super().set()
            acts, self._acts = self._acts, []
        for act in acts:
            act()

    @contextlib.contextmanager
    def calling(self, act: Callable[[], None]) -> Iterator[None]:
        """Call `act` when the event is set within the block, on the thread that sets it; at once if it is set
        already."""
        with self._acting:
            is_late = self.is_set()
            if not is_late:
                self._acts.append(act)
        if is_late:
            act()
        try:
            yield
        finally:
            with self._acting:
                if act in self._acts:
                    self._acts.remove(act)


class CallControl:
    """One call under way. `accept` takes its encoded progress in place of the client."""

    def __init__(
        self, connection: ClientConnection, call: CallMessage, accept: Callable[[bytes], None] | None = None
    ) -> None:
        self.call = call
        self.cancel = Cancellation()
        self.client = connection
        self._accept = accept

    def check(self) -> None:
        """Raises `CallStopped` once the answer is not wanted any more."""
        if self.cancel.is_set():
            raise CallStopped

    def report(self, value: bytes) -> None:
        """Send progress that is encoded already."""
        if self._accept is not None:
            self._accept(value)
            return
        with contextlib.suppress(ConnectionLost):  # `serve` sees that too
            self.client.channel.send(ProgressMessage(self.call.id, value))


class ClientConnection:
    """One client. `pid`: the process of this machine that lives as long as the client does; 0: the one that
    the client names."""

    def __init__(self, channel: Channel, server: Server, pid: int = 0) -> None:
        self.channel = channel
        self.pid = pid
        self._server = server
        self._calls: dict[int, CallControl] = {}
        self._threads: dict[int, threading.Thread] = {}
        self._lock = threading.Lock()
        self._events: dict[tuple[type, Path], Event] = {}
        self._waking = threading.Condition()
        self._gone = False
        self.homes: set[object] = set()
        """The homes that are kept open for this client; the engine itself holds them weakly."""

    @property
    def is_gone(self) -> bool:
        """Whether the client has left, so that nothing may be kept for it any more."""
        return self._gone

    def serve(self) -> None:
        """Until the client is gone."""
        try:
            # No welcome from an engine that ends: the client looks for the next one then.
            if self._is_understood() and self._server.join(self):
                self.channel.send(WelcomeMessage(__version__, os.getpid()))
                threading.Thread(target=self._send_events, name="reverie-events", daemon=True).start()
                while True:
                    self._take(self.channel.receive())
        except ConnectionLost:
            pass
        except WireError as error:
            log.warning("a client sent nonsense and was shut out: %s", error)
        finally:
            self._leave()

    def _is_understood(self) -> bool:
        hello = self.channel.receive()
        if not isinstance(hello, Hello):
            raise WireError("a client that does not say hello")
        if (hello.protocol, hello.version) != (PROTOCOL, __version__):
            self.channel.send(Refused(_other_version(hello.version), os.getpid(), __version__))
            return False
        self.pid = self.pid or hello.pid
        return True

    def _take(self, message: Any) -> None:
        if isinstance(message, Cancel):
            control = self._calls.get(message.id)
            if control is not None:
                control.cancel.set()
            return
        if not isinstance(message, CallMessage) or message.id in self._calls:
            raise WireError("a message that has no place here")
        control = CallControl(self, message)
        if len(self._calls) >= MOST_CALLS:
            error = Busy("Reverie's engine is busy.", cause="Too much was asked at once.", next_step="Wait.")
            self.channel.send(Failed(message.id, error))
            return
        self._calls[message.id] = control
        thread = threading.Thread(target=self._do, args=(control,), name=message.method, daemon=True)
        self._threads[message.id] = thread
        thread.start()

    def _do(self, control: CallControl) -> None:
        call, timer = control.call, None
        if call.deadline_ms:
            timer = threading.Timer(call.deadline_ms / 1000, control.cancel.set)
            timer.daemon = True
            timer.start()
        answer: Any
        try:
            answer = Done(call.id, self._result(control))
        except UserError as error:
            answer = Failed(call.id, _without_frames(error))
        except CallStopped:
            answer = Stopped(call.id)
        except Nonsense as error:
            log.warning("a client sent nonsense and was shut out: %s", error)
            self.channel.shut()
            answer = Stopped(call.id)
        except Exception:  # noqa: BLE001 - handed to the client, which has the crash path
            answer = Bug(call.id, traceback.format_exc())
        if timer is not None:
            timer.cancel()
        try:
            self.channel.send(answer)
        except WireError:
            with contextlib.suppress(ConnectionLost):
                self.channel.send(Bug(call.id, traceback.format_exc()))
        except ConnectionLost:
            pass  # `serve` sees that too
        finally:
            # Only now: a client that does not read must not have more calls than one that does.
            self._calls.pop(call.id, None)
            self._threads.pop(call.id, None)

    def _result(self, control: CallControl) -> bytes:
        call = control.call
        done_apart = self._server.run_apart(call, control)
        if done_apart is not None:
            return done_apart
        target = self._server.target(call.home, call.home_id, self)
        method = method_of(cast(Any, type(target)), call.method)
        if method is None:
            raise Nonsense(f"{call.method} cannot be asked for")
        return _perform(target, method, control)

    # Events

    def tell(self, event: Event) -> None:
        """Send an event soon, after those of before; several of a kind that wait become one. Any thread;
        returns at once."""
        key = (type(event), event.home)
        with self._waking:
            before = self._events.pop(key, None)
            self._events[key] = event if before is None else merged(before, event)
            self._waking.notify()

    def _send_events(self) -> None:
        while True:
            with self._waking:
                while not self._events and not self._gone:
                    self._waking.wait()
                if self._gone:
                    return
                events, self._events = self._events, {}
            with contextlib.suppress(ConnectionLost):
                for event in events.values():
                    self.channel.send(event)

    def _leave(self) -> None:
        with self._waking:
            self._gone = True
            self._waking.notify()
        self.channel.close()
        for control in list(self._calls.values()):
            control.cancel.set()
        self._server.leave(self)
        until = time.monotonic() + LEAVE_S
        for thread in list(self._threads.values()):
            thread.join(max(0.0, until - time.monotonic()))


def _without_frames(error: UserError) -> UserError:
    """The same error without the frames that it came through. Those hold the arguments of a call, which may
    be large, and its answer, so the error in it: all would stay until the next full garbage collection."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


NOBODY = cast(ClientConnection, None)
"""What a method has for its client where it is called through the wire: the connection takes its place."""


def has_left(client: ClientConnection) -> bool:
    """Whether nothing may be kept for this client. A call that is still under way when its client leaves asks
    after it has noted something, since the client may have been forgotten in between."""
    return client is not NOBODY and client.is_gone


def _other_version(version: str) -> str:
    return (
        f"Reverie's engine for this profile runs as version {__version__}, and this is version {version}. "
        "Close the other windows and commands of Reverie, then start this one again."
    )


def _perform(target: Any, method: Method, control: CallControl) -> bytes:
    """Call a method with the arguments that came over the wire; return its encoded result."""
    name = control.call.method
    if method.is_property:
        return encode(attrgetter(name)(target))
    try:
        named = method.unpack(control.call.arguments)
    except WireError as error:
        raise Nonsense(str(error)) from error

    def progress(value: Any) -> None:
        control.report(encode(value))

    own: dict[str, Any] = {
        "progress": progress,
        "cancel": control.cancel,
        "check": control.check,
        "client": control.client,
    }
    named |= {each: own[each] for each in method.local}
    return encode(attrgetter(name)(target)(**named))


# Hosting the background services of a home.


PAUSED_ELSEWHERE = phrase("The background services are paused in another window.")
STARTING = phrase("The background services are being started.")
FAILED = phrase("The background services failed and will be restarted. The log says why.")
PURPOSE = "the window"
"""Who hosts, for a person: what the engine does is done for its windows."""
_LOOK_S = 0.2


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


class HostApart:
    """The host of one home in a process of its own. `on_status` is told each state."""

    def __init__(
        self, parts: HomeContainer, workers: RunProcesses, *, on_status: Callable[[HostStatus], None]
    ) -> None:
        self._parts = parts
        self._workers = workers
        self._on_status = on_status
        self._control: CallControl | None = None
        self._thread: threading.Thread | None = None
        self.status = HostStatus("stopped")

    def start(self) -> HostStatus:
        """Start it unless it was; what that came to for now."""
        if self._control is None:
            home = self._parts.home
            call = CallMessage(0, home.root, self._parts.home_id, "run_host")
            control = self._control = CallControl(
                NOBODY, call, lambda value: self._heard(control, decode(value, HostStatus))
            )
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

    def _keep(self, control: CallControl) -> None:
        while not control.cancel.is_set():
            try:
                self._workers.run(control, self._parts.run_dependencies)
            except CallStopped:
                return
            except UserError as error:
                # Also where its process had to be ended because it did not stop in time.
                log.info("the background services ended: %s", error)
                self._heard(control, HostStatus("waiting", message=plain(str(error))))
            except Exception:
                log.exception("the background services failed")
                self._heard(control, HostStatus("waiting", message=FAILED))
            control.cancel.wait(RETRY_S)

    def _heard(self, control: CallControl, status: HostStatus) -> None:
        if not control.cancel.is_set() and status.state != "stopped":
            self._set(status)

    def _set(self, status: HostStatus) -> None:
        if status != self.status:
            self.status = status
            self._on_status(status)


class HomeHost:
    """The host of one home for the clients that ask for it. Without `workers` it is in this process."""

    def __init__(self, parts: HomeContainer, workers: RunProcesses | None = None) -> None:
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
            # Nobody waits for an answer; the next question tries again.
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
