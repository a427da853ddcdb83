"""The watcher in trouble: too many events, refused watches, failing consumers, starts and stops."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from helpers.expect_log import ExpectLog
from helpers.watching import Recorder, Start, tree, wait_until
from reverie.files import watch_limits
from reverie.files.watch import Changes, Watcher, native_source
from reverie.files.watch_changes import BURST_PATHS
from reverie.files.watch_sources import EventSource, Sink, Watched, WatchTarget


class Wrapped:
    """The system's own source, with a part of it replaced."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.inner = native_source(sink)
        self.alive = True

    @property
    def watches(self) -> int:
        return self.inner.watches

    def arm(self, directories: Mapping[str, Watched]) -> frozenset[str]:
        return self.inner.arm(directories)

    def healthy(self) -> bool:
        return self.alive and self.inner.healthy()

    def close(self) -> None:
        self.inner.close()


class Factory:
    """Makes sources and keeps them. `refuse` is raised instead, `refuse_arming` by each `arm`."""

    def __init__(self, refuse: OSError | None = None, refuse_arming: OSError | None = None) -> None:
        self.made: list[Wrapped] = []
        self._refuse = refuse
        self._refuse_arming = refuse_arming

    def __call__(self, sink: Sink) -> EventSource:
        if self._refuse is not None:
            raise self._refuse
        source = Wrapped(sink)
        self.made.append(source)
        if self._refuse_arming is not None:
            self.refuse_arming(self._refuse_arming)
        return source

    def refuse_arming(self, error: OSError) -> None:
        def arm(directories: Mapping[str, Watched]) -> frozenset[str]:
            raise error

        self.made[-1].arm = arm  # type: ignore[method-assign]


def test_a_burst_of_paths_becomes_one_rescan(root: Path, seen: Recorder, start: Start) -> None:
    factory = Factory()
    start(root, source=factory)
    factory.made[0].sink.changed([f"{root}/{number}.md" for number in range(BURST_PATHS + 1)])
    seen.wait_for_reason("burst")
    assert [(batch.paths, batch.rescan, batch.events) for batch in seen.batches] == [
        (frozenset(), True, BURST_PATHS + 1)
    ]


@pytest.mark.parametrize("reason", ["overflow", "error"])
def test_trouble_replaces_the_source_and_asks_for_a_rescan(
    root: Path, seen: Recorder, start: Start, reason: str
) -> None:
    factory = Factory()
    start(root, source=factory)
    factory.made[0].sink.trouble(reason)
    seen.wait_for_reason(reason)
    assert seen.batches[-1].rescan
    assert len(factory.made) == 2
    assert not factory.made[0].inner.healthy()
    (root / "a.md").write_text("x")
    seen.wait_for(root / "a.md")


def test_endless_trouble_does_not_become_endless_rescans(root: Path, seen: Recorder, start: Start) -> None:
    factory = Factory()
    start(root, source=factory, cap_s=30.0)
    for _ in range(50):
        factory.made[-1].sink.trouble("overflow")
    seen.wait_for_reason("overflow")
    factory.made[-1].sink.trouble("overflow")
    (root / "a.md").write_text("x")
    seen.wait_for(root / "a.md")
    assert len(factory.made) == 2


def test_a_source_that_died_is_replaced(root: Path, seen: Recorder, start: Start) -> None:
    factory = Factory()
    start(root, source=factory)
    factory.made[0].alive = False
    seen.wait_for_reason("source ended")
    (root / "a.md").write_text("x")
    seen.wait_for(root / "a.md")


def test_an_error_of_ours_is_logged_once_and_does_not_leave_the_program_deaf(
    root: Path, seen: Recorder, start: Start, expect_log: ExpectLog
) -> None:
    expect_log("could not be put in order")
    factory = Factory()
    start(root, source=factory, cap_s=0.01)
    real = factory.made[0].arm
    failures: list[str] = []

    def arm(directories: Mapping[str, Watched]) -> frozenset[str]:
        failures.append("")
        raise KeyError("a bug")

    factory.made[0].arm = arm  # type: ignore[method-assign]
    wait_until(lambda: failures)
    factory.made[0].arm = real  # type: ignore[method-assign]
    seen.wait_for_reason("error")
    (root / "a.md").write_text("x")
    seen.wait_for(root / "a.md")


def refusal(number: int) -> OSError:
    return OSError(number, os.strerror(number))


