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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from reverie.agents.base import Home
from reverie.agents.capabilities import AgentLock, LockBefore
from reverie.agents.scopes import Scope, ScopeContext, ScopeUnavailable
from reverie.claims.checking import CheckedClaim
from reverie.clock import HOUR_MS, Clock
from reverie.errors import Busy, Conflict, StoreError, UserError
from reverie.files.atomic import LEFT_OVER_AFTER_S
from reverie.files.directory import ensure_private
from reverie.files.rooted import RootedDirectory
from reverie.files.sidecar import Sidecar
from reverie.jobs.consolidate.card import StaleStatements, report_card
from reverie.jobs.consolidate.coverage import CoverageLog, Trigger
from reverie.jobs.consolidate.engine import Engine
from reverie.jobs.consolidate.overlay import DreamOverlay, NoticedPair
from reverie.jobs.model_work import costs_of
from reverie.memory.write_guard import ReadOnlyStore, WriteGuard, refuse_while_agent_writes, write_locks
from reverie.runs.activity import Activity
from reverie.runs.card import ReportCard
from reverie.runs.guard import Guard
from reverie.runs.record import Op, Progress, RunRecord, RunResult, RunStore, not_applied
from reverie.runs.retention import Retention, judge_retention
from reverie.runs.run import Costs, Holding, Job, Plan, Run, RunContext, RunDependencies, RunEnd
from reverie.runs.stops import TimedOut
from reverie.runs.transaction import LeaseLost
from reverie.text.summaries import with_pairs, with_write_protected
from reverie.values import Struct, replace

# The agent's own lock around a dream: taken before it, given back after it, put back after a kill.
#
# A home whose agent consolidates, too, has a file by which it tells (`Home.agent_lock`). Before a dream takes
# it, how it stood is kept in Reverie's own directory, so that recovery, whatever kind of run comes next,
# knows what to put back (`settle`, under the dream lease, once the killed run is settled). A run by a model
# that changed something leaves the present as the last consolidation. Any other run restores the lock, so
# that the agent's own consolidation comes when it would have come: a run that changed nothing, one that
# failed, and one by rules, which do much less than the agent. A preview takes no lock: it changes nothing.
#
# Threading: any thread but the GUI's. Failure: `Busy` where the agent is at work; what goes wrong with giving
# back is noted in Activity, as the run is over by then.


RULES = "rules"
"""The engine that thinks by fixed rules."""
_ENTRY = "held"


class AgentLocks:
    """The agent's locks of one home. `kept`: the file that says how the one we hold stood before."""

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
        """Hold it for a run, which begins only then. `check` raises where the dream lease is lost. Raises
        `Busy` while the agent or another dream holds it."""
        lock, holding = self._agent_lock(context), Holding()
        if lock is None:
            yield holding
            return
        self._guard.require_context(context)
        left = self._sidecar.read().data.get(_ENTRY)
        check()  # what is kept until now is what was left over; what comes from here on is another dream's
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
        """Give back what a killed run held. The caller has the dream lease and has recovered the run."""
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
        # No guard here: only a lock that is still ours is put back, also where the store has become unknown
        # since. A refusal would stop the runs of every other project.
        record = self._record(run_id)
        changed = record is not None and record.outcome == "completed"
        self._give_back(lock, before, holder, run_id, changed=changed)

    def _give_back(
        self, lock: AgentLock, before: LockBefore, holder: int, run_id: str, *, changed: bool
    ) -> None:
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
        """The lock a run took; None where its record or its store is gone."""
        try:
            context = self._context_of(run_id)
        except UserError:
            return None
        return self._agent_lock(context)

    def _agent_lock(self, context: ScopeContext) -> AgentLock | None:
        rules = self._home.consolidation
        return None if rules is None else rules.agent_lock(context)

    def _context_of(self, run_id: str) -> ScopeContext:
        run = self._runs.load(run_id)
        return self._home.context(
            workspace_id=run.workspace_id, project_path=run.project_path, project_given=True
        )

    def _record(self, run_id: str) -> RunRecord | None:
        try:
            return self._runs.load(run_id)
        except StoreError:
            return None

    def _keep(self, entry: Mapping[str, Any], left: object) -> None:
        """Keep how the lock stood. Raises `Busy` where something else than `left` is kept: this process was
        suspended, and another dream has begun."""
        ensure_private(self._kept.parent)

        def change(raw: dict[str, Any]) -> dict[str, Any]:
            if raw.get(_ENTRY) != left:
                raise Busy(
                    "Another consolidation has begun.", next_step="Wait until it is done, then try again."
                )
            return {_ENTRY: dict(entry)}

        self._sidecar.update(change)

    def _forget(self, run_id: str | None) -> None:
        """Keep nothing more of this run (None: of what is no entry); what is another's stays."""

        def change(raw: dict[str, Any]) -> dict[str, Any]:
            found = _read(raw.get(_ENTRY))
            return {} if (None if found is None else found[0]) == run_id else raw

        self._sidecar.update(change)

    def _tell(self, run_id: str, error: UserError) -> None:
        self._activity.add(
            "dream.agent-lock",
            level="warning",
            text=f"The agent's own lock was not given back. {error}",
            home=str(self._home.root),
            workspace_id=None,
            run_id=run_id,
        )


