"""The memory writer of one home: which turns count, when a run starts, and what is said of it
(formats/mux.md section 14).

`on_turn_end` gets every event of a workspace's transcript that ends a turn, well or not; `run_now` is a
person asking. What a run does is `WriterJob`.

Threading: blocking until the run is done; any thread but the GUI's, several at once. `cancel` ends a run; it
then stays unfinished, and is due at the next turn. Failure: what a person can mend is in the outcome; a bug
is raised after the state was completed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from reverie.agents.base import SessionPlace, Workspace
from reverie.agents.capabilities import AgentWriterConfig, WriterPlace
from reverie.agents.scopes import ScopeContext
from reverie.agents.transcripts import Tail, TailEvent, TailPosition, Turn
from reverie.errors import UserError
from reverie.files.lease import Lease, LeaseHeld
from reverie.files.locks import file_lock
from reverie.files.sidecar import Sidecar
from reverie.jobs.writer.engine import WriterEngine, WriterJob, WriterRequest
from reverie.jobs.writer.state import (
    Gate,
    Interval,
    OwnMarks,
    StateFile,
    StateMarks,
    StateRead,
    TurnDecision,
    WriterState,
    WriterTarget,
    completing,
    interval_of,
    on_turn,
    standing_gate,
    starting,
    target_of,
)
from reverie.llm.trace_store import Dumps
from reverie.memory.write_guard import ReadOnlyStore
from reverie.runs.activity import Activity
from reverie.runs.record import SUCCEEDED, Outcome, RunResult
from reverie.runs.run import Run, RunDependencies
from reverie.runs.stops import StopCheck
from reverie.text.redact import redact
from reverie.values import Struct, field, replace

if TYPE_CHECKING:
    from reverie.settings import System1Settings


# Counting: one lock per workspace orders it; one lease per workspace is held by a run and ends with its
# process, which is how a killed run is told from a running one. When the state file is not as Reverie left
# it, the agent does this job itself, and Reverie stands down for that turn.


_NEVER = 10**9


class _Decide(Protocol):
    def __call__(self, state: WriterState, *, in_flight: bool) -> TurnDecision: ...


class Workplace(Struct, frozen=True):
    """Where turns of one workspace are counted, and how many make a run."""

    workspace_id: str
    state_file: Path
    interval: int


class RunStart(Struct, frozen=True):
    """A run that may begin: its lease is held, the state says that it started. `since`: the last message that
    a run dealt with, None where all is to be looked at. `crashed`: the run before died."""

    lease: Lease
    started_at: int
    message_id: str
    since: str | None
    crashed: bool


class Waiting(Struct, frozen=True):
    """No run comes of a turn. `turns` were counted since the last one."""

    gate: Gate
    message_id: str
    turns: int = 0


class _Counted(Struct):
    """What counting came to, inside the state file's own update."""

    decision: TurnDecision | None = None
    before: WriterState = field(default_factory=WriterState)


def writer_lease_name(home_id: str, workspace_id: str) -> str:
    """Held while a run of this workspace is at work."""
    return f"writer:{home_id}:{workspace_id}"


