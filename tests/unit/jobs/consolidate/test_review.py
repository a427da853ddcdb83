"""A selection of a review: what it leads to, and what the rails keep."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.benches import with_op
from helpers.profiles import examples
from reverie.jobs.consolidate.review import (
    Review,
    ReviewSelection,
    build_review,
    bytes_of,
    chosen_change,
    named_parts,
    resolve,
    text_of,
)
from reverie.runs.retention import judge_retention
from reverie.values import replace

A, B, C = (f"/memories/global/{name}.md" for name in "abc")
ALL = ReviewSelection()


def merge_of_two(**more: Any) -> Review:
    """B's line goes into A, and B goes."""
    ops = [with_op("insert", A), with_op("delete", B)]
    return build_review(
        ops, {A: "Use uv.\n", B: "No force-push.\n"}, {A: "Use uv.\nNo force-push.\n"}, **more
    )


def edits(count: int, **more: Any) -> Review:
    """Unrelated edits, each of a file with 3 lines."""
    names = [f"/memories/global/{number}.md" for number in range(count)]
    before = {name: f"first {name}\nmiddle {name}\nlast {name}\n" for name in names}
    after = {name: f"FIRST thing {name}\nfirst {name}\nmiddle {name}\nlast {name}\nend\n" for name in names}
    return build_review([with_op("insert", name) for name in names], before, after, **more)


def test_all_of_it_is_what_the_run_wanted() -> None:
    resolution = resolve(merge_of_two(), ALL)
    assert resolution.files == {A: b"Use uv.\nNo force-push.\n", B: None}
    assert not resolution.blocked


def test_a_rejected_group_changes_nothing_of_its_files() -> None:
    review = edits(8)
    resolution = resolve(review, ALL.with_group(3, accepted=False))
    assert len(resolution.files) == 7
    assert "/memories/global/3.md" not in resolution.files
    assert resolve(review, ALL.with_group(3, accepted=False).with_group(3, accepted=True)).files.keys() == {
        file.path for file in review.files
    }


def test_rejecting_everything_changes_nothing() -> None:
    assert resolve(merge_of_two(), ALL.with_group(0, accepted=False)).files == {}


def test_rejecting_the_receiving_hunk_of_a_merge_blocks_its_delete() -> None:
    review = merge_of_two()
    rejected = ALL.with_hunk(A, 0, accepted=False)
    resolution = resolve(review, rejected)
    assert resolution.files == {}
    assert resolution.blocked.keys() == {B}
    assert "1 line" in resolution.blocked[B]
    agreed = resolve(review, rejected.with_agreed_loss(B, agreed=True))
    assert (agreed.files, agreed.blocked) == ({B: None}, {})
    assert resolve(review, rejected.with_hunk(A, 0, accepted=True)).files == resolve(review, ALL).files


def test_a_description_that_a_person_rejects_does_not_keep_the_duplicate() -> None:
    note = "---\ndescription: {}\n---\n\nUse uv.\n"
    before = {A: note.format("Tools"), B: note.format("Package tools")}
    ops = [with_op("edit", A), with_op("delete", B)]
    review = build_review(ops, before, {A: note.format("Package tools")})
    resolution = resolve(review, ALL.with_hunk(A, 0, accepted=False))
    assert (resolution.files, resolution.blocked) == ({B: None}, {})


def test_an_edit_that_drops_what_a_merge_brought_blocks_its_delete() -> None:
    dropped = resolve(merge_of_two(), ALL.with_file_text(A, "Mine.\n"))
    assert (dropped.files, dropped.blocked.keys()) == ({A: b"Mine.\n"}, {B})
    kept = resolve(merge_of_two(), ALL.with_hunk_text(A, 0, "Also: no force-push.\n"))
    assert kept.files == {A: b"Use uv.\nAlso: no force-push.\n", B: None}


def test_lines_that_stand_in_a_memory_the_run_does_not_touch_are_kept() -> None:
    ops = [with_op("delete", B)]
    alone = build_review(ops, {B: "Same words.\n"}, {})
    assert resolve(alone, ALL).blocked.keys() == {B}
    beside = build_review(ops, {B: "Same words.\n"}, {}, others={C: "- same words\n"})
    assert not resolve(beside, ALL).blocked


def test_a_memory_pinned_meanwhile_neither_goes_nor_moves() -> None:
    pinned = resolve(merge_of_two(is_protected=lambda path: path == B), ALL.with_agreed_loss(B, agreed=True))
    assert pinned.files == {A: b"Use uv.\nNo force-push.\n"}
    assert "pinned" in pinned.blocked[B]
    move = build_review(
        [with_op("rename", A, newPath=C)], {A: "x y\n"}, {C: "x y\n"}, is_protected=lambda path: path == A
    )
    assert (resolve(move, ALL).files, resolve(move, ALL).blocked.keys()) == ({}, {C})


def test_a_pinned_memory_may_be_edited() -> None:
    assert len(resolve(edits(1, is_protected=lambda path: True), ALL).files) == 1


