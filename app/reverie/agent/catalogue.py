"""Which model services there are, and how to reach each: what is known, overridden by the settings.

A model is named `provider:model`. Local services need no key, and get no proxy; the usual ports are looked at
on request only (`detect_local`). Whether text leaves this machine is told by the address, not by the name.

Threading: `known` and `provider` may ask the keyring, so not on the GUI thread. Failure: `ProviderError` with
fault `settings` or `key`; a service that is down shows only when it is asked.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from reverie.agent.anthropic import AnthropicWire
from reverie.agent.faults import Malformed, Refusal, Service, Trouble
from reverie.agent.keys import KeySource, KeyStore, find_key, usable
from reverie.agent.openai import OpenAiWire
from reverie.agent.provider import Provider, ProviderError
from reverie.agent.remote import RemoteProvider, Sleep
from reverie.agent.responses import ResponsesWire
from reverie.agent.transport import ClientFactory, Endpoint, Transport, origin, stays_here
from reverie.agent.wire import Wire

if TYPE_CHECKING:
    from reverie.settings import ProviderSettings

_CONNECT_S = 10.0
_IDLE_S = 120.0
_IDLE_LOCAL_S = 600.0
"""A model on this machine may read a long prompt for minutes before its first word."""
_DETECT_S = 2.0
_OLLAMA_CLOUD = "https://ollama.com"


@dataclass(frozen=True, slots=True)
class ModelName:
    """`provider:model`."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    """A service, as people are shown it; no key in it."""

    name: str
    wire: str
    base_url: str
    key_source: KeySource
    local: bool


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server that answers on this machine, and the models it offers."""

    provider: str
    base_url: str
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    wire: str
    base_url: str
    key_names: tuple[str, ...]
    local: bool = False


