"""A list of two-line rows: what is selected stays, however often the same rows are set again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from reverie.ui.icons import Icons
from reverie.ui.tree.node_model import BATCH
from reverie.ui.widgets.lists import LineList, LineModel, TwoLines


class Rows(LineModel):
    """Values are numbers."""

    def look(self, value: Any) -> TwoLines:
        return TwoLines(str(value), "", "")

    def spoken(self, value: Any) -> str:
        return str(value)

    def tooltip(self, value: Any) -> str:
        return ""


@pytest.fixture
def rows(qtbot: Any) -> LineList:
    made = LineList(Rows(), Icons(), "numbers")
    qtbot.addWidget(made)
    return made


ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2)), max_size=5)


@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.one_of(ROWS, st.integers(0, 4)), max_size=6))
def test_rows_are_those_of_a_list_that_knew_none_before(rows: LineList, steps: list[Any]) -> None:
    found: list[tuple[str, int]] = []
    for step in steps:
        # A number: the same rows, one of them with another value.
        if isinstance(step, int):
            found = [(name, value + (place == step)) for place, (name, value) in enumerate(found)]
        else:
            found = step
        before = {child.key: child for child in rows.rows.tree.children}
        rows.set_values(found)
        counted = [
            f"{name} {[each for each, _ in found[: at + 1]].count(name)}"
            for at, (name, _) in enumerate(found)
        ]
        assert [child.key for child in rows.rows.tree.children] == counted
        assert rows.values == tuple(value for _name, value in found)
        for child in rows.rows.tree.children:
            old = before.get(child.key)
            assert old is None or (old is child) == (old.data == child.data)


def test_the_selection_stays_on_its_row_when_its_value_is_another(rows: LineList) -> None:
    rows.set_values([("a", 1), ("b", 2)])
    rows.setCurrentIndex(rows.rows.index(1, 0))
    rows.set_values([("a", 1), ("b", 3)])
    assert rows.current_value == 3
    rows.set_values([("b", 4), ("a", 1)])
    assert rows.current_value == 4


def test_every_row_is_shown_and_found_by_its_key(rows: LineList) -> None:
    rows.set_values((str(number), number) for number in range(BATCH + 100))
    assert rows.rows.rowCount() == BATCH + 100
    rows.pick(str(BATCH + 50))
    assert rows.current_value == BATCH + 50
    rows.pick("none")
    assert rows.current_value == BATCH + 50, "a key that is not there changes nothing"
