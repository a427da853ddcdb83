"""Costs of models per scope: of the last run that used a model, and of this calendar month (UTC).

A run counts for its workspace, for its project and for global memory. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

from reverie.agents.scopes import Scope, ScopeContext
from reverie.runs.record import RunRecord
from reverie.services.views import Spent
from reverie.values import Struct


def month_start(now: int) -> int:
    """Return the beginning of the month of `now`, both in UTC ms."""
    moment = datetime.fromtimestamp(now / 1000, UTC)
    return int(datetime(moment.year, moment.month, 1, tzinfo=UTC).timestamp() * 1000)


class PaidRun(Struct, frozen=True):
    """The cost of a run that used a model, and the context of that run."""

    started_at: int
    """The start of the run (UTC ms)."""
    workspace_id: str | None
    """The workspace of the run; None if the run was not about one."""
    project_path: str | None
    """The project of the run; None if the run was not about one."""
    tokens: int
    """The number of input and output tokens."""
    cost_usd: float | None
    """The cost in US dollars; None if the price is not known."""


def paid_run(record: RunRecord) -> PaidRun | None:
    """Return the cost of the run with this record; None if the run used no model."""
    if not record.usage:
        return None
    tokens = record.usage.get("inputTokens", 0) + record.usage.get("outputTokens", 0)
    return PaidRun(record.started_at, record.workspace_id, record.project_path, tokens, cost_of(record))


def spent_by_scope(
    runs: Iterable[PaidRun | None], context: ScopeContext, *, now: int
) -> Mapping[Scope, Spent]:
    """Return the costs of this month and of the last run for each scope of a context.

    `runs`: the costs of runs, newest first; None for a run without a model, which is ignored. They must
    include every run of this month; older ones are only used to find the last run of a scope. `now`: UTC ms.
    """
    paid = [run for run in runs if run is not None]
    belongs: dict[Scope, Callable[[PaidRun], bool]] = {
        Scope.WORKSPACE: lambda run: (
            context.workspace_id is not None and run.workspace_id == context.workspace_id
        ),
        Scope.PROJECT: lambda run: (
            context.project_path is not None and run.project_path == context.project_path
        ),
        Scope.GLOBAL: lambda _run: True,
    }
    since = month_start(now)
    return {scope: _spent([run for run in paid if belongs[scope](run)], since) for scope in Scope}


def cost_of(record: RunRecord) -> float | None:
    """Return the cost of a run in US dollars; None if it used no model, or the price is not known."""
    cost = record.details.get("costUsd")
    return float(cost) if isinstance(cost, int | float) else None


def _spent(paid: list[PaidRun], since: int) -> Spent:
    if not paid:
        return Spent()
    month = [run for run in paid if run.started_at >= since]
    known = [run.cost_usd for run in month if run.cost_usd is not None]
    return Spent(
        last_tokens=paid[0].tokens,
        last_cost=paid[0].cost_usd,
        month_tokens=sum(run.tokens for run in month),
        month_cost=sum(known) if known else None,
        month_unknown=len(known) < len(month),
    )
