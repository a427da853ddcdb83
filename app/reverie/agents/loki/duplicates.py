"""Duplicate anti-patterns: finding and merging them.

The agent adds an anti-pattern after each failed run, even for the same failure, because its own merge test
never matches (formats/loki.md section 11). `repeated` only groups anti-patterns that can be merged without
losing a word; `united` keeps the words of both even if they differ.

Pure; any thread.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from reverie.agents.loki.records import ANTI_PATTERN, number_of, text_of
from reverie.agents.reading import texts_of

UNITED = ("conditions", "source_episodes", "links")
"""Lists that a merge joins."""
COUNTED = ("confidence", "importance", "access_count", "usage_count")
"""Numbers of which a merge keeps the greatest."""
OF_THE_RECORD = frozenset(["id", "created_at", "updated_at", "last_used", "last_accessed", *COUNTED])
"""Keys about the record itself, not about the lesson."""
_OWN = frozenset([*OF_THE_RECORD, *UNITED])
_TEXTS_UNITED = ("conditions", "source_episodes")
_MOST_USED = ("usage_count", "access_count")
_JOINED = ("correct_approach", "incorrect_approach", "description")
_NOTHING: tuple[Any, ...] = (None, "", [], {})
_MOST_CONFIDENT = 0.99
_GROWTH = 0.05


def repeated(records: Iterable[dict[str, Any]]) -> tuple[tuple[dict[str, Any], ...], ...]:
    """Return groups of two or more equivalent anti-patterns, in the order of the store.

    Only anti-patterns that can be merged without losing a word are grouped.
    """
    groups: list[list[dict[str, Any]]] = []
    known_by: dict[str, list[tuple[dict[str, str], list[dict[str, Any]]]]] = {}
    for record in records:
        if record.get("category") != ANTI_PATTERN or not text_of(record.get("pattern")).strip():
            continue
        said = dict(_said(record))
        found = known_by.setdefault(said["pattern"], [])
        for known, group in found:
            if all(known.get(key, text) == text for key, text in said.items()):
                known.update(said)
                group.append(record)
                break
        else:
            groups.append([record])
            found.append((said, groups[-1]))
    return tuple(tuple(group) for group in groups if len(group) > 1)


def united(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Merge the others into the first record by the agent's own rules (formats/loki.md section 11).

    Their `incorrect_approach` may differ, because it is often empty (which is why the agent's own merge never
    matches). The wordings of all are kept. Merging one of them again changes nothing.
    """
    first = copy.deepcopy(records[0])
    for other in records[1:]:
        _take_over(first, other)
    if isinstance(first.get("links"), list):
        ids = [each["id"] for each in records if each.get("id")]
        # No pattern is related to itself.
        own = [isinstance(link, dict) and link.get("to") in ids for link in first["links"]]
        first["links"] = [link for link, is_own in zip(first["links"], own, strict=True) if not is_own]
    return first


def loses_nothing(records: Sequence[dict[str, Any]]) -> bool:
    """Return whether `united` would keep all content.

    It can combine only texts and lists of texts.
    """
    first = united(records)
    listed = (record.get(key) for record in records for key in _TEXTS_UNITED)
    if not all(value is None or list(texts_of(value)) == value for value in listed):
        return False
    return all(
        key in _JOINED or key == "pattern" or _folded(value) == _folded(first.get(key))
        for record in records
        for key, value in record.items()
        if key not in _OWN and value not in _NOTHING
    )


def evidence(record: dict[str, Any]) -> tuple[float, ...]:
    """Return a sort key for the strength of a pattern's evidence; greater is stronger."""
    sources = len(texts_of(record.get("source_episodes")))
    figures = (number_of(record.get(key), 0) for key in ("confidence", "usage_count", "importance"))
    return (sources, *figures)


def _take_over(first: dict[str, Any], other: dict[str, Any]) -> None:
    more_sources = set(texts_of(other.get("source_episodes"))) - set(texts_of(first.get("source_episodes")))
    for key in _TEXTS_UNITED:
        if key in first or key in other:
            first[key] = list(dict.fromkeys((*texts_of(first.get(key)), *texts_of(other.get(key)))))
    _keep_wordings(first, other)
    if "links" in first or "links" in other:
        first["links"] = _all_of(first.get("links"), other.get("links"))
    for key in _MOST_USED:
        if number_of(other.get(key), 0) > number_of(first.get(key), 0):
            first[key] = other[key]
    if more_sources:
        confidence = number_of(first.get("confidence"), 0.5) + _GROWTH
        first["confidence"] = round(min(_MOST_CONFIDENT, confidence), 4)
    importance = max(number_of(first.get("importance"), 0.5), number_of(other.get("importance"), 0.5))
    if importance != number_of(first.get("importance"), 0.5):
        first["importance"] = importance
    for key, value in other.items():
        if first.get(key) in _NOTHING:
            first[key] = copy.deepcopy(value)


def _keep_wordings(first: dict[str, Any], other: dict[str, Any]) -> None:
    """Append the other record's differing texts, and its differing pattern as a condition."""
    for key in _JOINED:
        one, more = text_of(first.get(key)).strip(), text_of(other.get(key)).strip()
        if one and more and _folded(more) not in _folded(one):
            first[key] = f"{one}; {more}"
    one, more = text_of(first.get("pattern")).strip(), text_of(other.get("pattern")).strip()
    conditions = texts_of(first.get("conditions"))
    known = (_folded(one), *map(_folded, conditions))
    if one and more and not any(_folded(more) in each for each in known):
        first["conditions"] = [*conditions, f"Also: {more}"]


def _said(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the key and normalised text of each field that is not empty."""
    for key, value in record.items():
        if key in _OWN or value in _NOTHING:
            continue
        if isinstance(value, str):
            if value.strip():
                yield key, _folded(value)
        else:
            yield key, json.dumps(value, sort_keys=True)


def _folded(value: Any) -> str:
    return " ".join(value.lower().split()) if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _all_of(one: Any, other: Any) -> list[Any]:
    """Return the members of two lists, in order, each once."""
    found: list[Any] = []
    for each in (*(one if isinstance(one, list) else ()), *(other if isinstance(other, list) else ())):
        if not any(_same(each, known) for known in found):
            found.append(copy.deepcopy(each))
    return found


def _same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
