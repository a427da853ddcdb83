"""What of a conversation an update is shown: the newest messages of the main thread, within a bound.

Streaming: never more than the bound is held. What was undone, what the model only thought, what the agent
put in by itself and what sub-agents said is left out. Pure functions over an iterator.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from typing import Any

from reverie.transcripts.reading import Message

MAX_CHARS = 160_000
TEXT_CHARS = 8_000
TOOL_CHARS = 2_000


def newest(messages: Iterable[Message], *, max_chars: int = MAX_CHARS) -> tuple[Message, ...]:
    """The newest messages that count, oldest first; at least the last one."""
    kept: deque[Message] = deque()
    size = 0
    for message in messages:
        if message.side or message.undone or message.kind not in ("message", "tool", "summary"):
            continue
        kept.append(message)
        size += _size(message)
        while size > max_chars and len(kept) > 1:
            size -= _size(kept.popleft())
    return tuple(kept)


def as_json(messages: Iterable[Message]) -> str:
    """The messages for a model, each text cut to what it may hold."""
    return json.dumps([_shown(message) for message in messages], ensure_ascii=False, separators=(",", ":"))


def _shown(message: Message) -> dict[str, Any]:
    if message.tool is not None:
        tool = message.tool
        shown: dict[str, Any] = {"tool": tool.name, "input": _cut(tool.input, TOOL_CHARS)}
        if tool.output is not None:
            shown["error" if tool.is_error else "output"] = _cut(tool.output, TOOL_CHARS)
        return shown
    role = "summary" if message.kind == "summary" else message.speaker
    return {"role": role, "text": _cut(message.text, TEXT_CHARS)}


def _size(message: Message) -> int:
    tool = message.tool
    if tool is not None:
        return min(len(tool.input), TOOL_CHARS) + min(len(tool.output or ""), TOOL_CHARS) + 40
    return min(len(message.text), TEXT_CHARS) + 40


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… [cut]"
