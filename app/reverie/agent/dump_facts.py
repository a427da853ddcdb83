"""What a trace document says, typed: attempts, steps and tool calls of either generation of mux's dumps and
of our own.

Pure and tolerant: a field that is missing or of another kind is empty, never an error. Steps and attempts are
numbered from 1; a call's `step` is 0 where nothing says which answer made it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

WRITER = "writer"
_QUOTE_CHARS = 400


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call. `ran`: it was executed; `problem`: what its answer says went wrong; `broken_input`: its
    arguments are no object."""

    name: str
    id: str
    attempt: int
    step: int
    input: Any = None
    output: Any = None
    ran: bool = False
    problem: str = ""
    broken_input: bool = False
    started_at: int | None = None
    duration_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of the model. `answered_at`: when the service says it answered; `started_at` and
    `duration_ms` only where the dump measured them."""

    attempt: int
    index: int
    text: str
    finish: str
    calls: tuple[Call, ...]
    input_tokens: int = 0
    output_tokens: int = 0
    answered_at: int | None = None
    started_at: int | None = None
    duration_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One message that was sent. `text` is what a person reads of it."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """One question to a model and what came of it. `wrote`: as the dump itself says.
    `finish`: the last step's reason to end; `started_at` UTC ms, None where nothing tells."""

    index: int
    messages: tuple[Message, ...]
    steps: tuple[Step, ...]
    calls: tuple[Call, ...]
    error: str
    aborted: bool
    wrote: bool
    finish: str
    started_at: int | None = None

    @property
    def text(self) -> str:
        """Everything the model said in it."""
        return "\n".join(step.text for step in self.steps if step.text.strip())


@dataclass(frozen=True, slots=True)
class Facts:
    """A whole trace. `attempts` None: the document has none, not even an empty list."""

    kind: str
    run_id: str
    workspace_id: str
    workspace_name: str
    project_path: str
    trigger_message_id: str
    started_at: int | None
    ended_at: int | None
    timeout_ms: int
    model: str
    outcome: str
    timed_out: bool
    wrote: bool
    satisfied: bool | None
    system_prompt: str
    user_message: str
    existing_memory: str
    memory_path: str
    attempts: tuple[Attempt, ...]
    has_attempts: bool
    input_tokens: int
    output_tokens: int

    @property
    def duration_ms(self) -> int | None:
        """How long it took, as far as anything in it tells."""
        if self.started_at is None:
            return None
        known = [self.ended_at] if self.ended_at is not None else _known_times(self)
        return max(0, max(known) - self.started_at) if known else None


def facts_of(document: Mapping[str, Any]) -> Facts:
    """The facts of a document, however little it holds."""
    ours = _object(document.get("reverie"))
    raw = document.get("attempts")
    attempts = tuple(_attempt(item, place) for place, item in enumerate(_list(raw), start=1))
    steps = [step for attempt in attempts for step in attempt.steps]
    usage = _object(ours.get("usage"))
    return Facts(
        kind=_text(ours.get("kind")) or WRITER,
        run_id=_text(ours.get("runId")),
        workspace_id=_text(document.get("workspaceId")),
        workspace_name=_text(document.get("workspaceName")),
        project_path=_text(document.get("projectPath")),
        trigger_message_id=_text(document.get("triggerMessageId")),
        started_at=whole(document.get("runStartedAt")),
        ended_at=whole(ours.get("endedAt")),
        timeout_ms=whole(document.get("timeoutMs")) or 0,
        model=_text(document.get("modelString")),
        outcome=_text(ours.get("outcome")),
        timed_out=document.get("timedOut") is True,
        wrote=document.get("didWriteMemory") is True,
        satisfied=_flag(document.get("satisfiedMemoryToolPolicy")),
        system_prompt=_text(document.get("systemPrompt")),
        user_message=_text(document.get("userMessage")),
        existing_memory=_text(document.get("existingMemory")),
        memory_path=_text(document.get("memoryPath")),
        attempts=attempts,
        has_attempts=isinstance(raw, list),
        input_tokens=whole(usage.get("input")) or sum(step.input_tokens for step in steps),
        output_tokens=whole(usage.get("output")) or sum(step.output_tokens for step in steps),
    )


def whole(value: Any) -> int | None:
    """A number as a whole one; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return int(value)


def words_of(value: Any) -> str:
    """A value in words: a text as it is, an error by its message, anything else as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, Mapping):
        name, message = _text(value.get("name")), _text(value.get("message"))
        if message:
            return f"{name}: {message}" if name and name not in message else message
    return json.dumps(value, ensure_ascii=False)


