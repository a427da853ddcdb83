"""Which anti-patterns say the same: those whose merging loses no word."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from reverie.agents.loki.duplicates import repeated
from reverie.services.failures import merged

SAME = {"pattern": "Avoid: IterationError", "category": "anti-pattern"}


def avoid(number: int, **fields: Any) -> dict[str, Any]:
    return {"id": f"sem-{number}", **SAME, "incorrect_approach": "", "correct_approach": "", **fields}


@pytest.mark.parametrize(
    "other",
    [
        avoid(2),
        avoid(2, pattern="avoid:  ITERATIONError"),
        avoid(2, correct_approach="read the log"),
        avoid(2, confidence=0.8, usage_count=4, created_at="2026-08-01T00:00:00Z", links=[{"to": "x"}]),
        avoid(2, conditions=["another"], source_episodes=["ep-9"]),
        avoid(2, incorrect_approach=None, description="more"),
        avoid(2, source_episodes=None, confidence=None, importance=None, conditions=None),
    ],
)
def test_what_differs_only_in_figures_lists_and_what_the_other_leaves_out_is_one(other: Any) -> None:
    assert repeated([avoid(1), {"id": "plain", "pattern": "x"}, other]) == ((avoid(1), other),)


@pytest.mark.parametrize(
    "other",
    [
        avoid(2, pattern="Avoid: TypeError"),
        avoid(2, correct_approach="something else"),
        avoid(2, category="testing"),
        avoid(2, mine={"kept": 2}),
        avoid(2, _namespace="shop"),
    ],
)
def test_what_says_another_thing_stays_apart(other: Any) -> None:
    one = avoid(1, correct_approach="read the log", mine={"kept": 1}, _namespace="default")
    assert repeated([one, other]) == ()


def test_a_group_never_holds_two_that_contradict_each_other() -> None:
    one, silent, two = avoid(1, correct_approach="a"), avoid(2), avoid(3, correct_approach="b")
    assert repeated([one, silent, two]) == ((one, silent),)
    assert repeated([silent, two, one]) == ((silent, two),)
    assert repeated([{**SAME, "pattern": " "}, {**SAME, "pattern": None}]) == ()


def test_a_merge_keeps_every_word_link_condition_and_the_greatest_figures() -> None:
    one = avoid(
        1, conditions=["c"], links=[], confidence=0.5, usage_count=2, description=None, source_episodes=None
    )
    link = {"to": "sem-9", "relation": "supports", "strength": 0.5}
    two = avoid(2, conditions=["d", "c"], links=[link], confidence=0.4, usage_count=7, description="why")
    three = avoid(3, correct_approach="read", links=[link], mine=[1], source_episodes=["ep-1"])
    (group,) = repeated([one, two, three])
    (kept,) = merged("semantic/patterns.json", group).after
    assert kept == {
        **one,
        "conditions": ["c", "d"],
        "links": [link],
        "usage_count": 7,
        "description": "why",
        "correct_approach": "read",
        "mine": [1],
        "source_episodes": ["ep-1"],
        "confidence": 0.55,
    }


def told(value: Any, *, but: tuple[str, ...] = ()) -> Iterator[str]:
    """Every text in a value, however it is spaced and capitalised, and every figure that is no text."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in but:
                yield from told(item)
    elif isinstance(value, list):
        for item in value:
            yield from told(item)
    elif isinstance(value, str):
        yield " ".join(value.lower().split())
    elif value is not None:
        yield json.dumps(value)


TEXTS = st.sampled_from(["", " ", "a", "A", "a  b", "A b", "c"])
LISTS = st.lists(st.sampled_from(["x", "y", "Z"]), max_size=3)
RECORDS = st.lists(
    st.fixed_dictionaries(
        {"id": st.sampled_from(["1", "2", "3"]), "category": st.just("anti-pattern")},
        optional={
            "pattern": TEXTS,
            "incorrect_approach": st.none() | TEXTS,
            "correct_approach": TEXTS,
            "why": TEXTS | st.integers(0, 2) | LISTS,
            "conditions": st.none() | LISTS,
            "source_episodes": LISTS,
            "links": st.lists(st.fixed_dictionaries({"to": TEXTS, "strength": st.sampled_from([0.5, 1])})),
            "usage_count": st.integers(0, 3),
        },
    ),
    max_size=6,
)


@settings(max_examples=examples(100), deadline=None)
@given(RECORDS)
def test_no_merge_of_what_says_the_same_loses_a_word(records: list[dict[str, Any]]) -> None:
    for group in repeated(records):
        (kept,) = merged("semantic/patterns.json", group).after
        before = {text for each in group for text in told(each, but=("id", "usage_count"))} - {""}
        assert before <= set(told(kept, but=("id", "usage_count")))
        assert kept.get("usage_count", 0) == max(each.get("usage_count", 0) for each in group)
