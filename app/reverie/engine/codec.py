"""Values to MessagePack and back, by their type hints: how data classes cross the wire without pickle.

`msgspec` reads and writes the bytes; this file maps our values onto what MessagePack knows. The *hint* says
what may come: a data class is the list of its fields, an enum its value, a path its bytes. Where a hint
allows several data classes, each comes with its name; an error comes with the names of its classes. Nothing
else can be made: a peer picks among the types that a signature names, never a type of its own.

Text that is no valid Unicode (a file name in another encoding) travels as bytes under an extension code.

Threading: pure; any thread. Failure: `WireError` for bytes or values that do not fit the hint; a `TypeError`
for a hint that cannot cross, which is a bug and found by a test over every method of the engine.
"""

from __future__ import annotations

import collections.abc
import enum
import functools
import os
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from reverie.errors import UserError
from reverie.text.phrase import Phrase, plain
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
