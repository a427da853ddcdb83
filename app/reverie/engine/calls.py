"""Calls in progress, and the interface of the processes that carry out runs.

Threading: any thread. Failure: `CallStopped` in a call that nobody wants any more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from reverie.engine.channel import CallMessage
from reverie.runs.run import RunDependencies


class CallStopped(Exception):
    """Raised if the caller no longer wants the result."""


class CallControl:
    """One call in progress.

    `report` is called with its encoded progress. `client` is the connection that made it; None if the engine
    itself did.
    """

    def __init__(
        self, call: CallMessage, report: Callable[[bytes], None] = lambda _value: None, client: object = None
    ) -> None:
        self.call = call
        self.report = report
        self.client = client
        self.cancel = threading.Event()
        """Set once the result is no longer wanted."""
        self._act: Callable[[], None] = lambda: None

    def check(self) -> None:
        """Raise `CallStopped` if the result is no longer wanted."""
        if self.cancel.is_set():
            raise CallStopped

    def stop(self) -> None:
        """Declare that the result is no longer wanted."""
        self.cancel.set()
        self._act()

    def when_stopped(self, act: Callable[[], None]) -> None:
        """Call `act` once the result is no longer wanted; at once if that is so already.

        It may be called more than once, on any thread.
        """
        self._act = act
        if self.cancel.is_set():
            act()


class RunProcesses(Protocol):
    """The functions of `engine.workers.Workers` that an engine needs."""

    def warm_up(self) -> None:
        """Prepare for a run that may soon be wanted. Returns at once."""

    def run(self, control: CallControl, home: RunDependencies) -> bytes:
        """Carry out the run; return its encoded result."""

    def run_aside(self, control: CallControl, home: RunDependencies | None = None) -> bytes:
        """Carry out a run at the lowest priority.

        `home` is None if the run leaves nothing to recover.
        """

    def is_for_another(self, pid: int, client: object) -> bool:
        """Return whether this process is carrying out a run for a different client."""

    def close(self) -> None:
        """End all runs."""
