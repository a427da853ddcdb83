"""The available model services, and how to reach each.

Built-in services can be overridden by the settings. A model is named `provider:model`. Local services need no
key and use no proxy; no service gets a request before a person or a run needs it. Whether text leaves this
machine depends on the address, not on the name.

Threading: `known` and `provider` may call the keyring (`llm.keys`), so not on the GUI thread. Failure:
`ProviderError` with fault `settings` or `key`; a service that does not respond is noticed only at the first
request.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from reverie.agents.capabilities import KeySource, ProviderInfo
from reverie.llm.keys import NETWORK_VARIABLES, KeyStore, find_key, usable
from reverie.llm.provider import (
    Provider,
)
from reverie.llm.service_errors import (
    Malformed,
    Service,
    ServiceProblem,
    ServiceRefusal,
    malformed_error,
    problem,
    refusal_error,
    silence_error,
)
from reverie.llm.wire import Wire, origin, stays_here
from reverie.llm.wire_anthropic import AnthropicWire
from reverie.llm.wire_chat import OpenAiWire
from reverie.llm.wire_responses import ResponsesWire
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.llm.remote_provider import Sleep
    from reverie.llm.transport import Transport
    from reverie.settings import ProviderSettings


_CONNECT_S = 10.0
_IDLE_S = 120.0
_IDLE_LOCAL_S = 600.0
"""The longest silence of a local service, in seconds.

It is long because a local model may read a long prompt for minutes before its first word.
"""
_LIST_S = 10.0
_OLLAMA_CLOUD = "https://ollama.com"


class ModelName(Struct, frozen=True):
    """A model of a service, written `provider:model`."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


class _KnownService(Struct, frozen=True):
    wire: str
    base_url: str
    key_names: tuple[str, ...]
    local: bool = False


