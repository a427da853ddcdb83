"""Typed facts from a trace document: attempts, steps and tool calls.

A document is a dump of mux, of either generation, or Reverie's own. A field that is missing or has another
type becomes empty, never an error. Steps and attempts are numbered from 1; a call's `step` is 0 if the answer
that made it is unknown.

Pure; any thread.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from reverie.agents.reading import as_list, as_object, as_text
from reverie.values import Struct, replace

WRITER = "writer"
_QUOTE_CHARS = 400


class Call(Struct, frozen=True):
    """One tool call of a model, with its result if it was executed."""

    name: str
    id: str
    attempt: int
    """The number of the attempt, from 1."""
    step: int
    """The number of the answer that made the call, from 1; 0 if it is unknown."""
    input: Any = None
    output: Any = None
    ran: bool = False
    """Whether the call was executed."""
    problem: str = ""
    """The error in the call's result; empty if there is none."""
    broken_input: bool = False
    """Whether the call's arguments are not a JSON object."""
    started_at: int | None = None
    """The start of the call in UTC ms; None if unknown."""
    duration_ms: int | None = None


def call_text(call: Call) -> str:
    """Return a tool call in full for display: name, id, input, output and error.

    `input` and `output` of the call must be text.
    """
    lines = [f"{call.name or '?'} {call.id}".strip(), "", "input:", call.input]
    if call.ran:
        lines += ["", "output:", call.output]
    else:
        lines += ["", "The call did not run."]
    if call.problem:
        lines += ["", f"problem: {call.problem}"]
    return "\n".join(lines)


class Step(Struct, frozen=True):
    """One answer of the model, with the tool calls that it requested.

    `index`: its number in the attempt, from 1. `finish`: why it ended. Times are UTC ms, None if unknown.
    """

    attempt: int
    index: int
    text: str
    finish: str
    calls: tuple[Call, ...]
    input_tokens: int = 0
    output_tokens: int = 0
    answered_at: int | None = None
    """The time of the answer, as reported by the service."""
    started_at: int | None = None
    """The start of the step; None if the dump does not have its duration (`duration_ms`)."""
    duration_ms: int | None = None


class TraceMessage(Struct, frozen=True):
    """One message that was sent to the model; `text` is its content without the JSON around it."""

    role: str
    text: str


class Attempt(Struct, frozen=True):
    """One attempt of a run: the messages to the model, its answers, and their result."""

    index: int
    """The number of the attempt, from 1."""
    messages: tuple[TraceMessage, ...]
    steps: tuple[Step, ...]
    calls: tuple[Call, ...]
    """All tool calls of the attempt."""
    error: str
    """The error that ended the attempt; empty if there was none."""
    aborted: bool
    """Whether the attempt was cancelled or timed out."""
    wrote: bool
    """Whether memory was written, as recorded in the dump."""
    finish: str
    """The reason why the last answer ended."""
    started_at: int | None = None
    """The start of the attempt in UTC ms; None if unknown."""

    @property
    def text(self) -> str:
        """All text of the model in this attempt, without its tool calls."""
        return "\n".join(step.text for step in self.steps if step.text.strip())


class TraceFacts(Struct, frozen=True):
    """The content of a whole trace: the run, its prompt and memory, and its attempts.

    Times are UTC ms, None if unknown.
    """

    kind: str
    run_id: str
    workspace_id: str
    workspace_name: str
    project_path: str
    trigger_message_id: str
    started_at: int | None
    ended_at: int | None
    timeout_ms: int
    """The time limit of the run; 0 if unknown."""
    model: str
    outcome: str
    timed_out: bool
    wrote: bool
    """Whether a memory was written."""
    satisfied: bool | None
    """Whether a memory was written or the model said that there is nothing to write; None if not recorded."""
    system_prompt: str
    user_message: str
    existing_memory: str
    memory_path: str
    attempts: tuple[Attempt, ...]
    has_attempts: bool
    """Whether the document has a list of attempts, even an empty one."""
    input_tokens: int
    output_tokens: int

    @property
    def duration_ms(self) -> int | None:
        """The duration of the run in ms; None if the trace does not show it."""
        if self.started_at is None:
            return None
        known = [self.ended_at] if self.ended_at is not None else _known_times(self)
        return max(0, max(known) - self.started_at) if known else None


