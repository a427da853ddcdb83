"""The tokens that two statements share, and whether one statement negates the other.

Pure. `rapidfuzz` is loaded when misspelt words are looked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from reverie.jobs.consolidate.rules.wording import Negation, Wording, WordToken
from reverie.values import Struct

# With more pairs of words than this, misspelt words are not searched for.
_FUZZY_PAIRS = 2500


class WordingMatch(Struct, frozen=True):
    """The tokens (words, numbers and names) that two statements share."""

    pairs: tuple[tuple[int, int], ...]
    """Pairs of the number of a token in the first statement and of the equal one in the second."""
    weight: float
    """The weight of the common tokens."""


def match_wordings(a: Wording, b: Wording) -> WordingMatch:
    """Return the tokens that two statements share.

    Two tokens match if they are equal, equal except for a missing unit or year, or the same word misspelt.
    """
    free: dict[str, list[int]] = defaultdict(list)
    for number, token in enumerate(b.tokens):
        free[token.canon].append(number)
    pairs: list[tuple[int, int]] = []
    for number, token in enumerate(a.tokens):
        same = free.get(token.canon, ())
        found = next((each for each in same if _compatible(token, b.tokens[each])), None)
        if found is not None:
            free[token.canon].remove(found)
            pairs.append((number, found))
    if len(pairs) < min(len(a.tokens), len(b.tokens)):
        _pair_alike(a, b, pairs)
    return WordingMatch(tuple(pairs), sum(min(a.tokens[x].weight, b.tokens[y].weight) for x, y in pairs))


def _compatible(a: WordToken, b: WordToken) -> bool:
    return a.unit == b.unit or not a.unit or not b.unit


def _pair_alike(small: Wording, large: Wording, pairs: list[tuple[int, int]]) -> None:
    """Add to `pairs` the unpaired words that are equal except for spelling or for being written apart.

    A pair has the number of a token in `small` and of one in `large`.
    """
    used_small, used_large = {a for a, _b in pairs}, {b for _a, b in pairs}
    if (len(small.tokens) - len(used_small)) * (len(large.tokens) - len(used_large)) > _FUZZY_PAIRS:
        return
    for number, token in enumerate(small.tokens):
        if number in used_small:
            continue
        initial = token.canon[:1]
        for other, candidate in enumerate(large.tokens):
            if candidate.canon[:1] != initial or other in used_large:
                continue  # Similar words, and a compound and its first part, begin with the same letter.
            if _is_compound(token, large.tokens, other, used_large):
                pairs += [(number, other), (number, other + 1)]
                used_large |= {other, other + 1}
                break
            if _is_compound(candidate, small.tokens, number, used_small):
                pairs += [(number, other), (number + 1, other)]
                used_small.add(number + 1)
                used_large.add(other)
                break
            if _alike(token, candidate):
                pairs.append((number, other))
                used_large.add(other)
                break


def _alike(a: WordToken, b: WordToken) -> bool:
    """Return True if two words may be the same word, inflected or misspelt.

    Letters may be missing, or two may be exchanged. A different letter makes a different word. Names, numbers
    and identifiers are never similar.
    """
    if a.kind not in ("word", "weak") or b.kind not in ("word", "weak") or a.canon[:3] != b.canon[:3]:
        return False
    shorter, longer = sorted((a.canon, b.canon), key=len)
    if len(shorter) < 5 or len(longer) - len(shorter) > 2:
        return False
    if len(shorter) == len(longer):
        return sorted(shorter) == sorted(longer) and _distance(shorter, longer) == 1
    from rapidfuzz.distance import LCSseq

    return LCSseq.similarity(shorter, longer) == len(shorter)


def _distance(a: str, b: str) -> int:
    """Return the edit distance of two words; exchanging two neighbouring letters counts as one edit."""
    from rapidfuzz.distance import OSA

    return OSA.distance(a, b)


def _is_compound(whole: WordToken, tokens: Sequence[WordToken], at: int, used: set[int]) -> bool:
    """Return True if a word equals the tokens `at` and `at + 1`, written as one word.

    `used`: the numbers of tokens that are paired already.
    """
    return (
        at + 1 < len(tokens)
        and at + 1 not in used
        and len(whole.canon) >= 6
        and whole.kind != "number"
        and whole.canon == tokens[at].canon + tokens[at + 1].canon
    )


def polarity_differs(a: Wording, b: Wording, match: WordingMatch) -> bool:
    """Return True if one statement negates words that the other one affirms.

    Of the words that a negation applies to and that both statements have, the other one must affirm all or,
    if the negation comes before them, the first.
    """
    if a.negative != b.negative:
        return True
    for one, other, pairs in (
        (a, b, match.pairs),
        (b, a, tuple((other, number) for number, other in match.pairs)),
    ):
        for group in one.negations:
            paired = sorted((number, mate) for number, mate in pairs if number in group.reach)
            opposite = {
                number for number, mate in paired if one.tokens[number].negated != other.tokens[mate].negated
            }
            first = next((number for number, _mate in paired if one.tokens[number].kind != "weak"), None)
            if (paired and len(opposite) == len(paired)) or (group.forward and first in opposite):
                return True
            if not paired and not other.negations and _is_predicate(one, group, pairs):
                return True
    return False


def _is_predicate(wording: Wording, negation: Negation, pairs: Sequence[tuple[int, int]]) -> bool:
    """Return True if the negation applies to something that both statements have ("flags are not supported").

    It does not if it is only a contrast in a clause of its own ("says why, not what").
    """
    clause = wording.clauses[negation.reach.start]
    return any(number < negation.reach.start and wording.clauses[number] == clause for number, _mate in pairs)
