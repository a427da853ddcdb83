"""The whole watcher, with the system's own events, on real directories."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from helpers.watching import Recorder, Start, View, contents, wait_until
from reverie.files.watch import Changes
from reverie.files.watch_sources import WatchTarget

CHURN = Path(__file__).parents[2] / "helpers" / "churn.py"


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


# watchdog's reader may die of a directory that comes and goes; then the root is watched anew.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("polling", ["auto", "always"])
def test_after_a_thousand_changes_by_another_process_the_view_is_the_disk(
    root: Path, start: Start, polling: str, capsys: pytest.CaptureFixture[str]
) -> None:
    view = View(root)
    watcher = start(root, deliver=view, polling=polling, quiet_s=0.05, cap_s=0.3)
    wait_until(lambda: view.rescans)
    summary = churned(root, 1_000 if polling == "auto" else 200, seed=2)
    wait_until(lambda: view.files == contents(root))
    watcher.stop()  # a delivery is counted when the consumer has returned
    state = watcher.state()
    with capsys.disabled():
        sys.stdout.write(
            f"\n{polling}: {summary['changes']} changes in {summary['seconds']} s: "
            f"{state.delivered_events} events for {view.paths_seen} paths, "
            f"{state.delivered_rescans - 1} rescans after the first\n"
        )
    assert state.delivered_events > 0
    assert len(view.files) == summary["files"]
