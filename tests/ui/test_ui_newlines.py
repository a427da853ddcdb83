"""Line breaks that nobody edited reach the disk as they were."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reverie.ui.editor import line_breaks
from reverie.ui.editor.line_breaks import prevailing_newline, restored, smallest_edit, widget_text

LINE = st.text(st.sampled_from("ab \u2029\ufdd0"), max_size=3)
BREAK = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def texts(draw: st.DrawFn) -> str:
    parts = [draw(LINE)]
    for _ in range(draw(st.integers(0, 6))):
        parts += [draw(BREAK), draw(LINE)]
    return "".join(parts)


@given(texts())
def test_an_unedited_text_comes_back_byte_for_byte(original: str) -> None:
    assert restored(original, widget_text(original)) == original


EMPTY = st.sampled_from(["", "a"])
MIXED = st.lists(st.sampled_from(["\n", "\r", "\r\n", "a"]), max_size=6).map("".join)


@example("\n\r", "\n\n\n\n")
@given(MIXED, st.lists(EMPTY, max_size=8).map("\n".join))
def test_no_line_break_is_lost_where_kept_and_new_ones_meet(original: str, edited: str) -> None:
    assert widget_text(restored(original, edited)) == edited


@given(texts(), st.lists(LINE, max_size=8).map("\n".join))
def test_an_edited_text_says_what_was_typed(original: str, edited: str) -> None:
    assert widget_text(restored(original, edited)) == edited


def test_lines_that_stayed_keep_their_own_ending_and_new_ones_get_the_usual_one() -> None:
    original = "one\r\ntwo\nthree\r\nfour"
    assert restored(original, "one\nnew\ntwo\nthree\nfour") == "one\r\nnew\r\ntwo\nthree\r\nfour"


def test_a_file_of_one_kind_keeps_that_kind() -> None:
    assert restored("a\r\nb\r\n", "a\nb\nc\n") == "a\r\nb\r\nc\r\n"
    assert restored("", "a\nb", "\r\n") == "a\r\nb"
    assert prevailing_newline("a\nb\r\nc\r\n") == "\r\n"


@given(st.text("ab\U0001f600", max_size=12), st.text("ab\U0001f600", max_size=12))
def test_the_smallest_edit_leads_from_one_text_to_the_other(old: str, new: str) -> None:
    start, end, text = smallest_edit(old, new)
    assert old[:start] + text + old[end:] == new


def test_the_smallest_edit_touches_only_the_middle() -> None:
    assert smallest_edit("keep old end", "keep new end") == (5, 8, "new")
    assert smallest_edit("same", "same") == (4, 4, "")


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_file_of_one_kind_is_not_searched_break_by_break(
    monkeypatch: pytest.MonkeyPatch, newline: str
) -> None:
    monkeypatch.setattr(line_breaks, "_BREAK", None)
    original = f"a{newline}" * 1_000
    assert restored(original, "a\nb\n") == f"a{newline}b{newline}"
    assert prevailing_newline(original) == newline
