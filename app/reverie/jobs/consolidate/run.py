"""The consolidation run: an engine works on a copy-on-write overlay, and its result is checked and applied.

A job on the common run (`runs.run`). The run holds the home's consolidation lease from beginning to end. The
engine works through the guard; the retention check and the report card judge the result. If another program
writes a memory between our reading and our writing, the run starts over, once. A coverage record is written
only if the run completed or found nothing to do. Rules: formats/mux.md sections 9 and 10.

The command line and the window run the same code.

Threading: one run, one event loop; blocking, so never on the GUI thread. Failure: a run ends in exactly one
outcome and never raises for a problem that a person can fix.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from reverie.agents.base import Home
from reverie.agents.capabilities import AgentLock, LockBefore
from reverie.agents.scopes import Scope, ScopeContext, ScopeUnavailable
from reverie.claims.checking import CheckedClaim
from reverie.clock import HOUR_MS, Clock
from reverie.errors import Busy, Conflict, StoreError, Unavailable, UserError
from reverie.files.atomic import LEFT_OVER_AFTER_S
from reverie.files.directory import ensure_private
from reverie.files.rooted import RootedDirectory
from reverie.files.sidecar import Sidecar
from reverie.jobs.consolidate.card import StaleStatements, report_card
from reverie.jobs.consolidate.coverage import CoverageLog, Trigger
from reverie.jobs.consolidate.decision import ProposalOverlay, decide
from reverie.jobs.consolidate.engine import Engine
from reverie.jobs.consolidate.overlay import DreamOverlay, NoticedPair
from reverie.jobs.consolidate.suggestions import Proposal
from reverie.jobs.model_work import costs_of
from reverie.memory.listing import no_check
from reverie.memory.scope_files import FileChange
from reverie.memory.write_guard import ReadOnlyStore, WriteGuard, refuse_while_agent_writes, write_locks
from reverie.runs.activity import Activity
from reverie.runs.card import ReportCard
from reverie.runs.guard import Guard
from reverie.runs.record import Op, Progress, RunKind, RunRecord, RunResult, RunStore, not_applied
from reverie.runs.retention import Retention, judge_retention
from reverie.runs.run import (
    Costs,
    Holding,
    Job,
    Plan,
    Run,
    RunContext,
    RunDependencies,
    RunEnd,
    Thought,
)
from reverie.runs.stops import TimedOut
from reverie.runs.transaction import LeaseLost
from reverie.text.summaries import with_pairs, with_write_protected
from reverie.values import Struct, columns, replace

RULES = "rules"
"""The name of the engine that consolidates by fixed rules."""
_ENTRY = "held"


class AgentLocks:
    """The agent's own locks of one home, which Reverie's runs acquire.

    An agent that consolidates by itself has a lock file that shows when it is at work (`AgentLock`). Before a
    run acquires the lock, the state of the lock is saved in the file `kept` in Reverie's own directory, so
    that it can be restored after a kill (`settle`), whatever kind of run comes next. The agent takes the
    lock's time for the time of its last consolidation. A run by a model that changed something leaves the
    present time there. After any other run the earlier state is restored, so that the agent's own
    consolidation is not delayed: a run that changed nothing, one that failed, and one by rules, which do much
    less than the agent. A dry run acquires no lock, because it changes nothing.

    Threading: any thread but the GUI's. Failure: `Busy` while the agent is at work; if releasing the lock
    fails, this is only reported in Activity, because the run is over by then.
    """

    def __init__(
        self,
        home: Home,
        runs: RunStore,
        activity: Activity,
        kept: Path,
        *,
        guard: WriteGuard,
        clock: Clock,
    ) -> None:
        self._guard = guard
        self._home = home
        self._runs = runs
        self._activity = activity
        self._kept = kept
        self._sidecar = Sidecar(kept, lock_dir=guard.lock_dir, clock=clock)

    @contextlib.contextmanager
    def hold(
        self, context: ScopeContext, run_id: str, check: Callable[[], None] = lambda: None
    ) -> Iterator[Holding]:
        """Context manager: hold the agent's lock of the stores of `context` during the run `run_id`.

        Yields a `Holding`, in which the run states whether it changed something. `check` is called before the
        lock is acquired, and raises if the lease of consolidations was lost. Raises `Busy` while the agent or
        another run holds the lock. Acquires nothing if the agent has no such lock.
        """
        lock, holding = self._agent_lock(context), Holding()
        if lock is None:
            yield holding
            return
        self._guard.require_context(context)
        left = self._sidecar.read().data.get(_ENTRY)
        # The lease is still ours, so `left` is left over from a killed run. If the file differs from it
        # later, another run has begun, which `_keep` detects.
        check()
        before = lock.look()
        self._keep(_entry(run_id, lock.holder, before), left)
        try:
            lock.take(before)
        except BaseException:
            self._forget(run_id)
            raise
        try:
            yield holding
        finally:
            self._give_back(lock, before, lock.holder, run_id, changed=holding.changed)

    def settle(self) -> None:
        """Release or restore the lock that a killed run still holds.

        The caller holds the consolidation lease and has recovered the run.
        """
        read = self._sidecar.read()
        entry = read.data.get(_ENTRY)
        if entry is None:
            return
        found = _read(entry)
        lock = None if found is None else self._lock_of(found[0])
        if found is None or lock is None:
            self._forget(None if found is None else found[0])
            return
        run_id, holder, before = found
        # No write guard here: only a lock that is still ours is restored, even if the store's format became
        # unknown since. A refusal would stop the runs of every other project.
        record = self._record(run_id)
        changed = record is not None and record.outcome == "completed"
        self._give_back(lock, before, holder, run_id, changed=changed)

    def _give_back(
        self, lock: AgentLock, before: LockBefore, holder: int, run_id: str, *, changed: bool
    ) -> None:
        """Release the lock after a change by a model, otherwise restore its state from before the run.

        `before`: that state. `changed`: True if the run changed something. Also deletes the saved state.
        Errors are reported in Activity.
        """
        try:
            try:
                record = self._record(run_id) if changed else None
                by_rules = record is not None and record.engine == RULES
                lock.done(holder) if changed and not by_rules else lock.put_back(before, holder)
            except Conflict as conflict:
                self._tell(run_id, conflict)
            self._forget(run_id)
        except UserError as error:
            self._tell(run_id, error)

    def _lock_of(self, run_id: str) -> AgentLock | None:
        """Return the agent's lock that the run with this id acquired; None if its record or store is gone."""
        try:
            run = self._runs.load(run_id)
            context = self._home.context(
                workspace_id=run.workspace_id, project_path=run.project_path, project_given=True
            )
        except UserError:
            return None
        return self._agent_lock(context)

    def _agent_lock(self, context: ScopeContext) -> AgentLock | None:
        rules = self._home.consolidation
        return None if rules is None else rules.agent_lock(context)

    def _record(self, run_id: str) -> RunRecord | None:
        try:
            return self._runs.load(run_id)
        except StoreError:
            return None

    def _keep(self, entry: Mapping[str, Any], left: object) -> None:
        """Save `entry`, the state that the lock had before the run.

        `left`: the saved state that this run found at its start. Raises `Busy` if the saved state is another
        one by now, that is, if this process was suspended and another run has started since.
        """
        ensure_private(self._kept.parent)

        def change(raw: dict[str, Any]) -> dict[str, Any]:
            if raw.get(_ENTRY) != left:
                raise Busy(
                    "Another consolidation has started.", next_step="Wait until it is done, then try again."
                )
            return {_ENTRY: dict(entry)}

        self._sidecar.update(change)

    def _forget(self, run_id: str | None) -> None:
        """Delete the saved state of this run, but not that of another run.

        If `run_id` is None, delete an entry that cannot be read.
        """

        def change(raw: dict[str, Any]) -> dict[str, Any]:
            found = _read(raw.get(_ENTRY))
            return {} if (None if found is None else found[0]) == run_id else raw

        self._sidecar.update(change)

    def _tell(self, run_id: str, error: UserError) -> None:
        self._activity.add(
            "dream.agent-lock",
            level="warning",
            text=f"The agent's own lock could not be released. {error}",
            home=str(self._home.root),
            workspace_id=None,
            run_id=run_id,
        )


