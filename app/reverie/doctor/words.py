"""Times and sizes as the findings say them. Pure."""

from __future__ import annotations

from reverie.clock import DAY_MS, HOUR_MS

MINUTE_MS = 60_000
_MIB = 1 << 20


def ago(now: int, then: int) -> str:
    """An age in the largest unit that fits."""
    age = now - then
    if age < -MINUTE_MS:
        return f"{_length(-age)} in the future"
    return "just now" if age < MINUTE_MS else f"{_length(age)} ago"


def _length(span: int) -> str:
    for unit, length in (("days", DAY_MS), ("hours", HOUR_MS), ("minutes", MINUTE_MS)):
        if span >= length:
            count = span // length
            return f"{count} {unit if count != 1 else unit[:-1]}"
    return "less than a minute"


def size(count: int) -> str:
    """Bytes, rounded down."""
    if count >= 1 << 30:
        return f"{count / (1 << 30):.1f} GiB"
    return f"{count / _MIB:.1f} MiB" if count >= _MIB else f"{count:,} bytes"
