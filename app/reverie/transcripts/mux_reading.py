"""A mux transcript as a person reads it (formats/mux.md section 13): one message a part of a row.

Rows come from `transcripts.mux`, which skips and counts what is no row. Pictures and other files are told by
their kind, never carried along. Threading and failure: as `transcripts.reading` says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reverie.transcripts.mux import MuxTranscript, row_metadata, turn_of
from reverie.transcripts.reading import Message, MessageKind, Reading, Speaker, ToolUse
from reverie.transcripts.turns import Turn, TurnKind

_KINDS: dict[TurnKind, MessageKind] = {
    "message": "message",
    "synthetic": "context",
    "request": "event",
    "boundary": "summary",
    "reset": "event",
}


class MuxReadable:
    """Implements `transcripts.reading.ReadableTranscript` for one session directory."""

    def __init__(self, session_directory: Path) -> None:
        self._directory = session_directory

    def messages(self, reading: Reading) -> Iterator[Message]:
        transcript, number, seen = MuxTranscript(self._directory), 0, set[int]()
        for row in transcript.rows():
            reading.lines += 1
            turn = turn_of(row)
            if turn is None:
                reading.unknown += 1
            elif turn.sequence not in seen:
                seen.add(turn.sequence)
                for message in _parts(row, turn, number):
                    number = message.number + 1
                    yield message
        reading.broken += transcript.skipped


def _parts(row: dict[str, Any], turn: Turn, number: int) -> Iterator[Message]:
    model = row_metadata(row).get("model")
    model = model if isinstance(model, str) else ""
    parts = row.get("parts")
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, dict):
            continue
        kind, text, tool = _KINDS[turn.kind], _string(part.get("text")), None
        if part.get("type") == "reasoning":
            kind = "reasoning"
        elif part.get("type") == "dynamic-tool":
            kind, tool = "tool", _tool(part)
        elif part.get("type") == "file":
            text = f"[{_string(part.get('mediaType')) or 'file'}]"
        if text or tool is not None:
            yield _message(number, turn, kind, text, tool, model)
            number += 1
    if not turn.finished:
        yield _message(number, turn, "event", "The answer was cut off.", None, model)


def _message(
    number: int, turn: Turn, kind: MessageKind, text: str, tool: ToolUse | None, model: str
) -> Message:
    speaker: Speaker = "tool" if tool is not None else turn.role
    return Message(number, speaker, kind, text, turn.id, turn.timestamp, tool, model)


def _tool(part: dict[str, Any]) -> ToolUse:
    output, state = part.get("output"), part.get("state")
    failed = state == "output-error" or (isinstance(output, dict) and output.get("success") is False)
    if output is None and state == "output-error":
        output = part.get("errorText", "")
    return ToolUse(
        _string(part.get("toolName")) or "?",
        _shown(part.get("input")),
        None if output is None else _shown(output),
        failed,
    )


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
