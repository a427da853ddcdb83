"""Serves the clients of an engine: carries out their calls and sends them events.

Each `ClientConnection` serves one client. The client may call the methods that the engine offers
(`engine.methods`); a client that sends anything else is disconnected, because that is a fault or an attack.

Threading: `serve` blocks its thread until the client has left; each call has its own thread. Sending to a
client that does not read blocks only that client's calls; its events are merged meanwhile. Failure: a
`UserError` and the traceback of a bug are sent to the client that made the call; the calls of a client that
has left are cancelled.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
import traceback
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Protocol, cast

from reverie import __version__
from reverie.engine.channel import (
    PROTOCOL,
    CallMessage,
    Cancel,
    Channel,
    ConnectionLost,
    Done,
    Event,
    Failed,
    Hello,
    ProgressMessage,
    Refused,
    WelcomeMessage,
    merged,
)
from reverie.engine.codec import WireError, encode
from reverie.engine.methods import method_of
from reverie.errors import Busy, UserError
from reverie.runs.run import RunDependencies

log = logging.getLogger("reverie.engine")

MOST_CALLS = 256
"""The largest number of simultaneous calls of one client; a window has a dozen."""
LEAVE_S = 1.5


class Nonsense(Exception):
    """Raised if a client calls an unknown method or sends wrong arguments; it is then disconnected."""


class CallStopped(Exception):
    """Raised inside a call in order to end it, because the caller no longer wants its result."""


class CallControl:
    """One call in progress, with the means to report its progress and to stop it.

    `report` is called with each encoded progress value. `client` is the connection that made the call; None
    if the engine itself did.
    """

    def __init__(
        self, call: CallMessage, report: Callable[[bytes], None] = lambda _value: None, client: object = None
    ) -> None:
        self.call = call
        self.report = report
        self.client = client
        self.cancel = threading.Event()
        """Set once the result is no longer wanted."""
        self._act: Callable[[], None] = lambda: None
        self.thread: threading.Thread
        """The thread of a call that a client made."""

    def check(self) -> None:
        """Raise `CallStopped` if the result is no longer wanted."""
        if self.cancel.is_set():
            raise CallStopped

    def stop(self) -> None:
        """Stop the call, because its result is no longer wanted.

        Sets `cancel` and calls the function registered with `when_stopped`.
        """
        self.cancel.set()
        self._act()

    def when_stopped(self, act: Callable[[], None]) -> None:
        """Register `act` to be called when the call is stopped; if it is stopped already, call `act` at once.

        `act` may be called more than once, on any thread. A later registration replaces this one.
        """
        self._act = act
        if self.cancel.is_set():
            act()


class RunProcesses(Protocol):
    """The methods of `engine.workers.Workers` that an engine needs."""

    def warm_up(self) -> None:
        """Start a process for a run that may soon be requested. Returns at once."""

    def run(self, control: CallControl, home: RunDependencies) -> bytes:
        """Carry out the run of a call in a separate process; return its encoded result.

        `control` has the call, reports its progress and can stop it. `home`: the home of the run, needed to
        recover the run if its process dies.
        """

    def run_aside(self, control: CallControl, home: RunDependencies | None = None) -> bytes:
        """Carry out a run in a separate process at the lowest priority; return its encoded result.

        `control` has the call, reports its progress and can stop it. `home`: the home of the run, needed to
        recover the run if its process dies; None if the run changes nothing that would have to be recovered.
        """

    def is_for_another(self, pid: int, client: object) -> bool:
        """Return whether process `pid` is carrying out a run for a client other than `client`."""

    def close(self) -> None:
        """End all processes; runs in progress fail."""


class Server(Protocol):
    """The methods of `ProfileEngine` that the connection of a client needs."""

    def target(self, home: Path, home_id: str, client: ClientConnection) -> Any:
        """Return the object to which a call is addressed: a home, or the engine if `home_id` is empty.

        Raises `UserError`.
        """

    def run_apart(self, call: CallMessage, control: CallControl) -> bytes | None:
        """Carry out a run in a separate process; return its encoded result.

        `control` reports the progress of `call` and can stop it. Returns None if the call must be carried out
        in this process, for example because it does not start a run.
        """

    def join(self, connection: ClientConnection) -> bool:
        """Add a client; return False if the engine is ending and accepts no client."""

    def leave(self, connection: ClientConnection) -> None:
        """Remove a client that has left."""


class ClientConnection:
    """The engine's end of the connection to one client.

    `pid`: the id of a process on this machine that lives as long as the client does; 0: use the process id
    that the client sends in `Hello`.
    """

    def __init__(self, channel: Channel, server: Server, pid: int = 0) -> None:
        self.channel = channel
        self.pid = pid
        self._server = server
        self._calls: dict[int, CallControl] = {}
        self._events: dict[tuple[type, Path], Event] = {}
        self._waking = threading.Condition()
        self.is_gone = False
        """Whether the client has left, so that nothing may be stored for it any more."""
        self.homes: set[object] = set()
        """The homes that are kept open for this client; the engine itself holds them weakly."""

    def serve(self) -> None:
        """Carry out the client's calls and send it events; return once it has left."""
        try:
            # An engine that is ending sends no welcome, so that the client tries the next engine.
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
            sentence = (
                f"Reverie's engine for this profile runs version {__version__}, but this is version "
                f"{hello.version}. Close the other windows and commands of Reverie, then start this one "
                "again."
            )
            self.channel.send(Refused(sentence, os.getpid(), __version__))
            return False
        self.pid = self.pid or hello.pid
        return True

    def _take(self, message: Any) -> None:
        if isinstance(message, Cancel):
            control = self._calls.get(message.id)
            if control is not None:
                control.stop()
            return
        if not isinstance(message, CallMessage) or message.id in self._calls:
            raise WireError("an unexpected message")
        if len(self._calls) >= MOST_CALLS:
            error = Busy(
                "Reverie's engine is busy.",
                cause="There were too many requests at the same time.",
                next_step="Wait.",
            )
            self.channel.send(Failed(message.id, error))
            return
        control = self._calls[message.id] = CallControl(message, partial(self._report, message.id), self)
        control.thread = threading.Thread(target=self._do, args=(control,), name=message.method, daemon=True)
        control.thread.start()

    def _report(self, call_id: int, value: bytes) -> None:
        with contextlib.suppress(ConnectionLost):  # `serve` notices this as well
            self.channel.send(ProgressMessage(call_id, value))

    def _do(self, control: CallControl) -> None:
        call = control.call
        answer: Done | Failed
        try:
            answer = Done(call.id, self._result(control))
        except UserError as error:
            # Remove the traceback, whose frames refer to the arguments and to the result.
            error.__cause__ = error.__context__ = None
            answer = Failed(call.id, error.with_traceback(None))
        except CallStopped:
            answer = Failed(call.id)
        except Nonsense as error:
            log.warning("a client sent nonsense and was shut out: %s", error)
            self.channel.shut()
            answer = Failed(call.id)
        except Exception:  # noqa: BLE001 - handed to the client, which has the crash path
            answer = Failed(call.id, trace=traceback.format_exc())
        try:
            self.channel.send(answer)
        except WireError:
            with contextlib.suppress(ConnectionLost):
                self.channel.send(Failed(call.id, trace=traceback.format_exc()))
        except ConnectionLost:
            pass  # `serve` notices this as well
        finally:
            # Only after sending, so that a client that does not read cannot exceed the limit of calls.
            self._calls.pop(call.id, None)

    def _result(self, control: CallControl) -> bytes:
        call = control.call
        done_apart = self._server.run_apart(call, control)
        if done_apart is not None:
            return done_apart
        target = self._server.target(call.home, call.home_id, self)
        method = method_of(cast(Any, type(target)), call.method)
        if method is None:
            raise Nonsense(f"{call.method} cannot be asked for")
        member = attrgetter(call.method)(target)
        if method.is_property:
            return encode(member)
        try:
            named = method.unpack(call.arguments)
        except WireError as error:
            raise Nonsense(str(error)) from error
        own: dict[str, Any] = {
            "progress": lambda value: control.report(encode(value)),
            "cancel": control.cancel,
            "check": control.check,
            "client": self,
        }
        return encode(member(**named, **{each: own[each] for each in method.local}))

    def tell(self, event: Event) -> None:
        """Put an event into the client's queue; if one of the same kind and home is waiting, merge the two.

        May be called on any thread; returns at once.
        """
        key = (type(event), event.home)
        with self._waking:
            before = self._events.pop(key, None)
            self._events[key] = event if before is None else merged(before, event)
            self._waking.notify()

    def _send_events(self) -> None:
        while True:
            with self._waking:
                while not self._events and not self.is_gone:
                    self._waking.wait()
                if self.is_gone:
                    return
                events, self._events = self._events, {}
            with contextlib.suppress(ConnectionLost):
                for event in events.values():
                    self.channel.send(event)

    def _leave(self) -> None:
        with self._waking:
            self.is_gone = True
            self._waking.notify()
        self.channel.close()
        calls = list(self._calls.values())
        for control in calls:
            control.stop()
        self._server.leave(self)
        until = time.monotonic() + LEAVE_S
        for control in calls:
            control.thread.join(max(0.0, until - time.monotonic()))


NOBODY = cast(ClientConnection, None)
"""The default of the parameter `client` of methods: None, for calls made inside the engine's process.

For a call through a connection, that connection is passed instead.
"""


def has_left(client: ClientConnection) -> bool:
    """Return whether the client has left, so that nothing may be stored for it.

    A call that stores something for its client checks this after storing, because the client may have left
    meanwhile.
    """
    return client is not NOBODY and client.is_gone
