"""The catalogue: known facts about every memory and companion of every home, and their full-text index.

One scanner fills it (`FileCatalogue.update`): completely, or for the paths that a watcher reported. Each
changed file is read once, and its row then records its content: hashes, lint findings, words. Search, lint
and the history's scans read it; none of them writes it, and lint and history work without it. A row is valid
for a file only while `still_holds` is true.

It can be deleted at any time: a damaged one, or one of another version, is rebuilt, never repaired.

Nothing is ever written into a home. Threading: any thread but the GUI's; one update at a time over all
processes, by a kernel lock; readers work beside it (WAL) and see committed data. Every call opens its own
connection. Failure: `Unavailable` and `Busy`; `CatalogueDamaged` from a reader means that the next update
must rebuild it (`update` itself does so). `versions` and `findings` raise nothing; on failure their results
are empty.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

from reverie.agents.base import Companion, Home, HomeContents
from reverie.agents.scopes import COMPANIONS, Caps, Scope, ScopeRoot
from reverie.errors import UserError
from reverie.files.directory import (
    Stamp,
)
from reverie.memory.catalogue_file import CatalogueDamaged, CatalogueFile
from reverie.memory.catalogue_scan import (
    SEARCHED_BYTES,
    CatalogueScanner,
    KnownVersion,
    ReadFile,
    read_below,
    read_companion,
)
from reverie.memory.lint import CHECKED_BYTES, lint
from reverie.memory.listing import LintFinding, dirty_rels
from reverie.memory.search.words import index_parts, index_text
from reverie.text.summaries import readable_text
from reverie.values import Struct, astuple

_BATCH = 500
_log = logging.getLogger("reverie.catalogue")
# SQLite counts up to here: the year 2262.
_LATEST_NS = 2**63 - 1
_INSERT = (
    "INSERT INTO files (home, root, rel, scope, mtime_ns, stamp, read_ns, sha256, blob, findings) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class UpdateStopped(Exception):
    """Raised if an `UpdateObserver` stopped an update of the search index.

    The rows that were written until then are kept, and the next update continues from them.
    """


class UpdateObserver(Struct, frozen=True):
    """The functions that an update of the search index calls while it works."""

    stop: Callable[[], bool] = lambda: False
    """Returns True to stop the update; called before each file that is stored."""
    on_progress: Callable[[int], None] = lambda _count: None
    """Gets the number of rows that the update has changed so far."""


def update_all(connection: sqlite3.Connection, home: Home, home_id: str, watcher: UpdateObserver) -> int:
    """Update the search index for all files of one home; return the number of changed rows.

    The index has a row for each memory and companion (file that an agent loads beside its memories). Every
    file of every root (directory of memories) is examined, and the home is then marked as complete. The rows
    of a root or directory that cannot be read are kept, because a disconnected disk must not count as a
    thousand deletions. If people see a file as another text (`Home.rendered`), that text is indexed.
    `connection`: the one that `CatalogueFile.writing` yields. `watcher`: it gets the progress, and may stop
    the update; then `UpdateStopped` is raised. Nothing is written into the home.
    """
    writer = RowWriter(connection, home_id, home.caps, watcher)
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
    """Update the search index for the changed files of one home; return the number of changed rows.

    `dirty`: the paths that may have changed. The rows of roots (directories of memories) that appeared or
    disappeared are updated too. `connection`: the one that `CatalogueFile.writing` yields. `watcher`: it gets
    the progress, and may stop the update; then `UpdateStopped` is raised.
    """
    writer = RowWriter(connection, home_id, home.caps, watcher)
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
    """Return the companions of the home and of the projects in `contents`, by path.

    A companion is a file that an agent loads beside its memories. Left out are companions that do not exist
    or are never opened, and files of `roots`, which the index contains as memories already.
    """
    found: dict[Path, Companion] = {}
    for path in (None, *(project.path for project in contents.projects)):
        context = home.context(project_path=path, project_given=True)
        for companion in home.companions(context):
            if companion.exists and not companion.unopened and not _is_in_any(companion.path, roots):
                found.setdefault(companion.path, companion)
    return found


def companion_rel(home: Home, path: Path) -> str:
    """Return a companion's name in the index: its path below the home, or its absolute path if outside."""
    return path.relative_to(home.root).as_posix() if path.is_relative_to(home.root) else str(path)


