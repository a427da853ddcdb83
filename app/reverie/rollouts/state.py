"""What Reverie knows of extraction in one Codex home: a row per thread, and which directories wait for their
consolidation. In a database of Reverie's own, never in the agent's.

The files in the home are the truth; a row only keeps a thread from being extracted again, and tells its
summary. So a lost database costs work and no memory. Every call opens its own connection: any thread, any
process. Failure: `Busy`, `Unavailable`.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from reverie.errors import Busy, MendableError, Unavailable
from reverie.files.directory import ensure_private
from reverie.files.sqlite import is_busy, refuse_irregular, why
from reverie.files.there import own_is_there

_BUSY_TIMEOUT_S = 5.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS traces (
    thread_id TEXT PRIMARY KEY,
    bucket TEXT NOT NULL,
    cwd TEXT NOT NULL,
    summary TEXT NOT NULL,
    source_updated_at INTEGER NOT NULL,
    generated_at INTEGER NOT NULL,
    run_id TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS directories (
    bucket TEXT PRIMARY KEY,
    cwd TEXT NOT NULL,
    revision INTEGER NOT NULL DEFAULT 0,
    done_revision INTEGER NOT NULL DEFAULT 0,
    consolidated_at INTEGER,
    outcome TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS consolidations (
    bucket TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS failures (
    thread_id TEXT PRIMARY KEY,
    source_updated_at INTEGER NOT NULL
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One extracted thread. Times UTC ms; `source_updated_at`: of the rollout that was read. `summary` empty:
    there was nothing to remember, and there is no trace."""

    thread_id: str
    bucket: str
    cwd: str
    summary: str
    source_updated_at: int
    generated_at: int
    run_id: str


@dataclass(frozen=True, slots=True)
class DirectoryRow:
    """One working directory. `revision` counts its new traces, `done_revision` those that its last
    consolidation knew of, which ended at `consolidated_at` (UTC ms) with `outcome`."""

    bucket: str
    cwd: str
    revision: int
    done_revision: int
    consolidated_at: int | None
    outcome: str

    @property
    def waiting(self) -> bool:
        return self.revision > self.done_revision


class ExtractState:
    """The rows of one home. Nothing is created before the first row."""

    def __init__(self, database: Path) -> None:
        self._database = database

    def rows(self) -> Mapping[str, TraceRow]:
        """Every extracted thread, by its id."""
        if not own_is_there(self._database):
            return {}
        with self._connected(create=False) as connection:
            found = connection.execute(
                "SELECT thread_id, bucket, cwd, summary, source_updated_at, generated_at, run_id FROM traces"
            )
            return {row[0]: TraceRow(*row) for row in found}

    def directories(self) -> Mapping[str, DirectoryRow]:
        """Every directory that was touched, by its bucket."""
        if not own_is_there(self._database):
            return {}
        with self._connected(create=False) as connection:
            found = connection.execute(
                "SELECT bucket, cwd, revision, done_revision, consolidated_at, outcome FROM directories"
            )
            return {row[0]: DirectoryRow(*row) for row in found}

    def failures(self) -> Mapping[str, int]:
        """Threads whose extraction failed last, and when (UTC ms) their rollout had last changed then."""
        if not own_is_there(self._database):
            return {}
        with self._connected(create=False) as connection:
            return dict(connection.execute("SELECT thread_id, source_updated_at FROM failures"))

    def failed(self, thread_id: str, source_updated_at: int) -> None:
        """Keep that the extraction of a thread failed, until it succeeds."""
        with self._connected(create=True) as connection:
            connection.execute(
                "INSERT OR REPLACE INTO failures VALUES (?, ?)", (thread_id, source_updated_at)
            )

    def put(self, row: TraceRow, *, after: str | None) -> bool:
        """Keep a row; if there is a trace, its directory waits from now on. `after`: the run of the row that
        was there (None: there was none). Where another one stands there by now, it stays, and False is
        returned: this process was suspended, and another extraction came first."""
        with self._connected(create=True) as connection:
            connection.execute("BEGIN IMMEDIATE")
            found = connection.execute("SELECT run_id FROM traces WHERE thread_id = ?", (row.thread_id,))
            if (found.fetchone() or (None,))[0] != after:
                connection.execute("ROLLBACK")
                return False
            connection.execute("DELETE FROM failures WHERE thread_id = ?", (row.thread_id,))
            connection.execute(
                "INSERT OR REPLACE INTO traces VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    row.thread_id,
                    row.bucket,
                    row.cwd,
                    row.summary,
                    row.source_updated_at,
                    row.generated_at,
                    row.run_id,
                ),
            )
            if row.summary:
                connection.execute(
                    "INSERT INTO directories (bucket, cwd, revision) VALUES (?, ?, 1)"
                    " ON CONFLICT (bucket) DO UPDATE SET cwd = excluded.cwd, revision = revision + 1",
                    (row.bucket, row.cwd),
                )
            connection.execute("COMMIT")
        return True

    def fingerprint(self, bucket: str) -> str:
        """What the last consolidation of a directory left, as it was given; empty for none."""
        if not own_is_there(self._database):
            return ""
        with self._connected(create=False) as connection:
            found = connection.execute("SELECT fingerprint FROM consolidations WHERE bucket = ?", (bucket,))
            row = found.fetchone()
            return "" if row is None else str(row[0])

    def consolidated(
        self, directory: DirectoryRow, *, at: int, outcome: str, done: bool, fingerprint: str = ""
    ) -> None:
        """Note how the consolidation of a directory ended; `done`: what it knew of waits no more.
        `fingerprint`: of what it left; empty: as before."""
        with self._connected(create=True) as connection:
            if fingerprint:
                connection.execute(
                    "INSERT OR REPLACE INTO consolidations VALUES (?, ?)", (directory.bucket, fingerprint)
                )
            connection.execute(
                "UPDATE directories SET consolidated_at = ?, outcome = ?,"
                " done_revision = max(done_revision, ?) WHERE bucket = ?",
                (at, outcome, directory.revision if done else 0, directory.bucket),
            )

    @contextlib.contextmanager
    def _connected(self, *, create: bool) -> Iterator[sqlite3.Connection]:
        if create:
            ensure_private(self._database.parent)
        try:
            refuse_irregular(self._database)
            connection = sqlite3.connect(
                f"{self._database.absolute().as_uri()}?mode={'rwc' if create else 'rw'}",
                uri=True,
                timeout=_BUSY_TIMEOUT_S,
                isolation_level=None,
            )
            try:
                # Not only when it is made: a process may die between the file and its tables.
                connection.executescript(_SCHEMA)
                yield connection
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise _in_words(error, self._database) from error


def _in_words(error: sqlite3.Error, database: Path) -> MendableError:
    if is_busy(error):
        return Busy(
            "The list of extracted threads is in use.",
            cause=f"Another process kept {database.name} locked for {_BUSY_TIMEOUT_S:g} seconds.",
            next_step="Try again.",
        )
    cause, next_step = why(
        error,
        f"SQLite says about {database}: {error}.",
        "Check the disk. If it stays, delete that file: it holds no memories.",
        database,
    )
    return Unavailable("The list of extracted threads cannot be used.", cause=cause, next_step=next_step)