def _entry(run_id: str, holder: int, before: LockBefore) -> dict[str, Any]:
    body = None if before.body is None else before.body.hex()
    # As text, because not every JSON reader has integers large enough for nanoseconds.
    return {"runId": run_id, "holder": holder, "body": body, "mtimeNs": str(before.mtime_ns)}


def _read(entry: object) -> tuple[str, int, LockBefore] | None:
    """Return the run id, the holder and the earlier state of the lock; None if `entry` is not valid."""
    if not isinstance(entry, dict):
        return None
    try:
        body = entry["body"]
        before = LockBefore(None if body is None else bytes.fromhex(body), int(entry["mtimeNs"]))
        return str(entry["runId"]), int(entry["holder"]), before
    except (KeyError, TypeError, ValueError):
        return None


DEBOUNCE_MS = 6 * HOUR_MS
MUTATION_BUDGET = 8


class DreamRequest(Struct, frozen=True):
    """The input of a consolidation: its context, its occasion and the name of its engine."""

    context: ScopeContext
    trigger: Trigger = "manual"
    """The occasion: one of the agent's four triggers."""
    engine: str = "rules"
    dry_run: bool = False
    """True to compute the changes without writing them."""
    debounce: bool = True
    """True to refuse a run within 6 hours of the last one.

    False if the caller has already decided that a run is due: a sweep, or a harvest with new entries in its
    inbox.
    """


