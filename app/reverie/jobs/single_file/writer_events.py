"""The conversation events that the memory writer gives to a model (formats/mux.md section 14).

Threading: pure. Failure: none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from reverie.agents.transcripts import Turn
from reverie.jobs.single_file.job import json_of
from reverie.llm.wire import sanitise
from reverie.text.redact import in_texts
from reverie.text.summaries import between_words, cut_utf16, utf16_length
from reverie.values import Struct, columns

MAX_JSON_CHARS = 80_000
TRUNCATED = "… [truncated]"
LEFT_OUT = "[left out: too long]"


class Events(Struct, frozen=True):
    """The conversation events for the model, oldest first."""

    items: tuple[dict[str, Any], ...]
    original_count: int
    """The number of events before trimming."""

    def summary(self) -> dict[str, int]:
        """Return the numbers of events before and after trimming, and the size limit.

        The names are those of the agent's own fields.
        """
        return {
            "originalCount": self.original_count,
            "trimmedCount": len(self.items),
            "maxJsonChars": MAX_JSON_CHARS,
        }

    def as_json(self) -> str:
        """Return the events as JSON for the model."""
        return json_of(self.items)


def events_of(rows: Iterable[Turn], *, max_chars: int = MAX_JSON_CHARS) -> Events:
    """Convert transcript rows to events of people, the model and its tools, trimmed to `max_chars`."""
    found = [event for event in map(_event, rows) if event is not None]
    return Events(tuple(trimmed(found, max_chars)), len(found))


def trimmed(events: Sequence[dict[str, Any]], max_chars: int) -> list[dict[str, Any]]:
    """Return the newest events whose JSON array has at most `max_chars` UTF-16 units.

    Each event is measured once. If even the newest one is too long, it is shortened by `clamped`
    (formats/mux.md section 14).
    """
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
    """Return a list with `event`, shortened to fit `max_chars`; an empty list if nothing of it fits.

    Its tool calls are dropped first, then its text is truncated.
    """
    bare = {name: value for name, value in event.items() if name in ("historySequence", "role")}
    text = event.get("text")
    candidates: list[dict[str, Any]] = []
    if isinstance(text, str):
        candidates.append({**bare, "text": text})
        room = max_chars - utf16_length(json_of([{**bare, "text": TRUNCATED}]))
        # Escapes make the JSON longer than the text, by six at most.
        for share in (1, 2, 6):
            if room // share > 0:
                kept = between_words(cut_utf16(text, room // share), text)
                candidates.append({**bare, "text": kept + TRUNCATED})
    candidates += [{**bare, "text": LEFT_OUT}, bare]
    for candidate in candidates:
        if utf16_length(json_of([candidate])) <= max_chars:
            return [candidate]
    return []


def _event(row: Turn) -> dict[str, Any] | None:
    """Return the event of a transcript row; None if the row is not relevant."""
    if row.event in ("other", "reset") or row.role == "system":
        return None
    event: dict[str, Any] = {"historySequence": row.sequence, "role": row.role}
    if row.text:
        event["text"] = row.text
    calls = [
        {
            **columns(tool, "toolCallId=call_id toolName=name input"),
            **({} if tool.output is None else {"output": tool.output}),
            "state": tool.state,
        }
        for tool in row.tools
    ]
    if calls:
        event["toolCalls"] = calls
    sanitised: dict[str, Any] = in_texts(event, sanitise)
    return sanitised
