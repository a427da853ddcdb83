"""A provider in this process with scripted answers, for tests and measurements."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from reverie.llm.provider import (
    AssistantMessage,
    ModelRequest,
    ModelTurn,
    ProviderError,
    StreamProgress,
    TokenUsage,
    ToolCall,
    ToolResult,
)

Say = str | Sequence[dict[str, Any]] | ProviderError


class Speaker:
    """A provider with a script: text ends the run, a list of arguments is one turn of calls, of the memory
    tool, or of the one for pairs where they have `pairs`."""

    name = "test:model"
    destination = ""

    def __init__(self, script: Iterable[Say], before: Callable[[], None] = lambda: None) -> None:
        self._script = iter(script)
        self.before = before
        self.requests: list[ModelRequest] = []
        self.closed = False

    async def complete(
        self, request: ModelRequest, *, progress: Callable[[StreamProgress], None] = lambda _progress: None
    ) -> ModelTurn:
        self.before()
        self.requests.append(request)
        said = next(self._script)
        if isinstance(said, ProviderError):
            raise said
        usage = TokenUsage(1000, 100)
        if isinstance(said, str):
            return ModelTurn(AssistantMessage(said), "stop", usage, "model")
        calls = tuple(
            ToolCall(f"{len(self.requests)}-{number}", _tool_of(arguments), json.dumps(arguments))
            for number, arguments in enumerate(said)
        )
        return ModelTurn(AssistantMessage("", calls), "tool-calls", usage, "model")

    async def close(self) -> None:
        self.closed = True

    @property
    def answers(self) -> list[str]:
        """What the tool calls were answered."""
        return [said.content for said in self.requests[-1].messages if isinstance(said, ToolResult)]

    @property
    def sent(self) -> str:
        return "\n".join(str(request) for request in self.requests)


def _tool_of(arguments: dict[str, Any]) -> str:
    return "point_out" if "pairs" in arguments else "memory"