class DreamDependencies(RunDependencies, frozen=True):
    """The services that a consolidation of one home needs."""

    coverage: CoverageLog
    agent_locks: AgentLocks
    stale: Callable[[ScopeContext, Callable[[], None]], Sequence[CheckedClaim]] = lambda _context, _check: ()
    """A function that returns the statements in a context's memories that its project disproves.

    The second argument is a function that is called repeatedly meanwhile, and may raise to stop.
    """
    notice: Callable[[ScopeContext, Sequence[NoticedPair]], None] = lambda _context, _pairs: None
    """A function that stores the pairs of lines that a model left for a person to decide."""
    time_limit_s: float = 300.0
    max_loss_percent: float = 20.0
    """The largest share of lines, in percent, that a scope may lose before the run is held for review."""


class Dreamt(NamedTuple):
    """The result of one attempt of an engine, with the verdicts on it.

    `overlay`: the changed copies of the memories. `retention`: whether too many lines are lost. `card`: the
    report card, which says which facts are lost or changed.
    """

    overlay: DreamOverlay
    retention: Retention
    followed: tuple[str, ...]
    """Memory paths of files that changed only to keep indexes and links valid."""
    card: ReportCard


class ConsolidationJob(Job[Thought]):
    """Base class of the jobs that consolidate the memories of one context, or prepare this."""

    kind: ClassVar[RunKind] = "dream"
    lease = "whole"
    begins = "before thinking"

    def __init__(self, parts: DreamDependencies, context: ScopeContext, *, trigger: str, engine: str) -> None:
        """Prepare a run on the memories of `context`; `engine`: the name of its engine."""
        self._parts = parts
        self._context = context
        self.workspace_id = context.workspace_id
        self.project_path = context.project_path
        self.trigger = trigger
        self.engine = engine
        self.time_limit_s = parts.time_limit_s

    def require(self) -> None:
        """Raise `ReadOnlyStore` if a store of the context must not be written."""
        self._parts.guard.require_context(self._context)

    def commit(self, plan: Plan, _record: RunRecord) -> None:
        """Save the coverage record; once it is saved, the run counts as done and is not rolled back.

        A coverage record says when and how a workspace was last consolidated.
        """
        if plan.coverage is not None:
            save_coverage(self._parts.coverage, self._context, plan.coverage)

    def refused(self, refusal: UserError) -> RunResult:
        """Report in Activity that the run was skipped; return the result."""
        return skipped(self._parts, self.workspace_id, self.trigger, refusal, self.kind)

    def say(self, event: str, text: str, record: RunRecord, *, level: str = "info") -> None:
        """Report an event of this run in Activity, the log of background work; `text` is for people."""
        name, details = f"{self.kind}.{event}", self.event_details(record)
        self._parts.activity.add_of_run(name, text, record, level, details)

    def event_details(self, record: RunRecord) -> dict[str, Any]:
        """Return the facts about the run that each of its events in Activity has."""
        return columns(record, "trigger engine dry_run")


