"""When session notes are due, over message sequences (formats/claude-code.md section 3).

A sequence is steps: `t` a completed answer, `c` an answer that asks for a tool (and its result), `s` the same
by a sub-agent, `x` an answer no model gave, `-` a typed message, `k` a compaction; the number is the size of
the context in thousands of tokens; `!` an update that works is run where one is due, `?` one that fails,
`m` one by hand.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.claude_transcripts import SESSION, Chat, use
from helpers.profiles import examples
from reverie.agents.capabilities import SessionFacts
from reverie.agents.claude.session_counts import SessionScan
from reverie.jobs.single_file.notes_service import Measured, NotesState, decide, succeeded
from reverie.settings import NotesSettings, load_settings

DUE = "due"


def measured(facts: SessionFacts, counters: NotesState) -> Measured:
    return Measured(
        facts.messages,
        facts.context_tokens,
        facts.tool_calls_since(counters.counting_from),
        not facts.calls_tools,
        facts.last_uuid,
    )


def play(tmp_path: Path, steps: str) -> tuple[str, NotesState]:
    """What the last step came to, and the counters then. After each step it is looked once."""
    path, chat, counters = tmp_path / f"{SESSION}.jsonl", Chat(), NotesState()
    path.write_text("", encoding="utf-8")
    scan, seen, gate = SessionScan(path), Measured(0, 0, 0, True), "no-messages"
    for number, step in enumerate(steps.split()):
        kind, tokens = step[0], int(float(step[1:].rstrip("!?m") or 0) * 1000)
        before = len(chat.lines)
        if kind == "-":
            chat.user("Go on")
        elif kind == "t":
            chat.answer("Done.", tokens=tokens)
        elif kind == "c":
            chat.answer("Looking.", use(f"t{number}", "Read", file_path="/a"), tokens=tokens)
            chat.results((f"t{number}", "text"))
        elif kind == "s":
            chat.answer(use(f"t{number}", "Read"), tokens=tokens, isSidechain=True)
        elif kind == "x":
            chat.answer("Error", model="<synthetic>", tokens=tokens)
        elif kind == "k":
            chat.record("system", subtype="compact_boundary", parent=None, logicalParentUuid=chat.last)
            chat.user("So far", isCompactSummary=True)
        with path.open("a", encoding="utf-8") as file:
            for line in chat.lines[before:]:
                file.write(json.dumps(line) + "\n")
        facts = scan.update()
        seen = measured(facts, counters)
        if step.endswith("m"):
            counters, gate = succeeded(counters, seen), "by hand"
            continue
        decision = decide(counters, seen, NotesSettings())
        counters, gate = decision.state, decision.gate or DUE
        if gate == DUE and step.endswith("!"):
            counters = succeeded(counters, measured(facts, counters))
    return gate, counters


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        # Where notes begin
        ("-", "too-small"),
        ("- t1", "too-small"),
        ("- t9.999", "too-small"),
        ("- t10", DUE),
        ("- t10.001", DUE),
        ("- c9 c9.5 c9.9", "too-small"),
        ("- c12", "at-work"),
        ("- c12 c12", "at-work"),
        ("- c12 c12 c12", DUE),
        ("- c2 c4 c6 t10", DUE),
        ("- c2 c4 c10", DUE),
        ("- t2 - t4 - t10", DUE),
        # A natural break
        ("- c11 t12", DUE),
        ("- c11 c12 t13", DUE),
        ("- t10! - t12", "not-grown"),
        ("- t10! - t14.999", "not-grown"),
        ("- t10! - t15", DUE),
        ("- t10! - c15", "at-work"),
        ("- t10! - c15 t15", DUE),
        # Tool calls alone never do it: growth is always required
        ("- t10! - c11 c12 c13 c14", "not-grown"),
        ("- t10! - c11 c12 c13 c14 c15", DUE),
        ("- t10! - c15 c16", "at-work"),
        ("- t10! - c15 c16 c17", DUE),
        # The point from which calls count moves at each trigger
        ("- c11 c12 c13! c14 c15", "not-grown"),
        ("- c11 c12 c13! c18 c19", "at-work"),
        ("- c11 c12 c13! c18 c19 c20", DUE),
        ("- c11 c12 c13! t18", DUE),
        ("- c11 c12 c13! t14", "not-grown"),
        # A run that failed: its tokens are not recorded, its calls are
        ("- c11 c12 c13? c14", "at-work"),
        ("- c11 c12 c13? c14 c15 c16", DUE),
        ("- c11 c12 c13? t14", DUE),
        ("- t10? - t10", DUE),
        # What does not count
        ("- s20", "too-small"),
        ("- t10! - s15 s16 s17 s18", "not-grown"),
        ("- t10! - c15 s16 s17 s18", "at-work"),
        ("- t10! - x99", "not-grown"),
        ("- x99", "too-small"),
        # A compaction makes the context small: nothing is due before it has grown above the last update
        ("- t10! - t30! k - t8", "not-grown"),
        ("- t10! - t30! k - t34", "not-grown"),
        ("- t10! - t30! k - t35", DUE),
        ("- t9 k - t5", "too-small"),
        # By hand: starts nothing, moves no counting point, records the tokens
        ("- t1m t2", "too-small"),
        ("- t12m t13", "not-grown"),
        ("- t12m t17", DUE),
        ("- t12m t16.999", "not-grown"),
        ("- c11 c12m c17", DUE),
        ("- c1 c2 c3m - c11", DUE),
        ("- t10! - c15m c16", "not-grown"),
        # Typed text alone is no answer, but the last answer counts on
        ("- t10 -", DUE),
        ("- t10! - t16 -", DUE),
        ("- c12 -", "at-work"),
    ],
)
def test_the_table(tmp_path: Path, steps: str, expected: str) -> None:
    assert play(tmp_path, steps)[0] == expected


def test_the_last_summarised_mark_moves_at_a_natural_break_only(tmp_path: Path) -> None:
    _gate, counters = play(tmp_path, "- t10!")
    assert counters.summarised == counters.counting_from is not None
    _gate, working = play(tmp_path, "- c11 c12 c13!")
    assert (working.summarised, working.tokens) == (None, 13_000)
    _gate, by_hand = play(tmp_path, "- t12m")
    assert by_hand.summarised is not None
    assert (by_hand.begun, by_hand.counting_from, by_hand.tokens) == (False, None, 12_000)
    _gate, failed = play(tmp_path, "- t10?")
    assert (failed.summarised, failed.tokens) == (None, 0)
    assert failed.counting_from is not None


def test_a_counting_point_that_is_gone_means_no_calls() -> None:
    facts = SessionFacts(tool_calls=9)
    assert (facts.tool_calls_since("gone"), facts.tool_calls_since(None)) == (0, 9)


def test_a_threshold_counts_only_above_zero(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[notes]\nstart_tokens = 0\ngrowth_tokens = -5\ntool_calls = 7\n", encoding="utf-8")
    notes = load_settings(file)[0].notes
    assert (notes.start_tokens, notes.growth_tokens, notes.tool_calls) == (10_000, 5_000, 7)


@given(st.integers(0, 40_000), st.integers(0, 40_000), st.integers(0, 9), st.booleans(), st.booleans())
@settings(max_examples=examples(100), deadline=None)
def test_nothing_is_ever_due_without_growth(
    tokens: int, before: int, calls: int, at_break: bool, begun: bool
) -> None:
    seen = Measured(5, tokens, calls, at_break, "u")
    due = decide(NotesState(begun, before), seen, NotesSettings()).gate is None
    assert due == ((begun or tokens >= 10_000) and tokens - before >= 5_000 and (calls >= 3 or at_break))


def test_a_scan_reads_on_where_it_was_and_anew_where_the_file_was_replaced(tmp_path: Path) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    chat = Chat()
    chat.turn("One", "Yes.", tokens=5000, tools=2)
    chat.write(path)
    scan = SessionScan(path)
    assert scan.update().tool_calls == 2
    assert scan.update().tool_calls == 2
    with path.open("a", encoding="utf-8") as file:
        file.write('{"type": "assistant", "uuid": "half')
    assert scan.update().messages == 6
    with path.open("a", encoding="utf-8") as file:
        file.write('-done", "message": {"id": "m", "content": [], "usage": {"input_tokens": 7000}}}\n')
    facts = scan.update()
    assert (facts.messages, facts.context_tokens, facts.last_uuid) == (7, 7000, "half-done")
    path.unlink()
    other = Chat()
    other.turn("Anew", "Yes.", tokens=100)
    other.write(path)
    assert scan.update().messages == 2


def test_an_answer_without_usage_is_estimated_and_a_split_answer_that_calls_a_tool_is_no_break(
    tmp_path: Path,
) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    chat = Chat()
    chat.user("x" * 4000)
    chat.answer({"type": "thinking", "thinking": ""}, use("t", "Bash"), "Text after it.")
    facts = SessionScan(chat.write(path)).update()
    assert facts.calls_tools
    assert 1000 <= facts.context_tokens <= 1010
