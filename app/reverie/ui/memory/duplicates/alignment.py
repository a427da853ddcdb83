"""Two texts beside each other, line by line, with the words that differ. Pure and without Qt."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

from reverie.memory.diff import changed_spans

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
# Longer lines are marked as a whole: word by word would cost more than it shows.
_LONGEST = 2_000
# Lines less alike than this are not taken for two wordings of one.
_ALIKE = 0.3

Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a row. `number` counts from 1; 0: nothing stands there. `spans`: what differs in `text`."""

    text: str = ""
    number: int = 0
    spans: Spans = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the comparison; `same`: both sides say it."""

    left: Side
    right: Side
    same: bool


def aligned(left: str, right: str, check: Callable[[], None] = lambda: None) -> tuple[Row, ...]:
    """The rows of both texts; `check` may raise to stop."""
    one, other = _lines(left), _lines(right)
    rows: list[Row] = []
    at_one = at_other = 0
    for span in changed_spans(one, other):
        check()
        rows += _same(one, at_one, other, at_other, span.old_start - at_one)
        rows += _changed(one, (span.old_start, span.old_end), other, (span.new_start, span.new_end))
        at_one, at_other = span.old_end, span.new_end
    rows += _same(one, at_one, other, at_other, len(one) - at_one)
    return tuple(rows)


def _lines(text: str) -> list[str]:
    lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
    return lines[:-1] if lines and not lines[-1] else lines


def _same(one: Sequence[str], at_one: int, other: Sequence[str], at_other: int, count: int) -> list[Row]:
    return [
        Row(
            Side(one[at_one + step], at_one + step + 1),
            Side(other[at_other + step], at_other + step + 1),
            True,
        )
        for step in range(count)
    ]


def _changed(
    one: Sequence[str], here: tuple[int, int], other: Sequence[str], there: tuple[int, int]
) -> list[Row]:
    rows = []
    for left, right in zip_longest(range(*here), range(*there)):
        if left is None or right is None:
            left_side = Side(one[left], left + 1, ((0, len(one[left])),)) if left is not None else Side()
            right_side = (
                Side(other[right], right + 1, ((0, len(other[right])),)) if right is not None else Side()
            )
        else:
            marks = word_marks(one[left], other[right])
            left_side, right_side = (
                Side(one[left], left + 1, marks[0]),
                Side(other[right], right + 1, marks[1]),
            )
        rows.append(Row(left_side, right_side, False))
    return rows


def word_marks(left: str, right: str) -> tuple[Spans, Spans]:
    """The parts of two lines that differ, by word; the whole lines where they have little in common."""
    whole = (((0, len(left)),), ((0, len(right)),))
    if max(len(left), len(right)) > _LONGEST:
        return whole
    one, other = _WORD.findall(left), _WORD.findall(right)
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return whole
    starts, other_starts = _starts(one), _starts(other)
    marks: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            if b > a:
                marks[0].append((starts[a], starts[b]))
            if d > c:
                marks[1].append((other_starts[c], other_starts[d]))
    return tuple(marks[0]), tuple(marks[1])


def _starts(words: Sequence[str]) -> list[int]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return starts