@pytest.mark.parametrize(
    "factory",
    [
        Factory(refuse=refusal(errno.EMFILE)),
        Factory(refuse=refusal(errno.ENOSPC)),
        Factory(refuse_arming=refusal(errno.ENOSPC)),
    ],
    ids=["no-instance", "no-source", "no-watch"],
)
def test_refused_watches_end_in_polling_with_one_message(
    root: Path, seen: Recorder, told: list[str], start: Start, factory: Factory
) -> None:
    watcher = start(root, WatchTarget(root.parent, recursive=False, only=("x.json",)), source=factory)
    wait_until(lambda: watcher.state().mode == "polling" and watcher.state().watches)
    (root / "sub").mkdir()
    (root / "sub" / "a.md").write_text("x")
    (root.parent / "x.json").write_text("{}")
    seen.wait_for(root / "sub", root / "sub" / "a.md", root.parent / "x.json")
    (root / "sub" / "a.md").write_text("longer")
    assert len(told) == 1
    assert "fs.inotify.max_user_" in told[0] or sys.platform != "linux"
    assert watcher.state().message == told[0]


def test_a_refusal_while_running_ends_in_polling(
    root: Path, seen: Recorder, told: list[str], start: Start
) -> None:
    factory = Factory()
    watcher = start(root, source=factory)
    assert watcher.state().mode == "events"
    factory.refuse_arming(refusal(errno.ENOSPC))
    wait_until(lambda: watcher.state().mode == "polling")
    seen.wait_for(root)
    (root / "a.md").write_text("x")
    seen.wait_for(root / "a.md")
    assert len(told) == 1


def test_where_polling_is_forbidden_the_watches_there_are_stay(
    root: Path, seen: Recorder, told: list[str], start: Start
) -> None:
    factory = Factory()
    watcher = start(root, source=factory, polling="never")
    factory.refuse_arming(refusal(errno.ENOSPC))
    seen.wait_for_reason("refused")
    assert watcher.state().mode == "events"
    (root / "a.md").write_text("x")
    seen.wait_for(root / "a.md")
    assert len(told) == 1


def test_polling_on_demand_needs_no_source(root: Path, seen: Recorder, told: list[str], start: Start) -> None:
    factory = Factory(refuse=refusal(errno.EMFILE))
    watcher = start(root, source=factory, polling="always")
    wait_until(lambda: watcher.state().watches)
    (root / "a.md").write_text("x")
    seen.wait_for(root / "a.md")
    shutil.rmtree(root)
    wait_until(lambda: watcher.state().missing == (root,))
    root.mkdir()
    wait_until(lambda: watcher.state().missing == ())
    assert watcher.state().mode == "polling"
    assert told == []


def test_a_network_folder_is_polled_while_others_have_events(
    root: Path,
    seen: Recorder,
    told: list[str],
    start: Start,
    monkeypatch: pytest.MonkeyPatch,
    other_file_system: Path,
) -> None:
    """The other file system stands for a mounted share, which the table of mounts calls nfs4."""
    share, device = other_file_system, other_file_system.stat().st_dev
    monkeypatch.setattr(
        watch_limits.FileSystems, "network_kind", lambda _self, asked: "nfs4" if asked == device else ""
    )
    watcher = start(root, share, poll_s=0.02)
    wait_until(lambda: watcher.state().watches == 2)
    (root / "a.md").write_text("x")
    (share / "b.md").write_text("x")
    seen.wait_for(root / "a.md", share / "b.md")
    assert watcher.state().mode == "events"
    assert len(told) == 1
    assert "nfs4" in told[0]


# Consumers and life.


def test_a_consumer_that_fails_is_logged_once_counted_and_served_again(
    root: Path, start: Start, expect_log: ExpectLog
) -> None:
    expect_log("could not be handed over")
    good = Recorder()
    failing = True

    def deliver(changes: Changes) -> None:
        if failing:
            raise ValueError(f"{changes}")
        good(changes)

    watcher = start(root, deliver=deliver)
    wait_until(lambda: watcher.state().failures == 1)
    (root / "a.md").write_text("x")
    wait_until(lambda: watcher.state().failures == 2)
    assert watcher.state().delivered_events == 0
    failing = False
    (root / "b.md").write_text("x")
    good.wait_for(root / "b.md")
    assert good.rescans == 1
    assert good.reasons == {"failed delivery"}
    (root / "c.md").write_text("x")
    good.wait_for(root / "c.md")
    assert good.rescans == 1


