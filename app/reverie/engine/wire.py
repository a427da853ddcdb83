"""The wire between an engine and its clients: values as bytes, methods by name, messages and their frames.

Values become MessagePack and back by their type hints, without pickle. `msgspec` reads and writes the bytes;
what is here maps our values onto what MessagePack knows. The *hint* says what may come: a data class is the
list of its fields, an enum its value, a path its bytes. Where a hint allows several data classes, each comes
with its name; an error comes with the names of its classes. Nothing else can be made: a peer picks among the
types that a signature names, never a type of its own. Text that is no valid Unicode (a file name in another
encoding) travels as bytes under an extension code.

The methods are the public ones of an ordinary typed class (the workbench of a home, whose larger subjects are
services of their own, `timeline.page`). A window reads their signatures in `engine.interface`, so that it
loads nothing of the engine; mypy and a test compare them with those of its classes. A method whose signature
cannot cross the wire is not offered, nor one with a type that its module imports for type checkers alone; a
test keeps the list of those that are. Parameters with these names do not cross; each end has its own:
`progress` is called with what the call reports; `cancel` is an event, and `check` raises, once the answer is
not wanted any more; `client` is the connection that asks.

A frame is four bytes of length and one message. Arguments, results and progress travel inside a message as
bytes of their own: only whoever knows the method's signature reads them, so a process in between hands them
on unread. A connection: `Hello`, answered by `WelcomeMessage` or `Refused` and an end. Then the client sends
`CallMessage` and `Cancel`; the engine sends for each call any number of `ProgressMessage`, then exactly one
of `Done`, `Failed`, `Stopped`, `Bug`. In between come events of the homes that the client watches; while a
client does not read, those of a kind become one.

Threading: values and methods are pure; `Channel.send` from any thread, one frame at a time; `receive` from
one. Failure: `WireError` for bytes or values that do not fit the hint, a frame that is too large or no
message: the connection is of no use then, and both ends close it. `ConnectionLost` where the other end is
gone. A `TypeError` for a hint that cannot cross, which is a bug and found by a test over every method.
"""

from __future__ import annotations

import collections.abc
import contextlib
import dataclasses
import enum
import functools
import inspect
import os
import struct
import threading
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec

from reverie.errors import UserError
from reverie.files.watch import Changes
from reverie.services import LazyService
from reverie.services.views import HostStatus, LostSave
from reverie.text.summaries import Phrase, plain
from reverie.values import Struct, fields_of

_BROKEN_TEXT = 1
_SCALARS = (str, int, float, bool, bytes)
_SEQUENCES: dict[Any, Callable[[Any], Any]] = {
    tuple: tuple,
    list: list,
    set: set,
    frozenset: frozenset,
    collections.abc.Sequence: tuple,
    collections.abc.Collection: tuple,
    collections.abc.Iterable: tuple,
    collections.abc.Set: frozenset,
}
_MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)

Convert = Callable[[Any], Any]


class WireError(Exception):
    """What came over the wire is not what was asked for."""


class Coder(Struct, frozen=True):
    """Both ways for one hint: `dump` to what MessagePack knows, `load` back, checked."""

    dump: Convert
    load: Convert


def encode(value: Any, hint: Any) -> bytes:
    """`value` as bytes. Raises `WireError` where it is not what `hint` says."""
    try:
        return pack(coder(hint).dump(value))
    except (TypeError, ValueError, AttributeError, KeyError, msgspec.MsgspecError) as error:
        raise WireError(f"a {type(value).__name__} does not fit its type: {error}") from error


def decode(data: bytes, hint: Any) -> Any:
    """The value in `data`. Raises `WireError` where the bytes are not one of `hint`."""
    try:
        return coder(hint).load(unpack(data))
    except (TypeError, ValueError, KeyError, IndexError, RecursionError) as error:
        raise WireError(f"not a valid message: {error}") from error


def pack(plain: Any) -> bytes:
    """What a coder dumped, as bytes."""
    try:
        return msgspec.msgpack.encode(plain)
    except UnicodeEncodeError:
        return msgspec.msgpack.encode(_with_broken_text(plain))


