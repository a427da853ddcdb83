"""How a service is asked: tries and pauses, proxies, connections, what may be sent where."""

from __future__ import annotations

import asyncio
import email.utils
import logging
import re
import time
from typing import Literal

import pytest

from helpers.asking import HEADER, KEY, MEMORY, Pauses, ask, provider_at, provider_of, question
from helpers.model_server import Call, ModelServer, Reply
from reverie.llm.provider import ProviderError, StreamProgress, UserMessage
from reverie.llm.transport import refusal_words, retry_after
from reverie.llm.wire import EventParser, ServerEvent, origin, stays_here
from reverie.text import secret_shapes
from reverie.text.redaction_check import failed_checks


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.parametrize(
    "first",
    [
        *(Reply(status=status) for status in (408, 429, 500, 502, 503, 504, 529)),
        Reply(fault="cut-early"),
        Reply(fault="cut"),
    ],
    ids=lambda reply: reply.fault or str(reply.status),
)
def test_what_may_go_better_next_time_is_tried_again(first: Reply) -> None:
    pauses, progress = Pauses(), list[StreamProgress]()
    with ModelServer([first, Reply(text="ok")]) as server:
        turn = ask(provider_of(server, max_retries=3, pauses=pauses), progress=progress)
    assert turn.message.text == "ok"
    assert len(pauses.made) == 1
    assert next(step.retry for step in progress if step.retry).endswith(" s.")


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 418])
def test_what_stays_wrong_is_not_tried_again(status: int) -> None:
    with ModelServer([Reply(status=status), Reply(text="ok")]) as server:
        with pytest.raises(ProviderError):
            ask(provider_of(server, max_retries=3))
        assert len(server.requests) == 1


def test_an_answer_that_was_shown_is_not_begun_again() -> None:
    progress: list[StreamProgress] = []
    with ModelServer([Reply(text="Once upon a time", fault="cut"), Reply(text="ok")]) as server:
        with pytest.raises(ProviderError) as caught:
            ask(provider_of(server, max_retries=3), progress=progress)
        assert len(server.requests) == 1
    assert caught.value.fault == "cut-off"
    assert "".join(step.text for step in progress) == "Once upon a time"


def test_the_number_of_tries_is_kept_to_and_pauses_grow() -> None:
    pauses = Pauses()
    with ModelServer([Reply(status=500)] * 9) as server:
        with pytest.raises(ProviderError):
            ask(provider_of(server, max_retries=4, pauses=pauses))
        assert len(server.requests) == 5
    assert [0.25 * 2**number <= pause <= 0.5 * 2**number for number, pause in enumerate(pauses.made)] == [
        True
    ] * 4


def test_a_service_that_says_how_long_to_wait_is_asked_then() -> None:
    pauses = Pauses()
    date = email.utils.formatdate(time.time() + 7, usegmt=True)
    first = [Reply(status=429, headers={"retry-after": value}) for value in ("3", date)]
    with ModelServer([*first, Reply(text="ok")]) as server:
        ask(provider_of(server, max_retries=3, pauses=pauses))
    assert pauses.made[0] == 3
    assert 4 < pauses.made[1] <= 7


def test_a_wait_beyond_the_limit_ends_at_once_and_says_how_long() -> None:
    pauses = Pauses()
    reply = Reply(status=429, headers={"retry-after": "600"})
    with ModelServer([reply]) as server, pytest.raises(ProviderError) as caught:
        ask(provider_of(server, max_retries=3, pauses=pauses))
    assert (caught.value.fault, pauses.made) == ("rate-limit", [])
    assert "10 min" in caught.value.next_step


