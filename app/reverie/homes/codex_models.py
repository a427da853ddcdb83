"""Which model Codex CLI itself would let extract memories, by its `config.toml` (formats/codex.md section 4).

Only what is written there counts: without `[memories] extract_model` Codex uses one that its versions do not
agree on. Pure but for one small file of settings; whatever is in it, nothing here raises.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from reverie.homes.reading import read_regular

_CONFIG_BYTES = 4 << 20
_USUAL_PROVIDER = "openai"
_LOCAL = {"oss": "ollama", "ollama-chat": "ollama"}


def extraction_model(root: Path) -> str | None:
    """`provider:model`; None where the home names none."""
    try:
        data = tomllib.loads(read_regular(root / "config.toml", _CONFIG_BYTES).decode("utf-8", "replace"))
    except (OSError, ValueError, RecursionError):
        return None
    memories = data.get("memories")
    model = _word(memories.get("extract_model")) if isinstance(memories, dict) else ""
    provider = _word(data.get("model_provider")) or _USUAL_PROVIDER
    return f"{_LOCAL.get(provider, provider)}:{model}" if model and ":" not in provider else None


def _word(value: object) -> str:
    """A name without white space; empty for anything else."""
    return value if isinstance(value, str) and value and not any(map(str.isspace, value)) else ""
