"""The messages between an engine and its clients, and the frames that carry them.

Each frame (`files.frames`) is one message. Arguments, results and progress are encoded separately, as
bytes inside a message: decoding them requires the method's signature, so a process in between passes them on
undecoded. A connection begins with `Hello`; the reply is `WelcomeMessage`, or `Refused` and the end of the
connection. Then the client sends `CallMessage` and `Cancel`; the engine sends for each call any number of
`ProgressMessage`, then exactly one of `Done` and `Failed`. The engine also sends events of the homes that the
client watches; while a client does not read, events of the same kind are merged into one.

Threading: `Channel.send` from any thread, one frame at a time; `receive` from one. Failure: `WireError` if a
frame is too large or is not a message; both ends then close the connection. `ConnectionLost` if the other end
has closed the connection.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

from reverie.engine.codec import WireError, decode, encode
from reverie.errors import UserError
from reverie.files.frames import LARGEST_FRAME, FrameTooLarge, read_frame, write_frame
from reverie.files.watch import Changes
from reverie.services.views import HostStatus, LostSave
from reverie.values import Struct, field, replace

PROTOCOL = 5
_HELLO_BYTES = 4096


class ConnectionLost(Exception):
    """Raised if the other end closed the connection or was killed."""


class Hello(Struct, frozen=True, tag=True):
    """The first message of a client: the versions of its protocol and program, and its process id."""

    protocol: int
    version: str
    pid: int


class WelcomeMessage(Struct, frozen=True, tag=True):
    """The reply of an engine that accepts the client: the version and process id of the engine."""

    version: str
    pid: int


class Refused(Struct, frozen=True, tag=True):
    """The reply of an engine that does not accept the client; after it, the connection ends.

    It contains the reason as a sentence, and the process id and version of the engine.
    """

    sentence: str
    pid: int
    version: str = ""


class CallMessage(Struct, frozen=True, tag=True):
    """A client's request to call one method of a home, or of the engine itself."""

    id: int
    """The number of the call, chosen by the client; every reply repeats it."""
    home: Path
    """The root of the home; empty for a call to the engine itself."""
    home_id: str
    """The identity of the home at that path; empty for a call to the engine itself."""
    method: str
    """The method by its dotted name in the interface: `save`, `timeline.page`."""
    arguments: bytes = encode({})
    """The encoded arguments, by name."""
    environment: Mapping[str, str | None] = field(default_factory=dict)
    """For a run: environment variables for the process that carries it out, including keys of model services.

    None as a value means that the process must not have the variable. Empty for calls that start no run.
    """

    def __repr__(self) -> str:
        """Return a text for logs, without the environment, because that contains keys."""
        return f"CallMessage(id={self.id}, home={self.home}, method={self.method!r})"


class Cancel(Struct, frozen=True, tag=True):
    """The client's message that it no longer wants the result of the call `id`."""

    id: int


class ProgressMessage(Struct, frozen=True, tag=True):
    """One progress value of the call `id`; `value` is encoded."""

    id: int
    value: bytes


class Done(Struct, frozen=True, tag=True):
    """The end of the call `id`, which succeeded; `value` is its encoded result."""

    id: int
    value: bytes


class Failed(Struct, frozen=True, tag=True):
    """The end of the call `id` without a result.

    If the call was cancelled, neither `error` nor `trace` is set.
    """

    id: int
    error: UserError | None = None
    """An error that a person can fix."""
    trace: str = ""
    """The Python traceback of an exception that is a bug; empty if there was none."""


Answer = ProgressMessage | Done | Failed
"""A message of the engine about one call: progress any number of times, then the end exactly once."""


class HomeEvent(Struct, frozen=True):
    """An event of one home, which the engine sends without a request.

    `home`: the root of the home. A client may get events that do not concern what it shows, and ignores them.
    """

    home: Path


class HomeChanged(HomeEvent, frozen=True, tag=True):
    """The event that the watcher of a home saw changes on disk."""

    changes: Changes


