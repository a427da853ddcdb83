"""What a look at a session, or a person's wish, came to: values for hosts, commands and the window."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from reverie.notes.sections import NotesProblem
from reverie.notes.thresholds import Measured, Thresholds
from reverie.runs.record import SUCCEEDED, Outcome

Gate = Literal[
    "disabled",
    "unknown-session",
    "no-messages",
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
"""Why no run came of it, in the order of the checks."""


@dataclass(frozen=True, slots=True)
class NotesOutcome:
    """`gate` None: a run came of it, and `outcome` says how it ended. `text` is a sentence for people;
    `path` the notes, where they are there."""

    gate: Gate | None
    text: str
    session_id: str
    outcome: Outcome | None = None
    run_id: str = ""
    model: str = ""
    reason: str = ""
    next_step: str = ""
    path: Path | None = None

    @property
    def ran(self) -> bool:
        return self.gate is None

    @property
    def succeeded(self) -> bool:
        return self.outcome in SUCCEEDED or self.gate == "nothing-new"

    def as_json(self) -> dict[str, Any]:
        """What `reverie notes --json` says (design.md section 5)."""
        if not self.succeeded:
            refused = self.gate in ("unknown-layout", "not-in-use")
            return {"success": False, "error": self.text, **({"reason": self.reason} if refused else {})}
        return {"success": True, **({} if self.path is None else {"memoryPath": str(self.path)})}


@dataclass(frozen=True, slots=True)
class NotesStanding:
    """The notes of one session as they stand. `path` None: this agent keeps none for it. `exists`: there is a
    file, `is_template` nothing was noted in it yet; `tokens` of `limit_tokens`; `problems` for a person to
    mend. `enabled`: kept by thresholds; `gate` and `sentence`: what stands between now and the next update,
    None and empty where one is due. `updated_at` (UTC ms) and `run_id`: of the last update by Reverie."""

    session_id: str
    path: Path | None = None
    exists: bool = False
    is_template: bool = False
    tokens: int = 0
    limit_tokens: int = 0
    problems: tuple[NotesProblem, ...] = ()
    enabled: bool = False
    running: bool = False
    gate: Gate | None = None
    sentence: str = ""
    measured: Measured | None = None
    thresholds: Thresholds = field(default_factory=Thresholds)
    noted_tokens: int = 0
    updated_at: int | None = None
    run_id: str = ""


def gate_words(gate: Gate, thresholds: Thresholds) -> str:
    """Why there is no update now, without numbers that change from answer to answer."""
    return {
        "disabled": "Session notes are off. Switch them on in the settings.",
        "no-messages": "Nothing was said in this session yet.",
        "idle": "Nobody has said anything in this session for more than an hour.",
        "too-small": f"Notes begin once the session holds {thresholds.start_tokens:,} tokens.",
        "not-grown": f"Not due: the session has not grown by {thresholds.growth_tokens:,} tokens yet.",
        "at-work": (
            f"Not due: the model is at work. After {thresholds.tool_calls} tool calls, or once it answered."
        ),
    }.get(gate, gate)
