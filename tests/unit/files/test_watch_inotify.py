"""Watchdog's observer on Linux: the kernel's own events, and what watchdog does not tell of them."""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from helpers.watching import Recorder, Start, locate, wait_until
from reverie.files.watch_sources import Watched, WatchTarget

if sys.platform != "linux":
    pytest.skip("inotify is Linux's", allow_module_level=True)

from watchdog.observers.inotify import InotifyObserver

from reverie.files.directory import Directory
from reverie.files.watch import native_source
from reverie.files.watch_observer import ObserverSource
from reverie.files.watch_sources import EventSource


class Ear:
    """A sink that remembers, and can be held to make the kernel's queue fill."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.troubles: list[str] = []
        self.root_changes = 0
        self.free = threading.Event()
        self.free.set()
        self.held = threading.Event()

    def changed(self, paths: Sequence[str]) -> None:
        self.held.set()
        self.free.wait()
        self.heard.extend(paths)

    def roots_changed(self) -> None:
        self.root_changes += 1

    def trouble(self, reason: str) -> None:
        self.troubles.append(reason)

    def wait_for(self, *paths: Path) -> None:
        wait_until(lambda: {str(path) for path in paths} <= set(self.heard), f"{paths} in {self.heard[-20:]}")


@pytest.fixture
def ear() -> Ear:
    return Ear()


@pytest.fixture
def source(ear: Ear) -> Iterator[EventSource]:
    source = native_source(ear)
    yield source
    ear.free.set()
    source.close()


def armed(source: EventSource, *roots: Path) -> frozenset[str]:
    directories: dict[str, Watched] = {}
    for root in roots:
        directories |= locate(WatchTarget(root, recursive=True)).directories
    return source.arm(directories)


def wait_for_watches(source: EventSource, count: int, *roots: Path) -> None:
    """Watches are counted when the source is armed, as the session does at each look."""

    def counted() -> bool:
        armed(source, *roots)
        return source.watches == count

    wait_until(counted, f"{count} watches")


def test_reading_is_never_heard(source: EventSource, ear: Ear, tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("x")
    armed(source, tmp_path)
    file.read_text()
    list(os.scandir(tmp_path))
    (tmp_path / "end.md").touch()
    ear.wait_for(tmp_path / "end.md")
    assert str(file) not in ear.heard
    assert str(tmp_path) not in ear.heard


def test_a_new_tree_is_heard_with_what_was_in_it_and_is_watched(
    source: EventSource, ear: Ear, tmp_path: Path
) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    root.mkdir()
    (outside / "deep" / "er").mkdir(parents=True)
    (outside / "deep" / "er" / "a.md").write_text("x")
    armed(source, root)
    outside.rename(root / "in")
    ear.wait_for(root / "in", root / "in" / "deep" / "er" / "a.md")
    (root / "in" / "deep" / "er" / "b.md").write_text("x")
    ear.wait_for(root / "in" / "deep" / "er" / "b.md")
    wait_for_watches(source, 4, root)


def test_a_tree_moved_out_is_forgotten(source: EventSource, ear: Ear, tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "in" / "deep").mkdir(parents=True)
    armed(source, root)
    assert source.watches == 3
    (root / "in").rename(outside)
    ear.wait_for(root / "in")
    wait_until(lambda: ear.root_changes)
    assert armed(source, root) == {str(root)}
    assert source.watches == 1
    (outside / "deep" / "a.md").write_text("x")
    (root / "end.md").touch()
    ear.wait_for(root / "end.md")
    assert not [path for path in ear.heard if path.endswith("a.md")]


def test_a_renamed_directory_speaks_under_its_new_name(source: EventSource, ear: Ear, tmp_path: Path) -> None:
    (tmp_path / "old" / "deep").mkdir(parents=True)
    armed(source, tmp_path)
    (tmp_path / "old").rename(tmp_path / "new")
    ear.wait_for(tmp_path / "old", tmp_path / "new")
    (tmp_path / "new" / "deep" / "a.md").write_text("x")
    ear.wait_for(tmp_path / "new" / "deep" / "a.md")
    wait_for_watches(source, 3, tmp_path)
    assert ear.root_changes == 0


def test_a_watcher_hears_folders_that_exchange_their_names_again_and_again(
    root: Path, seen: Recorder, start: Start
) -> None:
    for name in ("one", "other"):
        (root / name / "deep").mkdir(parents=True)
    start(root)
    for number in range(3):
        with Directory.open(root) as directory:
            if not directory.exchange("one", "other"):
                pytest.skip("this file system exchanges no names")
        seen.wait_for(root)
        time.sleep(0.2)  # it is watched anew by now
        seen.forget()
        for name in ("one", "other"):
            (root / name / "deep" / f"{number}.md").write_text("x")
            seen.wait_for(root / name / "deep" / f"{number}.md")


def test_folders_that_exchanged_their_names_speak_under_the_new_ones(
    source: EventSource, ear: Ear, tmp_path: Path
) -> None:
    for name in ("one", "other"):
        (tmp_path / name / "deep").mkdir(parents=True)
    armed(source, tmp_path)
    with Directory.open(tmp_path) as directory:
        if not directory.exchange("one", "other"):
            pytest.skip("this file system exchanges no names")
    wait_until(lambda: ear.root_changes > 0, "the root is to be watched anew")
    assert armed(source, tmp_path) == {str(tmp_path)}
    ear.heard.clear()
    for name in ("one", "other"):
        (tmp_path / name / "note.md").write_text("x")
        (tmp_path / name / "deep" / "note.md").write_text("x")
        ear.wait_for(tmp_path / name / "note.md", tmp_path / name / "deep" / "note.md")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_moved_out_replaced_and_both_removed_leaves_nobody_deaf(
    root: Path, tmp_path: Path, seen: Recorder, start: Start
) -> None:
    """The sequence that ends the reader thread of watchdog 7.1."""
    (root / "a").mkdir()
    start(root)
    for number in range(20):
        (root / "a").rename(tmp_path / "outside")
        (root / "a").mkdir()
        time.sleep(0.1)  # the new one is under watch by now
        (root / "a").rmdir()
        (tmp_path / "outside").rmdir()
        wait_until(lambda: root in seen.paths or "source ended" in seen.reasons)
        (root / "end.md").write_text(str(number))
        wait_until(lambda: root / "end.md" in seen.paths or "source ended" in seen.reasons)
        if "source ended" in seen.reasons:
            break
        seen.forget()
        (root / "a").mkdir()
        seen.wait_for(root / "a")
    assert seen.rescans, "the reader thread lived, so this test shows nothing"
    seen.forget()
    (root / "end.md").touch()
    seen.wait_for(root / "end.md")


def test_a_directory_moved_over_an_empty_one_is_watched(
    source: EventSource, ear: Ear, tmp_path: Path
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "empty").mkdir()
    armed(source, tmp_path)
    (tmp_path / "full").rename(tmp_path / "empty")
    ear.wait_for(tmp_path / "empty")
    (tmp_path / "empty" / "a.md").write_text("x")
    ear.wait_for(tmp_path / "empty" / "a.md")
    wait_for_watches(source, 2, tmp_path)


def test_a_flat_watch_does_not_grow(source: EventSource, ear: Ear, tmp_path: Path) -> None:
    source.arm(locate(WatchTarget(tmp_path, recursive=False)).directories)
    (tmp_path / "sub").mkdir()
    ear.wait_for(tmp_path / "sub")
    (tmp_path / "sub" / "a.md").write_text("x")
    (tmp_path / "end.md").touch()
    ear.wait_for(tmp_path / "end.md")
    assert str(tmp_path / "sub" / "a.md") not in ear.heard
    assert source.watches == 1


def test_arming_again_changes_nothing_until_the_root_is_gone(
    source: EventSource, ear: Ear, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    assert armed(source, root) == {str(root)}
    assert armed(source, root) == frozenset()
    root.rmdir()
    wait_until(lambda: ear.root_changes)
    root.mkdir()
    assert armed(source, root) == {str(root)}
    (root / "a.md").touch()
    ear.wait_for(root / "a.md")


def test_what_is_not_wanted_any_more_is_let_go(source: EventSource, ear: Ear, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    (one / "deep").mkdir(parents=True)
    two.mkdir()
    armed(source, one, two)
    assert source.watches == 3
    assert armed(source, two) == frozenset()
    assert source.watches == 1
    (one / "deep" / "a.md").touch()
    (two / "b.md").touch()
    ear.wait_for(two / "b.md")
    assert ear.heard == [str(two / "b.md")] * len(ear.heard)


def test_symlinks_are_not_followed(source: EventSource, ear: Ear, tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "loop").symlink_to(root)
    (root / "out").symlink_to(outside)
    armed(source, root)
    assert source.watches == 1


def test_names_that_are_not_utf_8_are_heard(source: EventSource, ear: Ear, tmp_path: Path) -> None:
    armed(source, tmp_path)
    name = os.fsencode(tmp_path) + b"/caf\xe9.md"
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
    ear.wait_for(Path(os.fsdecode(name)))


def test_a_hidden_directory_that_shows_is_heard(source: EventSource, ear: Ear, tmp_path: Path) -> None:
    (tmp_path / ".git" / "objects").mkdir(parents=True)
    armed(source, tmp_path)
    (tmp_path / ".cache").mkdir()
    ear.wait_for(tmp_path / ".cache")
    (tmp_path / ".git").rename(tmp_path / "git")
    ear.wait_for(tmp_path / "git", tmp_path / "git" / "objects")
    (tmp_path / "git" / "objects" / "a.md").touch()
    ear.wait_for(tmp_path / "git" / "objects" / "a.md")


class Closed(ObserverSource):
    """Nobody is kept out who runs the tests as root, so it is played that one directory is not watched."""

    without = 0

    def _watched_inodes(self) -> set[int]:
        return super()._watched_inodes() - {self.without}


def test_a_directory_opened_to_us_later_is_watched(ear: Ear, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    source = Closed(ear, InotifyObserver)
    try:
        armed(source, tmp_path)
        source.without = closed.stat().st_ino
        closed.chmod(0o755)
        wait_until(lambda: armed(source, tmp_path) == {str(tmp_path)})
    finally:
        source.close()


def test_a_change_of_mode_alone_is_not_heard(source: EventSource, ear: Ear, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.md").touch()
    armed(source, tmp_path)
    (tmp_path / "sub").chmod(0o700)
    (tmp_path / "a.md").chmod(0o600)
    (tmp_path / "end.md").touch()
    ear.wait_for(tmp_path / "end.md")
    assert set(ear.heard) == {str(tmp_path / "end.md")}


def test_a_new_time_of_a_file_with_a_hidden_name_is_heard(
    source: EventSource, ear: Ear, tmp_path: Path
) -> None:
    lock, plain = tmp_path / ".lock", tmp_path / "a.md"
    lock.touch()
    plain.touch()
    armed(source, tmp_path)
    os.utime(plain, (1, 1))
    os.utime(lock, (1, 1))
    ear.wait_for(lock)
    assert str(plain) not in ear.heard


class Refusing(InotifyObserver):
    """Refuses further watches once `left` have been given."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self._left = left

    def schedule(self, *arguments: Any, **named: Any) -> Any:
        if self._left <= 0:
            raise OSError(errno.ENOSPC, "no more watches")
        self._left -= 1
        return super().schedule(*arguments, **named)


