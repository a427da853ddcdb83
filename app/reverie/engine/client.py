"""A client of an engine: asks for things and waits, and hears what changes.

`EngineClient` is one connection; `services` and `home` are what can be asked, as objects with typed methods.
If the engine dies, calls under way fail with `EngineGone`; the next one connects again, to a new engine.

Threading: every method from any thread but the GUI's, several calls at once; `on_event`, `on_again` and who
posted a call are called on the reader's thread. Failure: a call raises the `UserError` of the engine;
`CallCancelled` once it was cancelled; `EngineBug` for a bug there; `EngineGone` (`Unavailable`) where there
is no engine.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from queue import Empty, SimpleQueue
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from reverie import __version__
from reverie.engine.asking import Askable, CallCancelled, may_wait
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
    ProgressMessage,
    Refused,
    Stopped,
    WelcomeMessage,
)
from reverie.engine.codec import WireError, decode
from reverie.engine.interface import RUNS, EngineCalls, HomeCalls
from reverie.engine.methods import Method, is_offered, is_service, method_of
from reverie.engine.reach import surroundings
from reverie.errors import Unavailable, UserError
from reverie.files.locks import count_as_ours
from reverie.values import replace

if TYPE_CHECKING:
    from reverie.engine.engine import EngineServices, HomeEngine

log = logging.getLogger("reverie.engine")

Answer = ProgressMessage | Done | Failed | Stopped | Bug | UserError
"""What a call hears: its progress, then one end. `UserError`: there is no engine."""

_POLL_S = 0.05
# Pauses before the next try to reach an engine.
_AGAIN_S = (0.0, 0.05, 0.2, 0.5)
_PAUSES_S = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_CALM_S = 60.0


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
            "Reverie's engine is not running.",
            cause=cause or "Its process ended, or the system ran out of memory.",
            next_step="Try again: it will be restarted, and interrupted work is recovered first.",
        )


class EngineClient:
    """One connection to an engine, made when it is first needed. `connect` opens a channel, or raises
    `UserError`. `on_event` hears events. With `on_again` a lost connection is made anew at
    once, and it is called then, so that whatever was shown can be asked for again. Neither may block.

    `own` opens a channel to an engine of this client's own. It is taken where the one that `connect` reaches
    was started in other surroundings, so that it sees other homes or asks models with other keys.

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
        own: Callable[[], Channel] | None = None,
    ) -> None:
        self._connect = connect
        self._own = own
        self.environment = environment
        self._on_lost = on_lost
        self._explain = explain
        self._greeting: Channel | None = None
        self._is_lost = False
        self._on_event = on_event
        self._on_again = on_again
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._waiting: dict[int, Callable[[Answer], None]] = {}
        self._channel: Channel | None = None
        self._reader: threading.Thread | None = None
        self._connections = 0
        self._bugs, self._bug_at = 0, 0.0
        self._stopping = threading.Event()
        self.pid = 0
        """Of the engine that was reached last."""

    @property
    def services(self) -> EngineServices:
        """What can be asked of the engine itself."""
        return cast("EngineServices", RemoteService(self, EngineCalls, Path(), ""))

    def home(self, root: Path, home_id: str) -> HomeEngine:
        """What can be asked of an open home."""
        return cast("HomeEngine", RemoteService(self, HomeCalls, root, home_id, rest=_home_engine))

    @property
    def is_connected(self) -> bool:
        """Whether there is an engine, as far as is known."""
        return self._channel is not None

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
        """Do one thing and return its encoded result. `address`: home, its id, the name of the method. While
        it is under way `cancelled` is asked, and passed on, and `check` may raise to give the answer up."""
        answers: SimpleQueue[Answer] = SimpleQueue()
        # Before the lock, which is held while the machine is tried.
        if self._is_lost:
            raise self._gone()
        with self._lock:
            channel = self._connected()
            call_id = self._register(answers.put)
        asked = False
        try:
            self._send(channel, CallMessage(call_id, *address, arguments, environment=environment))
            while True:
                try:
                    answer = answers.get(timeout=_POLL_S)
                except Empty:
                    pass
                else:
                    if not isinstance(answer, ProgressMessage):
                        return result_of(answer)
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

    def post(self, message: CallMessage, answered: Callable[[Answer], None]) -> Posted:
        """As `call_raw`, without waiting; the message gets its id here. `answered` is called with each
        progress and then once with the end, on another thread. Blocks for no longer than a message takes to
        be sent."""
        posted = Posted(self, answered)
        if self._lock.acquire(blocking=False):
            channel = self._channel
            if channel is not None:
                posted.call_id = self._register(answered)
            self._lock.release()
            if channel is not None:
                posted.send(channel, message)
                return posted
        late = threading.Thread(
            target=self._post_late, args=(posted, message), name="reverie-connect", daemon=True
        )
        late.start()
        return posted

    def _post_late(self, posted: Posted, message: CallMessage) -> None:
        """Connect first; that may take long."""
        if self._is_lost:
            posted.answered(self._gone())
            return
        try:
            with self._lock:
                channel = self._connected()
                posted.call_id = self._register(posted.answered)
        except UserError as error:
            posted.answered(error)
            return
        posted.send(channel, message)

    def _register(self, answered: Callable[[Answer], None]) -> int:
        """Under the lock, with a connection: whatever becomes of that, the call gets an answer."""
        call_id = next(self._ids)
        self._waiting[call_id] = answered
        return call_id

    def give_up(self, call_id: int, *, at_once: bool, answer: Answer | None = None) -> None:
        """Cancel a call. `at_once`: end it now, as cancelled or with `answer`; else the engine says when it
        has ended."""
        with self._lock:
            channel = self._channel
            answered = self._waiting.pop(call_id, None) if at_once else self._waiting.get(call_id)
        if answered is None:
            return
        if channel is not None:
            with contextlib.suppress(ConnectionLost):  # then it ends as gone
                channel.send(Cancel(call_id))
        if at_once:
            answered(answer or Stopped(call_id))

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
        channel, welcome = self._welcomed(self._connect)
        if self._own is not None and _is_foreign(welcome):
            log.info("the engine %d has other surroundings; one of our own is used", welcome.pid)
            channel.close()
            channel, welcome = self._welcomed(self._own)
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

    def _welcomed(self, connect: Callable[[], Channel]) -> tuple[Channel, Any]:
        """As `_greeted`, again while one is reached that is ending, or was killed a moment ago."""
        for pause_s in _AGAIN_S:
            try:
                return self._greeted(connect)
            except ConnectionLost:
                self._stopping.wait(pause_s)
        try:
            return self._greeted(connect)
        except ConnectionLost as error:
            raise self._gone(error) from error

    def _greeted(self, connect: Callable[[], Channel]) -> tuple[Channel, Any]:
        """A new connection, and what the engine answers. Raises `UserError` and `ConnectionLost`."""
        channel = self._greeting = connect()
        if self._stopping.is_set():
            channel.shut()
        try:
            channel.send(Hello(PROTOCOL, __version__, os.getpid()))
            return channel, channel.receive()
        except ConnectionLost as error:
            channel.close()
            # Another machine says by itself why it cannot be reached.
            if self._explain is not None or self._stopping.is_set():
                raise self._gone(error) from error
            raise
        except WireError as error:
            channel.close()
            raise self._gone(error) from error
        finally:
            self._greeting = None

    def _read(self, channel: Channel, again: bool) -> None:
        first_pause_s = 0.0
        try:
            if again and self._on_again is not None:
                self._on_again()
            while True:
                message = channel.receive()
                if isinstance(message, Event):
                    self._on_event(message)
                elif isinstance(message, ProgressMessage):
                    answered = self._waiting.get(message.id)
                    if answered is not None:
                        answered(message)
                elif isinstance(message, Done | Failed | Stopped | Bug):
                    answered = self._waiting.pop(message.id, None)
                    if answered is not None:
                        answered(message)
                else:
                    raise WireError("a message that has no place here")
        except ConnectionLost:
            pass
        except WireError as error:
            log.warning("the engine sent nonsense and is left: %s", error)
        except Exception:
            # Whoever was called has a bug; without a reader every call would wait for ever.
            log.exception("a message of the engine could not be handled, and it is left")
            first_pause_s = self._pause_after_bug()
        channel.close()
        with self._lock:
            if self._channel is channel:
                self._channel = None
            self._is_lost = self._explain is not None and not self._stopping.is_set()
            lost, self._waiting = self._waiting, {}
        for answered in lost.values():
            try:
                answered(self._gone())
            except Exception:
                log.exception("the end of a call could not be handled")  # the others end all the same
        if self._is_lost:
            self._on_lost(self._gone())
        if self._on_again is not None:
            self._reconnect(first_pause_s)

    def _pause_after_bug(self) -> float:
        """Longer each time: what is asked first on the next connection may well meet the same bug."""
        now = time.monotonic()
        self._bugs = self._bugs + 1 if now - self._bug_at < _CALM_S else 0
        self._bug_at = now
        return _PAUSES_S[min(self._bugs, len(_PAUSES_S) - 1)]

    def _reconnect(self, first_pause_s: float) -> None:
        """Connect again without being asked, since whoever watches only hears."""
        forever = itertools.repeat(_PAUSES_S[-1]) if self._explain is not None else ()
        for pause_s in itertools.chain((first_pause_s,), _PAUSES_S, forever):
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


