"""The account of watched directories, with the kernel's own events."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from helpers.watching import locate, wait_until
from reverie.files.watch_plan import Watched, WatchTarget

if sys.platform != "linux":
    pytest.skip("inotify is Linux's", allow_module_level=True)

from reverie.files.watch_inotify import InotifySource

QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")


class Ear:
    """A sink that remembers, and can be held to make the kernel's queue fill."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.troubles: list[str] = []
        self.refusals: list[OSError] = []
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

    def refused(self, error: OSError) -> None:
        self.refusals.append(error)

    def wait_for(self, *paths: Path) -> None:
        wait_until(lambda: {str(path) for path in paths} <= set(self.heard), f"{paths} in {self.heard[-20:]}")


@pytest.fixture
def ear() -> Ear:
    return Ear()


@pytest.fixture
def source(ear: Ear) -> Iterator[InotifySource]:
    source = InotifySource(ear)
    yield source
    ear.free.set()
    source.close()


def armed(source: InotifySource, *roots: Path) -> frozenset[str]:
    directories: dict[str, Watched] = {}
    for root in roots:
        directories |= locate(WatchTarget(root, recursive=True)).directories
    return source.arm(directories)


def test_reading_is_never_heard(source: InotifySource, ear: Ear, tmp_path: Path) -> None:
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
    source: InotifySource, ear: Ear, tmp_path: Path
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
    assert source.watches == 4


def test_a_tree_moved_out_is_forgotten(source: InotifySource, ear: Ear, tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "in" / "deep").mkdir(parents=True)
    armed(source, root)
    assert source.watches == 3
    (root / "in").rename(outside)
    ear.wait_for(root / "in")
    wait_until(lambda: source.watches == 1)
    (outside / "deep" / "a.md").write_text("x")
    (root / "end.md").touch()
    ear.wait_for(root / "end.md")
    assert not [path for path in ear.heard if path.endswith("a.md")]


def test_a_renamed_directory_speaks_under_its_new_name(
    source: InotifySource, ear: Ear, tmp_path: Path
) -> None:
    (tmp_path / "old" / "deep").mkdir(parents=True)
    armed(source, tmp_path)
    (tmp_path / "old").rename(tmp_path / "new")
    ear.wait_for(tmp_path / "old", tmp_path / "new")
    (tmp_path / "new" / "deep" / "a.md").write_text("x")
    ear.wait_for(tmp_path / "new" / "deep" / "a.md")
    assert source.watches == 3


