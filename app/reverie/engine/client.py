"""A client of an engine: sends calls, waits for their results if required, and receives events.

`EngineClient` is one connection. `services` and `home` provide the methods of the engine and of an open home;
each call is a `RemoteCall`, a future with progress. If the engine dies, calls in progress fail with
`EngineGone`; the next call connects to a new engine.

Threading: every method from any thread but the GUI's, several calls at once. `on_event`, `on_again` and the
callbacks of a posted call run on the thread that reads the connection. Failure: a call raises the `UserError`
of the engine; `CallCancelled` if it was cancelled; `EngineBug` for a bug in the engine; `EngineGone`
(`Unavailable`) if there is no engine.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import threading
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, cast

from reverie import __version__
from reverie.engine.asking import Askable, CallCancelled, may_wait
from reverie.engine.channel import (
    PROTOCOL,
    Answer,
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
)
from reverie.engine.codec import WireError, decode, encode
from reverie.engine.interface import RUNS, EngineCalls, HomeCalls
from reverie.engine.methods import Method, is_service, method_of
from reverie.errors import Unavailable, UserError
from reverie.files.locks import count_as_ours
from reverie.values import replace

if TYPE_CHECKING:
    from reverie.engine.engine import EngineServices, HomeEngine

log = logging.getLogger("reverie.engine")

_CHECK_S = 0.05
_SIGNAL_S = 0.5
"""The seconds after which a waiting main thread wakes up to handle signals such as Ctrl+C.

The system may have delivered a signal to another thread, which does not wake the main thread.
"""
# Pauses before the next try to reach an engine.
_AGAIN_S = (0.0, 0.05, 0.2, 0.5)
_PAUSES_S = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_AFTER_BUG_S = 5.0
"""The pause in seconds before connecting again after a callback of this client failed, as it may fail
again."""


class EngineBug(Exception):
    """Raised for a bug in the engine; the text is the engine's traceback."""

    @property
    def trace(self) -> str:
        """The traceback in the engine, shown in crash reports in place of this process's own."""
        return str(self)


class EngineGone(Unavailable):
    """Raised if the engine ended during the call, or cannot be started."""

    reason = "engine"

    def __init__(self, cause: str = "") -> None:
        super().__init__(
            "Reverie's engine is not running.",
            cause=cause or "The engine process ended, or the system ran out of memory.",
            next_step="Try again: Reverie restarts the engine and first recovers interrupted work.",
        )


