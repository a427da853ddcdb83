"""One update of session notes, as a job on the one Run (`runs.run`): the engine's work on a draft, a check.

An update that broke the sections, or did not come to its end, is thrown away. A new file is created
exclusively with mode 0600 in a directory with mode 0700.

Threading and failure: see `runs.run`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reverie.agents.base import Home
from reverie.agents.capabilities import NotesPlace
from reverie.agents.scopes import ScopeContext
from reverie.agents.transcripts import Message
from reverie.errors import StoreError, user_error_from_os
from reverie.files.directory import Directory, SwappedError
from reverie.files.paths import real_path
from reverie.files.rooted import EscapesRoot, RootedDirectory
from reverie.jobs.notes.engine import NotesDraft, NotesEngine, NotesTask
from reverie.jobs.notes.sections import current_template, over_limits, own_text
from reverie.llm.client import EngineResult, spent
from reverie.memory.scope_files import FileChange
from reverie.memory.store import sha256_of_bytes
from reverie.runs.record import RunRecord
from reverie.runs.recovery import RunDependencies
from reverie.runs.result import SUCCEEDED, RunResult
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

FILE_MODE, DIRECTORY_MODE = 0o600, 0o700


@dataclass(frozen=True, slots=True)
class NotesRequest:
    """What is to be done. `trigger`: `thresholds` or `manual`; `details` are kept in the record."""

    session_id: str
    title: str
    context: ScopeContext
    place: NotesPlace
    messages: tuple[Message, ...]
    trigger: str
    time_limit_s: float
    details: Mapping[str, Any] = field(default_factory=dict)


class NotesJob(Job[NotesDraft]):
    """One update of session notes, of which nothing else of this session is at work."""

    kind = "notes"
    before = "before the session notes"
    attempts = 5

    def __init__(
        self,
        parts: RunDependencies,
        request: NotesRequest,
        engine: NotesEngine,
        *,
        still_wanted: Callable[[], bool],
    ) -> None:
        self._parts = parts
        self._request = request
        self._engine = engine
        self._still_wanted = still_wanted
        self._files = RootedDirectory(request.place.root.directory)
        self._end = EngineResult("failed", attempts=0)
        self._written: bytes | None = None
        self.workspace_id = request.session_id
        self.project_path = request.context.project_path
        self.trigger = request.trigger
        self.engine = engine.name
        self.purpose = f"session notes ({request.session_id})"
        self.time_limit_s = request.time_limit_s
        self.details = dict(request.details)

    def written(self, result: RunResult) -> str | None:
        """The hash of the notes as the run left them; None where it wrote nothing."""
        return sha256_of_bytes(self._written) if result.applied else None

    def ready(self) -> None:
        """Raises `EscapesRoot`."""
        refuse_outside(self._parts.home, self._request.place)

    async def think(self, run: RunContext) -> NotesDraft | Plan:
        """The engine's edits of a draft."""
        draft = NotesDraft(self._read, current_template(self._request.place.template))
        end = self._end = await self._engine.update(self._task(run), draft, run.limits.cancelled)
        if run.limits.cancelled() or end.outcome == "cancelled":
            return CANCELLED
        if end.outcome == "time-limit":
            return out_of_time(self._request.time_limit_s)
        if end.error is not None:
            return failed_by(end.error)
        if not draft.changed:
            return Plan("Nothing new to note.", outcome="unchanged")
        return draft if self._still_wanted() else SWITCHED_OFF

    def accept(self, thought: NotesDraft, run: RunContext) -> Plan:
        """The notes with the edits on what stands there now, unless they break the sections."""
        draft, home, place = thought, self._parts.home, self._request.place
        draft.refresh()
        if not draft.changed:
            return Plan("Nothing new to note.")
        if broken := draft.broken:
            raise StoreError(
                "The update was undone, because it broke the sections of the notes.",
                cause=broken,
                next_step="Look at the trace of the run, or try another model.",
                reason="structure",
            )
        refuse_outside(home, place)
        is_new = draft.before is None
        if is_new:
            make_private(home, place)
        self._written = draft.after
        too_long = over_limits(draft.text)
        summary = "The session notes were updated." + (" They are longer than is read." if too_long else "")
        mode = FILE_MODE if is_new else None
        return Plan(summary, (FileChange(place.root, place.rel, draft.before, draft.after, mode),))

    def costs(self) -> Costs:
        """What the engine used."""
        return Costs(*spent(self._end.account), self._end.account.trace)

    def document(self, trace: Mapping[str, Any], record: RunRecord, end: RunEnd) -> Mapping[str, Any]:
        """The trace, with what only the run knows."""
        ours = {**trace.get("reverie", {}), "runId": record.id, "runOutcome": end.outcome}
        wrote = bool(end.changed)
        attempts = trace.get("attempts", [])
        if not wrote:
            attempts = [{**attempt, "wrote": False} for attempt in attempts]
        if end.reason == "structure" and attempts:
            attempts[-1] = _with_check(attempts[-1], end.summary)
        return {
            **trace,
            "runStartedAt": record.started_at,
            "attempts": attempts,
            "didWriteMemory": wrote,
            "satisfiedMemoryToolPolicy": end.outcome in SUCCEEDED,
            "projectPath": self._request.context.project_path or "",
            "memoryPath": str(self._request.place.file),
            "reverie": ours,
        }

    def _read(self) -> bytes | None:
        rel = self._request.place.rel
        return None if self._files.entry(rel) is None else self._files.read(rel)

    def _task(self, run: RunContext) -> NotesTask:
        request = self._request
        return NotesTask(
            run_id=run.id,
            session_id=request.session_id,
            title=request.title,
            path=str(request.place.file),
            messages=request.messages,
            prompt=own_text(request.place.prompt),
            timeout_ms=round(request.time_limit_s * 1000),
            deadline=run.limits.deadline,
        )


