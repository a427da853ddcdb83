"""Layout, state, selection and reporting of the extraction in one Codex home.

The state is one row per extracted thread and one per directory, in a database of Reverie's own, never in the
agent's. The files in the home are authoritative; a row only prevents a second extraction of its thread and
stores its summary. If the database is lost, work is repeated, but no memory is lost. Every call opens its own
connection, so any thread and any process may call. Failure: `Busy`, `Unavailable`.

The functions on the layout of `memory/` are pure (formats/codex.md section 2): stage one makes a trace per
thread and the index of the newest ones. A trace whose name contains no thread id is ignored and never
deleted. Traces that the agent itself wrote are treated like Reverie's own; their age is in their header.
"""

from __future__ import annotations

import contextlib
import logging
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal

from reverie.agents.capabilities import Thread
from reverie.agents.codex.locations import thread_of_trace, trace_name
from reverie.agents.codex.store import SUMMARY
from reverie.agents.transcripts import ReadStatistics
from reverie.errors import Busy, Unavailable, UserError
from reverie.files.directory import ensure_private, own_is_there
from reverie.files.sqlite import is_busy, refuse_irregular, why
from reverie.memory.write_guard import ReadOnlyStore
from reverie.runs.activity import Activity
from reverie.runs.record import RunResult
from reverie.text.redact import redact
from reverie.text.summaries import some
from reverie.values import Struct, astuple, columns

TRACE_BYTES = 300_000
TRACE_MARKER = "\n\n[... TRACE MEMORY TRUNCATED ...]\n\n"
SUMMARY_BYTES = 1_200
SUMMARY_MARKER = " [...summary truncated...]"
ROLLOUT_BYTES = 1_000_000
ROLLOUT_MARKER = "\n\n[... ROLLOUT TRUNCATED FOR MEMORY EXTRACTION ...]\n\n"


def cut_trace(text: str) -> str:
    """Truncate a trace to at most 300,000 bytes: beginning and end, half each, with a marker between them."""
    kept = HeadTail(TRACE_BYTES, TRACE_MARKER, head_share=2)
    kept.feed(text.encode("utf-8", "replace"))
    return kept.text()


def cut_summary(text: str) -> str:
    """Truncate a summary to at most 1,200 bytes: beginning and end, half each, with a marker between them."""
    kept = HeadTail(SUMMARY_BYTES, SUMMARY_MARKER, head_share=2)
    kept.feed(text.encode("utf-8", "replace"))
    return kept.text()


class HeadTail:
    """A stream of bytes truncated to its head and tail, with `marker` between them.

    The result has at most `limit` bytes. It is the same as in Codex: the marker counts towards the limit, and
    no character is split (formats/codex.md section 2). The head gets one `head_share`-th of the space. At
    most `limit` bytes are held in memory, however long the stream is.
    """

    def __init__(self, limit: int, marker: str, *, head_share: int) -> None:
        self._limit = limit
        self._marker = marker
        room = limit - len(marker.encode())
        self._head_bytes = room // head_share
        self._tail_bytes = room - self._head_bytes
        self._whole = bytearray()
        self._tail = bytearray()
        self.total = 0
        """The number of bytes fed or skipped so far."""

    @property
    def truncated(self) -> bool:
        """True if a part of the stream was left out."""
        return self.total > self._limit

    def feed(self, data: bytes) -> None:
        """Append bytes to the stream, of which only head and tail are stored."""
        self.total += len(data)
        room = self._limit - len(self._whole)
        if room > 0:
            self._whole += data[:room]
        if self.truncated:
            if not self._tail:
                self._tail += self._whole
                data = data[max(room, 0) :]
            self._tail += data[-self._tail_bytes - 4 :]
            if len(self._tail) > 2 * self._limit:
                del self._tail[: -self._tail_bytes - 4]

    def skip(self, size: int) -> None:
        """Count `size` bytes of the stream that the caller left out; later bytes go to the tail."""
        self.total += size

    def text(self) -> str:
        """Return the whole text, or head and tail with the marker between them."""
        if not self.truncated:
            return bytes(self._whole).decode("utf-8", "replace")
        return (
            _head(bytes(self._whole), self._head_bytes)
            + self._marker
            + _tail(bytes(self._tail[-self._tail_bytes :]))
        )


