"""Revert: a run's changes undone by three-way merge, whatever happened since.

Per file: what the run left is the base, what stands there now is ours, what stood there before the run is
theirs. Where nobody touched the file since, the bytes of before come back; where somebody did and the changes
do not overlap, both survive; else the file stays as it is and is reported as a conflict, with the earlier
version kept in the run. Pins and usage go back the same way, field by field, so a revert never looks like a
fresh write to a sweep. Coverage is kept: the dream did happen. A revert is a run of its own, and can be
reverted.

Threading: any thread but the GUI's; under the home's dream lease. Failure: `MendableError`, nothing changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from reverie.clock import Clock
from reverie.errors import Conflict, MendableError, StoreError
from reverie.files.lease import LeaseHeld, Leases
from reverie.homes.base import Home
from reverie.memory.snapshots import Snapshots
from reverie.runs.activity import Activity
from reverie.runs.record import RunRecord, RunStore, new_run_id, owner
from reverie.runs.recovery import Recovery
from reverie.runs.transaction import FileIntent, PlannedChange, Transaction


@dataclass(frozen=True, slots=True)
class RevertResult:
    """What a revert did. `conflicts` are memory paths left as they are; the versions before lie in the
    run."""

    run_id: str
    reverted: str
    summary: str
    restored: tuple[str, ...]
    conflicts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RevertDependencies:
    home: Home
    home_id: str
    lease_name: str
    leases: Leases
    runs: RunStore
    snapshots: Snapshots
    activity: Activity
    recovery: Recovery
    transaction_for: Callable[[str, str], Transaction]
    clock: Clock


def merged(transaction: Transaction, intent: FileIntent, snapshots: Snapshots) -> PlannedChange | None:
    """What the file should become, None if it stays. Raises `Conflict` where both sides changed the same
    lines."""
    before, after = transaction.images.get(intent.before), transaction.images.get(intent.after)
    current = transaction.current(intent)
    if current == before:
        return None
    if current == after:
        return PlannedChange(transaction.root_of(intent), intent.rel, current, before, intent.mode)
    if current is None or before is None or after is None:
        raise Conflict(f"{intent.path} changed since the run.")
    merge = snapshots.history.merge(after, current, before)
    if merge.conflict:
        raise Conflict(f"{intent.path} changed since the run, on the same lines.")
    if merge.content == current:
        return None
    return PlannedChange(transaction.root_of(intent), intent.rel, current, merge.content)


class Reverter:
    """Reverts runs of one home."""

    def __init__(self, parts: RevertDependencies) -> None:
        self._parts = parts

    def revert(self, run_id: str) -> RevertResult:
        """Undo one run. Raises `StoreError` for a run that changed nothing or is reverted already."""
        parts = self._parts
        original = parts.runs.load(run_id)
        try:
            lease = parts.leases.acquire(parts.lease_name, purpose=f"revert of {run_id}")
        except LeaseHeld as held:
            raise held from None
        with lease:
            parts.recovery.run()
            original = self._revertible(parts.runs.load(original.id))
            parts.snapshots.observe(source="before a revert")
            return self._revert(original)

    def _revertible(self, original: RunRecord) -> RunRecord:
        if original.reverted:
            raise StoreError(
                f"Run {original.id} is reverted already.",
                next_step=f"To redo it, revert run {original.reverted_by}.",
                reason="reverted",
            )
        if original.dry_run or original.outcome not in ("completed", "interrupted"):
            raise StoreError(
                f"Run {original.id} changed nothing: it ended as {original.outcome}.",
                next_step="There is nothing to undo.",
                reason="nothing-to-revert",
            )
        return original

    def _revert(self, original: RunRecord) -> RevertResult:
        parts = self._parts
        started = parts.clock()
        record = parts.runs.begin(
            RunRecord(
                id=new_run_id(started),
                kind="revert",
                home_id=parts.home_id,
                home_root=str(parts.home.root),
                workspace_id=original.workspace_id,
                project_path=original.project_path,
                trigger="manual",
                engine="revert",
                started_at=started,
                owner=owner(),
                reverts=original.id,
            )
        )
        try:
            return self._carry_out(original, record)
        except MendableError as error:
            parts.runs.finish(
                record, outcome="failed", ended_at=parts.clock(), summary=str(error), reason=error.reason
            )
            raise

    def _carry_out(self, original: RunRecord, record: RunRecord) -> RevertResult:
        parts = self._parts
        source = parts.transaction_for(original.id, "revert")
        journal = source.load()
        changes: list[PlannedChange] = []
        conflicts: list[str] = []
        for intent in journal.intents if journal else ():
            try:
                change = merged(source, intent, parts.snapshots)
            except Conflict:
                conflicts.append(intent.path)
                continue
            if change is not None:
                changes.append(change)
        changes.sort(key=lambda change: change.after is None)
        transaction = parts.transaction_for(record.id, "revert")
        new_journal = transaction.prepare(
            changes,
            usage_before=journal.usage_after if journal else None,
            usage_after=journal.usage_before if journal else None,
        )
        transaction.apply(new_journal, commit=lambda: None)
        restored = tuple(intent.path for intent in new_journal.intents)
        finished = self._finish(original, record, restored, tuple(conflicts))
        parts.snapshots.record(
            actor="revert",
            source=f"revert of {original.id}",
            subject=finished.summary,
            run_id=record.id,
            dirty=transaction.paths(new_journal),
        )
        return finished

    def _finish(
        self, original: RunRecord, record: RunRecord, restored: tuple[str, ...], conflicts: tuple[str, ...]
    ) -> RevertResult:
        parts = self._parts
        summary = f"{len(restored)} files put back." if restored else "Nothing had to be put back."
        if conflicts:
            summary += (
                f" {len(conflicts)} changed since on the same lines and were left as they are:"
                f" {', '.join(conflicts)}."
                f" `reverie diff {original.id}` shows the versions before the run."
            )
        ops = tuple(
            {"command": "create", "path": path, "applied": True, "note": "put back"} for path in restored
        )
        parts.runs.finish(
            record, outcome="completed", ended_at=parts.clock(), summary=summary, ops=ops, conflicts=conflicts
        )
        parts.runs.save(replace(original, reverted_by=record.id))
        if original.reverts is not None:
            parts.runs.save(replace(parts.runs.load(original.reverts), reverted_by=None))
        parts.activity.add(
            "revert.completed",
            level="info",
            text=f"Run {original.id} was reverted. {summary}",
            home=record.home_root,
            workspace_id=record.workspace_id,
            run_id=record.id,
            details={"reverts": original.id, "conflicts": list(conflicts)},
        )
        return RevertResult(record.id, original.id, summary, restored, conflicts)
