"""The pairing of two notes' statements that say the same, and the conflicts between paired statements.

Each statement of the smaller note is paired with its best partner, best pairs first; the rest of a longer
statement may be paired with further statements of the other note. If an unpaired statement shares its context
with an unpaired one of the other note, the two are reported as a near miss, because this is typical of a
changed value.

Conflicts are vetoes against a merge: they name line numbers and kinds of differences and never quote a note,
because reasons are logged.

Pure. The work is limited by a small number of candidates per statement, which are found through common words.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import combinations, pairwise

from reverie.jobs.consolidate.rules.reading import Statement
from reverie.jobs.consolidate.rules.wording import (
    ANTONYM_PREFIXES,
    ENVIRONMENT_MARKERS,
    GERMAN_ARTICLES,
    LOADED_HEADINGS,
    MARKS,
    NEGATIONS_CLAUSE,
    NEGATIONS_FORWARD,
    OPPOSITE_RELATIONS,
    PASSIVE_BY,
    PRESENT_WORDS,
    RELATIONS,
    STRONG_MODALS,
    WEAK_MODALS,
    Negation,
    Wording,
    WordToken,
    excludes,
    excluding_words,
    read_wording,
)
from reverie.values import Struct, field

# Two statements of at least this similarity say the same, unless there is a veto.
SAME = 0.5
# A statement counts as kept by the other note if this share of it is found there.
COVERED = 0.6
# The share of a statement that must be in a longer statement of the other note to count as part of it.
CONTAINED = 0.75
# Unpaired statements that share this part of their context are about the same thing.
SAME_CONTEXT = 0.5
_CANDIDATES = 4
_COMMON = 40
_PARTNERS = 3
# With more pairs of words than this, misspelt words are not searched for.
_FUZZY_PAIRS = 2500
_VALUE_KINDS = ("number", "identifier", "name")


class WordingMatch(Struct, frozen=True):
    """The tokens that two statements share."""

    pairs: tuple[tuple[int, int], ...]
    """Pairs of token numbers: of the first and of the second statement."""
    weight: float
    """The weight of the common tokens."""
    dice: float
    """Twice that weight, divided by the weight of both statements (0 to 1)."""


class StatementLink(Struct):
    """A pair of statements, by number: `small` in the smaller note and `large` in the other one."""

    small: int
    large: int
    match: WordingMatch


class Alignment(Struct):
    """The pairs of statements of two notes."""

    links: list[StatementLink] = field(default_factory=list)
    near_misses: list[StatementLink] = field(default_factory=list)
    """Pairs of unpaired statements with the same context."""
    small_left: dict[int, set[int]] = field(default_factory=dict)
    """Statement number -> the numbers of its tokens that no link covers."""
    large_left: dict[int, set[int]] = field(default_factory=dict)
    kept: set[int] = field(default_factory=set)
    """The numbers of the smaller note's statements that the other note has."""
    score: float = 0.0
    """The share of the smaller note, by weight, that the statements in `kept` make up."""


def match_wordings(
    small: Wording, large: Wording, taken_small: Collection[int] = (), taken_large: Collection[int] = ()
) -> WordingMatch:
    """Return the tokens that two statements share.

    Two tokens match if they are equal, equal except for a missing unit or year, or the same word misspelt.
    `taken_small` and `taken_large` are numbers of tokens that have a partner already.
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
    return WordingMatch(tuple(pairs), weight, 2 * weight / total if total else 0.0)


def _compatible(a: WordToken, b: WordToken) -> bool:
    return a.unit == b.unit or not a.unit or not b.unit


def _pair_alike(
    small: Wording, large: Wording, pairs: list[tuple[int, int]], used_small: set[int], used_large: set[int]
) -> None:
    """Add pairs of misspelt words and of compounds to `pairs`."""
    used_small |= {a for a, _b in pairs}
    used_large |= {b for _a, b in pairs}
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
    """Return whether two words may be the same word, inflected or misspelt.

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
    """Return the edit distance; an exchange of two neighbouring letters counts as one edit."""
    from rapidfuzz.distance import OSA

    return OSA.distance(a, b)