def test_the_limit_holds_while_pausing_and_tells_what_went_wrong_before() -> None:
    class Forever(Pauses):
        async def __call__(self, seconds: float) -> None:
            await asyncio.Event().wait()

    # On a busy machine the first limit may be over before the pause begins.
    for limit_s in (0.6, 6.0, 30.0):
        with ModelServer([Reply(status=500)]) as server, pytest.raises(ProviderError) as caught:
            ask(provider_of(server, max_retries=3, pauses=Forever()), question(limit_s=limit_s))
        if caught.value.fault == "timeout" and "failed" in caught.value.cause:
            break
    assert caught.value.fault == "timeout"
    assert "failed" in caught.value.cause


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("5", 5), ("0.5", 0.5), ("-3", 0), ("Thu, 01 Jan 1970 00:01:40 GMT", 50), ("", None)]
    + [("1e300", 86_400), ("Thu, 01 Jan 9999 00:01:40 GMT", 86_400)]
    + [(text, None) for text in ("soon", "nan", "inf", "-inf", "1e400", "Thu, 99 Foo", "1 2")],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after(value, 50) == seconds


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error": {"message": "m", "type": "t", "code": "c"}}', ("c t", "m")),
        (b'{"error": "m"}', ("", "m")),
        (b'{"object": "error", "message": "m", "code": 404}', ("", "m")),
        (b'{"detail": "m"}', ("", "m")),
        (b"[1]", ("", "")),
        (b"<html>", ("", "")),
        (b'{"error": {"message": null}}', ("", "")),
    ],
)
def test_a_refusal_is_understood_in_every_usual_shape(body: bytes, words: tuple[str, str]) -> None:
    assert refusal_words(body) == words


@pytest.mark.parametrize(
    "url", ["http://localhost:1/v1", "http://127.8.9.1", "http://[::1]:8080/", "https://a.localhost."]
)
def test_a_loopback_address_stays_on_this_machine(url: str) -> None:
    assert stays_here(url)


@pytest.mark.parametrize(
    "url", ["http://localhost.example", "http://10.0.0.1", "http://127.0.0.1.example", "http://128.0.0.1"]
)
def test_any_other_address_leaves_it(url: str) -> None:
    assert not stays_here(url)


def test_an_origin_has_no_user_password_or_path() -> None:
    assert origin("https://me:pw@models.example:8443/v1?x=1") == "https://models.example:8443"
    assert origin("http://[::1]:80/v1") == "http://[::1]:80"


def test_a_proxy_carries_what_leaves_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer([Reply(text="by proxy")]) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        assert ask(provider_at("http://models.invalid/v1")).message.text == "by proxy"
        assert "POST http://models.invalid/v1/chat/completions" in proxy.sent


def test_what_is_said_to_this_machine_goes_to_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer() as proxy, ModelServer([Reply(text="ok")]) as server:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        assert ask(provider_of(server)).message.text == "ok"
        assert proxy.sent == ""


