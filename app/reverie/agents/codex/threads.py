"""The threads of a Codex home, its memory jobs, and the doctor's checks of both.

Threads are rollouts on disk with facts from the agent's databases; jobs come from the agent's own tables, of
all generations (formats/codex.md sections 1, 2, 4, 5, 6 and 10).

The databases are read through copies. They are a cache that may be missing, behind, or name files that were
moved: the files on disk decide, and the databases add titles, directories, the names of projects, and which
of a reverted thread's files is the current one. No rollout is opened.

The tables of jobs were in the state database before they had one of their own; the first generations kept
locks and memories per working directory. All are read. Times in the tables are seconds.

Threading, failure: as `agents.base` says; what the databases lack is a sentence in `problems` or of the
check.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from reverie.agents.base import TranscriptSource
from reverie.agents.capabilities import AgentCheck, AgentJob, StatusLine, Thread
from reverie.agents.codex import store as codex_store
from reverie.agents.codex.locations import MEMORY_DATABASES, STATE_DATABASES, config, normalised_cwd
from reverie.agents.codex.transcript import Finder, rollout_id_of, thread_id_of
from reverie.agents.reading import as_text, file_names
from reverie.agents.scopes import Scope
from reverie.clock import DAY_MS, HOUR_MS
from reverie.errors import Unavailable
from reverie.files.directory import is_directory, is_file, read_regular
from reverie.files.sqlite import Database, Row, stamp
from reverie.text.summaries import phrase, plural, together
from reverie.values import Struct, field, replace

_OTHERWISE = "; the rollouts are read all the same"


def state_database(home: Path, cache: Path | None, elsewhere: Path | None = None) -> Database | None:
    """Return the database of threads; None where there is none, or no place for a copy.

    `elsewhere`: see `database_places`.
    """
    return _newest(home, STATE_DATABASES, cache, elsewhere)


def memory_database(
    home: Path, cache: Path | None, elsewhere: Path | None = None, version: str = "v1"
) -> Database | None:
    """Return the database of memory jobs of one memory version.

    Early programs kept the jobs in the state database.
    """
    return _newest(home, MEMORY_DATABASES[version], cache, elsewhere)


def database_places(home: Path, elsewhere: Path | None = None) -> tuple[Path, ...]:
    """Return where databases may lie; none of these need exist.

    `elsewhere`: where the agent's environment puts them, if it names a place.
    """
    places = [home, home / "sqlite", *([elsewhere] if elsewhere is not None else [])]
    named = config(home)[0].get("sqlite_home")
    if isinstance(named, str) and named and "\0" not in named:
        places.append(home / named)  # an absolute path stands for itself
    return tuple(dict.fromkeys(places))


def _newest(
    home: Path, pattern: re.Pattern[str], cache: Path | None, elsewhere: Path | None
) -> Database | None:
    if cache is None:
        return None
    found: list[tuple[int, int, str, Path]] = []
    for directory in database_places(home, elsewhere):
        for name in file_names(directory, []):
            match = pattern.fullmatch(name)
            if match:
                path = directory / name
                touched_at = stamp(path)
                touched = max((each[0] for each in touched_at or () if each), default=0)
                found.append((int(match[1] or 0), touched, str(path), path))
    return Database(max(found)[3], cache / "databases", otherwise=_OTHERWISE) if found else None


_INDEX_BYTES = 64 << 20
_MOST_ROLLOUTS = 100_000
_THREAD_COLUMNS = (
    "id", "rollout_path", "created_at", "updated_at", "source", "cwd", "title", "archived", "memory_mode",
    "first_user_message", "name", "git_branch", "preview", "is_pinned", "project_id",
    "thread_section_id",
)  # fmt: skip
_NAME_COLUMNS = ("id", "name")
_PINNED = "Pinned"
"""The section that Codex itself makes for pinned threads; earlier versions have `is_pinned`."""
_ROOT_COLUMNS = ("project_id", "path", "position")
_MOST_PROJECTS = 10_000


class Books(Struct):
    """The rows of the agent's databases."""

    threads: Mapping[str, Row] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    projects: Mapping[str, str] = field(default_factory=dict)
    """The names that people gave to projects, by project id."""
    sections: Mapping[str, str] = field(default_factory=dict)
    """The names of the sections of the agent's list, by section id."""
    project_roots: Mapping[str, str] = field(default_factory=dict)
    """The name of the project that a directory is a root of."""


