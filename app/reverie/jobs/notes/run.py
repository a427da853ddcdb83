"""One update of session notes: what there is to read, the engine's work on a draft, a check, one transaction
(`runs.one_file`).

An update that broke the sections, or did not come to its end, is thrown away. A new file is created
exclusively with mode 0600 in a directory with mode 0700.

Threading: one run, one event loop, blocking. Failure: `NotesRun.go` never raises for what a person can mend.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from reverie.agents.base import Home
from reverie.agents.capabilities import NotesPlace
from reverie.agents.scopes import ScopeContext
from reverie.agents.transcripts import Message
from reverie.errors import StoreError, UserError, user_error_from_os
from reverie.files.directory import Directory, SwappedError
from reverie.files.lease import Lease
from reverie.files.paths import real_path
from reverie.files.rooted import EscapesRoot, RootedDirectory
from reverie.jobs.notes.engine import NotesDraft, NotesEngine, NotesTask
from reverie.jobs.notes.sections import NotesProblem, current_template, over_limits, own_text
from reverie.llm.client import EngineResult, spent
from reverie.memory.store import sha256_of_bytes
from reverie.runs.journal import PlannedChange
from reverie.runs.one_file import OneFileEnd, OneFileRun
from reverie.runs.record import SUCCEEDED, RunRecord
from reverie.runs.recovery import RunDependencies

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


@dataclass(frozen=True, slots=True)
class NotesEnd(OneFileEnd):
    """How a run ended. `written`: the hash of the notes as the run left them, None where it wrote nothing.
    `too_long`: what is above the limits now."""

    written: str | None = None
    usage: Mapping[str, int] | None = None
    too_long: tuple[NotesProblem, ...] = ()

    @property
    def succeeded(self) -> bool:
        return self.outcome in SUCCEEDED


class NotesRun:
    """One run, of which nothing else of this session is at work."""

    def __init__(
        self,
        parts: RunDependencies,
        request: NotesRequest,
        engine: NotesEngine,
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
        self._files = RootedDirectory(request.place.root.directory)
        record = parts.new_record(
            "notes",
            self._started,
            workspace_id=request.session_id,
            project_path=request.context.project_path,
            trigger=request.trigger,
            engine=engine.name,
            details=dict(request.details),
        )
        purpose = f"session notes ({request.session_id})"
        self._file_run = OneFileRun(parts, record, purpose=purpose, cancel=cancel)

    def go(self) -> NotesEnd:
        """Think, check, write, tell."""
        place = self._request.place
        try:
            self._file_run.recover()
            refuse_outside(self._parts.home, place)
            draft = NotesDraft(self._read, current_template(place.template))
            end = asyncio.run(self._engine.update(self._task(), draft, self._cancel.is_set))
        except UserError as error:
            return self._noted(NotesEnd.by_error(self._record.id, error))
        written = self._written(draft, end)
        usage, cost = spent(end.account)
        details = {**self._record.details, **({"costUsd": cost} if usage is not None else {})}
        self._file_run.record = replace(self._record, usage=usage, details=details)
        return self._noted(replace(written, usage=usage, document=self._document(end, written)))

    # Reading

    @property
    def _record(self) -> RunRecord:
        return self._file_run.record

    def _read(self) -> bytes | None:
        rel = self._request.place.rel
        return None if self._files.entry(rel) is None else self._files.read(rel)

    def _task(self) -> NotesTask:
        request = self._request
        return NotesTask(
            run_id=self._record.id,
            session_id=request.session_id,
            title=request.title,
            path=str(request.place.file),
            messages=request.messages,
            prompt=own_text(request.place.prompt),
            timeout_ms=round(request.time_limit_s * 1000),
            deadline=time.monotonic() + request.time_limit_s,
        )

    # Writing

    def _written(self, draft: NotesDraft, end: EngineResult) -> NotesEnd:
        run_id = self._record.id
        if self._cancel.is_set() or end.outcome == "cancelled":
            return NotesEnd.cancelled(run_id)
        if end.outcome == "time-limit":
            return NotesEnd.out_of_time(run_id, self._request.time_limit_s)
        if end.error is not None:
            return NotesEnd.by_error(run_id, end.error)
        if not draft.changed:
            return NotesEnd(run_id, "unchanged", "Nothing new to note.")
        if not self._still_wanted():
            return NotesEnd.switched_off(run_id)
        try:
            self._file_run.swap(draft, lambda lease: self._write(draft, lease))
        except UserError as error:
            return NotesEnd.by_error(run_id, error)
        too_long = over_limits(draft.text)
        summary = "The session notes were updated." + (" They are longer than is read." if too_long else "")
        after = sha256_of_bytes(draft.after)
        return NotesEnd(run_id, "completed", summary, written=after, too_long=too_long)

    def _write(self, draft: NotesDraft, lease: Lease) -> None:
        if broken := draft.broken:
            raise StoreError(
                "The update was undone, because it broke the sections of the notes.",
                cause=broken,
                next_step="Look at the trace of the run, or try another model.",
                reason="structure",
            )
        home, place, snapshots = self._parts.home, self._request.place, self._parts.snapshots
        refuse_outside(home, place)
        is_new, summary = draft.before is None, "The session notes were updated."
        if is_new:
            make_private(home, place)
        else:
            snapshots.observe(source="before the session notes", dirty=[place.file])
        self._file_run.carry_out(
            PlannedChange(place.root, place.rel, draft.before, draft.after, FILE_MODE if is_new else None),
            f"/memories/{place.root.scope}/{place.rel}",
            summary,
            lease,
        )
        with contextlib.suppress(UserError):  # the change is made; the next snapshot takes it in
            snapshots.record(
                actor="notes",
                source=f"{self._request.trigger}, {self._engine.name}",
                subject=summary,
                run_id=self._record.id,
                dirty=[place.file],
            )

    # Telling

    def _noted(self, end: NotesEnd) -> NotesEnd:
        end = replace(end, run_id=self._record.id)
        self._file_run.note(end, wrote=end.written is not None)
        return end

    def _document(self, end: EngineResult, written: NotesEnd) -> Mapping[str, Any] | None:
        trace = end.account.trace
        if trace is None:
            return None
        ours = {**trace.get("reverie", {}), "runId": self._record.id, "runOutcome": written.outcome}
        wrote = written.written is not None
        attempts = trace.get("attempts", [])
        if not wrote:
            attempts = [{**attempt, "wrote": False} for attempt in attempts]
        if written.reason == "structure" and attempts:
            attempts[-1] = _with_check(attempts[-1], written.summary)
        return {
            **trace,
            "runStartedAt": self._started,
            "attempts": attempts,
            "didWriteMemory": wrote,
            "satisfiedMemoryToolPolicy": written.succeeded,
            "projectPath": self._request.context.project_path or "",
            "memoryPath": str(self._request.place.file),
            "reverie": ours,
        }


def _with_check(attempt: Mapping[str, Any], problem: str) -> dict[str, Any]:
    """The attempt with the look at its sections that it did not pass."""
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
