"""A folder that is a link to a place above itself, such as the top of the disk, is never walked through."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.benches import sample_parts, workspace
from reverie.agents.scopes import Scope
from reverie.errors import Unavailable
from reverie.files.directory import refuse_link_upwards
from reverie.files.rooted import RootedDirectory
from reverie.files.watch_poller import snapshot_of
from reverie.files.watch_sources import WatchPlan, WatchTarget, locate_all
from reverie.memory.listing import scan_scope


def upwards(root: Path, target: Path) -> Path:
    root.parent.mkdir(parents=True, exist_ok=True)
    root.symlink_to(target)
    return root


def walk(root: Path) -> object:
    return RootedDirectory(root).walk()


def sweep(root: Path) -> object:
    return RootedDirectory(root).sweep(older_than_s=0)


@pytest.mark.parametrize("reader", [walk, sweep])
@pytest.mark.parametrize("where", ["/", "home", "home/memory"])
def test_a_link_upwards_is_refused_in_words(
    tmp_path: Path, where: str, reader: Callable[[Path], object]
) -> None:
    root = upwards(tmp_path / "home/memory/global", Path("/") if where == "/" else tmp_path / where)
    with pytest.raises(Unavailable, match="It is a symbolic link to a folder that contains the link"):
        reader(root)


def test_a_link_elsewhere_and_a_missing_folder_are_no_links_upwards(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    refuse_link_upwards(upwards(tmp_path / "home/memory/global", tmp_path / "dotfiles"))
    refuse_link_upwards(upwards(tmp_path / "home/memory/gone", tmp_path / "nowhere"))
    refuse_link_upwards(upwards(tmp_path / "home/memory/beside", tmp_path / "home/mem"))
    refuse_link_upwards(tmp_path / "home/memory/missing")


def test_a_link_upwards_is_watched_and_looked_at_on_one_level_only(tmp_path: Path) -> None:
    root = upwards(tmp_path / "home/memory/global", tmp_path)
    (tmp_path / "home/deep").mkdir()
    (tmp_path / "home/deep/note.md").write_text("x")
    target = WatchTarget(root, recursive=True)
    plan = WatchPlan(locate_all([target]))
    assert [watched.recursive for watched in plan.directories.values()] == [False]
    assert plan.placements[0].target == target
    assert {path for path, _mark in snapshot_of(target, {}, 0)} == {str(root), str(root / "home")}


def test_a_scope_that_links_to_the_top_of_the_disk_is_told_and_the_others_are_shown(tmp_path: Path) -> None:
    parts = sample_parts("mux-home", tmp_path)
    scope = parts.home.root / "memory/global"
    scope.rename(tmp_path / "aside")
    upwards(scope, Path(os.sep))
    parts.snapshots.observe(source="test")
    context, home = workspace(parts, "a1f3c9e2b7"), parts.home
    listings = {
        scope: scan_scope(home.scope_root(context, scope), home.caps, {}, lambda _rel: None)
        for scope in (Scope.GLOBAL, Scope.WORKSPACE)
    }
    assert "It is a symbolic link to a folder" in listings[Scope.GLOBAL].unavailable
    assert listings[Scope.WORKSPACE].files
