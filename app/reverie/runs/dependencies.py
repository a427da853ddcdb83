"""What a run works on, of one home, and what comes before each: settling what a killed one left.

Threading: blocking; any thread but the GUI's. Failure: `MendableError`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from reverie.clock import Clock
from reverie.files.lease import LeaseHeld, Leases
from reverie.homes.base import Home
from reverie.memory.snapshots import Snapshots
from reverie.memory.usage import UsageLog
from reverie.runs.record import RunStore
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
    recovery: Recovery
    transaction_for: Callable[[str, str], Transaction]
    clock: Clock


def recover(parts: RunDependencies, purpose: str) -> None:
    """Settle what a killed run left. While another run is at work on the home, that one has done so."""
    if not parts.runs.unsettled():
        return
    with contextlib.suppress(LeaseHeld), parts.leases.acquire(parts.lease_name, purpose=purpose):
        parts.recovery.run()
