"""The messages between an engine and its clients, and the frames that carry them.

A frame is four bytes of length and one message. Arguments, results and progress travel inside a message as
bytes of their own: only whoever knows the method's signature reads them, so a process in between hands them
on unread. A connection begins with `Hello`, answered by `WelcomeMessage` or by `Refused` and an end. Then the
client sends `CallMessage` and `Cancel`; the engine sends for each call any number of `ProgressMessage`, then
exactly one of `Done`, `Failed`, `Stopped`, `Bug`. In between come events of the homes that the client
watches; while a client does not read, those of a kind become one.

Threading: `Channel.send` from any thread, one frame at a time; `receive` from one. Failure: `WireError` for a
frame that is too large or no message: the connection is of no use then, and both ends close it.
`ConnectionLost` where the other end is gone.
"""

from __future__ import annotations

import contextlib
import struct
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

from reverie.engine.codec import WireError, decode, encode
from reverie.errors import UserError
from reverie.files.watch import Changes
from reverie.services.views import HostStatus, LostSave
from reverie.values import Struct, field, replace

PROTOCOL = 4
LARGEST_FRAME = 256 << 20
"""Bytes. The trees of 1,000,000 memories fit; what is larger is a fault or an attack."""
_LENGTH = struct.Struct(">I")
_HELLO_BYTES = 4096


class ConnectionLost(Exception):
    """The other end closed the connection, or died."""


class Hello(Struct, frozen=True, tag=True):
    """The first message of a client."""

    protocol: int
    version: str
    pid: int


class WelcomeMessage(Struct, frozen=True, tag=True):
    """The engine's answer to a client it can serve."""

    version: str
    pid: int


class Refused(Struct, frozen=True, tag=True):
    """Why the engine, this process, does not serve this client, as a sentence. The connection ends."""

    sentence: str
    pid: int
    version: str = ""


class CallMessage(Struct, frozen=True, tag=True):
    """A request to do one thing for one home."""

    id: int
    home: Path
    home_id: str
    """The identity of the home at that place; empty for what is asked of the engine itself."""
    method: str
    """The method by its dotted name in the interface: `save`, `timeline.page`."""
    arguments: bytes = encode({})
    deadline_ms: int = 0
    """Milliseconds after which the engine cancels the call; 0: never."""
    environment: Mapping[str, str | None] = field(default_factory=dict)
    """For a run: the values of these variables in its process, keys among them; None: it has no such one."""

    def __repr__(self) -> str:
        """Leave out the environment, which holds keys."""
        return f"CallMessage(id={self.id}, home={self.home}, method={self.method!r})"


class Cancel(Struct, frozen=True, tag=True):
    """The client does not want the answer of this call any more."""

    id: int


class ProgressMessage(Struct, frozen=True, tag=True):
    """A call reports something on its way."""

    id: int
    value: bytes


class Done(Struct, frozen=True, tag=True):
    """A call has its result."""

    id: int
    value: bytes


class Failed(Struct, frozen=True, tag=True):
    """A call failed with an error that a person can fix."""

    id: int
    error: UserError


class Stopped(Struct, frozen=True, tag=True):
    """A call was cancelled and has no result."""

    id: int


class Bug(Struct, frozen=True, tag=True):
    """A call met a bug of ours."""

    id: int
    trace: str


class HomeEvent(Struct, frozen=True):
    """News of a home, which clients get without asking. Whoever receives one decides whether it matters."""

    home: Path


class HomeChanged(HomeEvent, frozen=True, tag=True):
    """The watcher of a home saw changes on disk."""

    changes: Changes


class Recorded(HomeEvent, frozen=True, tag=True):
    """The changes seen in a home are in its history now."""

    pins_kept: int
    """How many pins and uses the agent overwrote and were put back; 0 where this was announced already."""


class Overwritten(HomeEvent, frozen=True, tag=True):
    """Another program overwrote saves in a home; drafts keep their texts."""

    saves: tuple[LostSave, ...]


