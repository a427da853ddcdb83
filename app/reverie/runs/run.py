"""`Run`: the steps that all jobs which may change memories have in common.

Order (design.md section 3.4): lease; recovery of runs that were killed; the job's own conditions; history
before; the agent's own lock; durable record; `think`; `accept` (applies the rails); journal; compare-and-swap
of each file; usage; `commit`; `applied` mark; the job's state; record finished; trace; history after.

A job that holds the lease throughout (`lease = "whole"`) is refused while another one runs. A job that thinks
for minutes about a few files (`lease = "write"`) takes the lease only for writing, and waits for it.

Invariants: a run has exactly one outcome, and its record says which; ops are `applied` only if the
transaction completed; a run that lost its lease changes nothing more and leaves its record to recovery; a
failure after the commit point does not make a run a failed one.

Threading: one event loop per run; blocks on disk, never on the GUI thread. Failure: an error that a person
can fix becomes part of the result and is raised only if the job asks for that (`raises`); a bug is recorded
as a failed run and raised.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar

from reverie.agents.base import Home
from reverie.agents.scopes import COMPANIONS, ScopeRoot
from reverie.clock import Clock
from reverie.errors import Busy, Conflict, UserError, warned
from reverie.files.lease import Lease, LeaseHeld, Leases
from reverie.memory.listing import no_check
from reverie.memory.recording import Snapshots
from reverie.memory.scope_files import FileChange
from reverie.memory.usage import UsageLog
from reverie.memory.write_guard import WriteGuard
from reverie.runs.activity import Activity
from reverie.runs.journal import UsageDelta
from reverie.runs.record import (
    SUCCEEDED,
    Op,
    Outcome,
    Progress,
    RunKind,
    RunRecord,
    RunResult,
    RunStore,
    not_applied,
)
from reverie.runs.recovery import Recovery
from reverie.runs.stops import STOPS, RunLimits, StopCheck, stop_of
from reverie.runs.transaction import LeaseLost, Recovered, Transaction
from reverie.values import Struct, field, replace


class RunDependencies(Struct, frozen=True):
    """The services of one home that a run needs.

    `lease_name`: the name of the lease of the home's consolidations. `transaction_for(run_id, actor)` returns
    the transaction of a run; `save_trace(run_id, trace)` stores the trace of a run.
    """

    home: Home
    home_id: str
    leases: Leases
    lease_name: str
    runs: RunStore
    usage: UsageLog
    snapshots: Snapshots
    guard: WriteGuard
    recovery: Recovery
    transaction_for: Callable[[str, str], Transaction]
    clock: Clock
    activity: Activity
    save_trace: Callable[[str, Mapping[str, Any]], object]

    def new_record(
        self,
        kind: RunKind,
        started_at: int,
        *,
        workspace_id: str | None,
        project_path: str | None,
        trigger: str,
        engine: str,
        details: Mapping[str, Any],
    ) -> RunRecord:
        """Return the record of a new run of this home, without saving it.

        `workspace_id`, `project_path`: the workspace and the project of the run, None if it has none.
        `started_at` is in UTC ms. `trigger`: the occasion of the run; `engine`: the name of its engine;
        `details`: further facts, as JSON values.
        """
        return RunRecord(
            id=self.runs.new_id(started_at),
            kind=kind,
            home_id=self.home_id,
            home_root=str(self.home.root),
            workspace_id=workspace_id,
            project_path=project_path,
            trigger=trigger,
            engine=engine,
            started_at=started_at,
            details=details,
        )


def recover(parts: RunDependencies, purpose: str) -> None:
    """Finish or undo the runs of killed processes.

    If another run holds the lease, nothing is done, because that run has already recovered them. `purpose`:
    the text that is shown to others while this process holds the lease.
    """
    if not parts.runs.unsettled():
        return
    with contextlib.suppress(LeaseHeld), parts.leases.acquire(parts.lease_name, purpose=purpose):
        parts.recovery.run()


_log = logging.getLogger("reverie.runs")


LEASE_WAIT_S = 600.0
"""The longest time in seconds for which finished (and paid) work waits for another run.

