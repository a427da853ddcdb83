"""OpenAI's chat completions format, as OpenAI and many other services use it.

Requests contain the fields that every service accepts; further fields are left out once a server refuses
them. These deviations in answers are accepted: null fields, missing ids and indexes, whole calls in one
chunk, names in pieces or repeated, a `function_call` twin, usage in a chunk without choices, no `[DONE]`.
These are errors: anything but JSON, an answer without any choice, and an end before the reason for stopping.

Pure, except that the reader reports progress.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
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
    text_or_json,
)
from reverie.values import Struct, field

_NO_USAGE = "no-stream-options"
_OTHER_LIMIT = "other-limit-name"
NO_SCHEMA = "no-answer-schema"
_FINISH: Mapping[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "tool-calls",
    "function_call": "tool-calls",
    "length": "length",
    "content_filter": "content-filter",
}
_ERROR_STATUS = {
    "insufficient_quota": 402,
    "invalid_prompt": 400,
    "invalid_request_error": 400,
    "context_length_exceeded": 413,
    "rate_limit_exceeded": 429,
    "model_not_found": 404,
    "invalid_api_key": 401,
}


class BearerWire(Struct, frozen=True):
    """The common part of OpenAI's two formats: the key is sent as a bearer token."""

    models_path: str = "/models"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"} if key else {}


class OpenAiWire(BearerWire, frozen=True):
    """The chat completions format of OpenAI (a `Wire`).

    `limit_name`: the name of the field for the maximum number of output tokens.
    """

    limit_name: str = "max_tokens"
    path: str = "/chat/completions"

    def body(self, model: str, request: ModelRequest, changes: frozenset[str]) -> dict[str, Any]:
        names = ["max_tokens", "max_completion_tokens"]
        other = names[1 - names.index(self.limit_name)]
        limit = other if _OTHER_LIMIT in changes else self.limit_name
        system = [{"role": "system", "content": request.system}] if request.system else []
        return {
            "model": model,
            "messages": system + [_chat_message(message) for message in request.messages],
            "stream": True,
            limit: capped(request.max_output_tokens, changes),
            **({} if _NO_USAGE in changes else {"stream_options": {"include_usage": True}}),
            **({"tools": [_chat_tool(tool) for tool in request.tools]} if request.tools else {}),
            **({} if NO_SCHEMA in changes else _chat_answer_format(request)),
        }

    def reader(self, model: str, progress: Progress) -> ReplyReader:
        return ChatReader(model, progress)

    def adapt(self, status: int, words: str) -> str | None:
        if status not in {400, 422}:
            return None
        if "stream_options" in words or "include_usage" in words:
            return _NO_USAGE
        if "response_format" in words or "json_schema" in words:
            return NO_SCHEMA
        if cap := cap_named(words):
            return cap
        if "max_completion_tokens" in words or "max_tokens" in words:
            return _OTHER_LIMIT
        return None


def _chat_answer_format(request: ModelRequest) -> dict[str, Any]:
    if request.answer_schema is None:
        return {}
    form = {"name": "answer", "strict": True, "schema": request.answer_schema}
    return {"response_format": {"type": "json_schema", "json_schema": form}}


class _Call(Struct):
    index: int | None
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def made(self, number: int) -> ToolCall:
        # Some servers leave a colon from their chat template next to the name.
        name = self.name.strip().strip(":")
        return ToolCall(self.id or f"call_{number}", name, sanitise("".join(self.arguments)))