class DreamJob(ConsolidationJob[Dreamt]):
    """One consolidation as a job: an engine changes a copy of the memories, which is judged and applied."""

    before = "before a dream"
    attempts = 2

    def __init__(self, parts: DreamDependencies, request: DreamRequest, engine: Engine) -> None:
        super().__init__(parts, request.context, trigger=request.trigger, engine=engine.name)
        self._request = request
        self._engine = engine
        self._guard: Guard | None = None
        self._summary = ""
        self._has_followed = False
        self._attempts, self._trouble = 1, ""
        self._stale: Sequence[CheckedClaim] = ()
        self._noticed: Sequence[NoticedPair] = ()
        self.dry_run = request.dry_run
        self.purpose = f"dream ({request.trigger})"

    def ready(self) -> None:
        """Raise `Busy` if the last run is too recent or the agent is writing; remove left-over files."""
        self._refuse_too_soon()
        if not self._request.dry_run:
            lock_dir = self._parts.guard.lock_dir
            refuse_while_agent_writes(self._parts.home, self._context, lock_dir=lock_dir)
            self._sweep_temporaries()

    def hold(self, run_id: str, check: Callable[[], None]) -> AbstractContextManager[Holding]:
        """Context manager: hold the agent's own lock; a dry run needs none."""
        if self._request.dry_run:
            return contextlib.nullcontext(Holding())
        return self._parts.agent_locks.hold(self._context, run_id, check)

    def begun(self, record: RunRecord) -> None:
        """Report in Activity that the run has started."""
        self.say("started", f"Consolidation started ({self.trigger}, {self.engine}).", record)

    async def think(self, run: RunContext) -> Dreamt | Plan:
        """Let the engine consolidate; if the report card finds faults, give a model a second attempt.

        The report card says which facts are lost or changed. The second attempt gets the faults of the first
        one, and its result is used. If it ends with an error, the result of the first attempt is used, and
        `accept` holds it for review.
        """
        run.progress(Progress("reading"))
        self._stale = self._parts.stale(self._context, run.limits.check)
        first = await self._dream(run)
        if not first.card.fails or self.engine == RULES:
            return first
        guard, summary = self._guard, self._summary
        run.progress(Progress("again"))
        self._attempts += 1
        try:
            return await self._dream(run, fault_words(first.card))
        except LeaseLost:
            raise  # The process that has the lease now recovers this run.
        except (UserError, TimedOut) as error:
            self._trouble = str(error) or "It took too long."
            self._guard, self._summary = guard, summary
            return first

    async def _dream(self, run: RunContext, faults: Sequence[str] = ()) -> Dreamt:
        """Let the engine work on a fresh copy of the memories; return the result with the verdicts on it.

        `faults`: the faults of the attempt before, one line each; empty for the first attempt.
        """
        overlay = DreamOverlay(self._parts.home, self._context, self._parts.usage, self._stale)
        # The final pass over an archived workspace adds to the project's memory and deletes nothing there.
        undeletable = frozenset({Scope.PROJECT}) if self._request.trigger == "archive" else frozenset[Scope]()
        self._guard = overlay.guard(
            budget=MUTATION_BUDGET, dry_run=self._request.dry_run, undeletable=undeletable
        )
        again = {"faults": faults} if faults else {}
        summary = await self._engine.dream(
            overlay, self._guard, limits=run.limits, progress=run.progress, **again
        )
        self._noticed = overlay.noticed
        self._summary = with_pairs(summary, len(self._noticed))
        before, after = overlay.preserved_texts()
        # A line in which only a stale value was replaced by the true one counts as the same line.
        corrected = StaleStatements(self._stale).corrected_texts
        retention = judge_retention(corrected(before), corrected(after))
        # Indexes are updated after the retention check, because their lines only repeat other text.
        _before, after = overlay.graded_texts()
        followed = overlay.follow(self._guard.ops)
        before, final = overlay.graded_texts()
        card = report_card(
            *(before, after), final=final, loaded=overlay.loaded, stale=self._stale, check=run.limits.check
        )
        return Dreamt(overlay, retention, followed, card)

    def accept(self, thought: Dreamt, run: RunContext) -> Plan:
        """Return the changes of the engine as a plan; doubtful changes are held for review by a person.

        They are if they lose too many lines, or if the report card finds lost or changed facts. Raises
        `Conflict` if a memory that the run deletes was pinned meanwhile.
        """
        overlay, retention, followed, card = thought
        ops = self.ops()
        summary = with_write_protected(self._summary, overlay.write_protected())
        self._has_followed = self._has_followed or bool(followed)
        usage_before, usage_after = overlay.usage_delta(ops, now=run.started_at)
        plan = Plan(
            summary,
            overlay.changes(),
            ops,
            emptied=overlay.emptied(),
            usage_before=usage_before,
            usage_after=usage_after,
            details=self._details(followed, card),
        )
        too_much = retention.exceeds(self._parts.max_loss_percent)
        if too_much or retention.blocked_deletes or card.fails:
            return replace(
                plan,
                summary=f"Held for review: {_why_held(retention, too_much=too_much)}.",
                ops=not_applied(ops, "held for review"),
                outcome="held",
                reason="held",
                next_step="Review the run. It has changed nothing so far.",
                for_review=True,
            )
        tokens = self._engine.account().usage
        usage = None if tokens is None else {"inputTokens": tokens.input, "outputTokens": tokens.output}
        record = coverage_record(summary, ops, usage, trigger=self.trigger, at=run.started_at)
        if self._request.dry_run:
            return replace(plan, for_review=True, record=record)
        pinned = overlay.pinned_meanwhile()
        if pinned:
            raise Conflict(f"Pinned during the run, so nothing was changed: {', '.join(pinned)}.")
        return replace(plan, coverage=record)

    def _details(self, followed: Sequence[str], card: ReportCard) -> dict[str, Any]:
        details: dict[str, Any] = {"card": card.as_json()}
        if followed or self._has_followed:
            details["followed"] = list(followed)
        if self._attempts > 1:
            details |= {"attempts": self._attempts} | ({"trouble": self._trouble} if self._trouble else {})
        return details

    def costs(self) -> Costs:
        """Return the costs of the engine so far."""
        return costs_of(self._engine.account())

    def ops(self) -> tuple[Op, ...]:
        """Return the changes that the engine requested from the guard, with their outcomes."""
        return () if self._guard is None else self._guard.ops

    def found(self) -> Mapping[str, Any]:
        """Return details for the run's record: the engine's reason for each operation."""
        return {} if self._guard is None else {"reasons": list(self._guard.reasons)}

    def ended(self, end: RunEnd, record: RunRecord) -> None:
        """Store the pairs of lines that the model left for a person, even if nothing was written."""
        if self._noticed:
            self._parts.notice(self._context, self._noticed)

    def _sweep_temporaries(self) -> None:
        """Remove the hidden files that killed writes left in the stores of this context.

        Acquires the agent's write lock. A file that an interrupted write had moved aside gets its name back.
        """
        for scope in Scope:
            with contextlib.suppress(ScopeUnavailable):
                root = self._parts.home.scope_root(self._context, scope)
                if not root.read_only:
                    with write_locks(self._parts.home, (root,), lock_dir=self._parts.guard.lock_dir):
                        RootedDirectory(root.directory).sweep(older_than_s=LEFT_OVER_AFTER_S)

    def _refuse_too_soon(self) -> None:
        """Raise `Busy` if the workspace was consolidated less than 6 hours ago.

        The triggers `manual` and `archive` are never refused.
        """
        request = self._request
        if request.trigger in ("manual", "archive") or request.context.workspace_id is None:
            return
        if not request.debounce:
            return
        record = self._parts.coverage.load().workspaces.get(request.context.workspace_id)
        if record is not None and self._parts.clock() - record["lastRunAt"] < DEBOUNCE_MS:
            raise Busy(
                "The workspace was consolidated less than 6 hours ago.",
                next_step="Wait, or start the consolidation yourself.",
                reason="debounced",
            )


