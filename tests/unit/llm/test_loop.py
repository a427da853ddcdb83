"""The agent loop: exactly one outcome, one answer for each call, limits that hold, secrets that stay."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from reverie.errors import StoreError
from reverie.llm.loop import MAX_CALLS_PER_TURN, AgentEvent, AgentLimits, AgentResult, run_agent
from reverie.llm.provider import (
    AssistantMessage,
    FinishReason,
    Message,
    ModelRequest,
    ModelTurn,
    ProviderError,
    StreamProgress,
    TokenUsage,
    ToolCall,
    ToolOutcome,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from reverie.llm.tools import FunctionTool
from reverie.llm.trace import Trace, TraceHead
from reverie.llm.vault import EXAMPLE, Vault
from reverie.text.redact import find_secrets

KEY = "sk-ant-" + "api03-" + "a1B2c3D4e5F6g7H8i9J0" * 2
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "text": {"type": "string"}, "reason": {"type": "string"}},
    "required": ["path"],
}


def call(arguments: str = '{"path": "a"}', name: str = "note", identity: str = "c") -> ToolCall:
    return ToolCall(identity, name, arguments)


def turn(
    text: str = "", *calls: ToolCall, finish: FinishReason | None = None, usage: TokenUsage | None = None
) -> ModelTurn:
    reason: FinishReason = finish or ("tool-calls" if calls else "stop")
    return ModelTurn(AssistantMessage(text, calls), reason, usage, "m-1")


Step = ModelTurn | BaseException | Callable[[], Any]


class Scripted:
    """A provider that says what it was told to, over and over when the script `repeats`."""

    name = "test:m"
    destination = ""

    def __init__(self, *steps: Step, repeats: bool = False) -> None:
        self._steps: Iterator[Step] = itertools.cycle(steps) if repeats else iter(steps)
        self.requests: list[ModelRequest] = []
        self.ended_early = 0

    async def complete(
        self, request: ModelRequest, *, progress: Callable[[StreamProgress], None] = lambda _progress: None
    ) -> ModelTurn:
        self.requests.append(request)
        step = next(self._steps)
        if isinstance(step, BaseException):
            raise step
        if isinstance(step, ModelTurn):
            progress(StreamProgress(text=step.message.text))
            for made in step.message.tool_calls[:1]:
                progress(StreamProgress(tool_name=made.name))
            return step
        try:
            await step()
        except asyncio.CancelledError:
            self.ended_early += 1
            raise
        raise AssertionError("the script went on")

    async def close(self) -> None:
        """Nothing to let go."""


async def hang() -> None:
    await asyncio.Event().wait()


class Notes:
    """A tool that writes down what it got."""

    def __init__(self, answer: Callable[[Mapping[str, Any]], ToolOutcome] | None = None) -> None:
        self.got: list[Mapping[str, Any]] = []
        self._answer = answer or (lambda arguments: ToolOutcome(f"noted {arguments['path']}", wrote=True))

    def __call__(self, arguments: Mapping[str, Any]) -> ToolOutcome:
        self.got.append(arguments)
        return self._answer(arguments)

    @property
    def tool(self) -> FunctionTool:
        spec = ToolSpec("note", "Notes something.", SCHEMA)
        return FunctionTool(spec, self, restored=frozenset({"text"}), remarks=frozenset({"reason"}))


def run(
    provider: Scripted,
    notes: Notes | None = None,
    *,
    messages: Sequence[Message] = (UserMessage("Go."),),
    seconds: float = 30,
    **more: Any,
) -> AgentResult:
    limits = {name: more.pop(name) for name in list(more) if name.startswith(("max_", "attempt_"))}
    return asyncio.run(
        run_agent(
            provider,
            system=more.pop("system", "You tidy."),
            messages=messages,
            tools=[(notes or Notes()).tool],
            limits=AgentLimits(
                **{"max_steps": 10, **limits, "deadline": time.monotonic() + seconds},
            ),
            vault=more.pop("vault", Vault()),
            **more,
        )
    )


def results(request: ModelRequest) -> list[ToolResult]:
    return [message for message in request.messages if isinstance(message, ToolResult)]


def document(result: AgentResult) -> dict[str, Any]:
    return result.trace.to_document(TraceHead("1-a", "dream"))


def test_a_run_without_calls_is_completed_with_the_models_words() -> None:
    result = run(Scripted(turn("All is tidy.", usage=TokenUsage(10, 4))))
    assert (result.outcome, result.text, result.steps) == ("completed", "All is tidy.", 1)
    assert result.usage == TokenUsage(10, 4)
    assert result.error is None


def test_calls_are_run_in_order_and_each_answered_once() -> None:
    notes = Notes()
    made = [call(f'{{"path": "{number}"}}', identity=f"c{number}") for number in range(5)]
    provider = Scripted(turn("", *made), turn("Done."))
    assert run(provider, notes).outcome == "completed"
    assert [got["path"] for got in notes.got] == ["0", "1", "2", "3", "4"]
    assert [result.call_id for result in results(provider.requests[1])] == ["c0", "c1", "c2", "c3", "c4"]
    assert isinstance(provider.requests[1].messages[1], AssistantMessage)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (call("{"), "not JSON"),
        (call("[]"), "not an object"),
        (call("{}"), "path is required"),
        (call('{"path": 1}'), "path must be string"),
        (call('{"path": "\\ud800"}'), "surrogate"),
        (call(name="burn"), "no tool 'burn'"),
        (call(name=""), "no tool ''"),
        (call('{"path": "a", "text": "{{REVERIE_SECRET_9}}"}'), "is unknown"),
        (call('{"path": "{{REVERIE_SECRET_9}}"}'), "path holds a placeholder"),
        (call('{"path": "a", "{{REVERIE_SECRET_9}}": 1}'), "holds a placeholder"),
    ],
)
def test_a_wrong_call_is_answered_as_an_error_and_the_run_goes_on(made: ToolCall, words: str) -> None:
    notes = Notes()
    provider = Scripted(turn("", made), turn("Sorry."))
    result = run(provider, notes)
    assert result.outcome == "completed"
    [answer] = results(provider.requests[1])
    assert answer.is_error
    assert words in answer.content
    assert notes.got == []
    assert not result.trace.wrote


def test_an_error_of_a_tool_that_can_be_mended_is_answered() -> None:
    def fail(_arguments: Mapping[str, Any]) -> ToolOutcome:
        raise StoreError("There is no memory a.", next_step="View the directory.")

    provider = Scripted(turn("", call()), turn("Sorry."))
    assert run(provider, Notes(fail)).outcome == "completed"
    [answer] = results(provider.requests[1])
    assert (answer.is_error, answer.content) == (True, "There is no memory a. View the directory.")


def test_a_hundred_parallel_calls_are_all_answered_and_sixty_four_run() -> None:
    notes = Notes()
    provider = Scripted(turn("", *[call(identity=f"c{number}") for number in range(100)]), turn("Done."))
    assert run(provider, notes).outcome == "completed"
    answers = results(provider.requests[1])
    assert len(answers) == 100
    assert [answer.is_error for answer in answers] == [False] * MAX_CALLS_PER_TURN + [True] * 36
    assert len(notes.got) == MAX_CALLS_PER_TURN


def test_call_ids_are_made_unique_in_the_whole_conversation() -> None:
    made = [call(identity=identity) for identity in ("c", "c", "", "bad id!", "call-1-3", "x" * 99)]
    provider = Scripted(turn("", *made), turn("", call(identity="c")), turn("Done."))
    assert run(provider).outcome == "completed"
    answered = [answer.call_id for answer in results(provider.requests[2])]
    made_ids = [
        made.id
        for message in provider.requests[2].messages
        if isinstance(message, AssistantMessage)
        for made in message.tool_calls
    ]
    assert answered == made_ids
    assert len(set(answered)) == 7
    assert answered[0] == "c"


def test_half_characters_of_a_model_are_not_carried_on() -> None:
    provider = Scripted(turn("a\ud800b", call(name="x\udc00")), turn("Done."))
    assert run(provider).outcome == "completed"
    for message in provider.requests[1].messages:
        assert "\ud800" not in repr(message).encode("unicode_escape").decode()
    said = provider.requests[1].messages[1]
    assert isinstance(said, AssistantMessage)
    assert said.text == "a\ufffdb"


def test_a_tool_loop_without_end_stops_at_its_steps() -> None:
    notes = Notes()
    result = run(Scripted(turn("", call()), repeats=True), notes, max_steps=7)
    assert (result.outcome, result.steps, len(notes.got)) == ("step-limit", 7, 7)


def test_an_attempt_has_steps_of_its_own_and_then_the_model_is_reminded() -> None:
    provider = Scripted(turn("", call()), repeats=True)
    said = iter(["Come to an end.", None])
    result = run(provider, Notes(), max_steps=20, attempt_steps=3, follow_up=lambda _text: next(said))
    assert (result.outcome, result.steps) == ("step-limit", 6)
    assert [attempt["attemptIndex"] for attempt in document(result)["attempts"]] == [1, 2]


def test_output_is_limited_as_the_provider_counts_it() -> None:
    provider = Scripted(turn("", call(), usage=TokenUsage(1, 40)), repeats=True)
    result = run(provider, max_output_tokens=50, max_total_output_tokens=100)
    assert (result.outcome, result.steps) == ("output-limit", 3)
    assert [request.max_output_tokens for request in provider.requests] == [50, 50, 20]


def test_output_is_estimated_where_nobody_counts_it() -> None:
    result = run(Scripted(turn("word " * 80, call()), repeats=True), max_total_output_tokens=250)
    assert (result.outcome, result.steps, result.usage) == ("output-limit", 3, None)


@pytest.mark.parametrize("counted", [0, 1, -(10**30)])
def test_a_service_that_lies_about_its_output_cannot_flood(counted: int) -> None:
    said = turn("word " * 8000, call(), usage=TokenUsage(1, counted))
    result = run(Scripted(said, repeats=True), max_steps=100, max_total_output_tokens=20_000)
    assert (result.outcome, result.steps) == ("output-limit", 2 if counted < 1 else 16)


def test_counts_that_nobody_could_have_reached_are_cut() -> None:
    result = run(Scripted(turn("Done.", usage=TokenUsage(10**30, -5))))
    assert result.usage == TokenUsage(10**12, 0)
    assert document(result)["reverie"]["usage"]["input"] == 10**12


def test_an_answer_cut_at_its_length_is_no_complete_one() -> None:
    assert run(Scripted(turn("I wanted to", finish="length"))).outcome == "output-limit"


def test_a_call_cut_at_its_length_is_answered_with_what_to_do() -> None:
    provider = Scripted(turn("", call('{"path": "a'), finish="length"), turn("Done."))
    assert run(provider).outcome == "completed"
    assert "smaller pieces" in results(provider.requests[1])[0].content


def test_a_withheld_answer_is_a_failure_that_says_what_to_do() -> None:
    result = run(Scripted(turn("", finish="content-filter")))
    assert result.outcome == "failed"
    assert result.error is not None
    assert result.error.next_step


def test_a_fault_of_the_provider_is_the_outcome_and_is_not_raised() -> None:
    fault = ProviderError("rate-limit", "Too many requests.", next_step="Wait.")
    result = run(Scripted(turn("", call()), fault))
    assert (result.outcome, result.error, result.steps) == ("failed", fault, 2)
    assert document(result)["attempts"][0]["error"] == "Too many requests. Wait."
    assert result.trace.wrote


def test_the_deadline_ends_a_hanging_request() -> None:
    provider = Scripted(hang)
    result = run(provider, seconds=0.05)
    assert (result.outcome, provider.ended_early) == ("time-limit", 1)
    made = document(result)
    assert made["timedOut"]
    assert made["attempts"][0]["error"] == "AbortError (timeout)"


def test_a_timeout_of_the_provider_at_the_deadline_is_the_time_limit() -> None:
    async def until_the_deadline() -> None:
        await asyncio.sleep(0.02)
        raise ProviderError("timeout", "No answer in time.")

    provider = Scripted(until_the_deadline)
    limits = AgentLimits(3, time.monotonic())
    result = asyncio.run(run_agent(provider, system="", messages=(), tools=(), limits=limits, vault=Vault()))
    assert (result.outcome, result.steps) == ("time-limit", 0)
    early = Scripted(ProviderError("timeout", "No byte for a minute."))
    assert run(early).outcome == "failed"


def test_a_wall_clock_that_jumps_moves_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    jumps = itertools.cycle([0.0, 4e9])
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    monkeypatch.setattr(time, "time_ns", lambda: int(next(jumps) * 1e9))
    assert run(Scripted(turn("", call()), turn("Done."))).outcome == "completed"


def test_a_cancel_ends_a_hanging_request() -> None:
    asked = []

    def cancelled() -> bool:
        asked.append(1)
        return len(asked) > 2

    provider = Scripted(hang)
    result = run(provider, cancelled=cancelled)
    assert (result.outcome, provider.ended_early) == ("cancelled", 1)
    assert document(result)["attempts"][0]["aborted"]
    assert document(result)["attempts"][0]["error"] == "AbortError"


@pytest.mark.parametrize("after", range(12))
def test_a_cancel_at_any_look_ends_in_one_outcome_with_every_call_answered(after: int) -> None:
    looks = itertools.count()
    events: list[AgentEvent] = []
    notes = Notes()
    provider = Scripted(turn("", call(identity="a"), call(identity="b")), turn("", call()), turn("Done."))
    result = run(provider, notes, cancelled=lambda: next(looks) >= after, observer=events.append)
    assert result.outcome in ("cancelled", "completed")
    for step in document(result)["attempts"][0]["stepResults"]:
        assert [made["toolCallId"] for made in step["toolCalls"]] == [
            answer["toolCallId"] for answer in step["toolResults"]
        ]
    not_run = [event for event in events if event.kind == "tool" and event.is_error]
    assert all("not run" in event.text for event in not_run)
    assert len(notes.got) + len(not_run) == sum(event.kind == "tool" for event in events)


def test_a_request_that_holds_on_to_its_connection_keeps_nobody_waiting() -> None:
    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(3):
                await asyncio.sleep(0.06)

    looks = itertools.count()
    result = run(Scripted(stubborn), cancelled=lambda: next(looks) > 1)
    assert result.outcome == "cancelled"


def test_a_cancelled_task_ends_the_request_and_is_told_in_the_trace() -> None:
    provider = Scripted(hang)
    trace = Trace(str)

    async def scenario() -> None:
        limits = AgentLimits(3, time.monotonic() + 30)
        task = asyncio.ensure_future(
            run_agent(
                provider,
                system="",
                messages=(),
                tools=(),
                limits=limits,
                vault=Vault(),
                trace=trace,
            )
        )
        while not provider.requests:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    assert (provider.ended_early, trace.outcome) == (1, "cancelled")


def test_a_bug_of_a_tool_is_raised_after_the_trace_is_complete() -> None:
    def break_down(_arguments: Mapping[str, Any]) -> ToolOutcome:
        raise ZeroDivisionError(f"with {KEY}")

    trace = Trace(str)
    with pytest.raises(ZeroDivisionError):
        run(Scripted(turn("", call())), Notes(break_down), trace=trace)
    made = trace.to_document(TraceHead("1-a", "dream"))
    assert made["reverie"]["outcome"] == "failed"
    assert made["attempts"][0]["error"] == "ZeroDivisionError"


@pytest.mark.parametrize("where", ["provider", "observer", "cancelled", "follow_up"])
def test_a_bug_anywhere_is_raised_and_leaves_no_request_behind(where: str) -> None:
    def break_down(*_arguments: Any) -> Any:
        raise ZeroDivisionError

    trace = Trace(str)
    provider = Scripted(ZeroDivisionError()) if where == "provider" else Scripted(turn("Hi."))
    more = {} if where == "provider" else {where: break_down}
    with pytest.raises(ZeroDivisionError):
        run(provider, trace=trace, **more)
    assert trace.outcome == "failed"


def test_a_bug_in_a_request_given_up_is_logged(expect_log: Any) -> None:
    expect_log("cancelled model request failed with ZeroDivisionError")

    async def breaks_when_cancelled() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise ZeroDivisionError

    looks = itertools.count()
    result = run(Scripted(breaks_when_cancelled), cancelled=lambda: next(looks) > 1)
    assert result.outcome == "cancelled"


def test_a_follow_up_is_a_new_attempt_until_there_is_none() -> None:
    reminders = iter([f"Remember {KEY}.", None])
    provider = Scripted(turn("Nothing to do."), turn("", call()), turn("Now I am done."))
    result = run(provider, follow_up=lambda _text: next(reminders))
    assert (result.outcome, result.text, result.steps) == ("completed", "Now I am done.", 3)
    attempts = document(result)["attempts"]
    assert [attempt["attemptIndex"] for attempt in attempts] == [1, 2]
    assert [attempt["wrote"] for attempt in attempts] == [False, True]
    assert attempts[1]["messages"][:-2] == attempts[0]["messages"]
    assert KEY not in str(provider.requests)


def test_no_secret_leaves_and_every_secret_is_restored_in_what_is_written() -> None:
    vault = Vault()
    token = vault.hide(KEY)
    events: list[AgentEvent] = []
    notes = Notes(lambda arguments: ToolOutcome(f"stored {arguments['text']}"))
    arguments = f'{{"path": "a", "text": "key {token}\\n", "reason": "keeps {token}"}}'
    provider = Scripted(turn(f"I write {token} and {KEY}", call(arguments)), turn(f"Kept {token}."))
    result = run(
        provider,
        notes,
        vault=vault,
        system=f"Old: {KEY}",
        messages=[UserMessage(f"New: {KEY}"), AssistantMessage(f"Seen {KEY}"), UserMessage("Go.")],
        observer=events.append,
    )
    assert notes.got == [{"path": "a", "text": f"key {KEY}\n", "reason": f"keeps {token}"}]
    assert results(provider.requests[1])[0].content == f"stored key {token}\n"
    first = provider.requests[0]
    assert KEY not in first.system + str(first.messages)
    assert result.text == f"Kept {token}."
    assert KEY not in str(document(result))
    assert not find_secrets(str(document(result)))
    assert KEY not in str([event for event in events if event.kind in ("turn", "tool")])


def test_instructions_may_explain_placeholders_and_the_example_is_never_written_down() -> None:
    notes = Notes()
    provider = Scripted(turn("", call(f'{{"path": "a", "text": "{EXAMPLE}"}}')), turn("Sorry."))
    run(provider, notes, system=f"Tokens such as {EXAMPLE} stand for secrets, {KEY} for one.")
    assert provider.requests[0].system.startswith(f"Tokens such as {EXAMPLE} stand for secrets, {{{{")
    assert KEY not in provider.requests[0].system
    assert notes.got == []


def test_observers_see_what_happens_in_order() -> None:
    events: list[AgentEvent] = []
    provider = Scripted(turn("Hm.", call(), usage=TokenUsage(5, 2)), turn("Done.", usage=TokenUsage(5, 1)))
    run(provider, observer=events.append)
    assert [event.kind for event in events] == ["text", "tool-begins", "turn", "tool", "text", "turn"]
    assert events[3].arguments == {"path": "a"}
    assert events[5].usage == TokenUsage(10, 3)


def test_a_run_that_is_cancelled_already_asks_nothing() -> None:
    provider = Scripted(turn("Hi."))
    result = run(provider, cancelled=lambda: True)
    assert (result.outcome, result.steps, provider.requests) == ("cancelled", 0, [])
