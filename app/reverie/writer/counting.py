"""Counting turns, once each, and beginning runs, one at a time, whatever processes are at it.

One lock per workspace orders the counting; one lease per workspace keeps a run alone, and dies with its
process, which is how a run that was killed is told from one at work. When the state file is no longer as
Reverie left it, the agent does this job itself, and Reverie stands down for that turn.

Threading: blocking; any thread but the GUI's, several at once. Failure: `MendableError`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from reverie.clock import Clock
from reverie.files.lease import Lease, LeaseHeld, Leases
from reverie.files.lock import file_lock
from reverie.files.sidecar import Sidecar
from reverie.transcripts.turns import Turn
from reverie.writer.schedule import Decision, Gate, completing, on_turn, starting
from reverie.writer.state import Marks, OwnMarks, StateFile, StateRead, WriterState

_NEVER = 10**9


class _Decide(Protocol):
    def __call__(self, state: WriterState, *, in_flight: bool) -> Decision: ...


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where turns of one workspace are counted, and how many make a run."""

    workspace_id: str
    state_file: Path
    interval: int


@dataclass(frozen=True, slots=True)
class Start:
    """A run that may begin: its lease is held, the state says that it started. `since`: the message that the
    last run was about, None where all is to be looked at. `crashed`: the run before died."""

    lease: Lease
    started_at: int
    message_id: str
    since: str | None
    crashed: bool


@dataclass(frozen=True, slots=True)
class Waiting:
    """No run comes of a turn. `turns` were counted since the last one."""

    gate: Gate
    message_id: str
    turns: int = 0


@dataclass(slots=True)
class _Counted:
    """What counting came to, inside the state file's own update."""

    decision: Decision | None = None
    before: WriterState = field(default_factory=WriterState)


def writer_lease_name(home_id: str, workspace_id: str) -> str:
    """Held while a run of this workspace is at work."""
    return f"writer:{home_id}:{workspace_id}"


class Counters:
    """The counters of one home's workspaces. `lock_place` names the locks; nothing is written there."""

    def __init__(
        self,
        *,
        home_id: str,
        leases: Leases,
        marks: OwnMarks,
        sidecar_for: Callable[[Path], Sidecar],
        lock_dir: Path,
        lock_place: Path,
        clock: Clock,
    ) -> None:
        self._home_id = home_id
        self._leases = leases
        self._marks = marks
        self._sidecar_for = sidecar_for
        self._lock_dir = lock_dir
        self._lock_place = lock_place
        self._clock = clock

    def read(self, state_file: Path) -> StateRead:
        """The state as the file has it; coerced where it is damaged."""
        return self._file(state_file).read()

    def in_flight(self, workspace_id: str) -> bool:
        """Whether a run of this workspace is at work, in any process."""
        return self._leases.holder(writer_lease_name(self._home_id, workspace_id)) is not None

    def advanced_by_others(self, workspace_id: str, state_file: Path) -> bool:
        """Whether the state file is no longer as Reverie left it."""
        return _is_foreign(self._marks.of(workspace_id), self.read(state_file))

    def count(self, place: Workplace, turn: Turn) -> Start | Waiting:
        """Count one completed turn; a run that is due begins here."""
        with self._alone(place.workspace_id):
            marks = self._marks.of(place.workspace_id)
            if marks.has_counted(turn.id, turn.sequence, turn.timestamp):
                return Waiting("counted", turn.id)
            found = self.read(place.state_file)
            # The turn first: should this process die here, it is lost, which beats counting it twice.
            marks = marks.counting(turn.id, turn.sequence, turn.timestamp)
            foreign = _is_foreign(marks, found)
            if foreign:
                marks = marks.having_written(found.sha256)
            self._marks.change(place.workspace_id, lambda _old: marks)
            if foreign:
                return Waiting("stood-down", turn.id, found.state.turns)

            def decide(state: WriterState, *, in_flight: bool) -> Decision:
                return on_turn(
                    state,
                    interval=place.interval,
                    in_flight=in_flight,
                    message_id=turn.id,
                    now=self._clock(),
                )

            return self._decided(place, turn.id, decide)

    def catch_up(self, place: Workplace, turns: Sequence[Turn], *, force: bool) -> Start | Waiting:
        """Count every turn of `turns` (at least one) that nobody has; then start if it is due, or wished."""
        newest = turns[-1]
        with self._alone(place.workspace_id):
            marks = self._marks.of(place.workspace_id)
            new = _uncounted(turns, marks, self.read(place.state_file).state)
            for turn in new:
                marks = marks.counting(turn.id, turn.sequence, turn.timestamp)
            self._marks.change(place.workspace_id, lambda _old: marks)

            def decide(state: WriterState, *, in_flight: bool) -> Decision:
                now, counted = self._clock(), state
                for turn in new:
                    counted = on_turn(
                        counted, interval=_NEVER, in_flight=True, message_id=turn.id, now=now
                    ).state
                crashed = state.unfinished and not in_flight
                if in_flight:
                    return Decision(counted, "in-flight")
                if force or counted.turns >= place.interval or (crashed and new):
                    return Decision(starting(newest.id, now), None, crashed)
                return Decision(counted, "not-due", crashed)

            return self._decided(place, newest.id, decide)

    def complete(self, workspace_id: str, state_file: Path, started_at: int) -> None:
        """Note that the run is over. What the agent wrote meanwhile stays somebody else's, so that the next
        turn finds it."""
        with self._alone(workspace_id):
            foreign = self.advanced_by_others(workspace_id, state_file)
            now = self._clock()
            sha256 = self._file(state_file).change(
                lambda state: completing(state, started_at=started_at, now=now)
            )
            if not foreign:
                self._marks.change(workspace_id, lambda marks: marks.having_written(sha256))

    def _decided(self, place: Workplace, message_id: str, decide: _Decide) -> Start | Waiting:
        """Write what was decided into the state file, with the lease in hand where a run starts."""
        workspace_id, file = place.workspace_id, self._file(place.state_file)
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
            decision = counted.decision or Decision(counted.before, "error")
            started_at = decision.state.started_at
            if decision.gate is None and lease is not None and started_at is not None:
                held.pop_all()
                since = None if counted.before.unfinished else counted.before.message_id
                return Start(lease, started_at, message_id, since, decision.crashed)
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
        with file_lock(self._lock_dir, self._lock_place / f"writer-{workspace_id}"):
            yield

    def _file(self, state_file: Path) -> StateFile:
        return StateFile(self._sidecar_for(state_file))


def _is_foreign(marks: Marks, found: StateRead) -> bool:
    """Whether somebody else wrote the state since Reverie did. A file that is gone or broken is nobody's
    advance: turns count from zero."""
    if marks.written is None or found.sha256 is None or found.problem:
        return False
    return found.sha256 != marks.written


def _uncounted(turns: Sequence[Turn], marks: Marks, state: WriterState) -> list[Turn]:
    """The completed turns that nobody has counted; before Reverie counted any, those after the last run."""
    if marks.turns:
        return [turn for turn in turns if not marks.has_counted(turn.id, turn.sequence, turn.timestamp)]
    last = next((at for at, turn in enumerate(turns) if turn.id == state.message_id), -1)
    return list(turns[last + 1 :])
