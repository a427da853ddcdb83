"""Edits of one member of a list in a JSON file that leave all other bytes unchanged.

A member is formatted like its neighbours: indented or on one line, with non-ASCII characters escaped if the
whole file is ASCII.

Pure; any thread.
"""

from __future__ import annotations

import json
import re
from typing import Any

from reverie.values import Struct

_SPAN_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")


class ListSpans(Struct, frozen=True):
    """The position of a list in a text, from `[` to behind `]`, and the positions of its `members`."""

    start: int
    end: int
    members: tuple[tuple[int, int], ...]


def patterns_in(text: str) -> ListSpans | None:
    """Return the position of the list of patterns; None if there is no such list."""
    at = _after_space(text, 1 if text.startswith("\ufeff") else 0)
    if text[at] == "[":
        return _list_at(text, at)
    if text[at] != "{":
        return None
    at = _after_space(text, at + 1)
    while text[at] == '"':
        key, at = _SPAN_DECODER.raw_decode(text, at)
        at = _after_space(text, _after_space(text, at) + 1)
        if key == "patterns":
            return _list_at(text, at) if text[at] == "[" else None
        _value, at = _SPAN_DECODER.raw_decode(text, at)
        at = _after_space(text, at)
        if text[at] == ",":
            at = _after_space(text, at + 1)
    return None


def replaced(text: str, spans: ListSpans, place: int, record: dict[str, Any]) -> str:
    """Return the text with the record at index `place` replaced."""
    start, end = spans.members[place]
    return text[:start] + _spelled(text, start, text[start:end], record) + text[end:]


def removed(text: str, spans: ListSpans, place: int) -> str:
    """Return the text without the record at index `place`."""
    members = spans.members
    if len(members) == 1:
        return text[: spans.start] + "[]" + text[spans.end :]
    if place + 1 < len(members):
        return text[: members[place][0]] + text[members[place + 1][0] :]
    return text[: members[place - 1][1]] + text[members[place][1] :]


def inserted(text: str, spans: ListSpans, place: int, record: dict[str, Any]) -> str:
    """Return the text with a new record at index `place`, or at the end."""
    members = spans.members
    if not members:
        return text[: spans.start] + _first(text, spans, record) + text[spans.end :]
    lead = text[spans.start + 1 : members[0][0]]
    gap = text[members[0][1] : members[1][0]] if len(members) > 1 else "," + (lead or " ")
    at = members[min(place, len(members) - 1)][0]
    spelled = _spelled(text, at, _usual(text, spans, lead), record)
    if place < len(members):
        return text[:at] + spelled + gap + text[at:]
    end = members[-1][1]
    return text[:end] + gap + spelled + text[end:]


def _usual(text: str, spans: ListSpans, lead: str) -> str:
    """Return a member of the list as the model for formatting: the first one with content.

    `lead` is the white space before the first member. Without a model in an indented list, the white space
    for one is returned.
    """
    told = (text[start:end] for start, end in spans.members)
    found = next((each for each in told if each[0] == "{" and each.strip("{} \t\r\n")), "")
    if found or "\n" not in lead:
        return found
    indent = lead.rpartition("\n")[2]
    depth = 1 if not text[: spans.start].strip(" \t\r\n\ufeff") else 2
    return f"{lead}{indent[: len(indent) // depth]}"


def _first(text: str, spans: ListSpans, record: dict[str, Any]) -> str:
    """Return a list of one record, as the agent itself would write it in place of an empty list."""
    outer = _indent_of(text, spans.start)
    if "\n" not in text:
        return f"[{json.dumps(record, ensure_ascii=text.isascii())}]"
    body = json.dumps([record], indent=2, ensure_ascii=text.isascii())
    return body.replace("\n", f"\n{outer}")


def _spelled(text: str, start: int, like: str, record: dict[str, Any]) -> str:
    ascii_only = text.isascii()
    if "\n" not in like:
        return json.dumps(record, ensure_ascii=ascii_only)
    outer = _indent_of(text, start)
    inner = re.search(r"\n([ \t]*)", like)
    step = inner[1][len(outer) :] if inner is not None and inner[1].startswith(outer) else ""
    body = json.dumps(record, indent=step or 2, ensure_ascii=ascii_only)
    return body.replace("\n", f"\n{outer}")


def _indent_of(text: str, at: int) -> str:
    """Return the indentation of the line at this position."""
    line = text.rfind("\n", 0, at) + 1
    found = re.match(r"[ \t]*", text[line:at])
    return found[0] if found is not None else ""


def _list_at(text: str, start: int) -> ListSpans:
    members = []
    at = _after_space(text, start + 1)
    while text[at] != "]":
        _value, end = _SPAN_DECODER.raw_decode(text, at)
        members.append((at, end))
        at = _after_space(text, end)
        if text[at] == ",":
            at = _after_space(text, at + 1)
    return ListSpans(start, at + 1, tuple(members))


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()
