"""The writer's state file, one per workspace, as the agent itself keeps it (formats/mux.md section 14).

It holds the turns since the last run, when that started and completed, and which message triggered it. Read
with the agent's own coercion, written through `files.sidecar`, so that fields nobody here knows survive. In
Reverie's own directory `OwnMarks` keeps, per workspace, what the state file has no field for: the bytes
Reverie wrote last (whoever wrote others since is the agent), the last turns counted (so that no turn counts
twice, in whatever process), and from where to read again after a run that failed.

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
from reverie.values import Struct, field, replace

_RECENT_TURNS = 256


class WriterState(Struct, frozen=True):
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
    return WriterState(
        turns=max(0, turns or 0),
        started_at=_finite(data.get("lastRunStartedAt")),
        completed_at=_finite(data.get("lastRunCompletedAt")),
        message_id=as_text(data.get("lastRunMessageId")).strip() or None,
    )


def as_data(state: WriterState, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return `state` as the file's object, on top of its fields before; a version that stands there stays."""
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


class StateMarks(Struct, frozen=True):
    """What Reverie knows of one workspace. `written`: the hash of the state file as Reverie last wrote or saw
    it, None before it ever did. `turns`: ids of the last turns counted; `sequence` and `timestamp` are those
    of the newest one. `failed`: the message that a run was about which failed, empty where none did;
    `processed`: the last message before it that a run dealt with, None where none did."""

    written: str | None = None
    sequence: int = -1
    timestamp: int = 0
    turns: tuple[str, ...] = ()
    tail: Mapping[str, Any] = field(default_factory=dict)
    failed: str = ""
    processed: str | None = None

    def has_counted(self, message_id: str, sequence: int, timestamp: int | None) -> bool:
        """A history that was cleared counts its rows from the start again, but they are younger."""
        if message_id in self.turns:
            return True
        return sequence <= self.sequence and (timestamp or 0) <= self.timestamp

    def counting(self, message_id: str, sequence: int, timestamp: int | None) -> StateMarks:
        """With this turn as the newest; only the last few ids are kept."""
        turns = (*self.turns, message_id)[-_RECENT_TURNS:]
        return replace(self, sequence=sequence, timestamp=max(self.timestamp, timestamp or 0), turns=turns)

    def having_written(self, sha256: str | None) -> StateMarks:
        """With the state file as Reverie left or saw it."""
        return replace(self, written=sha256)

    def with_tail(self, tail: Mapping[str, Any]) -> StateMarks:
        """With the place up to which the transcript was read."""
        return replace(self, tail=tail)

    def having_run(self, message_id: str, since: str | None, *, succeeded: bool) -> StateMarks:
        """After a run about `message_id` that looked at what was said after `since`."""
        failed, processed = ("", None) if succeeded else (message_id, since)
        return replace(self, failed=failed, processed=processed)

    def since(self, state: WriterState) -> str | None:
        """After which message the next run begins to read; None: it reads all there is."""
        if state.unfinished:
            return None
        return self.processed if self.failed and self.failed == state.message_id else state.message_id


class OwnMarks:
    """The marks of all workspaces of one home, in Reverie's own directory."""

    def __init__(self, sidecar: Sidecar) -> None:
        self._sidecar = sidecar

    def of(self, workspace_id: str) -> StateMarks:
        """What is known of one workspace; fresh marks where nothing is."""
        return _marks(as_object(self._sidecar.read().data.get("workspaces")).get(workspace_id))

    def change(self, workspace_id: str, make: Callable[[StateMarks], StateMarks]) -> StateMarks:
        """Replace the marks of one workspace; those that are kept then. `make` may be called more than
        once."""
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
        "written": marks.written,
        "sequence": marks.sequence,
        "timestamp": marks.timestamp,
        "turns": list(marks.turns),
        "tail": dict(marks.tail),
        "failed": marks.failed,
        "processed": marks.processed,
    }


def _finite(value: object) -> int | None:
    """A finite JSON number, rounded down."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return math.floor(value)


def _whole(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


# Schedule (formats/mux.md section 14), pure. Only a completed turn of the assistant in a root workspace
# counts. A run that started, never completed and is at work in no process has died: one is due at this very
# turn.


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
    """How many turns between two runs, None for a setting that is none, and where it comes from."""

    turns: int | None
    source: Literal["agent", "settings"]
    problem: str = ""


def interval_of(setting: int, wish: object) -> Interval:
    """The agent's own setting (`wish`, as it stands in its file; None: it has none), else Reverie's."""
    if wish is None:
        return _checked(setting, "settings")
    return _checked(wish, "agent")


def _checked(value: object, source: Literal["agent", "settings"]) -> Interval:
    whole = isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
    if whole and isinstance(value, int | float) and LEAST_INTERVAL <= value <= MOST_INTERVAL:
        return Interval(int(value), source)
    problem = f"{str(value)[:40]!r} is no number of turns from {LEAST_INTERVAL} to {MOST_INTERVAL}"
    return Interval(None, source, problem)


class TurnDecision(Struct, frozen=True):
    """What one turn comes to: `gate` None starts a run. `crashed`: a run before had died."""

    state: WriterState
    gate: Gate | None
    crashed: bool = False


def standing_gate(
    *, switched_on: bool, agent_allows: bool, parent_id: str | None, interval: Interval
) -> Gate | None:
    """What keeps the writer from running whatever turns come, in the order of the checks."""
    if not switched_on or not agent_allows:
        return "disabled"
    if parent_id:
        return "child-workspace"
    return "invalid-interval" if interval.turns is None else None


def on_turn(state: WriterState, *, interval: int, in_flight: bool, message_id: str, now: int) -> TurnDecision:
    """A completed assistant turn. `in_flight`: a run of this workspace is at work, in any process."""
    crashed = state.unfinished and not in_flight
    turns = (max(state.turns, interval - 1) if crashed else state.turns) + 1
    if in_flight:
        return TurnDecision(replace(state, turns=turns), "in-flight")
    if turns < interval:
        return TurnDecision(replace(state, turns=turns), "not-due", crashed)
    return TurnDecision(starting(message_id, now), None, crashed)


def starting(message_id: str, now: int) -> WriterState:
    """The state while a run is at work."""
    return WriterState(0, now, None, message_id or None)


def completing(state: WriterState, *, started_at: int, now: int) -> WriterState:
    """The state once that run came to its end; one that somebody else started meanwhile is left alone."""
    if state.started_at != started_at:
        return state
    return replace(state, completed_at=max(now, started_at))


# Target: the agent's one file per project, or a project memory, as the settings say.


PROJECT_MEMORY = "system-1.md"


class WriterTarget(Struct, frozen=True):
    """The file that is written: `rel` below `root`, `path` as people see it."""

    root: ScopeRoot
    rel: str
    path: str
    memory_id: str

    @property
    def file(self) -> Path:
        return self.root.directory / self.rel

    @property
    def is_companion(self) -> bool:
        return self.root.key == COMPANIONS


def target_of(home: Home, context: ScopeContext, place: WriterPlace, setting: str) -> WriterTarget:
    """What `setting` ("project-file", "project-memory") means here. Raises `ScopeUnavailable`."""
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
            cause="No project belongs to this workspace.",
        )
    rel = place.memory_file.relative_to(home.root).as_posix()
    return WriterTarget(ScopeRoot(Scope.PROJECT, COMPANIONS, home.root, None), rel, rel, place.memory_id)