def facts_of(document: Mapping[str, Any]) -> TraceFacts:
    """Return the content of a trace document; whatever the document lacks is empty, 0, False or None."""
    ours = as_object(document.get("reverie"))
    raw = document.get("attempts")
    attempts = tuple(_attempt(item, place) for place, item in enumerate(as_list(raw), start=1))
    steps = [step for attempt in attempts for step in attempt.steps]
    usage = as_object(ours.get("usage"))
    return TraceFacts(
        kind=as_text(ours.get("kind")) or WRITER,
        run_id=as_text(ours.get("runId")),
        workspace_id=as_text(document.get("workspaceId")),
        workspace_name=as_text(document.get("workspaceName")),
        project_path=as_text(document.get("projectPath")),
        trigger_message_id=as_text(document.get("triggerMessageId")),
        started_at=whole(document.get("runStartedAt")),
        ended_at=whole(ours.get("endedAt")),
        timeout_ms=whole(document.get("timeoutMs")) or 0,
        model=as_text(document.get("modelString")),
        outcome=as_text(ours.get("outcome")),
        timed_out=document.get("timedOut") is True,
        wrote=document.get("didWriteMemory") is True,
        satisfied=_flag(document.get("satisfiedMemoryToolPolicy")),
        system_prompt=as_text(document.get("systemPrompt")),
        user_message=as_text(document.get("userMessage")),
        existing_memory=as_text(document.get("existingMemory")),
        memory_path=as_text(document.get("memoryPath")),
        attempts=attempts,
        has_attempts=isinstance(raw, list),
        input_tokens=whole(usage.get("input")) or sum(step.input_tokens for step in steps),
        output_tokens=whole(usage.get("output")) or sum(step.output_tokens for step in steps),
    )


def whole(value: Any) -> int | None:
    """Return a finite number as an integer, without its fraction; None for anything else, such as a bool."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return int(value)


def words_of(value: Any) -> str:
    """Return a value as text: a string unchanged, an error as its message, anything else as JSON.

    An error is an object with a `message`. None becomes an empty text.
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, Mapping):
        name, message = as_text(value.get("name")), as_text(value.get("message"))
        if message:
            return f"{name}: {message}" if name and name not in message else message
    return json.dumps(value, ensure_ascii=False)


def short(text: str) -> str:
    """Return `text` on one line for quoting, cut off after 400 characters."""
    line = " ".join(text.split())
    return line if len(line) <= _QUOTE_CHARS else line[:_QUOTE_CHARS].rstrip() + "…"


def _attempt(raw: Any, place: int) -> Attempt:
    item = as_object(raw)
    index = whole(item.get("attemptIndex")) or place
    steps = [
        _step(as_object(step), index, number)
        for number, step in enumerate(as_list(item.get("stepResults")), 1)
    ]
    executions = [_execution(as_object(raw_call), index) for raw_call in as_list(item.get("toolExecutions"))]
    steps, calls = _joined(steps, executions)
    return Attempt(
        index=index,
        messages=tuple(_message(as_object(message)) for message in as_list(item.get("messages"))),
        steps=tuple(steps),
        calls=tuple(calls),
        error=words_of(item.get("error")),
        aborted=item.get("aborted") is True,
        wrote=item.get("wrote") is True,
        finish=as_text(item.get("finishReason")),
        started_at=steps[0].started_at if steps else None,
    )


def _step(item: Mapping[str, Any], attempt: int, index: int) -> Step:
    usage = as_object(item.get("usage"))
    return Step(
        attempt=attempt,
        index=index,
        text=as_text(item.get("text")) or _content_text(item.get("content")),
        finish=as_text(item.get("finishReason")),
        calls=tuple(_calls(item, attempt, index)),
        input_tokens=whole(usage.get("inputTokens", usage.get("input"))) or 0,
        output_tokens=whole(usage.get("outputTokens", usage.get("output"))) or 0,
        answered_at=_moment(as_object(item.get("response")).get("timestamp")),
        started_at=whole(item.get("startedAt")),
        duration_ms=whole(item.get("durationMs")),
    )


