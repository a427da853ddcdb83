"""What the rules take from a transcript as said for good, and what they leave alone."""

from __future__ import annotations

import asyncio
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from reverie.jobs.consolidate.harvest import Checked, Chunk, RulesExtractor, Said, candidates_in, sentences
from reverie.runs.stops import Cancelled, StopCheck

LASTING = [
    ("Right. Remember that I never want 409 retried automatically, in any client we write.", "preference"),
    ("Please remember: staging deploys from main.", "workflow"),
    ("Always run the linter before you commit.", "workflow"),
    ("When you add a migration, always run make db-check.", "workflow"),
    ("You should always add a changelog line.", "workflow"),
    ("Never push to main.", "workflow"),
    ("We never deploy on Fridays.", "workflow"),
    ("I prefer short answers without emoji.", "preference"),
    ("I really prefer tabs over spaces.", "preference"),
    ("We use pnpm, not npm.", "project"),
    ("FYI we use Postgres 16 for the billing service.", "project"),
    ("Here we use trunk-based development.", "project"),
    ("Don't use mocks for the database.", "project"),
    ("Please do not commit generated files.", "workflow"),
    ("Do not use print for logging.", "other"),
    ("From now on write the tests first.", "workflow"),
    ("Going forward, name branches after the ticket.", "workflow"),
    ("For future reference, the VPN must be up for the integration tests.", "environment"),
    ("Our convention is snake_case for table names.", "workflow"),
    ("My preferred editor is Helix.", "preference"),
    ("- always use absolute imports", "other"),
    ("Keep in mind that the laptop has no GPU.", "environment"),
    ("Don’t hard-code ports.", "other"),
]
PASSING = [
    "Do we always run the linter?",
    "Should we use pnpm here?",
    "Never mind, I found it.",
    "Nevermind the warning.",
    "It always fails on CI.",
    "The build never works on my machine.",
    "This test always times out.",
    "I never said that.",
    "I've never seen this error before.",
    "I never got the mail.",
    "I always get this error after a rebase.",
    "Do you remember where the config lives?",
    "Remember when we changed the schema?",
    "I don't remember the name.",
    "Don't touch that file yet.",
    "Don't commit this yet, I want to look first.",
    "For now don't add tests.",
    "Don't use this function, use the other one.",
    "Don't worry about it.",
    "Don't forget the changelog.",
    'The README says "always rebase", which is wrong.',
    "> We use npm.",
    "Can we use Redis?",
    "If we use Redis, we need a cluster.",
    "I think we use npm, not sure.",
    "We used to use npm.",
    "We keep getting timeouts.",
    "Fix the bug and add a test.",
    "Go ahead.",
    "Just use the first one.",
    "As always, great work!",
    "`never` is a TypeScript type.",
    "2026-08-12 12:00:01 we never use this path",
    "It works, and always has.",
    "The server retries and always fails with 409.",
    "Which one do you prefer?",
    "Always:",
]


@pytest.mark.parametrize(("text", "category"), LASTING)
def test_what_is_said_for_good_is_a_candidate(text: str, category: str) -> None:
    (found,) = candidates_in(text)
    assert found["category"] == category
    assert found["confidence"] >= 0.8


@pytest.mark.parametrize("text", PASSING)
def test_what_only_looks_like_it_is_none(text: str) -> None:
    assert list(candidates_in(text)) == []


def test_the_sentence_alone_is_kept_word_for_word() -> None:
    text = "I had a look. Always pin   the versions. Thanks!"
    assert [item["text"] for item in candidates_in(text)] == ["Always pin the versions."]


def test_code_logs_and_quotes_are_not_the_persons_words() -> None:
    text = "Look:\n```\nalways use tabs\n```\n    never use spaces\n> we use npm\n$ always run this\nOK then."
    assert list(sentences(text)) == ["Look:", "OK then."]


def test_an_unclosed_code_block_hides_the_rest() -> None:
    assert list(candidates_in("```\nAlways use tabs.\nNever use spaces.")) == []


def extract(*messages: Said) -> list[dict[str, object]]:
    limits = StopCheck(threading.Event(), threading.Event(), 60)
    return list(asyncio.run(RulesExtractor().extract(Chunk(messages), limits=limits)))


def test_only_the_person_is_listened_to_and_the_message_is_the_evidence() -> None:
    found = extract(
        Said("assistant-1", "assistant", "I always run the linter. Never push to main."),
        Said("user-1", "user", "Never push to main."),
    )
    assert [item["evidence"] for item in found] == [["user-1"]]


def test_what_is_said_twice_is_one_candidate_with_both_messages() -> None:
    found = extract(Said("u1", "user", "Never push to main."), Said("u2", "user", "never  push to main"))
    assert [(item["text"], item["evidence"]) for item in found] == [("Never push to main.", ["u1", "u2"])]


def test_every_candidate_passes_the_checks_unless_it_holds_a_secret() -> None:
    chunk = Chunk((Said("u", "user", " ".join(text for text, _category in LASTING)),))
    checked = Checked()
    checked.add(extract(*chunk.messages), chunk)
    assert set(checked.skipped) <= {"secret"}
    assert len(checked.accepted) >= 15
    checked = Checked()
    chunk = Chunk((Said("u", "user", "Remember that the password is hunter2."),))
    checked.add(extract(*chunk.messages), chunk)
    assert (checked.accepted, checked.skipped) == ([], ["secret"])


def test_a_cancelled_extraction_stops() -> None:
    cancel = threading.Event()
    cancel.set()
    limits = StopCheck(cancel, threading.Event(), 60)
    with pytest.raises(Cancelled):
        asyncio.run(RulesExtractor().extract(Chunk((Said("u", "user", "x"),)), limits=limits))


@settings(max_examples=examples(100), deadline=None)
@given(st.text(st.sampled_from("always never we use. ,:;\n`\"'“”don’t?I prefer>-\t"), max_size=300))
def test_no_text_breaks_the_rules(text: str) -> None:
    for found in candidates_in(text):
        assert 0 < len(found["text"]) <= 1000


@pytest.mark.parametrize("unit", ["always ", "we ", "`a", '"', "never never ", ", ", "a. ", "don't "])
def test_a_long_message_is_read_once_through(unit: str) -> None:
    list(candidates_in(unit * (8000 // len(unit))))