class TurnCounter:
    """The counters of one home's workspaces. `parts.lock_place` names the locks; nothing is written there."""

    def __init__(self, parts: WriterDependencies) -> None:
        self._parts = parts
        self._home_id = parts.run.home_id
        self._leases = parts.run.leases
        self._marks = parts.marks
        self._clock = parts.run.clock

    def read(self, workspace_id: str, state_file: Path) -> StateRead:
        """The state as the file has it; coerced where it is damaged."""
        return self._file(workspace_id, state_file).read()

    def in_flight(self, workspace_id: str) -> bool:
        """Whether a run of this workspace is at work, in any process."""
        return self._leases.holder(writer_lease_name(self._home_id, workspace_id)) is not None

    def advanced_by_others(self, workspace_id: str, state_file: Path) -> bool:
        """Whether the state file is no longer as Reverie left it."""
        return _is_foreign(self._marks.of(workspace_id), self.read(workspace_id, state_file))

    def count(self, place: Workplace, turn: Turn) -> RunStart | Waiting:
        """Count one completed turn; a run that is due begins here."""
        with self._alone(place.workspace_id):
            marks = self._marks.of(place.workspace_id)
            if marks.has_counted(turn.id, turn.sequence, turn.timestamp):
                return Waiting("counted", turn.id)
            found = self.read(place.workspace_id, place.state_file)
            # The turn first: should this process die here, it is lost, which beats counting it twice.
            marks = marks.counting(turn.id, turn.sequence, turn.timestamp)
            foreign = _is_foreign(marks, found)
            if foreign:
                marks = marks.having_written(found.sha256)
            self._marks.change(place.workspace_id, lambda _old: marks)
            if foreign:
                return Waiting("stood-down", turn.id, found.state.turns)

            def decide(state: WriterState, *, in_flight: bool) -> TurnDecision:
                return on_turn(
                    state,
                    interval=place.interval,
                    in_flight=in_flight,
                    message_id=turn.id,
                    now=self._clock(),
                )

            return self._decided(place, turn.id, decide)

    def catch_up(self, place: Workplace, turns: Sequence[Turn], *, force: bool) -> RunStart | Waiting:
        """Count every turn of `turns` (at least one) that nobody has; then start if it is due, or wished."""
        newest = turns[-1]
        with self._alone(place.workspace_id):
            marks = self._marks.of(place.workspace_id)
            found = self.read(place.workspace_id, place.state_file)
            new = _uncounted(turns, marks, found.state)
            for turn in new:
                marks = marks.counting(turn.id, turn.sequence, turn.timestamp)
            self._marks.change(place.workspace_id, lambda _old: marks)

            def decide(state: WriterState, *, in_flight: bool) -> TurnDecision:
                now, counted = self._clock(), state
                for turn in new:
                    counted = on_turn(
                        counted, interval=_NEVER, in_flight=True, message_id=turn.id, now=now
                    ).state
                crashed = state.unfinished and not in_flight
                if in_flight:
                    return TurnDecision(counted, "in-flight")
                if force or counted.turns >= place.interval or (crashed and new):
                    return TurnDecision(starting(newest.id, now), None, crashed)
                return TurnDecision(counted, "not-due", crashed)

            return self._decided(place, newest.id, decide)

    def complete(self, workspace_id: str, state_file: Path, start: RunStart, *, succeeded: bool) -> None:
        """Note that the run is over. What the agent wrote meanwhile stays somebody else's, so that the next
        turn finds it."""

        def ended(marks: StateMarks) -> StateMarks:
            return marks.having_run(start.message_id, start.since, succeeded=succeeded)

        with self._alone(workspace_id):
            # First: should this process die here, the run counts as one that died, and all is read again.
            self._marks.change(workspace_id, ended)
            foreign = self.advanced_by_others(workspace_id, state_file)
            now = self._clock()
            sha256 = self._file(workspace_id, state_file).change(
                lambda state: completing(state, started_at=start.started_at, now=now)
            )
            if not foreign:
                self._marks.change(workspace_id, lambda marks: marks.having_written(sha256))

    def _decided(self, place: Workplace, message_id: str, decide: _Decide) -> RunStart | Waiting:
        """Write what was decided into the state file, with the lease in hand where a run starts."""
        workspace_id, file = place.workspace_id, self._file(place.workspace_id, place.state_file)
        in_flight, lease = self.in_flight(workspace_id), None
        if not in_flight and decide(file.read().state, in_flight=False).gate is None:
            lease = self._lease(workspace_id)
            in_flight = lease is None
        counted = _Counted()

        def change(state: WriterState) -> WriterState:
            counted.before, counted.decision = state, decide(state, in_flight=in_flight)
            return counted.decision.state

        with contextlib.ExitStack() as held:
            if lease is not None:
                held.push(lease)
            sha256 = file.change(change)
            self._marks.change(workspace_id, lambda marks: marks.having_written(sha256))
            decision = counted.decision or TurnDecision(counted.before, "error")
            started_at = decision.state.started_at
            if decision.gate is None and lease is not None and started_at is not None:
                held.pop_all()
                since = self._marks.of(workspace_id).since(counted.before)
                return RunStart(lease, started_at, message_id, since, decision.crashed)
        return Waiting(decision.gate or "in-flight", message_id, decision.state.turns)

    def _lease(self, workspace_id: str) -> Lease | None:
        """The lease of this workspace's runs; None: somebody was faster."""
        name = writer_lease_name(self._home_id, workspace_id)
        try:
            return self._leases.acquire(name, purpose=f"memory writer ({workspace_id})")
        except LeaseHeld:
            return None

    @contextlib.contextmanager
    def _alone(self, workspace_id: str) -> Iterator[None]:
        """Alone with the counters of one workspace, among all Reverie processes of the profile."""
        parts = self._parts
        with file_lock(parts.run.guard.lock_dir, parts.lock_place / f"writer-{workspace_id}"):
            yield

    def _file(self, workspace_id: str, state_file: Path) -> StateFile:
        return StateFile(self._parts.sidecar_for(workspace_id, state_file))


