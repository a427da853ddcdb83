"""Codex's own tables of memory jobs, of all generations (formats/codex.md sections 2, 4 and 10).

The tables were in the state database before they got a database of their own; the first generations had locks
and memories per working directory. Tables of all generations are read. Older rows are converted into rows of
the newest generation. Times in the tables are seconds.

Threading, failure: as in `agents.base`; `problems` has a sentence on missing data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from reverie.agents.capabilities import AgentJob, StatusLine, Thread
from reverie.agents.codex.databases import CodexDatabases
from reverie.agents.codex.locations import normalised_cwd
from reverie.agents.scopes import Scope
from reverie.errors import Unavailable, warned
from reverie.files.sqlite import Database, Row
from reverie.values import Struct, field, replace

EXTRACTION = "memory_stage1"
SCOPED_CONSOLIDATION = "memory_consolidate_scope"
"""Our own name for the consolidation of one scope; the key is `<scope kind>/<scope key>`."""
_EXTRACTION_LEASE_S, _CONSOLIDATION_LEASE_S = 3600, 600
"""Seconds for which a job without a lease counts as running after its last sign of life."""
_FIRST_COLUMNS = (
    "thread_id", "status", "owner_session_id", "started_at", "finished_at", "failure_reason", "lease_until",
)  # fmt: skip
_SECOND_COLUMNS = (
    "scope_kind", "scope_key", "status", "owner_session_id", "started_at", "last_heartbeat_at", "finished_at",
    "failure_reason", "lease_until",
)  # fmt: skip
_DIRTY_COLUMNS = ("scope_kind", "scope_key", "dirty", "updated_at")
_OLDER_LOCK_COLUMNS = ("cwd", "owner_id", "acquired_at", "expires_at")
_STATUS = {
    "running": "running",
    "in_progress": "running",
    "claimed": "running",
    "done": "done",
    "succeeded": "done",
    "succeeded_no_output": "done",
    "completed": "done",
    "error": "error",
    "failed": "error",
}
_FIRST_COUNTS = ("running", "error", "pending", "done")


def older_jobs(database: Database, tables: frozenset[str], limit: int) -> tuple[Row, ...]:
    """Return the jobs from tables of older versions of Codex, converted into rows of the newest table.

    The versions are described in formats/codex.md section 2. There is one row for each thread and each scope.
    Columns are selected by name; any column may be missing. `tables`: the names of the tables that exist. At
    most `limit` rows of each table are read.
    """
    found: list[Row] = []
    if "memory_phase1_jobs" in tables:
        found += _by_thread(database.rows("memory_phase1_jobs", _FIRST_COLUMNS, limit=limit))
    scopes: dict[str, Row] = {}
    if "memory_phase2_jobs" in tables:
        for row in database.rows("memory_phase2_jobs", _SECOND_COLUMNS, limit=limit):
            alive = row.get("last_heartbeat_at") or row.get("started_at")
            made = _as_job(SCOPED_CONSOLIDATION, _scope_of(row), row, alive, _CONSOLIDATION_LEASE_S)
            scopes[made["job_key"]] = made
    if "memory_scope_dirty" in tables:
        for row in database.rows("memory_scope_dirty", _DIRTY_COLUMNS, limit=limit):
            known = scopes.get(_scope_of(row))
            # A running or failed job says more than a waiting one.
            if row.get("dirty") and (known is None or known["status"] in ("done", "pending")):
                scopes[_scope_of(row)] = {
                    "kind": SCOPED_CONSOLIDATION,
                    "job_key": _scope_of(row),
                    "status": "pending",
                    "started_at": row.get("updated_at"),
                }
    return tuple(row for row in (*found, *scopes.values()) if row["job_key"])


def older_locks(database: Database) -> tuple[Row, ...]:
    """Return the rows of the older table `memory_summary_locks` in the form of the newer table of locks.

    Each lock is valid until its `expires_at`.
    """
    return tuple(
        {
            "cwd": row.get("cwd"),
            "working_thread_id": row.get("owner_id"),
            "updated_at": row.get("acquired_at"),
            "expires_at": row.get("expires_at"),
        }
        for row in database.rows("memory_summary_locks", _OLDER_LOCK_COLUMNS)
    )


def valid_memories(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Return the newest valid row of each thread from `rows`, the rows of an older table of memories.

    The table is `thread_memory` or `memory_summaries`; it may have several rows for each thread. A row is
    valid unless `invalidated_at` is set.
    """
    found: dict[Any, Row] = {}
    for row in rows:
        known, at = found.get(row.get("thread_id")), row.get("updated_at")
        if row.get("invalidated_at") is not None or not isinstance(at, int):
            continue
        if known is None or known["updated_at"] < at:
            found[row.get("thread_id")] = row
    return tuple(found.values())


