"""The Anthropic format: what is asked, and how answers are read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.asking import ask, json_of, provider_of, question
from helpers.model_server import Call, ModelServer, Reply
from helpers.profiles import examples
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
from reverie.llm.wire_anthropic import AnthropicWire, MessageReader

START = {"type": "message_start", "message": {"model": "told", "usage": {"input_tokens": 3}}}


def read(*events: Any) -> ModelTurn:
    reader = MessageReader("asked", lambda _progress: None)
    for event in events:
        reader.feed(ServerEvent("", event if isinstance(event, str) else json.dumps(event)))
    return reader.turn()


def stop(reason: str | None = "end_turn") -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 4}}


def test_an_answer_with_thinking_text_calls_and_usage_arrives_whole() -> None:
    progress: list[StreamProgress] = []
    with ModelServer() as server:
        made = (Call("view", {"path": "/größe"}, "a"), Call("view", {}, "b"))
        server.script([Reply(text="Brücke 🌉", calls=made, thinking="Hm, über…", usage=(900, 40, 500, 300))])
        turn = ask(provider_of(server, "anthropic"), progress=progress)
    assert turn.message.text == "Brücke 🌉"
    assert [(call.id, json.loads(call.arguments)) for call in turn.message.tool_calls] == [
        ("a", {"path": "/größe"}),
        ("b", {}),
    ]
    assert turn.usage == TokenUsage(input=900, output=40, cached_input=500, cache_write=300)
    assert (turn.finish, turn.model) == ("tool-calls", "test-model")
    assert "".join(step.text for step in progress) == turn.message.text


@pytest.mark.parametrize("size", [1, 3])
def test_an_answer_may_be_cut_inside_characters_and_json(size: int) -> None:
    with ModelServer([Reply(text="Ä€🌉", calls=(Call("view", {"p": "ü"}),), chunk=size)]) as server:
        turn = ask(provider_of(server, "anthropic"))
    assert (turn.message.text, json.loads(turn.message.tool_calls[0].arguments)) == ("Ä€🌉", {"p": "ü"})


def test_thinking_goes_back_first_and_unchanged() -> None:
    with ModelServer([Reply(thinking="Hm.", calls=(Call("view"),)), Reply(text="ok")]) as server:
        said = ask(provider_of(server, "anthropic")).message
        again = question(UserMessage("Hi"), said, ToolResult(said.tool_calls[0].id, "view", "text"))
        ask(provider_of(server, "anthropic"), again)
        blocks = server.requests[1].body["messages"][1]["content"]
    assert blocks[0] == {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"}
    assert [block["type"] for block in blocks] == ["thinking", "tool_use"]


def test_redacted_thinking_goes_back_too() -> None:
    block = {"type": "redacted_thinking", "data": "xyz"}
    turn = read(START, {"type": "content_block_start", "index": 0, "content_block": block}, stop())
    body = AnthropicWire().body("m", question(UserMessage("Hi"), turn.message), frozenset())
    assert body["messages"][1]["content"] == [block]


def test_the_question_is_in_turns_with_the_results_of_a_turn_together() -> None:
    said = AssistantMessage("  ", (ToolCall("c 1", "view", "{}"), ToolCall("c2", "view", "[1]")))
    results = (ToolResult("c 1", "view", "text"), ToolResult("c2", "view", "no", True))
    body = AnthropicWire().body(
        "m", question(UserMessage("Hi"), said, *results, UserMessage("Go on")), frozenset()
    )
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert [block["type"] for block in body["messages"][1]["content"]] == ["tool_use", "tool_use"]
    assert body["messages"][1]["content"][1]["input"] == {"unreadable": "[1]"}
    last = body["messages"][2]["content"]
    assert [block.get("tool_use_id") for block in last] == ["c_1", "c2", None]
    assert [block.get("is_error") for block in last] == [None, True, None]


def test_what_does_not_change_is_marked_for_the_cache() -> None:
    body = AnthropicWire().body("m", question(), frozenset())
    marked = [body["system"][-1], body["tools"][-1], body["messages"][-1]["content"][-1]]
    assert all(block["cache_control"] == {"type": "ephemeral"} for block in marked)
    assert "cache_control" not in json.dumps(AnthropicWire().body("m", question(), frozenset())["tools"][:-1])


def test_the_key_and_the_version_are_headers() -> None:
    with ModelServer([Reply(text="ok")]) as server:
        ask(provider_of(server, "anthropic"))
        headers = server.requests[0].headers
        assert server.requests[0].path == "/v1/messages"
    assert headers["x-api-key"].startswith("sk-test")
    assert headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in headers


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("max_tokens", "length"),
        ("refusal", "content-filter"),
        ("pause_turn", "other"),
    ],
)
def test_reasons_to_stop_are_told_apart(reason: str, finish: str) -> None:
    assert read(START, stop(reason)).finish == finish


def test_counts_of_later_events_are_totals_and_null_is_no_count() -> None:
    later = {"type": "message_delta", "delta": {}, "usage": {"input_tokens": None, "output_tokens": 9}}
    assert read(START, stop(), later).usage == TokenUsage(3, 9)


def test_events_and_blocks_of_later_versions_are_passed_over() -> None:
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "hologram"}}
    assert read(START, {"type": "ping"}, {"type": "new_event"}, block, stop()).message == AssistantMessage("")


@pytest.mark.parametrize("data", ["{", "[]", "{}{}"])
def test_what_is_no_json_object_is_refused(data: str) -> None:
    with pytest.raises(Malformed):
        read(START, data)


def test_an_answer_without_any_message_is_refused() -> None:
    with pytest.raises(Malformed):
        read({"type": "ping"}, {"type": "message_stop"})


@pytest.mark.parametrize(("kind", "status"), [("overloaded_error", 529), ("new_error", 500), (None, 500)])
def test_an_error_inside_the_stream_is_a_refusal(kind: str | None, status: int) -> None:
    with pytest.raises(ServiceRefusal) as caught:
        read(START, {"type": "error", "error": {"type": kind, "message": "x"}})
    assert caught.value.status == status


def test_a_server_that_does_not_stream_is_understood() -> None:
    blocks = [
        {"type": "text", "text": "Hi"},
        {"type": "tool_use", "id": "a", "name": "view", "input": {"p": 1}},
    ]
    answer = {"type": "message", "model": "m", "content": blocks, "stop_reason": "tool_use", "usage": {}}
    with ModelServer([Reply(body=json.dumps(answer).encode())]) as server:
        turn = ask(provider_of(server, "anthropic"))
    assert turn.message == AssistantMessage("Hi", (ToolCall("a", "view", '{"p": 1}'),))
    assert (turn.finish, turn.usage) == ("tool-calls", None)


def test_a_named_limit_of_the_answer_is_kept_to() -> None:
    words = "max_tokens: 1000 > 512, which is the maximum allowed number of output tokens"
    with ModelServer([Reply(status=400, error=words), Reply(text="ok")]) as server:
        ask(provider_of(server, "anthropic"))
        assert server.requests[1].body["max_tokens"] == 512


_NAMES = [
    "message",
    "delta",
    "usage",
    "content_block",
    "index",
    "id",
    "name",
    "input",
    "text",
    "partial_json",
    "stop_reason",
    "output_tokens",
    "error",
]
_KINDS = ["message_start", "content_block_start", "content_block_delta", "message_delta", "error"]


@given(json_of(*_NAMES), st.sampled_from(_KINDS))
@settings(max_examples=examples(80))
def test_whatever_comes_is_read_or_refused(document: Any, kind: str) -> None:
    said = {**document, "type": kind} if isinstance(document, dict) else document
    reader = MessageReader("m", lambda _progress: None)
    try:
        reader.feed(ServerEvent(kind, json.dumps(said)))
        reader.feed(ServerEvent("", '{"type": "message_stop"}'))
        reader.turn()
    except (Malformed, ServiceRefusal):
        return
