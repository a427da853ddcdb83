from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from reverie.files.watch_changes import BURST_PATHS, Changes, Coalescer

QUIET, CAP = 0.15, 1.0


def coalescer(burst_paths: int = BURST_PATHS) -> Coalescer:
    return Coalescer(quiet_s=QUIET, cap_s=CAP, burst_paths=burst_paths)


def test_nothing_added_is_never_due() -> None:
    batch = coalescer()
    assert batch.due() is None
    assert batch.take(1e9) is None


def test_an_empty_set_of_paths_starts_no_batch() -> None:
    batch = coalescer()
    batch.add([], now=1.0)
    assert batch.due() is None


def test_a_batch_waits_for_quiet_and_no_longer() -> None:
    batch = coalescer()
    batch.add(["/a"], now=10.0, events=1)
    assert batch.take(10.14) is None
    changes = batch.take(10.15)
    assert changes == Changes(frozenset({Path("/a")}), rescan=False, events=1, reasons=())
    assert batch.due() is None


def test_each_event_starts_the_quiet_time_again() -> None:
    batch = coalescer()
    batch.add(["/a"], now=10.0, events=1)
    batch.add(["/b"], now=10.1, events=1)
    assert batch.take(10.2) is None
    assert batch.take(10.25) is not None


def test_a_steady_writer_is_delivered_at_the_cap() -> None:
    batch = coalescer()
    for step in range(20):
        now = 10.0 + step * 0.1
        taken = batch.take(now)
        if taken is not None:
            assert now == pytest.approx(10.0 + CAP)
            assert taken.events == 10
            return
        batch.add(["/a"], now=now, events=1)
    pytest.fail("a steady writer postponed the batch for ever")


def test_all_paths_arrive_not_only_first_and_last() -> None:
    batch = coalescer()
    for number in range(6):
        batch.add([f"/{number}"], now=1.0, events=1)
    changes = batch.take(2.0)
    assert changes is not None
    assert changes.paths == {Path(f"/{number}") for number in range(6)}


def test_a_burst_becomes_a_rescan_and_keeps_no_paths() -> None:
    batch = coalescer(burst_paths=10)
    batch.add([f"/{number}" for number in range(11)], now=1.0, events=11)
    batch.add(["/late"], now=1.0, events=1)
    changes = batch.take(2.0)
    assert changes == Changes(frozenset(), rescan=True, events=12, reasons=("burst",))


def test_exactly_the_limit_is_no_burst_and_the_next_batch_starts_anew() -> None:
    batch = coalescer(burst_paths=10)
    batch.add([f"/{number}" for number in range(10)], now=1.0, events=10)
    changes = batch.take(2.0)
    assert changes is not None
    assert not changes.rescan
    batch.add(["/a"], now=3.0, events=1)
    assert batch.take(4.0) == Changes(frozenset({Path("/a")}), rescan=False, events=1, reasons=())


def test_a_rescan_keeps_the_paths_that_were_named_as_well() -> None:
    batch = coalescer()
    batch.add(["/a"], now=1.0, events=1)
    batch.request_rescan("focus", now=1.0)
    batch.request_rescan("focus", now=1.0)
    assert batch.take(2.0) == Changes(frozenset({Path("/a")}), rescan=True, events=1, reasons=("focus",))


def test_an_owed_rescan_waits_for_the_next_batch() -> None:
    batch = coalescer()
    batch.owe_rescan("failed delivery")
    assert batch.due() is None
    batch.add(["/a"], now=1.0, events=1)
    changes = batch.take(2.0)
    assert changes is not None
    assert changes.rescan


@pytest.mark.parametrize(
    ("path", "touched"),
    [
        ("/home/notes", True),
        ("/home/notes/a.md", True),
        ("/home", True),
        ("/home/notes2", False),
        ("/other", False),
    ],
)
def test_changes_touch_what_is_at_below_and_above_a_path(path: str, touched: bool) -> None:
    changes = Changes(frozenset({Path("/home/notes")}), rescan=False, events=1, reasons=())
    assert changes.touches(Path(path)) is touched


def test_a_rescan_touches_everything() -> None:
    assert Changes(frozenset(), rescan=True, events=0, reasons=()).touches(Path("/anything"))


Step = tuple[float, str]


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(st.floats(0.0, 0.7), st.sampled_from("abcdefgh")), min_size=1, max_size=40))
def test_whatever_is_added_is_covered_between_quiet_time_and_cap(steps: list[Step]) -> None:
    """A consumer that polls every millisecond: each path is delivered after it was added, within the cap."""
    batch = coalescer(burst_paths=5)
    waiting: dict[str, float] = {}
    now = 0.0

    def check(changes: Changes | None, at: float) -> None:
        if changes is None:
            return
        covered = set(waiting) if changes.rescan else {str(path)[1:] for path in changes.paths}
        assert covered == set(waiting)
        assert all(at - added <= CAP + 1e-6 for added in waiting.values())
        waiting.clear()

    for pause, name in steps:
        due = batch.due()
        if due is not None and due <= now + pause:
            check(batch.take(due), due)
        now += pause
        batch.add([f"/{name}"], now=now, events=1)
        waiting.setdefault(name, now)
    due = batch.due()
    assert due is not None
    check(batch.take(due), due)
    assert not waiting
