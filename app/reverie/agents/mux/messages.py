"""Transcripts of mux as messages for a person.

Threading, failure: as in `agents.mux.transcript`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reverie.agents.mux.transcript import MuxTranscript, row_metadata, turn_of
from reverie.agents.reading import as_shown, as_text, objects_of
from reverie.agents.transcripts import Message, MessageKind, ReadStatistics, Speaker, ToolUse, Turn, TurnKind

_KINDS: dict[TurnKind, MessageKind] = {
    "message": "message",
    "synthetic": "context",
    "request": "event",
    "boundary": "summary",
    "reset": "event",
}


class MuxReadable:
    """A `ReadableTranscript` of one session directory of mux.

    Each part of a row becomes one message. For pictures and other files, the message has only their kind.
    """

    def __init__(self, session_directory: Path) -> None:
        self._directory = session_directory

    def messages(self, reading: ReadStatistics) -> Iterator[Message]:
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
    model = as_text(row_metadata(row).get("model"))
    for part in objects_of(row.get("parts")):
        kind, text, tool = _KINDS[turn.kind], as_text(part.get("text")), None
        if part.get("type") == "reasoning":
            kind = "reasoning"
        elif part.get("type") == "dynamic-tool":
            kind, tool = "tool", _tool(part)
        elif part.get("type") == "file":
            text = f"[{as_text(part.get('mediaType')) or 'file'}]"
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
        as_text(part.get("toolName")) or "?",
        as_shown(part.get("input")),
        None if output is None else as_shown(output),
        failed,
    )
