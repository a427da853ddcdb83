"""The whole watcher, with the system's own events, on real directories."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from helpers.expect_log import ExpectLog
from helpers.watching import Recorder, View, contents, wait_until
from reverie.files import watch_limits
from reverie.files.coalesce import BURST_PATHS
from reverie.files.watch import Changes, Watcher, WatchTarget
from reverie.files.watch_plan import Watched
from reverie.files.watch_source import EventSource, Sink, native_source

CHURN = Path(__file__).parents[2] / "helpers" / "churn.py"

Start = Callable[..., Watcher]


def tree(path: Path) -> WatchTarget:
    return WatchTarget(path, recursive=True)


@pytest.fixture
def seen() -> Recorder:
    return Recorder()


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def start(seen: Recorder, told: list[str]) -> Iterator[Start]:
    """Starts a watcher on targets and waits for its first rescan; stops it in the end."""
    watchers: list[Watcher] = []

    def start(
        *targets: Path | WatchTarget, deliver: Callable[[Changes], None] = seen, **options: Any
    ) -> Watcher:
        options = {"quiet_s": 0.02, "cap_s": 0.3, "reconcile_s": None, "poll_s": 0.05, **options}
        watcher = Watcher(deliver, notify=told.append, **options)
        watchers.append(watcher)
        watcher.set_targets(
            [t if isinstance(t, WatchTarget) else WatchTarget(t, recursive=True) for t in targets]
        )
        watcher.start()
        if deliver is seen:
            seen.wait_for_reason("start")
            seen.forget()
        return watcher

    yield start
    for watcher in watchers:
        watcher.stop()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "memory"
    root.mkdir()
    return root


# How programs write.


def test_an_atomic_replace_is_seen_as_the_name_it_lands_on(root: Path, seen: Recorder, start: Start) -> None:
    start(root)
    temporary = root / ".a.md.tmp"
    temporary.write_text("x")
    temporary.replace(root / "a.md")
    seen.wait_for(root / "a.md")
    assert seen.paths == {root / "a.md"}


def test_a_replace_from_outside_the_root_is_seen(
    root: Path, tmp_path: Path, seen: Recorder, start: Start
) -> None:
    start(root)
    (tmp_path / "new").write_text("x")
    (tmp_path / "new").replace(root / "a.md")
    seen.wait_for(root / "a.md")


def test_a_save_as_vim_does_it_is_seen(root: Path, seen: Recorder, start: Start) -> None:
    """Swap file, the old file moved to a backup, a new one written, the backup removed."""
    file = root / "a.md"
    file.write_text("old")
    start(root)
    (root / ".a.md.swp").write_bytes(b"b0VIM")
    file.rename(root / "a.md~")
    file.write_text("new")
    (root / "a.md~").unlink()
    (root / ".a.md.swp").unlink()
    seen.wait_for(file, root / "a.md~")
    assert root / ".a.md.swp" not in seen.paths


def test_a_save_as_vs_code_does_it_is_seen(root: Path, seen: Recorder, start: Start) -> None:
    """Truncated and written in place."""
    file = root / "a.md"
    file.write_text("old")
    start(root)
    with file.open("r+") as stream:
        stream.truncate()
        stream.write("new")
    seen.wait_for(file)
    assert seen.paths == {file}


def test_moves_name_both_ends(root: Path, seen: Recorder, start: Start) -> None:
    (root / "a.md").write_text("x")
    start(root)
    (root / "a.md").rename(root / "b.md")
    seen.wait_for(root / "a.md", root / "b.md")


def test_reading_and_listing_is_never_delivered(root: Path, seen: Recorder, start: Start) -> None:
    file = root / "a.md"
    file.write_text("x")
    start(root)
    file.read_text()
    file.open(
        "r+"
    ).close()  # opened for writing, closed without: closing after writing is what is listened to
    os.scandir(root).close()
    (root / "end.md").touch()
    seen.wait_for(root / "end.md")
    assert seen.paths <= {file, root / "end.md"}
    seen.forget()
    file.read_text()
    (root / "end2.md").touch()
    seen.wait_for(root / "end2.md")
    assert seen.paths == {root / "end2.md"}


def test_a_consumer_that_reads_what_it_is_given_does_not_call_itself(root: Path, start: Start) -> None:
    view = View(root)
    batches = Recorder()

    def deliver(changes: Changes) -> None:
        view(changes)
        batches(changes)

    start(root, deliver=deliver)
    (root / "a.md").write_text("x")
    wait_until(lambda: view.files.get(str(root / "a.md")) == b"x")
    batches.forget()
    (root / "b.md").write_text("x")
    wait_until(lambda: view.files.get(str(root / "b.md")) == b"x")
    assert batches.paths == {root / "b.md"}


# Directories.


def test_a_tree_made_and_filled_at_once_is_complete(root: Path, start: Start) -> None:
    """Whatever was written before the watch stood is found by scanning the directory that is reported."""
    view = View(root)
    start(root, deliver=view)
    wait_until(lambda: view.rescans)
    for number in range(30):
        folder = root / f"{number}" / "deep" / "er"
        folder.mkdir(parents=True)
        (folder / "a.md").write_text("x")
        (folder.parent / "b.md").write_text("y")
    wait_until(lambda: view.files == contents(root))
    assert view.rescans == 1


def test_a_new_directory_is_itself_dirty(root: Path, seen: Recorder, start: Start) -> None:
    start(root)
    (root / "sub" / "deep").mkdir(parents=True)
    seen.wait_for(root / "sub")


def test_a_renamed_directory_is_followed(root: Path, seen: Recorder, start: Start) -> None:
    (root / "old" / "deep").mkdir(parents=True)
    (root / "old" / "deep" / "a.md").write_text("x")
    start(root)
    (root / "old").rename(root / "new")
    seen.wait_for(root / "old", root / "new")
    seen.forget()
    (root / "new" / "deep" / "a.md").write_text("y")
    seen.wait_for(root / "new" / "deep" / "a.md")
    assert not [path for path in seen.paths if "old" in path.parts]


def test_a_tree_that_is_moved_out_is_dirty_and_silent_afterwards(
    root: Path, tmp_path: Path, seen: Recorder, start: Start
) -> None:
    (root / "sub" / "deep").mkdir(parents=True)
    start(root)
    (root / "sub").rename(tmp_path / "out")
    seen.wait_for(root / "sub")
    seen.forget()
    (tmp_path / "out" / "deep" / "a.md").write_text("x")
    (root / "end.md").touch()
    seen.wait_for(root / "end.md")
    assert seen.paths == {root / "end.md"}


def test_a_tree_that_is_moved_in_again_is_watched_again(
    root: Path, tmp_path: Path, seen: Recorder, start: Start
) -> None:
    (root / "sub").mkdir()
    start(root)
    (root / "sub").rename(tmp_path / "out")
    seen.wait_for(root / "sub")
    (tmp_path / "out").rename(root / "back")
    seen.wait_for(root / "back")
    (root / "back" / "a.md").write_text("x")
    seen.wait_for(root / "back" / "a.md")


# Roots.


def test_a_linked_root_is_reported_under_its_given_name(
    root: Path, tmp_path: Path, seen: Recorder, start: Start
) -> None:
    link = tmp_path / "link"
    link.symlink_to(root)
    start(link)
    (root / "top.md").write_text("x")
    (root / "sub").mkdir()
    (root / "sub" / "a.md").write_text("x")
    seen.wait_for(link / "top.md", link / "sub", link / "sub" / "a.md")
    assert all(path.is_relative_to(link) for path in seen.paths)


def test_a_link_that_is_turned_elsewhere_is_noticed(
    root: Path, tmp_path: Path, seen: Recorder, start: Start
) -> None:
    other, link = tmp_path / "other", tmp_path / "link"
    other.mkdir()
    link.symlink_to(root)
    start(link)
    (tmp_path / "link.new").symlink_to(other)
    (tmp_path / "link.new").replace(link)
    seen.wait_for(link)
    (other / "a.md").write_text("x")
    seen.wait_for(link / "a.md")


def test_a_root_deleted_and_made_again_is_dirty_and_watched(root: Path, seen: Recorder, start: Start) -> None:
    watcher = start(root)
    for _ in range(3):
        shutil.rmtree(root)
        wait_until(lambda: watcher.state().missing == (root,))
        seen.wait_for(root)
        seen.forget()
        root.mkdir()
        wait_until(lambda: watcher.state().missing == ())
        seen.wait_for(root)
        seen.forget()
        (root / "a.md").write_text("x")
        seen.wait_for(root / "a.md")


def test_a_root_replaced_in_one_go_is_watched(root: Path, seen: Recorder, start: Start) -> None:
    """Too quick for anyone to see it missing, and likely with the same inode number."""
    start(root)
    for number in range(20):
        shutil.rmtree(root)
        root.mkdir()
        name = f"{number}.md"
        (root / name).write_text("x")
        wait_until(lambda name=name: seen.paths & {root, root / name})
        (root / "end.md").write_text("x")
        seen.wait_for(root / "end.md")
        seen.forget()


def test_a_root_renamed_away_and_back_is_followed(
    root: Path, tmp_path: Path, seen: Recorder, start: Start
) -> None:
    watcher = start(root)
    root.rename(tmp_path / "away")
    wait_until(lambda: watcher.state().missing == (root,))
    (tmp_path / "away" / "a.md").write_text("x")
    (tmp_path / "away").rename(root)
    wait_until(lambda: watcher.state().missing == ())
    seen.wait_for(root)
    (root / "b.md").write_text("x")
    seen.wait_for(root / "b.md")
    assert tmp_path / "away" / "a.md" not in seen.paths


def test_a_directory_above_the_root_that_is_renamed_is_noticed(
    tmp_path: Path, seen: Recorder, start: Start
) -> None:
    root = tmp_path / "home" / "agent" / "memory"
    root.mkdir(parents=True)
    watcher = start(root)
    (tmp_path / "home").rename(tmp_path / "moved")
    wait_until(lambda: watcher.state().missing == (root,))
    seen.wait_for(root)
    seen.forget()
    (tmp_path / "moved").rename(tmp_path / "home")
    seen.wait_for(root)
    (root / "a.md").write_text("x")
    seen.wait_for(root / "a.md")


def test_a_root_whose_parents_come_later_is_awaited(tmp_path: Path, seen: Recorder, start: Start) -> None:
    root = tmp_path / "home" / "agent" / "memory"
    watcher = start(root)
    assert watcher.state().missing == (root,)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "agent" / "memory").mkdir(parents=True)
    seen.wait_for(root)
    assert watcher.state().missing == ()
    (root / "a.md").write_text("x")
    seen.wait_for(root / "a.md")
    assert not [path for path in seen.paths if not path.is_relative_to(root)]


def test_a_root_that_becomes_a_file_and_a_directory_again(root: Path, seen: Recorder, start: Start) -> None:
    start(root)
    root.rmdir()
    root.write_text("x")
    seen.wait_for(root)
    seen.forget()
    root.unlink()
    root.mkdir()
    (root / "a.md").write_text("x")
    wait_until(lambda: seen.paths & {root, root / "a.md"})
    (root / "b.md").write_text("x")
    seen.wait_for(root / "b.md")


# Sidecars.


def test_only_the_named_files_of_a_directory_are_delivered(root: Path, seen: Recorder, start: Start) -> None:
    start(WatchTarget(root, recursive=False, only=("meta.json", "later.json")))
    (root / "chat.jsonl").write_text("x")
    (root / "sub").mkdir()
    (root / "meta.json.tmp").write_text("{}")
    (root / "meta.json.tmp").replace(root / "meta.json")
    (root / "later.json").write_text("{}")
    seen.wait_for(root / "meta.json", root / "later.json")
    assert seen.paths == {root / "meta.json", root / "later.json"}


def test_a_linked_sidecar_is_delivered_under_its_own_name(
    root: Path, tmp_path: Path, seen: Recorder, start: Start
) -> None:
    real = tmp_path / "dotfiles" / "agents.md"
    real.parent.mkdir()
    real.write_text("x")
    (root / "AGENTS.md").symlink_to(real)
    start(WatchTarget(root, recursive=False, only=("AGENTS.md",)))
    real.write_text("y")
    seen.wait_for(root / "AGENTS.md")


# Time.


def test_a_steady_writer_is_delivered_at_the_cap(root: Path, seen: Recorder, start: Start) -> None:
    start(root, quiet_s=5.0, cap_s=0.2)
    halt = threading.Event()

    def write() -> None:
        while not halt.wait(0.01):
            (root / "a.md").write_text("x")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        wait_until(lambda: len(seen.batches) >= 2)
    finally:
        halt.set()
        writer.join()
    assert seen.batches[0].events > 1


def test_the_reconcile_timer_asks_for_rescans(root: Path, seen: Recorder, start: Start) -> None:
    watcher = start(root, reconcile_s=0.05)
    wait_until(lambda: seen.rescans >= 3)
    assert seen.reasons == {"reconcile"}
    assert watcher.state().delivered_rescans >= 4


def test_without_a_timer_nothing_is_delivered_unasked(root: Path, seen: Recorder, start: Start) -> None:
    watcher = start(root, poll_s=0.01)
    watcher.request_rescan("focus")
    seen.wait_for_reason("focus")
    assert [(batch.paths, batch.rescan, batch.reasons) for batch in seen.batches] == [
        (frozenset(), True, ("focus",))
    ]


# Too much, and refused.


def test_a_burst_of_paths_becomes_one_rescan(root: Path, start: Start) -> None:
    """What gathers while the consumer is busy is one batch; it is the burst."""
    seen, free, busy = Recorder(), threading.Event(), threading.Event()

    def deliver(changes: Changes) -> None:
        seen(changes)
        busy.set()
        free.wait()

    start(root, deliver=deliver)
    wait_until(busy.is_set)
    try:
        for number in range(BURST_PATHS + 1):
            os.close(os.open(root / str(number), os.O_CREAT))
    finally:
        free.set()
    wait_until(lambda: seen.reasons & {"burst", "overflow"})
    assert all(not batch.paths for batch in seen.batches if "burst" in batch.reasons)


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
            source.arm = self._raise  # type: ignore[method-assign]
        return source

    def _raise(self, directories: Mapping[str, Watched]) -> frozenset[str]:
        assert self._refuse_arming is not None
        raise self._refuse_arming


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
    factory.made[0].sink.refused(refusal(errno.ENOSPC))
    factory.made[0].sink.refused(refusal(errno.ENOSPC))
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
    factory.made[0].sink.refused(refusal(errno.ENOSPC))
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


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs a second file system")
def test_a_network_folder_is_polled_while_others_have_events(
    root: Path, seen: Recorder, told: list[str], start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """/dev/shm stands for the mounted share: another device, which the table of mounts calls nfs4."""
    share = Path(tempfile.mkdtemp(dir="/dev/shm"))
    try:
        device = share.stat().st_dev
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
    finally:
        shutil.rmtree(share)


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


def test_watchdogs_observer_serves_where_there_is_no_inotify(
    root: Path, tmp_path: Path, seen: Recorder, start: Start
) -> None:
    from watchdog.observers import Observer

    from reverie.files.watch_observer import ObserverSource

    other = tmp_path / "other"
    other.mkdir()
    watcher = start(root, other, source=lambda sink: ObserverSource(sink, Observer))
    (root / "a.md").write_text("x")
    seen.wait_for(root / "a.md")
    (root / "a.md").read_text()
    (root / "a.md").rename(root / "b.md")
    seen.wait_for(root / "b.md")
    assert seen.paths == {root / "a.md", root / "b.md"}
    shutil.rmtree(root)
    wait_until(lambda: watcher.state().missing == (root,))
    root.mkdir()
    wait_until(lambda: watcher.state().missing == ())
    seen.forget()
    (root / "c.md").write_text("x")
    seen.wait_for(root / "c.md")
    watcher.set_targets([tree(other)])
    wait_until(lambda: watcher.state().watches == 1)


# Everything at once, by another process.


def churned(root: Path, count: int, seed: int) -> dict[str, Any]:
    answer = subprocess.run(
        [sys.executable, str(CHURN), str(root), str(count), str(seed)],
        capture_output=True,
        text=True,
        check=True,
    )
    summary: dict[str, Any] = json.loads(answer.stdout)
    return summary


@pytest.mark.parametrize("polling", ["auto", "always"])
def test_after_a_thousand_changes_by_another_process_the_view_is_the_disk(
    root: Path, start: Start, polling: str, capsys: pytest.CaptureFixture[str]
) -> None:
    view = View(root)
    watcher = start(root, deliver=view, polling=polling, quiet_s=0.05, cap_s=0.3)
    wait_until(lambda: view.rescans)
    summary = churned(root, 1_000 if polling == "auto" else 200, seed=2)
    wait_until(lambda: view.files == contents(root))
    state = watcher.state()
    with capsys.disabled():
        sys.stdout.write(
            f"\n{polling}: {summary['changes']} changes in {summary['seconds']} s: "
            f"{state.delivered_events} events for {view.paths_seen} paths, "
            f"{state.delivered_rescans - 1} rescans after the first\n"
        )
    assert state.delivered_events > 0
    assert len(view.files) == summary["files"]
