"""One connection between a client and an engine, over two sockets: what both may do, and what neither may.

The engine here offers a made-up interface, so that each rule is seen alone.
"""

from __future__ import annotations

import contextlib
import enum
import gc
import os
import socket
import struct
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from helpers.expect_log import ExpectLog
from reverie.agents.scopes import ProjectGap, Refusal, Scope, ScopeUnavailable
from reverie.engine.asking import CallCancelled, ask
from reverie.engine.channel import (
    PROTOCOL,
    CallMessage,
    Cancel,
    Channel,
    ConnectionLost,
    Done,
    Failed,
    FromClient,
    FromEngine,
    Hello,
    HomeChanged,
    IndexChanged,
    Notice,
    Overwritten,
    ProgressMessage,
    Recorded,
    Refused,
    WelcomeMessage,
    merged,
)
from reverie.engine.client import EngineBug, EngineClient, EngineGone, RemoteService
from reverie.engine.codec import decode, encode
from reverie.engine.reach import socket_channel
from reverie.engine.server import MOST_CALLS, NOBODY, CallControl, CallStopped, ClientConnection
from reverie.errors import Ambiguous, Busy, Conflict, Unavailable, UserError
from reverie.files.frames import LARGEST_FRAME
from reverie.files.lease import LeaseHeld
from reverie.files.locks import LeaseHolder, ProcessId
from reverie.files.watch import Changes
from reverie.llm.provider import ProviderError
from reverie.memory.write_guard import ReadOnlyStore
from reverie.services import LazyService
from reverie.services.views import LostSave

HOME = Path("/home/somebody/.mux")
LIMIT_S = 10.0


class Stage(enum.Enum):
    """How far a made-up call is."""

    FIRST = "first"


@dataclass(frozen=True, slots=True)
class Step:
    """Progress of a made-up call."""

    number: int
    stage: Stage = Stage.FIRST


class Counter:
    """A service of the made-up home."""

    def add(self, one: int, other: int = 10) -> int:
        return one + other


class Made:
    """A made-up home."""

    def __init__(self) -> None:
        self.clients: list[ClientConnection] = []
        self.going_on = threading.Event()

    counter: LazyService[Counter] = LazyService(f"{__name__}.Counter", lambda _made, kind: kind())

    @property
    def name(self) -> str:
        return "made up"

    def echo(self, text: str) -> str:
        return text

    def refuse(self) -> None:
        raise Conflict("Not written.", cause="It changed.", next_step="Read it again.")

    def refuse_because(self) -> None:
        try:
            raise OSError("no room")
        except OSError as error:
            refusal = Conflict("Not written.")
            raise refusal from error

    def fail(self) -> None:
        raise ZeroDivisionError("a bug")

    def steps(self, count: int, *, progress: Callable[[Step], None]) -> int:
        for number in range(count):
            progress(Step(number))
        return count

    def wait(self, *, cancel: threading.Event) -> str:
        self.going_on.set()
        return "cancelled" if cancel.wait(LIMIT_S) else "waited"

    def check_often(self, *, check: Callable[[], None]) -> None:
        self.going_on.set()
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            check()
            time.sleep(0.001)

    def join(self, *, client: ClientConnection = NOBODY) -> None:
        self.clients.append(client)

    def needs_an_object(self, thing: object, lock: threading.Lock) -> None:
        """Not for the wire."""

    def _private(self) -> str:
        return "secret"


class Place:
    """The engine around a connection."""

    def __init__(self) -> None:
        self.made = Made()
        self.left = threading.Event()
        self.controls: list[weakref.ref[CallControl]] = []
        """The calls, of which a connection keeps none that has ended."""

    def target(self, home: Path, home_id: str, client: ClientConnection) -> Any:
        if home != HOME:
            raise Unavailable(f"{home} is not there.")
        return self.made

    def run_apart(self, _call: CallMessage, control: CallControl) -> bytes | None:
        self.controls.append(weakref.ref(control))
        return None

    def join(self, _connection: ClientConnection) -> bool:
        return True

    def leave(self, _connection: ClientConnection) -> None:
        self.left.set()