def test_a_limit_below_the_root_is_not_kept_silent(ear: Ear, tmp_path: Path) -> None:
    """The root is watched; one more watch is refused, so some below may be as well."""
    source = ObserverSource(ear, partial(Refusing, 1))
    try:
        with pytest.raises(OSError, match="no more watches"):
            armed(source, tmp_path)
        assert armed(source, tmp_path) == frozenset()
        source.arm({})
        assert source.watches == 0
    finally:
        source.close()


def test_a_refusal_of_a_later_directory_is_reported(ear: Ear, tmp_path: Path) -> None:
    source = Closed(ear, partial(Refusing, 2))
    try:
        armed(source, tmp_path)
        (tmp_path / "sub").mkdir()
        source.without = (tmp_path / "sub").stat().st_ino
        ear.wait_for(tmp_path / "sub")
        with pytest.raises(OSError, match="no more watches"):
            armed(source, tmp_path)
        assert source.healthy()
    finally:
        source.close()


def test_a_thread_that_is_refused_counts_as_a_refused_watch(ear: Ear, tmp_path: Path) -> None:
    class NoThreads(InotifyObserver):
        def schedule(self, *arguments: Any, **named: Any) -> Any:
            if named.get("recursive"):
                raise RuntimeError("can't start new thread")
            return super().schedule(*arguments, **named)

    source = ObserverSource(ear, NoThreads)
    try:
        with pytest.raises(OSError) as caught:
            armed(source, tmp_path)
        assert caught.value.errno == errno.EAGAIN
    finally:
        source.close()


