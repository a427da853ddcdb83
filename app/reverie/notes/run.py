"""One update of session notes: what there is to read, the engine's work on a draft, a check, one transaction.

What a killed run left is settled before anything is read. The thinking has no effect; an update that broke
the sections, or did not come to its end, is thrown away. Only when there is something to write is the home's
dream lease taken, for a moment, and the change made like that of any other run: recovery first, history
before, a durable record, journal, compare-and-swap, history after. Notes that somebody changed meanwhile get
the same edits once more, on top of what they wrote; where those no longer fit, nothing is written.

A new file is created exclusively with mode 0600 in a directory with mode 0700. Threading: one run, one event
loop, blocking. Failure: `NotesRun.go` never raises for what a person can mend.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from reverie.agent.account import spent
from reverie.clock import Clock
from reverie.errors import Busy, Conflict, MendableError, StoreError, mendable_from_os
from reverie.files.containment import EscapesRoot
from reverie.files.directory import Directory, SwappedError
from reverie.files.lease import Lease, LeaseHeld, Leases
from reverie.files.rooted import RootedDirectory
from reverie.homes.agents import NotesPlace
from reverie.homes.base import Home
from reverie.homes.scopes import ScopeContext
from reverie.memory.snapshots import Snapshots
from reverie.memory.store import sha256_of_bytes
from reverie.notes.engine import EngineEnd, NotesEngine, NotesTask
from reverie.notes.sections import NotesProblem, over_limits
from reverie.notes.template import current_template, own_text
from reverie.notes.tool import NotesDraft
from reverie.runs.journal import PlannedChange
from reverie.runs.record import Outcome, RunRecord, RunStore, not_applied
from reverie.runs.recovery import Recovery
from reverie.runs.transaction import LeaseLost, Transaction
from reverie.transcripts.reading import Message

FILE_MODE, DIRECTORY_MODE = 0o600, 0o700
_SWAPS = 5
_LEASE_WAIT_S = 60.0
_LEASE_STEP_S = 0.05


@dataclass(frozen=True, slots=True)
class RunDependencies:
    """What a run works on, of one home. `lease_name` is that of its dreams."""

    home: Home
    home_id: str
    leases: Leases
    lease_name: str
    runs: RunStore
    snapshots: Snapshots
    recovery: Recovery
    transaction_for: Callable[[str, str], Transaction]
    clock: Clock


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
class NotesEnd:
    """How a run ended. `written`: the hash of the notes as the run left them, None where it wrote nothing.
    `too_long`: what is above the limits now."""

    run_id: str
    outcome: Outcome
    summary: str
    written: str | None = None
    reason: str = ""
    next_step: str = ""
    usage: Mapping[str, int] | None = None
    document: Mapping[str, Any] | None = None
    too_long: tuple[NotesProblem, ...] = ()

    @property
    def succeeded(self) -> bool:
        return self.outcome in ("completed", "unchanged")


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
        self._record = RunRecord(
            id=parts.runs.new_id(self._started),
            kind="notes",
            home_id=parts.home_id,
            home_root=str(parts.home.root),
            workspace_id=request.session_id,
            project_path=request.context.project_path,
            trigger=request.trigger,
            engine=engine.name,
            started_at=self._started,
            details=dict(request.details),
        )

    def go(self) -> NotesEnd:
        """Think, check, write, tell."""
        place = self._request.place
        try:
            self._recover()
            refuse_outside(self._parts.home, place)
            draft = NotesDraft(self._read, current_template(place.template))
            end = asyncio.run(self._engine.update(self._task(), draft, self._cancel.is_set))
        except MendableError as error:
            return self._noted(_failed(self._record.id, error))
        written = self._written(draft, end)
        usage, cost = spent(end.account)
        details = {**self._record.details, **({"costUsd": cost} if usage is not None else {})}
        self._record = replace(self._record, usage=usage, details=details)
        return self._noted(replace(written, usage=usage, document=self._document(end, written)))

    # Reading

    def _recover(self) -> None:
        """Settle what a killed run left, before anybody reads a file that will be put back. While another run
        is at work on the home, that one has done so."""
        if not self._parts.runs.unsettled():
            return
        with (
            contextlib.suppress(LeaseHeld),
            self._parts.leases.acquire(self._parts.lease_name, purpose=self._purpose),
        ):
            self._parts.recovery.run()

    @property
    def _purpose(self) -> str:
        return f"session notes ({self._request.session_id})"

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

    def _written(self, draft: NotesDraft, end: EngineEnd) -> NotesEnd:
        run_id = self._record.id
        if self._cancel.is_set() or end.outcome == "cancelled":
            return NotesEnd(run_id, "cancelled", "Cancelled; nothing was changed.", reason="cancelled")
        if end.outcome == "time-limit":
            limit = self._request.time_limit_s
            return NotesEnd(
                run_id,
                "failed",
                f"The time limit of {limit:g} s was reached; nothing was changed.",
                reason="timeout",
                next_step="Choose a faster model, or raise the limit in the settings.",
            )
        if end.error is not None:
            return _failed(run_id, end.error)
        if not draft.changed:
            return NotesEnd(run_id, "unchanged", "Nothing new to note.")
        if not self._still_wanted():
            return NotesEnd(
                run_id, "cancelled", "Switched off while it ran; nothing was changed.", reason="disabled"
            )
        try:
            with self._lease() as lease:
                self._parts.recovery.run()
                self._swap(draft, lease)
        except LeaseLost as error:
            return NotesEnd(run_id, "interrupted", str(error), reason=error.reason)
        except MendableError as error:
            return _failed(run_id, error)
        too_long = over_limits(draft.text)
        summary = "The session notes were updated." + (" They are longer than is read." if too_long else "")
        return NotesEnd(run_id, "completed", summary, sha256_of_bytes(draft.after), too_long=too_long)

    @contextlib.contextmanager
    def _lease(self) -> Iterator[Lease]:
        """The home's dream lease, for the moment of writing; another run at work is waited for."""
        until = time.monotonic() + _LEASE_WAIT_S
        while True:
            try:
                lease = self._parts.leases.acquire(self._parts.lease_name, purpose=self._purpose)
                break
            except Busy:
                if time.monotonic() >= until or self._cancel.wait(_LEASE_STEP_S):
                    raise
        with lease:
            yield lease

    def _swap(self, draft: NotesDraft, lease: Lease) -> None:
        """Write the draft; on top of what somebody else wrote meanwhile, where that is possible."""
        for attempt in range(_SWAPS):
            draft.refresh()
            if broken := draft.broken:
                raise StoreError(
                    "The update was undone, because it broke the sections of the notes.",
                    cause=broken,
                    next_step="Look at the trace of the run, or try another model.",
                    reason="structure",
                )
            if not draft.changed:
                return
            try:
                self._apply(draft, lease)
                return
            except Conflict:
                if attempt == _SWAPS - 1:
                    raise
                self._record = replace(
                    self._record, id=self._parts.runs.new_id(self._started), ended_at=None, ops=()
                )

    def _apply(self, draft: NotesDraft, lease: Lease) -> None:
        parts, place = self._parts, self._request.place
        refuse_outside(parts.home, place)
        change = PlannedChange(
            place.root,
            place.rel,
            draft.before,
            draft.after,
            FILE_MODE if draft.before is None else None,
        )
        command = "create" if draft.before is None else "str_replace"
        ops: tuple[Mapping[str, Any], ...] = (
            {"command": command, "path": f"/memories/{place.root.scope}/{place.rel}", "applied": True},
        )
        if draft.before is None:
            make_private(parts.home, place)
        else:
            parts.snapshots.observe(source="before the session notes", dirty=[place.file])
        self._record = parts.runs.begin(replace(self._record, ops=ops))
        transaction = parts.transaction_for(self._record.id, "notes")

        def check() -> None:
            if not lease.renew():
                raise LeaseLost("The run stopped: its lease ran out meanwhile.", next_step="It runs again.")

        try:
            transaction.apply(transaction.prepare([change]), commit=lambda: None, check=check)
        except LeaseLost:
            raise
        except BaseException as error:
            pending = [] if transaction.undone is None else list(transaction.undone.pending)
            self._record = parts.runs.finish(
                self._record,
                outcome="interrupted" if pending else "failed",
                ended_at=parts.clock(),
                summary=str(error) or type(error).__name__,
                reason=error.reason if isinstance(error, MendableError) else "bug",
                ops=not_applied(ops, "the run did not complete"),
                details={**self._record.details, **({"pending": pending} if pending else {})},
            )
            raise
        summary = "The session notes were updated."
        self._record = parts.runs.finish(
            self._record, outcome="completed", ended_at=parts.clock(), summary=summary
        )
        with contextlib.suppress(MendableError):  # the change is made; the next snapshot takes it in
            parts.snapshots.record(
                actor="notes",
                source=f"{self._request.trigger}, {self._engine.name}",
                subject=summary,
                run_id=self._record.id,
                dirty=[place.file],
            )

    # Telling

    def _noted(self, end: NotesEnd) -> NotesEnd:
        """Keep the record; the one of a run that wrote is there already, and gets what it used."""
        end = replace(end, run_id=self._record.id)
        with contextlib.suppress(MendableError):
            if end.written is not None:
                self._parts.runs.save(self._record)
            elif self._record.outcome == "running" and end.outcome != "interrupted":
                self._parts.runs.note(
                    replace(
                        self._record,
                        outcome=end.outcome,
                        ended_at=self._parts.clock(),
                        summary=end.summary,
                        reason=end.reason,
                        ops=(),
                    )
                )
        return end

    def _document(self, end: EngineEnd, written: NotesEnd) -> Mapping[str, Any] | None:
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
    root, directory = os.path.realpath(home.root), os.path.realpath(place.root.directory)
    if not directory.startswith(root.rstrip(os.sep) + os.sep):
        raise EscapesRoot(
            "The session notes were not updated.",
            cause="A symbolic link leads their directory out of the home.",
            next_step="Put the directory itself in its place.",
        )


def make_private(home: Home, place: NotesPlace) -> None:
    """Make what is missing of the directory of the notes, for their owner only. Raises `MendableError`."""
    root = os.path.realpath(home.root)
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
        raise mendable_from_os(error, "The directory of the session notes could not be made.") from error


def _failed(run_id: str, error: MendableError) -> NotesEnd:
    why = " ".join(part for part in (error.title, error.cause) if part)
    return NotesEnd(run_id, "failed", why, reason=error.reason, next_step=error.next_step)
