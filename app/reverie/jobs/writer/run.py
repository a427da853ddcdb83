"""One writer run: what there is to read, the engine's work on a draft, one transaction (`runs.one_file`), the
trace. So a write is shown, reviewed and reverted like a dream's.

What a model had written before it ran out of time or its service failed counts: each `memory_write` is whole
in itself. Threading: one run, one event loop, blocking. Failure: `WriterRun.go` never raises for what a
person can mend.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
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
from reverie.files.lease import Lease
from reverie.files.rooted import RootedDirectory
from reverie.jobs.writer.engine import MemoryDraft, WriterEngine, WriterTask, WriterTools, events_of
from reverie.jobs.writer.state import WriterTarget
from reverie.llm.client import EngineResult, spent
from reverie.memory.usage_rules import MemoryUsage
from reverie.runs.journal import PlannedChange
from reverie.runs.one_file import OneFileEnd, OneFileRun
from reverie.runs.record import RunRecord
from reverie.runs.recovery import RunDependencies

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


@dataclass(frozen=True, slots=True)
class WriterEnd(OneFileEnd):
    """How a run ended. `wrote`: the memory file was changed. `satisfied`: the model did what its tools ask
    for, by writing or by saying that there is nothing to write."""

    wrote: bool = False
    timed_out: bool = False
    satisfied: bool = False
    attempts: int = 0


class WriterRun:
    """One run, of which nothing else of this workspace is at work."""

    def __init__(
        self,
        parts: RunDependencies,
        request: WriterRequest,
        engine: WriterEngine,
        *,
        cancel: threading.Event,
        still_wanted: Callable[[], bool],
    ) -> None:
        self._parts = parts
        self._request = request
        self._engine = engine
        self._cancel = cancel
        self._still_wanted = still_wanted
        self._started = parts.clock()
        self._files = RootedDirectory(request.target.root.directory)
        record = parts.new_record(
            "writer",
            self._started,
            workspace_id=request.workspace.id,
            project_path=request.context.project_path,
            trigger=request.trigger,
            engine=engine.name,
            details={"triggerMessageId": request.message_id},
        )
        purpose = f"memory writer ({request.workspace.id})"
        self._file_run = OneFileRun(parts, record, purpose=purpose, cancel=cancel)

    def go(self) -> WriterEnd:
        """Think, write, tell."""
        try:
            self._recover()
            draft = MemoryDraft(self._read, max_bytes=self._parts.home.caps.file_bytes)
            tools = WriterTools(draft, self._request.target.memory_id)
            task = self._task()
            end = asyncio.run(self._engine.write(task, draft, tools, self._cancel.is_set))
        except UserError as error:
            return self._noted(WriterEnd.by_error(self._record.id, error))
        written = self._written(draft, tools, end)
        written = replace(
            written,
            timed_out=end.outcome == "time-limit",
            satisfied=tools.satisfied,
            attempts=end.attempts,
            document=self._document(task, end, written),
        )
        usage, cost = spent(end.account)
        details = {**self._record.details, "attempts": end.attempts}
        if usage is not None:
            details["costUsd"] = cost
        self._file_run.record = replace(self._record, usage=usage, details=details)
        return self._noted(written)

    # Reading

    @property
    def _record(self) -> RunRecord:
        return self._file_run.record

    def _recover(self) -> None:
        for directory in (self._request.target.file.parent, self._request.place.state_file.parent):
            with contextlib.suppress(UserError):  # hidden files that lie there harm nobody
                sweep_temporaries(directory, older_than_s=LEFT_OVER_AFTER_S)
        self._file_run.recover()

    def _read(self) -> bytes | None:
        entry = self._files.entry(self._request.target.rel)
        return None if entry is None else self._files.read(self._request.target.rel)

    def _task(self) -> WriterTask:
        request = self._request
        return WriterTask(
            run_id=self._record.id,
            workspace_id=request.workspace.id,
            workspace_name=request.workspace.name,
            message_id=request.message_id,
            memory_id=request.target.memory_id,
            instructions=_first_text(request.place.instructions),
            context_instructions=_first_text(request.place.context_instructions),
            events=events_of(request.rows),
            said=tuple(_said(request.rows, request.since)),
            timeout_ms=round(request.time_limit_s * 1000),
            deadline=time.monotonic() + request.time_limit_s,
        )

    # Writing

    def _written(self, draft: MemoryDraft, tools: WriterTools, end: EngineResult) -> WriterEnd:
        run_id = self._record.id
        if self._cancel.is_set() or end.outcome == "cancelled":
            return WriterEnd.cancelled(run_id)
        if not draft.changed:
            return _without_change(run_id, tools, end, self._request.time_limit_s)
        if not self._still_wanted():
            return WriterEnd.switched_off(run_id)
        try:
            self._file_run.swap(draft, lambda lease: self._write(draft, lease))
        except UserError as error:
            return WriterEnd.by_error(run_id, error)
        summary = f"{self._request.target.path} was updated."
        if end.outcome == "time-limit":
            summary += " The model then ran out of time."
        elif end.error is not None:
            summary += f" After that: {end.error.title}"
        return WriterEnd(run_id, "completed", summary, wrote=True)

    def _write(self, draft: MemoryDraft, lease: Lease) -> None:
        target = self._request.target
        self._history("outside", "before the memory writer", None)
        usage_before, usage_after = self._usage_delta()
        self._file_run.carry_out(
            PlannedChange(target.root, target.rel, draft.before, draft.after),
            target.path,
            f"{target.path} was updated.",
            lease,
            usage_before=usage_before,
            usage_after=usage_after,
        )
        with contextlib.suppress(UserError):  # the change is made; the next snapshot takes it in
            self._history("writer", f"{self._request.trigger}, {self._engine.name}", self._record.id)

    def _history(self, actor: str, source: str, run_id: str | None) -> None:
        snapshots, target = self._parts.snapshots, self._request.target
        if target.is_companion:
            snapshots.record_companion(target.rel, actor=actor, source=source, run_id=run_id)
        elif run_id is None:
            snapshots.observe(source=source, dirty=[target.file])
        else:
            subject = f"{target.path} was updated."
            snapshots.record(actor=actor, source=source, subject=subject, run_id=run_id, dirty=[target.file])

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

    # Telling

    def _noted(self, end: WriterEnd) -> WriterEnd:
        end = replace(end, run_id=self._record.id)
        self._file_run.note(end, wrote=end.wrote)
        return end

    def _document(self, task: WriterTask, end: EngineResult, written: WriterEnd) -> Mapping[str, Any] | None:
        trace, request = end.account.trace, self._request
        if trace is None:
            return None
        ours = {**trace.get("reverie", {}), "runId": self._record.id, "runOutcome": written.outcome}
        return {
            **trace,
            "runStartedAt": self._started,
            "didWriteMemory": written.wrote,
            "agentDiscoveryPath": request.workspace.path,
            "projectPath": request.context.project_path or "",
            "workspacePath": request.workspace.path,
            "memoryPath": str(request.target.file),
            "reverie": {**ours, "target": request.target.path},
        }


def _without_change(run_id: str, tools: WriterTools, end: EngineResult, limit_s: float) -> WriterEnd:
    """The end of a run that has nothing to write."""
    if end.outcome == "time-limit":
        return WriterEnd.out_of_time(run_id, limit_s)
    if end.error is not None:
        return WriterEnd.by_error(run_id, end.error)
    if tools.satisfied:
        return WriterEnd(run_id, "unchanged", "Nothing new to remember.")
    return WriterEnd(
        run_id,
        "failed",
        f"The model neither wrote nor said that there is nothing to write, in {end.attempts} attempts.",
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