def _by_thread(rows: Iterable[Row]) -> list[Row]:
    """Return one extraction job in `rows` for each thread: the running one, else a failed one, else any.

    Older versions of the agent extracted a thread once for each scope, so it may have several jobs.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        made = _as_job(
            EXTRACTION, str(row.get("thread_id") or ""), row, row.get("started_at"), _EXTRACTION_LEASE_S
        )
        known = found.get(made["job_key"])
        if known is None or _rank(made) < _rank(known):
            found[made["job_key"]] = made
    return list(found.values())


def _as_job(kind: str, key: str, row: Row, alive: Any, lease_s: int) -> dict[str, Any]:
    lease = row.get("lease_until")
    if lease is None and isinstance(alive, int):
        lease = alive + lease_s
    return {
        "kind": kind,
        "job_key": key,
        "status": _STATUS.get(str(row.get("status")).lower(), "pending"),
        "worker_id": row.get("owner_session_id"),
        "started_at": row.get("started_at"),
        "finished_at": row.get("finished_at"),
        "lease_until": lease,
        "last_error": row.get("failure_reason"),
    }


def _rank(row: Row) -> int:
    return _FIRST_COUNTS.index(row["status"])


def _scope_of(row: Row) -> str:
    kind, key = row.get("scope_kind"), row.get("scope_key")
    return f"{kind}/{key}" if isinstance(kind, str) and isinstance(key, str) else ""


CONSOLIDATION = "memory_consolidate_global"
_OF_DIRECTORY = f"{SCOPED_CONSOLIDATION}/cwd/"
LOCK_SECONDS = 600
"""Lifetime of a lock of the first generation."""
_MOST = 100_000
_JOB_COLUMNS = (
    "kind", "job_key", "status", "worker_id", "started_at", "finished_at", "lease_until", "retry_at",
    "retry_remaining", "last_error", "input_watermark", "last_success_watermark",
)  # fmt: skip
_OUTPUT_COLUMNS = ("thread_id", "source_updated_at", "generated_at", "selected_for_phase2", "usage_count")
_OLD_COLUMNS = ("thread_id", "updated_at", "invalidated_at")
_LOCK_COLUMNS = ("cwd", "working_thread_id", "updated_at")

_READ_AT = ("last_success_watermark", "input_watermark", "finished_at")
"""The columns of a job that record the last change of its transcript, best first."""

State = Literal["waiting", "running", "done", "failed", "stale"]


class MemoryBooks(Struct):
    """The rows of Codex's database tables about memory jobs."""

    jobs: tuple[Row, ...] = ()
    """The rows of the jobs."""
    outputs: dict[str, int] = field(default_factory=dict)
    """Thread id -> last change (UTC ms) of the transcript from which the thread's memory was made."""
    empty: dict[str, int] = field(default_factory=dict)
    """The same for the threads in which the agent found nothing to remember, which are not in `outputs`."""
    locks: tuple[Row, ...] = ()
    """The rows about the working directories whose memories the agent has locked."""
    there: bool = False
    """Whether any of the tables exists."""
    problems: list[str] = field(default_factory=list)
    """Messages about databases that could not be read."""
    usage: dict[str, int] = field(default_factory=dict)
    """Thread id -> number of citations of the thread's memory in answers."""


