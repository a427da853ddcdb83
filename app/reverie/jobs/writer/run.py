"""The memory writer as a job (`runs.run`): what there is to read, the engine's work on a draft, the trace.

What a model had written before it ran out of time or its service failed counts: each `memory_write` is whole
in itself. Threading and failure: see `runs.run`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reverie.agents.base import Workspace
from reverie.agents.capabilities import WriterPlace
from reverie.agents.scopes import ScopeContext
from reverie.agents.transcripts import TailEvent
from reverie.errors import UserError
from reverie.files.atomic import LEFT_OVER_AFTER_S, sweep_temporaries
from reverie.files.rooted import RootedDirectory
from reverie.jobs.writer.engine import MemoryDraft, WriterEngine, WriterTask, WriterTools, events_of
from reverie.jobs.writer.state import WriterTarget
from reverie.llm.client import EngineResult, spent
from reverie.memory.scope_files import FileChange
from reverie.memory.usage_rules import MemoryUsage
from reverie.runs.record import RunRecord
from reverie.runs.recovery import RunDependencies
from reverie.runs.run import (
    CANCELLED,
    SWITCHED_OFF,
    Costs,
    Job,
    Plan,
    RunContext,
    RunEnd,
    failed_by,
    out_of_time,
)

_INSTRUCTION_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class WriterRequest:
    """What is to be done. `rows`: the newest of the transcript; `since`: the message that the last run was
    about, None to look at all of them. `trigger`: `turn` or `manual`."""

    context: ScopeContext
    workspace: Workspace
    place: WriterPlace
    target: WriterTarget
    message_id: str
    rows: tuple[TailEvent, ...]
    since: str | None
    trigger: str
    time_limit_s: float


class WriterJob(Job[MemoryDraft]):
    """One run of the memory writer, of which nothing else of this workspace is at work."""

    kind = "writer"
    before = "before the memory writer"
    attempts = 5

    def __init__(
        self,
        parts: RunDependencies,
        request: WriterRequest,
        engine: WriterEngine,
        *,
        still_wanted: Callable[[], bool],
    ) -> None:
        self._parts = parts
        self._request = request
        self._engine = engine
        self._still_wanted = still_wanted
        self._files = RootedDirectory(request.target.root.directory)
        self._tools: WriterTools | None = None
        self._end = EngineResult("failed", attempts=0)
        self.workspace_id = request.workspace.id
        self.project_path = request.context.project_path
        self.trigger = request.trigger
        self.engine = engine.name
        self.purpose = f"memory writer ({request.workspace.id})"
        self.time_limit_s = request.time_limit_s
        self.details = {"triggerMessageId": request.message_id}

    @property
    def attempts_made(self) -> int:
        """How often the model was asked."""
        return self._end.attempts

    @property
    def timed_out(self) -> bool:
        return self._end.outcome == "time-limit"

    @property
    def satisfied(self) -> bool:
        """Whether the model did what its tools ask for: it wrote, or said that there is nothing to write."""
        return self._tools is not None and self._tools.satisfied

    def ready(self) -> None:
        """Clear away what killed writes left."""
        for directory in (self._request.target.file.parent, self._request.place.state_file.parent):
            with contextlib.suppress(UserError):  # hidden files that lie there harm nobody
                sweep_temporaries(directory, older_than_s=LEFT_OVER_AFTER_S)

    async def think(self, run: RunContext) -> MemoryDraft | Plan:
        """The engine's edits of a draft. What a model wrote before it ran out of time counts."""
        draft = MemoryDraft(self._read, max_bytes=self._parts.home.caps.file_bytes)
        tools = self._tools = WriterTools(draft, self._request.target.memory_id)
        end = self._end = await self._engine.write(self._task(run), draft, tools, run.limits.cancelled)
        if run.limits.cancelled() or end.outcome == "cancelled":
            return CANCELLED
        if not draft.changed:
            return _without_change(tools, end, self._request.time_limit_s)
        if not self._still_wanted():
            return SWITCHED_OFF
        return draft

    def accept(self, thought: MemoryDraft, run: RunContext) -> Plan:
        """The draft on top of what stands there now."""
        thought.refresh()
        target, end = self._request.target, self._end
        if not thought.changed:
            return Plan(f"{target.path} was updated.")
        summary = f"{target.path} was updated."
        if end.outcome == "time-limit":
            summary += " The model then ran out of time."
        elif end.error is not None:
            summary += f" After that: {end.error.title}"
        change = FileChange(target.root, target.rel, thought.before, thought.after)
        usage_before, usage_after = self._usage_delta()
        return Plan(summary, (change,), usage_before=usage_before, usage_after=usage_after)

    def costs(self) -> Costs:
        """What the engine used."""
        return Costs(*spent(self._end.account), self._end.account.trace)

    def found(self) -> Mapping[str, Any]:
        """How often the model was asked."""
        return {"attempts": self._end.attempts} if self._end.attempts else {}

    def document(self, trace: Mapping[str, Any], record: RunRecord, end: RunEnd) -> dict[str, Any]:
        """The trace, with what only the run knows."""
        request = self._request
        ours = {**trace.get("reverie", {}), "runId": record.id, "runOutcome": end.outcome}
        return {
            **trace,
            "runStartedAt": record.started_at,
            "didWriteMemory": bool(end.changed),
            "agentDiscoveryPath": request.workspace.path,
            "projectPath": request.context.project_path or "",
            "workspacePath": request.workspace.path,
            "memoryPath": str(request.target.file),
            "reverie": {**ours, "target": request.target.path},
        }

    def _read(self) -> bytes | None:
        entry = self._files.entry(self._request.target.rel)
        return None if entry is None else self._files.read(self._request.target.rel)

    def _task(self, run: RunContext) -> WriterTask:
        request = self._request
        return WriterTask(
            run_id=run.id,
            workspace_id=request.workspace.id,
            workspace_name=request.workspace.name,
            message_id=request.message_id,
            memory_id=request.target.memory_id,
            instructions=_first_text(request.place.instructions),
            context_instructions=_first_text(request.place.context_instructions),
            events=events_of(request.rows),
            said=tuple(_said(request.rows, request.since)),
            timeout_ms=round(request.time_limit_s * 1000),
            deadline=run.limits.deadline,
        )

    def _usage_delta(self) -> tuple[dict[str, MemoryUsage | None], dict[str, MemoryUsage | None]]:
        """A project memory that is written counts as used (formats/mux.md section 8)."""
        target = self._request.target
        key = self._parts.home.usage_key(target.root, target.rel)
        if key is None or target.is_companion:
            return {}, {}
        before = self._parts.usage.load().get(key)
        base = before or MemoryUsage()
        now = self._parts.clock()
        after = replace(base, access_count=base.access_count + 1, last_accessed_at=now, last_write_at=now)
        return {key: before}, {key: after}


