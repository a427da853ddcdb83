"""Bad frames sent to both ends of the engine's wire over real sockets.

What must hold: a frame that is no message ends its connection without further prompting and with a sentence;
nothing hangs, no traceback appears, and afterwards no thread, file descriptor or connection is left.
"""

from __future__ import annotations

import contextlib
import logging
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from reverie import __version__
from reverie.engine.asking import CallCancelled, ask
from reverie.engine.channel import (
    PROTOCOL,
    CallMessage,
    Cancel,
    ConnectionLost,
    Done,
    Failed,
    FromClient,
    FromEngine,
    Hello,
    HomeChanged,
    HostChanged,
    IndexChanged,
    Notice,
    Overwritten,
    ProgressMessage,
    Recorded,
    Refused,
    WelcomeMessage,
)
from reverie.engine.client import EngineBug, EngineClient, RemoteService
from reverie.engine.codec import WireError, decode, encode
from reverie.engine.process import _accept, _listening_at
from reverie.engine.reach import socket_channel
from reverie.engine.server import ClientConnection
from reverie.errors import Conflict, UserError
from reverie.files.frames import LARGEST_FRAME
from reverie.files.lease import LeaseHeld
from reverie.files.locks import LeaseHolder, ProcessId
from reverie.files.watch import Changes
from reverie.services.views import HostStatus, LostSave

HOME = Path("/home/somebody/.mux")
LIMIT_S = 20.0
_GREETING = 4096
_HOLDER = LeaseHolder(ProcessId(7, 1, "boot"), "reverie watch", 0, 1)
_FROM_CLIENT = (
    Hello(PROTOCOL, __version__, 1),
    CallMessage(1, HOME, "1", "echo", encode({"text": "words"})),
    CallMessage(2, HOME, "1", "steps", encode({"count": 3})),
    CallMessage(3, HOME, "1", "host", encode({})),
    CallMessage(4, HOME, "1", "echo", encode({"text": "w\udcff"}), {"A_KEY": None}),
    Cancel(1),
)
_FROM_ENGINE = (
    WelcomeMessage(__version__, 1),
    Refused("Another version.", 1, "0"),
    ProgressMessage(1, encode(1)),
    Done(1, encode("words")),
    Done(1, encode("w\udcff")),
    Done(1, encode(HostStatus("viewing", _HOLDER))),
    Failed(1, Conflict("Not written.", cause="It changed.", next_step="Read it again.")),
    Failed(1, LeaseHeld(_HOLDER)),
    Failed(1),
    Failed(1, trace="frames"),
    HomeChanged(HOME, Changes(frozenset({HOME / "a.md"}), False, 1, ())),
    Recorded(HOME, 1),
    Overwritten(HOME, (LostSave("/memories/global/a.md", 1, "text", True),)),
    Notice(HOME, "A sentence."),
    IndexChanged(HOME, 3, is_ready=True),
    HostChanged(HOME, HostStatus("viewing", _HOLDER)),
)


class _Target:
    """What the engine of these tests offers."""

    def echo(self, text: str) -> str:
        return text

    def steps(self, count: int, *, progress: Callable[[int], None]) -> int:
        for number in range(min(count, 10)):
            progress(number)
        return count

    def host(self) -> HostStatus:
        return HostStatus("viewing", _HOLDER)


class _Engine:
    """The engine around the connections."""

    def __init__(self) -> None:
        self.connections = set[ClientConnection]()

    def target(self, _home: Path, _home_id: str, _client: ClientConnection) -> Any:
        return _Target()

    def run_apart(self, _call: CallMessage, _control: object) -> bytes | None:
        return None

    def join(self, connection: ClientConnection) -> bool:
        self.connections.add(connection)
        return True

    def leave(self, connection: ClientConnection) -> None:
        self.connections.discard(connection)


