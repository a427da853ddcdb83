"""Rules for pins and use of memories in the agent's format, without the file.

The format and its type conversions are described in formats/mux.md section 8. Every rule works in place on
the raw `entries` object of the sidecar, so that unknown fields survive in it and keys stay in the order in
which the agent's own code would leave them.

Pure; any thread. No function raises, whatever the content: each value that is not of the expected type
(number, flag, object) counts as absent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from reverie.values import Struct, replace

Entries = dict[str, Any]

_NAMES = {
    "pinned": "pinned",
    "access_count": "accessCount",
    "last_accessed_at": "lastAccessedAt",
    "last_write_at": "lastWriteAt",
}


class MemoryUsage(Struct, frozen=True, array_like=True):
    """Pin and usage of one memory. Times are UTC milliseconds; None: never."""

    pinned: bool = False
    access_count: int = 0
    last_accessed_at: int | None = None
    last_write_at: int | None = None
    unknown_to_agent: bool = False
    """Whether the running agent has not read yet that the memory was pinned or unpinned.

    Only for display; not stored in the sidecar.
    """
    own_count: int = 0
    """The number of uses by a person or Reverie, which `access_count` includes.

    Only for display; not stored in the sidecar.
    """

    @property
    def agent_count(self) -> int:
        """The number of uses by the agent itself."""
        return self.access_count - self.own_count


UNUSED = MemoryUsage()


def usage_of(raw: object) -> MemoryUsage:
    """Return the usage in one raw entry of the sidecar; anything but an object counts as unused."""
    if not isinstance(raw, dict):
        return UNUSED
    return MemoryUsage(
        raw.get("pinned") is True,
        int(_positive(raw.get("accessCount")) or 0),
        _time(raw.get("lastAccessedAt")),
        _time(raw.get("lastWriteAt")),
    )


def usages(data: Mapping[str, Any]) -> dict[str, MemoryUsage]:
    """Return the usage of each memory in the content `data` of a sidecar, by key, without empty entries."""
    entries = data.get("entries")
    if not isinstance(entries, dict):
        return {}
    return {key: usage for key, raw in entries.items() if (usage := usage_of(raw)) != UNUSED}


def is_below(key: str, ancestor: str) -> bool:
    """Return whether `key` equals `ancestor`, or names something in the directory `ancestor`."""
    return key == ancestor or key.startswith(ancestor + "/")


def keys_below(entries: Mapping[str, Any], ancestor: str) -> list[str]:
    """Return the keys of `entries` that equal `ancestor` or are below it, in order."""
    return [key for key in entries if is_below(key, ancestor)]


def note_use(entries: Entries, key: str, now: int, *, write: bool) -> None:
    """Count one use of `key` at `now` (UTC ms); with `write`, also record the time as that of a write."""
    usage = usage_of(entries.get(key))
    used = replace(usage, access_count=usage.access_count + 1, last_accessed_at=now)
    put(entries, key, replace(used, last_write_at=now) if write else used)


def written(usage: MemoryUsage | None, now: int) -> MemoryUsage:
    """Return the usage after a write by Reverie: only the time of the last write changes.

    The write does not count as a use, because the agent chooses the memories to load next by its own uses.
    `usage`: None for a memory without an entry; `now`: UTC ms.
    """
    return replace(usage or UNUSED, last_write_at=now)


def note_pin(entries: Entries, key: str, pinned: bool, now: int, *, counts: bool = True) -> None:
    """Pin (`pinned`) or unpin the memory `key` in `entries` at `now` (UTC ms).

    With `counts`, pinning counts as a use, as for the agent; unpinning does not change the statistics.
    """
    if pinned and counts:
        note_use(entries, key, now, write=False)
    put(entries, key, replace(usage_of(entries.get(key)), pinned=pinned))


def note_rename(entries: Entries, old: str, new: str, now: int, *, counts: bool = True) -> None:
    """Move the entry with the key `old`, and the entries below it, to the key `new`, replacing existing ones.

    `counts`: the rename counts as a write at `now` (UTC ms).
    """
    for key in keys_below(entries, old):
        entries[new + key[len(old) :]] = entries.pop(key)
    if counts:
        note_use(entries, new, now, write=True)


def note_delete(entries: Entries, key: str) -> None:
    """Delete the entry `key` and all below it, so that a later file with that name does not get its usage."""
    for below in keys_below(entries, key):
        del entries[below]


def put(entries: Entries, key: str, usage: MemoryUsage | None) -> None:
    """Set the entry `key` to `usage`, preserving the fields that Reverie does not know.

    `usage`: None removes the whole entry.
    """
    if usage is None:
        entries.pop(key, None)
        return
    raw = entries.get(key)
    entries[key] = {**(raw if isinstance(raw, dict) else {}), **to_raw(usage)}


def to_raw(usage: MemoryUsage) -> dict[str, Any]:
    """Return the entry for `usage` in the agent's format."""
    return {name: getattr(usage, attribute) for attribute, name in _NAMES.items()}


def merge(
    entries: Entries, before: Mapping[str, MemoryUsage | None], after: Mapping[str, MemoryUsage | None]
) -> None:
    """Apply the change from `before` to `after` to each field that still has its value in `before`.

    `entries`: the raw entries of the sidecar, which are changed in place. `before`, `after`: key -> entry;
    None: no entry. Fields that were changed meanwhile stay. A count is only regarded as unchanged if its time
    is unchanged too, because the count alone may be equal by chance.
    """
    for key in {**before, **after}:
        base, target = before.get(key) or UNUSED, after.get(key) or UNUSED
        now = usage_of(entries.get(key))
        still = {name: getattr(now, name) == getattr(base, name) for name in _NAMES}
        still["access_count"] &= still["last_accessed_at"]
        merged = MemoryUsage(*(getattr(target if still[name] else now, name) for name in still))
        if merged == UNUSED and after.get(key) is None:
            put(entries, key, None)
        elif merged != now:
            put(entries, key, merged)


def take_rejects(entries: Entries) -> dict[str, Any]:
    """Remove from `entries` those that the agent would discard because they are no objects; return them."""
    rejects = {key: raw for key, raw in entries.items() if not isinstance(raw, dict)}
    for key in rejects:
        del entries[key]
    return rejects


def prune(entries: Entries) -> None:
    """Remove entries that hold no pin, use, time or unknown field, as the agent does on each save."""
    silent = [key for key, raw in entries.items() if isinstance(raw, dict) and _says_nothing(raw)]
    for key in silent:
        del entries[key]


def _says_nothing(raw: Mapping[str, Any]) -> bool:
    return all(name in _NAMES.values() and value in (None, False) for name, value in raw.items())


def _positive(value: object) -> int | float | None:
    """Return `value` if it is a finite number above zero, else None.

    An integer too large for a double counts as infinite.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:
        return None


def _time(value: object) -> int | None:
    number = _positive(value)
    return None if number is None else max(int(number), 1)
