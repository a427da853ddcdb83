"""Keeps pins and use that Reverie set while the agent writes its own state over them (formats/mux.md 20.D1).

The rules are those of `memory.usage_deltas`. Here is who calls them: the window and the background services
after each change of the sidecar, and commands that change a home before they begin. Commands that only look
write nothing. A person reads of it once, in Activity, for as long as that agent runs.

Threading: any thread but the GUI's. Failure: `MendableError`; the changes stay in the ledger, and the next
call tries again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from reverie.errors import MendableError
from reverie.memory.usage import Kept

if TYPE_CHECKING:
    from reverie.services.parts import HomeParts

EVENT = "usage.kept"
_AGAIN_S = 1.0


def keep_usage(parts: HomeParts, *, patient: bool = False) -> Kept:
    """Put back what the agent overwrote. `patient`: see `UsageLog.reapply_lost`."""
    kept = parts.usage.reapply_lost(patient=patient)
    if kept.announce:
        changes = "1 change" if kept.announce == 1 else f"{kept.announce:,} changes"
        parts.activity.add(
            EVENT,
            level="info",
            text=f"{parts.home.kind} is running and overwrites pins and use counts; "
            f"Reverie keeps {changes} until it is restarted.",
            home=str(parts.home.root),
            workspace_id=None,
        )
    return kept


class UsageKeeper:
    """The keeper of the background services: works on a thread of its own when `wake` says so."""

    def __init__(self, parts: HomeParts, *, failed: Callable[[str], None]) -> None:
        self._parts = parts
        self._failed = failed
        self._due = threading.Event()
        self._stopped = threading.Event()
        self._due.set()

    def wake(self) -> None:
        """The sidecar changed. Any thread; returns at once."""
        self._due.set()

    def stop(self) -> None:
        """`run` returns soon. Any thread."""
        self._stopped.set()
        self._due.set()

    def run(self) -> None:
        """Until `stop`."""
        while True:
            self._due.wait()
            if self._stopped.is_set():
                return
            self._due.clear()
            try:
                pending = keep_usage(self._parts, patient=True).pending
            except MendableError as error:
                self._failed(str(error))
                pending = False
            if pending:
                self._stopped.wait(_AGAIN_S)
                self._due.set()