def _is_foreign(welcome: Any) -> bool:
    here = surroundings(os.environ, models=True)
    return isinstance(welcome, WelcomeMessage) and welcome.surroundings != here


class Posted:
    """A call under way for which nobody waits."""

    def __init__(self, client: EngineClient, answered: Callable[[Answer], None]) -> None:
        self.answered = answered
        self.call_id = 0
        self._client = client
        self._cancelled = False
        self._at_once = False

    def send(self, channel: Channel, message: CallMessage) -> None:
        """On its way. Where the connection is lost the reader sees it and answers."""
        try:
            channel.send(replace(message, id=self.call_id))
        except ConnectionLost:
            pass
        except WireError:  # too large
            self._client.give_up(self.call_id, at_once=True, answer=Bug(self.call_id, traceback.format_exc()))
        if self._cancelled:
            self._client.give_up(self.call_id, at_once=self._at_once)

    def cancel(self, *, at_once: bool) -> None:
        """As `EngineClient.give_up`; of a call that could not be sent yet as soon as it is."""
        self._cancelled, self._at_once = True, at_once
        if self.call_id:
            self._client.give_up(self.call_id, at_once=at_once)


def _home_engine() -> type:
    # Late: a window asks for what `HomeCalls` has, and loads nothing of the engine.
    from reverie.engine import engine

    return engine.HomeEngine


