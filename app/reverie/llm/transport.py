"""One connection to a model service over HTTP, with limits on size and time.

Proxies are taken from the environment, but not for a server on this machine, because text for it must not
leave the machine. Redirects are not followed, because the key would be sent along. A connection is reused if
the answer was read to its end. Cancelling ends the connection at once. Before the first request of a process
the redaction of secrets is tested (`text.redact`); if the test fails, nothing is ever sent.

Importing this module takes 0.15 s (httpx), so `llm.catalogue` imports it at the first request.

Threading: one event loop between the first request and `close`. Failure: `ServiceProblem`, which contains a
`ProviderError`, and `ServiceRefusal` for a refusal by the service.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import email.utils
import json
import math
import time
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import httpx

from reverie.llm import service_errors
from reverie.llm.provider import ModelTurn
from reverie.llm.service_errors import Malformed, Service, ServiceProblem, ServiceRefusal
from reverie.llm.wire import EventParser, ReplyReader, json_object, stays_here
from reverie.text.redaction_check import failed_checks

ANSWER_LIMIT_MIB = 8
_REFUSAL_LIMIT = 64 << 10
_AFTER_FINISH_S = 5.0
_AFTER_END_S = 0.25
_LONGEST_WAIT_S = 86_400.0


@dataclasses.dataclass(frozen=True, slots=True)
class Endpoint:
    """The address, headers and time limits of a service; the values of `headers` are secrets.

    `idle_s`: the longest silence of the service, in seconds; `connect_s`: the longest time to connect.
    """

    base_url: str
    headers: Mapping[str, str] = dataclasses.field(repr=False)
    idle_s: float
    connect_s: float


class Transport:
    """The HTTP connection to one service."""

    def __init__(self, service: Service, endpoint: Endpoint) -> None:
        self._service = service
        self._endpoint = endpoint
        self._client: httpx.AsyncClient | None = None

    async def ask(self, path: str, body: Mapping[str, Any], reader: ReplyReader) -> ModelTurn:
        """Send one request with `body` to the URL path `path`; return the answer that `reader` builds.

        Nothing is sent if the redaction of secrets fails its self-test. Raises `ServiceProblem`,
        `ServiceRefusal`, `Malformed`.
        """
        failed = failed_checks()
        if failed:
            raise ServiceProblem(service_errors.redaction_error(self._service, failed))
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
        """Return the JSON object at the URL path `path`, of at most 8 MiB.

        Raises `ServiceProblem`, `ServiceRefusal`, `Malformed`.
        """
        try:
            response = await self._connected().send(self._build("GET", path, None), stream=True)
        except httpx.TransportError as error:
            raise self._no_answer(error) from error
        try:
            if response.status_code != 200:
                raise await self._refusal(response)
            return json_object(await self._collect(response))
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise ServiceProblem(service_errors.cut_off_error(self._service)) from error
        finally:
            await response.aclose()

    async def close(self) -> None:
        """Close the connections to the service; the next request opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _connected(self) -> httpx.AsyncClient:
        if self._client is None:
            try:
                self._client = self._new_client()
            except (ImportError, ValueError, httpx.InvalidURL) as error:
                raise ServiceProblem(service_errors.proxy_settings_error(self._service)) from error
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
            raise ServiceProblem(service_errors.address_error(self._service)) from error

    async def _read(self, response: httpx.Response, reader: ReplyReader) -> ModelTurn:
        kind = response.headers.get("content-type", "").lower()
        if kind.startswith("text/html"):
            raise ServiceProblem(service_errors.web_page_error(self._service))
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
                service_errors.malformed_error(self._service, "sent bytes that cannot be decompressed")
            ) from error
        if not reader.complete:
            raise ServiceProblem(service_errors.cut_off_error(self._service), again=not reader.handed_on)
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
                raise ServiceProblem(service_errors.too_large_error(self._service, ANSWER_LIMIT_MIB))
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
            return ServiceProblem(service_errors.unreachable_error(service, error, proxy=proxy), again=True)
        if isinstance(error, httpx.UnsupportedProtocol | httpx.LocalProtocolError):
            return ServiceProblem(service_errors.address_error(service))
        if isinstance(error, httpx.TimeoutException):
            return ServiceProblem(service_errors.silence_error(service, self._endpoint.idle_s))
        return ServiceProblem(service_errors.cut_off_error(service), again=True)

    def _stopped(self, error: httpx.TransportError, reader: ReplyReader) -> ServiceProblem:
        if isinstance(error, httpx.TimeoutException):
            return ServiceProblem(service_errors.silence_error(self._service, self._endpoint.idle_s))
        return ServiceProblem(service_errors.cut_off_error(self._service), again=not reader.handed_on)


def retry_after(value: str | None, now_s: float) -> float | None:
    """Return the seconds to wait according to a `Retry-After` header, at most a day; None if it is invalid.

    `value`: the header, a number of seconds or an HTTP date; None if it is missing. `now_s`: the current
    time, in seconds since the epoch.
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
    """Return the kind and the message of the error in `body`, in any of the formats that services use.

    Each is empty if `body` does not contain it.
    """
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
