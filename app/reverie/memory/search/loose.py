"""Search by any word, for when too few notes contain all words.

The words of a query are searched without stop words, in every form that occurs in the notes, and as similar
words if they may be misspelt.

Threading: any thread but the GUI's. Failure: as in `memory.search.index`.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

from reverie.memory.catalogue import WordCounts
from reverie.memory.search.hits import Ranges
from reverie.memory.search.query import SearchQuery
from reverie.memory.search.words import folded, is_cjk, tokens
from reverie.resources import load_table
from reverie.values import Struct, replace

_MOST_WORDS = 24
_MOST_FORMS = 24
_LIKE_SHOWN = 3
# Weights of other forms of a word, and of similar words.
_OTHER_FORM, _LIKE = 0.9, 0.6
_PAIR = 0.5
_OTHER_WORD = 0.7
# Maximum length of a passage, in characters.
_PASSAGE = 320
_HIRAGANA = re.compile("[\u3041-\u309f]")
_VOWEL = re.compile("[aeiouyаеёиоуыэюя]")
_AFTER_CONSONANT = frozenset({"y", "ies", "ied", "ying"})
_FORMED = re.compile(r"[^\W\d_]{3,30}\Z")


class _Language(Struct, frozen=True):
    stop: frozenset[str]
    endings: tuple[str, ...]
    """The inflectional endings, longest first."""


@cache
def _languages() -> dict[str, _Language]:
    return load_table("search_words.toml", _languages_of)


@cache
def _alike() -> dict[str, frozenset[str]]:
    """Return the table of English synonyms: stem of a word -> its synonyms."""
    return load_table("search_words.toml", _alike_of)


def _alike_of(table: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for row in table["alike"]["en"].strip().splitlines():
        words = frozenset(row.split())
        for word in words:
            bare = stem(word, "en")
            found[bare] = found.get(bare, frozenset()) | (words - {word})
    return found


def _languages_of(table: Mapping[str, Any]) -> dict[str, _Language]:
    return {
        name: _Language(
            frozenset(folded(words).split()),
            tuple(sorted(set(folded(table["endings"][name]).split()), key=len, reverse=True)),
        )
        for name, words in table["stop"].items()
    }


class Group(Struct, frozen=True):
    """One word of a query together with its forms that occur in the notes."""

    word: str
    forms: tuple[str, ...]
    count: int
    """An upper bound for the number of notes with one of the forms."""
    weight: float
    """The importance for the ranking; rare words weigh more."""
    others: tuple[str, ...] = ()
    """Synonyms, which count less."""
    is_like: bool = False
    """Whether no note has the word; `forms` are then words that are spelled similarly."""
    goes_on: bool = False
    """Whether the word is still being typed, so that longer words which begin with it match too."""

    @property
    def match(self) -> str:
        """The group as an FTS5 query."""
        asked = [f'"{form}"' for form in (*self.forms, *self.others)]
        return " OR ".join([*asked, f'"{self.word}" *'] if self.goes_on else asked)


def loose_words(query: SearchQuery) -> list[tuple[str, bool]]:
    """Return the words of `query` for a search by any word, as (word, whether it may be unfinished).

    Stop words and words in quotes are left out, and the last word if only one letter of it is typed.
    """
    found: dict[str, bool] = {}
    for term in query.terms:
        if term.is_exact:
            continue
        words = list(_words_of(term.text))
        for number, word in enumerate(words, 1):
            goes_on = term.goes_on and number == len(words) and not is_cjk(word[0])
            if not (goes_on and len(word) == 1):
                found[word] = goes_on
    told = _stop_words(tuple(found))
    return [(word, goes_on) for word, goes_on in found.items() if word not in told][:_MOST_WORDS]


def _words_of(text: str) -> Iterator[str]:
    """Yield the words of a text as in the index; text without spaces (CJK) as pairs of characters."""
    run: list[tuple[str, int]] = []
    for token in tokens(text):
        if is_cjk(token.text[:1] or " "):
            if run and run[-1][1] != token.start:
                yield from _pairs_of(run)
                run = []
            run.append((token.text, token.end))
            continue
        yield from _pairs_of(run)
        run = []
        yield token.text  # an identifier counts as one word
    yield from _pairs_of(run)


def _pairs_of(run: Sequence[tuple[str, int]]) -> Iterator[str]:
    if len(run) == 1:
        yield run[0][0]
    for (one, _), (other, _) in pairwise(run):
        if not (_HIRAGANA.match(one) and _HIRAGANA.match(other)):  # most of these pairs are endings
            yield one + other


@lru_cache(maxsize=64)
def _stop_words(words: tuple[str, ...]) -> frozenset[str]:
    languages = _languages()
    return languages["en"].stop | languages[_language_of(words)].stop


def _language_of(words: Iterable[str]) -> str:
    """Return the code, such as "en", of the language to which most stop words among `words` belong.

    Return "en" if there are no stop words.
    """
    found = set(words)
    counts = {name: len(found & language.stop) for name, language in _languages().items()}
    best = max(counts, key=lambda name: (counts[name], name == "en"))
    return best if counts[best] else "en"


@lru_cache(maxsize=16_384)
def stem(word: str, language: str) -> str:
    """Return a word without its inflectional ending in a language, given by its code, such as "en"."""
    for ending in _languages()[language].endings:
        if not word.endswith(ending) or len(word) - len(ending) < 3:
            continue
        if ending == "s" and word.endswith(("ss", "us")):
            continue
        bare = word[: -len(ending)]
        if ending in _AFTER_CONSONANT and bare[-1] in "aeiou":
            continue
        if word.isascii() and _VOWEL.search(bare) is None:
            continue
        is_doubled = len(bare) > 3 and bare[-1] == bare[-2] and bare[-1] not in "lsz" and len(ending) > 1
        return bare[:-1] if is_doubled else bare
    return word


_FEW_WORDS = 100
"""The largest number of words in a result that is cached."""


class Vocabulary:
    """The words of the index, read through one connection.

    `notes`: the number of notes in the index. `counted`: a cache of the words read so far.
    """

    def __init__(self, connection: sqlite3.Connection, notes: int, counted: WordCounts) -> None:
        self._connection = connection
        self._counted = counted
        self._notes = notes

    def groups(self, words: Sequence[tuple[str, bool]]) -> list[Group]:
        """Return a group for each word that occurs in the notes, itself or as a similar word; rarest first.

        `words`: the words of the query, and for each whether it may be unfinished, because the user is still
        typing it. A group has a word and its forms, which are the words of the index with the same stem. If
        no note contains a word or one of its forms, it is treated as misspelt: the group has similar words.

        Groups of rare words have the largest weight. The search ranks a note higher, the more groups it
        contains and the closer together they are; words in quotes must occur in every note that is found.
        """
        language = _language_of(word for word, _goes_on in words)
        made = (self._group(word, language, goes_on=goes_on) for word, goes_on in words)
        return sorted((each for each in made if each is not None), key=lambda each: each.count)

    def _group(self, word: str, language: str, *, goes_on: bool) -> Group | None:
        if is_cjk(word[0]):
            count = dict(self._between(word, word + "\0")).get(word, 0)
            return self._made(word, {word: count}, _PAIR) if count else None
        forms = self._forms(word, language)
        others = self._others(word)
        if forms or others:
            made = self._made(word, forms or others, 1.0 if word in forms else _OTHER_FORM, goes_on=goes_on)
            return replace(made, others=tuple(sorted(others))) if forms else made
        if goes_on and any(True for _ in self._between(word, word + "\U0010ffff")):
            return Group(word, (), 0, self._weight(1) * _OTHER_FORM, goes_on=True)
        like = self._like(word)
        return self._made(word, like, _LIKE, is_like=True) if like else None

    def _made(
        self,
        word: str,
        forms: Mapping[str, int],
        share: float,
        *,
        is_like: bool = False,
        goes_on: bool = False,
    ) -> Group:
        kept = sorted(forms, key=lambda form: (form != word, -forms[form]))[:_MOST_FORMS]
        count = sum(forms[form] for form in kept)
        # The last word of a question is usually complete; its completions cost time.
        goes_on = goes_on and word not in forms
        return Group(word, tuple(kept), count, self._weight(count) * share, is_like=is_like, goes_on=goes_on)

    def _weight(self, count: int) -> float:
        return math.log(1 + max(0.5, self._notes - count + 0.5) / (count + 0.5))

    def _forms(self, word: str, language: str) -> dict[str, int]:
        if _FORMED.match(word) is None:
            return {form: count for form, count in self._between(word, word + "\0") if form == word}
        stems = {name: stem(word, name) for name in _spoken(word, language)}
        begin = min(stems.values(), key=len)
        return {
            form: count
            for form, count in self._between(begin, begin + "\U0010ffff")
            if form == word or any(stem(form, name) == bare for name, bare in stems.items())
        }

    def _others(self, word: str) -> dict[str, int]:
        """Return a word's synonyms in every form that occurs in the notes, as form -> number of notes."""
        found: dict[str, int] = {}
        for other in _alike().get(stem(word, "en"), ()):
            found.update(self._forms(other, "en"))
        return found

    def _like(self, word: str) -> dict[str, int]:
        """Return the words of the notes that are most similar to `word`, as word -> number of notes.

        `word`: a word that no note contains. The result is empty if it is too short or has digits.
        """
        # Late: loading it takes as long as the search, and only misspelt words need it.
        from rapidfuzz.distance import OSA

        if len(word) < 4 or any(map(str.isdigit, word)):
            return {}
        most = 1 if len(word) < 7 else 2
        begins = {word[:2], word[1] + word[0]}
        found: list[tuple[int, int, str]] = []
        for begin in begins:
            for form, count in self._between(begin, begin + "\U0010ffff"):
                if abs(len(form) - len(word)) <= most:
                    distance = OSA.distance(word, form, score_cutoff=most)
                    if distance <= most:
                        found.append((distance, -count, form))
        nearest = sorted(found)[:_LIKE_SHOWN]
        return {form: -count for distance, count, form in nearest if distance == nearest[0][0]}

    def _between(self, first: str, beyond: str) -> list[tuple[str, int]]:
        found = self._counted.get((first, beyond))
        if found is None:
            found = self._connection.execute(
                "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ?", (first, beyond)
            ).fetchall()
            if len(found) <= _FEW_WORDS:
                self._counted[first, beyond] = found
        return found


