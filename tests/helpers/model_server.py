"""A model service on this machine, for tests: both wire formats over real sockets, scripted, faults included.

    with ModelServer() as server:
        server.script([Reply(calls=(Call("view", {"path": "/memories"}),)), Reply(text="Done.")])
        ...                                  # talk to server.openai_url or server.anthropic_url
        assert "secret" not in server.sent   # every request, verbatim

A reply is taken from the script for each question (not for the list of models); a script that is used up
answers 418, which nobody retries. Instead of a script, `server.answer = lambda request: Reply(...)`.

One thread with one event loop serves everything; leaving the `with` ends hanging replies at once and joins
it. Everything here may be read from any thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Fault = Literal[
    "",
    "hang",  # accepts the question and says nothing
    "hang-midway",  # stops after the text, connection open
    "keep-alives",  # headers, then comments (or pings) for ever
    "cut",  # closes after the text, in the middle of the stream
    "cut-early",  # closes before any header
    "broken-json",  # an event that is no JSON after the text
    "no-choices",  # only events that carry nothing
    "no-end",  # everything is said, but the mark of the end is missing
    "error-event",  # an error inside the stream, after the text
]


@dataclass(frozen=True)
class Call:
    """A tool call to make. Arguments that are text go out as they are, JSON or not."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str | None = None

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True)
class Reply:
    """One answer. `usage` is (input, output, read from cache, written to cache); None: not said. `chunk`:
    bytes per write, 0 one write per event. `events` replaces the stream's events (JSON text or objects),
    `body` the whole body. `keep_alives`: that many before the answer."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    usage: tuple[int, int, int, int] | None = (100, 20, 0, 0)
    finish: str | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    error: str = "scripted fault"
    error_type: str = "scripted"
    body: bytes | None = None
    events: tuple[Any, ...] | None = None
    chunk: int = 0
    keep_alives: int = 0
    fault: Fault = ""


@dataclass(frozen=True)
class ParsedRequest:
    """One request as it came. The properties read both wire formats alike."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def wire(self) -> Literal["openai", "anthropic", "other"]:
        if self.path.endswith("/chat/completions"):
            return "openai"
        return "anthropic" if self.path.endswith("/messages") else "other"

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.raw or b"{}")

    @property
    def system(self) -> str:
        if self.wire == "anthropic":
            return _text(self.body.get("system", ""))
        return "\n".join(_text(said["content"]) for said in self.body["messages"] if said["role"] == "system")

    @property
    def user_texts(self) -> list[str]:
        """What the user said, tool results not included."""
        said = (_text(message["content"]) for message in self.body["messages"] if message["role"] == "user")
        return [text for text in said if text]

    @property
    def tool_results(self) -> list[str]:
        """The answers to tool calls so far, in order."""
        if self.wire == "openai":
            return [_text(said["content"]) for said in self.body["messages"] if said["role"] == "tool"]
        blocks = (
            block
            for said in self.body["messages"]
            if isinstance(said["content"], list)
            for block in said["content"]
        )
        return [_text(block.get("content", "")) for block in blocks if block.get("type") == "tool_result"]

    @property
    def tool_names(self) -> list[str]:
        tools = self.body.get("tools") or []
        return [tool["function"]["name"] if "function" in tool else tool["name"] for tool in tools]


