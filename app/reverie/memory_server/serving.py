"""Serves the tools over the Model Context Protocol; the only module that imports its SDK.

The SDK takes 0.8 s of CPU to import and is an optional extra, so nothing else may depend on it. A client of
the server is known by the name in its `clientInfo`, which it chooses itself. Messages are bounded: a line on
standard input, or the body of a request, has at most 4 MiB, and while many calls are in progress no further
message is read. Over HTTP, the server listens on the loopback interface only and requires a bearer token; the
SDK refuses foreign `Host` and `Origin` headers.

Threading: one event loop; each call of a tool has a thread. Failure: a `UserError` of a tool is its result,
for the model to read; a bug is an error of the protocol without details, and a traceback on stderr.
"""

from __future__ import annotations

import hmac
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, BinaryIO, cast

import anyio
import anyio.to_thread
import mcp_types as types
import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

from reverie import __version__
from reverie.errors import UserError, user_error_from_os
from reverie.memory_server.tools import TOOLS, MemoryTools

HOST = "127.0.0.1"
_LONGEST = 4 << 20
_MOST_CALLS = 16
_PAUSE_S = 0.01


class ToolHandlers:
    """The functions that answer MCP requests with the results of `tools`, for any number of clients."""

    def __init__(self, tools: MemoryTools) -> None:
        self._tools = tools
        self._calls = 0

    @property
    def is_busy(self) -> bool:
        """Whether so many tool calls are in progress that no further message should be read."""
        return self._calls >= _MOST_CALLS

    def server(self) -> Server[Any]:
        """Return a server of the MCP SDK that uses these handlers."""
        server: Server[Any] = Server(
            "reverie",
            version=__version__,
            title="Reverie",
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        server.middleware.append(self._introduce)
        return server

    async def _list(self, _request: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool.model_validate(each) for each in TOOLS])

    async def _call(self, request: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        self._calls += 1
        program, failed = _program_of(request.session.client_params), False
        try:
            text = await anyio.to_thread.run_sync(
                self._tools.call, program, params.name, params.arguments or {}
            )
        except UserError as error:
            text, failed = str(error).encode("utf-8", "backslashreplace").decode(), True
        finally:
            self._calls -= 1
        return types.CallToolResult(content=[types.TextContent(text=text)], is_error=failed)

    async def _introduce(self, ctx: Any, call_next: Callable[[Any], Any]) -> Any:
        """Answer a request, and add the instructions for the model if a client connects with it.

        The SDK calls this middleware for each request; `call_next(ctx)` returns the SDK's answer to the
        request `ctx`. The instructions are made at each connection, because they say what this client may
        change, and list the memories at that time.
        """
        answer = await call_next(ctx)
        if ctx.method not in ("initialize", "server/discover"):
            return answer
        # The request that introduces a client is not a part of its session yet.
        known, named = ctx.session.client_params, (ctx.params or {}).get("clientInfo")
        program = str(named["name"]) if isinstance(named, Mapping) else _program_of(known)
        return {**answer, "instructions": await anyio.to_thread.run_sync(self._tools.instructions, program)}


def _program_of(client: types.InitializeRequestParams | None) -> str:
    return "" if client is None else client.client_info.name


def serve_streams(tools: MemoryTools) -> None:
    """Serve one client over standard input and output until the client closes standard input."""
    # The thread that waits for input cannot be interrupted. Writes in progress are completed by the engine.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    anyio.run(_serve_streams, tools)


async def _serve_streams(tools: MemoryTools) -> None:
    handlers = ToolHandlers(tools)
    server, lines = handlers.server(), BoundedLines(sys.stdin.buffer, lambda: handlers.is_busy)
    try:
        async with stdio_server(stdin=cast(Any, lines)) as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
    except* BrokenPipeError:
        pass  # the client has left


class BoundedLines:
    """The lines of the stream `source`, for `async for`.

    A line of more than 4 MiB becomes an invalid message. While `is_busy` returns True, nothing is read, so
    that the client waits instead of filling the memory.
    """

    def __init__(self, source: BinaryIO, is_busy: Callable[[], bool]) -> None:
        self._source = source
        self._is_busy = is_busy

    async def __aiter__(self) -> AsyncIterator[str]:
        while True:
            while self._is_busy():
                await anyio.sleep(_PAUSE_S)
            line = await anyio.to_thread.run_sync(self._read)
            if not line:
                return
            yield line.decode("utf-8", "replace")

    def _read(self) -> bytes:
        line = rest = self._source.readline(_LONGEST)
        while len(rest) == _LONGEST and not rest.endswith(b"\n"):
            line, rest = b"too long\n", self._source.readline(_LONGEST)
        return line


class OneToken:
    """A verifier of bearer tokens for the SDK's HTTP server, which accepts one token only."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the rights of a request with this bearer token; None if it is not the accepted one."""
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self._token):
            return None
        return AccessToken(token=token, client_id="reverie", scopes=[])


def serve_http(tools: MemoryTools, port: int, token: str, ready: Callable[[int], None]) -> None:
    """Serve any number of clients over HTTP on the loopback interface, until Ctrl+C.

    `port`: 0 for a free one. `token`: the bearer token that each request must have. `ready` is called with
    the port once clients can connect. Raises `UserError` if the port cannot be used.
    """
    try:
        listening = socket.create_server((HOST, port))
    except OSError as error:
        raise user_error_from_os(error, f"Port {port} cannot be used.") from error
    auth = AuthSettings.model_validate({"issuer_url": f"http://{HOST}", "resource_server_url": None})
    app = ToolHandlers(tools).server().streamable_http_app(auth=auth, token_verifier=OneToken(token))
    config = uvicorn.Config(app, log_level="warning", server_header=False, lifespan="on")
    with listening:
        ready(listening.getsockname()[1])
        uvicorn.Server(config).run(sockets=[listening])