def coverage_record(
    summary: str, ops: Sequence[Op], usage: Mapping[str, int] | None, *, trigger: str, at: int
) -> dict[str, Any]:
    """Return the coverage record of a run that started at `at` (UTC ms).

    `ops`: the operations of the run. `usage`: the tokens that the run used; None: the record has none.
    """
    record: dict[str, Any] = {
        "lastRunAt": at,
        "trigger": trigger,
        "summary": summary,
        "ops": [dict(op) for op in ops],
    }
    return record if usage is None else {**record, "usage": dict(usage)}


def save_coverage(coverage: CoverageLog, context: ScopeContext, record: Mapping[str, Any]) -> None:
    """Save a coverage record for the workspace and project of `context`.

    An error after the record was written is ignored.
    """
    ids = {"workspace_id": context.workspace_id, "project_path": context.covered_project}
    try:
        coverage.save(record, **ids)
    except UserError:
        if not coverage.holds(record, **ids):
            raise


_FAULTS_NAMED = 40


def fault_words(card: ReportCard) -> tuple[str, ...]:
    """Return the faults that a report card names as lines for the prompt of the next attempt, at most 40."""
    lines = [f"lost, {each.path} line {each.line}: {each.text}" for each in card.lost]
    lines += [
        f"changed ({each.what}), {each.path} line {each.line}: {each.before} -> {each.after}"
        for each in card.changed
    ]
    lines += [f"no note says this, {each.path} line {each.line}: {each.text}" for each in card.invented]
    lines += [f"broken link, {each.path} line {each.line}: {each.target}" for each in card.broken_links]
    return tuple(lines[:_FAULTS_NAMED])