After that it is discarded.
"""
_FIRST_STEP_S, _LONGEST_STEP_S = 0.1, 1.0
_CANCEL_STEP_S = 0.1
NO_LIMIT_S = 1e9

Thought = TypeVar("Thought")


class Costs(Struct, frozen=True):
    """The tokens, cost and trace of `Job.think`; a field is None if it is unknown or no model was used.

    `usage`: the number of tokens by kind.
    """

    usage: Mapping[str, int] | None = None
    cost_usd: float | None = None
    trace: Mapping[str, Any] | None = None


class Plan(Struct, frozen=True):
    """The changes that a run is going to make, computed from the present files."""

    summary: str
    changes: Sequence[FileChange] = ()
    """The changes of files."""
    ops: tuple[Op, ...] | None = None
    """The commands for the record; None if there is one command per change."""
    outcome: Outcome | None = None
    """The outcome of the run; None: `completed`, or `unchanged` if no file differs.

    If it is a failure or a cancellation, the plan changes nothing unless `even_empty` is set.
    """
    reason: str = ""
    next_step: str = ""
    coverage: Mapping[str, Any] | None = None
    """The agent's record of the consolidation (coverage record) to journal; None if the run has none.

    A run with such a record counts as completed once `Job.commit` has saved it, any other run once the
    `applied` mark exists.
    """
    record: Mapping[str, Any] = field(default_factory=dict)
    """The value of `RunResult.record` if there is no `coverage`."""
    usage_before: UsageDelta = field(default_factory=dict)
    """The pins and usage that the run changes, as they are before the run."""
    usage_after: UsageDelta = field(default_factory=dict)
    """The same pins and usage as they are after the run."""
    emptied: Sequence[tuple[ScopeRoot, str]] = ()
    """Directories (root, path) to delete if they are empty."""
    removed: Sequence[tuple[str, str]] = ()
    """Directories that an earlier run made (`Journal.made`), to delete if they are empty."""
    restores: bool = False
    """Whether hidden files may come back, because the plan restores an earlier state."""
    for_review: bool = False
    """Whether the plan is only journaled and not applied: a dry run, or a run that waits for a review."""
    even_empty: bool = False
    """Whether to carry out the plan even if it changes no file, or has the outcome of a failure."""
    conflicts: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    """Additional details for the record."""


SWITCHED_OFF = Plan("Turned off while it ran; nothing was changed.", outcome="cancelled", reason="disabled")


class RunContext(Struct, frozen=True):
    """The data of a run that its job may use: id, start, stop conditions, and a callback for progress.

    `started_at` is in UTC ms.
    """

    id: str
    started_at: int
    limits: StopCheck
    """The stop conditions: their method `check` raises if the run must stop.

    `think` calls it every few milliseconds.
    """
    progress: Callable[[Progress], None]


class Holding(Struct):
    """The state of the agent's own lock while a run holds it."""

    changed: bool = False
    """Whether the run changed something; the run sets this before the lock is released."""


