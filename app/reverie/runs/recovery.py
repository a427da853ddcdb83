"""Recovery: finishes or undoes the runs of a home that a killed process left open.

The caller holds the home's consolidation lease, so no other run is in progress: the process of every open run
was killed, or was suspended until it lost the lease. A suspended process holds the run's fence while it
restores its files, and recovery waits for that. The run's transaction shows whether the commit point was
reached. If so, only the record is finished (`completed`); if not, every file that still has the run's content
is restored (`interrupted`). Nothing is restored in a store that the agent no longer uses: the run ends as
`interrupted` and names its files.

Recovery is idempotent: if it is killed, or the home is unreachable, it is simply repeated.

Threading: blocking; any thread but the GUI's. Failure: `UserError`; the next recovery finishes the remaining
runs.
"""

from __future__ import annotations

from collections.abc import Callable

from reverie.clock import Clock
from reverie.errors import Busy, Unavailable, UserError
from reverie.memory.write_guard import ReadOnlyStore
from reverie.runs.activity import Activity
from reverie.runs.journal import Journal, ops_of
from reverie.runs.record import Outcome, RunRecord, RunStore, not_applied
from reverie.runs.transaction import Recovered, Transaction
from reverie.text.summaries import some
from reverie.values import replace


class Recovery:
    """The recovery of one home, which finishes or undoes the runs of killed processes."""

    def __init__(
        self,
        runs: RunStore,
        *,
        transaction_for: Callable[[str, str], Transaction],
        committed: Callable[[RunRecord, Journal], bool],
        give_back: Callable[[], None],
        activity: Activity,
        clock: Clock,
    ) -> None:
        """Create the recovery of one home.

        `transaction_for(run_id, actor)` builds the transaction of a run. `committed` returns whether a run's
        coverage record (the agent's record of the consolidation) is in place. `give_back` releases resources
        other than files that a killed run held, such as locks of the agent; it is called once every run is
        finished or undone. `activity`: the log of decisions; `clock`: the source of the current time.
        """
        self._runs = runs
        self._transaction_for = transaction_for
        self._committed = committed
        self._give_back = give_back
        self._activity = activity
        self._clock = clock

    def run(self) -> tuple[RunRecord, ...]:
        """Finish or undo every run that needs recovery, oldest first; return the finished records.

        The caller holds the lease of the home. Raises `Unavailable` or `Busy` if a memory cannot be restored
        now, and `ReadOnlyStore` if its store may not be written. The caller must then stop too, because no
        run may start from a mix of old and new files. A file that can never be restored is reported and does
        not raise.
        """
        found = (self._settled(record) for record in self._runs.unsettled())
        settled = tuple(record for record in found if record is not None)
        self._give_back()
        return settled

    def _settled(self, record: RunRecord) -> RunRecord | None:
        """Recover the run under its fence (the lock of the run); return its finished record.

        Returns None if another process recovered the run while this one was suspended.
        """
        transaction = self._transaction_for(record.id, "recovery")
        with transaction.fenced():
            record = self._runs.load(record.id)
            return None if record.settled else self._recover(record, transaction)

    def _recover(self, record: RunRecord, transaction: Transaction) -> RunRecord:
        journal: Journal | None = None
        try:
            journal = transaction.load()
            recovered = transaction.recover(journal, committed=lambda found: self._committed(record, found))
        except (Unavailable, Busy):
            raise  # the run stays open and is recovered once its store can be written
        except ReadOnlyStore as error:
            if error.refusal.permissible:
                raise  # as above: a person can permit writing
            # The agent no longer uses that store and no person can permit writing to it, so leaving the
            # run open would block every later run.
            paths = tuple(intent.path for intent in journal.intents) if journal else ()
            ops = not_applied(record.ops or ops_of(journal), "not changed: the agent does not use it")
            record = replace(record, ops=ops)
            return self._finish(record, journal, Recovered(False, left=paths), f"Left as it is. {error}")
        except UserError as error:
            return self._finish(record, None, Recovered(False), f"Recovery could not undo it: {error}")
        if recovered.pending:
            raise Unavailable(
                "An interrupted run could not be undone yet.",
                cause=f"These files cannot be reached: {', '.join(recovered.pending[:5])}.",
                next_step="Check that the home exists and its disk has free space, then try again.",
                reason="recovery",
            )
        return self._finish(record, journal, recovered, _summary(record, journal, recovered))

    def _finish(
        self, record: RunRecord, journal: Journal | None, recovered: Recovered, summary: str
    ) -> RunRecord:
        outcome: Outcome = "completed" if recovered.committed else "interrupted"
        ops = record.ops or ops_of(journal)
        if not recovered.committed:
            ops = not_applied(ops, "the run was interrupted", left=recovered.left)
        details = {"restored": list(recovered.restored), "left": list(recovered.left)}
        text = f"An interrupted run was recovered. {summary}"
        self._activity.add_of_run(f"run.{outcome}", text, record, "warning", details)
        finished = replace(
            record,
            summary=summary,
            reason="" if recovered.committed else "interrupted",
            ops=ops,
            conflicts=recovered.left,
            details={key: value for key, value in record.details.items() if key != "pending"}
            | {"recovered": True},
        )
        return self._runs.finish(finished, outcome=outcome, ended_at=self._clock())


def _summary(record: RunRecord, journal: Journal | None, recovered: Recovered) -> str:
    if recovered.committed:
        planned = str(journal.coverage["summary"]) if journal and journal.coverage else record.summary
        return planned or "Finished by recovery: all changes were in place."
    count = len(recovered.restored)
    put_back = f"{some(count, 'file')} put back" if count else "nothing had changed"
    left = ""
    if recovered.left:
        left = " These files were not restored, because another program changed them since: "
        left += f"{', '.join(recovered.left)}."
    return f"Interrupted; {put_back}.{left}"
