"""Records outside changes in the history of one home: first everything that happened while nobody looked,
then one batch of changes at a time. Also puts pins and use back that the agent overwrote.

After a failure the next change tries again; nothing noted is lost.

Threading: one thread, which runs from the first `start` to `stop`; the methods are for any other and return
at once. `Listener` is called on that thread. Failure: a `UserError` is said to the listener, and the thread
goes on; a bug is logged, and it goes on as well, since views must not stand still for it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from reverie.errors import UserError
from reverie.files.watch import Changes
from reverie.services.drafts import LostSave
from reverie.services.workbench import Workbench
from reverie.values import Struct, replace

log = logging.getLogger("reverie.engine")

_AGAIN_S = 1.0
STOP_S = 2.0


class Listener(Struct, frozen=True):
    """Who hears of it."""

    recorded: Callable[[int], None]
    """What was noted is in the history: the marks of what was seen may have changed. With the number of pins
    and uses that the agent overwrote and that were put back, the first time it is told."""
    overwritten: Callable[[tuple[LostSave, ...]], None]
    """Another program overwrote a save; a draft keeps its text."""
    notify: Callable[[str], None]
    """A sentence for a person."""


class HistoryRecorder:
    """The recorder of one home."""

    def __init__(self, workbench: Workbench, listener: Listener) -> None:
        self._workbench = workbench
        self._listener = listener
        self._noted: Changes | None = None
        self._caught_up = False
        self._usage_at: float | None = 0.0
        self._stopped = False
        self._thread: threading.Thread | None = None
        self._wake = threading.Condition()

    def start(self) -> None:
        """Begin to catch up. Calling it again is harmless, after `stop` as well."""
        with self._wake:
            if self._thread is None and not self._stopped:
                self._thread = threading.Thread(target=self._run, name="reverie-history", daemon=True)
                self._thread.start()

    @property
    def is_up_to_date(self) -> bool:
        """Whether it caught up, and nothing that was noted is left to do."""
        with self._wake:
            return self._caught_up and self._noted is None

    def note(self, changes: Changes) -> None:
        """Something changed."""
        with self._wake:
            self._noted = changes if self._noted is None else self._noted.merged(changes)
            self._wake.notify()

    def stop(self) -> None:
        """Start nothing more, and wait a moment for what is under way."""
        with self._wake:
            self._stopped = True
            self._wake.notify()
        if self._thread is not None:
            self._thread.join(STOP_S)

    def _run(self) -> None:
        failed = False
        while True:
            with self._wake:
                # After a failure only a new change is a reason to try again.
                while not self._stopped and (failed or not self._has_work()):
                    woken = self._wake.wait(None if failed else self._pause_s())
                    failed = failed and not woken
                if self._stopped:
                    return
            failed = not self._tried()

    def _has_work(self) -> bool:
        return not self._caught_up or self._noted is not None or self._pause_s() == 0

    def _pause_s(self) -> float | None:
        """Seconds until pins and use are looked at again; None: not before something changes."""
        return None if self._usage_at is None else max(0.0, self._usage_at - time.monotonic())

    def _tried(self) -> bool:
        """Do what there is to do; whether it worked."""
        with self._wake:
            changes, self._noted = self._noted, None
        try:
            self._record(changes)
        except UserError as error:
            self._listener.notify(str(error))
        except Exception:
            log.exception("the history could not be brought up to date")
        else:
            return True
        if changes is not None:
            with self._wake:
                self._noted = changes if self._noted is None else changes.merged(self._noted)
        return False

    def _record(self, changes: Changes | None) -> None:
        if not self._caught_up:
            self._workbench.start_history()
            self._caught_up = True
            if changes is not None:
                # What was noted before is in there; this is for pins, use and saves.
                changes = replace(changes, rescan=False)
        if changes is not None:
            lost = self._workbench.lost_saves(changes)
            kept = self._workbench.observe(changes)
            if lost:
                self._listener.overwritten(lost)
        else:
            self._usage_at = None
            kept = self._workbench.keep_usage()
        if kept.pending:
            self._usage_at = time.monotonic() + _AGAIN_S
        self._listener.recorded(kept.announce)
