"""Arguments of tools: what is no usable object is refused in words a model can act on."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.errors import StoreError
from reverie.llm.tools import argument_problem, decode_arguments

SCHEMA = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "enum": ["view", "create"]},
        "insert_line": {"type": "integer"},
        "ratio": {"type": "number"},
        "deep": {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]},
        "ids": {"type": "array", "items": {"type": ["string", "null"]}},
    },
    "required": ["command"],
}


@pytest.mark.parametrize("text", ["", " \n", "{}"])
def test_no_arguments_are_an_empty_object(text: str) -> None:
    assert decode_arguments(text) == {}


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ('{"path": "/memor', "not JSON"),
        ("{'a': 1}", "not JSON"),
        ('{"a": 1} {"b": 2}', "not JSON"),
        ('{"a": NaN}', "NaN"),
        ("[1]", "not an object"),
        ('"{}"', "not an object"),
        ("null", "not an object"),
        ('{"a": "\\ud83d"}', "surrogate"),
        ('{"\\udc00": 1}', "surrogate"),
        ('{"a":' * 50 + "1" + "}" * 50, "nested too deeply"),
        ('{"a":' + "[" * 100_000, "nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "not JSON"),
    ],
)
def test_what_is_no_usable_object_is_refused_with_the_reason(text: str, cause: str) -> None:
    with pytest.raises(StoreError, match=cause) as refused:
        decode_arguments(text)
    assert len(str(refused.value)) < 400


@given(st.text())
def test_any_text_is_an_object_or_refused(text: str) -> None:
    value: Any = {}
    with contextlib.suppress(StoreError):
        value = decode_arguments(text)
    assert isinstance(value, dict)


@given(st.dictionaries(st.text(max_size=5), st.one_of(st.integers(), st.text(), st.none()), max_size=4))
def test_what_json_can_say_comes_out_as_it_was(value: dict[str, Any]) -> None:
    assert decode_arguments(json.dumps(value)) == value


@pytest.mark.parametrize(
    "value",
    [
        {"command": "view"},
        {"command": "create", "insert_line": 3, "ratio": 1, "unknown": object},
        {"command": "view", "insert_line": 3.0, "ratio": 0.5},
        {"command": "view", "insert_line": None, "deep": None},
        {"command": "view", "deep": {"on": False}, "ids": ["a", None]},
    ],
)
def test_arguments_that_fit_have_no_problem(value: dict[str, Any]) -> None:
    assert argument_problem(SCHEMA, value) is None


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({}, "command is required."),
        ({"command": None}, "command is required."),
        ({"command": 1}, "command must be string."),
        ({"command": "burn"}, "command must be one of view, create."),
        ({"command": "view", "insert_line": True}, "insert_line must be integer."),
        ({"command": "view", "insert_line": 1.5}, "insert_line must be integer."),
        ({"command": "view", "insert_line": "1"}, "insert_line must be integer."),
        ({"command": "view", "ratio": "x"}, "ratio must be number."),
        ({"command": "view", "deep": []}, "deep must be object."),
        ({"command": "view", "deep": {"on": 1}}, "deep.on must be boolean."),
        ({"command": "view", "deep": {}}, "on is required."),
        ({"command": "view", "ids": ["a", 1]}, "ids[1] must be string or null."),
    ],
)
def test_arguments_that_do_not_fit_are_named(value: dict[str, Any], problem: str) -> None:
    assert argument_problem(SCHEMA, value) == problem
