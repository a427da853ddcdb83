"""The session notes of one home: decides when an update is due, runs it, and reports the result.

Each session has one update at a time. The host calls `on_change` when a transcript has grown. `update_now`
serves a person's request: it ignores the thresholds, and changes no counters except those that a success
changes. `NotesJob` is the run itself. The reason why no run starts is called a gate; it is one entry in
Activity per session until the gate changes; the numbers of a run (tokens including cached ones, the
thresholds in force) are in its entry, its record and the log.

If the notes differ from what Reverie wrote last and no person changed them in Reverie, another program
maintains them; then one update is skipped, which is reported.

Threading: blocking; any thread but the GUI's, several at once. `cancel` ends a run. Failure: errors that a
person can fix are in the outcome.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from reverie.agents.base import AgentNotes
from reverie.agents.capabilities import NotesPlace, SessionMeasure, SessionMeter
from reverie.agents.reading import as_count, as_object, as_text, texts_of
from reverie.agents.scopes import ScopeContext
from reverie.agents.transcripts import ReadStatistics
from reverie.errors import UserError
from reverie.files.lease import Lease, LeaseHeld
from reverie.files.rooted import RootedDirectory
from reverie.files.sidecar import Sidecar
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
from reverie.memory.scope_files import sha256_of_bytes
from reverie.memory.write_guard import ReadOnlyStore
from reverie.runs.record import SUCCEEDED, Outcome, RunResult
from reverie.runs.run import (
    Run,
    RunDependencies,
)
from reverie.runs.stops import StopCheck
from reverie.text.redact import redact
from reverie.values import Struct, columns, field, replace

if TYPE_CHECKING:
    from reverie.settings import NotesSettings


ThresholdGate = Literal["no-messages", "too-small", "not-grown", "at-work"]


class Thresholds(Struct, frozen=True):
    """Thresholds that make an update due (formats/claude-code.md section 3)."""

    start_tokens: int = 10_000
    """The number of tokens of context at which notes begin."""
    growth_tokens: int = 5_000
    """The growth of the context between two updates, in tokens."""
    tool_calls: int = 3
    """The number of tool calls that makes an update due."""

    def overridden(self, *, start_tokens: int = 0, growth_tokens: int = 0, tool_calls: int = 0) -> Thresholds:
        """Return the thresholds with each given value that is above 0."""
        return Thresholds(
            start_tokens if start_tokens > 0 else self.start_tokens,
            growth_tokens if growth_tokens > 0 else self.growth_tokens,
            tool_calls if tool_calls > 0 else self.tool_calls,
        )

    def as_json(self) -> dict[str, int]:
        """Return the values under the agent's own names, as its runs log them."""
        return columns(
            self,
            "minimumMessageTokensToInit=start_tokens "
            "minimumTokensBetweenUpdate=growth_tokens toolCallsBetweenUpdates=tool_calls",
        )


class SessionCounters(Struct, frozen=True):
    """Counters of one session."""

    begun: bool = False
    """Whether the session has ever been large enough for notes."""
    tokens: int = 0
    """The tokens of context at the last update."""
    counting_from: str | None = None
    """The message after which tool calls count; None to count all."""
    summarised: str | None = None
    """The message up to which the notes are complete, as far as that is known."""


class Measured(Struct, frozen=True):
    """Measures of a session at one moment."""

    messages: int
    context_tokens: int
    tool_calls: int
    """The number of tool calls since `SessionCounters.counting_from`."""
    at_break: bool
    """Whether the last answer of the model requests no tools."""
    last_uuid: str = ""


class UpdateDecision(Struct, frozen=True):
    """Result of `decide`."""

    counters: SessionCounters
    """The counters to store, whether an update is due or not."""
    gate: ThresholdGate | None
    """The reason why no update is due; None if one is due."""


