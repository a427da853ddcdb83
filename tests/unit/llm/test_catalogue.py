"""Which services there are, how settings change them, where text goes, and what they offer."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from helpers.asking import KEY, MemoryKeys, ask
from helpers.model_server import ModelServer, Reply
from reverie.llm.catalogue import Catalogue, ModelName, parse_model
from reverie.llm.keys import TypedKey
from reverie.llm.provider import ProviderError
from reverie.settings import ProviderSettings


def catalogue(env: dict[str, str] | None = None, **settings: ProviderSettings) -> Catalogue:
    return Catalogue(settings, env or {}, MemoryKeys(openrouter=KEY))


def refused(name: str, **settings: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        catalogue(**settings).provider(name)
    assert caught.value.next_step
    return caught.value


def test_a_model_is_named_by_provider_and_model_with_colons_of_its_own() -> None:
    assert parse_model("openai:gpt-5") == ModelName("openai", "gpt-5")
    assert str(parse_model(" ollama:qwen3:8b ")) == "ollama:qwen3:8b"


@pytest.mark.parametrize("name", ["", "gpt-5", ":x", "openai:", "open ai:x", "a:b c"])
def test_what_names_no_model_says_how_to_write_one(name: str) -> None:
    with pytest.raises(ProviderError) as caught:
        parse_model(name)
    assert caught.value.fault == "settings"
    assert "openai:gpt-5" in caught.value.next_step


def test_every_known_service_says_where_its_key_comes_from() -> None:
    known = {info.name: info for info in catalogue({"OPENAI_API_KEY": KEY}).known()}
    assert {name: info.key_source for name, info in known.items()} == {
        "openai": "environment",
        "anthropic": "missing",
        "openrouter": "keyring",
        "ollama": "none needed",
        "llamacpp": "none needed",
        "lmstudio": "none needed",
        "vllm": "none needed",
    }
    assert [name for name, info in known.items() if info.local] == ["ollama", "llamacpp", "lmstudio", "vllm"]
    assert KEY not in repr(known)


def test_settings_add_services_and_override_known_ones() -> None:
    work = ProviderSettings(
        wire="anthropic", base_url="https://models.example", headers={"X": "secret-value"}
    )
    moved = ProviderSettings(base_url="http://10.0.0.7:11434/v1")
    known = {info.name: info for info in catalogue(work=work, ollama=moved).known()}
    assert (known["work"].wire, known["work"].key_source, known["work"].local) == (
        "anthropic",
        "none needed",
        False,
    )
    assert (known["ollama"].wire, known["ollama"].base_url, known["ollama"].local) == (
        "openai",
        "http://10.0.0.7:11434/v1",
        False,
    )
    assert known["ollama"].key_source == "none needed"
    assert "secret-value" not in repr(known)


@pytest.mark.parametrize(
    ("name", "destination"),
    [
        ("openrouter:x/y", "https://openrouter.ai"),
        ("ollama:qwen3:8b", ""),
        ("ollama:gpt-oss:120b-cloud", "https://ollama.com"),
        ("lan:x", "http://10.0.0.7:8000"),
        ("here:x", ""),
        ("here:x:120b-cloud", "http://localhost:9"),
    ],
)
def test_where_text_goes_is_told_by_the_address(name: str, destination: str) -> None:
    lan = ProviderSettings(base_url="http://10.0.0.7:8000/v1", headers={"X": "y"})
    here = ProviderSettings(base_url="http://localhost:9/v1")
    provider = catalogue(lan=lan, here=here).provider(name)
    assert (provider.name, provider.destination) == (name, destination)


def test_an_unknown_provider_lists_the_known_ones() -> None:
    error = refused("opnai:gpt-5", work=ProviderSettings())
    assert error.fault == "settings"
    assert "openai" in error.cause
    assert "work" in error.cause


@pytest.mark.parametrize("url", ["", "http://", "http://x:99999999/", "http://[::1/"])
def test_a_provider_without_a_usable_address_says_so(url: str) -> None:
    error = refused(
        "work:m", work=ProviderSettings.model_construct(base_url=url, wire="", headers={}, key_env="")
    )
    assert error.fault == "settings"
    assert "base_url" in error.cause


def test_an_address_with_a_password_is_refused_and_never_shown() -> None:
    lan = ProviderSettings(base_url="http://user:pass-word@10.0.0.7:8000/v1")
    error = refused("lan:m", lan=lan)
    assert error.fault == "settings"
    assert "headers" in error.next_step
    assert "pass-word" not in str(error) + repr(catalogue(lan=lan).known())


def test_a_missing_key_says_which_variable_to_set() -> None:
    assert "ANTHROPIC_API_KEY" in refused("anthropic:claude").next_step
    assert refused("anthropic:claude").fault == "key"
    assert "MY_KEY" in refused("openai:x", openai=ProviderSettings(key_env="MY_KEY")).next_step


@pytest.mark.parametrize("key", ["sk test", "sk-tést", "sk\n-x"])
def test_a_key_that_cannot_be_sent_is_not_and_not_shown(key: str) -> None:
    with pytest.raises(ProviderError) as caught:
        catalogue({"OPENAI_API_KEY": key}).provider("openai:x")
    assert caught.value.fault == "key"
    assert key not in str(caught.value)


def test_headers_that_cannot_be_sent_are_the_settings_fault_and_not_shown() -> None:
    bad = ProviderSettings(base_url="http://127.0.0.1:9/v1", headers={"X-Team": "blaü\r\nX: y"})
    with pytest.raises(ProviderError) as caught:
        ask(catalogue(work=bad).provider("work:m"))
    assert caught.value.fault == "settings"
    assert "bla" not in str(caught.value)


def test_an_anthropic_address_may_be_written_with_its_version() -> None:
    with ModelServer([Reply(text="ok")]) as server:
        work = ProviderSettings(wire="anthropic", base_url=f"{server.url}/v1/")
        assert ask(catalogue(work=work).provider("work:m")).message.text == "ok"


def test_openai_itself_gets_its_own_name_for_the_limit() -> None:
    with ModelServer([Reply(text="ok")]) as server:
        own = ProviderSettings(base_url=server.openai_url)
        ask(catalogue(openai=own).provider("openai:gpt-5"))
        assert "max_completion_tokens" in server.requests[0].body


def listed(name: str, keys: Any = None, **settings: ProviderSettings) -> tuple[str, ...]:
    services = Catalogue(settings, {}, keys or MemoryKeys(openrouter=KEY))
    return asyncio.run(services.models(name))


def test_a_service_lists_its_models_without_being_asked_anything_else() -> None:
    with ModelServer(models=["qwen3:8b", "llama"]) as server:
        assert listed("ollama", ollama=ProviderSettings(base_url=server.openai_url)) == ("qwen3:8b", "llama")
        assert server.requests == []


def test_a_key_that_was_typed_counts_before_it_is_kept() -> None:
    kept = MemoryKeys()
    with ModelServer(models=["m"]) as server:
        own = ProviderSettings(base_url=server.openai_url)
        assert listed("openrouter", TypedKey(kept, "openrouter", KEY), openrouter=own) == ("m",)
    assert kept.get("openrouter") is None
    typed = TypedKey(kept, "openrouter", KEY)
    assert (typed.get("openrouter"), typed.get("openai"), typed.trouble) == (KEY, None, "")


def test_a_service_without_a_key_or_an_address_or_that_is_down_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        closed = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    for name, fault, settings in (
        ("openai", "key", {}),
        ("nobody", "settings", {}),
        ("ollama", "unreachable", {"ollama": ProviderSettings(base_url=closed)}),
    ):
        with pytest.raises(ProviderError) as caught:
            listed(name, **settings)
        assert caught.value.fault == fault


@pytest.mark.parametrize("head", [b"", b"content-encoding: gzip\r\n"])
def test_something_else_at_the_address_is_no_model_server(head: bytes) -> None:
    async def page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n" + head + b"\r\n<html>hi!")
        await writer.drain()
        writer.close()

    async def look() -> tuple[str, ...]:
        server = await asyncio.start_server(page, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            own = ProviderSettings(base_url=f"http://127.0.0.1:{port}/v1")
            return await catalogue(llamacpp=own).models("llamacpp")

    with pytest.raises(ProviderError):
        asyncio.run(look())
