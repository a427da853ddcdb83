"""Traces: the field names of mux's dumps, bounded, clean, and there for a run that died as well."""

from __future__ import annotations

import itertools
import json
from decimal import Decimal
from typing import Any

import pytest

from helpers.samples import SAMPLES
from reverie.errors import StoreError
from reverie.files.sidecar import stringify
from reverie.llm.provider import (
    AssistantMessage,
    ModelTurn,
    TokenUsage,
    ToolCall,
    ToolOutcome,
    ToolResult,
    UserMessage,
)
from reverie.llm.trace import Trace, TraceHead
from reverie.llm.vault import Vault

KEY = "sk-ant-" + "api03-" + "a1B2c3D4e5F6g7H8i9J0" * 2
HEAD = TraceHead("17-a", "dream", workspace_id="ws", timeout_ms=5000, cost_usd=Decimal("0.0125"))


def clocked(clean: Any = str) -> Trace:
    ticks = itertools.count()
    return Trace(clean, clock=lambda: 1000, monotonic=lambda: float(next(ticks)))


def worked(trace: Trace, name: str = "memory") -> Trace:
    """A trace of one turn with one successful call."""
    call = ToolCall("c1", name, '{"command": "view"}')
    trace.begin("test:m", "You tidy.", [UserMessage("Go.")])
    trace.turn(ModelTurn(AssistantMessage("Hm.", (call,)), "tool-calls", TokenUsage(5, 2), "m-1"))
    trace.call_begins()
    trace.call_ends(call, {"command": "view"}, ToolOutcome("Directory", wrote=True))
    trace.result(ToolResult("c1", name, "Directory"))
    return trace


def test_a_document_has_the_fields_of_the_agents_own_dumps() -> None:
    samples = [json.loads(path.read_text()) for path in (SAMPLES / "mux-home" / "debug_obj").rglob("1*.json")]
    trace = worked(clocked())
    trace.end("completed", TokenUsage(5, 2))
    made = trace.to_document(HEAD)
    assert samples
    known = {name for sample in samples for name in sample}
    assert set(made) - known <= {"satisfiedMemoryToolPolicy", "reverie"}
    attempt = {name for sample in samples for found in sample["attempts"] for name in found}
    assert set(made["attempts"][0]) - attempt <= {"noNewMemories", "finishReason", "error"}
    executions = {
        name
        for sample in samples
        for found in sample["attempts"]
        for execution in found["toolExecutions"]
        for name in execution
    }
    assert set(made["attempts"][0]["toolExecutions"][0]) == executions - {"error"}


def test_a_document_tells_what_happened() -> None:
    trace = worked(clocked())
    trace.end("completed", TokenUsage(5, 2))
    made = trace.to_document(HEAD)
    assert made["schemaVersion"] == 1
    assert made["didWriteMemory"]
    assert made["satisfiedMemoryToolPolicy"]
    assert not made["timedOut"]
    assert (made["systemPrompt"], made["userMessage"], made["modelString"]) == ("You tidy.", "Go.", "test:m")
    [execution] = made["attempts"][0]["toolExecutions"]
    assert (execution["startedAt"], execution["durationMs"]) == (1000, 1000)
    assert execution["output"] == {"success": True, "output": "Directory"}
    ours = made["reverie"]
    assert (ours["version"], ours["runId"], ours["kind"], ours["outcome"]) == (
        1,
        "17-a",
        "dream",
        "completed",
    )
    assert ours["costUsd"] == 0.0125
    assert ours["usage"]["output"] == 2
    assert json.loads(stringify(made)) == made


