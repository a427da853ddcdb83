"""Bringing the rows of one home in the search index up to what is on disk.

A full update looks at every file of every root and reads those whose size, mtime or inode are not known; one
from dirty paths looks at those only. A root that cannot be read keeps its rows (a vanished disk is not a
thousand deletions); so does a directory that cannot be listed. Records are indexed in the words in which they
are shown (`Home.rendered`).

Runs inside `SearchDatabase.writing`, in one thread. Writes nothing into a home.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from reverie.errors import mendable_from_os
from reverie.homes.base import Home
from reverie.homes.listing import Companion, HomeContents
from reverie.homes.scopes import COMPANIONS, Scope, ScopeRoot
from reverie.memory.rescanning import dirty_rels
from reverie.memory.search_scan import SEARCHED_BYTES, Found, IndexScanner, Known, read_below
from reverie.memory.search_text import index_parts, index_text

_log = logging.getLogger("reverie.search")
_BATCH = 500
_INSERT = (
    "INSERT INTO docs (home, root, rel, scope, size, mtime_ns, inode, stamp, sha256) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class UpdateStopped(Exception):
    """Nobody wants the rest; what is committed stays, and the next update goes on from there."""


@dataclass(frozen=True, slots=True)
class Watcher:
    """Who follows an update: `stop` is asked now and then, `told` hears how many files were read."""

    stop: Callable[[], bool] = lambda: False
    told: Callable[[int], None] = lambda _count: None


def update_all(connection: sqlite3.Connection, home: Home, home_id: str, watcher: Watcher) -> int:
    """Look at everything; the number of rows that changed. The home counts as complete afterwards."""
    writer = Writer(connection, home_id, watcher)
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
    connection: sqlite3.Connection, home: Home, home_id: str, dirty: Collection[Path], watcher: Watcher
) -> int:
    """Look only at what `dirty` names, and at roots that came or went; the number of rows that changed."""
    writer = Writer(connection, home_id, watcher)
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


class Writer:
    """The rows of one home. Commits now and then, so that readers see it grow and a stop loses little."""

    def __init__(self, connection: sqlite3.Connection, home_id: str, watcher: Watcher) -> None:
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
        """One dirty place: a file, a directory, or something that is gone."""
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
        if isinstance(found, Found):
            self.put(found)
        self._drop(self._below(rel) - {rel} if found is not None else self._below(rel))

    def scan(self, root: ScopeRoot, rel: str, home: Home) -> None:
        """All files at and below `rel`."""
        self._at(root, home)
        known = self._known(rel)
        scanner = IndexScanner(os.fspath(root.directory), known, self.put, without=root.without)
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
        """Bring the rows of files that are no memories up to date; those that are gone lose theirs."""
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
                raise mendable_from_os(error, f"{path} could not be read.") from error
            if isinstance(found, Found):
                self.put(found, rel=rel)
        self._drop(set(known) - there)

    def put(self, found: Found, *, rel: str | None = None) -> None:
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
        """Roots that are no more."""
        for root in self.roots() - set(keys):
            self.changed += self._connection.execute(
                "DELETE FROM docs WHERE home = ? AND root = ?", (self._home, root)
            ).rowcount

    def commit(self) -> None:
        """What was done so far is there to be found."""
        self._connection.execute("COMMIT")
        self._connection.execute("BEGIN IMMEDIATE")
        self._waiting = 0
        self._watcher.told(self.changed)

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
    """No file is told in other words."""


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