def _spoken(word: str, language: str) -> tuple[str, ...]:
    if not word.isascii() and _languages()["ru"].endings and "\u0400" <= word[0] <= "\u04ff":
        return ("ru",)
    return ("en",) if language == "en" else ("en", language)


class BestPassage(Struct, frozen=True):
    """The degree to which a text matches a query, as a whole and in its best passage (a few lines)."""

    anywhere: float
    """The share (0 to 1) of the groups' total weight that the text contains anywhere."""
    together: float
    """The share (0 to 1) of that weight in the best passage of at most `_PASSAGE` characters."""
    is_like: bool
    """Whether the text has only words that are spelled similarly to the words of the query."""
    hits: Ranges
    """The positions of the words of the best passage, in the text."""


def passage(text: str, groups: Sequence[Group], *, called: str = "") -> BestPassage:
    """Return the degree to which a text contains the words of `groups`, with its best passage.

    `called`: the names of the file and its project, empty for none; words in it count for every passage.
    """
    plain = folded(text)
    spots = sorted(_spots(plain, groups), key=lambda spot: spot[0])
    total = sum(group.weight for group in groups) or 1.0
    chosen, first = spots[:0], 0
    over = [(group, is_own) for _start, _end, group, is_own in _spots(folded(called), groups)]
    near: Counter[str] = Counter(group.word for group, _own in over)
    weights = {group.word: group.weight for group in groups}
    own = {group.word for group, is_own in [*over, *((each[2], each[3]) for each in spots)] if is_own}
    weights.update({word: _OTHER_WORD * weight for word, weight in weights.items() if word not in own})
    weight, best = sum(weights[word] for word in near), -1.0
    for last, (start, _end, group, _own) in enumerate(spots):
        weight += weights[group.word] if not near[group.word] else 0.0
        near[group.word] += 1
        while start - spots[first][0] > _PASSAGE:
            gone = spots[first][2].word
            near[gone] -= 1
            weight -= weights[gone] if not near[gone] else 0.0
            first += 1
        if weight > best + 1e-9:
            best, chosen = weight, spots[first : last + 1]
    best = max(best, weight if not spots else 0.0)
    present = {
        group.word: group for group in [*(group for group, _own in over), *(each[2] for each in spots)]
    }
    # Folding may change the length of a text, and so the positions of its words.
    hits = tuple((start, end) for start, end, _group, _own in chosen) if len(plain) == len(text) else ()
    return BestPassage(
        sum(weights[word] for word in present) / total,
        best / total,
        bool(present) and all(group.is_like for group in present.values()),
        hits,
    )


def _spots(plain: str, groups: Sequence[Group]) -> Iterator[tuple[int, int, Group, bool]]:
    """Yield each occurrence of a word of `groups` in the folded text `plain`.

    A group is a word of the query with its forms and synonyms. Each item is: start, end, the group, and True
    for one of the group's forms or False for a synonym.
    """
    for group in groups:
        is_pair = is_cjk(group.word[0])
        forms = (*group.forms, group.word) if group.goes_on else group.forms
        for number, form in enumerate((*forms, *group.others)):
            goes_on = group.goes_on and form == group.word
            position = plain.find(form)
            while position >= 0:
                end = position + len(form)
                if is_pair or (
                    _is_edge(plain[position - 1 : position]) and (goes_on or _is_edge(plain[end : end + 1]))
                ):
                    yield position, end, group, number < len(forms)
                position = plain.find(form, end)


def _is_edge(char: str) -> bool:
    """Return whether a word ends beside this character: it is no letter or digit, or it is CJK."""
    return not char.isalnum() or is_cjk(char)
