"""One record as lines that a person or a model can change without breaking JSON.

Each line is `key: value`, lists are `- item` below their key. A text that could be read as JSON is written as
JSON, so every key and type survives.

Pure; any thread. Failure: `StoreError`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from reverie.errors import StoreError

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_BEGINS_JSON = frozenset('"[{-0123456789')
_WORDS_OF_JSON = frozenset(["true", "false", "null", "NaN", "Infinity"])
_DECODER = json.JSONDecoder()


def record_text(record: dict[str, Any]) -> str:
    """Write a record as lines."""
    return "".join(f"{line}\n" for line in _lines(record))


def record_of(text: str) -> dict[str, Any]:
    """Parse the lines of a record.

    Raises `StoreError`.
    """
    record: dict[str, Any] = {}
    listed: list[Any] | None = None
    opened = ""
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if not line.strip():
            continue
        if line.startswith("- ") or line == "-":
            if listed is None:
                raise _no_record(number, "a list item has no key above it")
            listed.append(_value(line[2:].strip()))
            record[opened] = listed
            continue
        opened, value = _key_and_value(line, number)
        if opened in record:
            raise _no_record(number, f"{opened} occurs twice")
        record[opened] = _value(value)
        listed = None if value else []
    return record


def _lines(record: dict[str, Any]) -> Iterator[str]:
    for key, value in record.items():
        name = key if _PLAIN_KEY.fullmatch(key) else _json(key)
        if isinstance(value, list) and value:
            yield f"{name}:"
            yield from (f"- {_value_text(item)}" for item in value)
        else:
            yield f"{name}: {_value_text(value)}"


def _value_text(value: Any) -> str:
    if isinstance(value, str) and value and value == value.strip() and value.isprintable():
        if not _may_be_json(value):
            return value
        try:
            json.loads(value)
        except (ValueError, RecursionError):
            return value
    return _json(value)


def _value(told: str) -> Any:
    if not _may_be_json(told):
        return told
    try:
        return json.loads(told)
    except (ValueError, RecursionError):
        return told


def _may_be_json(text: str) -> bool:
    return text[:1] in _BEGINS_JSON or text in _WORDS_OF_JSON


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    lines = text.splitlines()
    # Line separators and lone surrogates are escaped.
    return text if len(lines) == 1 and text.isprintable() else json.dumps(value)


def _key_and_value(line: str, number: int) -> tuple[str, str]:
    key, colon, value = line.partition(":")
    if line.startswith('"'):
        try:
            key, end = _DECODER.raw_decode(line)
        except (ValueError, RecursionError):
            raise _no_record(number, "the key is not valid JSON text") from None
        colon, value = line[end : end + 1], line[end + 1 :]
    elif not _PLAIN_KEY.fullmatch(key):
        colon = ""
    if colon != ":":
        raise _no_record(number, "the line is neither “key: value” nor “- item”")
    return key, value.strip()


def _no_record(number: int, why: str) -> StoreError:
    return StoreError(
        f"Line {number} is not a valid record line:",
        cause=f"{why}.",
        next_step="Write “key: value”, or “- item” for each item of a list.",
        reason="record",
    )
