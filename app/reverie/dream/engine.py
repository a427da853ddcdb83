"""What a dream asks of whoever does its thinking, and the limits it sets.

An `Engine` (the embedded rules, later a model) sees the overlay, issues every change through the guard and
calls `Limits.check` every few milliseconds; that is how cancel and the wall clock reach it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from reverie.dream.overlay import DreamOverlay
from reverie.dream.progress import DreamProgress as DreamProgress
from reverie.runs.guard import Guard
from reverie.runs.transaction import LeaseLost


class Cancelled(Exception):
    """The person or the program asked the run to stop."""


class TimedOut(Exception):
    """The run used up its wall-clock limit."""


class Limits:
    """Cancel, lease and wall clock in one check; cheap enough to be called every few milliseconds."""

    def __init__(self, cancel: threading.Event, lease_lost: threading.Event, time_limit_s: float) -> None:
        self._cancel = cancel
        self._lease_lost = lease_lost
        self._deadline = time.monotonic() + time_limit_s

    def check(self) -> None:
        if self._cancel.is_set():
            raise Cancelled
        if self._lease_lost.is_set():
            raise LeaseLost(
                "The run stopped: its lease ran out while this process was held up.",
                next_step="Run it again; another run may have come first.",
            )
        if time.monotonic() > self._deadline:
            raise TimedOut


class Engine(Protocol):
    """What does a dream's thinking: the embedded rules, or a model. Returns the one-line summary."""

    name: str

    async def dream(
        self,
        overlay: DreamOverlay,
        guard: Guard,
        *,
        limits: Limits,
        progress: Callable[[DreamProgress], None],
    ) -> str: ...
