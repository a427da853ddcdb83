"""OpenAI's Responses format.

Answers are read tolerantly, but an answer without any output is malformed. Pure, except that the reader
reports progress.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
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
)
from reverie.llm.service_errors import Malformed
from reverie.llm.wire import (
    Progress,
    ReplyReader,
    ServerEvent,
    arguments_object,
    capped,
    count_of,
    finish_of,
    json_object,
    safe_name,
    sanitise,
    text_or_json,
)
from reverie.llm.wire_chat import NO_SCHEMA, BearerWire, stream_refusal

_NO_LIMIT = "no-limit"
_NO_STORE = "no-store"
_ENDS = ("response.completed", "response.incomplete", "response.done")


class ResponsesWire(BearerWire, frozen=True):
    """OpenAI's Responses format (a `Wire`).

    The service is asked to store nothing (`store` is false), so each request contains the whole conversation;
    reasoning is not sent back.
    """

    path: str = "/responses"

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
            "input": [item for message in request.messages for item in _responses_items(message)],
            "stream": True,
            **({} if _NO_STORE in changes else {"store": False}),
            **({} if _NO_LIMIT in changes else limit),
            **({"tools": tools} if tools else {}),
            **({} if NO_SCHEMA in changes else _responses_answer_format(request)),
        }

    def reader(self, model: str, progress: Progress) -> ReplyReader:
        return ResponseReader(model, progress)

    def adapt(self, status: int, words: str) -> str | None:
        if status not in {400, 422}:
            return None
        if "max_output_tokens" in words:
            return _NO_LIMIT
        if "json_schema" in words or "text.format" in words:
            return NO_SCHEMA
        return _NO_STORE if "'store'" in words or '"store"' in words else None


class ResponseReader(ReplyReader):
    """A builder of a `ModelTurn` from the events of a response in the Responses format.

    An answer is complete after `response.completed` or `response.incomplete`. Its items are read when each is
    done, or from the final response if the server sends none before.
    """

    def __init__(self, model: str, progress: Progress) -> None:
        super().__init__(model, progress)
        self._items: dict[int, Mapping[str, Any]] = {}
        self._streamed: dict[int, list[str]] = {}
        self._response: Mapping[str, Any] = {}
        self._answered = False

    @property
    def complete(self) -> bool:
        return self.ended

    def feed(self, event: ServerEvent) -> None:
        data = event.data.strip()
        if data == "[DONE]":
            self.ended = self.ended or self._answered
        if not data or data == "[DONE]":
            return
        document = json_object(data)
        kind = as_text(document.get("type")) or event.name
        if kind == "error":
            raise stream_refusal(document.get("error") or document)
        if kind == "response.failed":
            raise stream_refusal(as_object(document.get("response")).get("error"))
        index = document.get("output_index")
        number = index if isinstance(index, int) else 0
        if kind in ("response.output_text.delta", "response.refusal.delta"):
            self._text(number, as_text(document.get("delta")))
        elif kind == "response.output_item.added":
            item = as_object(document.get("item"))
            if item.get("type") == "function_call" and as_text(item.get("name")):
                self._show(tool_name=as_text(item.get("name")))
        elif kind == "response.output_item.done":
            self._answered = True
            self._items[number] = as_object(document.get("item"))
        elif kind in _ENDS:
            self.whole(as_object(document.get("response")))

    def whole(self, document: Mapping[str, Any]) -> None:
        if document.get("error"):
            raise stream_refusal(document["error"])
        self._response = document
        self._model = as_text(document.get("model")) or self._model
        output = document.get("output")
        if isinstance(output, list):
            self._answered = True
            if not self._items:
                self._items = {number: as_object(item) for number, item in enumerate(output)}
        self.ended = True

    def turn(self) -> ModelTurn:
        if not self._answered and not self._streamed:
            raise Malformed("sent a response without output")
        texts: list[str] = []
        calls: list[ToolCall] = []
        for number in sorted(self._items.keys() | self._streamed.keys()):
            item = self._items.get(number, {})
            if item.get("type") == "function_call":
                given = text_or_json(item.get("arguments"))
                call_id = as_text(item.get("call_id")) or as_text(item.get("id")) or f"call_{len(calls) + 1}"
                calls.append(ToolCall(call_id, sanitise(as_text(item.get("name"))).strip(), sanitise(given)))
            elif item.get("type", "message") == "message":
                # If a server repeats the text differently, the streamed text counts, as people have seen it.
                texts.append("".join(self._streamed.get(number, ())) or "".join(_output_texts(item)))
        message = AssistantMessage(sanitise("".join(texts)), tuple(calls))
        finish = finish_of(self._finish(), calls)
        return ModelTurn(message, finish, _responses_usage(self._response), self._model)

    def _finish(self) -> FinishReason:
        if self._response.get("status") == "incomplete":
            reason = as_object(self._response.get("incomplete_details")).get("reason")
            known: Mapping[Any, FinishReason] = {
                "max_output_tokens": "length",
                "content_filter": "content-filter",
            }
            return known.get(reason, "other")
        return "stop"

    def _text(self, number: int, text: str) -> None:
        if text:
            self._answered = True
            self._streamed.setdefault(number, []).append(text)
            self._show(text=text)


def _output_texts(item: Mapping[str, Any]) -> Iterator[str]:
    for part in as_list(item.get("content")):
        yield as_text(as_object(part).get("text")) or as_text(as_object(part).get("refusal"))


def _responses_items(message: Message) -> Iterator[dict[str, Any]]:
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


def _responses_answer_format(request: ModelRequest) -> dict[str, Any]:
    if request.answer_schema is None:
        return {}
    form = {"type": "json_schema", "name": "answer", "strict": True, "schema": request.answer_schema}
    return {"text": {"format": form}}


def _responses_usage(response: Mapping[str, Any]) -> TokenUsage | None:
    counts = as_object(response.get("usage"))
    given, made = count_of(counts, "input_tokens"), count_of(counts, "output_tokens")
    if not given and not made:
        return None
    cached = count_of(as_object(counts.get("input_tokens_details")), "cached_tokens")
    thought = count_of(as_object(counts.get("output_tokens_details")), "reasoning_tokens")
    return TokenUsage(input=given, output=made, cached_input=min(cached, given), reasoning=min(thought, made))
