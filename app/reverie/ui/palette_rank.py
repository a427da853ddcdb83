"""How well a line fits what a person typed into the palette. Pure.

What begins with it, or has a word that does, comes before what holds it; initials ("cn" for "Consolidate
now") and slips of the finger count too, after what is literal. Slips are looked for in so many lines only:
among a hundred thousand names the literal ones come at once, and that is what a name is typed for.

Loaded late: it brings `rapidfuzz`.
"""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz import fuzz

MOST_FUZZY = 3_000
_SHORTEST_FUZZY = 3
_CLOSE = 78.0


WORD_PREFIX = 180.0
"""The least score of a line that begins with what was typed, or has a word that does."""
LITERAL = 140.0
"""The least score of a line that holds what was typed."""
INITIALS = 130.0
"""The score of a line whose initials were typed; what scores less is a guess."""


def fit(typed: str, line: str, *, fuzzy: bool = True) -> float:
    """0: not at all; else the larger, the better. `typed` and `line` are casefolded."""
    if not typed:
        return 1.0
    at = line.find(typed)
    if at == 0:
        return 200.0
    if at > 0:
        begins_word = any(word.startswith(typed) for word in _parts(line)) or not line[at - 1].isalnum()
        return WORD_PREFIX if begins_word else 150.0
    words = typed.split()
    if len(words) > 1 and all(word in line for word in words):
        return LITERAL
    if not fuzzy:
        return 0.0
    if " " not in typed and "".join(part[0] for part in _parts(line)).startswith(typed):
        return INITIALS
    if len(typed) < _SHORTEST_FUZZY:
        return 0.0
    return fuzz.partial_ratio(typed, line, score_cutoff=_CLOSE)


def _parts(line: str) -> list[str]:
    return "".join(letter if letter.isalnum() else " " for letter in line).split()


def ranked(typed: str, lines: Sequence[str]) -> list[tuple[float, int]]:
    """Score and place of every line that fits, best first; equal ones stay in order.

    `lines` are casefolded.
    """
    wanted = " ".join(typed.casefold().split())
    fuzzy = len(lines) <= MOST_FUZZY
    found = [(score, place) for place, line in enumerate(lines) if (score := fit(wanted, line, fuzzy=fuzzy))]
    found.sort(key=lambda each: (-each[0], len(lines[each[1]]) if wanted else 0, each[1]))
    return found


def best(typed: str, lines: Sequence[str], limit: int) -> list[int]:
    """The places of the `limit` lines that fit best, best first."""
    return [place for _score, place in ranked(typed, lines)[:limit]]
