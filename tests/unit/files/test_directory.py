"""Open directories: no call follows a symlink, none blocks, none replaces what it must not."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.ordinary_user import has_power
from helpers.unsynced import Unsynced
from reverie.errors import NotRegularFileError, Unavailable
from reverie.files import directory as directory_module
from reverie.files.directory import Directory, SwappedError, ensure_private, remove_tree
from reverie.files.rooted import RootedDirectory


def _names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


@pytest.fixture(params=["descriptors", "paths"])
def opened(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Directory]:
    """The directory `tmp_path`, with descriptors and in the weaker form for systems without them."""
    if request.param == "paths":
        monkeypatch.setattr(directory_module, "SUPPORTS_DIR_FD", False)
    with Directory.open(tmp_path) as directory:
        yield directory


@pytest.fixture(params=["renameat2", "without"])
def rename_calls(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs a test also as on a system whose kernel has no renameat2."""
    if request.param == "without":
        monkeypatch.setattr(directory_module, "_renameat2", lambda: None)
    return str(request.param)


def test_reads_a_file_whole_or_up_to_a_limit(opened: Directory, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    assert opened.read("a") == b"0123456789"
    assert opened.read("a", 4) == b"0123"
    assert opened.read("a", 0) == b""
    assert opened.read("a", 99) == b"0123456789"


def test_a_symlink_is_met_not_followed(opened: Directory, tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "to-dir").symlink_to("dir")
    (tmp_path / "to-file").symlink_to("file")
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in ("to-file", "to-dir", "dangling"):
        with pytest.raises(SwappedError):
            opened.read(name)
        with pytest.raises(SwappedError):
            opened.child(name)


def test_a_file_is_no_directory_and_a_directory_no_file(opened: Directory, tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(NotADirectoryError):
        opened.child("file")
    with pytest.raises(IsADirectoryError):
        opened.read("dir")
    with pytest.raises(FileNotFoundError):
        opened.child("missing")
    with pytest.raises(NotADirectoryError):
        Directory.open(tmp_path / "file")


def test_a_fifo_never_blocks_and_its_waiting_writer_is_left_alone(opened: Directory, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    woken = threading.Event()

    def write() -> None:
        with (tmp_path / "pipe").open("wb"):
            woken.set()

    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(20):
        with pytest.raises(NotRegularFileError):
            opened.read("pipe")
    assert not woken.is_set()
    with (tmp_path / "pipe").open("rb"):
        writer.join()


def test_make_is_content_with_a_directory_that_is_there(opened: Directory, tmp_path: Path) -> None:
    opened.make("d")
    opened.make("d")
    assert (tmp_path / "d").is_dir()


@pytest.mark.usefixtures("rename_calls")
@pytest.mark.parametrize("kind", ["file", "directory", "symlink"])
def test_rename_new_moves_but_never_replaces(opened: Directory, tmp_path: Path, kind: str) -> None:
    def make(name: str) -> None:
        if kind == "directory":
            (tmp_path / name).mkdir()
        elif kind == "file":
            (tmp_path / name).write_text(name)
        else:
            (tmp_path / name).symlink_to(f"target of {name}")

    make("a")
    opened.rename_new("a", opened, "b")
    assert not (tmp_path / "a").is_symlink()
    assert not (tmp_path / "a").exists()
    make("a")
    before = _names(tmp_path)
    with pytest.raises(FileExistsError):
        opened.rename_new("a", opened, "b")
    assert _names(tmp_path) == before
    if kind == "file":
        assert (tmp_path / "b").read_text() == "a"


def test_exchange_swaps_two_names_or_says_that_it_cannot(opened: Directory, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    swapped = opened.exchange("a", "b")
    assert ((tmp_path / "a").read_text(), (tmp_path / "b").read_text()) == (
        ("b", "a") if swapped else ("a", "b")
    )


def test_remove_tree_leaves_what_symlinks_point_to(opened: Directory, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("x")
    (tmp_path / "tree" / "deep").mkdir(parents=True)
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "kept")
    remove_tree(opened, "tree")
    assert _names(tmp_path) == ["kept"]
    assert (tmp_path / "kept" / "file").exists()


def test_a_private_directory_is_made_with_0700_and_one_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    ensure_private(tmp_path / "state" / "locks")
    assert (tmp_path / "state" / "locks").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    ensure_private(tmp_path / "open" / "locks")
    ensure_private(tmp_path / "open")
    assert (tmp_path / "open").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "open" / "locks").stat().st_mode & 0o777 == 0o700


def test_a_file_in_the_place_of_a_private_directory_is_an_error_with_words(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("not a folder")
    with pytest.raises(Unavailable, match="could not be created"):
        ensure_private(tmp_path / "state")


@pytest.mark.skipif(not has_power(), reason="only root can give a directory away")
def test_a_private_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", 65534, 65534)
    with pytest.raises(Unavailable, match="belongs to another user"):
        ensure_private(tmp_path / "theirs")


def test_private_directories_are_durable_on_return(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unsynced = Unsynced(monkeypatch)
    (tmp_path / "loose").mkdir()
    assert unsynced.names() == [str(tmp_path / "loose")], "the test sees what is not synced"
    ensure_private(tmp_path / "state" / "runs" / "one")
    assert unsynced.names() == []


def test_directories_made_below_a_root_are_durable_before_the_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unsynced = Unsynced(monkeypatch)
    seen: list[list[str]] = []
    RootedDirectory(tmp_path / "root").write(
        "a/b/c.md", b"x", before_replace=lambda _: seen.append(unsynced.names())
    )
    assert seen == [[]]
