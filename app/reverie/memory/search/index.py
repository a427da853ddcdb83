"""Queries of the full-text index of the catalogue.

A query with a rare word is ranked by BM25 (names count most). Ranking by a word that more than a thousand
notes contain is slow and of little value, so such words only filter. Without a rare word, notes with the word
in their name come first, then the newest.

Threading: any thread but the GUI's. Failure: as in `memory.catalogue`.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from reverie.agents.scopes import Scope
from reverie.memory.catalogue import FileCatalogue, complete_homes
from reverie.memory.search.loose import Group, Vocabulary, loose_words
from reverie.memory.search.query import SearchQuery, Term
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
"""The score of a note with every word of a query, in a search for any of its words."""
# Bonus for a note in the user's present place.
_HERE = 3.0
_COLUMNS = "files.id, files.home, files.root, files.rel, files.scope, files.mtime_ns"
Row = tuple[int, str, str, bytes, str, int]
Relevance = Mapping[int, float]


class Doc(Struct, frozen=True):
    """A file that matches a query."""

    id: int
    """The id of the file's row in the catalogue."""
    home: str
    """The id of the home."""
    root: str
    """The key of the root (directory of memories); "companions" for a file loaded beside the memories."""
    rel: str
    """The path below the root; for a companion see `memory.catalogue.companion_rel`."""
    scope: Scope
    mtime_ns: int
    """The time of the last change, in ns since the epoch."""
    score: float = 0.0
    """The rank among the results; a higher score is better."""


class SearchLimits(Struct, frozen=True):
    """Limits on the rows of the catalogue to search, in addition to the query's own filters."""

    homes: tuple[str, ...]
    """The ids of the homes to search."""
    now_ns: int
    """The current time, in ns since the epoch."""
    count: int = 50
    """The maximum number of results."""
    only: Collection[int] | None = None
    """The ids of the only rows to search; None: all rows."""
    without: Collection[int] = ()
    """The ids of rows to leave out."""
    roots: Collection[tuple[str, str]] | None = None
    """The only roots to search, as pairs of home id and root key; None: all roots."""
    beside: Collection[int] = ()
    """The ids of further rows to search, outside of `roots`."""
    here: Collection[tuple[str, str]] = ()
    """The roots of the user's current context, as in `roots`; their results get a higher score."""


def find(catalogue: FileCatalogue, query: SearchQuery, limits: SearchLimits) -> tuple[tuple[Doc, ...], bool]:
    """Return the results of a query, best first, and whether the catalogue covers all homes of `limits`.

    For a query with a regular expression, the results are the files in which to search for it, newest first.
    Without a catalogue, or for a query with `problems`, return no results and False. Raises
    `CatalogueDamaged`, `Unavailable`.
    """
    with catalogue.reading() as connection:
        if connection is None or query.problems:
            return (), False
        docs = _Finder(connection, query, limits).find()
        return docs, complete_homes(connection, limits.homes) == set(limits.homes)


class Loose(Struct, frozen=True):
    """Notes that contain some of a query's words, best first, and the groups of words that were searched."""

    docs: tuple[Doc, ...]
    groups: tuple[Group, ...]


def find_loose(catalogue: FileCatalogue, query: SearchQuery, limits: SearchLimits) -> Loose:
    """Return the notes that contain any word of `query`, best first, within `limits`.

    Empty without a catalogue, and for a query without unquoted words, with `problems` or with a regular
    expression. Raises `CatalogueDamaged`, `Unavailable`.
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
    """A search for one query, with one connection to the catalogue."""

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
        """Return the notes that contain words of `groups`, best first; rare words count more.

        A group is a word of the query with its forms. Each note also has all quoted terms of the query.
        """
        required = "".join(f" AND {term.phrase}" for term in self._query.terms if term.is_exact)
        total = sum(group.weight for group in groups)
        scores: dict[int, float] = {}
        # Words that most notes have are not ranked here; they count in the passages.
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
        """Return the ids of the newest rows that contain the query with its last word exactly as typed.

        `every`: the FTS5 query for all terms. The result is empty if the last word counts as complete: then
        every row that is found contains it as typed, so there are no rows to prefer.
        """
        terms = self._query.terms
        whole = " AND ".join(Term(term.text).phrase if term.goes_on else term.phrase for term in terms)
        return () if whole == every else self._newest(whole)

    def _phrase(self, term: Term) -> str:
        """Return the FTS5 phrase for a term.

        If many notes contain the last word exactly as typed, it counts as finished, because its completions
        are slow to collect and there are enough results already.
        """
        finished = Term(term.text).phrase
        return finished if term.goes_on and self._is_common(finished) else term.phrase

    def _is_common(self, match: str) -> bool:
        """Return whether so many notes match the FTS5 query `match` that ranking them is too slow."""
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
        """Return the newest `count` rows that match the FTS5 query `match` (-1: all).

        The cached ids are used if there are enough of them.
        """
        ids = self._newest(match)
        is_all = len(ids) <= _COMMON
        if count < 0:
            return self._rows(ids) if is_all else self._looked_up("words", match, count)
        rows = self._rows(ids[:count])
        if len(rows) < count < len(ids):
            rows += self._rows(ids[count:])
        return rows[:count] if is_all or len(rows) >= count else self._looked_up("words", match, count)

    def _best(self, ids: Sequence[int], relevance: Relevance) -> list[Row]:
        """Look up and return those of the rows `ids` that can be among the best results.

        `relevance`: id of a row -> its score without the bonus for a recent change and for the user's current
        context. Each lookup is slow, so two kinds of rows are left out: those with a score so low that this
        bonus cannot lift them into the results, and, if very many others remain, those indexed first.
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
