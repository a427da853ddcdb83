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
from typing import Any, BinaryIO

from reverie.engine.codec import WireError, decode, encode
from reverie.errors import UserError
from reverie.files.watch import Changes
from reverie.services.views import HostStatus, LostSave
from reverie.values import Struct, field

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


class HomeChanged(Struct, frozen=True, tag=True):
    """What the watcher of a home saw."""

    home: Path
    changes: Changes

    def merged(self, later: HomeChanged) -> HomeChanged:
        """Both, for a client that does not read as fast as they come."""
        return HomeChanged(self.home, self.changes.merged(later.changes))


class Recorded(Struct, frozen=True, tag=True):
    """What was seen changing in a home is in the history now."""

    home: Path
    pins_kept: int
    """How many pins and uses the agent overwrote and were put back; 0 where that was told already."""

    def merged(self, later: Recorded) -> Recorded:
        """Both."""
        return Recorded(self.home, self.pins_kept + later.pins_kept)


class Overwritten(Struct, frozen=True, tag=True):
    """Another program overwrote saves in a home; drafts keep their texts."""

    home: Path
    saves: tuple[LostSave, ...]

    def merged(self, later: Overwritten) -> Overwritten:
        """Both."""
        return Overwritten(self.home, (*self.saves, *later.saves))


class Notice(Struct, frozen=True, tag=True):
    """A sentence about a home that a person should read."""

    home: Path
    sentence: str

    def merged(self, later: Notice) -> Notice:
        """Both, once where they say the same."""
        return (
            self
            if later.sentence in self.sentence
            else Notice(self.home, f"{self.sentence} {later.sentence}")
        )


class IndexChanged(Struct, frozen=True, tag=True):
    """The search index of a home is being updated, or is up to date now. Every client hears it."""

    home: Path
    files_read: int
    """New and changed ones that this update has read so far."""
    is_ready: bool

    def merged(self, later: IndexChanged) -> IndexChanged:
        """The later one."""
        return later


class HostChanged(Struct, frozen=True, tag=True):
    """The background services of a home are in another state. Clients that ask for them hear it."""

    home: Path
    status: HostStatus

    def merged(self, later: HostChanged) -> HostChanged:
        """The later one."""
        return later


FromClient = Hello | CallMessage | Cancel
Event = HomeChanged | Recorded | Overwritten | Notice | IndexChanged | HostChanged
"""What a client hears without asking, of the homes that it watches."""
FromEngine = WelcomeMessage | Refused | ProgressMessage | Done | Failed | Stopped | Bug | Event


class Channel:
    """One connection: frames over a pair of streams. `incoming` is the union of what may be received. `shut`
    and `close` do what the methods of these names say."""

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
        """Blocks while the other end does not read. Raises `ConnectionLost`, or `WireError` where the message
        is too large."""
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
        """The next message. Raises `ConnectionLost` at the end, `WireError` for nonsense. Until the first
        message only a short one is read, so that a stranger cannot fill the memory."""
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        if length > self._largest:
            raise WireError(f"a message of {length:,} bytes is too large")
        message = decode(self._exactly(length), self._incoming)
        self._largest = LARGEST_FRAME
        return message

    def shut(self) -> None:
        """Have `receive` and `send` fail from now on, at both ends. Any thread; as often as one likes."""
        with contextlib.suppress(OSError, ValueError):  # it is gone already
            self._shut()

    def close(self) -> None:
        """Give the streams back. Only for the thread that receives."""
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