def _entry(run_id: str, holder: int, before: LockBefore) -> dict[str, Any]:
    body = None if before.body is None else before.body.hex()
    # As text: JSON's numbers do not hold nanoseconds everywhere.
    return {"runId": run_id, "holder": holder, "body": body, "mtimeNs": str(before.mtime_ns)}


def _read(entry: object) -> tuple[str, int, LockBefore] | None:
    """Run, holder and state before; None for what is no entry of ours."""
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
    """What to dream about, why, and how. `trigger` is one of the agent's four. `debounce` off: whoever asks
    has decided already that it is time, as a sweep has, and a harvest whose inbox waits."""

    context: ScopeContext
    trigger: Trigger = "manual"
    engine: str = "rules"
    dry_run: bool = False
    debounce: bool = True


class DreamDependencies(RunDependencies, frozen=True):
    """What a dream works on, of one home. `max_loss_percent` is the retention rail's setting."""

    coverage: CoverageLog
    agent_locks: AgentLocks
    stale: Callable[[ScopeContext, Callable[[], None]], Sequence[CheckedClaim]] = lambda _context, _check: ()
    """What the memories of a context say of their project that is not true any more. The second may raise to
    stop."""
    notice: Callable[[ScopeContext, Sequence[NoticedPair]], None] = lambda _context, _pairs: None
    """Keeps what a model left to a person."""
    time_limit_s: float = 300.0
    max_loss_percent: float = 20.0


class Dreamt(NamedTuple):
    """One attempt: what it amounts to, which files only follow, and the verdicts on it."""

    overlay: DreamOverlay
    retention: Retention
    followed: tuple[str, ...]
    card: ReportCard


