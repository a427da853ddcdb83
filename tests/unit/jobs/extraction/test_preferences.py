"""A preference in the middle of a request is one; what only looks like it is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.extraction import age, extract, memory_of, small_home, talk
from helpers.profiles import examples
from reverie.jobs.extraction.stage_one import preference_in


@pytest.mark.parametrize(
    ("sentence", "clause"),
    [
        (
            "Fix the parser, and by the way I always want the tests next to the code.",
            "I always want the tests next to the code",
        ),
        ("Rename it - we never want verbs in class names; then go on.", "We never want verbs in class names"),
        ("Can you fix the tests, and please never use mocks?", "Please never use mocks"),
        ("Fix this file and please always use tabs.", "Please always use tabs"),
        ("The log shows it, I don't ever want to see print calls", "I don't ever want to see print calls"),
        ("When you refactor I always want `public` names kept.", "I always want `public` names kept"),
        (
            "Look into setup.py, please never touch setup.cfg in there",
            "Please never touch setup.cfg in there",
        ),
    ],
)
def test_a_preference_in_the_middle_of_a_sentence_is_found(sentence: str, clause: str) -> None:
    assert preference_in(sentence) == clause


@pytest.mark.parametrize(
    "sentence",
    [
        "The server always wants a token and never starts.",
        "I always wanted to try that library.",
        "Ask me if I always want the tests to run.",
        "Why do I always want to rewrite it?",
        "The readme says I always want the newest one.",
        'The page says "please never close this window" again.',
        "Fix it, and please never push for now.",
        "Go on, please never mind the warnings there.",
        "I always want it.",
        "Fix it please.",
    ],
)
def test_what_only_looks_like_a_preference_is_none(sentence: str) -> None:
    assert preference_in(sentence) is None


@settings(max_examples=examples(100))
@given(st.text(max_size=600))
def test_any_text_has_a_clause_of_its_own_or_none(text: str) -> None:
    clause = preference_in(text)
    assert clause is None or clause[1:] in text


def test_the_rules_tell_a_preference_from_the_middle_of_a_request(tmp_path: Path) -> None:
    maker = small_home(tmp_path / "codex", ())
    prompt = "Fix the build and please never use mocks in the tests, I always want small commits."
    second = "Fix the docs; by the way I always want short words in headings."
    for number, text in enumerate((prompt, second), 1):
        age(maker.rollout(number, talk(number, "/projects/demo", text)), number)
    assert extract(maker.root, tmp_path / "profile").succeeded
    told = "\n".join(path.read_text() for path in (memory_of(maker.root) / "trace_summaries").iterdir())
    assert "- I always want short words in headings" in told
    assert "User preferences: none observed" not in told
