"""Encodes values as MessagePack, and decodes them by the type hint of the expected value.

The type of each field is checked, so a peer can create only values of the types that a signature names.
Structs of a union carry a tag. A path is sent as its bytes. MessagePack cannot represent three kinds of
values, which are translated here: a `UserError`, into the names of its classes and its fields; a `Phrase`,
into its template and values; and text that is not valid Unicode, such as a file name in another encoding. The
last two become extension values.

Threading: pure. Failure: `WireError` for bytes that do not fit the hint and for values that cannot be
encoded. `TypeError` from `require_wirable` for a hint whose values cannot be sent: this is a bug, which a
test over every method finds.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import os
import types
import typing
from collections.abc import Collection, Iterable, Mapping, MutableMapping, Sequence
from collections.abc import Set as AnySet
from pathlib import Path
from typing import Any

import msgspec

from reverie.errors import UserError
from reverie.text.summaries import Phrase, plain
from reverie.values import FIRST_USE, Struct, converted

_BROKEN_TEXT, _PHRASE, _BROKEN_KEYS = 1, 2, 3
_PLAIN = (str, int, float, bool, bytes, type(None), dict, list, tuple, set, frozenset)
_CONTAINERS = frozenset(
    (tuple, list, set, frozenset, dict, Sequence, Collection, Iterable, AnySet, Mapping, MutableMapping)
)


class WireError(Exception):
    """Raised if bytes or a value do not conform to the format of messages."""


def encode(value: Any) -> bytes:
    """Return `value` encoded as MessagePack. Raises `WireError` if it cannot be sent."""
    try:
        try:
            return msgspec.msgpack.encode(value, enc_hook=_outgoing)
        except UnicodeEncodeError:
            built_in = (bytes, msgspec.msgpack.Ext)
            made = msgspec.to_builtins(value, enc_hook=_outgoing, builtin_types=built_in)
            return msgspec.msgpack.encode(_with_broken_text(made))
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise WireError(f"a {type(value).__name__} cannot be sent: {error}") from error


def decode(data: bytes, hint: Any) -> Any:
    """Return the value of the type `hint` that `data` encodes as MessagePack.

    Raises `WireError` if `data` does not encode such a value.
    """
    try:
        try:
            return _decoder(hint).decode(data)
        except msgspec.ValidationError:
            # It may have extension values in place of texts, which a typed decoder rejects.
            found = msgspec.msgpack.decode(data, ext_hook=_extension)
            return converted(found, hint, dec_hook=_incoming, builtin_types=(bytes,))
    except (ValueError, TypeError, RecursionError, msgspec.MsgspecError) as error:
        raise WireError(f"not a valid message: {error}") from error


@functools.cache
def _decoder(hint: Any) -> msgspec.msgpack.Decoder[Any]:
    with FIRST_USE:
        return msgspec.msgpack.Decoder(hint, dec_hook=_incoming, ext_hook=_extension)


def _outgoing(value: Any) -> Any:
    """Return a value that msgspec can encode, in place of `value`, which it cannot.

    Raises `TypeError` if `value` cannot be sent at all.
    """
    if isinstance(value, Path):
        return os.fsencode(value)
    if isinstance(value, Phrase):
        return msgspec.msgpack.Ext(_PHRASE, encode(_phrase(value)))
    if isinstance(value, UserError):
        return _error(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, str | int | float):
        return next(kind(value) for kind in (str, int, float) if isinstance(value, kind))
    raise TypeError(f"a {type(value).__name__} cannot be sent")


def _incoming(kind: Any, value: Any) -> Any:
    """Create a value of the class `kind` from `value`, which `_outgoing` returned at the other end."""
    if issubclass(kind, Path) and isinstance(value, bytes):
        return Path(os.fsdecode(value))
    if issubclass(kind, Phrase) and isinstance(value, str):
        return plain(value)
    if issubclass(kind, UserError):
        return _error_from(value)
    raise TypeError(f"{kind.__name__} expected, not {type(value).__name__}")


def _extension(code: int, data: memoryview) -> Any:
    if code == _BROKEN_TEXT:
        return bytes(data).decode("utf-8", "surrogatepass")
    if code == _BROKEN_KEYS:
        return dict(decode(bytes(data), list[Any]))
    if code == _PHRASE:
        return _phrase_from(decode(bytes(data), list[Any]))
    raise ValueError(f"unknown extension {code}")


def _with_broken_text(value: Any) -> Any:
    """Return a copy of `value` with each text that is not valid Unicode replaced by an extension value.

    Looks into dicts, lists and tuples.
    """
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return msgspec.msgpack.Ext(_BROKEN_TEXT, value.encode("utf-8", "surrogatepass"))
    if isinstance(value, dict):
        pairs = [(_with_broken_text(key), _with_broken_text(item)) for key, item in value.items()]
        # An extension value cannot be a key.
        if any(isinstance(key, msgspec.msgpack.Ext) for key, _item in pairs):
            return msgspec.msgpack.Ext(_BROKEN_KEYS, msgspec.msgpack.encode(pairs))
        return dict(pairs)
    if isinstance(value, list | tuple):
        return [_with_broken_text(item) for item in value]
    return value


def _phrase(text: str) -> list[Any]:
    """Return the parts of a phrase, from which `_phrase_from` creates it again.

    They are the template, its values, and for a plural the number and the singular form.
    """
    made = plain(text)
    values = [
        [name, _phrase(each) if isinstance(each, Phrase) else str(each)] for name, each in made.values.items()
    ]
    return [made.template, values, made.number, made.one]


_PHRASE_PARTS = tuple[str, list[tuple[str, Any]], int | None, str]


def _phrase_from(value: Any) -> Phrase:
    template, values, number, one = converted(value, _PHRASE_PARTS)
    made = {
        name: _phrase_from(each) if isinstance(each, list) else converted(each, str) for name, each in values
    }
    return Phrase(template, made, number, one)


def _error(error: UserError) -> list[Any]:
    """Return the parts of an error, from which `_error_from` creates it again.

    They are the names of its classes (most specific first), its texts, and the values of the fields of its
    class.
    """
    kinds = [kind.__name__ for kind in type(error).__mro__ if issubclass(kind, UserError)]
    # The annotated fields of its class.
    own = [getattr(error, name) for name in typing.get_type_hints(type(error))]
    return [kinds, error.title, error.cause, error.next_step, error.reason, own]


_ERROR_PARTS = tuple[list[str], str, str, str, str, list[Any]]


def _error_from(value: Any) -> UserError:
    """Create an error from the parts that `_error` returned.

    It has the most specific class that is known here. If that is not the exact class of the error and has
    fields of its own, the error becomes a plain `UserError`, because the values of these fields are not
    known.
    """
    names, title, cause, next_step, reason, own = converted(value, _ERROR_PARTS, builtin_types=(bytes,))
    known = {kind.__name__: kind for kind in _kinds_of(UserError)}
    name = next((each for each in names if each in known), UserError.__name__)
    hints = typing.get_type_hints(known[name])
    if names[:1] != [name] and hints:
        name, hints = UserError.__name__, {}
    error = known[name].__new__(known[name])
    UserError.__init__(error, title, cause=cause, next_step=next_step, reason=reason)
    if names[:1] == [name]:
        for (each, hint), item in zip(hints.items(), own, strict=True):
            setattr(error, each, converted(item, hint, dec_hook=_incoming, builtin_types=(bytes,)))
    return error


def _kinds_of(kind: type[UserError]) -> list[type[UserError]]:
    return [kind, *(each for below in kind.__subclasses__() for each in _kinds_of(below))]


def require_wirable(hint: Any) -> None:
    """Raise `TypeError` if values of the type `hint` cannot be sent; otherwise do nothing.

    If the hint is a class, the types of its fields are not checked.
    """
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal or hint is Any or hint is object or hint is None or hint is ...:
        return
    if origin in (typing.Annotated, typing.Final):
        inner = inner[:1]
    elif origin not in (typing.Union, types.UnionType, *_CONTAINERS) and (
        origin is not None or not isinstance(hint, type) or not _is_wirable(hint)
    ):
        raise TypeError(f"{hint!r} cannot cross the wire")
    for each in inner:
        require_wirable(each)


def _is_wirable(kind: type) -> bool:
    return (
        kind in _PLAIN
        or kind in _CONTAINERS
        or issubclass(kind, (enum.Enum, Path, UserError, Struct, Phrase))
        or dataclasses.is_dataclass(kind)
        or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
    )