def read_memory_books(databases: CodexDatabases, version: str) -> MemoryBooks:
    """Read the memory tables of a home; return their rows.

    They are in the database of threads and in that of the memory version `version`; rows of the latter take
    precedence.
    """
    books = MemoryBooks()
    for database in (databases.of_threads(), databases.of_memory(version)):
        if database is None:
            continue
        with warned(books.problems, Unavailable):
            tables = database.tables()
            for table in ("memory_summaries", "thread_memory"):
                if table in tables:
                    rows = valid_memories(database.rows(table, _OLD_COLUMNS, limit=_MOST))
                    _take_outputs(books, rows, "updated_at")
            older = older_jobs(database, tables, _MOST)
            books.there = books.there or bool(older)
            if "memory_summary_locks" in tables:
                books.there = True
                books.locks = older_locks(database)
            if "memory_consolidation_locks" in tables:
                books.there = True
                books.locks += database.rows("memory_consolidation_locks", _LOCK_COLUMNS)
            if "stage1_outputs" in tables:
                _take_outputs(
                    books, database.rows("stage1_outputs", _OUTPUT_COLUMNS, limit=_MOST), "source_updated_at"
                )
            if "jobs" in tables:
                books.there = True
                books.jobs = database.rows("jobs", _JOB_COLUMNS, limit=_MOST) or books.jobs
            known = {(row.get("kind"), row.get("job_key")) for row in books.jobs}
            books.jobs += tuple(row for row in older if (row["kind"], row["job_key"]) not in known)
    for row in books.jobs:
        thread_id = str(row.get("job_key") or "").lower()
        at = next(filter(None, (_ms(row.get(column)) for column in _READ_AT)), None)
        done = row.get("kind") == EXTRACTION and row.get("status") == "done"
        if done and at is not None and thread_id not in books.outputs:
            books.empty[thread_id] = at
    return books


def jobs_of(books: MemoryBooks, threads: Sequence[Thread], now_ms: int) -> tuple[AgentJob, ...]:
    """Return the jobs in the tables, and one for each memory that is older than its thread; newest first.

    `books`: the rows of the tables. `threads`: all threads of the home. `now_ms`: the current time (UTC); a
    running job whose lease has expired by then has the state "stale".
    """
    titles = {thread.id: thread.title or thread.cwd for thread in threads}
    found = [_job(row, titles, now_ms) for row in books.jobs]
    running = {job.source_id for job in found if job.state in ("running", "failed")}
    for thread in threads:
        made = books.outputs.get(thread.id)
        read = made if made is not None else books.empty.get(thread.id)
        if read is None or thread.id in running or (thread.updated_at or 0) // 1000 <= read // 1000:
            continue
        found = [job for job in found if job.source_id != thread.id]
        sentence = (
            "The thread continued after Codex extracted a memory from it."
            if made is not None
            else "The thread continued after Codex found nothing to remember in it."
        )
        about = thread.title or thread.cwd or thread.id
        found.append(AgentJob(thread.id, "extraction", about, "stale", sentence, read, source_id=thread.id))
    return tuple(sorted(found, key=lambda job: -(job.at or 0)))


