"""A dream: the engine's work on a copy-on-write overlay through the guard, the retention rail, coverage.

A job on the one Run (`runs.run`), under the home's dream lease from beginning to end. A memory that somebody
writes between our reading and our writing sends it back to its start, once. Coverage is written only where
the dream completed or found nothing to do. Rules: formats/mux.md sections 9 and 10.

Threading: one run, one event loop; blocking, so never on the GUI thread. Failure: one outcome, never raises
for what a person can fix.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from reverie.agents.scopes import Scope, ScopeContext, ScopeUnavailable
from reverie.clock import HOUR_MS
from reverie.errors import Busy, Conflict, UserError
from reverie.files.atomic import LEFT_OVER_AFTER_S
from reverie.files.rooted import RootedDirectory
from reverie.jobs.consolidate.agent_lock import AgentLocks
from reverie.jobs.consolidate.coverage import CoverageLog, Trigger
from reverie.jobs.consolidate.engine import Engine
from reverie.jobs.consolidate.overlay import DreamOverlay
from reverie.llm.client import spent
from reverie.memory.write_guard import ReadOnlyStore, refuse_while_agent_writes, write_locks
from reverie.runs.activity import Activity
from reverie.runs.guard import Guard, Retention, judge_retention
from reverie.runs.record import RunRecord, not_applied
from reverie.runs.recovery import RunDependencies
from reverie.runs.result import Op, Progress, RunResult
from reverie.runs.run import Costs, Holding, Job, Plan, Run, RunContext
from reverie.text.summaries import with_write_protected

DEBOUNCE_MS = 6 * HOUR_MS
MUTATION_BUDGET = 8


@dataclass(frozen=True, slots=True)
class DreamRequest:
    """What to dream about, why, and how. `trigger` is one of the agent's four. `debounce` off: whoever asks
    has decided already that it is time, as a sweep has, and a harvest whose inbox waits."""

    context: ScopeContext
    trigger: Trigger = "manual"
    engine: str = "rules"
    dry_run: bool = False
    debounce: bool = True


@dataclass(frozen=True, slots=True)
class DreamDependencies(RunDependencies):
    """What a dream works on, of one home. `max_loss_percent` is the retention rail's setting."""

    coverage: CoverageLog
    agent_locks: AgentLocks
    time_limit_s: float = 300.0
    max_loss_percent: float = 20.0