def _is_compound(whole: WordToken, tokens: Sequence[WordToken], at: int, used: set[int]) -> bool:
    """Return whether a word equals two consecutive tokens, from `at` on, written as one word."""
    return (
        at + 1 < len(tokens)
        and at + 1 not in used
        and len(whole.canon) >= 6
        and whole.kind != "number"
        and whole.canon == tokens[at].canon + tokens[at + 1].canon
    )


def align(small: Sequence[Statement], large: Sequence[Statement], check: Callable[[], None]) -> Alignment:
    """Pair the statements of two notes.

    `small` is the lighter note, or the one to be deleted.
    """
    return _Aligner(small, large, check).run()


class _Aligner:
    """The algorithm of `align`."""

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
        """Pair statements with the same tokens; first those in the same section.

        In two long notes, most statements are paired in this way.
        """
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
                    match = WordingMatch(everything, statement.wording.weight, 1.0)
                    self._link(StatementLink(number, found.pop(), match))

    def _candidates(self) -> list[StatementLink]:
        """Return links from each unpaired statement to the few others that share most tokens with it."""
        where: dict[str, list[int]] = defaultdict(list)
        for number, statement in enumerate(self._large):
            for canon in statement.wording.canons:
                where[canon].append(number)
        links: list[StatementLink] = []
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
                    links.append(StatementLink(number, other, match))
        return links

    def _link(self, link: StatementLink) -> None:
        self._found.links.append(link)
        self._partners_small[link.small].add(link.large)
        self._partners_large[link.large].add(link.small)
        self._small_seen[link.small] |= {a for a, _b in link.match.pairs}
        self._large_seen[link.large] |= {b for _a, b in link.match.pairs}

    def _extend(self, link: StatementLink) -> None:
        """Pair one long statement with several short ones, in either direction."""
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
            self._link(StatementLink(link.small, link.large, fresh))

    def _near_misses(self, candidates: Iterable[StatementLink]) -> None:
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
        """Return the alignment with the tokens left over, the kept statements and the score."""
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


def _is_value(token: WordToken) -> bool:
    return token.kind in _VALUE_KINDS


def _context(wording: Wording) -> float:
    return sum(token.weight for token in wording.tokens if not _is_value(token))


def _best(shared: Counter[int]) -> list[int]:
    return [
        other for other, _count in sorted(shared.items(), key=lambda item: (-item[1], item[0]))[:_CANDIDATES]
    ]


# The words of longer statements are not compared one by one: they must have the same order.
_LONG = 60
_Pairs = Sequence[tuple[int, int]]


def order_conflict(a: Wording, b: Wording, pairs: _Pairs) -> str:
    """Return a difference in meaning that results from the order of the words; empty if there is none.

    Phrases can move freely ("before merging, run the tests"); but subject and object, the steps of a chain,
    or the values of two things cannot change places. `pairs` are the numbers of matching tokens.
    """
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
    """Return whether an active and a passive statement have different agents.

    They have the same agent if the word after "by" in the passive one is before the verb in the active one.
    """
    if b.passive:
        a, b, pairs = b, a, [(other, number) for number, other in pairs]
    agents = {thing for connector, thing in a.relations if connector in PASSIVE_BY}
    partner = dict(pairs)
    return any(
        a.tokens[number].canon in agents
        and number in partner
        and number - 1 in partner
        and partner[number] > partner[number - 1]
        for number in range(1, len(a.tokens))
    )


def _exchanged(a: Wording, b: Wording, pairs: _Pairs) -> bool:
    """Return whether two words have changed places around a third one, as subject and object.

    If only whole phrases were moved, the result is False. Words after the same preposition in both statements
    do not count.
    """
    count_a, count_b = Counter(token.canon for token in a.tokens), Counter(token.canon for token in b.tokens)
    # A word that occurs twice may have been paired crosswise.
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
    """Return whether two words can be subject and object, or values that belong to the words beside them."""
    one, other = a.tokens[first[0]], a.tokens[last[0]]
    if one.kind == other.kind == "number":
        return True
    adverbial = {thing for _connector, thing in _adverbial(a) & _adverbial(b)}
    if any(token.kind in ("weak", "number") or token.canon in adverbial for token in (one, other)):
        return False
    # German may put an adverb first; only nouns, which have capitals in German, are subject or object.
    is_german = not GERMAN_ARTICLES.isdisjoint(a.seen & b.seen)
    return not is_german or all(a.tokens[x].capital and b.tokens[y].capital for x, y in (first, last))