def test_each_answer_has_its_time_and_how_long_it_was_waited_for() -> None:
    moments = iter((100, 100, 140, 150, 190, 200))
    clock = itertools.count(1000)
    trace = Trace(str, clock=lambda: next(clock), monotonic=lambda: next(moments) / 1000)
    trace.begin("test:m", "", [])
    trace.turn(ModelTurn(AssistantMessage("Hm."), "tool-calls", None, "m-1"))
    trace.result(ToolResult("c1", "memory", "Directory"))
    trace.turn(ModelTurn(AssistantMessage("Done."), "stop", None, "m-1"))
    [attempt] = trace.to_document(HEAD)["attempts"]
    assert [(step["startedAt"], step["durationMs"]) for step in attempt["stepResults"]] == [
        (1001, 40),
        (1002, 40),
    ]


def test_a_no_op_counts_as_satisfied_only_when_it_was_accepted() -> None:
    for is_error in (False, True):
        trace = clocked()
        trace.begin("test:m", "", [])
        trace.call_begins()
        trace.call_ends(ToolCall("c", "no_new_memories", ""), {}, ToolOutcome("", is_error=is_error))
        trace.end("completed", None)
        made = trace.to_document(HEAD)
        assert made["attempts"][0]["noNewMemories"] is not is_error
        assert made["satisfiedMemoryToolPolicy"] is not is_error
        assert not made["didWriteMemory"]


def test_an_unfinished_or_empty_trace_is_a_document_too() -> None:
    assert clocked().to_document(HEAD)["attempts"] == []
    assert worked(clocked()).to_document(HEAD)["reverie"]["outcome"] is None
    trace = clocked()
    trace.end("failed", None, StoreError("It broke.", next_step="Mend it."))
    assert trace.to_document(HEAD)["attempts"][0]["error"] == "It broke. Mend it."


def test_texts_are_bounded_each_and_together_and_say_what_is_missing() -> None:
    trace = clocked()
    trace.begin("test:m", "x" * 100_000, [])
    assert trace.to_document(HEAD)["systemPrompt"].endswith("x… [100,000 characters in all]")
    for _ in range(200):
        trace.turn(ModelTurn(AssistantMessage("y" * 100_000), "stop", None, "m"))
    trace.end("completed", None)
    assert len(stringify(trace.to_document(HEAD))) < 9_000_000


@pytest.mark.parametrize("before", [65_500, 65_536, 65_536 + 480, 65_536 + 512 - 10])
def test_a_secret_on_the_edge_of_a_bound_is_cut_whole(before: int) -> None:
    trace = clocked(Vault().scrub)
    trace.begin("test:m", "x" * (before - 1) + " " + KEY + " y" * 1000, [])
    assert "sk-ant" not in trace.to_document(HEAD)["systemPrompt"]


def test_a_flood_of_calls_is_listed_up_to_a_bound() -> None:
    trace = clocked()
    trace.begin("test:m", "", [])
    calls = tuple(ToolCall(f"c{number}", "memory", "{}") for number in range(1000))
    trace.turn(ModelTurn(AssistantMessage("", calls), "tool-calls", None, "m"))
    for call in calls:
        trace.result(ToolResult(call.id, call.name, "x"))
    [step] = trace.to_document(HEAD)["attempts"][0]["stepResults"]
    assert (len(step["toolCalls"]), len(step["toolResults"]), step["omittedToolCalls"]) == (64, 64, 936)


def test_every_text_is_cleaned_on_its_way_in() -> None:
    trace = clocked(Vault().scrub)
    call = ToolCall("c1", f"m{KEY}", f'{{"text": "{KEY}"}}')
    trace.begin("test:m", KEY, [UserMessage(KEY), AssistantMessage(KEY, (call,))])
    trace.turn(ModelTurn(AssistantMessage(KEY, (call,)), "stop", None, "m"))
    trace.call_begins()
    trace.call_ends(call, {"text": [KEY], KEY: 1}, ToolOutcome(KEY))
    trace.result(ToolResult("c1", KEY, KEY))
    trace.end("failed", None, StoreError(KEY))
    assert KEY not in str(trace.to_document(TraceHead("1-a", "dream", existing_memory=KEY)))
