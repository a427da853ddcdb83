"""The facts of a text, and the comparison of two facts in different wordings; pure functions, no model.

A fact is a piece of information that a reader would miss if it were removed: a sentence, a list entry, a
table row, a line of code, the description. A heading, or a line that only introduces a list, is not a fact,
but a changed number in it counts as a change. Two facts are compared by the tokens of `rules.wording`, so
numbers, names and negations matter, while phrasing, order and markup do not.

Reading is cheap: the tokens are only computed for facts without an exact match on the other side.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nlargest
from typing import Literal, NamedTuple

from reverie.jobs.consolidate.rules.matching import WordingMatch, match_wordings, polarity_differs
from reverie.jobs.consolidate.rules.reading import (
    BULLET,
    Passage,
    has_capital_nouns,
    heading_text,
    split_passages,
    split_sentences,
    table_cells,
)
from reverie.jobs.consolidate.rules.wording import (
    ANTONYM_PREFIXES,
    FUNCTION_WORDS,
    HEDGES,
    NEGATING,
    NEGATIONS_CLAUSE,
    NEGATIONS_FORWARD,
    PREPOSITIONS,
    PRODUCTS,
    QUALIFIERS,
    UNIVERSALS,
    Wording,
    WordToken,
    excludes,
    read_wording,
)
from reverie.memory import front_matter
from reverie.memory.front_matter_rules import block_of
from reverie.runs.card import What
from reverie.runs.retention import is_inbox_noise
from reverie.text.patterns import pattern_of
from reverie.values import Struct, replace

FactKind = Literal["item", "prose", "row", "code", "description", "label", "key"]
"""The kind of a fact: an entry, a sentence, a table row, a line of code, the description, or these:

- `label`: a heading, the head of a table, or a line that introduces others
- `key`: another line of the front matter, which has a meaning only there (`front_matter_lines`)
"""

_MARKUP = pattern_of(r"[*`]+|(?<!\w)_+|_+(?!\w)")
_WORD = pattern_of(r"\w+")
_DESCRIBES = pattern_of(r"^description:[ \t]*(.*)", re.MULTILINE)
_QUOTED = pattern_of(r"([\"'])(.*)\1|\[(.*)\]|\{(.*)\}")
_QUOTES = pattern_of(r"[\"'\\]")
_LABEL_WORDS = 10
_BOLD = pattern_of(r"^(?:\*\*|__)[^*_]+(?:\*\*|__):?$")
_LABELLED = pattern_of(r"^[*_]{0,2}[^\W\d_][^:：.*]{0,40}[*_]{0,2}[:：][*_]{0,2}\s")
_BEGINNING = pattern_of(r"\b\w{1,5}")
"""Matches the first 1 to 5 letters of a word.