def _adverbial(wording: Wording) -> set[tuple[str, str]]:
    """Return the pairs of a preposition and its object in a statement."""
    return {(connector.rstrip("+"), thing) for connector, thing in wording.relations}


def _regrouped(a: Wording, b: Wording, pairs: _Pairs) -> bool:
    """Return whether values were exchanged between two clauses, or a number has other neighbours."""
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
        and any(
            a.tokens[before].kind == "number" and (other > after) != (number > before)
            for before, after in pairs
            if before != number
        )
        and not _neighbours(a, number) & _neighbours(b, other)
        for number, other in pairs
    )


def _neighbours(wording: Wording, number: int) -> set[str]:
    beside = (number - 1, number + 1)
    return {wording.tokens[each].canon for each in beside if 0 <= each < len(wording.tokens)}


_LOADED = LOADED_HEADINGS | NEGATIONS_FORWARD | NEGATIONS_CLAUSE | ENVIRONMENT_MARKERS.keys()
# A key whose value has more words than this belongs to a sentence, not to a setting.
_SHORT_VALUE = 6
_EXCLUDED = "words that exclude each other"


def statement_conflicts(
    small: Sequence[Statement], large: Sequence[Statement], found: Alignment, check: Callable[[], None]
) -> Iterator[str]:
    """Yield the contradictions between paired or nearly paired statements of two notes."""
    pairing = _Pairing(small, large, found)
    for link in (*found.links, *found.near_misses):
        check()
        difference = pairing.difference(link)
        if difference:
            a, b = small[link.small], large[link.large]
            yield f"lines {a.line} and {b.line} differ in {difference}"
    yield from pairing.steps()
    yield from pairing.pronouns()
    yield from _keys(small, large)
    yield from _tables(small, large)