def unpack(data: bytes) -> Any:
    """What a coder can load. Raises `WireError`."""
    try:
        return msgspec.msgpack.decode(data, ext_hook=_extension)
    except (ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise WireError(f"not a valid message: {error}") from error


def _with_broken_text(plain: Any) -> Any:
    """The same with each text that is no valid Unicode as an extension value."""
    if isinstance(plain, str):
        try:
            plain.encode()
        except UnicodeEncodeError:
            return msgspec.msgpack.Ext(_BROKEN_TEXT, plain.encode("utf-8", "surrogatepass"))
        return plain
    if isinstance(plain, dict):
        return {_with_broken_text(key): _with_broken_text(value) for key, value in plain.items()}
    if isinstance(plain, list | tuple):
        return [_with_broken_text(item) for item in plain]
    return plain


def _extension(code: int, data: memoryview) -> Any:
    if code != _BROKEN_TEXT:
        raise WireError(f"unknown extension {code}")
    return bytes(data).decode("utf-8", "surrogatepass")


@functools.cache
def coder(hint: Any) -> Coder:
    """The coder of a type hint. Raises `TypeError` for one that cannot cross the wire."""
    if isinstance(hint, typing.TypeAliasType if hasattr(typing, "TypeAliasType") else ()):
        return coder(hint.__value__)
    if hint is Any or hint is object:
        return Coder(_plain, _same)
    if hint is None or hint is type(None):
        return Coder(_same, _nothing)
    if hint in _SCALARS:
        return _scalar(hint)
    origin = typing.get_origin(hint)
    if origin is typing.Annotated or origin is typing.Final:
        return coder(typing.get_args(hint)[0])
    if origin is typing.Literal:
        return Coder(_same, functools.partial(_one_of, frozenset(typing.get_args(hint))))
    if origin is typing.Union or origin is types.UnionType:
        return _union(typing.get_args(hint))
    if origin is not None:
        return _container(hint, origin, typing.get_args(hint))
    return _class(hint)


def _scalar(kind: type) -> Coder:
    def load(plain: Any) -> Any:
        if type(plain) is kind:
            return plain
        if kind is float and type(plain) is int:
            return float(plain)
        raise WireError(f"{kind.__name__} expected, not {type(plain).__name__}")

    # A subclass of str or int (an enum that stands where a text may) goes as what it is.
    return Coder(lambda value: value if type(value) is kind else kind(value), load)


def _class(hint: Any) -> Coder:
    if not isinstance(hint, type):
        raise TypeError(f"{hint!r} cannot cross the wire")
    if issubclass(hint, enum.Enum):
        return Coder(lambda value: hint(value).value, hint)
    if issubclass(hint, Path):
        return Coder(os.fsencode, lambda plain: Path(os.fsdecode(_bytes(plain))))
    if issubclass(hint, UserError):
        return Coder(_error, _error_from)
    if issubclass(hint, Phrase):
        return Coder(_phrase, _phrase_from)
    if names := fields_of(hint):
        return _fields(hint, names)
    if issubclass(hint, tuple) and hasattr(hint, "_fields"):
        return _fields(hint, hint._fields)
    if hint in _SEQUENCES or hint in _MAPPINGS:
        return Coder(_plain, functools.partial(_instance, hint))
    raise TypeError(f"{hint.__qualname__} cannot cross the wire")


def _fields(kind: type, names: tuple[str, ...]) -> Coder:
    # Compiled at the first value, since a class may name itself.
    @functools.cache
    def dumps() -> tuple[tuple[str, Convert], ...]:
        hints = typing.get_type_hints(kind)
        return tuple((name, coder(hints[name]).dump) for name in names)

    @functools.cache
    def loads() -> tuple[Convert, ...]:
        hints = typing.get_type_hints(kind)
        return tuple(coder(hints[name]).load for name in names)

    def dump(value: Any) -> list[Any]:
        if not isinstance(value, kind):
            raise WireError(f"{kind.__name__} expected, not {type(value).__name__}")
        return [convert(getattr(value, name)) for name, convert in dumps()]

    # By place: there are tens of thousands of memories, and names would take as long again.
    def load(plain: Any) -> Any:
        if type(plain) is not list or len(plain) != len(names):
            raise WireError(f"a {kind.__name__} of {len(names)} fields expected")
        return kind(*[convert(item) for convert, item in zip(loads(), plain, strict=True)])

    return Coder(dump, load)


def _phrase(text: str) -> list[Any]:
    """What a phrase was made of; a value that is a text goes as it is."""
    made = plain(text)
    values = [
        [name, _phrase(each) if isinstance(each, Phrase) else str(each)] for name, each in made.values.items()
    ]
    return [made.template, values, made.number, made.one]


def _phrase_from(plain: Any) -> Phrase:
    template, values, count, one = _list(plain)
    text, number = coder(str).load, coder(int | None).load
    made = {
        text(name): _phrase_from(each) if isinstance(each, list) else text(each)
        for name, each in map(_list, _list(values))
    }
    return Phrase(text(template), made, number(count), text(one))


def _error(error: UserError) -> list[Any]:
    """The class of an error and those above it, most special first; what every error says; its own fields."""
    kinds = [kind.__name__ for kind in type(error).__mro__ if issubclass(kind, UserError)]
    own = [coder(hint).dump(getattr(error, name)) for name, hint in _own_fields(type(error)).items()]
    return [kinds, error.title, error.cause, error.next_step, error.reason, own]


def _error_from(plain: Any) -> UserError:
    """The error that was sent, of the nearest class that is known here. One that has fields of its own is not
    made without them."""
    kinds, title, cause, next_step, reason, own = _list(plain)
    text = coder(str).load
    known = {kind.__name__: kind for kind in _kinds_of(UserError)}
    names = [text(name) for name in _list(kinds)]
    name = next((each for each in names if each in known), UserError.__name__)
    hints = _own_fields(known[name])
    if name != names[0] and hints:
        name, hints = UserError.__name__, {}
    error = known[name].__new__(known[name])
    UserError.__init__(error, text(title), cause=text(cause), next_step=text(next_step), reason=text(reason))
    if name == names[0]:
        for (each, hint), value in zip(hints.items(), _list(own), strict=True):
            setattr(error, each, coder(hint).load(value))
    return error


def _own_fields(kind: type[UserError]) -> dict[str, Any]:
    """The annotated fields of an error class, beside those that every error has."""
    return typing.get_type_hints(kind)


def _kinds_of(kind: type[UserError]) -> list[type[UserError]]:
    return [kind, *(each for below in kind.__subclasses__() for each in _kinds_of(below))]


def _container(hint: Any, origin: Any, arguments: tuple[Any, ...]) -> Coder:
    if origin in _MAPPINGS:
        key, item = map(coder, arguments)
        return Coder(
            lambda value: [[key.dump(k), item.dump(v)] for k, v in value.items()],
            lambda plain: {key.load(k): item.load(v) for k, v in _list(plain)},
        )
    if origin is tuple and not (len(arguments) == 2 and arguments[1] is ...):
        parts = tuple(map(coder, arguments))
        return Coder(
            lambda value: [part.dump(item) for part, item in zip(parts, value, strict=True)],
            lambda plain: tuple(part.load(item) for part, item in zip(parts, _list(plain), strict=True)),
        )
    if origin in _SEQUENCES:
        make, part = _SEQUENCES[origin], coder(arguments[0])
        dump, load = part.dump, part.load
        return Coder(
            lambda value: [dump(item) for item in value], lambda plain: make(map(load, _list(plain)))
        )
    if isinstance(origin, type) and fields_of(origin):
        raise TypeError(f"{hint!r}: a generic data class cannot cross the wire")
    raise TypeError(f"{hint!r} cannot cross the wire")


def _union(hints: tuple[Any, ...]) -> Coder:
    """`X | None` and unions of scalars as they are; several classes by name."""
    some = tuple(hint for hint in hints if hint is not type(None))
    optional = len(some) < len(hints)
    if len(some) == 1:
        inner = coder(some[0])
    elif all(hint in _SCALARS or typing.get_origin(hint) is typing.Literal for hint in some):
        inner = _any_scalar(some)
    else:
        inner = _tagged(some)
    if not optional:
        return inner
    return Coder(
        lambda value: None if value is None else inner.dump(value),
        lambda plain: None if plain is None else inner.load(plain),
    )


def _any_scalar(some: tuple[Any, ...]) -> Coder:
    coders = [coder(hint) for hint in some]

    def load(plain: Any) -> Any:
        for each in coders:
            try:
                return each.load(plain)
            except WireError:
                continue
        raise WireError(f"{type(plain).__name__} is none of {some}")

    return Coder(_same, load)


def _tagged(some: tuple[Any, ...]) -> Coder:
    kinds = {_name_of(hint): (typing.get_origin(hint) or hint, coder(hint)) for hint in some}

    def dump(value: Any) -> list[Any]:
        for name, (kind, part) in kinds.items():
            if isinstance(value, kind):
                return [name, part.dump(value)]
        raise WireError(f"{type(value).__name__} is none of {', '.join(kinds)}")

    def load(plain: Any) -> Any:
        name, item = _list(plain)
        if type(name) is not str or name not in kinds:
            raise WireError(f"none of {', '.join(kinds)}")
        return kinds[name][1].load(item)

    return Coder(dump, load)


def _name_of(hint: Any) -> str:
    kind = typing.get_origin(hint) or hint
    return str(kind.__name__)


def _plain(value: Any) -> Any:
    """A value of JSON, with frozen mappings and tuples made plain. Raises `WireError` for anything else."""
    if value is None or type(value) in _SCALARS:
        return value
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, str | int | float):
        return next(kind(value) for kind in (str, int, float) if isinstance(value, kind))
    raise WireError(f"{type(value).__name__} is no JSON value")


