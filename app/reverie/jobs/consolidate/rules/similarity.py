"""The test whether two notes are duplicates: conservative, explainable, without a model.

Statements of the smaller note are searched for in the other one after folding wording, spelling and units
(`wording`, `statements`). The score is the share of the smaller note that is found. After that, every doubt
is a veto: numbers, identifiers, names, negations, antonyms, versions, environments, states, order. A missed
duplicate costs a line in a list, but a wrong merge costs trust, so unknown words count as differences.

Reasons name kinds of differences and never quote a note, because memory text may contain secrets and reasons
are logged.

Pure; `check` is called every few statements and may raise to cancel. `rapidfuzz` is loaded on the first
comparison.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, islice
from typing import NamedTuple
from zlib import crc32

from reverie.jobs.consolidate.rules.reading import NoteLike, NoteReading, Statement, bigrams, read_note
from reverie.jobs.consolidate.rules.statements import (
    Alignment,
    align,
    match_wordings,
    statement_conflicts,
    substituted,
)
from reverie.jobs.consolidate.rules.wording import (
    ENTITY_FOLDERS,
    FILLER_NAME_WORDS,
    NUMBER_WORDS,
    PRODUCTS,
    excludes,
    read_wording,
    word,
)
from reverie.memory.front_matter_rules import block_of
from reverie.runs.retention import folded_words
from reverie.text.patterns import pattern_of
from reverie.values import Struct

# Descriptions or titles of at least this similarity are assumed to use one template.
_SAME_TEMPLATE = 0.4


def subject_conflicts(a: NoteReading, b: NoteReading, *, same_body: bool) -> Iterator[str]:
    """Yield the reasons why two notes have different subjects, from names, folders, descriptions and titles.

    With `same_body` (the bodies are equal) fewer reasons count, because a copy may have any name.
    """
    yield from _front_matter(a, b)
    yield from _markers(a, b, same_body)
    if excludes(_subject_words(a), _subject_words(b)):
        yield "their names or descriptions exclude each other"
    products_a, products_b = a.head & PRODUCTS, b.head & PRODUCTS
    if any(not is_known(each, b) for each in products_a) and any(
        not is_known(each, a) for each in products_b
    ):
        yield "their names or titles name different products"
    yield from _names(a, b, same_body)
    if not same_body:
        if a.doubted != b.doubted:
            yield "the front matter of one says that something no longer applies"
        if a.loaded != b.loaded:
            yield "the heading of one reverses the meaning"
        yield from _templates(a, b)


def is_known(text: str, reading: NoteReading) -> bool:
    """Return whether a word, or another word with the same first letters, occurs anywhere in a note."""
    canon, everything = word(text), reading.everything
    if canon in everything or f"#{canon}" in everything:
        return True
    if bigrams(text) & reading.bigrams:
        return True
    start = canon[: max(4, len(canon) - 3)]
    return len(canon) >= 4 and any(each.startswith(start) for each in everything)


def _front_matter(a: NoteReading, b: NoteReading) -> Iterator[str]:
    if a.keys is None or b.keys is None:
        yield "the front matter of one cannot be read"
    elif any(a.keys[name] != b.keys[name] for name in a.keys.keys() & b.keys.keys()):
        yield "their front matter has different values for the same key"


def _subject_words(reading: NoteReading) -> frozenset[str]:
    named = {each for each in (*reading.name, *reading.folders) if each not in FILLER_NAME_WORDS}
    described = {each for each in reading.head if each not in reading.name and each not in reading.folders}
    return frozenset(named | described)


def _markers(a: NoteReading, b: NoteReading, same_body: bool) -> Iterator[str]:
    """Yield reasons from versions, environments, dates and states.

    Both notes must have the same ones, or the other note must at least mention them.
    """
    for kind in ("version", "environment", "date", "year", "status"):
        of_a, of_b = a.markers[kind], b.markers[kind]
        if of_a == of_b or (same_body and kind == "status"):
            continue
        if of_a and of_b and not of_a & of_b:
            yield f"their names or descriptions name another {kind}"
        elif not same_body and (_unheard(kind, of_a - of_b, b) or _unheard(kind, of_b - of_a, a)):
            yield f"only one of them names a {kind}"
    if same_body and a.described_state != b.described_state:
        yield "the description of one says that something is undecided or no longer applies"


def _unheard(kind: str, extra: frozenset[str], other: NoteReading) -> bool:
    """Return whether one note has `extra` markers that the other note does not mention."""
    if not extra:
        return False
    if kind == "status" or other.markers[kind]:
        return True
    return other.body_markers[kind] != extra


def _names(a: NoteReading, b: NoteReading, same_body: bool) -> Iterator[str]:
    if _own_words(a.folders, b) and _own_words(b.folders, a) and (a.name == b.name or not same_body):
        yield "they are in folders for different subjects"
    own_a, own_b = _own_words(a.name, b), _own_words(b.name, a)
    if not own_a or not own_b:
        return
    if set(a.folders) & ENTITY_FOLDERS and a.folders == b.folders:
        yield "their names identify different subjects in the same folder"
    elif not same_body and _name_context(a) & _name_context(b):
        yield "their names differ in the subject"


def _own_words(named: Iterable[str], other: NoteReading) -> set[str]:
    """Return the words of a file or folder name that name a subject which the other note does not have."""
    return {
        each
        for each in named
        if each not in FILLER_NAME_WORDS
        and (len(each) > 1 or not each.isascii())
        and not each.startswith("@")
        and not is_known(each, other)
    }


def _name_context(reading: NoteReading) -> set[str]:
    return {word(each) for each in reading.name if each not in FILLER_NAME_WORDS and len(each) > 1}


def _templates(a: NoteReading, b: NoteReading) -> Iterator[str]:
    """Yield a reason if descriptions or titles are similar except for the word that names the subject."""
    heads = []
    if a.description and b.description:
        heads.append((read_wording(a.description), read_wording(b.description), "descriptions"))
    if a.titles and b.titles:
        heads.append((a.titles[0], b.titles[0], "titles"))
    for one, other, name in heads:
        match = match_wordings(one, other)
        if match.dice < _SAME_TEMPLATE:
            continue
        left_one = set(range(len(one.tokens))) - {number for number, _other in match.pairs}
        left_other = set(range(len(other.tokens))) - {number for _number, number in match.pairs}
        for token, instead in substituted(one, other, left_one, left_other):
            if not is_known(token.canon, b) and not is_known(instead.canon, a):
                yield f"their {name} differ in the subject"


# The share of the smaller note that must be found in the other one; higher if the other one is much larger,
# since there is then less evidence that they have the same subject.
THRESHOLD = 0.8
SUBSET_THRESHOLD = 0.9
_SUBSET_RATIO = 0.45
# Notes of less than about four words cannot be distinguished well enough.
_LEAST_WEIGHT = 3.5
# Statements of at least this similarity are the same statement.
_AGREED = 0.9
_FEW = 20
_SHOWN_REASONS = 5


class Judgement(Struct, frozen=True):
    """The result of comparing two notes."""

    duplicate: bool
    score: float
    """The share of the smaller note that is found in the other one (0 to 1), regardless of vetoes."""
    reasons: tuple[str, ...]
    """Reasons for the judgement, as text for people, without memory text."""


def no_check() -> None:
    """Do nothing; for callers that never cancel."""


# The least share of common lines, or of common rare words, of two notes that may be duplicates.
_LEAST_ALIKE = 0.6
_SHORT = 2_000
_LEAST_LINE = 8


def said_lines(text: str) -> frozenset[str]:
    """Return the folded lines of a note, except very short ones."""
    return frozenset(words for line in text.splitlines() if len(words := folded_words(line)) > _LEAST_LINE)


def may_be_alike(a: str, b: str, lines: tuple[frozenset[str], frozenset[str]], words: float) -> bool:
    """Return whether two notes are similar enough to be compared by `compare`; this test is fast.

    Comparing the wording of two long notes takes most of the time, and without common lines no rule may merge
    them. `lines` are the results of `said_lines` for both; `words` is the share of rare words that both have.
    """
    if max(len(a), len(b)) <= _SHORT and words >= _LEAST_ALIKE:
        return True
    fewer = min(map(len, lines))
    return fewer > 0 and len(lines[0] & lines[1]) >= _LEAST_ALIKE * fewer


def judge(a: NoteLike, b: NoteLike, check: Callable[[], None] = no_check) -> Judgement:
    """Judge whether two notes are duplicates.

    The order of `a` and `b` does not matter.
    """
    return compare(read_note(a, check), read_note(b, check), check, same_body=same_body(a.text, b.text))


def same_body(a: str, b: str) -> bool:
    """Return whether two bodies are equal except for white space and blank lines.

    False if both are empty.
    """
    folded = folded_body(a)
    return bool(folded) and folded == folded_body(b)


def folded_body(text: str) -> str:
    """Return a note's body without blank lines, with each run of white space as one space."""
    block = block_of(text)
    body = text[block.body_start :] if block is not None else text
    return "\n".join(" ".join(line.split()) for line in body.split("\n") if line.strip())


