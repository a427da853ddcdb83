"""Chunks, checks of candidates and the inbox file (formats/mux.md section 11)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from helpers.samples import copy_sample
from reverie.agents.transcripts import Boundary, Turn, TurnKind
from reverie.jobs.consolidate.harvest import (
    Checked,
    Chunk,
    InboxCandidate,
    Said,
    chunks,
    fitting,
    inbox_rel,
    inbox_text,
    parse_candidate,
)
from reverie.jobs.consolidate.rules.inbox import candidates_of
from reverie.text.summaries import utf16_length

SUMMARY = "summary-1786528627809-k2ekv5pnb"
BOUNDARY = Boundary(SUMMARY, 18, 1)
CHUNK = Chunk((Said("u1", "user", "hello"), Said("a1", "assistant", "hi")))
GOOD: dict[str, Any] = {
    "category": "workflow",
    "text": "Run the linter first.",
    "evidence": ["u1"],
    "confidence": 0.9,
    "rationale": "The person said so.",
}


def judged(*proposed: Any, chunk: Chunk = CHUNK) -> Checked:
    checked = Checked()
    checked.add(proposed, chunk)
    return checked


def turn(number: int, text: str = "hello", *, kind: TurnKind = "message", role: Any = "user") -> Turn:
    return Turn(f"{role}-{number}", role, text, number, kind=kind)


def test_the_inbox_of_the_sample_is_written_as_the_agent_wrote_it(tmp_path: Path) -> None:
    memory = copy_sample("mux-home", tmp_path) / "sessions" / "a1f3c9e2b7" / "memory"
    evidence = ("user-1786525380411-k1ac6ja6e",)
    candidates = (
        InboxCandidate(
            "preference",
            "Clients must never retry HTTP 409 automatically.",
            evidence,
            0.95,
            "The user said so explicitly while fixing the retry loop.",
        ),
        InboxCandidate(
            "project",
            "Staging of acme-api deploys from main (workflow file checked on 12 August 2026).",
            evidence,
            0.85,
            "Confirmed in the workflow file.",
        ),
    )
    assert (memory / inbox_rel(BOUNDARY)).read_text() == inbox_text(BOUNDARY, candidates)


def test_an_inbox_can_be_taken_apart_by_the_rules_again() -> None:
    text = inbox_text(BOUNDARY, [InboxCandidate("other", "One.\nTwo.", ("u1", "a1"), 1.0, "Because.")])
    assert candidates_of(text) == ("One.\nTwo.",)
    assert "Evidence: u1, a1\nConfidence: 1\n" in text


@pytest.mark.parametrize(
    ("identity", "name"),
    [("summary-1", "summary-1"), ("a/../b c", "a_.._b_c"), ("日本", "__"), ("x\n.md", "x_.md")],
)
def test_the_inbox_is_named_by_the_summary_without_hostile_characters(identity: str, name: str) -> None:
    assert inbox_rel(Boundary(identity, 1, 1)) == f"harvest/{name}.md"


def test_a_good_candidate_is_accepted() -> None:
    checked = judged(GOOD)
    assert [candidate.text for candidate in checked.accepted] == ["Run the linter first."]
    assert checked.skipped == []


@pytest.mark.parametrize(
    "change",
    [
        {"category": "opinion"},
        {"category": None},
        {"category": ["workflow"]},
        {"text": ""},
        {"text": "   "},
        {"text": "x" * 1001},
        {"text": 3},
        {"text": "a\ud800"},
        {"text": "a\0"},
        {"rationale": ""},
        {"rationale": "x" * 1001},
        {"evidence": []},
        {"evidence": "u1"},
        {"evidence": [1]},
        {"evidence": [""]},
        {"confidence": "0.9"},
        {"confidence": True},
        {"confidence": 1.1},
        {"confidence": -0.1},
        {"confidence": float("nan")},
        {"confidence": None},
    ],
)
def test_a_candidate_of_another_form_is_refused(change: dict[str, Any]) -> None:
    checked = judged({**GOOD, **change})
    assert (checked.accepted, checked.skipped) == ([], ["malformed"])


@pytest.mark.parametrize("item", [None, [], "text", 3, {}, {"text": "x"}])
def test_what_is_no_candidate_at_all_is_refused(item: Any) -> None:
    assert judged(item).skipped == ["malformed"]


@pytest.mark.parametrize(("confidence", "accepted"), [(0.79, 0), (0.8, 1), (1, 1), (0, 0)])
def test_confidence_below_four_fifths_is_not_enough(confidence: float, accepted: int) -> None:
    assert len(judged({**GOOD, "confidence": confidence}).accepted) == accepted


@pytest.mark.parametrize("evidence", [["u2"], ["u1", "u2"], ["U1"]])
def test_evidence_from_outside_the_chunk_is_refused(evidence: list[str]) -> None:
    assert judged({**GOOD, "evidence": evidence}).skipped == ["evidence"]


@pytest.mark.parametrize("field", ["text", "rationale"])
@pytest.mark.parametrize(
    "words",
    [
        "The API key is in vault.",
        "Set API_KEY first.",
        "api-key",
        "A Secret place",
        "token budget",
        "PASSWORD",
        "sk-abcdefghijkl",
        "Use AKIA" + "IOSFODNN7EXAMPLE",
        "postgres://me:hunter2x9@db/app",
    ],
)
def test_nothing_that_smells_of_a_secret_is_taken(field: str, words: str) -> None:
    expected = [] if words == "The API key is in vault." else ["secret"]
    assert judged({**GOOD, field: words}).skipped == expected


def test_duplicates_are_refused_also_across_chunks() -> None:
    checked = judged(GOOD, {**GOOD, "text": " run the  LINTER first. ", "confidence": 1})
    assert checked.skipped == ["duplicate"]
    checked.add([GOOD], CHUNK)
    assert checked.skipped == ["duplicate", "duplicate"]
    checked.add([{**GOOD, "evidence": ["a1"]}, {**GOOD, "category": "project"}], CHUNK)
    assert len(checked.accepted) == 3


def test_the_order_of_the_evidence_makes_no_difference() -> None:
    both = {**GOOD, "evidence": ["u1", "a1"]}
    assert judged(both, {**GOOD, "evidence": ["a1", "u1", "a1"]}).skipped == ["duplicate"]


def test_a_rationale_is_one_line() -> None:
    candidate = parse_candidate({**GOOD, "rationale": "One.\n## preference\nTwo."})
    assert candidate is not None
    assert candidate.rationale == "One. ## preference Two."


def test_only_what_was_said_is_put_into_chunks() -> None:
    turns = [
        turn(0),
        turn(1, kind="synthetic"),
        turn(2, kind="request"),
        turn(3, kind="boundary", role="assistant"),
        turn(4, "  "),
        turn(5, role="system"),
        turn(6, role="assistant"),
    ]
    (chunk,) = chunks(turns)
    assert [message.id for message in chunk.messages] == ["user-0", "assistant-6"]


def test_no_turns_make_no_chunk() -> None:
    assert list(chunks([])) == []


@settings(max_examples=examples(80), deadline=None)
@given(st.lists(st.integers(1, 20_000), max_size=20), st.sampled_from(["x", "日", "🚢"]))
def test_chunks_hold_every_message_once_and_stay_within_their_limits(lengths: list[int], unit: str) -> None:
    turns = [turn(number, unit * length) for number, length in enumerate(lengths)]
    made = list(chunks(turns))
    assert [message.id for chunk in made for message in chunk.messages] == [item.id for item in turns]
    for chunk in made:
        assert sum(utf16_length(message.text) for message in chunk.messages) <= 40_000
        assert all(utf16_length(message.text) <= 8_000 for message in chunk.messages)


def test_an_inbox_that_would_grow_too_large_keeps_the_most_certain() -> None:
    many = [InboxCandidate("other", f"{n} " + "x" * 500, ("u1",), 0.8 + n / 1000, "Why.") for n in range(50)]
    kept = fitting(BOUNDARY, many, file_bytes=5_000)
    assert 5 < len(kept) < 10
    assert kept == many[-len(kept) :]
    assert len(inbox_text(BOUNDARY, kept).encode()) <= 5_000
    assert fitting(BOUNDARY, many, file_bytes=10) == []
    assert fitting(BOUNDARY, many, file_bytes=102_400) == many
