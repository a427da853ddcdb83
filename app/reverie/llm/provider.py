"""The interface to a model service: messages, requests, answers, and errors of a service.

A provider turns one `ModelRequest` into one `ModelTurn` and reports the answer as it arrives. It retries if
that may help, never longer than `ModelRequest.deadline`, and raises `ProviderError` for every problem that a
person can fix. Cancelling the task ends the connection at once. Threading: one event loop at a time.

Messages are immutable data in a format of Reverie's own; providers translate them, the loop passes them on,
and traces record them. They never contain a key or a header. Their text has been through the vault
(`llm.vault`), so it has placeholders in place of the secrets in memories.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

from reverie.errors import UserError
from reverie.values import Struct, field

FinishReason = Literal["stop", "tool-calls", "length", "content-filter", "other"]


class ToolSpec(Struct, frozen=True):
    """The description of a tool for a model; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


class ToolCall(Struct, frozen=True):
    """One call of a tool by a model.

    `arguments` is the text as received, which need not be JSON.
    """

    id: str
    name: str
    arguments: str


class UserMessage(Struct, frozen=True):
    """A message to the model: the task, or a reminder."""

    text: str


class AssistantMessage(Struct, frozen=True):
    """A model's answer in a conversation: its text and the tool calls that it requests."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    """The data that a provider requires back unchanged, such as signed thinking, by provider name."""


class ToolResult(Struct, frozen=True):
    """The result of one tool call; every call of a turn gets exactly one."""

    call_id: str
    name: str
    content: str
    is_error: bool = False


Message = UserMessage | AssistantMessage | ToolResult


class ToolOutcome(Struct, frozen=True):
    """The outcome of a tool call: its text for the model, and whether it changed a memory."""

    content: str
    is_error: bool = False
    wrote: bool = False
    """Whether a memory was changed (or would be, in a dry run)."""


class TokenUsage(Struct, frozen=True):
    """The numbers of tokens as counted by the provider.

    `input` includes `cached_input` (read from the provider's cache) and `cache_write` (written to it);
    `output` includes `reasoning`.
    """

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


class ModelTurn(Struct, frozen=True):
    """One complete answer of a model.

    `finish`: why the answer ended. `usage`: None if the provider did not report it. `model`: the name of the
    model as the service reports it.
    """

    message: AssistantMessage
    finish: FinishReason
    usage: TokenUsage | None
    model: str


ProviderFault = Literal[
    "unreachable",
    "key",
    "model",
    "refused",
    "rate-limit",
    "overloaded",
    "server",
    "timeout",
    "cut-off",
    "malformed",
    "too-large",
    "settings",
    "redaction",
]


class ProviderError(UserError):
    """Raised if a model service did not give a usable answer.

    `fault` is the kind of failure. Title, cause and next step contain no key, no header and no text of a
    memory.
    """

    reason = "provider"
    fault: ProviderFault

    def __init__(self, fault: ProviderFault, title: str, *, cause: str = "", next_step: str = "") -> None:
        super().__init__(title, cause=cause, next_step=next_step, reason=f"provider-{fault}")
        self.fault = fault


class ModelRequest(Struct, frozen=True):
    """One request to a model: instructions, conversation, tools, and limits of length and time."""

    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    max_output_tokens: int
    """The maximum length of the answer."""
    deadline: float
    """The end of the time limit, on the clock of `time.monotonic`."""
    answer_schema: Mapping[str, Any] | None = None
    """The JSON schema for the text of the answer; not every service can enforce it."""


class StreamProgress(Struct, frozen=True):
    """One piece of an answer that is still arriving, or a message about a repeated request.

    Only one field is set: a piece of text, the name of a tool whose call begins, or the sentence about the
    retry.
    """

    text: str = ""
    """The newest piece of the answer's text."""
    tool_name: str = ""
    """The name of the tool of which a call begins; empty otherwise."""
    retry: str = ""
    """A sentence that reports that the request is being repeated; empty otherwise."""


class Provider(Protocol):
    """One model of one service, to which requests can be sent."""

    @property
    def name(self) -> str:
        """The name of the model as `provider:model`, as in settings and records."""

    @property
    def destination(self) -> str:
        """The scheme, host and port to which text is sent; empty if the text does not leave this machine.

        A server on this machine that may pass the text on counts as a destination.
        """

    async def complete(
        self, request: ModelRequest, *, progress: Callable[[StreamProgress], None] = lambda _progress: None
    ) -> ModelTurn:
        """Send a request; return the complete answer.

        `progress` is called for each piece of the answer that arrives. Raises `ProviderError`.
        """

    async def close(self) -> None:
        """Close the connections to the service."""