def read_books(home: Path, cache: Path | None, elsewhere: Path | None = None) -> Books:
    """Read the rows of threads, by thread id.

    `elsewhere`: see `codex.threads.database_places`.
    """
    books = Books()
    database = state_database(home, cache, elsewhere)
    if database is not None:
        try:
            rows = database.rows("threads", _THREAD_COLUMNS, limit=_MOST_ROLLOUTS)
            books.threads = {str(row["id"]).lower(): row for row in rows if isinstance(row.get("id"), str)}
            books.projects = _named(database, "projects")
            books.sections = _named(database, "thread_sections")
            roots = (
                database.rows("project_roots", _ROOT_COLUMNS, limit=_MOST_PROJECTS) if books.projects else ()
            )
            books.project_roots = {
                row["path"]: books.projects[row["project_id"]]
                for row in roots
                if isinstance(row.get("path"), str) and row.get("project_id") in books.projects
            }
        except Unavailable as error:
            books.problems.append(str(error))
    return books


def _named(database: Database, table: str) -> dict[str, str]:
    """Return the names in a table by id; empty where there is no such table."""
    return {
        row["id"]: row["name"]
        for row in database.rows(table, _NAME_COLUMNS, limit=_MOST_PROJECTS)
        if isinstance(row.get("id"), str) and isinstance(row.get("name"), str) and row["name"].strip()
    }


def threads(home: Path, books: Books) -> tuple[Thread, ...]:
    """Return every thread, the last touched first; including those of sub-agents."""
    names = _names(home)
    found: dict[str, Thread] = {}
    for path, archived, status in _rollouts(home, books.problems):
        thread_id = thread_id_of(path)
        if not thread_id:
            continue
        row = books.threads.get(thread_id, {})
        known = found.get(thread_id)
        if known is not None and known.path is not None and not _is_newer(path, known.path, row):
            continue
        found[thread_id] = _described(
            Thread(
                thread_id,
                path,
                updated_at=status.st_mtime_ns // 1_000_000,
                size=status.st_size,
                archived=archived,
            ),
            row,
            names,
            books,
        )
    for thread_id, row in books.threads.items():
        if thread_id not in found:
            found[thread_id] = _described(Thread(thread_id, None), row, names, books)
    return tuple(sorted(found.values(), key=lambda thread: (-(thread.updated_at or 0), thread.id)))


def rollout_finder(home: Path) -> Finder:
    """Return a function that finds the file of a rollout by its id.

    The home is listed again when an id is unknown or its file is missing: a thread that is archived moves.
    """
    known: dict[str, Path] = {}

    def find(rollout: str) -> Path | None:
        path = known.get(rollout)
        if path is not None and is_file(path):
            return path
        known.clear()
        for each, _archived, _status in _rollouts(home, []):
            other = known.get(rollout_id_of(each))
            # A plain rollout is preferred to the same one compressed.
            if other is None or other.suffix == ".zst":
                known[rollout_id_of(each)] = each
        return known.get(rollout) if rollout else None

    return find


def source_of(thread: Thread) -> TranscriptSource | None:
    """Return the thread as a transcript to open; None for one whose rollout is missing."""
    if thread.path is None:
        return None
    state = "sub-agent" if thread.subagent else "archived" if thread.archived else ""
    if thread.memory_mode not in ("", "enabled"):
        state = f"{state}, memory {thread.memory_mode}".removeprefix(", ")
    if thread.pinned:
        state = f"{state}, pinned".removeprefix(", ")
    if thread.section:
        state = f"{state}, in section “{thread.section}”".removeprefix(", ")
    return TranscriptSource(
        thread.id,
        "rollout",
        thread.path,
        thread.title,
        thread.cwd or None,
        thread.updated_at,
        thread.size,
        state,
        thread.archived,
        project_name=thread.project,
    )


