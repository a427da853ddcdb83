"""Immutable rows of a tree, and the steps that turn one list of rows into another.

A new tree reuses every unchanged node of the old one. So if two nodes are the same object, nothing in them or
below them has changed. The model on the GUI thread applies the `steps` of each level to its rows.

Threading: any thread. Failure: none.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, NamedTuple


class RowNode(NamedTuple):
    """One row of a tree, with the rows below it.

    Compare nodes with `is`, never with `==`: an unchanged node is the same object in the next tree.
    """

    key: str
    """A name that no other row below the same parent has."""
    data: Any
    """A frozen value, whose type depends on the model that shows the node."""
    children: tuple[RowNode, ...] = ()


def shared(previous: RowNode | None, key: str, data: Any, children: tuple[RowNode, ...] = ()) -> RowNode:
    """Return `previous` if it has this key, this data and the same child objects, else a new node."""
    if (
        previous is not None
        and previous.key == key
        and len(previous.children) == len(children)
        and all(old is new for old, new in zip(previous.children, children, strict=True))
        and previous.data == data
    ):
        return previous
    return RowNode(key, data, children)


class Remove(NamedTuple):
    """A step that removes the rows `first` to `last`, both included."""

    first: int
    last: int


class Insert(NamedTuple):
    """A step that inserts rows of the new list; the first of them becomes the row `row`."""

    row: int
    source_first: int
    """The first row to insert, as its index in the new list."""
    source_last: int
    """The last row to insert, as its index in the new list."""


class Move(NamedTuple):
    """A step that moves one row to the place before the row `before`.

    Both rows are counted before the move, as in Qt. `before` is never the moved row or the one after it.
    """

    row: int
    before: int


Step = Remove | Insert | Move


def steps(old: Sequence[str], new: Sequence[str]) -> list[Step]:
    """Return the steps that turn a list of rows with the keys `old` into one with the keys `new`.

    Removals come first, from the end of the list; then moves and inserts in the order of `new`. As few rows
    as possible move, so a selected or current row moves only if its place among the other rows changes. Keys
    must be unique in each list.
    """
    if old == new:
        return []
    wanted = {key: position for position, key in enumerate(new)}
    result: list[Step] = list(_removals(old, wanted))
    current = [key for key in old if key in wanted]
    staying = _staying(current, wanted)
    position, at = 0, 0  # `at`: where the next key of the target belongs in `current`
    kept = frozenset(current)
    while position < len(new):
        key = new[position]
        if key not in kept:
            last = position
            while last + 1 < len(new) and new[last + 1] not in kept:
                last += 1
            result.append(Insert(at, position, last))
            current[at:at] = new[position : last + 1]
            at += last - position + 1
            position = last + 1
            continue
        row = at if at < len(current) and current[at] == key else current.index(key)
        if key not in staying and row != at:
            result.append(Move(row, at))
            current.insert(at if at < row else at - 1, current.pop(row))
            row = at if at < row else at - 1
        at = row + 1
        position += 1
    return result


def _removals(old: Sequence[str], wanted: dict[str, int]) -> list[Remove]:
    ranges: list[Remove] = []
    row = len(old) - 1
    while row >= 0:
        if old[row] in wanted:
            row -= 1
            continue
        last = row
        while row > 0 and old[row - 1] not in wanted:
            row -= 1
        ranges.append(Remove(row, last))
        row -= 1
    return ranges


def _staying(current: Sequence[str], wanted: dict[str, int]) -> frozenset[str]:
    """Return the keys of a largest set of rows that are in the same order in the old and the new list.

    These rows need not move. `current`: the keys of the old list. `wanted`: key -> place in the new list. The
    set is a longest increasing subsequence, found by patience sorting in O(n log n).
    """
    tails: list[int] = []
    tail_rows: list[int] = []
    before: list[int] = [-1] * len(current)
    for row, key in enumerate(current):
        place = bisect_left(tails, wanted[key])
        before[row] = tail_rows[place - 1] if place else -1
        if place == len(tails):
            tails.append(wanted[key])
            tail_rows.append(row)
        else:
            tails[place] = wanted[key]
            tail_rows[place] = row
    kept: set[str] = set()
    row = tail_rows[-1] if tail_rows else -1
    while row >= 0:
        kept.add(current[row])
        row = before[row]
    return frozenset(kept)
