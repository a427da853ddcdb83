"""The fault matrix of model services: each ends in the right fault, with a sentence that says what to do,
before its limit, and without a key, a header or a memory in any text.

Over real sockets, in both wire formats where both can have it.
"""

from __future__ import annotations

import asyncio
import datetime
import gc
import ipaddress
import json
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any, Literal

import pytest

from helpers.asking import HEADER, KEY, MEMORY, Pauses, ask, provider_at, provider_of, question, told
from helpers.model_server import Call, ModelServer, Reply
from reverie.llm.provider import ProviderError, ProviderFault
from reverie.resources import resource_table

Format = Literal["openai", "anthropic"]


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@dataclass(frozen=True)
class Case:
    """`says` is in the sentence; `limit_s` the time limit, `idle_s` the longest silence."""

    reply: Reply
    fault: ProviderFault
    says: str
    limit_s: float = 20
    idle_s: float = 10


ECHO = f"Incorrect API key provided: {KEY}, team {HEADER}"
HUGE = "x" * (10 << 20)
BOTH = {
    "401": Case(Reply(status=401, error=ECHO), "key", "TEST_KEY"),
    "403": Case(Reply(status=403), "key", "TEST_KEY"),
    "402": Case(Reply(status=402), "refused", "Add credit"),
    "404 without words": Case(Reply(status=404, body=b"not found"), "settings", "base_url"),
    "405": Case(Reply(status=405, body=b""), "settings", "base_url"),
    "redirect": Case(Reply(status=308, headers={"location": "http://127.0.0.1:1/"}), "settings", "base_url"),
    "400": Case(Reply(status=400, error="no idea"), "refused", "no idea"),
    "400 that quotes the request": Case(
        Reply(status=400, error=f"bad message: {MEMORY}"), "refused", "answered 400"
    ),
    "408": Case(Reply(status=408), "timeout", "Try again"),
    "413": Case(Reply(status=413), "too-large", "larger context"),
    "429": Case(Reply(status=429), "rate-limit", "Wait"),
    "429 for longer than the limit": Case(
        Reply(status=429, headers={"retry-after": "900"}), "rate-limit", "Wait"
    ),
    "429 without quota": Case(Reply(status=429, error_type="insufficient_quota"), "refused", "Add credit"),
    "500": Case(Reply(status=500), "server", "Try again later"),
    "502 with a web page": Case(Reply(status=502, body=b"<html>Bad Gateway"), "server", "502"),
    "503": Case(Reply(status=503), "overloaded", "Try again later"),
    "529": Case(Reply(status=529), "overloaded", "Try again later"),
    "status that nobody knows": Case(Reply(status=418), "refused", "418"),
    "hang before headers": Case(Reply(fault="hang"), "timeout", "timeout_s", idle_s=0.1),
    "hang before headers until the limit": Case(Reply(fault="hang"), "timeout", "time limit", limit_s=0.1),
    "hang midway": Case(Reply(text="Once", fault="hang-midway"), "timeout", "timeout_s", idle_s=0.1),
    "hang midway until the limit": Case(
        Reply(text="Once", fault="hang-midway"), "timeout", "time limit", limit_s=0.1
    ),
    "keep-alives for ever": Case(Reply(fault="keep-alives"), "timeout", "time limit", limit_s=0.2),
    "no time at all": Case(Reply(text="x"), "timeout", "time limit", limit_s=-1),
    "cut before the headers": Case(Reply(fault="cut-early"), "cut-off", "connection"),
    "cut in the text": Case(Reply(text="Once upon", fault="cut"), "cut-off", "connection"),
    "cut in a call": Case(Reply(calls=(Call("view", {"a": "b"}),), fault="cut"), "cut-off", "connection"),
    "broken JSON": Case(Reply(text="Once", fault="broken-json"), "malformed", "not JSON"),
    "an event that is no object": Case(Reply(events=("[1]",)), "malformed", "not a JSON object"),
    "no bytes in the stream": Case(Reply(events=()), "cut-off", "connection"),
    "10 MB of text": Case(Reply(text=HUGE), "too-large", "8 MiB"),
    "10 MB in one line": Case(Reply(events=(HUGE,)), "too-large", "8 MiB"),
    "a web page": Case(Reply(body=b"<html>", headers={"content-type": "text/html"}), "settings", "web page"),
    "JSON that is no answer": Case(Reply(body=b'{"hello": 1}'), "malformed", "without a "),
    "half of a JSON answer": Case(Reply(body=b'{"choices": ['), "malformed", "not JSON"),
    "unpackable bytes": Case(
        Reply(body=b"\x00\x01", headers={"content-encoding": "gzip"}), "malformed", "decompressed"
    ),
}
OPENAI = {
    "404 model": Case(
        Reply(status=404, error="The model `x` does not exist", error_type="invalid_request_error"),
        "model",
        "test-model",
    ),
    "model not pulled": Case(
        Reply(status=404, error='model "x" not found, try pulling it first'), "model", "pull"
    ),
    "no model by that name at a broker": Case(
        Reply(status=400, error="x is not a valid model ID"), "model", "Check its name"
    ),
    "model without tools": Case(
        Reply(status=400, error="registry/x does not support tools"), "model", "tool calling"
    ),
    "context too small": Case(
        Reply(status=400, error="This model's maximum context length is 8192 tokens"),
        "too-large",
        "larger context",
    ),
    "empty choices": Case(Reply(fault="no-choices"), "malformed", "without a choice"),
    "error inside the stream": Case(
        Reply(text="Once", fault="error-event", error=ECHO, error_type="server_error"), "server", "Try again"
    ),
    "error as text": Case(Reply(status=400, body=b'{"error": "no such thing"}'), "refused", "no such thing"),
}
ANTHROPIC = {
    "404 model": Case(
        Reply(status=404, error="model: x", error_type="not_found_error"), "model", "test-model"
    ),
    "prompt too long": Case(
        Reply(status=400, error="prompt is too long: 210000 tokens > 200000 maximum"),
        "too-large",
        "larger context",
    ),
    "no message": Case(Reply(fault="no-choices"), "cut-off", "connection"),
    "overloaded inside the stream": Case(
        Reply(text="Once", fault="error-event", error_type="overloaded_error"), "overloaded", "Try again"
    ),
}
MATRIX = [
    pytest.param(wire, case, id=f"{wire}: {name}")
    for wire, cases in (("openai", BOTH | OPENAI), ("anthropic", BOTH | ANTHROPIC))
    for name, case in cases.items()
]


