"""What a turn, or a person's wish, came to: a value for hosts, commands and tests.

Values.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reverie.runs.record import SUCCEEDED, Outcome
from reverie.writer.schedule import Gate


@dataclass(frozen=True, slots=True)
class WriterOutcome:
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
