"""What Codex CLI puts into a prompt from its memories (formats/codex.md section 3): which file, and how much.

Of `memory_summary.md`, trimmed, about 2,500 tokens are loaded (earlier versions: 5,000), a token being four
bytes; from a longer one the middle is left out and a marker says how much. Only pure rules and one small file
of settings; nothing here fails on any content.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from reverie.homes.reading import read_regular

SUMMARY = "memory_summary.md"
SUMMARY_TOKENS = 2_500
INSTRUCTIONS = ("AGENTS.override.md", "AGENTS.md")
"""Of these in the home the first that says anything is loaded."""

_BYTES_PER_TOKEN = 4
_CONFIG_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Loaded:
    """A text as it is loaded. `head` and `tail` are characters of the original at both ends that are in it,
    `removed_tokens` what the marker says; all 0 for a text that is loaded in full."""

    text: str
    head: int = 0
    tail: int = 0
    removed_tokens: int = 0

    @property
    def is_cut(self) -> bool:
        return self.removed_tokens > 0


def tokens_of(text: str) -> int:
    """Tokens as Codex estimates them: a quarter of the bytes, rounded up."""
    return -(-len(text.encode()) // _BYTES_PER_TOKEN)


def loaded_summary(text: str, tokens: int = SUMMARY_TOKENS) -> Loaded:
    """What is loaded of the summary; empty text: nothing."""
    return truncated_in_the_middle(text.strip(), tokens)


def truncated_in_the_middle(text: str, tokens: int) -> Loaded:
    """At most `tokens` of a text: half from its beginning, half from its end, no character cut, and a marker
    between them."""
    data, budget = text.encode(), tokens * _BYTES_PER_TOKEN
    if len(data) <= budget:
        return Loaded(text)
    head = data[: budget // 2].decode("utf-8", "ignore")
    start = len(data) - (budget - budget // 2)
    while start < len(data) and data[start] & 0xC0 == 0x80:
        start += 1
    tail = data[start:].decode()
    removed = -(-(len(data) - budget) // _BYTES_PER_TOKEN)
    return Loaded(f"{head}…{removed} tokens truncated…{tail}", len(head), len(tail), removed)


def loads_memories(root: Path) -> tuple[bool, str]:
    """Whether Codex loads memories in this home, and the setting that says so. Off unless switched on."""
    try:
        data = tomllib.loads(read_regular(root / "config.toml", _CONFIG_BYTES).decode("utf-8", "replace"))
    except (OSError, ValueError, RecursionError):
        return False, "features.memories"
    features, memories = data.get("features"), data.get("memories")
    if isinstance(memories, dict) and memories.get("use_memories") is False:
        return False, "memories.use_memories"
    on = isinstance(features, dict) and (
        features.get("memories") is True or features.get("memory_tool") is True
    )
    return on, "features.memories"
