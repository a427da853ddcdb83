"""Queries of the full-text index of the catalogue.

A query with a rare word is ranked by BM25 (names count most). Ranking a word that more than a thousand notes
contain is slow and says little, so such words only filter; without a rare word, notes with the word in their
name come first, then the newest.

Threading: any thread but the GUI's. Failure: as of `memory.catalogue`.
"""

from __future__ import annotations

import json
import math
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

from reverie.agents.scopes import Scope
from reverie.memory.catalogue import FileCatalogue, WordCounts, complete_homes
from reverie.memory.search.query import Ranges, SearchQuery, Term, folded, is_cjk, tokens
from reverie.resources import load_table
from reverie.values import Struct, replace

# A word in more notes than this is not used for ranking.
_COMMON = 1_000
# Maximum number of equally relevant notes to look up, last indexed first.
_CANDIDATES = 400
_WEIGHTS = "8.0, 1.0, 0.5"
_NAMED = 4.0
# Bonus for a note with the typed word over one with a word that only begins like it.
_WHOLE_WORD = 6.0
# Bonus for a note that changed just now over a very old one.
_FRESH = 0.5
_DAY_NS = 86_400_000_000_000
_FADING_DAYS = 30
# Number of rows by any word to look up at once.
_LOOSE_STEP = 200
WHOLE = 8.0
"""Maximum score of a note with every word of a question, by any word."""
# Bonus for a note in the user's present place.
_HERE = 3.0
_COLUMNS = "files.id, files.home, files.root, files.rel, files.scope, files.mtime_ns"
Row = tuple[int, str, str, bytes, str, int]
Relevance = Mapping[int, float]


class Doc(Struct, frozen=True):
    """A file that answers a question; the higher its score the better.

    `rel` is below its root; `root` is `companions` for a file that an agent loads beside its memories.
    """

    id: int
    home: str
    root: str
    rel: str
    scope: Scope
    mtime_ns: int
    score: float = 0.0


class SearchLimits(Struct, frozen=True):
    """The rows that may answer, in addition to the question's own filters.

    Rows of these homes, with (or without) these ids; at most `count`.
    """

    homes: tuple[str, ...]
    now_ns: int
    count: int = 50
    only: Collection[int] | None = None
    without: Collection[int] = ()
    roots: Collection[tuple[str, str]] | None = None
    """Homes and keys of the roots that may answer; None: all."""
    beside: Collection[int] = ()
    """Further rows that may answer, outside of those roots."""
    here: Collection[tuple[str, str]] = ()
    """The roots of the user's present place: their answers come first."""


def find(catalogue: FileCatalogue, query: SearchQuery, limits: SearchLimits) -> tuple[tuple[Doc, ...], bool]:
    """Return the results of a query, best first, and whether the catalogue has all of its homes completely.

    For a query with a pattern: the files to search for it, newest first. Raises `CatalogueDamaged`,
    `Unavailable`.
    """
    with catalogue.reading() as connection:
        if connection is None or query.problems:
            return (), False
        docs = _Finder(connection, query, limits).find()
        return docs, complete_homes(connection, limits.homes) == set(limits.homes)


class Loose(Struct, frozen=True):
    """Results for some of a question's words, best first, and the word groups that were searched."""

    docs: tuple[Doc, ...]
    groups: tuple[Group, ...]


def find_loose(catalogue: FileCatalogue, query: SearchQuery, limits: SearchLimits) -> Loose:
    """Return the results for any word of a query.

    Raises `CatalogueDamaged`, `Unavailable`.
    """
    words, exact = loose_words(query), tuple(term for term in query.terms if term.is_exact)
    if not words or query.problems or query.regex:
        return Loose((), ())
    counted = catalogue.counted_words()
    with catalogue.reading() as connection:
        if connection is None:
            return Loose((), ())
        notes = connection.execute("SELECT count(*) FROM files").fetchone()[0]
        groups = Vocabulary(connection, notes, counted).groups(words)
        if not groups:
            only = _Finder(connection, replace(query, terms=exact), limits)
            return Loose(only.find() if exact else (), ())
        return Loose(_Finder(connection, query, limits).find_any(groups), tuple(groups))


