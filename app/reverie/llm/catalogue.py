"""The available model services, the keys for them, and a test of a model.

Built-in services can be overridden by the settings. A model is named `provider:model`. Local services need no
key and use no proxy; no service gets a request before a person or a run needs it. Whether text leaves this
machine depends on the address, not on the name.

Keys come from the environment, else from the system's keyring; never from a file of Reverie's. The keyring is
imported on first use, because its back ends take long to load and most commands need no key. It may ask its
owner to unlock it, so it is called from a worker thread, and has `ASK_S` seconds to answer, in a thread of
its own. A keyring that is locked or does not answer is reported and left alone for a while; `never_unlock` is
for processes without a person to answer its prompt. A machine without a keyring counts as one without keys;
only storing a key raises `UserError`. No key gets into a message.

Threading: `known` and `provider` may call the keyring, so not on the GUI thread. Failure: `ProviderError`
with fault `settings` or `key`; a service that is down is noticed only at the first request.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, Literal, Protocol
from urllib.parse import urlsplit

from reverie.agents.capabilities import KeySource, ProviderInfo
from reverie.errors import Unavailable, UserError
from reverie.files.directory import ask_each
from reverie.llm.provider import (
    Malformed,
    ModelRequest,
    ModelTurn,
    Provider,
    ProviderError,
    Service,
    ServiceProblem,
    ServiceRefusal,
    StreamProgress,
    ToolSpec,
    UserMessage,
    Wire,
    malformed_error,
    origin,
    problem,
    refusal_error,
    silence_error,
    stays_here,
)
from reverie.llm.wire_formats import AnthropicWire, OpenAiWire, ResponsesWire
from reverie.values import Struct

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

    from reverie.llm.transport import Sleep, Transport
    from reverie.settings import ProviderSettings


SERVICE = "reverie"
KeyringProblem = Literal["", "locked", "not answering"]
ASK_S = 20.0
"""Seconds that a keyring may take to answer: long enough for a person to unlock it."""
NETWORK_VARIABLES = frozenset(
    spelled
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")
    for spelled in (name, name.lower())
)
"""Environment variables that affect the connection to a service; a proxy's may contain its password."""
_AGAIN_S = 30.0
"""Seconds until a keyring in trouble is tried again; otherwise each service would open a prompt."""


class KeyStore(Protocol):
    """Keys by provider name."""

    def get(self, provider: str) -> str | None:
        """Return the key, or None; never raises for a store that cannot be read."""

    @property
    def trouble(self) -> KeyringProblem:
        """The reason why `get` could not read the store; empty: it could."""

    def set(self, provider: str, key: str) -> None:
        """Store the key. Raises `UserError`."""

    def delete(self, provider: str) -> None:
        """Delete the key if there is one. Raises `UserError`."""


class _Ring:
    """This process's access to the system's keyring, with its last trouble."""

    def __init__(self) -> None:
        self.may_unlock = True
        self._asked: object = None
        self._trouble: KeyringProblem = ""
        self._until = 0.0

    @property
    def trouble(self) -> KeyringProblem:
        return self._trouble if self._asked is _keyring() else ""

    def ask(self, question: Callable[[KeyringBackend], str | None]) -> str | None:
        """Return the result of `question` within `ASK_S`; None if there is none or in case of trouble."""
        ring = _keyring()
        if self.trouble and time.monotonic() < self._until:
            return None
        may_unlock = self.may_unlock
        answers = ask_each({0: lambda: _answer(ring, question, may_unlock=may_unlock)}, ASK_S)
        text, trouble = answers.get(0, (None, "not answering"))
        self._asked, self._trouble, self._until = ring, trouble, time.monotonic() + _AGAIN_S
        return text

    def forget(self) -> None:
        """Forget the trouble, so that the next call tries the keyring again: a person changed something."""
        self._asked = None


def _answer(
    ring: KeyringBackend, question: Callable[[KeyringBackend], str | None], *, may_unlock: bool
) -> tuple[str | None, KeyringProblem]:
    import keyring.errors

    try:
        if not may_unlock and _is_locked(ring):
            return None, "locked"
        return question(ring), ""
    except keyring.errors.KeyringLocked:
        return None, "locked"
    except (keyring.errors.KeyringError, OSError, RuntimeError):
        # No backend, or its service has ended: then there is no key in it.
        return None, ""


def _is_locked(ring: KeyringBackend) -> bool:
    """Return whether reading a key would open a prompt, without unlocking anything.

    Only the Secret Service opens prompts.
    """
    from keyring.backends import SecretService, chainer

    rings = ring.backends if isinstance(ring, chainer.ChainerBackend) else (ring,)
    if not any(isinstance(each, SecretService.Keyring) for each in rings):
        return False
    import secretstorage

    try:
        with closing(secretstorage.dbus_init()) as bus:
            return bool(secretstorage.Collection(bus).is_locked())
    except secretstorage.exceptions.ItemNotFoundException:
        return False
    except secretstorage.exceptions.SecretStorageException as error:
        raise RuntimeError(str(error)) from error


_RING = _Ring()


