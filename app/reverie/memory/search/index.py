"""The full-text index over the memories and companions of every home, and how it is queried.

A query with a rare word is ranked by BM25 (names count most). Ranking a word that more than a thousand notes
contain is slow and says little, so such words only filter; without a rare word, notes with the word in their
name come first, then the newest.

The index can be deleted at any time: it is rebuilt, never repaired. Threading: any thread but the GUI's; one
update at a time over all processes, queries beside it. Failure: `Unavailable` and `Busy`; `IndexDamaged` from
a query means that the next update must rebuild the index (`update` itself does so).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from reverie.agents.base import Companion, Home, HomeContents
from reverie.agents.scopes import COMPANIONS, Scope, ScopeRoot
from reverie.errors import NotRegularFileError, Unavailable, user_error_from_os
from reverie.files.directory import Directory, SwappedError, ensure_private
from reverie.files.locks import file_lock
from reverie.files.paths import own_is_there
from reverie.files.sqlite import make_private, refuse_irregular, use_wal, why
from reverie.memory.listing import NO_CAPS, Handle, ScopeScanner, dirty_rels, is_gone, read_entry
from reverie.memory.search.query import SearchQuery, Term, index_parts, index_text

# The database: one per profile. A file that is damaged or of another version is deleted, and the next update
# builds a new one. One writer at a time, by a kernel lock; readers work beside it (WAL) and see what is
# committed. Every call opens its own connection.


# Count up with every change of the tables, of what `memory.search.query` makes of a text, or of which files
# may be in it: an index of another version is removed whole. In version 3 there could be credentials that a
# file imported.
VERSION = 4
_BUSY_S = 5.0
_LOCK_S = 120.0
# What the machine, not the file, is to blame for.
_MACHINE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_AUTH,
    sqlite3.SQLITE_INTERRUPT,
}
# Contentless: the texts are on disk already. A changed file gets a new row; what stood there before stays in
# the word lists until the next rebuild and leads to no row (deleting from a contentless table needs the old
# text, or a newer SQLite than many systems have). Names stand in a table of their own, too: to look for a
# common word in one column only, the lists of all columns would have to be read.
_SCHEMA = f"""
CREATE TABLE homes (home TEXT PRIMARY KEY, complete INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE docs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    home TEXT NOT NULL,
    root TEXT NOT NULL,
    rel BLOB NOT NULL,
    scope TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    stamp INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    UNIQUE (home, root, rel)
);
CREATE INDEX docs_by_time ON docs (mtime_ns);
CREATE VIRTUAL TABLE words USING fts5(
    name, body, parts, content='', prefix='2 3', tokenize="unicode61 remove_diacritics 0 tokenchars '_'"
);
CREATE VIRTUAL TABLE names USING fts5(
    name, content='', prefix='2 3', tokenize="unicode61 remove_diacritics 0 tokenchars '_'"
);
PRAGMA user_version = {VERSION};
"""


class IndexDamaged(Exception):
    """The index cannot be read and must be rebuilt."""


class SearchDatabase:
    """The file and its lock. Nothing is created before the first writing."""

    def __init__(self, path: Path, *, lock_dir: Path) -> None:
        self.path = path
        self._lock_dir = lock_dir

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """A connection to look things up with; None where there is no index (of this version) yet. Raises
        `IndexDamaged`."""
        if not own_is_there(self.path):
            yield None
            return
        with _database_errors(self.path), contextlib.closing(self._connect()) as connection:
            # Nothing is ever written through this one; only our own update makes a file.
            connection.execute("PRAGMA query_only = ON")
            yield connection if _version(connection) == VERSION else None

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The one connection that writes, in manual transactions; the file is created anew if it is missing
        or of another version. Raises `IndexDamaged`, `Busy`, `Unavailable`."""
        ensure_private(self.path.parent)
        with file_lock(self._lock_dir, self.path, timeout_s=_LOCK_S), _database_errors(self.path):
            with contextlib.closing(self._connect()) as connection:
                is_ours = _version(connection) == VERSION
            if not is_ours:
                self._remove()
            with contextlib.closing(self._connect()) as connection:
                use_wal(connection)
                connection.execute("PRAGMA synchronous = NORMAL")
                if not is_ours:
                    connection.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
                yield connection

    def remove(self) -> None:
        """Delete the file; the next writing creates it."""
        with file_lock(self._lock_dir, self.path, timeout_s=_LOCK_S):
            self._remove()

    def _remove(self) -> None:
        for suffix in ("", "-wal", "-shm", "-journal"):
            try:
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
            except OSError as error:
                raise user_error_from_os(error, "The damaged search index could not be removed.") from error

    def _connect(self) -> sqlite3.Connection:
        refuse_irregular(self.path)
        make_private(self.path)
        return sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None)


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextlib.contextmanager
def _database_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        is_machine = code is not None and code & 0xFF in _MACHINE and code != sqlite3.SQLITE_IOERR_SHORT_READ
        if not is_machine:
            raise IndexDamaged(f"{path.name}: {error}") from error
        cause, next_step = why(
            error, f"SQLite says: {error}.", f"Check the disk that holds {path.parent}, then try again.", path
        )
        title = "The search index cannot be used now."
        raise Unavailable(title, cause=cause, next_step=next_step) from error


