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
from reverie.files.lease import Lease, Leases
from reverie.homes.base import Home
from reverie.homes.scopes import COMPANIONS
from reverie.memory.snapshots import Snapshots
from reverie.memory.write_guard import ReadOnlyStore, WriteGuard
from reverie.memory.write_lock import refuse_while_agent_writes
from reverie.runs.activity import Activity
from reverie.runs.journal import FileIntent, Journal, PlannedChange, ops_of
from reverie.runs.limits import finish_failed
from reverie.runs.record import RunRecord, RunStore
from reverie.runs.recovery import Recovery
from reverie.runs.transaction import LeaseLost, Transaction
from reverie.text.counts import some

REFUSED = ("agent-refuses", "read-only")
"""Reasons of errors that say that the agent would not accept what was there before."""


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
    """What a revert works on, of one home."""

    home: Home
    home_id: str
    lease_name: str
    leases: Leases
    runs: RunStore
    snapshots: Snapshots
    activity: Activity
    guard: WriteGuard
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
        root = transaction.root_of(intent)
        return PlannedChange(root, intent.rel, current, before, intent.mode, intent.place)
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
        """Undo one run. Raises `StoreError` for a run that changed nothing or is reverted already, and
        `LeaseHeld` while another run is at work on this home."""
        parts = self._parts
        parts.runs.load(run_id)  # a wrong id needs no lease to be told
        with parts.leases.acquire(parts.lease_name, purpose=f"revert of {run_id}") as lease:
            parts.recovery.run()
            refuse_while_agent_writes(parts.home, lock_dir=parts.guard.lock_dir)
            original = self._revertible(parts.runs.load(run_id))
            self._require_writable(original)
            parts.snapshots.observe(source="before a revert")
            return self._revert(original, lease)

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

    def _require_writable(self, original: RunRecord) -> None:
        """Raises `ReadOnlyStore`, noted in Activity, where the run wrote into what is read-only now."""
        parts = self._parts
        transaction = parts.transaction_for(original.id, "revert")
        try:
            transaction.require_writable(transaction.load() or Journal(()))
        except ReadOnlyStore as refusal:
            parts.activity.add(
                "revert.skipped",
                level="warning",
                text=f"Run {original.id} was not reverted. {refusal}",
                home=str(parts.home.root),
                workspace_id=original.workspace_id,
                details={"reverts": original.id, "reason": refusal.reason},
            )
            raise

    def _revert(self, original: RunRecord, lease: Lease) -> RevertResult:
        parts = self._parts
        started = parts.clock()
        record = parts.runs.begin(
            RunRecord(
                id=parts.runs.new_id(started),
                kind="revert",
                home_id=parts.home_id,
                home_root=str(parts.home.root),
                workspace_id=original.workspace_id,
                project_path=original.project_path,
                trigger="manual",
                engine="revert",
                started_at=started,
                reverts=original.id,
            )
        )
        transaction = parts.transaction_for(record.id, "revert")
        try:
            journal, conflicts, refused = self._carry_out(original, transaction, lease)
        except LeaseLost:
            raise
        except BaseException as error:
            finish_failed(parts.runs, record, transaction, error, ended_at=parts.clock())
            raise
        return self._finish(original, record, transaction, journal, conflicts, refused)

    def _carry_out(
        self, original: RunRecord, transaction: Transaction, lease: Lease
    ) -> tuple[Journal, tuple[str, ...], tuple[str, ...]]:
        """Put back what can be; returns the journal of that, the paths in conflict, and why the agent would
        refuse some of these."""
        source = self._parts.transaction_for(original.id, "revert")
        journal = source.load() or Journal(())
        changes: list[PlannedChange] = []
        conflicts: list[FileIntent] = []
        refused: list[str] = []
        for intent in journal.intents:
            try:
                change = merged(source, intent, self._parts.snapshots)
                if change is not None:
                    self._parts.home.check_content(change.root, change.rel, change.before, change.after)
            except (Conflict, StoreError) as error:
                if error.reason in REFUSED:
                    refused.append(str(error))
                conflicts.append(intent)
                continue
            if change is not None:
                changes.append(change)
        # Records come back from the first place on, so that each stands where it stood.
        changes.sort(key=lambda change: (change.after is None, change.place or 0))
        # What stays as it is keeps its pin and use too.
        kept = {self._parts.home.usage_key(source.root_of(intent), intent.rel) for intent in conflicts}
        planned = transaction.prepare(
            changes,
            removed=journal.made,
            restores=True,
            usage_before={key: usage for key, usage in journal.usage_after.items() if key not in kept},
            usage_after={key: usage for key, usage in journal.usage_before.items() if key not in kept},
        )

        def check() -> None:
            if not lease.renew():
                raise LeaseLost("The undo stopped: its lease ran out meanwhile.", next_step="Undo it again.")

        transaction.apply(planned, commit=lambda: None, check=check)
        return planned, tuple(intent.path for intent in conflicts), tuple(refused)

    def _finish(
        self,
        original: RunRecord,
        record: RunRecord,
        transaction: Transaction,
        journal: Journal,
        conflicts: tuple[str, ...],
        refused: tuple[str, ...],
    ) -> RevertResult:
        """Everything is in place by now: what fails here is told, and changes nothing about that."""
        parts = self._parts
        restored = tuple(intent.path for intent in journal.intents)
        summary = _summary(original, restored, conflicts, refused)
        undid_nothing = bool(conflicts) and not restored
        finished = replace(record, summary=summary, ops=ops_of(journal), conflicts=conflicts)
        try:
            # Where this fails the run stays open, and recovery finishes its record and marks the other.
            parts.runs.finish(
                finished,
                outcome="failed" if undid_nothing else "completed",
                reason="conflict" if undid_nothing else "",
                ended_at=parts.clock(),
            )
        except MendableError as error:
            summary = f"{summary} {error}"
        try:
            parts.activity.add(
                "revert.failed" if undid_nothing else "revert.completed",
                level="warning" if conflicts else "info",
                text=f"Run {original.id} was {'not ' if undid_nothing else ''}reverted. {summary}",
                home=record.home_root,
                workspace_id=record.workspace_id,
                run_id=record.id,
                details={"reverts": original.id, "conflicts": list(conflicts)},
            )
            source = f"revert of {original.id}"
            for intent in journal.intents:
                if intent.key == COMPANIONS:
                    parts.snapshots.record_companion(
                        intent.rel, actor="revert", source=source, run_id=record.id
                    )
            parts.snapshots.record(
                actor="revert",
                source=source,
                subject=summary,
                run_id=record.id,
                dirty=transaction.paths(journal),
            )
        except MendableError as error:
            summary = f"{summary} {error}"
        return RevertResult(record.id, original.id, summary, restored, conflicts)


def _summary(
    original: RunRecord, restored: tuple[str, ...], conflicts: tuple[str, ...], refused: tuple[str, ...]
) -> str:
    count = len(restored)
    summary = f"{some(count, 'file')} put back." if count else "Nothing was put back."
    if refused:
        summary += f" {len(refused)} left as they are: {' '.join(refused)}"
    if len(conflicts) > len(refused):
        summary += (
            f" {len(conflicts) - len(refused)} changed since on the same lines and were left as they are:"
            f" {', '.join(conflicts)}."
            f" `reverie diff {original.id}` shows the versions before the run."
        )
    return summary
