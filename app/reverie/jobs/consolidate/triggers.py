"""Background triggers of consolidations: the launch sweep, a compaction, an archived workspace.

Rules: formats/mux.md sections 10 and 11. Nothing runs unless a person has turned background runs on for this
home, nor beyond the daily budget of runs and tokens, nor if another program (the agent itself) has covered
the same memories since Reverie last checked. A check that stops a trigger is called a gate. It is reported in
Activity; if the last entry is equal, only the counter of that entry is raised.

- launch: harvests that failed or were abandoned are attempted again, then the sweep runs.
- compaction: a harvest, then a consolidation without debounce; the final pass if the workspace was archived
  meanwhile.
- archive: the final pass, at most once.

Compaction and archive wait for a run in progress on the home, because they are not triggered a second time. A
trigger for something that is already in progress does nothing (`coalesced`).

Threading: every function blocks until its runs are done, so never on the GUI thread. Failure: a problem that
a person can fix is in the result and in Activity; a bug is raised.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from reverie.agents.reading import as_object
from reverie.agents.scopes import Scope, ScopeContext, ScopeUnavailable
from reverie.clock import DAY_MS, HOUR_MS
from reverie.errors import UserError
from reverie.files.sidecar import Sidecar
from reverie.jobs.consolidate.coverage import Coverage, Trigger
from reverie.jobs.consolidate.engine import Engine
from reverie.jobs.consolidate.harvest import (
    Extractor,
    HarvestRequest,
    HarvestService,
    dream_follows,
    follow_up,
)
from reverie.jobs.consolidate.run import DEBOUNCE_MS, DreamDependencies, DreamRequest, DreamService
from reverie.runs.record import Progress, RunRecord, RunResult, started_of
from reverie.settings import BackgroundSettings
from reverie.values import Struct, columns, field, replace

IDLE_MS = DAY_MS
"""A workspace used more recently than this is left out."""
SWEEP_CAP = 3
"""The largest number of workspaces that one sweep consolidates."""

SkipReason = Literal[
    "active", "archived", "unlisted", "cap", "nothing-new", "project-debounced", "debounced", "stopped"
]
"""The reason why a sweep leaves out a workspace."""

SKIP_WORDS: Mapping[str, str] = {
    "active": "used within the last 24 hours",
    "archived": "archived",
    "unlisted": "not listed in the home",
    "cap": f"the limit of {SWEEP_CAP} workspaces in one sweep is reached",
    "nothing-new": "nothing was written since the last consolidation",
    "project-debounced": f"project memory was consolidated less than {DEBOUNCE_MS // HOUR_MS} hours ago",
    "debounced": f"consolidated less than {DEBOUNCE_MS // HOUR_MS} hours ago",
    "stopped": "the sweep was stopped before this workspace",
}
"""The text for people for each reason to leave out a workspace."""


class SweepWorkspace(Struct, frozen=True):
    """The facts about a workspace by which a sweep decides whether to consolidate it.

    A sweep consolidates idle workspaces, at the launch of the background services.
    """

    id: str
    recency: int
    """The last use (UTC ms)."""
    archived: bool = False
    listed: bool = True
    """False if the home no longer lists the workspace."""
    project_path: str | None = None
    own_keys: str | None = None
    """The prefix of the usage keys of the workspace's memories; None without such memories."""
    project_keys: str | None = None
    """The prefix of the usage keys of its project's memories; None without such memories."""


class WriteTimes:
    """The times of the last write of each memory, searchable by a prefix of the usage key."""

    def __init__(self, last_writes: Mapping[str, int | None]) -> None:
        self._keys = sorted(last_writes)
        self._times = [last_writes[key] or 0 for key in self._keys]

    def newest(self, prefix: str | None) -> int:
        """Return the time of the newest write to a memory whose usage key begins with `prefix`, in UTC ms.

        0 if there was none, or if `prefix` is None.
        """
        if prefix is None:
            return 0
        newest, at = 0, bisect_left(self._keys, prefix)
        while at < len(self._keys) and self._keys[at].startswith(prefix):
            newest = max(newest, self._times[at])
            at += 1
        return newest


