"""The launch sweep: which idle workspaces are dreamed about when the agent or Reverie starts, and in what
order (formats/mux.md section 10).

A workspace qualifies by writes newer than what covers them: its own by its record, those of its project by
the project's, global ones by the newest record anywhere. After each success the anchors advance, so that a
sibling is not run for the same project writes and only one workspace for the same global ones. What a dream
wrote itself carries the time of its own record, and a revert puts times back, so neither ever qualifies.

The selection is pure: `plan_sweep` shows the whole order as if each run succeeded; `SweepService` asks the
same `judge` again before each run, on what the sidecars say then.
Threading: blocking; any thread but the GUI's. Failure: `Unavailable` for what cannot be read; a run that
fails is in its result, and the sweep goes on.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from reverie.clock import DAY_MS, HOUR_MS, Clock
from reverie.dream.coverage import Coverage, CoverageLog
from reverie.dream.engine import Engine
from reverie.dream.progress import DreamProgress
from reverie.dream.run import DreamRequest, RunResult
from reverie.dream.service import DEBOUNCE_MS, DreamService
from reverie.homes.base import Home
from reverie.homes.listing import Workspace
from reverie.homes.scopes import Scope, ScopeContext, ScopeUnavailable
from reverie.memory.usage import UsageLog

IDLE_MS = DAY_MS
SWEEP_CAP = 3

SkipReason = Literal[
    "active", "archived", "unlisted", "cap", "nothing-new", "project-debounced", "debounced", "stopped"
]

SKIP_WORDS: Mapping[str, str] = {
    "active": "used within the last 24 hours",
    "archived": "archived",
    "unlisted": "not listed in the home",
    "cap": f"already {SWEEP_CAP} workspaces in this sweep",
    "nothing-new": "nothing written since it was last consolidated",
    "project-debounced": f"project memory was consolidated less than {DEBOUNCE_MS // HOUR_MS} hours ago",
    "debounced": f"consolidated less than {DEBOUNCE_MS // HOUR_MS} hours ago",
    "stopped": "the sweep was stopped before it",
}


@dataclass(frozen=True, slots=True)
class SweepWorkspace:
    """One workspace as the sweep sees it: last use (UTC ms), and which usage keys are its own and its
    project's."""

    id: str
    recency: int
    archived: bool = False
    listed: bool = True
    project_path: str | None = None
    own_keys: str | None = None
    project_keys: str | None = None


class WriteTimes:
    """When anything was last written, by the beginning of its usage key."""

    def __init__(self, last_writes: Mapping[str, int | None]) -> None:
        self._keys = sorted(last_writes)
        self._times = [last_writes[key] or 0 for key in self._keys]

    def newest(self, prefix: str | None) -> int:
        """UTC ms; 0 for never, and for no prefix."""
        if prefix is None:
            return 0
        newest, at = 0, bisect_left(self._keys, prefix)
        while at < len(self._keys) and self._keys[at].startswith(prefix):
            newest = max(newest, self._times[at])
            at += 1
        return newest


@dataclass(frozen=True, slots=True)
class Anchors:
    """Up to when each workspace, each project and global memory are covered (UTC ms; absent: never)."""

    workspaces: Mapping[str, float] = field(default_factory=dict)
    projects: Mapping[str, float] = field(default_factory=dict)
    newest: float = 0

    @classmethod
    def of(cls, coverage: Coverage) -> Anchors:
        """Nothing is inferred: an old sidecar without project records covers no project."""
        workspaces = {key: record["lastRunAt"] for key, record in coverage.workspaces.items()}
        projects = {key: record["lastRunAt"] for key, record in coverage.projects.items()}
        return cls(workspaces, projects, max(workspaces.values(), default=0))

    def after_run(self, workspace: SweepWorkspace, at: int) -> Anchors:
        """The anchors once a run on `workspace` has succeeded."""
        projects = dict(self.projects)
        if workspace.project_path is not None:
            projects[workspace.project_path] = at
        return Anchors({**self.workspaces, workspace.id: at}, projects, max(self.newest, at))


@dataclass(frozen=True, slots=True)
class Skipped:
    """A workspace that the sweep leaves out, and why."""

    workspace_id: str
    reason: SkipReason


@dataclass(frozen=True, slots=True)
class Sweep:
    """Which workspaces in which order, and why not the others."""

    order: tuple[str, ...]
    skipped: tuple[Skipped, ...]

    def as_json(self) -> dict[str, Any]:
        """The stable shape of `reverie sweep` (design.md section 5)."""
        return {
            "order": list(self.order),
            "skipped": [{"workspaceId": item.workspace_id, "reason": item.reason} for item in self.skipped],
        }


def judge(
    workspace: SweepWorkspace,
    anchors: Anchors,
    writes: WriteTimes,
    *,
    global_keys: str | None,
    now: int,
    room: bool = True,
) -> SkipReason | None:
    """Why this workspace is not run, or None: it is. `room`: the cap is not reached yet."""
    if not workspace.listed:
        return "unlisted"
    if now - workspace.recency < IDLE_MS:
        return "active"
    if workspace.archived:
        return "archived"
    if not room:
        return "cap"
    covered = anchors.workspaces.get(workspace.id, 0)
    project = anchors.projects.get(workspace.project_path or "", 0)
    own = writes.newest(workspace.own_keys) > covered
    shared = workspace.project_path is not None and writes.newest(workspace.project_keys) > project
    everywhere = writes.newest(global_keys) > anchors.newest
    project_due = now - project >= DEBOUNCE_MS
    if not (own or shared or everywhere):
        return "nothing-new"
    if shared and not own and not everywhere and not project_due:
        return "project-debounced"
    if now - covered < DEBOUNCE_MS and not (shared and project_due):
        return "debounced"
    return None


