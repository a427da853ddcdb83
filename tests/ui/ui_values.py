"""Values that views show, made without a disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reverie.agents.base import Companion
from reverie.agents.scopes import Scope, ScopeContext, ScopeRoot
from reverie.memory.listing import MemoryFile, ScopeListing
from reverie.memory.paths import utf16_key
from reverie.memory.usage_rules import MemoryUsage
from reverie.services.views import CoverageRow, HarvestRow, MemoryView, StatusView

NOW = 1_787_200_000_000
HOUR = 3_600_000
CONTEXT = ScopeContext("a1f3c9e2b7", "/home/dev/projects/acme-api")


def file(rel: str, description: str = "", **other: Any) -> MemoryFile:
    values: dict[str, Any] = {"usage": MemoryUsage(), "seen_by_agent": True, "unseen_reason": ""} | other
    return MemoryFile(rel, 10, 1, 1, description, "ok", **values)


def listing(scope: Scope, files: Iterable[str | MemoryFile], directories: Sequence[str] = ()) -> ScopeListing:
    found = [file(one) if isinstance(one, str) else one for one in files]
    found.sort(key=lambda one: utf16_key(one.rel))
    root = ScopeRoot(scope, scope.value, Path("/home") / scope.value, f"{scope.value}:")
    return ScopeListing(root, "", None, tuple(found), tuple(directories), ())


def unavailable(reason: str) -> ScopeListing:
    return ScopeListing(None, reason, None, (), (), ())


def view(
    scopes: Mapping[Scope, Iterable[str | MemoryFile] | ScopeListing], companions: Sequence[Companion] = ()
) -> MemoryView:
    listings = {
        scope: found if isinstance(found, ScopeListing) else listing(scope, found)
        for scope, found in scopes.items()
    }
    return MemoryView(CONTEXT, listings, tuple(companions))


def project_view(files: Iterable[str | MemoryFile]) -> MemoryView:
    return view({Scope.WORKSPACE: [], Scope.PROJECT: files, Scope.GLOBAL: []})


def row(scope: Scope, **other: Any) -> CoverageRow:
    values: dict[str, Any] = {
        "last_run_at": NOW - 3 * HOUR,
        "trigger": "manual",
        "changes": 4,
        "summary": "Merged two notes.",
        "available": True,
    }
    return CoverageRow(scope, **(values | other))


def never(scope: Scope) -> CoverageRow:
    return row(scope, last_run_at=None, trigger="", changes=0, summary="")


def missing(scope: Scope, reason: str) -> CoverageRow:
    return row(scope, last_run_at=None, trigger="", changes=0, summary="", available=False, reason=reason)


def status(*rows: CoverageRow, harvest: HarvestRow | None = None, **other: Any) -> StatusView:
    values: dict[str, Any] = {"running": None, "interrupted": (), "problems": ()} | other
    return StatusView(rows, harvest, **values)
