"""What Reverie knows of extraction in one Codex home: a row per thread, and which directories wait for their
consolidation. In a database of Reverie's own, never in the agent's.

The files in the home are the truth; a row only keeps a thread from being extracted again, and tells its
summary. So a lost database costs work and no memory. Every call opens its own connection: any thread, any
process. Failure: `Busy`, `Unavailable`.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Literal

from reverie.agents.capabilities import Thread
from reverie.errors import Busy, Unavailable, UserError
from reverie.files.directory import ensure_private
from reverie.files.paths import own_is_there
from reverie.files.sqlite import is_busy, refuse_irregular, why

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
class ThreadRow:
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

    def rows(self) -> Mapping[str, ThreadRow]:
        """Every extracted thread, by its id."""
        found = self._selected(
            "SELECT thread_id, bucket, cwd, summary, source_updated_at, generated_at, run_id FROM traces"
        )
        return {row[0]: ThreadRow(*row) for row in found}

    def directories(self) -> Mapping[str, DirectoryRow]:
        """Every directory that was touched, by its bucket."""
        found = self._selected(
            "SELECT bucket, cwd, revision, done_revision, consolidated_at, outcome FROM directories"
        )
        return {row[0]: DirectoryRow(*row) for row in found}

    def failures(self) -> Mapping[str, int]:
        """Threads whose extraction failed last, and when (UTC ms) their rollout had last changed then."""
        return dict(self._selected("SELECT thread_id, source_updated_at FROM failures"))

    def failed(self, thread_id: str, source_updated_at: int) -> None:
        """Keep that the extraction of a thread failed, until it succeeds."""
        with self._connected(create=True) as connection:
            connection.execute(
                "INSERT OR REPLACE INTO failures VALUES (?, ?)", (thread_id, source_updated_at)
            )

    def put(self, row: ThreadRow, *, after: str | None) -> bool:
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
            # The fields of the row stand in the order of the columns.
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
        """What the last consolidation of a directory left, as it was given; empty for none."""
        found = self._selected("SELECT fingerprint FROM consolidations WHERE bucket = ?", bucket)
        return str(found[0][0]) if found else ""

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

    def _selected(self, question: str, *values: str) -> list[Any]:
        """The rows that a SELECT finds; none before there is a database."""
        if not own_is_there(self._database):
            return []
        with self._connected(create=False) as connection:
            return connection.execute(question, values).fetchall()

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


def _in_words(error: sqlite3.Error, database: Path) -> UserError:
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


# Selection: the newest threads that went on since their memory was made (formats/codex.md section 2). A
# rollout that changed a moment ago is still being written and is left for the next time.


INTERACTIVE = frozenset({"cli", "vscode", "atlas", "chatgpt"})
LOOKED_AT = 200

SkipReason = Literal[
    "active", "up-to-date", "over-the-limit", "no-rollout", "memory-off", "sub-agent", "not-interactive",
    "archived", "no-directory", "lease-held", "changed",
]  # fmt: skip

SKIP_WORDS: Mapping[SkipReason, str] = {
    "active": "its rollout is still growing",
    "up-to-date": "its memory is as new as the thread",
    "over-the-limit": "enough threads were chosen; it comes next time",
    "no-rollout": "its rollout is gone",
    "memory-off": "its memory is switched off",
    "sub-agent": "a sub-agent led it",
    "not-interactive": "no person led it",
    "archived": "it is archived",
    "no-directory": "its rollout names no working directory",
    "lease-held": "another process extracts it",
    "changed": "it was extracted meanwhile",
}


@dataclass(frozen=True, slots=True)
class SelectionLimits:
    """How many threads at once, and how long (ms) a rollout must have been left alone."""

    rollouts: int = 8
    idle_ms: int = 120_000


@dataclass(frozen=True, slots=True)
class SkippedThread:
    """A thread that is not extracted, and why."""

    thread: Thread
    reason: SkipReason


@dataclass(frozen=True, slots=True)
class ThreadSelection:
    """`chosen` are to be extracted, newest first; `skipped` says why the others are not."""

    chosen: tuple[Thread, ...]
    skipped: tuple[SkippedThread, ...]

    def counts(self) -> dict[str, int]:
        """How many were left out, by reason."""
        return dict(Counter(each.reason for each in self.skipped))


def select(
    threads: Sequence[Thread],
    stored: Callable[[str], int | None],
    limits: SelectionLimits,
    now_ms: int,
    failed: Collection[str] = (),
) -> ThreadSelection:
    """Choose among `threads`. `stored`: when the rollout that a thread's memory was made from had last
    changed (UTC ms), None for a thread without one. `failed`: threads that did not go on since their
    extraction failed; they come after the others, so that some that always fail keep nobody out."""
    wanted: list[Thread] = []
    skipped: list[SkippedThread] = []
    looked_at = 0
    for thread in sorted(threads, key=lambda each: (-(each.updated_at or 0), each.id)):
        reason = _never(thread)
        if reason is None:
            looked_at += 1
            if looked_at > LOOKED_AT:
                break
            reason = _not_now(thread, stored(thread.id), limits, now_ms)
        if reason is None:
            wanted.append(thread)
        else:
            skipped.append(SkippedThread(thread, reason))
    wanted.sort(key=lambda each: each.id in failed)
    skipped += [SkippedThread(each, "over-the-limit") for each in wanted[limits.rollouts :]]
    return ThreadSelection(tuple(wanted[: limits.rollouts]), tuple(skipped))


def led_by_person(source: str) -> bool:
    """Whether a thread of this source is one that people have; old rollouts do not say."""
    return not source or source in INTERACTIVE


def _never(thread: Thread) -> SkipReason | None:
    if thread.subagent:
        return "sub-agent"
    if thread.archived:
        return "archived"
    if not led_by_person(thread.source):
        return "not-interactive"
    if thread.memory_mode not in ("", "enabled"):
        return "memory-off"
    return None


def _not_now(thread: Thread, stored: int | None, limits: SelectionLimits, now_ms: int) -> SkipReason | None:
    if thread.path is None or thread.updated_at is None:
        return "no-rollout"
    if stored is not None and stored >= thread.updated_at:
        return "up-to-date"
    # Both ways: a rollout from a clock that goes ahead is not for ever in use.
    if abs(now_ms - thread.updated_at) < limits.idle_ms:
        return "active"
    return None