class RunEnd(Struct, frozen=True):
    """The outcome of a run, with everything that its record needs, before the record is finished."""

    outcome: Outcome
    summary: str
    ops: tuple[Op, ...]
    reason: str = ""
    """The code of the reason for the outcome, such as `unknown-layout`, as the record and scripts have it."""
    next_step: str = ""
    record: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the run record, by name."""
    conflicts: tuple[str, ...] = ()
    """The paths of files that were left as they are, because another program had changed them."""
    changed: tuple[Path, ...] = ()
    """Files of the home that the run changed."""
    companions: tuple[str, ...] = ()
    """The companions among `changed`, as paths relative to the home."""
    why: str = ""
    """The reason for people why the run was stopped, as the beginning of a sentence."""
    undone: Recovered = field(default_factory=lambda: Recovered(False))
    """The files that were restored, or could not be, because the run did not complete."""


class Job(ABC, Generic[Thought]):
    """One kind of run: its data, three functions, and hooks with default implementations.

    `think` has no side effects. `accept` turns the result of `think` into a plan for the present files, and
    may be called again. `commit` makes any further result durable, or raises without having changed anything.
    """

    kind: ClassVar[RunKind]
    before: ClassVar[str]
    """The history's label for the snapshot before the run, such as "before a dream"."""
    lease: ClassVar[Literal["whole", "write"]] = "write"
    """When the run holds the home's lease: throughout, or only while it writes."""
    begins: ClassVar[Literal["before thinking", "before writing"]] = "before writing"
    """When the run's record is written, so that the run is visible."""
    attempts: ClassVar[int] = 1
    """The number of attempts at planning if another program changes the files meanwhile."""
    raises: ClassVar[bool] = False
    """Whether an error is raised as well as recorded."""

    # Data; set by the job's constructor.
    workspace_id: str | None
    project_path: str | None
    trigger: str
    engine: str
    purpose: str
    """The text that is shown to others while the run holds the lease."""
    time_limit_s: float
    dry_run: bool = False
    reverts: str | None = None
    """The run that this job undoes; None if it undoes none."""
    details: Mapping[str, Any] = {}

    @abstractmethod
    async def think(self, run: RunContext) -> Thought | Plan:
        """Do the work without side effects; return the result.

        If a `Plan` is returned, the run ends with it at once, without `accept`.
        """

    @abstractmethod
    def accept(self, thought: Thought, run: RunContext) -> Plan:
        """Return the plan for the present files, made from `thought`, the result of `think`.

        Changes beyond the limits of the run are left out. Reads files, but changes nothing. Raises `Conflict`
        or `StoreError`.
        """

    def commit(self, plan: Plan, record: RunRecord) -> None:
        """Save the result of `plan` that completes the run, such as the agent's record of the consolidation.

        By default does nothing, for jobs without such a result.
        """

    @property
    def source(self) -> str:
        """The text that the history shows as the source of the change."""
        return f"{self.trigger}, {self.engine}"

    def require(self) -> None:
        """Raise `ReadOnlyStore` if the stores (directories of notes) of this job must not be written.

        Called before any lease is acquired. By default does nothing.
        """

    def ready(self) -> None:
        """Raise a `UserError` if the job may not run now; called before `think`.

        `Run` has recovered the runs of killed processes before it calls this and, for a job with `lease =
        "whole"`, has acquired the home's lease. An implementation may also remove temporary files that killed
        writes left. By default does nothing.
        """

    def hold(self, run_id: str, check: Callable[[], None]) -> AbstractContextManager[Holding]:
        """Return a context manager that holds the agent's own lock, if it has one, and yields a `Holding`.

        Used only for a job with `lease = "whole"`, which already holds Reverie's lease of the home. An
        implementation calls `check` before it acquires the lock; `check` raises if that lease was lost. By
        default acquires nothing.
        """
        return contextlib.nullcontext(Holding())

    def costs(self) -> Costs:
        """Return the tokens, cost and trace of `think` so far, also after a failure; by default none."""
        return Costs()

    def ops(self) -> tuple[Op, ...]:
        """Return the commands requested so far, for the record of a run that ends before it has a plan."""
        return ()

    def found(self) -> Mapping[str, Any]:
        """Return the details for the record that are only known at the end; called whatever the outcome."""
        return {}

    def waits(self, held: Busy) -> None:
        """Report that finished work has to wait for another run, which `held` describes.

        `Run` calls this at most once. By default does nothing.
        """

    def begun(self, record: RunRecord) -> None:
        """Carry out the job's own step at the beginning of the run; called once `record` is on disk.

        For example, report that the run has started. If this raises, the run fails. By default does nothing.
        """

    def ended(self, end: RunEnd, record: RunRecord) -> Mapping[str, Any] | None:
        """Save the job's own state after the end `end` of the run; return the value of `RunResult.record`.

        If None is returned, that value stays `end.record`. If this raises, the error is added to the summary.
        """
        return None

    def keeps(self, outcome: Outcome) -> bool:
        """Return whether to save a record of a run that ended with `outcome` before it had a record.

        A run gets its record before it changes a file, so this concerns runs that changed none. By default a
        record is saved unless the run was interrupted.
        """
        return outcome != "interrupted"

    def refused(self, refusal: UserError) -> RunResult:
        """Return the result of a run that could not start because of `refusal`."""
        return RunResult("", "skipped", str(refusal), refusal.reason, next_step=refusal.next_step)

    def sentence(self, why: str, undone: Recovered) -> str:
        """Return the summary of a run that was stopped: `why`, and which files were not restored.

        `why`: the reason, as the beginning of a sentence. `undone`: the result of restoring the files that
        the run had changed.
        """
        left = ""
        if undone.left:
            left = " These files were not restored, because another program changed them meanwhile: "
            left += f"{', '.join(undone.left)}."
        if undone.pending:
            return f"{why}; some files could not be restored yet: {', '.join(undone.pending)}.{left}"
        if undone.left:
            return f"{why}; all files that only the run had changed were restored.{left}"
        return f"{why}; nothing was changed."

    def say(self, event: str, text: str, record: RunRecord, *, level: str = "info") -> None:
        """Write an event of this run to Activity.

        `event`: the end of its name, such as "completed"; `level`: "info" or "warning". By default does
        nothing, for jobs whose service writes it.
        """

    def document(self, trace: Mapping[str, Any], record: RunRecord, end: RunEnd) -> Mapping[str, Any]:
        """Return the engine's trace, extended by the facts in `record` and `end` that only the run knows."""
        ours = {**trace.get("reverie", {}), "runId": record.id, "runOutcome": record.outcome}
        return {**trace, "workspaceId": record.workspace_id or "", "reverie": ours}