def status_lines(
    books: MemoryBooks, jobs: Iterable[AgentJob], cwd: str, now_ms: int
) -> tuple[StatusLine, ...]:
    """Return the state of the memory jobs as status lines, at `now_ms` (UTC).

    `books`: the rows of the tables. `jobs`: the result of `jobs_of`. `cwd`: the working directory whose
    consolidations and locks are included; empty for none.
    """
    lines = [StatusLine(None, "Databases", problem, "warn") for problem in books.problems]
    jobs = tuple(jobs)
    own = {cwd, normalised_cwd(cwd)} if cwd else set()
    for job in jobs:
        scope = Scope.PROJECT if job.id.startswith(_OF_DIRECTORY) else Scope.GLOBAL
        elsewhere = scope is Scope.PROJECT and job.id.removeprefix(_OF_DIRECTORY) not in own
        if job.kind == "consolidation" and not elsewhere:
            lines.append(StatusLine(scope, "Codex consolidation", _words(job), _state(job), job.at))
    counts = {state: sum(job.kind == "extraction" and job.state == state for job in jobs) for state in _ORDER}
    told = [f"{count} {words}" for state, words in _ORDER.items() if (count := counts[state])]
    if told:
        state: Literal["ok", "running", "warn", "fail"] = "ok"
        if counts["failed"]:
            state = "fail"
        elif counts["running"]:
            state = "running"
        newest = max((job.at or 0 for job in jobs if job.kind == "extraction"), default=0)
        lines.append(
            StatusLine(Scope.GLOBAL, "Codex extraction", ", ".join(told) + ".", state, newest or None)
        )
    for lock in books.locks:
        at = _ms(lock.get("updated_at"))
        if lock.get("cwd") in own and at is not None:
            held = now_ms < (_ms(lock.get("expires_at")) or at + LOCK_SECONDS * 1000)
            text = (
                f"Locked by thread {lock.get('working_thread_id')}." if held else "An expired lock remains."
            )
            lines.append(
                StatusLine(Scope.PROJECT, "Codex consolidation", text, "running" if held else "warn", at)
            )
    return tuple(lines)


_ORDER: Mapping[State, str] = {
    "running": "running",
    "failed": "failed",
    "stale": "older than their threads",
    "waiting": "waiting",
    "done": "done",
}


def _job(row: Row, titles: Mapping[str, str], now_ms: int) -> AgentJob:
    kind, key = str(row.get("kind") or ""), str(row.get("job_key") or "")
    scoped = kind == SCOPED_CONSOLIDATION
    consolidation = scoped or kind == CONSOLIDATION
    lease, retry = _ms(row.get("lease_until")), _ms(row.get("retry_at"))
    status = row.get("status")
    at = _ms(row.get("finished_at")) or _ms(row.get("started_at"))
    error = str(row.get("last_error") or "")
    state: State = "waiting"
    sentence = ""
    if status == "running":
        state = "running" if lease is None or lease > now_ms else "stale"
        sentence = "" if state == "running" else "The lease expired: the process that ran it has ended."
    elif status == "done":
        state = "done"
    elif status == "error":
        state, sentence = "failed", error or "The job failed without a reason."
    job = AgentJob(
        f"{kind}/{key}",
        "consolidation" if consolidation else "extraction" if kind == EXTRACTION else kind,
        key.partition("/")[2]
        if scoped
        else "all threads"
        if consolidation
        else titles.get(key.lower()) or key,
        state,
        sentence,
        at,
        retry,
    )
    return job if consolidation else replace(job, source_id=key.lower())


def _words(job: AgentJob) -> str:
    word = {
        "waiting": "Waiting.",
        "running": "Running.",
        "done": "Done.",
        "failed": "Failed:",
        "stale": "The job was abandoned.",
    }[job.state]
    return f"{word} {job.sentence}".strip()


def _state(job: AgentJob) -> Literal["ok", "running", "warn", "fail"]:
    states: Mapping[State, Literal["ok", "running", "warn", "fail"]] = {
        "running": "running", "failed": "fail", "stale": "warn", "waiting": "ok", "done": "ok",
    }  # fmt: skip
    return states[job.state]


def _take_outputs(books: MemoryBooks, rows: Iterable[Row], column: str) -> None:
    books.there = True
    for row in rows:
        thread_id, at = row.get("thread_id"), _ms(row.get(column))
        if isinstance(thread_id, str) and at is not None:
            books.outputs[thread_id.lower()] = at
            count = row.get("usage_count")
            books.usage[thread_id.lower()] = count if isinstance(count, int) else 0


def _ms(value: Any) -> int | None:
    good = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value * 1000) if good and 0 < value < 1e11 else None
