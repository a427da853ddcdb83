"""The turns of the memory writer's workspaces: their state files, their counting, and when a run is due.

A state file, one per workspace, is in the agent's own format (formats/mux.md section 14). It holds the turns
since the last run, the times when that run started and completed, and the message that triggered it. Invalid
values are replaced as the agent does. The file is written through `files.sidecar`, which preserves unknown
fields. `StateMarks`, in Reverie's own directory, store what the state file has no field for: the hash of the
bytes that Reverie wrote last (different bytes were written by the agent), the turns counted last (so
that no process counts a turn twice), and the position from which to read again after a failed run.

Threading: blocking; any thread but the GUI's. Failure: `UserError`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal

from reverie.agents.reading import as_text
from reverie.agents.transcripts import Turn
from reverie.files.lease import Lease, LeaseHeld
from reverie.files.locks import file_lock
from reverie.files.sidecar import Sidecar, stringify
from reverie.jobs.single_file.service import Gate, NoRun, StateTable, lease_name
from reverie.memory.scope_files import sha256_of_bytes
from reverie.runs.run import RunDependencies
from reverie.values import Struct, field, replace

_RECENT_TURNS = 256


class WriterState(Struct, frozen=True):
    """The counters of one workspace; times are UTC ms.

    `turns`: the turns since the last run. `started_at`, `completed_at`: when the last run started and when
    one last completed. `message_id`: the message that triggered the last run.
    """

    turns: int = 0
    started_at: int | None = None
    completed_at: int | None = None
    message_id: str | None = None

    @property
    def unfinished(self) -> bool:
        """True if a run started and did not complete: it is still active, or was killed."""
        if self.started_at is None:
            return False
        return self.completed_at is None or self.completed_at < self.started_at


def coerced(data: Mapping[str, Any]) -> WriterState:
    """Return the state in a decoded file, with defaults in place of invalid values."""
    turns = _finite(data.get("turnsSinceLastRun"))
    return WriterState(
        turns=max(0, turns or 0),
        started_at=_finite(data.get("lastRunStartedAt")),
        completed_at=_finite(data.get("lastRunCompletedAt")),
        message_id=as_text(data.get("lastRunMessageId")).strip() or None,
    )


def as_data(state: WriterState, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object to write into the state file: `before`, its present object, with `state` in it.

    Other fields and the version number stay.
    """
    data = {"schemaVersion": 1, **before, "turnsSinceLastRun": state.turns}
    for name, value in (
        ("lastRunStartedAt", state.started_at),
        ("lastRunCompletedAt", state.completed_at),
        ("lastRunMessageId", state.message_id),
    ):
        data.pop(name, None)
        if value is not None:
            data[name] = value
    return data


class StateRead(Struct, frozen=True):
    """The content of the state file of the memory writer."""

    state: WriterState
    sha256: str | None
    """The hash of the file's bytes; None if there is no file."""
    problem: str = ""
    """The reason why an existing file cannot be read; empty if it can."""


class StateFile:
    """The agent's file with the state of the memory writer in one workspace.

    For example, the file has the number of turns since the last run.
    """

    def __init__(self, sidecar: Sidecar) -> None:
        self._sidecar = sidecar

    def read(self) -> StateRead:
        """Read the state; invalid values are replaced as the agent does."""
        found = self._sidecar.read()
        return StateRead(coerced(found.data), found.sha256, found.problem)

    def change(self, make: Callable[[WriterState], WriterState]) -> str | None:
        """Replace the state; return the hash of the new file. `make` may be called more than once."""
        data = self._sidecar.update(lambda data: as_data(make(coerced(data)), data))
        return sha256_of_bytes(stringify(data))