class _Pairing:
    """The statements of two notes with partners; `a` is always of the smaller note, `b` of the other."""

    def __init__(self, small: Sequence[Statement], large: Sequence[Statement], found: Alignment) -> None:
        self._small, self._large, self._found = small, large, found
        self._of_small: dict[int, set[int]] = defaultdict(set)
        self._of_large: dict[int, set[int]] = defaultdict(set)
        for link in found.links:
            self._of_small[link.small].add(link.large)
            self._of_large[link.large].add(link.small)

    def difference(self, link: StatementLink) -> str:
        """Return the kind of difference between two statements; empty if they say the same."""
        a, b = self._small[link.small], self._large[link.large]
        if a.state and b.state and a.state != b.state:
            return "what is done"
        if a.wording == b.wording:
            return _place(a, b)
        if a.kind == b.kind == "code":
            return "a command or line of code"
        return (
            self._values(link)
            or self._exclusions(link)
            or _polarity(a.wording, b.wording, link)
            or _relations(a.wording, b.wording)
            or order_conflict(a.wording, b.wording, link.match.pairs)
            or self._content(link)
            or self._marks(link)
            or _tense(a.wording, b.wording)
            or _place(a, b)
        )

    def _left(self, link: StatementLink) -> tuple[list[WordToken], list[WordToken]]:
        """Return the tokens of each statement that have no partner in any link."""
        of_a, of_b = self._small[link.small].wording.tokens, self._large[link.large].wording.tokens
        left_a, left_b = self._found.small_left[link.small], self._found.large_left[link.large]
        return [of_a[each] for each in sorted(left_a)], [of_b[each] for each in sorted(left_b)]

    def _values(self, link: StatementLink) -> str:
        """Return the kind of value that differs (numbers, identifiers or names); empty if none does."""
        left_a, left_b = self._left(link)
        if _both(left_a, left_b, _is_number, _is_one):
            return "a number or date"
        if _both(left_a, left_b, _is_identifier):
            return "an identifier"
        return "a name" if _both(left_a, left_b, _is_name, _may_be_name) else ""

    def _exclusions(self, link: StatementLink) -> str:
        """Return a difference if the statements have words that exclude each other; else empty."""
        a, b = self._small[link.small].wording, self._large[link.large].wording
        is_only = len(self._of_small[link.small]) <= 1 and len(self._of_large[link.large]) <= 1
        if excludes(a.seen, b.seen, strict=is_only):
            return _EXCLUDED
        left_a, left_b = (
            {token.canon for token in left if token.kind in ("word", "weak")} for left in self._left(link)
        )
        for prefix in ANTONYM_PREFIXES:
            if any(prefix + each in left_b for each in left_a) or any(
                prefix + each in left_a for each in left_b
            ):
                return _EXCLUDED
        return ""

    def _content(self, link: StatementLink) -> str:
        """Return a difference if each statement says something more, or has another word in the same place.

        Else empty.
        """
        a, b = self._small[link.small].wording, self._large[link.large].wording
        more_a, more_b = (any(token.kind != "weak" for token in left) for left in self._left(link))
        for number, other in link.match.pairs:
            more_a = more_a or bool(a.tokens[number].unit and not b.tokens[other].unit)
            more_b = more_b or bool(b.tokens[other].unit and not a.tokens[number].unit)
        if more_a and more_b:
            return "what they say"
        left_a, left_b = self._found.small_left[link.small], self._found.large_left[link.large]
        return "a word in the same place" if substituted(a, b, left_a, left_b) else ""

    def _marks(self, link: StatementLink) -> str:
        """Return a difference in questions, doubts, times or obligations; empty if both statements agree."""
        a, b = self._small[link.small].wording, self._large[link.large].wording
        of_partners_a = frozenset[str]().union(
            *(self._large[each].wording.marks for each in self._of_small[link.small])
        )
        of_partners_b = frozenset[str]().union(
            *(self._small[each].wording.marks for each in self._of_large[link.large])
        )
        extra = sorted((a.marks - of_partners_a - b.marks) | (b.marks - of_partners_b - a.marks))
        if extra:
            return MARKS[extra[0].split()[0]]
        return (
            "whether something is required or allowed" if _modals_differ(a, b) or _modals_differ(b, a) else ""
        )

    def steps(self) -> Iterator[str]:
        """Yield a conflict if the numbered steps of the notes are in a different order."""
        lines = sorted(
            (self._small[link.small].line, self._large[link.large].line)
            for link in self._found.links
            if self._small[link.small].ordered and self._large[link.large].ordered
        )
        if any(before[1] > after[1] for before, after in pairwise(lines) if before[0] < after[0]):
            yield "numbered steps come in another order"

    def pronouns(self) -> Iterator[str]:
        """Yield conflicts: paired statements that both begin with a pronoun but follow different statements.

        A pronoun such as "it" then refers to different things.
        """
        for link in self._found.links:
            a, b = self._small[link.small], self._large[link.large]
            if a.anaphoric and b.anaphoric and link.small and link.large:
                before = self._of_small[link.small - 1]
                if before and not before & {link.large - 1, link.large}:
                    yield f"lines {a.line} and {b.line} refer to different things"


def _both(
    a: Sequence[WordToken],
    b: Sequence[WordToken],
    is_sure: Callable[[WordToken], bool],
    may_be: Callable[[WordToken], bool] | None = None,
) -> bool:
    """Return whether one statement surely has such a token, and the other surely or possibly has another.

    `is_sure` and `may_be` test a single token.
    """
    may_be = may_be or is_sure
    sure_a, sure_b = any(map(is_sure, a)), any(map(is_sure, b))
    return (sure_a and (sure_b or any(map(may_be, b)))) or (sure_b and any(map(may_be, a)))


def _is_number(token: WordToken) -> bool:
    return token.kind == "number"


def _is_one(token: WordToken) -> bool:
    return token.canon == "#1"


