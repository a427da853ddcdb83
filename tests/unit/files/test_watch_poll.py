from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from helpers.watching import wait_until
from reverie.files.watch_poller import PolledState, Poller, differences, snapshot_of
from reverie.files.watch_sources import WatchTarget

NOW_NS = time.time_ns()


def snapshot(target: WatchTarget, before: PolledState | None = None, now_ns: int = NOW_NS) -> PolledState:
    return dict(snapshot_of(target, before or {}, now_ns))


def names(paths: Sequence[str], top: Path) -> set[str]:
    return {os.path.relpath(path, top) for path in paths}


def test_what_came_went_and_changed_is_the_difference(tmp_path: Path) -> None:
    for name in ("same.md", "gone.md", "changed.md"):
        (tmp_path / name).write_text("x")
    target = WatchTarget(tmp_path, recursive=True)
    before = snapshot(target)
    (tmp_path / "gone.md").unlink()
    (tmp_path / "changed.md").write_text("longer")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "new.md").write_text("x")
    found = differences(before, snapshot(target))
    assert names(found, tmp_path) == {".", "gone.md", "changed.md", "sub", "sub/new.md"}


def test_what_came_and_went_between_two_looks_marks_its_directory(tmp_path: Path) -> None:
    """Somebody who scanned the directory meanwhile has seen it, and must learn that it is gone."""
    (tmp_path / "sub").mkdir()
    os.utime(tmp_path / "sub", (1, 1))
    target = WatchTarget(tmp_path, recursive=True)
    before = snapshot(target)
    (tmp_path / "sub" / "short").mkdir()
    (tmp_path / "sub" / "short").rmdir()
    assert names(differences(before, snapshot(target)), tmp_path) == {"sub"}


def test_what_was_changed_lately_is_reported_once_more_when_it_has_settled(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("x")
    target = WatchTarget(file, recursive=False)
    looks = [snapshot(target, now_ns=file.stat().st_mtime_ns + age * 1_000_000_000) for age in (0, 1, 3, 9)]
    found = [differences(before, now) for before, now in pairwise(looks)]
    assert found == [[], [str(file)], []]


def test_a_replaced_file_of_same_size_and_time_differs(tmp_path: Path) -> None:
    file, other = tmp_path / "a.md", tmp_path / "b.tmp"
    file.write_text("one")
    target = WatchTarget(tmp_path, recursive=True)
    before = snapshot(target)
    status, folder = file.stat(), tmp_path.stat()
    other.write_text("two")
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(file)
    os.utime(tmp_path, ns=(folder.st_atime_ns, folder.st_mtime_ns))
    assert names(differences(before, snapshot(target)), tmp_path) == {"a.md"}


def test_hidden_names_and_links_below_the_root_are_not_entered(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path)
    assert names(list(snapshot(WatchTarget(tmp_path, recursive=True))), tmp_path) == {".", "loop"}


def test_a_linked_root_is_looked_at_under_its_given_name(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.md").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    found = snapshot(WatchTarget(tmp_path / "link", recursive=True))
    assert names(list(found), tmp_path) == {"link", "link/a.md"}


def test_only_the_named_files_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "meta.json").write_text("{}")
    (tmp_path / "chat.jsonl").write_text("{}")
    target = WatchTarget(tmp_path, recursive=False, only=("meta.json", "none.json"))
    assert names(list(snapshot(target)), tmp_path) == {"meta.json"}


def test_a_missing_root_is_empty_and_a_flat_target_stays_flat(tmp_path: Path) -> None:
    assert snapshot(WatchTarget(tmp_path / "none", recursive=True)) == {}
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.md").write_text("x")
    assert names(list(snapshot(WatchTarget(tmp_path, recursive=False))), tmp_path) == {".", "sub"}


def test_a_directory_that_cannot_be_read_keeps_what_was_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.md").write_text("x")
    target = WatchTarget(tmp_path, recursive=True)
    before = snapshot(target)
    real = os.scandir

    def flaky(path: str) -> object:
        if str(path).endswith("sub"):
            raise OSError(5, "the share is not responding")
        return real(path)

    monkeypatch.setattr(os, "scandir", flaky)
    assert differences(before, snapshot(target, before)) == []


@pytest.fixture
def reports() -> list[str]:
    return []


@pytest.fixture
def poller(reports: list[str]) -> Iterator[Poller]:
    poller = Poller(interval_s=0.01, report=reports.extend)
    yield poller
    poller.close()


def test_a_new_target_is_reported_whole_then_by_difference(
    poller: Poller, reports: list[str], tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    poller.set_targets([WatchTarget(tmp_path, recursive=True)])
    wait_until(lambda: reports == [str(tmp_path)])
    assert poller.watches == 2
    (tmp_path / "a.md").write_text("x")
    wait_until(lambda: str(tmp_path / "a.md") in reports)


def test_a_root_that_vanishes_and_returns_is_reported(
    poller: Poller, reports: list[str], tmp_path: Path
) -> None:
    root = tmp_path / "root"
    poller.set_targets([WatchTarget(root, recursive=True)])
    wait_until(lambda: poller.missing == (root,))
    reports.clear()
    root.mkdir()
    wait_until(lambda: str(root) in reports)
    assert poller.missing == ()
    reports.clear()
    root.rmdir()
    wait_until(lambda: str(root) in reports)


def test_a_target_that_is_dropped_is_forgotten(poller: Poller, reports: list[str], tmp_path: Path) -> None:
    poller.set_targets([WatchTarget(tmp_path, recursive=True)])
    wait_until(lambda: reports)
    poller.set_targets([])
    wait_until(lambda: poller.watches == 0)
