"""Models and services in `config.toml` of Codex (formats/codex.md section 4).

Threading: any thread. Failure: invalid or unreadable settings give no model and no service.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from reverie.agents.capabilities import ModelService
from reverie.agents.codex.locations import config

_USUAL_PROVIDER = "openai"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_VARIABLE = re.compile(r"[A-Za-z0-9_]{0,200}")
_ADDRESS = re.compile(r"https?://\S+")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
_WIRES: Mapping[str, Literal["openai", "openai-responses"]] = {
    "responses": "openai-responses",
    "chat": "openai",
}
"""The wire formats by `wire_api`; current programs accept only the first one, which is their default."""
_OUT_OF_REACH = ("query_params", "auth", "env_http_headers", "aws")
"""Settings of a service that Reverie does not support."""
_LOCAL = {"oss": "ollama", "ollama-chat": "ollama"}


def named_model(root: Path, name: Literal["extract_model", "consolidation_model"]) -> str | None:
    """Return the model that the settings `[memories]` name for extraction or consolidation, or None.

    The result has the form `provider:model`. None without the setting, because the default model differs
    between versions of Codex (formats/codex.md section 4). `root`: the agent's home.
    """
    data, _problem = config(root)
    memories = data.get("memories")
    model = _word(memories.get(name)) if isinstance(memories, dict) else ""
    provider = _word(data.get("model_provider")) or _USUAL_PROVIDER
    return f"{_LOCAL.get(provider, provider)}:{model}" if model and ":" not in provider else None


def model_services(root: Path) -> tuple[ModelService, ...]:
    """Return the services in the settings `[model_providers]` that Reverie can use, sorted by name.

    Services that need Codex's own login, a command that makes tokens, parameters in the address or an unknown
    wire format are left out. A token in the settings is never used, and `auth.json` is never opened (section
    4 of formats/codex.md). `root`: the agent's home.
    """
    told = config(root)[0].get("model_providers")
    entries = told.items() if isinstance(told, dict) else ()
    found = (_service(name, entry) for name, entry in sorted(entries) if isinstance(entry, dict))
    return tuple(service for service in found if service is not None)


def _service(name: str, entry: Mapping[str, Any]) -> ModelService | None:
    address, variable = entry.get("base_url"), entry.get("env_key", "")
    if entry.get("requires_openai_auth") is True or any(entry.get(key) for key in _OUT_OF_REACH):
        return None
    if not _NAME.fullmatch(name) or not isinstance(address, str) or not _ADDRESS.fullmatch(address):
        return None
    named = entry.get("wire_api", "responses")
    wire = _WIRES.get(named) if isinstance(named, str) else None
    if wire is None or not isinstance(variable, str) or not _VARIABLE.fullmatch(variable):
        return None
    headers = entry.get("http_headers")
    plain = {
        key: value
        for key, value in (headers.items() if isinstance(headers, dict) else ())
        if _HEADER.fullmatch(key) and isinstance(value, str) and value.isprintable() and value.isascii()
    }
    return ModelService(name, address, wire, variable, plain)


def _word(value: object) -> str:
    """Return `value` if it is a name without white space; otherwise an empty string."""
    return value if isinstance(value, str) and value and not any(map(str.isspace, value)) else ""
