"""One dream under its lease: the engine's work on an overlay, the retention rail, the transaction, the end.

A run ends in exactly one outcome, which its record says. The ops in it are marked as applied only if the
transaction came to its end; what a failed run left behind is named. A memory that somebody writes between our
reading and our writing it sends the run back to its start, once. A run that lost its lease touches nothing
more and leaves its record to whoever recovers it.

Threading: one run, one event loop; blocking, so never on the GUI thread. Failure: see `DreamRun.go`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reverie.agents.base import Home
from reverie.agents.scopes import Scope, ScopeContext
from reverie.clock import Clock
from reverie.errors import Conflict, UserError
from reverie.files.lease import Leases
from reverie.jobs.consolidate.agent_lock import AgentLocks
from reverie.jobs.consolidate.coverage import CoverageLog, Trigger
from reverie.jobs.consolidate.engine import Engine
from reverie.jobs.consolidate.overlay import DreamOverlay
from reverie.jobs.consolidate.progress import DreamProgress
from reverie.llm.client import spent
from reverie.memory.recording import Snapshots
from reverie.memory.usage import UsageLog
from reverie.memory.write_guard import WriteGuard
from reverie.runs.activity import Activity
from reverie.runs.guard import Guard, Retention, judge_retention
from reverie.runs.journal import Journal
from reverie.runs.limits import STOPS, RunLimits, Stop, stop_of
from reverie.runs.record import SUCCEEDED, Outcome, RunRecord, RunStore, not_applied
from reverie.runs.recovery import Recovery
from reverie.runs.transaction import LeaseLost, Recovered, Transaction
from reverie.text.summaries import with_write_protected

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
class RunResult:
    """How a run ended. `record` is the coverage record as saved (or as it would be, for a dry run). `usage`
    None: no model was asked, or it did not say; `cost_usd` None: the price is not known."""

    run_id: str
    outcome: Outcome
    summary: str
    reason: str = ""
    ops: tuple[Mapping[str, Any], ...] = ()
    record: Mapping[str, Any] = field(default_factory=dict)
    next_step: str = ""
    usage: Mapping[str, int] | None = None
    cost_usd: float | None = None

    @property
    def succeeded(self) -> bool:
        return self.outcome in SUCCEEDED


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
    guard: WriteGuard
    recovery: Recovery
    transaction_for: Callable[[str, str], Transaction]
    save_trace: Callable[[str, Mapping[str, Any]], object]
    agent_locks: AgentLocks
    clock: Clock
    time_limit_s: float = 300.0
    max_loss_percent: float = 20.0


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run came to its end. `changed`: the files it changed in the home; `undone`: how far a run that
    failed half-way was put back."""

    outcome: Outcome
    ops: tuple[Mapping[str, Any], ...]
    summary: str
    reason: str = ""
    next_step: str = ""
    record: Mapping[str, Any] = field(default_factory=dict)
    changed: tuple[Path, ...] = ()
    undone: Recovered = field(default_factory=lambda: Recovered(False))