@dataclass(slots=True)
class HostileFrames:
    """What was sent, what came of it, and what is wrong."""

    ends: Counter[str] = field(default_factory=Counter)
    sentences: int = 0
    """How often the log says that a connection was given up."""
    problems: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Return the report."""
        ends = ", ".join(f"{name} {count:,}" for name, count in sorted(self.ends.items()))
        return [
            f"frames sent over sockets: {self.ends.total():,} ({ends}); sentences: {self.sentences:,}",
            f"problems: {len(self.problems)}",
            *self.problems[:20],
        ]


class _Log(logging.Handler):
    """Counts the sentences and notes each traceback."""

    def __init__(self, tally: HostileFrames) -> None:
        super().__init__()
        self._tally = tally

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self._tally.problems.append(f"a traceback in the log: {record.getMessage()}")
        elif "nonsense" in record.getMessage():
            self._tally.sentences += 1


def send_hostile_frames(directory: Path, *, frames: int, seed: int) -> HostileFrames:
    """Send half of the frames to an engine and half to a client, and report what came of them."""
    tally, rng = HostileFrames(), random.Random(seed)
    log, handler = logging.getLogger("reverie.engine"), _Log(tally)
    died, before = threading.excepthook, _resources()
    threading.excepthook = lambda of: tally.problems.append(f"a thread died: {of.exc_type} {of.exc_value}")
    log.addHandler(handler)
    try:
        _to_engine(directory / "engine.socket", frames // 2, rng, tally)
        _to_client(directory / "client.socket", frames - frames // 2, rng, tally)
        until = time.monotonic() + LIMIT_S
        while _resources() > before and time.monotonic() < until:
            time.sleep(0.02)
        if _resources() > before:
            tally.problems.append(f"threads and descriptors: {before} before, {_resources()} after")
    finally:
        log.removeHandler(handler)
        threading.excepthook = died
    return tally


def _resources() -> tuple[int, int]:
    descriptors = Path("/proc/self/fd")
    return threading.active_count(), len(list(descriptors.iterdir())) if descriptors.is_dir() else 0


def _spoilt(rng: random.Random, messages: tuple[Any, ...]) -> bytes:
    """Return the body of a frame: a message with something wrong in it, or no message at all."""
    body = encode(rng.choice(messages))
    kind = rng.randrange(9)
    if kind == 0:
        return rng.randbytes(rng.randrange(200))
    if kind == 1:
        return rng.choice((b"\x91", b"\x81\xa1a", b"\xdc\xff\xff")) * rng.randrange(1, 1200)
    if kind == 2:
        return encode(rng.choice((None, 1, "text", [1, 2], {"type": "Nothing"}, {"type": ["Done"]})))
    if kind == 3:
        other = encode(rng.choice(messages))
        return body[: rng.randrange(len(body))] + other[rng.randrange(len(other)) :]
    for _change in range(rng.randrange(1, 4)):
        at = rng.randrange(len(body) + 1)
        until = at + rng.randrange(4)
        new = rng.choice(
            (b"", rng.randbytes(rng.randrange(4)), bytes([rng.choice((0xC1, 0xC7, 0xDF, 0xFF))]))
        )
        body = body[:at] + new + body[until:]
    return body


def _frame(rng: random.Random, body: bytes, largest: int) -> tuple[bytes, bool]:
    """Return a frame, and whether its length or its end is wrong rather than its body."""
    chance = rng.randrange(20)
    if chance == 0:
        return rng.randrange(largest + 1, 1 << 32).to_bytes(4, "big") + body, True
    return len(body).to_bytes(4, "big") + body, False


def _is_message(body: bytes, kinds: Any, largest: int) -> bool:
    try:
        decode(body, kinds)
    except WireError:
        return False
    return len(body) <= largest


@contextlib.contextmanager
def _listening(path: Path) -> Iterator[socket.socket]:
    with _listening_at(path) as listening:
        yield listening
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
    path.unlink()


def _connected(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(LIMIT_S)
    connection.connect(str(path))
    return connection


def _to_engine(path: Path, frames: int, rng: random.Random, tally: HostileFrames) -> None:
    engine, ended = _Engine(), threading.Event()
    with _listening(path) as listening:
        serving = threading.Thread(target=_accept, args=(listening, cast(Any, engine), ended))
        serving.start()
        for number in range(frames):
            with _connected(path) as connection:
                tally.ends[_one_to_engine(connection, rng, tally, number)] += 1
        with _connected(path) as connection:
            channel = socket_channel(connection, FromEngine)
            channel.send(Hello(PROTOCOL, __version__, 1))
            if not isinstance(channel.receive(), WelcomeMessage):
                tally.problems.append("the engine does not welcome an honest client afterwards")
            channel.close()
        ended.set()
    serving.join(LIMIT_S)
    until = time.monotonic() + LIMIT_S
    while engine.connections and time.monotonic() < until:
        time.sleep(0.02)
    if engine.connections:
        tally.problems.append(f"{len(engine.connections)} connections are left in the engine")


def _one_to_engine(connection: socket.socket, rng: random.Random, tally: HostileFrames, number: int) -> str:
    """Send one frame to the engine and return how that ended."""
    is_greeted, largest = rng.random() < 0.7, _GREETING
    reader = connection.makefile("rb")
    with reader:
        if is_greeted:
            hello = encode(Hello(PROTOCOL, __version__, 1))
            connection.sendall(len(hello).to_bytes(4, "big") + hello)
            reader.read(int.from_bytes(reader.read(4), "big"))
            largest = LARGEST_FRAME
        body = _spoilt(rng, _FROM_CLIENT)
        frame, is_too_long = _frame(rng, body, largest)
        is_cut = not is_too_long and rng.randrange(10) == 0
        must_end = is_too_long or (not is_cut and not _is_message(body, FromClient, largest))
        said = tally.sentences
        try:
            connection.sendall(frame[: rng.randrange(len(frame))] if is_cut else frame)
            if not must_end:
                connection.shutdown(socket.SHUT_WR)
            answers = reader.read()
        except TimeoutError:
            tally.problems.append(f"frame {number} to the engine: the connection stays open: {frame[:80]!r}")
            return "hung"
        except (ConnectionResetError, BrokenPipeError):
            answers = b""
    while answers:
        length = int.from_bytes(answers[:4], "big")
        message = decode(answers[4 : 4 + length], FromEngine)
        if isinstance(message, Failed) and message.trace:
            tally.problems.append(f"frame {number} to the engine: a bug: {message.trace}")
        answers = answers[4 + length :]
    if must_end and tally.sentences == said:
        tally.problems.append(f"frame {number} to the engine: no sentence: {frame[:80]!r}")
    return "engine: shut out" if must_end else "engine: cut" if is_cut else "engine: answered"


def _to_client(path: Path, frames: int, rng: random.Random, tally: HostileFrames) -> None:
    with _listening(path) as listening:
        listening.settimeout(LIMIT_S)
        for number in range(frames):
            tally.ends[_one_to_client(path, listening, rng, tally, number)] += 1


def _one_to_client(
    path: Path, listening: socket.socket, rng: random.Random, tally: HostileFrames, number: int
) -> str:
    """Be an engine that sends one frame to a client in a call, and return how that ended."""
    events = list[Any]()
    client = EngineClient(lambda: socket_channel(_connected(path), FromEngine), on_event=events.append)
    is_greeting = rng.random() < 0.2
    body = _spoilt(rng, _FROM_ENGINE)
    if rng.randrange(8) == 0:  # a sound message that carries bytes which do not fit the method
        spoilt = _spoilt(rng, _FROM_ENGINE)
        body = encode(rng.choice((Done(1, spoilt), ProgressMessage(1, spoilt))))
    frame, is_too_long = _frame(rng, body, _GREETING if is_greeting else LARGEST_FRAME)
    # A connection that is cut in the greeting is tried again, which takes its time.
    is_cut = not is_too_long and not is_greeting and rng.randrange(10) == 0
    largest = _GREETING if is_greeting else LARGEST_FRAME
    must_end = is_too_long or (not is_cut and not _is_message(body, FromEngine, largest))
    found: list[str] = []
    method, waits = rng.choice(("echo", "steps", "host")), rng.random() < 0.5

    def call() -> None:
        found.append(_outcome(client, method, waits=waits))

    thread = threading.Thread(target=call)
    thread.start()
    connection, _address = listening.accept()
    connection.settimeout(LIMIT_S)
    channel = socket_channel(connection, FromClient)
    stayed = False
    try:
        channel.receive()
        if not is_greeting:
            channel.send(WelcomeMessage(__version__, 1))
            channel.receive()
        connection.sendall(frame[: rng.randrange(len(frame))] if is_cut else frame)
        if not must_end:
            connection.shutdown(socket.SHUT_WR)
        while True:
            channel.receive()
    except (ConnectionLost, BrokenPipeError, ConnectionResetError) as error:
        stayed = isinstance(error.__cause__, TimeoutError)
    finally:
        channel.close()
    thread.join(LIMIT_S)
    client.stop()
    if stayed or thread.is_alive():
        tally.problems.append(f"frame {number} to the client: it stays connected: {frame[:80]!r}")
        return "hung"
    try:
        repr(events)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a problem
        tally.problems.append(f"frame {number} to the client: an event that cannot be shown: {error!r}")
    if found[0].startswith("problem"):
        tally.problems.append(f"frame {number} to the client, {method}: {found[0]}: {frame[:80]!r}")
    if must_end and found != ["a sentence"]:
        tally.problems.append(f"frame {number} to the client: {found[0]} in place of a sentence")
    return f"client: {found[0].partition(':')[0]}"


def _outcome(client: EngineClient, method: str, *, waits: bool) -> str:
    """Call a method and return how that ended."""
    home = cast(Any, RemoteService(client, _Target, HOME, "1"))
    arguments: dict[str, Any] = {"echo": {"text": "words"}, "steps": {"count": 1}, "host": {}}[method]
    if method == "steps":
        arguments["progress"] = repr
    try:
        if waits:
            repr(getattr(home, method)(**arguments))
        else:
            _posted(getattr(home, method), arguments)
    except UserError as error:
        return "a sentence" if str(error).strip() else "problem: an empty sentence"
    except CallCancelled:
        return "cancelled"
    except EngineBug:
        return "a bug of the engine"
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a problem
        return f"problem: {type(error).__name__}: {error}"
    return "a value"


def _posted(method: Callable[..., Any], arguments: dict[str, Any]) -> None:
    ends: list[tuple[Any, BaseException | None]] = []
    done = threading.Event()

    def ended(value: Any, error: BaseException | None) -> None:
        ends.append((value, error))
        done.set()

    ask(method, **arguments).post(ended)
    assert done.wait(LIMIT_S)
    value, error = ends[0]
    if error is not None:
        raise error
    repr(value)