class Both:
    """Both ends: `place` serves, `channel` or `client` asks."""

    def __init__(self) -> None:
        self.place = Place()
        self.events: list[Any] = []
        self.sockets: list[socket.socket] = []
        self.threads: list[threading.Thread] = []
        self.client = EngineClient(self.connect, on_event=self.events.append)

    def served(self) -> socket.socket:
        """Our end of a new connection."""
        ours, theirs = socket.socketpair()
        connection = ClientConnection(socket_channel(theirs, FromClient), self.place)
        thread = threading.Thread(target=connection.serve)
        thread.start()
        self.threads.append(thread)
        self.sockets.append(ours)
        return ours

    def connect(self) -> Channel:
        return socket_channel(self.served(), FromEngine)

    def greeted(self) -> Channel:
        channel = self.connect()
        channel.send(Hello(PROTOCOL, _version(), 1))
        assert isinstance(channel.receive(), WelcomeMessage)
        return channel

    @property
    def home(self) -> Made:
        return cast(Made, RemoteService(self.client, Made, HOME, "1"))

    def close(self) -> None:
        self.client.stop()
        for each in self.sockets:
            each.close()
        for thread in self.threads:
            thread.join(LIMIT_S)
            assert not thread.is_alive()


@pytest.fixture
def both() -> Iterator[Both]:
    made = Both()
    yield made
    made.close()


def _version() -> str:
    from reverie import __version__

    return __version__


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


# What a client gets


def test_methods_services_properties_and_defaults_are_asked_for_as_if_they_were_here(both: Both) -> None:
    assert both.home.echo("what\udcff\nis") == "what\udcff\nis"
    assert both.home.name == "made up"
    assert both.home.counter.add(1) == 11
    assert both.home.counter.add(1, other=1) == 2
    with pytest.raises(UserError):
        RemoteService(both.client, Made, Path("/elsewhere"), "1").echo("x")


def test_progress_comes_in_order_before_the_result(both: Both) -> None:
    seen: list[Step] = []
    assert both.home.steps(50, progress=seen.append) == 50
    assert seen == [Step(number) for number in range(50)]


def test_several_calls_are_under_way_at_once(both: Both) -> None:
    cancel, answers = threading.Event(), []
    waiting = threading.Thread(target=lambda: answers.append(both.home.wait(cancel=cancel)))
    waiting.start()
    assert both.place.made.going_on.wait(LIMIT_S)
    assert both.home.echo("meanwhile") == "meanwhile"
    cancel.set()
    waiting.join(LIMIT_S)
    assert answers == ["cancelled"]


def test_a_check_that_raises_gives_the_answer_up_and_ends_the_call_there(both: Both) -> None:
    class GivenUp(Exception):
        pass

    def check() -> None:
        if both.place.made.going_on.is_set():
            raise GivenUp

    with pytest.raises(GivenUp):
        both.home.check_often(check=check)
    assert both.home.echo("still there") == "still there"


def test_errors_of_a_person_and_bugs_are_told_apart(both: Both) -> None:
    with pytest.raises(Conflict) as refused:
        both.home.refuse()
    assert str(refused.value) == "Not written. It changed. Read it again."
    with pytest.raises(EngineBug, match="ZeroDivisionError"):
        both.home.fail()


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Only what nothing refers to goes."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("method", ["refuse", "refuse_because", "fail"])
def test_nothing_is_left_of_a_call_that_failed(both: Both, method: str) -> None:
    with pytest.raises((Conflict, EngineBug)):
        getattr(both.home, method)()
    _until(lambda: both.place.controls[-1]() is None)


@pytest.mark.parametrize(
    "error",
    [
        UserError("A title.", cause="A cause.", next_step="A step.", reason="word"),
        Ambiguous("Which?", choices=("a", "b"), next_step="Say."),
        LeaseHeld(LeaseHolder(ProcessId(1, 2, "boot"), "dream", 3, 4)),
        ReadOnlyStore(Refusal("unknown-layout", "global", "Not known.", "what is found", "Look.")),
        ProviderError("key", "The key.", cause="No.", next_step="Another."),
        ScopeUnavailable(Scope.PROJECT, ProjectGap.NO_PROJECT, "None.", cause="", permanent=True),
    ],
)
def test_an_error_crosses_with_its_class_and_all_its_fields(error: UserError) -> None:
    found = decode(encode(Failed(1, error)), FromEngine).error
    assert type(found) is type(error)
    assert vars(found) == {**vars(error), "reason": error.reason}
    assert (str(found), found.reason) == (str(error), error.reason)


def test_an_error_of_an_unknown_class_is_read_as_the_one_above_it() -> None:
    plain = decode(encode(Busy("Busy.", cause="Because.")), Any)
    plain[0] = ["Newest", *plain[0]]
    assert type(decode(encode(plain), UserError)) is Busy
    held = decode(encode(LeaseHeld(LeaseHolder(ProcessId(1, 2, "boot"), "dream", 3, 4))), Any)
    held[0], held[5] = ["Newest", *held[0]], []
    found = decode(encode(held), UserError)
    assert type(found) is UserError, "no class is made without its fields"
    assert found.reason == "busy"