def test_moved_out_replaced_and_both_removed_leaves_the_source_alive(
    source: InotifySource, ear: Ear, tmp_path: Path
) -> None:
    """The sequence that ends the reader thread of watchdog 7.1."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "a").mkdir(parents=True)
    armed(source, root)
    (root / "a").rename(outside)
    (root / "a").mkdir()
    (root / "a").rmdir()
    outside.rmdir()
    (root / "end.md").touch()
    ear.wait_for(root / "end.md")
    assert source.healthy()
    assert source.watches == 1


def test_a_directory_moved_over_an_empty_one_is_watched(
    source: InotifySource, ear: Ear, tmp_path: Path
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "empty").mkdir()
    armed(source, tmp_path)
    (tmp_path / "full").rename(tmp_path / "empty")
    ear.wait_for(tmp_path / "empty")
    (tmp_path / "empty" / "a.md").write_text("x")
    ear.wait_for(tmp_path / "empty" / "a.md")
    wait_until(lambda: source.watches == 2)


def test_a_flat_watch_does_not_grow(source: InotifySource, ear: Ear, tmp_path: Path) -> None:
    source.arm(locate(WatchTarget(tmp_path, recursive=False)).directories)
    (tmp_path / "sub").mkdir()
    ear.wait_for(tmp_path / "sub")
    (tmp_path / "sub" / "a.md").write_text("x")
    (tmp_path / "end.md").touch()
    ear.wait_for(tmp_path / "end.md")
    assert str(tmp_path / "sub" / "a.md") not in ear.heard
    assert source.watches == 1


def test_arming_again_changes_nothing_until_the_root_is_gone(
    source: InotifySource, ear: Ear, tmp_path: Path
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


def test_what_is_not_wanted_any_more_is_let_go(source: InotifySource, ear: Ear, tmp_path: Path) -> None:
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


def test_a_root_that_moves_says_so(source: InotifySource, ear: Ear, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    armed(source, root)
    root.rename(tmp_path / "elsewhere")
    wait_until(lambda: ear.root_changes)


def test_symlinks_are_not_followed(source: InotifySource, ear: Ear, tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "loop").symlink_to(root)
    (root / "out").symlink_to(outside)
    armed(source, root)
    assert source.watches == 1


def test_names_that_are_not_utf_8_are_heard(source: InotifySource, ear: Ear, tmp_path: Path) -> None:
    armed(source, tmp_path)
    name = os.fsencode(tmp_path) + b"/caf\xe9.md"
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
    ear.wait_for(Path(os.fsdecode(name)))


def test_hidden_directories_are_not_entered_until_they_show(
    source: InotifySource, ear: Ear, tmp_path: Path
) -> None:
    (tmp_path / ".git" / "objects").mkdir(parents=True)
    armed(source, tmp_path)
    (tmp_path / ".cache").mkdir()
    ear.wait_for(tmp_path / ".cache")
    assert source.watches == 1
    (tmp_path / ".git").rename(tmp_path / "git")
    ear.wait_for(tmp_path / "git", tmp_path / "git" / "objects")
    assert source.watches == 3
    (tmp_path / "git").rename(tmp_path / ".git")
    wait_until(lambda: source.watches == 1)


def test_a_directory_opened_to_us_later_is_watched(ear: Ear, tmp_path: Path) -> None:
    """Nobody is kept out who runs the tests as root, so the refusal is played."""
    closed = tmp_path / "closed"
    closed.mkdir()
    (closed / "a.md").touch()
    source = InotifySource(ear)
    add = source._add
    source._add = lambda path: path != str(closed) and add(path)  # type: ignore[method-assign]
    try:
        armed(source, tmp_path)
        assert source.watches == 1
        source._add = add  # type: ignore[method-assign]
        closed.chmod(0o755)
        ear.wait_for(closed, closed / "a.md")
        assert source.watches == 2
    finally:
        source.close()


def test_a_change_of_mode_alone_is_not_heard(source: InotifySource, ear: Ear, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.md").touch()
    armed(source, tmp_path)
    (tmp_path / "sub").chmod(0o700)
    (tmp_path / "a.md").chmod(0o600)
    (tmp_path / "end.md").touch()
    ear.wait_for(tmp_path / "end.md")
    assert set(ear.heard) == {str(tmp_path / "end.md")}


def test_a_new_time_of_a_file_with_a_hidden_name_is_heard(
    source: InotifySource, ear: Ear, tmp_path: Path
) -> None:
    lock, plain = tmp_path / ".lock", tmp_path / "a.md"
    lock.touch()
    plain.touch()
    armed(source, tmp_path)
    os.utime(plain, (1, 1))
    os.utime(lock, (1, 1))
    ear.wait_for(lock)
    assert str(plain) not in ear.heard


def refusing(real: Callable[[str], bool], after: int, number: int) -> Callable[[str], bool]:
    calls = 0

    def add(directory: str) -> bool:
        nonlocal calls
        calls += 1
        if calls > after:
            raise OSError(number, os.strerror(number))
        return real(directory)

    return add


def test_a_refusal_below_the_root_is_not_kept_silent(ear: Ear, tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / str(number)).mkdir()
    source = InotifySource(ear)
    source._add = refusing(source._add, 3, errno.ENOSPC)  # type: ignore[method-assign]
    try:
        with pytest.raises(OSError, match="No space"):
            armed(source, tmp_path)
        assert source.watches == 3
        assert armed(source, tmp_path) == frozenset()
        source.arm({})
        assert source.watches == 0
    finally:
        source.close()


def test_a_refusal_of_a_later_directory_is_reported(ear: Ear, tmp_path: Path) -> None:
    source = InotifySource(ear)
    try:
        armed(source, tmp_path)
        source._add = refusing(source._add, 0, errno.ENOSPC)  # type: ignore[method-assign]
        (tmp_path / "sub").mkdir()
        wait_until(lambda: ear.refusals)
        assert ear.refusals[0].errno == errno.ENOSPC
        assert ear.heard == [str(tmp_path / "sub")]
        assert source.healthy()
    finally:
        source.close()


def test_a_real_overflow_is_trouble_not_silence(source: InotifySource, ear: Ear, tmp_path: Path) -> None:
    limit = int(QUEUE.read_text())
    if limit > 20_000:
        pytest.skip("the kernel's queue is too long to fill in a test")
    armed(source, tmp_path)
    ear.free.clear()
    (tmp_path / "first.md").touch()
    wait_until(ear.held.is_set)
    one, two = (os.fsencode(tmp_path / name) for name in ("a.md", "b.md"))
    os.close(os.open(one, os.O_CREAT | os.O_WRONLY))
    for _ in range(limit // 4 + 10):  # two events for each rename
        os.rename(one, two)  # noqa: PTH104 - thousands of them
        os.rename(two, one)  # noqa: PTH104
    ear.free.set()
    wait_until(lambda: ear.troubles == ["overflow"])


def test_close_twice_ends_the_thread_and_the_descriptors(ear: Ear, tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - one number
    source = InotifySource(ear)
    armed(source, tmp_path)
    source.close()
    source.close()
    assert not source.healthy()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_a_root_that_is_gone_before_it_is_armed_is_no_error(
    source: InotifySource, ear: Ear, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    directories = locate(WatchTarget(root, recursive=True)).directories
    shutil.rmtree(root)
    assert source.arm(directories) == frozenset()
