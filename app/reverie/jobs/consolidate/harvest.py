"""The harvest: after a compaction, what was said in the compacted epoch becomes an inbox of memory candidates
(formats/mux.md sections 9 and 11).

A job on the one Run (`runs.run`): which boundary and whether it may be harvested, the `pending` harvest
record, the extractor chunk by chunk, then the inbox in one transaction, once every chunk came through. The
dream that follows is not started here: `follow_up` returns its request.

Threading: blocking; any thread but the GUI's. Failure: exactly one outcome, never raises for what a person
can fix; a bug is recorded and raised.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from reverie.agents.base import Home
from reverie.agents.scopes import Scope, ScopeContext
from reverie.agents.transcripts import Boundary, Transcript
from reverie.errors import Busy, StoreError, Unavailable, UserError
from reverie.files.rooted import RootedDirectory
from reverie.jobs.consolidate.coverage import (
    HarvestLog,
    Refusal,
    Trigger,
    completed,
    failed,
    pending,
    refusal,
)
from reverie.jobs.consolidate.extractors import (
    Checked,
    Extractor,
    InboxCandidate,
    chunks,
    fitting,
    inbox_rel,
    inbox_text,
)
from reverie.jobs.consolidate.overlay import DreamOverlay
from reverie.jobs.consolidate.run import DreamDependencies, DreamRequest
from reverie.llm.client import spent
from reverie.memory.paths import memory_path, rel_problem
from reverie.memory.scope_files import FileChange
from reverie.runs.record import RunRecord, not_applied
from reverie.runs.result import SUCCEEDED, Progress, RunResult
from reverie.runs.run import Costs, Job, Plan, Run, RunContext, RunEnd
from reverie.runs.transaction import LeaseLost
from reverie.text.summaries import some

# The harvest record becomes `completed` after the transaction's commit point: a harvest that is done twice
# does no harm, one that is lost does.


@dataclass(frozen=True, slots=True)
class HarvestRequest:
    """Which workspace, and which of its compactions: None for the newest."""

    context: ScopeContext
    boundary_key: str | None = None


@dataclass(frozen=True, slots=True)
class HarvestSource:
    """What is harvested: one compaction of one transcript, and the record of the attempt before."""

    context: ScopeContext
    workspace_id: str
    transcript: Transcript
    boundary: Boundary
    previous: Mapping[str, Any] | None


class HarvestJob(Job[Checked]):
    """One harvest: chunks through the extractor, checks, the inbox."""

    kind = "harvest"
    before = "before a harvest"
    lease = "whole"
    begins = "before thinking"

    def __init__(
        self,
        parts: DreamDependencies,
        log: HarvestLog,
        request: HarvestRequest,
        source_of: Callable[[HarvestRequest], HarvestSource],
        extractor: Extractor,
    ) -> None:
        self._parts = parts
        self._log = log
        self._request = request
        self._source_of = source_of
        self._extractor = extractor
        self._source: HarvestSource | None = None
        self._pending: Mapping[str, Any] = {}
        self._kept = self._skipped = 0
        self.workspace_id = request.context.workspace_id
        self.project_path = request.context.project_path
        self.trigger = "compaction"
        self.engine = extractor.name
        self.purpose = "harvest"
        self.time_limit_s = parts.time_limit_s

    @property
    def source_read(self) -> HarvestSource:
        """What is harvested. Known from `ready` on."""
        assert self._source is not None, "asked before it was ready"
        return self._source

    @property
    def path(self) -> str:
        """The memory path of the inbox."""
        return str(memory_path(Scope.WORKSPACE, inbox_rel(self.source_read.boundary)))

    def require(self) -> None:
        """Raises `ReadOnlyStore`."""
        self._parts.guard.require_context(self._request.context)

    def ready(self) -> None:
        """Which compaction, and whether it may be harvested."""
        source = self._source = self._source_of(self._request)
        self._pending = pending(
            source.workspace_id, source.boundary, source.previous, now=self._parts.clock()
        )
        self.details = {"boundaryKey": source.boundary.summary_message_id}

    def begun(self, record: RunRecord) -> None:
        """Nobody else starts it from here on."""
        self._save(self._pending, after=self.source_read.previous)
        self.say("started", f"Harvest of compaction {self.source_read.boundary.epoch} started.", record)

    async def think(self, run: RunContext) -> Checked | Plan:
        """Read what was said, part by part."""
        boundary, checked = self.source_read.boundary, Checked()
        # The row of the boundary itself is the agent's summary, not what was said.
        turns = self.source_read.transcript.turns(boundary.previous_sequence, boundary.sequence - 1)
        for number, chunk in enumerate(chunks(turns), start=1):
            run.limits.check()
            run.progress(Progress(f"reading part {number} of the transcript", number))
            checked.add(await self._extractor.extract(chunk, limits=run.limits), chunk)
        run.limits.check()
        return checked

    def accept(self, thought: Checked, run: RunContext) -> Plan:
        """The inbox as it becomes; an old one goes where nothing was found."""
        boundary = self.source_read.boundary
        kept = fitting(boundary, thought.accepted, file_bytes=self._parts.home.caps.file_bytes)
        self._kept = len(kept)
        self._skipped = len(thought.skipped) + len(thought.accepted) - len(kept)
        summary = f"{some(len(kept), 'candidate')} found in compaction {boundary.epoch}"
        summary += f", {self._skipped} left out." if self._skipped else "."
        change = self._planned(kept)
        if change is None:
            return Plan(summary)
        command = "delete" if change.after is None else "create" if change.before is None else "str_replace"
        ops: tuple[Mapping[str, Any], ...] = ({"command": command, "path": self.path, "applied": True},)
        overlay = DreamOverlay(self._parts.home, self._request.context, self._parts.usage)
        if change.after is None and overlay.is_protected(memory_path(Scope.WORKSPACE, change.rel)):
            return Plan(summary, ops=not_applied(ops, "pinned memories are never deleted by a run"))
        usage_before, usage_after = overlay.usage_delta(ops, now=run.started_at)
        return Plan(summary, (change,), ops, usage_before=usage_before, usage_after=usage_after)

    def costs(self) -> Costs:
        """What the extractor used."""
        account = self._extractor.account()
        return Costs(*spent(account), account.trace)

    def ended(self, end: RunEnd, record: RunRecord) -> Mapping[str, Any]:
        """Save the harvest record."""
        now = self._parts.clock()
        if end.outcome in SUCCEEDED:
            usage, _cost = spent(self._extractor.account())
            counted = (
                None if usage is None else {name: usage[name] for name in ("inputTokens", "outputTokens")}
            )
            done = completed(
                self._pending, now=now, accepted=self._kept, skipped=self._skipped, usage=counted
            )
        else:
            done = failed(self._pending, now=now, error=end.why)
        self._save(done, after=self._pending)
        return done

    def say(self, event: str, text: str, record: RunRecord, *, level: str = "info") -> None:
        """An entry in Activity."""
        self._parts.activity.add(
            f"harvest.{event}",
            level=level,
            text=text,
            home=record.home_root,
            workspace_id=record.workspace_id,
            run_id=record.id,
            details={"engine": record.engine, "boundaryKey": record.details["boundaryKey"]},
        )

    def refused(self, refusal: UserError) -> RunResult:
        """Told in Activity."""
        parts, summary = self._parts, str(refusal)
        parts.activity.add(
            "harvest.skipped",
            level="info",
            text=summary,
            home=str(parts.home.root),
            workspace_id=self.workspace_id,
            details={"reason": refusal.reason},
        )
        return RunResult("", "skipped", summary, refusal.reason, next_step=refusal.next_step)

    def result(self, run: RunResult) -> RunResult:
        """The run, with `boundaryKey` and `inbox` (its memory path, None where there is none) as details, and
        the harvest record as it is in place."""
        if self._source is None or not run.run_id:
            return run
        there = any(op["applied"] and op["command"] != "delete" for op in run.ops)
        same = run.outcome == "unchanged" and bool(run.record["acceptedCandidates"])
        details = {
            "boundaryKey": self._source.boundary.summary_message_id,
            "inbox": self.path if there or same else None,
        }
        return replace(run, record=run.record or self._pending, details=details)

    def _planned(self, candidates: list[InboxCandidate]) -> FileChange | None:
        boundary = self.source_read.boundary
        root = self._parts.home.scope_root(self._request.context, Scope.WORKSPACE)
        rel = inbox_rel(boundary)
        problem = rel_problem(rel)
        if problem:
            raise StoreError(f"The inbox cannot be named {rel}.", cause=problem)
        files = RootedDirectory(root.directory)
        entry = files.entry(rel)
        before = None if entry is None else files.read(rel)
        after = inbox_text(boundary, candidates).encode() if candidates else None
        return None if before == after else FileChange(root, rel, before, after)

    def _save(self, record: Mapping[str, Any], *, after: Mapping[str, Any] | None) -> None:
        """Save the harvest record. Raises `LeaseLost` where that of another harvest stands there by now."""
        if not self._log.save(self.source_read.workspace_id, record, after=after):
            raise LeaseLost(
                "Another harvest of this compaction came first, while this process was held up.",
                next_step="Nothing is left to do.",
            )


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
    ) -> RunResult:
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
    ) -> RunResult:
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


def dream_follows(harvest: RunResult) -> bool:
    """Whether a consolidation goes on from here, as the agent's own does: also after a harvest that failed,
    was done already, or has no attempts left."""
    done = harvest.outcome == "skipped" and harvest.reason in ("harvested", "attempts-used-up")
    return harvest.succeeded or harvest.outcome == "failed" or done


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
