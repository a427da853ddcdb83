"""The dream: who may run it when, from the lease to the result. What a run does is `jobs.consolidate.run`.

Order: lease (one dream per home; siblings share project and global memory), recovery of what a dead run left,
history before, durable record, the engine's work on a copy-on-write overlay through the guard, the retention
rail, the transaction (files, usage, coverage), record finished, history after. `run` ends in exactly one
outcome, never raises for what a person can mend, and writes no coverage unless it completed or found nothing
to do.

The run is `async` and Qt-free: the command line and the window's consolidator thread run the same code. The
engine is cancelled through `Limits.check`, which it calls every few milliseconds.
Rules: formats/mux.md sections 9 and 10; design.md sections 3 to 5.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from dataclasses import replace

from reverie.agents.scopes import Scope, ScopeUnavailable
from reverie.clock import HOUR_MS
from reverie.errors import Busy, UserError
from reverie.files.atomic import LEFT_OVER_AFTER_S
from reverie.files.rooted import RootedDirectory
from reverie.jobs.consolidate.coverage import Trigger
from reverie.jobs.consolidate.engine import Engine
from reverie.jobs.consolidate.progress import DreamProgress
from reverie.jobs.consolidate.run import DreamDependencies, DreamRequest, DreamRun, RunResult
from reverie.memory.write_guard import ReadOnlyStore, refuse_while_agent_writes, write_locks
from reverie.runs.limits import RunLimits

DEBOUNCE_MS = 6 * HOUR_MS


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
        progress: Callable[[DreamProgress], None] = lambda _progress: None,
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
        progress: Callable[[DreamProgress], None],
    ) -> RunResult:
        """One dream. Refused (`skipped`) with the reason while another one runs on this home."""
        parts = self._parts
        request = replace(request, context=request.context.for_dreams())
        try:
            parts.guard.require_context(request.context)
            lease = parts.leases.acquire(
                dream_lease_name(parts.home_id), purpose=f"dream ({request.trigger})"
            )
        except UserError as refusal:
            return skipped(parts, request.context.workspace_id, request.trigger, refusal)
        with lease:
            try:
                parts.recovery.run()
                self._refuse_too_soon(request)
                if not request.dry_run:
                    refuse_while_agent_writes(parts.home, request.context, lock_dir=parts.guard.lock_dir)
                    self._sweep_temporaries(request)
                parts.snapshots.observe(source="before a dream")
            except UserError as refusal:
                return skipped(parts, request.context.workspace_id, request.trigger, refusal)
            limits = RunLimits(lease, cancel, parts.time_limit_s)
            return await under_agent_lock(parts, request, DreamRun(parts, request, engine, limits, progress))

    def _sweep_temporaries(self, request: DreamRequest) -> None:
        """Clear away the hidden files that killed writes left in the stores of this context, under the
        agent's own lock: a file that was held back gets its name again."""
        for scope in Scope:
            with contextlib.suppress(ScopeUnavailable):
                root = self._parts.home.scope_root(request.context, scope)
                if not root.read_only:
                    with write_locks(self._parts.home, (root,), lock_dir=self._parts.guard.lock_dir):
                        RootedDirectory(root.directory).sweep(older_than_s=LEFT_OVER_AFTER_S)

    def _refuse_too_soon(self, request: DreamRequest) -> None:
        """Background triggers leave a workspace alone for 6 hours; `manual` and `archive` do not wait."""
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


async def under_agent_lock(parts: DreamDependencies, request: DreamRequest, run: DreamRun) -> RunResult:
    """The run, while the agent's own lock is ours; `skipped` where it is not to be had. A preview needs
    none."""
    if request.dry_run:
        return await run.go()
    try:
        held = contextlib.ExitStack()
        holding = held.enter_context(parts.agent_locks.hold(request.context, run.id, run.require_lease))
    except UserError as refusal:
        return skipped(parts, request.context.workspace_id, request.trigger, refusal)
    with held:
        result = await run.go()
        holding.changed = result.outcome == "completed"
    return result


def skipped(
    parts: DreamDependencies, workspace_id: str | None, trigger: str, refusal: UserError
) -> RunResult:
    """The result of a run that did not begin, told in Activity."""
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
