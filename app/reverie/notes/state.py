"""What Reverie keeps of each session's notes, in its own directory: counters, what it wrote last, when.

The agent keeps none of this on disk, so it lies beside Reverie's other sidecars of the home and survives a
restart. Reading is tolerant, item by item. Threading: any thread and process. Failure: `MendableError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reverie.files.sidecar import Sidecar
from reverie.notes.thresholds import Counters

_SESSIONS = 2_000


@dataclass(frozen=True, slots=True)
class NotesState:
    """One session. `written`: the hash of the notes as Reverie last wrote or saw them, None before;
    `seen_uuid`: the last message that an update has seen; `run_id`, `updated_at` (UTC ms): of that update."""

    counters: Counters = field(default_factory=Counters)
    written: str | None = None
    seen_uuid: str = ""
    run_id: str = ""
    updated_at: int | None = None


class NotesBook:
    """The states of all sessions of one home; those changed last are kept."""

    def __init__(self, sidecar: Sidecar) -> None:
        self._sidecar = sidecar

    def of(self, session_id: str) -> NotesState:
        """What is known of one session; a fresh state where nothing is."""
        return _state(_table(self._sidecar.read().data).get(session_id))

    def change(self, session_id: str, make: Callable[[NotesState], NotesState]) -> NotesState:
        """Replace one state; `make` may be called more than once."""
        made: list[NotesState] = []

        def change(data: dict[str, Any]) -> dict[str, Any]:
            table = dict(_table(data))
            made.append(make(_state(table.pop(session_id, None))))
            kept = dict(list(table.items())[-(_SESSIONS - 1) :])
            return {**data, "version": 1, "sessions": {**kept, session_id: _data(made[-1])}}

        self._sidecar.update(change)
        return made[-1]


def _table(data: Mapping[str, Any]) -> Mapping[str, Any]:
    table = data.get("sessions")
    return table if isinstance(table, dict) else {}


def _state(data: object) -> NotesState:
    if not isinstance(data, dict):
        return NotesState()
    tokens, at = data.get("tokens"), data.get("updatedAt")
    counters = Counters(
        begun=data.get("begun") is True,
        tokens=_count(tokens) or 0,
        counting_from=_text(data.get("countingFrom")) or None,
        summarised=_text(data.get("lastSummarised")) or None,
    )
    return NotesState(
        counters,
        _text(data.get("written")) or None,
        _text(data.get("seen")),
        _text(data.get("runId")),
        _count(at),
    )


def _data(state: NotesState) -> dict[str, Any]:
    return {
        "begun": state.counters.begun,
        "tokens": state.counters.tokens,
        "countingFrom": state.counters.counting_from,
        "lastSummarised": state.counters.summarised,
        "written": state.written,
        "seen": state.seen_uuid,
        "runId": state.run_id,
        "updatedAt": state.updated_at,
    }


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
