"""Lengths as the agents count them: UTF-16 code units, and tokens estimated from those. Pure functions."""

from __future__ import annotations

_UNITS_PER_TOKEN = 4
_LAST_OF_ONE_UNIT = "\uffff"


def utf16_length(text: str) -> int:
    """UTF-16 code units of `text`; JavaScript's `length`."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut_utf16(text: str, units: int) -> str:
    """The longest beginning of `text` of at most `units` code units that splits no character."""
    if utf16_length(text) <= units:
        return text
    used = 0
    for end, character in enumerate(text):
        used += 1 if character <= _LAST_OF_ONE_UNIT else 2
        if used > units:
            return text[:end]
    return text


def estimate_tokens(text: str) -> int:
    """Tokens where no provider counts them: a quarter of the code units, rounded up (design.md section 5)."""
    return -(-utf16_length(text) // _UNITS_PER_TOKEN)