class _Finder:
    """One question to one connection."""

    def __init__(self, connection: sqlite3.Connection, query: SearchQuery, limits: SearchLimits) -> None:
        self._connection = connection
        self._query = query
        self._limits = limits
        self._where, self._values = _conditions(query, limits)
        # By match: the newest rows, one more than are worth ranking.
        self._newest_with: dict[str, list[int]] = {}

    def find(self) -> tuple[Doc, ...]:
        count = -1 if self._query.regex else self._limits.count
        if not self._query.terms:
            return self._ranked(self._last_changed(count), {})
        phrases = [self._phrase(term) for term in self._query.terms]
        every = " AND ".join(phrases)
        if self._query.regex:
            return self._ranked(self._matching(every, -1), {})
        # If all words together are common, so is each of them.
        rare = [] if self._is_common(every) else [each for each in phrases if not self._is_common(each)]
        if rare:
            ids = self._newest(every)
            relevance = self._relevance(" AND ".join(rare)) if ids else {}
            for id_ in self._whole_words(every) if ids else ():
                relevance[id_] = relevance.get(id_, 0.0) + _WHOLE_WORD
            return self._ranked(self._best(ids, relevance), relevance)
        named = self._looked_up("names", every, _CANDIDATES)
        relevance = {row[0]: _NAMED for row in named}
        return self._ranked([*named, *self._matching(every, _CANDIDATES)], relevance)

    def find_any(self, groups: Sequence[Group]) -> tuple[Doc, ...]:
        """Return the rows with the most of these groups by their weight; each contains every quoted term."""
        required = "".join(f" AND {term.phrase}" for term in self._query.terms if term.is_exact)
        total = sum(group.weight for group in groups)
        scores: dict[int, float] = {}
        # Words of most notes say little: they count in the passages, not here.
        rare = [group for group in groups if group.count <= _COMMON] or list(groups[:1])
        for group in rare:
            found = self._connection.execute(
                f"SELECT rowid, -bm25(words, {_WEIGHTS}) FROM words WHERE words MATCH ? "
                "ORDER BY rowid DESC LIMIT ?",
                (f"({group.match}){required}", _COMMON),
            ).fetchall()
            most = max((score for _id, score in found), default=0.0) or 1.0
            for id_, score in found:
                scores[id_] = scores.get(id_, 0.0) + group.weight * (0.6 + 0.4 * score / most)
        best = sorted(scores, key=scores.__getitem__, reverse=True)
        rows: list[Row] = []
        for at in range(0, len(best), _LOOSE_STEP):
            rows += self._rows(best[at : at + _LOOSE_STEP])
            # Rows of the user's present place are worth looking up farther down.
            if len(rows) >= (_COMMON if self._limits.here else self._limits.count):
                break
        return self._ranked(rows, {id_: WHOLE * score / total for id_, score in scores.items()})

    def _whole_words(self, every: str) -> Sequence[int]:
        """Return the newest rows with the last word as it is typed; none if that word is finished anyway."""
        terms = self._query.terms
        whole = " AND ".join(Term(term.text).phrase if term.goes_on else term.phrase for term in terms)
        return () if whole == every else self._newest(whole)

    def _phrase(self, term: Term) -> str:
        """Return the FTS5 phrase for a term.

        A word that is common as it is typed counts as finished: its completions are slow to collect, and
        there are enough results already.
        """
        finished = Term(term.text).phrase
        return finished if term.goes_on and self._is_common(finished) else term.phrase

    def _is_common(self, match: str) -> bool:
        """Return whether more notes match than are worth ranking."""
        return len(self._newest(match)) > _COMMON

    def _newest(self, match: str) -> list[int]:
        # Collecting the completions of a prefix is slow, so results are cached.
        if match not in self._newest_with:
            rows = self._connection.execute(
                "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?",
                (match, _COMMON + 1),
            )
            self._newest_with[match] = [id_ for (id_,) in rows.fetchall()]
        return self._newest_with[match]

    def _relevance(self, match: str) -> dict[int, float]:
        rows = self._connection.execute(
            f"SELECT rowid, -bm25(words, {_WEIGHTS}) FROM words WHERE words MATCH ?", (match,)
        )
        return dict(rows.fetchall())

    def _matching(self, match: str, count: int) -> list[Row]:
        """Return the newest matching rows (-1: all), from the cache where that reaches back far enough."""
        ids = self._newest(match)
        is_all = len(ids) <= _COMMON
        if count < 0:
            return self._rows(ids) if is_all else self._looked_up("words", match, count)
        rows = self._rows(ids[:count])
        if len(rows) < count < len(ids):
            rows += self._rows(ids[count:])
        return rows[:count] if is_all or len(rows) >= count else self._looked_up("words", match, count)

    def _best(self, ids: Sequence[int], relevance: Relevance) -> list[Row]:
        """Return rows that include the best ones.

        Age counts for a bounded part of the score, and each lookup is slow, so of many equally relevant rows
        only the last indexed are looked up.
        """
        count = self._limits.count
        ordered = sorted(ids, key=lambda id_: -relevance.get(id_, 0.0))
        rows = self._rows(ordered[: 2 * count])
        rest = ordered[2 * count :]
        if rest and len(rows) >= count:
            last = sorted((score for score, _row in self._scored(rows, relevance)), reverse=True)[count - 1]
            most = _FRESH + (_HERE if self._limits.here else 0.0)
            near = (id_ for id_ in rest if relevance.get(id_, 0.0) + most >= last)
            rest = sorted(near, reverse=True)[:_CANDIDATES]
        return [*rows, *self._rows(rest)] if rest else rows

    def _rows(self, ids: Sequence[int]) -> list[Row]:
        return self._connection.execute(
            f"SELECT {_COLUMNS} FROM files WHERE files.id IN (SELECT value FROM json_each(?)) "
            f"AND {self._where} ORDER BY files.id DESC",
            (json.dumps(ids), *self._values),
        ).fetchall()

    def _looked_up(self, table: str, match: str, count: int) -> list[Row]:
        # CROSS JOIN: SQLite reads the word lists first, then looks up each row.
        return self._connection.execute(
            f"SELECT {_COLUMNS} FROM {table} CROSS JOIN files ON files.id = {table}.rowid "
            f"WHERE {table} MATCH ? AND {self._where} ORDER BY {table}.rowid DESC LIMIT ?",
            (match, *self._values, count),
        ).fetchall()

    def _last_changed(self, count: int) -> list[Row]:
        return self._connection.execute(
            f"SELECT {_COLUMNS} FROM files WHERE {self._where} ORDER BY files.mtime_ns DESC LIMIT ?",
            (*self._values, count),
        ).fetchall()

    def _ranked(self, rows: Iterable[Row], relevance: Relevance) -> tuple[Doc, ...]:
        ordered = sorted(
            (-score, row[1:4], row)
            for score, row in self._scored({row[0]: row for row in rows}.values(), relevance)
        )
        kept = ordered if self._query.regex else ordered[: self._limits.count]
        return tuple(_doc(row, round(-score, 4)) for score, _key, row in kept)

    def _scored(self, rows: Iterable[Row], relevance: Relevance) -> list[tuple[float, Row]]:
        now_ns, fading_ns, of = self._limits.now_ns, _FADING_DAYS * _DAY_NS, relevance.get
        here = self._limits.here
        return [
            (
                of(row[0], 0.0)
                + _FRESH / (1 + (now_ns - row[5]) / fading_ns if row[5] < now_ns else 1)
                + (_HERE if here and row[1:3] in here else 0.0),
                row,
            )
            for row in rows
        ]