def test_a_rename_goes_as_a_whole_or_not_at_all() -> None:
    ops = [with_op("rename", A, newPath=C), with_op("insert", C)]
    review = build_review(ops, {A: "one\n"}, {C: "one\ntwo\n"})
    (file,) = review.files
    assert (file.verb, file.old_path, [hunk.index for hunk in file.hunks]) == ("rename", A, [0, 1])
    assert resolve(review, ALL).files == {A: None, C: b"one\ntwo\n"}
    assert resolve(review, ALL.with_hunk(C, 1, accepted=False)).files == {A: None, C: b"one\n"}
    assert resolve(review, ALL.with_hunk(C, 0, accepted=False)).files == {A: b"one\ntwo\n"}
    neither = ALL.with_hunk(C, 0, accepted=False).with_hunk(C, 1, accepted=False)
    assert resolve(review, neither).files == {}
    assert chosen_change(file, resolve(review, ALL)) == {A: None, C: b"one\ntwo\n"}


def test_a_name_that_two_files_share_means_the_first() -> None:
    moved = build_review([with_op("rename", A, newPath=C)], {A: "one\n"}, {C: "one\n"})
    made = build_review([with_op("create", A)], {}, {A: "another\n"})
    review = replace(moved, groups=(*moved.groups, replace(made.groups[0], index=1)))
    assert [file.paths for file in review.files] == [(A, C), (A,)]
    parts, too = named_parts("1-0000000a", review, [A], [], {})
    assert (set(parts), too) == ({A, C}, ())


def test_an_empty_memory_comes_and_goes_by_a_hunk_without_lines() -> None:
    review = build_review([with_op("delete", A), with_op("create", B)], {A: ""}, {B: ""})
    assert resolve(review, ALL).files == {A: None, B: b""}
    assert resolve(review, ALL.with_hunk(A, 0, accepted=False)).files == {B: b""}
    assert resolve(review, ALL.with_hunk(B, 0, accepted=False)).files == {A: None}


def test_a_delete_with_other_words_becomes_an_edit() -> None:
    review = build_review([with_op("delete", A)], {A: "one two\n"}, {})
    assert resolve(review, ALL.with_hunk_text(A, 0, "one two, still\n")).files == {A: b"one two, still\n"}
    assert resolve(review, ALL.with_file_text(A, "one two\n")).files == {}


def test_edits_that_lose_too_much_of_a_scope_stay_until_a_person_agrees() -> None:
    before = {name: f"first of {name}\nsecond of {name}\n" for name in (A, B)}
    after = {name: f"first of {name}\n" for name in (A, B)}
    ops = [with_op("str_replace", A), with_op("str_replace", B)]
    review = build_review(ops, before, after)
    assert resolve(review, ALL).blocked.keys() == {A, B}
    both = ALL.with_agreed_loss(A, agreed=True).with_agreed_loss(B, agreed=True)
    assert resolve(review, both).files == {name: text.encode() for name, text in after.items()}
    by_hand = ALL.with_file_text(A, "all new words\n").with_group(1, accepted=False)
    assert resolve(review, by_hand).files == {A: b"all new words\n"}
    roomy = build_review(ops, before, after, others={C: "\n".join(f"line {n} here" for n in range(30))})
    assert not resolve(roomy, ALL).blocked


def test_bytes_that_are_no_text_come_through_unchanged() -> None:
    data = b"ok\n\xff\xfe\r\n"
    assert bytes_of(text_of(data)) == data
    review = build_review([with_op("rename", A, newPath=B)], {A: text_of(data)}, {B: text_of(data)})
    assert resolve(review, ALL).files == {A: None, B: data}


@settings(max_examples=examples(100))
@given(st.sets(st.integers(0, 5)), st.dictionaries(st.integers(0, 5), st.sets(st.integers(0, 1))))
def test_only_what_is_accepted_changes(groups: set[int], hunks: dict[int, set[int]]) -> None:
    review = edits(6)
    selection = ALL
    for group in groups:
        selection = selection.with_group(group, accepted=False)
    for number, indexes in hunks.items():
        for index in indexes:
            selection = selection.with_hunk(f"/memories/global/{number}.md", index, accepted=False)
    resolution = resolve(review, selection)
    assert not resolution.blocked
    for number, file in enumerate(review.files):
        rejected = hunks.get(number, set())
        unchanged = number in groups or len(rejected) == len(file.hunks)
        assert (file.path in resolution.files) is not unchanged
        if not unchanged and not rejected:
            assert resolution.files[file.path] == (file.after or "").encode()


PATHS = [A, B, C]
WORDS = st.lists(st.sampled_from(["one", "two", "one two", "- Two", "# x", "three one", ""]), max_size=5)
TEXTS = st.dictionaries(st.sampled_from(PATHS), WORDS.map("\n".join))


@settings(max_examples=examples(100))
@given(TEXTS, TEXTS, WORDS.map("\n".join))
def test_a_delete_is_blocked_exactly_when_the_run_itself_would_be_held(
    before: dict[str, str], after: dict[str, str], elsewhere: str
) -> None:
    others = {"/memories/global/other.md": elsewhere}
    ops = [with_op("create", path) for path in PATHS]
    review = build_review(ops, before, after, others=others, max_loss_percent=100)
    held = judge_retention({**others, **before}, {**others, **after}).blocked_deletes
    assert set(resolve(review, ALL).blocked) == set(held)