class RemoteService:
    """What can be asked of a home or of the engine, or one of their services, as methods."""

    def __init__(
        self,
        client: EngineClient,
        interface: type,
        home: Path,
        home_id: str,
        prefix: str = "",
        *,
        rest: Callable[[], type] | None = None,
    ) -> None:
        """`rest` loads the class of what `interface` does not have."""
        self._client = client
        self._interface = interface
        self._home = home
        self._home_id = home_id
        self._prefix = prefix
        self._rest = rest

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        full = f"{self._prefix}{name}"
        is_first = self._rest is None or is_offered(self._interface, full)
        # On a thread that others need nothing is loaded, and so a service has no services of its own there;
        # the thread that asks looks the method up.
        may_load = may_wait()
        if is_first and (may_load or not self._prefix) and is_service(self._interface, full):
            return RemoteService(self._client, self._interface, self._home, self._home_id, f"{full}.")
        remote = RemoteMethod(self._client, (self._home, self._home_id, full), partial(self._found, full))
        return remote() if may_load and remote.is_property else remote

    def _found(self, full: str) -> Method:
        """The method of this dotted name. Raises `AttributeError`."""
        interface = self._interface
        if self._rest is not None and not is_offered(interface, full):
            interface = self._rest()
        method = method_of(interface, full)
        if method is None:
            raise AttributeError(f"an engine cannot be asked for {full}")
        return method


class RemoteMethod(Askable):
    """One method of what can be asked. Called, it waits for the answer; `ask` makes a `Request` of it. `find`
    looks its signature up, which may load the module that has it."""

    def __init__(
        self, client: EngineClient, address: tuple[Path, str, str], find: Callable[[], Method]
    ) -> None:
        self._client = client
        self._address = address
        self._find = find

    @cached_property
    def _method(self) -> Method:
        return self._find()

    @property
    def is_property(self) -> bool:
        """Whether it is asked for without being called."""
        return self._method.is_property

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Wait for the answer."""
        assert may_wait(), f"{self._address[2]} would hold up a thread that others need"
        own, data, report = self._packed(arguments, named)
        event = own.get("cancel")
        cancelled = event.is_set if event is not None else lambda: False
        result = self._client.call_raw(
            self._address,
            data,
            environment=self._environment(),
            report=report,
            cancelled=cancelled,
            check=own.get("check"),
        )
        return decode(result, self._method.result)

    def post(
        self,
        arguments: tuple[Any, ...],
        named: dict[str, Any],
        ended: Callable[[Any, BaseException | None], None],
    ) -> Callable[[], None]:
        """Ask; `ended` is called with the result or with what a call would raise, on another thread. What is
        returned cancels the call."""
        _own, data, report = self._packed(arguments, named)

        def answered(answer: Answer) -> None:
            if isinstance(answer, ProgressMessage):
                report(answer.value)
                return
            try:
                value = decode(result_of(answer), self._method.result)
            except BaseException as error:  # noqa: BLE001 - handed to whoever waits
                ended(None, error)
            else:
                ended(value, None)

        message = CallMessage(0, *self._address, data, environment=self._environment())
        posted = self._client.post(message, answered)
        # What looks at `check` changes nothing, so nobody need wait until it has stopped.
        return partial(posted.cancel, at_once="check" in self._method.local)

    def _environment(self) -> Mapping[str, str | None]:
        return self._client.environment() if self._address[2] in RUNS else {}

    def _packed(
        self, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[dict[str, Any], bytes, Callable[[bytes], None]]:
        """What stays here, the arguments for the wire, and what takes encoded progress."""
        named = self._method.named(arguments, named)
        own = {key: named.pop(key) for key in self._method.local if key in named}
        progress = own.get("progress")

        def report(value: bytes) -> None:
            if progress is not None:
                progress(decode(value, self._method.progress))

        return own, self._method.pack(named), report


def result_of(answer: Answer) -> bytes:
    """The encoded result of a call. Raises what the call did."""
    if isinstance(answer, Done):
        return answer.value
    if isinstance(answer, Failed):
        raise answer.error
    if isinstance(answer, Stopped):
        raise CallCancelled
    if isinstance(answer, Bug):
        raise EngineBug(answer.trace)
    if isinstance(answer, UserError):
        raise answer
    raise EngineGone
