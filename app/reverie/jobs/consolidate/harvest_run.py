"""One harvest under its lease: chunks through the extractor, checks, the inbox in one transaction, the end.

The inbox is written only after every chunk came through, and the harvest record becomes `completed` after the
transaction's own commit point: a harvest done twice harms nobody and one lost does. Anything that goes wrong
before leaves the inbox as it was and the record `failed`.

Threading: one harvest, one event loop; blocking, so never on the GUI thread. Failure: see `HarvestRun.go`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reverie.agents.scopes import Scope, ScopeContext
from reverie.agents.transcripts import Boundary, Transcript
from reverie.errors import StoreError, UserError
from reverie.files.rooted import RootedDirectory
from reverie.jobs.consolidate.coverage import HarvestLog, completed, failed, pending
from reverie.jobs.consolidate.extractors import (
    Checked,
    Extractor,
    InboxCandidate,
    chunks,
    fitting,
    inbox_rel,
    inbox_text,
)
from reverie.jobs.consolidate.overlay import DreamOverlay
from reverie.jobs.consolidate.progress import DreamProgress
from reverie.jobs.consolidate.run import DreamDependencies
from reverie.llm.client import spent
from reverie.memory.paths import memory_path, rel_problem
from reverie.runs.journal import PlannedChange
from reverie.runs.limits import STOPS, RunLimits, Stop, stop_of
from reverie.runs.record import SUCCEEDED, Outcome, RunRecord, not_applied
from reverie.runs.transaction import LeaseLost, Recovered, Transaction
from reverie.text.summaries import some


@dataclass(frozen=True, slots=True)
class HarvestResult:
    """How a harvest ended. `record`: the harvest record as saved; empty for one that was refused."""

    run_id: str
    outcome: Outcome
    summary: str
    reason: str = ""
    next_step: str = ""
    boundary_key: str = ""
    inbox: str | None = None
    ops: tuple[Mapping[str, Any], ...] = ()
    record: Mapping[str, Any] | None = None

    @property
    def succeeded(self) -> bool:
        return self.outcome in SUCCEEDED

    @property
    def dream_follows(self) -> bool:
        """Whether a consolidation goes on from here, as the agent's own does: also after a harvest that
        failed, was done already, or has no attempts left."""
        done = self.outcome == "skipped" and self.reason in ("harvested", "attempts-used-up")
        return self.succeeded or self.outcome == "failed" or done

    def as_json(self) -> dict[str, Any]:
        """What `reverie harvest --json` says of it."""
        return {
            "runId": self.run_id,
            "outcome": self.outcome,
            "reason": self.reason,
            "summary": self.summary,
            "boundaryKey": self.boundary_key,
            "inbox": self.inbox,
            "ops": [dict(op) for op in self.ops],
            "record": None if self.record is None else dict(self.record),
        }


@dataclass(frozen=True, slots=True)
class HarvestSource:
    """What is harvested: one compaction of one transcript, and the record of the attempt before."""

    context: ScopeContext
    workspace_id: str
    transcript: Transcript
    boundary: Boundary
    previous: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class _End:
    outcome: Outcome
    summary: str
    record: Mapping[str, Any]
    reason: str = ""
    next_step: str = ""
    ops: tuple[Mapping[str, Any], ...] = ()
    changed: tuple[Path, ...] = ()
    undone: Recovered | None = None


class HarvestRun:
    """One harvest under its lease."""

    def __init__(
        self,
        parts: DreamDependencies,
        log: HarvestLog,
        source: HarvestSource,
        extractor: Extractor,
        limits: RunLimits,
        progress: Callable[[DreamProgress], None],
    ) -> None:
        self._parts = parts
        self._log = log
        self._source = source
        self._extractor = extractor
        self._limits = limits
        self._progress = progress
        self._transaction: Transaction | None = None
        self._ops: tuple[Mapping[str, Any], ...] = ()
        self._path = str(memory_path(Scope.WORKSPACE, inbox_rel(source.boundary)))
        started = parts.clock()
        self._pending = pending(source.workspace_id, source.boundary, source.previous, now=started)
        self._record = RunRecord(
            id=parts.runs.new_id(started),
            kind="harvest",
            home_id=parts.home_id,
            home_root=str(parts.home.root),
            workspace_id=source.workspace_id,
            project_path=source.context.project_path,
            trigger="compaction",
            engine=extractor.name,
            started_at=started,
            details={"boundaryKey": source.boundary.summary_message_id},
        )

    async def go(self) -> HarvestResult:
        """Exactly one outcome, whatever happens."""
        try:
            self._record = self._parts.runs.begin(self._record)
            self._save(self._pending, after=self._source.previous)
            self._say("started", f"Harvest of compaction {self._source.boundary.epoch} started.")
            end = self._written(await self._extracted())
        except LeaseLost as error:
            # Whoever has the lease now recovers the run; the harvest record grows stale and is tried again.
            return self._result(_End("interrupted", str(error), self._pending, error.reason, error.next_step))
        except STOPS as error:
            end = self._stopped(stop_of(error, self._parts.time_limit_s))
        except BaseException as error:
            self._finish(self._stopped(stop_of(error, self._parts.time_limit_s)))
            raise
        return self._finish(end)

    async def _extracted(self) -> Checked:
        boundary, checked = self._source.boundary, Checked()
        # The row of the boundary itself is the agent's summary, not what was said.
        turns = self._source.transcript.turns(boundary.previous_sequence, boundary.sequence - 1)
        for number, chunk in enumerate(chunks(turns), start=1):
            self._limits.check()
            self._progress(DreamProgress(f"reading part {number} of the transcript", number))
            checked.add(await self._extractor.extract(chunk, limits=self._limits.limits), chunk)
        self._limits.check()
        return checked

    def _written(self, checked: Checked) -> _End:
        """Write the inbox, or take an old one away where nothing was found."""
        kept = fitting(self._source.boundary, checked.accepted, file_bytes=self._parts.home.caps.file_bytes)
        skipped = len(checked.skipped) + len(checked.accepted) - len(kept)
        change = self._planned(kept)
        paths: tuple[Path, ...] = ()
        if change is not None:
            paths = self._applied(change)
        usage, _cost = spent(self._extractor.account())
        counted = None if usage is None else {name: usage[name] for name in ("inputTokens", "outputTokens")}
        record = completed(
            self._pending, now=self._parts.clock(), accepted=len(kept), skipped=skipped, usage=counted
        )
        summary = f"{some(len(kept), 'candidate')} found in compaction {self._source.boundary.epoch}"
        summary += f", {skipped} left out." if skipped else "."
        outcome: Outcome = "completed" if paths else "unchanged"
        return _End(outcome, summary, record, ops=self._ops, changed=paths)

    def _planned(self, candidates: list[InboxCandidate]) -> PlannedChange | None:
        boundary = self._source.boundary
        root = self._parts.home.scope_root(self._source.context, Scope.WORKSPACE)
        rel = inbox_rel(boundary)
        problem = rel_problem(rel)
        if problem:
            raise StoreError(f"The inbox cannot be named {rel}.", cause=problem)
        files = RootedDirectory(root.directory)
        entry = files.entry(rel)
        before = None if entry is None else files.read(rel)
        after = inbox_text(boundary, candidates).encode() if candidates else None
        if before == after:
            return None
        command = "delete" if after is None else "create" if before is None else "str_replace"
        self._ops = ({"command": command, "path": self._path, "applied": True},)
        return PlannedChange(root, rel, before, after)

    def _applied(self, change: PlannedChange) -> tuple[Path, ...]:
        overlay = DreamOverlay(self._parts.home, self._source.context, self._parts.usage)
        if change.after is None and overlay.is_protected(memory_path(Scope.WORKSPACE, change.rel)):
            self._ops = not_applied(self._ops, "pinned memories are never deleted by a run")
            return ()
        usage_before, usage_after = overlay.usage_delta(self._ops, now=self._record.started_at)
        transaction = self._parts.transaction_for(self._record.id, "harvest")
        journal = transaction.prepare([change], usage_before=usage_before, usage_after=usage_after)
        self._transaction = transaction
        # For recovery, which otherwise knows files and no commands.
        self._record = replace(self._record, ops=self._ops)
        ops = self._ops
        self._parts.runs.change(
            self._record.id, lambda kept: kept if kept.settled else replace(kept, ops=ops)
        )
        self._progress(DreamProgress("applying"))
        transaction.apply(journal, commit=lambda: None, check=self._limits.check)
        return tuple(transaction.paths(journal))

    def _stopped(self, stop: Stop) -> _End:
        outcome, why, reason, next_step = stop
        undone = None if self._transaction is None else self._transaction.undone
        left = undone is not None and bool(undone.left or undone.pending)
        summary = f"{why}; the inbox could not be put back." if left else f"{why}; nothing was changed."
        record = failed(self._pending, now=self._parts.clock(), error=why)
        ops = not_applied(self._ops, "the harvest did not complete")
        if undone is not None and undone.pending:
            outcome = "interrupted"
        return _End(outcome, summary, record, reason, next_step, ops, undone=undone)

    def _finish(self, end: _End) -> HarvestResult:
        """Say so everywhere. What cannot be said is told; the harvest itself is done by now."""
        troubles = [
            str(error)
            for error in (
                _tried(lambda: self._save(end.record, after=self._pending)),
                _tried(lambda: self._close(end)),
                _tried(lambda: self._history(end)),
            )
            if error is not None
        ]
        if self._record.settled and self._record.outcome != end.outcome:
            # Recovered while this process was suspended: what that says of it is true.
            found = self._record
            end = replace(
                end, outcome=found.outcome, summary=found.summary, reason=found.reason, ops=found.ops
            )
        return self._result(replace(end, summary=" ".join((end.summary, *troubles))))

    def _save(self, record: Mapping[str, Any], *, after: Mapping[str, Any] | None) -> None:
        """Save the harvest record. Raises `LeaseLost` where that of another harvest stands there by now."""
        if not self._log.save(self._source.workspace_id, record, after=after):
            raise LeaseLost(
                "Another harvest of this compaction came first, while this process was held up.",
                next_step="Nothing is left to do.",
            )

    def _close(self, end: _End) -> None:
        account = self._extractor.account()
        usage, cost = spent(account)
        details = dict(self._record.details)
        if usage is not None:
            details["costUsd"] = cost
        if end.undone is not None and end.undone.pending:
            details["pending"] = list(end.undone.pending)
        self._record = self._parts.runs.finish(
            self._record,
            outcome=end.outcome,
            ended_at=self._parts.clock(),
            summary=end.summary,
            reason=end.reason,
            ops=end.ops,
            usage=usage,
            conflicts=() if end.undone is None else end.undone.left,
            details=details,
        )
        if self._record.outcome == end.outcome:
            level = "info" if end.outcome in SUCCEEDED else "warning"
            self._say(end.outcome, end.summary, level=level)
        if account.trace is not None:
            ours = {**account.trace.get("reverie", {}), "runId": self._record.id, "runOutcome": end.outcome}
            document = {**account.trace, "workspaceId": self._source.workspace_id, "reverie": ours}
            self._parts.save_trace(self._record.id, document)

    def _history(self, end: _End) -> None:
        if end.changed:
            self._parts.snapshots.record(
                actor="harvest",
                source=f"compaction, {self._extractor.name}",
                subject=end.summary,
                run_id=self._record.id,
                dirty=end.changed,
            )

    def _result(self, end: _End) -> HarvestResult:
        there = any(op["applied"] and op["command"] != "delete" for op in end.ops)
        same = end.outcome == "unchanged" and bool(end.record["acceptedCandidates"])
        return HarvestResult(
            self._record.id,
            end.outcome,
            end.summary,
            end.reason,
            end.next_step,
            self._source.boundary.summary_message_id,
            self._path if there or same else None,
            end.ops,
            end.record,
        )

    def _say(self, event: str, text: str, *, level: str = "info") -> None:
        self._parts.activity.add(
            f"harvest.{event}",
            level=level,
            text=text,
            home=self._record.home_root,
            workspace_id=self._record.workspace_id,
            run_id=self._record.id,
            details={"engine": self._record.engine, "boundaryKey": self._source.boundary.summary_message_id},
        )


def _tried(act: Callable[[], object]) -> UserError | None:
    try:
        act()
    except UserError as error:
        return error
    return None
