"""Costs of models per scope: of the last run that used a model, and of this calendar month (UTC).

A run counts for its workspace, for its project and for global memory. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

from reverie.agents.scopes import Scope, ScopeContext
from reverie.runs.record import RunRecord
from reverie.services.views import Spent


def month_start(now: int) -> int:
    """Return the beginning of the month of `now`, both in UTC ms."""
    moment = datetime.fromtimestamp(now / 1000, UTC)
    return int(datetime(moment.year, moment.month, 1, tzinfo=UTC).timestamp() * 1000)


def spent_by_scope(
    runs: Iterable[RunRecord | None], context: ScopeContext, *, now: int
) -> Mapping[Scope, Spent]:
    """Return the costs of this month and of the last run for each scope of a context.

    `runs`: records of runs, newest first; a run without a model and None are ignored. They must include every
    run of this month; older ones are only used to find the last run of a scope. `now`: UTC ms.
    """
    paid = [run for run in runs if run is not None and run.usage]
    belongs: dict[Scope, Callable[[RunRecord], bool]] = {
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


def _tokens(run: RunRecord) -> int:
    usage = run.usage or {}
    return int(usage.get("inputTokens", 0) + usage.get("outputTokens", 0))


def _spent(paid: list[RunRecord], since: int) -> Spent:
    if not paid:
        return Spent()
    month = [run for run in paid if run.started_at >= since]
    known = [run.cost_usd for run in month if run.cost_usd is not None]
    return Spent(
        last_tokens=_tokens(paid[0]),
        last_cost=paid[0].cost_usd,
        month_tokens=sum(map(_tokens, month)),
        month_cost=sum(known) if known else None,
        month_unknown=len(known) < len(month),
    )
