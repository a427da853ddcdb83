"""The write log: the author of each content that was written to a memory.

Before it replaces a file, the store logs path and hash. A change that is seen later and has that hash was
made by Reverie, whichever process it was. A row stays until it is old and the log is long, so a watcher that
starts late still finds it. One SQLite database per profile, in the state directory.

Threading: blocking, any thread but the GUI's; every call opens its own connection. Failure: `Unavailable`. A
caller that is about to write or to destroy something must not continue then.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from reverie.clock import DAY_MS
from reverie.errors import Unavailable
from reverie.files.directory import (
    ensure_private,
    own_is_there,
)
from reverie.files.sqlite import make_private, refuse_irregular, set_aside, use_kept_journal, why
from reverie.values import Struct

attribution_log = logging.getLogger("reverie.history")

OUTSIDE = "outside"
DELETED = ""
_BUSY_TIMEOUT_S = 5.0
_KEPT_MS = 90 * DAY_MS
_KEPT_ROWS = 100_000
_PRUNE_EVERY = 1_000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS writes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    actor TEXT NOT NULL,
    run_id TEXT,
    at_ms INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS writes_by_content ON writes (path, sha256, id);
"""
# After another program has written a path, an old content of ours there no longer counts as our write.
_NEWEST_OWN = """
SELECT actor, run_id, at_ms FROM writes
WHERE path = ? AND sha256 = ?
AND id > coalesce((SELECT max(id) FROM writes WHERE path = ? AND actor = ?), 0)
ORDER BY id DESC LIMIT 1
"""


class Attribution(Struct, frozen=True):
    """Who wrote a content to a file, and when."""

    actor: str
    run_id: str | None
    """The run that wrote it; None if it was no run."""
    at_ms: int
    """The time of the write, UTC ms."""


class _DamagedLogError(Unavailable):
    """Raised if the write log is not a valid database any more."""


class WriteLog:
    """The log of who wrote which content to which file, for one profile of Reverie.

    Nothing is created before the first `record`.
    """

    def __init__(self, database: Path) -> None:
        self._database = database

    def record(self, path: Path, sha256: str | None, *, actor: str, run_id: str | None, at_ms: int) -> None:
        """Log that `actor` is about to give `path` the content with the hash `sha256`; None: to delete it.

        `run_id`: the run that writes; None if it is no run. `at_ms`: the time in UTC ms.
        """
        self.record_all({path: sha256}, actor=actor, run_id=run_id, at_ms=at_ms)

    def record_all(
        self, contents: Mapping[Path, str | None], *, actor: str, run_id: str | None, at_ms: int
    ) -> None:
        """Log the contents of several paths at once, as `record` does.

        `contents`: path -> hash of the content; None: the file is deleted.
        """
        if not contents:
            return
        ensure_private(self._database.parent)
        rows = [
            (path_text(path), sha256 or DELETED, actor, run_id, at_ms) for path, sha256 in contents.items()
        ]
        try:
            self._insert(rows)
        except _DamagedLogError:
            # A damaged log must not prevent saving; it is kept beside the new one.
            aside = set_aside(self._database)
            attribution_log.warning(
                "the log of who wrote what was damaged and is set aside as %s", aside.name
            )
            self._insert(rows)

    def _insert(self, rows: Sequence[tuple[str, str, str, str | None, int]]) -> None:
        with self._connected() as connection:
            for row in rows:
                newest = connection.execute(
                    "INSERT INTO writes (path, sha256, actor, run_id, at_ms) VALUES (?, ?, ?, ?, ?)", row
                ).lastrowid
                if newest is not None and newest % _PRUNE_EVERY == 0:
                    _prune(connection, newest=newest, now_ms=row[-1])

    def actor_of(self, path: Path, sha256: str | None) -> Attribution | None:
        """Return who last wrote this content to `path`, and when; None if the log has no such write.

        None also if the log has a later write to `path` by another program. `sha256`: the hash of the
        content; None: the deletion of the file.
        """
        return self.actors_of({path: sha256}).get(path)

    def actors_of(self, contents: Mapping[Path, str | None]) -> dict[Path, Attribution]:
        """Return path -> author for several contents, as `actor_of` does; unknown ones are left out.

        `contents`: path -> hash of the content; None: the file was deleted.
        """
        if not contents or not own_is_there(self._database):
            return {}
        found: dict[Path, Attribution] = {}
        with self._connected() as connection:
            for path, sha256 in contents.items():
                asked = (path_text(path), sha256 or DELETED, path_text(path), OUTSIDE)
                row = connection.execute(_NEWEST_OWN, asked).fetchone()
                if row is not None:
                    found[path] = Attribution(*row)
        return found

    def known(self) -> frozenset[str]:
        """Return every path in the log, as `path_text` returns it."""
        if not own_is_there(self._database):
            return frozenset()
        with self._connected() as connection:
            return frozenset(path for (path,) in connection.execute("SELECT DISTINCT path FROM writes"))

    def newest(self) -> dict[str, tuple[str, str]]:
        """Return (author, SHA-256 of the content) of the newest write in the log, by path.

        Paths are as `path_text` returns them. The hash is empty if the file was deleted.
        """
        if not own_is_there(self._database):
            return {}
        with self._connected() as connection:
            rows = connection.execute(
                "SELECT path, actor, sha256 FROM writes "
                "WHERE id IN (SELECT max(id) FROM writes GROUP BY path)"
            ).fetchall()
        return {path: (actor, sha256) for path, actor, sha256 in rows}

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        make_private(self._database)
        try:
            refuse_irregular(self._database)
            with contextlib.closing(sqlite3.connect(self._database, timeout=_BUSY_TIMEOUT_S)) as connection:
                use_kept_journal(connection)
                connection.execute("PRAGMA synchronous=NORMAL")
                connection.executescript(_SCHEMA)
                with connection:
                    yield connection
        except sqlite3.Error as error:
            kind = Unavailable if isinstance(error, sqlite3.OperationalError) else _DamagedLogError
            cause, next_step = why(
                error,
                f"SQLite reports: {error}.",
                f"Check the disk, or move {self._database} elsewhere; Reverie then creates a new one.",
                self._database,
            )
            title = "The log of who wrote what cannot be used."
            raise kind(title, cause=cause, next_step=next_step) from error


def _prune(connection: sqlite3.Connection, *, newest: int, now_ms: int) -> None:
    connection.execute(
        "DELETE FROM writes WHERE id <= ? AND at_ms < ?", (newest - _KEPT_ROWS, now_ms - _KEPT_MS)
    )


def path_text(path: Path | str) -> str:
    """Return the path as text that SQLite can hold: bytes that are not valid UTF-8 are escaped."""
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")
