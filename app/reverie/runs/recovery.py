"""Recovery: what a killed run left behind is finished or undone, under the home's dream lease.

Holding that lease means no other run can be under way on this home, so a record that still says `running` and
whose process is gone belongs to a dead run. Its transaction says whether the commit point was reached: if so
the run did all it set out to do and only its record is finished (`completed`); if not, every file that is
still ours goes back and the run ends as `interrupted`. Idempotent: a recovery that is killed is simply
repeated.
"""

from __future__ import annotations

from collections.abc import Callable

from reverie.clock import Clock
from reverie.errors import MendableError
from reverie.runs.activity import Activity
from reverie.runs.record import RunRecord, RunStore
from reverie.runs.transaction import Journal, Recovered, Transaction


class Recovery:
    """Recovery of one home's runs. `committed` asks whether a run's coverage record is in place."""

    def __init__(
        self,
        runs: RunStore,
        *,
        transaction_for: Callable[[str, str], Transaction],
        committed: Callable[[RunRecord, Journal], bool],
        activity: Activity,
        clock: Clock,
    ) -> None:
        self._runs = runs
        self._transaction_for = transaction_for
        self._committed = committed
        self._activity = activity
        self._clock = clock

    def run(self) -> tuple[RunRecord, ...]:
        """Recover every dead run, oldest first; the caller holds the lease. Returns the finished records."""
        return tuple(self._recover(record) for record in self._runs.abandoned())

    def _recover(self, record: RunRecord) -> RunRecord:
        transaction = self._transaction_for(record.id, "recovery")
        try:
            recovered = transaction.recover(committed=lambda journal: self._committed(record, journal))
        except MendableError as error:
            return self._finish(record, Recovered(False, (), ()), f"Recovery could not undo it: {error}")
        if recovered.committed:
            return self._finish(
                record, recovered, record.summary or "Finished by recovery: all changes were in place."
            )
        left = f" Left as somebody changed them since: {', '.join(recovered.left)}." if recovered.left else ""
        put_back = (
            f"{len(recovered.restored)} files were put back" if recovered.restored else "nothing had changed"
        )
        return self._finish(record, recovered, f"Interrupted; {put_back}.{left}")

    def _finish(self, record: RunRecord, recovered: Recovered, summary: str) -> RunRecord:
        outcome = "completed" if recovered.committed else "interrupted"
        self._activity.add(
            f"run.{outcome}",
            level="warning",
            text=f"A run that had been killed was recovered. {summary}",
            home=record.home_root,
            workspace_id=record.workspace_id,
            run_id=record.id,
            details={"restored": list(recovered.restored), "left": list(recovered.left)},
        )
        if record.reverts is not None and recovered.committed:
            self._mark_reverted(record)
        return self._runs.finish(
            record,
            outcome="completed" if recovered.committed else "interrupted",
            ended_at=self._clock(),
            summary=summary,
            reason="" if recovered.committed else "interrupted",
            conflicts=recovered.left,
            details={**record.details, "recovered": True},
        )

    def _mark_reverted(self, record: RunRecord) -> None:
        from dataclasses import replace

        original = self._runs.load(record.reverts or "")
        self._runs.save(replace(original, reverted_by=record.id))
