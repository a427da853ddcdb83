"""What a run works on, of one home, and what comes before each: settling what a killed one left.

Threading: blocking; any thread but the GUI's. Failure: `MendableError`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from reverie.clock import Clock
from reverie.files.lease import LeaseHeld, Leases
from reverie.homes.base import Home
from reverie.memory.snapshots import Snapshots
from reverie.memory.usage import UsageLog
from reverie.memory.write_guard import WriteGuard
from reverie.runs.record import RunKind, RunRecord, RunStore
from reverie.runs.recovery import Recovery
from reverie.runs.transaction import Transaction


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