def never_unlock() -> None:
    """Never open the keyring's prompt in this process, because there may be no person to answer it."""
    _RING.may_unlock = False


class SystemKeys:
    """The keyring of the system (Secret Service, KWallet, Keychain, Credential Locker)."""

    def get(self, provider: str) -> str | None:
        """Return the key of this provider; None if there is none or the keyring is in trouble."""
        return _RING.ask(lambda ring: ring.get_password(SERVICE, provider) or None)

    @property
    def trouble(self) -> KeyringProblem:
        return _RING.trouble

    def set(self, provider: str, key: str) -> None:
        """Store the key. Raises `UserError` for an unusable key, and if the keyring refuses."""
        import keyring.errors

        key = key.strip()
        if not usable(key):
            raise UserError(
                "The key was not stored.",
                cause="It is empty, or holds characters that no key has.",
                next_step="Copy it again from the service's site.",
            )
        _RING.forget()
        try:
            _keyring().set_password(SERVICE, provider, key)
        except (keyring.errors.KeyringError, OSError, RuntimeError) as error:
            raise _no_keyring("The key was not stored.") from error

    def delete(self, provider: str) -> None:
        """Delete the key if there is one. Raises `UserError`."""
        import keyring.errors

        _RING.forget()
        try:
            if _keyring().get_password(SERVICE, provider) is not None:
                _keyring().delete_password(SERVICE, provider)
        except keyring.errors.PasswordDeleteError:
            # Another program was faster.
            return
        except (keyring.errors.KeyringError, OSError, RuntimeError) as error:
            raise _no_keyring("The key was not removed.") from error


class TypedKey:
    """A store with a newly typed key for one provider, which is not stored yet."""

    def __init__(self, kept: KeyStore, provider: str, key: str) -> None:
        self._kept, self._provider, self._key = kept, provider, key
        self.set, self.delete = kept.set, kept.delete

    def get(self, provider: str) -> str | None:
        """Return the typed key for its provider, else the stored one."""
        return self._key if provider == self._provider else self._kept.get(provider)

    @property
    def trouble(self) -> KeyringProblem:
        return self._kept.trouble


def find_key(
    provider: str, names: tuple[str, ...], *, needed: bool, env: Mapping[str, str], keys: KeyStore
) -> tuple[str | None, KeySource]:
    """Return the key of a provider and its source; `names` are its environment variables, in order."""
    for name in names:
        key = env.get(name, "").strip()
        if key:
            return key, "environment"
    stored = keys.get(provider)
    if stored and stored.strip():
        return stored.strip(), "keyring"
    if not needed:
        return None, "none needed"
    return None, keys.trouble or "missing"


def usable(key: str) -> bool:
    """Return whether `key` can be sent in a header."""
    return bool(key) and all("!" <= character <= "~" for character in key)


def _keyring() -> KeyringBackend:
    import keyring

    return keyring.get_keyring()


def _no_keyring(title: str) -> UserError:
    return Unavailable(
        title,
        cause="The keyring of this system is missing, locked or refuses.",
        next_step="Unlock or install one, or set the key as an environment variable.",
    )


_CONNECT_S = 10.0
_IDLE_S = 120.0
_IDLE_LOCAL_S = 600.0
"""Longer, because a local model may read a long prompt for minutes before its first word."""
_LIST_S = 10.0
_OLLAMA_CLOUD = "https://ollama.com"


class ModelName(Struct, frozen=True):
    """A model of a provider, written `provider:model`."""

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
    """Return the parts of `provider:model`; the model may contain more colons. Raises `ProviderError`."""
    provider, colon, model = name.strip().partition(":")
    if not colon or not provider or not model or any(character.isspace() for character in provider + model):
        raise problem("model-name", name=name, known=", ".join(_KNOWN))
    return ModelName(provider, model)


