"""What of a conversation the writer is shown: the newest events within 80,000 JSON characters
(formats/mux.md section 14).

Trimming is linear: each event is measured once, from the newest back. If even the newest is too big it is
clamped: without its tool calls, then with its text cut, then bare, then not at all. Pure functions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from reverie.text.tokens import cut_utf16, utf16_length
from reverie.transcripts.tail import TailEvent

MAX_JSON_CHARS = 80_000
TRUNCATED = "… [truncated]"
LEFT_OUT = "[left out: too long]"
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Events:
    """Conversation events, oldest first. `original_count`: how many there were to choose from."""

    items: tuple[dict[str, Any], ...]
    original_count: int

    def summary(self) -> dict[str, int]:
        """How much was left out, by the agent's own names."""
        return {
            "originalCount": self.original_count,
            "trimmedCount": len(self.items),
            "maxJsonChars": MAX_JSON_CHARS,
        }

    def as_json(self) -> str:
        """The events as the model is shown them."""
        return json_of(self.items)


def events_of(rows: Iterable[TailEvent], *, max_chars: int = MAX_JSON_CHARS) -> Events:
    """What people, the model and its tools said in `rows`, trimmed."""
    found = [event for event in map(_event, rows) if event is not None]
    return Events(tuple(trimmed(found, max_chars)), len(found))


def trimmed(events: Sequence[dict[str, Any]], max_chars: int) -> list[dict[str, Any]]:
    """The longest newest part whose JSON is at most `max_chars` UTF-16 units."""
    room = max_chars - 2
    kept: list[dict[str, Any]] = []
    for event in reversed(events):
        cost = utf16_length(json_of(event)) + (1 if kept else 0)
        if cost > room:
            break
        room -= cost
        kept.append(event)
    if not kept and events:
        return clamped(events[-1], max_chars)
    return kept[::-1]


def clamped(event: dict[str, Any], max_chars: int) -> list[dict[str, Any]]:
    """One event, made to fit."""
    bare = {name: value for name, value in event.items() if name in ("historySequence", "role")}
    text = event.get("text")
    candidates: list[dict[str, Any]] = []
    if isinstance(text, str):
        candidates.append({**bare, "text": text})
        room = max_chars - utf16_length(json_of([{**bare, "text": TRUNCATED}]))
        # Escapes make the JSON longer than the text, by six at most.
        for share in (1, 2, 6):
            if room // share > 0:
                candidates.append({**bare, "text": cut_utf16(text, room // share) + TRUNCATED})
    candidates += [{**bare, "text": LEFT_OUT}, bare]
    for candidate in candidates:
        if utf16_length(json_of([candidate])) <= max_chars:
            return [candidate]
    return []


def json_of(value: Any) -> str:
    """As JavaScript's `JSON.stringify` writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _event(row: TailEvent) -> dict[str, Any] | None:
    if row.kind in ("other", "reset") or row.turn.role == "system":
        return None
    event: dict[str, Any] = {"historySequence": row.turn.sequence, "role": row.turn.role}
    if row.turn.text:
        event["text"] = row.turn.text
    calls = [
        {
            "toolCallId": tool.call_id,
            "toolName": tool.name,
            "input": tool.input,
            **({} if tool.output is None else {"output": tool.output}),
            "state": tool.state,
        }
        for tool in row.tools
    ]
    if calls:
        event["toolCalls"] = calls
    sound: dict[str, Any] = whole(event)
    return sound


def whole(value: Any) -> Any:
    """`value` without half characters, which no request and no file can hold."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {whole(key): whole(item) for key, item in value.items()}
    return [whole(item) for item in value] if isinstance(value, list) else value