# Who is served


def test_another_version_is_refused_with_a_sentence(both: Both) -> None:
    channel = both.connect()
    channel.send(Hello(PROTOCOL, "99.0", 1))
    refused = channel.receive()
    assert isinstance(refused, Refused)
    assert "version 99.0" in refused.sentence
    with pytest.raises(ConnectionLost):
        channel.receive()


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack(">I", LARGEST_FRAME + 1),
        struct.pack(">I", 5000),
        struct.pack(">I", 3) + b"\xc1\xc1\xc1",
        struct.pack(">I", 0),
        os.urandom(500),
        b"",
    ],
)
def test_a_stranger_is_shut_out_without_an_answer(both: Both, sent: bytes, expect_log: ExpectLog) -> None:
    expect_log("shut out", count=None)
    ours = both.served()
    ours.sendall(sent)
    ours.shutdown(socket.SHUT_WR)
    ours.settimeout(LIMIT_S)
    assert ours.recv(100) == b""
    assert both.home.echo("the others are served") == "the others are served"


@pytest.mark.parametrize(
    "message",
    [
        CallMessage(1, HOME, "1", "_private", encode({})),
        CallMessage(1, HOME, "1", "__class__", encode({})),
        CallMessage(1, HOME, "1", "needs_an_object", encode({})),
        CallMessage(1, HOME, "1", "clients", encode({})),
        CallMessage(1, HOME, "1", "echo", b"\xc1"),
        CallMessage(1, HOME, "1", "echo", encode({})),
        CallMessage(1, HOME, "1", "echo", encode({"text": 1})),
        CallMessage(1, HOME, "1", "echo", encode({"text": "x", "client": "x"})),
        Hello(PROTOCOL, "0", 1),
    ],
)
def test_a_client_that_asks_for_what_is_not_offered_is_shut_out(
    both: Both, message: Any, expect_log: ExpectLog
) -> None:
    expect_log("a client sent nonsense and was shut out")
    channel = both.greeted()
    channel.send(message)
    try:
        assert channel.receive() == Failed(1)
    except ConnectionLost:
        pass  # the answer did not get through any more
    else:
        with pytest.raises(ConnectionLost):
            channel.receive()
    assert both.place.left.wait(LIMIT_S)
    assert both.home.echo("the others are served") == "the others are served"


def test_a_client_that_is_gone_cancels_what_it_asked_for(both: Both) -> None:
    channel = both.greeted()
    channel.send(CallMessage(1, HOME, "1", "wait", encode({})))
    assert both.place.made.going_on.wait(LIMIT_S)
    channel.shut()
    assert both.place.left.wait(LIMIT_S)
    both.threads[0].join(LIMIT_S)
    assert not both.threads[0].is_alive()


def test_a_cancelled_call_says_that_it_stopped(both: Both) -> None:
    channel = both.greeted()
    channel.send(CallMessage(1, HOME, "1", "check_often", encode({})))
    channel.send(Cancel(1))
    channel.send(Cancel(77))  # one that ended already
    assert channel.receive() == Failed(1)


def test_too_many_calls_at_once_are_refused_one_by_one(both: Both) -> None:
    channel = both.greeted()
    for number in range(MOST_CALLS + 1):
        channel.send(CallMessage(number, HOME, "1", "wait", encode({})))
    refused = channel.receive()
    assert isinstance(refused, Failed)
    assert refused.id == MOST_CALLS
    assert type(refused.error) is Busy


def test_a_client_that_reads_no_answer_has_no_more_calls_at_once_than_another(both: Both) -> None:
    ours = both.served()
    channel = socket_channel(ours, FromEngine)
    channel.send(Hello(PROTOCOL, _version(), 1))
    assert isinstance(channel.receive(), WelcomeMessage)
    text = "x" * 8_000
    ours.settimeout(1.0)  # by then the engine reads no further call, either
    with contextlib.suppress(ConnectionLost):
        for number in range(4 * MOST_CALLS):
            channel.send(CallMessage(number, HOME, "1", "echo", encode({"text": text})))
    assert sum(thread.name == "echo" for thread in threading.enumerate()) <= MOST_CALLS


# Events


