"""Serves clients: reads their calls, does each on a thread of its own, sends what came of it.

One `ClientConnection` is one client. What it may ask is what the interface names (`engine.interface`); a
client that sends anything else is shut out, since only a fault or an attack does.

Threading: `serve` blocks its thread until the client is gone; each call has its own. Sending to a client that
does not read blocks that client's calls, and theirs alone; events are merged meanwhile. Failure: a
`UserError` and a bug go to the client that asked; a client that is gone cancels what it asked for.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
import traceback
from operator import attrgetter
from pathlib import Path
from typing import Any, Protocol, cast

from reverie import __version__
from reverie.engine.codec import WireError, coder, encode, pack, unpack
from reverie.engine.interface import Method, method_of
from reverie.engine.wire import (
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
    ProgressMessage,
    Refused,
    Stopped,
    WelcomeMessage,
)
from reverie.errors import Busy, UserError

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

    def target(self, home: Path, home_id: str) -> Any:
        """Whose methods may be called: of one home, or without an id of the engine. Raises `UserError`."""

    def run_apart(self, call: CallMessage, control: CallControl) -> bytes | None:
        """The encoded result of a call that a process of its own does; None: it is not such a call."""

    def join(self, connection: ClientConnection) -> bool:
        """A client has come; False: too late, the engine ends."""

    def leave(self, connection: ClientConnection) -> None:
        """The client is gone."""


class CallControl:
    """One call under way."""

    def __init__(self, connection: ClientConnection, call: CallMessage) -> None:
        self.call = call
        self.cancel = threading.Event()
        self.client = connection

    def check(self) -> None:
        """Raises `CallStopped` once the answer is not wanted any more."""
        if self.cancel.is_set():
            raise CallStopped

    def report(self, value: bytes) -> None:
        """Send progress that is encoded already."""
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
            answer = Failed(call.id, error)
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
        self._calls.pop(call.id, None)
        self._threads.pop(call.id, None)
        with contextlib.suppress(ConnectionLost):  # `serve` sees that too
            try:
                self.channel.send(answer)
            except WireError:
                self.channel.send(Bug(call.id, traceback.format_exc()))

    def _result(self, control: CallControl) -> bytes:
        call = control.call
        done_apart = self._server.run_apart(call, control)
        if done_apart is not None:
            return done_apart
        target = self._server.target(call.home, call.home_id)
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
            before: Any = self._events.pop(key, None)
            self._events[key] = event if before is None else before.merged(event)
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
        self._server.leave(self)
        for control in list(self._calls.values()):
            control.cancel.set()
        until = time.monotonic() + LEAVE_S
        for thread in list(self._threads.values()):
            thread.join(max(0.0, until - time.monotonic()))


NOBODY = cast(ClientConnection, None)
"""What a method has for its client where it is called through the wire: the connection takes its place."""


def _other_version(version: str) -> str:
    return (
        f"Reverie's engine for this profile runs as version {__version__}, and this is version {version}. "
        "Close the other windows and commands of Reverie, then start this one again."
    )


def _perform(target: Any, method: Method, control: CallControl) -> bytes:
    """CallMessage a method with what came over the wire; its result for the wire."""
    name = control.call.method
    if method.is_property:
        return encode(attrgetter(name)(target), method.result)
    try:
        named = method.unbound(unpack(control.call.arguments))
    except (WireError, TypeError, ValueError, KeyError, IndexError, RecursionError) as error:
        raise Nonsense(str(error)) from error
    reported = coder(method.progress) if method.progress is not None else None

    def progress(value: Any) -> None:
        assert reported is not None
        control.report(pack(reported.dump(value)))

    own: dict[str, Any] = {
        "progress": progress,
        "cancel": control.cancel,
        "check": control.check,
        "client": control.client,
    }
    named |= {each: own[each] for each in method.local}
    return encode(attrgetter(name)(target)(**named), method.result)