class StateMarks(Struct, frozen=True):
    """Reverie's own data about the memory writer of one workspace, kept apart from the agent's state file."""

    written: str | None = None
    """The hash of the state file as Reverie last wrote or saw it; None before that."""
    sequence: int = -1
    """The sequence number of the newest counted turn."""
    timestamp: int = 0
    """The time of the newest counted turn, in UTC ms."""
    turns: tuple[str, ...] = ()
    """The ids of the turns that were counted last."""
    tail: Mapping[str, Any] = field(default_factory=dict)
    """The position up to which the transcript was read."""
    failed: str = ""
    """The id of the message that triggered the last run, if that run failed; else empty."""
    processed: str | None = None
    """The id of the last message that a run before the failed one read; None if there is none."""

    def has_counted(self, turn: Turn) -> bool:
        """Return True if `turn` was counted: its id is known, or it is not newer than the last counted one.

        A turn is newer if its sequence number or its timestamp is larger: after the history is cleared,
        sequence numbers start again, but the timestamps are later.
        """
        if turn.id in self.turns:
            return True
        return turn.sequence <= self.sequence and (turn.timestamp or 0) <= self.timestamp

    def counting(self, turn: Turn) -> StateMarks:
        """Return these marks with `turn` as the newest counted turn; only the last 256 ids are stored."""
        turns = (*self.turns, turn.id)[-_RECENT_TURNS:]
        timestamp = max(self.timestamp, turn.timestamp or 0)
        return replace(self, sequence=turn.sequence, timestamp=timestamp, turns=turns)

    def having_run(self, message_id: str, since: str | None, *, succeeded: bool) -> StateMarks:
        """Return these marks as they are after a run that the message `message_id` triggered.

        The run has read the messages after `since` (None: all). If it has not `succeeded`, the next run reads
        these messages again.
        """
        failed, processed = ("", None) if succeeded else (message_id, since)
        return replace(self, failed=failed, processed=processed)

    def since(self, state: WriterState) -> str | None:
        """Return the id of the message after which the next run starts to read; None to read all messages."""
        if state.unfinished:
            return None
        return self.processed if self.failed and self.failed == state.message_id else state.message_id