def _conditions(query: SearchQuery, limits: SearchLimits) -> tuple[str, tuple[Any, ...]]:
    parts = ["files.home IN (SELECT value FROM json_each(?))"]
    values: list[Any] = [json.dumps(list(limits.homes))]
    if query.scopes:
        parts.append("files.scope IN (SELECT value FROM json_each(?))")
        values.append(json.dumps([scope.value for scope in query.scopes]))
    if query.changed is not None:
        parts.append("files.mtime_ns >= ?" if query.changed.newer else "files.mtime_ns < ?")
        values.append(limits.now_ns - query.changed.span_ns)
    if limits.only is not None:
        parts.append("files.id IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(list(limits.only)))
    if limits.roots is not None:
        parts.append(
            "(files.home || char(31) || files.root IN (SELECT value FROM json_each(?)) "
            "OR files.id IN (SELECT value FROM json_each(?)))"
        )
        values.append(json.dumps([f"{home}\x1f{root}" for home, root in limits.roots]))
        values.append(json.dumps(list(limits.beside)))
    if limits.without:
        parts.append("files.id NOT IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(list(limits.without)))
    return " AND ".join(parts), tuple(values)


def _doc(row: Row, score: float) -> Doc:
    id_, home, root, rel, scope, mtime_ns = row
    return Doc(id_, home, root, os.fsdecode(rel), Scope(scope), mtime_ns, score)


# Maximum number of words of one question to search: the rarest count, and each costs time.
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
    """Longest first."""


@cache
def _languages() -> dict[str, _Language]:
    return load_table("search_words.toml", _languages_of)


@cache
def _alike() -> dict[str, frozenset[str]]:
    """Return synonyms by the stem of a word."""
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
    """One word of a question with its forms in the notes."""

    word: str
    forms: tuple[str, ...]
    count: int
    """Number of notes with one of them, at most."""
    weight: float
    others: tuple[str, ...] = ()
    """Synonyms, which count less."""
    is_like: bool = False
    """Whether the notes lack the word, and the forms are similarly spelled words."""
    goes_on: bool = False
    """Whether it may be unfinished."""

    @property
    def match(self) -> str:
        """The group as a query of the index."""
        asked = [f'"{form}"' for form in (*self.forms, *self.others)]
        return " OR ".join([*asked, f'"{self.word}" *'] if self.goes_on else asked)


def loose_words(query: SearchQuery) -> list[tuple[str, bool]]:
    """Return the words of a query that any note may answer, once each, and whether each may be unfinished.

    A word of which only one letter is typed is left out.
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
    """Yield words as the index has them; runs without spaces as pairs of characters."""
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
        yield token.text  # an identifier is one word: who types it means it
    yield from _pairs_of(run)


def _pairs_of(run: Sequence[tuple[str, int]]) -> Iterator[str]:
    if len(run) == 1:
        yield run[0][0]
    for (one, _), (other, _) in pairwise(run):
        if not (_HIRAGANA.match(one) and _HIRAGANA.match(other)):  # endings, most of them
            yield one + other


@lru_cache(maxsize=64)
def _stop_words(words: tuple[str, ...]) -> frozenset[str]:
    languages = _languages()
    return languages["en"].stop | languages[_language_of(words)].stop


def _language_of(words: Iterable[str]) -> str:
    """Return the language that most of the stop words among `words` belong to."""
    found = set(words)
    counts = {name: len(found & language.stop) for name, language in _languages().items()}
    best = max(counts, key=lambda name: (counts[name], name == "en"))
    return best if counts[best] else "en"


@lru_cache(maxsize=16_384)
def stem(word: str, language: str) -> str:
    """Return a word without its ending."""
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
"""Larger results are counted again each time."""


class Vocabulary:
    """The words of the index, read through one connection. Words in `counted` are not read again."""

    def __init__(self, connection: sqlite3.Connection, notes: int, counted: WordCounts) -> None:
        self._connection = connection
        self._counted = counted
        self._notes = notes

    def groups(self, words: Sequence[tuple[str, bool]]) -> list[Group]:
        """Return a group for each word that the notes have, or have a similar one of; the rarest first.

        A word and its forms are one group. Rare words count most, and a note counts the more, the more groups
        it has and the closer together they are. Forms come from the index's own vocabulary: words with the
        same stem. A word that the notes lack is treated as misspelt. Words in quotes stay required.
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
        if goes_on and self._begins(word):
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
        """Return the forms of synonyms."""
        found: dict[str, int] = {}
        for other in _alike().get(stem(word, "en"), ()):
            found.update(self._forms(other, "en"))
        return found

    def _begins(self, word: str) -> bool:
        return any(True for _ in self._between(word, word + "\U0010ffff"))

    def _like(self, word: str) -> dict[str, int]:
        """Return the words most similar to one that the notes lack."""
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
    """How well a text answers: the share of the question in the whole text, and in its best passage."""

    anywhere: float
    together: float
    is_like: bool
    """Whether it has only words that are spelled similarly to those of the question."""
    hits: Ranges
    """Positions of the words of the best passage, in the text."""


def passage(text: str, groups: Sequence[Group], *, called: str = "") -> BestPassage:
    """Return how well a text answers these groups.

    `called`: its name and that of its place, which count for every passage.
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
    """Yield the positions of the groups' words in a folded text, and whether each is the word itself."""
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
    """Return whether a character is part of no word that a neighbouring one belongs to."""
    return not char.isalnum() or is_cjk(char)
