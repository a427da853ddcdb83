"""The relation of two texts: the statements that both have, and those in which they differ.

`TextIndex` finds among many texts the pairs that may have a relation, by the words that few texts have.
`compare` compares two texts statement by statement, with the comparison of facts that the report card uses.
Merging, findings and duplicates are based on both.

Pure: no clock, no disk; the result does not depend on the order of the texts. `check` is called for each text
or statement and may raise to stop.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import combinations
from typing import Literal

from reverie.jobs.consolidate.facts import Compared, Fact, FactIndex, FactMatcher, are_excluding, read_facts
from reverie.jobs.consolidate.rules.reading import CONTRADICTION, name_words
from reverie.jobs.consolidate.rules.wording import (
    ENTITY_FOLDERS,
    ENVIRONMENTS,
    FILLER_NAME_WORDS,
    NEGATIONS_CLAUSE,
    NEGATIONS_FORWARD,
    PLACEHOLDERS,
    PRESENT_WORDS,
    PRODUCTS,
    STATUS_MARKERS,
    STRONG_MODALS,
    WEAK_MODALS,
    Wording,
    excludes,
    read_wording,
    word,
)
from reverie.memory.front_matter_rules import block_of
from reverie.memory.listing import no_check
from reverie.runs.card import What
from reverie.text.patterns import pattern_of
from reverie.values import Struct

RelationKind = Literal["exact", "contained", "overlapping", "differs", "unrelated"]
"""The relation of two texts.

- `exact`: the bodies are equal except for white space
- `contained`: one has every statement of the other, unchanged and in the same order
- `overlapping`: one has much of what the other states, perhaps in other words
- `differs`: they state different things about the same, such as another number
- `unrelated`: none of these
"""


_WORD = pattern_of(r"[^\W_]+")
UNSPACED = pattern_of("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
STEM = 7
_LOADED = NEGATIONS_FORWARD | NEGATIONS_CLAUSE


def terms_of(text: str) -> Iterator[str]:
    """Yield the first letters of each word of a text; in scripts without spaces, pairs of characters."""
    for found in _WORD.findall(text.casefold()):
        if found.isascii() or not UNSPACED.search(found):
            if len(found) > 1:
                yield found[:STEM]
        else:
            yield from (found[at : at + 2] for at in range(max(1, len(found) - 1)))


# Up to this number of texts, all pairs are compared.
_FEW = 24
# The number of a text's characteristic words by which similar texts are found.
_LEADING = 60
_LEAST_SHARED = 3
# A word in more texts than this pairs only texts that are neighbours in an order in which similar texts are
# next to each other.
_RARE = 12
_NEIGHBOURS = 4
# A word in more texts than this, or than a twelfth of many texts, finds no pairs.
_CROWD = 40
# The least similarity of two texts that are compared, or the least share of the smaller one's words.
_SIMILAR = 0.45
_COVERED = 0.7


class TextIndex:
    """The words of many texts with their weights; rare words weigh most."""

    def __init__(self, texts: Iterable[str], check: Callable[[], None] = no_check) -> None:
        counted = []
        for text in texts:
            check()
            counted.append(Counter(terms_of(text)))
        self._check = check
        self.known_by: Counter[str] = Counter()
        for terms in counted:
            self.known_by.update(terms.keys())
        total = len(counted)
        self.rarity = {term: math.log(1 + total / count) for term, count in self.known_by.items()}
        self.sizes = [len(terms) for terms in counted]
        self._vectors = [self.vector(terms) for terms in counted]
        self._weights = [sum(map(self.rarity.__getitem__, terms)) for terms in counted]

    def vector(self, terms: Mapping[str, int]) -> dict[str, float]:
        """Return the weight of each word of a text, so that the sum of the squares of the weights is 1.

        `terms`: the words of the text, and how often each occurs.
        """
        weights = {term: (1 + math.log(count)) * self.rarity[term] for term, count in terms.items()}
        length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        return {term: weight / length for term, weight in weights.items()}

    def similarity(self, one: int, other: int, without: Collection[str] = ()) -> float:
        """Return the cosine similarity of two texts, 0 to 1, given by their numbers.

        Words in `without` are ignored.
        """
        a, b = self._vectors[one], self._vectors[other]
        if len(a) > len(b):
            a, b = b, a
        return sum(weight * b[term] for term, weight in a.items() if term in b and term not in without)

    def share(self, one: int, other: int) -> float:
        """Return the share of the words of one text, by weight, that the other text has, 0 to 1.

        The share is that of the text with fewer words. `one`, `other`: the numbers of the texts.
        """
        small, large = sorted((one, other), key=lambda number: (self.sizes[number], number))
        there = self._vectors[large]
        shared = sum(self.rarity[term] for term in self._vectors[small] if term in there)
        return shared / self._weights[small] if self._weights[small] else 0.0

    def pairs(self) -> list[tuple[int, int]]:
        """Return the pairs of numbers of texts that share at least three of their characteristic words.

        How many pairs there are grows with the number of texts, not with its square.
        """
        if len(self.sizes) <= _FEW:
            return list(combinations(range(len(self.sizes)), 2))
        leading = []
        crowd = max(_CROWD, len(self.sizes) // 12)
        for vector in self._vectors:
            self._check()
            known = ((weight, term) for term, weight in vector.items() if 1 < self.known_by[term] <= crowd)
            leading.append([term for _weight, term in heapq.nlargest(_LEADING, known)])
        # Texts with the same words share the words that are first by any order, so they become neighbours.
        first = [heapq.nsmallest(3, (term[::-1] for term in terms)) for terms in leading]
        where: dict[str, list[int]] = defaultdict(list)
        for number in sorted(range(len(leading)), key=lambda number: (first[number], number)):
            for term in leading[number]:
                where[term].append(number)
        shared: Counter[tuple[int, int]] = Counter()
        for numbers in where.values():
            self._check()
            if len(numbers) <= _RARE:
                shared.update(combinations(sorted(numbers), 2))
            else:
                for step in range(1, _NEIGHBOURS + 1):
                    shared.update(map(_ordered, numbers, numbers[step:]))
        return sorted(pair for pair, count in shared.items() if count >= _LEAST_SHARED)

    def related_pairs(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs of numbers of texts that are worth comparing statement by statement."""
        for one, other in self.pairs():
            if self.similarity(one, other) >= _SIMILAR or self.share(one, other) >= _COVERED:
                yield one, other


