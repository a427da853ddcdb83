"""Changing one member of a list in a JSON file and not one byte beside it.

The list is the document itself, or what stands under its key `patterns`. A member is spelled as its
neighbours are: indented, or on one line; escaped where the whole file is ASCII. Pure; the text is valid JSON
in which no object has a key twice (`loki_shelf` sees to that).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class ListSpans:
    """Where a list stands in a text: from `[` to behind `]`; `members` likewise."""

    start: int
    end: int
    members: tuple[tuple[int, int], ...]


def patterns_in(text: str) -> ListSpans | None:
    """The list of patterns; None where there is none."""
    at = _after_space(text, 1 if text.startswith("\ufeff") else 0)
    if text[at] == "[":
        return _list_at(text, at)
    if text[at] != "{":
        return None
    at = _after_space(text, at + 1)
    while text[at] == '"':
        key, at = _DECODER.raw_decode(text, at)
        at = _after_space(text, _after_space(text, at) + 1)
        if key == "patterns":
            return _list_at(text, at) if text[at] == "[" else None
        _value, at = _DECODER.raw_decode(text, at)
        at = _after_space(text, at)
        if text[at] == ",":
            at = _after_space(text, at + 1)
    return None


def replaced(text: str, spans: ListSpans, place: int, record: dict[str, Any]) -> str:
    """With another record at this place."""
    start, end = spans.members[place]
    return text[:start] + _spelled(text, start, text[start:end], record) + text[end:]


def removed(text: str, spans: ListSpans, place: int) -> str:
    """Without the record at this place."""
    members = spans.members
    if len(members) == 1:
        return text[: spans.start] + "[]" + text[spans.end :]
    if place + 1 < len(members):
        return text[: members[place][0]] + text[members[place + 1][0] :]
    return text[: members[place - 1][1]] + text[members[place][1] :]


def inserted(text: str, spans: ListSpans, place: int, record: dict[str, Any]) -> str:
    """With one more record, which comes to stand at this place, or last."""
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
    """How a member of this list is spelled: as any that holds something is."""
    told = (text[start:end] for start, end in spans.members)
    found = next((each for each in told if each[0] == "{" and each.strip("{} \t\r\n")), "")
    if found or "\n" not in lead:
        return found
    indent = lead.rpartition("\n")[2]
    depth = 1 if not text[: spans.start].strip(" \t\r\n\ufeff") else 2
    return f"{lead}{indent[: len(indent) // depth]}"


def _first(text: str, spans: ListSpans, record: dict[str, Any]) -> str:
    """The only member of a list that was empty, as the agent itself would write it."""
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
    """The white space that the line of this place begins with."""
    line = text.rfind("\n", 0, at) + 1
    found = re.match(r"[ \t]*", text[line:at])
    return found[0] if found is not None else ""


def _list_at(text: str, start: int) -> ListSpans:
    members = []
    at = _after_space(text, start + 1)
    while text[at] != "]":
        _value, end = _DECODER.raw_decode(text, at)
        members.append((at, end))
        at = _after_space(text, end)
        if text[at] == ",":
            at = _after_space(text, at + 1)
    return ListSpans(start, at + 1, tuple(members))


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()
