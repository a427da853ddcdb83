"""Reasons for a run to stop early: cancellation, a lost lease and the time limit.

Code that thinks calls `StopCheck.check` every few milliseconds; `RunLimits.check` comes before each effect.
"""

from __future__ import annotations

import threading
import time

from reverie.errors import UserError
from reverie.files.lease import Lease
from reverie.runs.record import Outcome
from reverie.runs.transaction import LeaseLost
from reverie.values import Struct


class Cancelled(Exception):
    """Raised when a person or the program asked the run to stop."""


class TimedOut(Exception):
    """Raised when the run used up its wall-clock limit."""


STOPS = (Cancelled, TimedOut, UserError)
"""The exceptions that end a run in an expected way; any other is a bug of Reverie or an interruption."""


class StopCheck:
    """A check that raises if a run must stop: it was cancelled, lost its lease or reached its time limit.

    It is cheap enough to be called every few milliseconds.
    """

    def __init__(
        self,
        cancel: threading.Event,
        lease_lost: threading.Event,
        time_limit_s: float,
        *,
        enforce_deadline: bool = True,
    ) -> None:
        """Start the time limit, which ends in `time_limit_s` seconds.

        `cancel` is set to cancel the run, `lease_lost` if another process may have taken its lease. If
        `enforce_deadline` is False, `check` ignores the deadline, because the engine enforces it.
        """
        self._cancel = cancel
        self._lease_lost = lease_lost
        self._enforce_deadline = enforce_deadline
        self.allowed_ms = round(time_limit_s * 1000)
        self.deadline = time.monotonic() + time_limit_s
        """The end of the time limit, on the clock of `time.monotonic`."""

    def cancelled(self) -> bool:
        """Return whether the run was asked to stop."""
        return self._cancel.is_set()

    def check(self) -> None:
        """Raise `Cancelled`, `LeaseLost` or `TimedOut` if the run must stop; to be called at each step."""
        if self._cancel.is_set():
            raise Cancelled
        self.require_lease()
        if self._enforce_deadline and time.monotonic() > self.deadline:
            raise TimedOut

    def lift_deadline(self) -> None:
        """Ignore the deadline from now on.

        Called when `think` has ended: its result is then written even if it has to wait long for the lease.
        """
        self._enforce_deadline = False

    def require_lease(self) -> None:
        """Raise `LeaseLost` if the lease was lost."""
        if self._lease_lost.is_set():
            raise LeaseLost(
                "The run stopped, because its lease expired while this process was delayed.",
                next_step="Run it again. Another run may have finished first.",
            )


class RunLimits:
    """The checks of a run under a lease: those of `limits` (a `StopCheck`), after renewing the lease.

    They are made before each change on disk, because the heartbeat of a suspended process notices too late
    that the lease was lost.
    """

    def __init__(self, lease: Lease, cancel: threading.Event, time_limit_s: float) -> None:
        self.limits = StopCheck(cancel, lease.lost, time_limit_s)
        self._lease = lease

    def check(self) -> None:
        """Renew the lease, then check `limits`.

        Raises `LeaseLost` if another process has the lease, `Cancelled` or `TimedOut` if the run must stop.
        """
        self._lease.renew()
        self.limits.check()

    def require_lease(self) -> None:
        """Renew the lease; raise `LeaseLost` if it was lost.

        Ignores cancellation and the time limit.
        """
        self._lease.renew()
        self.limits.require_lease()


class Stop(Struct, frozen=True):
    """The reason why a run ended early, with the outcome and the sentence for its record."""

    outcome: Outcome
    why: str
    """The beginning of a sentence, without a full stop."""
    reason: str
    """A word for programs, such as "timeout"."""
    next_step: str = ""
    """What a person can do; empty if there is nothing to do."""


def stop_of(error: BaseException, time_limit_s: float) -> Stop:
    """Return the `Stop` (the reason and outcome) for the error that ended a run.

    `time_limit_s`: the time limit of the run in seconds, for the sentence about it. Not to be called for a
    lost lease, because such a run is left to recovery.
    """
    if isinstance(error, Cancelled):
        return Stop("cancelled", "Cancelled", "cancelled")
    if isinstance(error, TimedOut):
        limit = f"The time limit of {time_limit_s:g} s was reached"
        return Stop("failed", limit, "timeout", "Run it again, or raise the time limit.")
    if isinstance(error, UserError):
        why = " ".join(part for part in (error.title, error.cause) if part).rstrip(".")
        return Stop("failed", why, error.reason, error.next_step)
    if isinstance(error, Exception):
        return Stop("failed", "Stopped by an internal error", "bug")
    return Stop("cancelled", "Stopped by another program", "cancelled")
