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
import threading
from collections.abc import Callable
from dataclasses import replace

from reverie.jobs.consolidate.coverage import Trigger
from reverie.jobs.consolidate.engine import Engine
from reverie.jobs.consolidate.run import DreamDependencies, DreamJob, DreamRequest, skipped
from reverie.memory.write_guard import ReadOnlyStore
from reverie.runs.changes import Progress
from reverie.runs.run import Run, RunResult


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
