"""Helpers for tests of model providers: a provider for a `ModelServer`, a request, the texts of an error."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Sequence
from typing import Any, Literal

from hypothesis import strategies as st

from helpers.model_server import ModelServer
from reverie.llm.catalogue import Catalogue
from reverie.llm.keys import KeyringProblem
from reverie.llm.provider import (
    Message,
    ModelRequest,
    ModelTurn,
    Provider,
    ProviderError,
    StreamProgress,
    ToolSpec,
    UserMessage,
)
from reverie.settings import ProviderSettings

KEY = "sk-test-0123456789abcdef0123456789abcdef"
HEADER = "team-header-value-4711"
MEMORY = "The staging database of the harbour project lives on the third shelf."
LIMIT_S = 20
"""Longer than any test takes; a question that hangs ends here, and fails."""

VIEW = ToolSpec("view", "Shows a memory.", {"type": "object", "properties": {"path": {"type": "string"}}})


class MemoryKeys:
    """A keyring in a dictionary."""

    trouble: KeyringProblem = ""

    def __init__(self, **keys: str) -> None:
        self.keys = keys

    def get(self, provider: str) -> str | None:
        return self.keys.get(provider)

    def set(self, provider: str, key: str) -> None:
        self.keys[provider] = key

    def delete(self, provider: str) -> None:
        self.keys.pop(provider, None)


class Pauses:
    """A replacement for sleeping that records the durations."""

    def __init__(self) -> None:
        self.made: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.made.append(seconds)


def provider_at(
    base_url: str,
    wire: Literal["openai", "anthropic"] = "openai",
    *,
    pauses: Pauses | None = None,
    key: str = KEY,
    **wishes: Any,
) -> Provider:
    """A provider `test` with a key and a secret header. `wishes` are its other settings."""
    settings = ProviderSettings(
        wire=wire,
        base_url=base_url,
        headers={"X-Team": HEADER},
        key_env="TEST_KEY",
        **{"max_retries": 0, **wishes},
    )
    catalogue = Catalogue({"test": settings}, {"TEST_KEY": key}, MemoryKeys(), sleep=pauses or Pauses())
    return catalogue.provider("test:test-model")


def provider_of(
    server: ModelServer, wire: Literal["openai", "anthropic"] = "openai", **wishes: Any
) -> Provider:
    """Return `provider_at` for a server."""
    return provider_at(server.openai_url if wire == "openai" else server.anthropic_url, wire, **wishes)


def question(
    *messages: Message, tools: Sequence[ToolSpec] = (VIEW,), limit_s: float = LIMIT_S, tokens: int = 1000
) -> ModelRequest:
    return ModelRequest(
        system="You keep memories tidy.",
        messages=messages or (UserMessage(MEMORY),),
        tools=tools,
        max_output_tokens=tokens,
        deadline=time.monotonic() + limit_s,
    )


def ask(
    provider: Provider, request: ModelRequest | None = None, *, progress: list[StreamProgress] | None = None
) -> ModelTurn:
    """Send one request and return the answer; the provider is closed afterwards."""

    async def asking() -> ModelTurn:
        seen = [] if progress is None else progress
        try:
            async with asyncio.timeout(2 * LIMIT_S):
                return await provider.complete(request or question(), progress=seen.append)
        finally:
            await provider.close()

    return asyncio.run(asking())


def told(error: ProviderError) -> str:
    """Return every text of an error that a user, a log or a traceback could show."""
    return "\n".join([str(error), repr(error), *traceback.format_exception(error)])


def json_of(*names: str) -> st.SearchStrategy[Any]:
    """Return a strategy for meaningless JSON whose objects use these names."""
    return st.recursive(
        st.none() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(names), inner, max_size=5)
        ),
        max_leaves=12,
    )
