"""When the writer runs: the rules of the state file as pure functions (formats/mux.md section 14).

Only a completed assistant turn of a root workspace counts. A run that started and never completed, and that
is at work in no process, died: then a run is due at this very turn. Starting sets the turns to zero, so that
the turns that come while the run is at work count towards the next one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from reverie.writer.state import WriterState

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


@dataclass(frozen=True, slots=True)
class Interval:
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
    told = f"{str(value)[:40]!r} is no number of turns from {LEAST_INTERVAL} to {MOST_INTERVAL}"
    return Interval(None, source, told)


@dataclass(frozen=True, slots=True)
class Decision:
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


def on_turn(state: WriterState, *, interval: int, in_flight: bool, message_id: str, now: int) -> Decision:
    """A completed assistant turn. `in_flight`: a run of this workspace is at work, in any process."""
    crashed = state.unfinished and not in_flight
    turns = (max(state.turns, interval - 1) if crashed else state.turns) + 1
    if in_flight:
        return Decision(replace(state, turns=turns), "in-flight")
    if turns < interval:
        return Decision(replace(state, turns=turns), "not-due", crashed)
    return Decision(starting(message_id, now), None, crashed)


def starting(message_id: str, now: int) -> WriterState:
    """The state while a run is at work."""
    return WriterState(0, now, None, message_id or None)


def completing(state: WriterState, *, started_at: int, now: int) -> WriterState:
    """The state once that run came to its end; one that somebody else started meanwhile is left alone."""
    if state.started_at != started_at:
        return state
    return replace(state, completed_at=max(now, started_at))
