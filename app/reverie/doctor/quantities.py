"""Times and sizes as text for findings. Pure functions."""

from __future__ import annotations

from reverie.clock import DAY_MS, HOUR_MS
from reverie.text.summaries import Phrase, phrase, plural

MINUTE_MS = 60_000


_MIB = 1 << 20


def ago(now: int, then: int) -> Phrase:
    """Return how long ago the time `then` was at the time `now`, such as "3 minutes ago".

    Both times are in UTC ms. The largest fitting unit is used. A later time is "3 minutes in the future".
    """
    age = now - then
    if age < -MINUTE_MS:
        return phrase("{length} in the future", length=_length(-age))
    if age < MINUTE_MS:
        return phrase("just now")
    if age < HOUR_MS:
        return plural("1 minute ago", "%n minutes ago", age // MINUTE_MS)
    if age < DAY_MS:
        return plural("1 hour ago", "%n hours ago", age // HOUR_MS)
    return plural("1 day ago", "%n days ago", age // DAY_MS)


def _length(span: int) -> Phrase:
    if span < HOUR_MS:
        return plural("1 minute", "%n minutes", span // MINUTE_MS)
    if span < DAY_MS:
        return plural("1 hour", "%n hours", span // HOUR_MS)
    return plural("1 day", "%n days", span // DAY_MS)


def size(count: int) -> str:
    """Return a size of `count` bytes as text, such as "1.5 MiB"."""
    if count >= 1 << 30:
        return f"{count / (1 << 30):.1f} GiB"
    return f"{count / _MIB:.1f} MiB" if count >= _MIB else f"{count:,} bytes"