class Anchors(Struct, frozen=True):
    """The times of the last consolidation of each workspace, each project and of global memory.

    UTC ms; a workspace or project that was never consolidated is missing. `newest`: the time for global
    memory.
    """

    workspaces: Mapping[str, float] = field(default_factory=dict)
    projects: Mapping[str, float] = field(default_factory=dict)
    newest: float = 0
    """The time for global memory: that of the newest workspace record."""

    @classmethod
    def of(cls, coverage: Coverage) -> Anchors:
        """Return the times of the last consolidations that the records `coverage` contain.

        Nothing is inferred: an old file without project records covers no project.
        """
        workspaces = {key: record["lastRunAt"] for key, record in coverage.workspaces.items()}
        projects = {key: record["lastRunAt"] for key, record in coverage.projects.items()}
        return cls(workspaces, projects, max(workspaces.values(), default=0))

    def after_run(self, workspace: SweepWorkspace, at: int) -> Anchors:
        """Return the anchors as they are after a successful run on `workspace` at the time `at` (UTC ms)."""
        projects = dict(self.projects)
        if workspace.project_path is not None:
            projects[workspace.project_path] = at
        return Anchors({**self.workspaces, workspace.id: at}, projects, max(self.newest, at))


class SkippedWorkspace(Struct, frozen=True):
    """A workspace that is left out when idle workspaces are consolidated, with the reason."""

    workspace_id: str
    reason: SkipReason


