"""The memory writer of one home: counts turns, starts runs when they are due, and reports their results.

Rules: formats/mux.md section 14. `on_turn_end` receives every event of a workspace's transcript that ends a
turn, successful or not; `run_now` serves a person's request. `WriterJob` is the run itself.

Threading: blocking until the run has ended; any thread but the GUI's, several at once. Setting `cancel` ends
a run; the run is then marked as unfinished and is due at the next turn. Failure: errors that a person can fix
are in the outcome; a bug is raised after the end of the run was recorded.
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
from reverie.jobs.single_file.writer import WriterEngine, WriterJob, WriterTask, first_text, said_since
from reverie.jobs.single_file.writer_events import events_of
from reverie.jobs.single_file.writer_turns import (
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
from reverie.values import Struct, columns, field, replace

if TYPE_CHECKING:
    from reverie.settings import System1Settings


_NEVER = 10**9


class _Decide(Protocol):
    def __call__(self, state: WriterState, *, in_flight: bool) -> TurnDecision: ...


class Workplace(Struct, frozen=True):
    """The state file that counts a workspace's turns, and the number of turns between runs."""

    workspace_id: str
    state_file: Path
    interval: int


class RunStart(Struct, frozen=True):
    """A run that may start: its lease is held, and its start is recorded in the state file."""

    lease: Lease
    started_at: int
    message_id: str
    since: str | None
    """The last message that an earlier run processed; None to read all messages."""
    crashed: bool
    """Whether the previous run was killed before its end."""


class Waiting(Struct, frozen=True):
    """The result of a turn that starts no run."""

    gate: Gate
    message_id: str
    turns: int = 0
    """The number of turns counted since the last run."""


class _Counted(Struct):
    """The result of counting a turn, computed inside an update of the state file."""

    decision: TurnDecision | None = None
    before: WriterState = field(default_factory=WriterState)


def writer_lease_name(home_id: str, workspace_id: str) -> str:
    """Return the name of the lease that a run of this workspace holds."""
    return f"writer:{home_id}:{workspace_id}"


class TurnCounter:
    """Counts completed turns in one home's workspaces.

    One lock per workspace serialises the counting; `WriterDependencies.lock_place` names the locks, and
    nothing is written there. A run holds one lease per workspace, which ends with the process; thus a killed
    run can be distinguished from an active one. If the state file differs from what Reverie wrote last, the
    agent itself runs its writer, and Reverie skips that turn.
    """

    def __init__(self, parts: WriterDependencies) -> None:
        self._parts = parts
        self._home_id = parts.run.home_id
        self._leases = parts.run.leases
        self._marks = parts.marks
        self._clock = parts.run.clock

    def read(self, workspace_id: str, state_file: Path) -> StateRead:
        """Read the state from the file; invalid values are replaced by defaults."""
        return self._file(workspace_id, state_file).read()

    def in_flight(self, workspace_id: str) -> bool:
        """Return whether a run of this workspace is active in any process."""
        return self._leases.holder(writer_lease_name(self._home_id, workspace_id)) is not None

    def advanced_by_others(self, workspace_id: str, state_file: Path) -> bool:
        """Return whether the state file differs from what Reverie wrote last."""
        return _is_foreign(self._marks.of(workspace_id), self.read(workspace_id, state_file))

    def count(self, place: Workplace, turn: Turn) -> RunStart | Waiting:
        """Count one completed turn, and start a run if one is due."""
        with self._alone(place.workspace_id):
            marks = self._marks.of(place.workspace_id)
            if marks.has_counted(turn.id, turn.sequence, turn.timestamp):
                return Waiting("counted", turn.id)
            found = self.read(place.workspace_id, place.state_file)
            # The turn first: if this process dies here, the turn is lost, which beats counting it twice.
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
        """Count the turns that no process has counted; start a run if one is due or `force` is set.

        `turns` are at least one turn, oldest first.
        """
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
        """Record the end of a run.

        If the agent wrote the state file meanwhile, the file stays marked as foreign, so that the next turn
        notices it.
        """

        def ended(marks: StateMarks) -> StateMarks:
            return marks.having_run(start.message_id, start.since, succeeded=succeeded)

        with self._alone(workspace_id):
            # First: if this process dies here, the run counts as crashed, and everything is read again.
            self._marks.change(workspace_id, ended)
            foreign = self.advanced_by_others(workspace_id, state_file)
            now = self._clock()
            sha256 = self._file(workspace_id, state_file).change(
                lambda state: completing(state, started_at=start.started_at, now=now)
            )
            if not foreign:
                self._marks.change(workspace_id, lambda marks: marks.having_written(sha256))

    def _decided(self, place: Workplace, message_id: str, decide: _Decide) -> RunStart | Waiting:
        """Write the decision of `decide` into the state file.

        If a run starts, it is returned with its lease.
        """
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
        """Acquire the lease of this workspace's runs; None if another process holds it."""
        name = writer_lease_name(self._home_id, workspace_id)
        try:
            return self._leases.acquire(name, purpose=f"memory writer ({workspace_id})")
        except LeaseHeld:
            return None

    @contextlib.contextmanager
    def _alone(self, workspace_id: str) -> Iterator[None]:
        """Context manager: lock the counters of one workspace.

        The lock excludes all Reverie processes of the profile.
        """
        parts = self._parts
        with file_lock(parts.run.guard.lock_dir, parts.lock_place / f"writer-{workspace_id}"):
            yield

    def _file(self, workspace_id: str, state_file: Path) -> StateFile:
        return StateFile(self._parts.sidecar_for(workspace_id, state_file))


