"""`resources/vocabulary.toml` holds every word it held, in the form that the judgement expects."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from reverie.jobs.consolidate.rules import wording
from reverie.resources import resource

DATA = tomllib.loads(resource("vocabulary.toml").read_text("utf-8"))


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("FUNCTION_WORDS", 337), ("WEAK_WORDS", 137), ("STATUS_MARKERS", 39), ("ENTITY_FOLDERS", 68),
        ("ENVIRONMENTS", 15),
        ("FILLER_NAME_WORDS", 90), ("NEGATIONS_FORWARD", 44), ("NEGATIONS_CLAUSE", 63), ("HEDGES", 53),
        ("NEGATING", 112), ("LOADED_HEADINGS", 131), ("PREPOSITIONS", 97), ("PRODUCTS", 132),
        ("SYNONYMS", 60), ("EXCLUSIVE", 164), ("NUMBER_WORDS", 63),
        ("UNITS", 162), ("MONTHS", 54), ("HAN_FUNCTION", 36), ("_PHRASES", 36), ("_QUOTES", 27),
    ],
)  # fmt: skip
def test_a_list_is_complete(name: str, count: int) -> None:
    assert len(getattr(wording, name)) == count


def test_every_list_of_the_file_is_read() -> None:
    """A list under a name that nobody asks for would be a list that is missing."""
    names = {name for section in ("words", "groups", "patterns") for name in DATA[section]}
    text = Path(wording.__file__).read_text("utf-8")
    assert {name for name in names if f'"{name}"' not in text} == set()


def test_words_are_in_lower_case() -> None:
    texts = [*DATA["words"].values(), *DATA["groups"].values()]
    assert all(text == text.lower() for text in texts)


def test_a_word_that_excludes_others_has_at_least_one_of_them() -> None:
    assert all(len(group) >= 2 for group in wording.EXCLUSIVE)


def test_every_month_has_a_number_from_one_to_twelve() -> None:
    lines = DATA["groups"]["months"].strip().splitlines()
    assert [len(line.split()) for line in lines] == [12] * 5
    assert set(wording.MONTHS.values()) == {str(number) for number in range(1, 13)}


def test_a_word_stands_for_one_number_and_one_unit() -> None:
    for section in ("numbers", "units"):
        words = [word for text in DATA[section].values() for word in text.split()]
        assert len(words) == len(set(words)), section


# Matched by a phrase but holding none of its words: the first stands for itself, the second is a gap.
_NOT_SEARCHED = {"cannot", "not anymore"}


@pytest.mark.parametrize(("triggers", "pattern", "_new"), wording._PHRASES, ids=range(len(wording._PHRASES)))
@settings(max_examples=examples(20, least=5))
@given(data=st.data())
def test_whatever_a_phrase_matches_holds_one_of_its_words(
    triggers: frozenset[str], pattern: re.Pattern[str], _new: str, data: st.DataObject
) -> None:
    """The words are looked for first: a phrase without any of them is never searched."""
    compiled = re.compile(pattern.pattern, pattern.flags)
    match = data.draw(st.from_regex(compiled).map(pattern.search))
    assert match is not None
    if match[0].casefold() in _NOT_SEARCHED:
        return
    assert not triggers.isdisjoint(re.findall(r"[^\W\d_]+", match[0].casefold()))


def test_cues_of_a_contradiction_begin_with_a_plain_character() -> None:
    """`_one_of` looks at the first character of each before it tries any."""
    cues = [*DATA["contradictions"]["words"], *DATA["contradictions"]["marks"]]
    assert len(cues) == 70
    assert all(cue[0].isalpha() or cue[0] in "~<" for cue in cues)
    assert all(re.compile(cue) for cue in cues)
