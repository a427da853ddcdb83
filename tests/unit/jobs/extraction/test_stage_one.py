"""What an extraction's answer may look like, what is stored of it, and how it is cut."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from reverie.errors import StoreError
from reverie.jobs.extraction.layout import (
    SUMMARY_BYTES,
    SUMMARY_MARKER,
    TRACE_BYTES,
    TRACE_MARKER,
    cut,
    cut_summary,
    cut_trace,
)
from reverie.jobs.extraction.stage_one import (
    ROLLOUT_MARKER,
    StageOneOutput,
    is_structured,
    normalised,
    parse_answer,
)

GOOD = {"traceMemory": "# T", "summary": "s"}
SHAPE = "# T\n\nTrace context: x\n\nUser preferences: none\n\n## Task: a\n\nOutcome: success\n"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(GOOD),
        f"\n  {json.dumps(GOOD)}  ",
        f"Here:\n```json\n{json.dumps(GOOD, indent=1)}\n```\nDone.",
        f"```\n{json.dumps(GOOD)}\n```",
        f"Well, {json.dumps(GOOD)} is it.",
        f"```json\nnot json\n```\nbut {json.dumps(GOOD)}",
        f"```json\n[1]\n```\nbut {json.dumps(GOOD)}",
    ],
)
def test_an_answer_is_found_in_prose_and_fences(text: str) -> None:
    assert parse_answer(text) == StageOneOutput("# T", "s")


@pytest.mark.parametrize(
    "text",
    ["", "no json", "[1, 2]", '{"summary": "s"}', '{"traceMemory": 1, "summary": "s"}', "{", "[" * 5000],
)
def test_anything_else_is_no_answer(text: str) -> None:
    with pytest.raises(StoreError) as raised:
        parse_answer(text)
    assert raised.value.reason == "answer"


@pytest.mark.parametrize(("trace", "summary"), [("", "s"), (" \n", "s"), ("# T", " \t\n")])
def test_an_empty_trace_or_summary_is_nothing(trace: str, summary: str) -> None:
    with pytest.raises(StoreError) as raised:
        normalised(StageOneOutput(trace, summary))
    assert raised.value.reason == "empty"


def test_a_trace_of_another_shape_is_wrapped_and_one_of_the_right_shape_is_not() -> None:
    assert normalised(StageOneOutput(f"  {SHAPE}\n", "s")).trace == SHAPE.strip()
    wrapped = normalised(StageOneOutput("just notes", "s")).trace
    assert is_structured(wrapped)
    assert wrapped.startswith("# Trace Summary\n")
    assert "User preferences: none observed" in wrapped
    assert "## Task: Extracted Memory" in wrapped
    assert "Outcome: uncertain" in wrapped
    assert wrapped.endswith("### Raw trace notes\n\njust notes")


def test_secrets_go_before_the_shape_is_looked_at_and_after_the_summary_is_folded() -> None:
    stored = normalised(StageOneOutput("notes token=abcdefgh", "the token\n=\n  abcdefgh1 works"))
    assert "abcdefgh" not in stored.trace
    assert stored.summary == "the token = [REDACTED_SECRET] works"


def test_limits_count_bytes_and_their_marker_and_split_no_character() -> None:
    for filler in ("x", "é", "€", "🚀"):
        summary = cut_summary(filler * 2000)
        assert SUMMARY_BYTES - 8 < len(summary.encode()) <= SUMMARY_BYTES
        first, last = summary.split(SUMMARY_MARKER)
        assert abs(len(first.encode()) - len(last.encode())) < 8
        assert set(first + last) == {filler}
        trace = cut_trace("a" + filler * 400_000)
        assert TRACE_BYTES - 8 < len(trace.encode()) <= TRACE_BYTES
        head, tail = trace.split(TRACE_MARKER)
        assert abs(len(head.encode()) - len(tail.encode())) < 8
        assert set(head[1:] + tail) == {filler}
    assert cut_summary("x" * SUMMARY_BYTES) == "x" * SUMMARY_BYTES
    assert cut_trace("x" * TRACE_BYTES) == "x" * TRACE_BYTES


@given(st.lists(st.text(max_size=60), max_size=40), st.sampled_from([2, 3]))
@settings(max_examples=examples(80))
def test_head_and_tail_are_those_of_the_whole(pieces: list[str], share: int) -> None:
    limit, whole = 300, "".join(pieces).encode("utf-8", "replace")
    text = cut("".join(pieces), limit, ROLLOUT_MARKER, head_share=share)
    assert len(text.encode()) <= limit
    if len(whole) <= limit:
        assert text == whole.decode()
        return
    head, tail = text.split(ROLLOUT_MARKER)
    assert whole.startswith(head.encode())
    assert whole.endswith(tail.encode())
    assert "\ufffd" not in (head + tail) or "\ufffd" in "".join(pieces)
    room = limit - len(ROLLOUT_MARKER)
    assert room // share - 3 <= len(head.encode()) <= room // share
