"""Which models Codex CLI itself would use, by its `config.toml` (formats/codex.md section 4): the one that
extracts memories, and the services that a person set up in `[model_providers]`.

Only what is written there counts: without `[memories] extract_model` Codex uses one that its versions do not
agree on. A service is offered with its address, its wire format, its plain headers and the name of the
environment variable with its key. Not offered: a service that needs Codex's own login, a command that makes
tokens, or parameters in the address, or that speaks a format that Reverie does not know. A token in the
settings is never used, and `auth.json` never opened.

Pure but for one small file of settings; whatever is in it, nothing here raises.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from reverie.files.regular import read_regular
from reverie.homes.agents import ModelService

_CONFIG_BYTES = 4 << 20
_USUAL_PROVIDER = "openai"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_VARIABLE = re.compile(r"[A-Za-z0-9_]{0,200}")
_ADDRESS = re.compile(r"https?://\S+")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
_WIRES: Mapping[Any, Literal["openai", "openai-responses"]] = {
    "responses": "openai-responses",
    "chat": "openai",
}
"""`wire_api`; programs of today accept the first only, and take it when nothing is said."""
_OUT_OF_REACH = ("query_params", "auth", "env_http_headers", "aws")
"""Settings of a service that Reverie cannot follow."""
_LOCAL = {"oss": "ollama", "ollama-chat": "ollama"}


def extraction_model(root: Path) -> str | None:
    """`provider:model`; None where the home names none."""
    data = _config(root)
    memories = data.get("memories")
    model = _word(memories.get("extract_model")) if isinstance(memories, dict) else ""
    provider = _word(data.get("model_provider")) or _USUAL_PROVIDER
    return f"{_LOCAL.get(provider, provider)}:{model}" if model and ":" not in provider else None


def model_services(root: Path) -> tuple[ModelService, ...]:
    """The services of `[model_providers]` that Reverie can ask, by name."""
    told = _config(root).get("model_providers")
    entries = told.items() if isinstance(told, dict) else ()
    found = (_service(name, entry) for name, entry in sorted(entries) if isinstance(entry, dict))
    return tuple(service for service in found if service is not None)


def _service(name: str, entry: Mapping[str, Any]) -> ModelService | None:
    address, variable = entry.get("base_url"), entry.get("env_key", "")
    if entry.get("requires_openai_auth") is True or any(entry.get(key) for key in _OUT_OF_REACH):
        return None
    if not _NAME.fullmatch(name) or not isinstance(address, str) or not _ADDRESS.fullmatch(address):
        return None
    wire = _WIRES.get(entry.get("wire_api", "responses"))
    if wire is None or not isinstance(variable, str) or not _VARIABLE.fullmatch(variable):
        return None
    headers = entry.get("http_headers")
    plain = {
        key: value
        for key, value in (headers.items() if isinstance(headers, dict) else ())
        if _HEADER.fullmatch(key) and isinstance(value, str) and value.isprintable() and value.isascii()
    }
    return ModelService(name, address, wire, variable, plain)


def _config(root: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(read_regular(root / "config.toml", _CONFIG_BYTES).decode("utf-8", "replace"))
    except (OSError, ValueError, RecursionError):
        return {}


def _word(value: object) -> str:
    """A name without white space; empty for anything else."""
    return value if isinstance(value, str) and value and not any(map(str.isspace, value)) else ""
