"""The base of value classes, `Struct`, and helpers for values.

A value is a `Struct` with `frozen=True`: a frozen, slotted data class. Its definition takes microseconds;
that of a class from `dataclasses` takes a quarter of a millisecond, and the window needs five hundred
classes. A value crosses the wire as it is. A class that leaves a field out of `repr` or of comparisons, or
that caches a computed attribute, is a frozen dataclass of the standard library. `replace` accepts both.

Threading: pure. Failure: none of its own.
"""

from __future__ import annotations

import dataclasses
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


__all__ = ["Struct", "as_dict", "astuple", "columns", "field", "fields_of", "replace"]


def fields_of(kind: type) -> tuple[str, ...]:
    """Return the names of the fields that the constructor of a value class takes; empty for other classes."""
    if dataclasses.is_dataclass(kind):
        return tuple(each.name for each in dataclasses.fields(kind) if each.init)
    return kind.__struct_fields__ if issubclass(kind, Struct) else ()


def as_dict(value: Any) -> dict[str, Any]:
    """Return the fields of a value by name, with nested values converted as well."""
    return {name: _plain(getattr(value, name)) for name in fields_of(type(value))}


def columns(value: Any, names: str) -> dict[str, Any]:
    """Return attributes of a value for JSON, in the order of `names`, which are separated by blanks.

    The key of `updated_at` is `updatedAt`; `key=path.to.attribute` uses another key, or a nested attribute.
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