def _head(data: bytes, size: int) -> str:
    """Return the longest beginning that has at most `size` bytes and splits no character."""
    size = min(size, len(data))
    while size and size < len(data) and data[size] & 0xC0 == 0x80:
        size -= 1
    return data[:size].decode("utf-8", "replace")


def _tail(data: bytes) -> str:
    """Return the longest end of `data` that begins with a whole character."""
    start = 0
    while start < len(data) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:].decode("utf-8", "replace")


KEPT = 10
TRACES = "trace_summaries"
INDEX = SUMMARY
HANDBOOK = "MEMORY.md"
OLD_HANDBOOK = "consolidated.md"
SKILLS = "skills"
_LINE = re.compile(r"^- (?P<summary>.*) \(trace: `(?P<thread>[^`]+)`\)$")


class TraceHeader(Struct, frozen=True):
    """The header of a trace file, the text that Codex stores about a thread."""

    thread_id: str
    cwd: str
    rollout_path: str
    updated_at: int | None = None
    """The time of the last change in UTC ms; None if the header does not contain it."""


class NewTrace(Struct, frozen=True):
    """The text about one thread and its summary, ready to be written."""

    header: TraceHeader
    title: str
    trace: str
    summary: str

    @property
    def rel(self) -> str:
        """The path of the trace below `memory/`."""
        return f"{TRACES}/{trace_name(self.header.thread_id, self.title)}"


class KeptTrace(Struct, frozen=True):
    """One line of the index of traces, with the path of the trace file."""

    thread_id: str
    rel: str
    updated_at: int
    summary: str


class Layout(Struct, frozen=True):
    """The changes to the directory `memory/` that add new traces (texts about conversations)."""

    files: Mapping[str, bytes | None]
    """The new content of each file that changes, by name; None deletes the file."""
    kept: tuple[KeptTrace, ...]
    """The lines of the index, newest first."""
    pruned: tuple[str, ...]
    """The names of the traces that are deleted."""


def laid_out(
    before: Mapping[str, bytes],
    new: Iterable[NewTrace],
    summaries: Mapping[str, str],
    pinned: frozenset[str] = frozenset(),
) -> Layout:
    """Return the changes that add the traces `new` to a directory and rebuild its index.

    Only the ten newest threads are kept. `before` holds every trace file and the index, by name below
    `memory/`. `summaries` holds known summaries of other threads, by thread id; missing ones are read from
    the old index, else from the trace. Files in `pinned` are never deleted.
    """
    files = {rel: data for rel, data in before.items() if rel.startswith(f"{TRACES}/")}
    known = {**_index_summaries(before.get(INDEX, b"")), **summaries}
    for trace in new:
        for rel in [rel for rel in files if _thread(rel) == trace.header.thread_id]:
            if rel not in pinned:
                del files[rel]
        files[trace.rel] = trace_bytes(trace)
        known[trace.header.thread_id] = trace.summary
    by_thread: dict[str, list[KeptTrace]] = {}
    for rel, data in files.items():
        if _thread(rel):
            kept = _kept(rel, data, known)
            by_thread.setdefault(kept.thread_id, []).append(kept)
    newest = [max(found, key=lambda each: (each.updated_at, each.rel)) for found in by_thread.values()]
    ordered = sorted(newest, key=lambda each: (-each.updated_at, each.thread_id))[:KEPT]
    stay = {kept.rel for kept in ordered}
    pruned = sorted(rel for rel in files if _thread(rel) and rel not in stay | pinned)
    after = {rel: data for rel, data in files.items() if rel not in pruned}
    after[INDEX] = index_text(ordered).encode()
    changes: dict[str, bytes | None] = {rel: data for rel, data in after.items() if before.get(rel) != data}
    gone = [rel for rel in before if rel not in after]
    return Layout({**changes, **dict.fromkeys(gone)}, tuple(ordered), tuple(pruned))


def trace_bytes(trace: NewTrace) -> bytes:
    """Return the content of a trace file, byte for byte as the agent would write it."""
    header = trace.header
    lines = [
        f"thread_id: {_one_line(header.thread_id)}",
        f"cwd: {_one_line(header.cwd)}",
        f"rollout_path: {_one_line(header.rollout_path)}",
    ]
    if header.updated_at is not None:
        lines.append(f"updated_at: {rfc3339(header.updated_at)}")
    return ("\n".join(lines) + f"\n\n{trace.trace.strip()}\n").encode("utf-8", "surrogateescape")


