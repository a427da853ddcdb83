"""The Responses format: what is asked, and how answers are read, those of odd servers too."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.asking import VIEW, question
from reverie.llm.provider import (
    AssistantMessage,
    ModelTurn,
    StreamProgress,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from reverie.llm.service_errors import Malformed, ServiceRefusal
from reverie.llm.wire import ServerEvent
from reverie.llm.wire_responses import ResponseReader, ResponsesWire
from reverie.values import replace


def fed(*events: Any, progress: list[StreamProgress] | None = None) -> ResponseReader:
    reader = ResponseReader("asked", [].append if progress is None else progress.append)
    for event in events:
        reader.feed(ServerEvent("", event if isinstance(event, str) else json.dumps(event)))
    return reader


def read(*events: Any) -> ModelTurn:
    reader = fed(*events)
    assert reader.complete
    return reader.turn()


def done(number: int, **item: Any) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": number, "item": item}


def delta(number: int, text: str) -> dict[str, Any]:
    return {"type": "response.output_text.delta", "output_index": number, "delta": text}


def ended(kind: str = "completed", **response: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "response": {"status": kind, **response}}


def message(text: str) -> dict[str, Any]:
    return {"type": "message", "content": [{"type": "output_text", "text": text}]}


def test_an_answer_with_text_calls_and_usage_arrives_whole() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "view", "arguments": '{"path": "/ü"}'}
    usage = {
        "input_tokens": 90,
        "input_tokens_details": {"cached_tokens": 50},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 4},
    }
    progress: list[StreamProgress] = []
    reader = fed(
        {"type": "response.created", "response": {}},
        done(0, type="reasoning", summary=[]),
        {"type": "response.output_item.added", "output_index": 2, "item": call},
        delta(1, "Über "),
        delta(1, "die Brücke"),
        done(1, **message("Über die Brücke")),
        done(2, **call),
        ended(model="real", usage=usage),
        progress=progress,
    )
    turn = reader.turn()
    assert turn.message == AssistantMessage("Über die Brücke", (ToolCall("c", "view", '{"path": "/ü"}'),))
    assert (turn.finish, turn.model) == ("tool-calls", "real")
    assert turn.usage == TokenUsage(input=90, output=9, cached_input=50, reasoning=4)
    assert "".join(step.text for step in progress) == "Über die Brücke"
    assert [step.tool_name for step in progress if step.tool_name] == ["view"]
    assert reader.handed_on


def test_items_may_come_with_the_final_response_only() -> None:
    call = {"type": "function_call", "id": "i", "name": "view", "arguments": {"path": "/"}}
    turn = read(ended(output=[message("Hm"), call, 7, {"type": "other"}]))
    assert turn.message == AssistantMessage("Hm", (ToolCall("i", "view", '{"path": "/"}'),))


def test_a_server_that_does_not_stream_is_read() -> None:
    reader = ResponseReader("asked", [].append)
    reader.whole({"status": "completed", "output": [message("Hi")]})
    assert (reader.turn().message.text, reader.turn().finish, reader.turn().model) == ("Hi", "stop", "asked")


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("max_output_tokens", "length"), ("content_filter", "content-filter"), (7, "other")],
)
def test_an_answer_that_was_cut_says_why(reason: Any, finish: str) -> None:
    turn = read(delta(0, "a"), ended("incomplete", incomplete_details={"reason": reason}))
    assert (turn.finish, turn.message.text) == (finish, "a")


@pytest.mark.parametrize(
    ("event", "status"),
    [
        ({"type": "error", "code": "rate_limit_exceeded", "message": "slow"}, 429),
        ({"type": "error", "error": {"type": "invalid_request_error"}}, 400),
        ({"type": "response.failed", "response": {"error": {"code": "context_length_exceeded"}}}, 413),
        ({"type": "response.failed", "response": 7}, 500),
        ({"type": "error", "code": 503}, 503),
    ],
)
def test_an_error_in_the_stream_is_a_refusal(event: dict[str, Any], status: int) -> None:
    with pytest.raises(ServiceRefusal) as refused:
        fed(delta(0, "a"), event)
    assert refused.value.status == status


def test_an_answer_without_output_is_malformed_and_an_end_without_a_mark_is_none() -> None:
    with pytest.raises(Malformed):
        read(ended())
    with pytest.raises(Malformed):
        fed("no json")
    assert not fed(delta(0, "a")).complete
    assert not fed("[DONE]").complete
    assert fed(delta(0, "a"), "[DONE]").turn().message.text == "a"


_KEYS = st.sampled_from(["type", "item", "response", "delta", "output", "error", "usage", "content"])
_PLAIN = st.none() | st.booleans() | st.integers() | st.text()


@given(st.recursive(_PLAIN, lambda each: st.lists(each) | st.dictionaries(_KEYS, each)))
def test_odd_events_raise_what_they_may(event: Any) -> None:
    for kind in ("response.output_item.done", "response.completed", "response.output_text.delta"):
        said = {"output_index": event, **(event if isinstance(event, dict) else {}), "type": kind}
        try:
            reader = fed(said)
            if reader.complete:
                reader.turn()
        except (ServiceRefusal, Malformed):
            continue


def test_the_question_carries_the_conversation_and_is_not_stored() -> None:
    calls = (ToolCall("a b", "view", '{"path": "/"}'), ToolCall("c", "view", "broken"))
    said = question(UserMessage("Hi"), AssistantMessage("Hm", calls), ToolResult("a b", "view", "nothing"))
    asked = replace(said, system="Be brief.", answer_schema={"type": "object"})
    body = ResponsesWire().body("m", asked, frozenset())
    assert (body["model"], body["instructions"]) == ("m", "Be brief.")
    assert (body["stream"], body["store"]) == (True, False)
    assert [item["type"] for item in body["input"]] == [
        "message",
        "message",
        "function_call",
        "function_call",
        "function_call_output",
    ]
    assert body["input"][2]["call_id"] == body["input"][4]["call_id"] == "a_b"
    assert json.loads(body["input"][3]["arguments"]) == {"unreadable": "broken"}
    assert (body["tools"][0]["type"], body["tools"][0]["name"]) == ("function", VIEW.name)
    assert body["text"]["format"]["schema"] == {"type": "object"}
    assert body["max_output_tokens"] > 0


@pytest.mark.parametrize(
    ("words", "key"),
    [
        ("unsupported: max_output_tokens", "max_output_tokens"),
        ("no json_schema", "text"),
        ("unknown 'store'", "store"),
    ],
)
def test_what_a_service_refuses_is_left_out(words: str, key: str) -> None:
    wire, asked = ResponsesWire(), replace(question(), answer_schema={"type": "object"})
    change = wire.adapt(400, words)
    assert change is not None
    assert key in wire.body("m", asked, frozenset())
    assert key not in wire.body("m", asked, frozenset({change}))
    assert wire.adapt(500, words) is None
    assert wire.adapt(400, "something else") is None
