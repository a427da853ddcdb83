"""A client of an engine: asks for things and waits, and hears what changes.

`EngineClient` is one connection; `services` and `home` are what can be asked, as objects with typed methods.
If the engine dies, calls under way fail with `EngineGone`; the next one connects again, to a new engine.

Threading: every method from any thread but the GUI's, several calls at once; `on_event` and `on_again` are
called on the reader's thread. Failure: a call raises the `UserError` of the engine; `CallCancelled` once it
was cancelled; `EngineBug` for a bug there; `EngineGone` (`Unavailable`) where there is no engine.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from types import MappingProxyType
from typing import Any, cast

from reverie import __version__
from reverie.engine.codec import WireError, coder, decode, pack, unpack
from reverie.engine.engine import RUNS, EngineServices, HomeEngine
from reverie.engine.interface import Method, is_service, method_of
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
from reverie.errors import Unavailable, UserError
from reverie.files.locks import count_as_ours

log = logging.getLogger("reverie.engine")

_POLL_S = 0.05
_PAUSES_S = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)


class CallCancelled(Exception):
    """The call was cancelled and has no result."""


class EngineBug(Exception):
    """A bug in the engine; the text is its traceback."""

    @property
    def trace(self) -> str:
        """What `str` says: the crash path shows it in place of where it was heard of."""
        return str(self)


class EngineGone(Unavailable):
    """The engine ended with the call under way, or cannot be started."""

    reason = "engine"

    def __init__(self, cause: str = "") -> None:
        super().__init__(
            "Reverie's engine is not there.",
            cause=cause or "Its process ended, or the system ran out of memory.",
            next_step="Try again: it is started anew, and what was under way is recovered first.",
        )


class EngineClient:
    """One connection to an engine, made when it is first needed. `connect` opens a channel, or raises
    `UserError`. `on_event` hears events. With `on_again` a lost connection is made anew at
    once, and it is called then, so that whatever was shown can be asked for again. Neither may block.

    `environment` is asked for the variables that a run is done with, instead of the engine's.

    `explain` is given for an engine on another machine: the error for a greeting that failed, or for a
    connection that was lost (None). Reaching such a machine may take long, so calls fail with that error
    while the connection is made again, which goes on until it succeeds; `on_lost` hears of it."""

    def __init__(
        self,
        connect: Callable[[], Channel],
        *,
        on_event: Callable[[Event], None] = lambda _event: None,
        on_again: Callable[[], None] | None = None,
        on_lost: Callable[[UserError], None] = lambda _error: None,
        explain: Callable[[Refused | WireError | ConnectionLost | None], UserError] | None = None,
        environment: Callable[[], Mapping[str, str | None]] = dict,
    ) -> None:
        self._connect = connect
        self._environment = environment
        self._on_lost = on_lost
        self._explain = explain
        self._greeting: Channel | None = None
        self._is_lost = False
        self._on_event = on_event
        self._on_again = on_again
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._waiting: dict[int, SimpleQueue[Any]] = {}
        self._channel: Channel | None = None
        self._reader: threading.Thread | None = None
        self._connections = 0
        self._stopping = threading.Event()
        self.pid = 0
        """Of the engine that was reached last."""

    @property
    def services(self) -> EngineServices:
        """What can be asked of the engine itself."""
        return cast(EngineServices, RemoteService(self, EngineServices, Path(), ""))

    def home(self, root: Path, home_id: str) -> HomeEngine:
        """What can be asked of an open home."""
        return cast(HomeEngine, RemoteService(self, HomeEngine, root, home_id))

    @property
    def is_connected(self) -> bool:
        """Whether there is an engine, as far as is known."""
        return self._channel is not None

    @property
    def is_stopped(self) -> bool:
        """Whether no call is answered any more."""
        return self._stopping.is_set()

    def call(
        self,
        address: tuple[Path, str, str],
        method: Method,
        arguments: tuple[Any, ...],
        named: dict[str, Any],
    ) -> Any:
        """Do one thing and return what it returns. `address`: home, its id, the name of the method."""
        named = method.named(arguments, named)
        own = {key: named.pop(key) for key in method.local if key in named}
        progress, event, check = own.get("progress"), own.get("cancel"), own.get("check")
        reported = coder(method.progress) if method.progress is not None else None

        def report(value: bytes) -> None:
            if progress is not None and reported is not None:
                progress(reported.load(unpack(value)))

        data = pack(method.bound(named))
        cancelled = event.is_set if event is not None else lambda: False
        environment = self._environment() if address[2] in RUNS else {}
        result = self.call_raw(
            address, data, environment=environment, report=report, cancelled=cancelled, check=check
        )
        return decode(result, method.result)

    def call_raw(
        self,
        address: tuple[Path, str, str],
        arguments: bytes,
        *,
        environment: Mapping[str, str | None] = MappingProxyType({}),
        report: Callable[[bytes], None] = lambda _value: None,
        cancelled: Callable[[], bool] = lambda: False,
        check: Callable[[], None] | None = None,
    ) -> bytes:
        """As `call`, with everything encoded. While it is under way `cancelled` is asked, and passed on, and
        `check` may raise to give the answer up."""
        answers: SimpleQueue[Any] = SimpleQueue()
        # Before the lock, which is held while the machine is tried.
        if self._is_lost:
            raise self._gone()
        with self._lock:
            channel, call_id = self._connected(), next(self._ids)
            self._waiting[call_id] = answers
        asked = False
        try:
            self._send(channel, CallMessage(call_id, *address, arguments, environment=environment))
            while True:
                try:
                    answer = answers.get(timeout=_POLL_S)
                except Empty:
                    pass
                else:
                    if answer is None:
                        raise self._gone()
                    if not isinstance(answer, ProgressMessage):
                        return _result(answer)
                    report(answer.value)
                # Also in between: what reports all the time must hear of it, too.
                if check is not None:
                    check()
                if not asked and cancelled():
                    self._send(channel, Cancel(call_id))
                    asked = True
        finally:
            if self._waiting.pop(call_id, None) is not None:
                with contextlib.suppress(ConnectionLost):
                    channel.send(Cancel(call_id))

    def stop(self) -> None:
        """Close the connection; calls under way end as gone. Calling it again is harmless."""
        self._stopping.set()
        greeting = self._greeting
        if greeting is not None:
            greeting.shut()
        with self._lock:
            channel, self._channel = self._channel, None
        if channel is not None:
            channel.shut()
        reader = self._reader
        if reader is not None and reader is not threading.current_thread():
            reader.join(2)

    def _connected(self) -> Channel:
        """A connection that was alive a moment ago. Raises `UserError`."""
        if self._stopping.is_set():
            raise EngineGone("The program is ending.")
        if self._channel is not None:
            return self._channel
        channel = self._greeting = self._connect()
        if self._stopping.is_set():
            channel.shut()
        try:
            channel.send(Hello(PROTOCOL, __version__, os.getpid()))
            welcome = channel.receive()
        except (ConnectionLost, WireError) as error:
            channel.close()
            raise self._gone(error) from error
        finally:
            self._greeting = None
        if not isinstance(welcome, WelcomeMessage):
            channel.close()
            if self._explain is not None and isinstance(welcome, Refused):
                raise self._explain(welcome)
            sentence = welcome.sentence if isinstance(welcome, Refused) else ""
            raise Unavailable("Reverie's engine did not accept this program.", cause=sentence)
        self.pid = welcome.pid
        if self._explain is None:
            count_as_ours(welcome.pid)
        self._channel = channel
        self._is_lost = False
        self._connections += 1
        again = self._connections > 1
        self._reader = threading.Thread(
            target=self._read, args=(channel, again), name="reverie-engine-link", daemon=True
        )
        self._reader.start()
        return channel

    def _read(self, channel: Channel, again: bool) -> None:
        if again and self._on_again is not None:
            self._on_again()
        try:
            while True:
                message = channel.receive()
                if isinstance(message, Event):
                    self._on_event(message)
                elif isinstance(message, ProgressMessage):
                    waiting = self._waiting.get(message.id)
                    if waiting is not None:
                        waiting.put(message)
                elif isinstance(message, Done | Failed | Stopped | Bug):
                    waiting = self._waiting.pop(message.id, None)
                    if waiting is not None:
                        waiting.put(message)
                else:
                    raise WireError("a message that has no place here")
        except ConnectionLost:
            pass
        except WireError as error:
            log.warning("the engine sent nonsense and is left: %s", error)
        channel.close()
        with self._lock:
            if self._channel is channel:
                self._channel = None
            self._is_lost = self._explain is not None and not self._stopping.is_set()
            lost, self._waiting = self._waiting, {}
        for waiting in lost.values():
            waiting.put(None)
        if self._is_lost:
            self._on_lost(self._gone())
        if self._on_again is not None:
            self._reconnect()

    def _reconnect(self) -> None:
        """Connect again without being asked, since whoever watches only hears."""
        forever = itertools.repeat(_PAUSES_S[-1]) if self._explain is not None else ()
        for pause_s in itertools.chain((0.0,), _PAUSES_S, forever):
            if self._stopping.wait(pause_s):
                return
            try:
                with self._lock:
                    self._connected()
            except UserError as error:
                log.info("no engine yet: %s", error)
            else:
                return

    def _send(self, channel: Channel, message: CallMessage | Cancel) -> None:
        try:
            channel.send(message)
        except ConnectionLost as error:
            raise self._gone() from error

    def _gone(self, failure: WireError | ConnectionLost | None = None) -> UserError:
        return self._explain(failure) if self._explain is not None else EngineGone()


class RemoteService:
    """What can be asked of a home or of the engine, or one of their services, as methods."""

    def __init__(
        self, client: EngineClient, interface: type, home: Path, home_id: str, prefix: str = ""
    ) -> None:
        self._client = client
        self._interface = interface
        self._home = home
        self._home_id = home_id
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        full = f"{self._prefix}{name}"
        if is_service(self._interface, full):
            return RemoteService(self._client, self._interface, self._home, self._home_id, f"{full}.")
        method = method_of(self._interface, full)
        if method is None:
            raise AttributeError(f"an engine cannot be asked for {full}")
        address = (self._home, self._home_id, full)
        if method.is_property:
            return self._client.call(address, method, (), {})
        return partial(_call, self._client, address, method)


def _call(
    client: EngineClient, address: tuple[Path, str, str], method: Method, *arguments: Any, **named: Any
) -> Any:
    return client.call(address, method, arguments, named)


def _result(answer: Done | Failed | Stopped | Bug) -> bytes:
    if isinstance(answer, Done):
        return answer.value
    if isinstance(answer, Failed):
        raise answer.error
    if isinstance(answer, Stopped):
        raise CallCancelled
    if isinstance(answer, Bug):
        raise EngineBug(answer.trace)
    raise EngineGone