def compare(
    a: NoteReading, b: NoteReading, check: Callable[[], None], *, same_body: bool = False
) -> Judgement:
    """Judge whether two notes are duplicates, from the results of `read_note`."""
    vetoes = list(subject_conflicts(a, b, same_body=same_body))
    if same_body:
        if a.is_placeholder:
            vetoes.append("they contain only a placeholder")
        return _verdict(1.0, vetoes, "their bodies are identical")
    small, large = sorted((a, b), key=lambda reading: (reading.weight, len(reading.statements), reading.said))
    if small.weight < _LEAST_WEIGHT:
        return Judgement(False, 0.0, ("one of them has too little text to compare",))
    if vetoes:
        return _verdict(0.0, vetoes, "")
    found = align(small.statements, large.statements, check)
    threshold = SUBSET_THRESHOLD if small.weight < _SUBSET_RATIO * large.weight else THRESHOLD
    if found.score < threshold:
        return Judgement(False, found.score, (f"only {found.score:.0%} of one is found in the other",))
    if not _is_evidence(small, large, found):
        return Judgement(False, found.score, ("the shared text occurs in many notes",))
    vetoes += islice(_content_vetoes(small, large, found, check), _SHOWN_REASONS)
    kept = f"{len(found.kept)} of {len(small.statements)} statements are found in the other note"
    return _verdict(found.score, vetoes, kept)