def _without_change(tools: WriterTools, end: EngineResult, limit_s: float) -> Plan:
    """The end of a run that has nothing to write."""
    if end.outcome == "time-limit":
        return out_of_time(limit_s)
    if end.error is not None:
        return failed_by(end.error)
    if tools.satisfied:
        return Plan("Nothing new to remember.", outcome="unchanged")
    return Plan(
        f"The model neither wrote nor said that there is nothing to write, in {end.attempts} attempts.",
        outcome="failed",
        reason="no-write",
        next_step="Look at the trace; a model that cannot call tools is of no use here.",
    )


def _said(rows: tuple[TailEvent, ...], since: str | None) -> list[str]:
    """What the person said after the message `since`; all of it where that is not among the rows."""
    position = next((at for at, row in enumerate(rows) if row.turn.id == since), -1)
    return [
        row.turn.text for row in rows[position + 1 :] if row.kind == "message" and row.turn.role == "user"
    ]


def _first_text(paths: tuple[Path, ...]) -> str | None:
    """The first of the files that is there, cut at 64 KiB. One that cannot be read is not there."""
    for path in paths:
        with contextlib.suppress(UserError):
            files = RootedDirectory(path.parent)
            if files.entry(path.name) is not None:
                return files.read(path.name, limit=_INSTRUCTION_BYTES).decode("utf-8", "replace")
    return None
