"""Which operations belong together: a path, a rename's names, a memory that loses lines and its gainer."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.benches import with_op
from helpers.profiles import examples
from reverie.jobs.consolidate.review import group_operations, renamed_files

A, B, C = (f"/memories/global/{name}.md" for name in "abc")


def test_operations_on_different_paths_are_separate() -> None:
    ops = [with_op("str_replace", A), with_op("create", B)]
    groups = group_operations(ops, {A: "one\n"}, {A: "two\n", B: "new words\n"})
    assert [(group.ops, group.paths, group.kind) for group in groups] == [
        ((0,), (A,), "edit"),
        ((1,), (B,), "create"),
    ]


def test_operations_on_one_path_are_one_group() -> None:
    ops = [with_op("insert", A), with_op("create", B), with_op("str_replace", A)]
    groups = group_operations(ops, {A: "one\n"}, {A: "two\n", B: "x y\n"})
    assert [group.ops for group in groups] == [(0, 2), (1,)]


def test_a_delete_belongs_with_the_edit_that_gained_its_lines() -> None:
    ops = [with_op("insert", A), with_op("create", C), with_op("delete", B)]
    before = {A: "Use uv.\n", B: "- Never force-push.\n"}
    after = {A: "Use uv.\n* never FORCE-push.\n", C: "Other words.\n"}
    first, second = group_operations(ops, before, after)
    assert (first.ops, first.paths, first.kind) == ((0, 2), (A, B), "merge")
    assert B in first.reason
    assert second.kind == "create"


def test_an_edit_that_gives_lines_away_belongs_with_their_gainer() -> None:
    ops = [with_op("str_replace", A), with_op("insert", B)]
    groups = group_operations(ops, {A: "Keep me.\nStay.\n", B: ""}, {A: "Stay.\n", B: "Keep me.\n"})
    assert [group.ops for group in groups] == [(0, 1)]


def test_a_heading_in_common_ties_nothing() -> None:
    ops = [with_op("delete", A), with_op("create", B)]
    groups = group_operations(ops, {A: "# Notes\nold\n"}, {B: "# Notes\nfresh\n"})
    assert len(groups) == 2


def test_what_the_gainer_had_already_ties_nothing() -> None:
    ops = [with_op("delete", A), with_op("insert", B)]
    groups = group_operations(ops, {A: "Same line.\n", B: "Same line.\n"}, {B: "Same line.\nMore.\n"})
    assert len(groups) == 2


def test_a_rename_is_one_group_with_both_names_and_later_edits() -> None:
    ops = [with_op("rename", A, newPath=B), with_op("str_replace", B)]
    (group,) = group_operations(ops, {A: "one\n"}, {B: "two\n"})
    assert (group.ops, set(group.paths), group.kind) == ((0, 1), {A, B}, "rename")


def test_a_renamed_directory_takes_its_files_along() -> None:
    ops = [with_op("rename", "/memories/global/x", newPath="/memories/global/y")]
    before = {"/memories/global/x/1.md": "one\n", "/memories/global/x/2.md": "two\n"}
    after = {"/memories/global/y/1.md": "one\n", "/memories/global/y/2.md": "two\n"}
    (group,) = group_operations(ops, before, after)
    assert group.kind == "rename"
    assert renamed_files(ops, before, after) == {path: path.replace("/x/", "/y/") for path in before}


def test_a_rename_onto_the_place_of_a_deleted_file_is_no_mere_move() -> None:
    ops = [with_op("delete", B), with_op("rename", A, newPath=B)]
    assert renamed_files(ops, {A: "one\n", B: "old\n"}, {B: "one\n"}) == {}
    assert renamed_files(
        [with_op("rename", A, newPath=B), with_op("rename", B, newPath=C)], {A: "x"}, {C: "x"}
    ) == {A: C}


def test_what_was_refused_or_failed_is_in_no_group() -> None:
    ops = [
        with_op("delete", A, applied=False, note="pinned"),
        with_op("insert", A, applied=False, note="dry-run"),
    ]
    (group,) = group_operations(ops, {A: "one\n"}, {A: "one\ntwo\n"})
    assert group.ops == (1,)


def test_the_engines_own_words_are_the_reason() -> None:
    ops = [with_op("insert", A), with_op("str_replace", A), with_op("create", B)]
    groups = group_operations(ops, {A: "a\n"}, {A: "b\n", B: "c\n"}, ["Both say it.", "Both say it.", ""])
    assert groups[0].reason == "Both say it."
    assert groups[1].reason == f"{B} is new."


def test_a_file_that_no_operation_names_is_shown_all_the_same() -> None:
    (group,) = group_operations([], {A: "a\n"}, {})
    assert (group.ops, group.paths, group.kind) == ((), (A,), "delete")


NAMES = [f"/memories/global/{name}.md" for name in "abcdef"]
TEXTS = st.dictionaries(
    st.sampled_from(NAMES),
    st.lists(st.sampled_from(["one\n", "two\n", "# x\n", "three\n"]), max_size=4).map("".join),
)
OPS = st.lists(
    st.builds(
        lambda command, path, new: with_op(
            command, path, **({"newPath": new} if command == "rename" else {})
        ),
        st.sampled_from(["create", "delete", "rename", "insert"]),
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
    ),
    max_size=8,
)


@settings(max_examples=examples(100))
@given(OPS, TEXTS, TEXTS)
def test_groups_share_no_path_and_miss_none(
    ops: list[dict[str, Any]], before: dict[str, str], after: dict[str, str]
) -> None:
    groups = group_operations(ops, before, after)
    paths = [path for group in groups for path in group.paths]
    assert sorted(paths) == sorted(before.keys() | after.keys())
    positions = [position for group in groups for position in group.ops]
    assert len(positions) == len(set(positions))
