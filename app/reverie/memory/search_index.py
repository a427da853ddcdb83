"""The full-text index over the memories and companions of every home, and how it is asked.

A question with a rare word is ranked by BM25 (names count most). Ranking a word that more than a thousand
notes hold is dear and says nothing, so such words only narrow the answer down; where there is no rare word
the notes named so come first, then those that changed last.

Threading: any thread but the GUI's; one update at a time over all processes, questions beside it. Failure:
`MendableError`; a damaged index is built anew, by `update` itself, for a question when it says
`IndexDamaged`.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reverie.homes.base import Home
from reverie.homes.scopes import Scope
from reverie.memory.search_database import IndexDamaged as IndexDamaged
from reverie.memory.search_database import SearchDatabase
from reverie.memory.search_query import Query, Term
from reverie.memory.search_update import UpdateStopped as UpdateStopped
from reverie.memory.search_update import Watcher, update_all, update_dirty

_log = logging.getLogger("reverie.search")
# A word that more notes hold says too little to rank by.
_COMMON = 1_000
# So many of the notes that nothing but their age tells apart are looked at, those last indexed first.
_CANDIDATES = 400
_WEIGHTS = "8.0, 1.0, 0.5"
_NAMED = 4.0
# What a note that changed just now has before one of long ago.
_FRESH = 0.5
_DAY_NS = 86_400_000_000_000
_FADING_DAYS = 30
# Rows that lead nowhere any more: beyond this share the index is begun anew.
_DEAD_AT_LEAST = 20_000
_COLUMNS = "docs.id, docs.home, docs.root, docs.rel, docs.scope, docs.mtime_ns"
_FOLLOWED = Watcher()
Row = tuple[int, str, str, bytes, str, int]
Relevance = Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Doc:
    """A file that answers a question; the higher its score the better. `rel` is below its root; `root` is
    `companions` for a file that an agent loads beside its memories."""

    id: int
    home: str
    root: str
    rel: str
    scope: Scope
    mtime_ns: int
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    """Which rows may answer, beside what the question's own filters say: of these homes, with (or without)
    these ids; at most so many."""

    homes: tuple[str, ...]
    now_ns: int
    count: int = 50
    only: Collection[int] | None = None
    without: Collection[int] = ()


class SearchIndex:
    """One index per profile, for all homes. Nothing is created before the first update."""

    def __init__(self, path: Path, *, lock_dir: Path) -> None:
        self._database = SearchDatabase(path, lock_dir=lock_dir)

    def update(
        self,
        home: Home,
        home_id: str,
        *,
        dirty: Collection[Path] | None = None,
        watcher: Watcher = _FOLLOWED,
    ) -> int:
        """Bring the rows of a home up to date: all, or (if it is complete) what `dirty` names. Returns how
        many changed. Raises `UpdateStopped`, `Unavailable`, `Busy`."""
        try:
            return self._update(home, home_id, dirty, watcher)
        except IndexDamaged as damage:
            _log.info("the search index is built anew: %s", damage)
            self._database.remove()
            return self._update(home, home_id, None, watcher)

    def _update(self, home: Home, home_id: str, dirty: Collection[Path] | None, watcher: Watcher) -> int:
        with self._database.writing() as connection:
            if _is_worn(connection):
                raise IndexDamaged("most of its rows are of the past")
            if dirty is not None and _complete(connection, (home_id,)):
                return update_dirty(connection, home, home_id, dirty, watcher)
            return update_all(connection, home, home_id, watcher)

    def rebuild(self) -> None:
        """Throw everything away; the next updates begin anew."""
        self._database.remove()

    def complete(self, homes: Collection[str]) -> set[str]:
        """Those of the homes that were looked at in full since the index was begun."""
        with self._database.reading() as connection:
            return _complete(connection, homes) if connection is not None else set()

    def find(self, query: Query, limits: Limits) -> tuple[tuple[Doc, ...], bool]:
        """What answers a question, best first, and whether all of its homes were looked at in full. Of a
        question with a pattern: what is to be searched for it, last changed first. Raises `IndexDamaged`."""
        with self._database.reading() as connection:
            if connection is None or query.problems:
                return (), False
            docs = _Finder(connection, query, limits).find()
            return docs, _complete(connection, limits.homes) == set(limits.homes)

    def ids(self, home: str, root: str, rels: Collection[str]) -> dict[str, tuple[int, str]]:
        """Row id and content hash (hex) of files of one root."""
        with self._database.reading() as connection:
            if connection is None:
                return {}
            found: dict[str, tuple[int, str]] = {}
            for rel in rels:
                row = connection.execute(
                    "SELECT id, sha256 FROM docs WHERE home = ? AND root = ? AND rel = ?",
                    (home, root, os.fsencode(rel)),
                ).fetchone()
                if row is not None:
                    found[rel] = (row[0], row[1].hex())
            return found


class _Finder:
    """One question to one connection."""

    def __init__(self, connection: sqlite3.Connection, query: Query, limits: Limits) -> None:
        self._connection = connection
        self._query = query
        self._limits = limits
        self._where, self._values = _conditions(query, limits)
        # The newest rows that hold something, one more than are worth ranking.
        self._newest_with: dict[str, list[int]] = {}

    def find(self) -> tuple[Doc, ...]:
        count = -1 if self._query.regex else self._limits.count
        if not self._query.terms:
            return self._ranked(self._last_changed(count), {})
        phrases = [self._phrase(term) for term in self._query.terms]
        every = " AND ".join(phrases)
        if self._query.regex:
            return self._ranked(self._matching(every, -1), {})
        # Where all together are common each of them is.
        rare = [] if self._is_common(every) else [each for each in phrases if not self._is_common(each)]
        if rare:
            ids = self._newest(every)
            relevance = self._relevance(" AND ".join(rare)) if ids else {}
            return self._ranked(self._best(ids, relevance), relevance)
        named = self._looked_up("names", every, _CANDIDATES)
        relevance = {row[0]: _NAMED for row in named}
        return self._ranked([*named, *self._matching(every, _CANDIDATES)], relevance)

    def _phrase(self, term: Term) -> str:
        """A term as it is looked for. One that is common as it stands is taken for finished: to gather what
        it might become is dear, and there is enough already."""
        finished = Term(term.text).phrase
        return finished if term.goes_on and self._is_common(finished) else term.phrase

    def _is_common(self, match: str) -> bool:
        """Whether more notes hold it than are worth ranking."""
        return len(self._newest(match)) > _COMMON

    def _newest(self, match: str) -> list[int]:
        # To gather what the beginning of a word may become is dear: what was found is not looked for again.
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
        """The newest rows that hold it (-1: all), from what is known where that reaches back far enough."""
        ids = self._newest(match)
        is_all = len(ids) <= _COMMON
        if count < 0:
            return self._rows(ids) if is_all else self._looked_up("words", match, count)
        rows = self._rows(ids[:count])
        if len(rows) < count < len(ids):
            rows += self._rows(ids[count:])
        return rows[:count] if is_all or len(rows) >= count else self._looked_up("words", match, count)

    def _best(self, ids: Sequence[int], relevance: Relevance) -> list[Row]:
        """Rows among which the best are: how old a note is makes up for so much only, and to look up each of
        a thousand is dear, so of many as good the last indexed are looked at."""
        count = self._limits.count
        ordered = sorted(ids, key=lambda id_: -relevance.get(id_, 0.0))
        rows = self._rows(ordered[: 2 * count])
        rest = ordered[2 * count :]
        if rest and len(rows) >= count:
            last = sorted((score for score, _row in self._scored(rows, relevance)), reverse=True)[count - 1]
            near = (id_ for id_ in rest if relevance.get(id_, 0.0) + _FRESH >= last)
            rest = sorted(near, reverse=True)[:_CANDIDATES]
        return [*rows, *self._rows(rest)] if rest else rows

    def _rows(self, ids: Sequence[int]) -> list[Row]:
        return self._connection.execute(
            f"SELECT {_COLUMNS} FROM docs WHERE docs.id IN (SELECT value FROM json_each(?)) "
            f"AND {self._where} ORDER BY docs.id DESC",
            (json.dumps(ids), *self._values),
        ).fetchall()

    def _looked_up(self, table: str, match: str, count: int) -> list[Row]:
        # CROSS JOIN: the word lists lead, each row is then looked up.
        return self._connection.execute(
            f"SELECT {_COLUMNS} FROM {table} CROSS JOIN docs ON docs.id = {table}.rowid "
            f"WHERE {table} MATCH ? AND {self._where} ORDER BY {table}.rowid DESC LIMIT ?",
            (match, *self._values, count),
        ).fetchall()

    def _last_changed(self, count: int) -> list[Row]:
        return self._connection.execute(
            f"SELECT {_COLUMNS} FROM docs WHERE {self._where} ORDER BY docs.mtime_ns DESC LIMIT ?",
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
        return [
            (of(row[0], 0.0) + _FRESH / (1 + (now_ns - row[5]) / fading_ns if row[5] < now_ns else 1), row)
            for row in rows
        ]


def _conditions(query: Query, limits: Limits) -> tuple[str, tuple[Any, ...]]:
    parts = ["docs.home IN (SELECT value FROM json_each(?))"]
    values: list[Any] = [json.dumps(list(limits.homes))]
    if query.scopes:
        parts.append("docs.scope IN (SELECT value FROM json_each(?))")
        values.append(json.dumps([scope.value for scope in query.scopes]))
    if query.changed is not None:
        parts.append("docs.mtime_ns >= ?" if query.changed.newer else "docs.mtime_ns < ?")
        values.append(limits.now_ns - query.changed.span_ns)
    if limits.only is not None:
        parts.append("docs.id IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(list(limits.only)))
    if limits.without:
        parts.append("docs.id NOT IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(list(limits.without)))
    return " AND ".join(parts), tuple(values)


def _doc(row: Row, score: float) -> Doc:
    id_, home, root, rel, scope, mtime_ns = row
    return Doc(id_, home, root, os.fsdecode(rel), Scope(scope), mtime_ns, score)


def _complete(connection: sqlite3.Connection, homes: Collection[str]) -> set[str]:
    rows = connection.execute(
        "SELECT home FROM homes WHERE complete AND home IN (SELECT value FROM json_each(?))",
        (json.dumps(list(homes)),),
    )
    return {str(row[0]) for row in rows}


def _is_worn(connection: sqlite3.Connection) -> bool:
    """Most rows of the word lists lead to no file any more."""
    newest = connection.execute("SELECT max(id) FROM docs").fetchone()[0] or 0
    if newest < _DEAD_AT_LEAST:
        return False
    live = connection.execute("SELECT count(*) FROM docs").fetchone()[0]
    return bool(newest - live > max(_DEAD_AT_LEAST, 2 * live))