def _is_identifier(token: WordToken) -> bool:
    return token.kind == "identifier"


def _is_name(token: WordToken) -> bool:
    return token.kind == "name"


def _may_be_name(token: WordToken) -> bool:
    return token.initial and token.kind == "word"


def _polarity(a: Wording, b: Wording, link: StatementLink) -> str:
    """Return "a negation" if one statement negates words that the other one does not; else empty.

    Negated words are the first word after the negation, or its whole clause.
    """
    if a.negative != b.negative:
        return "a negation"
    for one, other, pairs in (
        (a, b, link.match.pairs),
        (b, a, tuple((other, number) for number, other in link.match.pairs)),
    ):
        for group in one.negations:
            paired = sorted((number, mate) for number, mate in pairs if number in group.reach)
            opposite = {
                number for number, mate in paired if one.tokens[number].negated != other.tokens[mate].negated
            }
            first = next((number for number, _mate in paired if one.tokens[number].kind != "weak"), None)
            if (paired and len(opposite) == len(paired)) or (group.forward and first in opposite):
                return "a negation"
            if not paired and not other.negations and _is_predicate(one, group, pairs):
                return "a negation"
    return ""


def polarity_differs(a: Wording, b: Wording, match: WordingMatch) -> bool:
    """Return whether one statement negates what the other one says."""
    return bool(_polarity(a, b, StatementLink(0, 0, match)))


def _is_predicate(wording: Wording, negation: Negation, pairs: Sequence[tuple[int, int]]) -> bool:
    """Return whether the negation applies to something that both statements have ("flags are not supported").

    It does not if it is only a contrast in a clause of its own ("says why, not what").
    """
    clause = wording.clauses[negation.reach.start]
    return any(number < negation.reach.start and wording.clauses[number] == clause for number, _mate in pairs)


def _relations(a: Wording, b: Wording) -> str:
    """Return a difference in relations such as from and to, before and after; else empty.

    A difference is the same relation to another thing, or the opposite relation to the same thing.
    """
    shared = {each for each, _thing in a.relations} & {each for each, _thing in b.relations}
    for connector in shared & RELATIONS:
        of_a = {thing for each, thing in a.relations if each == connector}
        of_b = {thing for each, thing in b.relations if each == connector}
        if not of_a & of_b and (of_a & b.canons or of_b & a.canons):
            return "the target of a relation"
    for one, other in OPPOSITE_RELATIONS:
        for left, right in ((one, other), (other, one)):
            things = {thing for each, thing in a.relations if each in left}
            if things & {thing for each, thing in b.relations if each in right}:
                return "the direction of a relation"
    return ""


def substituted(
    a: Wording, b: Wording, left_a: set[int], left_b: set[int]
) -> list[tuple[WordToken, WordToken]]:
    """Return pairs of different words in the same place.

    Two weak words are not paired, and a weak and a strong word only if each is the only word in its place.
    `left_a` and `left_b` are the indexes of the tokens without a counterpart.
    """
    of_a, of_b = {a.tokens[each].canon for each in left_a}, {b.tokens[each].canon for each in left_b}
    pairs = []
    for start_a, end_a, start_b, end_b in _replaced(a, b):
        instead_a = [token for token in a.tokens[start_a:end_a] if token.canon in of_a]
        instead_b = [token for token in b.tokens[start_b:end_b] if token.canon in of_b]
        strong_a, strong_b = (any(token.kind != "weak" for token in each) for each in (instead_a, instead_b))
        is_one_to_one = end_a - start_a == end_b - start_b == 1
        if (
            instead_a
            and instead_b
            and ((strong_a and strong_b) or (is_one_to_one and (strong_a or strong_b)))
        ):
            pairs.append((max(instead_a, key=_weight), max(instead_b, key=_weight)))
    return pairs


def _weight(token: WordToken) -> float:
    return token.weight


