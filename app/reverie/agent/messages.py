"""What is said between Reverie and a model, in no provider's own words.

Plain immutable data: providers translate it to and from their wire format, the loop passes it on, traces
write it down. Nothing here may hold a key or a header. Text in it has been through the vault (`agent.vault`):
it holds placeholders where the memories hold secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

FinishReason = Literal["stop", "tool-calls", "length", "content-filter", "other"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model is told of it; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call a model made. `arguments` is the text as it came, which need not be JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What is put to the model: the task, or a reminder."""

    text: str


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """What a model said. `extra` holds what its provider wants back unchanged (signed thinking), by provider
    name."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to one call; every call of a turn gets exactly one."""

    call_id: str
    name: str
    content: str
    is_error: bool = False


Message = UserMessage | AssistantMessage | ToolResult


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens as the provider counted them. `input` includes `cached_input` (read from the provider's cache)
    and `cache_write`; `output` includes `reasoning`."""

    input: int = 0
    output: int = 0
    cached_input: int = 0
    cache_write: int = 0
    reasoning: int = 0

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(
            self.input + other.input,
            self.output + other.output,
            self.cached_input + other.cached_input,
            self.cache_write + other.cache_write,
            self.reasoning + other.reasoning,
        )


@dataclass(frozen=True, slots=True)
class Turn:
    """One complete answer of a model. `usage` None: the provider did not say."""

    message: AssistantMessage
    finish: FinishReason
    usage: TokenUsage | None
    model: str
