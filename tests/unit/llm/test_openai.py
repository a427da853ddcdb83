"""The OpenAI format: what is asked, and how answers are read, those of odd servers too."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.asking import VIEW, ask, json_of, provider_of, question
from helpers.model_server import Call, ModelServer, Reply
from helpers.profiles import examples
from reverie.llm.provider import (
    AssistantMessage,
    ModelTurn,
    ProviderError,
    StreamProgress,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from reverie.llm.service_errors import Malformed, ServiceRefusal
from reverie.llm.wire import EventParser, ServerEvent
from reverie.llm.wire_chat import ChatReader, OpenAiWire


def read(*events: Any) -> ModelTurn:
    reader = ChatReader("asked", lambda _progress: None)
    for event in events:
        reader.feed(ServerEvent("", event if isinstance(event, str) else json.dumps(event)))
    assert reader.complete
    return reader.turn()


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def part(index: int | None = None, *, id: str | None = None, **function: Any) -> dict[str, Any]:
    return {"index": index, "id": id, "function": function or None}


def calls(*events: Any) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in read(*events, chunk("tool_calls")).message.tool_calls]


def test_an_answer_with_text_calls_and_usage_arrives_whole() -> None:
    progress: list[StreamProgress] = []
    with ModelServer() as server:
        made = (Call("view", {"path": "/memories/größe.md"}, "a"), Call("view", {"path": "/"}, "b"))
        server.script([Reply(text="Über die Brücke → 🌉.", calls=made, usage=(900, 40, 500, 0))])
        turn = ask(provider_of(server), progress=progress)
    assert turn.message.text == "Über die Brücke → 🌉."
    assert [(call.id, json.loads(call.arguments)) for call in turn.message.tool_calls] == [
        ("a", {"path": "/memories/größe.md"}),
        ("b", {"path": "/"}),
    ]
    assert (turn.finish, turn.model) == ("tool-calls", "test-model")
    assert turn.usage == TokenUsage(input=900, output=40, cached_input=500)
    assert "".join(step.text for step in progress) == turn.message.text
    assert [step.tool_name for step in progress if step.tool_name] == ["view", "view"]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_an_answer_may_be_cut_inside_characters_and_json(size: int) -> None:
    with ModelServer([Reply(text="Ä€🌉", calls=(Call("view", {"p": "ü"}),), chunk=size)]) as server:
        turn = ask(provider_of(server))
    assert (turn.message.text, json.loads(turn.message.tool_calls[0].arguments)) == ("Ä€🌉", {"p": "ü"})


_STREAM = "".join(
    f"{end}data: {json.dumps(event, ensure_ascii=False)}\r\n\r\n"
    for end, event in [
        (": keep-alive\n\n", chunk(content="Größe €")),
        ("", chunk(content=" 🌉")),
        ("event: x\n", chunk(tool_calls=[part(0, id="c", name="view", arguments='{"a"')])),
        ("", chunk("tool_calls", tool_calls=[part(0, arguments=': "ß"}')])),
    ]
).encode()


@given(st.lists(st.integers(0, len(_STREAM)), max_size=12))
@settings(max_examples=examples(100))
def test_where_the_bytes_are_cut_makes_no_difference(cuts: list[int]) -> None:
    parser, reader = EventParser(), ChatReader("m", lambda _progress: None)
    places = [0, *sorted(cuts), len(_STREAM)]
    for start, end in itertools.pairwise(places):
        for event in parser.feed(_STREAM[start:end]):
            reader.feed(event)
    assert parser.close() == []
    turn = reader.turn()
    assert (turn.message.text, turn.message.tool_calls) == (
        "Größe € 🌉",
        (ToolCall("c", "view", '{"a": "ß"}'),),
    )


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param(
            [chunk(content=None, tool_calls=None), chunk(tool_calls=[part(0, name="view", arguments="{}")])],
            [("view", "{}")],
            id="null fields",
        ),
        pytest.param(
            [chunk(tool_calls=[part(0, name="vi")]), chunk(tool_calls=[part(0, name="ew", arguments="{}")])],
            [("view", "{}")],
            id="name in pieces",
        ),
        pytest.param(
            [chunk(tool_calls=[part(0, name="view", arguments=text)]) for text in ('{"a"', ":1}")],
            [("view", '{"a":1}')],
            id="name repeated",
        ),
        pytest.param(
            [chunk(tool_calls=[part(name="view", arguments="{}"), part(name="view", arguments='{"a":1}')])],
            [("view", "{}"), ("view", '{"a":1}')],
            id="no index, whole calls in one chunk",
        ),
        pytest.param(
            [
                chunk(tool_calls=[part(name="view", arguments='{"a"')]),
                chunk(tool_calls=[part(arguments=":1}")]),
            ],
            [("view", '{"a":1}')],
            id="no index, in pieces",
        ),
        pytest.param(
            [chunk(tool_calls=[part(0, id=key, name="view", arguments="{}")]) for key in ("a", "b")],
            [("view", "{}"), ("view", "{}")],
            id="every call has index 0",
        ),
        pytest.param(
            [chunk(tool_calls=[part(1, name="b", arguments="1")]), chunk(tool_calls=[part(0, name="a")])],
            [("b", "1"), ("a", "")],
            id="indexes out of order",
        ),
        pytest.param(
            [
                chunk(function_call={"name": "view", "arguments": "{"}),
                chunk(function_call={"arguments": "}"}),
            ],
            [("view", "{}")],
            id="only the old function_call",
        ),
        pytest.param(
            [
                chunk(
                    tool_calls=[part(0, name="view", arguments="{}")],
                    function_call={"name": "view", "arguments": "{}"},
                )
            ],
            [("view", "{}")],
            id="function_call beside its twin",
        ),
        pytest.param(
            [chunk(tool_calls=[part(0, name=":view", arguments={"a": 1})])],
            [("view", '{"a": 1}')],
            id="stray colon, arguments as an object",
        ),
        pytest.param([chunk(tool_calls=["x", 5, None, {"function": 7}])], [("", "")], id="nonsense"),
    ],
)
def test_calls_of_odd_servers_are_put_together(
    events: Sequence[Any], expected: list[tuple[str, str]]
) -> None:
    assert calls(*events) == expected


def test_calls_without_ids_get_ids_of_their_own() -> None:
    turn = read(chunk("stop", tool_calls=[part(0, name="a"), part(1, name="b")]))
    assert [call.id for call in turn.message.tool_calls] == ["call_1", "call_2"]
    assert turn.finish == "tool-calls"


def test_halves_of_a_character_in_two_chunks_become_one() -> None:
    half = '{"choices":[{"delta":{"content":"%s"}}]}'
    assert read(half % r"\ud83c", half % r"\udf09", chunk("stop")).message.text == "🌉"
    assert read(half % r"\ud83c", chunk("stop")).message.text == "�"


def test_usage_may_come_in_a_chunk_without_choices_and_after_the_end_mark_nothing_counts() -> None:
    counts = {
        "prompt_tokens": 5,
        "completion_tokens": 2,
        "completion_tokens_details": {"reasoning_tokens": 1},
    }
    turn = read(chunk("stop", content="a"), {"choices": [], "usage": counts}, "[DONE]")
    assert turn.usage == TokenUsage(5, 2, reasoning=1)


@pytest.mark.parametrize("counts", [None, {}, {"prompt_tokens": None}, {"prompt_tokens": "7"}, []])
def test_usage_that_is_not_said_is_unknown(counts: Any) -> None:
    assert read({**chunk("stop", content="a"), "usage": counts}).usage is None


def test_reasons_to_stop_are_told_apart() -> None:
    names = ["stop", "length", "content_filter", "function_call", "eos"]
    assert [read(chunk(name, content="a")).finish for name in names] == [
        "stop",
        "length",
        "content-filter",
        "tool-calls",
        "other",
    ]


def test_without_the_end_mark_the_reason_to_stop_makes_it_whole_and_without_both_it_is_cut() -> None:
    reader = ChatReader("m", lambda _progress: None)
    reader.feed(ServerEvent("", json.dumps(chunk(content="half"))))
    assert not reader.complete
    reader.feed(ServerEvent("", json.dumps(chunk("stop"))))
    assert reader.complete


@pytest.mark.parametrize("data", ["{", "[]", "5", '"x"', "{" * 100_000])
def test_what_is_no_json_object_is_refused(data: str) -> None:
    with pytest.raises(Malformed):
        read(data)


def test_an_answer_without_any_choice_is_refused() -> None:
    with pytest.raises(Malformed):
        read({"choices": []}, {"choices": None}, "[DONE]")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"code": 429, "message": "slow"}, 429),
        ({"code": "context_length_exceeded"}, 413),
        ({"type": "invalid_request_error"}, 400),
        ("boom", 500),
        ({"code": 7}, 500),
    ],
)
def test_an_error_inside_the_stream_is_a_refusal(error: Any, status: int) -> None:
    with pytest.raises(ServiceRefusal) as caught:
        read({"error": error})
    assert caught.value.status == status


_NAMES = [
    "choices",
    "delta",
    "message",
    "tool_calls",
    "function",
    "index",
    "id",
    "name",
    "arguments",
    "content",
    "usage",
    "finish_reason",
    "prompt_tokens",
    "error",
]


@given(json_of(*_NAMES))
@settings(max_examples=examples(80))
def test_whatever_comes_is_read_or_refused(document: Any) -> None:
    reader = ChatReader("m", lambda _progress: None)
    try:
        reader.feed(ServerEvent("", json.dumps(document)))
        reader.feed(ServerEvent("", "[DONE]"))
        reader.turn()
    except (Malformed, ServiceRefusal):
        return


def test_a_server_that_does_not_stream_is_understood() -> None:
    message = {
        "role": "assistant",
        "content": "Hi",
        "tool_calls": [part(None, id="a", name="view", arguments="{}")],
    }
    answer = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    progress: list[StreamProgress] = []
    with ModelServer([Reply(body=json.dumps(answer).encode())]) as server:
        turn = ask(provider_of(server), progress=progress)
    assert (turn.message.text, turn.message.tool_calls) == ("Hi", (ToolCall("a", "view", "{}"),))
    assert progress == []


def test_the_question_holds_everything_once() -> None:
    said = AssistantMessage(
        "Looking.", (ToolCall("c 1", "view!", '{"a": 1}'), ToolCall("c2", "view", "{oops"))
    )
    request = question(
        UserMessage("Hi"), said, ToolResult("c 1", "view", "text"), ToolResult("c2", "view", "no", True)
    )
    body = OpenAiWire().body("m", request, frozenset())
    assert body["stream_options"] == {"include_usage": True}
    assert (body["max_tokens"], body["tools"][0]["function"]["name"]) == (1000, VIEW.name)
    assert [message["role"] for message in body["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
    ]
    made = body["messages"][2]["tool_calls"]
    assert (
        [call["id"] for call in made]
        == [said["tool_call_id"] for said in body["messages"][3:]]
        == ["c_1", "c2"]
    )
    assert made[0]["function"] == {"name": "view_", "arguments": '{"a": 1}'}
    assert json.loads(made[1]["function"]["arguments"]) == {"unreadable": "{oops"}


def test_reasoning_goes_back_to_the_service_as_it_came() -> None:
    turn = read(
        chunk(reasoning_content="thi"), chunk("stop", reasoning_content="nk", reasoning_details=[{"x": 1}])
    )
    body = OpenAiWire().body("m", question(turn.message), frozenset())
    assert body["messages"][1]["reasoning_content"] == "think"
    assert body["messages"][1]["reasoning_details"] == [{"x": 1}]
    assert turn.message.text == ""


@pytest.mark.parametrize(
    ("words", "gone", "there"),
    [
        ("Unknown parameter: 'stream_options'", "stream_options", "max_tokens"),
        ("'max_tokens' is not supported with this model", "max_tokens", "max_completion_tokens"),
    ],
)
def test_what_a_server_refuses_is_left_out_and_asked_again_once(words: str, gone: str, there: str) -> None:
    with ModelServer([Reply(status=400, error=words), Reply(text="ok")]) as server:
        assert ask(provider_of(server)).message.text == "ok"
        first, second = (request.body for request in server.requests)
    assert gone in first
    assert gone not in second
    assert there in second


def test_a_limit_of_the_answer_that_no_number_holds_is_no_limit() -> None:
    words = f"max_tokens is too large. This model supports at most {'9' * 5000} completion tokens."
    with ModelServer([Reply(status=400, error=words)] * 2) as server, pytest.raises(ProviderError):
        ask(provider_of(server))


def test_a_flood_of_calls_is_read_in_time() -> None:
    reader = ChatReader("m", lambda _progress: None)
    count = 100_000
    flood = [part(number, id=f"id-{number}", name="view", arguments="{}") for number in range(count)]
    begun = time.monotonic()
    reader.feed(ServerEvent("", json.dumps(chunk(tool_calls=flood))))
    assert time.monotonic() - begun < 60
    assert len(reader.turn().message.tool_calls) == count


def test_a_named_limit_of_the_answer_is_kept_to() -> None:
    words = "max_tokens is too large: 1000. This model supports at most 512 completion tokens."
    with ModelServer([Reply(status=400, error=words), Reply(text="ok")]) as server:
        ask(provider_of(server))
        assert server.requests[1].body["max_tokens"] == 512