def _is_evidence(small: NoteReading, large: NoteReading, found: Alignment) -> bool:
    """Return whether two notes share enough text that few other notes have.

    If neither note has more than the other, no such evidence is needed.
    """
    linked = {link.large for link in found.links}
    more = [each for number, each in enumerate(large.statements) if number not in linked]
    says_no_more = len(found.kept) == len(small.statements) and len(more) <= _FEW
    if says_no_more and all(any(_is_said_by(each, other) for other in small.statements) for each in more):
        return True
    own = [(number, each.wording.weight) for number, each in enumerate(small.statements) if not each.common]
    shared = sum(weight for number, weight in own if number in found.kept)
    return shared >= _LEAST_WEIGHT and shared >= THRESHOLD * sum(weight for _number, weight in own)


def _is_said_by(a: Statement, b: Statement) -> bool:
    """Return whether statement `b` has nearly all of the content of `a`."""
    return match_wordings(a.wording, b.wording).weight >= _AGREED * a.wording.weight


def _content_vetoes(
    small: NoteReading, large: NoteReading, found: Alignment, check: Callable[[], None]
) -> Iterator[str]:
    yield from statement_conflicts(small.statements, large.statements, found, check)
    yield from _stated_contradictions(small, large, found)
    if small.weight < _SUBSET_RATIO * large.weight and not _shares_subject(small, large):
        yield "the larger one does not mention the subject of the smaller one"


def _stated_contradictions(small: NoteReading, large: NoteReading, found: Alignment) -> Iterator[str]:
    """Yield statements that something is outdated or contradicted, unless both notes make them."""
    agreed = [
        link
        for link in found.links
        if link.match.dice >= _AGREED
        and small.statements[link.small].contradiction
        and large.statements[link.large].contradiction
    ]
    agreed_small, agreed_large = {link.small for link in agreed}, {link.large for link in agreed}
    for statements, said_by_both in ((small.statements, agreed_small), (large.statements, agreed_large)):
        for number, statement in enumerate(statements):
            if statement.contradiction and number not in said_by_both:
                yield f"line {statement.line} of one says that something no longer applies"