def _is_foreign(marks: StateMarks, found: StateRead) -> bool:
    """Whether somebody else wrote the state since Reverie did. A file that is gone or broken is nobody's
    advance: turns count from zero."""
    if marks.written is None or found.sha256 is None or found.problem:
        return False
    return found.sha256 != marks.written


def _uncounted(turns: Sequence[Turn], marks: StateMarks, state: WriterState) -> list[Turn]:
    """The completed turns that nobody has counted; before Reverie counted any, those after the last run."""
    if marks.turns:
        return [turn for turn in turns if not marks.has_counted(turn.id, turn.sequence, turn.timestamp)]
    last = next((at for at, turn in enumerate(turns) if turn.id == state.message_id), -1)
    return list(turns[last + 1 :])


class WriterOutcome(Struct, frozen=True):
    """What a turn, or a person's wish, came to. `gate`: why no run came of it; None: one did, and `outcome`
    says how it ended. `text` is a sentence for people."""

    gate: Gate | None
    text: str
    workspace_id: str
    message_id: str = ""
    outcome: Outcome | None = None
    run_id: str = ""
    wrote: bool = False
    timed_out: bool = False
    model: str = ""
    reason: str = ""
    next_step: str = ""
    dump: Path | None = None

    @property
    def ran(self) -> bool:
        return self.gate is None

    @property
    def succeeded(self) -> bool:
        return self.outcome in SUCCEEDED

    def as_json(self) -> dict[str, Any]:
        """What `reverie write --json` says."""
        return {
            "runId": self.run_id,
            "outcome": self.outcome or "skipped",
            "gate": self.gate,
            "reason": self.reason or self.gate or "",
            "summary": self.text,
            "workspaceId": self.workspace_id,
            "triggerMessageId": self.message_id,
            "wrote": self.wrote,
            "timedOut": self.timed_out,
            "model": self.model,
            "dump": None if self.dump is None else str(self.dump),
        }


# Reporting: each gate and each outcome is a log line `[system1][memory] ...` and an entry in Activity, and so
# are the attempts and tool calls of a run, read from its trace. Repeated gates are one entry.


_log = logging.getLogger("reverie.writer")


