"""Writing one directory's memory: one run with its record, one transaction, the history before and after.

The thinking is over by then and had no effect. The home's dream lease is held for the moment of writing only;
what is to be written is planned under it, from the files as they are then, and once more where somebody
changed one meanwhile. `confirm` is what must hold besides (a row in Reverie's own state): where it fails, the
files are put back.

Threading: one event loop; blocking on disk. Failure: `UserError`, `Cancelled`, `TimedOut`, `LeaseLost`;
the record tells.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reverie.agents.base import Extraction
from reverie.agents.scopes import ScopeContext, ScopeRoot
from reverie.errors import (
    Conflict,
    Unavailable,
    UserError,
)
from reverie.files.atomic import LEFT_OVER_AFTER_S
from reverie.files.lease import Lease, LeaseHeld
from reverie.files.rooted import RootedDirectory
from reverie.jobs.extraction.state import ExtractState
from reverie.memory.paths import memory_path
from reverie.memory.write_guard import write_locks
from reverie.runs.activity import Activity
from reverie.runs.journal import PlannedChange
from reverie.runs.limits import finish_done, finish_failed
from reverie.runs.one_file import LEASE_STEP_S, LEASE_WAIT_S
from reverie.runs.record import RunRecord
from reverie.runs.recovery import RunDependencies
from reverie.runs.transaction import LeaseLost

_SWAPS = 4
ACTOR = "extract"


@dataclass(frozen=True, slots=True)
class ExtractDependencies:
    """What extraction works on, of one home."""

    run: RunDependencies
    activity: Activity
    save_trace: Callable[[str, Mapping[str, Any]], object]
    state: ExtractState

    @property
    def extraction(self) -> Extraction:
        """What the home has to extract from. Raises `Unavailable` for an agent without threads."""
        extraction = self.run.home.extraction
        if extraction is None:
            raise Unavailable(
                "There is nothing to extract here.",
                cause="Only Codex keeps rollouts that become memories this way.",
                next_step="Choose a Codex home.",
                reason="not-codex",
            )
        return extraction


@dataclass(frozen=True, slots=True)
class Planned:
    """What is to be written, and the sentence that tells it. `emptied`: directories that go once empty."""

    changes: tuple[PlannedChange, ...]
    summary: str
    emptied: tuple[tuple[ScopeRoot, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """`record` as it stands on disk; `changed` False: everything was so already."""

    record: RunRecord
    changed: bool


def context_of(cwd: str, bucket: str) -> ScopeContext:
    """The context of a directory's memory as the first generation keeps it, whatever else is there."""
    return ScopeContext(None, cwd, None, store=f"project/{bucket}")


def ops_of(changes: Sequence[PlannedChange]) -> tuple[Mapping[str, Any], ...]:
    """Changes in the shape of a coverage record's ops."""
    return tuple(
        {
            "command": "delete" if each.after is None else "create" if each.before is None else "str_replace",
            "path": str(memory_path(each.root.scope, each.rel)),
            "applied": True,
        }
        for each in changes
    )


class MemoryWriter:
    """Writes for every part of one extraction, one at a time."""

    def __init__(self, parts: ExtractDependencies) -> None:
        self._parts = parts
        self._turn = asyncio.Lock()

    async def write(
        self,
        record: RunRecord,
        root: ScopeRoot,
        plan: Callable[[], Planned],
        *,
        check: Callable[[], None],
        confirm: Callable[[RunRecord], None],
        track: Callable[[RunRecord], None],
        attempts: int = _SWAPS,
    ) -> Written:
        """Carry out what `plan` says. `record` has not been begun; it gets another id, which `track` is told,
        so that runs are in the order in which they wrote: that is how they can be taken back. More than one
        of `attempts` makes sense where `plan` looks at the files anew."""
        self._parts.run.guard.require(root)
        async with self._turn, self._lease(check) as lease:
            self._parts.run.recovery.run()
            # Hidden files that a killed process left harm nobody.
            home, lock_dir = self._parts.run.home, self._parts.run.guard.lock_dir
            with contextlib.suppress(UserError), write_locks(home, (root,), lock_dir=lock_dir):
                RootedDirectory(root.directory).sweep(older_than_s=LEFT_OVER_AFTER_S)
            for attempt in range(attempts):
                record = replace(record, id=self._parts.run.runs.new_id(self._parts.run.clock()))
                track(record)
                planned = plan()
                if not planned.changes:
                    confirm(record)
                    return Written(replace(record, summary=planned.summary), False)
                try:
                    return Written(self._carry_out(record, root, planned, lease, check, confirm), True)
                except Conflict:
                    if attempt == attempts - 1:
                        raise
        raise AssertionError("the loop returns or raises")

    @contextlib.asynccontextmanager
    async def _lease(self, check: Callable[[], None]) -> AsyncIterator[Lease]:
        """The home's dream lease; a dream at work is waited for."""
        until = time.monotonic() + LEASE_WAIT_S
        while True:
            try:
                lease = self._parts.run.leases.acquire(self._parts.run.lease_name, purpose="extraction")
                break
            except LeaseHeld:
                if time.monotonic() >= until:
                    raise
                check()
                await asyncio.sleep(LEASE_STEP_S)
        with lease:
            yield lease

    def _carry_out(
        self,
        record: RunRecord,
        root: ScopeRoot,
        planned: Planned,
        lease: Lease,
        check: Callable[[], None],
        confirm: Callable[[RunRecord], None],
    ) -> RunRecord:
        parts, ops = self._parts, ops_of(planned.changes)
        dirty = [root.directory / change.rel for change in planned.changes]
        parts.run.snapshots.observe(source="before an extraction", dirty=dirty)
        record = parts.run.runs.begin(replace(record, ops=ops))
        transaction = parts.run.transaction_for(record.id, ACTOR)

        def still_ours() -> None:
            if not lease.renew():
                raise LeaseLost(
                    "The extraction stopped: its lease ran out meanwhile.", next_step="Run it again."
                )
            check()

        try:
            journal = transaction.prepare(planned.changes, emptied=planned.emptied)
            transaction.apply(journal, commit=lambda: None, check=still_ours, confirm=lambda: confirm(record))
        except LeaseLost:
            raise
        except BaseException as error:
            finish_failed(parts.run.runs, record, transaction, error, ended_at=parts.run.clock())
            raise
        record = finish_done(parts.run.runs, record, ended_at=parts.run.clock(), summary=planned.summary)
        with contextlib.suppress(UserError):  # the change is made; the next snapshot takes it in
            parts.run.snapshots.record(
                actor=ACTOR, source=record.engine, subject=planned.summary, run_id=record.id, dirty=dirty
            )
        return record
