"""Pins and use of memories as the agent's sidecar spells them: the rules, without the file.

Shape and coercions are those of formats/mux.md section 8. Every rule works in place on the raw `entries`
object of the sidecar, so that fields nobody here knows survive in it and the order of keys is the one that
the agent's own code would leave.

Pure functions on dicts, any thread. Nothing fails on any content: what is no number, no flag or no object
counts as absent, item by item.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

Entries = dict[str, Any]

_NAMES = {
    "pinned": "pinned",
    "access_count": "accessCount",
    "last_accessed_at": "lastAccessedAt",
    "last_write_at": "lastWriteAt",
}


@dataclass(frozen=True, slots=True)
class Usage:
    """Pin and use of one memory. Times are UTC milliseconds; None: never."""

    pinned: bool = False
    access_count: int = 0
    last_accessed_at: int | None = None
    last_write_at: int | None = None
    unknown_to_agent: bool = False
    """The running agent has not read yet that it was pinned or unpinned. Only for showing: no sidecar has
    it."""
    own_count: int = 0
    """How many of the uses are a person's or Reverie's. Only for showing, too."""

    @property
    def agent_count(self) -> int:
        """The uses that are the agent's own."""
        return self.access_count - self.own_count


UNUSED = Usage()


def usage_of(raw: object) -> Usage:
    """What one raw entry says; anything but an object says nothing."""
    if not isinstance(raw, dict):
        return UNUSED
    return Usage(
        raw.get("pinned") is True,
        int(_positive(raw.get("accessCount")) or 0),
        _time(raw.get("lastAccessedAt")),
        _time(raw.get("lastWriteAt")),
    )


def usages(data: Mapping[str, Any]) -> dict[str, Usage]:
    """What a whole sidecar says, without the entries that say nothing."""
    entries = data.get("entries")
    if not isinstance(entries, dict):
        return {}
    return {key: usage for key, raw in entries.items() if (usage := usage_of(raw)) != UNUSED}


def is_below(key: str, ancestor: str) -> bool:
    """Whether `key` names what `ancestor` names, or something in that directory."""
    return key == ancestor or key.startswith(ancestor + "/")


def keys_below(entries: Mapping[str, Any], ancestor: str) -> list[str]:
    """The key itself and those in its directory, in order, as far as they are there."""
    return [key for key in entries if is_below(key, ancestor)]


def note_use(entries: Entries, key: str, now: int, *, write: bool) -> None:
    """Count one use; a write is one too."""
    usage = usage_of(entries.get(key))
    used = replace(usage, access_count=usage.access_count + 1, last_accessed_at=now)
    put(entries, key, replace(used, last_write_at=now) if write else used)


def note_pin(entries: Entries, key: str, pinned: bool, now: int) -> None:
    """Pin or unpin. Pinning says that a memory matters, so it is a use; unpinning keeps the statistics."""
    if pinned:
        note_use(entries, key, now, write=False)
    put(entries, key, replace(usage_of(entries.get(key)), pinned=pinned))


def note_rename(entries: Entries, old: str, new: str, now: int, *, counts: bool = True) -> None:
    """Move the entry and those below it over whatever is there; `counts`: the rename is a write."""
    for key in keys_below(entries, old):
        entries[new + key[len(old) :]] = entries.pop(key)
    if counts:
        note_use(entries, new, now, write=True)


def note_delete(entries: Entries, key: str) -> None:
    """Drop the entry and those below it, so that a later file of the name inherits nothing."""
    for below in keys_below(entries, key):
        del entries[below]


def put(entries: Entries, key: str, usage: Usage | None) -> None:
    """Make an entry say `usage` and keep its unknown fields; None removes it with all it has."""
    if usage is None:
        entries.pop(key, None)
        return
    raw = entries.get(key)
    entries[key] = {**(raw if isinstance(raw, dict) else {}), **spelt(usage)}


def spelt(usage: Usage) -> dict[str, Any]:
    """A raw entry that says `usage`."""
    return {name: getattr(usage, attribute) for attribute, name in _NAMES.items()}


def merge(entries: Entries, before: Mapping[str, Usage | None], after: Mapping[str, Usage | None]) -> None:
    """Three-way: what is still as in `before` becomes as in `after`, field by field; other changes stay.

    A count is as in `before` only with its time: alone it may have come there by a use of somebody else."""
    for key in {**before, **after}:
        base, target = before.get(key) or UNUSED, after.get(key) or UNUSED
        now = usage_of(entries.get(key))
        still = {name: getattr(now, name) == getattr(base, name) for name in _NAMES}
        still["access_count"] &= still["last_accessed_at"]
        merged = Usage(*(getattr(target if still[name] else now, name) for name in still))
        if merged == UNUSED and after.get(key) is None:
            put(entries, key, None)
        elif merged != now:
            put(entries, key, merged)


def take_rejects(entries: Entries) -> dict[str, Any]:
    """Remove and return the entries that the agent's loader throws away: those that are no objects."""
    rejects = {key: raw for key, raw in entries.items() if not isinstance(raw, dict)}
    for key in rejects:
        del entries[key]
    return rejects


def prune(entries: Entries) -> None:
    """Remove the entries that say nothing at all, as the agent does on each save."""
    silent = [key for key, raw in entries.items() if isinstance(raw, dict) and _says_nothing(raw)]
    for key in silent:
        del entries[key]


def unescaped(component: str) -> str:
    """The text that a component of a logical key stands for, escaped as in formats/mux.md section 8."""
    return component.replace("%3A", ":").replace("%25", "%")


def _says_nothing(raw: Mapping[str, Any]) -> bool:
    return all(name in _NAMES.values() and value in (None, False) for name, value in raw.items())


def _positive(value: object) -> int | float | None:
    """A finite number above zero, as JavaScript sees it: to it an enormous integer is Infinity."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:
        return None


def _time(value: object) -> int | None:
    number = _positive(value)
    return None if number is None else max(int(number), 1)
