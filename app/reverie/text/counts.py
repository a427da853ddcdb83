"""Counts as sentences say them. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

_NAMED_AT_MOST = 3


def some(count: int, word: str) -> str:
    """`1 turn`, `2 turns`, `1,000 directories`."""
    if count == 1:
        return f"1 {word}"
    return f"{count:,} {word[:-1]}ies" if word.endswith("ry") else f"{count:,} {word}s"


def left_as_before(count: int) -> str:
    """`left as it is` of one thing, `left as they are` of several."""
    return "left as it is" if count == 1 else "left as they are"


def was_left(count: int) -> str:
    """`was left as it is` of one thing, `were left as they are` of several."""
    return f"{'was' if count == 1 else 'were'} {left_as_before(count)}"


def with_write_protected(summary: str, paths: Sequence[str]) -> str:
    """The summary of a run, and which files it left alone because nobody may write them."""
    if not paths:
        return summary
    names = ", ".join(paths[:_NAMED_AT_MOST]) + (", …" if len(paths) > _NAMED_AT_MOST else "")
    return f"{summary} {left_as_before(len(paths)).capitalize()}, because write-protected: {names}."