class RowWriter:
    """A writer of the rows of one home in the search index.

    It commits at intervals, so that readers see progress and a stop loses little.
    """

    def __init__(
        self, connection: sqlite3.Connection, home_id: str, caps: Caps, watcher: UpdateObserver
    ) -> None:
        self.changed = 0
        self._connection = connection
        self._home = home_id
        self._caps = caps
        self._watcher = watcher
        self._waiting = 0
        self._root = ""
        self._scope = Scope.GLOBAL
        self._rendered: Callable[[str, bytes], str | None] = _as_it_is
        connection.execute("BEGIN IMMEDIATE")

    def roots(self) -> set[str]:
        """Return the keys of the roots (directories of memories) that have rows."""
        # Jumps from key to key in the index; DISTINCT would read every row.
        following = "SELECT min(root) FROM files WHERE home = ? AND root > ?"
        found, key = set[str](), ""
        while (row := self._connection.execute(following, (self._home, key)).fetchone())[0] is not None:
            key = str(row[0])
            found.add(key)
        return found

    def look(self, root: ScopeRoot, rel: str, home: Home) -> None:
        """Update the rows for one changed path: a file, a directory, or a path that no longer exists.

        `rel`: the path below `root`; empty for the root itself. A path with a hidden name is ignored.
        """
        if any(part.startswith(".") for part in rel.split("/") if part):
            return
        self._at(root, home)
        if not rel:
            self.scan(root, "", home)
            return
        try:
            found = read_below(root.directory, rel)
        except OSError as error:
            _log.info("a changed file could not be read for the catalogue: %s", error.strerror)
            return
        if found == "directory":
            self.scan(root, rel, home)
            return
        if isinstance(found, ReadFile):
            self.put(found)
        self._drop(self._below(rel) - {rel} if found is not None else self._below(rel))

    def scan(self, root: ScopeRoot, rel: str, home: Home) -> None:
        """Update the rows of all files below the directory `rel`; only new and changed files are read.

        `rel`: a path in `root`; empty for the whole root. The rows of files that no longer exist are deleted;
        the rows of files in a folder that cannot be read are kept.
        """
        self._at(root, home)
        known = self._known(rel)
        scanner = CatalogueScanner(root, known, self.put)
        try:
            scanner.scan(rel)
        except (FileNotFoundError, NotADirectoryError):
            if not home.available():
                return
        except OSError as error:
            _log.info("a folder could not be read for the catalogue: %s", error.strerror)
            return
        unread = tuple(f"{fault}/" for fault in scanner.faults)
        self._drop({each for each in known if each not in scanner.seen and not each.startswith(unread)})

    def companions(self, home: Home, companions: dict[Path, Companion]) -> None:
        """Update the rows of `companions`, and delete the rows of all other companions.

        A companion is a file that an agent loads beside its memories. Companions that are missing or must not
        be opened lose their rows too.
        """
        self._root, self._rendered = COMPANIONS, _as_it_is
        known = self._known("")
        there: set[str] = set()
        for path, companion in companions.items():
            rel = companion_rel(home, path)
            self._scope = companion.scope
            try:
                found = read_companion(path)
            except OSError as error:
                _log.info("an instruction file could not be read for the catalogue: %s", error.strerror)
                there.add(rel)
                continue
            if found is not None:
                there.add(rel)
                self.put(found, rel=rel)
        self._drop(set(known) - there)

    def put(self, found: ReadFile, *, rel: str | None = None) -> None:
        """Store the current content of a file that was read.

        `rel`: the path under which it is stored; None: `found.rel`. Unchanged content keeps its row, and so
        its place in the search, which prefers new rows; only the times and the stamp in it are updated.
        Raises `UpdateStopped`.
        """
        if self._watcher.stop():
            self.commit()
            raise UpdateStopped
        rel = found.rel if rel is None else rel
        key = (self._home, self._root, os.fsencode(rel))
        row = self._connection.execute(
            "SELECT id, sha256, blob FROM files WHERE home = ? AND root = ? AND rel = ?", key
        ).fetchone()
        sha256 = hashlib.sha256(found.data).digest()
        # As text: large inodes and distant times do not fit into SQLite's integers.
        stamps = (min(found.stamp.mtime_ns, _LATEST_NS), " ".join(map(str, found.stamp)), found.read_ns)
        if row is not None and row[1:] == (sha256, found.blob):
            self._connection.execute(
                "UPDATE files SET mtime_ns = ?, stamp = ?, read_ns = ? WHERE id = ?", (*stamps, row[0])
            )
            return
        if row is not None:
            self._connection.execute("DELETE FROM files WHERE id = ?", (row[0],))
        values = (*key, self._scope.value, *stamps, sha256, found.blob, self._findings(rel, found))
        made = self._connection.execute(_INSERT, values).lastrowid
        text = readable_text(found.data)  # no query finds U+FFFD
        if found.stamp.size <= SEARCHED_BYTES:
            rendered = self._rendered(rel, text.encode())
            text = text if rendered is None else rendered
        shown = rel.encode("utf-8", "replace").decode()
        name = f"{index_text(shown)} {index_parts(shown)}"
        self._connection.execute("INSERT INTO names (rowid, name) VALUES (?, ?)", (made, name))
        self._connection.execute(
            "INSERT INTO words (rowid, name, body, parts) VALUES (?, ?, ?, ?)",
            (made, name, index_text(text), index_parts(text)),
        )
        self._count()

    def _findings(self, rel: str, found: ReadFile) -> str:
        """Return the problems that `lint` finds in the file `found`, as JSON; empty if there are none.

        Also empty for a file that could not be read, and for a companion (a file that an agent loads beside
        its memories), which is not checked.
        """
        if self._root == COMPANIONS or not found.read_ns:
            return ""
        findings = lint(found.data[:CHECKED_BYTES], self._caps, rel=rel, size=found.stamp.size)
        return json.dumps([astuple(each) for each in findings]) if findings else ""

    def drop_roots_but(self, keys: Collection[str]) -> None:
        """Delete the rows of all roots (directories of memories) except those with these keys."""
        for root in self.roots() - set(keys):
            self.changed += self._connection.execute(
                "DELETE FROM files WHERE home = ? AND root = ?", (self._home, root)
            ).rowcount

    def commit(self) -> None:
        """Commit the rows written so far, so that readers see them."""
        self._connection.execute("COMMIT")
        self._connection.execute("BEGIN IMMEDIATE")
        self._waiting = 0
        self._watcher.on_progress(self.changed)

    def _at(self, root: ScopeRoot, home: Home) -> None:
        self._root, self._scope = root.key, root.scope
        self._rendered = partial(home.rendered, root)

    def _known(self, rel: str) -> dict[str, KnownVersion]:
        return _versions(self._connection, self._home, self._root, rel)

    def _below(self, rel: str) -> set[str]:
        """Return the paths of the rows at and below `rel`."""
        # Two queries: for one with OR, SQLite reads the whole root.
        one = "SELECT rel FROM files WHERE home = ?1 AND root = ?2"
        rows = self._connection.execute(
            f"{one} AND rel = ?3 UNION ALL {one} AND rel >= ?4 AND rel < ?5",
            (self._home, self._root, os.fsencode(rel), *_span(rel)),
        )
        return {os.fsdecode(row[0]) for row in rows}

    def _drop(self, rels: Iterable[str]) -> None:
        for rel in rels:
            self._connection.execute(
                "DELETE FROM files WHERE home = ? AND root = ? AND rel = ?",
                (self._home, self._root, os.fsencode(rel)),
            )
            self._count()

    def _count(self) -> None:
        self.changed += 1
        self._waiting += 1
        if self._waiting >= _BATCH:
            self.commit()


