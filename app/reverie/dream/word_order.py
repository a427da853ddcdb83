"""Whether two statements with the same words say the same, although the words come in another order.

Phrases move freely ("before merging, run the tests"); subject and object, the stations of a chain, and the
values of two things do not.

Pure.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations, pairwise

from reverie.dream import vocabulary as words
from reverie.dream.wording_parts import Wording

# Longer statements are not looked at word by word against word: they must come in the same order.
_LONG = 60
_Pairs = Sequence[tuple[int, int]]


def order_conflict(a: Wording, b: Wording, pairs: _Pairs) -> str:
    """What differs by the order of the words alone; `pairs` are the token numbers that were paired. Empty:
    nothing."""
    pairs = sorted(pairs)
    if len(pairs) > _LONG:
        is_moved = any(after < before for (_a, before), (_b, after) in pairwise(pairs))
        return "the order of many words" if is_moved else ""
    others = [other for number, other in pairs if a.tokens[number].kind != "weak"]
    if a.ordered and b.ordered and others != sorted(others):
        return "the order of a chain"
    if _agents_differ(a, b, pairs) if a.passive != b.passive else _exchanged(a, b, pairs):
        return "who does what"
    return "what belongs to what" if _regrouped(a, b, pairs) else ""


def _agents_differ(a: Wording, b: Wording, pairs: _Pairs) -> bool:
    """One is passive: who stands after "by" there must stand before the verb in the other one."""
    if b.passive:
        a, b, pairs = b, a, [(other, number) for number, other in pairs]
    agents = {thing for connector, thing in a.relations if connector in words.PASSIVE_BY}
    partner = dict(pairs)
    return any(
        a.tokens[number].canon in agents
        and number in partner
        and number - 1 in partner
        and partner[number] > partner[number - 1]
        for number in range(1, len(a.tokens))
    )


def _exchanged(a: Wording, b: Wording, pairs: _Pairs) -> bool:
    """Two words that have changed places around a third: subject and object. Moving whole phrases does not do
    that, and what follows the same preposition in both is neither."""
    count_a, count_b = Counter(token.canon for token in a.tokens), Counter(token.canon for token in b.tokens)
    # A word that stands there twice may have been paired crosswise.
    once = {
        number: other
        for number, other in pairs
        if count_a[a.tokens[number].canon] == 1 and count_b[b.tokens[other].canon] == 1
    }
    pairs = sorted(once.items())
    for at, (_number, first) in enumerate(pairs):
        for until in range(at + 2, len(pairs)):
            last = pairs[until][1]
            between = any(last < middle < first for _number, middle in pairs[at + 1 : until])
            if between and _play_roles(a, b, pairs[at], pairs[until]):
                return True
    return False


def _play_roles(a: Wording, b: Wording, first: tuple[int, int], last: tuple[int, int]) -> bool:
    """Whether two words can be subject and object, or two values that belong to what stands beside them."""
    one, other = a.tokens[first[0]], a.tokens[last[0]]
    if one.kind == other.kind == "number":
        return True
    adverbial = {thing for _connector, thing in _adverbial(a) & _adverbial(b)}
    if any(token.kind in ("weak", "number") or token.canon in adverbial for token in (one, other)):
        return False
    # German may put an adverb first; only nouns, which have capitals there, are subject or object.
    is_german = not words.GERMAN_ARTICLES.isdisjoint(a.seen & b.seen)
    return not is_german or all(a.tokens[x].capital and b.tokens[y].capital for x, y in (first, last))


def _adverbial(wording: Wording) -> set[tuple[str, str]]:
    """What stands behind a preposition, with it."""
    return {(connector.rstrip("+"), thing) for connector, thing in wording.relations}


def _regrouped(a: Wording, b: Wording, pairs: _Pairs) -> bool:
    """Two values exchanged: of two clauses each gave a part to the other, or a number has got other
    neighbours."""
    others = [other for _number, other in pairs]
    if others == sorted(others):
        return False
    count_a, count_b = Counter(token.canon for token in a.tokens), Counter(token.canon for token in b.tokens)
    homes: dict[int, set[int]] = defaultdict(set)
    for number, other in pairs:
        token = a.tokens[number]
        if token.kind != "weak" and count_a[token.canon] == 1 and count_b[b.tokens[other].canon] == 1:
            homes[a.clauses[number]].add(b.clauses[other])
    if any(len(one & other) > 1 for one, other in combinations(homes.values(), 2)):
        return True
    return any(
        a.tokens[number].kind == "number"
        and _passes_number(a, pairs, number, other)
        and not _neighbours(a, number) & _neighbours(b, other)
        for number, other in pairs
    )


def _passes_number(a: Wording, pairs: _Pairs, number: int, other: int) -> bool:
    return any(
        a.tokens[before].kind == "number" and (other > after) != (number > before)
        for before, after in pairs
        if before != number
    )


def _neighbours(wording: Wording, number: int) -> set[str]:
    beside = (number - 1, number + 1)
    return {wording.tokens[each].canon for each in beside if 0 <= each < len(wording.tokens)}
