"""Whether two notes say the same: conservative, explainable, without a model.

Statements of the smaller note are looked for in the other one after folding wording, spelling and units
(`wording`, `statements`). The score is the share of the smaller note that is found. Then every
doubt is a veto: numbers, identifiers, names, negations, antonyms,
versions, environments, states, order. A missed duplicate costs a line in a list; a wrong merge would cost
trust, so unknown words count as differences.

Pure; `check` is called every few statements and may raise to cancel. `rapidfuzz` is loaded at the first
judgement.
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
from reverie.values import Struct

# Vetoes on subjects: names, folders, descriptions and titles that speak against one thing. Reasons name kinds
# of difference, never words of a note: memory text may hold secrets, and reasons are logged.


# Descriptions or titles with at least this much in common are taken for two fillings of one template.
_SAME_TEMPLATE = 0.4


def subject_conflicts(a: NoteReading, b: NoteReading, *, same_body: bool) -> Iterator[str]:
    """What speaks against one subject. With `same_body` only what is certain counts: a copy may have any
    name."""
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
            yield "the front matter of one says that something does not hold"
        if a.loaded != b.loaded:
            yield "the heading of one turns what it says"
        yield from _templates(a, b)


def is_known(text: str, reading: NoteReading) -> bool:
    """Whether a word, or one that begins like it, stands anywhere in a note."""
    canon, everything = word(text), reading.everything
    if canon in everything or f"#{canon}" in everything:
        return True
    if bigrams(text) & reading.bigrams:
        return True
    start = canon[: max(4, len(canon) - 3)]
    return len(canon) >= 4 and any(each.startswith(start) for each in everything)


def _front_matter(a: NoteReading, b: NoteReading) -> Iterator[str]:
    if a.keys is None or b.keys is None:
        yield "the front matter of one does not parse"
    elif any(a.keys[name] != b.keys[name] for name in a.keys.keys() & b.keys.keys()):
        yield "their front matter gives the same key another value"


def _subject_words(reading: NoteReading) -> frozenset[str]:
    named = {each for each in (*reading.name, *reading.folders) if each not in FILLER_NAME_WORDS}
    described = {each for each in reading.head if each not in reading.name and each not in reading.folders}
    return frozenset(named | described)


def _markers(a: NoteReading, b: NoteReading, same_body: bool) -> Iterator[str]:
    """Versions, environments, dates and states must be the same, or at least be mentioned by the other
    note."""
    for kind in ("version", "environment", "date", "year", "status"):
        of_a, of_b = a.markers[kind], b.markers[kind]
        if of_a == of_b or (same_body and kind == "status"):
            continue
        if of_a and of_b and not of_a & of_b:
            yield f"their names or descriptions name another {kind}"
        elif not same_body and (_unheard(kind, of_a - of_b, b) or _unheard(kind, of_b - of_a, a)):
            yield f"only one of them names a {kind}"
    if same_body and a.described_state != b.described_state:
        yield "the description of one says that it is not settled or does not hold"


def _unheard(kind: str, extra: frozenset[str], other: NoteReading) -> bool:
    """Whether a marker of one note finds no echo in the other one."""
    if not extra:
        return False
    if kind == "status" or other.markers[kind]:
        return True
    return other.body_markers[kind] != extra


def _names(a: NoteReading, b: NoteReading, same_body: bool) -> Iterator[str]:
    if _own_words(a.folders, b) and _own_words(b.folders, a) and (a.name == b.name or not same_body):
        yield "they stand in folders for different things"
    own_a, own_b = _own_words(a.name, b), _own_words(b.name, a)
    if not own_a or not own_b:
        return
    if set(a.folders) & ENTITY_FOLDERS and a.folders == b.folders:
        yield "their names stand for different things in a folder of such"
    elif not same_body and _name_context(a) & _name_context(b):
        yield "their names differ where they name the subject"


def _own_words(named: Iterable[str], other: NoteReading) -> set[str]:
    """Words of a file's or folder's name that name a subject of which the other note knows nothing."""
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
    """Descriptions, and titles, that are alike but for the word that names the subject."""
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
                yield f"their {name} differ where they name the subject"


# The share of the smaller note that must be found in the other one; more when the other one is much larger,
# since then less stands behind the belief that they have one subject.
THRESHOLD = 0.8
SUBSET_THRESHOLD = 0.9
_SUBSET_RATIO = 0.45
# Notes that say less than about four words cannot be told apart well enough.
_LEAST_WEIGHT = 3.5
# Statements this much alike are the same statement twice.
_AGREED = 0.9
_FEW = 20
_SHOWN_REASONS = 5


class Judgement(Struct, frozen=True):
    """`score` is the share of the smaller note found in the other one (0 to 1), whatever vetoes say;
    `reasons` are for people and quote no memory text."""

    duplicate: bool
    score: float
    reasons: tuple[str, ...]


def no_check() -> None:
    """For callers that never cancel."""


# Notes that share fewer of their lines, and of their rare words, are not the same note twice.
_LEAST_ALIKE = 0.6
_SHORT = 2_000
_LEAST_LINE = 8


def said_lines(text: str) -> frozenset[str]:
    """The lines of a note that say something, folded."""
    return frozenset(words for line in text.splitlines() if len(words := folded_words(line)) > _LEAST_LINE)


def may_be_alike(a: str, b: str, lines: tuple[frozenset[str], frozenset[str]], words: float) -> bool:
    """A quick look before `compare`: to judge the wording of two long notes takes longer than all else, and
    without common lines no rule may merge them. `lines`: of `said_lines`; `words`: the share of words."""
    if max(len(a), len(b)) <= _SHORT and words >= _LEAST_ALIKE:
        return True
    fewer = min(map(len, lines))
    return fewer > 0 and len(lines[0] & lines[1]) >= _LEAST_ALIKE * fewer


def judge(a: NoteLike, b: NoteLike, check: Callable[[], None] = no_check) -> Judgement:
    """Whether the two notes are duplicates. Symmetric."""
    return compare(read_note(a, check), read_note(b, check), check, same_body=same_body(a.text, b.text))


def same_body(a: str, b: str) -> bool:
    """Whether the bodies are equal but for white space, blank lines and line ends; empty ones never are."""
    folded = folded_body(a)
    return bool(folded) and folded == folded_body(b)


def folded_body(text: str) -> str:
    """A body for comparing: white space runs folded, blank lines dropped."""
    block = block_of(text)
    body = text[block.body_start :] if block is not None else text
    return "\n".join(" ".join(line.split()) for line in body.split("\n") if line.strip())


def compare(
    a: NoteReading, b: NoteReading, check: Callable[[], None], *, same_body: bool = False
) -> Judgement:
    """`judge` for notes already taken apart."""
    vetoes = list(subject_conflicts(a, b, same_body=same_body))
    if same_body:
        if a.is_placeholder:
            vetoes.append("they hold nothing but a placeholder")
        return _verdict(1.0, vetoes, "their bodies are the same")
    small, large = sorted((a, b), key=lambda reading: (reading.weight, len(reading.statements), reading.said))
    if small.weight < _LEAST_WEIGHT:
        return Judgement(False, 0.0, ("one of them says too little to tell",))
    if vetoes:
        return _verdict(0.0, vetoes, "")
    found = align(small.statements, large.statements, check)
    threshold = SUBSET_THRESHOLD if small.weight < _SUBSET_RATIO * large.weight else THRESHOLD
    if found.score < threshold:
        return Judgement(False, found.score, (f"only {found.score:.0%} of one is found in the other",))
    if not _is_evidence(small, large, found):
        return Judgement(False, found.score, ("what they share stands in many notes",))
    vetoes += islice(_content_vetoes(small, large, found, check), _SHOWN_REASONS)
    kept = f"{len(found.kept)} of {len(small.statements)} statements are found in the other note"
    return _verdict(found.score, vetoes, kept)


def _is_evidence(small: NoteReading, large: NoteReading, found: Alignment) -> bool:
    """Whether the two share enough besides boilerplate; two notes of which neither says more need no such
    proof."""
    linked = {link.large for link in found.links}
    more = [each for number, each in enumerate(large.statements) if number not in linked]
    says_no_more = len(found.kept) == len(small.statements) and len(more) <= _FEW
    if says_no_more and all(any(_is_said_by(each, other) for other in small.statements) for each in more):
        return True
    own = [(number, each.wording.weight) for number, each in enumerate(small.statements) if not each.common]
    shared = sum(weight for number, weight in own if number in found.kept)
    return shared >= _LEAST_WEIGHT and shared >= THRESHOLD * sum(weight for _number, weight in own)


def _is_said_by(a: Statement, b: Statement) -> bool:
    return match_wordings(a.wording, b.wording).weight >= _AGREED * a.wording.weight


def _content_vetoes(
    small: NoteReading, large: NoteReading, found: Alignment, check: Callable[[], None]
) -> Iterator[str]:
    yield from statement_conflicts(small.statements, large.statements, found, check)
    yield from _stated_contradictions(small, large, found)
    if small.weight < _SUBSET_RATIO * large.weight and not _shares_subject(small, large):
        yield "the larger one does not mention the subject of the smaller one"


def _stated_contradictions(small: NoteReading, large: NoteReading, found: Alignment) -> Iterator[str]:
    """A statement that something is outdated or contradicted, unless both notes make it."""
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
                yield f"line {statement.line} of one says that something does not hold"


def _shares_subject(small: NoteReading, large: NoteReading) -> bool:
    return any(is_known(each, large) for each in small.head if len(each) > 2 or not each.isascii())


def _verdict(score: float, vetoes: list[str], otherwise: str) -> Judgement:
    if vetoes:
        return Judgement(False, score, tuple(dict.fromkeys(vetoes))[:_SHOWN_REASONS])
    return Judgement(True, score, (otherwise,))


# Candidate pairs, without looking at every pair: a rare word pairs all notes that have it, a common one only
# neighbours in an order that puts similar notes side by side. A pair that is missed in a crowd of similar
# notes costs only a later run.


_WORD = re.compile(r"[^\W_]+")
UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ORDINAL = re.compile(r"^[ \t]*\d{1,3}[.)][ \t]", re.MULTILINE)
_NUMBER = re.compile(r"\d+")
# Up to so many notes every pair is worth a look.
_FEW_PARTNERS = 24
# A word in more notes than this is weighed as possible boilerplate.
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
    """Two positions in the given order, `first < second`, and the share of rare words they have in common."""

    first: int
    second: int
    shared: float


class SplitText(NamedTuple):
    """A text by its lines: those of its own, and those that many notes have. What two notes share of the
    latter is no sign of anything."""

    own: str
    common: str = ""


def split_text(text: str, is_common: Callable[[str], bool]) -> SplitText:
    """`is_common`: whether many notes have this line."""
    own, common = list[str](), list[str]()
    for line in text.split("\n"):
        (common if is_common(line) else own).append(line)
    return SplitText("\n".join(own), "\n".join(common))


def candidate_pairs(
    texts: Sequence[SplitText], check: Callable[[], None], *, other_numbers: bool = False
) -> list[CandidatePair]:
    """Pairs that may be duplicates, most promising first. `other_numbers`: those too of which each has a
    number that the other one lacks."""
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
    # A word that one note has for itself counts half: wordings differ.
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
    """The weight of a word that `count` of the notes have; next to nothing where nearly all have it."""
    return math.log1p(notes / count) if count <= _SOME else math.log(notes / count) + _BOILERPLATE


def _weigh(words: frozenset[str], rarity: Mapping[str, float], alone: float) -> float:
    return sum([rarity.get(word, alone) for word in words])


class _Numbers:
    """The numbers of each text, looked up once. `spelled`: the words for numbers in each."""

    def __init__(self, texts: Sequence[SplitText], spelled: Sequence[frozenset[str]]) -> None:
        self._texts = texts
        self._spelled = spelled
        self._known: dict[int, frozenset[str]] = {}

    def disagree(self, first: int, second: int) -> bool:
        """Each has a number that the other one lacks: the judgement would say no, and this is much
        cheaper."""
        one, other = self._of(first), self._of(second)
        return bool(one - other and other - one)

    def _of(self, position: int) -> frozenset[str]:
        if position not in self._known:
            text = self._texts[position]
            digits = _digits(text.own) | _digits(text.common)
            self._known[position] = digits.union(NUMBER_WORDS[word] for word in self._spelled[position])
        return self._known[position]


def words_of(text: str) -> frozenset[str]:
    """The words of a text for the index: first letters, numbers whole, pairs of characters where no spaces
    are."""
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
    """The best partners of each note, by the words they share."""
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
    """Positions so that notes with the same words stand together."""
    keys = []
    for each in features:
        check()
        keys.append(heapq.nsmallest(3, map(_hash, each)))
    return sorted(range(len(features)), key=lambda number: (keys[number], number))


@lru_cache(maxsize=65536)
def _hash(word: str) -> int:
    return crc32(word.encode("utf-8", "surrogatepass"))