def _is_foreign(marks: StateMarks, found: StateRead) -> bool:
    """Return whether another program wrote the state file since Reverie did.

    A missing or damaged file is not foreign; turns then count from zero.
    """
    if marks.written is None or found.sha256 is None or found.problem:
        return False
    return found.sha256 != marks.written


def _uncounted(turns: Sequence[Turn], marks: StateMarks, state: WriterState) -> list[Turn]:
    """Return the completed turns that no process has counted.

    If Reverie has counted none yet, these are the turns after the last run.
    """
    if marks.turns:
        return [turn for turn in turns if not marks.has_counted(turn.id, turn.sequence, turn.timestamp)]
    last = next((at for at, turn in enumerate(turns) if turn.id == state.message_id), -1)
    return list(turns[last + 1 :])


class WriterOutcome(Struct, frozen=True):
    """The result of handling a turn or a person's request."""

    gate: Gate | None
    """The reason why no run started; None if one did, and `outcome` is its end."""
    text: str
    """A sentence for people."""
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
        """Whether a run started."""
        return self.gate is None

    @property
    def succeeded(self) -> bool:
        """Whether the run ended well."""
        return self.outcome in SUCCEEDED

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as `reverie write --json` prints it."""
        return {
            "runId": self.run_id,
            "outcome": self.outcome or "skipped",
            "gate": self.gate,
            "reason": self.reason or self.gate or "",
            **columns(self, "summary=text workspace_id triggerMessageId=message_id wrote timed_out model"),
            "dump": None if self.dump is None else str(self.dump),
        }


_log = logging.getLogger("reverie.writer")


class WriterReporter:
    """Reports one home's writer to the log and to Activity.

    Each gate and each outcome is a log line `[system1][memory] ...` and an entry in Activity. The attempts
    and tool calls of a run are reported too; they are read from its trace. Repeated gates are one entry.
    """

    def __init__(self, activity: Activity, home_root: str) -> None:
        self._note = partial(activity.add, home=home_root)

    def say(
        self, gate: Gate, workspace_id: str, text: str, message_id: str = "", *, level: str = "info"
    ) -> WriterOutcome:
        """Report a gate that prevented a run; return it as an outcome."""
        self._line(logging.DEBUG, f"skipped ({gate}): {text}", workspace_id, message_id)
        self._note(f"writer.{gate}", level=level, text=text, workspace_id=workspace_id)
        return WriterOutcome(gate, text, workspace_id, message_id)

    def started(self, workspace_id: str, message_id: str, model: str, *, crashed: bool) -> None:
        """Report that a run starts.

        `crashed`: the previous run was killed.
        """
        text = "Started. The previous run did not finish." if crashed else "Started."
        self._line(logging.DEBUG, f"started: {text}", workspace_id, message_id, model)
        details = {"triggerMessageId": message_id, "model": model}
        self._note("writer.started", level="info", text=text, workspace_id=workspace_id, details=details)

    def ended(self, workspace_id: str, message_id: str, job: WriterJob, end: RunResult, text: str) -> None:
        """Report the end of a run, after its attempts and their tool calls."""
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
        """Report one attempt.

        The log gets one line per call, Activity one entry per tool and result.
        """
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
    """Return the reason why no turn at all can start a run."""
    if gate == "disabled":
        who = (
            "The agent's own settings turn the memory writer off." if by_agent else "Turn it on in Settings."
        )
        return f"The memory writer is off. {who}"
    if gate == "child-workspace":
        return "This workspace belongs to a sub-agent. Only the turns of its parent workspace are counted."
    where = "the agent's config.json" if interval.source == "agent" else "the settings"
    return f"The interval in {where} is ignored: {interval.problem}."


def waiting_words(gate: Gate, turns: int, interval: int) -> str:
    """Return the reason why a counted turn starts no run."""
    if gate == "counted":
        return "The turn was already counted."
    if gate == "stood-down":
        return "Reverie did not run: the agent itself has updated the writer's state since Reverie last did."
    if gate == "in-flight":
        return "The memory writer is already running in this workspace."
    return f"Not due: {turns} of {interval} turns."


def _event_of(job: WriterJob, end: RunResult) -> str:
    """Return the name of the event under which the end of a run is reported.

    As in the agent's own log, a run that wrote nothing has its own event name instead of "completed".
    """
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
    """Services and settings of one home's writer."""

    run: RunDependencies
    dumps: Dumps
    marks: OwnMarks
    sidecar_for: Callable[[str, Path], Sidecar]
    """A function that opens the state file of a workspace; the home may refuse writes to that file."""
    lock_place: Path
    """The directory whose path names the locks."""
    settings: Callable[[], System1Settings]
    """A function that reads the settings; it is called again for each turn."""
    engine_for: Callable[[ScopeContext, AgentWriterConfig, str | None], WriterEngine]
    """A function that chooses the engine, by context, the agent's settings and the model of the turn.

    Raises `UserError` if a model that a person chose cannot be used.
    """
    debugging: Callable[[], bool]
    """A function that returns whether debug output is on.

    If so, failures leave a dump whatever the settings are.
    """


