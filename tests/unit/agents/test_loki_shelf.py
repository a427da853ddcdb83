"""One record of a file becomes another and nothing beside it changes; and no text can break it."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from reverie.agents.loki.anti_patterns import AntiPatternRecords, comparable_text
from reverie.agents.loki.record_text import record_of, record_text
from reverie.errors import StoreError

SHELF = AntiPatternRecords()
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=12)
    | st.sampled_from(["1", "null", "- x", "a: b", " ", "", "NaN", "[", '"q"', "a\nb", "\x85", "\u2028"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
RECORDS = st.dictionaries(st.sampled_from(["id", "pattern", "odd key:", "", '"', "mine"]), VALUES, max_size=5)


def avoid(number: int, **fields: Any) -> dict[str, Any]:
    return {"id": f"sem-{number}", "pattern": "Avoid: E", "category": "anti-pattern", **fields}


@settings(max_examples=examples(150), deadline=None)
@given(RECORDS)
def test_a_record_is_read_back_from_its_lines_key_by_key_and_type_by_type(record: dict[str, Any]) -> None:
    again = record_of(record_text(record))
    assert json.dumps(again) == json.dumps(record)


@pytest.mark.parametrize(
    "text", ["- an item first\n", "no colon\n", "# heading\n", "a: 1\na: 2\n", '"open: 1\n', "a: x\n- item\n"]
)
def test_what_is_no_record_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(StoreError, match="Line"):
        record_of(text)


OTHERS = st.lists(
    st.one_of(
        RECORDS, SCALARS, st.builds(avoid, st.integers(0, 3), mine=VALUES, conditions=st.lists(st.text()))
    ),
    max_size=6,
)


@settings(max_examples=examples(120), deadline=None)
@given(OTHERS, st.sampled_from([None, 1, 2, "\t"]), st.booleans(), st.booleans())
def test_each_record_that_goes_comes_back_byte_for_byte(
    listed: list[Any], indent: Any, ascii_only: bool, bare: bool
) -> None:
    document = listed if bare else {"version": "1.1.0", "patterns": listed, "tail": ["ü"]}
    data = json.dumps(document, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    if b"\xed" in data:
        return  # halves of characters: such a file is no UTF-8, and left alone
    for record in SHELF.split(data):
        if record.stays:
            with pytest.raises(StoreError, match="same ID"):
                SHELF.folded(data, record.name, None, None)
            continue
        without = SHELF.folded(data, record.name, None, None)
        rest = json.loads(without) if bare else json.loads(without)["patterns"]
        assert json.dumps(rest) == json.dumps(listed[: record.place] + listed[record.place + 1 :])
        assert SHELF.one(without, record.name) is None
        if len(listed) > 1:
            assert json.loads(SHELF.folded(without, record.name, record.text, record.place)) == document
            if ascii_only or not bare:  # else the rest does not tell how it is spelled
                assert SHELF.folded(without, record.name, record.text, record.place) == data


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=6), st.randoms(use_true_random=False)
)
def test_a_name_never_means_another_record_whatever_goes_and_comes_back(
    drawn: list[tuple[int, int]], random: Random
) -> None:
    data = json.dumps({"patterns": [avoid(number, mine=mine) for number, mine in drawn]}).encode()
    texts = {each.name: each.text for each in SHELF.split(data)}
    gone, without = [], data
    while movable := [
        each for each in SHELF.split(without) if not each.stays and texts[each.name] == each.text
    ]:
        gone.append(random.choice(movable))
        without = SHELF.folded(without, gone[-1].name, None, None)
        for each in SHELF.split(without):
            assert texts[each.name] == each.text
        assert SHELF.one(without, gone[-1].name) is None
    assert SHELF.split(without) == ()
    for each in reversed(gone):
        without = SHELF.folded(without, each.name, each.text, each.place)
    assert json.loads(without) == json.loads(data)


def test_a_change_of_one_record_leaves_every_other_byte() -> None:
    data = (
        b'{ "a":1.50,\n  "patterns": [\n\n'
        + json.dumps(avoid(1, mine=[1.0])).encode()
        + b' ,7, {"category" : "anti-pattern",\n      "id":"x",\n      "pattern": "p"}\n ],"z" :\tnull}'
    )
    (one, two) = SHELF.split(data)
    changed = SHELF.folded(data, one.name, one.text.replace("Avoid: E", "Avoid: F"), None)
    assert changed == data.replace(b"Avoid: E", b"Avoid: F")
    assert SHELF.folded(data, two.name, two.text, None) == data


@pytest.mark.parametrize(
    "data", [b"", b"{", b'{"a": "\xff"}', b'{"patterns": [], "patterns": []}', b'{"patterns": 3}', b"7"]
)
def test_a_file_that_cannot_be_read_whole_is_not_written(data: bytes) -> None:
    with pytest.raises(StoreError):
        SHELF.folded(data, "x", "id: x\n", 0)


def test_only_consolidated_anti_patterns_with_an_id_are_offered() -> None:
    listed = [
        avoid(1),
        {**avoid(2), "category": "testing"},
        {**avoid(3), "id": None},
        {**avoid(4), "id": "x" * 300},
        {**avoid(5), "pattern": " "},
        "scalar",
        avoid(1, mine=1),
        {**avoid(6), "id": "../../evil"},
    ]
    found = SHELF.split(json.dumps({"patterns": listed}).encode())
    assert [each.place for each in found] == [0, 6, 7]
    assert [each.name.partition("+")[0] for each in found] == ["sem-1", "sem-1", "______evil"]
    assert SHELF.holder("semantic/patterns.json/sem-1") == "semantic/patterns.json"
    assert SHELF.holder("shop/semantic/patterns.json/sem-1") == "shop/semantic/patterns.json"
    for other in ("semantic/patterns.json", "semantic/anti-patterns.json/x", "a/b/semantic/patterns.json/x"):
        assert SHELF.holder(other) == ""


@pytest.mark.parametrize(
    "change",
    [
        ("id: sem-1", "id: sem-2"),
        ("category: anti-pattern", "category: testing"),
        ("pattern: Avoid: E", "pattern:"),
        ("confidence: 0.5", "confidence: high"),
        ("conditions: []", "conditions: none"),
    ],
)
def test_what_the_agent_relies_on_stays_as_it_is(change: tuple[str, str]) -> None:
    text = record_text(avoid(1, confidence=0.5, conditions=[]))
    with pytest.raises(StoreError):
        SHELF.check("sem-1", text, text.replace(*change))
    better = text.replace("conditions: []", "conditions:\n- When tired")
    SHELF.check("sem-1", text, better)
    with pytest.raises(StoreError, match="same ID"):
        SHELF.check("sem-1+2", text, better)


def test_other_words_for_the_same_are_kept_beside_each_other() -> None:
    one = avoid(1, correct_approach="Read the log", conditions=["c"])
    two = {**avoid(2, correct_approach="Look at the output first"), "pattern": "Never trust E"}
    merged = SHELF.merged([record_text(one), record_text(two)])
    assert merged is not None
    assert record_of(merged) == {
        **one,
        "correct_approach": "Read the log; Look at the output first",
        "conditions": ["c", "Also: Never trust E"],
    }
    assert SHELF.merged([record_text({**one, "mine": 1}), record_text({**two, "mine": 2})]) is None
    assert SHELF.merged([record_text(one), record_text({**two, "conditions": [{"odd": 1}]})]) is None


def test_figures_and_keys_are_nothing_that_must_be_kept() -> None:
    text = record_text(avoid(1, confidence=0.5, conditions=["When tired"], mine={"a": 1}))
    assert comparable_text(text).text.splitlines() == ["Avoid: E", "When tired", 'mine {"a": 1}']
    assert comparable_text("# A note\nid: x\n").text == "# A note\nid: x\n"