@pytest.mark.parametrize(
    ("level", "text", "reason"),
    [
        (logging.WARNING, "Inotify queue overflowed", "overflow"),
        (logging.ERROR, "Unable to", "error"),
    ],
)
def test_what_watchdog_complains_of_is_trouble(
    source: EventSource, ear: Ear, level: int, text: str, reason: str
) -> None:
    logging.getLogger("watchdog.anything").info("of no concern")
    logging.getLogger("watchdog.anything").log(level, text)
    assert ear.troubles == [reason]
    source.close()
    logging.getLogger("watchdog.anything").log(level, text)
    assert ear.troubles == [reason]


def test_a_real_overflow_is_trouble_not_silence(source: EventSource, ear: Ear, tmp_path: Path) -> None:
    armed(source, tmp_path)
    renames = """
import os
os.close(os.open("a.md", os.O_CREAT | os.O_WRONLY))
print(flush=True)
while True:
    os.rename("a.md", "b.md")
    os.rename("b.md", "a.md")
"""
    asleep = ctypes.PyDLL(None)  # unlike `time.sleep`, it keeps Python's other threads from running
    command = [sys.executable, "-c", renames]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        asleep.usleep(1_000_000)
        process.kill()
    wait_until(lambda: "overflow" in ear.troubles)


def test_close_twice_ends_the_thread_and_the_descriptors(ear: Ear, tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - one number
    source = native_source(ear)
    armed(source, tmp_path)
    source.close()
    source.close()
    assert not source.healthy()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_a_root_that_is_gone_before_it_is_armed_is_no_error(
    source: EventSource, ear: Ear, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    directories = locate(WatchTarget(root, recursive=True)).directories
    shutil.rmtree(root)
    assert source.arm(directories) == frozenset()