_KNOWN: Mapping[str, _KnownService] = {
    "openai": _KnownService("openai", "https://api.openai.com/v1", ("OPENAI_API_KEY",)),
    "anthropic": _KnownService("anthropic", "https://api.anthropic.com", ("ANTHROPIC_API_KEY",)),
    "openrouter": _KnownService("openai", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "ollama": _KnownService("openai", "http://127.0.0.1:11434/v1", ("OLLAMA_API_KEY",), local=True),
    "llamacpp": _KnownService("openai", "http://127.0.0.1:8080/v1", ("LLAMA_API_KEY",), local=True),
    "lmstudio": _KnownService("openai", "http://127.0.0.1:1234/v1", ("LM_API_TOKEN",), local=True),
    "vllm": _KnownService("openai", "http://127.0.0.1:8000/v1", ("VLLM_API_KEY",), local=True),
}


def parse_model(name: str) -> ModelName:
    """Split the name `provider:model` into its two parts; raise `ProviderError` if it has another form.

    The model may contain more colons.
    """
    provider, colon, model = name.strip().partition(":")
    if not colon or not provider or not model or any(character.isspace() for character in provider + model):
        raise problem("model-name", name=name, known=", ".join(_KNOWN))
    return ModelName(provider, model)


class Catalogue:
    """The model services that can be used: built-in ones, and services in the settings.

    `settings`: the configured services by name. Keys come from the environment variables `env`, else from
    `keys`. `sleep` is used for the pauses between attempts.
    """

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
        """Return all services, built-in ones first.

        The base URL of a service with incomplete settings is empty.
        """
        names = dict.fromkeys([*_KNOWN, *self._settings])
        return tuple(
            ProviderInfo(name, entry.wire, _shown(entry.base_url), self._key(name, entry)[1], entry.local)
            for name, entry in ((name, self._entry(name)) for name in names)
        )

    def variables(self) -> frozenset[str]:
        """Return the environment variables that may contain a key or affect the connection to a service."""
        names = (*_KNOWN, *self._settings)
        return NETWORK_VARIABLES.union(*(self._entry(name).key_names for name in names))

    def provider(self, name: str) -> Provider:
        """Return the model `name` (`provider:model`), ready for requests; nothing is sent yet.

        Raises `ProviderError`.
        """
        wanted = parse_model(name)
        entry, key = self._reachable(wanted.provider)
        # Late: only a request needs httpx, which takes 0.15 s to import.
        from reverie.llm.remote_provider import RemoteProvider

        transport = self._transport(wanted, entry, key)
        configured = self._settings.get(wanted.provider)
        return RemoteProvider(
            self._service(wanted, entry, key),
            _wire(wanted.provider, entry),
            transport,
            destination=_destination(wanted, entry),
            max_retries=3 if configured is None else configured.max_retries,
            sleep=self._sleep,
        )

    async def models(self, name: str) -> tuple[str, ...]:
        """Ask the service `name` which models it offers now; return their names. Raises `ProviderError`."""
        entry, key = self._reachable(name)
        wanted = ModelName(name, "models")
        service = self._service(wanted, entry, key)
        transport = self._transport(wanted, entry, key)
        try:
            async with asyncio.timeout(_LIST_S):
                listed = await transport.get(_wire(name, entry).models_path)
        except ServiceProblem as trouble:
            raise trouble.error from trouble
        except ServiceRefusal as refusal:
            raise refusal_error(service, refusal).error from refusal
        except Malformed as error:
            raise malformed_error(service, str(error)) from error
        except TimeoutError as error:
            raise silence_error(service, _LIST_S) from error
        finally:
            await transport.close()
        models = _models(listed)
        if models is None:
            raise malformed_error(service, "sent no list of models")
        return models

    def _reachable(self, name: str) -> tuple[_KnownService, str | None]:
        """Return the definition of the service `name` and its key.

        The key is None if the service needs none and none is set. Raises `ProviderError` if the service
        cannot be used.
        """
        entry = self._checked(name)
        key, source = self._key(name, entry)
        hint = _key_hint(name, entry)
        if source in ("locked", "not responding"):
            state = "is locked" if source == "locked" else "is not responding"
            raise problem("keyring", name=name, state=state, variable=_variable_hint(entry))
        if source == "missing":
            raise problem("no-key", name=name, hint=hint)
        if key is not None and not usable(key):
            raise problem("unusable-key", name=name, hint=hint)
        return entry, key

    def _entry(self, name: str) -> _KnownService:
        """Return the definition of the service `name`; values in the settings override the built-in ones."""
        known = _KNOWN.get(name, _KnownService("openai", "", ()))
        configured = self._settings.get(name)
        if configured is None:
            return known
        url = configured.base_url or known.base_url
        names = (configured.key_env,) if configured.key_env else known.key_names
        # A built-in local service needs no key, at any address; any other service needs none on this machine.
        local = stays_here(url) if configured.base_url else known.local
        return _KnownService(configured.wire or known.wire, url, names, local)

    def _checked(self, name: str) -> _KnownService:
        if name not in _KNOWN and name not in self._settings:
            raise problem("unknown-provider", name=name, known=", ".join([*_KNOWN, *self._settings]))
        entry = self._entry(name)
        if not _is_address(entry.base_url):
            raise problem("no-address", name=name)
        if _shown(entry.base_url) != entry.base_url:
            # The HTTP library logs addresses, and the window shows them.
            raise problem("secret-in-address", name=name)
        return entry

    def _key(self, name: str, entry: _KnownService) -> tuple[str | None, KeySource]:
        configured = self._settings.get(name)
        # Configured headers, or a local type of server, make a key unnecessary.
        free = entry.local or (name in _KNOWN and _KNOWN[name].local)
        needed = not free and not (configured is not None and configured.headers)
        return find_key(name, entry.key_names, needed=needed, env=self._env, keys=self._keys)

    def _service(self, wanted: ModelName, entry: _KnownService, key: str | None) -> Service:
        configured = self._settings.get(wanted.provider)
        secrets = [*(configured.headers.values() if configured else ()), key or ""]
        hint = _key_hint(wanted.provider, entry)
        host = origin(entry.base_url)
        return Service(wanted.provider, wanted.model, host, hint, entry.local, tuple(filter(None, secrets)))

    def _transport(self, wanted: ModelName, entry: _KnownService, key: str | None) -> Transport:
        from reverie.llm.transport import Endpoint, Transport  # late: see `provider`

        configured = self._settings.get(wanted.provider)
        idle = (configured.timeout_s if configured else 0) or (_IDLE_LOCAL_S if entry.local else _IDLE_S)
        headers = {**_wire(wanted.provider, entry).headers(key), **(configured.headers if configured else {})}
        base_url = entry.base_url.rstrip("/")
        if entry.wire == "anthropic":
            # The format's own path begins with the version; addresses with and without it are common.
            base_url = base_url.removesuffix("/v1")
        endpoint = Endpoint(base_url, headers, idle, min(_CONNECT_S, idle))
        return Transport(self._service(wanted, entry, key), endpoint)


def _wire(provider: str, entry: _KnownService) -> Wire:
    if entry.wire == "anthropic":
        return AnthropicWire()
    if entry.wire == "openai-responses":
        return ResponsesWire()
    return OpenAiWire(limit_name="max_completion_tokens" if provider == "openai" else "max_tokens")


def _destination(wanted: ModelName, entry: _KnownService) -> str:
    if not stays_here(entry.base_url):
        return origin(entry.base_url)
    if not wanted.model.endswith(("-cloud", ":cloud")):
        return ""
    # Ollama passes such models on to its own service. Another server on this machine may pass them on as
    # well, to an unknown destination.
    return _OLLAMA_CLOUD if wanted.provider == "ollama" else origin(entry.base_url)


def _key_hint(provider: str, entry: _KnownService) -> str:
    variable = f"Set {entry.key_names[0]}, or enter" if entry.key_names else "Enter"
    return f"{variable} a key for {provider} in the settings dialog."


def _variable_hint(entry: _KnownService) -> str:
    return f"Or set {entry.key_names[0]}." if entry.key_names else ""


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _shown(url: str) -> str:
    """Return `url` without user and password."""
    return re.sub(r"//[^/]*@", "//", url)


def _models(listed: Any) -> tuple[str, ...] | None:
    """Return the model ids in `listed`, a service's answer; None if the answer is not a list of models."""
    rows = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(rows, list):
        # Ollama without a model sends null.
        return () if isinstance(listed, dict) and listed.get("object") == "list" else None
    ids = [row.get("id") for row in rows if isinstance(row, dict)]
    return tuple(name for name in ids if isinstance(name, str))