class Standing(Struct, frozen=True):
    """The conditions of a workspace that apply to every turn; the Doctor reads them too."""

    workspace: Workspace | None
    interval: Interval
    gate: Gate | None
    text: str = ""
    target: WriterTarget | None = None


class _Ready(Struct, frozen=True):
    """A workspace in which no standing condition prevents runs."""

    workspace: Workspace
    context: ScopeContext
    place: WriterPlace
    wishes: AgentWriterConfig
    target: WriterTarget
    interval: int
    settings: System1Settings

    @property
    def workplace(self) -> Workplace:
        """The state file and interval for `TurnCounter`."""
        return Workplace(self.workspace.id, self.place.state_file, self.interval)


class WriterService:
    """The memory writer of one home.

    The host calls `on_turn_end`, `run_now`, `open_tail` and `keep_tail`. The Doctor calls `standing`,
    `state`, `in_flight` and `advanced_by_others`, which change nothing.
    """

    def __init__(self, parts: WriterDependencies, cancel: threading.Event | None = None) -> None:
        self._parts = parts
        self._cancel = cancel or threading.Event()
        self._reporter = WriterReporter(parts.run.activity, str(parts.run.home.root))
        self._counters = TurnCounter(parts)

    def on_turn_end(self, workspace_id: str, event: TailEvent) -> WriterOutcome:
        """Handle one event of the transcript: count a completed turn, and run the writer if it is due.

        Only `turn-end` counts; `aborted` and `error` are reported; all other kinds are ignored.
        """
        message_id = event.turn.id
        if event.kind not in ("turn-end", "aborted", "error"):
            text = "This row does not end an assistant turn."
            return WriterOutcome("not-completed", text, workspace_id, message_id)
        try:
            ready = self._ready(workspace_id, message_id, by_hand=False)
            if isinstance(ready, WriterOutcome):
                return ready
            if event.kind != "turn-end":
                text = "The turn was aborted or failed, so it is not counted."
                return self._reporter.say("not-completed", workspace_id, text, message_id)
            started = self._counters.count(ready.workplace, event.turn)
        except UserError as error:
            return self._reporter.say("error", workspace_id, str(error), message_id, level="warning")
        if isinstance(started, Waiting):
            return self._waits(ready, started)
        return self._run(ready, started, event.model, "turn")

    def run_now(self, workspace_id: str, force: bool = False) -> WriterOutcome:
        """Count all uncounted turns and run the writer at a person's request.

        The run starts even if the writer is switched off or the agent does the same job. Without `force` it
        starts only if it is due.
        """
        try:
            ready = self._ready(workspace_id, "", by_hand=True)
            if isinstance(ready, WriterOutcome):
                return ready
            ends = [row for row in self._rows(workspace_id) if row.kind == "turn-end"]
            if not ends:
                text = "The transcript contains no completed assistant turn."
                return self._reporter.say("not-due", workspace_id, text)
            turns = [row.turn for row in ends]
            started = self._counters.catch_up(ready.workplace, turns, force=force)
        except UserError as error:
            return self._reporter.say("error", workspace_id, str(error), level="warning")
        if isinstance(started, Waiting):
            return self._waits(ready, started)
        if force:  # read everything again, not only what is new
            started = replace(started, since=None)
        return self._run(ready, started, ends[-1].model, "manual")

    def open_tail(self, workspace_id: str) -> Tail | None:
        """Open a workspace's transcript at the position that `keep_tail` recorded, else at its end.

        Returns None if the agent has no transcript. Raises `UserError`.
        """
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
        """Record the position of `tail`. Call this when all its events so far have been processed."""
        data = tail.position.as_json()
        if self._parts.marks.of(workspace_id).tail != data:
            self._parts.marks.change(workspace_id, lambda marks: marks.with_tail(data))

    def standing(self, workspace_id: str) -> Standing:
        """Return the standing conditions of a workspace, with the gate if one of them prevents runs.

        Raises `UserError`.
        """
        return self._standing(workspace_id, by_hand=False)[0]

    def state(self, workspace_id: str) -> StateRead:
        """Return the state in the workspace's file.

        Raises `UserError`.
        """
        place = self._place(workspace_id)
        return (
            StateRead(WriterState(), None)
            if place is None
            else self._counters.read(workspace_id, place.state_file)
        )

    def in_flight(self, workspace_id: str) -> bool:
        """Return whether a run of this workspace is active in any process."""
        return self._counters.in_flight(workspace_id)

    def advanced_by_others(self, workspace_id: str) -> bool:
        """Return whether the state file differs from what Reverie wrote last."""
        place = self._place(workspace_id)
        return place is not None and self._counters.advanced_by_others(workspace_id, place.state_file)

    def _standing(self, workspace_id: str, *, by_hand: bool) -> tuple[Standing, _Ready | None]:
        """Check the conditions that apply to every turn; if none prevents a run, also return the workspace.

        `by_hand`: ignore the writer's switches.
        """
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
                "The home has no such workspace." if workspace is None else "This agent has no memory writer."
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
        """Return the workspace if no standing condition prevents a run; else report and return that gate."""
        standing, ready = self._standing(workspace_id, by_hand=by_hand)
        if ready is not None:
            return ready
        return self._reporter.say(standing.gate or "error", workspace_id, standing.text, message_id)

    def _waits(self, ready: _Ready, waiting: Waiting) -> WriterOutcome:
        """Report the reason why a turn starts no run.

        A turn that another process counted is not reported.
        """
        text = waiting_words(waiting.gate, waiting.turns, ready.interval)
        if waiting.gate == "counted":
            return WriterOutcome(waiting.gate, text, ready.workspace.id, waiting.message_id)
        return self._reporter.say(waiting.gate, ready.workspace.id, text, waiting.message_id)

    def _rows(self, workspace_id: str) -> tuple[TailEvent, ...]:
        writer, session = self._parts.run.home.writer, self._session(workspace_id)
        return () if writer is None or session is None else writer.newest_turns(session)

    def _run(self, ready: _Ready, start: RunStart, turn_model: str | None, trigger: str) -> WriterOutcome:
        """Run the writer to its end; record the end in the state file unless the run was cancelled."""
        with start.lease:
            outcome: WriterOutcome | None = None
            try:
                outcome = self._ran(ready, start, turn_model, trigger)
            finally:
                if outcome is None or outcome.outcome != "cancelled" or not self._cancel.is_set():
                    self._complete(ready, start, succeeded=outcome is not None and outcome.succeeded)
            return outcome

    def _ran(self, ready: _Ready, start: RunStart, turn_model: str | None, trigger: str) -> WriterOutcome:
        """Run the writer and report its end."""
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
            rows = self._rows(workspace_id)
            task = WriterTask(
                target=ready.target,
                context=ready.context,
                workspace_id=workspace_id,
                workspace_name=ready.workspace.name,
                trigger=trigger,
                message_id=start.message_id,
                time_limit_s=ready.settings.time_limit_s,
                details={"triggerMessageId": start.message_id},
                workspace=ready.workspace,
                place=ready.place,
                instructions=first_text(ready.place.instructions),
                context_instructions=first_text(ready.place.context_instructions),
                events=events_of(rows),
                said=tuple(said_since(rows, start.since)),
            )
            job = WriterJob(
                self._parts.run,
                task,
                engine,
                still_wanted=lambda: by_hand or self.standing(workspace_id).gate is None,
            )
            limits = StopCheck(self._cancel, threading.Event(), task.time_limit_s, enforce_deadline=False)
            result = asyncio.run(Run(self._parts.run, job, limits=limits).go())
        except UserError as error:
            return self._reporter.say("error", workspace_id, str(error), start.message_id, level="warning")
        return self._reported(ready, start, job, result)

    def _reported(self, ready: _Ready, start: RunStart, job: WriterJob, end: RunResult) -> WriterOutcome:
        """Write the dump, the log line and the Activity entry of a run that has ended."""
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
        """Write the dump into the agent's directory if the settings require it.

        Returns its path (None if there is none) and a sentence about errors.
        """
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
            return None, f"The trace could not be saved: {error}"
        return dump, ""

    def _complete(self, ready: _Ready, start: RunStart, *, succeeded: bool) -> None:
        """Record the end of a run in the state file; report an error."""
        workspace_id, state_file = ready.workspace.id, ready.place.state_file
        try:
            self._counters.complete(workspace_id, state_file, start, succeeded=succeeded)
        except UserError as error:
            text = f"The end of a run could not be recorded. {error}"
            self._reporter.say("error", workspace_id, text, start.message_id, level="warning")
