"""Replaying the steps between two lists of keys gives the second list, and moves no more than it must."""

from hypothesis import given
from hypothesis import strategies as st

from reverie.ui.tree.rows import Insert, Move, Remove, RowNode, shared, steps

KEYS = st.lists(st.integers(0, 30).map(str), unique=True, max_size=20)


def replayed(old: list[str], new: list[str]) -> list[str]:
    rows = list(old)
    for step in steps(old, new):
        match step:
            case Remove(first, last):
                assert 0 <= first <= last < len(rows)
                del rows[first : last + 1]
            case Insert(row, first, last):
                assert 0 <= row <= len(rows)
                rows[row:row] = new[first : last + 1]
            case Move(row, before):
                assert not row <= before <= row + 1, "Qt refuses a move to its own place"
                key = rows.pop(row)
                rows.insert(before if before < row else before - 1, key)
    return rows


@given(KEYS, KEYS)
def test_the_steps_lead_from_one_list_to_the_other(old: list[str], new: list[str]) -> None:
    assert replayed(old, new) == new


@given(KEYS)
def test_equal_lists_need_no_step(keys: list[str]) -> None:
    assert steps(keys, list(keys)) == []


@given(KEYS, st.integers(0, 40))
def test_one_row_that_goes_to_another_place_is_one_move(keys: list[str], seed: int) -> None:
    if len(keys) < 3:
        return
    moved = list(keys)
    moved.insert((seed * 7) % len(keys), moved.pop(seed % len(keys)))
    assert len(steps(keys, moved)) <= 1


def test_neighbours_come_and_go_as_one_range() -> None:
    assert steps(list("abcdef"), list("af")) == [Remove(1, 4)]
    assert steps(list("af"), list("abcdef")) == [Insert(1, 1, 4)]


def test_removals_begin_at_the_end() -> None:
    removals = [step for step in steps(list("abcdefg"), list("aceg")) if isinstance(step, Remove)]
    assert removals == sorted(removals, key=lambda step: -step.first)


def test_a_node_that_says_the_same_is_the_same_object() -> None:
    leaf = RowNode("x", 1)
    parent = RowNode("p", "data", (leaf,))
    assert shared(parent, "p", "data", (leaf,)) is parent
    assert shared(parent, "p", "other", (leaf,)) is not parent
    assert shared(parent, "p", "data", (RowNode("x", 1),)) is not parent