def _same(value: Any) -> Any:
    return value


def _nothing(plain: Any) -> None:
    if plain is not None:
        raise WireError("nothing expected")


def _one_of(allowed: frozenset[Any], plain: Any) -> Any:
    if not isinstance(plain, str | int | bytes | bool) or plain not in allowed:
        raise WireError("a value that is not allowed here")
    return plain


def _instance(kind: type, plain: Any) -> Any:
    if kind in (dict, list):
        if type(plain) is not kind:
            raise WireError(f"{kind.__name__} expected")
        return plain
    return kind(_list(plain))


def _bytes(plain: Any) -> bytes:
    if type(plain) is not bytes:
        raise WireError("bytes expected")
    return plain


def _list(plain: Any) -> list[Any]:
    if type(plain) is not list:
        raise WireError("a list expected")
    return plain


# What may be asked of an engine: the public methods of a class, by name and signature.


LOCAL = ("progress", "cancel", "check", "client")


class Method(Struct, frozen=True):
    """One method of an interface. `progress`: the coder of what it reports; None where it reports nothing."""

    name: str
    parameters: Mapping[str, Coder]
    required: frozenset[str]
    """Those of `parameters` that have no default, so that they must come."""
    local: frozenset[str]
    order: tuple[str, ...]
    """The names of all parameters, those of `local` included, as they are declared."""
    result: Any
    progress: Any
    is_property: bool = False

    def named(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        """All arguments by name, local ones included."""
        if len(arguments) > len(self.order):
            raise TypeError(f"{self.name} takes {len(self.order)} arguments")
        return dict(zip(self.order, arguments, strict=False)) | dict(named)

    def bound(self, named: Mapping[str, Any]) -> list[Any]:
        """Arguments as they go over the wire: `[name, value]` each, those with a default only if given."""
        return [[name, self.parameters[name].dump(value)] for name, value in named.items()]

    def unbound(self, plain: Any) -> dict[str, Any]:
        """The arguments by name that came over the wire. Raises `WireError`."""
        if type(plain) is not list:
            raise WireError("a list of arguments expected")
        found = {}
        for item in plain:
            if type(item) is not list or len(item) != 2 or item[0] not in self.parameters:
                raise WireError(f"an argument that {self.name} does not have")
            found[item[0]] = self.parameters[item[0]].load(item[1])
        if missing := self.required - found.keys():
            raise WireError(f"{self.name} lacks {min(missing)}")
        return found


@functools.cache
def method_of(interface: type, name: str) -> Method | None:
    """What is asked for by a dotted name; None where `interface` does not offer it. Only what is on the way
    to it is imported."""
    first, _dot, rest = name.partition(".")
    member = None if first.startswith("_") else inspect.getattr_static(interface, first, None)
    if rest:
        return method_of(cast(Any, member.load()), rest) if isinstance(member, LazyService) else None
    # Not for the wire: values of a kind that has no coder, or one that is imported for type checkers alone.
    with contextlib.suppress(TypeError, NameError):
        if inspect.isfunction(member):
            return _method(first, member)
        if isinstance(member, property | functools.cached_property):
            return _property(first, member.fget if isinstance(member, property) else member.func)
    return None


def is_offered(interface: type, name: str) -> bool:
    """Whether `interface` has the first part of this dotted name. Imports nothing."""
    return hasattr(interface, name.partition(".")[0])


def is_service(interface: type, name: str) -> bool:
    """Whether a dotted name stands for a service, whose own methods are asked for."""
    first, _dot, rest = name.partition(".")
    member = inspect.getattr_static(interface, first, None)
    if not isinstance(member, LazyService):
        return False
    return is_service(member.load(), rest) if rest else True


def _property(name: str, getter: Any) -> Method:
    kind = typing.get_type_hints(getter)["return"]
    coder(kind)
    return Method(name, {}, frozenset(), frozenset(), (), kind, None, is_property=True)


def _method(name: str, function: Callable[..., Any]) -> Method:
    hints = typing.get_type_hints(function)
    signature = inspect.signature(function)
    named = [each for each in signature.parameters.values() if each.name not in ("self", *LOCAL)]
    local = frozenset(each for each in LOCAL if each in signature.parameters)
    progress = typing.get_args(hints["progress"])[0][0] if "progress" in local else None
    parameters = {each.name: coder(hints[each.name]) for each in named}
    required = frozenset(each.name for each in named if each.default is inspect.Parameter.empty)
    coder(hints["return"])
    order = tuple(each for each in signature.parameters if each != "self")
    return Method(name, parameters, required, local, order, hints["return"], progress)


# Messages, and the frames that carry them.


PROTOCOL = 2
LARGEST_FRAME = 256 << 20
"""Bytes. The trees of 1,000,000 memories fit; what is larger is a fault or an attack."""
_LENGTH = struct.Struct(">I")
_HELLO_BYTES = 4096


class ConnectionLost(Exception):
    """The other end closed the connection, or died."""


class Hello(Struct, frozen=True):
    """The first message of a client."""

    protocol: int
    version: str
    pid: int


class WelcomeMessage(Struct, frozen=True):
    """The engine's answer to a client it can serve."""

    version: str
    pid: int
    surroundings: str
    """See `engine.reach`; with what the environment says of the model services."""


class Refused(Struct, frozen=True):
    """Why the engine, this process, does not serve this client, as a sentence. The connection ends."""

    sentence: str
    pid: int
    version: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class CallMessage:
    """Do one thing for one home."""

    id: int
    home: Path
    home_id: str
    """Which home is meant at that place; empty for what is asked of the engine itself."""
    method: str
    """As the interface names it: `save`, `timeline.page`."""
    arguments: bytes
    deadline_ms: int = 0
    """After so many milliseconds the engine cancels the call; 0: never."""
    environment: Mapping[str, str | None] = dataclasses.field(default_factory=dict, repr=False)
    """For a run: what its process has of these variables, keys among them; None: it has no such one."""


class Cancel(Struct, frozen=True):
    """The client does not want the answer of this call any more."""

    id: int


class ProgressMessage(Struct, frozen=True):
    """A call reports something on its way."""

    id: int
    value: bytes


class Done(Struct, frozen=True):
    """A call has its result."""

    id: int
    value: bytes


class Failed(Struct, frozen=True):
    """A call failed with an error that a person can fix."""

    id: int
    error: UserError


class Stopped(Struct, frozen=True):
    """A call was cancelled and has no result."""

    id: int


class Bug(Struct, frozen=True):
    """A call met a bug of ours."""

    id: int
    trace: str


class HomeChanged(Struct, frozen=True):
    """What the watcher of a home saw."""

    home: Path
    changes: Changes

    def merged(self, later: HomeChanged) -> HomeChanged:
        """Both, for a client that does not read as fast as they come."""
        return HomeChanged(self.home, self.changes.merged(later.changes))


class Recorded(Struct, frozen=True):
    """What was seen changing in a home is in the history now."""

    home: Path
    pins_kept: int
    """How many pins and uses the agent overwrote and were put back; 0 where that was told already."""

    def merged(self, later: Recorded) -> Recorded:
        """Both."""
        return Recorded(self.home, self.pins_kept + later.pins_kept)


class Overwritten(Struct, frozen=True):
    """Another program overwrote saves in a home; drafts keep their texts."""

    home: Path
    saves: tuple[LostSave, ...]

    def merged(self, later: Overwritten) -> Overwritten:
        """Both."""
        return Overwritten(self.home, (*self.saves, *later.saves))


class Notice(Struct, frozen=True):
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


class IndexChanged(Struct, frozen=True):
    """The search index of a home is being updated, or is up to date now. Every client hears it."""

    home: Path
    files_read: int
    """New and changed ones that this update has read so far."""
    is_ready: bool

    def merged(self, later: IndexChanged) -> IndexChanged:
        """The later one."""
        return later


class HostChanged(Struct, frozen=True):
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
        self._outgoing = FromEngine if incoming is FromClient else FromClient
        self._shut = shut
        self._close = close
        self._lock = threading.Lock()
        self._largest = _HELLO_BYTES

    def send(self, message: Any) -> None:
        """Blocks while the other end does not read. Raises `ConnectionLost`, or `WireError` where the message
        is too large."""
        data = encode(message, self._outgoing)
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
