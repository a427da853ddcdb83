"""The session notes of one home: decides when an update is due, runs it, and reports the result.

Each session has one update at a time. The host calls `on_change` when a transcript has grown. `update_now`
serves a person's request: it ignores the thresholds, and changes no counters except those that a success
changes. A gate is one entry in Activity per session until the gate changes; the numbers of a run (tokens
including cached ones, the thresholds in force) are in its entry and its record.

If the notes differ from what Reverie wrote last and no person changed them in Reverie, another program
maintains them; then one update is skipped, which is reported. Threading and failure: see `service`.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from reverie.agents.base import AgentNotes
from reverie.agents.capabilities import NotesPlace, SessionFacts, SessionMeter
from reverie.agents.scopes import ScopeContext
from reverie.agents.transcripts import ReadStatistics
from reverie.errors import UserError
from reverie.files.lease import LeaseHeld
from reverie.files.rooted import RootedDirectory
from reverie.jobs.single_file.notes import NotesEngine, NotesJob, NotesTask, newest
from reverie.jobs.single_file.notes_sections import (
    TOTAL_TOKENS,
    NotesProblem,
    current_template,
    is_template,
    own_text,
    problems_of,
    rough_tokens,
)
from reverie.jobs.single_file.service import FileOutcome, FileService, Gate, NoRun, StateTable, lease_name
from reverie.memory.scope_files import sha256_of_bytes
from reverie.runs.record import RunResult
from reverie.runs.run import RunDependencies
from reverie.values import Struct, columns, replace

if TYPE_CHECKING:
    from reverie.settings import NotesSettings


_NAMES = {
    "counting_from": "countingFrom",
    "summarised": "lastSummarised",
    "seen_uuid": "seen",
    "run_id": "runId",
    "updated_at": "updatedAt",
}


class NotesState(Struct, frozen=True, rename=_NAMES):
    """The stored state of one session's notes (formats/claude-code.md section 3)."""

    begun: bool = False
    """True if the session was ever large enough for notes."""
    tokens: int = 0
    """The size of the conversation in tokens at the last update."""
    counting_from: str | None = None
    """The id of the message after which tool calls count; None to count all."""
    summarised: str | None = None
    """The id of the last message that the notes cover for certain; None if that is unknown."""
    written: str | None = None
    """The hash of the notes as Reverie last wrote or saw them; None before that."""
    seen_uuid: str = ""
    """The id of the last message that an update has read; empty if there was none."""
    run_id: str = ""
    """The id of the run that made the last update."""
    updated_at: int | None = None
    """The time of the last update, UTC ms; None if there was none."""
    ours: frozenset[str] = frozenset()
    """Keys of the lines that runs by rules wrote (`notes_rules.own_lines`)."""


class Measured(Struct, frozen=True):
    """The measures of a session at one moment.

    `messages`: the number of messages. `context_tokens`: the size of the conversation in tokens. `last_uuid`:
    the id of the last message.
    """

    messages: int
    context_tokens: int
    tool_calls: int
    """The number of tool calls since `NotesState.counting_from`."""
    at_break: bool
    """True if the last answer of the model requests no tools."""
    last_uuid: str = ""


class UpdateDecision(Struct, frozen=True):
    """The decision whether the notes of a session are due for an update."""

    state: NotesState
    """The state to store, whether an update is due or not."""
    gate: Gate | None
    """The reason why no update is due; None if one is due."""


def decide(state: NotesState, seen: Measured, settings: NotesSettings) -> UpdateDecision:
    """Decide whether an update is due.

    The context must have grown, and either enough tools were called since the last trigger, or the model has
    just finished its answer. If an update is due, tool calls are counted from this message on; the tokens are
    only recorded once the update has succeeded.
    """
    if not seen.messages:
        return UpdateDecision(state, "no-messages")
    if not state.begun:
        if seen.context_tokens < settings.start_tokens:
            return UpdateDecision(state, "too-small")
        state = replace(state, begun=True)
    if seen.context_tokens - state.tokens < settings.growth_tokens:
        return UpdateDecision(state, "not-grown")
    if seen.tool_calls < settings.tool_calls and not seen.at_break:
        return UpdateDecision(state, "at-work")
    return UpdateDecision(replace(state, counting_from=seen.last_uuid or state.counting_from), None)


def succeeded(state: NotesState, seen: Measured) -> NotesState:
    """Return the state after a successful update, at the start of which the session was as in `seen`.

    If the model was still working, it is unknown up to which message the notes are complete, so `summarised`
    does not change.
    """
    summarised = seen.last_uuid if seen.at_break and seen.last_uuid else state.summarised
    return replace(state, tokens=seen.context_tokens, summarised=summarised)