def _replaced(a: Wording, b: Wording) -> Iterator[tuple[int, int, int, int]]:
    """Yield the ranges of tokens between equal tokens, if they are not empty in either statement.

    Each item is the start and end in `a`, then the start and end in `b`.
    """
    from rapidfuzz.distance import Levenshtein

    names: dict[str, int] = {}
    codes_a = [names.setdefault(token.canon, len(names)) for token in a.tokens]
    codes_b = [names.setdefault(token.canon, len(names)) for token in b.tokens]
    at_a = at_b = 0
    for block in Levenshtein.opcodes(codes_a, codes_b):
        if block.tag == "equal":
            if block.src_start > at_a and block.dest_start > at_b:
                yield at_a, block.src_start, at_b, block.dest_start
            at_a, at_b = block.src_end, block.dest_end
    if len(codes_a) > at_a and len(codes_b) > at_b:
        yield at_a, len(codes_a), at_b, len(codes_b)


def _modals_differ(a: Wording, b: Wording) -> bool:
    """Return whether one statement is an obligation and the other a permission.

    "must not" and "may not" mean the same.
    """
    return (
        not a.negations
        and not b.negations
        and not STRONG_MODALS.isdisjoint(a.seen)
        and not WEAK_MODALS.isdisjoint(b.seen)
        and WEAK_MODALS.isdisjoint(a.seen)
        and STRONG_MODALS.isdisjoint(b.seen)
    )


def _tense(a: Wording, b: Wording) -> str:
    present = b if a.past else a
    return "whether it is past or present" if a.past != b.past and present.seen & PRESENT_WORDS else ""


def _place(a: Statement, b: Statement) -> str:
    """Return a difference in the sections, or in the lines above, of two statements; else empty."""
    if _headings_differ(a.section, b.section):
        return "the section of the text"
    return "the heading or list item above" if _headings_differ(a.parent, b.parent) else ""


def _headings_differ(a: str, b: str) -> bool:
    if a.casefold() == b.casefold():
        return False
    of_a, of_b = read_wording(a), read_wording(b)
    if of_a.seen & _LOADED != of_b.seen & _LOADED:
        return True
    if not a or not b:
        return excluding_words(of_a.seen) != excluding_words(of_b.seen)
    return excludes(of_a.seen, of_b.seen) or match_wordings(of_a, of_b).dice < 0.3


def _keys(small: Sequence[Statement], large: Sequence[Statement]) -> Iterator[str]:
    """Yield a conflict for each key that both notes have once, with values that share nothing."""
    of_small, of_large = _unique_keys(small), _unique_keys(large)
    for key in of_small.keys() & of_large.keys():
        a, b = of_small[key], of_large[key]
        values_a, values_b = _values_under(a), _values_under(b)
        if values_a and values_b and max(len(values_a), len(values_b)) <= _SHORT_VALUE:
            pairs = match_wordings(a.wording, b.wording).pairs
            if not any(a.wording.tokens[number] in values_a for number, _other in pairs):
                yield f"lines {a.line} and {b.line} have different values for the same key"


def _unique_keys(statements: Sequence[Statement]) -> dict[frozenset[str], Statement]:
    found: dict[frozenset[str], Statement | None] = {}
    for statement in statements:
        if statement.key:
            found[statement.key] = None if statement.key in found else statement
    return {key: statement for key, statement in found.items() if statement is not None}


def _values_under(statement: Statement) -> list[WordToken]:
    return [
        token
        for token in statement.wording.tokens
        if token.canon not in statement.key and token.kind != "weak"
    ]


def _tables(small: Sequence[Statement], large: Sequence[Statement]) -> Iterator[str]:
    """Yield a conflict for tables with the same head if each lists something that the other lacks."""
    rows_small, rows_large = _rows(small), _rows(large)
    for head in rows_small.keys() & rows_large.keys():
        if rows_small[head] - rows_large[head] and rows_large[head] - rows_small[head]:
            yield "tables with the same head list different things"


def _rows(statements: Sequence[Statement]) -> dict[str, set[frozenset[str]]]:
    rows: dict[str, set[frozenset[str]]] = defaultdict(set)
    for statement in statements:
        if statement.table and statement.key:
            rows[statement.table].add(statement.key)
    return rows
