"""What a run tells those who wait for it: its progress, and how it ended.

Light to import, for the window's start: nothing here depends on files or stores. Frozen values, safe to hand
between threads and processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Op = Mapping[str, Any]
"""One command of a run as its record has it: `command`, `path`, `applied`, maybe a `note`."""

Outcome = Literal[
    "running", "completed", "unchanged", "failed", "cancelled", "interrupted", "held", "skipped"
]
SUCCEEDED: tuple[Outcome, ...] = ("completed", "unchanged")
"""The outcomes that need nobody's attention."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A step of a running job."""

    step: str
    done: int = 0
    total: int = 0
    op: Op | None = None
    """The command that was just carried out."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended, whatever its job: what services, commands and the window get of it."""

    run_id: str
    outcome: Outcome
    summary: str
    reason: str = ""
    ops: tuple[Op, ...] = ()
    record: Mapping[str, Any] = field(default_factory=dict)
    """The coverage (or harvest) record as saved, or as it would be; empty for jobs that have none."""
    next_step: str = ""
    usage: Mapping[str, int] | None = None
    cost_usd: float | None = None
    conflicts: tuple[str, ...] = ()
    """Memory paths that were left as they are, because somebody changed them."""
    reverts: str | None = None
    """The run that this one took back, or a part of it."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """The job's own facts (a harvest's boundary and inbox, the run that a revert is of)."""

    @property
    def succeeded(self) -> bool:
        return self.outcome in SUCCEEDED

    @property
    def applied(self) -> tuple[str, ...]:
        """The paths that were written."""
        return tuple(op["path"] for op in self.ops if op["applied"])
