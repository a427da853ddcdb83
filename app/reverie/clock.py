"""The clock as an argument, so that tests and `--now` can set the time.

Recorded times, and the ages that rules compare, come from a `Clock`: a function that returns UTC milliseconds
since the epoch. Leases use the real time, and time limits use the monotonic clock; neither goes through this
module.
"""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], int]

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


LATEST_MS = 8_640_000_000_000_000
"""The last moment that the agents' own dates can represent (ECMAScript's time range)."""


def is_time(value: object) -> bool:
    """Return whether `value` is an integer from 0 to `LATEST_MS`: a possible time in ms since the epoch.

    `LATEST_MS` is the last moment that the agents' own dates can represent. A boolean is no time.
    """
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LATEST_MS


def system_clock() -> int:
    """Return the current time in UTC milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def fixed_clock(now_ms: int) -> Clock:
    """Return a function that always returns `now_ms` (UTC ms since the epoch), for the option `--now`."""
    return lambda: now_ms
