"""Every job ends in exactly one way, whatever happens to it, its thread or its owner."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QThread

from reverie.errors import UserError
from reverie.ui.jobs import JobControl, Lane


class Ends:
    """Collects what is said of one job."""

    def __init__(self) -> None:
        self.said: list[tuple[str, Any]] = []
        self.progress: list[Any] = []

    def of(self, kind: str) -> list[Any]:
        return [value for found, value in self.said if found == kind]

    def handlers(self) -> dict[str, Any]:
        return {
            "done": lambda value: self.said.append(("done", value)),
            "failed": lambda error: self.said.append(("failed", error)),
            "cancelled": lambda: self.said.append(("cancelled", None)),
            "progress": self.progress.append,
        }


@pytest.fixture
def lane(qapp: QCoreApplication) -> Iterator[Lane]:
    made = Lane("test")
    yield made
    assert made.stop()


def test_work_runs_on_the_lanes_thread_and_ends_in_the_gui_thread(qtbot: Any, lane: Lane) -> None:
    threads: list[QThread] = []
    ends = Ends()

    def work(_control: JobControl) -> int:
        threads.append(QThread.currentThread())
        return 7

    def done(value: int) -> None:
        threads.append(QThread.currentThread())
        ends.said.append(("done", value))

    lane.submit("work", work, done=done)
    qtbot.waitUntil(lambda: bool(ends.said))
    assert ends.said == [("done", 7)]
    assert threads[0] is not threads[1]
    assert threads[1] is QThread.currentThread()


def test_what_a_person_can_mend_reaches_the_jobs_own_handler(qtbot: Any, lane: Lane) -> None:
    ends = Ends()

    def work(_control: JobControl) -> None:
        raise UserError("Not done:", cause="the disk is full.")

    lane.submit("work", work, **ends.handlers())
    qtbot.waitUntil(lambda: bool(ends.said))
    assert [str(error) for error in ends.of("failed")] == ["Not done: the disk is full."]


def test_a_failure_without_a_handler_is_told_by_the_lane(qtbot: Any, lane: Lane) -> None:
    def work(_control: JobControl) -> None:
        raise UserError("Not done")

    with qtbot.waitSignal(lane.unclaimed) as told:
        lane.submit("work", work, done=lambda _value: None)
    assert str(told.args[0]) == "Not done"


def test_a_bug_goes_to_the_crash_path_and_the_job_still_ends(
    qtbot: Any, lane: Lane, monkeypatch: pytest.MonkeyPatch
) -> None:
    crashes: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, _error, _trace: crashes.append(kind))
    ends = Ends()

    def work(_control: JobControl) -> None:
        raise ZeroDivisionError

    lane.submit("work", work, **ends.handlers())
    qtbot.waitUntil(lambda: bool(ends.said))
    assert crashes == [ZeroDivisionError]
    assert [error.reason for error in ends.of("failed")] == ["bug"]


def test_a_job_that_notices_its_token_ends_as_cancelled(qtbot: Any, lane: Lane) -> None:
    begun = threading.Event()
    ends = Ends()

    def work(control: JobControl) -> None:
        begun.set()
        control.cancel.wait(10)
        control.check()

    ticket = lane.submit("work", work, **ends.handlers())
    assert begun.wait(10)
    ticket.cancel()
    qtbot.waitUntil(lambda: bool(ends.said))
    assert ends.said == [("cancelled", None)]


def test_a_cancelled_job_that_had_finished_is_finished(qtbot: Any, lane: Lane) -> None:
    ends = Ends()

    def work(control: JobControl) -> str:
        control.cancel.wait(10)
        return "kept"

    lane.submit("work", work, **ends.handlers()).cancel()
    qtbot.waitUntil(lambda: bool(ends.said))
    assert ends.said[0][0] in ("done", "cancelled")  # cancelled if it had not begun yet
    assert len(ends.said) == 1


def test_a_newer_job_of_the_group_supersedes_and_the_stale_answer_is_dropped(qtbot: Any, lane: Lane) -> None:
    go = threading.Event()
    first, second = Ends(), Ends()

    def slow(_control: JobControl) -> str:
        go.wait(10)
        return "old"

    lane.submit("old", slow, group="view", **first.handlers())
    lane.submit("new", lambda _control: "new", group="view", **second.handlers())
    assert first.said == [("cancelled", None)]
    go.set()
    qtbot.waitUntil(lambda: bool(second.said))
    assert second.said == [("done", "new")]
    assert first.said == [("cancelled", None)]


def test_progress_is_delivered_in_order_and_before_the_end(qtbot: Any, lane: Lane) -> None:
    ends = Ends()

    def work(control: JobControl) -> None:
        for number in range(5000):
            control.report(number)

    lane.submit("work", work, **ends.handlers())
    qtbot.waitUntil(lambda: bool(ends.said))
    assert ends.progress == list(range(5000))


def test_stopping_under_load_ends_every_job_once(qtbot: Any, qapp: QCoreApplication) -> None:
    lane = Lane("loaded")
    begun = threading.Event()

    def work(control: JobControl) -> None:
        begun.set()
        control.cancel.wait(10)

    jobs = [Ends() for _ in range(20)]
    for ends in jobs:
        lane.submit("work", work, **ends.handlers())
    assert begun.wait(10)
    assert lane.stop()
    qapp.processEvents()
    assert [ends.said for ends in jobs] == [[("cancelled", None)]] * 20
    assert lane.stop(), "a second stop is harmless"


def test_after_a_stop_a_job_ends_at_once(qapp: QCoreApplication) -> None:
    lane = Lane("stopped")
    lane.stop()
    ends = Ends()
    lane.submit("work", lambda _control: 1, **ends.handlers())
    assert ends.said == [("cancelled", None)]


def test_a_thread_that_will_not_end_is_reported_and_kept(qapp: QCoreApplication, expect_log: Any) -> None:
    expect_log("did not stop", logger="reverie.jobs")
    lane = Lane("stubborn")
    begun, go = threading.Event(), threading.Event()

    def work(_control: JobControl) -> None:
        begun.set()
        go.wait(10)

    lane.submit("work", work, done=lambda _value: None)
    assert begun.wait(10)
    assert not lane.stop(limit_ms=50)
    from reverie.ui.jobs import _stuck, stuck_lanes

    assert lane in stuck_lanes()
    go.set()
    assert lane.stop()
    _stuck.clear()


def test_busy_is_told_from_the_first_job_to_the_last(qtbot: Any, lane: Lane) -> None:
    told: list[bool] = []
    lane.busy_changed.connect(told.append)
    for _ in range(3):
        lane.submit("work", lambda _control: None, done=lambda _value: None)
    qtbot.waitUntil(lambda: not lane.busy)
    assert told == [True, False]
