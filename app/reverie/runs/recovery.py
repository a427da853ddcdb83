"""Recovery: what a killed run left behind is finished or undone, under the home's dream lease.

Holding that lease means no other run can be under way on this home, so every run that is not settled is dead
(or was held up so long that it lost the lease; it holds its fence while it puts its files back, and stops
recovery meanwhile). Its transaction says whether the commit point was reached: if so the run did all it set
out to do and only its record is finished (`completed`); if not, every file that is still ours goes back and
the run ends as `interrupted`. Idempotent:
a recovery that is killed, or finds the home unreachable, is simply repeated. Nothing is put back into a store
that the agent does not use any more: the run ends as `interrupted`, and its files are named.

`RunDependencies` is what every run of a home works on; `recover` is called before each.

Threading: blocking, any thread but the GUI's. Failure: `UserError`; what is left is settled next time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from reverie.agents.base import Home
from reverie.clock import Clock
from reverie.errors import Busy, Unavailable, UserError
from reverie.files.lease import LeaseHeld, Leases
from reverie.memory.recording import Snapshots
from reverie.memory.usage import UsageLog
from reverie.memory.write_guard import ReadOnlyStore, WriteGuard
from reverie.runs.activity import Activity
from reverie.runs.record import RunKind, RunRecord, RunStore, not_applied
from reverie.runs.transaction import Journal, Recovered, Transaction, ops_of
from reverie.text.summaries import some


class Recovery:
    """Recovery of one home's runs. `committed` asks whether a run's coverage record is in place; `give_back`
    what a killed run held besides its files, once every run is settled."""

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
        self._runs = runs
        self._transaction_for = transaction_for
        self._committed = committed
        self._give_back = give_back
        self._activity = activity
        self._clock = clock

    def run(self) -> tuple[RunRecord, ...]:
        """Settle every open run, oldest first; the caller holds the lease. Returns the finished records.

        Raises `Unavailable` or `Busy` while a memory cannot be put back, and `ReadOnlyStore` while its store
        may not be written: nothing may be built on a mix, so the caller stops too.
        What can never be put back is reported and stops nobody.
        """
        found = (self._settled(record) for record in self._runs.unsettled())
        settled = tuple(record for record in found if record is not None)
        self._give_back()
        return settled

    def _settled(self, record: RunRecord) -> RunRecord | None:
        """The record, settled under the run's fence; None where another recovery came first, while this
        process was suspended."""
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
            raise  # the run stays open, and is tried again once its store can be written
        except ReadOnlyStore as error:
            if error.refusal.permissible:
                raise  # likewise
            # The agent does not use that store any more. Nobody can permit it, so waiting would only keep
            # every later run from starting.
            paths = tuple(intent.path for intent in journal.intents) if journal else ()
            ops = not_applied(
                record.ops or ops_of(journal), "left as it is: the agent does not use this store"
            )
            record = replace(record, ops=ops)
            return self._finish(record, journal, Recovered(False, left=paths), f"Left as it is. {error}")
        except UserError as error:
            return self._finish(record, None, Recovered(False), f"Recovery could not undo it: {error}")
        if recovered.pending:
            raise Unavailable(
                "A run that had been interrupted could not be undone yet.",
                cause=f"Out of reach: {', '.join(recovered.pending[:5])}.",
                next_step="See that the home is there and its disk has room, then try again.",
                reason="recovery",
            )
        return self._finish(record, journal, recovered, _summary(record, journal, recovered))

    def _finish(
        self, record: RunRecord, journal: Journal | None, recovered: Recovered, summary: str
    ) -> RunRecord:
        outcome = "completed" if recovered.committed else "interrupted"
        ops = record.ops or ops_of(journal)
        if not recovered.committed:
            ops = not_applied(ops, "the run was interrupted", left=recovered.left)
        self._activity.add(
            f"run.{outcome}",
            level="warning",
            text=f"A run that had been interrupted was recovered. {summary}",
            home=record.home_root,
            workspace_id=record.workspace_id,
            run_id=record.id,
            details={"restored": list(recovered.restored), "left": list(recovered.left)},
        )
        finished = replace(
            record,
            summary=summary,
            reason="" if recovered.committed else "interrupted",
            ops=ops,
            conflicts=recovered.left,
            details={key: value for key, value in record.details.items() if key != "pending"}
            | {"recovered": True},
        )
        return self._runs.finish(
            finished, outcome="completed" if recovered.committed else "interrupted", ended_at=self._clock()
        )


def _summary(record: RunRecord, journal: Journal | None, recovered: Recovered) -> str:
    if recovered.committed:
        planned = str(journal.coverage["summary"]) if journal and journal.coverage else record.summary
        return planned or "Finished by recovery: all changes were in place."
    count = len(recovered.restored)
    put_back = f"{some(count, 'file')} put back" if count else "nothing had changed"
    left = f" Left as somebody changed them since: {', '.join(recovered.left)}." if recovered.left else ""
    return f"Interrupted; {put_back}.{left}"


@dataclass(frozen=True, slots=True)
class RunDependencies:
    """What a run works on, of one home. `lease_name` is that of its dreams."""

    home: Home
    home_id: str
    leases: Leases
    lease_name: str
    runs: RunStore
    usage: UsageLog
    snapshots: Snapshots
    guard: WriteGuard
    recovery: Recovery
    transaction_for: Callable[[str, str], Transaction]
    clock: Clock
    activity: Activity
    save_trace: Callable[[str, Mapping[str, Any]], object]

    def new_record(
        self,
        kind: RunKind,
        started_at: int,
        *,
        workspace_id: str | None,
        project_path: str | None,
        trigger: str,
        engine: str,
        details: Mapping[str, Any],
    ) -> RunRecord:
        """A new run of this home, which nothing knows of yet. `started_at`: UTC ms."""
        return RunRecord(
            id=self.runs.new_id(started_at),
            kind=kind,
            home_id=self.home_id,
            home_root=str(self.home.root),
            workspace_id=workspace_id,
            project_path=project_path,
            trigger=trigger,
            engine=engine,
            started_at=started_at,
            details=details,
        )


def recover(parts: RunDependencies, purpose: str) -> None:
    """Settle what a killed run left. While another run is at work on the home, that one has done so."""
    if not parts.runs.unsettled():
        return
    with contextlib.suppress(LeaseHeld), parts.leases.acquire(parts.lease_name, purpose=purpose):
        parts.recovery.run()