class DreamJob(Job[DreamOverlay]):
    """One dream: the engine's work on an overlay, the retention rail, the coverage record."""

    kind = "dream"
    before = "before a dream"
    lease = "whole"
    begins = "before thinking"
    attempts = 2

    def __init__(self, parts: DreamDependencies, request: DreamRequest, engine: Engine) -> None:
        self._parts = parts
        self._request = request
        self._engine = engine
        self._guard: Guard | None = None
        self._summary = ""
        self._has_followed = False
        self.workspace_id = request.context.workspace_id
        self.project_path = request.context.project_path
        self.trigger = request.trigger
        self.engine = engine.name
        self.dry_run = request.dry_run
        self.purpose = f"dream ({request.trigger})"
        self.time_limit_s = parts.time_limit_s

    def require(self) -> None:
        """Raises `ReadOnlyStore`."""
        self._parts.guard.require_context(self._request.context)

    def ready(self) -> None:
        """Raises `Busy` where it is too soon, or the agent writes."""
        self._refuse_too_soon()
        if not self._request.dry_run:
            lock_dir = self._parts.guard.lock_dir
            refuse_while_agent_writes(self._parts.home, self._request.context, lock_dir=lock_dir)
            self._sweep_temporaries()

    def hold(self, run_id: str, check: Callable[[], None]) -> AbstractContextManager[Holding]:
        """The agent's own lock. A preview needs none."""
        if self._request.dry_run:
            return contextlib.nullcontext(Holding())
        return self._parts.agent_locks.hold(self._request.context, run_id, check)

    def begun(self, record: RunRecord) -> None:
        """Say so."""
        self.say("started", f"Consolidation started ({self.trigger}, {self.engine}).", record)

    async def think(self, run: RunContext) -> DreamOverlay | Plan:
        """The engine's work on a fresh overlay."""
        overlay = DreamOverlay(self._parts.home, self._request.context, self._parts.usage)
        # A final pass hands on what a workspace learned; it takes nothing from the project.
        undeletable = frozenset({Scope.PROJECT}) if self._request.trigger == "archive" else frozenset[Scope]()
        self._guard = overlay.guard(
            budget=MUTATION_BUDGET, dry_run=self._request.dry_run, undeletable=undeletable
        )
        self._summary = await self._engine.dream(
            overlay, self._guard, limits=run.limits, progress=run.progress
        )
        return overlay

    def accept(self, thought: DreamOverlay, run: RunContext) -> Plan:
        """Hold what would lose lines; else what the overlay amounts to."""
        overlay, ops = thought, self.ops()
        summary = with_write_protected(self._summary, overlay.write_protected())
        retention = judge_retention(*overlay.texts_before_and_after())
        # After the verdict: the line of an index is no text of its own.
        followed = overlay.follow(ops)
        self._has_followed = self._has_followed or bool(followed)
        usage_before, usage_after = overlay.usage_delta(ops, now=run.started_at)
        plan = Plan(
            summary,
            overlay.changes(),
            ops,
            emptied=overlay.emptied(),
            usage_before=usage_before,
            usage_after=usage_after,
            details={"followed": list(followed)} if followed or self._has_followed else {},
        )
        if retention.blocked_deletes or retention.exceeds(self._parts.max_loss_percent):
            return replace(
                plan,
                summary=f"Held for review: {_why_held(retention)}.",
                ops=not_applied(ops, "held for review"),
                outcome="held",
                reason="held",
                next_step="Review the run; nothing was changed.",
                for_review=True,
            )
        tokens = self._engine.account().usage
        usage = None if tokens is None else {"inputTokens": tokens.input, "outputTokens": tokens.output}
        record = coverage_record(summary, ops, usage, trigger=self.trigger, at=run.started_at)
        if self._request.dry_run:
            return replace(plan, for_review=True, record=record)
        pinned = overlay.pinned_meanwhile()
        if pinned:
            raise Conflict(f"{', '.join(pinned)} was pinned while the run was at work.")
        return replace(plan, coverage=record)

    def commit(self, plan: Plan, _record: RunRecord) -> None:
        """Save the coverage record: the commit point."""
        if plan.coverage is not None:
            save_coverage(self._parts.coverage, self._request.context, plan.coverage)

    def costs(self) -> Costs:
        """What the engine used."""
        account = self._engine.account()
        return Costs(*spent(account), account.trace)

    def ops(self) -> tuple[Op, ...]:
        """What was asked of the guard."""
        return () if self._guard is None else self._guard.ops

    def found(self) -> Mapping[str, Any]:
        """The engine's reasons for each op."""
        return {} if self._guard is None else {"reasons": list(self._guard.reasons)}

    def refused(self, refusal: UserError) -> RunResult:
        """Told in Activity."""
        return skipped(self._parts, self.workspace_id, self._request.trigger, refusal)

    def say(self, event: str, text: str, record: RunRecord, *, level: str = "info") -> None:
        """An entry in Activity."""
        say_of_dream(self._parts.activity, event, text, record, level=level)

    def _sweep_temporaries(self) -> None:
        """Clear away the hidden files that killed writes left in the stores of this context, under the
        agent's own lock: a file that was held back gets its name again."""
        for scope in Scope:
            with contextlib.suppress(ScopeUnavailable):
                root = self._parts.home.scope_root(self._request.context, scope)
                if not root.read_only:
                    with write_locks(self._parts.home, (root,), lock_dir=self._parts.guard.lock_dir):
                        RootedDirectory(root.directory).sweep(older_than_s=LEFT_OVER_AFTER_S)

    def _refuse_too_soon(self) -> None:
        """Background triggers leave a workspace alone for 6 hours; `manual` and `archive` do not wait."""
        request = self._request
        if request.trigger in ("manual", "archive") or request.context.workspace_id is None:
            return
        if not request.debounce:
            return
        record = self._parts.coverage.load().workspaces.get(request.context.workspace_id)
        if record is not None and self._parts.clock() - record["lastRunAt"] < DEBOUNCE_MS:
            raise Busy(
                "The workspace was consolidated less than 6 hours ago.",
                next_step="Wait, or run it by hand.",
                reason="debounced",
            )


