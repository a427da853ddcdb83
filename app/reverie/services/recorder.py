"""The recorder of outside changes in the history of a home, as the watcher of the home reports them.

It first records everything that changed since the home was last watched, then one batch of changes at a time;
pins and use counts that the agent overwrote are restored. After a failure the next change tries again; no
change is lost.

Threading: a `HistoryRecorder` has a thread of its own, on which its callbacks are called; every method from
any thread. Failure: reported by `notify`; a bug is logged, and the thread goes on, because views must not
wait for it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from reverie.errors import UserError
from reverie.files.watch import Changes
from reverie.services.views import LostSave
from reverie.services.workbench import Workbench
from reverie.values import replace

log = logging.getLogger("reverie.history")

_AGAIN_S = 1.0
STOP_S = 2.0
VIEWS_FIRST_S = 0.1
"""Seconds for which a change waits to be recorded, so that the views are updated first."""


class HistoryRecorder:
    """Records in the history of one home the changes that other programs make, on a thread of its own.

    `recorded` is called after changes have been recorded, because other memories may now be unseen; its
    argument is the number of restored pins and use counts that were not reported before. `overwritten` is
    called with Reverie's saves that another program overwrote; their texts are kept as drafts. `notify` is
    called with a sentence for the user.
    """

    def __init__(
        self,
        workbench: Workbench,
        *,
        recorded: Callable[[int], None],
        overwritten: Callable[[tuple[LostSave, ...]], None],
        notify: Callable[[str], None],
    ) -> None:
        self._workbench = workbench
        self._recorded = recorded
        self._overwritten = overwritten
        self._notify = notify
        self._noted: Changes | None = None
        self._caught_up = False
        self._usage_at: float | None = 0.0
        self._stopped = False
        self._thread: threading.Thread | None = None
        self._wake = threading.Condition()

    def start(self) -> None:
        """Start recording, first the changes made until now.

        Repeated calls are harmless; does nothing after `stop`.
        """
        with self._wake:
            if self._thread is None and not self._stopped:
                self._thread = threading.Thread(target=self._run, name="reverie-history", daemon=True)
                self._thread.start()

    def note(self, changes: Changes) -> None:
        """Record these changes in the history, after a short delay; returns at once."""
        with self._wake:
            self._noted = changes if self._noted is None else self._noted.merged(changes)
            self._wake.notify()

    def stop(self) -> None:
        """Stop recording; wait a moment for the present work to end."""
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
                self._wake.wait_for(lambda: self._stopped, VIEWS_FIRST_S)
                if self._stopped:
                    return
            failed = not self._tried()

    def _has_work(self) -> bool:
        return not self._caught_up or self._noted is not None or self._pause_s() == 0

    def _pause_s(self) -> float | None:
        """Return the seconds until pins and usage are checked again; None if only a change starts a check."""
        return None if self._usage_at is None else max(0.0, self._usage_at - time.monotonic())

    def _tried(self) -> bool:
        """Try to record the changes noted so far; return True if that succeeded."""
        with self._wake:
            changes, self._noted = self._noted, None
        try:
            self._record(changes)
        except UserError as error:
            self._notify(str(error))
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
                # The history has these changes already; only pins, use counts and saves are still checked.
                changes = replace(changes, rescan=False)
        if changes is not None:
            lost = self._workbench.lost_saves(changes)
            kept = self._workbench.observe(changes)
            if lost:
                self._overwritten(lost)
        else:
            self._usage_at = None
            kept = self._workbench.keep_usage()
        if kept.pending:
            self._usage_at = time.monotonic() + _AGAIN_S
        self._recorded(kept.announce)
