"""A run that changes one file: what the memory writer and session notes have in common.

What a killed run left is settled before anything is read. The thinking has no effect; only when there is
something to write is the home's dream lease taken, for a moment, and the change made like that of any other
run: recovery first, a durable record, journal, compare-and-swap. A file that somebody changed meanwhile gets
the same edits once more, on top of what they wrote (`runs.draft`). The history before and after is the
caller's: what belongs to it differs.

Threading: one run, one thread, blocking. Failure: `UserError`, `LeaseLost`; the record tells.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from reverie.errors import Busy, Conflict, UserError
from reverie.files.lease import Lease
from reverie.runs.draft import FileDraft
from reverie.runs.journal import PlannedChange, UsageDelta
from reverie.runs.limits import finish_done, finish_failed
from reverie.runs.record import Outcome, RunRecord
from reverie.runs.recovery import RunDependencies, recover
from reverie.runs.transaction import LeaseLost

LEASE_WAIT_S = 60.0
LEASE_STEP_S = 0.05
_SWAPS = 5


@dataclass(frozen=True, slots=True)
class OneFileEnd:
    """How such a run ended, and what is told of it. `document`: its trace, None where no model was asked."""

    run_id: str
    outcome: Outcome
    summary: str
    reason: str = ""
    next_step: str = ""
    document: Mapping[str, Any] | None = None

    @classmethod
    def cancelled(cls, run_id: str) -> Self:
        """Somebody did not want it any more."""
        return cls(run_id, "cancelled", "Cancelled; nothing was changed.", reason="cancelled")

    @classmethod
    def switched_off(cls, run_id: str) -> Self:
        """What it runs for was switched off before it wrote."""
        return cls(run_id, "cancelled", "Switched off while it ran; nothing was changed.", reason="disabled")

    @classmethod
    def out_of_time(cls, run_id: str, limit_s: float) -> Self:
        """The model was too slow."""
        return cls(
            run_id,
            "failed",
            f"The time limit of {limit_s:g} s was reached; nothing was changed.",
            reason="timeout",
            next_step="Choose a faster model, or raise the limit in the settings.",
        )

    @classmethod
    def by_error(cls, run_id: str, error: UserError) -> Self:
        """It failed; a lost lease interrupts it, and it runs again."""
        if isinstance(error, LeaseLost):
            return cls(run_id, "interrupted", str(error), reason=error.reason)
        why = " ".join(part for part in (error.title, error.cause) if part)
        return cls(run_id, "failed", why, reason=error.reason, next_step=error.next_step)


class OneFileRun:
    """The effects of one run, and its record. `purpose` tells others what the lease is held for."""

    def __init__(
        self, parts: RunDependencies, record: RunRecord, *, purpose: str, cancel: threading.Event
    ) -> None:
        self._parts = parts
        self._purpose = purpose
        self._cancel = cancel
        self.record = record

    def recover(self) -> None:
        """Settle what a killed run left, before anybody reads a file that will be put back."""
        recover(self._parts, self._purpose)

    def swap(self, draft: FileDraft, write: Callable[[Lease], None]) -> None:
        """Let `write` write the draft, under the lease; once more on top of what somebody else wrote
        meanwhile, where that is possible."""
        with self._lease() as lease:
            self._parts.recovery.run()
            for attempt in range(_SWAPS):
                draft.refresh()
                if not draft.changed:
                    return
                try:
                    write(lease)
                    return
                except Conflict:
                    if attempt == _SWAPS - 1:
                        raise
                    run_id = self._parts.runs.new_id(self.record.started_at)
                    self.record = replace(self.record, id=run_id, ended_at=None, ops=())

    def carry_out(
        self,
        change: PlannedChange,
        path: str,
        summary: str,
        lease: Lease,
        *,
        usage_before: UsageDelta | None = None,
        usage_after: UsageDelta | None = None,
    ) -> None:
        """The transaction of one change, recorded. `path` as the record shows it."""
        parts = self._parts
        command = "create" if change.before is None else "str_replace"
        ops: tuple[Mapping[str, Any], ...] = ({"command": command, "path": path, "applied": True},)
        self.record = parts.runs.begin(replace(self.record, ops=ops))
        transaction = parts.transaction_for(self.record.id, self.record.kind)

        def check() -> None:
            if not lease.renew():
                raise LeaseLost("The run stopped: its lease ran out meanwhile.", next_step="It runs again.")

        try:
            journal = transaction.prepare([change], usage_before=usage_before, usage_after=usage_after)
            transaction.apply(journal, commit=lambda: None, check=check)
        except LeaseLost:
            raise
        except BaseException as error:
            self.record = finish_failed(parts.runs, self.record, transaction, error, ended_at=parts.clock())
            raise
        self.record = finish_done(parts.runs, self.record, ended_at=parts.clock(), summary=summary)

    def note(self, end: OneFileEnd, *, wrote: bool) -> None:
        """Keep the record; the one of a run that wrote is there already, and gets what it used."""
        with contextlib.suppress(UserError):
            if wrote:
                ours, details = self.record, self.record.details
                self._parts.runs.change(
                    ours.id,
                    lambda kept: replace(kept, usage=ours.usage, details={**kept.details, **details}),
                )
            elif self.record.outcome == "running" and end.outcome != "interrupted":
                self._parts.runs.note(
                    replace(
                        self.record,
                        outcome=end.outcome,
                        ended_at=self._parts.clock(),
                        summary=end.summary,
                        reason=end.reason,
                        ops=(),
                    )
                )

    @contextlib.contextmanager
    def _lease(self) -> Iterator[Lease]:
        """The home's dream lease, for the moment of writing; another run at work is waited for."""
        until = time.monotonic() + LEASE_WAIT_S
        while True:
            try:
                lease = self._parts.leases.acquire(self._parts.lease_name, purpose=self._purpose)
                break
            except Busy:
                if time.monotonic() >= until or self._cancel.wait(LEASE_STEP_S):
                    raise
        with lease:
            yield lease
