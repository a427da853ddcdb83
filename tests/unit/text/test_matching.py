"""Comparing two texts takes steps in proportion to their length, whatever is in them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from difflib import SequenceMatcher
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz

from helpers.long_texts import long_texts
from reverie.jobs.consolidate.review import merged_lines
from reverie.jobs.consolidate.rules.merge import merged_body
from reverie.jobs.consolidate.rules.reading import split_sentences
from reverie.jobs.consolidate.rules.wording import read_wording
from reverie.memory.diff import changed_spans, word_spans
from reverie.memory.nearest_lines import MOST_PAIRS, nearest_lines
from reverie.text.matching import differing, matching
from reverie.text.text_merge import merge

SMALL, FACTOR = 500, 4
WORST = 1.9 * FACTOR
"""More than n log n grows by over this range, and half of what the square grows by."""
CHEAP = 60
"""Lines of Python for each character; what is below is in proportion, however cheap a short text is."""


def lines_run(work: Callable[[], Any]) -> int:
    """Count the lines of Python that some work runs."""
    count = 0

    def line(_frame: Any, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line

    before = sys.gettrace()
    sys.settrace(line)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def turned(text: str) -> str:
    """The text with each part in another place, so that most words are there and few in order."""
    step = len(text) // 7
    parts = [text[at : at + step] for at in range(0, len(text), step)]
    return "\n turned ".join(parts[::-1])


def worded(text: str) -> None:
    read_wording.cache_clear()
    for statement in split_sentences(text):
        read_wording(statement)
    read_wording(text)


WORK: dict[str, Callable[[str], Any]] = {
    "words": lambda text: word_spans(text, turned(text)),
    "elements": lambda text: changed_spans(list(text), list(turned(text))),
    "lines of a merge": lambda text: merged_lines(text, turned(text), turned(text)[9:]),
    "typing beside another program": lambda text: merge(text, turned(text), text[9:]),
    "a merge by rules": lambda text: merged_body(text, turned(text), compact=False),
    "sentences and their words": worded,
}


@pytest.mark.parametrize("work", WORK.values(), ids=list(WORK))
def test_a_comparison_takes_steps_in_proportion_to_its_texts(work: Callable[[str], Any]) -> None:
    larger = dict(long_texts(SMALL * FACTOR))
    for name, text in long_texts(SMALL):
        few, many = lines_run(partial(work, text)), lines_run(partial(work, larger[name]))
        assert many <= max(WORST * few, CHEAP * SMALL * FACTOR), name


@pytest.mark.parametrize("unit", ["not ", "`a` ", "e.g. "])
def test_negations_code_and_abbreviations_of_one_statement_take_steps_in_proportion_to_it(unit: str) -> None:
    few, many = (lines_run(partial(worded, unit * times)) for times in (500, 2_000))
    assert many < 5 * few


def test_a_table_with_thousands_of_equal_rows_is_merged_in_steps_in_proportion() -> None:
    rows = "| a | b |\n| - | - |\n"

    def merged(times: int) -> int:
        body = rows * times
        return lines_run(lambda: merged_body(body, f"{body}\n# Other\n\nOther.\n{rows}", compact=False))

    assert merged(1_000) < 5 * merged(250)


SEQUENCES = st.lists(st.integers(0, 6), max_size=60)


@given(SEQUENCES, SEQUENCES, st.integers(0, 300))
def test_runs_are_equal_in_order_and_apart_however_few_steps_are_allowed(
    old: list[int], new: list[int], least: int
) -> None:
    at = new_at = 0
    for start, new_start, length in matching(old, new, least):
        assert length > 0
        assert start >= at
        assert new_start >= new_at
        assert old[start : start + length] == new[new_start : new_start + length]
        at, new_at = start + length, new_start + length
    assert at <= len(old)
    assert new_at <= len(new)


@given(SEQUENCES, SEQUENCES)
def test_what_is_not_too_dear_is_matched_as_difflib_does_between_equal_ends(
    old: list[int], new: list[int]
) -> None:
    start = 0
    while old[start : start + 1] == new[start : start + 1] != []:
        start += 1
    end = 0
    while start + end < min(len(old), len(new)) and old[-1 - end] == new[-1 - end]:
        end += 1
    matcher = SequenceMatcher(None, old[start : len(old) - end], new[start : len(new) - end])
    expected = [
        (start + a, start + b, start + c, start + d)
        for tag, a, b, c, d in matcher.get_opcodes()
        if tag != "equal"
    ]
    assert differing(matching(old, new), old, new) == expected


def test_lines_that_a_text_must_have_meant_are_looked_for_within_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pairs = 0

    def counted(wanted: str, window: str, *, score_cutoff: float) -> float:
        nonlocal pairs
        pairs += len(wanted) * len(window)
        return 0.0

    monkeypatch.setattr(fuzz, "ratio", counted)
    monkeypatch.setattr(fuzz, "partial_ratio", counted)
    for wanted, text in (
        ("x y" * 100_000, "y x" * 100_000),
        ("\n".join("ab" * 50 for _ in range(200)), "ba" * 40 + "\nabc" * 50_000),
        ("a" * 1_000, ("b" * 1_000 + "\n") * 50_000),
    ):
        pairs = 0
        assert nearest_lines(text, wanted) == ""
        assert pairs <= MOST_PAIRS
