"""A Codex rollout as a person reads it (formats/codex.md section 6).

What was said stands twice in most rollouts, as a response item and as an event: the events' words count only
where a file has no message among its items. What nobody typed is `context`. A rollback marks what it took
back as `undone`. A compaction is a `summary`; what it put in place of the past is for the model only.

Two looks at the file: the first finds out whether events count and what was rolled back, without keeping more
than the places of the typed messages; the second makes the messages. Threading, failure: as
`transcripts.reading` says; a file that vanished is an empty transcript.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reverie.transcripts.codex import (
    Record,
    content_text,
    is_typed,
    message_text,
    record_of,
    records,
)
from reverie.transcripts.lines import decoded_row, transcript_lines
from reverie.transcripts.pairing import Pairing
from reverie.transcripts.reading import Message, MessageKind, Reading, Speaker, ToolUse, shortened

"""A text longer than this is cut for showing."""
_MARKS = (b"thread_rolled_back", b'"user"', b'"message"')
_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call")
_EVENTS = {
    "turn_aborted": "The turn was aborted: {reason}",
    "error": "Error: {message}",
    "thread_rolled_back": "Turns taken back: {num_turns}.",
}


@dataclass(slots=True)
class Plan:
    """What the first look found: `events` whether the words of events count; `undone` the ranges of lines
    (from, up to and without) that were rolled back."""

    events: bool = True
    undone: list[tuple[int, int]] = field(default_factory=list)

    def is_undone(self, place: int) -> bool:
        """Whether the record at this place was rolled back later."""
        return any(start <= place < end for start, end in self.undone)


class CodexReadable:
    """Implements `transcripts.reading.ReadableTranscript` for one rollout file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def messages(self, reading: Reading) -> Iterator[Message]:
        with contextlib.suppress(FileNotFoundError):
            plan = planned(self._path)
            pairing, metas = Pairing(), 0
            for record in records(self._path, reading):
                metas += record.kind == "session_meta"
                undone = plan.is_undone(reading.lines)
                yield from _taken(record, pairing, undone=undone, events=plan.events, first=metas <= 1)
            yield from pairing.rest()


def planned(path: Path) -> Plan:
    """The first look at a rollout. Raises `FileNotFoundError`, `Unavailable`."""
    items, spoken = _Turns(), _Turns()
    events = True
    for number, raw in enumerate(transcript_lines(path, lambda: None), start=1):
        # Parsing every line would cost most of the time until the first message is there.
        if not any(mark in raw for mark in (_MARKS if events else _MARKS[:2])):
            continue
        record = record_of(decoded_row(raw) or {})
        if record is None:
            continue
        kind = record.payload.get("type")
        if record.kind == "response_item" and kind == "message":
            events = False
            if is_typed(record.payload):
                items.typed.append(number)
        elif record.kind == "event_msg" and kind == "user_message":
            spoken.typed.append(number)
        elif record.kind == "event_msg" and kind == "thread_rolled_back":
            for turns in (items, spoken):
                turns.take_back(record.payload.get("num_turns"), number)
    return Plan(events, (spoken if events else items).undone)


@dataclass(slots=True)
class _Turns:
    """The lines of typed messages that still count, and the ranges of lines that were rolled back."""

    typed: list[int] = field(default_factory=list)
    undone: list[tuple[int, int]] = field(default_factory=list)

    def take_back(self, count: object, place: int) -> None:
        """The last `count` turns, at the line `place`."""
        if isinstance(count, int) and count > 0 and self.typed:
            first = max(0, len(self.typed) - count)
            self.undone.append((self.typed[first], place))
            del self.typed[first:]


