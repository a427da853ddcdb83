"""The wire formats: OpenAI's chat completions and Responses, also as imitated by others; and Anthropic's.

Chat requests contain the fields that every imitation knows; further ones are left out once a server refuses
them. Answers are read tolerantly: null fields, missing ids and indexes, whole calls in one chunk, names in
pieces or repeated, a `function_call` twin, usage in a chunk without choices, no `[DONE]`. Not tolerated:
anything but JSON, an answer without any choice, and an end before the model said why it stopped.

Pure, except that the readers report progress.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reverie.agents.reading import as_list, as_object, as_text
from reverie.llm.provider import (
    AssistantMessage,
    FinishReason,
    Malformed,
    Message,
    ModelRequest,
    ModelTurn,
    Progress,
    ReplyReader,
    ServerEvent,
    ServiceRefusal,
    TokenUsage,
    ToolCall,
    ToolResult,
    ToolSpec,
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
_NO_SCHEMA = "no-answer-schema"
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


class _BearerWire(Struct, frozen=True):
    """The common part of both of OpenAI's formats."""

    models_path: str = "/models"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"} if key else {}


class OpenAiWire(_BearerWire, frozen=True):
    """The chat format. `limit_name`: the service's name for the maximum length of an answer."""

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
            **({} if _NO_SCHEMA in changes else _chat_answer_format(request)),
        }

    def reader(self, model: str, progress: Progress) -> ReplyReader:
        return ChatReader(model, progress)

    def adapt(self, status: int, words: str) -> str | None:
        if status not in {400, 422}:
            return None
        if "stream_options" in words or "include_usage" in words:
            return _NO_USAGE
        if "response_format" in words or "json_schema" in words:
            return _NO_SCHEMA
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
    """A reader that builds a `ModelTurn` from the chunks of a chat completion."""

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
            raise Malformed("sent an answer without any choice")
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
            raise _refusal(document["error"])
        self._model = as_text(document.get("model")) or self._model
        self._usage = _chat_usage(as_object(document.get("usage"))) or self._usage
        choices = as_list(document.get("choices"))
        if not choices:
            return
        choice = as_object(choices[0])
        if choice.get("error"):
            raise _refusal(choice["error"])
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
        """Return the call that a piece belongs to: by index, else by id; otherwise a name starts one."""
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


def _refusal(error: Any) -> ServiceRefusal:
    """Return an error inside a stream as a refusal; without a known kind it is a server error."""
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


_NO_LIMIT = "no-limit"
_NO_STORE = "no-store"
_ENDS = ("response.completed", "response.incomplete", "response.done")


class ResponsesWire(_BearerWire, frozen=True):
    """The Responses format.

    The service stores nothing (`store` is false), so each request contains the conversation; reasoning is not
    sent back.
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
            **({} if _NO_SCHEMA in changes else _responses_answer_format(request)),
        }

    def reader(self, model: str, progress: Progress) -> ReplyReader:
        return ResponseReader(model, progress)

    def adapt(self, status: int, words: str) -> str | None:
        if status not in {400, 422}:
            return None
        if "max_output_tokens" in words:
            return _NO_LIMIT
        if "json_schema" in words or "text.format" in words:
            return _NO_SCHEMA
        return _NO_STORE if "'store'" in words or '"store"' in words else None


class ResponseReader(ReplyReader):
    """A reader that builds a `ModelTurn` from the events of a response.

    An answer is complete after `response.completed` or `response.incomplete`; its items are read as they are
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
            raise _refusal(document.get("error") or document)
        if kind == "response.failed":
            raise _refusal(as_object(document.get("response")).get("error"))
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
            raise _refusal(document["error"])
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
            raise Malformed("sent an answer without any output")
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
    """The Anthropic Messages format.

    The unchanging part of the prompt (tools, system) and the conversation so far are marked for the service's
    cache, because a loop sends the same text again with every step. Thinking blocks are sent back unchanged,
    including the signature.
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
    """A reader that builds a `ModelTurn` from the events of a message.

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
            raise Malformed("sent an answer without any message")
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
    """Return the messages as alternating turns of user and assistant.

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