def check(error: ProviderError, fault: str, says: str) -> None:
    shown = told(error)
    assert (error.fault, error.reason) == (fault, f"provider-{fault}")
    assert says in str(error)
    assert error.title
    assert error.cause
    assert error.next_step
    assert not any(secret in shown for secret in (KEY, HEADER, MEMORY, "third shelf")), shown


@pytest.mark.parametrize(("wire", "case"), MATRIX)
def test_each_fault_is_told_apart_and_says_what_to_do(wire: Format, case: Case) -> None:
    with ModelServer([case.reply]) as server:
        provider = provider_of(server, wire, timeout_s=case.idle_s)
        with pytest.raises(ProviderError) as caught:
            ask(provider, question(limit_s=case.limit_s))
    check(caught.value, case.fault, case.says)


def test_the_matrix_is_as_large_as_was_promised() -> None:
    assert len(BOTH | OPENAI | ANTHROPIC) >= 30


def fails(url: str, **wishes: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        ask(provider_at(url, **wishes))
    return caught.value


def test_every_text_of_the_tables_names_only_what_is_known() -> None:
    known = {"called", "model", "name", "host", "key_hint", "start"}  # of every service
    more = {
        **{row: {"status"} for row in ("key", "address", "waited", "rate", "overloaded", "server", "other")},
        "malformed": {"what"}, "long-answer": {"limit_mib"}, "silence": {"idle_s"}, "deadline": {"before"},
        "redaction": {"missed"}, "model-name": {"known"}, "unknown-provider": {"known"},
        "keyring": {"state", "variable"}, "no-key": {"hint"}, "unusable-key": {"hint"},
    }  # fmt: skip
    for row, texts in {**resource_table("refusals.toml"), **resource_table("model_errors.toml")}.items():
        named = {
            field
            for text in texts.values()
            if isinstance(text, str)
            for _before, field, _format, _conversion in Formatter().parse(text)
            if field is not None
        }
        assert more.get(row, set()) <= named <= known | more.get(row, set()), row


def test_a_refused_connection_says_to_start_the_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    check(fails(f"http://127.0.0.1:{port}/v1"), "unreachable", "Start the server")


def test_an_unknown_name_says_to_check_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_arguments: Any, **_more: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    check(fails("http://models.invalid/v1"), "unreachable", "is not known")


def test_a_server_without_tls_says_to_check_the_scheme() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    async def asking() -> ProviderError:
        async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
            provider = provider_at(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
            with pytest.raises(ProviderError) as caught:
                await provider.complete(question())
            await provider.close()
        return caught.value

    check(asyncio.run(asking()), "unreachable", "begin with http://")


def test_a_certificate_that_is_not_trusted_says_so(tmp_path: Path) -> None:
    with ModelServer(tls=own_certificate(tmp_path)) as server:
        check(fails(server.openai_url), "unreachable", "certificate")


def own_certificate(directory: Path) -> ssl.SSLContext:
    """A server's context with a certificate that nobody signed."""
    pytest.importorskip("cryptography")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(now - datetime.timedelta(days=1))
    made = made.not_valid_after(now + datetime.timedelta(days=1)).add_extension(here, critical=False)
    encoding, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    file = directory / "server.pem"
    file.write_bytes(
        made.sign(key, hashes.SHA256()).public_bytes(encoding)
        + key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, plain)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


@pytest.mark.parametrize(
    "proxy", ["http://user:proxy-password@127.0.0.1:{port}", "socks9://127.0.0.1:{port}"]
)
def test_a_proxy_that_does_not_work_is_named_without_its_password(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv("HTTP_PROXY", proxy.format(port=port))
    error = fails("http://models.invalid/v1")
    assert error.fault in {"unreachable", "settings"}
    assert "proxy-password" not in told(error)


@pytest.mark.parametrize("fault", ["hang", "hang-midway", "keep-alives"])
@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_cancelling_ends_the_connection(wire: Format, fault: Any) -> None:
    async def cancel_it(server: ModelServer) -> None:
        provider = provider_of(server, wire)
        task = asyncio.ensure_future(provider.complete(question()))
        await asyncio.to_thread(server.wait_for_requests)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # Before `close`: cancelling alone has to do.
        await asyncio.to_thread(server.wait_for_hang_up)
        await provider.close()

    with ModelServer([Reply(text="Once", fault=fault)]) as server:
        asyncio.run(cancel_it(server))
        assert server.open_questions == 0


@pytest.mark.parametrize("place", ["before it begins", "before the headers", "in the text", "in a pause"])
def test_cancelled_at_any_wait_it_ends_and_can_be_asked_again(place: str) -> None:
    first = {
        "before the headers": Reply(fault="hang"),
        "in the text": Reply(text="Once", fault="hang-midway"),
        "in a pause": Reply(status=500),
    }

    async def cancel_and_ask(server: ModelServer) -> str:
        there = asyncio.Event()

        class Forever(Pauses):
            async def __call__(self, seconds: float) -> None:
                there.set()
                await asyncio.Event().wait()

        provider = provider_of(server, pauses=Forever(), max_retries=1)
        shown = (lambda _step: there.set()) if place == "in the text" else (lambda _step: None)
        task = asyncio.ensure_future(provider.complete(question(), progress=shown))
        if place == "before the headers":
            await asyncio.to_thread(server.wait_for_requests)
        elif place != "before it begins":
            await there.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        answer = await provider.complete(question())
        await provider.close()
        return answer.message.text

    with ModelServer([*filter(None, [first.get(place)]), Reply(text="ok")]) as server:
        assert asyncio.run(cancel_and_ask(server)) == "ok"


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_cancelled_after_any_turn_of_the_event_loop_it_leaves_nothing_open(wire: Format) -> None:
    """Unclosed sockets would fail this or a later test (warnings are errors)."""

    async def cancel_after(turns: int, server: ModelServer) -> bool:
        provider = provider_of(server, wire)
        task = asyncio.ensure_future(provider.complete(question()))
        for _ in range(turns):
            await asyncio.sleep(0)
        cancelled = task.cancel()
        if cancelled:
            with pytest.raises(asyncio.CancelledError):
                await task
        assert (await provider.complete(question())).message.text == "ok"
        await provider.close()
        return cancelled

    with ModelServer() as server:
        server.answer = lambda _request: Reply(text="ok", keep_alives=2)
        assert asyncio.run(cancel_after(1, server))
        for turns in range(2, 22):
            asyncio.run(cancel_after(turns, server))
    gc.collect()


def test_the_clock_of_the_day_may_jump(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits are on the monotonic clock; the time of day only reads HTTP dates."""
    monkeypatch.setattr("reverie.llm.transport.time.time", lambda: -(10.0**9))
    with ModelServer([Reply(text="ok")]) as server:
        assert ask(provider_of(server)).message.text == "ok"


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_hundred_parallel_calls_arrive_in_order(wire: Format) -> None:
    calls = tuple(Call("view", {"number": number}) for number in range(100))
    with ModelServer([Reply(calls=calls)]) as server:
        made = ask(provider_of(server, wire)).message.tool_calls
    assert [json.loads(call.arguments)["number"] for call in made] == list(range(100))