def index_text(kept: Iterable[KeptTrace]) -> str:
    """Return the content of `memory_summary.md`, exactly as the agent would write it."""
    lines = [f"- {each.summary} (trace: `{each.thread_id}`)" for each in kept]
    if not lines:
        return "# Memory Summary\n\nNo memory traces yet.\n"
    listed = "\n".join(lines)
    return f"# Memory Summary\n\nMap of concise summaries to trace IDs (latest first):\n\n{listed}\n"


def parse_header(data: bytes) -> TraceHeader:
    """Parse the header of a trace file; missing fields are empty."""
    head = data[:8192].decode("utf-8", "surrogateescape").partition("\n\n")[0]
    found: dict[str, str] = {}
    for line in head.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip(), value.strip())
    return TraceHeader(
        found.get("thread_id", ""),
        found.get("cwd", ""),
        found.get("rollout_path", ""),
        parse_rfc3339(found.get("updated_at", "")),
    )


def body_of(data: bytes) -> str:
    """Return the text of a trace file without its header."""
    text = data.decode("utf-8", "replace")
    head, _blank, rest = text.partition("\n\n")
    return rest if head.startswith("thread_id:") else text


def rfc3339(ms: int) -> str:
    """Return a time (UTC ms) in RFC 3339: whole seconds, with the offset `+00:00`."""
    return datetime.fromtimestamp(ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S+00:00")


def parse_rfc3339(text: str) -> int | None:
    """Parse a time to UTC ms; None if the text is invalid or has no offset."""
    try:
        found = datetime.fromisoformat(text)
        return int(found.timestamp() * 1000) if found.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def _thread(rel: str) -> str:
    return thread_of_trace(rel.removeprefix(f"{TRACES}/")) if rel.count("/") == 1 else ""


def _kept(rel: str, data: bytes, known: Mapping[str, str]) -> KeptTrace:
    thread_id = _thread(rel)
    summary = known.get(thread_id) or _first_line(data)
    return KeptTrace(thread_id, rel, parse_header(data).updated_at or 0, summary)


def _index_summaries(index: bytes) -> dict[str, str]:
    """Return the summaries that the index has, by thread id."""
    found = (_LINE.match(line) for line in index.decode("utf-8", "replace").splitlines())
    return {match["thread"]: match["summary"] for match in found if match}


def _first_line(data: bytes) -> str:
    lines = (line.strip("# \t\r") for line in body_of(data).splitlines())
    return cut_summary(next((" ".join(line.split()) for line in lines if line), "no summary"))


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ")


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
        found = self._selected(
            "SELECT thread_id, bucket, cwd, summary, source_updated_at, generated_at, run_id FROM traces"
        )
        return {row[0]: ThreadRow(*row) for row in found}

    def directories(self) -> Mapping[str, DirectoryRow]:
        """Return the row of every directory with extracted traces, by bucket."""
        found = self._selected(
            "SELECT bucket, cwd, revision, done_revision, consolidated_at, outcome FROM directories"
        )
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
        try:
            refuse_irregular(self._database)
            connection = sqlite3.connect(
                f"{self._database.absolute().as_uri()}?mode={'rwc' if create else 'rw'}",
                uri=True,
                timeout=_BUSY_TIMEOUT_S,
                isolation_level=None,
            )
            try:
                # Also for an existing file: a process may have died before it created the tables.
                connection.executescript(_SCHEMA)
                yield connection
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise _in_words(error, self._database) from error


def _in_words(error: sqlite3.Error, database: Path) -> UserError:
    if is_busy(error):
        return Busy(
            "The list of extracted sessions is in use.",
            cause=f"Another process kept {database.name} locked for {_BUSY_TIMEOUT_S:g} seconds.",
            next_step="Try again.",
        )
    cause, next_step = why(
        error,
        f"SQLite reports about {database}: {error}.",
        "Check the disk. If the error persists, delete that file: it contains no memories.",
        database,
    )
    return Unavailable("The list of extracted sessions cannot be used.", cause=cause, next_step=next_step)


INTERACTIVE = frozenset({"cli", "vscode", "atlas", "chatgpt"})
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


class SelectionLimits(Struct, frozen=True):
    """The limits of a selection of threads.

    `rollouts`: the largest number of threads. `idle_ms`: the time in ms for which a rollout must be
    unchanged.
    """

    rollouts: int = 8
    idle_ms: int = 120_000


class SkippedThread(Struct, frozen=True):
    """A thread (conversation) from which nothing is extracted, and the reason."""

    thread: Thread
    reason: SkipReason


class ThreadSelection(Struct, frozen=True):
    """The threads that were selected for an extraction, and those that were not."""

    chosen: tuple[Thread, ...]
    """Threads to extract, newest first; those whose last extraction failed come after the others."""
    skipped: tuple[SkippedThread, ...]
    """The other threads with their reasons."""

    def counts(self) -> dict[str, int]:
        """Return the number of skipped threads by reason."""
        return dict(Counter(each.reason for each in self.skipped))


def select(
    threads: Sequence[Thread],
    stored: Callable[[str], int | None],
    limits: SelectionLimits,
    now_ms: int,
    failed: Collection[str] = (),
    by_agent: Collection[str] = (),
) -> ThreadSelection:
    """Select the newest threads that have continued since their last extraction (formats/codex.md section 2).

    A rollout that changed within the last `limits.idle_ms` is still being written and is left for the next
    time. `stored` returns the time (UTC ms) of the rollout from which a thread's memory was made, None for a
    thread without memory. `now_ms`: UTC ms. `failed`: the ids of threads that have not continued since their
    extraction failed; they come last, so that threads that always fail do not block others. `by_agent`: the
    ids of threads that the agent will extract itself.
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
            reason = _not_now(thread, stored(thread.id), limits, now_ms)
        if reason is None and thread.id in by_agent:
            reason = "by-agent"
        if reason is None:
            wanted.append(thread)
        else:
            skipped.append(SkippedThread(thread, reason))
    wanted.sort(key=lambda each: each.id in failed)
    skipped += [SkippedThread(each, "over-the-limit") for each in wanted[limits.rollouts :]]
    return ThreadSelection(tuple(wanted[: limits.rollouts]), tuple(skipped))


def led_by_person(source: str) -> bool:
    """Return True if a person led a thread with this `source`, the text by which Codex names its origin.

    An empty source, as in old rollouts, counts as a person.
    """
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
    # The absolute difference: a rollout from a clock that is ahead must not stay active for ever.
    return "active" if abs(now_ms - thread.updated_at) < limits.idle_ms else None


Stage = Literal[
    "waiting", "reading", "thinking", "writing", "persisted", "consolidated", "failed", "skipped", "cancelled"
]


class ExtractProgress(Struct, frozen=True):
    """The progress of one rollout or one directory."""

    kind: Literal["rollout", "directory"]
    id: str
    """The id of the thread, or the bucket of the directory."""
    title: str
    project_path: str
    stage: Stage
    text: str = ""
    """Details as a sentence; may be empty."""
    done: int = 0
    """The number of parts of this kind that have ended, of `total`."""
    total: int = 0

    @property
    def ended(self) -> bool:
        """True if this is the last stage of the part."""
        return self.stage in ("persisted", "consolidated", "failed", "skipped", "cancelled")


Tell = Callable[[ExtractProgress], None]


class PartEnd(RunResult, frozen=True, kw_only=True):
    """The end of one rollout's extraction or of one directory's consolidation.

    `id`: the id of the thread, or the bucket of the directory.
    """

    kind: Literal["rollout", "directory"]
    id: str
    title: str
    project_path: str
    bucket: str = ""

    @property
    def stage(self) -> Stage:
        """The last stage of the part."""
        if self.outcome in ("cancelled", "skipped"):
            return self.outcome
        if not self.succeeded:
            return "failed"
        if self.kind == "directory":
            return "consolidated"
        return "persisted" if self.outcome == "completed" else "skipped"

    def as_json(self) -> dict[str, Any]:
        """Return this part as `reverie extract --json` prints it."""
        name = "threadId" if self.kind == "rollout" else "bucket"
        return {
            name: self.id,
            **columns(self, "title project_path outcome reason summary run_id"),
            "usage": None if self.usage is None else dict(self.usage),
            "costUsd": self.cost_usd,
        }


class ExtractResult(RunResult, frozen=True, kw_only=True):
    """The result of an extraction: how each rollout and each directory ended.

    `candidates`: the number of threads that were selected.
    """

    engine: str
    candidates: int = 0
    rollouts: tuple[PartEnd, ...] = ()
    directories: tuple[PartEnd, ...] = ()
    skipped: tuple[SkippedThread, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the result as `reverie extract --json` prints it."""
        return {
            **columns(self, "outcome reason summary engine candidates"),
            "rollouts": [part.as_json() for part in self.rollouts],
            "directories": [part.as_json() for part in self.directories],
            "skipped": [
                {"threadId": each.thread.id, "reason": each.reason, "sentence": SKIP_WORDS[each.reason]}
                for each in self.skipped
            ],
        }


_log = logging.getLogger("reverie.rollouts")


class ExtractionReporter:
    """The reporter of the decisions and results of one home's extraction.

    Every report is an entry in Activity (`extract.<event>`) and a line in the log. Threading: any thread.
    Failure: if Activity cannot be written, this is logged; nothing is raised.
    """

    def __init__(self, activity: Activity, home_root: str) -> None:
        self._add = partial(activity.add, home=home_root, workspace_id=None)

    def candidates(self, selection: ThreadSelection, engine: str) -> None:
        """Report the selection: the chosen threads and why the others were left out."""
        count, counts = len(selection.chosen), selection.counts()
        left = sum(counts.values())
        words = "; ".join(
            f"{number} because {SKIP_WORDS[reason]}"  # type: ignore[index]
            for reason, number in sorted(counts.items())
        )
        text = f"{some(count, 'thread')} to extract, {left} left out{f' ({words})' if words else ''}."
        details = {"chosen": [thread.id for thread in selection.chosen], "skipped": counts, "engine": engine}
        self._say("candidates", text, details=details)

    def stood_down(self, refusal: ReadOnlyStore) -> None:
        """Report that nothing is extracted because the store is read-only."""
        self._say("skipped", str(refusal), details={"reason": refusal.reason})

    def skipped(self, skipped: SkippedThread) -> None:
        """Report a chosen thread that was left out after all."""
        text = f"{skipped.thread.title or skipped.thread.id}: left out, {SKIP_WORDS[skipped.reason]}."
        self._say("skipped", text, details={"threadId": skipped.thread.id, "reason": skipped.reason})

    def read(self, thread_id: str, reading: ReadStatistics, *, truncated: bool) -> None:
        """Report that a rollout had unreadable or unknown lines, or was truncated.

        Reports nothing if neither applies.
        """
        if reading.broken or reading.unknown or reading.half_written:
            text = (
                f"{thread_id}: {reading.broken} lines could not be read, {reading.unknown} were of an "
                f"unknown type{', the last one is half-written' if reading.half_written else ''}."
            )
            counts = columns(reading, "broken unknown lines")
            self._say("parse-errors", text, details={"threadId": thread_id, **counts})
        if truncated:
            text = f"{thread_id}: the transcript was too long for the model, so its middle was left out."
            self._say("truncated", text, details={"threadId": thread_id})

    def ended(self, end: PartEnd) -> None:
        """Report the end of a rollout or of a consolidation."""
        if end.kind == "rollout":
            event = "persisted" if end.outcome == "completed" else str(end.outcome)
        else:
            event = "consolidation-finished"
        level = "info" if end.succeeded or end.outcome == "cancelled" else "warning"
        text = f"{end.title or end.id}: {end.summary}"
        details = columns(end, "id project_path reason status=outcome")
        self._say(event, text, level=level, run_id=end.run_id or None, details=details)

    def directories(self, cwds: tuple[str, ...]) -> None:
        """Report the directories that will be consolidated, if any."""
        if cwds:
            count = some(len(cwds), "directory")
            self._say("directories", f"{count} to consolidate.", details={"directories": list(cwds)})

    def consolidating(self, cwd: str, traces: int) -> None:
        """Report the start of stage two in the directory `cwd`; `traces` is the number of its traces."""
        text = f"Consolidation of {cwd} started, from {some(traces, 'trace')}."
        self._say("consolidation-started", text, details={"projectPath": cwd, "traces": traces})

    def held_elsewhere(self, cwd: str, text: str) -> None:
        """Report that another process is working on this directory; `text` names that process."""
        self._say("lease-held", f"{cwd}: {text}", details={"projectPath": cwd})

    def _say(
        self,
        event: str,
        text: str,
        *,
        level: str = "info",
        run_id: str | None = None,
        details: Mapping[str, Any],
    ) -> None:
        _log.debug("extract %s: %s", event, redact(text))
        self._add(f"extract.{event}", level=level, text=text, run_id=run_id, details=details)
