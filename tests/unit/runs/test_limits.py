"""What stops a run, and the words for it."""

from __future__ import annotations

import threading

import pytest

from reverie.errors import StoreError
from reverie.runs.stops import Cancelled, Stop, StopCheck, TimedOut, stop_of
from reverie.runs.transaction import LeaseLost


def test_a_check_passes_until_something_stops_the_run() -> None:
    cancel, lost = threading.Event(), threading.Event()
    StopCheck(cancel, lost, 60).check()
    with pytest.raises(TimedOut):
        StopCheck(cancel, lost, -1).check()
    lost.set()
    with pytest.raises(LeaseLost):
        StopCheck(cancel, lost, 60).check()
    cancel.set()
    with pytest.raises(Cancelled):
        StopCheck(cancel, lost, 60).check()


def test_each_stop_is_told_with_what_to_do_next() -> None:
    assert stop_of(Cancelled(), 3) == Stop("cancelled", "Cancelled", "cancelled")
    timeout = stop_of(TimedOut(), 3)
    assert timeout.outcome == "failed"
    assert "3 s" in timeout.why
    assert timeout.next_step
    fixable = stop_of(StoreError("No.", cause="Because.", next_step="Do.", reason="why"), 3)
    assert fixable == Stop("failed", "No. Because", "why", "Do.")


def test_a_bug_is_not_told_as_a_cancellation_nor_a_kill_as_a_bug() -> None:
    bug, kill = stop_of(ValueError("x"), 3), stop_of(KeyboardInterrupt(), 3)
    assert (bug.outcome, bug.reason) == ("failed", "bug")
    assert (kill.outcome, kill.reason) == ("cancelled", "cancelled")
