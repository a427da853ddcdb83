"""The writer's state file, one per workspace, in the agent's own format (formats/mux.md section 14).

It holds the turns since the last run, the times when that run started and completed, and the message that
triggered it. Invalid values are replaced as the agent does. The file is written through `files.sidecar`,
which preserves unknown fields. `OwnMarks`, in Reverie's own directory, stores per workspace what the state
file has no field for: the hash of the bytes that Reverie wrote last (different bytes were written by the
agent), the turns that were counted last (so that no process counts a turn twice), and the position from which
to read again after a failed run.

Threading: blocking; any thread but the GUI's. Failure: `UserError`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from reverie.agents.base import Home
from reverie.agents.capabilities import WriterPlace
from reverie.agents.reading import as_object, as_text, texts_of
from reverie.agents.scopes import COMPANIONS, Scope, ScopeContext, ScopeRoot, ScopeUnavailable
from reverie.files.sidecar import Sidecar, stringify
from reverie.memory.paths import memory_path
from reverie.memory.scope_files import sha256_of_bytes
from reverie.values import Struct, columns, field, replace

_RECENT_TURNS = 256


class WriterState(Struct, frozen=True):
    """Counters of one workspace; times are UTC ms."""

    turns: int = 0
    started_at: int | None = None
    completed_at: int | None = None
    message_id: str | None = None

    @property
    def unfinished(self) -> bool:
        """Whether a run started and did not complete: it is still active, or was killed."""
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
    """Return the file's object with `state` written into its previous fields; the version number stays."""
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
    """The state as read from the file."""

    state: WriterState
    sha256: str | None
    """The hash of the file's bytes; None if there is no file."""
    problem: str = ""
    """The reason why an existing file cannot be read; empty if it can."""


class StateFile:
    """The state file of one workspace."""

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
    """Reverie's own data about one workspace."""

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
    """The message that triggered the last run, if that run failed; else empty."""
    processed: str | None = None
    """The last message that a run before the failed one processed; None if there is none."""

    def has_counted(self, message_id: str, sequence: int, timestamp: int | None) -> bool:
        """Return whether this turn was counted: its id is known, or it is not newer than the newest one.

        After the history is cleared, sequence numbers start again, but the timestamps are later.
        """
        if message_id in self.turns:
            return True
        return sequence <= self.sequence and (timestamp or 0) <= self.timestamp

    def counting(self, message_id: str, sequence: int, timestamp: int | None) -> StateMarks:
        """Return marks with this turn as the newest; only the last 256 ids are stored."""
        turns = (*self.turns, message_id)[-_RECENT_TURNS:]
        return replace(self, sequence=sequence, timestamp=max(self.timestamp, timestamp or 0), turns=turns)

    def having_written(self, sha256: str | None) -> StateMarks:
        """Return marks with `sha256` as the state file's hash."""
        return replace(self, written=sha256)

    def with_tail(self, tail: Mapping[str, Any]) -> StateMarks:
        """Return marks with `tail` as the position in the transcript."""
        return replace(self, tail=tail)

    def having_run(self, message_id: str, since: str | None, *, succeeded: bool) -> StateMarks:
        """Return the marks after a run, which `message_id` triggered.

        The run has read the messages after `since`.
        """
        failed, processed = ("", None) if succeeded else (message_id, since)
        return replace(self, failed=failed, processed=processed)

    def since(self, state: WriterState) -> str | None:
        """Return the message after which the next run starts to read; None to read all messages."""
        if state.unfinished:
            return None
        return self.processed if self.failed and self.failed == state.message_id else state.message_id


class OwnMarks:
    """The marks of all workspaces of one home, in Reverie's own directory."""

    def __init__(self, sidecar: Sidecar) -> None:
        self._sidecar = sidecar

    def of(self, workspace_id: str) -> StateMarks:
        """Return the marks of one workspace, or empty marks."""
        return _marks(as_object(self._sidecar.read().data.get("workspaces")).get(workspace_id))

    def change(self, workspace_id: str, make: Callable[[StateMarks], StateMarks]) -> StateMarks:
        """Replace the marks of one workspace; return the new ones. `make` may be called more than once."""
        made: list[StateMarks] = []

        def change(data: dict[str, Any]) -> dict[str, Any]:
            table = as_object(data.get("workspaces"))
            made.append(make(_marks(table.get(workspace_id))))
            return {**data, "workspaces": {**table, workspace_id: _marks_data(made[-1])}}

        self._sidecar.update(change)
        return made[-1]


def _marks(kept: object) -> StateMarks:
    data = as_object(kept)
    written = data.get("written")
    return StateMarks(
        written if isinstance(written, str) else None,
        _whole(data.get("sequence"), -1),
        _whole(data.get("timestamp"), 0),
        texts_of(data.get("turns")),
        as_object(data.get("tail")),
        as_text(data.get("failed")),
        as_text(data.get("processed")) or None,
    )