def _as_it_is(_rel: str, _data: bytes) -> None:
    """Return None, because companions are indexed as they are on disk; used in place of `Home.rendered`."""


def _versions(connection: sqlite3.Connection, home_id: str, root: str, rel: str) -> dict[str, KnownVersion]:
    """Return the state in which each file below `rel` was last read, by path.

    `root`: the key of the root; `rel`: a directory in it, empty for the whole root.
    """
    rows = connection.execute(
        "SELECT rel, stamp, read_ns, blob FROM files WHERE home = ? AND root = ?"
        + (" AND rel >= ? AND rel < ?" if rel else ""),
        (home_id, root, *(_span(rel) if rel else ())),
    )
    return {
        os.fsdecode(name): KnownVersion(_stamp(stamp), read_ns, blob) for name, stamp, read_ns, blob in rows
    }


def _stamp(text: str) -> Stamp:
    """Return the `Stamp` (size, times and inode of a file) that a row stores as text.

    Raises `CatalogueDamaged` if the text is invalid.
    """
    try:
        return Stamp(*map(int, text.split()))
    except (AttributeError, TypeError, ValueError) as error:
        raise CatalogueDamaged(f"a stamp that is none: {text!r}") from error


def _span(rel: str) -> tuple[bytes, bytes]:
    """Return the bounds of the paths below the directory `rel`: the first possible one, the first after them.

    The second bound ends with "0", the character after "/".
    """
    return os.fsencode(f"{rel}/"), os.fsencode(f"{rel}0")