class WriterReporter:
    """Speaks for the writer of one home."""

    def __init__(self, activity: Activity, home_root: str) -> None:
        self._note = partial(activity.add, home=home_root)

    def say(
        self, gate: Gate, workspace_id: str, text: str, message_id: str = "", *, level: str = "info"
    ) -> WriterOutcome:
        """A gate that stopped a run."""
        self._line(logging.DEBUG, f"skipped ({gate}): {text}", workspace_id, message_id)
        self._note(f"writer.{gate}", level=level, text=text, workspace_id=workspace_id)
        return WriterOutcome(gate, text, workspace_id, message_id)

    def started(self, workspace_id: str, message_id: str, model: str, *, crashed: bool) -> None:
        """A run begins; `crashed`: the one before died."""
        text = "Started. The run before did not come to its end." if crashed else "Started."
        self._line(logging.DEBUG, f"started: {text}", workspace_id, message_id, model)
        details = {"triggerMessageId": message_id, "model": model}
        self._note("writer.started", level="info", text=text, workspace_id=workspace_id, details=details)

    def ended(self, workspace_id: str, message_id: str, job: WriterJob, end: RunResult, text: str) -> None:
        """A run came to its end, its attempts and their tool calls first."""
        model = job.engine
        for attempt in _attempts(job.trace):
            self._attempted(workspace_id, message_id, model, end.run_id, attempt)
        event = _event_of(job, end)
        level = logging.INFO if end.applied else logging.DEBUG
        self._line(level, f"{event}: {text}", workspace_id, message_id, model, timed_out=job.timed_out)
        details = {
            "triggerMessageId": message_id,
            "model": model,
            "timedOut": job.timed_out,
            "attempts": job.attempts_made,
        }
        self._note(
            f"writer.{event}",
            level="info" if end.outcome in SUCCEEDED else "warning",
            text=text,
            workspace_id=workspace_id,
            run_id=end.run_id,
            details=details,
        )

    def _attempted(
        self, workspace_id: str, message_id: str, model: str, run_id: str, attempt: Mapping[str, Any]
    ) -> None:
        """The log has a line for each call, Activity one entry for those that came to the same."""
        index = attempt.get("attemptIndex")
        text = f"Attempt {index}: {_attempt_words(attempt)}"
        note = partial(self._note, level="info", workspace_id=workspace_id, run_id=run_id)
        details = {"triggerMessageId": message_id, "model": model, "attempt": index}
        self._line(logging.DEBUG, f"attempt: {text}", workspace_id, message_id, model)
        note("writer.attempt", text=text, details=details)
        calls: Counter[tuple[str, bool]] = Counter()
        for execution in attempt.get("toolExecutions", ()):
            name, worked = str(execution.get("toolName")), _worked(execution)
            calls[name, worked] += 1
            line = f"tool call: {name} in attempt {index}: success={str(worked).lower()}"
            self._line(logging.DEBUG, line, workspace_id, message_id, model)
        for (name, worked), times in calls.items():
            line = f"Attempt {index}: {name} {'succeeded' if worked else 'failed'}"
            line += "." if times == 1 else f", {times} times."
            note("writer.tool-call", text=line, details={**details, "tool": name})

    def _line(
        self,
        level: int,
        text: str,
        workspace_id: str,
        message_id: str,
        model: str = "",
        *,
        timed_out: bool = False,
    ) -> None:
        _log.log(
            level,
            "[system1][memory] %s workspaceId=%s triggerMessageId=%s timedOut=%s model=%s",
            redact(text),
            workspace_id,
            message_id or "-",
            str(timed_out).lower(),
            model or "-",
        )


def standing_words(gate: Gate, interval: Interval, *, by_agent: bool) -> str:
    """Why no turn at all starts a run."""
    if gate == "disabled":
        who = "The agent's own settings turn it off." if by_agent else "Turn it on in Settings."
        return f"The memory writer is off. {who}"
    if gate == "child-workspace":
        return "This is the workspace of a sub-agent: its parent's turns count, not its own."
    where = "the agent's config.json" if interval.source == "agent" else "the settings"
    return f"The interval in {where} does not count: {interval.problem}."


def waiting_words(gate: Gate, turns: int, interval: int) -> str:
    """Why a turn that was counted starts no run."""
    if gate == "counted":
        return "The turn was counted already."
    if gate == "stood-down":
        return "Stood down: the agent itself has advanced the writer's state since Reverie last did."
    if gate == "in-flight":
        return "A run is at work in this workspace already."
    return f"Not due: {turns} of {interval} turns."


def _event_of(job: WriterJob, end: RunResult) -> str:
    """How the end is called: as in the agent's own log, a run without a write did not simply complete."""
    if job.timed_out and not end.applied:
        return "timed-out"
    if end.reason == "no-write":
        return "exited-without-updating"
    return str(end.outcome)


