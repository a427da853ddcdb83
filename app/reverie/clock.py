"""Time as an argument.

Recorded times and the ages that rules use come from a `Clock` (UTC milliseconds since the epoch), which
`--now` replaces. Leases use real time and limits monotonic time; neither goes through here.
"""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], int]

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


# The last moment that the agents' own dates can name (ECMAScript's time range).
LATEST_MS = 8_640_000_000_000_000


def is_time(value: object) -> bool:
    """Whether `value` is a moment since the epoch that every store and sidecar can hold."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LATEST_MS


def system_clock() -> int:
    """UTC milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def fixed_clock(now_ms: int) -> Clock:
    """A clock that always gives the same time, for `--now`."""
    return lambda: now_ms