def _is_in_any(path: Path, roots: Collection[ScopeRoot]) -> bool:
    return any(path.is_relative_to(root.directory) for root in roots)


def _topmost(rels: Collection[str]) -> list[str]:
    """Return the paths that are not below another path in `rels`."""
    kept: list[str] = []
    for rel in sorted(rels):
        if not (kept and rel.startswith(f"{kept[-1]}/")):
            kept.append(rel)
    return kept


# The catalogue is rebuilt when it has more dead rows than this, and more than twice the live ones.
_DEAD_AT_LEAST = 20_000
_NO_OBSERVER = UpdateObserver()
# Merges the word lists after a complete update, because each part costs time in every search.
_MERGED = "INSERT INTO {table} ({table}) VALUES ('optimize')"
_WORTH_MERGING = 2_000
_Known = TypeVar("_Known")


WordCounts = dict[tuple[str, str], list[tuple[str, int]]]
"""The cached counts of words: (first word, end) of a range -> (word, number of notes) of its words."""
_MOST_COUNTED = 500
"""Maximum number of cached ranges; beyond it all are dropped."""


class FileCatalogue:
    """The search index of all homes of a profile. Nothing is created before the first update."""

    def __init__(self, path: Path, *, lock_dir: Path) -> None:
        self._file = CatalogueFile(path, lock_dir=lock_dir)
        self._damaged = False
        self._words: tuple[tuple[int, ...], WordCounts] = ((), {})

    def reading(self) -> contextlib.AbstractContextManager[sqlite3.Connection | None]:
        """Return a context manager that yields a connection for queries; None if no catalogue exists yet."""
        return self._file.reading()

    def counted_words(self) -> WordCounts:
        """Return the cache of word counts, which callers read and add to; empty if the index has changed.

        A count is the number of notes that contain a word. The cache is worth it because a search while a
        person types needs the same words at each key press, and counting the notes with a common word takes a
        millisecond. Call this before `reading`: otherwise counts from an older index could be added to the
        cache of the present one.
        """
        state = self._file.state()
        if self._words[0] != state or len(self._words[1]) > _MOST_COUNTED:
            self._words = (state, {})
        return self._words[1]

    def update(
        self,
        home: Home,
        home_id: str,
        *,
        dirty: Collection[Path] | None = None,
        watcher: UpdateObserver = _NO_OBSERVER,
    ) -> int:
        """Update the rows of a home and return the number of changed rows.

        `dirty`: the only paths that may have changed; None: unknown. All rows are updated if it is None, or
        if the home was never read completely. `watcher`: it gets the progress, and may stop the update; then
        `UpdateStopped` is raised. Also raises `Unavailable`, `Busy`.
        """
        try:
            return self._update(home, home_id, dirty, watcher)
        except CatalogueDamaged as damage:
            _log.info("the catalogue is built anew: %s", damage)
            self._damaged = False
            self._file.remove()
            return self._update(home, home_id, None, watcher)

    def _update(
        self, home: Home, home_id: str, dirty: Collection[Path] | None, watcher: UpdateObserver
    ) -> int:
        with self._file.writing() as connection:
            if self._damaged:
                raise CatalogueDamaged("a reader found it so")
            if _needs_rebuild(connection):
                raise CatalogueDamaged("most of its rows are of the past")
            if dirty is not None and complete_homes(connection, (home_id,)):
                return update_dirty(connection, home, home_id, dirty, watcher)
            changed = update_all(connection, home, home_id, watcher)
            if changed > _WORTH_MERGING:
                for table in ("words", "names"):
                    connection.execute(_MERGED.format(table=table))
                connection.execute("COMMIT")
            return changed

    def rebuild(self) -> None:
        """Delete the catalogue; the next updates rebuild it."""
        self._file.remove()

    def complete(self, homes: Collection[str]) -> set[str]:
        """Return those of the home ids `homes` for which the catalogue has every file, not only some."""
        with self._file.reading() as connection:
            return complete_homes(connection, homes) if connection is not None else set()

    def ids(self, home: str, root: str, rels: Collection[str]) -> dict[str, tuple[int, str]]:
        """Return (row id, content hash in hex) of each file in `rels` that has a row, by path.

        `home`: the id of the home; `root`: the key of the root to which the paths are relative.
        """
        with self._file.reading() as connection:
            if connection is None:
                return {}
            found: dict[str, tuple[int, str]] = {}
            for rel in rels:
                row = connection.execute(
                    "SELECT id, sha256 FROM files WHERE home = ? AND root = ? AND rel = ?",
                    (home, root, os.fsencode(rel)),
                ).fetchone()
                if row is not None:
                    found[rel] = (row[0], row[1].hex())
            return found

    def count(self, home_id: str) -> int | None:
        """Return the number of files of a home in the catalogue; None if some were never read.

        None also if the catalogue cannot be read.
        """

        def ask(connection: sqlite3.Connection) -> int | None:
            rows = connection.execute("SELECT count(*) FROM files WHERE home = ?", (home_id,))
            return int(rows.fetchone()[0]) if complete_homes(connection, (home_id,)) else None

        return self._asked(ask, None)

    def versions(self, home_id: str, root: str, rel: str = "") -> Mapping[str, KnownVersion]:
        """Return the state in which each file below `rel` was last read, by path; empty if unknown.

        `root`: the key of the root; `rel`: a directory in it, empty for the whole root.
        """
        return self._asked(lambda connection: _versions(connection, home_id, root, rel), {})

    def findings(self, home_id: str, root: str) -> Mapping[str, tuple[Stamp, tuple[LintFinding, ...]]]:
        """Return the problems that `lint` found in the files of a root, by path, with each file's stamp.

        `root`: the key of the root (directory of memories). The stamp (size, times and inode) is the one at
        the time of reading. A problem that depends on the other files of the root is not included (see
        `listing.with_reason`). Empty if the files are unknown.
        """

        def ask(connection: sqlite3.Connection) -> dict[str, tuple[Stamp, tuple[LintFinding, ...]]]:
            rows = connection.execute(
                "SELECT rel, stamp, findings FROM files WHERE home = ? AND root = ? AND read_ns",
                (home_id, root),
            )
            return {os.fsdecode(rel): (_stamp(stamp), _linted(findings)) for rel, stamp, findings in rows}

        return self._asked(ask, {})

    def _asked(self, ask: Callable[[sqlite3.Connection], _Known], nothing: _Known) -> _Known:
        """Return the result of the query `ask`, or `nothing` if there is no catalogue or the query fails.

        A failure is only logged.
        """
        try:
            with self._file.reading() as connection:
                return nothing if connection is None else ask(connection)
        except (CatalogueDamaged, UserError) as error:
            self._damaged = isinstance(error, CatalogueDamaged)
            _log.info("the catalogue is not asked: %s", error)
            return nothing


def complete_homes(connection: sqlite3.Connection, homes: Collection[str]) -> set[str]:
    """Return those of the home ids `homes` for which the catalogue has every file, not only some."""
    rows = connection.execute(
        "SELECT home FROM homes WHERE complete AND home IN (SELECT value FROM json_each(?))",
        (json.dumps(list(homes)),),
    )
    return {str(row[0]) for row in rows}


def _linted(findings: str) -> tuple[LintFinding, ...]:
    try:
        return tuple(LintFinding(*values) for values in json.loads(findings)) if findings else ()
    except (TypeError, ValueError) as error:
        raise CatalogueDamaged("findings that are none") from error


def _needs_rebuild(connection: sqlite3.Connection) -> bool:
    """Return whether the index should be rebuilt, because most of its words belong to rows that are gone.

    A row that is deleted or replaced leaves its words behind.
    """
    newest = connection.execute("SELECT max(id) FROM files").fetchone()[0] or 0
    if newest < _DEAD_AT_LEAST:
        return False
    live = connection.execute("SELECT count(*) FROM files").fetchone()[0]
    return bool(newest - live > max(_DEAD_AT_LEAST, 2 * live))
