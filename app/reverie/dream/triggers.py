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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from reverie.clock import DAY_MS, Clock
from reverie.dream.coverage import CoverageLog, Trigger
from reverie.dream.engine import Engine
from reverie.dream.harvest import HarvestRequest, HarvestResult, HarvestService, follow_up
from reverie.dream.harvest_extract import Extractor
from reverie.dream.run import DreamRequest, RunResult
from reverie.dream.service import DEBOUNCE_MS, DreamService
from reverie.dream.sweep import SweepResult, SweepService
from reverie.errors import MendableError
from reverie.files.sidecar import Sidecar
from reverie.homes.base import Home
from reverie.homes.scopes import ScopeContext
from reverie.runs.activity import Activity
from reverie.runs.record import RunRecord, RunStore, started_of

_WAIT_STEP_S = 0.5
_LONGEST_WAIT_S = 3600.0

_Result = TypeVar("_Result", RunResult, HarvestResult)
Gate = Literal["off", "runs-used-up", "tokens-used-up", "stood-down", "coalesced", "done", "error"]


@dataclass(frozen=True, slots=True)
class Budget:
    """What may run by itself in one home, in any 24 hours; 0 allows nothing."""

    enabled: bool = False
    runs_per_day: int = 0
    tokens_per_day: int = 0


@dataclass(frozen=True, slots=True)
class Triggered:
    """What a trigger came to. `gate`: why nothing (more) was run, with `text` as a sentence; None: it ran."""

    gate: Gate | None = None
    text: str = ""
    dreams: tuple[RunResult, ...] = ()
    harvests: tuple[HarvestResult, ...] = ()
    sweep: SweepResult | None = None