# Reading changed files. Which files are memories, and how nothing leads out of the root, is decided by
# `memory.listing`; here a file is read whole (up to a cap), and only if its size, mtime or inode changed.


# So much of a file is searched. What lies beyond an agent's own cap is shown to people, so it is found, too.
SEARCHED_BYTES = 4 * 1024 * 1024
# A file modified this shortly before it was read may change again without a new mtime (FAT counts in 2 s).
_RACY_NS = 2_000_000_000

Known = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file that was read. `mtime_ns` is what the file says; `stamp` what to compare with next time (0: read
    it again in any case)."""

    rel: str
    size: int
    mtime_ns: int
    inode: int
    sha256: bytes
    text: str
    stamp: int


class IndexScanner(ScopeScanner):
    """Notes in `seen` what is there, and hands what is new or changed to `take`."""

    def __init__(
        self,
        root: ScopeRoot,
        known: Mapping[str, Known],
        take: Callable[[ReadFile], None],
        *,
        dirty: Container[str] = (),
    ) -> None:
        super().__init__(root, NO_CAPS, dirty=dirty)
        self.seen: set[str] = set()
        self._stamps = known
        self._give = take

    def _take(self, handle: Handle, rel: str, entry: os.DirEntry[str], trusting: bool) -> None:
        status = entry.stat(follow_symlinks=False)
        known = self._stamps.get(rel)
        if known != (status.st_size, status.st_mtime_ns, status.st_ino) or rel in self._dirty:
            try:
                status, data = read_entry(handle, entry.name, SEARCHED_BYTES)
            except OSError as error:
                if is_gone(error):
                    return
                # It cannot be read: its name is found, and it is tried again with every scan.
                self._give(found(rel, status, b"", readable=False))
            else:
                self._give(found(rel, status, data))
        self.seen.add(rel)


def read_below(
    root: Path, rel: str, *, limit: int = SEARCHED_BYTES
) -> ReadFile | Literal["directory"] | None:
    """The file at `rel`, or "directory", without following any symlink below `root`; None if neither exists.
    Raises OSError if that is unknown."""
    *folders, name = rel.split("/")
    try:
        with contextlib.ExitStack() as open_:
            directory = open_.enter_context(Directory.open(root))
            for folder in folders:
                directory = open_.enter_context(directory.child(folder))
            status = directory.lstat(name)
            if stat.S_ISDIR(status.st_mode):
                return "directory"
            if not stat.S_ISREG(status.st_mode):
                return None
            try:
                return found(rel, status, directory.read(name, limit))
            except PermissionError:
                return found(rel, status, b"", readable=False)
    except (FileNotFoundError, NotADirectoryError, SwappedError, NotRegularFileError):
        return None


def found(rel: str, status: os.stat_result, data: bytes, *, readable: bool = True) -> ReadFile:
    """A file that was read, as text. Invalid UTF-8 becomes U+FFFD, which no query finds."""
    settled = readable and status.st_mtime_ns < time.time_ns() - _RACY_NS
    return ReadFile(
        rel,
        status.st_size,
        status.st_mtime_ns,
        status.st_ino,
        hashlib.sha256(data).digest(),
        data.decode("utf-8", "replace"),
        status.st_mtime_ns if settled else 0,
    )


# Updating the rows of one home. A full update examines every file of every root, one from dirty paths only
# those. A root or directory that cannot be read keeps its rows: a disconnected disk is not a thousand
# deletions. Records are indexed as they are shown (`Home.rendered`). Runs inside `SearchDatabase.writing`, in
# one thread; writes nothing into a home.


_log = logging.getLogger("reverie.search")
_BATCH = 500
_INSERT = (
    "INSERT INTO docs (home, root, rel, scope, size, mtime_ns, inode, stamp, sha256) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class UpdateStopped(Exception):
    """The update was stopped; what is committed stays, and the next update continues there."""


@dataclass(frozen=True, slots=True)
class UpdateObserver:
    """Callbacks of an update: `stop` is polled, `on_progress` gets the number of files read."""

    stop: Callable[[], bool] = lambda: False
    on_progress: Callable[[int], None] = lambda _count: None


def update_all(connection: sqlite3.Connection, home: Home, home_id: str, watcher: UpdateObserver) -> int:
    """Update all rows and mark the home as complete; returns how many rows changed."""
    writer = RowWriter(connection, home_id, watcher)
    contents = home.contents()
    roots = home.roots(contents)
    for root in roots:
        writer.scan(root, "", home)
    writer.companions(home, companions_of(home, contents, roots))
    writer.drop_roots_but({root.key for root in roots} | {COMPANIONS})
    connection.execute("INSERT OR REPLACE INTO homes (home, complete) VALUES (?, 1)", (home_id,))
    writer.commit()
    return writer.changed


def update_dirty(
    connection: sqlite3.Connection, home: Home, home_id: str, dirty: Collection[Path], watcher: UpdateObserver
) -> int:
    """Update what `dirty` names, and roots that appeared or disappeared; returns how many rows changed."""
    writer = RowWriter(connection, home_id, watcher)
    contents = home.contents()
    roots = home.roots(contents)
    known = writer.roots()
    for root in roots:
        rels = None if root.key not in known else dirty_rels(root, dirty)
        for rel in ("",) if rels is None else _topmost(rels):
            writer.look(root, rel, home)
    if any(not _is_in_any(path, roots) for path in dirty):
        writer.companions(home, companions_of(home, contents, roots))
    writer.drop_roots_but({root.key for root in roots} | {COMPANIONS})
    writer.commit()
    return writer.changed


def companions_of(home: Home, contents: HomeContents, roots: Collection[ScopeRoot]) -> dict[Path, Companion]:
    """Every file that the agent of this home loads beside its memories, of all projects, once each; without
    those that are never opened, and without memories of `roots`, which the index has already."""
    found: dict[Path, Companion] = {}
    for path in (None, *(project.path for project in contents.projects)):
        context = home.context(project_path=path, project_given=True)
        for companion in home.companions(context):
            if companion.exists and not companion.unopened and not _is_in_any(companion.path, roots):
                found.setdefault(companion.path, companion)
    return found


def companion_rel(home: Home, path: Path) -> str:
    """How the index names a companion: below the home, or by its whole path."""
    return path.relative_to(home.root).as_posix() if path.is_relative_to(home.root) else str(path)


class RowWriter:
    """Writes the rows of one home. Commits now and then, so that readers see progress and a stop loses
    little."""

    def __init__(self, connection: sqlite3.Connection, home_id: str, watcher: UpdateObserver) -> None:
        self.changed = 0
        self._connection = connection
        self._home = home_id
        self._watcher = watcher
        self._waiting = 0
        self._root = ""
        self._scope = Scope.GLOBAL
        self._rendered: Callable[[str, bytes], str | None] = _as_it_is
        connection.execute("BEGIN IMMEDIATE")

    def roots(self) -> set[str]:
        """The keys of the roots that have rows."""
        rows = self._connection.execute("SELECT DISTINCT root FROM docs WHERE home = ?", (self._home,))
        return {str(row[0]) for row in rows}

    def look(self, root: ScopeRoot, rel: str, home: Home) -> None:
        """Update one dirty path: a file, a directory, or a path that no longer exists."""
        if any(part.startswith(".") for part in rel.split("/") if part):
            return
        self._at(root, home)
        if not rel:
            self.scan(root, "", home)
            return
        try:
            found = read_below(root.directory, rel)
        except OSError as error:
            _log.info("a changed file could not be read for the search index: %s", error.strerror)
            return
        if found == "directory":
            self.scan(root, rel, home)
            return
        if isinstance(found, ReadFile):
            self.put(found)
        self._drop(self._below(rel) - {rel} if found is not None else self._below(rel))

    def scan(self, root: ScopeRoot, rel: str, home: Home) -> None:
        """All files at and below `rel`."""
        self._at(root, home)
        known = self._known(rel)
        scanner = IndexScanner(root, known, self.put)
        try:
            scanner.scan(rel)
        except (FileNotFoundError, NotADirectoryError):
            if not home.available():
                return
        except OSError as error:
            _log.info("a folder could not be read for the search index: %s", error.strerror)
            return
        unread = tuple(f"{fault}/" for fault in scanner.faults)
        self._drop({each for each in known if each not in scanner.seen and not each.startswith(unread)})

    def companions(self, home: Home, companions: dict[Path, Companion]) -> None:
        """Update the rows of companions; missing files lose theirs."""
        self._root, self._rendered = COMPANIONS, _as_it_is
        known = self._known("")
        there: set[str] = set()
        for path, companion in companions.items():
            rel = companion_rel(home, path)
            self._scope = companion.scope
            there.add(rel)
            try:
                found = read_below(path.parent, path.name)
            except OSError as error:
                raise user_error_from_os(error, f"{path} could not be read.") from error
            if isinstance(found, ReadFile):
                self.put(found, rel=rel)
        self._drop(set(known) - there)

    def put(self, found: ReadFile, *, rel: str | None = None) -> None:
        """What a file holds now. The same content keeps its row, and its place in the order of changes."""
        if self._watcher.stop():
            self.commit()
            raise UpdateStopped
        rel = found.rel if rel is None else rel
        key = (self._home, self._root, os.fsencode(rel))
        row = self._connection.execute(
            "SELECT id, sha256 FROM docs WHERE home = ? AND root = ? AND rel = ?", key
        ).fetchone()
        stamps = (found.size, found.mtime_ns, found.inode, found.stamp)
        if row is not None and row[1] == found.sha256:
            self._connection.execute(
                "UPDATE docs SET size = ?, mtime_ns = ?, inode = ?, stamp = ? WHERE id = ?", (*stamps, row[0])
            )
            return
        if row is not None:
            self._connection.execute("DELETE FROM docs WHERE id = ?", (row[0],))
        made = self._connection.execute(_INSERT, (*key, self._scope.value, *stamps, found.sha256)).lastrowid
        said = self._rendered(rel, found.text.encode()) if found.size <= SEARCHED_BYTES else None
        text = found.text if said is None else said
        shown = rel.encode("utf-8", "replace").decode()
        name = f"{index_text(shown)} {index_parts(shown)}"
        self._connection.execute("INSERT INTO names (rowid, name) VALUES (?, ?)", (made, name))
        self._connection.execute(
            "INSERT INTO words (rowid, name, body, parts) VALUES (?, ?, ?, ?)",
            (made, name, index_text(text), index_parts(text)),
        )
        self._count()

    def drop_roots_but(self, keys: Collection[str]) -> None:
        """Delete the rows of all other roots."""
        for root in self.roots() - set(keys):
            self.changed += self._connection.execute(
                "DELETE FROM docs WHERE home = ? AND root = ?", (self._home, root)
            ).rowcount

    def commit(self) -> None:
        """Make what was done so far visible to readers."""
        self._connection.execute("COMMIT")
        self._connection.execute("BEGIN IMMEDIATE")
        self._waiting = 0
        self._watcher.on_progress(self.changed)

    def _at(self, root: ScopeRoot, home: Home) -> None:
        self._root, self._scope = root.key, root.scope
        self._rendered = partial(home.rendered, root)

    def _known(self, rel: str) -> dict[str, Known]:
        rows = self._connection.execute(
            "SELECT rel, size, stamp, inode FROM docs WHERE home = ? AND root = ?"
            + (" AND rel >= ? AND rel < ?" if rel else ""),
            (self._home, self._root, *(_span(rel) if rel else ())),
        )
        return {os.fsdecode(name): (size, stamp, inode) for name, size, stamp, inode in rows}

    def _below(self, rel: str) -> set[str]:
        """The rows at and below a path."""
        rows = self._connection.execute(
            "SELECT rel FROM docs WHERE home = ? AND root = ? AND (rel = ? OR (rel >= ? AND rel < ?))",
            (self._home, self._root, os.fsencode(rel), *_span(rel)),
        )
        return {os.fsdecode(row[0]) for row in rows}

    def _drop(self, rels: Iterable[str]) -> None:
        for rel in rels:
            self._connection.execute(
                "DELETE FROM docs WHERE home = ? AND root = ? AND rel = ?",
                (self._home, self._root, os.fsencode(rel)),
            )
            self._count()

    def _count(self) -> None:
        self.changed += 1
        self._waiting += 1
        if self._waiting >= _BATCH:
            self.commit()


def _as_it_is(_rel: str, _data: bytes) -> None:
    """Files without records are indexed as they are."""


def _span(rel: str) -> tuple[bytes, bytes]:
    """From the first name below a directory to the first beyond it: "0" is the character after "/"."""
    return os.fsencode(f"{rel}/"), os.fsencode(f"{rel}0")


def _is_in_any(path: Path, roots: Collection[ScopeRoot]) -> bool:
    return any(path.is_relative_to(root.directory) for root in roots)


def _topmost(rels: Collection[str]) -> list[str]:
    """The paths that lie below no other of them."""
    kept: list[str] = []
    for rel in sorted(rels):
        if not (kept and rel.startswith(f"{kept[-1]}/")):
            kept.append(rel)
    return kept


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
_NO_OBSERVER = UpdateObserver()
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
class SearchLimits:
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
        watcher: UpdateObserver = _NO_OBSERVER,
    ) -> int:
        """Bring the rows of a home up to date: all, or (if it is complete) what `dirty` names. Returns how
        many changed. Raises `UpdateStopped`, `Unavailable`, `Busy`."""
        try:
            return self._update(home, home_id, dirty, watcher)
        except IndexDamaged as damage:
            _log.info("the search index is built anew: %s", damage)
            self._database.remove()
            return self._update(home, home_id, None, watcher)

    def _update(
        self, home: Home, home_id: str, dirty: Collection[Path] | None, watcher: UpdateObserver
    ) -> int:
        with self._database.writing() as connection:
            if _needs_rebuild(connection):
                raise IndexDamaged("most of its rows are of the past")
            if dirty is not None and _complete(connection, (home_id,)):
                return update_dirty(connection, home, home_id, dirty, watcher)
            return update_all(connection, home, home_id, watcher)

    def rebuild(self) -> None:
        """Delete the index; the next updates rebuild it."""
        self._database.remove()

    def complete(self, homes: Collection[str]) -> set[str]:
        """Those of the homes that were indexed completely since the index was created."""
        with self._database.reading() as connection:
            return _complete(connection, homes) if connection is not None else set()

    def find(self, query: SearchQuery, limits: SearchLimits) -> tuple[tuple[Doc, ...], bool]:
        """The results of a query, best first, and whether all of its homes are indexed completely. For a
        query with a pattern: the files to search for it, newest first. Raises `IndexDamaged`."""
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

    def __init__(self, connection: sqlite3.Connection, query: SearchQuery, limits: SearchLimits) -> None:
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
        """The FTS5 phrase for a term. A word that is common as it is typed counts as finished: its
        completions are slow to collect, and there are enough results already."""
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
        """Rows that include the best ones. Age counts for a bounded part of the score, and each lookup is
        slow, so of many equally relevant rows only the last indexed are looked up."""
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


def _conditions(query: SearchQuery, limits: SearchLimits) -> tuple[str, tuple[Any, ...]]:
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


def _needs_rebuild(connection: sqlite3.Connection) -> bool:
    """Whether most rows of the word lists belong to no file any more."""
    newest = connection.execute("SELECT max(id) FROM docs").fetchone()[0] or 0
    if newest < _DEAD_AT_LEAST:
        return False
    live = connection.execute("SELECT count(*) FROM docs").fetchone()[0]
    return bool(newest - live > max(_DEAD_AT_LEAST, 2 * live))
