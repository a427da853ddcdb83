"""The memory tree as values: what it holds, in which order, and that what did not change is shared."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ui_nodes import find
from ui_values import file, listing, project_view, unavailable, view

from reverie.agents.base import Companion
from reverie.agents.scopes import Scope
from reverie.ui.display_text import visible
from reverie.ui.tree.build import build_tree
from reverie.ui.tree.memory_tree import (
    CompanionData,
    FileData,
    NoticeData,
    name_problem,
    parse_shown,
    path_keys,
    path_of,
)
from reverie.ui.tree.row_look import plain_look
from reverie.ui.tree.rows import RowNode
from reverie.values import replace

SEGMENT = st.text(st.sampled_from("ab.é\U0001f600"), min_size=1, max_size=3).filter(
    lambda segment: not segment.startswith(".")
)


def keys(node: RowNode | None) -> list[str]:
    assert node is not None
    return [child.key for child in node.children]


def test_a_scope_holds_companions_then_folders_then_files() -> None:
    companion = Companion(Scope.GLOBAL, Path("/home/AGENTS.md"), "AGENTS.md", True)
    tree = build_tree(view({Scope.GLOBAL: ["b.md", "a/x.md", "c/d/y.md", "B.md"]}, [companion]))
    found = find(tree.root, ("global",))
    assert keys(found) == ["c:AGENTS.md", "d:a", "d:c", "f:B.md", "f:b.md"]
    assert found is not None
    assert found.data.notes == 4
    assert keys(find(tree.root, ("global", "d:c"))) == ["d:d"]


def test_empty_folders_are_shown() -> None:
    tree = build_tree(view({Scope.PROJECT: listing(Scope.PROJECT, [], ["empty/inner"])}))
    assert keys(find(tree.root, ("project", "d:empty"))) == ["d:inner"]


def test_an_empty_scope_and_a_missing_one_say_so_differently() -> None:
    tree = build_tree(view({Scope.WORKSPACE: [], Scope.PROJECT: unavailable("It spans two projects.")}))
    empty = find(tree.root, ("workspace", "n:empty"))
    gap = find(tree.root, ("project", "n:unavailable"))
    assert empty is not None
    assert gap is not None
    assert gap.data == NoticeData("unavailable", "It spans two projects.")
    project = find(tree.root, ("project",))
    assert project is not None
    assert project.data.reason == "It spans two projects."


def test_an_empty_scope_whose_notes_nobody_reads_offers_no_new_memory() -> None:
    empty = listing(Scope.WORKSPACE, [])
    assert empty.root is not None
    for root in (
        replace(empty.root, empty="Nobody reads it."),
        replace(empty.root, read_only="Nobody reads it."),
    ):
        tree = build_tree(view({Scope.WORKSPACE: replace(empty, root=root)}))
        found = find(tree.root, ("workspace", "n:empty"))
        assert found is not None
        assert plain_look(found.data).name == "Nobody reads it."
    offered = find(build_tree(view({Scope.WORKSPACE: empty})).root, ("workspace", "n:empty"))
    assert offered is not None
    assert "Ctrl+N" in plain_look(offered.data).name


def test_a_companion_says_what_it_is_about_where_that_is_known() -> None:
    companion = Companion(Scope.PROJECT, Path("/home/x.md"), "x.md", True, read_only="Shown only.")
    assert plain_look(CompanionData(companion)).detail == "read-only"
    about = plain_look(CompanionData(replace(companion, about="Oil the\x1b lamp"))).detail
    assert about == visible("Oil the\x1b lamp")
    assert "\x1b" not in about


@given(st.sets(st.lists(SEGMENT, min_size=1, max_size=3).map("/".join), max_size=12))
def test_every_memory_is_in_the_tree_once(rels: set[str]) -> None:
    # A name cannot be a file and a folder at once.
    rels = {rel for rel in rels if not any(other.startswith(rel + "/") for other in rels)}
    tree = build_tree(project_view(sorted(rels)))
    leaves: list[str] = []

    def walk(node: RowNode) -> None:
        for child in node.children:
            if isinstance(child.data, FileData):
                leaves.append(child.data.file.rel)
            walk(child)

    walk(tree.root)
    assert sorted(leaves) == sorted(rels)
    for rel in rels:
        found = find(tree.root, path_keys(f"/memories/project/{rel}"))
        assert found is not None
        assert path_of(found.data) == f"/memories/project/{rel}"
        assert tree.files[f"/memories/project/{rel}"] is found


def test_reading_the_same_again_gives_the_very_same_nodes() -> None:
    shown = project_view(["a/x.md", "b/y.md", "c.md"])
    first = build_tree(shown)
    assert build_tree(project_view(["a/x.md", "b/y.md", "c.md"]), first).root is first.root


def test_a_change_renews_only_the_way_to_it() -> None:
    first = build_tree(project_view(["a/x.md", "b/y.md"]))
    second = build_tree(project_view([file("a/x.md", "now with a description"), file("b/y.md")]), first)
    assert find(second.root, ("project", "d:a")) is not find(first.root, ("project", "d:a"))
    assert find(second.root, ("project", "d:b")) is find(first.root, ("project", "d:b"))
    assert find(second.root, ("global",)) is find(first.root, ("global",))


def test_the_names_alone_come_first_and_are_told_apart_from_the_whole() -> None:
    shown = project_view(["a.md"])
    first = build_tree(shown, names_only=True)
    second = build_tree(shown, first)
    assert first.files["/memories/project/a.md"].data.names_only
    assert not second.files["/memories/project/a.md"].data.names_only


def test_what_someone_else_changed_wears_the_badge() -> None:
    path = "/memories/project/a.md"
    first = build_tree(project_view(["a.md", "b.md"]))
    second = build_tree(project_view(["a.md", "b.md"]), first, unseen={path: "changed"})
    assert second.files[path].data.changed
    assert not second.files["/memories/project/b.md"].data.changed
    third = build_tree(project_view(["a.md", "b.md"]), second)
    assert not third.files[path].data.changed


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/memories/global", (Scope.GLOBAL, ())),
        ("/memories/project/a/b.md", (Scope.PROJECT, ("a", "b.md"))),
        ("/memories/nowhere/a.md", None),
        ("", None),
    ],
)
def test_a_shown_path_is_taken_apart(path: str, expected: object) -> None:
    assert parse_shown(path) == expected


@pytest.mark.parametrize(
    ("path", "fine"),
    [
        ("/memories/global/notes.md", True),
        ("/memories/global/a b/é.md", True),
        ("/memories/global/a..b.md", False),
        ("/memories/global/~x", False),
        ("/memories/global/", False),
        ("/memories", False),
        ("/memories/other/x.md", False),
    ],
)
def test_a_new_name_is_judged_by_the_agents_rules(path: str, fine: bool) -> None:
    assert (name_problem(path) == "") == fine


def test_problems_of_a_scope_reach_its_root() -> None:
    found = replace(listing(Scope.PROJECT, ["a.md"]), problems=("One folder could not be read.",))
    tree = build_tree(view({Scope.PROJECT: found}))
    root = find(tree.root, ("project",))
    assert root is not None
    assert root.data.problems == ("One folder could not be read.",)
