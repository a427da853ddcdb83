"""What an item model shows, as values: an immutable tree of nodes, and the smallest steps between two lists
of rows.

Pure and without Qt. A worker builds a new tree that shares every unchanged node with the old one, so that "is
it the same object?" answers "did anything change below?"; the model on the GUI thread replays `steps` level
by level. Keys are unique among siblings and stable over time; they are what selection and expansion are
remembered by.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from reverie.context.view import LoadState


class RowNode(NamedTuple):
    """One row. `data` is a frozen value of the model that shows it. Compare nodes with `is`, never with
    `==`."""

    key: str
    data: Any
    children: tuple[RowNode, ...] = ()


def shared(previous: RowNode | None, key: str, data: Any, children: tuple[RowNode, ...] = ()) -> RowNode:
    """`previous` itself where it already says the same, else a new node."""
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
    """Rows first..last go."""

    first: int
    last: int


class Insert(NamedTuple):
    """New rows at `row`: positions source_first..source_last of the target list."""

    row: int
    source_first: int
    source_last: int


class Move(NamedTuple):
    """One row goes to stand before `before`, counted before the move (Qt's rule). Never a move to its own
    place."""

    row: int
    before: int


Step = Remove | Insert | Move


def steps(old: Sequence[str], new: Sequence[str]) -> list[Step]:
    """Steps that turn the keys `old` into `new`: removals from the end, then moves and inserts in target
    order.

    Rows that keep their order relative to each other never move (the longest such run is kept in place), so a
    selected or current row is touched only when it really changes place. Keys must be unique in each list.
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
    """A longest run of keys whose order is the same in both lists (patience sorting, n log n)."""
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


# What a painter needs to know of a row of a tree. A value, without Qt, so that a model can say it without
# what draws it.


class RowLook(NamedTuple):
    """Everything a painter needs of a row, in one call across the language border. Texts are safe to draw.

    `lock` is the sign of what is not for editing. `use` is right-aligned; with `has_use` its room is kept on
    every row, so that the marks stand in one column. `pin_unknown`: the running agent has not read that it
    is pinned, or that it is not any more. `cut_end`: the name is a sentence, which loses its end where there
    is no room; others lose their middle. `badge`: N, M or D, what someone else did to it unseen. `struck`: it
    is gone.
    """

    name: str
    detail: str = ""
    icon: str = ""
    use: str = ""
    has_use: bool = False
    bold: bool = False
    italic: bool = False
    quiet: bool = False
    pinned: bool = False
    pin_unknown: bool = False
    badge: str = ""
    loaded: LoadState | Literal[""] = ""
    warning: bool = False
    modified: bool = False
    flag: bool = False
    lock: str = ""
    cut_end: bool = False
    struck: bool = False