def changed(*names: str) -> HomeChanged:
    return HomeChanged(HOME, Changes(frozenset(map(Path, names)), False, len(names), ()))


def test_events_reach_the_client_in_order(both: Both) -> None:
    both.home.join()
    (connection,) = both.place.made.clients
    for event in (changed("a"), Recorded(HOME, 0), Notice(HOME, "Look.")):
        connection.tell(event)
        _until(lambda event=event: both.events[-1:] == [event])  # type: ignore[misc]


def test_events_for_a_client_that_does_not_read_become_one_of_each_kind(both: Both) -> None:
    channel = both.greeted()
    channel.send(CallMessage(1, HOME, "1", "join", encode({})))
    assert isinstance(channel.receive(), Done)
    (connection,) = both.place.made.clients
    names = [f"{number}-{'x' * 200}" for number in range(2_000)]
    before = time.monotonic()
    for name in names:
        connection.tell(changed(name))
        connection.tell(Recorded(HOME, 1))
    assert time.monotonic() - before < LIMIT_S, "telling waits for nobody"
    received, kept, messages = set(), 0, 0
    while kept < len(names):
        event = channel.receive()
        messages += 1
        if isinstance(event, HomeChanged):
            received |= event.changes.paths
        else:
            kept += event.pins_kept
    assert received == set(map(Path, names))
    assert messages < len(names) / 2
    assert both.home.echo("the others are served") == "the others are served"


# A hostile engine


@pytest.mark.parametrize(
    "answer", [b"", b"\x00\x00\x00\x01\xc1", struct.pack(">I", LARGEST_FRAME + 1), os.urandom(300)]
)
def test_an_engine_that_answers_nonsense_is_left(answer: bytes) -> None:
    ours, theirs = socket.socketpair()
    client = EngineClient(lambda: socket_channel(ours, FromEngine))

    def pretend() -> None:
        with theirs:
            theirs.recv(1000)
            with contextlib.suppress(BrokenPipeError):  # it has seen enough
                theirs.sendall(answer)

    thread = threading.Thread(target=pretend)
    thread.start()
    with pytest.raises(EngineGone):
        cast(Made, RemoteService(client, Made, HOME, "1")).echo("x")
    thread.join(LIMIT_S)
    client.stop()


class Answering:
    """An engine that welcomes its client and answers its calls with `answers`, then reads on in silence."""

    def __init__(self, *answers: Any) -> None:
        ours, theirs = socket.socketpair()
        self.client = EngineClient(lambda: socket_channel(ours, FromEngine))
        self._channel = socket_channel(theirs, FromClient)
        self._answers = answers
        self._thread = threading.Thread(target=self._answer)
        self._thread.start()

    def _answer(self) -> None:
        with contextlib.suppress(ConnectionLost):
            self._channel.receive()
            self._channel.send(WelcomeMessage(_version(), 1))
            self._channel.receive()
            for answer in self._answers:
                self._channel.send(answer)
            while True:
                self._channel.receive()

    def outcome(self, progress: Callable[[Step], None]) -> BaseException | None:
        """How a call ended for which nobody waits."""
        ends: list[BaseException | None] = []
        home = cast(Made, RemoteService(self.client, Made, HOME, "1"))
        ask(home.steps, 1, progress=progress).post(lambda _value, error: ends.append(error))
        _until(lambda: bool(ends))
        return ends[0]

    def close(self) -> None:
        self.client.stop()
        self._thread.join(LIMIT_S)
        self._channel.close()
        assert not self._thread.is_alive()


@pytest.mark.parametrize("value", [encode([0, "nowhere"]), encode([0]), b"\xc1"])
def test_an_engine_that_reports_nonsense_is_left_and_keeps_nobody_waiting(
    value: bytes, expect_log: ExpectLog
) -> None:
    expect_log("sent nonsense and is left")
    engine = Answering(ProgressMessage(1, value))
    assert isinstance(engine.outcome(lambda _step: None), EngineGone)
    assert not engine.client.is_connected
    engine.close()


@pytest.mark.parametrize("answer", [ProgressMessage(1, b"\xc1"), Done(1, encode("many")), Done(1, b"\xc1")])
def test_an_engine_whose_answer_does_not_fit_is_left_with_a_sentence(
    answer: Any, expect_log: ExpectLog
) -> None:
    expect_log("sent nonsense and is left", count=2)
    for waits in (True, False):
        engine = Answering(answer)
        if waits:
            home = cast(Made, RemoteService(engine.client, Made, HOME, "1"))
            with pytest.raises(EngineGone):
                home.steps(1, progress=lambda _step: None)
        else:
            assert isinstance(engine.outcome(lambda _step: None), EngineGone)
        _until(lambda engine=engine: not engine.client.is_connected)  # type: ignore[misc]
        engine.close()