def decide(counters: SessionCounters, seen: Measured, thresholds: Thresholds) -> UpdateDecision:
    """Decide whether an update is due.

    The context must have grown, and either enough tools were called since the last trigger, or the model has
    just finished its answer. If an update is due, tool calls are counted anew from this message; the tokens
    are only recorded once the update has succeeded.
    """
    if not seen.messages:
        return UpdateDecision(counters, "no-messages")
    if not counters.begun:
        if seen.context_tokens < thresholds.start_tokens:
            return UpdateDecision(counters, "too-small")
        counters = replace(counters, begun=True)
    if seen.context_tokens - counters.tokens < thresholds.growth_tokens:
        return UpdateDecision(counters, "not-grown")
    if seen.tool_calls < thresholds.tool_calls and not seen.at_break:
        return UpdateDecision(counters, "at-work")
    return UpdateDecision(replace(counters, counting_from=seen.last_uuid or counters.counting_from), None)


def succeeded(counters: SessionCounters, seen: Measured) -> SessionCounters:
    """Return the counters after a successful update from the state `seen`.

    If the model was still working, it is unknown up to which message the notes are complete, so `summarised`
    does not change.
    """
    summarised = seen.last_uuid if seen.at_break and seen.last_uuid else counters.summarised
    return replace(counters, tokens=seen.context_tokens, summarised=summarised)


_SESSIONS = 2_000


class NotesState(Struct, frozen=True):
    """Stored state of one session."""

    counters: SessionCounters = field(default_factory=SessionCounters)
    written: str | None = None
    """The hash of the notes as Reverie last wrote or saw them; None before that."""
    seen_uuid: str = ""
    """The last message that an update has read."""
    run_id: str = ""
    """The run of that update."""
    updated_at: int | None = None
    """The time of that update, UTC ms."""
    ours: frozenset[str] = frozenset()
    """Keys of the lines that runs by rules wrote (`notes_rules.own_lines`)."""


class NotesBook:
    """Stores the states of all sessions of one home.

    They are in Reverie's own directory, because the agent stores none on disk. Only the 2,000 sessions
    changed last are stored. Damaged items count as missing.
    """

    def __init__(self, sidecar: Sidecar) -> None:
        self._sidecar = sidecar

    def of(self, session_id: str) -> NotesState:
        """Return the state of one session; an empty one if none is stored."""
        return _state(as_object(self._sidecar.read().data.get("sessions")).get(session_id))

    def change(self, session_id: str, make: Callable[[NotesState], NotesState]) -> NotesState:
        """Replace one state; return the new one. `make` may be called more than once."""
        made: list[NotesState] = []

        def change(data: dict[str, Any]) -> dict[str, Any]:
            table = dict(as_object(data.get("sessions")))
            made.append(make(_state(table.pop(session_id, None))))
            kept = dict(list(table.items())[-(_SESSIONS - 1) :])
            return {**data, "sessions": {**kept, session_id: _data(made[-1])}}

        self._sidecar.update(change)
        return made[-1]


def _state(kept: object) -> NotesState:
    data = as_object(kept)
    counters = SessionCounters(
        begun=data.get("begun") is True,
        tokens=as_count(data.get("tokens")) or 0,
        counting_from=as_text(data.get("countingFrom")) or None,
        summarised=as_text(data.get("lastSummarised")) or None,
    )
    return NotesState(
        counters,
        as_text(data.get("written")) or None,
        as_text(data.get("seen")),
        as_text(data.get("runId")),
        as_count(data.get("updatedAt")),
        frozenset(texts_of(data.get("ours"))),
    )


def _data(state: NotesState) -> dict[str, Any]:
    return {
        **columns(
            state,
            "begun=counters.begun tokens=counters.tokens "
            "countingFrom=counters.counting_from lastSummarised=counters.summarised written "
            "seen=seen_uuid run_id updated_at",
        ),
        "ours": sorted(state.ours),
    }


Gate = Literal[
    "disabled",
    "unknown-session",
    "no-messages",
    "remote",
    "no-compaction",
    "idle",
    "too-small",
    "not-grown",
    "at-work",
    "nothing-new",
    "stood-down",
    "in-flight",
    "unknown-layout",
    "not-in-use",
    "model-unavailable",
    "error",
]
"""The reason why no run started, in the order of the checks."""


