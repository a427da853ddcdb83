"""Progress and result of an extraction: values for windows, commands and tests, and its entries in Activity.

Threading: any. Failure: an Activity that cannot be written is logged; nothing is raised.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from reverie.agents.transcripts import ReadStatistics
from reverie.jobs.extraction.state import SKIP_WORDS, SkippedThread, ThreadSelection
from reverie.memory.write_guard import ReadOnlyStore
from reverie.runs.activity import Activity
from reverie.runs.result import SUCCEEDED, Outcome
from reverie.text.redact import redact
from reverie.text.summaries import some

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
    skipped: tuple[SkippedThread, ...] = field(default=())
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


# Every decision of an extraction is an entry in Activity (`extract.<event>`) and a line in the log.


_log = logging.getLogger("reverie.rollouts")


class ExtractionReporter:
    """Speaks for the extraction of one home."""

    def __init__(self, activity: Activity, home_root: str) -> None:
        self._activity = activity
        self._home_root = home_root

    def candidates(self, selection: ThreadSelection, engine: str) -> None:
        """Which threads were chosen, and why the others were not."""
        count, counts = len(selection.chosen), selection.counts()
        left = sum(counts.values())
        words = "; ".join(
            f"{number} because {SKIP_WORDS[reason]}"  # type: ignore[index]
            for reason, number in sorted(counts.items())
        )
        text = f"{some(count, 'thread')} to extract, {left} left out{f' ({words})' if words else ''}."
        details = {"chosen": [thread.id for thread in selection.chosen], "skipped": counts, "engine": engine}
        self._say("candidates", text, details=details)

    def stood_down(self, refusal: ReadOnlyStore) -> None:
        """Nothing is extracted, because the store is read-only."""
        self._say("skipped", str(refusal), details={"reason": refusal.reason})

    def skipped(self, skipped: SkippedThread) -> None:
        """A chosen thread that was left out after all."""
        text = f"{skipped.thread.title or skipped.thread.id}: left out, {SKIP_WORDS[skipped.reason]}."
        self._say("skipped", text, details={"threadId": skipped.thread.id, "reason": skipped.reason})

    def read(self, thread_id: str, reading: ReadStatistics, *, truncated: bool) -> None:
        """What a rollout was like to read, where that is worth telling."""
        if reading.broken or reading.unknown or reading.half_written:
            text = (
                f"{thread_id}: {reading.broken} lines could not be read, {reading.unknown} were of an "
                f"unknown kind{', the last one is half-written' if reading.half_written else ''}."
            )
            counts = {"broken": reading.broken, "unknown": reading.unknown, "lines": reading.lines}
            self._say("parse-errors", text, details={"threadId": thread_id, **counts})
        if truncated:
            text = f"{thread_id}: the rollout was too long for a model; its middle was left out."
            self._say("truncated", text, details={"threadId": thread_id})

    def ended(self, end: PartEnd) -> None:
        """A rollout was persisted or failed, a consolidation came to its end."""
        if end.kind == "rollout":
            event = "persisted" if end.outcome == "completed" else str(end.outcome)
        else:
            event = "consolidation-finished"
        level = "info" if end.succeeded or end.outcome == "cancelled" else "warning"
        text = f"{end.title or end.id}: {end.summary}"
        details = {"id": end.id, "projectPath": end.project_path, "reason": end.reason, "status": end.outcome}
        self._say(event, text, level=level, run_id=end.run_id or None, details=details)

    def directories(self, cwds: tuple[str, ...]) -> None:
        """Which directories get a new handbook; nothing for none."""
        if cwds:
            count = some(len(cwds), "directory")
            self._say("directories", f"{count} to consolidate.", details={"directories": list(cwds)})

    def consolidating(self, cwd: str, traces: int) -> None:
        """Stage two of one directory begins."""
        text = f"Consolidation of {cwd} started, from {some(traces, 'trace')}."
        self._say("consolidation-started", text, details={"projectPath": cwd, "traces": traces})

    def held_elsewhere(self, cwd: str, text: str) -> None:
        """Another process is at work on this directory. `text` says who."""
        self._say("lease-held", f"{cwd}: {text}", details={"projectPath": cwd})

    def _say(
        self,
        event: str,
        text: str,
        *,
        level: str = "info",
        run_id: str | None = None,
        details: Mapping[str, Any],
    ) -> None:
        _log.debug("extract %s: %s", event, redact(text))
        self._activity.add(
            f"extract.{event}",
            level=level,
            text=text,
            home=self._home_root,
            workspace_id=None,
            run_id=run_id,
            details=details,
        )
