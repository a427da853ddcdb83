"""Which pairs of notes are worth judging, found without looking at every pair.

Words are folded to their first letters and put into an inverted index. A rare word pairs all notes that have
it; a common one pairs only neighbours in an order that puts alike notes side by side (by the smallest hashes
of their words), so that boilerplate shared by every note costs no more than any other word. Work and result
grow with the number of words, not with the number of pairs; missing a pair in a crowd of alike ones costs
nothing but a later run.

Pure; deterministic for the same texts in the same order.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from zlib import crc32

from reverie.dream.vocabulary import NUMBER_WORDS

_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ORDINAL = re.compile(r"^[ \t]*\d{1,3}[.)][ \t]", re.MULTILINE)
_NUMBER = re.compile(r"\d+")
# Up to so many notes every pair is worth a look.
_FEW = 24
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


@dataclass(frozen=True, slots=True)
class Candidate:
    """Two positions in the given order, `first < second`, and the share of rare words they have in common."""

    first: int
    second: int
    shared: float


def candidate_pairs(texts: Sequence[str], own: Sequence[str], check: Callable[[], None]) -> list[Candidate]:
    """Pairs that may be duplicates, most promising first. `own` are the texts without the lines that many
    have."""
    features: list[frozenset[str]] = []
    known_by: Counter[str] = Counter()
    for text in texts:
        check()
        features.append(words_of(text))
        known_by.update(features[-1])
    rarity = {word: _rarity(count, len(texts)) for word, count in known_by.items() if count > 1}
    # A word that one note has for itself counts half: wordings differ.
    alone = math.log1p(len(texts)) / 2
    weights = []
    for each in features:
        check()
        weights.append(_weigh(each, rarity, alone))
    numbers = _Numbers(texts)
    own_features = _own_features(features, texts, own, check)
    found = []
    is_small = len(texts) <= _FEW
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
        if (is_small or shared >= _LEAST_SHARED * lighter > 0) and not numbers.disagree(first, second):
            found.append(Candidate(first, second, shared / lighter if lighter else 0.0))
    return sorted(found, key=lambda each: (-round(each.shared, 6), each.first, each.second))


def _rarity(count: int, notes: int) -> float:
    """The weight of a word that `count` of the notes have; next to nothing where nearly all have it."""
    return math.log1p(notes / count) if count <= _SOME else math.log(notes / count) + _BOILERPLATE


def _weigh(words: frozenset[str], rarity: Mapping[str, float], alone: float) -> float:
    return sum(rarity.get(word, alone) for word in words)


def _own_features(
    features: Sequence[frozenset[str]], texts: Sequence[str], own: Sequence[str], check: Callable[[], None]
) -> list[frozenset[str]]:
    """The words of the lines that few notes have: what two notes share of the others is no sign of
    anything."""
    found = []
    for words, text, own_text in zip(features, texts, own, strict=True):
        check()
        found.append(words if own_text == text else words_of(own_text))
    return found


class _Numbers:
    """The numbers of each text, looked up once."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._known: dict[int, frozenset[str]] = {}

    def disagree(self, first: int, second: int) -> bool:
        """Each has a number that the other one lacks: the judgement would say no, and this is much
        cheaper."""
        one, other = self._of(first), self._of(second)
        return bool(one - other and other - one)

    def _of(self, position: int) -> frozenset[str]:
        if position not in self._known:
            self._known[position] = numbers_of(self._texts[position])
        return self._known[position]


def words_of(text: str) -> frozenset[str]:
    """The words of a text for the index: first letters, numbers whole, pairs of characters where no spaces
    are."""
    found: set[str] = set()
    for word in _WORD.findall(text.casefold()):
        if word.isascii() or not _UNSPACED.search(word):
            found.add(NUMBER_WORDS.get(word) or word[:_PREFIX])
        else:
            found.update(word[at : at + 2] for at in range(max(1, len(word) - 1)))
    return frozenset(found)


def numbers_of(text: str) -> frozenset[str]:
    """The numbers of a text, those that only count a list aside."""
    lowered = _ORDINAL.sub("", text.casefold())
    found = {number.lstrip("0") or "0" for number in _NUMBER.findall(lowered)}
    return frozenset(found | {NUMBER_WORDS[word] for word in _WORD.findall(lowered) if word in NUMBER_WORDS})


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