Related facts are found by these, because inflected forms of a word differ only at the end.
"""
_FUNCTION_BEGINNINGS = frozenset(word for word in FUNCTION_WORDS if len(word) <= 5)
_COMMON = 60
_CANDIDATES = 5


@dataclass(frozen=True, eq=False)
class Fact:
    """One statement of a memory, such as a sentence, a list item or a line of code."""

    path: str
    line: int
    """The line in the text, from 1."""
    text: str
    kind: FactKind
    key: str
    """The folded text, equal for facts that differ only in markup and case."""
    place: str = ""
    """The headings and introducing lines above the fact."""
    capital_nouns: bool = False
    """Whether the text writes nouns with capitals, as in German."""
    meant: str = ""
    """The text with the present names of memories; empty if `text` has them already."""

    @cached_property
    def wording(self) -> Wording:
        """The tokens of the fact, for comparing it with others."""
        return read_wording(
            self.meant or self.text, code=self.kind == "code", capital_nouns=self.capital_nouns
        )

    @cached_property
    def starts(self) -> frozenset[str]:
        """The first letters (up to 5) of each of its words; facts with related words are found by these."""
        return _beginnings(self.key)

    @property
    def counts(self) -> bool:
        """True if a reader would miss the fact if it were removed.

        False for headings and for lines that only introduce others.
        """
        return self.kind not in ("label", "key")

    def meaning(self, text: str) -> Fact:
        """Return this fact with `text`, which has the present names of memories, as its `meant`.

        Its `key` is computed from `text` too. If the texts are equal, the fact is returned unchanged.
        """
        if text == self.text:
            return self
        return replace(self, meant=text, key=fact_key(text))


def _beginnings(key: str) -> frozenset[str]:
    return frozenset(_BEGINNING.findall(key)).difference(_FUNCTION_BEGINNINGS)


def read_facts(path: str, text: str) -> list[Fact]:
    """Return the facts (statements) of `text`, the memory at `path`, in their order."""
    block = block_of(text)
    start = block.body_start if block is not None else 0
    body = text[start:].removeprefix("\ufeff")
    offset = text.count("\n", 0, start) + 1
    nouns = has_capital_nouns(body)
    found = [] if block is None else _described(path, text, block.block_start, block.block_end)
    for passage in split_passages(body):
        place = " ".join(each for each in (passage.section, passage.parent) if each)
        for number, said, kind in _said(passage):
            key = fact_key(said)
            if _WORD.search(key) and not is_inbox_noise(path, said):
                found.append(Fact(path, offset + number, said, kind, key, place, nouns))
    return found


def fact_key(text: str) -> str:
    """Return the text normalized: texts that differ only in markup, case or white space become equal."""
    if "*" in text or "`" in text or "_" in text:
        text = _MARKUP.sub("", text)
    return " ".join(text.casefold().split()).strip(" .;,:")


def _described(path: str, text: str, start: int, end: int) -> list[Fact]:
    """Return the facts of the front matter between the offsets `start` and `end`: lines and description."""
    first = text.count("\n", 0, start) + 1
    lines = enumerate(text[start:end].splitlines(), first)
    found = [Fact(path, number, line.strip(), "key", fact_key(line.strip(" \t-"))) for number, line in lines]
    at = _DESCRIBES.search(text[start:end])
    # A description that does not parse was written by a person nevertheless.
    said = front_matter.declared(text, key="description") or (_unquoted(at[1]) if at else "")
    if not _WORD.search(said) or is_inbox_noise(path, f"description: {said}"):
        return found
    line = first + text.count("\n", start, start + (at.start() if at else 0))
    return [*found, Fact(path, line, said.strip(), "description", fact_key(said))]


def _unquoted(value: str) -> str:
    """Return a front matter value that cannot be parsed, without its quotes or brackets."""
    match = _QUOTED.fullmatch(value.strip())
    return next((each for each in match.groups()[1:] if each is not None), "") if match else value


def front_matter_lines(path: str, text: str) -> list[Fact]:
    """Return the lines of a text's front matter as facts, without the description.

    The `key` of such a fact is its text without case, markup and quotes.
    """
    block = block_of(text)
    if block is None:
        return []
    first = text.count("\n", 0, block.block_start) + 1
    found, describes = [], False
    for number, line in enumerate(text[block.block_start : block.block_end].splitlines(), first):
        if line[:1] not in ("", " ", "\t", "#") and line[:2] not in ("-", "- "):
            describes = _DESCRIBES.match(line) is not None
        said = line.strip()
        if said and not describes and not said.startswith("#"):
            found.append(Fact(path, number, said, "key", fact_key(_QUOTES.sub("", said))))
    return found


def _said(passage: Passage) -> Iterator[tuple[int, str, FactKind]]:
    """Yield the line number (from 0 in the body), text and kind of each fact of a passage."""
    first = passage.first
    if passage.kind == "heading":
        yield first, heading_text(passage.lines[0]), "label"
    elif passage.kind == "head":
        yield first, ": ".join(table_cells(passage.lines[0])), "label"
    elif passage.kind == "row":
        yield first, ": ".join(table_cells(passage.lines[0])), "row"
    elif passage.kind == "code":
        for number, line in enumerate(passage.lines):
            if not line.lstrip().startswith(("```", "~~~")):
                yield first + number, line.strip(), "code"
    elif passage.kind in ("item", "prose"):
        yield from _sentences(passage)


def _sentences(passage: Passage) -> Iterator[tuple[int, str, FactKind]]:
    """Yield the sentences of a list entry or paragraph as facts.

    A line of a paragraph that begins with a label starts a new part.
    """
    lines = [line.strip().lstrip(">").strip() for line in passage.lines]
    for number in range(1, len(lines)):
        if passage.kind == "prose" and _LABELLED.match(lines[number]):
            yield from _sentences(replace(passage, lines=passage.lines[:number]))
            yield from _sentences(
                replace(passage, lines=passage.lines[number:], first=passage.first + number)
            )
            return
    whole = " ".join(lines)
    text = BULLET.sub("", whole, count=1) if passage.kind == "item" else whole
    kind: FactKind = "item" if passage.kind == "item" else "prose"
    at = len(whole) - len(text)
    for sentence in split_sentences(text):
        found = whole.find(sentence, at)
        at = found if found >= 0 else at
        label = _is_label(sentence)
        yield passage.first + _line_at(lines, at), sentence, "label" if label else kind


def _is_label(text: str) -> bool:
    """Return True if a line only introduces the lines below it, such as "Steps:"."""
    is_title = text.rstrip("*_").endswith((":", "：")) or _BOLD.match(text) is not None
    return is_title and len(text.split()) <= _LABEL_WORDS


def _line_at(lines: Sequence[str], offset: int) -> int:
    for number, line in enumerate(lines):
        if offset <= len(line):
            return number
        offset -= len(line) + 1
    return len(lines) - 1


class FactIndex:
    """An index of facts by their words, to find similar ones.

    Code is only similar to code, and is indexed when it is first needed.
    """

    def __init__(self, facts: Iterable[Fact], base: FactIndex | None = None) -> None:
        """Index `facts`; a search also finds the facts of the index `base`, if there is one."""
        self._facts = list(facts)
        self._base = base
        self._where: dict[bool, dict[str, list[Fact]]] = {}

    def _of(self, code: bool) -> dict[str, list[Fact]]:
        where = self._where.get(code)
        if where is None:
            where = self._where[code] = defaultdict(list)
            for fact in self._facts:
                if (fact.kind == "code") == code:
                    for start in fact.starts:
                        where[start].append(fact)
        return where

    def like(self, fact: Fact, *, most: int = _CANDIDATES) -> list[Fact]:
        """Return the facts that share most words with `fact`, at most `most`.

        Rare words weigh most; an equal path or place adds a little.
        """
        own = self._of(fact.kind == "code")
        base = {} if self._base is None else self._base._of(fact.kind == "code")
        shared: dict[Fact, float] = defaultdict(float)
        for start in sorted(fact.starts):
            where = [*own.get(start, ())[:_COMMON], *base.get(start, ())[:_COMMON]]
            weight = 1.0 / (1 + len(where)) + 0.05
            for other in where[:_COMMON]:
                shared[other] += weight
        for other in shared:
            if other.path == fact.path:
                shared[other] *= 1.1 + (0.1 if other.place == fact.place else 0.0)
        least = min(nlargest(most, shared.values()), default=0.0)
        found = [other for other, weight in shared.items() if weight >= least]
        return sorted(found, key=lambda other: (-shared[other], other.path, other.line))[:most]


VALUES = ("number", "identifier", "name")
"""The kinds of tokens that are values: two facts that differ in one of them differ in meaning."""
_VERSION = pattern_of(r"^v?\d+(?:\.\d+)+(?:[.-]\w+)*$|^v\d+$")
_DIGITS = pattern_of(r"\d+")
_NEGATIONS = NEGATIONS_FORWARD | NEGATIONS_CLAUSE
_COVERED = 0.6
_CONTAINED = 0.85
_SAME_CONTEXT = 0.65
_LEAST_SHARED = 1.2
_MUCH = 0.34
WHOLE = 0.95
"""The share of a fact, by weight, that another fact must have to count as having all of it."""
_FEW_WORDS = 2.0


class Compared(Struct, frozen=True):
    """The comparison of two facts, token by token; each token has a weight."""

    of_first: float
    """The share of the first fact that the second one has, by weight."""
    of_second: float
    """The share of the second fact that the first one has, by weight."""
    context: float
    """The share that the facts have in common, by weight, if values that differ are not counted."""
    more_first: tuple[WordToken, ...]
    """Tokens that only the first fact has."""
    more_second: tuple[WordToken, ...]
    """Tokens that only the second fact has."""
    shared: float
    """The weight of the common tokens."""
    what: What | Literal[""] = ""
    """How the meaning differs; empty if it does not."""

    @property
    def is_about_the_same(self) -> bool:
        """True if one fact may be a rewording of the other."""
        if self.shared < 1.0:
            return False
        long_enough = self.shared >= _LEAST_SHARED
        return (
            (self.of_first >= _COVERED and self.context >= 0.5)
            or (self.of_second >= _CONTAINED and long_enough)
            or not any(token.kind != "weak" for token in self.more_second)
            or self.context >= _SAME_CONTEXT
        )

    @property
    def is_contained(self) -> bool:
        """True if the second fact has everything that the first one states."""
        no_values = not any(token.kind in VALUES for token in self.more_first)
        return self.of_first >= _CONTAINED and no_values and not self.what


def compare(first: Fact, second: Fact) -> Compared:
    """Compare two facts; the second one may be a rewording of the first."""
    a, b = first.wording, second.wording
    match = match_wordings(a, b)
    paired_a, paired_b = {one for one, _ in match.pairs}, {other for _, other in match.pairs}
    more_a = tuple(token for number, token in enumerate(a.tokens) if number not in paired_a)
    more_b = tuple(token for number, token in enumerate(b.tokens) if number not in paired_b)
    rest = max(a.weight - _weight_of_values(more_a), b.weight - _weight_of_values(more_b))
    return Compared(
        match.weight / a.weight if a.weight else 0.0,
        match.weight / b.weight if b.weight else 0.0,
        match.weight / rest if rest else 0.0,
        more_a,
        more_b,
        match.weight,
        _what(a, b, match, more_a, more_b),
    )


def _weight_of_values(tokens: Collection[WordToken]) -> float:
    return sum(token.weight for token in tokens if token.kind in VALUES)


def _what(
    a: Wording, b: Wording, match: WordingMatch, more_a: Sequence[WordToken], more_b: Sequence[WordToken]
) -> What | Literal[""]:
    """Return how the meaning of two statements differs; empty if it does not.

    `match`: the tokens that they share. `more_a`, `more_b`: the tokens that only one of them has.
    """
    values = _value_differs(more_a, more_b)
    if values:
        return values
    if excludes(a.seen, b.seen) and _are_named((*more_a, *more_b)):
        return "name"
    if _is_turned(a, b, match, more_b) or _opposite(a, b, more_a, more_b):
        return "negation"
    if (a.seen & HEDGES and not b.seen & HEDGES) or ("question" in a.marks) != ("question" in b.marks):
        return "certainty"
    return ""


def _are_named(tokens: Iterable[WordToken]) -> bool:
    """Return True if the name of a product or another name is among the tokens."""
    return any(token.kind == "name" or token.canon in PRODUCTS for token in tokens)


def _is_turned(a: Wording, b: Wording, match: WordingMatch, more_b: Sequence[WordToken]) -> bool:
    """Return True if one of the statements negates the other.

    `match`: the tokens that they share. `more_b`: the tokens that only the second one has.
    """
    if not polarity_differs(a, b, match):
        return False
    if a.negative != b.negative:
        return True
    new = any(token.kind != "weak" for token in more_b)
    paired = {one for one, _other in match.pairs}
    as_many = len(a.negations) == len(b.negations)
    if as_many and a.seen & _NEGATIONS == b.seen & _NEGATIONS and not new:
        # The same words in another order: the meaning is reversed only if the negation changes its target.
        turned = {
            a.tokens[one].negated
            for one, other in match.pairs
            if a.tokens[one].negated != b.tokens[other].negated
        }
        return len(turned) == 2
    # If a negation is missing with its whole clause, less is said, but not the opposite.
    return new or not a.negations or any(paired.intersection(group.reach) for group in a.negations)


def _value_differs(more_a: Sequence[WordToken], more_b: Sequence[WordToken]) -> What | Literal[""]:
    """Return the kind of value in which two facts differ; empty if they do not.

    `more_a`, `more_b`: the tokens that only one of the facts has.
    """

    def of(tokens: Sequence[WordToken], kind: str) -> list[str]:
        return [token.canon for token in tokens if token.kind == kind]

    numbers_a, numbers_b = of(more_a, "number"), of(more_b, "number")
    ids_a, ids_b = of(more_a, "identifier"), of(more_b, "identifier")
    if numbers_a and numbers_b:
        dotted = any("." in each for each in (*numbers_a, *numbers_b))
        return "version" if dotted and not any(token.unit for token in more_a) else "number"
    if (numbers_a and any(map(_VERSION.match, ids_b))) or (numbers_b and any(map(_VERSION.match, ids_a))):
        return "version"
    if ids_a and ids_b:
        versions = any(map(_VERSION.match, ids_a)) and any(map(_VERSION.match, ids_b))
        digits = {_DIGITS.sub("", each) for each in ids_a} & {_DIGITS.sub("", each) for each in ids_b}
        return "version" if versions else "number" if digits else "name"
    named_a = bool(ids_a or of(more_a, "name"))
    named_b = bool(ids_b or of(more_b, "name"))
    may_a = named_a or any(token.capital and token.kind == "word" for token in more_a)
    may_b = named_b or any(token.capital and token.kind == "word" for token in more_b)
    return "name" if (named_a and may_b) or (named_b and may_a) else ""


def _opposite(a: Wording, b: Wording, more_a: Sequence[WordToken], more_b: Sequence[WordToken]) -> bool:
    if excludes(a.seen, b.seen):
        return True
    left_a, left_b = ({token.canon for token in more} for more in (more_a, more_b))
    taken_back = NEGATING & (a.seen ^ b.seen) - {"only"}
    if taken_back and left_a and left_b and len(left_a) <= 2 and len(left_b) <= 2:
        return True
    return any(
        any(prefix + each in left_b for each in left_a) or any(prefix + each in left_a for each in left_b)
        for prefix in ANTONYM_PREFIXES
    )


class FactPartner(NamedTuple):
    """A fact that may be a rewording of another one, with the comparison of both."""

    fact: Fact
    compared: Compared


def _comparable(fact: Fact, other: Fact) -> bool:
    return (fact.kind == "label") == (other.kind == "label") and (fact.kind == "code") == (
        other.kind == "code"
    )


def are_excluding(place: str, other: str) -> bool:
    """Return True if two places (headings) have words that exclude each other, such as opposites."""
    if place.casefold() == other.casefold() or not place or not other:
        return False
    return excludes(read_wording(place).seen, read_wording(other).seen)


class FactMatcher:
    """A cache of comparisons of one fact with others, so that each is made only once."""

    def __init__(self, fact: Fact) -> None:
        self.fact = fact
        self._known: dict[int, Compared] = {}

    def to(self, other: Fact) -> Compared:
        """Return the comparison of the fact with `other`, from the cache if possible.

        The cache identifies `other` by its `id`, so `other` must live as long as this object.
        """
        known = self._known.get(id(other))
        if known is None:
            known = self._known[id(other)] = compare(self.fact, other)
        return known

    def best(self, candidates: Iterable[Fact]) -> FactPartner | None:
        """Return the candidate that preserves most of the fact; None if no candidate has the same subject."""
        partners = [FactPartner(each, self.to(each)) for each in candidates if _comparable(self.fact, each)]
        return max(
            (each for each in partners if each.compared.is_about_the_same),
            key=lambda each: (
                each.compared.is_contained,
                each.compared.of_first + each.compared.of_second,
                not each.compared.what,
            ),
            default=None,
        )

    def stands_in(self, other: Fact) -> bool:
        """Return True if `other` states all of the fact.

        A fact of few words must be in `other` word for word.
        """
        if self.fact.wording.weight < _FEW_WORDS:
            return self.fact.key in other.key
        compared = self.to(other)
        return compared.is_contained and compared.of_first >= WHOLE

    def is_split(self, candidates: Iterable[Fact]) -> bool:
        """Return True if several candidates together state all of the fact, each one part of it."""
        candidates = list(dict.fromkeys(candidates))
        rest = self.fact.key
        for key in sorted({each.key for each in candidates}, key=len, reverse=True):
            rest = rest.replace(key, "", 1)
        if len(rest) <= (1 - WHOLE) * len(self.fact.key):
            return True
        compared = ((each, self.to(each)) for each in candidates)
        pieces = [each for each, found in compared if found.of_second >= WHOLE and not found.what]
        return len(pieces) > 1 and not words_left(self.fact, pieces)


def words_left(fact: Fact, sources: Iterable[Fact]) -> list[WordToken]:
    """Return the tokens of a fact that none of the sources has, not counting weak words."""
    canons = set[str]().union(*(each.wording.canons for each in sources))
    return [each for each in fact.wording.tokens if each.canon not in canons and each.kind != "weak"]


def is_generalised(first: Fact, second: Fact, compared: Compared) -> bool:
    """Return True if the second fact is less precise than the first.

    That is the case if a value, a condition or much of the text is missing, or if the second fact applies to
    everything.
    """
    a, b = first.wording, second.wording
    if any(token.kind in VALUES for token in compared.more_first):
        return True
    if (b.seen & UNIVERSALS) - a.seen:
        return True
    gone = sum(token.weight for token in compared.more_first if token.kind != "weak")
    new = sum(token.weight for token in compared.more_second if token.kind != "weak")
    limits = (a.seen & (QUALIFIERS | PREPOSITIONS)) - b.seen
    if not new:
        return gone >= (1.0 if limits or _is_cut(first.key, second.key) else 2.0)
    return (gone >= 1.0 and bool(limits & QUALIFIERS)) or (gone >= 2.0 and gone - new >= _MUCH * a.weight)


def _is_cut(whole: str, rest: str) -> bool:
    """Return True if the text `rest` is the text `whole` with a single piece removed."""
    lead = next(
        (at for at, pair in enumerate(zip(whole, rest, strict=False)) if pair[0] != pair[1]), len(rest)
    )
    return lead > 0 and whole.endswith(rest[lead:].lstrip())


def are_versions(one: Fact, other: Fact, joined: Fact) -> bool:
    """Return True if two facts differ only in one value of the same thing, and `joined` has both values."""
    compared = compare(one, other)
    first, second = (
        [token for token in more if token.kind != "weak"]
        for more in (compared.more_first, compared.more_second)
    )
    if not first or not second or compared.context < _SAME_CONTEXT:
        return False
    kinds = {token.kind for token in (*first, *second)}
    one_slot = (kinds == {"number"}) or (len(first) == len(second) == 1)
    canons = joined.wording.canons
    return one_slot and all(token.canon in canons for token in (*first, *second))


def are_crossed(one: Fact, other: Fact, joined: Fact) -> bool:
    """Return True if `joined` gives the values of two facts to the wrong subjects.

    It then has the subjects of the facts in one order and their values in the other.
    """
    compared = compare(one, other)
    at = {token.canon: number for number, token in enumerate(joined.wording.tokens)}
    sides = [
        (
            [at[each.canon] for each in more if each.kind in ("word", "name") and each.canon in at],
            [at[each.canon] for each in more if each.kind in ("number", "identifier") and each.canon in at],
        )
        for more in (compared.more_first, compared.more_second)
    ]
    if not all(subjects and values for subjects, values in sides):
        return False
    (subjects_a, values_a), (subjects_b, values_b) = sides
    return (min(subjects_a) < min(subjects_b)) != (min(values_a) < min(values_b))


class Contradictions:
    """A counter of contradictions: facts with the same words but other values.

    The facts are indexed by subject.
    """

    def __init__(self, facts: Iterable[Fact], base: Contradictions | None = None) -> None:
        """Index `facts`; their contradictions with the facts of `base`, if there is one, are counted too."""
        self._base = base
        self._said: dict[frozenset[str], set[_Version]] = defaultdict(set)
        for fact in facts:
            if fact.kind in ("item", "prose", "row"):
                words, version = signature(fact)
                if len(words) >= 2:
                    self._said[words].add(version)

    @property
    def count(self) -> int:
        """The number of contradictions: facts with other numbers, other versions or the opposite meaning."""
        if self._base is None:
            return sum(_conflicts(versions) for versions in self._said.values() if len(versions) > 1)
        known = self._base._said
        more = sum(
            _conflicts(versions | known.get(words, set())) - _conflicts(known.get(words, ()))
            for words, versions in self._said.items()
        )
        return self._base.count + more


_MOST_VERSIONS = 4
"""The most different values for one subject that count as contradictions.

