"""Counts as sentences say them. Pure functions."""

from __future__ import annotations


def some(count: int, word: str) -> str:
    """`1 turn`, `2 turns`, `1,000 directories`."""
    if count == 1:
        return f"1 {word}"
    return f"{count:,} {word[:-1]}ies" if word.endswith("ry") else f"{count:,} {word}s"
