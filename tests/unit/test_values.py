"""What values have in common: frozen, compared by their fields, copied with others, told as plain data."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, NamedTuple

import pytest

from reverie.values import Struct, as_dict, columns, field, fields_of, replace


class Place(Struct, frozen=True):
    name: str
    rows: tuple[int, ...] = ()
    more: dict[str, Any] = field(default_factory=dict)


class Pair(NamedTuple):
    left: Place
    right: int


@dataclasses.dataclass(frozen=True, slots=True)
class Hidden:
    name: str
    key: str = dataclasses.field(default="", repr=False)
    worked_out: int = dataclasses.field(default=0, init=False)


class Both(Struct, frozen=True):
    places: tuple[Place, ...]
    pair: Pair | None = None
    hidden: Hidden | None = None


def test_a_value_cannot_be_changed_and_is_equal_to_one_with_the_same_fields() -> None:
    place = Place("a", (1,))
    with pytest.raises(AttributeError):
        place.name = "b"  # type: ignore[misc]
    assert place == Place("a", (1,))
    assert place != Place("a", (2,))
    assert place.more is not Place("a").more, "each has a mapping of its own"
    assert len({Pair(Place("a"), 1).right, hash(Both((), None))}) == 2


def test_other_fields_make_another_value_of_either_kind() -> None:
    assert replace(Place("a", (1,)), name="b") == Place("b", (1,))
    assert replace(Hidden("a", "k"), name="b") == Hidden("b", "k")
    with pytest.raises(TypeError):
        replace(Place("a"), nowhere=1)  # type: ignore[call-arg]


def test_the_fields_of_a_class_are_those_that_its_constructor_takes() -> None:
    assert fields_of(Place) == ("name", "rows", "more")
    assert fields_of(Hidden) == ("name", "key")
    assert fields_of(str) == fields_of(Pair) == ()


def test_a_value_is_told_as_plain_data_with_the_values_in_it() -> None:
    value = Both((Place("a", (1, 2), {"b": Place("c")}),), Pair(Place("d"), 3), Hidden("e", "k"))
    told = as_dict(value)
    assert told["places"] == ({"name": "a", "rows": (1, 2), "more": {"b": as_dict(Place("c"))}},)
    assert told["pair"] == Pair(as_dict(Place("d")), 3)  # type: ignore[arg-type]
    assert told["hidden"] == {"name": "e", "key": "k"}
    assert json.loads(json.dumps(told))["pair"] == [{"name": "d", "rows": [], "more": {}}, 3]


def test_columns_are_the_attributes_under_their_names_in_json() -> None:
    class Inner(Struct, frozen=True):
        at_ms: int

    class Row(Struct, frozen=True):
        updated_at: int
        project_path: str
        inner: Inner

    row = Row(7, "/work", Inner(3))
    assert columns(row, "project_path updated_at when=inner.at_ms") == {
        "projectPath": "/work",
        "updatedAt": 7,
        "when": 3,
    }
    assert list(columns(row, "updated_at project_path")) == ["updatedAt", "projectPath"]
    with pytest.raises(AttributeError):
        columns(row, "path")