class Catalogue:
    """The built-in services and those of the settings.

    Keys are read from `env` and `keys`; `sleep` makes the pauses between attempts.
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
        """Return every service, built-in ones first. One with incomplete settings has no base URL."""
        names = dict.fromkeys([*_KNOWN, *self._settings])
        return tuple(
            ProviderInfo(name, entry.wire, _shown(entry.base_url), self._key(name, entry)[1], entry.local)
            for name, entry in ((name, self._entry(name)) for name in names)
        )

    def variables(self) -> frozenset[str]:
        """Return the environment variables that may hold a key or affect the connection to a service."""
        names = (*_KNOWN, *self._settings)
        return NETWORK_VARIABLES.union(*(self._entry(name).key_names for name in names))

    def provider(self, name: str) -> Provider:
        """Return the model called `name`, ready for requests; nothing is sent yet. Raises `ProviderError`."""
        wanted = parse_model(name)
        entry, key = self._reachable(wanted.provider)
        # Late: only a request needs httpx, which takes 0.15 s to import.
        from reverie.llm.transport import RemoteProvider

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
        """Return the models that the service `name` offers now. Raises `ProviderError`."""
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
        """Return the definition of a service and its key. Raises `ProviderError` if it is not usable."""
        entry = self._checked(name)
        key, source = self._key(name, entry)
        hint = _key_hint(name, entry)
        if source in ("locked", "not answering"):
            state = "is locked" if source == "locked" else "does not answer"
            raise problem("keyring", name=name, state=state, variable=_variable_hint(entry))
        if source == "missing":
            raise problem("no-key", name=name, hint=hint)
        if key is not None and not usable(key):
            raise problem("unusable-key", name=name, hint=hint)
        return entry, key

    def _entry(self, name: str) -> _KnownService:
        """Return the definition of a service: the settings over the built-in one."""
        known = _KNOWN.get(name, _KnownService("openai", "", ()))
        configured = self._settings.get(name)
        if configured is None:
            return known
        url = configured.base_url or known.base_url
        names = (configured.key_env,) if configured.key_env else known.key_names
        # A known local server keeps needing no key wherever it runs; any other only on this machine.
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
    """Return the ids in a list of models; None for a document that is not one."""
    rows = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(rows, list):
        # Ollama without a model sends null.
        return () if isinstance(listed, dict) and listed.get("object") == "list" else None
    ids = [row.get("id") for row in rows if isinstance(row, dict)]
    return tuple(name for name in ids if isinstance(name, str))


StepName = Literal["reachable", "key", "model", "tool-calling", "streaming"]
StepState = Literal["pass", "fail", "skip"]
_STEPS: tuple[StepName, ...] = ("reachable", "key", "model", "tool-calling", "streaming")
_WORD = "marmalade"
_TOOL = ToolSpec(
    "repeat_word",
    "Repeats one word back to the tester.",
    {
        "type": "object",
        "properties": {"word": {"type": "string", "description": "The word to repeat."}},
        "required": ["word"],
    },
)
_FAILS_AT: dict[str, StepName] = {
    "unreachable": "reachable",
    "settings": "reachable",
    "timeout": "reachable",
    "key": "key",
}
_PASSES = {
    "reachable": "The service answers.",
    "key": "The key is accepted, or none is needed.",
    "model": "The model answers.",
    "tool-calling": "The model called the tool as asked.",
    "streaming": "The answer came in pieces.",
}


class ProbeStep(Struct, frozen=True):
    """One step of a test and its result, as a sentence for people."""

    name: StepName
    state: StepState
    sentence: str


class ProbeReport(Struct, frozen=True):
    """All steps of a test, in order."""

    steps: tuple[ProbeStep, ...]


async def probe(provider: Provider, *, limit_s: float = 60) -> ProbeReport:
    """Test a model with one real request to call a tool; return the result of each step.

    Steps after a failed one are skipped. The request contains no memory text. An error that a person can fix
    is a failed step, never an exception.
    """
    seen: list[StreamProgress] = []
    request = ModelRequest(
        system="You test whether tool calls work. Answer with a tool call only.",
        messages=[UserMessage(f"Call {_TOOL.name} with the word {_WORD}.")],
        tools=[_TOOL],
        max_output_tokens=2000,
        deadline=time.monotonic() + limit_s,
    )
    try:
        turn = await provider.complete(request, progress=seen.append)
    except ProviderError as error:
        return _failed(error)
    streamed = any(progress.text or progress.tool_name for progress in seen)
    return _answered(turn, streamed=streamed)


def _failed(error: ProviderError) -> ProbeReport:
    tools = error.fault == "model" and "tool" in error.title
    at: StepName = "tool-calling" if tools else _FAILS_AT.get(error.fault, "model")
    place = _STEPS.index(at)
    return ProbeReport(
        (
            *(ProbeStep(name, "pass", _PASSES[name]) for name in _STEPS[:place]),
            ProbeStep(at, "fail", str(error)),
            *(ProbeStep(name, "skip", "Not tried.") for name in _STEPS[place + 1 :]),
        )
    )


def _answered(turn: ModelTurn, *, streamed: bool) -> ProbeReport:
    trouble = _tool_trouble(turn)
    streaming = ProbeStep("streaming", "pass", _PASSES["streaming"])
    if not streamed:
        sentence = "The answer came in one piece; runs work, but show no progress."
        streaming = ProbeStep("streaming", "fail", sentence)
    calling = ProbeStep("tool-calling", "pass", _PASSES["tool-calling"])
    if trouble:
        sentence = f"{trouble} Choose a model with tool calling; runs need it."
        calling = ProbeStep("tool-calling", "fail", sentence)
    first = tuple(ProbeStep(name, "pass", _PASSES[name]) for name in _STEPS[:3])
    return ProbeReport((*first, calling, streaming))


def _tool_trouble(turn: ModelTurn) -> str:
    """Return the error in the model's tool call; "" for none."""
    if not turn.message.tool_calls:
        return "The model answered with text instead of a tool call."
    call = turn.message.tool_calls[0]
    if call.name != _TOOL.name:
        return "The model called a tool that does not exist."
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return "The model's tool call is not valid JSON."
    word = arguments.get("word") if isinstance(arguments, dict) else None
    if not isinstance(word, str) or word.strip().lower() != _WORD:
        return "The model called the tool with other arguments than asked."
    return ""
