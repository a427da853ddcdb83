"""The Anthropic Messages format.

Answers are read tolerantly, but an answer without any message is malformed. Pure, except that the reader
reports progress.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from reverie.agents.reading import as_list, as_object, as_text
from reverie.llm.provider import (
    AssistantMessage,
    FinishReason,
    Message,
    ModelRequest,
    ModelTurn,
    TokenUsage,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from reverie.llm.service_errors import Malformed, ServiceRefusal
from reverie.llm.wire import (
    Progress,
    ReplyReader,
    ServerEvent,
    arguments_object,
    cap_named,
    capped,
    count_of,
    finish_of,
    json_object,
    safe_name,
    sanitise,
)
from reverie.values import Struct

_VERSION = "2023-06-01"
_CACHED = {"cache_control": {"type": "ephemeral"}}
_MESSAGE_FINISH: Mapping[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool-calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content-filter",
}
_MESSAGE_ERRORS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class AnthropicWire(Struct, frozen=True):
    """The Anthropic Messages format (a `Wire`).

    The unchanging part of the prompt (tools, system) and the conversation so far are marked for the service's
    cache, because the agent loop sends the same text again with every step. Thinking blocks are sent back
    unchanged, including the signature.
    """

    path: str = "/v1/messages"
    models_path: str = "/v1/models"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"anthropic-version": _VERSION, **({"x-api-key": key} if key else {})}

    def body(self, model: str, request: ModelRequest, changes: frozenset[str]) -> dict[str, Any]:
        tools = [_message_tool(tool) for tool in request.tools]
        if tools:
            tools[-1] |= _CACHED
        system = [{"type": "text", "text": request.system, **_CACHED}] if request.system else []
        return {
            "model": model,
            "max_tokens": capped(request.max_output_tokens, changes),
            "stream": True,
            "messages": _conversation(request.messages),
            **({"system": system} if system else {}),
            **({"tools": tools} if tools else {}),
        }

    def reader(self, model: str, progress: Progress) -> ReplyReader:
        return MessageReader(model, progress)

    def adapt(self, status: int, words: str) -> str | None:
        return cap_named(words) if status == 400 else None


class MessageReader(ReplyReader):
    """A builder of a `ModelTurn` from the events of a message in the Anthropic format.

    An answer is complete after its stop reason or `message_stop`.
    """

    def __init__(self, model: str, progress: Progress) -> None:
        super().__init__(model, progress)
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[tuple[int, str], list[str]] = {}
        self._counts: dict[str, Any] = {}
        self._stop: str | None = None
        self._started = False

    @property
    def complete(self) -> bool:
        return self._stop is not None or self.ended

    def feed(self, event: ServerEvent) -> None:
        if not event.data.strip():
            return
        said = json_object(event.data)
        kind = said.get("type") or event.name
        if kind == "error":
            raise _message_refusal(as_object(said.get("error")))
        if kind == "message_start":
            self._start(as_object(said.get("message")))
        elif kind == "content_block_start":
            self._open(_index(said), as_object(said.get("content_block")), streamed=True)
        elif kind == "content_block_delta":
            self._delta(_index(said), as_object(said.get("delta")))
        elif kind == "message_delta":
            self._stop = as_text(as_object(said.get("delta")).get("stop_reason")) or self._stop
            self._count(as_object(said.get("usage")))
        elif kind == "message_stop":
            self.ended = True

    def whole(self, document: Mapping[str, Any]) -> None:
        if document.get("type") == "error":
            raise _message_refusal(as_object(document.get("error")))
        if document.get("type") == "message":
            self._start(document)
        for index, block in enumerate(as_list(document.get("content"))):
            self._open(index, as_object(block), streamed=False)
        self._stop = as_text(document.get("stop_reason")) or None
        self.ended = True

    def turn(self) -> ModelTurn:
        if not self._started:
            raise Malformed("sent a response without a message")
        text, calls, thinking = [], [], []
        for index, block in sorted(self._blocks.items()):
            kind = block.get("type")
            if kind == "text":
                text.append(self._joined(index, "text"))
            elif kind == "tool_use":
                call = ToolCall(as_text(block.get("id")), as_text(block.get("name")), self._arguments(index))
                calls.append(call)
            elif kind == "thinking":
                parts = {key: self._joined(index, key) for key in ("thinking", "signature")}
                thinking.append({"type": "thinking", **parts})
            elif kind == "redacted_thinking":
                thinking.append(dict(block))
        finish = finish_of(_MESSAGE_FINISH.get(self._stop, "other") if self._stop else "stop", calls)
        extra = {"anthropic": {"thinking": thinking}} if thinking else {}
        return ModelTurn(
            AssistantMessage("".join(text), tuple(calls), extra), finish, self._usage(), self._model
        )

    def _start(self, message: Mapping[str, Any]) -> None:
        self._started = True
        self._model = as_text(message.get("model")) or self._model
        self._count(as_object(message.get("usage")))

    def _open(self, index: int, block: Mapping[str, Any], *, streamed: bool) -> None:
        self._blocks[index] = dict(block)
        for key in ("text", "thinking", "signature"):
            self._add(index, key, block.get(key), streamed=streamed)
        if block.get("type") == "tool_use":
            if block.get("input"):
                self._add(index, "partial_json", json.dumps(block["input"]), streamed=streamed)
            if streamed:
                self._show(tool_name=as_text(block.get("name")))

    def _delta(self, index: int, delta: Mapping[str, Any]) -> None:
        for key in ("text", "thinking", "signature", "partial_json"):
            self._add(index, key, delta.get(key), streamed=True)

    def _add(self, index: int, key: str, value: Any, *, streamed: bool) -> None:
        piece = as_text(value)
        if not piece:
            return
        self._pieces.setdefault((index, key), []).append(piece)
        if key == "text" and streamed:
            self._show(text=piece)

    def _joined(self, index: int, key: str) -> str:
        return sanitise("".join(self._pieces.get((index, key), [])))

    def _arguments(self, index: int) -> str:
        return self._joined(index, "partial_json") or "{}"

    def _count(self, counts: Mapping[str, Any]) -> None:
        # Counts of later events are totals; null means not counted again.
        self._counts.update({key: value for key, value in counts.items() if value is not None})

    def _usage(self) -> TokenUsage | None:
        fresh, made = count_of(self._counts, "input_tokens"), count_of(self._counts, "output_tokens")
        cached = count_of(self._counts, "cache_read_input_tokens")
        written = count_of(self._counts, "cache_creation_input_tokens")
        if not (fresh or made or cached or written):
            return None
        return TokenUsage(fresh + cached + written, made, cached, written)


def _index(said: Mapping[str, Any]) -> int:
    index = said.get("index")
    return index if isinstance(index, int) else 0


def _message_refusal(error: Mapping[str, Any]) -> ServiceRefusal:
    kind = as_text(error.get("type"))
    return ServiceRefusal(_MESSAGE_ERRORS.get(kind, 500), kind, as_text(error.get("message")))


def _message_tool(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _conversation(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the messages in the Anthropic format, as alternating turns of user and assistant.

    Tool results and the user's text after them are one message.
    """
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if isinstance(message, AssistantMessage) else "user"
        blocks = _message_blocks(message)
        if not blocks:
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    if turns and turns[-1]["role"] == "user":
        turns[-1]["content"][-1] |= _CACHED
    return turns


def _message_blocks(message: Message) -> list[dict[str, Any]]:
    if isinstance(message, ToolResult):
        return [
            {
                "type": "tool_result",
                "tool_use_id": safe_name(message.call_id, "call"),
                "content": message.content,
                **({"is_error": True} if message.is_error else {}),
            }
        ]
    # The service refuses blocks of text that are empty or blank.
    text = [{"type": "text", "text": message.text}] if message.text.strip() else []
    if not isinstance(message, AssistantMessage):
        return text
    calls = [
        {
            "type": "tool_use",
            "id": safe_name(call.id, "call"),
            "name": safe_name(call.name, "unknown"),
            "input": arguments_object(call),
        }
        for call in message.tool_calls
    ]
    thinking = as_object(message.extra.get("anthropic")).get("thinking", [])
    return [*thinking, *text, *calls]
