"""Line hunks: all of them give the text after, none the text before, to the character."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from reverie.jobs.consolidate.review import apply_hunks, bytes_of, split_hunks
from reverie.memory.union import text_lines
from reverie.runs.parts import hunk_count, version_without

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "d", "\u2028e\n", "\udcff\n"]), max_size=12)
TEXTS = LINES.map("".join)


@settings(max_examples=examples(150))
@given(TEXTS, TEXTS)
def test_all_hunks_give_the_text_after_and_none_the_text_before(before: str, after: str) -> None:
    hunks = split_hunks(before, after)
    assert apply_hunks(before, hunks, {hunk.index for hunk in hunks}, {}) == after
    assert apply_hunks(before, hunks, set(), {}) == before


@settings(max_examples=examples(100))
@given(TEXTS, TEXTS, st.sets(st.integers(0, 6)))
def test_a_choice_holds_lines_of_the_two_versions_only(before: str, after: str, accepted: set[int]) -> None:
    chosen = apply_hunks(before, split_hunks(before, after), accepted, {})
    assert set(text_lines(chosen)) <= set(text_lines(before)) | set(text_lines(after))


@settings(max_examples=examples(100))
@given(TEXTS, TEXTS, st.sets(st.integers(0, 6)))
def test_a_hunk_has_the_number_under_which_a_run_takes_it_back(
    before: str, after: str, taken: set[int]
) -> None:
    hunks, old, new = split_hunks(before, after), bytes_of(before), bytes_of(after)
    assert len(hunks) == hunk_count(old, new)
    left = {hunk.index for hunk in hunks} - taken
    assert bytes_of(apply_hunks(before, hunks, left, {})) == version_without(old, new, taken)


def test_equal_texts_have_no_hunks() -> None:
    assert split_hunks("a\nb", "a\nb") == ()


def test_each_place_is_a_hunk_of_its_own() -> None:
    hunks = split_hunks("a\nb\nc\nd\n", "A\nb\nc\nD\n")
    assert [(hunk.start, hunk.removed, hunk.added) for hunk in hunks] == [
        (0, ("a\n",), ("A\n",)),
        (3, ("d\n",), ("D\n",)),
    ]
    assert apply_hunks("a\nb\nc\nd\n", hunks, {1}, {}) == "a\nb\nc\nD\n"


def test_other_words_stand_in_place_of_a_hunk_and_never_glue_to_the_next_line() -> None:
    before, after = "a\r\nb\r\n", "x\r\nb\r\n"
    hunks = split_hunks(before, after)
    assert apply_hunks(before, hunks, {0}, {0: "mine"}) == "mine\r\nb\r\n"
    assert apply_hunks(before, hunks, {0}, {0: ""}) == "b\r\n"
    assert apply_hunks("a", split_hunks("a", "x"), {0}, {0: "mine"}) == "mine"


def test_words_for_a_rejected_hunk_count_for_nothing() -> None:
    assert apply_hunks("a\n", split_hunks("a\n", "x\n"), set(), {0: "mine\n"}) == "a\n"