class Run(Generic[Thought]):
    """One execution of a job; `go` carries out all of its steps."""

    def __init__(
        self,
        parts: RunDependencies,
        job: Job[Thought],
        *,
        cancel: threading.Event | None = None,
        limits: StopCheck | RunLimits | None = None,
        progress: Callable[[Progress], None] = lambda _progress: None,
    ) -> None:
        """Prepare the run of `job`.

        `parts`: the services that the run needs. `cancel`: an event that ends the run when it is set.
        `limits`: the conditions that end the run, such as the loss of a lease that the job itself holds;
        None: only `cancel` and the job's time limit end the run. `progress` is called with each step.
        """
        self._parts = parts
        self._job = job
        self._cancel = cancel or threading.Event()
        own = limits or StopCheck(self._cancel, threading.Event(), job.time_limit_s)
        self._limits = own.limits if isinstance(own, RunLimits) else own
        self._check: Callable[[], None] = own.check
        self._progress = progress
        self._record: RunRecord | None = None
        self._is_begun = False
        self._plan: Plan | None = None
        self._transaction: Transaction | None = None

    async def go(self) -> RunResult:
        """Carry out the run; return its result.

        An error that a person can fix becomes part of the result, and is raised only if the job's `raises` is
        True.
        """
        if self._job.lease == "write":
            self._record = self._new_record()
            return await self._settled(self._think_then_write)
        return await self._under_the_lease()

    def go_at_once(self) -> RunResult:
        """Carry out a job that never awaits anything; return its result.

        Needs no event loop, and also works inside a running one. Raises `RuntimeError` if the job awaits
        something.
        """
        under_way = self.go()
        try:
            under_way.send(None)
        except StopIteration as end:
            result: RunResult = end.value
            return result
        finally:
            under_way.close()
        raise RuntimeError(f"a {self._job.kind} waited")

    async def _under_the_lease(self) -> RunResult:
        parts, job = self._parts, self._job
        with contextlib.ExitStack() as held:
            try:
                job.require()
                lease = held.enter_context(parts.leases.acquire(parts.lease_name, purpose=job.purpose))
                parts.recovery.run()
                job.ready()
                parts.snapshots.observe(source=job.before)
                limits = RunLimits(lease, self._cancel, job.time_limit_s)
                self._limits, self._check = limits.limits, limits.check
                self._record = self._new_record()
                holding = held.enter_context(job.hold(self._record.id, limits.require_lease))
            except UserError as refusal:
                return job.refused(refusal)
            result = await self._settled(self._planned_and_written)
            holding.changed = result.outcome == "completed"
        return result

    async def _planned_and_written(self) -> RunEnd:
        if self._job.begins == "before thinking":
            self._begin()
        for attempt in range(1, self._job.attempts + 1):
            try:
                return self._written(await self._job.think(self._context))
            except Conflict as conflict:
                self._again(conflict, attempt)
        raise AssertionError("the last attempt returns or raises")

    async def _think_then_write(self) -> RunEnd:
        parts, job = self._parts, self._job
        job.require()
        recover(parts, job.purpose)
        job.ready()
        thought = await job.think(self._context)
        if isinstance(thought, Plan):
            return self._written(thought)
        self._limits.lift_deadline()
        async with self._waited_for() as lease:
            parts.recovery.run()
            self._check = _both(lease, self._check)
            self._record = replace(self._now, id=parts.runs.new_id(parts.clock()))
            for attempt in range(1, job.attempts + 1):
                try:
                    return self._written(thought)
                except Conflict as conflict:
                    self._again(conflict, attempt)
        raise AssertionError("the last attempt returns or raises")

    def _again(self, conflict: Conflict, attempt: int) -> None:
        """Prepare another attempt at planning after `conflict`, or raise `conflict`.

        `attempt`: the number of the attempt that failed. `conflict` is raised after the last attempt, or if
        files that this attempt changed could not be restored.
        """
        undone = self._undone
        if attempt == self._job.attempts or undone.left or undone.pending:
            raise conflict
        self._transaction = self._plan = None
        self._job.say("again", f"{conflict.title} The run starts again with the current text.", self._now)

    @contextlib.asynccontextmanager
    async def _waited_for(self) -> AsyncIterator[Lease]:
        """Context manager: wait until no other run holds the home's lease, then hold it for writing.

        Raises `Busy` after `LEASE_WAIT_S` seconds.
        """
        leases, name = self._parts.leases, self._parts.lease_name
        until, step, reported = time.monotonic() + LEASE_WAIT_S, _FIRST_STEP_S, False
        while True:
            try:
                lease = leases.acquire(name, purpose=self._job.purpose)
                break
            except Busy as held:  # also if only the list of leases is in use
                if time.monotonic() >= until:
                    raise
                if step == _LONGEST_STEP_S and not reported:  # a short wait is not reported
                    reported = True
                    self._job.waits(held)
            again = time.monotonic() + step
            while time.monotonic() < again:
                self._limits.check()
                import asyncio  # late: a window imports this module but runs nothing

                await asyncio.sleep(_CANCEL_STEP_S)
            step = min(2 * step, _LONGEST_STEP_S)
        with lease:
            yield lease

    def _written(self, thought: Thought | Plan) -> RunEnd:
        job, parts = self._job, self._parts
        plan = thought if isinstance(thought, Plan) else job.accept(thought, self._context)
        self._plan = plan
        ops = _ops_of(plan)
        self._record = replace(self._now, details={**self._now.details, **plan.details})
        if not plan.for_review and not plan.even_empty:
            if plan.outcome not in (None, *SUCCEEDED):
                return _end(plan.outcome or "failed", plan, ops)
            if not plan.changes and plan.coverage is None:
                job.commit(plan, self._now)
                return _end(plan.outcome or "unchanged", plan, ops)
        if not self._is_begun:
            if job.lease == "write":  # under the whole lease the entire home was observed
                self._observe(plan)
            self._begin()
        transaction = parts.transaction_for(self._now.id, self._now.kind)
        if not plan.for_review:
            self._transaction = transaction
            self._progress(Progress("applying"))
        journal = transaction.prepare(
            plan.changes,
            emptied=plan.emptied,
            removed=plan.removed,
            usage_before=plan.usage_before,
            usage_after=plan.usage_after,
            coverage=plan.coverage,
            for_review=plan.for_review,
            restores=plan.restores,
            ops=() if plan.coverage is not None or plan.for_review else ops,
        )
        if not plan.for_review:
            # Each run needs only one of the two.
            commit, covered = partial(job.commit, plan, self._now), journal.coverage is not None
            transaction.apply(
                journal,
                commit=commit if covered else no_check,
                confirm=no_check if covered else commit,
                check=self._check,
            )
        return replace(
            _end(plan.outcome or ("completed" if journal.intents else "unchanged"), plan, ops),
            changed=() if plan.for_review else tuple(transaction.paths(journal)),
            companions=tuple(each.rel for each in journal.intents if each.key == COMPANIONS),
        )

    def _observe(self, plan: Plan) -> None:
        """Record in the history the present content of the files that `plan` changes."""
        source, snapshots = self._job.before, self._parts.snapshots
        dirty = []
        for change in plan.changes:
            if change.root.key == COMPANIONS:
                snapshots.record_companion(change.rel, actor="outside", source=source)
            else:
                dirty.append(change.root.directory / change.rel)
        if dirty:
            snapshots.observe(source=source, dirty=dirty)

    @property
    def _now(self) -> RunRecord:
        assert self._record is not None, "a run has a record from its start"
        return self._record

    @property
    def _context(self) -> RunContext:
        return RunContext(self._now.id, self._now.started_at, self._limits, self._progress)

    @property
    def _undone(self) -> Recovered:
        return (None if self._transaction is None else self._transaction.undone) or Recovered(False)

    def _new_record(self) -> RunRecord:
        parts, job = self._parts, self._job
        record = parts.new_record(
            job.kind,
            parts.clock(),
            workspace_id=job.workspace_id,
            project_path=job.project_path,
            trigger=job.trigger,
            engine=job.engine,
            details=dict(job.details),
        )
        return replace(record, dry_run=job.dry_run, reverts=job.reverts)

    def _begin(self) -> None:
        self._record = self._parts.runs.begin(self._now)
        self._is_begun = True
        self._job.begun(self._now)

    async def _settled(self, work: Callable[[], Awaitable[RunEnd]]) -> RunResult:
        error: UserError | None = None
        try:
            end = await work()
        except LeaseLost as lost:
            if self._job.raises:
                raise
            return self._left_to_recovery(lost)
        except STOPS as stop:
            end = self._stopped(stop)
            error = stop if isinstance(stop, UserError) else None
        except BaseException as bug:
            self._finish(self._stopped(bug))
            raise
        result = self._finish(end)
        if error is not None and self._job.raises:
            raise error
        return self._with_history(result, end) if end.changed else result

    def _stopped(self, error: BaseException) -> RunEnd:
        """Return the end of a run that `error` stopped.

        It names the files that the run changed and that could not be restored.
        """
        stop, undone = stop_of(error, self._job.time_limit_s), self._undone
        outcome, next_step = stop.outcome, stop.next_step
        if undone.pending:
            outcome, next_step = "interrupted", "Restore the missing files, then run it again."
        ops = not_applied(self._ops, "the run did not complete", left=undone.left)
        summary = self._job.sentence(stop.why, undone)
        return RunEnd(
            outcome, summary, ops, stop.reason, next_step, conflicts=undone.left, why=stop.why, undone=undone
        )

    @property
    def _ops(self) -> tuple[Op, ...]:
        return self._job.ops() if self._plan is None else _ops_of(self._plan)

    def _left_to_recovery(self, error: LeaseLost) -> RunResult:
        """Return the result of a run that lost its lease.

        The run's record is left unchanged, because the process that now holds the lease finishes it.
        """
        ops = not_applied(self._ops, "the run was interrupted")
        run_id, next_step = self._now.id, error.next_step
        return RunResult(run_id, "interrupted", str(error), error.reason, ops, next_step=next_step)

    def _finish(self, end: RunEnd) -> RunResult:
        """Finish the record, then write Activity and the trace; return the result of the run.

        An error here is added to the summary.
        """
        costs, troubles = self._job.costs(), list[str]()
        record: Mapping[str, Any] = end.record
        with warned(troubles):
            kept = self._job.ended(end, self._now)
            record = record if kept is None else kept
        with warned(troubles):
            self._close(end, costs)
            if self._now.outcome == end.outcome:
                level = "info" if end.outcome in SUCCEEDED else "warning"
                self._job.say(end.outcome, end.summary, self._now, level=level)
            if costs.trace is not None:
                self._parts.save_trace(self._now.id, self._job.document(costs.trace, self._now, end))
        found = self._now
        if found.settled and found.outcome != end.outcome:
            # This process was suspended and another one recovered the run, so the saved record is the true
            # one.
            next_step = "" if found.outcome in SUCCEEDED else "Start the run again."
            return RunResult(
                found.id,
                found.outcome,
                found.summary,
                found.reason,
                found.ops,
                record,
                next_step,
                reverts=found.reverts,
            )
        return RunResult(
            found.id,
            end.outcome,
            " ".join((end.summary, *troubles)),
            end.reason,
            end.ops,
            record,
            end.next_step,
            costs.usage,
            costs.cost_usd,
            end.conflicts,
            found.reverts,
            found.details,
        )

    def _close(self, end: RunEnd, costs: Costs) -> None:
        """Save the record with the outcome and the costs of the run.

        If the run ended before its record was written, save that record now.
        """
        details = {**self._now.details, **self._job.found()}
        if costs.usage is not None:
            details["costUsd"] = costs.cost_usd
        if end.undone.pending:
            details["pending"] = list(end.undone.pending)
        finished = replace(
            self._now,
            summary=end.summary,
            reason=end.reason,
            ops=end.ops,
            usage=costs.usage,
            conflicts=end.conflicts,
            details=details,
        )
        ended_at = self._parts.clock()
        if self._is_begun:
            self._record = self._parts.runs.finish(finished, outcome=end.outcome, ended_at=ended_at)
            return
        self._record = replace(finished, outcome=end.outcome, ended_at=ended_at, ops=())
        if self._job.keeps(end.outcome):
            self._parts.runs.note(self._record)

    def _with_history(self, result: RunResult, end: RunEnd) -> RunResult:
        """Record the run's changes in the history; return the result of the run.

        If that fails, the error is added to the summary, and the next scan records them.
        """
        snapshots, kind, source = self._parts.snapshots, self._now.kind, self._job.source
        try:
            for rel in end.companions:
                snapshots.record_companion(rel, actor=kind, source=source, run_id=result.run_id)
            snapshots.record(
                actor=kind, source=source, subject=end.summary, run_id=result.run_id, dirty=end.changed
            )
        except UserError as error:
            trouble = f"The history after the run could not be written. {error}"
            try:
                self._job.say("history", trouble, self._now, level="warning")
            except UserError as silent:
                trouble = f"{trouble} {silent}"
            return replace(result, summary=f"{result.summary} {trouble}")
        return result


def _both(lease: Lease, own: Callable[[], None]) -> Callable[[], None]:
    def check() -> None:
        if not lease.renew():
            raise LeaseLost("The run stopped, because its lease expired.", next_step="It runs again.")
        own()

    return check


def _ops_of(plan: Plan) -> tuple[Op, ...]:
    if plan.ops is not None:
        return plan.ops
    note = {"note": "restored"} if plan.restores else {}
    return tuple(
        {"command": each.command, "path": each.path, "applied": True, **note} for each in plan.changes
    )


def _end(outcome: Outcome, plan: Plan, ops: tuple[Op, ...]) -> RunEnd:
    record = plan.coverage if plan.coverage is not None else plan.record
    return RunEnd(outcome, plan.summary, ops, plan.reason, plan.next_step, record, plan.conflicts)