class NotesOutcome(FileOutcome, frozen=True, kw_only=True):
    """The result of handling a changed transcript or a person's request."""

    path: Path | None = None
    """The path of the notes; None if they do not exist."""

    def as_json(self) -> dict[str, Any]:
        """Return the output of `reverie notes --json` (design.md section 5)."""
        if not self.succeeded:
            refused = self.gate in ("unknown-layout", "not-in-use")
            return {"success": False, "error": self.summary, **({"reason": self.reason} if refused else {})}
        return {"success": True, **({} if self.path is None else {"memoryPath": str(self.path)})}


class NotesStanding(Struct, frozen=True):
    """The present state of one session's notes.

    `tokens`: their size. `limit_tokens`: the size that the agent reads. `running`: an update is in progress.
    """

    session_id: str
    path: Path | None = None
    """The path of the notes; None if the agent has no notes for the session."""
    exists: bool = False
    """Whether the file exists."""
    is_template: bool = False
    """Whether the file exists but still equals the template."""
    tokens: int = 0
    limit_tokens: int = 0
    problems: tuple[NotesProblem, ...] = ()
    """Problems in the notes, for a person to fix."""
    running: bool = False
    gate: Gate | None = None
    """The reason why no update is due now; None if one is due."""
    sentence: str = ""
    """The same reason as a sentence; empty if an update is due."""
    noted_tokens: int = 0
    """The size of the conversation in tokens at the last update by Reverie."""
    updated_at: int | None = None
    """The time of the last update by Reverie, UTC ms."""


def gate_words(gate: Gate, settings: NotesSettings) -> str:
    """Return why no update runs now, as a sentence.

    It contains no numbers that differ from one call to the next, such as the present number of tokens.
    """
    return {
        "disabled": "Session notes are off. Turn them on in Settings.",
        "no-messages": "This session has no messages yet.",
        "remote": "The agent runs remotely, where it keeps no notes.",
        "no-compaction": "Automatic compaction is off, and the notes are only needed for it.",
        "idle": "This session has had no new messages for more than an hour.",
        "too-small": f"Notes start when the session contains {settings.start_tokens:,} tokens.",
        "not-grown": f"Not due: the session has not yet grown by {settings.growth_tokens:,} tokens.",
        "at-work": (
            f"Not due: the model is working. An update is due after {settings.tool_calls} tool calls, "
            "or when the model has responded."
        ),
    }.get(gate, gate)


WAIT_S = 15.0
"""How long a person's request waits for an active run, in seconds; the same as in the agent."""
_POLL_S = 0.1
IDLE_MS = 3_600_000
"""The time without messages after which a session is not in use, in ms."""


class NotesDependencies(Struct, frozen=True):
    """The services and settings that one home's notes need."""

    run: RunDependencies
    book: StateTable[NotesState]
    settings: Callable[[], NotesSettings]
    """A function that reads the settings; it is called again for each check."""
    engine_for: Callable[[ScopeContext], NotesEngine]
    """A function that chooses the engine.

    Raises `UserError` if a model that a person chose cannot be used.
    """
    is_ours: Callable[[Path, str], bool]
    """A function that returns True if a person or a run in Reverie wrote this content.

    Arguments: the file and the hash of its content.
    """


class _Session(Struct, frozen=True):
    """One session, with its stored state and its measures before a decision."""

    id: str
    place: NotesPlace
    state: NotesState
    seen: Measured