def plan_sweep(
    workspaces: tuple[SweepWorkspace, ...],
    anchors: Anchors,
    writes: WriteTimes,
    *,
    global_keys: str | None,
    now: int,
    cap: int = SWEEP_CAP,
) -> Sweep:
    """The sweep as it goes if each of its runs succeeds, `workspaces` in the agent's own order."""
    order: list[str] = []
    skipped: list[Skipped] = []
    for workspace in workspaces:
        reason = judge(workspace, anchors, writes, global_keys=global_keys, now=now, room=len(order) < cap)
        if reason is not None:
            skipped.append(Skipped(workspace.id, reason))
            continue
        order.append(workspace.id)
        anchors = anchors.after_run(workspace, now)
    return Sweep(tuple(order), tuple(skipped))


@dataclass(frozen=True, slots=True)
class SweptRun:
    """One run of a sweep and how it ended."""

    workspace_id: str
    result: RunResult


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What a sweep did. `sweep.order` holds every workspace that was tried; `runs` what came of each."""

    sweep: Sweep
    runs: tuple[SweptRun, ...] = ()

    @property
    def succeeded(self) -> bool:
        return all(run.result.succeeded for run in self.runs)

    def as_json(self) -> dict[str, Any]:
        """The stable shape of `reverie sweep` (design.md section 5)."""
        runs = [
            {
                "workspaceId": run.workspace_id,
                "runId": run.result.run_id,
                "outcome": run.result.outcome,
                "reason": run.result.reason,
                "summary": run.result.summary,
            }
            for run in self.runs
        ]
        return {**self.sweep.as_json(), "runs": runs}


class SweepService:
    """The launch sweep of one home."""

    def __init__(
        self, home: Home, coverage: CoverageLog, usage: UsageLog, dreams: DreamService, clock: Clock
    ) -> None:
        self._home = home
        self._coverage = coverage
        self._usage = usage
        self._dreams = dreams
        self._clock = clock

    def plan(self) -> Sweep:
        """What `run` would do now; changes nothing."""
        return plan_sweep(
            self._workspaces(),
            Anchors.of(self._coverage.load()),
            self._writes(),
            global_keys=self._keys(self._home.context(), Scope.GLOBAL),
            now=self._clock(),
        )

    def run(
        self,
        engine_for: Callable[[ScopeContext], Engine],
        *,
        cancel: threading.Event | None = None,
        progress: Callable[[DreamProgress], None] = lambda _progress: None,
        may_run: Callable[[str], bool] = lambda _workspace_id: True,
    ) -> SweepResult:
        """One workspace after another. A run that is refused (another dream is at work) uses up no place of
        the cap, one that fails does; `may_run` (a budget) is asked before each, and may end the sweep."""
        cancel = cancel or threading.Event()
        self._dreams.require_writable("launch")
        # A write time that the agent overwrote would make a workspace look untouched.
        self._usage.reapply_lost()
        global_keys = self._keys(self._home.context(), Scope.GLOBAL)
        anchors, writes = Anchors.of(self._coverage.load()), self._writes()
        skipped: list[Skipped] = []
        runs: list[SweptRun] = []
        stopped = False
        for workspace in self._workspaces():
            room = sum(run.result.outcome != "skipped" for run in runs) < SWEEP_CAP
            reason = judge(workspace, anchors, writes, global_keys=global_keys, now=self._clock(), room=room)
            if reason is None and not stopped:
                stopped = cancel.is_set() or not may_run(workspace.id)
            if reason is not None or stopped:
                skipped.append(Skipped(workspace.id, reason or "stopped"))
                continue
            runs.append(SweptRun(workspace.id, self._one(workspace.id, engine_for, cancel, progress)))
            # What the run covered, and what others did meanwhile.
            anchors, writes = Anchors.of(self._coverage.load()), self._writes()
        return SweepResult(Sweep(tuple(run.workspace_id for run in runs), tuple(skipped)), tuple(runs))

    def _one(
        self,
        workspace_id: str,
        engine_for: Callable[[ScopeContext], Engine],
        cancel: threading.Event,
        progress: Callable[[DreamProgress], None],
    ) -> RunResult:
        context = self._home.context(workspace_id=workspace_id)
        engine = engine_for(context)
        request = DreamRequest(context, "launch", engine.name, debounce=False)
        return self._dreams.run(request, engine, cancel=cancel, progress=progress)

    def _workspaces(self) -> tuple[SweepWorkspace, ...]:
        recencies = self._home.recencies()
        listed = {workspace.id: workspace for workspace in self._home.contents().workspaces()}
        found = []
        for workspace_id, recency in recencies:
            workspace = SweepWorkspace(workspace_id, recency, listed=workspace_id in listed)
            if workspace.listed:
                context = self._context(listed[workspace_id])
                workspace = replace(
                    workspace,
                    archived=listed[workspace_id].archived,
                    project_path=context.covered_project,
                    own_keys=self._keys(context, Scope.WORKSPACE),
                    project_keys=self._keys(context, Scope.PROJECT),
                )
            found.append(workspace)
        return tuple(found)

    def _context(self, workspace: Workspace) -> ScopeContext:
        """The context of a listed workspace, without reading the list again for each of thousands."""
        project = workspace.memory_project
        context = self._home.context(workspace_id=workspace.id, project_path=project, project_given=True)
        return replace(context, dreams_as=workspace.dreams_as)

    def _keys(self, context: ScopeContext, scope: Scope) -> str | None:
        try:
            return self._home.scope_root(context, scope).usage_prefix
        except ScopeUnavailable:
            return None

    def _writes(self) -> WriteTimes:
        return WriteTimes({key: usage.last_write_at for key, usage in self._usage.load().items()})