def _shares_subject(small: NoteReading, large: NoteReading) -> bool:
    return any(is_known(each, large) for each in small.head if len(each) > 2 or not each.isascii())


def _verdict(score: float, vetoes: list[str], otherwise: str) -> Judgement:
    """Return a judgement against a duplicate if there are vetoes, else one in favour."""
    if vetoes:
        return Judgement(False, score, tuple(dict.fromkeys(vetoes))[:_SHOWN_REASONS])
    return Judgement(True, score, (otherwise,))


_WORD = pattern_of(r"[^\W_]+")
UNSPACED = pattern_of("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ORDINAL = pattern_of(r"^[ \t]*\d{1,3}[.)][ \t]", re.MULTILINE)
_NUMBER = pattern_of(r"\d+")
# Up to this number of notes, all pairs are compared.
_FEW_PARTNERS = 24
# A word in more notes than this gets a lower weight, as possible boilerplate.
_SOME = 3
_BOILERPLATE = 0.1
_PREFIX = 4
_RARE = 8
_NEIGHBOURS = 2
_WORDS_PER_NOTE = 40
_PARTNERS = 4
# The share of the lighter note's words, by rarity, that the other one must have as well.
_LEAST_SHARED = 0.4


class CandidatePair(Struct, frozen=True):
    """A pair of texts that may be duplicates.

    `first < second` are positions in the given sequence. `shared` is the share of words in common, weighed by
    rarity.
    """

    first: int
    second: int
    shared: float


class SplitText(NamedTuple):
    """The lines of a text: its own ones, and those that many notes have.

    If two notes share lines of the second kind, this does not show that they are duplicates.
    """

    own: str
    common: str = ""


def split_text(text: str, is_common: Callable[[str], bool]) -> SplitText:
    """Split the lines of a text into its own lines and those for which `is_common` returns True."""
    own, common = list[str](), list[str]()
    for line in text.split("\n"):
        (common if is_common(line) else own).append(line)
    return SplitText("\n".join(own), "\n".join(common))


def candidate_pairs(
    texts: Sequence[SplitText], check: Callable[[], None], *, other_numbers: bool = False
) -> list[CandidatePair]:
    """Return the pairs of texts that may be duplicates, the most similar first.

    Not every pair is compared: texts with the same rare word are all paired; for a common word, only texts
    that are neighbours in an order in which similar texts are next to each other. A pair that is missed among
    many similar texts is found by a later run. With `other_numbers` the result includes pairs in which each
    text has a number that the other lacks.
    """
    features, own_features = list[frozenset[str]](), list[frozenset[str]]()
    spelled = list[frozenset[str]]()
    known_by: Counter[str] = Counter()
    for text in texts:
        check()
        own, common = _said(text.own), _said(text.common)
        spelled.append((own | common) & NUMBER_WORDS.keys())
        own_features.append(_indexed(own))
        features.append(own_features[-1] | _indexed(common))
        known_by.update(features[-1])
    rarity = {word: _rarity(count, len(texts)) for word, count in known_by.items() if count > 1}
    # A word that only one note has counts half, because wordings differ.
    alone = math.log1p(len(texts)) / 2
    weights = []
    for each in features:
        check()
        weights.append(_weigh(each, rarity, alone))
    numbers = _Numbers(texts, spelled)
    found = []
    is_small = len(texts) <= _FEW_PARTNERS
    pairs = combinations(range(len(texts)), 2) if is_small else _partners(features, rarity, known_by, check)
    for first, second in pairs:
        check()
        shared = _weigh(features[first] & features[second], rarity, alone)
        lighter = min(weights[first], weights[second])
        light, heavy = (first, second) if weights[first] <= weights[second] else (second, first)
        proof, other = own_features[light], features[heavy]
        if not proof:
            proof, other = own_features[heavy], features[light]
        if not is_small and _weigh(proof & other, rarity, alone) < _LEAST_SHARED * _weigh(
            proof, rarity, alone
        ):
            continue
        if not is_small and not shared >= _LEAST_SHARED * lighter > 0:
            continue
        if other_numbers or not numbers.disagree(first, second):
            found.append(CandidatePair(first, second, shared / lighter if lighter else 0.0))
    return sorted(found, key=lambda each: (-round(each.shared, 6), each.first, each.second))


