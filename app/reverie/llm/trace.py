"""The trace of an agent run: a record of its messages, steps and tool calls, as a document for people.

A `Trace` is filled while the loop runs, so that a run that ends by a bug has one too. Field names and the
values of `error` are as in formats/mux.md section 14; facts for which mux has no field are under `reverie`
(`version` 1). Every text passes `clean` (the vault's `scrub`) when it is added and is truncated at a limit,
with a note of its length; all texts together have a limit as well. Times are UTC milliseconds by the given
clock, durations are milliseconds by the monotonic clock.

Threading: a `Trace` belongs to one loop. Failure: none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

from reverie.clock import Clock, system_clock
from reverie.errors import UserError
from reverie.llm.provider import (
    AssistantMessage,
    Message,
    ModelTurn,
    TokenUsage,
    ToolCall,
    ToolOutcome,
    ToolResult,
    UserMessage,
)
from reverie.values import Struct, as_dict, columns, field

AgentOutcome = Literal["completed", "step-limit", "time-limit", "output-limit", "cancelled", "failed"]

VERSION = 1
_TEXT_CHARS = 65_536
_TOTAL_CHARS = 8 << 20
_MARGIN_CHARS = 512
_LISTED_CALLS = 64
NO_OP_TOOL = "no_new_memories"


class TraceHead(Struct, frozen=True):
    """The data about a run that its agent loop does not know.

    `kind`: the kind of run, such as "writer". `trigger_message_id`: the message that started the run.
    `existing_memory`: the text of the memory before the run. `more`: further members for the `reverie` part
    of the trace document.
    """

    run_id: str
    kind: str
    workspace_id: str = ""
    workspace_name: str = ""
    trigger_message_id: str = ""
    timeout_ms: int = 0
    existing_memory: str = ""
    cost_usd: Decimal | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


class Trace:
    """The record of one `run_agent` call, filled while the run is in progress."""

    def __init__(
        self,
        clean: Callable[[str], str],
        *,
        clock: Clock = system_clock,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clean = clean
        self._clock = clock
        self._monotonic = monotonic
        self._room = _TOTAL_CHARS
        self._attempts: list[dict[str, Any]] = []
        self._head: dict[str, Any] = {"model": "", "system": "", "user": ""}
        self._started_at = clock()
        self._ended_at: int | None = None
        self._call_began: tuple[int, float] = (0, 0.0)
        self._step_began: tuple[int, float] = (self._started_at, monotonic())
        self.outcome: AgentOutcome | None = None
        self._usage: TokenUsage | None = None

    def begin(self, model: str, system: str, messages: Sequence[Message]) -> None:
        """Record the start of the run: the model, the instructions and the conversation so far."""
        users = [message.text for message in messages if isinstance(message, UserMessage)]
        self._head = {
            "model": model,
            "system": self._text(system),
            "user": self._text(users[-1] if users else ""),
        }
        self.attempt(messages)

    def attempt(self, messages: Sequence[Message]) -> None:
        """Record the start of an attempt, the first one or one after a reminder.

        `messages`: the conversation so far.
        """
        self._step_began = self._clock(), self._monotonic()
        self._attempts.append(
            {
                "attemptIndex": len(self._attempts) + 1,
                "messages": [self._message(message) for message in messages],
                "stepResults": [],
                "toolExecutions": [],
                "wrote": False,
                "noNewMemories": False,
                "aborted": False,
            }
        )

    def turn(self, turn: ModelTurn) -> None:
        """Record `turn`, an answer of the model, as a new step."""
        step: dict[str, Any] = {
            "text": self._text(turn.message.text),
            "toolCalls": self._calls(turn.message.tool_calls),
            "toolResults": [],
            "finishReason": turn.finish,
            "usage": _usage(turn.usage),
            "model": self._text(turn.model),
            "startedAt": self._step_began[0],
            "durationMs": round((self._monotonic() - self._step_began[1]) * 1000),
        }
        omitted = len(turn.message.tool_calls) - _LISTED_CALLS
        if omitted > 0:
            step["omittedToolCalls"] = omitted
        self._attempts[-1]["stepResults"].append(step)
        self._attempts[-1]["finishReason"] = turn.finish

    def call_begins(self) -> None:
        """Record that a tool call of the last turn starts now."""
        self._call_began = self._clock(), self._monotonic()

    def call_ends(self, call: ToolCall, arguments: Any, outcome: ToolOutcome) -> None:
        """Record the end of a tool call, with its outcome.

        `arguments`: decoded, with placeholders for secrets, or the text as received if it cannot be decoded.
        """
        attempt = self._attempts[-1]
        execution: dict[str, Any] = {
            "attemptIndex": attempt["attemptIndex"],
            "toolName": self._text(call.name),
            "toolCallId": call.id,
            "input": self._value(arguments),
            "startedAt": self._call_began[0],
            "durationMs": round((self._monotonic() - self._call_began[1]) * 1000),
        }
        success = not outcome.is_error
        execution["output"] = {
            "success": success,
            "output" if success else "error": self._text(outcome.content),
        }
        attempt["toolExecutions"].append(execution)
        attempt["wrote"] = attempt["wrote"] or outcome.wrote
        attempt["noNewMemories"] = attempt["noNewMemories"] or (success and call.name == NO_OP_TOOL)

    def result(self, result: ToolResult) -> None:
        """Record `result`, of a tool call, at the step that requested the call.

        Only the first 64 results of a step are kept.
        """
        results = self._attempts[-1]["stepResults"][-1]["toolResults"]
        if len(results) < _LISTED_CALLS:
            results.append(self._message(result))
        self._step_began = self._clock(), self._monotonic()

    def end(
        self, outcome: AgentOutcome, usage: TokenUsage | None, error: BaseException | None = None
    ) -> None:
        """Record the outcome of the run, and the `usage` of tokens (None if unknown).

        `error`: the cause of a failure; None: there was none. Of any error but a `UserError` only the type is
        recorded, because its text may contain anything.
        """
        self.outcome, self._usage, self._ended_at = outcome, usage, self._clock()
        if not self._attempts:
            self.attempt(())
        attempt = self._attempts[-1]
        if outcome in ("cancelled", "time-limit"):
            attempt["aborted"] = True
            attempt["error"] = "AbortError (timeout)" if outcome == "time-limit" else "AbortError"
        elif error is not None:
            words = str(error) if isinstance(error, UserError) else type(error).__name__
            attempt["error"] = self._text(words)

    @property
    def wrote(self) -> bool:
        return any(attempt["wrote"] for attempt in self._attempts)

    def to_document(self, head: TraceHead) -> dict[str, Any]:
        """Return the trace, with the data in `head`, as JSON data; the run need not have ended."""
        satisfied = self.wrote or any(attempt["noNewMemories"] for attempt in self._attempts)
        return {
            "schemaVersion": 1,
            "runStartedAt": self._started_at,
            **columns(head, "timeout_ms workspace_id workspace_name trigger_message_id"),
            "modelString": self._head["model"],
            "timedOut": self.outcome == "time-limit",
            "didWriteMemory": self.wrote,
            "satisfiedMemoryToolPolicy": satisfied,
            "systemPrompt": self._head["system"],
            "existingMemory": self._text(head.existing_memory),
            "userMessage": self._head["user"],
            "attempts": [dict(attempt) for attempt in self._attempts],
            "reverie": {
                **head.more,
                "version": VERSION,
                "runId": head.run_id,
                "kind": head.kind,
                "outcome": self.outcome,
                "endedAt": self._ended_at,
                "usage": _usage(self._usage),
                "costUsd": None if head.cost_usd is None else float(head.cost_usd),
            },
        }

    def _message(self, message: Message) -> dict[str, Any]:
        if isinstance(message, UserMessage):
            return {"role": "user", "content": self._text(message.text)}
        if isinstance(message, AssistantMessage):
            return {
                "role": "assistant",
                "content": self._text(message.text),
                "toolCalls": self._calls(message.tool_calls),
            }
        return {
            "role": "tool",
            "toolCallId": message.call_id,
            "toolName": self._text(message.name),
            "content": self._text(message.content),
            "isError": message.is_error,
        }

    def _calls(self, calls: Iterable[ToolCall]) -> list[dict[str, Any]]:
        listed = list(calls)[:_LISTED_CALLS]
        return [
            {
                "toolCallId": call.id,
                "toolName": self._text(call.name),
                "input": self._text(call.arguments),
            }
            for call in listed
        ]

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return {self._text(str(key)): self._value(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._value(item) for item in value]
        return value

    def _text(self, text: str) -> str:
        limit = min(_TEXT_CHARS, self._room)
        kept = self._clean(text[: limit + _MARGIN_CHARS])
        if len(text) > limit + _MARGIN_CHARS:
            # A secret that was cut in two is not recognised: drop the part that may be its first half.
            kept = kept[:-_MARGIN_CHARS]
        kept = kept[:limit]
        self._room -= len(kept)
        return f"{kept}… [{len(text):,} characters in all]" if len(text) > limit else kept


def _usage(usage: TokenUsage | None) -> dict[str, int] | None:
    return None if usage is None else as_dict(usage)
