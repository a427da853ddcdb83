"""Text is counted in UTF-16 code units, as the agents count it, and never cut inside a character."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.text.summaries import between_words, cut_utf16, estimate_tokens, utf16_length


@pytest.mark.parametrize(
    ("text", "units"),
    [("", 0), ("abc", 3), ("é", 1), ("€", 1), ("😀", 2), ("a😀b", 4), ("\ud83d", 1), ("\uffff", 1)],
)
def test_length_is_in_utf16_code_units(text: str, units: int) -> None:
    assert utf16_length(text) == units


@pytest.mark.parametrize(
    ("text", "units", "cut"),
    [
        ("abc", 2, "ab"),
        ("abc", 3, "abc"),
        ("a😀b", 2, "a"),
        ("a😀b", 3, "a😀"),
        ("😀", 1, ""),
        ("é", 0, ""),
        ("ab", -1, ""),
    ],
)
def test_a_cut_never_splits_a_character(text: str, units: int, cut: str) -> None:
    assert cut_utf16(text, units) == cut


@given(st.text(), st.integers(0, 30))
def test_a_cut_is_the_longest_beginning_that_fits(text: str, units: int) -> None:
    cut = cut_utf16(text, units)
    assert text.startswith(cut)
    assert utf16_length(cut) <= units
    assert cut == text or utf16_length(text[: len(cut) + 1]) > units


@given(st.text())
def test_tokens_are_a_quarter_of_the_units_rounded_up(text: str) -> None:
    assert estimate_tokens(text) == math.ceil(utf16_length(text) / 4)


@pytest.mark.parametrize(
    ("text", "most", "kept"),
    [
        ("the key sk-1234567890", 12, "the key "),
        ("the key sk-1234567890", 8, "the key "),
        ("the key sk-1234567890", 7, "the key"),
        ("the key sk-1234567890", 21, "the key sk-1234567890"),
        ("one\ntwo\tthree", 10, "one\ntwo\t"),
        ("a " + "b" * 600, 400, "a "),
        ("a " + "b" * 900, 800, "a " + "b" * 798),
        ("b" * 900, 100, "b" * 100),
        ("", 5, ""),
    ],
)
def test_a_cut_between_words_leaves_no_half_of_one_but_of_a_very_long_one(
    text: str, most: int, kept: str
) -> None:
    assert between_words(text[:most], text) == kept