def test_the_key_and_the_headers_go_to_the_service_and_not_along_a_redirect() -> None:
    with ModelServer() as other, ModelServer() as server:
        server.script([Reply(status=307, headers={"location": f"{other.openai_url}/chat/completions"})])
        with pytest.raises(ProviderError):
            ask(provider_of(server))
        headers = server.requests[0].headers
        assert (headers["authorization"], headers["x-team"]) == (f"Bearer {KEY}", HEADER)
        assert other.sent == ""


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_no_key_header_or_text_is_in_any_log_even_of_the_libraries(
    wire: Literal["openai", "anthropic"], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with ModelServer([Reply(text=MEMORY), Reply(status=401, error=KEY)]) as server:
        ask(provider_of(server, wire))
        with pytest.raises(ProviderError):
            ask(provider_of(server, wire))
    logged = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    assert "HTTP" in logged
    assert not [secret for secret in (KEY, HEADER, MEMORY) if secret in logged]


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_service_that_says_its_key_or_a_header_brings_it_into_no_turn(
    wire: Literal["openai", "anthropic"],
) -> None:
    said = Reply(text=f"Your key is {KEY}.", calls=(Call(f"use-{KEY}", {"path": f"/{HEADER}"}),))
    with ModelServer([said]) as server:
        turn = ask(provider_of(server, wire))
    assert turn.message.text == "Your key is [key]."
    assert turn.message.tool_calls
    assert not [secret for secret in (KEY, HEADER) if secret in repr(turn)]


@pytest.mark.parametrize("key", ["x", "ollama", "lm-studio", "sk-no-key-required"])
def test_a_word_that_a_local_server_takes_for_a_key_stays_in_what_it_says(key: str) -> None:
    said = Reply(text=f"It is {key}.", calls=(Call("view", {"path": f"/notes/{key}-next.md"}),))
    with ModelServer([said]) as server:
        turn = ask(provider_of(server, key=key))
    assert turn.message.text == f"It is {key}."
    assert f"/notes/{key}-next.md" in turn.message.tool_calls[0].arguments


@pytest.mark.parametrize("key", ["a1b2c3d4", "a-key-that-is-longer-than-words-are", "Pass-word"])
def test_what_can_only_be_a_key_is_hidden_however_short(key: str) -> None:
    with ModelServer([Reply(text=f"It is {key}.")]) as server:
        assert ask(provider_of(server, key=key)).message.text == "It is [key]."


@pytest.mark.parametrize("fault", ["", "no-end"])
def test_a_connection_is_used_again(fault: str) -> None:
    async def ask_twice(server: ModelServer) -> None:
        provider = provider_of(server)
        for _ in range(2):
            await provider.complete(question())
        await provider.close()

    ports: list[int] = []
    with ModelServer([Reply(text="a", fault=fault), Reply(text="b")]) as server:  # type: ignore[arg-type]
        accepted = server.connections
        asyncio.run(ask_twice(server))
        ports.append(server.connections - accepted)
    assert ports == [1]


def test_a_closed_provider_can_be_asked_in_another_loop() -> None:
    with ModelServer([Reply(text="a"), Reply(text="b")]) as server:
        provider = provider_of(server)
        assert [ask(provider).message.text for _ in range(2)] == ["a", "b"]


def test_keep_alives_before_and_inside_an_answer_are_passed_over() -> None:
    with ModelServer([Reply(text="ok", keep_alives=50)] * 2) as server:
        for wire in ("openai", "anthropic"):
            assert ask(provider_of(server, wire)).message.text == "ok"  # type: ignore[arg-type]


def test_text_with_half_a_character_is_sent_all_the_same() -> None:
    with ModelServer([Reply(text="ok")]) as server:
        ask(provider_of(server), question(UserMessage(f"\ud83d {MEMORY}")))
        assert MEMORY in server.requests[0].user_texts[0]


def test_events_end_in_any_line_end_and_comments_are_none() -> None:
    parser = EventParser()
    events = parser.feed(
        b"\xef\xbb\xbfdata: a\r\rdata:b\r\ndata: c\n\n:comment\n\nevent: x\ndata\n\nid: 7\n\n"
    )
    assert events == [ServerEvent("", "a"), ServerEvent("", "b\nc"), ServerEvent("x", "")]
    assert parser.close() == []


def test_an_event_without_its_last_line_end_comes_with_the_end() -> None:
    parser = EventParser()
    assert parser.feed(b"data: a\r") == []
    assert parser.feed(b"\ndata: \xff") == []
    assert parser.close() == [ServerEvent("", "a\n�")]


def test_nothing_is_sent_while_redaction_fails_its_own_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern that finds nothing any more: as a broken `re`, or a wrong edit, would leave it."""
    with ModelServer([Reply(text="ok"), Reply(text="ok")]) as server:
        failed_checks.cache_clear()
        with monkeypatch.context() as broken:
            broken.setattr(secret_shapes, "_USER_INFO", re.compile(r"(?!)"))
            try:
                for _attempt in range(2):
                    with pytest.raises(ProviderError) as caught:
                        ask(provider_of(server, max_retries=3))
                    error = caught.value
                    assert (error.fault, bool(error.title), bool(error.next_step)) == (
                        "redaction",
                        True,
                        True,
                    )
                    assert "a password in an address" in error.cause
                assert (server.requests, server.connections) == ([], 0)
            finally:
                failed_checks.cache_clear()
        assert ask(provider_of(server)).message.text == "ok"
