"""The one interface to a model service, and what can go wrong with it.

A provider turns one `ModelRequest` into one `Turn`, streaming meanwhile. It retries what is worth it, never
longer than `ModelRequest.deadline`, and raises `ProviderError` for everything a person can mend. Cancelling
the task ends the connection at once. Threading: one event loop at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from reverie.agent.messages import Message, ToolSpec, Turn
from reverie.errors import MendableError

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


class ProviderError(MendableError):
    """A model service did not give a usable answer. `fault` says in which way; title, cause and next step
    hold no key, no header and no text of a memory."""

    reason = "provider"

    def __init__(self, fault: ProviderFault, title: str, *, cause: str = "", next_step: str = "") -> None:
        super().__init__(title, cause=cause, next_step=next_step, reason=f"provider-{fault}")
        self.fault = fault


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question to a model. `deadline` is on `time.monotonic`'s clock; `max_output_tokens` caps the
    answer. `answer_schema`: the JSON schema that the words of the answer shall follow, for services that can
    be held to one; others are only asked."""

    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    max_output_tokens: int
    deadline: float
    answer_schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class StreamProgress:
    """The answer so far: the newest piece of text, or the name of a tool whose call begins. `retry` says in
    words that the request is being made again."""

    text: str = ""
    tool_name: str = ""
    retry: str = ""


class Provider(Protocol):
    """One model of one service."""

    @property
    def name(self) -> str:
        """`provider:model`, as in settings and records."""

    @property
    def destination(self) -> str:
        """Where text goes: scheme, host and port. Empty: it does not leave this machine."""

    async def complete(
        self, request: ModelRequest, *, progress: Callable[[StreamProgress], None] = lambda _progress: None
    ) -> Turn:
        """One answer, complete. Raises `ProviderError`."""

    async def close(self) -> None:
        """Let the connections go."""