class NotesOutcome(Struct, frozen=True):
    """The result of handling a changed transcript or a person's request."""

    gate: Gate | None
    """The reason why no run started; None if one did, and `outcome` is its end."""
    text: str
    """A sentence for people."""
    session_id: str
    outcome: Outcome | None = None
    run_id: str = ""
    model: str = ""
    reason: str = ""
    next_step: str = ""
    path: Path | None = None
    """The path of the notes; None if they do not exist."""

    @property
    def ran(self) -> bool:
        """Whether a run started."""
        return self.gate is None

    @property
    def succeeded(self) -> bool:
        """Whether the run ended well, or there was nothing new to note."""
        return self.outcome in SUCCEEDED or self.gate == "nothing-new"

    def as_json(self) -> dict[str, Any]:
        """Return the output of `reverie notes --json` (design.md section 5)."""
        if not self.succeeded:
            refused = self.gate in ("unknown-layout", "not-in-use")
            return {"success": False, "error": self.text, **({"reason": self.reason} if refused else {})}
        return {"success": True, **({} if self.path is None else {"memoryPath": str(self.path)})}


class NotesStanding(Struct, frozen=True):
    """Present state of one session's notes."""

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
    """The tokens of context at the last update by Reverie."""
    updated_at: int | None = None
    """The time of the last update by Reverie, UTC ms."""


def gate_words(gate: Gate, thresholds: Thresholds) -> str:
    """Return why no update runs now, as a sentence.

    It contains no numbers that differ from one call to the next, such as the present number of tokens.
    """
    return {
        "disabled": "Session notes are off. Turn them on in Settings.",
        "no-messages": "This session has no messages yet.",
        "remote": "The agent runs remotely, where it keeps no notes.",
        "no-compaction": "Automatic compaction is off, and the notes are only needed for it.",
        "idle": "This session has had no new messages for more than an hour.",
        "too-small": f"Notes start when the session contains {thresholds.start_tokens:,} tokens.",
        "not-grown": f"Not due: the session has not yet grown by {thresholds.growth_tokens:,} tokens.",
        "at-work": (
            f"Not due: the model is working. An update is due after {thresholds.tool_calls} tool calls, "
            "or when the model has responded."
        ),
    }.get(gate, gate)


_log = logging.getLogger("reverie.notes")

WAIT_S = 15.0
"""How long a person's request waits for an active run, in seconds; the same as in the agent."""
_POLL_S = 0.1
IDLE_MS = 3_600_000
"""The time without messages after which a session is not in use, in ms."""


class NotesDependencies(Struct, frozen=True):
    """Services and settings of one home's notes."""

    run: RunDependencies
    book: NotesBook
    settings: Callable[[], NotesSettings]
    """A function that reads the settings; it is called again for each check."""
    engine_for: Callable[[ScopeContext], NotesEngine]
    """A function that chooses the engine.

    Raises `UserError` if a model that a person chose cannot be used.
    """
    is_ours: Callable[[Path, str], bool]
    """A function that returns whether a person or a run in Reverie wrote this content.

    Arguments: the file and the hash of its content.
    """


class _Looked(Struct, frozen=True):
    """The state of one session, read before a decision."""

    session_id: str
    place: NotesPlace
    state: NotesState
    seen: Measured
    thresholds: Thresholds


def notes_lease_name(home_id: str, session_id: str) -> str:
    """Return the name of the lease that an update of this session holds."""
    return f"notes:{home_id}:{session_id}"


