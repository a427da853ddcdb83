"""The threads of one Codex home that were extracted, and the selection of the next ones.

The state is one row per extracted thread and one per directory, in a database of Reverie's own, never in the
agent's. The files in the home are authoritative; a row only prevents a second extraction of its thread and
stores its summary. If the database is lost, work is repeated, but no memory is lost. Every call opens its own
connection, so any thread and any process may call. Failure: `Busy`, `Unavailable`.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from reverie.agents.capabilities import Thread
from reverie.agents.codex.checks import INTERACTIVE
from reverie.files.directory import ensure_private, own_is_there
from reverie.files.sqlite import own_database
from reverie.values import Struct, astuple, fields_of

if TYPE_CHECKING:
    from reverie.settings import ExtractSettings

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


class ThreadRow(Struct, frozen=True):
    """The row of one extracted thread (conversation); times are UTC ms.

    `bucket`: the name of the folder in which the memory of the directory `cwd` is stored. `run_id`: the run
    of the extraction.
    """

    thread_id: str
    bucket: str
    cwd: str
    summary: str
    """The summary; empty if there was nothing to remember, and therefore no trace."""
    source_updated_at: int
    """The time of the rollout that was read."""
    generated_at: int
    run_id: str


class DirectoryRow(Struct, frozen=True):
    """The row of one working directory whose threads were extracted.

    `bucket`: the name of the folder in which the memory of the directory `cwd` is stored.
    """

    bucket: str
    cwd: str
    revision: int
    """A number that grows with each new trace."""
    done_revision: int
    """The `revision` that the last finished consolidation covered."""
    consolidated_at: int | None
    """The end of the last consolidation, UTC ms; None if there was none."""
    outcome: str
    """The outcome of the last consolidation."""

    @property
    def waiting(self) -> bool:
        """True if the directory has traces that no finished consolidation covers."""
        return self.revision > self.done_revision


class ExtractState:
    """The database with the state of the extraction of one home; it is created with the first row."""

    def __init__(self, database: Path) -> None:
        self._database = database

    def rows(self) -> Mapping[str, ThreadRow]:
        """Return the row of every extracted thread, by thread id."""
        found = self._selected(f"SELECT {', '.join(fields_of(ThreadRow))} FROM traces")
        return {row[0]: ThreadRow(*row) for row in found}

    def directories(self) -> Mapping[str, DirectoryRow]:
        """Return the row of every directory with extracted traces, by bucket."""
        found = self._selected(f"SELECT {', '.join(fields_of(DirectoryRow))} FROM directories")
        return {row[0]: DirectoryRow(*row) for row in found}

    def failures(self) -> Mapping[str, int]:
        """Return the threads of which the last extraction failed, with the time of the rollout in UTC ms."""
        return dict(self._selected("SELECT thread_id, source_updated_at FROM failures"))

    def failed(self, thread_id: str, source_updated_at: int) -> None:
        """Record that the extraction of a thread failed; a later `put` removes the record.

        `source_updated_at`: the time of the rollout in UTC ms.
        """
        with self._connected(create=True) as connection:
            connection.execute(
                "INSERT OR REPLACE INTO failures VALUES (?, ?)", (thread_id, source_updated_at)
            )

    def put(self, row: ThreadRow, *, after: str | None) -> bool:
        """Save the row of a thread and, if it has a trace, queue its directory for consolidation.

        `after` is the run of the row that is replaced, None if there was no row. If the row belongs to
        another run by now, nothing is saved and False is returned; this happens if this process was suspended
        and another extraction came first.
        """
        with self._connected(create=True) as connection:
            connection.execute("BEGIN IMMEDIATE")
            found = connection.execute("SELECT run_id FROM traces WHERE thread_id = ?", (row.thread_id,))
            if (found.fetchone() or (None,))[0] != after:
                connection.execute("ROLLBACK")
                return False
            connection.execute("DELETE FROM failures WHERE thread_id = ?", (row.thread_id,))
            # The fields of the row are in the order of the columns.
            connection.execute("INSERT OR REPLACE INTO traces VALUES (?, ?, ?, ?, ?, ?, ?)", astuple(row))
            if row.summary:
                connection.execute(
                    "INSERT INTO directories (bucket, cwd, revision) VALUES (?, ?, 1)"
                    " ON CONFLICT (bucket) DO UPDATE SET cwd = excluded.cwd, revision = revision + 1",
                    (row.bucket, row.cwd),
                )
            connection.execute("COMMIT")
        return True

    def fingerprint(self, bucket: str) -> str:
        """Return the hash of the files after a directory's last consolidation; empty without one."""
        found = self._selected("SELECT fingerprint FROM consolidations WHERE bucket = ?", bucket)
        return str(found[0][0]) if found else ""

    def consolidated(
        self, directory: DirectoryRow, *, at: int, outcome: str, done: bool, fingerprint: str = ""
    ) -> None:
        """Record the end of a directory's consolidation.

        `done`: the traces up to `directory.revision` are no longer queued. If `fingerprint` is empty, the
        stored one stays.
        """
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

    def _selected(self, question: str, *values: str) -> list[Any]:
        """Return the rows of a SELECT; an empty list if the database does not exist."""
        if not own_is_there(self._database):
            return []
        with self._connected(create=False) as connection:
            return connection.execute(question, values).fetchall()

    @contextlib.contextmanager
    def _connected(self, *, create: bool) -> Iterator[sqlite3.Connection]:
        if create:
            ensure_private(self._database.parent)
        with own_database(
            self._database,
            "The list of extracted sessions",
            "Check the disk. If the error persists, delete that file: it contains no memories.",
            create=create,
            timeout_s=_BUSY_TIMEOUT_S,
        ) as connection:
            # Also for an existing file: a process may have died before it created the tables.
            connection.executescript(_SCHEMA)
            yield connection