def _is_newer(path: Path, known: Path, row: Mapping[str, Any]) -> bool:
    """Return whether the first of two files of one thread is the one to read.

    That is the one that the database calls current, or else the newest segment; a plain rollout rather than
    the same one compressed.
    """
    current = Path(as_text(row.get("rollout_path"))).name.removesuffix(".zst")

    def rank(each: Path) -> tuple[bool, str, bool]:
        segment = rollout_id_of(each)
        # Segment ids grow with time; the first file of a thread carries the id of the thread.
        later = "" if segment == thread_id_of(each) else segment
        return each.name.removesuffix(".zst") == current, later, each.suffix != ".zst"

    return rank(path) > rank(known)


def _described(thread: Thread, row: Mapping[str, Any], names: Mapping[str, str], books: Books) -> Thread:
    updated = row.get("updated_at")
    source = row.get("source")
    section = books.sections.get(as_text(row.get("thread_section_id")), "")
    return replace(
        thread,
        title=names.get(thread.id)
        or as_text(row.get("name"))
        or as_text(row.get("title"))
        or as_text(row.get("preview")),
        cwd=as_text(row.get("cwd")),
        updated_at=thread.updated_at or (updated * 1000 if isinstance(updated, int) else None),
        archived=thread.archived or bool(row.get("archived")),
        subagent=isinstance(source, str) and "subagent" in source,
        source=as_text(source),
        memory_mode=as_text(row.get("memory_mode")),
        git_branch=as_text(row.get("git_branch")),
        pinned=row.get("is_pinned") == 1 or section == _PINNED,
        section="" if section == _PINNED else section,
        project=books.projects.get(as_text(row.get("project_id")))
        or books.project_roots.get(as_text(row.get("cwd")), ""),
    )


def _names(home: Path) -> dict[str, str]:
    """Return titles by thread id: the last line of `session_index.jsonl` wins."""
    try:
        data = read_regular(home / "session_index.jsonl", _INDEX_BYTES)
    except OSError:
        return {}
    found: dict[str, str] = {}
    for line in data.splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            row = json.loads(line.decode("utf-8", "replace"))
            if isinstance(row, dict) and isinstance(row.get("id"), str):
                found[row["id"].lower()] = as_text(row.get("thread_name"))
    return found


def _rollouts(home: Path, problems: list[str]) -> Iterator[tuple[Path, bool, os.stat_result]]:
    """Yield every file that may be a rollout, whether it is archived, and its status."""
    count = 0
    for directory, archived, depth in ((home / "sessions", False, 3), (home / "archived_sessions", True, 0)):
        for entry in _files(str(directory), depth, problems):
            name = entry.name
            if not name.startswith("rollout-") or not name.endswith((".jsonl", ".jsonl.zst")):
                continue
            count += 1
            if count > _MOST_ROLLOUTS:
                problems.append(f"Only the first {_MOST_ROLLOUTS:,} rollouts are listed.")
                return
            with contextlib.suppress(OSError):
                yield Path(entry.path), archived, entry.stat(follow_symlinks=False)


def _files(directory: str, depth: int, problems: list[str]) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            listed = sorted(entries, key=lambda entry: entry.name, reverse=True)
    except FileNotFoundError:
        return
    except OSError as error:
        problems.append(f"{directory} could not be listed: {error.strerror or error}.")
        return
    for entry in listed:
        with contextlib.suppress(OSError):
            if entry.is_file(follow_symlinks=False):
                yield entry
            elif depth and entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path, depth - 1, problems)


