"""What of a rollout is evidence: its response items, without what the agent put in by itself, what a rollback
took back, pictures, and thinking that nobody can read (formats/codex.md sections 2 and 6).

A compaction counts as what the assistant said. A rollout without any message among its items is read from
its events. Streaming: one line in memory. Threading: any thread but the GUI's. Failure: `FileNotFoundError`,
`Unavailable`; lines that cannot be read are counted in `Reading`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reverie.rollouts.sizes import ROLLOUT_BYTES, ROLLOUT_MARKER, HeadTail
from reverie.transcripts.codex import ITEMS, History, Record, Segment, is_typed, message_text, records
from reverie.transcripts.codex_reading import planned
from reverie.transcripts.reading import Reading

Item = dict[str, Any]

_SILENT = frozenset(
    {
        *("reasoning", "ghost_snapshot", "compaction", "compaction_summary", "context_compaction"),
        *("additional_tools", "image_generation_call", "other"),
    }
)
_DROPPED = ("id", "encrypted_content", "internal_chat_message_metadata_passthrough")
_CHECK_EVERY = 256


@dataclass(frozen=True, slots=True)
class PromptText:
    """A rollout as a model is shown it: a JSON array of items, cut in the middle where it is longer than
    1,000,000 bytes. `items`: how many there were."""

    text: str
    items: int
    truncated: bool


def items_of(path: Path, reading: Reading, check: Callable[[], None] = lambda: None) -> Iterator[Item]:
    """The items that count, in order, each with its own `timestamp` (UTC ms) under `_at` where it has one."""
    plan = planned(History((Segment(path),)))
    for number, record in enumerate(records(path, reading)):
        if number % _CHECK_EVERY == 0:
            check()
        if plan.is_undone(reading.lines):
            continue
        item = _item(record, events=plan.events)
        if item is not None:
            yield item


def prompt_text(items: Iterator[Item], *, hide: Callable[[str], str] = lambda text: text) -> PromptText:
    """The items as JSON. `hide` takes secrets out of every text, before JSON escapes make them unknowable."""
    head, tail, left_out = _ends(items)
    kept = HeadTail(ROLLOUT_BYTES, ROLLOUT_MARKER, head_share=3)
    count = 0

    def feed(text: str) -> None:
        nonlocal count
        told = json.dumps(_hidden(json.loads(text), hide), ensure_ascii=False, separators=(",", ":"))
        kept.feed(("[" if count == 0 else ",\n").encode() + told.encode("utf-8", "replace"))
        count += 1

    for text in head:
        feed(text)
    if left_out:
        kept.skip(ROLLOUT_BYTES)
        count += left_out
    while tail:
        feed(tail.popleft())
    kept.feed(b"]" if count else b"[]")
    return PromptText(kept.text(), count, kept.truncated)


def _ends(items: Iterator[Item]) -> tuple[list[str], deque[str], int]:
    """The first and the last items as JSON, each as many as could be shown, and how many lay between.
    Looking for secrets in what nobody is shown would take most of the time."""
    head, tail, left_out = list[str](), deque[str](), 0
    head_size = tail_size = 0
    for item in items:
        told = {key: value for key, value in item.items() if key != "_at"}
        text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
        if head_size <= ROLLOUT_BYTES:
            head.append(text)
            head_size += len(text)
            continue
        tail.append(text)
        tail_size += len(text)
        while tail_size - len(tail[0]) > ROLLOUT_BYTES:
            tail_size -= len(tail.popleft())
            left_out += 1
    return head, tail, left_out


def said(role: str, text: str) -> Item:
    """A message item."""
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def _item(record: Record, *, events: bool) -> Item | None:
    payload = record.payload
    item: Item | None = None
    if record.kind == "compacted":
        text = payload.get("message")
        item = said("assistant", text) if isinstance(text, str) and text.strip() else None
    elif record.kind == "response_item":
        item = _response_item(payload)
    elif record.kind == "event_msg":
        kind, text = payload.get("type"), payload.get("message")
        if kind == "turn_aborted":
            item = {"type": "turn_aborted", "reason": str(payload.get("reason", ""))}
        elif events and kind in ("user_message", "agent_message") and isinstance(text, str):
            item = said("user" if kind == "user_message" else "assistant", text)
    if item is not None and record.timestamp is not None:
        item["_at"] = record.timestamp
    return item


def _response_item(payload: Item) -> Item | None:
    kind = payload.get("type")
    if kind not in ITEMS or kind in _SILENT:
        return None
    if kind == "message":
        role = payload.get("role")
        if role == "assistant" or (role == "user" and is_typed(payload)):
            text = message_text(payload)
            return said(str(role), text) if text.strip() else None
        return None
    found = {key: value for key, value in payload.items() if key not in _DROPPED}
    for name in ("arguments", "output"):
        found.update({name: _decoded(found[name])} if name in found else {})
    return {key: _without_pictures(value) for key, value in found.items()}


def _decoded(value: Any) -> Any:
    """JSON inside a text as what it says: escaped twice, nobody finds a secret in it, nor reads it well."""
    if isinstance(value, str) and value.startswith(("{", "[")):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _without_pictures(value: Any) -> Any:
    """The value with data URLs, which are nothing to read, told by their kind."""
    if isinstance(value, str):
        return "[data]" if value.startswith("data:") and len(value) > 200 else value
    if isinstance(value, list):
        return [_without_pictures(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_pictures(item) for key, item in value.items()}
    return value


def _hidden(value: Any, hide: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, list):
        return [_hidden(item, hide) for item in value]
    if isinstance(value, dict):
        return {key: _hidden(item, hide) for key, item in value.items()}
    return value
