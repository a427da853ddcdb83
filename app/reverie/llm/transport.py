"""Asking one model service over HTTP: attempts, retries, size limits and time limits.

Proxies come from the environment, but never for a server on this machine: text for it must not leave.
Redirects are not followed, because the key would go with them. A connection is reused if the answer was read
to its end. Cancelling ends the connection at once. Before the first request of a process the redaction of
secrets is tested (`text.redact`); if the test fails, nothing is ever sent.

Importing this module takes 0.15 s (httpx), so `llm.catalogue`, its only importer, does so at the first
request.

Threading: one event loop between the first request and `close`. Failure: `ProviderError` from
`RemoteProvider`; inside this module `ServiceProblem`, which contains one, and `ServiceRefusal` for a refusal
by the service.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import email.utils
import json
import math
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any

import httpx

from reverie.llm import provider
from reverie.llm.provider import (
    AssistantMessage,
    EventParser,
    Malformed,
    ModelRequest,
    ModelTurn,
    Progress,
    ProviderError,
    ReplyReader,
    Service,
    ServiceProblem,
    ServiceRefusal,
    StreamProgress,
    Wire,
    json_object,
    stays_here,
)
from reverie.text.redact import failed_checks
from reverie.values import replace

ANSWER_LIMIT_MIB = 8
_REFUSAL_LIMIT = 64 << 10
_AFTER_FINISH_S = 5.0
_AFTER_END_S = 0.25
_LONGEST_WAIT_S = 86_400.0


@dataclasses.dataclass(frozen=True, slots=True)
class Endpoint:
    """The address, headers and time limits (seconds) of a service. The values of `headers` are secrets."""

    base_url: str
    headers: Mapping[str, str] = dataclasses.field(repr=False)
    idle_s: float
    connect_s: float


class Transport:
    """The connection to one service."""

    def __init__(self, service: Service, endpoint: Endpoint) -> None:
        self._service = service
        self._endpoint = endpoint
        self._client: httpx.AsyncClient | None = None

    async def ask(self, path: str, body: Mapping[str, Any], reader: ReplyReader) -> ModelTurn:
        """Send one request and return the answer. Nothing is sent if redaction fails its self-test."""
        failed = failed_checks()
        if failed:
            raise ServiceProblem(provider.redaction_error(self._service, failed))
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        try:
            request = self._build("POST", path, content)
            response = await self._connected().send(request, stream=True)
        except httpx.TransportError as error:
            raise self._no_answer(error) from error
        try:
            if response.status_code != 200:
                raise await self._refusal(response)
            return await self._read(response, reader)
        finally:
            await response.aclose()

    async def get(self, path: str) -> Any:
        """Return the JSON document at `path` (at most 8 MiB)."""
        try:
            response = await self._connected().send(self._build("GET", path, None), stream=True)
        except httpx.TransportError as error:
            raise self._no_answer(error) from error
        try:
            if response.status_code != 200:
                raise await self._refusal(response)
            return json_object(await self._collect(response))
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise ServiceProblem(provider.cut_off_error(self._service)) from error
        finally:
            await response.aclose()

    async def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _connected(self) -> httpx.AsyncClient:
        if self._client is None:
            try:
                self._client = self._new_client()
            except (ImportError, ValueError, httpx.InvalidURL) as error:
                raise ServiceProblem(provider.proxy_settings_error(self._service)) from error
        return self._client

    def _new_client(self) -> httpx.AsyncClient:
        here = stays_here(self._endpoint.base_url)
        # A TLS context takes 20 ms; without TLS, proxy and redirects it is not needed.
        plain = here and self._endpoint.base_url.startswith("http:")
        idle, connect = self._endpoint.idle_s, self._endpoint.connect_s
        return httpx.AsyncClient(
            timeout=httpx.Timeout(idle, connect=connect, pool=connect),
            trust_env=not here,
            verify=not plain,
            follow_redirects=False,
        )

    def _build(self, method: str, path: str, content: bytes | None) -> httpx.Request:
        headers = {
            "user-agent": "reverie",
            "accept": "text/event-stream, application/json" if content else "application/json",
            # If compressed, a small answer could grow past the limit at once.
            "accept-encoding": "identity",
            **({"content-type": "application/json"} if content else {}),
            **self._endpoint.headers,
        }
        client = self._connected()
        try:
            url = self._endpoint.base_url.rstrip("/") + path
            return client.build_request(method, url, content=content, headers=headers)
        except (httpx.InvalidURL, ValueError, TypeError) as error:
            raise ServiceProblem(provider.address_error(self._service)) from error

    async def _read(self, response: httpx.Response, reader: ReplyReader) -> ModelTurn:
        kind = response.headers.get("content-type", "").lower()
        if kind.startswith("text/html"):
            raise ServiceProblem(provider.web_page_error(self._service))
        try:
            if kind.startswith("application/json"):
                reader.whole(json_object(await self._collect(response)))
            else:
                await self._stream(response, reader)
        except httpx.TransportError as error:
            if not reader.complete:
                raise self._stopped(error, reader) from error
        except httpx.DecodingError as error:
            raise ServiceProblem(
                provider.malformed_error(self._service, "sent bytes that cannot be unpacked")
            ) from error
        if not reader.complete:
            raise ServiceProblem(provider.cut_off_error(self._service), again=not reader.handed_on)
        return reader.turn()

    async def _stream(self, response: httpx.Response, reader: ReplyReader) -> None:
        parser = EventParser()
        async with contextlib.aclosing(self._counted(response)) as pieces:
            while True:
                # After the whole answer only the usage may follow, and the end that keeps the connection
                # reusable.
                patience = _AFTER_END_S if reader.ended else _AFTER_FINISH_S if reader.complete else None
                try:
                    async with asyncio.timeout(patience):
                        piece = await anext(pieces, None)
                except TimeoutError:
                    return
                if piece is None:
                    break
                for event in parser.feed(piece):
                    if not reader.ended:
                        reader.feed(event)
        for event in parser.close():
            if not reader.ended and _is_whole(event.data):
                reader.feed(event)

    async def _counted(self, response: httpx.Response) -> AsyncGenerator[bytes, None]:
        size = 0
        async for piece in response.aiter_bytes():
            size += len(piece)
            if size > ANSWER_LIMIT_MIB << 20:
                raise ServiceProblem(provider.too_large_error(self._service, ANSWER_LIMIT_MIB))
            yield piece

    async def _collect(self, response: httpx.Response) -> bytes:
        return b"".join([piece async for piece in self._counted(response)])

    async def _refusal(self, response: httpx.Response) -> ServiceRefusal:
        body = b""
        try:
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > _REFUSAL_LIMIT:
                    break
        except httpx.HTTPError:
            # The status alone is enough.
            body = b""
        kind, message = refusal_words(body)
        wait_s = retry_after(response.headers.get("retry-after"), time.time())
        return ServiceRefusal(response.status_code, kind, message, wait_s=wait_s)

    def _no_answer(self, error: httpx.TransportError) -> ServiceProblem:
        service = self._service
        if isinstance(error, httpx.ConnectTimeout | httpx.ConnectError | httpx.ProxyError):
            proxy = isinstance(error, httpx.ProxyError)
            return ServiceProblem(provider.unreachable_error(service, error, proxy=proxy), again=True)
        if isinstance(error, httpx.UnsupportedProtocol | httpx.LocalProtocolError):
            return ServiceProblem(provider.address_error(service))
        if isinstance(error, httpx.TimeoutException):
            return ServiceProblem(provider.silence_error(service, self._endpoint.idle_s))
        return ServiceProblem(provider.cut_off_error(service), again=True)

    def _stopped(self, error: httpx.TransportError, reader: ReplyReader) -> ServiceProblem:
        if isinstance(error, httpx.TimeoutException):
            return ServiceProblem(provider.silence_error(self._service, self._endpoint.idle_s))
        return ServiceProblem(provider.cut_off_error(self._service), again=not reader.handed_on)


def retry_after(value: str | None, now_s: float) -> float | None:
    """Return the seconds to wait by a `Retry-After` header, at most a day; None if there is none.

    The header holds seconds or an HTTP date, which is compared with `now_s`.
    """
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - now_s
        except (ValueError, TypeError, OverflowError):
            return None
    return min(max(0.0, seconds), _LONGEST_WAIT_S) if math.isfinite(seconds) else None


def refusal_words(body: bytes) -> tuple[str, str]:
    """Return the kind and the message of an error body, in any of the formats that services use."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return "", ""
    inner = document.get("error", document) if isinstance(document, dict) else document
    if isinstance(inner, str):
        return "", inner
    if not isinstance(inner, dict):
        return "", ""
    kinds = [inner.get(key) for key in ("code", "type")]
    message = next(
        (inner[key] for key in ("message", "detail", "error") if isinstance(inner.get(key), str)), ""
    )
    return " ".join(kind for kind in kinds if isinstance(kind, str)), message


