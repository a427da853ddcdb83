"""The agent loop over real sockets, in both wire formats: what comes off the wire is answered or ended within
its limits, and nothing secret goes out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

import pytest

from helpers.asking import KEY, provider_of
from helpers.model_server import Call, ModelServer, ParsedRequest, Reply
from reverie.llm.loop import AgentLimits, AgentResult, run_agent
from reverie.llm.provider import ToolOutcome, ToolSpec, UserMessage
from reverie.llm.tools import FunctionTool
from reverie.llm.trace import TraceHead
from reverie.llm.vault import Vault

Format = Literal["openai", "anthropic"]
SECRET = "ghp" + "_" + ("a1B2c3D4e5F6g7H8i9J0" * 2)[:36]
SPEC = ToolSpec("note", "Notes something.", {"type": "object", "properties": {"text": {"type": "string"}}})


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture(params=["openai", "anthropic"])
def wire(request: pytest.FixtureRequest) -> Format:
    chosen: Format = request.param
    return chosen


def run(
    server: ModelServer,
    wire: Format,
    *,
    seconds: float = 20,
    cancelled: Callable[[], bool] = lambda: False,
    written: list[Any] | None = None,
    prompt: str = f"The key is {SECRET}.",
    max_steps: int = 10,
) -> AgentResult:
    def note(arguments: Mapping[str, Any]) -> ToolOutcome:
        (written if written is not None else []).append(arguments.get("text"))
        return ToolOutcome(f"noted {arguments.get('text')}", wrote=True)

    async def asking() -> AgentResult:
        provider = provider_of(server, wire)
        try:
            return await run_agent(
                provider,
                system="You take notes.",
                messages=[UserMessage(prompt)],
                tools=[FunctionTool(SPEC, note, restored=frozenset({"text"}))],
                limits=AgentLimits(max_steps, time.monotonic() + seconds),
                vault=Vault(),
                cancelled=cancelled,
            )
        finally:
            await provider.close()

    return asyncio.run(asking())


def test_a_conversation_with_tools_comes_to_its_end(wire: Format) -> None:
    written: list[Any] = []
    script = [
        Reply(
            text="I note.", calls=(Call("note", {"text": "één 😀"}), Call("note", {"text": "two"})), chunk=1
        ),
        Reply(text="Done.", usage=(50, 5, 10, 0)),
    ]
    with ModelServer(script) as server:
        result = run(server, wire, written=written)
        assert (result.outcome, result.text, result.steps) == ("completed", "Done.", 2)
        assert written == ["één 😀", "two"]
        assert server.requests[1].tool_results == ["noted één 😀", "noted two"]
        assert result.usage is not None
        assert result.usage.output == 25


def test_no_secret_goes_out_and_it_is_written_down_all_the_same(wire: Format) -> None:
    def answer(request: ParsedRequest) -> Reply:
        if request.tool_results:
            return Reply(text="Done.")
        token = request.user_texts[0].removeprefix("The key is ").removesuffix(".")
        return Reply(calls=(Call("note", {"text": f"key: {token}\n"}),))

    written: list[Any] = []
    with ModelServer() as server:
        server.answer = answer
        result = run(server, wire, written=written)
        assert result.outcome == "completed"
        assert written == [f"key: {SECRET}\n"]
        assert SECRET not in server.sent
        trace = str(result.trace.to_document(TraceHead("1-a", "dream")))
        assert SECRET not in trace
        assert KEY not in trace


def test_wrong_calls_are_answered_and_the_service_takes_the_conversation_on(wire: Format) -> None:
    calls = (Call("note", '{"text": "cut'), Call("burn", {}), Call("note", {"text": 4}), Call("note", {}))
    with ModelServer([Reply(calls=calls), Reply(text="Sorry.")]) as server:
        assert run(server, wire).outcome == "completed"
        told = server.requests[1].tool_results
        assert ["not JSON" in told[0], "no tool" in told[1], "must be string" in told[2]] == [True] * 3
        assert told[3] == "noted None"


def test_a_hundred_parallel_calls_without_ids_are_answered_in_order(wire: Format) -> None:
    calls = tuple(Call("note", {"text": str(number)}, id="same") for number in range(100))
    written: list[Any] = []
    with ModelServer([Reply(calls=calls), Reply(text="Done.")]) as server:
        assert run(server, wire, written=written).outcome == "completed"
        assert written == [str(number) for number in range(64)]
        told = server.requests[1].tool_results
        assert told[:64] == [f"noted {number}" for number in range(64)]
        assert all("not run" in text for text in told[64:])
        assert len(told) == 100


def test_a_loop_without_end_stops_at_its_steps(wire: Format) -> None:
    with ModelServer() as server:
        server.answer = lambda _request: Reply(calls=(Call("note", {"text": "again"}),))
        result = run(server, wire, max_steps=5)
        assert (result.outcome, result.steps, len(server.requests)) == ("step-limit", 5, 5)


@pytest.mark.parametrize("fault", ["hang", "hang-midway", "keep-alives"])
def test_a_cancel_hangs_up_at_once(wire: Format, fault: Any) -> None:
    with ModelServer([Reply(text="Once upon", fault=fault)]) as server:
        result = run(server, wire, cancelled=lambda: server.open_questions > 0)
        assert (result.outcome, result.error) == ("cancelled", None)
        server.wait_for_hang_up()


@pytest.mark.parametrize("fault", ["hang", "hang-midway", "keep-alives"])
def test_a_service_that_comes_to_no_end_meets_the_time_limit(wire: Format, fault: Any) -> None:
    with ModelServer([Reply(text="Once upon", fault=fault)] * 3) as server:
        # On a busy machine the question may not even have arrived by the first limit.
        for seconds in (0.25, 2.5, 25.0):
            assert run(server, wire, seconds=seconds).outcome == "time-limit"
            if server.requests:
                break
        server.wait_for_hang_up()


@pytest.mark.parametrize("fault", ["cut", "cut-early", "broken-json", "no-choices", "error-event"])
def test_a_service_that_breaks_down_after_work_was_done_fails_the_run_and_tells_what_was_done(
    wire: Format, fault: Any
) -> None:
    written: list[Any] = []
    script = [Reply(calls=(Call("note", {"text": "first"}),)), Reply(text="Once", fault=fault)]
    with ModelServer(script) as server:
        result = run(server, wire, written=written)
    assert (result.outcome, written, result.trace.wrote) == ("failed", ["first"], True)
    assert result.error is not None
    assert result.error.next_step
    document = result.trace.to_document(TraceHead("1-a", "dream"))
    assert document["attempts"][0]["error"] == str(result.error)
    assert document["reverie"]["outcome"] == "failed"