class Sweep(Struct, frozen=True):
    """The plan of a sweep: the workspaces to consolidate, in their order, and those that are left out."""

    order: tuple[str, ...]
    skipped: tuple[SkippedWorkspace, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the stable JSON format that `reverie sweep` prints (design.md section 5)."""
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
    """Return the reason why a sweep leaves out this workspace; None if it is consolidated.

    It is consolidated if memories were written after its last consolidation (formats/mux.md section 10).
    `anchors`: the times of the last consolidations. `writes`: the times of the last writes. `global_keys` is
    the prefix of the usage keys of global memory; None without such memories. `now`: UTC ms. `room` is False
    once the sweep has as many workspaces as it may have.
    """
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
    """Return the plan of a sweep, provided that each of its runs succeeds.

    `workspaces` are in the agent's order; for the other arguments see `judge`. `cap`: the largest number of
    workspaces. After each run the anchors advance, so that no other workspace is consolidated for the same
    writes. Pure.
    """
    order: list[str] = []
    skipped: list[SkippedWorkspace] = []
    for workspace in workspaces:
        reason = judge(workspace, anchors, writes, global_keys=global_keys, now=now, room=len(order) < cap)
        if reason is not None:
            skipped.append(SkippedWorkspace(workspace.id, reason))
            continue
        order.append(workspace.id)
        anchors = anchors.after_run(workspace, now)
    return Sweep(tuple(order), tuple(skipped))


class SweptRun(Struct, frozen=True):
    """The run for one workspace in a sweep, which consolidates idle workspaces."""

    workspace_id: str
    result: RunResult


class SweepResult(Struct, frozen=True):
    """The result of a sweep; `sweep.order` has every workspace for which a run was tried."""

    sweep: Sweep
    runs: tuple[SweptRun, ...] = ()

    @property
    def succeeded(self) -> bool:
        """True if every run succeeded."""
        return all(run.result.succeeded for run in self.runs)

    def as_json(self) -> dict[str, Any]:
        """Return the stable JSON format that `reverie sweep` prints (design.md section 5)."""
        runs = [
            columns(
                run,
                "workspace_id runId=result.run_id outcome=result.outcome reason=result.reason "
                "summary=result.summary",
            )
            for run in self.runs
        ]
        return {**self.sweep.as_json(), "runs": runs}


class SweepService:
    """The service that plans and runs the launch sweep of one home, which consolidates idle workspaces."""

    def __init__(self, parts: DreamDependencies, dreams: DreamService) -> None:
        self._parts = parts
        self._home = parts.home
        self._dreams = dreams

    def plan(self) -> Sweep:
        """Return which idle workspaces `run` would consolidate now, without changing anything."""
        return plan_sweep(
            self._workspaces(),
            Anchors.of(self._parts.coverage.load()),
            self._writes(),
            global_keys=self._keys(self._home.context(), Scope.GLOBAL),
            now=self._parts.clock(),
        )

    def run(
        self,
        engine_for: Callable[[ScopeContext], Engine],
        *,
        cancel: threading.Event | None = None,
        progress: Callable[[Progress], None] = lambda _progress: None,
        may_run: Callable[[str], bool] = lambda _workspace_id: True,
    ) -> SweepResult:
        """Consolidate the workspaces that need it, one after the other; return the result.

        `cancel`: an event that ends the sweep early; None: it cannot be cancelled. Each workspace is judged
        again before its run. A failed run counts against the cap; a run that is refused because another one
        is in progress does not. `may_run` is called before each run with the id of the workspace; if it
        returns False (the budget is used up), the sweep ends.
        """
        cancel = cancel or threading.Event()
        self._dreams.require_writable("launch")
        # If the agent has overwritten a write time, its workspace would seem unchanged.
        self._parts.usage.reapply_lost()
        global_keys = self._keys(self._home.context(), Scope.GLOBAL)
        anchors, writes = Anchors.of(self._parts.coverage.load()), self._writes()
        skipped: list[SkippedWorkspace] = []
        runs: list[SweptRun] = []
        stopped = False
        for workspace in self._workspaces():
            room = sum(run.result.outcome != "skipped" for run in runs) < SWEEP_CAP
            reason = judge(
                workspace, anchors, writes, global_keys=global_keys, now=self._parts.clock(), room=room
            )
            if reason is None and not stopped:
                stopped = cancel.is_set() or not may_run(workspace.id)
            if reason is not None or stopped:
                skipped.append(SkippedWorkspace(workspace.id, reason or "stopped"))
                continue
            context = self._home.context(workspace_id=workspace.id)
            engine = engine_for(context)
            request = DreamRequest(context, "launch", engine.name, debounce=False)
            result = self._dreams.run(request, engine, cancel=cancel, progress=progress)
            runs.append(SweptRun(workspace.id, result))
            # The run has moved the anchors, and others may have written meanwhile.
            anchors, writes = Anchors.of(self._parts.coverage.load()), self._writes()
        return SweepResult(Sweep(tuple(run.workspace_id for run in runs), tuple(skipped)), tuple(runs))

    def _workspaces(self) -> tuple[SweepWorkspace, ...]:
        """Return the facts about each workspace with a recorded use, in the agent's order."""
        recencies = () if self._home.sessions is None else self._home.sessions.recencies()
        listed = {workspace.id: workspace for workspace in self._home.contents().workspaces()}
        found = []
        for workspace_id, recency in recencies:
            workspace = SweepWorkspace(workspace_id, recency, listed=workspace_id in listed)
            if workspace.listed:
                entry = listed[workspace_id]
                # With the project given, the list is not read again; there may be thousands of workspaces.
                context = self._home.context(
                    workspace_id=workspace_id, project_path=entry.memory_project, project_given=True
                )
                context = replace(context, dreams_as=entry.dreams_as)
                workspace = replace(
                    workspace,
                    archived=entry.archived,
                    project_path=context.covered_project,
                    own_keys=self._keys(context, Scope.WORKSPACE),
                    project_keys=self._keys(context, Scope.PROJECT),
                )
            found.append(workspace)
        return tuple(found)

    def _keys(self, context: ScopeContext, scope: Scope) -> str | None:
        """Return the prefix of the usage keys of a scope; None if the context does not have that scope."""
        try:
            return self._home.scope_root(context, scope).usage_prefix
        except ScopeUnavailable:
            return None

    def _writes(self) -> WriteTimes:
        return WriteTimes({key: usage.last_write_at for key, usage in self._parts.usage.load().items()})


_WAIT_STEP_S = 0.5
_LONGEST_STEP_S = 30.0
_LONGEST_WAIT_S = 3600.0

Gate = Literal["off", "runs-used-up", "tokens-used-up", "stood-down", "coalesced", "done", "error"]
"""The reason why a trigger started no run, or not all runs."""


class Triggered(Struct, frozen=True):
    """The result of a trigger: the runs that it made, or the reason why it made none."""

    gate: Gate | None = None
    """The reason why no run, or no further run, was made; None if all were."""
    text: str = ""
    """A sentence about the gate or the result, for people."""
    dreams: tuple[RunResult, ...] = ()
    harvests: tuple[RunResult, ...] = ()
    sweep: SweepResult | None = None


class TriggerDependencies(Struct, frozen=True):
    """The services that the triggers of one home need."""

    run: DreamDependencies
    dreams: DreamService
    harvests: HarvestService
    sweeps: SweepService
    seen: Sidecar
    """Reverie's own file with the newest coverage of other programs that it has seen."""
    budget: Callable[[], BackgroundSettings]
    engine_for: Callable[[ScopeContext, Trigger], Engine]
    """A function that returns the engine for a context and trigger; may raise `UserError`."""
    extractor_for: Callable[[ScopeContext], Extractor]
    """A function that returns the extractor for a context; may raise `UserError`."""
    cancel: threading.Event
    wait: Callable[[float], bool]
    """A function that waits for a number of seconds; it returns True to stop."""


class Triggers:
    """The starter of the background runs of one home.

    A trigger is an event that starts runs: the launch, a compaction, an archived workspace.
    """

    def __init__(self, parts: TriggerDependencies) -> None:
        self._parts = parts
        self._under_way: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def on_launch(self) -> Triggered:
        """Attempt the harvests that are due again, then consolidate idle workspaces (the sweep)."""
        return self._guarded("launch", None, self._launch)

    def on_compaction(self, workspace_id: str) -> Triggered:
        """Collect memories from a workspace's newest compacted conversation (a harvest), then consolidate.

        The consolidation takes place even if nothing was left to harvest, but not if the harvest was refused
        for another reason.
        """
        return self._guarded("compaction", workspace_id, lambda: self._compacted(workspace_id, None))

    def on_archived(self, workspace_id: str) -> Triggered:
        """Run the last consolidation of a workspace that was archived (the final pass)."""
        return self._guarded("archive", workspace_id, lambda: self._archived(workspace_id))

    def _launch(self) -> Triggered:
        """Attempt again the harvests that failed, within the budget; then consolidate idle workspaces."""
        done: list[Triggered] = []
        for workspace_id, key in self._parts.harvests.log.due():
            if self._over_budget() is not None:
                break
            done.append(self._compacted(workspace_id, key))
        dreams = tuple(result for one in done for result in one.dreams)
        harvests = tuple(result for one in done for result in one.harvests)
        stopped: list[Triggered] = []

        def may_run(_workspace_id: str) -> bool:
            refused = self._over_budget()
            if refused is not None:
                stopped.append(self._say("launch", None, *refused))
            return refused is None

        sweep = self._parts.sweeps.run(
            lambda context: self._parts.engine_for(context, "launch"),
            cancel=self._parts.cancel,
            may_run=may_run,
        )
        self._parts.run.coverage.look_again(self._parts.wait)
        self._look("launch", None)
        swept = tuple(run.result for run in sweep.runs)
        gate, text = (stopped[0].gate, stopped[0].text) if stopped else (None, "")
        return Triggered(gate, text, (*dreams, *swept), harvests, sweep)

    def _compacted(self, workspace_id: str, key: str | None) -> Triggered:
        """Collect memories from a compacted conversation of a workspace, then consolidate.

        `key`: the key of the compaction; None: the newest one.
        """
        parts = self._parts
        context = parts.run.home.context(workspace_id=workspace_id)
        extractor = parts.extractor_for(context)
        harvest = self._queued(
            lambda: parts.harvests.run(HarvestRequest(context, key), extractor, cancel=parts.cancel)
        )
        if not dream_follows(harvest):
            return Triggered(None, harvest.summary, harvests=(harvest,))
        refused = self._over_budget()
        if refused is not None:
            stopped = self._say("compaction", workspace_id, *refused)
            return Triggered(stopped.gate, stopped.text, harvests=(harvest,))
        request = follow_up(parts.run.home, context, "")
        dream = self._queued(lambda: self._dream(context, request.trigger))
        text = dream.summary if harvest.succeeded else f"{harvest.summary} {dream.summary}"
        return Triggered(None, text, (dream,), (harvest,))

    def _archived(self, workspace_id: str) -> Triggered:
        """Run the final pass over an archived workspace, unless a run in progress has made it meanwhile."""
        parts = self._parts
        context = parts.run.home.context(workspace_id=workspace_id)
        asked_at = parts.run.clock()
        done: list[Triggered] = []

        def made_already() -> bool:
            record = parts.run.coverage.load().workspaces.get(workspace_id)
            if record is not None and record["trigger"] == "archive" and record["lastRunAt"] >= asked_at:
                text = "The run that was in progress has already made the final pass."
                done.append(self._say("archive", workspace_id, "done", text))
            return bool(done)

        dream = self._queued(lambda: self._dream(context, "archive"), made_already)
        return done[0] if done else Triggered(None, dream.summary, (dream,))

    def _queued(self, act: Callable[[], RunResult], is_over: Callable[[], bool] = lambda: False) -> RunResult:
        """Call `act`, which starts a run, and return its result; if another run is in progress, try again.

        Tries for up to an hour, or until `is_over` returns True. Every attempt is reported in Activity, so
        `act` is not called while a run of Reverie is known to be in progress.
        """
        result, waited, step = act(), 0.0, _WAIT_STEP_S
        while result.outcome == "skipped" and result.reason == "busy" and waited < _LONGEST_WAIT_S:
            waited += step
            if self._parts.wait(step) or is_over():
                break
            if not self._is_at_work():
                # The agent itself may hold the home, which only a new attempt can find out.
                step = min(2 * step, _LONGEST_STEP_S)
                result = act()
        return result

    def _is_at_work(self) -> bool:
        """Return True if a run of Reverie is in progress on this home, in any process."""
        run = self._parts.run
        try:
            return run.leases.holder(run.lease_name) is not None
        except UserError:
            return False  # The next attempt reports the problem.

    def _dream(self, context: ScopeContext, trigger: Trigger) -> RunResult:
        engine = self._parts.engine_for(context, trigger)
        request = DreamRequest(context, trigger, engine.name, debounce=False)
        result = self._parts.dreams.run(request, engine, cancel=self._parts.cancel)
        if result.outcome != "skipped":
            self._parts.run.coverage.look_again(self._parts.wait)
            if context.workspace_id is not None:
                self._look(trigger, context.workspace_id)
        return result

    def _guarded(self, name: Trigger, workspace_id: str | None, act: Callable[[], Triggered]) -> Triggered:
        """Call `act` unless a gate (a check that stops a trigger) applies; return the result of the trigger.

        A `UserError` becomes a result and is reported in Activity.
        """
        with self._alone(name, workspace_id) as first:
            if not first:
                return Triggered("coalesced", "The same run is already in progress.")
            try:
                refused = self._gate(name, workspace_id)
                return act() if refused is None else refused
            except UserError as error:
                return self._say(name, workspace_id, "error", str(error), level="warning")

    @contextmanager
    def _alone(self, name: str, workspace_id: str | None) -> Iterator[bool]:
        """Context manager: yield True unless the trigger `name` is in progress already for the workspace.

        `workspace_id` None: for the home as a whole.
        """
        key = (name, workspace_id or "")
        with self._lock:
            first = key not in self._under_way
            self._under_way.add(key)
        try:
            yield first
        finally:
            if first:
                with self._lock:
                    self._under_way.discard(key)

    def _gate(self, name: Trigger, workspace_id: str | None) -> Triggered | None:
        """Return the result of a trigger that must not start runs, after reporting it in Activity.

        None if it may start runs.
        """
        if not self._parts.budget().enabled:
            text = "Background runs are off for this home. Turn them on in Settings."
            # The same name for all triggers and workspaces, so that Activity has only one entry.
            return self._say("background", None, "off", text)
        refused = self._over_budget()
        if refused is not None:
            return self._say(name, workspace_id, *refused)
        if self._advanced_by_others(name, workspace_id):
            text = (
                "Reverie did not run: the agent or another program has consolidated since Reverie's last "
                "consolidation."
            )
            return self._say(name, workspace_id, "stood-down", text)
        return None

    def _over_budget(self) -> tuple[Gate, str] | None:
        """Return the gate and a sentence about it if the daily budget is used up; None if it is not."""
        budget = self._parts.budget()
        spent = [run for run in self._recent_runs() if counts(run)]
        if len(spent) >= budget.runs_per_day:
            return "runs-used-up", f"The budget of {budget.runs_per_day} background runs a day is used up."
        tokens = sum(tokens_of(run) for run in spent)
        if tokens >= budget.tokens_per_day:
            return (
                "tokens-used-up",
                f"The budget of {budget.tokens_per_day:,} background tokens a day is used up.",
            )
        return None

    def _recent_runs(self) -> Iterator[RunRecord]:
        """Yield the runs of the last 24 hours.

        Ids begin with their time, so older records are not read.
        """
        since = self._parts.run.clock() - DAY_MS
        for run_id in self._parts.run.runs.ids():
            if started_of(run_id) <= since:
                return
            try:
                yield self._parts.run.runs.load(run_id)
            except UserError:
                continue  # The list of runs reports damaged records.

    def _advanced_by_others(self, name: Trigger, workspace_id: str | None) -> bool:
        """Return True if another program has consolidated a workspace (None: any) since the last call.

        If this was never called for the trigger `name`, only consolidations of the last hours (`DEBOUNCE_MS`)
        count; otherwise a home would be ignored for ever after a single consolidation by its agent. The
        consolidation is then marked as seen, so that the next call returns False unless there is another one.
        """
        newest = self._newest_foreign(workspace_id)
        key = _seen_key(name, workspace_id)
        mark = as_object(self._parts.seen.read().data.get("seen")).get(key)
        known = mark if isinstance(mark, int | float) else self._parts.run.clock() - DEBOUNCE_MS
        if newest <= known:
            return False
        self._look(name, workspace_id)
        return True

    def _newest_foreign(self, workspace_id: str | None) -> float:
        """Return the time of the last consolidation by another program in UTC ms; 0 if there was none.

        `workspace_id`: the workspace that counts; None: all workspaces.
        """
        records = self._parts.run.coverage.load().workspaces
        found = records.items() if workspace_id is None else [(workspace_id, records.get(workspace_id))]
        ours = set(self._parts.run.runs.ids())
        starts = {started_of(run_id) for run_id in ours}
        return max(
            (
                record["lastRunAt"]
                for _key, record in found
                if record is not None and int(record["lastRunAt"]) not in starts
            ),
            default=0,
        )

    def _look(self, name: Trigger, workspace_id: str | None) -> None:
        """Mark the present consolidations by other programs as seen by the trigger `name`.

        `workspace_id`: the workspace whose consolidations are meant; None: all workspaces.
        """
        key, newest = _seen_key(name, workspace_id), self._newest_foreign(workspace_id)

        def change(data: dict[str, Any]) -> dict[str, Any]:
            data["seen"] = {**as_object(data.get("seen")), key: newest}
            return data

        self._parts.seen.update(change)

    def _say(
        self, name: str, workspace_id: str | None, gate: Gate, text: str, *, level: str = "info"
    ) -> Triggered:
        self._parts.run.activity.add(
            f"trigger.{name}",
            level=level,
            text=text,
            home=str(self._parts.run.home.root),
            workspace_id=workspace_id,
            details={"gate": gate},
        )
        return Triggered(gate, text)


def counts(run: RunRecord) -> bool:
    """Return True if a run counts against the background budget: not started by hand, and not a dry run."""
    return run.kind in ("dream", "harvest") and run.trigger != "manual" and not run.dry_run


def tokens_of(run: RunRecord) -> int:
    """Return the number of tokens that a run used, as far as the provider reported it."""
    usage: Mapping[str, int] = run.usage or {}
    return usage.get("inputTokens", 0) + usage.get("outputTokens", 0)


def _seen_key(name: Trigger, workspace_id: str | None) -> str:
    """Return the key under which the newest seen consolidation by others is stored, for one trigger.

    `workspace_id`: the workspace of the consolidation; None: all workspaces.
    """
    return name if workspace_id is None else f"{name}:{workspace_id}"
