"""The copy-on-write overlay behaves as the disk would, and says exactly what it amounts to."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.agents.scopes import Scope, ScopeRoot
from reverie.errors import Conflict, StoreError, UserError
from reverie.files.rooted import RootedDirectory
from reverie.memory.scope_files import FileChange, OverlayFiles, ScopeFiles

ROOT = ScopeRoot(Scope.GLOBAL, "global", Path("/memory/global"), "global:")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    for rel in ("a.md", "d/one.md", "d/deep/two.md", "e/three.md"):
        (tmp_path / rel).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / rel).write_text(rel)
    return tmp_path


@pytest.fixture
def overlay(base: Path) -> OverlayFiles:
    return OverlayFiles(RootedDirectory(base))


def files(view: ScopeFiles) -> dict[str, bytes]:
    return {entry.rel: view.read(entry.rel) for entry in view.walk().entries if entry.kind == "file"}


def test_nothing_reaches_the_disk(overlay: OverlayFiles, base: Path) -> None:
    before = files(RootedDirectory(base))
    overlay.write("new.md", b"x")
    overlay.remove("d")
    overlay.rename("a.md", "b.md")
    assert files(RootedDirectory(base)) == before
    assert files(overlay) == {"b.md": b"a.md", "e/three.md": b"e/three.md", "new.md": b"x"}


def test_changes_name_what_differs_with_the_bytes_that_were_seen(overlay: OverlayFiles, base: Path) -> None:
    overlay.write("a.md", b"edited")
    overlay.write("a.md", b"edited twice")
    overlay.write("new.md", b"x")
    overlay.remove("new.md")
    overlay.write("d/one.md", b"d/one.md")
    overlay.remove("e/three.md")
    (base / "a.md").write_text("somebody's words")
    assert overlay.changes(ROOT) == (
        FileChange(ROOT, "a.md", b"a.md", b"edited twice"),
        FileChange(ROOT, "e/three.md", b"e/three.md", None),
    )


def test_a_rename_is_a_new_file_and_a_deleted_one(overlay: OverlayFiles) -> None:
    overlay.rename("d", "moved")
    assert {(change.rel, change.after is None) for change in overlay.changes(ROOT)} == {
        ("d/one.md", True),
        ("d/deep/two.md", True),
        ("moved/one.md", False),
        ("moved/deep/two.md", False),
    }
    assert overlay.entry("d") is None
    moved = overlay.entry("moved")
    assert moved is not None
    assert moved.kind == "directory"


def test_removed_directories_are_named_with_those_below_deepest_first(overlay: OverlayFiles) -> None:
    overlay.remove("d")
    assert overlay.removed_directories() == ("d/deep", "d")


def test_the_directory_of_a_removed_file_goes_once_it_is_empty(overlay: OverlayFiles) -> None:
    overlay.remove("d/deep/two.md")
    assert overlay.removed_directories() == ("d/deep", "d")


def test_a_directory_removed_and_filled_again_is_there(overlay: OverlayFiles) -> None:
    overlay.remove("d")
    overlay.write("d/anew.md", b"x")
    assert files(overlay).keys() == {"a.md", "d/anew.md", "e/three.md"}
    with pytest.raises(StoreError):
        overlay.read("d/one.md")


@pytest.mark.parametrize("rel", ["a.md/below.md", "a.md/deep/below.md", "d/one.md/x"])
def test_a_file_below_a_file_is_refused_as_on_disk(overlay: OverlayFiles, base: Path, rel: str) -> None:
    with pytest.raises(StoreError):
        RootedDirectory(base).write(rel, b"x")
    with pytest.raises(StoreError):
        overlay.write(rel, b"x")
    with pytest.raises(StoreError):
        overlay.rename("e", rel)
    assert overlay.changes(ROOT) == ()


def test_below_a_file_that_was_deleted_there_may_be_files(overlay: OverlayFiles) -> None:
    overlay.remove("a.md")
    overlay.write("a.md/below.md", b"x")
    assert overlay.read("a.md/below.md") == b"x"


def test_a_name_that_no_disk_takes_is_refused(overlay: OverlayFiles, base: Path) -> None:
    for name in ("x" * 256, "é" * 128, "fine/" + "x" * 256):
        with pytest.raises(UserError):
            RootedDirectory(base).write(name, b"x")
        with pytest.raises(StoreError):
            overlay.write(name, b"x")
    overlay.write("x" * 255, b"x")


def test_create_only_never_replaces(overlay: OverlayFiles) -> None:
    for rel in ("a.md", "d"):
        with pytest.raises(Conflict):
            overlay.write(rel, b"x", create_only=True)
    with pytest.raises(Conflict):
        overlay.rename("a.md", "e")
    overlay.remove("a.md")
    overlay.write("a.md", b"x", create_only=True)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_limited_walk_counts_the_files_of_the_view(overlay: OverlayFiles, limit: int) -> None:
    overlay.remove("a.md")
    overlay.remove("d/deep")
    found = [entry for entry in overlay.walk(files_limit=limit).entries if entry.kind == "file"]
    assert len(found) == min(limit, 2)
    overlay.write("f.md", b"x")
    overlay.write("g.md", b"x")
    found = [entry for entry in overlay.walk(files_limit=limit).entries if entry.kind == "file"]
    assert len(found) == limit


def test_a_rollback_forgets_what_came_after_the_savepoint(overlay: OverlayFiles) -> None:
    overlay.write("a.md", b"kept")
    state, savepoint = files(overlay), overlay.savepoint()
    overlay.remove("d")
    overlay.write("a.md", b"dropped")
    overlay.rollback(savepoint)
    assert files(overlay) == state
    assert [change.rel for change in overlay.changes(ROOT)] == ["a.md"]
    assert overlay.removed_directories() == ()


RELS = st.sampled_from(
    ["a.md", "d", "d/one.md", "d/deep", "d/deep/two.md", "e", "e/three.md", "n.md", "d/n.md"]
)
STEPS = st.one_of(
    st.tuples(st.just("write"), RELS, st.binary(max_size=3)),
    st.tuples(st.just("remove"), RELS, st.none()),
    st.tuples(st.just("rename"), RELS, RELS),
)


@given(steps=st.lists(STEPS, max_size=8))
def test_any_series_of_changes_ends_as_it_would_on_disk(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, bytes]]
) -> None:
    """Which files there are, after each step; empty directories aside, which no memory is."""
    disk, below = tmp_path_factory.mktemp("disk"), tmp_path_factory.mktemp("base")
    for root in (disk, below):
        for rel in ("a.md", "d/one.md", "d/deep/two.md", "e/three.md"):
            (root / rel).parent.mkdir(parents=True, exist_ok=True)
            (root / rel).write_text(rel)
    real, overlay = RootedDirectory(disk), OverlayFiles(RootedDirectory(below))
    for name, rel, argument in steps:
        entries = [view.entry(rel) for view in (real, overlay)]
        if any(entry is not None and entry.kind == "directory" for entry in entries) and name == "write":
            continue
        for view in (real, overlay):
            with contextlib.suppress(UserError):
                getattr(view, name)(rel, *([] if argument is None else [argument]))
        assert files(overlay) == files(real), (name, rel, argument)
