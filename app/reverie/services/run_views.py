"""Views of runs: the footer of a context and the rows of the list of runs.

Runs are read from sidecars and run records, never from the return value of a run.

Threading: blocks on disk; any thread but the GUI's. Failure: `UserError`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reverie.agents.scopes import Scope, ScopeContext, ScopeUnavailable
from reverie.jobs.consolidate.coverage import status_of
from reverie.jobs.consolidate.run import dream_lease_name
from reverie.runs.record import RunRecord, started_of
from reverie.services.container import HomeContainer
from reverie.services.costs import month_start, spent_by_scope
from reverie.services.views import CoverageRow, HarvestRow, StatusView

if TYPE_CHECKING:
    from reverie.jobs.consolidate.coverage import Status

RECENT_RUNS = 100


def status_view(parts: HomeContainer, context: ScopeContext, paid: dict[str, RunRecord | None]) -> StatusView:
    """Return the data of the footer of a context, read from the coverage sidecar.

    The coverage sidecar is the file that records the last consolidation of each scope. `paid` is a cache that
    the caller passes again in the next call: run id -> record (None: the run used no model), for the finished
    runs of this month. It avoids reading thousands of run records each time.
    """
    status = parts.coverage.load()
    shown = status_of(status, context, now=parts.clock())
    ids = parts.runs.ids()
    runs = parts.runs.read(ids[:RECENT_RUNS])
    undone = frozenset(run.started_at for run in runs if run.reverted)
    taken_back = {run.started_at: tuple(run.taken_back) for run in runs}
    usage_problem = parts.usage.problem()
    return StatusView(
        rows=tuple(
            _row(parts, context, scope, shown, undone, taken_back)
            for scope in (Scope.WORKSPACE, Scope.PROJECT, Scope.GLOBAL)
        ),
        harvest=_harvest_row(shown),
        running=parts.leases.holder(dream_lease_name(parts.home_id)),
        interrupted=tuple(run for run in runs if run.outcome == "interrupted" and not run.reverted),
        problems=(*shown.problems, *([usage_problem] if usage_problem else ())),
        spent=spent_by_scope(
            (*runs, *_earlier_this_month(parts, ids[RECENT_RUNS:], paid)), context, now=parts.clock()
        ),
        agent=() if parts.home.jobs is None else parts.home.jobs.agent_status(context),
    )


def _row(
    parts: HomeContainer,
    context: ScopeContext,
    scope: Scope,
    status: Status,
    undone: frozenset[int],
    taken_back: Mapping[int, tuple[str, ...]],
) -> CoverageRow:
    """Return the row of the footer for one scope.

    `status`: the last run of each scope, from the coverage sidecar. `undone`: the start times of the runs
    that were undone. `taken_back`: start time of a partly undone run -> the paths that were undone. Runs are
    given by start time because a coverage record has no other id of its run.
    """
    try:
        parts.home.scope_root(context, scope)
    except ScopeUnavailable as gap:
        reason = gap.cause or gap.title
        return CoverageRow(scope, None, "", 0, "", available=False, reason=reason, permanent=gap.permanent)
    record = {
        Scope.WORKSPACE: status.workspace_record,
        Scope.PROJECT: status.project_record,
        Scope.GLOBAL: status.global_record,
    }[scope]
    if record is None:
        return CoverageRow(scope, None, "", 0, "", available=True)
    ops = tuple(record["ops"])
    changes = sum(bool(op["applied"]) and _is_of(op, scope) for op in ops)
    return CoverageRow(
        scope,
        int(record["lastRunAt"]),
        record["trigger"],
        changes,
        record["summary"],
        available=True,
        ops=ops,
        undone=int(record["lastRunAt"]) in undone,
        partly_undone=any(
            _is_of({"path": path}, scope) for path in taken_back.get(int(record["lastRunAt"]), ())
        ),
    )


def _is_of(op: Mapping[str, Any], scope: Scope) -> bool:
    """Return True if an operation changed a memory of this scope; a move between scopes counts for both."""
    prefix = f"/memories/{scope.value}/"
    return any(str(op.get(name, "")).startswith(prefix) for name in ("path", "newPath"))


def _earlier_this_month(
    parts: HomeContainer, ids: Sequence[str], paid: dict[str, RunRecord | None]
) -> list[RunRecord | None]:
    """Return the records of this month's runs among `ids`, newest first; None for a run without a model.

    `paid` caches the records of finished runs by id; entries of other months are removed from it.
    """
    since = month_start(parts.clock())
    this_month = [run_id for run_id in ids if started_of(run_id) >= since]
    known, found = paid.copy(), []
    for run_id in this_month:
        if run_id in known:
            found.append(known[run_id])
            continue
        for record in parts.runs.read([run_id]):
            found.append(record if record.usage else None)
            # The usage of a recovered run may be recorded later, by a process that was suspended in it.
            if record.settled and (record.usage or not record.details.get("recovered")):
                paid[run_id] = found[-1]
    for run_id in known.keys() - set(this_month):
        paid.pop(run_id, None)
    return found


def _harvest_row(status: Status) -> HarvestRow | None:
    harvest = status.latest_harvest
    if harvest is None:
        return None
    return HarvestRow(
        status=harvest["status"],
        at=int(harvest.get("completedAt") or harvest["startedAt"]),
        accepted=int(harvest["acceptedCandidates"]),
        skipped=int(harvest["skippedCandidates"]),
        error=str(harvest.get("error", "")),
    )