def _with_check(attempt: Mapping[str, Any], problem: str) -> dict[str, Any]:
    """The attempt with the check of its sections that failed."""
    check = {
        "attemptIndex": attempt.get("attemptIndex", 1),
        "toolName": "check of the sections",
        "toolCallId": "check",
        "input": {},
        "output": {"success": False, "error": f"Refused: {problem}"},
        "durationMs": 0,
    }
    return {**attempt, "toolExecutions": [*attempt.get("toolExecutions", ()), check]}


def refuse_outside(home: Home, place: NotesPlace) -> None:
    """Raises `EscapesRoot` where a link leads the notes of a session out of the home."""
    root, directory = real_path(home.root), real_path(place.root.directory)
    if not directory.startswith(root.rstrip(os.sep) + os.sep):
        raise EscapesRoot(
            "The session notes were not updated.",
            cause="A symbolic link leads their directory out of the home.",
            next_step="Put the directory itself in its place.",
        )


def make_private(home: Home, place: NotesPlace) -> None:
    """Make what is missing of the directory of the notes, for their owner only. Raises `UserError`."""
    root = real_path(home.root)
    if not place.root.directory.is_relative_to(home.root):
        return  # the store makes it, and refuses what leads elsewhere
    names = place.root.directory.relative_to(home.root).parts + tuple(place.rel.split("/")[:-1])
    try:
        with contextlib.ExitStack() as opened:
            directory = opened.enter_context(Directory.open(root))
            for name in names:
                with contextlib.suppress(FileExistsError):
                    try:
                        directory.lstat(name)
                    except FileNotFoundError:
                        directory.make(name, DIRECTORY_MODE)
                directory = opened.enter_context(directory.child(name))
    except SwappedError:
        return  # a symlink: the store follows it where it stays inside, and refuses it where it does not
    except OSError as error:
        raise user_error_from_os(error, "The directory of the session notes could not be made.") from error
