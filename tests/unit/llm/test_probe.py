"""The test of a model: one real tool call, every step told in words."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import pytest

from helpers.asking import KEY, provider_at, provider_of
from helpers.model_server import Call, ModelServer, Reply
from reverie.llm.probe import ProbeReport, probe
from reverie.llm.provider import Provider

GOOD = Call("repeat_word", {"word": "marmalade"})


def run(provider: Provider, **more: Any) -> ProbeReport:
    async def probing() -> ProbeReport:
        try:
            return await probe(provider, **more)
        finally:
            await provider.close()

    return asyncio.run(probing())


def states(report: ProbeReport) -> list[str]:
    names = ["reachable", "key", "model", "tool-calling", "streaming"]
    assert [step.name for step in report.steps] == names
    assert all(step.sentence for step in report.steps)
    return [step.state for step in report.steps]


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_model_that_works_passes_with_one_tool_call(wire: Literal["openai", "anthropic"]) -> None:
    with ModelServer([Reply(calls=(GOOD,))]) as server:
        report = run(provider_of(server, wire))
        assert len(server.requests) == 1
        assert server.requests[0].tool_names == ["repeat_word"]
    assert states(report) == ["pass"] * 5


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply(status=401, error=KEY), "pass fail skip skip skip"),
        (Reply(status=404, error="model not found"), "pass pass fail skip skip"),
        (Reply(status=404, body=b""), "fail skip skip skip skip"),
        (Reply(status=400, error="m does not support tools"), "pass pass pass fail skip"),
        (Reply(status=500), "pass pass fail skip skip"),
        (Reply(text="marmalade"), "pass pass pass fail pass"),
        (Reply(calls=(Call("other"),)), "pass pass pass fail pass"),
        (Reply(calls=(Call("repeat_word", "{oops"),)), "pass pass pass fail pass"),
        (Reply(calls=(Call("repeat_word", {"word": "jam"}),)), "pass pass pass fail pass"),
        (Reply(calls=(Call("repeat_word", "[1]"),)), "pass pass pass fail pass"),
    ],
)
def test_the_step_that_fails_is_named_and_later_ones_are_skipped(reply: Reply, expected: str) -> None:
    with ModelServer([reply]) as server:
        report = run(provider_of(server))
    assert states(report) == expected.split()
    assert KEY not in repr(report)


def test_a_server_that_is_not_there_fails_at_the_first_step() -> None:
    with ModelServer() as gone:
        url = gone.openai_url
    report = run(provider_at(url))
    assert states(report) == ["fail", "skip", "skip", "skip", "skip"]
    assert "Start the server" in report.steps[0].sentence


def test_an_answer_in_one_piece_can_be_used_but_does_not_stream() -> None:
    function = {"name": GOOD.name, "arguments": GOOD.text}
    message = {"content": None, "tool_calls": [{"id": "a", "function": function}]}
    body = json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}).encode()
    with ModelServer([Reply(body=body)]) as server:
        report = run(provider_of(server))
    assert states(report) == ["pass", "pass", "pass", "pass", "fail"]


def test_a_model_that_hangs_ends_at_the_limit() -> None:
    with ModelServer([Reply(fault="hang")]) as server:
        assert states(run(provider_of(server), limit_s=0.1))[0] == "fail"