def _ordered(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)


def folded_body(text: str) -> str:
    """Return a text's body without blank lines, with each run of white space as one space."""
    block = block_of(text)
    body = text[block.body_start :] if block is not None else text
    return "\n".join(" ".join(line.split()) for line in body.split("\n") if line.strip())


class ComparedText:
    """A text to be compared with others; its parts are computed when they are first used."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.name, self.folders = name_words(path)

    @cached_property
    def body(self) -> str:
        """The body without blank lines and differences in white space."""
        return folded_body(self.text)

    @cached_property
    def facts(self) -> list[Fact]:
        """The statements and headings of the body."""
        facts = read_facts(self.path, self.text)
        return [fact for fact in facts if fact.kind not in ("key", "description")]

    @cached_property
    def by_key(self) -> dict[str, list[Fact]]:
        """The facts by their text without case and markup."""
        found: dict[str, list[Fact]] = defaultdict(list)
        for fact in self.facts:
            found[fact.key].append(fact)
        return found

    @cached_property
    def index(self) -> FactIndex:
        """The facts by their words."""
        return FactIndex(self.facts)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the text and of its path, uninflected and with one word for all synonyms."""
        return frozenset(map(word, (*self.name, *self.folders, *_WORD.findall(self.text.casefold()))))

    @property
    def weight(self) -> int:
        """The number of different words in the statements of the text."""
        return sum(map(_weight, self.facts))


def _weight(fact: Fact) -> int:
    return 1 + len(fact.starts) if fact.counts else 0


class Difference(Struct, frozen=True):
    """A difference of two texts: two statements about the same thing that cannot both be true.

    If the texts as a whole differ (in their subjects, or one of them is outdated), these are the facts that
    name their subjects. `what`: the kind of difference, such as "number".
    """

    first: Fact
    second: Fact
    what: What