def coverage_record(
    summary: str, ops: Sequence[Op], usage: Mapping[str, int] | None, *, trigger: str, at: int
) -> dict[str, Any]:
    """The coverage record of a run that started `at` (UTC ms)."""
    record: dict[str, Any] = {
        "lastRunAt": at,
        "trigger": trigger,
        "summary": summary,
        "ops": [dict(op) for op in ops],
    }
    return record if usage is None else {**record, "usage": dict(usage)}


def save_coverage(coverage: CoverageLog, context: ScopeContext, record: Mapping[str, Any]) -> None:
    """Save a coverage record. A save that fails after it took effect counts."""
    ids = {"workspace_id": context.workspace_id, "project_path": context.covered_project}
    try:
        coverage.save(record, **ids)
    except UserError:
        if not coverage.holds(record, **ids):
            raise


def say_of_dream(activity: Activity, event: str, text: str, record: RunRecord, *, level: str) -> None:
    """An entry in Activity."""
    activity.add(
        f"dream.{event}",
        level=level,
        text=text,
        home=record.home_root,
        workspace_id=record.workspace_id,
        run_id=record.id,
        details={"trigger": record.trigger, "engine": record.engine, "dryRun": record.dry_run},
    )


def _why_held(retention: Retention) -> str:
    if retention.blocked_deletes:
        return f"it would delete lines of {', '.join(retention.blocked_deletes)} that stand nowhere else"
    worst = max(retention.loss_percent, key=lambda scope: retention.loss_percent[scope])
    return f"it would lose {retention.loss_percent[worst]:.0f} % of the lines in {worst} memory"


def skipped(
    parts: DreamDependencies, workspace_id: str | None, trigger: str, refusal: UserError
) -> RunResult:
    """The result of a run that did not begin, noted in Activity."""
    summary = str(refusal)
    parts.activity.add(
        "dream.skipped",
        level="info",
        text=summary,
        home=str(parts.home.root),
        workspace_id=workspace_id,
        details={"reason": refusal.reason, "trigger": trigger},
    )
    return RunResult("", "skipped", summary, reason=refusal.reason, next_step=refusal.next_step)


# The service: siblings share project and global memory, so there is one lease for all dreams of a home.
# Command line and window run the same code.


def dream_lease_name(home_id: str) -> str:
    """The lease of all dreams of a home: one at a time, since siblings share memory."""
    return f"dream:{home_id}"


class DreamService:
    """Dreams of one home."""

    def __init__(self, parts: DreamDependencies) -> None:
        self._parts = parts

    def run(
        self,
        request: DreamRequest,
        engine: Engine,
        *,
        cancel: threading.Event | None = None,
        progress: Callable[[Progress], None] = lambda _progress: None,
    ) -> RunResult:
        """`dream` on an event loop of its own: for threads and commands that have none."""
        return asyncio.run(self.dream(request, engine, cancel=cancel or threading.Event(), progress=progress))

    def require_writable(self, trigger: Trigger) -> None:
        """Raises `ReadOnlyStore`, noted in Activity, where what all workspaces share is read-only."""
        try:
            self._parts.guard.require_context(self._parts.home.context())
        except ReadOnlyStore as refusal:
            skipped(self._parts, None, trigger, refusal)
            raise

    async def dream(
        self,
        request: DreamRequest,
        engine: Engine,
        *,
        cancel: threading.Event,
        progress: Callable[[Progress], None],
    ) -> RunResult:
        """One dream. Refused (`skipped`) with the reason while another one runs on this home."""
        request = replace(request, context=request.context.for_dreams())
        job = DreamJob(self._parts, request, engine)
        return await Run(self._parts, job, cancel=cancel, progress=progress).go()