def _calls(item: Mapping[str, Any], attempt: int, step: int) -> list[Call]:
    """Return the tool calls in `item`, a model's answer: number `step` of the attempt number `attempt`.

    In a dump of mux, they are listed in `toolCalls` or are parts of `content`.
    """
    parts = [as_object(part) for part in as_list(item.get("content"))]
    raw = [as_object(call) for call in as_list(item.get("toolCalls"))]
    known = {as_text(call.get("toolCallId")) for call in raw}
    raw += [
        part
        for part in parts
        if part.get("type") == "tool-call" and as_text(part.get("toolCallId")) not in known
    ]
    errors = {
        as_text(part.get("toolCallId")): words_of(part.get("error"))
        for part in parts
        if part.get("type") == "tool-error"
    }
    return [
        Call(
            name=as_text(call.get("toolName")),
            id=as_text(call.get("toolCallId")),
            attempt=attempt,
            step=step,
            input=call.get("input"),
            problem=words_of(call.get("error")) or errors.get(as_text(call.get("toolCallId")), ""),
            broken_input=call.get("invalid") is True or _is_broken(call.get("input")),
        )
        for call in raw
    ]


def _execution(item: Mapping[str, Any], attempt: int) -> Call:
    output = item.get("output")
    return Call(
        name=as_text(item.get("toolName")),
        id=as_text(item.get("toolCallId")),
        attempt=attempt,
        step=0,
        input=item.get("input"),
        output=output,
        ran=True,
        problem=words_of(item.get("error")) or _output_problem(output),
        broken_input=isinstance(item.get("input"), str),
        started_at=whole(item.get("startedAt")),
        duration_ms=whole(item.get("durationMs")),
    )


def _joined(steps: Sequence[Step], executions: Sequence[Call]) -> tuple[list[Step], list[Call]]:
    """Match the executed calls (`executions`) with the answers that requested them (`steps`).

    Calls are matched by id; those without an id by name, in order. Returns the steps with their calls as
    executed, and a list of all calls, of which those that were never executed come last.
    """
    asked = [call for step in steps for call in step.calls]
    taken: dict[int, Call] = {}
    calls: list[Call] = []
    for execution in executions:
        free = [place for place in range(len(asked)) if place not in taken]
        place = next((p for p in free if execution.id and asked[p].id == execution.id), None)
        if place is None and not execution.id:
            place = next((p for p in free if asked[p].name == execution.name), None)
        if place is not None:
            origin = asked[place]
            execution = replace(
                execution,
                step=origin.step,
                problem=execution.problem or origin.problem,
                broken_input=execution.broken_input or origin.broken_input,
            )
            taken[place] = execution
        calls.append(execution)
    calls += [call for place, call in enumerate(asked) if place not in taken]
    joined, place = [], 0
    for step in steps:
        own = tuple(taken.get(place + offset, call) for offset, call in enumerate(step.calls))
        place += len(step.calls)
        joined.append(replace(step, calls=own))
    return joined, calls


def _output_problem(output: Any) -> str:
    answer = as_object(output)
    if answer.get("success") is False or answer.get("isError") is True:
        return (
            words_of(answer.get("error")) or words_of(answer.get("output")) or "The service gave no reason."
        )
    return ""


def _is_broken(value: Any) -> bool:
    """Return whether `value`, the arguments of a call, is a text that is neither empty nor a JSON object."""
    if not isinstance(value, str) or not value.strip():
        return False
    try:
        return not isinstance(json.loads(value), dict)
    except (ValueError, RecursionError):
        return True


def _message(item: Mapping[str, Any]) -> TraceMessage:
    content = item.get("content")
    text = content if isinstance(content, str) else _content_text(content)
    calls = [
        f"{as_text(call.get('toolName'))} {words_of(call.get('input'))}".strip()
        for call in map(as_object, as_list(item.get("toolCalls")))
    ]
    return TraceMessage(as_text(item.get("role")), "\n".join(part for part in (text, *calls) if part))


def _content_text(content: Any) -> str:
    pieces = []
    for part in map(as_object, as_list(content)):
        kind = part.get("type")
        if kind in ("text", "reasoning"):
            pieces.append(as_text(part.get("text")))
        elif kind == "tool-result":
            pieces.append(words_of(part.get("output", part.get("result"))))
    return "\n".join(piece for piece in pieces if piece)


def _known_times(facts: TraceFacts) -> list[int]:
    found: list[int] = []
    for attempt in facts.attempts:
        found += [step.answered_at for step in attempt.steps if step.answered_at is not None]
        for call in attempt.calls:
            if call.started_at is not None:
                found.append(call.started_at + (call.duration_ms or 0))
    if facts.timed_out and facts.started_at is not None:
        found.append(facts.started_at + facts.timeout_ms)
    return found


def _moment(value: Any) -> int | None:
    if not isinstance(value, str):
        return whole(value)
    try:
        return round(datetime.fromisoformat(value).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None
