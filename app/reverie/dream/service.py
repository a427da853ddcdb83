"""The dream: one consolidation run, from lease to coverage record.

Order: lease (one dream per home; siblings share project and global memory), recovery of what a dead run left,
history before, durable record, the engine's work on a copy-on-write overlay through the guard, the retention
rail, the transaction (files, usage, coverage), history after, record finished. `run` ends in exactly one
outcome, never raises for what a person can mend, and writes no coverage unless it completed or found nothing
to do.

The run is `async` and Qt-free: the command line and the window's consolidator thread run the same code. The
engine is cancelled through `Limits.check`, which it calls every few milliseconds.
Rules: formats/mux.md sections 9 and 10; design.md sections 3 to 5.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reverie.clock import HOUR_MS, Clock
from reverie.dream.coverage import CoverageLog, Trigger
from reverie.dream.engine import Cancelled, DreamProgress, Engine, Limits, TimedOut
from reverie.dream.overlay import DreamOverlay
from reverie.dream.retention import Retention, judge_retention
from reverie.errors import Busy, MendableError
from reverie.files.lease import LeaseHeld, Leases
from reverie.homes.base import Home, ScopeContext
from reverie.memory.snapshots import Snapshots
from reverie.memory.usage import UsageLog
from reverie.runs.activity import Activity
from reverie.runs.record import Outcome, RunRecord, RunStore, new_run_id, owner
from reverie.runs.recovery import Recovery
from reverie.runs.transaction import Journal, Transaction

MUTATION_BUDGET = 8
DEBOUNCE_MS = 6 * HOUR_MS


@dataclass(frozen=True, slots=True)
class DreamRequest:
    """What to dream about, why, and how. `trigger` is one of the agent's four."""

    context: ScopeContext
    trigger: Trigger = "manual"
    engine: str = "rules"
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended. `record` is the coverage record as saved (or as it would be, for a dry run)."""

    run_id: str
    outcome: Outcome
    summary: str
    reason: str = ""
    ops: tuple[Mapping[str, Any], ...] = ()
    record: Mapping[str, Any] = field(default_factory=dict)
    next_step: str = ""

    @property
    def succeeded(self) -> bool:
        return self.outcome in ("completed", "unchanged")


@dataclass(frozen=True, slots=True)
class DreamDependencies:
    """What a dream works on, of one home. `max_loss_percent` is the retention rail's setting."""

    home: Home
    home_id: str
    leases: Leases
    runs: RunStore
    coverage: CoverageLog
    usage: UsageLog
    snapshots: Snapshots
    activity: Activity
    recovery: Recovery
    transaction_for: Callable[[str, str], Transaction]
    clock: Clock
    time_limit_s: float = 300.0
    max_loss_percent: float = 20.0


def dream_lease_name(home_id: str) -> str:
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
        progress: Callable[[DreamProgress], None] = lambda _progress: None,
    ) -> RunResult:
        """`dream` on an event loop of its own: for threads and commands that have none."""
        return asyncio.run(self.dream(request, engine, cancel=cancel or threading.Event(), progress=progress))

    async def dream(
        self,
        request: DreamRequest,
        engine: Engine,
        *,
        cancel: threading.Event,
        progress: Callable[[DreamProgress], None],
    ) -> RunResult:
        """One dream. Refused (`skipped`) with the reason while another one runs on this home."""
        parts = self._parts
        try:
            lease = parts.leases.acquire(
                dream_lease_name(parts.home_id), purpose=f"dream ({request.trigger})"
            )
        except LeaseHeld as held:
            return self._skipped(request, held, "busy")
        with lease:
            try:
                parts.recovery.run()
                debounced = self._debounced(request)
                if debounced is not None:
                    return self._skipped(request, debounced, "debounced")
                parts.snapshots.observe(source="before a dream")
            except MendableError as error:
                return self._skipped(request, error, error.reason)
            limits = Limits(cancel, lease.lost, parts.time_limit_s)
            return await _Run(parts, request, engine, limits, progress).go()

    def _debounced(self, request: DreamRequest) -> MendableError | None:
        """Background triggers leave a workspace alone for 6 hours; `manual` and `archive` do not wait."""
        if request.trigger in ("manual", "archive") or request.context.workspace_id is None:
            return None
        record = self._parts.coverage.load().workspaces.get(request.context.workspace_id)
        if record is None or self._parts.clock() - record["lastRunAt"] >= DEBOUNCE_MS:
            return None
        return Busy(
            "The workspace was consolidated less than 6 hours ago.",
            next_step="Wait, or run it by hand.",
            reason="debounced",
        )

    def _skipped(self, request: DreamRequest, error: MendableError, reason: str) -> RunResult:
        self._parts.activity.add(
            "dream.skipped",
            level="info",
            text=str(error),
            home=str(self._parts.home.root),
            workspace_id=request.context.workspace_id,
            run_id=None,
            details={"reason": reason, "trigger": request.trigger},
        )
        return RunResult("", "skipped", str(error), reason=reason, next_step=error.next_step)


