"""HTTP to one model service: one attempt at a time, its bytes counted, its silence bounded.

Proxies come from the environment, but never for a server on this machine: what is said to it stays here.
Redirects are not followed (the key would go with them). A connection is used again when the answer was read
to its end. The deadline is the caller's (`remote`): it cancels what happens here, and cancelling ends the
connection at once.

Before the first request of a process the redaction of secrets is tested (`text.redact_check`); if it fails,
no question is ever sent.

Threading: one event loop between the first request and `close`. Failure: `Trouble` around a `ProviderError`;
`Refusal` for what the service said no to.
"""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import ipaddress
import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from reverie.agent import faults
from reverie.agent.faults import Malformed, Refusal, Service, Trouble
from reverie.agent.messages import Turn
from reverie.agent.sse import Event, EventParser
from reverie.text.redact_check import failed_checks

if TYPE_CHECKING:
    import httpx

ANSWER_LIMIT_MIB = 8
_REFUSAL_LIMIT = 64 << 10
_AFTER_FINISH_S = 5.0
_AFTER_END_S = 0.25

ClientFactory = Callable[[], "httpx.AsyncClient"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where and how to ask. The values of `headers` are secrets."""

    base_url: str
    headers: Mapping[str, str] = field(repr=False)
    idle_s: float
    connect_s: float


class Reader(Protocol):
    """Makes a `Turn` of one answer. Raises `Refusal` and `Malformed`."""

    @property
    def handed_on(self) -> bool:
        """Whether anything of the answer has been shown."""

    @property
    def complete(self) -> bool:
        """Whether the answer is whole, though more (usage) may follow."""

    @property
    def ended(self) -> bool:
        """Whether nothing more follows."""

    def feed(self, event: Event) -> None:
        """The next event of a stream."""

    def whole(self, document: Mapping[str, Any]) -> None:
        """The answer of a server that does not stream."""

    def turn(self) -> Turn:
        """The answer, once complete."""


class Transport:
    """The connection to one service."""

    def __init__(
        self, service: Service, endpoint: Endpoint, *, client_factory: ClientFactory | None = None
    ) -> None:
        self._service = service
        self._endpoint = endpoint
        self._make = client_factory or self._new_client
        self._client: httpx.AsyncClient | None = None

    async def ask(self, path: str, body: Mapping[str, Any], reader: Reader) -> Turn:
        """One attempt. Nothing leaves while redaction fails its own test."""
        import httpx

        failed = failed_checks()
        if failed:
            raise Trouble(faults.redaction_error(failed))
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
        """The JSON document at `path` (at most 8 MiB)."""
        import httpx

        try:
            response = await self._connected().send(self._build("GET", path, None), stream=True)
        except httpx.TransportError as error:
            raise self._no_answer(error) from error
        try:
            if response.status_code != 200:
                raise await self._refusal(response)
            return json_object(await self._collect(response))
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise Trouble(faults.cut_off_error(self._service)) from error
        finally:
            await response.aclose()

    async def close(self) -> None:
        """Let the connections go; the next request opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _connected(self) -> httpx.AsyncClient:
        if self._client is None:
            import httpx

            try:
                self._client = self._make()
            except (ImportError, ValueError, httpx.InvalidURL) as error:
                raise Trouble(faults.proxy_settings_error(self._service)) from error
        return self._client

    def _new_client(self) -> httpx.AsyncClient:
        import httpx

        here = stays_here(self._endpoint.base_url)
        # A TLS context costs 20 ms; without TLS, proxy and redirects there is no use for one.
        plain = here and self._endpoint.base_url.startswith("http:")
        idle, connect = self._endpoint.idle_s, self._endpoint.connect_s
        return httpx.AsyncClient(
            timeout=httpx.Timeout(idle, connect=connect, pool=connect),
            trust_env=not here,
            verify=not plain,
            follow_redirects=False,
        )

    def _build(self, method: str, path: str, content: bytes | None) -> httpx.Request:
        import httpx

        headers = {
            "user-agent": "reverie",
            "accept": "text/event-stream, application/json" if content else "application/json",
            # Compressed, a small answer could grow past the limit at once.
            "accept-encoding": "identity",
            **({"content-type": "application/json"} if content else {}),
            **self._endpoint.headers,
        }
        client = self._connected()
        try:
            url = self._endpoint.base_url.rstrip("/") + path
            return client.build_request(method, url, content=content, headers=headers)
        except (httpx.InvalidURL, ValueError, TypeError) as error:
            raise Trouble(faults.address_error(self._service)) from error

    async def _read(self, response: httpx.Response, reader: Reader) -> Turn:
        import httpx

        kind = response.headers.get("content-type", "").lower()
        if kind.startswith("text/html"):
            raise Trouble(faults.web_page_error(self._service))
        try:
            if kind.startswith("application/json"):
                reader.whole(json_object(await self._collect(response)))
            else:
                await self._stream(response, reader)
        except httpx.TransportError as error:
            if not reader.complete:
                raise self._stopped(error, reader) from error
        except httpx.DecodingError as error:
            raise Trouble(
                faults.malformed_error(self._service, "sent bytes that cannot be unpacked")
            ) from error
        if not reader.complete:
            raise Trouble(faults.cut_off_error(self._service), again=not reader.handed_on)
        return reader.turn()

    async def _stream(self, response: httpx.Response, reader: Reader) -> None:
        parser = EventParser()
        async with contextlib.aclosing(self._counted(response)) as pieces:
            while True:
                # Once all is said there is little to wait for: usage, and the end that lets the connection
                # live.
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
                raise Trouble(faults.too_large_error(self._service, ANSWER_LIMIT_MIB))
            yield piece

    async def _collect(self, response: httpx.Response) -> bytes:
        return b"".join([piece async for piece in self._counted(response)])

    async def _refusal(self, response: httpx.Response) -> Refusal:
        import httpx

        body = b""
        try:
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > _REFUSAL_LIMIT:
                    break
        except httpx.HTTPError:
            # The status says enough.
            body = b""
        kind, message = refusal_words(body)
        wait_s = retry_after(response.headers.get("retry-after"), time.time())
        return Refusal(response.status_code, kind, message, wait_s=wait_s)

    def _no_answer(self, error: httpx.TransportError) -> Trouble:
        import httpx

        service = self._service
        if isinstance(error, httpx.ConnectTimeout | httpx.ConnectError | httpx.ProxyError):
            proxy = isinstance(error, httpx.ProxyError)
            return Trouble(faults.unreachable_error(service, error, proxy=proxy), again=True)
        if isinstance(error, httpx.UnsupportedProtocol | httpx.LocalProtocolError):
            return Trouble(faults.address_error(service))
        if isinstance(error, httpx.TimeoutException):
            return Trouble(faults.silence_error(service, self._endpoint.idle_s))
        return Trouble(faults.cut_off_error(service), again=True)

    def _stopped(self, error: httpx.TransportError, reader: Reader) -> Trouble:
        import httpx

        if isinstance(error, httpx.TimeoutException):
            return Trouble(faults.silence_error(self._service, self._endpoint.idle_s))
        return Trouble(faults.cut_off_error(self._service), again=not reader.handed_on)


def stays_here(url: str) -> bool:
    """Whether `url` is a place on this machine."""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
        return host == "localhost" or host.endswith(".localhost") or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def origin(url: str) -> str:
    """Scheme, host and port of `url`, without user, password and path. Raises `ValueError` for no address."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}"


def retry_after(value: str | None, now_s: float) -> float | None:
    """Seconds to wait by a `Retry-After` header, in seconds or as an HTTP date; None: not said."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - now_s
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if seconds == seconds else None


def refusal_words(body: bytes) -> tuple[str, str]:
    """The kind and the message of an error body, in any of the shapes that services use."""
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


def json_object(text: str | bytes) -> dict[str, Any]:
    """The JSON object in `text`. Raises `Malformed`."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise Malformed("sent an event that is not JSON") from None
    if not isinstance(document, dict):
        raise Malformed("sent an event that is not a JSON object")
    return document


def _is_whole(data: str) -> bool:
    if data.strip() == "[DONE]":
        return True
    try:
        json_object(data)
    except Malformed:
        return False
    return True