class Relation(Struct, frozen=True):
    """The relation of two texts, with the statements that show it."""

    kind: RelationKind
    score: float
    """The share of the smaller text, by words, that the other one has (0 to 1)."""
    small: int = 0
    """Which text is the smaller one: 0 for the first, 1 for the second."""
    shared: tuple[tuple[Fact, Fact], ...] = ()
    """Pairs of statements with the same content: of the smaller text, and of the other one."""
    differences: tuple[Difference, ...] = ()

    @property
    def says_the_same(self) -> bool:
        """True if one text has much of the other one and they differ in nothing."""
        return self.kind in ("exact", "contained", "overlapping") and not self.differences

    @property
    def is_repetition(self) -> bool:
        """True if nothing would be lost without the smaller text."""
        return self.kind in ("exact", "contained") and not self.differences


# The least share of the smaller text that the other one must have.
_OVERLAPPING = 0.5
# A text of fewer words is in others by chance.
_LEAST_WEIGHT = 5


def compare(one: ComparedText, other: ComparedText, check: Callable[[], None] = no_check) -> Relation:
    """Compare two texts statement by statement; return their relation.

    `check` is called for each statement and may raise to stop.
    """
    texts = (one, other)
    number = min((0, 1), key=lambda each: (texts[each].weight, texts[each].body, texts[each].path))
    small, large = texts[number], texts[1 - number]
    differences = list(_differences_of_names(small, large))
    if small.body == large.body and not PLACEHOLDERS.issuperset(_WORD.findall(small.body.casefold())):
        pairs = tuple(zip(small.facts, large.facts, strict=False))
        return Relation("exact", 1.0, number, pairs, tuple(differences))
    shared, found = list[tuple[Fact, Fact]](), 0.0
    for fact in small.facts:
        check()
        partner, share, what = _partner(fact, large)
        if partner is not None and what:
            differences.append(Difference(fact, partner, what))
        elif partner is not None and fact.counts:
            shared.append((fact, partner))
        found += share * _weight(fact)
    score = found / small.weight if small.weight else 0.0
    kind: RelationKind = "unrelated"
    # A copy may have any name, but the name of a part may tell what the part is about.
    is_copy = small.weight == large.weight or not _own_words(small, large)
    if is_copy and small.weight >= _LEAST_WEIGHT and _has_all(large, small):
        kind = "contained"
    elif score >= _OVERLAPPING:
        kind = "differs" if differences else "overlapping"
    return Relation(kind, score, number, tuple(shared), tuple(differences))


def _partner(fact: Fact, large: ComparedText) -> tuple[Fact | None, float, What | Literal[""]]:
    """Return the statement of `large` that has most of `fact`, its share of the fact, and the difference.

    The statement is None if none is similar. The difference is empty if the meaning is the same.
    """
    same = large.by_key.get(fact.key)
    if same:
        return same[0], 1.0, "place" if all(_is_elsewhere(fact, each) for each in same) else ""
    matcher, candidates = FactMatcher(fact), large.index.like(fact)
    best = matcher.best(candidates)
    if best is None:
        is_split = matcher.is_split(candidates)
        return (candidates[0], 1.0, "") if is_split else (None, 0.0, "")
    if matcher.is_split(candidates):
        return best.fact, 1.0, ""
    return best.fact, best.compared.of_first, best.compared.what or _what(fact, best.fact, best.compared)


def _what(fact: Fact, other: Fact, compared: Compared) -> What | Literal[""]:
    """Return how two statements with the same words differ in meaning; empty if they do not.

    `compared`: the comparison of both.
    """
    a, b = fact.wording, other.wording
    if _STATE.findall(fact.text) != _STATE.findall(other.text):
        return "certainty"
    if a.marks != b.marks or (a.past != b.past and (a.seen | b.seen) & PRESENT_WORDS) or _modals_differ(a, b):
        return "certainty"
    if _is_elsewhere(fact, other):
        return "place"
    left = (compared.more_first, compared.more_second)
    if fact.counts and all(sum(token.kind != "weak" for token in more) == 1 for more in left):
        return "name"  # another word in the same place
    return "merged" if _are_exchanged(a, b) else ""


# Text that is struck out or commented out, and the box of a task.
_STATE = pattern_of(r"~~|<!--|^\[[ xX]\](?= )")


def _is_elsewhere(fact: Fact, other: Fact) -> bool:
    """Return True if the headings of two statements give them different meanings."""
    loaded = [read_wording(each.place).seen & _LOADED for each in (fact, other)]
    return loaded[0] != loaded[1] or are_excluding(fact.place, other.place)


