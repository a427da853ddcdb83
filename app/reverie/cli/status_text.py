"""`reverie status` for people. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from reverie.cli.answers import printable
from reverie.clock import DAY_MS, HOUR_MS
from reverie.dream.coverage import Status
from reverie.homes.agents import StatusLine
from reverie.homes.scopes import Scope
from reverie.text.counts import some

_MINUTE_MS = 60_000


def status_lines(
    status: Status, agent: Iterable[StatusLine] = (), without: Collection[Scope] = (), *, now: int
) -> Iterator[str]:
    """One line a scope, then the harvest, then what the agent says of its own jobs; "never" only where there
    could have been a run. `without`: scopes that this agent does not have."""
    agent = tuple(agent)
    never = "never by Reverie" if agent else "never"
    if Scope.WORKSPACE not in without:
        yield _line("Workspace", status.workspace_record, now, never)
    if Scope.PROJECT not in without:
        if status.project_available:
            yield _line("Project", status.project_record, now, never)
        else:
            yield "Project: unavailable in this context"
    yield _line("Global", status.global_record, now, never)
    harvest = status.latest_harvest
    if harvest is not None:
        at = harvest.get("completedAt") or harvest["startedAt"]
        error = f" ({printable(str(harvest['error']))})" if harvest.get("error") else ""
        yield f"Harvest: {ago(now - at)}, {harvest['status']}, {harvest['acceptedCandidates']} kept{error}"
    for line in agent:
        age = "" if line.at is None or line.at > now else f" ({ago(now - line.at)})"
        yield f"{line.label}: {printable(line.text)}{age}"


def ago(age_ms: float) -> str:
    """An age in the largest unit that fits, never negative."""
    if age_ms < _MINUTE_MS:
        return "just now"
    for unit, length in (("d", DAY_MS), ("h", HOUR_MS), ("min", _MINUTE_MS)):
        if age_ms >= length:
            return f"{int(age_ms // length)} {unit} ago"
    return "just now"


def _line(name: str, record: Mapping[str, Any] | None, now: int, never: str) -> str:
    if record is None:
        return f"{name}: {never}"
    changes = some(sum(bool(op["applied"]) for op in record["ops"]), "change")
    summary = printable(record["summary"])
    return f"{name}: {ago(now - record['lastRunAt'])}, {record['trigger']}, {changes} - {summary}"