class _Run:
    """One dream under its lease."""

    def __init__(
        self,
        parts: DreamDependencies,
        request: DreamRequest,
        engine: Engine,
        limits: Limits,
        progress: Callable[[DreamProgress], None],
    ) -> None:
        self._parts = parts
        self._request = request
        self._engine = engine
        self._limits = limits
        self._progress = progress
        started = parts.clock()
        self._record = RunRecord(
            id=new_run_id(started),
            kind="dream",
            home_id=parts.home_id,
            home_root=str(parts.home.root),
            workspace_id=request.context.workspace_id,
            project_path=request.context.project_path,
            trigger=request.trigger,
            engine=engine.name,
            started_at=started,
            owner=owner(),
            dry_run=request.dry_run,
        )

    async def go(self) -> RunResult:
        """Exactly one outcome, whatever happens; a bug of ours is recorded as a failed run and raised."""
        ops: tuple[Mapping[str, Any], ...] = ()
        overlay = DreamOverlay(self._parts.home, self._request.context, self._parts.usage)
        guard = overlay.guard(budget=MUTATION_BUDGET, dry_run=self._request.dry_run)
        try:
            self._record = self._parts.runs.begin(self._record)
            self._say("started", f"Consolidation started ({self._request.trigger}, {self._engine.name}).")
            summary = await self._engine.dream(overlay, guard, limits=self._limits, progress=self._progress)
            ops = guard.ops
            retention = judge_retention(*overlay.texts_before_and_after())
            if retention.blocked_deletes or retention.exceeds(self._parts.max_loss_percent):
                return self._held(overlay, ops, retention)
            return self._apply(overlay, ops, summary)
        except Cancelled:
            return self._ended(
                "cancelled", _not_applied(ops or guard.ops), "Cancelled; nothing was changed.", "cancelled"
            )
        except TimedOut:
            limit = f"The time limit of {self._parts.time_limit_s:g} s was reached; nothing was changed."
            return self._ended("failed", _not_applied(ops or guard.ops), limit, "timeout")
        except MendableError as error:
            return self._ended(
                "failed", _not_applied(ops or guard.ops), str(error), error.reason, error.next_step
            )
        except BaseException:
            self._ended("failed", _not_applied(guard.ops), "Stopped by a bug; nothing was changed.", "bug")
            raise

    def _apply(self, overlay: DreamOverlay, ops: tuple[Mapping[str, Any], ...], summary: str) -> RunResult:
        context = self._request.context
        record = self._coverage_record(summary, ops)
        if self._request.dry_run:
            self._prepare(overlay, ops, None)
            return self._ended("completed" if ops else "unchanged", ops, summary, record=record)
        self._progress(DreamProgress("applying"))
        transaction, journal = self._prepare(overlay, ops, record)
        transaction.apply(
            journal,
            commit=lambda: self._parts.coverage.save(
                record, workspace_id=context.workspace_id, project_path=context.project_path
            ),
            check=self._limits.check,
        )
        changed = bool(journal.intents)
        if changed:
            self._snapshot_after(summary, transaction.paths(journal))
        return self._ended("completed" if changed else "unchanged", ops, summary, record=record)

    def _snapshot_after(self, summary: str, changed: Sequence[Path]) -> None:
        """The run is done and covered by now: a history that fails is reported, and catches up at the next
        scan."""
        source = f"{self._request.trigger}, {self._engine.name}"
        try:
            self._parts.snapshots.record(
                actor="dream", source=source, subject=summary, run_id=self._record.id, dirty=changed
            )
        except MendableError as error:
            self._say("history", f"The history after the run was not written. {error}", level="warning")

    def _prepare(
        self, overlay: DreamOverlay, ops: tuple[Mapping[str, Any], ...], coverage: Mapping[str, Any] | None
    ) -> tuple[Transaction, Journal]:
        """The journal of what the overlay amounts to; also kept for runs that are not applied, for review."""
        transaction = self._parts.transaction_for(self._record.id, "dream")
        usage_before, usage_after = overlay.usage_delta(ops, now=self._record.started_at)
        journal = transaction.prepare(
            overlay.changes(),
            emptied=overlay.emptied(),
            usage_before=usage_before,
            usage_after=usage_after,
            coverage=coverage,
        )
        return transaction, journal

    def _held(
        self, overlay: DreamOverlay, ops: tuple[Mapping[str, Any], ...], retention: Retention
    ) -> RunResult:
        self._prepare(overlay, ops, None)
        if retention.blocked_deletes:
            why = f"it would delete lines of {', '.join(retention.blocked_deletes)} that stand nowhere else"
        else:
            worst = max(retention.loss_percent, key=lambda scope: retention.loss_percent[scope])
            why = f"it would lose {retention.loss_percent[worst]:.0f} % of the lines in {worst} memory"
        note = tuple(
            {**op, "applied": False, "note": "held for review"} if op["applied"] else op for op in ops
        )
        return self._ended(
            "held", note, f"Held for review: {why}.", "held", "Review the run; nothing was changed."
        )

    def _coverage_record(self, summary: str, ops: tuple[Mapping[str, Any], ...]) -> dict[str, Any]:
        return {
            "lastRunAt": self._record.started_at,
            "trigger": self._request.trigger,
            "summary": summary,
            "ops": [dict(op) for op in ops],
        }

    def _ended(
        self,
        outcome: Outcome,
        ops: tuple[Mapping[str, Any], ...],
        summary: str,
        reason: str = "",
        next_step: str = "",
        record: Mapping[str, Any] | None = None,
    ) -> RunResult:
        parts = self._parts
        try:
            self._record = parts.runs.finish(
                self._record, outcome=outcome, ended_at=parts.clock(), summary=summary, reason=reason, ops=ops
            )
            self._say(outcome, summary, level="info" if outcome in ("completed", "unchanged") else "warning")
        except MendableError as error:
            summary = f"{summary} {error}"
        return RunResult(self._record.id, outcome, summary, reason, ops, record or {}, next_step)

    def _say(self, event: str, text: str, *, level: str = "info") -> None:
        self._parts.activity.add(
            f"dream.{event}",
            level=level,
            text=text,
            home=self._record.home_root,
            workspace_id=self._record.workspace_id,
            run_id=self._record.id,
            details={
                "trigger": self._record.trigger,
                "engine": self._record.engine,
                "dryRun": self._record.dry_run,
            },
        )


def _not_applied(ops: tuple[Mapping[str, Any], ...]) -> tuple[Mapping[str, Any], ...]:
    """The journal of a run that did not come to pass: nothing in it was applied."""
    return tuple(
        {**op, "applied": False, "note": "the run did not complete"} if op["applied"] else op for op in ops
    )
