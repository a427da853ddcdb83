"""Which statements of two notes say the same: a one-to-many pairing of the smaller note's statements.

Each statement of the smaller note is paired with its best partner, best pairs first; what a longer statement
leaves over may be covered by further statements of the other side. What stays unpaired but shares its context
with something unpaired on the other side is reported as a near miss: that is where changed values hide.

Pure. Work is bounded by a small number of candidates per statement, found through shared words.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from reverie.dream.reading import Statement
from reverie.dream.wording_parts import Token, Wording

# A pair of statements with at least this much of both in common says the same, unless a veto speaks.
SAME = 0.5
# A statement counts as kept by the other note when this much of it is found there.
COVERED = 0.6
# A statement within a longer one of the other note: this much of it must be there.
CONTAINED = 0.75
# Unpaired statements with this much of their context in common are about the same thing.
SAME_CONTEXT = 0.5
_CANDIDATES = 4
_COMMON = 40
_PARTNERS = 3
# Beyond so many pairs of words misspelt ones are not looked for.
_FUZZY_PAIRS = 2500
_VALUE_KINDS = ("number", "identifier", "name")


@dataclass(frozen=True, slots=True)
class Match:
    """Tokens two statements share, as pairs of token numbers, with their weight."""

    pairs: tuple[tuple[int, int], ...]
    weight: float
    dice: float


@dataclass(slots=True)
class Link:
    """Statement `small` of the smaller note says the same as statement `large` of the other one."""

    small: int
    large: int
    match: Match


@dataclass(slots=True)
class Alignment:
    """`small_left`, `large_left`: token numbers by statement that no link covers; `near_misses`: unpaired
    statements that share their context; `score`: the share of the smaller note's weight found in statements
    that are kept."""

    links: list[Link] = field(default_factory=list)
    near_misses: list[Link] = field(default_factory=list)
    small_left: dict[int, set[int]] = field(default_factory=dict)
    large_left: dict[int, set[int]] = field(default_factory=dict)
    kept: set[int] = field(default_factory=set)
    score: float = 0.0


def match_wordings(
    small: Wording, large: Wording, taken_small: Collection[int] = (), taken_large: Collection[int] = ()
) -> Match:
    """The tokens two statements share: equal, equal but for a missing unit or year, or the same word
    misspelt.

    `taken_small` and `taken_large` are token numbers that have a partner already.
    """
    free: dict[str, list[int]] = defaultdict(list)
    for number, token in enumerate(large.tokens):
        if number not in taken_large:
            free[token.canon].append(number)
    pairs: list[tuple[int, int]] = []
    for number, token in enumerate(small.tokens):
        if number in taken_small:
            continue
        found = next(
            (each for each in free.get(token.canon, ()) if _compatible(token, large.tokens[each])), None
        )
        if found is not None:
            free[token.canon].remove(found)
            pairs.append((number, found))
    if len(pairs) < min(len(small.tokens) - len(taken_small), len(large.tokens) - len(taken_large)):
        _pair_alike(small, large, pairs, set(taken_small), set(taken_large))
    weight = sum(min(small.tokens[a].weight, large.tokens[b].weight) for a, b in pairs)
    total = small.weight + large.weight
    return Match(tuple(pairs), weight, 2 * weight / total if total else 0.0)


def _compatible(a: Token, b: Token) -> bool:
    return a.unit == b.unit or not a.unit or not b.unit


def _pair_alike(
    small: Wording, large: Wording, pairs: list[tuple[int, int]], used_small: set[int], used_large: set[int]
) -> None:
    used_small |= {a for a, _b in pairs}
    used_large |= {b for _a, b in pairs}
    if (len(small.tokens) - len(used_small)) * (len(large.tokens) - len(used_large)) > _FUZZY_PAIRS:
        return
    for number, token in enumerate(small.tokens):
        if number in used_small:
            continue
        for other, candidate in enumerate(large.tokens):
            if other in used_large:
                continue
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


def _alike(a: Token, b: Token) -> bool:
    """Whether two words may be one word, inflected or misspelt: letters missing or two of them exchanged.
    Another letter in the place of one makes another word; and names, numbers and identifiers are never
    alike."""
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
    """Edits with an exchange of neighbours counting as one."""
    from rapidfuzz.distance import OSA

    return OSA.distance(a, b)


def _is_compound(whole: Token, tokens: Sequence[Token], at: int, used: set[int]) -> bool:
    return (
        at + 1 < len(tokens)
        and at + 1 not in used
        and len(whole.canon) >= 6
        and whole.kind != "number"
        and whole.canon == tokens[at].canon + tokens[at + 1].canon
    )


def align(small: Sequence[Statement], large: Sequence[Statement], check: Callable[[], None]) -> Alignment:
    """Pair the statements of two notes; `small` is the one that would be deleted or is the lighter one."""
    return _Aligner(small, large, check).run()


class _Aligner:
    def __init__(
        self, small: Sequence[Statement], large: Sequence[Statement], check: Callable[[], None]
    ) -> None:
        self._small, self._large, self._check = small, large, check
        self._found = Alignment()
        self._small_seen: dict[int, set[int]] = defaultdict(set)
        self._large_seen: dict[int, set[int]] = defaultdict(set)
        self._partners_small: dict[int, set[int]] = defaultdict(set)
        self._partners_large: dict[int, set[int]] = defaultdict(set)

    def run(self) -> Alignment:
        self._pair_identical()
        candidates = self._candidates()
        for link in sorted(candidates, key=lambda link: (-link.match.dice, link.small, link.large)):
            if link.match.dice < SAME or link.small in self._small_seen or link.large in self._large_seen:
                continue
            self._link(link)
        for link in sorted(candidates, key=lambda link: (-link.match.weight, link.small, link.large)):
            self._check()
            self._extend(link)
        self._near_misses(candidates)
        return self._finish()

    def _pair_identical(self) -> None:
        """The bulk of two long notes: statements with the same tokens, those of the same section first."""
        for with_place in (True, False):
            where: dict[tuple[object, ...], list[int]] = defaultdict(list)
            for number in range(len(self._large) - 1, -1, -1):
                if number not in self._large_seen:
                    where[_identity(self._large[number], with_place)].append(number)
            for number, statement in enumerate(self._small):
                self._check()
                found = (
                    where.get(_identity(statement, with_place)) if number not in self._small_seen else None
                )
                if found:
                    everything = tuple((each, each) for each in range(len(statement.wording.tokens)))
                    match = Match(everything, statement.wording.weight, 1.0)
                    self._link(Link(number, found.pop(), match))

    def _candidates(self) -> list[Link]:
        """For each statement not yet paired the few others that share the most with it."""
        where: dict[str, list[int]] = defaultdict(list)
        for number, statement in enumerate(self._large):
            for canon in statement.wording.canons:
                where[canon].append(number)
        links: list[Link] = []
        for number, statement in enumerate(self._small):
            self._check()
            if number in self._small_seen:
                continue
            shared: Counter[int] = Counter()
            for canon in sorted(
                statement.wording.canons, key=lambda canon: (len(where.get(canon, ())), canon)
            )[:24]:
                for other in where.get(canon, ())[:_COMMON]:
                    shared[other] += 1
            for other in _best(shared):
                match = match_wordings(statement.wording, self._large[other].wording)
                if match.weight:
                    links.append(Link(number, other, match))
        return links

    def _link(self, link: Link) -> None:
        self._found.links.append(link)
        self._partners_small[link.small].add(link.large)
        self._partners_large[link.large].add(link.small)
        self._small_seen[link.small] |= {a for a, _b in link.match.pairs}
        self._large_seen[link.large] |= {b for _a, b in link.match.pairs}

    def _extend(self, link: Link) -> None:
        """Let one long statement be paired with several short ones, in either direction."""
        small, large = self._small[link.small].wording, self._large[link.large].wording
        seen_small, seen_large = (
            self._small_seen.get(link.small, set()),
            self._large_seen.get(link.large, set()),
        )
        if link.large in self._partners_small[link.small]:
            return
        fresh = match_wordings(small, large, seen_small, seen_large)
        if fresh.weight < 1.0:
            return
        if len(self._partners_small[link.small]) + len(self._partners_large[link.large]) > _PARTNERS:
            return
        contained = fresh.weight >= CONTAINED * small.weight and not seen_small
        contains = fresh.weight >= CONTAINED * large.weight and not seen_large
        if contained or contains:
            self._link(Link(link.small, link.large, fresh))

    def _near_misses(self, candidates: Iterable[Link]) -> None:
        for link in candidates:
            if link.small in self._small_seen:
                continue
            small, large = self._small[link.small].wording, self._large[link.large].wording
            shared = sum(
                small.tokens[a].weight for a, _b in link.match.pairs if not _is_value(small.tokens[a])
            )
            context = min(_context(small), _context(large))
            if shared >= SAME_CONTEXT * context:
                self._found.near_misses.append(link)

    def _finish(self) -> Alignment:
        found = self._found
        total = kept = 0.0
        for number, statement in enumerate(self._small):
            seen = self._small_seen.get(number, set())
            tokens = statement.wording.tokens
            found.small_left[number] = set(range(len(tokens))) - seen
            weight = sum(tokens[each].weight for each in seen)
            total += statement.wording.weight
            if weight >= COVERED * statement.wording.weight:
                kept += weight
                found.kept.add(number)
        for number, statement in enumerate(self._large):
            found.large_left[number] = set(range(len(statement.wording.tokens))) - self._large_seen.get(
                number, set()
            )
        found.score = kept / total if total else 0.0
        return found


def _identity(statement: Statement, with_place: bool) -> tuple[object, ...]:
    place = (statement.section.casefold(), statement.parent) if with_place else ()
    return (*place, *((token.canon, token.unit, token.negated) for token in statement.wording.tokens))


def _is_value(token: Token) -> bool:
    return token.kind in _VALUE_KINDS


def _context(wording: Wording) -> float:
    return sum(token.weight for token in wording.tokens if not _is_value(token))


def _best(shared: Counter[int]) -> list[int]:
    return [
        other for other, _count in sorted(shared.items(), key=lambda item: (-item[1], item[0]))[:_CANDIDATES]
    ]
