"""What models cost, per scope: of the last run that asked one, and of this calendar month (UTC).

A run counts for its workspace, for its project (shared by the project's workspaces) and for global memory
(shared by all). Pure; records in, sums out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

from reverie.homes.scopes import Scope, ScopeContext
from reverie.runs.record import RunRecord
from reverie.services.views import Spent


def month_start(now: int) -> int:
    """UTC ms at the beginning of the month of `now`."""
    moment = datetime.fromtimestamp(now / 1000, UTC)
    return int(datetime(moment.year, moment.month, 1, tzinfo=UTC).timestamp() * 1000)


def spent_by_scope(records: Iterable[RunRecord], context: ScopeContext, *, now: int) -> Mapping[Scope, Spent]:
    """`records` newest first, all of this month and as many older ones as the last run is looked for in."""
    paid = [record for record in records if record.usage]
    belongs: dict[Scope, Callable[[RunRecord], bool]] = {
        Scope.WORKSPACE: lambda record: (
            context.workspace_id is not None and record.workspace_id == context.workspace_id
        ),
        Scope.PROJECT: lambda record: (
            context.project_path is not None and record.project_path == context.project_path
        ),
        Scope.GLOBAL: lambda _record: True,
    }
    since = month_start(now)
    return {scope: _spent([record for record in paid if belongs[scope](record)], since) for scope in Scope}


def cost_of(record: RunRecord) -> float | None:
    """What a run cost in US dollars; None: nothing was asked, or the price is not known."""
    cost = record.details.get("costUsd")
    return float(cost) if isinstance(cost, int | float) else None


def _tokens(record: RunRecord) -> int:
    usage = record.usage or {}
    return usage.get("inputTokens", 0) + usage.get("outputTokens", 0)


def _spent(paid: list[RunRecord], since: int) -> Spent:
    if not paid:
        return Spent()
    month = [record for record in paid if record.started_at >= since]
    costs = [cost_of(record) for record in month]
    known = [cost for cost in costs if cost is not None]
    return Spent(
        last_tokens=_tokens(paid[0]),
        last_cost=cost_of(paid[0]),
        month_tokens=sum(map(_tokens, month)),
        month_cost=sum(known) if known else None,
        month_unknown=len(known) < len(costs),
    )
