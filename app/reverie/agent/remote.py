"""A model of a service: asks, adapts the question once per thing the service refuses, asks again when that
may help, and never past the deadline.

An attempt is repeated only while nothing of its answer has been handed on: what people have seen, and what a
loop might have begun to act on, does not change under them. Pauses grow, with jitter, or are what the service
asks for; a pause that would end after the deadline ends the question at once.

Threading: one event loop between the first question and `close`. Failure: `ProviderError` only.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from reverie.agent import faults
from reverie.agent.faults import Malformed, Refusal, Service, Trouble
from reverie.agent.messages import AssistantMessage, Turn
from reverie.agent.provider import ModelRequest, ProviderError, StreamProgress
from reverie.agent.transport import Transport
from reverie.agent.wire import Progress, Wire

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 20.0
_MOST_CHANGES = 3

Sleep = Callable[[float], Awaitable[Any]]


class RemoteProvider:
    """A `Provider` over HTTP. `destination`: see the protocol."""

    def __init__(
        self,
        service: Service,
        wire: Wire,
        transport: Transport,
        *,
        destination: str,
        max_retries: int,
        sleep: Sleep = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._service = service
        self._wire = wire
        self._transport = transport
        self._destination = destination
        self._max_retries = max_retries
        self._sleep = sleep
        self._jitter = jitter
        self._changes: frozenset[str] = frozenset()
        self._last: ProviderError | None = None

    @property
    def name(self) -> str:
        return f"{self._service.name}:{self._service.model}"

    @property
    def destination(self) -> str:
        return self._destination

    async def complete(self, request: ModelRequest, *, progress: Progress = lambda _progress: None) -> Turn:
        """Ask until there is an answer or the request's deadline. Raises `ProviderError`."""
        self._last = None
        try:
            async with asyncio.timeout(max(0.0, request.deadline - time.monotonic())):
                return self._without_secrets(await self._persist(request, progress))
        except TimeoutError:
            raise faults.deadline_error(self._service, self._last) from None

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    def _without_secrets(self, turn: Turn) -> Turn:
        """A service knows its key, and may say it: it goes into no trace and no record."""

        def clean(text: str) -> str:
            for secret in self._service.secrets:
                text = text.replace(secret, "[key]")
            return text

        message = turn.message
        calls = tuple(
            replace(call, name=clean(call.name), arguments=clean(call.arguments))
            for call in message.tool_calls
        )
        return replace(turn, message=replace(message, text=clean(message.text), tool_calls=calls))

    async def _persist(self, request: ModelRequest, progress: Progress) -> Turn:
        tries = 0
        while True:
            try:
                return await self._attempt(request, progress)
            except Trouble as trouble:
                if not trouble.again or tries >= self._max_retries:
                    raise trouble.error from None
                pause = self._pause(tries, trouble)
                if pause > request.deadline - time.monotonic():
                    raise faults.patience_error(trouble.error, pause) from None
                self._last = trouble.error
            tries += 1
            progress(StreamProgress(retry=f"{self._last.title} Asking again in {pause:.0f} s."))
            await self._sleep(pause)

    async def _attempt(self, request: ModelRequest, progress: Progress) -> Turn:
        """One question, put differently as often as the service asks for it. Raises `Trouble`."""
        service = self._service
        while True:
            reader = self._wire.reader(service.model, progress)
            try:
                body = self._wire.body(service.model, request, self._changes)
                return await self._transport.ask(self._wire.path, body, reader)
            except Malformed as error:
                raise Trouble(faults.malformed_error(service, str(error))) from error
            except Refusal as refusal:
                change = self._wire.adapt(refusal.status, refusal.message.lower())
                new = change is not None and change not in self._changes
                if new and len(self._changes) < _MOST_CHANGES and not reader.handed_on:
                    self._changes |= {str(change)}
                    continue
                trouble = faults.refusal_error(service, refusal, quoted=_text_of(request))
                trouble.again &= not reader.handed_on
                raise trouble from None

    def _pause(self, tries: int, trouble: Trouble) -> float:
        if trouble.wait_s is not None:
            return trouble.wait_s
        longest = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * float(2**tries))
        return longest * (0.5 + self._jitter() / 2)


def _text_of(request: ModelRequest) -> str:
    texts = [request.system]
    for message in request.messages:
        if isinstance(message, AssistantMessage):
            texts += [message.text, *(call.arguments for call in message.tool_calls)]
        else:
            texts.append(getattr(message, "text", "") or getattr(message, "content", ""))
    return " ".join("\n".join(texts).split())
