"""Anti-patterns that say the same: the agent adds one at the end of each run that failed alike, since its own
merge test never holds for them (formats/loki.md section 11).

Only such are taken for the same whose merging loses no word: whatever one says, another says, too, or says
nothing about. Pure; records are read without trusting them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from reverie.homes.loki_records import ANTI_PATTERN, text_of

UNITED = ("conditions", "source_episodes", "links")
"""Lists that a merge puts together."""
COUNTED = ("confidence", "importance", "access_count", "usage_count")
"""Figures of which a merge keeps the greatest."""
_OWN = frozenset(
    ["id", "created_at", "updated_at", "last_used", "last_accessed", *UNITED, *COUNTED]
)  # fmt: skip


def repeated(records: Iterable[dict[str, Any]]) -> tuple[tuple[dict[str, Any], ...], ...]:
    """Groups of two and more, in the order of the store."""
    found: list[tuple[dict[str, str], list[dict[str, Any]]]] = []
    for record in records:
        if record.get("category") != ANTI_PATTERN or not text_of(record.get("pattern")).strip():
            continue
        said = dict(_said(record))
        for known, group in found:
            if known["pattern"] == said["pattern"] and all(
                known.get(key, text) == text for key, text in said.items()
            ):
                known.update(said)
                group.append(record)
                break
        else:
            found.append((said, [record]))
    return tuple(tuple(group) for _said_, group in found if len(group) > 1)


def _said(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What it says under each key, however it is spaced and capitalised; nothing for what is empty."""
    for key, value in record.items():
        if key in _OWN or value in (None, "", [], {}):
            continue
        if isinstance(value, str):
            if value.strip():
                yield key, " ".join(value.lower().split())
        else:
            yield key, json.dumps(value, sort_keys=True)
