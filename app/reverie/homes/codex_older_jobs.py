"""The books of the generations between the first and the one with a single table of jobs (formats/codex.md
section 2): a job per thread and scope, a job per scope, scopes with new traces, locks with an end.

All become rows as the newest generation would have them, so that `codex_jobs` tells one story. Columns are
asked for by name, and none needs to be there. Pure, but for asking the database. Threading, failure: as
`codex_database` says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reverie.homes.database_copy import Database, Row

EXTRACTION = "memory_stage1"
SCOPED_CONSOLIDATION = "memory_consolidate_scope"
"""Our own name for the consolidation of one scope; the key is `<scope kind>/<scope key>`."""
_EXTRACTION_LEASE_S, _CONSOLIDATION_LEASE_S = 3600, 600
"""How long a job that does not say it counts as running after its last sign of life."""
_FIRST_COLUMNS = (
    "thread_id", "status", "owner_session_id", "started_at", "finished_at", "failure_reason", "lease_until",
)  # fmt: skip
_SECOND_COLUMNS = (
    "scope_kind", "scope_key", "status", "owner_session_id", "started_at", "last_heartbeat_at", "finished_at",
    "failure_reason", "lease_until",
)  # fmt: skip
_DIRTY_COLUMNS = ("scope_kind", "scope_key", "dirty", "updated_at")
_LOCK_COLUMNS = ("cwd", "owner_id", "acquired_at", "expires_at")
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
    """The jobs of these generations, as rows of the newest; one for each thread and each scope."""
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
            # What runs, or failed, says more than that something waits.
            if row.get("dirty") and (known is None or known["status"] in ("done", "pending")):
                scopes[_scope_of(row)] = {
                    "kind": SCOPED_CONSOLIDATION,
                    "job_key": _scope_of(row),
                    "status": "pending",
                    "started_at": row.get("updated_at"),
                }
    return tuple(row for row in (*found, *scopes.values()) if row["job_key"])


def older_locks(database: Database) -> tuple[Row, ...]:
    """`memory_summary_locks` as rows of the locks that came after; `expires_at` says how long each counts."""
    return tuple(
        {
            "cwd": row.get("cwd"),
            "working_thread_id": row.get("owner_id"),
            "updated_at": row.get("acquired_at"),
            "expires_at": row.get("expires_at"),
        }
        for row in database.rows("memory_summary_locks", _LOCK_COLUMNS)
    )


def valid_memories(rows: Iterable[Row]) -> tuple[Row, ...]:
    """One row of `thread_memory` for each thread, whatever its scopes: the newest that was not taken back."""
    found: dict[Any, Row] = {}
    for row in rows:
        known, at = found.get(row.get("thread_id")), row.get("updated_at")
        if row.get("invalidated_at") is not None or not isinstance(at, int):
            continue
        if known is None or known["updated_at"] < at:
            found[row.get("thread_id")] = row
    return tuple(found.values())


def _by_thread(rows: Iterable[Row]) -> list[Row]:
    """A thread is extracted for each of its scopes: what is running counts, then what failed."""
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
