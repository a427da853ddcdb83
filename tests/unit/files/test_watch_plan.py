from __future__ import annotations

import os
from pathlib import Path

from helpers.watching import locate
from reverie.files.watch_sources import WatchPlan, WatchTarget, locate_all


def plan_of(*targets: WatchTarget) -> WatchPlan:
    return WatchPlan([locate(target) for target in targets])


def test_a_tree_reports_everything_below_it_and_itself(tmp_path: Path) -> None:
    plan = plan_of(WatchTarget(tmp_path, recursive=True))
    assert plan.route(f"{tmp_path}/a/b.md") == (f"{tmp_path}/a/b.md",)
    assert plan.route(str(tmp_path)) == (str(tmp_path),)
    assert plan.route(f"{tmp_path}-other/b.md") == ()
    assert plan.route(str(tmp_path.parent)) == ()


def test_a_directory_without_recursion_reports_direct_entries_only(tmp_path: Path) -> None:
    plan = plan_of(WatchTarget(tmp_path, recursive=False))
    assert plan.route(f"{tmp_path}/a.md") == (f"{tmp_path}/a.md",)
    assert plan.route(f"{tmp_path}/a/b.md") == ()


def test_hidden_names_are_not_reported_but_a_hidden_folder_above_the_root_is_no_reason(
    tmp_path: Path,
) -> None:
    root = tmp_path / ".agent" / "memory"
    root.mkdir(parents=True)
    plan = plan_of(WatchTarget(root, recursive=True))
    assert plan.route(f"{root}/a.md") == (f"{root}/a.md",)
    assert plan.route(f"{root}/.a.md.swp") == ()
    assert plan.route(f"{root}/.git/HEAD") == ()
    assert plan_of(WatchTarget(root, recursive=False)).route(f"{root}/.a.md.swp") == ()


def test_only_names_the_files_that_count_hidden_ones_too(tmp_path: Path) -> None:
    plan = plan_of(WatchTarget(tmp_path, recursive=False, only=("meta.json", ".state")))
    assert plan.route(f"{tmp_path}/meta.json") == (f"{tmp_path}/meta.json",)
    assert plan.route(f"{tmp_path}/.state") == (f"{tmp_path}/.state",)
    assert plan.route(f"{tmp_path}/chat.jsonl") == ()


def test_a_linked_root_is_watched_where_it_is_and_reported_as_it_is_called(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    link = tmp_path / "link"
    link.symlink_to(real)
    plan = plan_of(WatchTarget(link, recursive=True), WatchTarget(real, recursive=True))
    assert set(plan.directories) == {str(real)}
    assert set(plan.route(f"{real}/a.md")) == {f"{link}/a.md", f"{real}/a.md"}


def test_a_linked_sidecar_is_watched_at_both_ends(tmp_path: Path) -> None:
    home, dotfiles = tmp_path / "home", tmp_path / "dotfiles"
    home.mkdir()
    dotfiles.mkdir()
    (dotfiles / "agents.md").write_text("x")
    (home / "AGENTS.md").symlink_to(dotfiles / "agents.md")
    plan = plan_of(WatchTarget(home, recursive=False, only=("AGENTS.md",)))
    assert set(plan.directories) == {str(home), str(dotfiles)}
    assert plan.route(f"{dotfiles}/agents.md") == (f"{home}/AGENTS.md",)
    assert plan.route(f"{home}/AGENTS.md") == (f"{home}/AGENTS.md",)


def test_a_target_that_is_a_file_is_watched_as_that_file(tmp_path: Path) -> None:
    file = tmp_path / "AGENTS.md"
    file.write_text("x")
    plan = plan_of(WatchTarget(file, recursive=True))
    assert plan.missing == ()
    assert plan.route(str(file)) == (str(file),)
    assert plan.route(f"{tmp_path}/other.md") == ()


def test_a_missing_target_is_awaited_at_its_nearest_ancestor(tmp_path: Path) -> None:
    root = tmp_path / "a" / "b" / "c"
    plan = plan_of(WatchTarget(root, recursive=True))
    assert plan.missing == (root,)
    assert set(plan.directories) == {str(tmp_path)}
    assert not plan.directories[str(tmp_path)].recursive
    assert plan.triggers == {f"{tmp_path}/a"}
    assert plan.route(f"{tmp_path}/a") == ()


def test_nested_targets_share_one_watch(tmp_path: Path) -> None:
    inner = tmp_path / "memory" / "project"
    inner.mkdir(parents=True)
    plan = plan_of(
        WatchTarget(inner, recursive=True),
        WatchTarget(tmp_path / "memory", recursive=True),
        WatchTarget(inner, recursive=False, only=("x.json",)),
    )
    assert set(plan.directories) == {str(tmp_path / "memory")}
    assert plan.directories[str(tmp_path / "memory")].recursive
    assert set(plan.route(f"{inner}/x.json")) == {f"{inner}/x.json"}
    assert plan.relied_on(plan.placements[0]) == {str(tmp_path / "memory")}


def test_a_target_in_a_hidden_folder_of_another_has_a_watch_of_its_own(tmp_path: Path) -> None:
    inner = tmp_path / ".agent" / "memory"
    inner.mkdir(parents=True)
    plan = plan_of(WatchTarget(tmp_path, recursive=True), WatchTarget(inner, recursive=True))
    assert set(plan.directories) == {str(tmp_path), str(inner)}
    assert plan.route(f"{inner}/a.md") == (f"{inner}/a.md",)


def test_a_flat_watch_does_not_cover_what_is_below_it(tmp_path: Path) -> None:
    inner = tmp_path / "memory"
    inner.mkdir()
    plan = plan_of(
        WatchTarget(tmp_path, recursive=False, only=("x.json",)), WatchTarget(inner, recursive=True)
    )
    assert set(plan.directories) == {str(tmp_path), str(inner)}


def test_another_directory_of_the_same_name_is_another_placement(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    root.mkdir()
    target = WatchTarget(root, recursive=True)
    before = locate(target)
    assert locate(target) == before
    root.rename(tmp_path / "old")
    root.mkdir()
    assert locate(target) != before


def test_links_in_a_circle_and_unreadable_names_count_as_missing(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert not locate(WatchTarget(tmp_path / "a", recursive=True)).present
    assert not locate(WatchTarget(tmp_path / ("x" * 300), recursive=True)).present


def test_shared_directories_are_resolved_as_each_alone(tmp_path: Path) -> None:
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real" / "up").symlink_to("..")
    (tmp_path / "dangling").symlink_to("nowhere/deep")
    names = [
        "link",
        "link/sub",
        "link/sub/none",
        "link/up/link/sub",
        "real",
        "dangling",
        "dangling/x",
        "a.md/b",
    ]
    targets = [WatchTarget(tmp_path / name, recursive=True) for name in names]
    placements = locate_all(targets)
    assert placements == [locate(target) for target in targets]
    found = [placement.tree[0] for placement in placements if placement.tree]
    assert found == [os.path.realpath(tmp_path / name) for name in names if (tmp_path / name).is_dir()]


def test_a_relative_target_is_taken_from_the_working_directory() -> None:
    assert WatchTarget(Path("some/where"), recursive=True).named() == (os.path.abspath("some/where"),)  # noqa: PTH100