def _why_held(retention: Retention, *, too_much: bool) -> str:
    """Return the reason why a result is held for review, as the end of a sentence.

    The sentence begins with "Held for review:". `too_much`: True if too many lines are lost.
    """
    if not too_much and not retention.blocked_deletes:
        return "some facts would change"
    if retention.blocked_deletes:
        return f"it would delete lines of {', '.join(retention.blocked_deletes)} that exist nowhere else"
    worst = max(retention.loss_percent, key=lambda scope: retention.loss_percent[scope])
    return f"it would lose {retention.loss_percent[worst]:.0f} % of the lines in {worst} memory"


def skipped(
    parts: DreamDependencies, workspace_id: str | None, trigger: str, refusal: UserError, kind: str = "dream"
) -> RunResult:
    """Report in Activity that a run did not start because of `refusal`; return a result that says so.

    `workspace_id`: the workspace of the run, None if it has none. `kind`: the kind of the run.
    """
    summary = str(refusal)
    parts.activity.add(
        f"{kind}.skipped",
        level="info",
        text=summary,
        home=str(parts.home.root),
        workspace_id=workspace_id,
        details={"reason": refusal.reason, "trigger": trigger},
    )
    return RunResult("", "skipped", summary, reason=refusal.reason, next_step=refusal.next_step)


def dream_lease_name(home_id: str) -> str:
    """Return the name of the lease for all consolidations of a home.

    There is one per home, because workspaces share the project's memory and global memory.
    """
    return f"dream:{home_id}"


class DreamService:
    """The service that runs the consolidations of one home."""

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
        """Run one consolidation on an event loop of its own, and return its result.

        For callers without an event loop. While another consolidation of this home is running, the result is
        `skipped`, with the reason. Raises `Unavailable` if only the agent itself may change its memories.
        """
        if not self._parts.home.consolidates:
            raise Unavailable(
                "Nothing was consolidated.",
                cause=f"Only {self._parts.home.label} may change its own records.",
                next_step="If a record is wrong, delete it in the tree.",
            )
        request = replace(request, context=request.context.for_dreams())
        job = DreamJob(self._parts, request, engine)
        return asyncio.run(Run(self._parts, job, cancel=cancel, progress=progress).go())

    def proposals(
        self, context: ScopeContext, check: Callable[[], None] = no_check
    ) -> ProposalOverlay | None:
        """Return an overlay for trying proposals; None if only the agent itself may change its memories.

        `check` is called for each memory and may raise to stop.
        """
        if not self._parts.home.consolidates:
            return None
        return ProposalOverlay(self._parts.home, context, self._parts.usage, check)

    def decide(self, context: ScopeContext, proposal: Proposal, expected: Sequence[FileChange]) -> RunResult:
        """Carry out a person's decision as a run, and return its result; see `decision.decide`.

        `expected`: all changes that the person has seen.
        """
        return decide(self._parts, self._parts.agent_locks.hold, context, proposal, expected)

    def require_writable(self, trigger: Trigger) -> None:
        """Raise `ReadOnlyStore`, and report it in Activity, if the global memory is read-only."""
        try:
            self._parts.guard.require_context(self._parts.home.context())
        except ReadOnlyStore as refusal:
            skipped(self._parts, None, trigger, refusal)
            raise