class ChatReader(ReplyReader):
    """A builder of a `ModelTurn` from the chunks of a chat completion."""

    def __init__(self, model: str, progress: Progress) -> None:
        super().__init__(model, progress)
        self._text: list[str] = []
        self._calls: list[_Call] = []
        # The newest call with each index and each id, because an answer may contain thousands.
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}
        self._twin: _Call | None = None
        self._finish: str | None = None
        self._usage: TokenUsage | None = None
        self._reasoning: list[str] = []
        self._reasoning_details: list[Any] = []
        self._answered = False

    @property
    def complete(self) -> bool:
        return self._finish is not None or self.ended

    def feed(self, event: ServerEvent) -> None:
        data = event.data.strip()
        if data == "[DONE]":
            self.ended = True
        elif data:
            self._take(json_object(data), streamed=True)

    def whole(self, document: Mapping[str, Any]) -> None:
        self._take(document, streamed=False)
        self.ended = True

    def turn(self) -> ModelTurn:
        if not self._answered:
            raise Malformed("sent a response without a choice")
        if not self._calls and self._twin is not None:
            self._calls.append(self._twin)
        calls = tuple(call.made(number) for number, call in enumerate(self._calls, 1))
        finish = finish_of(_FINISH.get(self._finish or "stop", "other"), calls)
        extra: dict[str, Any] = {}
        if self._reasoning:
            extra["reasoning_content"] = sanitise("".join(self._reasoning))
        if self._reasoning_details:
            extra["reasoning_details"] = self._reasoning_details
        message = AssistantMessage(sanitise("".join(self._text)), calls, {"openai": extra} if extra else {})
        return ModelTurn(message, finish, self._usage, self._model)

    def _take(self, document: Mapping[str, Any], *, streamed: bool) -> None:
        if document.get("error"):
            raise stream_refusal(document["error"])
        self._model = as_text(document.get("model")) or self._model
        self._usage = _chat_usage(as_object(document.get("usage"))) or self._usage
        choices = as_list(document.get("choices"))
        if not choices:
            return
        choice = as_object(choices[0])
        if choice.get("error"):
            raise stream_refusal(choice["error"])
        self._answered = True
        self._delta(as_object(choice.get("delta") or choice.get("message")), streamed=streamed)
        self._finish = as_text(choice.get("finish_reason")) or self._finish

    def _delta(self, delta: Mapping[str, Any], *, streamed: bool) -> None:
        text = as_text(delta.get("content")) or as_text(delta.get("refusal"))
        if text:
            self._text.append(text)
            if streamed:
                self._show(text=text)
        if reasoning := as_text(delta.get("reasoning_content")):
            self._reasoning.append(reasoning)
        self._reasoning_details += as_list(delta.get("reasoning_details"))
        for part in as_list(delta.get("tool_calls")):
            self._call(as_object(part), streamed=streamed)
        twin = as_object(delta.get("function_call"))
        if twin:
            self._twin = self._twin or _Call(None)
            _grow(self._twin, twin)

    def _call(self, part: Mapping[str, Any], *, streamed: bool) -> None:
        function = as_object(part.get("function"))
        call = self._meant(part, function)
        named = bool(call.name)
        call.id = call.id or as_text(part.get("id"))
        self._by_id[call.id] = call
        _grow(call, function)
        if call.name and not named and streamed:
            self._show(tool_name=call.name)

    def _meant(self, part: Mapping[str, Any], function: Mapping[str, Any]) -> _Call:
        """Return the tool call to which a piece of the answer belongs, found by its index or id.

        `part`: the piece; `function`: the value of its member `function`. If neither index nor id is known, a
        piece with a tool name starts a new call, and any other piece belongs to the last call.
        """
        index, identity = part.get("index"), as_text(part.get("id"))
        number = index if isinstance(index, int) else None
        name = as_text(function.get("name"))
        same = None if number is None else self._by_index.get(number)
        # Some servers give every call of a turn the index 0, whole and with an id of its own.
        if same is not None and not (identity and same.id and identity != same.id and name):
            return same
        named = self._by_id.get(identity) if identity else None
        if named is not None and (number is None or named.index in (None, number)):
            return named
        if self._calls and number is None and not identity and not name:
            return self._calls[-1]
        call = _Call(number)
        self._calls.append(call)
        if number is not None:
            self._by_index[number] = call
        return call


def _grow(call: _Call, function: Mapping[str, Any]) -> None:
    name = as_text(function.get("name"))
    # A name arrives whole, in pieces, or repeated with every piece of the arguments.
    if name != call.name:
        call.name += name
    call.arguments.append(text_or_json(function.get("arguments")))


def _chat_usage(counts: Mapping[str, Any]) -> TokenUsage | None:
    given, made = count_of(counts, "prompt_tokens"), count_of(counts, "completion_tokens")
    if not given and not made:
        return None
    before = as_object(counts.get("prompt_tokens_details"))
    after = as_object(counts.get("completion_tokens_details"))
    cached = count_of(before, "cached_tokens") or count_of(counts, "prompt_cache_hit_tokens")
    cached = min(cached, given)
    return TokenUsage(
        input=given,
        output=made,
        cached_input=cached,
        cache_write=min(count_of(before, "cache_write_tokens"), given - cached),
        reasoning=min(count_of(after, "reasoning_tokens"), made),
    )


def stream_refusal(error: Any) -> ServiceRefusal:
    """Return the refusal for `error`, the JSON value of an error inside a stream.

    An error of unknown kind counts as a server error (status 500).
    """
    if not isinstance(error, dict):
        return ServiceRefusal(500, "", as_text(error))
    kinds = [as_text(error.get("code")), as_text(error.get("type"))]
    status = error.get("code")
    if not isinstance(status, int) or not 400 <= status < 600:
        status = next((_ERROR_STATUS[kind] for kind in kinds if kind in _ERROR_STATUS), 500)
    return ServiceRefusal(status, " ".join(kinds).strip(), as_text(error.get("message")))


def _chat_tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _chat_message(message: Message) -> dict[str, Any]:
    if isinstance(message, ToolResult):
        return {
            "role": "tool",
            "tool_call_id": safe_name(message.call_id, "call"),
            "content": message.content,
        }
    if isinstance(message, AssistantMessage):
        calls = [
            {
                "id": safe_name(call.id, "call"),
                "type": "function",
                "function": {
                    "name": safe_name(call.name, "unknown"),
                    "arguments": json.dumps(arguments_object(call), ensure_ascii=False),
                },
            }
            for call in message.tool_calls
        ]
        extra = as_object(message.extra.get("openai"))
        answer = {"role": "assistant", "content": message.text, **extra}
        return {**answer, "tool_calls": calls} if calls else answer
    return {"role": "user", "content": message.text}