def short(text: str) -> str:
    """A quotation of `text` on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _QUOTE_CHARS else line[:_QUOTE_CHARS].rstrip() + "…"


def _attempt(raw: Any, place: int) -> Attempt:
    item = _object(raw)
    index = whole(item.get("attemptIndex")) or place
    steps = [
        _step(_object(step), index, number) for number, step in enumerate(_list(item.get("stepResults")), 1)
    ]
    executions = [_execution(_object(raw_call), index) for raw_call in _list(item.get("toolExecutions"))]
    steps, calls = _joined(steps, executions)
    return Attempt(
        index=index,
        messages=tuple(_message(_object(message)) for message in _list(item.get("messages"))),
        steps=tuple(steps),
        calls=tuple(calls),
        error=words_of(item.get("error")),
        aborted=item.get("aborted") is True,
        wrote=item.get("wrote") is True,
        finish=_text(item.get("finishReason")),
        started_at=steps[0].started_at if steps else None,
    )


def _step(item: Mapping[str, Any], attempt: int, index: int) -> Step:
    usage = _object(item.get("usage"))
    return Step(
        attempt=attempt,
        index=index,
        text=_text(item.get("text")) or _content_text(item.get("content")),
        finish=_text(item.get("finishReason")),
        calls=tuple(_calls(item, attempt, index)),
        input_tokens=whole(usage.get("inputTokens", usage.get("input"))) or 0,
        output_tokens=whole(usage.get("outputTokens", usage.get("output"))) or 0,
        answered_at=_moment(_object(item.get("response")).get("timestamp")),
        started_at=whole(item.get("startedAt")),
        duration_ms=whole(item.get("durationMs")),
    )


def _calls(item: Mapping[str, Any], attempt: int, step: int) -> list[Call]:
    """The calls that an answer asked for. The SDK lists them in `toolCalls` and as parts of `content`."""
    parts = [_object(part) for part in _list(item.get("content"))]
    raw = [_object(call) for call in _list(item.get("toolCalls"))]
    known = {_text(call.get("toolCallId")) for call in raw}
    raw += [
        part
        for part in parts
        if part.get("type") == "tool-call" and _text(part.get("toolCallId")) not in known
    ]
    errors = {
        _text(part.get("toolCallId")): words_of(part.get("error"))
        for part in parts
        if part.get("type") == "tool-error"
    }
    return [
        Call(
            name=_text(call.get("toolName")),
            id=_text(call.get("toolCallId")),
            attempt=attempt,
            step=step,
            input=call.get("input"),
            problem=words_of(call.get("error")) or errors.get(_text(call.get("toolCallId")), ""),
            broken_input=call.get("invalid") is True or _is_broken(call.get("input")),
        )
        for call in raw
    ]


def _execution(item: Mapping[str, Any], attempt: int) -> Call:
    output = item.get("output")
    return Call(
        name=_text(item.get("toolName")),
        id=_text(item.get("toolCallId")),
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
    """Which answer made which call: by id, else by name in order. Calls that never ran stand last."""
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
    answer = _object(output)
    if answer.get("success") is False or answer.get("isError") is True:
        return words_of(answer.get("error")) or words_of(answer.get("output")) or "It gave no reason."
    return ""


def _is_broken(value: Any) -> bool:
    """Whether a text that should hold arguments is no JSON object."""
    if not isinstance(value, str) or not value.strip():
        return False
    try:
        return not isinstance(json.loads(value), dict)
    except (ValueError, RecursionError):
        return True


def _message(item: Mapping[str, Any]) -> Message:
    content = item.get("content")
    text = content if isinstance(content, str) else _content_text(content)
    calls = [
        f"{_text(call.get('toolName'))} {words_of(call.get('input'))}".strip()
        for call in map(_object, _list(item.get("toolCalls")))
    ]
    return Message(_text(item.get("role")), "\n".join(part for part in (text, *calls) if part))


def _content_text(content: Any) -> str:
    pieces = []
    for part in map(_object, _list(content)):
        kind = part.get("type")
        if kind in ("text", "reasoning"):
            pieces.append(_text(part.get("text")))
        elif kind == "tool-result":
            pieces.append(words_of(part.get("output", part.get("result"))))
    return "\n".join(piece for piece in pieces if piece)


def _known_times(facts: Facts) -> list[int]:
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


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