def _modals_differ(a: Wording, b: Wording) -> bool:
    """Return True if one statement is an obligation and the other a permission."""
    if a.negations or b.negations:
        return False  # "must not" and "may not" mean the same.
    required, allowed = ([not words.isdisjoint(each.seen) for each in (a, b)] for words in _MODALS)
    return required != allowed and required[0] != required[1] and allowed[0] != allowed[1]


_MODALS = STRONG_MODALS, WEAK_MODALS


def _are_exchanged(a: Wording, b: Wording) -> bool:
    """Return True if two words of a statement have changed places in the other, such as subject and object.

    A phrase with a preposition that is only at another place does not count, and neither does an exchange of
    subject and object if only one of the statements is in the passive, because both then mean the same.
    """
    one, other = ([token.canon for token in each.tokens if token.kind != "weak"] for each in (a, b))
    if sorted(one) != sorted(other):
        return False
    places = [number for number, (here, there) in enumerate(zip(one, other, strict=True)) if here != there]
    if a.passive != b.passive or len(places) != 2:
        return a.passive != b.passive and not places
    free = {thing for _connector, thing in a.relations & b.relations}
    moved = [one[place] for place in places]
    objects = {thing for _connector, thing in a.relations} & {thing for _connector, thing in b.relations}
    relates = objects.issuperset(moved)
    is_near = places[1] == places[0] + 1 and not (a.ordered and b.ordered) and not relates
    return not is_near and free.isdisjoint(moved)


def _has_all(large: ComparedText, small: ComparedText) -> bool:
    """Return True if `large` has all lines of `small`, unchanged and in the same order.

    Lines under headings must be under the same ones.
    """
    rest = iter(large.facts)
    return bool(small.facts) and all(any(_is_same(fact, each) for each in rest) for fact in small.facts)


def _is_same(fact: Fact, other: Fact) -> bool:
    is_code = fact.kind == "code" or other.kind == "code"
    same = fact.text == other.text if is_code else fact.key == other.key
    return same and (not fact.place or fact.place.casefold() == other.place.casefold())


def _differences_of_names(one: ComparedText, other: ComparedText) -> Iterator[Difference]:
    """Yield a difference if two texts are about different things, or if only one calls a thing outdated."""
    if _names_differ(one, other):
        yield Difference(_named(one), _named(other), "name")
    outdated = [CONTRADICTION.search(each.text.replace("_", " ")) is not None for each in (one, other)]
    if outdated[0] != outdated[1]:
        yield Difference(_named(one), _named(other), "certainty")


def _names_differ(one: ComparedText, other: ComparedText) -> bool:
    """Return True if the names or headings of two texts show that the texts are about different things."""
    first, second = (frozenset((*each.name, *each.folders)) for each in (one, other))
    if excludes(first, second) or (first ^ second) & STATUS_MARKERS:
        return True
    if (one.words - other.words) & PRODUCTS and (other.words - one.words) & PRODUCTS:
        return True
    own, others = _own_words(one, other), _own_words(other, one)
    # "events-v2" is not "events", nor is "deploy-staging" "deploy"; "style-2" is a copy of "style".
    if not own or not others:
        return any(_VERSION.match(each) or each in ENVIRONMENTS for each in own | others)
    if one.name == other.name:
        return True  # two folders for different things
    shared = ({*one.name} & {*other.name}) - FILLER_NAME_WORDS
    are_named = bool(own.intersection(one.name) and others.intersection(other.name))
    in_series = one.folders == other.folders and not ENTITY_FOLDERS.isdisjoint(one.folders)
    are_numbered = any(map(_NUMBER.search, own)) and any(map(_NUMBER.search, others))
    return in_series or are_numbered or (are_named and bool(shared))


_VERSION = pattern_of(r"v\d")
_NUMBER = pattern_of(r"\d")


def _own_words(one: ComparedText, other: ComparedText) -> set[str]:
    """Return the words that name a subject in the path of `one` and that `other` does not have at all."""
    found = {each for each in (*one.name, *one.folders) if each not in FILLER_NAME_WORDS}
    return {each for each in found if word(each) not in other.words and (len(each) > 1 or not each.isascii())}


def _named(text: ComparedText) -> Fact:
    title = next((fact for fact in text.facts if fact.kind == "label"), None)
    return title or Fact(text.path, 1, text.path.rpartition("/")[2], "label", " ".join(text.name))
