"""The footer of a context, and runs as lists show them, read from sidecars and records.

Threading: blocks on disk; any thread but the GUI's. Failure: `MendableError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reverie.dream.coverage import status_of
from reverie.dream.service import dream_lease_name
from reverie.homes.scopes import Scope, ScopeContext, ScopeUnavailable
from reverie.services.parts import HomeParts
from reverie.services.spending import cost_of, month_start, spent_by_scope
from reverie.services.views import CoverageRow, HarvestRow, RunSummary, RunView, Spent, StatusView

if TYPE_CHECKING:
    from reverie.dream.coverage import Status
    from reverie.dream.run import RunResult
    from reverie.runs.record import RunRecord

RECENT_RUNS = 100


def status_view(parts: HomeParts, context: ScopeContext) -> StatusView:
    """The footer: what the sidecar says, never what a run returned."""
    status = parts.coverage.load()
    shown = status_of(status, context, now=parts.clock())
    records = parts.runs.all(limit=RECENT_RUNS)
    runs = [run_summary(record) for record in records]
    undone = frozenset(run.started_at for run in runs if run.reverted)
    taken_back = {record.started_at: tuple(record.taken_back) for record in records}
    return StatusView(
        rows=tuple(
            _row(parts, context, scope, shown, undone, taken_back)
            for scope in (Scope.WORKSPACE, Scope.PROJECT, Scope.GLOBAL)
        ),
        harvest=_harvest_row(shown),
        running=parts.leases.holder(dream_lease_name(parts.home_id)),
        interrupted=tuple(run for run in runs if run.outcome == "interrupted" and not run.reverted),
        problems=(*shown.problems, *_usage_problem(parts)),
        spent=_spent(parts, context),
        agent=parts.home.agent_status(context),
    )


def _usage_problem(parts: HomeParts) -> tuple[str, ...]:
    problem = parts.usage.problem()
    return (problem,) if problem else ()


def run_view(result: RunResult) -> RunView:
    """What a person is told of a run that ended."""
    return RunView(
        result.run_id,
        result.outcome,
        result.summary,
        result.reason,
        result.next_step,
        result.ops,
        result.record,
        result.usage,
        result.cost_usd,
    )


def run_summary(record: RunRecord) -> RunSummary:
    """A record as the lists of runs show it."""
    return RunSummary(
        id=record.id,
        kind=record.kind,
        workspace_id=record.workspace_id,
        started_at=record.started_at,
        ended_at=record.ended_at,
        outcome=record.outcome,
        engine=record.engine,
        trigger=record.trigger,
        summary=record.summary,
        reason=record.reason,
        ops=record.ops,
        dry_run=record.dry_run,
        reverted=record.reverted,
        conflicts=record.conflicts,
        usage=record.usage,
        cost_usd=cost_of(record),
        partly_undone=bool(record.taken_back) and not record.reverted,
        project_path=record.project_path,
    )


def _row(
    parts: HomeParts,
    context: ScopeContext,
    scope: Scope,
    status: Status,
    undone: frozenset[int],
    taken_back: Mapping[int, tuple[str, ...]],
) -> CoverageRow:
    """`undone`: when the runs started that were taken back; `taken_back`: by the same, the paths of which a
    part was. A coverage record has the start of its run."""
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
    """Whether an operation changed a memory of this scope; a move between scopes is one of both."""
    prefix = f"/memories/{scope.value}/"
    return any(str(op.get(name, "")).startswith(prefix) for name in ("path", "newPath"))


def _spent(parts: HomeParts, context: ScopeContext) -> Mapping[Scope, Spent]:
    """Every run of this month, and of the older ones as many as the last run is looked for in."""
    now, store = parts.clock(), parts.runs
    since = month_start(now)
    this_month = sum(int(run_id.partition("-")[0]) >= since for run_id in store.ids())
    records = store.all(limit=max(this_month, RECENT_RUNS))
    return spent_by_scope(records, context, now=now)


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