def _finite(value: object) -> int | None:
    """Return a finite JSON number rounded down, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return math.floor(value)


LEAST_INTERVAL, MOST_INTERVAL = 1, 50


class Interval(Struct, frozen=True):
    """The number of turns between two runs, and where it is configured."""

    turns: int | None
    """The number of turns; None if the configured value is invalid."""
    source: Literal["agent", "settings"]
    problem: str = ""
    """The reason why the value is invalid; empty if it is valid."""


def interval_of(setting: int, wish: object) -> Interval:
    """Return the interval that applies: the agent's own setting, or Reverie's if the agent has none.

    `setting`: Reverie's. `wish` is the agent's value as read from its file, None if it has none.
    """
    value = setting if wish is None else wish
    source: Literal["agent", "settings"] = "settings" if wish is None else "agent"
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else 0
    if float(number).is_integer() and LEAST_INTERVAL <= number <= MOST_INTERVAL:
        return Interval(int(number), source)
    problem = f"{str(value)[:40]!r} is not a number of turns from {LEAST_INTERVAL} to {MOST_INTERVAL}"
    return Interval(None, source, problem)


class TurnDecision(Struct, frozen=True):
    """The result of counting one turn of a conversation: the new state, and whether a run starts."""

    state: WriterState
    gate: Gate | None
    """The reason why no run starts; None if one starts."""
    crashed: bool = False
    """True if a previous run was killed."""


def standing_gate(
    *, switched_on: bool, agent_allows: bool, parent_id: str | None, interval: Interval
) -> Gate | None:
    """Return the first reason why no run can start, at whatever turn; None if there is none.

    `switched_on`: Reverie's switch. `agent_allows`: the agent's own switch. `parent_id`: the workspace above
    this one, which then has no memory writer of its own; None: there is none.
    """
    if not switched_on or not agent_allows:
        return "disabled"
    if parent_id:
        return "child-workspace"
    return "invalid-interval" if interval.turns is None else None


def on_turn(state: WriterState, *, interval: int, in_flight: bool, message_id: str, now: int) -> TurnDecision:
    """Count one completed turn of the assistant in a root workspace, and decide whether a run starts.

    `interval`: the number of turns between two runs. `in_flight`: a run of this workspace is active in some
    process. If a run started, never completed and is not in flight, it was killed; a run is then due at this
    turn (formats/mux.md section 14). `now`: UTC ms.
    """
    crashed = state.unfinished and not in_flight
    turns = (max(state.turns, interval - 1) if crashed else state.turns) + 1
    if in_flight:
        return TurnDecision(replace(state, turns=turns), "in-flight")
    if turns < interval:
        return TurnDecision(replace(state, turns=turns), "not-due", crashed)
    return TurnDecision(starting(message_id, now), None, crashed)


def starting(message_id: str, now: int) -> WriterState:
    """Return the state for a run that starts at `now` (UTC ms), triggered by the message `message_id`."""
    return WriterState(0, now, None, message_id or None)


def completing(state: WriterState, *, started_at: int, now: int) -> WriterState:
    """Return the state after the run that started at `started_at` has ended.

    Unchanged if another run has started meanwhile.
    """
    if state.started_at != started_at:
        return state
    return replace(state, completed_at=max(now, started_at))


class RunStart(Struct, frozen=True):
    """A run that may start: its lease is held, and its start is recorded in the state file."""

    lease: Lease
    started_at: int
    message_id: str
    since: str | None
    """The id of the last message that an earlier run processed; None to read all messages."""
    crashed: bool
    """True if the previous run was killed before its end."""


class TurnCounter:
    """The counter of the completed turns of one workspace.

    The lock with the name of `lock_file` serialises the counting of all processes; nothing is written there.
    A run holds a lease, which ends with the process; thus a killed run can be distinguished from an active
    one. If the state file differs from what Reverie wrote last, the agent itself runs its writer, and Reverie
    skips that turn.
    """

    def __init__(
        self,
        workspace_id: str,
        run: RunDependencies,
        marks: StateTable[StateMarks],
        sidecar: Sidecar,
        lock_file: Path,
    ) -> None:
        self._id = workspace_id
        self._run = run
        self._marks = marks
        self._lock_file = lock_file
        self._lease = lease_name("writer", run.home_id, workspace_id)
        self.file = StateFile(sidecar)
        """The state file of the workspace."""

    def in_flight(self) -> bool:
        """Return True if a run of this workspace is active in any process."""
        return self._run.leases.holder(self._lease) is not None

    def advanced_by_others(self) -> bool:
        """Return True if the state file differs from what Reverie wrote last."""
        return _is_foreign(self._marks.of(self._id), self.file.read())

    def count(self, turn: Turn, interval: int) -> RunStart:
        """Count one completed turn, and start a run if one is due. Raises `NoRun` if none is."""
        with self._alone():
            marks = self._marks.of(self._id)
            if marks.has_counted(turn):
                raise NoRun("counted", "The turn was already counted.", turn.id, level=None)
            found = self.file.read()
            # The turn first: if this process dies here, the turn is lost, which beats counting it twice.
            marks = marks.counting(turn)
            foreign = _is_foreign(marks, found)
            if foreign:
                marks = replace(marks, written=found.sha256)
            self._marks.change(self._id, lambda _old: marks)
            if foreign:
                text = "the agent itself has updated the writer's state since Reverie last did."
                raise NoRun("stood-down", f"Reverie did not run: {text}", turn.id)

            def decide(state: WriterState, in_flight: bool) -> TurnDecision:
                now = self._run.clock()
                return on_turn(state, interval=interval, in_flight=in_flight, message_id=turn.id, now=now)

            return self._started(turn.id, interval, decide)

    def catch_up(self, turns: Sequence[Turn], interval: int, *, force: bool) -> RunStart:
        """Count the turns that no process has counted; start a run if one is due or `force` is set.

        `turns` are at least one turn, oldest first. Raises `NoRun` if no run is due.
        """
        newest = turns[-1]
        with self._alone():
            marks = self._marks.of(self._id)
            new = _uncounted(turns, marks, self.file.read().state)
            for turn in new:
                marks = marks.counting(turn)
            self._marks.change(self._id, lambda _old: marks)

            def decide(state: WriterState, in_flight: bool) -> TurnDecision:
                counted = replace(state, turns=state.turns + len(new))
                crashed = state.unfinished and not in_flight
                if in_flight:
                    return TurnDecision(counted, "in-flight")
                if force or counted.turns >= interval or (crashed and new):
                    return TurnDecision(starting(newest.id, self._run.clock()), None, crashed)
                return TurnDecision(counted, "not-due", crashed)

            return self._started(newest.id, interval, decide)

    def complete(self, start: RunStart, *, succeeded: bool) -> None:
        """Record the end of the run `start`.

        If the agent wrote the state file meanwhile, the file stays marked as foreign, so that the next turn
        notices it.
        """

        def ended(marks: StateMarks) -> StateMarks:
            return marks.having_run(start.message_id, start.since, succeeded=succeeded)

        with self._alone():
            # First: if this process dies here, the run counts as crashed, and everything is read again.
            self._marks.change(self._id, ended)
            foreign, now = self.advanced_by_others(), self._run.clock()
            sha256 = self.file.change(lambda state: completing(state, started_at=start.started_at, now=now))
            if not foreign:
                self._marks.change(self._id, lambda marks: replace(marks, written=sha256))

    def _started(
        self, message_id: str, interval: int, decide: Callable[[WriterState, bool], TurnDecision]
    ) -> RunStart:
        """Write the decision of `decide` into the state file; return the run that starts, with its lease.

        `decide` gets the state, and True if a run is active. Raises `NoRun` if no run starts.
        """
        in_flight, lease = self.in_flight(), None
        if not in_flight and decide(self.file.read().state, False).gate is None:
            with contextlib.suppress(LeaseHeld):
                lease = self._run.leases.acquire(self._lease, purpose=f"memory writer ({self._id})")
            in_flight = lease is None
        made: list[tuple[WriterState, TurnDecision]] = []

        def change(state: WriterState) -> WriterState:
            made.append((state, decide(state, in_flight)))
            return made[-1][1].state

        with contextlib.ExitStack() as held:
            if lease is not None:
                held.push(lease)
            sha256 = self.file.change(change)
            self._marks.change(self._id, lambda marks: replace(marks, written=sha256))
            before, decision = made[-1]
            started_at = decision.state.started_at
            if decision.gate is None and lease is not None and started_at is not None:
                held.pop_all()
                since = self._marks.of(self._id).since(before)
                return RunStart(lease, started_at, message_id, since, decision.crashed)
        if decision.gate == "not-due":
            raise NoRun("not-due", f"Not due: {decision.state.turns} of {interval} turns.", message_id)
        raise NoRun("in-flight", "The memory writer is already running in this workspace.", message_id)

    def _alone(self) -> AbstractContextManager[None]:
        """Context manager: lock the counters of this workspace."""
        return file_lock(self._run.guard.lock_dir, self._lock_file)


def _is_foreign(marks: StateMarks, found: StateRead) -> bool:
    """Return True if another program has written the state file since Reverie did.

    `marks` has the hash of what Reverie wrote last, `found` that of the file now. If the file is missing or
    damaged, returns False; turns then count from zero.
    """
    if marks.written is None or found.sha256 is None or found.problem:
        return False
    return found.sha256 != marks.written


def _uncounted(turns: Sequence[Turn], marks: StateMarks, state: WriterState) -> list[Turn]:
    """Return the completed turns that no process has counted.

    If Reverie has counted none yet, these are the turns after the last run.
    """
    if marks.turns:
        return [turn for turn in turns if not marks.has_counted(turn)]
    last = next((at for at, turn in enumerate(turns) if turn.id == state.message_id), -1)
    return list(turns[last + 1 :])
