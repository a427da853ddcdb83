"""JSON as JavaScript reads and spells it."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.files.sidecar import MAX_DEPTH, parse_object, stringify

_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(10**300), max_value=10**300)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)
_objects = st.dictionaries(st.text(max_size=6), _values, max_size=5)


def _as_javascript_sees_it(value: Any) -> Any:
    """All numbers are doubles, and two surrogates side by side are one character."""
    if isinstance(value, dict):
        return {_as_javascript_sees_it(key): _as_javascript_sees_it(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_as_javascript_sees_it(item) for item in value]
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


@given(_objects)
def test_what_is_written_reads_back_the_same(data: dict[str, Any]) -> None:
    assert _as_javascript_sees_it(parse_object(stringify(data))) == _as_javascript_sees_it(data)


@given(
    st.dictionaries(
        st.text(max_size=5),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
            ),
            max_leaves=10,
        ),
        max_size=4,
    )
)
def test_layout_is_that_of_two_space_json_without_a_final_newline(data: dict[str, Any]) -> None:
    assert stringify(data) == json.dumps(data, indent=2, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("value", "spelled"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        (0.5, "0.5"),
        (-2.5, "-2.5"),
        (1767225600000.0, "1767225600000"),
        (1e16, "10000000000000000"),
        (123456789012345680000.0, "123456789012345680000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (0.000001, "0.000001"),
        (0.00000125, "0.00000125"),
        (1e-7, "1e-7"),
        (5e-324, "5e-324"),
        (0.1 + 0.2, "0.30000000000000004"),
        (float("inf"), "null"),
        (9007199254740993, "9007199254740993"),
        (True, "true"),
        (None, "null"),
        ("\ud800", '"\\ud800"'),
        ("é\u2028\x7f\x01\n", '"é\u2028\x7f\\u0001\\n"'),
        ([], "[]"),
        ({}, "{}"),
        ([1, [2]], "[\n    1,\n    [\n      2\n    ]\n  ]"),
    ],
)
def test_values_are_spelled_as_javascript_spells_them(value: Any, spelled: str) -> None:
    assert stringify({"v": value}).decode("utf-8") == '{\n  "v": ' + spelled + "\n}"


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"{} {}", "not JSON"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "Infinity"),
        (b"[]", "no JSON object"),
        (b"null", "no JSON object"),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b'{"a": "\n"}', "not JSON"),
        (b'{"a":' + b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1) + b"}", "too deeply"),
        (b'{"a":' * 200_000, "too deeply"),
        (b'{"a":' + b"9" * (sys.get_int_max_str_digits() + 1) + b"}", "digits"),
    ],
)
def test_what_is_no_object_is_refused_in_words(raw: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_object(raw)


def test_brackets_inside_strings_are_no_depth() -> None:
    data = {"a": "[" * 500, "b": "}{" * 500}
    assert parse_object(stringify(data)) == data


def test_a_byte_order_mark_is_tolerated_and_of_duplicate_keys_the_last_wins() -> None:
    assert parse_object(b'\xef\xbb\xbf{"a": 1, "b": 2, "a": 3}') == {"a": 3, "b": 2}


@pytest.mark.parametrize("data", [{1: 2}, {"a": object()}, {"a": b"bytes"}, {"a": {2: 3}}])
def test_what_has_no_place_in_json_is_a_bug_of_ours(data: Any) -> None:
    with pytest.raises(TypeError):
        stringify(data)
