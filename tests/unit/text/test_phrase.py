"""Texts of the rooms below the window: English by themselves, translated by what they were made of."""

from __future__ import annotations

import pickle

import pytest

from reverie.engine.codec import WireError, decode, encode
from reverie.text.summaries import NOTHING, Phrase, phrase, plain, plural, together

AGE = plural("1 day ago", "%n days ago", 2)
SAID = together(phrase("A run began {age}.", age=AGE), plain("It said {n} %n."))


def test_a_phrase_is_its_english_text() -> None:
    assert SAID == "A run began 2 days ago. It said {n} %n."
    assert plural("1 turn of {n}", "%n turns of {n}", 1, n=1000) == "1 turn of 1,000"
    assert plural("1 turn", "%n turns", 1000) == "1,000 turns"
    assert together("", NOTHING, "x") == "x"
    assert plain(SAID) is SAID


@pytest.mark.parametrize("text", [SAID, AGE, NOTHING, plain("%n {x}"), phrase("{a}", a="{b}", b="c")])
def test_what_it_was_made_of_crosses_the_wire(text: Phrase) -> None:
    for copy in (decode(encode(text), Phrase), pickle.loads(pickle.dumps(text))):
        assert isinstance(copy, Phrase)
        assert (copy, copy.template, copy.values) == (text, text.template, text.values)
        assert (copy.number, copy.one) == (text.number, text.one)


def test_a_template_from_elsewhere_cannot_look_into_its_values() -> None:
    assert Phrase("{a.__class__} {a[0]} {b}", {"a": "x"}) == "{a.__class__} {a[0]} {b}"
    with pytest.raises(WireError):
        decode(encode(("x", 1)), Phrase)