class Recorded(HomeEvent, frozen=True, tag=True):
    """The event that changes on disk, reported earlier by `HomeChanged`, are now in the home's history."""

    pins_kept: int
    """The number of pins and use counts that the agent had overwritten and Reverie restored.

    Only those that were not reported before are counted.
    """


class Overwritten(HomeEvent, frozen=True, tag=True):
    """The event that another program overwrote texts that Reverie had saved in a home.

    The overwritten texts are kept as drafts, and `saves` lists them.
    """

    saves: tuple[LostSave, ...]


class Notice(HomeEvent, frozen=True, tag=True):
    """A sentence about a home that the client shows to the person."""

    sentence: str


class IndexChanged(HomeEvent, frozen=True, tag=True):
    """The event that an update of a home's search index has started, progressed or ended.

    The engine sends this event to every client.
    """

    files_read: int
    """The number of new and changed files that this update has read so far."""
    is_ready: bool
    """True if the update has ended, even if it failed; False while it is running."""


class HostChanged(HomeEvent, frozen=True, tag=True):
    """The event that the state of a home's background services has changed.

    The engine sends it to the clients that requested these services.
    """

    status: HostStatus


FromClient = Hello | CallMessage | Cancel
Event = HomeChanged | Recorded | Overwritten | Notice | IndexChanged | HostChanged


_MERGED: Mapping[type[HomeEvent], Callable[[Any, Any], HomeEvent]] = {
    HomeChanged: lambda one, later: replace(one, changes=one.changes.merged(later.changes)),
    Recorded: lambda one, later: replace(one, pins_kept=one.pins_kept + later.pins_kept),
    Overwritten: lambda one, later: replace(one, saves=one.saves + later.saves),
    Notice: lambda one, later: (
        one if later.sentence in one.sentence else Notice(one.home, f"{one.sentence} {later.sentence}")
    ),
}


def merged(event: Event, later: Event) -> Event:
    """Merge two events of the same kind and home that wait to be sent, and return the merged event.

    `event` is the older one. The engine merges events for a client that reads more slowly than they occur.
    For the kinds without a rule in `_MERGED`, the result is `later`.
    """
    rule = _MERGED.get(type(event))
    return later if rule is None else cast(Event, rule(event, later))


FromEngine = WelcomeMessage | Refused | Answer | Event


class Channel:
    """One connection between an engine and a client, which carries messages over a pair of streams.

    `incoming`: the union of the message types that may be received. `shut`, `close`: functions that the
    methods of the same names call. `shut` ends the connection, so that waiting calls at both ends fail, and
    may be called on any thread; `close` then closes the streams.
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
        """Send a message; block while the other end does not read.

        Raises `ConnectionLost`, or `WireError` if the message is too large.
        """
        data = encode(message)
        if len(data) > LARGEST_FRAME:
            raise WireError(f"a message of {len(data):,} bytes is too large")
        try:
            with self._lock:
                write_frame(self._writer, data)
        except (OSError, ValueError) as error:  # ValueError: closed meanwhile
            raise ConnectionLost from error

    def receive(self) -> Any:
        """Wait for the next message and return it.

        Raises `ConnectionLost` at the end of the connection, and `WireError` for data that is not a message.
        The size of the first message is limited to 4 KiB, so that an unknown peer cannot fill the memory.
        """
        try:
            data = read_frame(self._reader, self._largest)
        except FrameTooLarge as error:
            raise WireError(str(error)) from error
        except (OSError, ValueError, EOFError) as error:  # ValueError: closed meanwhile
            raise ConnectionLost from error
        message = decode(data, self._incoming)
        self._largest = LARGEST_FRAME
        return message

    def shut(self) -> None:
        """Make `receive` and `send` fail from now on, at both ends.

        May be called on any thread, and more than once.
        """
        with contextlib.suppress(OSError, ValueError):  # it is closed already
            self._shut()

    def close(self) -> None:
        """End the connection and close its streams. Must be called on the thread that calls `receive`."""
        self.shut()
        with contextlib.suppress(OSError, ValueError):  # unsent data is discarded
            self._close()