class Notice(HomeEvent, frozen=True, tag=True):
    """A sentence about a home that a person should read."""

    sentence: str


class IndexChanged(HomeEvent, frozen=True, tag=True):
    """The search index of a home is being updated, or is up to date now. Every client gets it."""

    files_read: int
    """New and changed files that this update has read so far."""
    is_ready: bool


class HostChanged(HomeEvent, frozen=True, tag=True):
    """The background services of a home have another state. Clients that ask for them get it."""

    status: HostStatus


FromClient = Hello | CallMessage | Cancel
Event = HomeChanged | Recorded | Overwritten | Notice | IndexChanged | HostChanged


_MERGED: Mapping[type[HomeEvent], Callable[[Any, Any], HomeEvent]] = {
    HomeChanged: lambda one, later: replace(one, changes=one.changes.merged(later.changes)),
    Recorded: lambda one, later: replace(one, pins_kept=one.pins_kept + later.pins_kept),
    Overwritten: lambda one, later: replace(one, saves=one.saves + later.saves),
    Notice: lambda one, later: replace(one, sentence=_both(one.sentence, later.sentence)),
}


def merged(event: Event, later: Event) -> Event:
    """Return one event for two of a kind and a home, for a client that does not read as fast as they come.

    Where there is no rule the later one counts.
    """
    rule = _MERGED.get(type(event))
    return later if rule is None else cast(Event, rule(event, later))


def _both(sentence: str, later: str) -> str:
    return sentence if later in sentence else f"{sentence} {later}"


FromEngine = WelcomeMessage | Refused | ProgressMessage | Done | Failed | Stopped | Bug | Event


class Channel:
    """One connection: frames over a pair of streams.

    `incoming` is the union of what may be received. `shut` and `close` do what the methods of these names
    say.
    """

    def __init__(
        self,
        reader: BinaryIO,
        writer: BinaryIO,
        incoming: Any,
        *,
        shut: Callable[[], None],
        close: Callable[[], None],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._incoming = incoming
        self._shut = shut
        self._close = close
        self._lock = threading.Lock()
        self._largest = _HELLO_BYTES

    def send(self, message: Any) -> None:
        """Send a message, however long the other end does not read.

        Raises `ConnectionLost`, or `WireError` where the message is too large.
        """
        data = encode(message)
        if len(data) > LARGEST_FRAME:
            raise WireError(f"a message of {len(data):,} bytes is too large")
        try:
            with self._lock:
                self._writer.write(_LENGTH.pack(len(data)) + data)
                self._writer.flush()
        except (OSError, ValueError) as error:  # ValueError: closed meanwhile
            raise ConnectionLost from error

    def receive(self) -> Any:
        """Wait for the next message.

        Raises `ConnectionLost` at the end, `WireError` for what is no message. The first message must be
        short, so that a stranger cannot fill the memory.
        """
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        if length > self._largest:
            raise WireError(f"a message of {length:,} bytes is too large")
        message = decode(self._exactly(length), self._incoming)
        self._largest = LARGEST_FRAME
        return message

    def shut(self) -> None:
        """Make `receive` and `send` fail from now on, at both ends.

        Any thread; calling it again is harmless.
        """
        with contextlib.suppress(OSError, ValueError):  # it is gone already
            self._shut()

    def close(self) -> None:
        """Close the streams. Only for the thread that receives."""
        self.shut()
        with contextlib.suppress(OSError, ValueError):  # what was still to be sent goes nowhere
            self._close()

    def _exactly(self, length: int) -> bytes:
        parts = bytearray()
        try:
            # In pieces: memory is taken as it comes, not as a length promises.
            while len(parts) < length:
                piece = self._reader.read(min(length - len(parts), 1 << 20))
                if not piece:
                    raise ConnectionLost
                parts += piece
        except (OSError, ValueError) as error:
            raise ConnectionLost from error
        return bytes(parts)