EXTRACTION = "memory_stage1"
SCOPED_CONSOLIDATION = "memory_consolidate_scope"
"""Our own name for the consolidation of one scope; the key is `<scope kind>/<scope key>`."""
_EXTRACTION_LEASE_S, _CONSOLIDATION_LEASE_S = 3600, 600
"""How long (s) a job without a lease counts as running after its last sign of life."""
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
    """Return the jobs of older generations (section 2), as rows of the newest one.

    One row for each thread and each scope. Columns are requested by name, and none needs to exist.
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
    """Return `memory_summary_locks` as rows of the later lock table; `expires_at` limits each one."""
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
    """Return the newest row of `thread_memory` for each thread that was not invalidated, in any scope."""
    found: dict[Any, Row] = {}
    for row in rows:
        known, at = found.get(row.get("thread_id")), row.get("updated_at")
        if row.get("invalidated_at") is not None or not isinstance(at, int):
            continue
        if known is None or known["updated_at"] < at:
            found[row.get("thread_id")] = row
    return tuple(found.values())


def _by_thread(rows: Iterable[Row]) -> list[Row]:
    """Return one extraction job for each thread: a running one first, then a failed one.

    The older agent extracted a thread for each of its scopes.
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
"""The columns of a job that record how new its transcript was, the best first."""

State = Literal["waiting", "running", "done", "failed", "stale"]


class MemoryBooks(Struct):
    """Rows of the memory tables.

    `outputs`: when the transcript that a thread's memory was made from had last changed, UTC ms; `empty`: the
    same for threads in which the agent found nothing worth keeping; `locks`: rows of locked working
    directories.
    """

    jobs: tuple[Row, ...] = ()
    outputs: dict[str, int] = field(default_factory=dict)
    empty: dict[str, int] = field(default_factory=dict)
    locks: tuple[Row, ...] = ()
    there: bool = False
    problems: list[str] = field(default_factory=list)
    usage: dict[str, int] = field(default_factory=dict)
    """Number of citations of each thread's memory in answers."""


def read_memory_books(
    home: Path, cache: Path | None, elsewhere: Path | None = None, version: str = "v1"
) -> MemoryBooks:
    """Read the databases of threads and of one memory version; the latter outranks the former.

    `elsewhere`: see `codex.threads.database_places`.
    """
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
    for row in books.jobs:
        thread_id = str(row.get("job_key") or "").lower()
        at = next(filter(None, (_ms(row.get(column)) for column in _READ_AT)), None)
        done = row.get("kind") == EXTRACTION and row.get("status") == "done"
        if done and at is not None and thread_id not in books.outputs:
            books.empty[thread_id] = at
    return books


def jobs_of(books: MemoryBooks, threads: Sequence[Thread], now_ms: int) -> tuple[AgentJob, ...]:
    """Return the jobs in the tables, and the memories that are older than their threads; newest first."""
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
            "The thread went on after its memory was made."
            if made is not None
            else "The thread went on after Codex found nothing to remember in it."
        )
        about = thread.title or thread.cwd or thread.id
        found.append(AgentJob(thread.id, "extraction", about, "stale", sentence, read, source_id=thread.id))
    return tuple(sorted(found, key=lambda job: -(job.at or 0)))


def status_lines(
    books: MemoryBooks, jobs: Iterable[AgentJob], cwd: str, now_ms: int
) -> tuple[StatusLine, ...]:
    """Return the state of the memory jobs for a footer."""
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


IDLE_HOURS = 6
AGE_DAYS = 10
AT_ONCE = 2
"""Number of sessions that Codex extracts at each start."""
INTERACTIVE = frozenset({"cli", "vscode", "atlas", "chatgpt"})
_SHOWN = 3


class Due(Struct, frozen=True):
    """When Codex extracts a thread by itself.

    After `idle_ms` without a change, up to `age_ms` old, `at_once` at each start.
    """

    idle_ms: int
    age_ms: int
    at_once: int


Standing = Literal[
    "ready", "done", "off", "archived", "not led by a person", "waiting for another try", "still in use",
    "too old",
]  # fmt: skip


def due_of(settings: Mapping[str, Any]) -> Due:
    """Return when threads are due by `[memories]` of config.toml.

    Here and in the checks only observed behaviour counts (sections 4 and 10.2); a missing setting has the
    default of Codex 0.169.
    """
    return Due(
        _number(settings, "min_rollout_idle_hours", IDLE_HOURS) * HOUR_MS,
        _number(settings, "max_rollout_age_days", AGE_DAYS) * DAY_MS,
        _number(settings, "max_rollouts_per_startup", AT_ONCE),
    )


