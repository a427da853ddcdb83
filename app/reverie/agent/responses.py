"""The OpenAI Responses format, as OpenAI and the servers that Codex is set up for speak it.

Nothing is stored by the service (`store` is false), so each question carries the conversation. What a model
thought is not sent back. An answer is whole once `response.completed` or `response.incomplete` has come; its
items are taken as they are done, or from the final response where a server sends no items before.

Pure, except that the reader reports progress.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reverie.agent.faults import Malformed, Refusal
from reverie.agent.messages import (
    AssistantMessage,
    FinishReason,
    Message,
    TokenUsage,
    ToolCall,
    ToolResult,
    Turn,
)
from reverie.agent.provider import ModelRequest, StreamProgress
from reverie.agent.sse import Event
from reverie.agent.transport import Reader, json_object
from reverie.agent.wire import (
    Progress,
    arguments_object,
    capped,
    count_of,
    mapping_of,
    safe_name,
    sound,
    text_of,
)

_NO_SCHEMA = "no-answer-schema"
_NO_LIMIT = "no-limit"
_NO_STORE = "no-store"
_ENDS = ("response.completed", "response.incomplete", "response.done")
_ERROR_STATUS = {
    "insufficient_quota": 402,
    "invalid_prompt": 400,
    "invalid_request_error": 400,
    "context_length_exceeded": 413,
    "rate_limit_exceeded": 429,
    "model_not_found": 404,
    "invalid_api_key": 401,
}


@dataclass(frozen=True, slots=True)
class ResponsesWire:
    """Implements `agent.wire.Wire`."""

    path: str = "/responses"
    models_path: str = "/models"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"} if key else {}

    def body(self, model: str, request: ModelRequest, changes: frozenset[str]) -> dict[str, Any]:
        tools = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": False,
            }
            for tool in request.tools
        ]
        limit = {"max_output_tokens": capped(request.max_output_tokens, changes)}
        return {
            "model": model,
            **({"instructions": request.system} if request.system else {}),
            "input": [item for message in request.messages for item in _items(message)],
            "stream": True,
            **({} if _NO_STORE in changes else {"store": False}),
            **({} if _NO_LIMIT in changes else limit),
            **({"tools": tools} if tools else {}),
            **({} if _NO_SCHEMA in changes else _answer_format(request)),
        }

    def reader(self, model: str, progress: Progress) -> Reader:
        return ResponseReader(model, progress)

    def adapt(self, status: int, words: str) -> str | None:
        if status not in {400, 422}:
            return None
        if "max_output_tokens" in words:
            return _NO_LIMIT
        if "json_schema" in words or "text.format" in words:
            return _NO_SCHEMA
        return _NO_STORE if "'store'" in words or '"store"' in words else None


class ResponseReader:
    """Events in, a `Turn` out."""

    def __init__(self, model: str, progress: Progress) -> None:
        self._model = model
        self._progress = progress
        self._items: dict[int, Mapping[str, Any]] = {}
        self._streamed: dict[int, list[str]] = {}
        self._response: Mapping[str, Any] = {}
        self._answered = False
        self.handed_on = False
        self.ended = False

    @property
    def complete(self) -> bool:
        return self.ended

    def feed(self, event: Event) -> None:
        data = event.data.strip()
        if data == "[DONE]":
            self.ended = self.ended or self._answered
        if not data or data == "[DONE]":
            return
        said = json_object(data)
        kind = text_of(said.get("type")) or event.name
        if kind == "error":
            raise _refusal(said.get("error") or said)
        if kind == "response.failed":
            raise _refusal(mapping_of(said.get("response")).get("error"))
        index = said.get("output_index")
        number = index if isinstance(index, int) else 0
        if kind in ("response.output_text.delta", "response.refusal.delta"):
            self._text(number, text_of(said.get("delta")))
        elif kind == "response.output_item.added":
            item = mapping_of(said.get("item"))
            if item.get("type") == "function_call" and text_of(item.get("name")):
                self.handed_on = True
                self._progress(StreamProgress(tool_name=sound(text_of(item.get("name")))))
        elif kind == "response.output_item.done":
            self._answered = True
            self._items[number] = mapping_of(said.get("item"))
        elif kind in _ENDS:
            self.whole(mapping_of(said.get("response")))

    def whole(self, document: Mapping[str, Any]) -> None:
        if document.get("error"):
            raise _refusal(document["error"])
        self._response = document
        self._model = text_of(document.get("model")) or self._model
        output = document.get("output")
        if isinstance(output, list):
            self._answered = True
            if not self._items:
                self._items = {number: mapping_of(item) for number, item in enumerate(output)}
        self.ended = True

    def turn(self) -> Turn:
        if not self._answered and not self._streamed:
            raise Malformed("sent an answer without any output")
        texts: list[str] = []
        calls: list[ToolCall] = []
        for number in sorted(self._items.keys() | self._streamed.keys()):
            item = self._items.get(number, {})
            if item.get("type") == "function_call":
                arguments = item.get("arguments")
                given = json.dumps(arguments) if isinstance(arguments, dict) else text_of(arguments)
                call_id = text_of(item.get("call_id")) or text_of(item.get("id")) or f"call_{len(calls) + 1}"
                calls.append(ToolCall(call_id, sound(text_of(item.get("name"))).strip(), sound(given)))
            elif item.get("type", "message") == "message":
                # What a person has seen arrive is what counts, if a server repeats it in other words.
                texts.append("".join(self._streamed.get(number, ())) or "".join(_said(item)))
        message = AssistantMessage(sound("".join(texts)), tuple(calls))
        return Turn(message, self._finish(bool(calls)), _usage(self._response), self._model)

    def _finish(self, calls: bool) -> FinishReason:
        if self._response.get("status") == "incomplete":
            reason = mapping_of(self._response.get("incomplete_details")).get("reason")
            known: Mapping[Any, FinishReason] = {
                "max_output_tokens": "length",
                "content_filter": "content-filter",
            }
            return known.get(reason, "other")
        return "tool-calls" if calls else "stop"

    def _text(self, number: int, text: str) -> None:
        if text:
            self._answered = self.handed_on = True
            self._streamed.setdefault(number, []).append(text)
            self._progress(StreamProgress(text=sound(text)))


def _said(item: Mapping[str, Any]) -> Iterator[str]:
    content = item.get("content")
    for part in content if isinstance(content, list) else []:
        yield text_of(mapping_of(part).get("text")) or text_of(mapping_of(part).get("refusal"))


def _items(message: Message) -> Iterator[dict[str, Any]]:
    if isinstance(message, ToolResult):
        call_id = safe_name(message.call_id, "call")
        yield {"type": "function_call_output", "call_id": call_id, "output": message.content}
    elif isinstance(message, AssistantMessage):
        if message.text:
            content = [{"type": "output_text", "text": message.text}]
            yield {"type": "message", "role": "assistant", "content": content}
        for call in message.tool_calls:
            yield {
                "type": "function_call",
                "call_id": safe_name(call.id, "call"),
                "name": safe_name(call.name, "unknown"),
                "arguments": json.dumps(arguments_object(call), ensure_ascii=False),
            }
    else:
        content = [{"type": "input_text", "text": message.text}]
        yield {"type": "message", "role": "user", "content": content}


def _answer_format(request: ModelRequest) -> dict[str, Any]:
    if request.answer_schema is None:
        return {}
    form = {"type": "json_schema", "name": "answer", "strict": True, "schema": request.answer_schema}
    return {"text": {"format": form}}


def _usage(response: Mapping[str, Any]) -> TokenUsage | None:
    counts = mapping_of(response.get("usage"))
    given, made = count_of(counts, "input_tokens"), count_of(counts, "output_tokens")
    if not given and not made:
        return None
    cached = count_of(mapping_of(counts.get("input_tokens_details")), "cached_tokens")
    thought = count_of(mapping_of(counts.get("output_tokens_details")), "reasoning_tokens")
    return TokenUsage(input=given, output=made, cached_input=min(cached, given), reasoning=min(thought, made))


def _refusal(error: Any) -> Refusal:
    """An error inside a stream; without a better word it is the server's."""
    if not isinstance(error, dict):
        return Refusal(500, "", text_of(error))
    kinds = [text_of(error.get("code")), text_of(error.get("type"))]
    status = error.get("code")
    if not isinstance(status, int) or not 400 <= status < 600:
        status = next((_ERROR_STATUS[kind] for kind in kinds if kind in _ERROR_STATUS), 500)
    return Refusal(status, " ".join(kinds).strip(), text_of(error.get("message")))