LOOKED_AT = 200

SkipReason = Literal[
    "active", "up-to-date", "over-the-limit", "no-rollout", "memory-off", "sub-agent", "not-interactive",
    "archived", "no-directory", "lease-held", "changed", "by-agent",
]  # fmt: skip

SKIP_WORDS: Mapping[SkipReason, str] = {
    "active": "its transcript is still growing",
    "up-to-date": "its memory is up to date",
    "over-the-limit": "the limit is reached, so it is extracted next time",
    "no-rollout": "its transcript no longer exists",
    "memory-off": "its memory is turned off",
    "sub-agent": "it was run by a sub-agent",
    "not-interactive": "it was not run by a person",
    "archived": "it is archived",
    "no-directory": "its transcript names no working directory",
    "lease-held": "another process is extracting it",
    "changed": "it has just been extracted",
    "by-agent": "Codex will extract it itself",
}


class SkippedThread(Struct, frozen=True):
    """A thread (conversation) from which nothing is extracted, and the reason."""

    thread: Thread
    reason: SkipReason

    @property
    def sentence(self) -> str:
        """The reason as a sentence for people."""
        return f"Left out: {SKIP_WORDS[self.reason]}."


class ThreadSelection(Struct, frozen=True):
    """The threads that were selected for an extraction, and those that were not."""

    chosen: tuple[Thread, ...]
    """Threads to extract, newest first; those whose last extraction failed come after the others."""
    skipped: tuple[SkippedThread, ...]
    """The other threads with their reasons."""

    @property
    def considered(self) -> tuple[tuple[Thread, str, str], ...]:
        """Every thread, the chosen ones first, with the reason why it was skipped, as a word and a sentence.

        Both are empty for a chosen thread.
        """
        chosen = ((thread, "", "") for thread in self.chosen)
        return (*chosen, *((each.thread, each.reason, each.sentence) for each in self.skipped))

    def counts(self) -> dict[str, int]:
        """Return the number of skipped threads by reason."""
        return dict(Counter(each.reason for each in self.skipped))


def select(
    threads: Sequence[Thread],
    stored: Callable[[str], int | None],
    limits: ExtractSettings,
    now_ms: int,
    failed: Collection[str] = (),
    by_agent: Collection[str] = (),
) -> ThreadSelection:
    """Select the newest threads that have continued since their last extraction (formats/codex.md section 2).

    A rollout that changed within the last `limits.idle_seconds` is still being written and is left for the
    next time. `stored` returns the time (UTC ms) of the rollout from which a thread's memory was made, None
    for a thread without memory. `now_ms`: UTC ms. `failed`: the ids of threads that have not continued since
    their extraction failed; they come last, so that threads that always fail do not block others. `by_agent`:
    the ids of threads that the agent will extract itself.
    """
    wanted: list[Thread] = []
    skipped: list[SkippedThread] = []
    looked_at = 0
    for thread in sorted(threads, key=lambda each: (-(each.updated_at or 0), each.id)):
        reason = _never(thread)
        if reason is None:
            looked_at += 1
            if looked_at > LOOKED_AT:
                break
            if thread.path is None or thread.updated_at is None:
                reason = "no-rollout"
            elif (at := stored(thread.id)) is not None and at >= thread.updated_at:
                reason = "up-to-date"
            # The absolute difference: a rollout from a clock that is ahead must not stay active for ever.
            elif abs(now_ms - thread.updated_at) < limits.idle_seconds * 1000:
                reason = "active"
            elif thread.id in by_agent:
                reason = "by-agent"
        if reason is None:
            wanted.append(thread)
        else:
            skipped.append(SkippedThread(thread, reason))
    wanted.sort(key=lambda each: each.id in failed)
    skipped += [SkippedThread(each, "over-the-limit") for each in wanted[limits.max_rollouts :]]
    return ThreadSelection(tuple(wanted[: limits.max_rollouts]), tuple(skipped))


def _never(thread: Thread) -> SkipReason | None:
    """Return why no memory is ever made from a thread, as it is now; None if one may be made."""
    if thread.subagent:
        return "sub-agent"
    if thread.archived:
        return "archived"
    if thread.source and thread.source not in INTERACTIVE:  # old rollouts name no source
        return "not-interactive"
    if thread.memory_mode not in ("", "enabled"):
        return "memory-off"
    return None