class DreamJob(Job[Dreamt]):
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
        self._attempts, self._trouble = 1, ""
        self._stale: Sequence[CheckedClaim] = ()
        self._noticed: Sequence[NoticedPair] = ()
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

    async def think(self, run: RunContext) -> Dreamt | Plan:
        """The engine's work; a model whose card fails works once more with the faults named. What comes of
        that counts, unless it fails: then the first attempt waits for a person."""
        run.progress(Progress("reading"))
        self._stale = self._parts.stale(self._request.context, run.limits.check)
        first = await self._dream(run)
        if not first.card.fails or self.engine == RULES:
            return first
        guard, summary = self._guard, self._summary
        run.progress(Progress("again"))
        self._attempts += 1
        try:
            return await self._dream(run, fault_words(first.card))
        except LeaseLost:
            raise  # whoever has the lease now settles this run
        except (UserError, TimedOut) as error:
            self._trouble = str(error) or "It took too long."
            self._guard, self._summary = guard, summary
            return first

    async def _dream(self, run: RunContext, faults: Sequence[str] = ()) -> Dreamt:
        """One attempt, on a fresh overlay."""
        overlay = DreamOverlay(self._parts.home, self._request.context, self._parts.usage, self._stale)
        # A final pass hands on what a workspace learned; it takes nothing from the project.
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
        before, after = overlay.texts_before_and_after()
        # A line with what is true now in place of what was is the same line.
        corrected = StaleStatements(self._stale).corrected_texts
        retention = judge_retention(corrected(before), corrected(after))
        # After the verdict: the line of an index is no text of its own.
        _before, after = overlay.graded_texts()
        followed = overlay.follow(self._guard.ops)
        before, final = overlay.graded_texts()
        card = report_card(
            *(before, after),
            final=final,
            loaded=overlay.loaded,
            stale=self._stale,
            check=run.limits.check,
        )
        return Dreamt(overlay, retention, followed, card)

    def accept(self, thought: Dreamt, run: RunContext) -> Plan:
        """Hold what would lose lines, or fails its card; else what the overlay amounts to."""
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

    def _details(self, followed: Sequence[str], card: ReportCard) -> dict[str, Any]:
        details: dict[str, Any] = {"card": card.as_json()}
        if followed or self._has_followed:
            details["followed"] = list(followed)
        if self._attempts > 1:
            details |= {"attempts": self._attempts} | ({"trouble": self._trouble} if self._trouble else {})
        return details

    def commit(self, plan: Plan, _record: RunRecord) -> None:
        """Save the coverage record: the commit point."""
        if plan.coverage is not None:
            save_coverage(self._parts.coverage, self._request.context, plan.coverage)

    def costs(self) -> Costs:
        """What the engine used."""
        return costs_of(self._engine.account())

    def ops(self) -> tuple[Op, ...]:
        """What was asked of the guard."""
        return () if self._guard is None else self._guard.ops

    def found(self) -> Mapping[str, Any]:
        """The engine's reasons for each op."""
        return {} if self._guard is None else {"reasons": list(self._guard.reasons)}

    def ended(self, end: RunEnd, record: RunRecord) -> None:
        """Keep what is left to a person, also where nothing was written."""
        if self._noticed:
            self._parts.notice(self._request.context, self._noticed)

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


_FAULTS_NAMED = 40


def fault_words(card: ReportCard) -> tuple[str, ...]:
    """What a card found, a line each, for whoever does it again."""
    lines = [f"lost, {each.path} line {each.line}: {each.text}" for each in card.lost]
    lines += [
        f"changed ({each.what}), {each.path} line {each.line}: {each.before} -> {each.after}"
        for each in card.changed
    ]
    lines += [f"no note says this, {each.path} line {each.line}: {each.text}" for each in card.invented]
    lines += [f"leads nowhere now, {each.path} line {each.line}: {each.target}" for each in card.broken_links]
    return tuple(lines[:_FAULTS_NAMED])


def _why_held(retention: Retention, *, too_much: bool) -> str:
    if not too_much and not retention.blocked_deletes:
        return "not every fact would stay as it is"
    if retention.blocked_deletes:
        return f"it would delete lines of {', '.join(retention.blocked_deletes)} that are nowhere else"
    worst = max(retention.loss_percent, key=lambda scope: retention.loss_percent[scope])
    return f"it would lose {retention.loss_percent[worst]:.0f} % of the lines in {worst} memory"


def skipped(
    parts: DreamDependencies, workspace_id: str | None, trigger: str, refusal: UserError, kind: str = "dream"
) -> RunResult:
    """The result of a run that did not begin, noted in Activity."""
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
        """One dream, on an event loop of its own: for threads and commands that have none. Refused
        (`skipped`) with the reason while another one runs on this home."""
        request = replace(request, context=request.context.for_dreams())
        job = DreamJob(self._parts, request, engine)
        return asyncio.run(Run(self._parts, job, cancel=cancel, progress=progress).go())

    def require_writable(self, trigger: Trigger) -> None:
        """Raises `ReadOnlyStore`, noted in Activity, where what all workspaces share is read-only."""
        try:
            self._parts.guard.require_context(self._parts.home.context())
        except ReadOnlyStore as refusal:
            skipped(self._parts, None, trigger, refusal)
            raise
