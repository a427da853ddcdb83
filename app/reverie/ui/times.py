"""How long ago, and when exactly: pure functions of two times in UTC milliseconds. No Qt, no clock, no
wording.

The window turns an `Ago` into words (`ui.words`), so that every unit is translated with its own plural.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Literal

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
WEEK_MS = 7 * DAY_MS
YEAR_MS = 365 * DAY_MS

Unit = Literal["now", "minutes", "hours", "days", "weeks", "months", "years", "future"]

# The largest unit that still tells something: each row is (below this age, unit, its length).
_STEPS: tuple[tuple[int, Unit, int], ...] = (
    (MINUTE_MS, "now", MINUTE_MS),
    (HOUR_MS, "minutes", MINUTE_MS),
    (2 * DAY_MS, "hours", HOUR_MS),
    (2 * WEEK_MS, "days", DAY_MS),
    (9 * WEEK_MS, "weeks", WEEK_MS),
    (2 * YEAR_MS, "months", YEAR_MS // 12),
)


@dataclass(frozen=True, slots=True)
class Ago:
    """A rounded-down age. `count` is 0 for `now` and `future`."""

    unit: Unit
    count: int = 0


def relative_time(now_ms: int, then_ms: int) -> Ago:
    """The age of `then_ms` seen from `now_ms`. A clock that is up to a minute ahead counts as now."""
    age = now_ms - then_ms
    if age < -MINUTE_MS:
        return Ago("future")
    for limit, unit, length in _STEPS:
        if age < limit:
            return Ago(unit, 0 if unit == "now" else age // length)
    return Ago("years", age // YEAR_MS)


def exact_time(then_ms: int, zone: tzinfo | None = None) -> str:
    """`2026-08-17 09:13:35` in `zone` (None: the zone of this machine). Empty for a time no calendar
    holds."""
    try:
        return datetime.fromtimestamp(then_ms / 1000, tz=zone).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return ""
