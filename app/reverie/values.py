"""The base class `Struct` of value classes, and helpers for values.

A value class is a `Struct` with `frozen=True`: a frozen, slotted data class. Defining one takes microseconds;
defining a class with `dataclasses` takes a quarter of a millisecond, and the window needs five hundred
classes. Values are sent between an engine and its clients as they are. A class is a frozen dataclass of the
standard library instead if it leaves a field out of `repr` or of comparisons, or caches a computed attribute.
`replace` accepts both kinds.

Threading: pure. Failure: none of its own.
"""

from __future__ import annotations

import dataclasses
import threading
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import astuple

if TYPE_CHECKING:
    from dataclasses import replace  # so that type checkers know the valid field names
else:

    def replace(value, /, **changes):
        """Return a copy of `value` with the given fields changed."""
        if isinstance(value, Struct):
            return msgspec.structs.replace(value, **changes)
        return dataclasses.replace(value, **changes)


__all__ = ["Struct", "as_dict", "astuple", "columns", "converted", "field", "fields_of", "replace"]
FIRST_USE = threading.RLock()
"""The lock for everything that may make msgspec look at the fields of a class for the first time.

msgspec (0.22) marks a class as known before it has looked at all of its fields. A second thread that decodes
such a class meanwhile ends the process with a segmentation fault.
"""


def converted(value: Any, kind: Any, **options: Any) -> Any:
    """Return `msgspec.convert(value, kind, **options)`; it may be called by several threads at once."""
    with FIRST_USE:
        return msgspec.convert(value, kind, **options)


def fields_of(kind: type) -> tuple[str, ...]:
    """Return the names of the fields that the constructor of the class `kind` takes.

    Empty if `kind` is neither a `Struct` nor a dataclass.
    """
    if dataclasses.is_dataclass(kind):
        return tuple(each.name for each in dataclasses.fields(kind) if each.init)
    return kind.__struct_fields__ if issubclass(kind, Struct) else ()


def as_dict(value: Any) -> dict[str, Any]:
    """Return the fields of a `Struct` or dataclass as a dict; such values inside it become dicts as well."""
    return {name: _plain(getattr(value, name)) for name in fields_of(type(value))}


def columns(value: Any, names: str) -> dict[str, Any]:
    """Return some attributes of `value` as a dict for JSON, in the order of `names`.

    `names`: the names of the attributes, separated by spaces. The key of an attribute is its name in camel
    case: `updated_at` gives `updatedAt`. `key=first.second` reads the attribute `second` of the attribute
    `first`, under the key `key`.
    """
    found = {}
    for name in names.split():
        key, _equals, path = name.rpartition("=")
        first, *others = path.split("_")
        found[key or first + "".join(map(str.capitalize, others))] = attrgetter(path)(value)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        plain = [_plain(each) for each in value]
        return type(value)(*plain) if hasattr(value, "_fields") else type(value)(plain)
    if isinstance(value, dict):
        return {_plain(key): _plain(each) for key, each in value.items()}
    return as_dict(value) if fields_of(type(value)) else value
