"""Reasons for a run to stop early: cancellation, a lost lease and the time limit.

Code that thinks calls `StopCheck.check` every few milliseconds; `RunLimits.check` comes before each effect.
"""

from __future__ import annotations

import threading
import time

from reverie.errors import UserError
from reverie.files.lease import Lease
from reverie.runs.record import (
    Outcome,
)
from reverie.runs.transaction import LeaseLost
from reverie.values import Struct


class Cancelled(Exception):
    """The person or the program asked the run to stop."""


class TimedOut(Exception):
    """The run used up its wall-clock limit."""


STOPS = (Cancelled, TimedOut, UserError)
"""What ends a run in the ordinary way; anything else is a bug of ours, or comes from outside."""


class StopCheck:
    """Cancel, lease and wall clock in one check; cheap enough to be called every few milliseconds."""

    def __init__(
        self,
        cancel: threading.Event,
        lease_lost: threading.Event,
        time_limit_s: float,
        *,
        enforce_deadline: bool = True,
    ) -> None:
        """`enforce_deadline` False: `check` ignores the deadline; the engine enforces it."""
        self._cancel = cancel
        self._lease_lost = lease_lost
        self._enforce_deadline = enforce_deadline
        self.allowed_ms = round(time_limit_s * 1000)
        self.deadline = time.monotonic() + time_limit_s
        """On `time.monotonic`'s clock."""

    def cancelled(self) -> bool:
        """Whether somebody asked the run to stop."""
        return self._cancel.is_set()

    def check(self) -> None:
        """Raises `Cancelled`, `LeaseLost`, `TimedOut`; to be asked at each step."""
        if self._cancel.is_set():
            raise Cancelled
        self.require_lease()
        if self._enforce_deadline and time.monotonic() > self.deadline:
            raise TimedOut

    def lift_deadline(self) -> None:
        """The time limit is one of thinking: what was thought is written, however long it waits for that."""
        self._enforce_deadline = False

    def require_lease(self) -> None:
        """Raises `LeaseLost`."""
        if self._lease_lost.is_set():
            raise LeaseLost(
                "The run stopped: its lease ran out while this process was held up.",
                next_step="Run it again; another run may have come first.",
            )


class RunLimits:
    """What may stop a run: `limits` at any step, and before each effect also the proof that the lease is
    still ours, because the heartbeat of a process that was suspended speaks too late."""

    def __init__(self, lease: Lease, cancel: threading.Event, time_limit_s: float) -> None:
        self.limits = StopCheck(cancel, lease.lost, time_limit_s)
        self._lease = lease

    def check(self) -> None:
        """As `StopCheck.check`, and renews the lease, which fails where another owner has it by now."""
        self._lease.renew()
        self.limits.check()

    def require_lease(self) -> None:
        """The proof alone. Raises `LeaseLost`."""
        self._lease.renew()
        self.limits.require_lease()


class Stop(Struct, frozen=True):
    """Why a run ended early."""

    outcome: Outcome
    why: str
    """The beginning of a sentence."""
    reason: str
    next_step: str = ""


def stop_of(error: BaseException, time_limit_s: float) -> Stop:
    """How a run that `error` stopped ends; not for a lost lease, which is left to recovery."""
    if isinstance(error, Cancelled):
        return Stop("cancelled", "Cancelled", "cancelled")
    if isinstance(error, TimedOut):
        limit = f"The time limit of {time_limit_s:g} s was reached"
        return Stop("failed", limit, "timeout", "Run it again, or allow it more time.")
    if isinstance(error, UserError):
        why = " ".join(part for part in (error.title, error.cause) if part).rstrip(".")
        return Stop("failed", why, error.reason, error.next_step)
    if isinstance(error, Exception):
        return Stop("failed", "Stopped by a bug", "bug")
    return Stop("cancelled", "Stopped from outside", "cancelled")
