"""Saying why: every decision of an extraction is an entry in Activity (`extract.<event>`) and a log line.

Threading: any. Failure: an Activity that cannot be written is logged; nothing is raised.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from reverie.memory.write_guard import ReadOnlyStore
from reverie.rollouts.progress import PartEnd
from reverie.rollouts.selection import SKIP_WORDS, Selection, Skipped
from reverie.runs.activity import Activity
from reverie.text.counts import some
from reverie.text.redact import redact
from reverie.transcripts.reading import Reading

_log = logging.getLogger("reverie.rollouts")


class Voice:
    """Speaks for the extraction of one home."""

    def __init__(self, activity: Activity, home_root: str) -> None:
        self._activity = activity
        self._home_root = home_root

    def candidates(self, selection: Selection, engine: str) -> None:
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

    def skipped(self, skipped: Skipped) -> None:
        """A chosen thread that was left out after all."""
        text = f"{skipped.thread.title or skipped.thread.id}: left out, {SKIP_WORDS[skipped.reason]}."
        self._say("skipped", text, details={"threadId": skipped.thread.id, "reason": skipped.reason})

    def read(self, thread_id: str, reading: Reading, *, truncated: bool) -> None:
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
            told = some(len(cwds), "directory")
            self._say("directories", f"{told} to consolidate.", details={"directories": list(cwds)})

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
