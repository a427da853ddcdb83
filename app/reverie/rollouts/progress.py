"""What an extraction tells while it is at work, and what it came to: values for windows, commands, tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from reverie.rollouts.selection import SKIP_WORDS, Skipped
from reverie.runs.record import SUCCEEDED, Outcome

Stage = Literal[
    "waiting", "reading", "thinking", "writing", "persisted", "consolidated", "failed", "skipped", "cancelled"
]


@dataclass(frozen=True, slots=True)
class ExtractProgress:
    """One rollout (`kind`; `id` is the thread) or one directory (`id` is its bucket) came to a stage. `text`
    is a sentence where there is something to say; `done` of `total` of its kind have come to their end."""

    kind: Literal["rollout", "directory"]
    id: str
    title: str
    project_path: str
    stage: Stage
    text: str = ""
    done: int = 0
    total: int = 0

    @property
    def ended(self) -> bool:
        return self.stage in ("persisted", "consolidated", "failed", "skipped", "cancelled")


Tell = Callable[[ExtractProgress], None]


@dataclass(frozen=True, slots=True)
class PartEnd:
    """How one rollout, or the consolidation of one directory, ended."""

    kind: Literal["rollout", "directory"]
    id: str
    title: str
    project_path: str
    outcome: Outcome
    summary: str
    reason: str = ""
    next_step: str = ""
    run_id: str = ""
    bucket: str = ""
    usage: Mapping[str, int] | None = None
    cost_usd: float | None = None

    @property
    def succeeded(self) -> bool:
        return self.outcome in SUCCEEDED

    def as_json(self) -> dict[str, Any]:
        """One part of what `reverie extract --json` prints."""
        name = "threadId" if self.kind == "rollout" else "bucket"
        return {
            name: self.id,
            "title": self.title,
            "projectPath": self.project_path,
            "outcome": self.outcome,
            "reason": self.reason,
            "summary": self.summary,
            "runId": self.run_id,
            "usage": None if self.usage is None else dict(self.usage),
            "costUsd": self.cost_usd,
        }


@dataclass(frozen=True, slots=True)
class ExtractResult:
    """How an extraction ended, part by part."""

    outcome: Outcome
    summary: str
    engine: str
    candidates: int = 0
    rollouts: tuple[PartEnd, ...] = ()
    directories: tuple[PartEnd, ...] = ()
    skipped: tuple[Skipped, ...] = field(default=())
    reason: str = ""
    next_step: str = ""

    @property
    def succeeded(self) -> bool:
        return self.outcome in SUCCEEDED

    def as_json(self) -> dict[str, Any]:
        """What `reverie extract --json` says."""
        return {
            "outcome": self.outcome,
            "reason": self.reason,
            "summary": self.summary,
            "engine": self.engine,
            "candidates": self.candidates,
            "rollouts": [part.as_json() for part in self.rollouts],
            "directories": [part.as_json() for part in self.directories],
            "skipped": [
                {"threadId": each.thread.id, "reason": each.reason, "sentence": SKIP_WORDS[each.reason]}
                for each in self.skipped
            ],
        }
