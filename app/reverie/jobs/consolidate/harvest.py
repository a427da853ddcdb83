"""The harvest: after a compaction, what was said in the compacted epoch becomes an inbox of memory candidates
(formats/mux.md sections 9 and 11).

Order: the home's dream lease, recovery, which boundary and whether it may be harvested, history before; then
the run (`jobs.consolidate.harvest_run`): run record and `pending` harvest record, the extractor, one
transaction. The dream that follows is not started here: `follow_up` says which one it is.

Threading: blocking; any thread but the GUI's. Failure: exactly one outcome, never raises for what a person
can mend; a bug of ours is recorded and raised.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping

from reverie.agents.base import Home
from reverie.agents.scopes import ScopeContext
from reverie.agents.transcripts import Boundary
from reverie.errors import Busy, StoreError, Unavailable
from reverie.jobs.consolidate.coverage import HarvestLog, Refusal, Trigger, refusal
from reverie.jobs.consolidate.extractors import Extractor
from reverie.jobs.consolidate.harvest_run import HarvestJob, HarvestRequest, HarvestResult, HarvestSource
from reverie.jobs.consolidate.run import DreamDependencies, DreamRequest
from reverie.runs.changes import Progress
from reverie.runs.run import Run

_REFUSALS: Mapping[Refusal, tuple[str, str]] = {
    "harvested": ("The newest compaction has been harvested already.", "Nothing is left to do."),
    "in-flight": (
        "The compaction is being harvested already.",
        "Wait until it is done; after 5 minutes it counts as abandoned.",
    ),
    "attempts-used-up": (
        "The harvest of the compaction failed three times and is not tried again.",
        "See the runs for why; the next compaction is harvested as usual.",
    ),
}


class HarvestService:
    """Harvests of one home."""

    def __init__(self, parts: DreamDependencies) -> None:
        self._parts = parts
        self.log = HarvestLog(parts.coverage, parts.clock)

    def run(
        self,
        request: HarvestRequest,
        extractor: Extractor,
        *,
        cancel: threading.Event | None = None,
        progress: Callable[[Progress], None] = lambda _progress: None,
    ) -> HarvestResult:
        """`harvest` on an event loop of its own: for threads and commands that have none."""
        return asyncio.run(
            self.harvest(request, extractor, cancel=cancel or threading.Event(), progress=progress)
        )

    async def harvest(
        self,
        request: HarvestRequest,
        extractor: Extractor,
        *,
        cancel: threading.Event,
        progress: Callable[[Progress], None],
    ) -> HarvestResult:
        """One harvest. Refused (`skipped`) with the reason while a dream is at work on this home, and where
        there is nothing to harvest."""
        job = HarvestJob(self._parts, self.log, request, self._source, extractor)
        return job.result(await Run(self._parts, job, cancel=cancel, progress=progress).go())

    def _source(self, request: HarvestRequest) -> HarvestSource:
        """What is to be harvested. Raises with the reason why nothing is."""
        workspace_id = request.context.workspace_id
        writer = self._parts.home.writer
        if workspace_id is None:
            raise Unavailable(
                "There is no transcript to harvest.",
                cause="A harvest is of one workspace.",
                next_step="Choose a workspace.",
                reason="no-transcript",
            )
        if writer is None:
            raise Unavailable(
                "Transcripts of this agent are not harvested.",
                cause="A harvest reads what mux compacted.",
                next_step="For a session of Claude Code, `reverie notes` writes down what was said.",
                reason="no-transcript",
            )
        transcript = writer.transcript(workspace_id)
        boundary = _chosen(transcript.boundaries(), request.boundary_key)
        record = self.log.record(workspace_id, boundary.summary_message_id)
        refused = refusal(record, now=self._parts.clock())
        if refused is not None:
            if record is not None:
                self.log.give_up(workspace_id, record)
            title, next_step = _REFUSALS[refused]
            raise Busy(title, next_step=next_step, reason=refused)
        return HarvestSource(request.context, workspace_id, transcript, boundary, record)


def follow_up(home: Home, context: ScopeContext, engine: str) -> DreamRequest:
    """The dream after a harvest: without debounce, and the final pass if its workspace was archived
    meanwhile."""
    archived = any(
        workspace.archived
        for workspace in home.contents().workspaces()
        if workspace.id == context.workspace_id
    )
    trigger: Trigger = "archive" if archived else "compaction"
    return DreamRequest(context, trigger, engine, debounce=False)


def _chosen(boundaries: Iterable[Boundary], key: str | None) -> Boundary:
    """The compaction asked for, the newest without a key."""
    found = [item for item in boundaries if key is None or item.summary_message_id == key]
    if not found:
        raise StoreError(
            "There is no compaction to harvest." if key is None else f"There is no compaction {key}.",
            cause="The transcript of this workspace holds none." if key is None else "",
            next_step="A harvest follows the next compaction.",
            reason="no-compaction",
        )
    return found[-1]
