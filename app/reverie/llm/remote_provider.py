"""Access to a model of a service over HTTP, with retries.

Importing this module takes 0.15 s (httpx), so `llm.catalogue`, its only importer, imports it at the first
request. Threading: one event loop between the first request and `close`. Failure: `ProviderError`.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any

from reverie.llm import service_errors
from reverie.llm.provider import AssistantMessage, ModelRequest, ModelTurn, ProviderError, StreamProgress
from reverie.llm.service_errors import Malformed, Service, ServiceProblem, ServiceRefusal
from reverie.llm.transport import Transport
from reverie.llm.wire import Progress, Wire
from reverie.values import replace

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 20.0
_MOST_CHANGES = 3

Sleep = Callable[[float], Awaitable[Any]]


class RemoteProvider:
    """A `Provider` over HTTP, with retries.

    If the service refuses a request because of one of its fields, the request is adapted, once per field. A
    temporary failure is retried, never past the deadline. Nothing is repeated once a part of the answer has
    been reported as progress, so that visible text does not change. Pauses between attempts grow, with a
    random part, or have the length that the service requests; a pause that would end after the deadline ends
    the request at once.
    """

    def __init__(
        self,
        service: Service,
        wire: Wire,
        transport: Transport,
        *,
        destination: str,
        max_retries: int,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._service = service
        self._wire = wire
        self._transport = transport
        self._destination = destination
        self._max_retries = max_retries
        self._sleep = sleep
        self._changes: frozenset[str] = frozenset()
        self._last: ProviderError | None = None

    @property
    def name(self) -> str:
        return f"{self._service.name}:{self._service.model}"

    @property
    def destination(self) -> str:
        return self._destination

    async def complete(
        self, request: ModelRequest, *, progress: Progress = lambda _progress: None
    ) -> ModelTurn:
        """Send the request, repeatedly if needed, and return the answer.

        `progress` gets each piece of the answer, and a message for each retry. Raises `ProviderError`, at the
        latest when the deadline of the request has passed.
        """
        self._last = None
        try:
            async with asyncio.timeout(max(0.0, request.deadline - time.monotonic())):
                return self._without_secrets(await self._persist(request, progress))
        except TimeoutError:
            raise service_errors.deadline_error(self._service, self._last) from None

    async def close(self) -> None:
        """Close the connections to the service."""
        await self._transport.close()

    def _without_secrets(self, turn: ModelTurn) -> ModelTurn:
        """Return the answer `turn` with the service's key removed.

        A service may repeat its key, but the key must not get into any trace or record.
        """

        def clean(text: str) -> str:
            for secret in self._service.telling_secrets:
                text = text.replace(secret, "[key]")
            return text

        message = turn.message
        calls = tuple(
            replace(call, name=clean(call.name), arguments=clean(call.arguments))
            for call in message.tool_calls
        )
        return replace(turn, message=replace(message, text=clean(message.text), tool_calls=calls))

    async def _persist(self, request: ModelRequest, progress: Progress) -> ModelTurn:
        tries = 0
        while True:
            try:
                return await self._attempt(request, progress)
            except ServiceProblem as trouble:
                if not trouble.again or tries >= self._max_retries:
                    raise trouble.error from None
                pause = self._pause(tries, trouble)
                if pause > request.deadline - time.monotonic():
                    raise service_errors.patience_error(trouble.error, pause) from None
                self._last = trouble.error
            tries += 1
            progress(StreamProgress(retry=f"{self._last.title} Asking again in {pause:.0f} s."))
            await self._sleep(pause)

    async def _attempt(self, request: ModelRequest, progress: Progress) -> ModelTurn:
        """Send one request, adapted as often as the service requires, and return the answer.

        Raises `ServiceProblem`.
        """
        service = self._service
        while True:
            reader = self._wire.reader(service.model, progress)
            try:
                body = self._wire.body(service.model, request, self._changes)
                return await self._transport.ask(self._wire.path, body, reader)
            except Malformed as error:
                raise ServiceProblem(service_errors.malformed_error(service, str(error))) from error
            except ServiceRefusal as refusal:
                change = self._wire.adapt(refusal.status, refusal.message.lower())
                new = change is not None and change not in self._changes
                if new and len(self._changes) < _MOST_CHANGES and not reader.handed_on:
                    self._changes |= {str(change)}
                    continue
                trouble = service_errors.refusal_error(service, refusal, quoted=_text_of(request))
                trouble.again &= not reader.handed_on
                raise trouble from None

    def _pause(self, tries: int, trouble: ServiceProblem) -> float:
        if trouble.wait_s is not None:
            return trouble.wait_s
        longest = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * float(2**tries))
        return longest * (0.5 + random.random() / 2)


def _text_of(request: ModelRequest) -> str:
    texts = [request.system]
    for message in request.messages:
        if isinstance(message, AssistantMessage):
            texts += [message.text, *(call.arguments for call in message.tool_calls)]
        else:
            texts.append(getattr(message, "text", "") or getattr(message, "content", ""))
    return " ".join("\n".join(texts).split())