def _is_whole(data: str) -> bool:
    if data.strip() == "[DONE]":
        return True
    try:
        json_object(data)
    except Malformed:
        return False
    return True


_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 20.0
_MOST_CHANGES = 3

Sleep = Callable[[float], Awaitable[Any]]


class RemoteProvider:
    """A `Provider` over HTTP, with retries.

    A request that the service refuses because of one of its fields is adapted once per field; a temporary
    failure is retried, never past the deadline. Nothing is repeated once a part of the answer has been passed
    on, so that visible text does not change. Pauses grow, with jitter, or have the length that the service
    asks for; a pause that would end after the deadline ends the request at once.
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
        """Ask until there is an answer or the request's deadline has passed. Raises `ProviderError`."""
        self._last = None
        try:
            async with asyncio.timeout(max(0.0, request.deadline - time.monotonic())):
                return self._without_secrets(await self._persist(request, progress))
        except TimeoutError:
            raise provider.deadline_error(self._service, self._last) from None

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    def _without_secrets(self, turn: ModelTurn) -> ModelTurn:
        """Remove keys from an answer.

        A service knows its key and may repeat it, and it must not get into any trace or record.
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
                    raise provider.patience_error(trouble.error, pause) from None
                self._last = trouble.error
            tries += 1
            progress(StreamProgress(retry=f"{self._last.title} Asking again in {pause:.0f} s."))
            await self._sleep(pause)

    async def _attempt(self, request: ModelRequest, progress: Progress) -> ModelTurn:
        """Send one request, adapted as often as the service asks for it. Raises `ServiceProblem`."""
        service = self._service
        while True:
            reader = self._wire.reader(service.model, progress)
            try:
                body = self._wire.body(service.model, request, self._changes)
                return await self._transport.ask(self._wire.path, body, reader)
            except Malformed as error:
                raise ServiceProblem(provider.malformed_error(service, str(error))) from error
            except ServiceRefusal as refusal:
                change = self._wire.adapt(refusal.status, refusal.message.lower())
                new = change is not None and change not in self._changes
                if new and len(self._changes) < _MOST_CHANGES and not reader.handed_on:
                    self._changes |= {str(change)}
                    continue
                trouble = provider.refusal_error(service, refusal, quoted=_text_of(request))
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