class ModelServer:
    """See the module. `requests` are the questions, oldest first; `open_questions` counts those that are not
    answered to the end, `connections` all that were ever made."""

    def __init__(
        self,
        replies: Iterable[Reply] = (),
        *,
        models: Iterable[str] = ("test-model",),
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.requests: list[ParsedRequest] = []
        self.models = tuple(models)
        self.answer: Callable[[ParsedRequest], Reply] = self._next
        self._tls = tls
        self._script = list(replies)
        self._changed = threading.Condition()
        self.connections = 0
        self._open = 0
        self._lost = 0
        self._port = 0
        self._received: list[bytes] = []
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="model-server")

    def __enter__(self) -> ModelServer:
        self._thread.start()
        assert self._ready.wait(10), "the model server did not start"
        return self

    def __exit__(self, *_error: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}"

    @property
    def openai_url(self) -> str:
        """The `base_url` for `wire = "openai"`."""
        return f"{self.url}/v1"

    @property
    def anthropic_url(self) -> str:
        """The `base_url` for `wire = "anthropic"`."""
        return self.url

    @property
    def sent(self) -> str:
        """Every byte that was sent here, heads and bodies, as text."""
        return b"\n".join(self._received).decode("utf-8", "replace")

    @property
    def open_questions(self) -> int:
        return self._open

    def script(self, replies: Iterable[Reply]) -> None:
        """Put these after what is left of the script."""
        self._script.extend(replies)

    def settings_toml(self, name: str = "test", wire: Literal["openai", "anthropic"] = "openai") -> str:
        """A provider `name` in the settings file that is this server; its key: `<NAME>_KEY`."""
        url = self.openai_url if wire == "openai" else self.anthropic_url
        return (
            f'[providers.{name}]\nwire = "{wire}"\nbase_url = "{url}"\n'
            f'key_env = "{name.upper()}_KEY"\nmax_retries = 0\n'
        )

    def wait_for_requests(self, count: int = 1, timeout: float = 60) -> None:
        """Until so many questions have arrived."""
        with self._changed:
            arrived = self._changed.wait_for(lambda: len(self.requests) >= count, timeout)
        assert arrived, f"{len(self.requests)} of {count} requests came"

    def wait_for_hang_up(self, count: int = 1, timeout: float = 60) -> None:
        """Until so many callers have left before their reply ended."""
        with self._changed:
            gone = self._changed.wait_for(lambda: self._lost >= count, timeout)
        assert gone, f"{self._lost} of {count} callers hung up"

    def _next(self, _request: ParsedRequest) -> Reply:
        if self._script:
            return self._script.pop(0)
        return Reply(status=418, error="the script of the test's model server is used up")

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        tasks: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._talk(reader, writer)

        def leave(task: asyncio.Task[None]) -> None:
            # Held until its transport is closed: Python 3.13 warns of a writer that goes before.
            writer = tasks.pop(task)
            writer.transport.abort()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.connections += 1
            # Also a talk that is cancelled before it begins is hung up on.
            task = self._loop.create_task(talk(reader, writer))
            tasks[task] = writer
            task.add_done_callback(leave)

        server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=1 << 20, ssl=self._tls)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        # Nobody else comes in; who has just been let in gets as far as having something to clean up, for
        # which the server must still be open; then everyone leaves.
        for listening in server.sockets:
            with contextlib.suppress(NotImplementedError):
                self._loop.remove_reader(listening.fileno())
        await _turns(10)
        server.close()
        for task in list(tasks):
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await _turns(10)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            first, *lines = head.decode("latin-1").strip().split("\r\n")
            headers = {
                key.lower(): value.strip() for key, _, value in (line.partition(":") for line in lines)
            }
            method, path, _version = first.split(" ", 2)
            raw = await reader.readexactly(int(headers.get("content-length", "0")))
            self._received.append(head + raw)
            if method == "GET":
                await self._list_models(writer, path)
                continue
            request = ParsedRequest(method, path.partition("?")[0], headers, raw)
            reply = self.answer(request)
            with self._changed:
                self.requests.append(request)
                self._open += 1
                self._changed.notify_all()
            if not await self._reply_or_hang_up(reader, writer, request, reply):
                return

    async def _reply_or_hang_up(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        request: ParsedRequest,
        reply: Reply,
    ) -> bool:
        """Whether the connection can be used again."""
        replying = asyncio.ensure_future(_send(writer, request, reply))
        # Nobody sends anything while a reply is on its way: what can be read is the end.
        leaving = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({replying, leaving}, return_when=asyncio.FIRST_COMPLETED)
            finished = replying.done() and replying.exception() is None
            kept = finished and replying.result()
            with self._changed:
                self._open -= 1
                self._lost += not finished
                self._changed.notify_all()
            return kept and not leaving.done()
        finally:
            for task in (replying, leaving):
                task.cancel()
            await asyncio.gather(replying, leaving, return_exceptions=True)

    async def _list_models(self, writer: asyncio.StreamWriter, path: str) -> None:
        found = path.partition("?")[0].endswith("/models")
        listed = {"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]}
        body = json.dumps(listed if found else {"error": {"message": "no such path"}}).encode()
        writer.write(_head(200 if found else 404, {"content-type": "application/json"}, len(body)) + body)
        await writer.drain()


async def _turns(count: int) -> None:
    """Let the event loop do what is due."""
    for _ in range(count):
        await asyncio.sleep(0)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content or []
    return "\n".join(block["text"] for block in blocks if block.get("type") == "text")


def _head(status: int, headers: Mapping[str, str], length: int | None) -> bytes:
    framing = {"transfer-encoding": "chunked"} if length is None else {"content-length": str(length)}
    lines = [f"HTTP/1.1 {status} Scripted", *(f"{k}: {v}" for k, v in {**headers, **framing}.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def _send(writer: asyncio.StreamWriter, request: ParsedRequest, reply: Reply) -> bool:
    """Send one reply; whether the connection can be used again."""
    if reply.fault == "hang":
        await asyncio.Event().wait()
    if reply.fault == "cut-early":
        writer.transport.abort()
        return False
    if reply.status != 200 or reply.body is not None:
        body = reply.body if reply.body is not None else _error(request, reply)
        headers = {"content-type": "application/json", **reply.headers}
        writer.write(_head(reply.status, headers, len(body)) + body)
        await writer.drain()
        return True
    writer.write(_head(200, {"content-type": "text/event-stream", **reply.headers}, None))
    await writer.drain()
    anthropic = request.wire == "anthropic"
    beat = b'event: ping\ndata: {"type": "ping"}\n\n' if anthropic else b": keep-alive\n\n"
    for _ in range(reply.keep_alives):
        await _write(writer, beat, reply.chunk)
    while reply.fault == "keep-alives":
        await _write(writer, beat, reply.chunk)
        await asyncio.sleep(0.01)
    stream = b"".join(_frames(request, reply)) if reply.chunk else None
    for piece in [stream] if stream is not None else _frames(request, reply):
        await _write(writer, piece, reply.chunk)
    if reply.fault == "hang-midway":
        await asyncio.Event().wait()
    if reply.fault == "cut":
        writer.transport.abort()
        return False
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


async def _write(writer: asyncio.StreamWriter, data: bytes, size: int) -> None:
    for start in range(0, len(data), size or len(data) or 1):
        piece = data[start : start + size] if size else data
        writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
    await writer.drain()


def _error(request: ParsedRequest, reply: Reply) -> bytes:
    said = {"type": reply.error_type, "message": reply.error}
    shape = {"type": "error", "error": said} if request.wire == "anthropic" else {"error": said}
    return json.dumps(shape).encode()


def _frames(request: ParsedRequest, reply: Reply) -> Iterator[bytes]:
    """The stream's events as bytes."""
    anthropic = request.wire == "anthropic"
    events = reply.events if reply.events is not None else _events(request, reply)
    for event in events:
        data = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
        name = f"event: {event['type']}\n" if anthropic and isinstance(event, dict) else ""
        yield f"{name}data: {data}\n\n".encode()
    if not anthropic and reply.events is None and reply.fault in {"", "no-choices"}:
        yield b"data: [DONE]\n\n"


def _events(request: ParsedRequest, reply: Reply) -> Iterator[Any]:
    anthropic = request.wire == "anthropic"
    said = _anthropic_said(request, reply) if anthropic else _openai_said(request, reply)
    end = _anthropic_end(reply) if anthropic else _openai_end(request, reply)
    if reply.fault == "no-choices":
        yield {"type": "ping"} if anthropic else {"id": "x", "model": "m", "choices": []}
        return
    yield from said
    if reply.fault == "broken-json":
        yield '{"choices": [{"delta": {"content": "'
    elif reply.fault == "error-event":
        error = {"type": reply.error_type, "message": reply.error}
        yield {"type": "error", "error": error} if anthropic else {"error": error}
    elif reply.fault in {"", "no-end"}:
        yield from list(end)[: -1 if anthropic and reply.fault else None]


def _pieces(text: str) -> list[str]:
    """Cut as a tokenizer might."""
    return (
        [text[start : start + 4000] for start in range(0, len(text), 4000)]
        if len(text) > 40_000
        else [text[start : start + 7] for start in range(0, len(text), 7)]
    )


def _openai_said(request: ParsedRequest, reply: Reply) -> Iterator[Any]:
    def chunk(delta: dict[str, Any]) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        return {"id": "chatcmpl-1", "model": request.body.get("model"), "choices": [choice], "usage": None}

    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(reply.text):
        yield chunk({"content": piece, "tool_calls": None})
    for index, call in enumerate(reply.calls):
        function = {"name": call.name, "arguments": ""}
        identity = f"call_{index}" if call.id is None else call.id
        start = {"index": index, "id": identity, "type": "function", "function": function}
        yield chunk({"content": None, "tool_calls": [start]})
        for piece in _pieces(call.text):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})


def _openai_end(request: ParsedRequest, reply: Reply) -> Iterator[Any]:
    finish = reply.finish or ("tool_calls" if reply.calls else "stop")
    same = {"id": "chatcmpl-1", "model": request.body.get("model")}
    yield {**same, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
    if reply.usage is not None and (request.body.get("stream_options") or {}).get("include_usage"):
        given, made, cached, _written = reply.usage
        usage = {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
        yield {**same, "choices": [], "usage": {**usage, "prompt_tokens_details": {"cached_tokens": cached}}}


def _anthropic_said(request: ParsedRequest, reply: Reply) -> Iterator[Any]:
    given, _made, cached, written = reply.usage or (0, 0, 0, 0)
    counted = {
        "input_tokens": given - cached - written,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": written,
        "output_tokens": 1,
    }
    message: dict[str, Any] = {
        "id": "msg_1",
        "role": "assistant",
        "model": request.body.get("model"),
        "content": [],
    }
    yield {"type": "message_start", "message": {**message, "usage": counted if reply.usage else None}}
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if reply.thinking:
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(reply.thinking)]
        signed = {"type": "signature_delta", "signature": "c2lnbmVk"}
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed]))
    if reply.text:
        deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(reply.text)]
        blocks.append(({"type": "text", "text": ""}, deltas))
    for number, call in enumerate(reply.calls):
        identity = f"toolu_{number}" if call.id is None else call.id
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(call.text)]
        blocks.append(({"type": "tool_use", "id": identity, "name": call.name, "input": {}}, deltas))
    for index, (block, deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        if reply.fault in {"", "no-end"}:
            yield {"type": "content_block_stop", "index": index}


def _anthropic_end(reply: Reply) -> Iterator[Any]:
    finish = reply.finish or ("tool_use" if reply.calls else "end_turn")
    usage = {"usage": {"output_tokens": reply.usage[1]}} if reply.usage else {}
    yield {"type": "message_delta", "delta": {"stop_reason": finish, "stop_sequence": None}, **usage}
    yield {"type": "message_stop"}
