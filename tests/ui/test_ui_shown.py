"""Text from disk cannot pretend to be other text, and cannot be markup."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import Qt

from reverie.ui.display_text import as_tooltip, human_size, rows_of, visible, visible_lines
from reverie.ui.widgets.text_views import fitting_rows


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("notes.md", "notes.md"),
        ("équipe 日本語.md", "équipe 日本語.md"),
        ("a\u202egpj.md", "a\\u202egpj.md"),
        ("a\nb", "a\\x0ab"),
        ("\x1b[31m", "\\x1b[31m"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\ufeffbom", "\\ufeffbom"),
        ("\udc80", "\\udc80"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("می\u200cخواهم", "می\u200cخواهم"),
    ],
)
def test_what_hides_or_reorders_is_escaped_and_letters_are_not(raw: str, shown: str) -> None:
    assert visible(raw) == shown


@given(st.text())
def test_shown_text_is_one_line_without_controls(text: str) -> None:
    shown = visible(text)
    assert len(shown.splitlines()) <= 1
    assert visible(shown) == shown


@given(st.text(st.sampled_from("ab \t\n\r\x0b\x85\u2028\u2029é")))
def test_lines_end_only_where_those_of_the_file_end(text: str) -> None:
    ends = text.replace("\r\n", "\n").replace("\r", "\n")
    assert visible_lines(text).count("\n") == ends.removesuffix("\n").count("\n")
    assert "\n".join(fitting_rows(text)[0]) == visible_lines(text)


@given(st.text(st.sampled_from("ab \t\n\r\x0b\u2028\u202eé\xa0")))
def test_a_text_is_shown_as_its_cells_are(text: str) -> None:
    lines = rows_of(text)
    assert visible_lines(text) == "\n".join("\t".join(map(visible, line.split("\t"))) for line in lines)


def test_a_tooltip_never_carries_markup_of_its_own() -> None:
    tip = as_tooltip("<b>bold</b>", "", "<img src='file:///x'>")
    assert tip.replace("\u2060", "") == "<b>bold</b>\n<img src='file:///x'>"
    assert not Qt.mightBeRichText(tip)
    assert as_tooltip("", "") == ""


@given(st.lists(st.text(st.sampled_from("ab <>/&;!?=xmlltqbr\n")), max_size=3))
def test_no_text_is_taken_for_markup_as_a_tooltip(lines: list[str]) -> None:
    """B37."""
    assert not Qt.mightBeRichText(as_tooltip(*lines))


def test_a_long_tooltip_is_broken_into_lines() -> None:
    assert max(map(len, as_tooltip("word " * 100).split("\n"))) <= 80


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (102400, "100 KiB"),
        (5 << 20, "5 MiB"),
    ],
)
def test_sizes_are_read_at_a_glance(size: int, text: str) -> None:
    assert human_size(size) == text
