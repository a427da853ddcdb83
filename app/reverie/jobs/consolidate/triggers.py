"""What starts a dream by itself: the launch sweep, an archived workspace, a compaction (formats/mux.md
sections 10 and 11).

Nothing runs until a person switched it on for this home, nor beyond the day's budget of runs and tokens, nor
where somebody else (the agent itself) has covered the same ground since we last looked. Each gate that stops
a trigger says so in Activity; a gate that keeps saying the same is one entry there.

- launch: harvests that failed or were abandoned are tried again, then the sweep.
- compaction: harvest, then a dream without debounce; the final pass if the workspace was archived meanwhile.
- archive: the final pass, not made twice.

Compaction and archive wait for a run that is at work on the home, since nobody says those two again.

A trigger that is under way for the same thing is not started again (`coalesced`). Threading: every function
blocks until its runs are done; call them from threads that may, not the GUI's. Failure: what a person can
mend is in the result and in Activity; a bug is raised.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from reverie.agents.base import Workspace
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
from reverie.values import Struct, field, replace

# The launch sweep (formats/mux.md section 10): a workspace qualifies by writes newer than what covers them.
# After each success the anchors advance, so siblings are not run for the same writes. `plan_sweep` is pure
# and shows the order as if each run succeeded; `SweepService` asks the same `judge` again before each run.


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


class SweepWorkspace(Struct, frozen=True):
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


class Anchors(Struct, frozen=True):
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


class SkippedWorkspace(Struct, frozen=True):
    """A workspace that the sweep leaves out, and why."""

    workspace_id: str
    reason: SkipReason


class Sweep(Struct, frozen=True):
    """Which workspaces in which order, and why not the others."""

    order: tuple[str, ...]
    skipped: tuple[SkippedWorkspace, ...]

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
    """One run of a sweep and how it ended."""

    workspace_id: str
    result: RunResult


class SweepResult(Struct, frozen=True):
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

    def __init__(self, parts: DreamDependencies, dreams: DreamService) -> None:
        self._parts = parts
        self._home = parts.home
        self._dreams = dreams

    def plan(self) -> Sweep:
        """What `run` would do now; changes nothing."""
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
        """One workspace after another. A run that is refused (another dream is at work) uses up no place of
        the cap, one that fails does; `may_run` (a budget) is asked before each, and may end the sweep."""
        cancel = cancel or threading.Event()
        self._dreams.require_writable("launch")
        # A write time that the agent overwrote would make a workspace look untouched.
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
            runs.append(SweptRun(workspace.id, self._one(workspace.id, engine_for, cancel, progress)))
            # What the run covered, and what others did meanwhile.
            anchors, writes = Anchors.of(self._parts.coverage.load()), self._writes()
        return SweepResult(Sweep(tuple(run.workspace_id for run in runs), tuple(skipped)), tuple(runs))

    def _one(
        self,
        workspace_id: str,
        engine_for: Callable[[ScopeContext], Engine],
        cancel: threading.Event,
        progress: Callable[[Progress], None],
    ) -> RunResult:
        context = self._home.context(workspace_id=workspace_id)
        engine = engine_for(context)
        request = DreamRequest(context, "launch", engine.name, debounce=False)
        return self._dreams.run(request, engine, cancel=cancel, progress=progress)

    def _workspaces(self) -> tuple[SweepWorkspace, ...]:
        recencies = () if self._home.sessions is None else self._home.sessions.recencies()
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
        return WriteTimes({key: usage.last_write_at for key, usage in self._parts.usage.load().items()})


_WAIT_STEP_S = 0.5
_LONGEST_STEP_S = 30.0
_LONGEST_WAIT_S = 3600.0

Gate = Literal["off", "runs-used-up", "tokens-used-up", "stood-down", "coalesced", "done", "error"]


class Budget(Struct, frozen=True):
    """What may run by itself in one home, in any 24 hours; 0 allows nothing."""

    enabled: bool = False
    runs_per_day: int = 0
    tokens_per_day: int = 0


class Triggered(Struct, frozen=True):
    """What a trigger came to. `gate`: why nothing (more) was run, with `text` as a sentence; None: it ran."""

    gate: Gate | None = None
    text: str = ""
    dreams: tuple[RunResult, ...] = ()
    harvests: tuple[RunResult, ...] = ()
    sweep: SweepResult | None = None


class TriggerDependencies(Struct, frozen=True):
    """What triggers work with, of one home. `engine_for` and `extractor_for` may raise `UserError`;
    `seen` is Reverie's own note of the coverage it has looked at. `wait` waits so many seconds, and says
    whether to stop."""

    run: DreamDependencies
    dreams: DreamService
    harvests: HarvestService
    sweeps: SweepService
    seen: Sidecar
    budget: Callable[[], Budget]
    engine_for: Callable[[ScopeContext, Trigger], Engine]
    extractor_for: Callable[[ScopeContext], Extractor]
    cancel: threading.Event
    wait: Callable[[float], bool]


class Triggers:
    """The triggers of one home."""

    def __init__(self, parts: TriggerDependencies) -> None:
        self._parts = parts
        self._under_way: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def on_launch(self) -> Triggered:
        """Harvests that are due again, then the sweep."""
        return self._guarded("launch", None, self._launch)

    def on_compaction(self, workspace_id: str) -> Triggered:
        """Harvest the newest compaction of a workspace, then dream, whether or not there was anything left to
        harvest."""
        return self._guarded("compaction", workspace_id, lambda: self._compacted(workspace_id, None))

    def on_archived(self, workspace_id: str) -> Triggered:
        """The final pass over a workspace."""
        return self._guarded("archive", workspace_id, lambda: self._archived(workspace_id))

    # The triggers behind their gates

    def _launch(self) -> Triggered:
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
        parts = self._parts
        context = parts.run.home.context(workspace_id=workspace_id)
        asked_at = parts.run.clock()
        done: list[Triggered] = []

        def made_already() -> bool:
            if self._covered_since(workspace_id, asked_at):
                text = "The final pass was made already by the run that was at work."
                done.append(self._say("archive", workspace_id, "done", text))
            return bool(done)

        dream = self._queued(lambda: self._dream(context, "archive"), made_already)
        return done[0] if done else Triggered(None, dream.summary, (dream,))

    def _queued(self, act: Callable[[], RunResult], is_over: Callable[[], bool] = lambda: False) -> RunResult:
        """Do it, after the run that is at work on this home if there is one; until then `is_over` may end the
        waiting. Each attempt leaves an entry in Activity, so none is made while that run is still going."""
        result, waited, step = act(), 0.0, _WAIT_STEP_S
        while result.outcome == "skipped" and result.reason == "busy" and waited < _LONGEST_WAIT_S:
            waited += step
            if self._parts.wait(step) or is_over():
                break
            if not self._is_at_work():
                # What keeps it from running may be the agent, which cannot be seen from here.
                step = min(2 * step, _LONGEST_STEP_S)
                result = act()
        return result

    def _is_at_work(self) -> bool:
        """Whether a run of Reverie's is at work on this home, in any process."""
        run = self._parts.run
        try:
            return run.leases.holder(run.lease_name) is not None
        except UserError:
            return False  # a run would say what is wrong

    def _dream(self, context: ScopeContext, trigger: Trigger) -> RunResult:
        engine = self._parts.engine_for(context, trigger)
        request = DreamRequest(context, trigger, engine.name, debounce=False)
        result = self._parts.dreams.run(request, engine, cancel=self._parts.cancel)
        if result.outcome != "skipped":
            self._parts.run.coverage.look_again(self._parts.wait)
            if context.workspace_id is not None:
                self._look(trigger, context.workspace_id)
        return result

    def _covered_since(self, workspace_id: str, asked_at: int) -> bool:
        record = self._parts.run.coverage.load().workspaces.get(workspace_id)
        return record is not None and record["trigger"] == "archive" and record["lastRunAt"] >= asked_at

    # Gates

    def _guarded(self, name: Trigger, workspace_id: str | None, act: Callable[[], Triggered]) -> Triggered:
        with self._alone(name, workspace_id) as first:
            if not first:
                return Triggered("coalesced", "The same is under way already.")
            try:
                refused = self._gate(name, workspace_id)
                return act() if refused is None else refused
            except UserError as error:
                return self._say(name, workspace_id, "error", str(error), level="warning")

    @contextmanager
    def _alone(self, name: str, workspace_id: str | None) -> Iterator[bool]:
        """Whether this trigger is the only one of its kind; the others are done with the first."""
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
        """Why this trigger does not run, said in Activity; None: it may."""
        if not self._parts.budget().enabled:
            text = "Background runs are off for this home. Turn them on in Settings."
            # One gate for all triggers and workspaces: it is said once.
            return self._say("background", None, "off", text)
        refused = self._over_budget()
        if refused is not None:
            return self._say(name, workspace_id, *refused)
        if self._advanced_by_others(name, workspace_id):
            text = "Stood down: the agent, or somebody else, has consolidated since Reverie last did."
            return self._say(name, workspace_id, "stood-down", text)
        return None

    def _over_budget(self) -> tuple[Gate, str] | None:
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
        """Runs of the last 24 hours; ids begin with their time, so older records are not even read."""
        since = self._parts.run.clock() - DAY_MS
        for run_id in self._parts.run.runs.ids():
            if started_of(run_id) <= since:
                return
            try:
                yield self._parts.run.runs.load(run_id)
            except UserError:
                continue  # the list of runs names a damaged record

    def _advanced_by_others(self, name: Trigger, workspace_id: str | None) -> bool:
        """Whether somebody else's coverage record is newer than what we had seen of it at our last run here.

        What we never looked at counts only while it is younger than the debounce, so that a home its agent
        once tidied is not left alone for ever. Looking moves the mark: the next trigger runs again unless
        they went on.
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
        """When somebody else last covered the workspace, or anything; 0: never."""
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
        """Note what others have covered by now."""
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
    """Whether a run is one of the background's: not by hand, and not for show."""
    return run.kind in ("dream", "harvest") and run.trigger != "manual" and not run.dry_run


def tokens_of(run: RunRecord) -> int:
    """The tokens a run used, as far as the service reported them."""
    usage: Mapping[str, int] = run.usage or {}
    return usage.get("inputTokens", 0) + usage.get("outputTokens", 0)


def _seen_key(name: Trigger, workspace_id: str | None) -> str:
    """Compaction and archive look at the same record of a workspace, and each has its own mark."""
    return name if workspace_id is None else f"{name}:{workspace_id}"