def _rarity(count: int, notes: int) -> float:
    """Return the weight of a word that `count` of the notes have; very small if nearly all have it."""
    return math.log1p(notes / count) if count <= _SOME else math.log(notes / count) + _BOILERPLATE


def _weigh(words: frozenset[str], rarity: Mapping[str, float], alone: float) -> float:
    return sum([rarity.get(word, alone) for word in words])


class _Numbers:
    """The numbers of each text, computed on first use.

    `spelled` are the number words of each text.
    """

    def __init__(self, texts: Sequence[SplitText], spelled: Sequence[frozenset[str]]) -> None:
        self._texts = texts
        self._spelled = spelled
        self._known: dict[int, frozenset[str]] = {}

    def disagree(self, first: int, second: int) -> bool:
        """Return whether each text has a number that the other lacks.

        `compare` would then find no duplicate, but takes much longer.
        """
        one, other = self._of(first), self._of(second)
        return bool(one - other and other - one)

    def _of(self, position: int) -> frozenset[str]:
        if position not in self._known:
            text = self._texts[position]
            digits = _digits(text.own) | _digits(text.common)
            self._known[position] = digits.union(NUMBER_WORDS[word] for word in self._spelled[position])
        return self._known[position]


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text for the index.

    These are the first letters of words, whole numbers, and pairs of characters in scripts without spaces.
    """
    return _indexed(_said(text))


def _said(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _indexed(said: frozenset[str]) -> frozenset[str]:
    found: set[str] = set()
    for found_word in said:
        if found_word.isascii() or not UNSPACED.search(found_word):
            found.add(NUMBER_WORDS.get(found_word) or found_word[:_PREFIX])
        else:
            found.update(found_word[at : at + 2] for at in range(max(1, len(found_word) - 1)))
    return frozenset(found)


def _digits(text: str) -> frozenset[str]:
    return frozenset(number.lstrip("0") or "0" for number in _NUMBER.findall(_ORDINAL.sub("", text)))


def _partners(
    features: Sequence[frozenset[str]],
    rarity: dict[str, float],
    known_by: Counter[str],
    check: Callable[[], None],
) -> list[tuple[int, int]]:
    """Return pairs of texts: each text with the few others that share most words with it.

    Rare words count more.
    """
    rank = {word: at for at, word in enumerate(sorted(rarity, key=lambda word: (known_by[word], word)))}
    words = list(rank)
    holders: dict[int, list[int]] = defaultdict(list)
    for number in _alike_order(features, check):
        check()
        for at in sorted(map(rank.__getitem__, features[number] & rank.keys()))[:_WORDS_PER_NOTE]:
            holders[at].append(number)
    scores: list[dict[int, float]] = [{} for _ in features]
    for at, numbers in holders.items():
        check()
        weight = rarity[words[at]]
        reach = len(numbers) if len(numbers) <= _RARE else _NEIGHBOURS
        for position, number in enumerate(numbers):
            of_number = scores[number]
            for other in numbers[position + 1 : position + 1 + reach]:
                of_number[other] = of_number.get(other, 0.0) + weight
                scores[other][number] = scores[other].get(number, 0.0) + weight
    pairs = set()
    for number, of_number in enumerate(scores):
        check()
        best = heapq.nsmallest(_PARTNERS, ((-weight, other) for other, weight in of_number.items()))
        for _weight, other in best:
            pairs.add((min(number, other), max(number, other)))
    return sorted(pairs)


def _alike_order(features: Sequence[frozenset[str]], check: Callable[[], None]) -> list[int]:
    """Return the positions of the texts, sorted so that texts with the same words are neighbours."""
    keys = []
    for each in features:
        check()
        keys.append(heapq.nsmallest(3, map(_hash, each)))
    return sorted(range(len(features)), key=lambda number: (keys[number], number))


@lru_cache(maxsize=65536)
def _hash(word: str) -> int:
    return crc32(word.encode("utf-8", "surrogatepass"))
