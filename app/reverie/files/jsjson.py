"""JSON objects as the agents' own JavaScript reads and writes them.

`parse_object` is strict about what `JSON.parse` refuses (NaN, Infinity) and tolerant where that loses nothing
(a byte order mark; of duplicate keys the last wins, as in JavaScript). `stringify` gives the bytes of
`JSON.stringify(value, null, 2)`: two spaces, non-ASCII as is, lone surrogates escaped, numbers in
JavaScript's spelling, no newline at the end. Pure functions; written by hand because the standard encoder
with `indent` is several times slower and spells numbers differently.
"""

from __future__ import annotations

import json
import math
import re
from json.encoder import encode_basestring as _quote
from typing import Any, NoReturn

_BOM = b"\xef\xbb\xbf"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))

# Deeper than any real sidecar, far from where Python's own recursion ends.
MAX_DEPTH = 100


def parse_object(raw: bytes) -> dict[str, Any]:
    """The object that `raw` holds. Raises ValueError saying in words what is wrong with it."""
    try:
        data = _DECODER.decode(raw.removeprefix(_BOM).decode("utf-8"))
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON (line {error.lineno}: {error.msg})") from None
    except ValueError as error:  # a constant refused below, or more digits than Python converts
        raise ValueError(f"it is not JSON ({error})") from None
    if not isinstance(data, dict):
        raise ValueError("it holds no JSON object")
    if not _surely_shallow(raw) and _depth_exceeds(data):
        raise ValueError("it is nested too deeply")
    return data


def stringify(data: dict[str, Any]) -> bytes:
    """The bytes of `data` (dicts with string keys, lists, strings, numbers, booleans, None)."""
    text = _text(data, "\n")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode("utf-8")


def _text(value: Any, newline: str) -> str:
    """`value` with its inner lines starting with `newline` and two spaces."""
    kind = type(value)
    if kind is float:
        return _number(value)
    if isinstance(value, dict):
        return _object_text(value, newline)
    if isinstance(value, (list, tuple)):
        if not value:
            return "[]"
        inner = newline + "  "
        return "[" + inner + ("," + inner).join([_text(item, inner) for item in value]) + newline + "]"
    if isinstance(value, str):
        return _quote(value)
    if kind is bool:
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if value is None:
        return "null"
    raise TypeError(f"{kind.__name__} has no place in JSON")


def _object_text(value: dict[str, Any], newline: str) -> str:
    if not value:
        return "{}"
    inner = newline + "  "
    members = []
    for key, member in value.items():
        if not isinstance(key, str):
            raise TypeError(f"a key must be a string, not {type(key).__name__}")
        # The common kinds are spelled here and not in `_text`: a call for each costs half of the whole.
        kind = type(member)
        if kind is str:
            text = _quote(member)
        elif kind is int:
            text = int.__repr__(member)
        elif kind is bool:
            text = "true" if member else "false"
        elif member is None:
            text = "null"
        else:
            text = _text(member, inner)
        members.append(f"{_quote(key)}: {text}")
    return "{" + inner + ("," + inner).join(members) + newline + "}"


def _number(value: float) -> str:
    """As JavaScript's Number::toString: both give the shortest digits that read back, only the layout
    differs.
    """
    if not math.isfinite(value):
        return "null"
    digits, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = digits.partition(".")
    point = len(whole) + int(exponent or 0)
    stripped = (whole + fraction).lstrip("0")
    point -= len(whole + fraction) - len(stripped)
    stripped = stripped.rstrip("0")
    if not stripped:
        return "0"
    return ("-" if value < 0 else "") + _layout(stripped, point)


def _layout(digits: str, point: int) -> str:
    """0.`digits` times ten to the power `point`."""
    if len(digits) <= point <= 21:
        return digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{mantissa}e{point - 1:+d}"


def _surely_shallow(raw: bytes) -> bool:
    """Clears nearly every real file without the walk: its brackets alone, taken away pair by pair from the
    inside.
    """
    brackets = raw.translate(None, _NO_BRACKETS)
    for _ in range(8):
        brackets = brackets.replace(b"{}", b"").replace(b"[]", b"")
    return not brackets


def _depth_exceeds(data: dict[str, Any]) -> bool:
    level: list[Any] = [data]
    for _ in range(MAX_DEPTH):
        level = [
            member
            for container in level
            for member in (container.values() if isinstance(container, dict) else container)
            if isinstance(member, (dict, list))
        ]
        if not level:
            return False
    return True


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number there")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
