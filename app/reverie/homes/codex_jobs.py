"""What Codex's own books say of its memory jobs (formats/codex.md sections 2 and 4).

The tables were in the state database before they had one of their own; the first generations kept locks and
memories per working directory. All are looked for, and each row is taken for what it says. Times in the books
are seconds. Threading, failure: as `homes.base` says; what cannot be read is a sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from reverie.errors import Unavailable
from reverie.homes.agents import AgentJob, StatusLine
from reverie.homes.codex_database import Row, memory_database, state_database
from reverie.homes.codex_names import normalised_cwd
from reverie.homes.codex_older_jobs import (
    EXTRACTION,
    SCOPED_CONSOLIDATION,
    older_jobs,
    older_locks,
    valid_memories,
)
from reverie.homes.codex_threads import Thread
from reverie.homes.scopes import Scope

CONSOLIDATION = "memory_consolidate_global"
_OF_DIRECTORY = f"{SCOPED_CONSOLIDATION}/cwd/"
LOCK_SECONDS = 600
"""How long a lock of the first generation counts."""
_MOST = 100_000
_JOB_COLUMNS = (
    "kind", "job_key", "status", "worker_id", "started_at", "finished_at", "lease_until", "retry_at",
    "retry_remaining", "last_error",
)  # fmt: skip
_OUTPUT_COLUMNS = ("thread_id", "source_updated_at", "generated_at", "selected_for_phase2", "usage_count")
_OLD_COLUMNS = ("thread_id", "updated_at", "invalidated_at")
_LOCK_COLUMNS = ("cwd", "working_thread_id", "updated_at")

State = Literal["waiting", "running", "done", "failed", "stale"]


@dataclass(slots=True)
class MemoryBooks:
    """Rows of the memory tables. `outputs`: when the transcript that a thread's memory was made from had last
    changed, UTC ms; `locks`: rows of locked working directories."""

    jobs: tuple[Row, ...] = ()
    outputs: dict[str, int] = field(default_factory=dict)
    locks: tuple[Row, ...] = ()
    there: bool = False
    problems: list[str] = field(default_factory=list)
    usage: dict[str, int] = field(default_factory=dict)
    """How often answers cited each thread's memory."""


def read_memory_books(
    home: Path, cache: Path | None, elsewhere: Path | None = None, version: str = "v1"
) -> MemoryBooks:
    """From the databases of threads and of one memory version; what the latter says counts. `elsewhere`: see
    `codex_database.database_places`."""
    books = MemoryBooks()
    databases = [state_database(home, cache, elsewhere), memory_database(home, cache, elsewhere, version)]
    for database in databases:
        if database is None:
            continue
        try:
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
        except Unavailable as error:
            books.problems.append(str(error))
    return books


def jobs_of(books: MemoryBooks, threads: Sequence[Thread], now_ms: int) -> tuple[AgentJob, ...]:
    """The jobs in the books, and the memories that are older than their threads; newest first."""
    titles = {thread.id: thread.title or thread.cwd for thread in threads}
    found = [_job(row, titles, now_ms) for row in books.jobs]
    running = {job.source_id for job in found if job.state in ("running", "failed")}
    for thread in threads:
        made = books.outputs.get(thread.id)
        if made is None or thread.id in running or (thread.updated_at or 0) // 1000 <= made // 1000:
            continue
        found = [job for job in found if job.source_id != thread.id]
        sentence = "The thread went on after its memory was made."
        about = thread.title or thread.cwd or thread.id
        found.append(AgentJob(thread.id, "extraction", about, "stale", sentence, made, source_id=thread.id))
    return tuple(sorted(found, key=lambda job: -(job.at or 0)))


def status_lines(
    books: MemoryBooks, jobs: Iterable[AgentJob], cwd: str, now_ms: int
) -> tuple[StatusLine, ...]:
    """What a footer says of them."""
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
                f"Locked by thread {lock.get('working_thread_id')}."
                if held
                else "A lock that ran out is left."
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
        sentence = "" if state == "running" else "Its lease ran out: whoever ran it is gone."
    elif status == "done":
        state = "done"
    elif status == "error":
        state, sentence = "failed", error or "It failed without a reason."
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
        "stale": "Left behind.",
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