class EngineClient:
    """One connection to an engine, opened on first use.

    `connect` opens a channel, or raises `UserError`. `on_event` is called with each event. If `on_again` is
    given, a lost connection is opened again without waiting for the next call; then `on_again` is called, so
    that views can be read again. `on_event` and `on_again` must not block.

    `environment` returns environment variables that are sent with each call that starts a run, to be used in
    place of the engine's own.

    `explain` and `on_lost` are for an engine on another machine. `explain` returns the error to raise when
    that engine cannot be reached. Its argument is the failure of the first messages of a connection (`Hello`
    and its reply), or None if the connection was lost later. Such an engine is tried again until it responds,
    which may take long; until then, calls fail with the error of `explain`. `on_lost` is called with that
    error once per loss.
    """

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
        self.environment = environment
        self._on_lost = on_lost
        self._explain = explain
        self._greeting: Channel | None = None
        self._is_lost = False
        self._on_event = on_event
        self._on_again = on_again
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._waiting: dict[int, RemoteCall] = {}
        self._channel: Channel | None = None
        self._reader: threading.Thread | None = None
        self._connections = 0
        self._stopping = threading.Event()
        self.pid = 0
        """The process id of the engine that was reached last; 0 before."""

    @property
    def services(self) -> EngineServices:
        """The proxy of the engine itself: its methods call the methods of `EngineServices` in the engine."""
        return cast("EngineServices", RemoteService(self, EngineCalls, Path(), ""))

    def home(self, root: Path, home_id: str) -> HomeEngine:
        """Return the proxy of an open home: its methods call the methods of the home in the engine."""
        return cast("HomeEngine", RemoteService(self, HomeCalls, root, home_id, rest=_home_engine))

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection; a loss that was not noticed yet still counts as connected."""
        return self._channel is not None

    def connect(self) -> None:
        """Connect if there is no connection. Raises `UserError`."""
        with self._lock:
            self._connected()

    def post(self, message: CallMessage, accept: Callable[[Answer], None] | None = None) -> RemoteCall:
        """Send a call with a new id, and return the call.

        With `accept`, this blocks only while the message is sent: each progress and then the end of the call
        are passed to `accept`, on another thread. Without `accept`, this also waits until there is a
        connection; `RemoteCall.result` then waits for the result.
        """
        call = RemoteCall(self, message, accept)
        if accept is None:
            self._begin(call)
        elif not self._begin(call, may_connect=False):
            threading.Thread(target=self._begin, args=(call,), name="reverie-connect", daemon=True).start()
        return call

    def _begin(self, call: RemoteCall, *, may_connect: bool = True) -> bool:
        """Give a new call its id and send it; open a connection if necessary.

        Returns False, and sends nothing, only if there is no connection and `may_connect` is False. If True
        is returned, the call certainly gets an end: its result, or an error if the engine cannot be reached
        or is lost.
        """
        try:
            if may_connect and self._is_lost:
                raise self._gone()  # without the lock, which is held during an attempt to connect
            if not self._lock.acquire(blocking=may_connect):
                return False
            try:
                channel = self._connected() if may_connect else self._channel
                if channel is None:
                    return False
                call.id = next(self._ids)
                self._waiting[call.id] = call
            finally:
                self._lock.release()
        except UserError as error:
            call.accept(Failed(0, error))
        except Exception:  # noqa: BLE001 - handed to whoever waits, which has the crash path
            call.accept(Failed(0, trace=traceback.format_exc()))
        else:
            call.send(channel)
        return True

    def end(self, call: RemoteCall, answer: Answer | None) -> None:
        """Cancel `call`, which has been sent.

        With `answer`, the call ends at once with that answer. With None, it ends when the engine reports its
        end.
        """
        known = self._waiting.get(call.id) if answer is None else self._waiting.pop(call.id, None)
        channel = self._channel
        if known is None:
            return
        if answer is not None:
            call.accept(answer)
        if channel is not None:
            with contextlib.suppress(ConnectionLost):  # the reader then ends the call with `EngineGone`
                channel.send(Cancel(call.id))

    def leave(self, failure: WireError) -> UserError:
        """Close the connection to an engine that sent invalid data; return the error to raise from the call.

        `failure` describes the invalid data, for the log.
        """
        log.warning("the engine sent nonsense and is left: %s", failure)
        channel = self._channel
        if channel is not None:
            channel.shut()
        return self._gone()

    def stop(self) -> None:
        """Close the connection; calls in progress fail with `EngineGone`.

        Repeated calls are harmless.
        """
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
        """Return the channel of the connection; open a connection if there is none. Raises `UserError`."""
        if self._stopping.is_set():
            raise EngineGone("The program is closing.")
        if self._channel is not None:
            return self._channel
        channel, welcome = self._welcomed()
        self.pid = welcome.pid
        if isinstance(welcome, Refused):
            channel.close()
            if self._explain is not None:
                raise self._explain(welcome)
            raise Unavailable("Reverie's engine rejected the connection.", cause=welcome.sentence)
        if self._explain is None:
            count_as_ours(welcome.pid)
        self._channel = channel
        self._is_lost = False
        self._connections += 1
        self._reader = threading.Thread(
            target=self._read, args=(channel, self._connections > 1), name="reverie-engine-link", daemon=True
        )
        self._reader.start()
        return channel

    def _welcomed(self) -> tuple[Channel, WelcomeMessage | Refused]:
        """Open a channel and send `Hello`; return the channel and the engine's reply.

        Tries again if an engine of this machine is just ending or was just killed. Raises `UserError`.
        """
        pauses = iter(_AGAIN_S)
        while True:
            channel = self._greeting = self._connect()
            if self._stopping.is_set():
                channel.shut()
            try:
                channel.send(Hello(PROTOCOL, __version__, os.getpid()))
                reply = channel.receive()
                if isinstance(reply, WelcomeMessage | Refused):
                    return channel, reply
                raise WireError("an unexpected message")
            except (ConnectionLost, WireError) as error:
                channel.close()
                pause_s = next(pauses, None)
                # For another machine, `explain` returns the reason, and this does not retry.
                is_last = pause_s is None or self._explain is not None or self._stopping.is_set()
                if is_last or isinstance(error, WireError):
                    raise self._gone(error) from error
                self._stopping.wait(pause_s)
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
                elif isinstance(message, Answer):
                    is_end = not isinstance(message, ProgressMessage)
                    call = self._waiting.pop(message.id, None) if is_end else self._waiting.get(message.id)
                    if call is not None:
                        call.accept(message)
                else:
                    raise WireError("an unexpected message")
        except ConnectionLost:
            pass
        except WireError as error:
            log.warning("the engine sent nonsense and is left: %s", error)
        except Exception:
            # A callback has a bug. Without this reader every call would wait for ever, so all of them end.
            log.exception("a message of the engine could not be handled, and it is left")
            first_pause_s = _AFTER_BUG_S
        channel.close()
        with self._lock:
            if self._channel is channel:
                self._channel = None
            self._is_lost = self._explain is not None and not self._stopping.is_set()
            lost, self._waiting = self._waiting, {}
        while lost:
            # One at a time, because a call that is cancelled meanwhile removes itself.
            _id, call = lost.popitem()
            try:
                call.accept(Failed(0, self._gone()))
            except Exception:
                log.exception("the end of a call could not be handled")  # continue with the other calls
        if self._is_lost:
            self._on_lost(self._gone())
        if self._on_again is not None:
            self._reconnect(first_pause_s)

    def _reconnect(self, first_pause_s: float) -> None:
        """Connect again after a loss, because a client that only watches may make no call that connects.

        The first attempt is made after `first_pause_s` seconds, the next ones after longer pauses.
        """
        forever = itertools.repeat(_PAUSES_S[-1]) if self._explain is not None else ()
        for pause_s in itertools.chain((first_pause_s,), _PAUSES_S, forever):
            if self._stopping.wait(pause_s):
                return
            try:
                self.connect()
            except UserError as error:
                log.info("no engine yet: %s", error)
            else:
                return

    def _gone(self, failure: WireError | ConnectionLost | None = None) -> UserError:
        return self._explain(failure) if self._explain is not None else EngineGone()


class RemoteCall:
    """One call in progress, as a future: it gets any number of progress messages, then one end."""

    def __init__(
        self, client: EngineClient, message: CallMessage, accept: Callable[[Answer], None] | None
    ) -> None:
        """Prepare the call `message` of `client`; for `accept` see `EngineClient.post`."""
        self._answers: SimpleQueue[Answer] = SimpleQueue()
        self.accept = self._answers.put if accept is None else accept
        """A callback for each progress and the end, called on the thread that reads the connection."""
        self.id = 0
        """The id of the call; 0 if it could not be sent yet."""
        self._client = client
        self._message = message
        self._is_cancelled = False
        self._at_once: Answer | None = None

    def send(self, channel: Channel) -> None:
        """Send the message of this call over `channel`; if that fails, end the call."""
        try:
            channel.send(replace(self._message, id=self.id))
        except ConnectionLost:
            channel.shut()  # its reader then ends every call
        except WireError:  # too large
            self.cancel(Failed(self.id, trace=traceback.format_exc()))
        if self._is_cancelled:
            self._client.end(self, self._at_once)

    def cancel(self, at_once: Answer | None = None) -> None:
        """Cancel the call; if it was not sent yet, it is cancelled right after it is sent.

        With `at_once`, the call ends now, with that answer. With None, it ends when the engine reports its
        end.
        """
        if self._is_cancelled and at_once is None:
            return
        self._is_cancelled, self._at_once = True, at_once
        if self.id:
            self._client.end(self, at_once)

    def result(
        self, report: Callable[[bytes], None] = lambda _value: None, check: Callable[[], None] | None = None
    ) -> bytes:
        """Wait for the end of the call; return the encoded result.

        Raises the error of the call. `report` is called with each encoded progress value. `check`, if given,
        is called several times a second. If `report` or `check` raises, the call is cancelled and the
        exception is passed on.
        """
        try:
            while True:
                with contextlib.suppress(Empty):
                    answer = self._answers.get(timeout=_SIGNAL_S if check is None else _CHECK_S)
                    if not isinstance(answer, ProgressMessage):
                        return result_of(answer)
                    report(answer.value)
                # Also after progress, so that a call that reports continuously can be stopped.
                if check is not None:
                    check()
        finally:
            self.cancel(Failed(self.id))


def _home_engine() -> type:
    # Late: a window needs only the methods of `HomeCalls`, and does not load the engine.
    from reverie.engine import engine

    return engine.HomeEngine


class RemoteService(Askable):
    """A proxy of a home, of the engine, or of one of their services or methods.

    `home` and `home_id` identify the home; both are empty for the engine. `name` is the dotted name of the
    service or method below the home or the engine, "" for the home or the engine itself.

    Reading an attribute returns the proxy of that service or method, or the value if it is a property.
    Calling the proxy of a method waits for the result; `ask` makes a `Request` from the proxy instead.
    `interface` is the class that declares the methods; `rest` loads the class with the methods that
    `interface` does not declare.
    """

    def __init__(
        self,
        client: EngineClient,
        interface: type,
        home: Path,
        home_id: str,
        name: str = "",
        *,
        rest: Callable[[], type] | None = None,
    ) -> None:
        self._client = client
        self._interface = interface
        self._home = home
        self._home_id = home_id
        self._name = name
        self._rest = rest

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        full = f"{self._name}.{name}" if self._name else name
        found = RemoteService(self._client, self._interface, self._home, self._home_id, full, rest=self._rest)
        # A thread that must not wait loads nothing; the thread that calls the method looks it up.
        if may_wait() and not is_service(found._owner(), full) and found._method().is_property:
            return found()
        return found

    def _owner(self) -> type:
        """Return the class that declares this method or service.

        It is `interface`, or the class that `rest` loads if `interface` lacks the first part of `name`.
        """
        if self._rest is None or hasattr(self._interface, self._name.partition(".")[0]):
            return self._interface
        return self._rest()

    def _method(self) -> Method:
        """Return the signature of the method with this proxy's name.

        Raises `AttributeError` if the engine does not offer the method.
        """
        method = method_of(self._owner(), self._name)
        if method is None:
            raise AttributeError(f"an engine cannot be asked for {self._name}")
        return method

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the method in the engine and wait for the result. Raises the exceptions of the method."""
        assert may_wait(), f"{self._name} would hold up a thread that others need"
        method = self._method()
        own, message, report = self._packed(method, arguments, named)
        call = self._client.post(message)
        cancel, check = own.get("cancel"), own.get("check")

        def look() -> None:
            if cancel is not None and cancel.is_set():
                call.cancel()
            if check is not None:
                check()

        try:
            encoded = call.result(report, look if cancel is not None or check is not None else None)
            return decode(encoded, method.result)
        except WireError as error:
            raise self._client.leave(error) from error

    def post(
        self,
        arguments: tuple[Any, ...],
        named: dict[str, Any],
        ended: Callable[[Any, BaseException | None], None],
    ) -> Callable[[], None]:
        """Call the method without waiting for the result; return a function that cancels the call.

        `arguments`, `named`: the positional and the named arguments of the call. `ended` is called once, on
        another thread, with the result and None, or with None and the error.
        """
        method = self._method()
        _own, message, report = self._packed(method, arguments, named)

        def accept(answer: Answer) -> None:
            if isinstance(answer, ProgressMessage):
                report(answer.value)
                return
            try:
                value = decode(result_of(answer), method.result)
            except WireError as error:
                ended(None, self._client.leave(error))
            except BaseException as error:  # noqa: BLE001 - handed to whoever waits
                ended(None, error)
            else:
                ended(value, None)

        call = self._client.post(message, accept)
        # A method with `check` changes nothing, so its call may end before the method has stopped.
        return partial(call.cancel, Failed(0) if "check" in method.local else None)

    def _packed(
        self, method: Method, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[dict[str, Any], CallMessage, Callable[[bytes], None]]:
        """Return the arguments that are not sent, the message of the call, and the receiver of its progress.

        `arguments`, `named`: the positional and the named arguments of the call. The receiver decodes each
        progress value and passes it to the argument `progress`, if there is one.
        """
        named = method.named(arguments, named)
        own = {key: named.pop(key) for key in method.local if key in named}
        progress = own.get("progress")

        def report(value: bytes) -> None:
            if progress is not None:
                progress(decode(value, method.progress))

        environment = self._client.environment() if self._name in RUNS else {}
        message = CallMessage(
            0, self._home, self._home_id, self._name, encode(method.arguments(**named)), environment
        )
        return own, message, report


def result_of(answer: Done | Failed) -> bytes:
    """Return the encoded result of a call, given the last message about it, or raise the call's error."""
    if isinstance(answer, Done):
        return answer.value
    if answer.trace:
        raise EngineBug(answer.trace)
    raise answer.error or CallCancelled
