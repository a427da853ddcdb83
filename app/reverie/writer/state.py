"""The writer's state file, one per workspace, as the agent itself keeps it (formats/mux.md section 14).

It holds the turns since the last run, when that started and completed, and which message triggered it. Read
with the agent's own coercion, written through `files.sidecar`, so that fields nobody here knows survive. In
Reverie's own directory `OwnMarks` keeps, per workspace, what the state file has no field for: the bytes
Reverie wrote last (whoever wrote others since is the agent) and the last turns counted (so that no turn
counts twice, in whatever process).

Threading: blocking; any thread but the GUI's. Failure: `MendableError`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reverie.files.jsjson import stringify
from reverie.files.sidecar import Sidecar
from reverie.memory.store import sha256_of_bytes

_RECENT_TURNS = 256


@dataclass(frozen=True, slots=True)
class WriterState:
    """Times are UTC ms."""

    turns: int = 0
    started_at: int | None = None
    completed_at: int | None = None
    message_id: str | None = None

    @property
    def unfinished(self) -> bool:
        """A run started and did not complete: it is at work, or died."""
        if self.started_at is None:
            return False
        return self.completed_at is None or self.completed_at < self.started_at


def coerced(data: Mapping[str, Any]) -> WriterState:
    """The state in a decoded file, whatever stands in it."""
    turns = _finite(data.get("turnsSinceLastRun"))
    message_id = data.get("lastRunMessageId")
    name = message_id.strip() if isinstance(message_id, str) else ""
    return WriterState(
        turns=max(0, turns or 0),
        started_at=_finite(data.get("lastRunStartedAt")),
        completed_at=_finite(data.get("lastRunCompletedAt")),
        message_id=name or None,
    )


def as_data(state: WriterState, before: Mapping[str, Any]) -> dict[str, Any]:
    """`state` as the file's object, on top of what was in it."""
    data = {**before, "schemaVersion": 1, "turnsSinceLastRun": state.turns}
    for name, value in (
        ("lastRunStartedAt", state.started_at),
        ("lastRunCompletedAt", state.completed_at),
        ("lastRunMessageId", state.message_id),
    ):
        data.pop(name, None)
        if value is not None:
            data[name] = value
    return data


@dataclass(frozen=True, slots=True)
class StateRead:
    """The state with the hash of the file's bytes, None where there is none. `problem`: why a file that is
    there cannot be read."""

    state: WriterState
    sha256: str | None
    problem: str = ""


class StateFile:
    """The state file of one workspace."""

    def __init__(self, sidecar: Sidecar) -> None:
        self._sidecar = sidecar

    def read(self) -> StateRead:
        """The state, coerced as the agent does it, with the hash of the file."""
        found = self._sidecar.read()
        return StateRead(coerced(found.data), found.sha256, found.problem)

    def change(self, make: Callable[[WriterState], WriterState]) -> str | None:
        """Replace the state; the hash of the file as it is then. `make` may be called more than once."""
        data = self._sidecar.update(lambda data: as_data(make(coerced(data)), data))
        return sha256_of_bytes(stringify(data))


@dataclass(frozen=True, slots=True)
class Marks:
    """What Reverie knows of one workspace. `written`: the hash of the state file as Reverie last wrote or saw
    it, None before it ever did. `turns`: ids of the last turns counted; `sequence` and `timestamp` are those
    of the newest one."""

    written: str | None = None
    sequence: int = -1
    timestamp: int = 0
    turns: tuple[str, ...] = ()
    tail: Mapping[str, Any] = field(default_factory=dict)

    def has_counted(self, message_id: str, sequence: int, timestamp: int | None) -> bool:
        """A history that was cleared counts its rows from the start again, but they are younger."""
        if message_id in self.turns:
            return True
        return sequence <= self.sequence and (timestamp or 0) <= self.timestamp

    def counting(self, message_id: str, sequence: int, timestamp: int | None) -> Marks:
        """With this turn as the newest; only the last few ids are kept."""
        turns = (*self.turns, message_id)[-_RECENT_TURNS:]
        return Marks(self.written, sequence, max(self.timestamp, timestamp or 0), turns, self.tail)

    def having_written(self, sha256: str | None) -> Marks:
        """With the state file as Reverie left or saw it."""
        return Marks(sha256, self.sequence, self.timestamp, self.turns, self.tail)

    def with_tail(self, tail: Mapping[str, Any]) -> Marks:
        """With the place up to which the transcript was read."""
        return Marks(self.written, self.sequence, self.timestamp, self.turns, tail)


class OwnMarks:
    """The marks of all workspaces of one home, in Reverie's own directory."""

    def __init__(self, sidecar: Sidecar) -> None:
        self._sidecar = sidecar

    def of(self, workspace_id: str) -> Marks:
        """What is known of one workspace; fresh marks where nothing is."""
        return _marks(_table(self._sidecar.read().data).get(workspace_id))

    def change(self, workspace_id: str, make: Callable[[Marks], Marks]) -> Marks:
        """Replace the marks of one workspace; those that are kept then. `make` may be called more than
        once."""
        made: list[Marks] = []

        def change(data: dict[str, Any]) -> dict[str, Any]:
            table = _table(data)
            made.append(make(_marks(table.get(workspace_id))))
            return {**data, "workspaces": {**table, workspace_id: _marks_data(made[-1])}}

        self._sidecar.update(change)
        return made[-1]


def _table(data: Mapping[str, Any]) -> Mapping[str, Any]:
    table = data.get("workspaces")
    return table if isinstance(table, dict) else {}


def _marks(data: object) -> Marks:
    if not isinstance(data, dict):
        return Marks()
    written, turns, tail = data.get("written"), data.get("turns"), data.get("tail")
    return Marks(
        written if isinstance(written, str) else None,
        _whole(data.get("sequence"), -1),
        _whole(data.get("timestamp"), 0),
        tuple(item for item in turns if isinstance(item, str)) if isinstance(turns, list) else (),
        tail if isinstance(tail, dict) else {},
    )


def _marks_data(marks: Marks) -> dict[str, Any]:
    return {
        "written": marks.written,
        "sequence": marks.sequence,
        "timestamp": marks.timestamp,
        "turns": list(marks.turns),
        "tail": dict(marks.tail),
    }


def _finite(value: object) -> int | None:
    """A finite JSON number, rounded down."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return math.floor(value)


def _whole(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default