_KNOWN: Mapping[str, _Known] = {
    "openai": _Known("openai", "https://api.openai.com/v1", ("OPENAI_API_KEY",)),
    "anthropic": _Known("anthropic", "https://api.anthropic.com", ("ANTHROPIC_API_KEY",)),
    "openrouter": _Known("openai", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "ollama": _Known("openai", "http://127.0.0.1:11434/v1", ("OLLAMA_API_KEY",), local=True),
    "llamacpp": _Known("openai", "http://127.0.0.1:8080/v1", ("LLAMA_API_KEY",), local=True),
    "lmstudio": _Known("openai", "http://127.0.0.1:1234/v1", ("LM_API_TOKEN",), local=True),
    "vllm": _Known("openai", "http://127.0.0.1:8000/v1", ("VLLM_API_KEY",), local=True),
}


def parse_model(name: str) -> ModelName:
    """The two parts of `provider:model`; the model's name may hold more colons. Raises `ProviderError`."""
    provider, colon, model = name.strip().partition(":")
    if not colon or not provider or not model or any(character.isspace() for character in provider + model):
        raise ProviderError(
            "settings",
            f"{name!r} names no model.",
            cause="A model is written PROVIDER:MODEL.",
            next_step=f"Write for example openai:gpt-5 or ollama:qwen3:8b; providers: {', '.join(_KNOWN)}.",
        )
    return ModelName(provider, model)


class Catalogue:
    """The services of the settings and the known ones. `env` is the environment to look for keys in, `sleep`
    how pauses between tries are made."""

    def __init__(
        self,
        settings: Mapping[str, ProviderSettings],
        env: Mapping[str, str],
        keys: KeyStore,
        *,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._settings = settings
        self._env = env
        self._keys = keys
        self._sleep = sleep

    def known(self) -> tuple[ProviderInfo, ...]:
        """Every service, known ones first. One whose settings are incomplete has no base URL."""
        names = dict.fromkeys([*_KNOWN, *self._settings])
        return tuple(
            ProviderInfo(name, entry.wire, _shown(entry.base_url), self._key(name, entry)[1], entry.local)
            for name, entry in ((name, self._entry(name)) for name in names)
        )

    def provider(self, name: str, *, client_factory: ClientFactory | None = None) -> Provider:
        """The model called `name`, ready to be asked; nothing is sent yet. Raises `ProviderError`."""
        wanted = parse_model(name)
        entry = self._checked(wanted.provider)
        key, source = self._key(wanted.provider, entry)
        hint = _key_hint(wanted.provider, entry)
        if source in ("locked", "not answering"):
            raise ProviderError(
                "key", f"There is no key for {wanted.provider} that can be read.",
                cause="The keyring is locked." if source == "locked" else "The keyring does not answer.",
                next_step=f"Unlock the keyring and try again. {_variable_hint(entry)}".strip(),
            )  # fmt: skip
        if source == "missing":
            raise ProviderError(
                "key", f"There is no key for {wanted.provider}.",
                cause="It is neither in the environment nor in the keyring.", next_step=hint,
            )  # fmt: skip
        if key is not None and not usable(key):
            raise ProviderError(
                "key", f"The key for {wanted.provider} cannot be sent.",
                cause="It holds blanks or characters that no key has.", next_step=hint,
            )  # fmt: skip
        transport = self._transport(wanted, entry, key, client_factory)
        wish = self._settings.get(wanted.provider)
        return RemoteProvider(
            self._service(wanted, entry, key),
            _wire(wanted.provider, entry),
            transport,
            destination=_destination(wanted, entry),
            max_retries=3 if wish is None else wish.max_retries,
            sleep=self._sleep,
        )

    async def detect_local(self) -> tuple[LocalServer, ...]:
        """The local servers that answer now. Each port gets two seconds, all at once."""
        places = [(name, self._entry(name)) for name in _KNOWN if _KNOWN[name].local]
        found = await asyncio.gather(*(self._look(name, entry) for name, entry in places if entry.local))
        return tuple(server for server in found if server is not None)

    async def _look(self, name: str, entry: _Known) -> LocalServer | None:
        wanted = ModelName(name, "models")
        key, _source = self._key(name, entry)
        transport = self._transport(wanted, entry, key if key and usable(key) else None, None)
        try:
            async with asyncio.timeout(_DETECT_S):
                listed = await transport.get(_wire(name, entry).models_path)
        except (Trouble, Refusal, Malformed, TimeoutError):
            # Nobody there, or something else that listens on this port.
            return None
        finally:
            await transport.close()
        models = _models(listed)
        return None if models is None else LocalServer(name, entry.base_url, models)

    def _entry(self, name: str) -> _Known:
        """What counts for a service: the settings over what is known."""
        known = _KNOWN.get(name, _Known("openai", "", ()))
        wish = self._settings.get(name)
        if wish is None:
            return known
        url = wish.base_url or known.base_url
        names = (wish.key_env,) if wish.key_env else known.key_names
        # A known local server keeps needing no key wherever it runs; any other only on this machine.
        local = stays_here(url) if wish.base_url else known.local
        return _Known(wish.wire or known.wire, url, names, local)

    def _checked(self, name: str) -> _Known:
        if name not in _KNOWN and name not in self._settings:
            raise ProviderError(
                "settings", f"There is no provider called {name}.",
                cause=f"Known are {', '.join([*_KNOWN, *self._settings])}.",
                next_step=f"Correct the model's name, or add [providers.{name}] to the settings.",
            )  # fmt: skip
        entry = self._entry(name)
        if not _is_address(entry.base_url):
            raise ProviderError(
                "settings", f"The provider {name} has no usable address.",
                cause="Its base_url is missing or no address.",
                next_step=f"Set base_url in [providers.{name}], for example http://127.0.0.1:8000/v1.",
            )  # fmt: skip
        if _shown(entry.base_url) != entry.base_url:
            # The HTTP library logs addresses, and people are shown them.
            raise ProviderError(
                "settings", f"The address of {name} holds a user name or a password.",
                cause="Addresses are shown and logged.",
                next_step=f"Put it into the headers of [providers.{name}], as Authorization.",
            )  # fmt: skip
        return entry

    def _key(self, name: str, entry: _Known) -> tuple[str | None, KeySource]:
        wish = self._settings.get(name)
        # Headers of one's own, or a local kind of server, may stand in for a key.
        free = entry.local or (name in _KNOWN and _KNOWN[name].local)
        needed = not free and not (wish is not None and wish.headers)
        return find_key(name, entry.key_names, needed=needed, env=self._env, keys=self._keys)

    def _service(self, wanted: ModelName, entry: _Known, key: str | None) -> Service:
        wish = self._settings.get(wanted.provider)
        secrets = [*(wish.headers.values() if wish else ()), key or ""]
        hint = _key_hint(wanted.provider, entry)
        host = origin(entry.base_url)
        return Service(wanted.provider, wanted.model, host, hint, entry.local, tuple(filter(None, secrets)))

    def _transport(
        self, wanted: ModelName, entry: _Known, key: str | None, client_factory: ClientFactory | None
    ) -> Transport:
        wish = self._settings.get(wanted.provider)
        idle = (wish.timeout_s if wish else 0) or (_IDLE_LOCAL_S if entry.local else _IDLE_S)
        headers = {**_wire(wanted.provider, entry).headers(key), **(wish.headers if wish else {})}
        base_url = entry.base_url.rstrip("/")
        if entry.wire == "anthropic":
            # The format's own path begins with the version; both ways of writing the address are common.
            base_url = base_url.removesuffix("/v1")
        endpoint = Endpoint(base_url, headers, idle, min(_CONNECT_S, idle))
        return Transport(self._service(wanted, entry, key), endpoint, client_factory=client_factory)


def _wire(provider: str, entry: _Known) -> Wire:
    if entry.wire == "anthropic":
        return AnthropicWire()
    if entry.wire == "openai-responses":
        return ResponsesWire()
    return OpenAiWire("max_completion_tokens" if provider == "openai" else "max_tokens")


def _destination(wanted: ModelName, entry: _Known) -> str:
    if not stays_here(entry.base_url):
        return origin(entry.base_url)
    # Ollama hands such models on to its own service.
    cloud = wanted.provider == "ollama" and wanted.model.endswith(("-cloud", ":cloud"))
    return _OLLAMA_CLOUD if cloud else ""


def _key_hint(provider: str, entry: _Known) -> str:
    variable = f"Set {entry.key_names[0]}, or enter" if entry.key_names else "Enter"
    return f"{variable} a key for {provider} in the settings dialog."


def _variable_hint(entry: _Known) -> str:
    return f"Or set {entry.key_names[0]}." if entry.key_names else ""


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _shown(url: str) -> str:
    """`url` without user and password."""
    return re.sub(r"//[^/]*@", "//", url)


def _models(listed: Any) -> tuple[str, ...] | None:
    """The ids in a list of models; None for a document that is none."""
    rows = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(rows, list):
        # Ollama without a model says null.
        return () if isinstance(listed, dict) and listed.get("object") == "list" else None
    ids = [row.get("id") for row in rows if isinstance(row, dict)]
    return tuple(name for name in ids if isinstance(name, str))