def standings(
    threads: Iterable[Thread], made: Mapping[str, int], jobs: Iterable[AgentJob], due: Due, now_ms: int
) -> dict[str, Standing]:
    """Return the state of Codex's own extraction of each thread, by thread id.

    `made`: how new (UTC ms) each thread was when Codex extracted it.
    """
    retries = {job.source_id: job.retry_at or 0 for job in jobs if job.state == "failed"}
    found: dict[str, Standing] = {}
    for thread in threads:
        changed = thread.updated_at or 0
        at = made.get(thread.id)
        if at is not None and at >= changed:
            found[thread.id] = "done"
        elif thread.subagent or (thread.source and thread.source not in INTERACTIVE):
            found[thread.id] = "not led by a person"
        elif thread.memory_mode not in ("", "enabled"):
            found[thread.id] = "off"
        elif thread.archived:
            found[thread.id] = "archived"
        elif retries.get(thread.id, 0) > now_ms:
            found[thread.id] = "waiting for another try"
        elif now_ms - changed < due.idle_ms:
            found[thread.id] = "still in use"
        else:
            found[thread.id] = "too old" if now_ms - changed > due.age_ms else "ready"
    return found


def makes_memories(home: Path) -> bool:
    """Return whether the settings let Codex extract threads by itself."""
    on = codex_store.features(home).get("memories") is True
    return on and codex_store.settings(home).get("generate_memories") is not False


class CodexFacts(Struct, frozen=True):
    """The facts that the checks judge. `made`: see `standings`."""

    home: Path
    now_ms: int
    threads: Sequence[Thread]
    made: Mapping[str, int]
    books: MemoryBooks
    jobs: Sequence[AgentJob]
    is_locked: Callable[[Path], bool]


def checks(facts: CodexFacts) -> tuple[AgentCheck, ...]:
    """Return the checks in the order of the agent's gates."""
    settings = codex_store.settings(facts.home)
    return (
        _version(facts.home, settings),
        _switch(facts.home, settings),
        _threads(facts, settings),
        _lock(facts),
        _jobs(facts),
        _usage(facts.books),
    )


def _version(home: Path, settings: Mapping[str, Any]) -> AgentCheck:
    check, uses = "codex-memories-made", phrase("Codex uses the memory that it filled")
    used = codex_store.version_in_use(home)
    one, two = (home / codex_store.DIRECTORIES[version] for version in ("v1", "v2"))
    if used.name == "v1" and "version" not in settings and os.path.lexists(one) and _filled(two):
        evidence = together(
            phrase("memories/ exists beside memories_v2/. So Codex uses version 1 and nothing of version 2."),
            ""
            if _filled(one)
            else phrase("There is no summary in memories/, so Codex loads no memory at all."),
            phrase('To use version 2, remove memories/ or set [memories] version = "v2" in config.toml.'),
        )
        title = phrase("Codex does not use the memory that it filled")
        state: Literal["warn", "fail"] = "warn" if _filled(one) else "fail"
        return AgentCheck(check, title, state, evidence, one if is_directory(one) else None)
    if not is_directory(home / codex_store.DIRECTORIES[used.name]):
        title = phrase("Codex has made no memory here yet")
        return AgentCheck(check, title, "warn", together(codex_store.NO_STORE, used.reason))
    name = codex_store.DIRECTORIES[used.name]
    return AgentCheck(check, uses, "pass", together(phrase("{name}/ is in use.", name=name), used.reason))