class DreamRun:
    """One dream under its lease."""

    def __init__(
        self,
        parts: DreamDependencies,
        request: DreamRequest,
        engine: Engine,
        limits: RunLimits,
        progress: Callable[[DreamProgress], None],
    ) -> None:
        self._parts = parts
        self._request = request
        self._engine = engine
        self._limits = limits
        self._progress = progress
        self._guard: Guard | None = None
        self._transaction: Transaction | None = None
        started = parts.clock()
        self._record = RunRecord(
            id=parts.runs.new_id(started),
            kind="dream",
            home_id=parts.home_id,
            home_root=str(parts.home.root),
            workspace_id=request.context.workspace_id,
            project_path=request.context.project_path,
            trigger=request.trigger,
            engine=engine.name,
            started_at=started,
            dry_run=request.dry_run,
        )

    @property
    def id(self) -> str:
        """The run's id, also before it began."""
        return self._record.id

    def require_lease(self) -> None:
        """Raises `LeaseLost` where the dream lease may be another's by now."""
        self._limits.require_lease()

    async def go(self) -> RunResult:
        """Exactly one outcome, whatever happens; a bug of ours is recorded as a failed run and raised."""
        try:
            self._record = self._parts.runs.begin(self._record)
            self._say("started", f"Consolidation started ({self._request.trigger}, {self._engine.name}).")
            end = await self._attempts()
        except LeaseLost as error:
            return self._left_to_recovery(error)
        except STOPS as error:
            end = self._stopped(stop_of(error, self._parts.time_limit_s))
        except BaseException as error:
            self._finish(self._stopped(stop_of(error, self._parts.time_limit_s)))
            raise
        result = self._finish(end)
        return self._with_history(result, end) if end.changed else result

    async def _attempts(self) -> RunEnd:
        """The dream; once more, on what is there then, if all that went wrong is that somebody wrote a memory
        between our reading and our writing it."""
        try:
            return await self._attempt()
        except Conflict as conflict:
            undone = self._undone()
            if undone.left or undone.pending:
                raise
            self._say("again", f"{conflict.title} Planned again on what is there now.")
        return await self._attempt()

    async def _attempt(self) -> RunEnd:
        self._transaction = None
        overlay = DreamOverlay(self._parts.home, self._request.context, self._parts.usage)
        # A final pass hands on what a workspace learned; it takes nothing from the project.
        undeletable = frozenset({Scope.PROJECT}) if self._request.trigger == "archive" else frozenset[Scope]()
        self._guard = overlay.guard(
            budget=MUTATION_BUDGET, dry_run=self._request.dry_run, undeletable=undeletable
        )
        summary = await self._engine.dream(
            overlay, self._guard, limits=self._limits.limits, progress=self._progress
        )
        summary = with_write_protected(summary, overlay.write_protected())
        retention = judge_retention(*overlay.texts_before_and_after())
        # After the verdict: the line of an index is no text of its own.
        followed = overlay.follow(self._guard.ops)
        if followed or "followed" in self._record.details:
            details = {**self._record.details, "followed": list(followed)}
            self._record = replace(self._record, details=details)
        if retention.blocked_deletes or retention.exceeds(self._parts.max_loss_percent):
            return self._held(overlay, self._guard.ops, retention)
        if self._request.dry_run:
            return self._shown(overlay, self._guard.ops, summary)
        return self._applied(overlay, self._guard.ops, summary)

    def _shown(self, overlay: DreamOverlay, ops: tuple[Mapping[str, Any], ...], summary: str) -> RunEnd:
        _transaction, journal = self._prepare(overlay, ops, None)
        outcome: Outcome = "completed" if journal.intents else "unchanged"
        return RunEnd(outcome, ops, summary, record=self._coverage_record(summary, ops))

    def _applied(self, overlay: DreamOverlay, ops: tuple[Mapping[str, Any], ...], summary: str) -> RunEnd:
        record = self._coverage_record(summary, ops)
        self._progress(DreamProgress("applying"))
        pinned = overlay.pinned_meanwhile()
        if pinned:
            raise Conflict(f"{', '.join(pinned)} was pinned while the run was at work.")
        transaction, journal = self._prepare(overlay, ops, record)
        self._transaction = transaction
        transaction.apply(journal, commit=lambda: self._cover(record), check=self._limits.check)
        outcome: Outcome = "completed" if journal.intents else "unchanged"
        return RunEnd(outcome, ops, summary, record=record, changed=tuple(transaction.paths(journal)))

    def _cover(self, record: Mapping[str, Any]) -> None:
        """Save the coverage record: the commit point. A save that fails after it took effect counts."""
        context, coverage = self._request.context, self._parts.coverage
        ids = {"workspace_id": context.workspace_id, "project_path": context.covered_project}
        try:
            coverage.save(record, **ids)
        except UserError:
            if not coverage.holds(record, **ids):
                raise

    def _with_history(self, result: RunResult, end: RunEnd) -> RunResult:
        """The history after. The run is done and covered by now: a history that fails is told, and catches up
        at the next scan."""
        source = f"{self._request.trigger}, {self._engine.name}"
        try:
            self._parts.snapshots.record(
                actor="dream", source=source, subject=end.summary, run_id=self._record.id, dirty=end.changed
            )
        except UserError as error:
            trouble = f"The history after the run was not written. {error}"
            try:
                self._say("history", trouble, level="warning")
            except UserError as silent:
                trouble = f"{trouble} {silent}"
            return replace(result, summary=f"{result.summary} {trouble}")
        return result

    def _prepare(
        self, overlay: DreamOverlay, ops: tuple[Mapping[str, Any], ...], coverage: Mapping[str, Any] | None
    ) -> tuple[Transaction, Journal]:
        """The journal of what the overlay amounts to; without coverage it is only kept for review."""
        transaction = self._parts.transaction_for(self._record.id, "dream")
        usage_before, usage_after = overlay.usage_delta(ops, now=self._record.started_at)
        journal = transaction.prepare(
            overlay.changes(),
            emptied=overlay.emptied(),
            usage_before=usage_before,
            usage_after=usage_after,
            coverage=coverage,
            for_review=coverage is None,
        )
        return transaction, journal

    def _held(
        self, overlay: DreamOverlay, ops: tuple[Mapping[str, Any], ...], retention: Retention
    ) -> RunEnd:
        self._prepare(overlay, ops, None)
        if retention.blocked_deletes:
            why = f"it would delete lines of {', '.join(retention.blocked_deletes)} that stand nowhere else"
        else:
            worst = max(retention.loss_percent, key=lambda scope: retention.loss_percent[scope])
            why = f"it would lose {retention.loss_percent[worst]:.0f} % of the lines in {worst} memory"
        return RunEnd(
            "held",
            not_applied(ops, "held for review"),
            f"Held for review: {why}.",
            "held",
            "Review the run; nothing was changed.",
        )

    def _coverage_record(self, summary: str, ops: tuple[Mapping[str, Any], ...]) -> dict[str, Any]:
        record: dict[str, Any] = {
            "lastRunAt": self._record.started_at,
            "trigger": self._request.trigger,
            "summary": summary,
            "ops": [dict(op) for op in ops],
        }
        usage = self._engine.account().usage
        if usage is not None:
            record["usage"] = {"inputTokens": usage.input, "outputTokens": usage.output}
        return record

    def _stopped(self, stop: Stop) -> RunEnd:
        """The end of a run that did not come to pass, with what is left of it in the home, if anything."""
        outcome, why, reason, next_step = stop
        undone = self._undone()
        left = ", ".join(undone.left)
        left = f" Left as somebody changed them meanwhile: {left}." if left else ""
        if undone.pending:
            summary = f"{why}; not all of it could be put back yet: {', '.join(undone.pending)}.{left}"
            outcome, next_step = "interrupted", "Bring back what is missing, then run it again."
        elif undone.left:
            summary = f"{why}; what was still the run's own was put back.{left}"
        else:
            summary = f"{why}; nothing was changed."
        ops = not_applied(self._ops(), "the run did not complete", left=undone.left)
        return RunEnd(outcome, ops, summary, reason, next_step, undone=undone)

    def _ops(self) -> tuple[Mapping[str, Any], ...]:
        return () if self._guard is None else self._guard.ops

    def _undone(self) -> Recovered:
        return (None if self._transaction is None else self._transaction.undone) or Recovered(False)

    def _left_to_recovery(self, error: LeaseLost) -> RunResult:
        """Whoever has the lease now recovers this run, or has done so: its record is theirs."""
        ops = not_applied(self._ops(), "the run was interrupted")
        return RunResult(
            self._record.id, "interrupted", str(error), error.reason, ops, next_step=error.next_step
        )

    def _finish(self, end: RunEnd) -> RunResult:
        parts, summary, account = self._parts, end.summary, self._engine.account()
        usage, cost = spent(account)
        details = dict(self._record.details)
        if self._guard is not None:
            details["reasons"] = list(self._guard.reasons)
        if usage is not None:
            details["costUsd"] = cost
        if end.undone.pending:
            details["pending"] = list(end.undone.pending)
        try:
            self._record = parts.runs.finish(
                self._record,
                outcome=end.outcome,
                ended_at=parts.clock(),
                summary=summary,
                reason=end.reason,
                ops=end.ops,
                usage=usage,
                conflicts=end.undone.left,
                details=details,
            )
            if self._record.outcome != end.outcome:
                return self._settled_by_another(account.trace)
            level = "info" if end.outcome in SUCCEEDED else "warning"
            self._say(end.outcome, summary, level=level)
            if account.trace is not None:
                parts.save_trace(self._record.id, self._trace(account.trace))
        except UserError as error:
            summary = f"{summary} {error}"
        return RunResult(
            self._record.id, end.outcome, summary, end.reason, end.ops, end.record, end.next_step, usage, cost
        )

    def _settled_by_another(self, trace: Mapping[str, Any] | None) -> RunResult:
        """This process was suspended, and another one recovered the run: what that says of it is true."""
        if trace is not None:
            self._parts.save_trace(self._record.id, self._trace(trace))
        found = self._record
        next_step = "" if found.outcome in SUCCEEDED else "Run it again."
        return RunResult(found.id, found.outcome, found.summary, found.reason, found.ops, next_step=next_step)

    def _trace(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """The engine's trace, with what only the run knows."""
        ours = {**document.get("reverie", {}), "runId": self._record.id, "runOutcome": self._record.outcome}
        return {**document, "workspaceId": self._record.workspace_id or "", "reverie": ours}

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