def _taken(record: Record, pairing: Pairing, *, undone: bool, events: bool, first: bool) -> Iterator[Message]:
    def put(speaker: Speaker, kind: MessageKind, text: str, **more: Any) -> Iterator[Message]:
        call_id = more.pop("call_id", "")
        shown, cut = shortened(text)
        message = Message(
            0,
            speaker,
            kind,
            shown,
            timestamp=record.timestamp,
            undone=undone,
            cut=cut + more.pop("cut", 0),
            **more,
        )
        if shown or message.tool is not None:
            yield from pairing.put(message, call_id=call_id)

    payload = record.payload
    if record.kind == "response_item":
        yield from _item(payload, pairing, put, record.timestamp, undone)
    elif record.kind == "compacted":
        yield from put(
            "system", "summary", _string(payload.get("message")) or "The conversation was compacted."
        )
    elif record.kind == "event_msg":
        kind = _string(payload.get("type"))
        if kind in _EVENTS:
            values = {key: _string(payload.get(key)) or str(payload.get(key, "")) for key in _FIELDS}
            yield from put("system", "event", _EVENTS[kind].format(**values))
        elif events and kind in ("user_message", "agent_message"):
            speaker: Speaker = "user" if kind == "user_message" else "assistant"
            yield from put(speaker, "message", _string(payload.get("message")))
        elif events and kind == "agent_reasoning":
            yield from put("assistant", "reasoning", _string(payload.get("text")))
    elif record.kind == "session_meta" and not first:
        yield from put("system", "event", "The session was continued or forked here.")


_FIELDS = ("reason", "message", "num_turns")


def _item(
    item: dict[str, Any], pairing: Pairing, put: Any, timestamp: int | None, undone: bool
) -> Iterator[Message]:
    kind = _string(item.get("type"))
    if kind == "message":
        role, text = item.get("role"), message_text(item)
        if role == "assistant":
            yield from put("assistant", "message", text, id=_string(item.get("id")))
        elif role == "user":
            yield from put("user", "message" if is_typed(item) else "context", text)
        else:
            yield from put("system", "context", text)
    elif kind == "reasoning":
        yield from put("assistant", "reasoning", _reasoning(item))
    elif kind in _CALLS:
        call_id, (tool, cut) = _string(item.get("call_id")), _tool(kind, item)
        waits = call_id if kind in ("function_call", "custom_tool_call", "local_shell_call") else ""
        yield from put("tool", "tool", "", tool=tool, call_id=waits, cut=cut)
    elif kind.endswith("_output"):
        output, failed = _output(item.get("output"))
        shown, cut = shortened(output)
        late = Message(
            0,
            "tool",
            "tool",
            "",
            timestamp=timestamp,
            tool=ToolUse("?", "", shown, failed),
            undone=undone,
            cut=cut,
        )
        yield from pairing.result(_string(item.get("call_id")), shown, is_error=failed, late=late)
    elif kind == "agent_message":
        yield from put(
            "assistant", "message", content_text(item.get("content")) or _string(item.get("message"))
        )
    elif kind in ("compaction", "compaction_summary", "context_compaction"):
        yield from put("system", "event", "The conversation was compacted.")


def _reasoning(item: dict[str, Any]) -> str:
    summary = item.get("summary")
    texts = (
        [part.get("text") for part in summary if isinstance(part, dict)] if isinstance(summary, list) else []
    )
    return "\n\n".join(text for text in texts if isinstance(text, str)) or content_text(item.get("content"))


def _tool(kind: str, item: dict[str, Any]) -> tuple[ToolUse, int]:
    name = _string(item.get("name")) or kind.removesuffix("_call").replace("local_", "")
    space = _string(item.get("namespace"))
    told = item.get("arguments") if kind == "function_call" else item.get("input", item.get("action"))
    if isinstance(told, str):
        with contextlib.suppress(
            ValueError, RecursionError
        ):  # arguments that are not JSON are shown as they are
            told = json.loads(told)
    shown, cut = shortened(_shown(told))
    return ToolUse(f"{space}.{name}" if space else name, shown), cut


def _output(value: Any) -> tuple[str, bool]:
    """The text of a result, which may be a string, content items, or an object with `success`."""
    failed = False
    if isinstance(value, dict):
        failed, value = value.get("success") is False, value.get("content")
    if isinstance(value, str):
        decoded: Any = None
        if value.startswith("{"):
            with contextlib.suppress(ValueError, RecursionError):
                decoded = json.loads(value)
        if isinstance(decoded, dict) and isinstance(decoded.get("output"), str):
            about = decoded.get("metadata")
            code = about.get("exit_code") if isinstance(about, dict) else None
            return decoded["output"], failed or (isinstance(code, int) and code != 0)
        return value, failed
    return content_text(value), failed


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