def _marks_data(marks: StateMarks) -> dict[str, Any]:
    return {
        **columns(marks, "written sequence timestamp"),
        "turns": list(marks.turns),
        "tail": dict(marks.tail),
        "failed": marks.failed,
        "processed": marks.processed,
    }


def _finite(value: object) -> int | None:
    """Return a finite JSON number rounded down, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return math.floor(value)


def _whole(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


LEAST_INTERVAL, MOST_INTERVAL, DEFAULT_INTERVAL = 1, 50, 2

Gate = Literal[
    "disabled",
    "unknown-workspace",
    "child-workspace",
    "invalid-interval",
    "not-completed",
    "counted",
    "stood-down",
    "in-flight",
    "not-due",
    "no-target",
    "unknown-layout",
    "not-in-use",
    "model-unavailable",
    "error",
]


class Interval(Struct, frozen=True):
    """The number of turns between two runs, and where it is configured."""

    turns: int | None
    """The number of turns; None if the configured value is invalid."""
    source: Literal["agent", "settings"]
    problem: str = ""
    """The reason why the value is invalid; empty if it is valid."""


def interval_of(setting: int, wish: object) -> Interval:
    """Return the interval of the agent's own setting, or of Reverie's if the agent has none.

    `wish` is the agent's value as read from its file, None if it has none.
    """
    if wish is None:
        return _checked(setting, "settings")
    return _checked(wish, "agent")


def _checked(value: object, source: Literal["agent", "settings"]) -> Interval:
    whole = isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
    if whole and isinstance(value, int | float) and LEAST_INTERVAL <= value <= MOST_INTERVAL:
        return Interval(int(value), source)
    problem = f"{str(value)[:40]!r} is not a number of turns from {LEAST_INTERVAL} to {MOST_INTERVAL}"
    return Interval(None, source, problem)


class TurnDecision(Struct, frozen=True):
    """Result of counting one turn."""

    state: WriterState
    gate: Gate | None
    """The reason why no run starts; None if one starts."""
    crashed: bool = False
    """Whether a previous run was killed."""


def standing_gate(
    *, switched_on: bool, agent_allows: bool, parent_id: str | None, interval: Interval
) -> Gate | None:
    """Return the first reason that prevents runs on every turn; None if there is none."""
    if not switched_on or not agent_allows:
        return "disabled"
    if parent_id:
        return "child-workspace"
    return "invalid-interval" if interval.turns is None else None


def on_turn(state: WriterState, *, interval: int, in_flight: bool, message_id: str, now: int) -> TurnDecision:
    """Count one completed assistant turn in a root workspace, and decide whether a run starts.

    `in_flight` means that a run of this workspace is active in any process. If a run started, never completed
    and is not in flight, it was killed; a run is then due at this turn (formats/mux.md section 14).
    """
    crashed = state.unfinished and not in_flight
    turns = (max(state.turns, interval - 1) if crashed else state.turns) + 1
    if in_flight:
        return TurnDecision(replace(state, turns=turns), "in-flight")
    if turns < interval:
        return TurnDecision(replace(state, turns=turns), "not-due", crashed)
    return TurnDecision(starting(message_id, now), None, crashed)


def starting(message_id: str, now: int) -> WriterState:
    """Return the state for a run that starts now."""
    return WriterState(0, now, None, message_id or None)


def completing(state: WriterState, *, started_at: int, now: int) -> WriterState:
    """Return the state after the run that started at `started_at` has ended.

    Unchanged if another run has started meanwhile.
    """
    if state.started_at != started_at:
        return state
    return replace(state, completed_at=max(now, started_at))


PROJECT_MEMORY = "system-1.md"


class WriterTarget(Struct, frozen=True):
    """The file that the writer changes.

    `rel` is its path below `root`, `path` its path as people see it.
    """

    root: ScopeRoot
    rel: str
    path: str
    memory_id: str

    @property
    def file(self) -> Path:
        """The absolute path of the file."""
        return self.root.directory / self.rel

    @property
    def is_companion(self) -> bool:
        """Whether the file is the agent's own file per project, not a memory."""
        return self.root.key == COMPANIONS


def target_of(home: Home, context: ScopeContext, place: WriterPlace, setting: str) -> WriterTarget:
    """Return the file that `setting` selects: "project-file" (the agent's own) or "project-memory".

    Raises `ScopeUnavailable`.
    """
    root = home.scope_root(context, Scope.PROJECT)
    if setting == "project-memory":
        return WriterTarget(
            root, PROJECT_MEMORY, str(memory_path(Scope.PROJECT, PROJECT_MEMORY)), place.memory_id
        )
    if place.memory_file is None:
        raise ScopeUnavailable(
            Scope.PROJECT,
            None,
            "There is no memory file here.",
            cause="This workspace belongs to no project.",
        )
    rel = place.memory_file.relative_to(home.root).as_posix()
    return WriterTarget(ScopeRoot(Scope.PROJECT, COMPANIONS, home.root, None), rel, rel, place.memory_id)
