"""What a dream asks of whoever does its thinking.

An `Engine` (the embedded rules, or a model) sees the overlay, issues every change through the guard and
calls `Limits.check` every few milliseconds; that is how cancel and the wall clock reach it.

Threading: one run, one event loop. Failure: the `MendableError` family; the run then ends as failed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from reverie.agent.account import Account
from reverie.dream.overlay import DreamOverlay
from reverie.dream.progress import DreamProgress
from reverie.runs.guard import Guard
from reverie.runs.limits import Limits


class Engine(Protocol):
    """What does a dream's thinking: the embedded rules, or a model. `dream` returns the one-line summary and
    may be called again on a fresh overlay; `account` may be asked at any time after it, also when it failed,
    and is about all of it."""

    name: str

    def account(self) -> Account:
        """What was spent so far, and the trace; nothing of either for rules."""

    async def dream(
        self,
        overlay: DreamOverlay,
        guard: Guard,
        *,
        limits: Limits,
        progress: Callable[[DreamProgress], None],
    ) -> str:
        """Read the overlay, ask the guard for changes, return one line that sums up. Raises the
        `MendableError` family, and what `limits.check` raises."""
