"""Ranks the lines of the palette by how well they match the typed text.

Threading: any thread. Failure: none.
"""

from __future__ import annotations

from collections.abc import Sequence

MOST_FUZZY = 3_000


_SHORTEST_FUZZY = 3


_CLOSE = 78.0


WORD_PREFIX = 180.0
"""The lowest score of a line that begins with the typed text or has a word that does."""


LITERAL = 140.0
"""The lowest score of a line that contains the typed text."""


INITIALS = 130.0
"""The score of a line whose initials were typed; lower scores are guesses."""


def fit(typed: str, line: str, *, fuzzy: bool = True) -> float:
    """Return how well a line matches the typed text; higher is better, 0 means no match.

    From best to worst: the line starts with the typed text, a word of the line does, the line contains the
    typed text, or it contains all typed words. With `fuzzy`, initials ("cn" for "Consolidate now") and, with
    the lowest scores, typing errors match as well. `typed` and `line` must be casefolded.
    """
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
    from rapidfuzz import fuzz  # late: many modules, needed only once something is typed

    return fuzz.partial_ratio(typed, line, score_cutoff=_CLOSE)


def _parts(line: str) -> list[str]:
    return "".join(letter if letter.isalnum() else " " for letter in line).split()


def ranked(typed: str, lines: Sequence[str]) -> list[tuple[float, int]]:
    """Return (score, index) for every line that matches `typed`, best first.

    Of lines with equal scores, shorter ones come first; if `typed` is empty, all lines match and keep their
    order. `lines` must be casefolded. Initials and typing errors match only if there are at most `MOST_FUZZY`
    lines.
    """
    wanted = " ".join(typed.casefold().split())
    fuzzy = len(lines) <= MOST_FUZZY
    found = [(score, place) for place, line in enumerate(lines) if (score := fit(wanted, line, fuzzy=fuzzy))]
    found.sort(key=lambda each: (-each[0], len(lines[each[1]]) if wanted else 0, each[1]))
    return found