class NotesService:
    """The session notes of one home."""

    def __init__(self, parts: NotesDependencies, cancel: threading.Event | None = None) -> None:
        self._parts = parts
        self._note = partial(parts.run.activity.add, home=str(parts.run.home.root))
        self._cancel = cancel or threading.Event()
        self._scans: dict[str, SessionMeter] = {}
        self._last_gates: dict[str, Gate] = {}
        self._lock = threading.Lock()

    def on_change(self, session_id: str) -> NotesOutcome:
        """Handle a possible change of the transcript: check whether an update is due, and run it."""
        if not self._parts.settings().enabled:
            # The same for every session, so report it once for the home.
            outcome = self._gate("disabled", "", gate_words("disabled", Thresholds()))
            return replace(outcome, session_id=session_id)
        try:
            looked = self._look(session_id)
            if isinstance(looked, NotesOutcome):
                return looked
            if stopped := self._notes.keeps_no_notes(session_id):
                return self._gate(stopped, session_id, gate_words(stopped, looked.thresholds))
            if gate := self._idle(looked):
                return gate
            decision = decide(looked.state.counters, looked.seen, looked.thresholds)
            if decision.gate is not None:
                self._keep(session_id, looked.state, decision.counters)
                return self._gate(decision.gate, session_id, gate_words(decision.gate, looked.thresholds))
            with self._lease(session_id, wait_s=0.0):
                # Another process may have updated the notes since the first check.
                looked = replace(looked, state=self._parts.book.of(session_id))
                decision = decide(looked.state.counters, looked.seen, looked.thresholds)
                if decision.gate is not None:
                    return self._gate(decision.gate, session_id, gate_words(decision.gate, looked.thresholds))
                self._keep(session_id, looked.state, decision.counters)
                if self._advanced_by_others(looked):
                    text = (
                        "Reverie did not run: the notes have changed since Reverie wrote them, so "
                        "another program maintains them."
                    )
                    return self._gate("stood-down", session_id, text)
                return self._run(looked, "thresholds")
        except LeaseHeld:
            return self._gate("in-flight", session_id, "An update of these notes is already running.")
        except ReadOnlyStore as error:
            return self._gate(error.refusal.reason, session_id, str(error))
        except UserError as error:
            return self._gate("error", session_id, str(error), level="warning")

    def update_now(self, session_id: str, *, force: bool = False) -> NotesOutcome:
        """Update the notes at a person's request.

        Without `force` nothing happens if there are no new messages and the notes are unchanged since the
        last update.
        """
        try:
            looked = self._look(session_id)
            if isinstance(looked, NotesOutcome):
                return looked
            if not looked.seen.messages:
                return self._gate("no-messages", session_id, "No messages to summarize.", level="warning")
            with self._lease(session_id, wait_s=WAIT_S):
                looked = replace(looked, state=self._parts.book.of(session_id))
                current = self._sha256(looked.place)
                same = looked.state.seen_uuid == looked.seen.last_uuid and looked.seen.last_uuid
                if not force and same and current is not None and current == looked.state.written:
                    text = "There are no new messages since the last update of the notes."
                    return replace(self._gate("nothing-new", session_id, text), path=looked.place.file)
                return self._run(looked, "manual")
        except LeaseHeld as error:
            return self._gate("in-flight", session_id, str(error), level="warning")
        except ReadOnlyStore as error:
            return self._gate(error.refusal.reason, session_id, str(error), level="warning")
        except UserError as error:
            return self._gate("error", session_id, str(error), level="warning", next_step=error.next_step)

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
        state, thresholds = self._parts.book.of(session_id), _thresholds(settings)
        gate: Gate | None = "no-messages"
        with contextlib.suppress(FileNotFoundError):
            seen = _measured(self._facts(session_id, place), state.counters)
            gate = self._notes.keeps_no_notes(session_id) or decide(state.counters, seen, thresholds).gate
        if not settings.enabled:
            gate = "disabled"
        name = notes_lease_name(self._parts.run.home_id, session_id)
        return NotesStanding(
            session_id,
            place.file,
            exists=data is not None,
            is_template=data is not None and is_template(text, template),
            tokens=rough_tokens(text),
            limit_tokens=TOTAL_TOKENS,
            problems=() if data is None else problems_of(text, template),
            running=self._parts.run.leases.holder(name) is not None,
            gate=gate,
            sentence="" if gate is None else gate_words(gate, thresholds),
            noted_tokens=state.counters.tokens,
            updated_at=state.updated_at,
        )

    @property
    def _notes(self) -> AgentNotes:
        notes = self._parts.run.home.notes
        assert notes is not None  # every `NotesPlace` comes from it
        return notes

    def _place(self, session_id: str) -> NotesPlace | None:
        notes = self._parts.run.home.notes
        return None if notes is None else notes.notes_place(session_id)

    def _look(self, session_id: str) -> _Looked | NotesOutcome:
        """Read the present state of a session.

        Returns an outcome with a gate if the home does not list the session.
        """
        place = self._place(session_id)
        if place is None:
            return self._gate("unknown-session", session_id, "The home has no such session.", level="warning")
        self._parts.run.guard.require(place.root)
        state = self._parts.book.of(session_id)
        try:
            seen = _measured(self._facts(session_id, place), state.counters)
        except FileNotFoundError:
            seen = Measured(0, 0, 0, True)
        return _Looked(session_id, place, state, seen, _thresholds(self._parts.settings()))

    def _facts(self, session_id: str, place: NotesPlace) -> SessionMeasure:
        """Return the measures of a session; only the new rows of its transcript are read."""
        with self._lock:  # a scan is not thread-safe, and two threads may check one session
            scan = self._scans.get(session_id)
            if scan is None:
                scan = self._scans[session_id] = self._notes.session_scan(place)
            return scan.update()

    def _idle(self, looked: _Looked) -> NotesOutcome | None:
        """Return an outcome with a gate if the transcript has not changed for over an hour; else None."""
        try:
            changed = looked.place.transcript.stat().st_mtime_ns // 1_000_000
        except OSError:
            changed = 0
        if time.time_ns() // 1_000_000 - changed <= IDLE_MS:
            return None
        return self._gate("idle", looked.session_id, gate_words("idle", looked.thresholds))

    def _advanced_by_others(self, looked: _Looked) -> bool:
        """Return whether another program changed the notes since Reverie last wrote or saw them.

        The present notes are marked as seen. Deleted notes do not count as changed.
        """
        current, written = self._sha256(looked.place), looked.state.written
        if current is None or written is None or current == written:
            return False
        self._parts.book.change(looked.session_id, lambda state: replace(state, written=current))
        return not self._parts.is_ours(looked.place.file, current)

    def _sha256(self, place: NotesPlace) -> str | None:
        return sha256_of_bytes(self._bytes(place))

    def _bytes(self, place: NotesPlace) -> bytes | None:
        files = RootedDirectory(place.root.directory)
        return None if files.entry(place.rel) is None else files.read(place.rel)

    def _keep(self, session_id: str, before: NotesState, counters: SessionCounters) -> None:
        """Store the counters if they have changed."""
        if counters != before.counters:
            self._parts.book.change(session_id, lambda state: replace(state, counters=counters))

    @contextlib.contextmanager
    def _lease(self, session_id: str, *, wait_s: float) -> Any:
        """Context manager: hold the lease on updates of one session, in all processes.

        Raises `LeaseHeld` if another process still holds it after `wait_s`.
        """
        name = notes_lease_name(self._parts.run.home_id, session_id)
        until = time.monotonic() + wait_s
        lease: Lease | None = None
        while lease is None:
            try:
                lease = self._parts.run.leases.acquire(name, purpose=f"session notes ({session_id})")
            except LeaseHeld:
                if time.monotonic() >= until or self._cancel.wait(_POLL_S):
                    raise
        with lease:
            yield lease

    def _run(self, looked: _Looked, trigger: str) -> NotesOutcome:
        """Run an update and return its outcome."""
        home, session_id = self._parts.run.home, looked.session_id
        settings, context = self._parts.settings(), home.context(workspace_id=looked.session_id)
        try:
            engine = self._parts.engine_for(context)
        except UserError as error:
            return self._gate(
                "model-unavailable", session_id, str(error), level="warning", next_step=error.next_step
            )
        numbers = {
            **columns(
                looked, "contextTokens=seen.context_tokens toolCalls=seen.tool_calls messages=seen.messages"
            ),
            "thresholds": looked.thresholds.as_json(),
        }
        task = NotesTask(
            target=looked.place,
            context=context,
            workspace_id=session_id,
            workspace_name=self._notes.session_title(looked.place),
            trigger=trigger,
            time_limit_s=settings.time_limit_s,
            details=numbers,
            messages=newest(self._notes.session_messages(looked.place).messages(ReadStatistics())),
            prompt=own_text(looked.place.prompt),
            ours=looked.state.ours,
        )
        job = NotesJob(
            self._parts.run,
            task,
            engine,
            still_wanted=lambda: trigger == "manual" or self._parts.settings().enabled,
        )
        limits = StopCheck(self._cancel, threading.Event(), settings.time_limit_s, enforce_deadline=False)
        end = asyncio.run(Run(self._parts.run, job, limits=limits).go())
        written = job.written(end)
        if end.succeeded:
            self._succeeded(looked, end, written, job.own_lines(end))
        return self._ended(looked, end, written, numbers, model=engine.name)

    def _succeeded(self, looked: _Looked, end: RunResult, written: str | None, ours: frozenset[str]) -> None:
        """Store the state after a successful update, unless another update came later."""
        current = written or self._sha256(looked.place)
        now = self._parts.run.clock()

        def change(state: NotesState) -> NotesState:
            if state.run_id != looked.state.run_id:
                return state  # another update came after this one, while this process was suspended
            return replace(
                state,
                counters=succeeded(state.counters, looked.seen),
                written=current,
                seen_uuid=looked.seen.last_uuid,
                run_id=end.run_id,
                updated_at=now,
                ours=ours,
            )

        self._parts.book.change(looked.session_id, change)

    def _ended(
        self,
        looked: _Looked,
        end: RunResult,
        written: str | None,
        numbers: Mapping[str, Any],
        *,
        model: str,
    ) -> NotesOutcome:
        """Report the end of an update and return it as an outcome."""
        text, session_id = end.summary, looked.session_id
        details = {**numbers, "model": model, "usage": dict(end.usage or {})}
        level = logging.INFO if written is not None else logging.DEBUG
        line = f"{end.outcome}: {text}"
        _log.log(level, "[notes] %s session=%s run=%s %s", redact(line), session_id, end.run_id, details)
        self._note(
            f"notes.{end.outcome}",
            level="info" if end.succeeded else "warning",
            text=text,
            workspace_id=session_id or None,
            run_id=end.run_id,
            details=details,
        )
        self._last_gates.pop(session_id, None)
        exists = end.succeeded and self._bytes(looked.place) is not None
        return NotesOutcome(
            None,
            text,
            session_id,
            end.outcome,
            end.run_id,
            model,
            end.reason,
            end.next_step,
            looked.place.file if exists else None,
        )

    def _gate(
        self, gate: Gate, session_id: str, text: str, *, level: str = "info", next_step: str = ""
    ) -> NotesOutcome:
        """Report a gate, once per session until the gate changes; return it as an outcome."""
        if self._last_gates.get(session_id) != gate or level != "info":
            self._last_gates[session_id] = gate
            _log.debug("[notes] skipped (%s): %s session=%s", gate, redact(text), session_id)
            self._note(f"notes.{gate}", level=level, text=text, workspace_id=session_id or None)
        return NotesOutcome(gate, text, session_id, reason=gate, next_step=next_step)


def _thresholds(settings: NotesSettings) -> Thresholds:
    return Thresholds().overridden(
        start_tokens=settings.start_tokens,
        growth_tokens=settings.growth_tokens,
        tool_calls=settings.tool_calls,
    )


def _measured(facts: SessionMeasure, counters: SessionCounters) -> Measured:
    return Measured(
        facts.messages,
        facts.context_tokens,
        facts.tool_calls_since(counters.counting_from),
        not facts.calls_tools,
        facts.last_uuid,
    )