With more, the facts are a list of similar things.
"""
_Version = tuple[frozenset[str], bool]
"""The values that a fact has for its subject, and True if the fact is negated."""
_VALUED = pattern_of(r"[\w.:/@%$€+-]*\d[\w.:/@%+-]*")


def signature(fact: Fact) -> tuple[frozenset[str], _Version]:
    """Return the subject of a fact, as a set of words, and its version.

    The version is the set of values, and True if the fact is negated.
    """
    key, words, values = fact.key, fact.starts, frozenset[str]()
    if _DIGITS.search(key):
        values = frozenset(each.strip(".:/-") for each in _VALUED.findall(key))
        key = _VALUED.sub(" ", key)
        words = _beginnings(key)
    negated = sum(word in _NEGATIONS for word in _WORD.findall(key)) % 2 == 1
    if len(words) < 4:
        words |= {f"§{start}" for start in _BEGINNING.findall(fact.place.casefold())}
    return words, (values, negated)


def _conflicts(versions: Collection[_Version]) -> int:
    """Return the number of contradictions among the versions of one subject."""
    signs = {negated for _values, negated in versions}
    valued = {values for values, _negated in versions if values}
    alone = {values for values in valued if not any(values < other for other in valued)}
    if len(alone) > _MOST_VERSIONS:
        return 0
    return max(0, len(alone) - 1) + max(0, len(signs) - 1)
