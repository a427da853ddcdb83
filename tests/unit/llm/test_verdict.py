"""Why a run wrote nothing, on a labelled set of dumps: both generations of mux's, our own, and damaged ones.

`expected.jsonl` was written by hand: the verdict, where the evidence is, and what it quotes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.samples import SAMPLES
from reverie.llm.trace_facts import facts_of
from reverie.llm.trace_reader import dump_of, read_dump
from reverie.llm.trace_timeline import timeline_of
from reverie.llm.trace_verdict import RunVerdict, judge

LABELLED = Path(__file__).parents[2] / "labelled" / "traces"
CASES = [json.loads(line) for line in (LABELLED / "expected.jsonl").read_text().splitlines()]


def verdict_of(path: Path) -> RunVerdict:
    dump = read_dump(path)
    return judge(facts_of(dump.document), dump.damage, lost=dump.lost)


@pytest.mark.parametrize("case", CASES, ids=[case["file"] for case in CASES])
def test_every_labelled_dump_gets_its_verdict_and_the_evidence_points_at_the_step(
    case: dict[str, Any],
) -> None:
    found = verdict_of(LABELLED / case["file"])
    assert found.name == case["verdict"], found
    assert (found.evidence.attempt, found.evidence.step) == (case["attempt"], case["step"]), found
    assert case["says"] in found.evidence.quote
    assert found.sentence.endswith((".", "…")) or case["says"] in found.sentence


def test_every_labelled_dump_is_listed_and_every_verdict_has_one() -> None:
    assert {case["file"] for case in CASES} == {path.name for path in LABELLED.glob("*.json")}
    assert len({case["verdict"] for case in CASES}) == 13


@pytest.mark.parametrize(
    ("name", "verdict", "attempt", "step"),
    [
        ("1786527072345_assistant-1786526823699-k1tuknm1i", "tool-failed", 1, 1),
        ("1786528692345_assistant-1786528266987-k2c52e65x", "timed-out", 1, 1),
        ("1786637112345_user-1786526102055-k1k3dlg3y", "provider-error", 1, 1),
    ],
)
def test_the_sample_traces_get_theirs(name: str, verdict: str, attempt: int, step: int) -> None:
    directory = SAMPLES / "mux-home" / "debug_obj" / "a1f3c9e2b7" / "system1_memory_writer"
    found = verdict_of(directory / f"{name}.json")
    assert (found.name, found.evidence.attempt, found.evidence.step) == (verdict, attempt, step)


def test_what_a_damaged_dump_still_says_counts_and_the_damage_is_told() -> None:
    found = verdict_of(LABELLED / "32-damaged-cut-but-timed-out.json")
    assert "timed out after 10 s" in found.sentence
    assert "read only in part" in found.sentence


def test_the_evidence_is_a_sentence() -> None:
    found = verdict_of(LABELLED / "02-early-wrong-text-then-prose.json")
    assert found.evidence.sentence() == "Attempt 1, step 1, memory_write: old_string not found in file."
    assert found.sentence.endswith("Attempt 2 responded in text.")


NAMES = ["attempts", "stepResults", "toolCalls", "toolExecutions", "error", "usage", "startedAt", "toolName"]
NAMES += ["input", "output", "timedOut", "reverie", "outcome", "text", "content", "messages"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=25,
)


@given(st.dictionaries(st.sampled_from(["attempts", "reverie", "timedOut", "runStartedAt"]), JSON))
def test_anything_gets_a_verdict(document: dict[str, Any]) -> None:
    facts = facts_of(document)
    assert judge(facts).sentence
    assert timeline_of(facts).duration >= 1


@given(st.integers(min_value=0, max_value=10_000), st.binary(max_size=3))
def test_a_dump_cut_or_spoilt_anywhere_is_opened(cut: int, noise: bytes) -> None:
    whole = (LABELLED / "16-later-timeout-in-step-three.json").read_bytes()
    dump = dump_of(whole[: cut % (len(whole) + 1)] + noise)
    assert judge(facts_of(dump.document), dump.damage).sentence


def test_spans_of_a_run_are_in_order_and_inside_it() -> None:
    for case in CASES:
        facts = facts_of(read_dump(LABELLED / case["file"]).document)
        line = timeline_of(facts)
        assert all(0 <= span.start <= span.end <= line.duration for span in line.spans), case["file"]


def test_the_timeline_tells_what_was_measured_from_what_is_put_between() -> None:
    line = timeline_of(facts_of(read_dump(LABELLED / "16-later-timeout-in-step-three.json").document))
    spans = [(span.kind, span.label, span.start, span.end, span.estimated) for span in line.spans]
    assert spans == [
        ("attempt", "1", 0, 10_000, True),
        ("step", "1", 0, 3_100, True),
        ("call", "memory_read", 3_100, 3_102, False),
        ("step", "2", 3_102, 6_100, True),
        ("call", "memory_write", 6_100, 6_102, False),
        ("step", "3", 6_102, 10_000, True),
    ]
    assert line.limit == 10_000
    assert line.spans[-1].open_end