def _attempts(document: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = (document or {}).get("attempts", ())
    return found


def _attempt_words(attempt: Mapping[str, Any]) -> str:
    if attempt.get("error"):
        return str(attempt["error"])
    if attempt.get("wrote"):
        return "the memory was changed."
    if attempt.get("noNewMemories"):
        return "there was nothing new."
    count = len(attempt.get("toolExecutions", ()))
    called = {0: "no tool was called", 1: "one tool was called"}.get(count, f"{count} tools were called")
    return f"{called}, and nothing was recorded."


def _worked(execution: Mapping[str, Any]) -> bool:
    output = execution.get("output")
    return isinstance(output, Mapping) and output.get("success") is True


class WriterDependencies(Struct, frozen=True):
    """What the writer of one home works with. `settings` is read anew for each turn. `engine_for` chooses by
    context and the model of the turn, and raises `UserError` where a model that a person named cannot be
    asked. `sidecar_for` gives the state file of a workspace, which its home may refuse to have written.
    `debugging`: whether gates are looked for, so that failures leave a dump whatever the settings
    say."""

    run: RunDependencies
    dumps: Dumps
    marks: OwnMarks
    sidecar_for: Callable[[str, Path], Sidecar]
    lock_place: Path
    settings: Callable[[], System1Settings]
    engine_for: Callable[[ScopeContext, AgentWriterConfig, str | None], WriterEngine]
    debugging: Callable[[], bool]


class Standing(Struct, frozen=True):
    """What holds for a workspace whatever turns come; what the Doctor looks at as well."""

    workspace: Workspace | None
    interval: Interval
    gate: Gate | None
    text: str = ""
    target: WriterTarget | None = None


class _Ready(Struct, frozen=True):
    """A workspace without a standing gate."""

    workspace: Workspace
    context: ScopeContext
    place: WriterPlace
    wishes: AgentWriterConfig
    target: WriterTarget
    interval: int
    settings: System1Settings

    @property
    def workplace(self) -> Workplace:
        return Workplace(self.workspace.id, self.place.state_file, self.interval)


class WriterService:
    """The memory writer of one home."""

    def __init__(self, parts: WriterDependencies, cancel: threading.Event | None = None) -> None:
        self._parts = parts
        self._cancel = cancel or threading.Event()
        self._reporter = WriterReporter(parts.run.activity, str(parts.run.home.root))
        self._counters = TurnCounter(parts)

    # What the host calls

    def on_turn_end(self, workspace_id: str, event: TailEvent) -> WriterOutcome:
        """One event of the transcript. Only `turn-end` counts; `aborted` and `error` are told; others are
        nothing to the writer."""
        message_id = event.turn.id
        if event.kind not in ("turn-end", "aborted", "error"):
            text = "This row ends no assistant turn."
            return WriterOutcome("not-completed", text, workspace_id, message_id)
        try:
            ready = self._ready(workspace_id, message_id, by_hand=False)
            if isinstance(ready, WriterOutcome):
                return ready
            if event.kind != "turn-end":
                text = "The turn was aborted or failed, so it does not count."
                return self._reporter.say("not-completed", workspace_id, text, message_id)
            started = self._counters.count(ready.workplace, event.turn)
        except UserError as error:
            return self._reporter.say("error", workspace_id, str(error), message_id, level="warning")
        if isinstance(started, Waiting):
            return self._waits(ready, started)
        return self._run(ready, started, event.model, "turn")

    def run_now(self, workspace_id: str, force: bool = False) -> WriterOutcome:
        """A run because a person asks: neither the switch counts nor who else does the job. Turns that
        nobody has counted yet are; without `force` a run comes only if it is due."""
        try:
            ready = self._ready(workspace_id, "", by_hand=True)
            if isinstance(ready, WriterOutcome):
                return ready
            ends = [row for row in self._rows(workspace_id) if row.kind == "turn-end"]
            if not ends:
                text = "The transcript holds no completed assistant turn."
                return self._reporter.say("not-due", workspace_id, text)
            turns = [row.turn for row in ends]
            started = self._counters.catch_up(ready.workplace, turns, force=force)
        except UserError as error:
            return self._reporter.say("error", workspace_id, str(error), level="warning")
        if isinstance(started, Waiting):
            return self._waits(ready, started)
        if force:  # whoever insists wants everything looked at
            started = replace(started, since=None)
        return self._run(ready, started, ends[-1].model, "manual")

    def open_tail(self, workspace_id: str) -> Tail | None:
        """The tail of a workspace's transcript, where `keep_tail` left it, else at its end. None: the agent
        keeps none. Raises `UserError`."""
        writer, place = self._parts.run.home.writer, self._session(workspace_id)
        if writer is None or place is None:
            return None
        return writer.tail(place, TailPosition.of(dict(self._parts.marks.of(workspace_id).tail)))

    def _session(self, workspace_id: str) -> SessionPlace | None:
        sessions = self._parts.run.home.sessions
        return None if sessions is None else sessions.session_place(workspace_id)

    def _place(self, workspace_id: str) -> WriterPlace | None:
        writer = self._parts.run.home.writer
        return None if writer is None else writer.writer_place(workspace_id)

    def keep_tail(self, workspace_id: str, tail: Tail) -> None:
        """Remember where the tail stands: what it announced is dealt with."""
        data = tail.position.as_json()
        if self._parts.marks.of(workspace_id).tail != data:
            self._parts.marks.change(workspace_id, lambda marks: marks.with_tail(data))

    # What the Doctor asks; nothing of it changes anything

    def standing(self, workspace_id: str) -> Standing:
        """Which standing gate there is, if any. Raises `UserError`."""
        return self._standing(workspace_id, by_hand=False)[0]

    def state(self, workspace_id: str) -> StateRead:
        """The state file as it stands. Raises `UserError`."""
        place = self._place(workspace_id)
        return (
            StateRead(WriterState(), None)
            if place is None
            else self._counters.read(workspace_id, place.state_file)
        )

    def in_flight(self, workspace_id: str) -> bool:
        """Whether a run of this workspace is at work, in any process."""
        return self._counters.in_flight(workspace_id)

    def advanced_by_others(self, workspace_id: str) -> bool:
        """Whether the state file is no longer as Reverie left it."""
        place = self._place(workspace_id)
        return place is not None and self._counters.advanced_by_others(workspace_id, place.state_file)

    # Gates

    def _standing(self, workspace_id: str, *, by_hand: bool) -> tuple[Standing, _Ready | None]:
        home, settings = self._parts.run.home, self._parts.settings()
        workspace = None if home.sessions is None else home.sessions.workspace(workspace_id)
        wishes = (
            AgentWriterConfig(enabled=False)
            if home.writer is None
            else home.writer.writer_config(workspace_id)
        )
        interval = interval_of(settings.interval, wishes.interval)
        gate = standing_gate(
            switched_on=by_hand or settings.enabled,
            agent_allows=by_hand or wishes.enabled,
            parent_id=None if workspace is None else workspace.parent_id,
            interval=interval,
        )
        if gate is not None:
            text = standing_words(gate, interval, by_agent=settings.enabled and not wishes.enabled)
            return Standing(workspace, interval, gate, text), None
        place = self._place(workspace_id)
        if workspace is None or place is None or interval.turns is None:
            text = (
                "The home lists no such workspace." if workspace is None else "This agent has no such writer."
            )
            return Standing(workspace, interval, "unknown-workspace", text), None
        context = home.context(workspace_id=workspace_id)
        refusal = self._parts.run.guard.refusal_of(context)
        if refusal is not None:
            return Standing(workspace, interval, refusal.reason, str(ReadOnlyStore(refusal))), None
        try:
            target = target_of(home, context, place, settings.target)
        except UserError as error:
            return Standing(workspace, interval, "no-target", str(error)), None
        ready = _Ready(workspace, context, place, wishes, target, interval.turns, settings)
        return Standing(workspace, interval, None, "", target), ready

    def _ready(self, workspace_id: str, message_id: str, *, by_hand: bool) -> _Ready | WriterOutcome:
        standing, ready = self._standing(workspace_id, by_hand=by_hand)
        if ready is not None:
            return ready
        return self._reporter.say(standing.gate or "error", workspace_id, standing.text, message_id)

    def _waits(self, ready: _Ready, waiting: Waiting) -> WriterOutcome:
        """No run came of a turn. That somebody else counted it is no decision, and said to nobody."""
        text = waiting_words(waiting.gate, waiting.turns, ready.interval)
        if waiting.gate == "counted":
            return WriterOutcome(waiting.gate, text, ready.workspace.id, waiting.message_id)
        return self._reporter.say(waiting.gate, ready.workspace.id, text, waiting.message_id)

    def _rows(self, workspace_id: str) -> tuple[TailEvent, ...]:
        writer, session = self._parts.run.home.writer, self._session(workspace_id)
        return () if writer is None or session is None else writer.newest_turns(session)

    # Running

    def _run(self, ready: _Ready, start: RunStart, turn_model: str | None, trigger: str) -> WriterOutcome:
        """The run that was started, to its end. Its state is completed however it ends, but for a cancel."""
        with start.lease:
            outcome: WriterOutcome | None = None
            try:
                outcome = self._ran(ready, start, turn_model, trigger)
            finally:
                if outcome is None or outcome.outcome != "cancelled" or not self._cancel.is_set():
                    self._complete(ready, start, succeeded=outcome is not None and outcome.succeeded)
            return outcome

    def _ran(self, ready: _Ready, start: RunStart, turn_model: str | None, trigger: str) -> WriterOutcome:
        workspace_id = ready.workspace.id
        try:
            engine = self._parts.engine_for(ready.context, ready.wishes, turn_model)
        except UserError as error:
            return self._reporter.say(
                "model-unavailable", workspace_id, str(error), start.message_id, level="warning"
            )
        self._reporter.started(workspace_id, start.message_id, engine.name, crashed=start.crashed)
        by_hand = trigger == "manual"
        try:
            request = WriterRequest(
                context=ready.context,
                workspace=ready.workspace,
                place=ready.place,
                target=ready.target,
                message_id=start.message_id,
                rows=self._rows(workspace_id),
                since=start.since,
                trigger=trigger,
                time_limit_s=ready.settings.time_limit_s,
            )
            job = WriterJob(
                self._parts.run,
                request,
                engine,
                still_wanted=lambda: by_hand or self.standing(workspace_id).gate is None,
            )
            limits = StopCheck(self._cancel, threading.Event(), request.time_limit_s, enforce_deadline=False)
            result = asyncio.run(Run(self._parts.run, job, limits=limits).go())
        except UserError as error:
            return self._reporter.say("error", workspace_id, str(error), start.message_id, level="warning")
        return self._reported(ready, start, job, result)

    def _reported(self, ready: _Ready, start: RunStart, job: WriterJob, end: RunResult) -> WriterOutcome:
        """Dump, log line and Activity entry of a run that ended."""
        workspace_id, model = ready.workspace.id, job.engine
        dump, trouble = self._kept(ready, job, end)
        text = f"{end.summary} {trouble}".strip()
        self._reporter.ended(workspace_id, start.message_id, job, end, text)
        return WriterOutcome(
            None,
            text,
            workspace_id,
            start.message_id,
            end.outcome,
            end.run_id,
            bool(end.applied),
            job.timed_out,
            model,
            end.reason,
            end.next_step,
            dump,
        )

    def _kept(self, ready: _Ready, job: WriterJob, end: RunResult) -> tuple[Path | None, str]:
        """The dump in the agent's directory; what could not be kept."""
        if job.trace is None:
            return None, ""
        settings = ready.settings
        failed = job.timed_out or not job.satisfied or end.outcome == "failed"
        wanted = settings.traces == "always" or (
            failed and (settings.traces == "failures" or self._parts.debugging())
        )
        try:
            if not wanted:
                return None, ""
            dump = self._parts.dumps.write(ready.place.dump_directory, job.trace)
            self._parts.dumps.prune(keep_count=settings.keep_count, keep_bytes=settings.keep_bytes)
        except UserError as error:
            return None, f"Its trace was not kept: {error}"
        return dump, ""

    def _complete(self, ready: _Ready, start: RunStart, *, succeeded: bool) -> None:
        workspace_id, state_file = ready.workspace.id, ready.place.state_file
        try:
            self._counters.complete(workspace_id, state_file, start, succeeded=succeeded)
        except UserError as error:
            text = f"The end of a run was not noted. {error}"
            self._reporter.say("error", workspace_id, text, start.message_id, level="warning")