def _switch(home: Path, settings: Mapping[str, Any]) -> AgentCheck:
    check, off_title = "codex-switch", phrase("Codex's memory is off")
    if codex_store.features(home).get("memories") is not True:
        evidence = phrase(
            "[features] memories is not true in config.toml, so Codex makes and loads no memories."
        )
        return AgentCheck(check, off_title, "fail", evidence)
    off = [name for name in ("generate_memories", "use_memories") if settings.get(name) is False]
    if off:
        partly = phrase("Codex's memory is partly off")
        evidence = phrase("Turned off in [memories]: {names}.", names=", ".join(off))
        return AgentCheck(check, partly, "warn", evidence)
    evidence = phrase("[features] memories is true in config.toml.")
    return AgentCheck(check, phrase("Codex's memory is on"), "pass", evidence)


def _threads(facts: CodexFacts, settings: Mapping[str, Any]) -> AgentCheck:
    due = due_of(settings)
    counts = Counter(standings(facts.threads, facts.made, facts.jobs, due, facts.now_ms).values())
    parts = [
        phrase("{n} {state}.", n=counts[name], state=words)
        for name, words in _SESSIONS.items()
        if counts[name]
    ]
    rule = phrase(
        "Codex takes {n} at each start, {hours} after the last change and at most {days} old.",
        n=due.at_once,
        hours=plural("1 hour", "%n hours", due.idle_ms // HOUR_MS),
        days=plural("1 day", "%n days", due.age_ms // DAY_MS),
    )
    evidence = together(*(parts or [phrase("There are none.")]), rule)
    return AgentCheck("codex-sessions", phrase("Sessions that Codex may extract"), "pass", evidence)


_SESSIONS: Mapping[Standing, str] = {
    "ready": phrase("ready"),
    "done": phrase("done"),
    "off": phrase("off"),
    "archived": phrase("archived"),
    "not led by a person": phrase("not led by a person"),
    "waiting for another try": phrase("waiting for another try"),
    "still in use": phrase("still in use"),
    "too old": phrase("too old"),
}


def _lock(facts: CodexFacts) -> AgentCheck:
    check = "codex-lock"
    version = codex_store.version_in_use(facts.home).name
    name = codex_store.LOCKS[version]
    if facts.is_locked(facts.home / name):
        evidence = phrase("{name} is held. Until it is free, nothing else writes into its memory.", name=name)
        return AgentCheck(check, phrase("Codex is consolidating now"), "warn", evidence)
    free = phrase("{name} is free.", name=name)
    return AgentCheck(check, phrase("Codex is not consolidating now"), "pass", free)


def _jobs(facts: CodexFacts) -> AgentCheck:
    check = "codex-jobs"
    failed = [job for job in facts.jobs if job.state == "failed"]
    if not failed:
        well = plural("1 job, which did not fail.", "%n jobs, none failed.", len(facts.jobs))
        return AgentCheck(check, phrase("Codex's own jobs ended well"), "pass", well)
    said = [
        phrase("{job}: {text}{retry}", job=job.about, text=job.sentence, retry=_retry(job, facts.now_ms))
        for job in failed[:_SHOWN]
    ]
    more = phrase("And {n} more.", n=len(failed) - _SHOWN) if len(failed) > _SHOWN else ""
    title = plural("1 job of Codex failed", "%n jobs of Codex failed", len(failed))
    return AgentCheck(check, title, "warn", together(*said, more))


def _retry(job: AgentJob, now_ms: int) -> str:
    if job.retry_at is None:
        return "."
    minutes = max(0, job.retry_at - now_ms) // 60_000
    if not minutes:
        return phrase("; next try at the next start.")
    return plural("; next try in 1 minute.", "; next try in %n minutes.", minutes)


def _usage(books: MemoryBooks) -> AgentCheck:
    used = [count for count in books.usage.values() if count]
    evidence = phrase(
        "Answers cited {used} of {all} rollout summaries; citations in all: {times}. "
        "What is never cited goes after 30 days.",
        used=len(used),
        all=len(books.usage),
        times=sum(used),
    )
    return AgentCheck("codex-usage", phrase("What Codex used of its memory"), "pass", evidence)


def _filled(store: Path) -> bool:
    return is_file(store / codex_store.SUMMARY)


def _number(settings: Mapping[str, Any], name: str, default: int) -> int:
    value = settings.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default