class NotesService(FileService[NotesOutcome]):
    """The service that updates the session notes of one home."""

    kind = "notes"
    mark = "[notes]"
    outcome = NotesOutcome

    def __init__(self, parts: NotesDependencies, cancel: threading.Event | None = None) -> None:
        super().__init__(parts.run, cancel)
        self._parts = parts
        self._scans: dict[str, SessionMeter] = {}
        self._last_gates: dict[str, Gate] = {}
        self._lock = threading.Lock()

    def on_change(self, session_id: str) -> NotesOutcome:
        """Handle a possible change of the transcript: check whether an update is due, and run it."""
        if not self._parts.settings().enabled:
            # The same for every session, so report it once for the home.
            return replace(self.answer("", lambda: self._raise("disabled")), workspace_id=session_id)
        return self.answer(session_id, partial(self._update_if_due, session_id))

    def update_now(self, session_id: str, *, force: bool = False) -> NotesOutcome:
        """Update the notes at a person's request.

        Without `force` nothing happens if there are no new messages and the notes are unchanged since the
        last update.
        """
        return self.answer(session_id, partial(self._update, session_id, force=force), level="warning")

    def standing(self, session_id: str) -> NotesStanding:
        """Return the present state of the notes, without changing anything.

        Only the new rows of the transcript are read. Raises `UserError`.
        """
        place = self._place(session_id)
        if place is None:
            return NotesStanding(
                session_id, gate="unknown-session", sentence="This home has no session notes."
            )
        settings = self._parts.settings()
        data, template = self._bytes(place), current_template(place.template)
        text = "" if data is None else data.decode("utf-8", "replace")
        state = self._parts.book.of(session_id)
        gate: Gate | None = "no-messages"
        with contextlib.suppress(FileNotFoundError):
            seen = _measured(self._facts(session_id, place), state)
            gate = self._notes.keeps_no_notes(session_id) or decide(state, seen, settings).gate
        if not settings.enabled:
            gate = "disabled"
        return NotesStanding(
            session_id,
            place.file,
            exists=data is not None,
            is_template=data is not None and is_template(text, template),
            tokens=rough_tokens(text),
            limit_tokens=TOTAL_TOKENS,
            problems=() if data is None else problems_of(text, template),
            running=self._parts.run.leases.holder(self._lease_name(session_id)) is not None,
            gate=gate,
            sentence="" if gate is None else gate_words(gate, settings),
            noted_tokens=state.tokens,
            updated_at=state.updated_at,
        )

    def refuse(
        self,
        gate: Gate,
        text: str,
        workspace_id: str,
        message_id: str = "",
        *,
        level: str | None = "info",
        next_step: str = "",
    ) -> NotesOutcome:
        """Report why no run started, and return that as the outcome.

        `gate`: the reason, for scripts; `text`: a sentence. It is reported once per session until it changes,
        and not at all if `level` is None.
        """
        if level == "info" and self._last_gates.get(workspace_id) == gate:
            level = None
        self._last_gates[workspace_id] = gate
        return super().refuse(gate, text, workspace_id, message_id, level=level, next_step=next_step)

    @property
    def _notes(self) -> AgentNotes:
        notes = self._parts.run.home.notes
        assert notes is not None  # every `NotesPlace` comes from it
        return notes

    def _place(self, session_id: str) -> NotesPlace | None:
        notes = self._parts.run.home.notes
        return None if notes is None else notes.notes_place(session_id)

    def _lease_name(self, session_id: str) -> str:
        return lease_name(self.kind, self._parts.run.home_id, session_id)

    def _raise(self, gate: Gate) -> NoReturn:
        raise NoRun(gate, gate_words(gate, self._parts.settings()))

    def _session(self, session_id: str) -> _Session:
        """Return the session as it is now. Raises `NoRun` if the home does not list it."""
        place = self._place(session_id)
        if place is None:
            raise NoRun("unknown-session", "The home has no such session.", level="warning")
        self._parts.run.guard.require(place.root)
        state, seen = self._parts.book.of(session_id), Measured(0, 0, 0, True)
        with contextlib.suppress(FileNotFoundError):
            seen = _measured(self._facts(session_id, place), state)
        return _Session(session_id, place, state, seen)

    def _facts(self, session_id: str, place: NotesPlace) -> SessionFacts:
        """Return the measures of a session; only the new rows of its transcript are read."""
        with self._lock:  # a scan is not thread-safe, and two threads may check one session
            scan = self._scans.get(session_id)
            if scan is None:
                scan = self._scans[session_id] = self._notes.session_scan(place)
            return scan.update()

    def _update_if_due(self, session_id: str) -> NotesOutcome:
        session = self._session(session_id)
        if stopped := self._notes.keeps_no_notes(session_id):
            self._raise(stopped)
        changed = 0
        with contextlib.suppress(OSError):
            changed = session.place.transcript.stat().st_mtime_ns // 1_000_000
        if time.time_ns() // 1_000_000 - changed > IDLE_MS:
            self._raise("idle")
        self._due(session)
        with self._lease(session_id, wait_s=0.0):
            # Another process may have updated the notes since the first check.
            session = replace(session, state=self._parts.book.of(session_id))
            self._store_counters(session, self._due(session))
            if self._advanced_by_others(session):
                text = (
                    "Reverie did not run: the notes have changed since Reverie wrote them, so "
                    "another program maintains them."
                )
                raise NoRun("stood-down", text)
            return self._run(session, "thresholds")

    def _update(self, session_id: str, *, force: bool) -> NotesOutcome:
        session = self._session(session_id)
        if not session.seen.messages:
            raise NoRun("no-messages", "No messages to summarize.", level="warning")
        with self._lease(session_id, wait_s=WAIT_S):
            session = replace(session, state=self._parts.book.of(session_id))
            current, state = self._sha256(session.place), session.state
            same = state.seen_uuid == session.seen.last_uuid and session.seen.last_uuid
            if not force and same and current is not None and current == state.written:
                text = "There are no new messages since the last update of the notes."
                return replace(self.refuse("nothing-new", text, session_id), path=session.place.file)
            return self._run(session, "manual")

    def _due(self, session: _Session) -> NotesState:
        """Return the state to store before an update.

        If no update is due, stores the state and raises `NoRun`.
        """
        decision = decide(session.state, session.seen, self._parts.settings())
        if decision.gate is not None:
            self._store_counters(session, decision.state)
            self._raise(decision.gate)
        return decision.state

    def _store_counters(self, session: _Session, new: NotesState) -> None:
        if new != session.state:
            self._parts.book.change(
                session.id, lambda state: replace(state, begun=new.begun, counting_from=new.counting_from)
            )

    def _advanced_by_others(self, session: _Session) -> bool:
        """Return True if another program changed the notes since Reverie last wrote or saw them.

        The present notes are marked as seen. Deleted notes do not count as changed.
        """
        current, written = self._sha256(session.place), session.state.written
        if current is None or written is None or current == written:
            return False
        self._parts.book.change(session.id, lambda state: replace(state, written=current))
        return not self._parts.is_ours(session.place.file, current)

    def _sha256(self, place: NotesPlace) -> str | None:
        return sha256_of_bytes(self._bytes(place))

    def _bytes(self, place: NotesPlace) -> bytes | None:
        files = RootedDirectory(place.root.directory)
        return None if files.entry(place.rel) is None else files.read(place.rel)

    @contextlib.contextmanager
    def _lease(self, session_id: str, *, wait_s: float) -> Iterator[None]:
        """Context manager: hold the lease on updates of one session, in all processes.

        Raises `LeaseHeld` if another process still holds it after `wait_s`.
        """
        until = time.monotonic() + wait_s
        while True:
            try:
                lease = self._parts.run.leases.acquire(
                    self._lease_name(session_id), purpose=f"session notes ({session_id})"
                )
                break
            except LeaseHeld:
                if time.monotonic() >= until or self._cancel.wait(_POLL_S):
                    raise
        with lease:
            yield

    def _run(self, session: _Session, trigger: str) -> NotesOutcome:
        """Run an update, store the state after it and report its end."""
        home, session_id, seen = self._parts.run.home, session.id, session.seen
        settings, context = self._parts.settings(), home.context(workspace_id=session.id)
        try:
            engine = self._parts.engine_for(context)
        except UserError as error:
            raise NoRun(
                "model-unavailable", str(error), level="warning", next_step=error.next_step
            ) from error
        numbers = {
            **columns(seen, "context_tokens tool_calls messages"),
            "thresholds": columns(
                settings,
                "minimumMessageTokensToInit=start_tokens "
                "minimumTokensBetweenUpdate=growth_tokens toolCallsBetweenUpdates=tool_calls",
            ),
        }
        task = NotesTask(
            target=session.place,
            context=context,
            workspace_id=session_id,
            workspace_name=self._notes.session_title(session.place),
            trigger=trigger,
            time_limit_s=settings.time_limit_s,
            details=numbers,
            messages=newest(self._notes.session_messages(session.place).messages(ReadStatistics())),
            prompt=own_text(session.place.prompt),
            ours=session.state.ours,
        )
        job = NotesJob(
            self._parts.run,
            task,
            engine,
            still_wanted=lambda: trigger == "manual" or self._parts.settings().enabled,
        )
        end = self.run(job)
        if end.succeeded:
            self._store(session, end, job)
        level = logging.INFO if job.written(end) is not None else logging.DEBUG
        self.log(
            level, f"{end.outcome}: {end.summary}", session_id, model=engine.name, timed_out=job.timed_out
        )
        self.note(
            end.outcome,
            end.summary,
            session_id,
            level="info" if end.succeeded else "warning",
            run_id=end.run_id,
            details={**numbers, "model": engine.name, "usage": dict(end.usage or {})},
        )
        self._last_gates.pop(session_id, None)
        exists = end.succeeded and self._bytes(session.place) is not None
        return replace(end, path=session.place.file) if exists else end

    def _store(self, session: _Session, end: RunResult, job: NotesJob) -> None:
        """Store the state after a successful update, unless another update came later."""
        current, ours = job.written(end) or self._sha256(session.place), job.own_lines(end)
        now = self._parts.run.clock()

        def change(state: NotesState) -> NotesState:
            if state.run_id != session.state.run_id:
                return state  # another update came after this one, while this process was suspended
            return replace(
                succeeded(state, session.seen),
                written=current,
                seen_uuid=session.seen.last_uuid,
                run_id=end.run_id,
                updated_at=now,
                ours=ours,
            )

        self._parts.book.change(session.id, change)


def _measured(facts: SessionFacts, state: NotesState) -> Measured:
    return Measured(
        facts.messages,
        facts.context_tokens,
        facts.tool_calls_since(state.counting_from),
        not facts.calls_tools,
        facts.last_uuid,
    )