@dataclass(frozen=True, slots=True)
class TriggerDependencies:
    """What triggers work with, of one home. `engine_for` and `extractor_for` may raise `MendableError`;
    `seen` is Reverie's own note of the coverage it has looked at. `wait` waits so many seconds, and says
    whether to stop."""

    home: Home
    runs: RunStore
    coverage: CoverageLog
    activity: Activity
    dreams: DreamService
    harvests: HarvestService
    sweeps: SweepService
    seen: Sidecar
    clock: Clock
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
        self._parts.coverage.look_again(self._parts.wait)
        self._look("launch", None)
        swept = tuple(run.result for run in sweep.runs)
        gate, text = (stopped[0].gate, stopped[0].text) if stopped else (None, "")
        return Triggered(gate, text, (*dreams, *swept), harvests, sweep)

    def _compacted(self, workspace_id: str, key: str | None) -> Triggered:
        parts = self._parts
        context = parts.home.context(workspace_id=workspace_id)
        extractor = parts.extractor_for(context)
        harvest = self._queued(
            lambda: parts.harvests.run(HarvestRequest(context, key), extractor, cancel=parts.cancel)
        )
        if not harvest.dream_follows:
            return Triggered(None, harvest.summary, harvests=(harvest,))
        refused = self._over_budget()
        if refused is not None:
            stopped = self._say("compaction", workspace_id, *refused)
            return Triggered(stopped.gate, stopped.text, harvests=(harvest,))
        request = follow_up(parts.home, context, "")
        dream = self._queued(lambda: self._dream(context, request.trigger))
        text = dream.summary if harvest.succeeded else f"{harvest.summary} {dream.summary}"
        return Triggered(None, text, (dream,), (harvest,))

    def _archived(self, workspace_id: str) -> Triggered:
        parts = self._parts
        context = parts.home.context(workspace_id=workspace_id)
        asked_at = parts.clock()
        done: list[Triggered] = []

        def made_already() -> bool:
            if self._covered_since(workspace_id, asked_at):
                text = "The final pass was made already by the run that was at work."
                done.append(self._say("archive", workspace_id, "done", text))
            return bool(done)

        dream = self._queued(lambda: self._dream(context, "archive"), made_already)
        return done[0] if done else Triggered(None, dream.summary, (dream,))

    def _queued(self, act: Callable[[], _Result], is_over: Callable[[], bool] = lambda: False) -> _Result:
        """Do it, after the run that is at work on this home if there is one; until then `is_over` may end the
        waiting."""
        result, waited = act(), 0.0
        while result.outcome == "skipped" and result.reason == "busy" and waited < _LONGEST_WAIT_S:
            waited += _WAIT_STEP_S
            if self._parts.wait(_WAIT_STEP_S) or is_over():
                break
            result = act()
        return result

    def _dream(self, context: ScopeContext, trigger: Trigger) -> RunResult:
        engine = self._parts.engine_for(context, trigger)
        request = DreamRequest(context, trigger, engine.name, debounce=False)
        result = self._parts.dreams.run(request, engine, cancel=self._parts.cancel)
        self._parts.coverage.look_again(self._parts.wait)
        if context.workspace_id is not None:
            self._look(trigger, context.workspace_id)
        return result

    def _covered_since(self, workspace_id: str, asked_at: int) -> bool:
        record = self._parts.coverage.load().workspaces.get(workspace_id)
        return record is not None and record["trigger"] == "archive" and record["lastRunAt"] >= asked_at

    # Gates

    def _guarded(self, name: Trigger, workspace_id: str | None, act: Callable[[], Triggered]) -> Triggered:
        with self._alone(name, workspace_id) as first:
            if not first:
                return Triggered("coalesced", "The same is under way already.")
            try:
                refused = self._gate(name, workspace_id)
                return act() if refused is None else refused
            except MendableError as error:
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
            text = "Background runs are switched off for this home. Switch them on in the settings."
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
        since = self._parts.clock() - DAY_MS
        for run_id in self._parts.runs.ids():
            if started_of(run_id) <= since:
                return
            try:
                yield self._parts.runs.load(run_id)
            except MendableError:
                continue  # a damaged record is told by the list of runs

    def _advanced_by_others(self, name: Trigger, workspace_id: str | None) -> bool:
        """Whether somebody else's coverage record is newer than what we had seen of it at our last run here.

        What we never looked at counts only while it is younger than the debounce, so that a home its agent
        once tidied is not left alone for ever. Looking moves the mark: the next trigger runs again unless
        they went on.
        """
        newest = self._newest_foreign(workspace_id)
        key = _seen_key(name, workspace_id)
        marks = self._parts.seen.read().data.get("seen")
        mark = marks.get(key) if isinstance(marks, dict) else None
        known = mark if isinstance(mark, int | float) else self._parts.clock() - DEBOUNCE_MS
        if newest <= known:
            return False
        self._look(name, workspace_id)
        return True

    def _newest_foreign(self, workspace_id: str | None) -> float:
        """When somebody else last covered the workspace, or anything; 0: never."""
        records = self._parts.coverage.load().workspaces
        found = records.items() if workspace_id is None else [(workspace_id, records.get(workspace_id))]
        ours = set(self._parts.runs.ids())
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
            marks = data.get("seen")
            data["seen"] = {**(marks if isinstance(marks, dict) else {}), key: newest}
            return data

        self._parts.seen.update(change)

    def _say(
        self, name: str, workspace_id: str | None, gate: Gate, text: str, *, level: str = "info"
    ) -> Triggered:
        self._parts.activity.add(
            f"trigger.{name}",
            level=level,
            text=text,
            home=str(self._parts.home.root),
            workspace_id=workspace_id,
            details={"gate": gate},
        )
        return Triggered(gate, text)


def counts(run: RunRecord) -> bool:
    """Whether a run is one of the background's: not by hand, and not for show."""
    return run.kind in ("dream", "harvest") and run.trigger != "manual" and not run.dry_run


def tokens_of(run: RunRecord) -> int:
    """The tokens a run used, as far as anybody told."""
    usage: Mapping[str, int] = run.usage or {}
    return usage.get("inputTokens", 0) + usage.get("outputTokens", 0)


def _seen_key(name: Trigger, workspace_id: str | None) -> str:
    """Compaction and archive look at the same record of a workspace, and each has its own mark."""
    return name if workspace_id is None else f"{name}:{workspace_id}"