def test_a_notify_that_fails_does_not_end_the_thread(
    root: Path, seen: Recorder, expect_log: ExpectLog
) -> None:
    expect_log("could not be shown")

    def notify(message: str) -> None:
        raise RuntimeError(message)

    watcher = Watcher(
        seen, quiet_s=0.01, poll_s=0.02, notify=notify, source=Factory(refuse=refusal(errno.EMFILE))
    )
    watcher.set_targets([tree(root)])
    watcher.start()
    try:
        seen.wait_for(root)
        assert watcher.state().failures == 1
    finally:
        watcher.stop()


def test_counters_tell_events_from_rescans(root: Path, seen: Recorder, start: Start) -> None:
    (root / "sub").mkdir()
    watcher = start(root)
    state = watcher.state()
    assert (state.mode, state.watches, state.delivered_events, state.delivered_rescans) == ("events", 2, 0, 1)
    (root / "a.md").write_text("x")
    seen.wait_for(root / "a.md")
    wait_until(lambda: watcher.state().delivered_events == sum(batch.events for batch in seen.batches))
    assert watcher.state().delivered_events >= 1
    assert watcher.state().delivered_rescans == 1


def test_stop_is_quick_under_load_and_nothing_comes_afterwards(
    root: Path, seen: Recorder, start: Start
) -> None:
    watcher = start(root, quiet_s=0.0, cap_s=0.0)
    halt = threading.Event()

    def write() -> None:
        number = 0
        while not halt.is_set():
            number += 1
            (root / f"{number % 50}.md").write_text("x")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        wait_until(lambda: seen.batches)
        started = time.monotonic()
        watcher.stop()
        took = time.monotonic() - started
        delivered = len(seen.batches)
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("reverie-")]
        (root / "late.md").write_text("x")
    finally:
        halt.set()
        writer.join()
    assert took < 2.0
    assert len(seen.batches) == delivered
    assert watcher.state().mode == "stopped"


def test_stop_does_not_wait_for_a_consumer_that_hangs(root: Path, start: Start) -> None:
    free, inside = threading.Event(), threading.Event()

    def deliver(_changes: Changes) -> None:
        inside.set()
        free.wait()

    watcher = start(root, deliver=deliver)
    wait_until(inside.is_set)
    started = time.monotonic()
    watcher.stop()
    took = time.monotonic() - started
    free.set()
    assert took < 2.0


def test_stop_from_within_a_delivery_is_possible(root: Path) -> None:
    stopped = threading.Event()

    def deliver(_changes: Changes) -> None:
        watcher.stop()
        stopped.set()

    watcher = Watcher(deliver, quiet_s=0.0, notify=lambda _message: None)
    watcher.set_targets([tree(root)])
    watcher.start()
    wait_until(stopped.is_set)


def test_start_twice_stop_twice_and_start_again(root: Path, seen: Recorder, start: Start) -> None:
    watcher = start(root)
    watcher.start()
    watcher.stop()
    watcher.stop()
    watcher.request_rescan("focus")
    assert seen.batches == []
    watcher.start()
    seen.wait_for_reason("start")
    (root / "a.md").write_text("x")
    seen.wait_for(root / "a.md")


def test_targets_may_change_while_running_from_another_thread(
    root: Path, tmp_path: Path, seen: Recorder, start: Start
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    watcher = start(root)

    def change() -> None:
        for _ in range(20):
            watcher.set_targets([tree(root)])
            watcher.set_targets([tree(root), tree(other)])
        watcher.set_targets([tree(other)])

    changer = threading.Thread(target=change)
    changer.start()
    changer.join()
    seen.wait_for(other)
    wait_until(lambda: watcher.state().watches == 1)
    seen.forget()
    (root / "a.md").write_text("x")
    (other / "b.md").write_text("x")
    seen.wait_for(other / "b.md")
    assert seen.paths == {other / "b.md"}


def test_a_target_that_is_added_is_dirty_once_it_is_watched(
    root: Path, tmp_path: Path, seen: Recorder, start: Start
) -> None:
    """So that what changed between the consumer's scan and the watch is not missed."""
    other = tmp_path / "other"
    other.mkdir()
    watcher = start(root)
    watcher.set_targets([tree(root), tree(other)])
    seen.wait_for(other)
    assert seen.paths == {other}
    assert seen.rescans == 0


def test_without_targets_there_is_nothing_to_do(seen: Recorder, start: Start) -> None:
    assert start().state().watches == 0


def test_importing_the_watcher_does_not_import_watchdog() -> None:
    code = "import sys, reverie.files.watch; print('watchdog' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"
