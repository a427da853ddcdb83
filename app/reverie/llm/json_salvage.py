"""Reading the undamaged beginning of a JSON text.

Pure; any thread.
"""

from __future__ import annotations

import json
import re
from typing import Any

_TOKEN = re.compile(
    r"\s*(?:(?P<mark>[{}\[\],:])"
    r'|(?P<text>"[^"\\]*(?:\\.[^"\\]*)*")'
    r"|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?=[\s,\]}])"
    r"|(?P<word>true|false|null)\b)",
    re.DOTALL,
)
_OPEN_TEXT = re.compile(r'\s*"(?P<body>[^"\\]*(?:\\.[^"\\]*)*)\\?\Z', re.DOTALL)
_MAX_DEPTH = 200
MORE_FOLLOWS = "more follows after its end"
"""The beginning of the message about a text that is complete but followed by further text."""

_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}
_MISSING = object()


def salvage(text: str) -> tuple[Any, str]:
    """Return the value in the readable beginning of a damaged JSON text, and a message about the damage.

    Objects and lists whose end is missing end where reading stops. The message is empty for valid JSON; the
    value is None if nothing could be read. Time and memory are linear in the length of the text. Nesting that
    is too deep counts as damage and raises nothing.
    """
    reader = _DamagedJsonReader()
    position = len(text) - len(text.lstrip("\ufeff"))
    while True:
        match = _TOKEN.match(text, position)
        if match is None:
            break
        position = match.end()
        problem = reader.take(match)
        if problem:
            return reader.value, f"{problem} at character {match.start():,}"
        if reader.complete:
            rest = text[position:].strip(" \t\r\n\0")
            return reader.value, f"{MORE_FOLLOWS}, from character {position:,} on" if rest else ""
    left = text[position:]
    if not left.strip():
        return reader.value, "it ends in the middle" if text.strip() else "it is empty"
    open_text = _OPEN_TEXT.match(left)
    if open_text is not None:
        reader.put(_decoded(open_text["body"]))
        return reader.value, "it ends in the middle of a text"
    return reader.value, f"it is not JSON from character {position:,} on"


class _DamagedJsonReader:
    """A builder of a value from JSON tokens.

    `value`: the result so far; `complete`: whether the value has ended.
    """

    def __init__(self) -> None:
        self.value: Any = None
        self.complete = False
        self._open: list[Any] = []
        self._keys: list[Any] = []

    def take(self, match: re.Match[str]) -> str:
        """Process the JSON token `match`; return a message about the error in it, or an empty text."""
        if match["mark"]:
            return self._mark(match["mark"])
        if match["text"]:
            value: Any = _decoded(match["text"][1:-1])
            if self._wants_key:
                self._keys[-1] = value
                return ""
        elif match["number"]:
            value = _number(match["number"])
        else:
            value = _WORDS[match["word"]]
        if self._wants_key:
            return "a name is missing"
        self.put(value)
        self.complete = not self._open
        return ""

    def put(self, value: Any) -> None:
        if not self._open:
            self.value = value
        elif isinstance(self._open[-1], list):
            self._open[-1].append(value)
        elif self._keys[-1] is not _MISSING:
            self._open[-1][self._keys[-1]] = value
            self._keys[-1] = _MISSING

    @property
    def _wants_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1], dict) and self._keys[-1] is _MISSING

    def _mark(self, mark: str) -> str:
        if mark in "{[":
            if self._wants_key:
                return "a name is missing"
            if len(self._open) >= _MAX_DEPTH:
                return "it is nested too deeply"
            container: Any = {} if mark == "{" else []
            self.put(container)
            self._open.append(container)
            self._keys.append(_MISSING)
        elif mark in "}]":
            if not self._open or isinstance(self._open[-1], dict) != (mark == "}"):
                return "brackets do not match"
            self._open.pop()
            self._keys.pop()
            self.complete = not self._open
        elif not self._open:
            return "it does not begin with a value"
        return ""


def _decoded(body: str) -> str:
    try:
        return str(json.loads(f'"{body}"', strict=False))
    except ValueError:
        return body


def _number(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # more digits than Python converts
        return text
