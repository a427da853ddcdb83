"""Deep trees: each level costs one step, and neither descriptors nor the stack of Python run out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.deep_trees import make_deep
from reverie.files import directory as directory_module
from reverie.files.directory import (
    MOST_OPEN,
    Descent,
    Directory,
    SwappedError,
    everything_below,
    remove_tree,
    walk_paths,
)
from reverie.files.rooted import RootedDirectory

LEVELS = 1_200
"""More than Python calls itself, and more than a process may have open."""


@pytest.fixture
def opens(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the directories that were opened below another one."""
    opened: list[str] = []
    child = Directory.child

    def counted(self: Directory, name: str) -> Directory:
        opened.append(name)
        return child(self, name)

    monkeypatch.setattr(Directory, "child", counted)
    return opened


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """Removed by us: what pytest removes with calls itself for each level."""
    (tmp_path / "room").mkdir()
    yield tmp_path / "room"
    with Directory.open(tmp_path) as opened:
        remove_tree(opened, "room")


def descent_of(path: Path) -> Descent:
    return Descent(lambda: Directory.open(path))


@pytest.mark.parametrize("levels", [50, 400])
def test_a_walk_opens_each_folder_once(tmp_path: Path, opens: list[str], levels: int) -> None:
    make_deep(tmp_path, levels, {"x.md": b"deep"})
    walk = RootedDirectory(tmp_path).walk()
    assert len(walk.entries) == levels + 1
    assert walk.entries[-1].rel == "d/" * levels + "x.md"
    assert len(opens) == levels


def test_a_sweep_opens_each_folder_once(tmp_path: Path, opens: list[str]) -> None:
    left = f".{'0' * 12}.{'0' * 8}.reverie-tmp"
    make_deep(tmp_path, 50, {left: b"left over", "x.md": b"deep"})
    assert RootedDirectory(tmp_path).sweep(older_than_s=-60) == 1
    assert [entry.rel for entry in RootedDirectory(tmp_path).walk().entries][-1] == "d/" * 50 + "x.md"
    assert opens.count("d") == 2 * 50


def test_a_very_deep_folder_is_written_listed_and_deleted(tmp_path: Path) -> None:
    rooted = RootedDirectory(tmp_path)
    rel = "d/" * LEVELS + "x.md"
    rooted.write(rel, b"deep")
    assert rooted.read(rel) == b"deep"
    assert rooted.walk().entries[-1].rel == rel
    taken: list[str] = []
    rooted.remove("d", check=lambda entries, _content: taken.extend(entry.rel for entry in entries))
    assert taken == [rel]
    assert list(tmp_path.iterdir()) == []


def test_what_a_failed_write_made_is_removed_again(tmp_path: Path) -> None:
    rooted = RootedDirectory(tmp_path)
    rooted.write("kept/x.md", b"")

    def refuse(_current: bytes | None) -> None:
        raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        rooted.write("kept/" + "d/" * 100 + "x.md", b"", before_replace=refuse)
    assert [entry.rel for entry in rooted.walk().entries] == ["kept", "kept/x.md"]


def test_few_directories_stay_open(tmp_path: Path) -> None:
    make_deep(tmp_path, 100, {})
    highest = os.dup(0)
    os.close(highest)
    with descent_of(tmp_path) as descent:
        descent.at("d/" * 99 + "d")
        free = os.dup(0)
        os.close(free)
        assert free - highest <= MOST_OPEN + 1
        assert [item.name for item in descent.at("d/d").names()] == ["d"], "the way back up"


@pytest.mark.parametrize("supports_dir_fd", [True, False])
def test_a_descent_goes_to_siblings_and_back_and_follows_no_link(
    tmp_path: Path, supports_dir_fd: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directory_module, "SUPPORTS_DIR_FD", supports_dir_fd)
    for rel in ("a/b", "ab/c"):
        (tmp_path / "root" / rel).mkdir(parents=True)
        (tmp_path / "root" / rel / "file").write_text(rel)
    (tmp_path / "root/link").symlink_to(tmp_path)
    with descent_of(tmp_path / "root") as descent:
        for rel in ("a/b", "a", "ab/c", "", "a/b"):
            assert descent.at(rel).stat().st_ino == (tmp_path / "root" / rel).stat().st_ino
        with pytest.raises(SwappedError):
            descent.at("link")
        with pytest.raises(FileNotFoundError):
            descent.at("ab/missing")
        assert descent.at("ab/c").read("file") == b"ab/c", "it goes on after an error"


def test_everything_below_is_named_and_removed(tmp_path: Path) -> None:
    make_deep(tmp_path / "top", LEVELS, {"x.md": b"deep"})
    (tmp_path / "top/side").mkdir()
    with Directory.open(tmp_path) as opened:
        found = [rel for rel, _opened, _item in everything_below(lambda: opened.child("top"))]
        assert len(found) == LEVELS + 2
        assert {"side", "d", "d/" * LEVELS + "x.md"} <= {*found}
        remove_tree(opened, "top")
    assert list(tmp_path.iterdir()) == []


def test_walked_paths_are_those_of_os_walk(tmp_path: Path) -> None:
    for rel in ("a/b/c", "a/d", "e"):
        (tmp_path / rel).mkdir(parents=True)
        (tmp_path / rel / "file").touch()
    (tmp_path / "e/link").symlink_to(tmp_path / "a")

    def plain(walked: object) -> list[tuple[str, list[str], list[str]]]:
        return sorted((at, sorted(folders), sorted(names)) for at, folders, names in walked)  # type: ignore[attr-defined]

    assert plain(walk_paths(tmp_path)) == plain(os.walk(tmp_path))
    make_deep(tmp_path / "deep", LEVELS, {})
    assert sum(1 for _ in walk_paths(tmp_path / "deep")) == LEVELS + 1


def test_walked_paths_tell_what_cannot_be_listed(tmp_path: Path) -> None:
    errors: list[OSError] = []
    assert list(walk_paths(tmp_path / "missing", errors.append)) == []
    assert [type(error) for error in errors] == [FileNotFoundError]