def test_who_cannot_take_what_is_reported_keeps_nobody_waiting(expect_log: ExpectLog) -> None:
    expect_log("could not be handled")

    def progress(_step: Step) -> None:
        raise ZeroDivisionError("a bug of the window")

    engine = Answering(ProgressMessage(1, encode(Step(0))))
    assert isinstance(engine.outcome(progress), EngineGone)
    assert not engine.client.is_connected
    engine.close()


def test_an_engine_that_dies_fails_the_calls_under_way_and_the_next_one_reaches_another(both: Both) -> None:
    problems: list[Exception] = []

    def ask() -> None:
        try:
            both.home.wait(cancel=threading.Event())
        except EngineGone as error:
            problems.append(error)

    waiting = threading.Thread(target=ask)
    waiting.start()
    assert both.place.made.going_on.wait(LIMIT_S)
    both.sockets[0].shutdown(socket.SHUT_RDWR)
    waiting.join(LIMIT_S)
    assert len(problems) == 1
    assert both.home.echo("another one") == "another one"
    assert len(both.sockets) == 2


def test_a_stopped_client_asks_nothing_any_more(both: Both) -> None:
    assert both.home.echo("x") == "x"
    both.client.stop()
    with pytest.raises(EngineGone):
        both.home.echo("x")


def test_a_call_that_the_engine_stops_says_so(both: Both) -> None:
    call = both.client.post(CallMessage(0, HOME, "1", "check_often"))
    call.cancel()
    with pytest.raises(CallCancelled):
        call.result()


def test_a_call_that_is_cancelled_while_its_connection_is_lost_ends_once(both: Both) -> None:
    for _round in range(20):
        ends: list[list[Any]] = [[] for _ in range(50)]
        calls = [both.client.post(CallMessage(0, HOME, "1", "wait"), each.append) for each in ends]
        _until(lambda calls=calls: all(call.id for call in calls))  # type: ignore[misc]
        cutting = threading.Thread(target=both.sockets[-1].shutdown, args=(socket.SHUT_RDWR,))
        cutting.start()
        for call in calls:
            call.cancel(Failed(0))
        cutting.join(LIMIT_S)
        _until(lambda ends=ends: all(ends))  # type: ignore[misc]
        _until(lambda: not both.client.is_connected)
        assert all(len(each) == 1 for each in ends)


def test_a_bug_in_what_connects_ends_the_call(both: Both) -> None:
    def connect() -> Channel:
        raise ZeroDivisionError("a bug")

    client = EngineClient(connect)
    ends: list[Any] = []
    client.post(CallMessage(0, HOME, "1", "echo"), ends.append)
    _until(lambda: bool(ends))
    assert "ZeroDivisionError" in ends[0].trace
    with pytest.raises(EngineBug, match="ZeroDivisionError"):
        client.post(CallMessage(0, HOME, "1", "echo")).result()


def test_what_is_to_be_done_when_a_call_is_stopped_is_done_then_or_at_once() -> None:
    done: list[str] = []
    control = CallControl(CallMessage(1, HOME, "1", "wait"))
    control.when_stopped(lambda: done.append("then"))
    assert done == []
    control.check()
    control.stop()
    control.when_stopped(lambda: done.append("at once"))
    assert done == ["then", "at once"]
    with pytest.raises(CallStopped):
        control.check()


def test_of_two_events_of_a_kind_nothing_is_lost_where_both_count() -> None:
    assert merged(changed("a"), changed("b")) == HomeChanged(
        HOME, Changes(frozenset({Path("a"), Path("b")}), False, 2, ())
    )
    assert merged(Recorded(HOME, 1), Recorded(HOME, 2)) == Recorded(HOME, 3)
    saves = [LostSave("/memories/global/a.md", at_ms, "text", False) for at_ms in (1, 2)]
    both = merged(*(Overwritten(HOME, (each,)) for each in saves))
    assert both == Overwritten(HOME, tuple(saves))
    once = merged(Notice(HOME, "Look."), Notice(HOME, "Look."))
    assert merged(once, Notice(HOME, "Listen.")) == Notice(HOME, "Look. Listen.")
    assert merged(IndexChanged(HOME, 1, False), IndexChanged(HOME, 2, True)) == IndexChanged(HOME, 2, True)
