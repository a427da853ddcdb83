"""Transcripts of mux, `chat-archive.jsonl`, then `chat.jsonl` (formats/mux.md section 13).

The reader holds only one row at a time in memory, because a row may contain whole files. A row that is in
both files (after a crash of the agent) is returned once. Lines that are no row, have no place in the order
(`historySequence`), or are longer than 16 MiB are skipped and counted.

The files are read without a lock, because the agent may be writing to them. A half-written last line is
skipped like any other damaged line.

Threading: any thread but the GUI's, one reader each. Failure: a missing file counts as empty; `Unavailable`
if a file cannot be read.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reverie.agents.mux.rows import FILES, row_metadata, turn_of
from reverie.agents.mux.tail import TranscriptTail, newest_rows
from reverie.agents.reading import as_shown, as_text, objects_of
from reverie.agents.transcript_lines import decoded_row, decoded_rows, opened_transcript, transcript_lines
from reverie.agents.transcripts import (
    Boundary,
    MemoryCall,
    Message,
    MessageKind,
    ReadStatistics,
    Speaker,
    TailPosition,
    ToolUse,
    Turn,
    TurnKind,
)
from reverie.errors import Unavailable, UserError

LARGEST = 1 << 30
"""The largest transcript that is read from its beginning, in bytes: some seconds' work."""
_BOUNDARY_MARKS = (b"compactionBoundary", b"compaction-request")
_STREAMED = "partial.json"
_MEMORY_TOOLS = frozenset({"memory", "memory_write"})
_MEMORY_MARK = b'"memory'
_KINDS: dict[TurnKind, MessageKind] = {
    "message": "message",
    "synthetic": "context",
    "request": "event",
    "boundary": "summary",
    "reset": "event",
}
_log = logging.getLogger("reverie.transcripts")


class MuxTranscript:
    """The transcript of one session. `skipped` is the number of lines that the last reading skipped."""

    def __init__(self, session_directory: Path) -> None:
        self._directory = session_directory
        self.skipped = 0

    def turns(self, after: int | None = None, up_to: int | None = None) -> Iterator[Turn]:
        """Yield every row with `after` < sequence <= `up_to`, in order; None means no limit."""
        seen: set[int] = set()
        for row in self.rows():
            turn = turn_of(row)
            if turn is None:
                self.skipped += 1
                continue
            in_range = (after is None or turn.sequence > after) and (up_to is None or turn.sequence <= up_to)
            if in_range and turn.sequence not in seen:
                seen.add(turn.sequence)
                yield turn

    def boundaries(self) -> tuple[Boundary, ...]:
        """Return every compaction, oldest first."""
        found: dict[int, Boundary] = {}
        previous: int | None = None
        request: str | None = None
        # Most rows of a long transcript have no mark, and parsing them would take most of the time.
        for row in self.rows(marks=_BOUNDARY_MARKS):
            turn = turn_of(row)
            if turn is None or turn.sequence in found:
                continue
            if turn.kind == "request":
                request = turn.id
            elif turn.kind == "boundary":
                epoch = row_metadata(row)["compactionEpoch"]
                found[turn.sequence] = Boundary(
                    turn.id, turn.sequence, epoch, previous, request, turn.timestamp
                )
                previous, request = turn.sequence, None
        return tuple(found.values())

    def newest_turns(self) -> tuple[Turn, ...]:
        """Return the newest rows, oldest first, without answers that are still being written."""
        return newest_rows(self._directory).turns

    def tail(self, position: TailPosition | None) -> TranscriptTail:
        """Return a reader of the rows that are appended after `position`; None: from now on."""
        return TranscriptTail(self._directory, position)

    def memory_calls(self, *, most_bytes: int = 2 << 20) -> tuple[MemoryCall, ...]:
        """Return the newest successful calls of memory tools, oldest first, each once.

        The calls are described in formats/mux.md sections 6, 13 and 14. Reads the answer that is being
        streamed (`partial.json`), the current file and the archive, newest first, and of these at most
        `most_bytes` bytes. A call without a time is left out. An unreadable file counts as empty, so that it
        does not prevent a snapshot of the memories.
        """
        found: dict[str, MemoryCall] = {}
        left = most_bytes
        for name in (_STREAMED, *reversed(FILES)):
            data = _end_of(self._directory / name, left)
            left -= len(data)
            for line in [data] if name == _STREAMED else data.split(b"\n"):
                row = decoded_row(line) if _MEMORY_MARK in line else None
                for call in _calls(row) if row is not None else ():
                    found.setdefault(call.call_id, call)
        return tuple(sorted(found.values(), key=lambda call: call.at_ms))

    def stamp(self) -> tuple[tuple[int, int, int], ...]:
        """Return (time of change in ns, size, inode) of each existing file of the transcript."""
        found = []
        for name in (*FILES, _STREAMED):
            with contextlib.suppress(OSError):
                status = (self._directory / name).stat()
                found.append((status.st_mtime_ns, status.st_size, status.st_ino))
        return tuple(found)

    def messages(self, reading: ReadStatistics) -> Iterator[Message]:
        """Yield every message in order, one for each part of a row.

        For pictures and other files, the message has only their kind. `reading`: the counts to which the
        lines are added.
        """
        number, seen = 0, set[int]()
        for row in self.rows():
            reading.lines += 1
            turn = turn_of(row)
            if turn is None:
                reading.unknown += 1
            elif turn.sequence not in seen:
                seen.add(turn.sequence)
                for message in _parts(row, turn, number):
                    number = message.number + 1
                    yield message
        reading.broken += self.skipped

    def rows(self, marks: tuple[bytes, ...] = ()) -> Iterator[dict[str, Any]]:
        """Yield the decoded rows of the transcript: of the archive, then of the current file.

        `marks`: yield only rows whose line contains one of these byte strings; empty: all rows.
        """
        self.skipped = 0
        for name in FILES:
            for line in self._lines(self._directory / name):
                if marks and not any(mark in line for mark in marks):
                    continue
                rows, whole = decoded_rows(line)
                yield from rows
                self.skipped += not whole

    def _lines(self, path: Path) -> Iterator[bytes]:
        size = 0
        with contextlib.suppress(OSError):  # reading it reports the error
            size = path.stat().st_size
        if size > LARGEST:
            raise Unavailable(
                f"The transcript {path.name} could not be read.",
                cause=f"It is {size:,} bytes long; Reverie reads at most {LARGEST:,} bytes.",
                next_step="To read it, open it in another program.",
            )
        with contextlib.suppress(FileNotFoundError):
            yield from transcript_lines(path, self._skip)

    def _skip(self) -> None:
        self.skipped += 1


def _parts(row: dict[str, Any], turn: Turn, number: int) -> Iterator[Message]:
    model = turn.model or ""
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


def _end_of(path: Path, most: int) -> bytes:
    """Return at most the last `most` bytes of a file, from the beginning of a line; empty if unreadable."""
    if most <= 0:
        return b""
    try:
        with opened_transcript(path) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - most))
            data = file.read(most)
    except FileNotFoundError:
        return b""
    except (OSError, UserError) as error:
        _log.info("the transcript %s says nothing of who wrote a memory: %s", path.name, error)
        return b""
    return data if size <= most else data[data.find(b"\n") + 1 :]


def _calls(row: dict[str, Any]) -> Iterator[MemoryCall]:
    said_at = row_metadata(row).get("timestamp")
    for part in _call_parts(row.get("parts"), "type"):
        if part.get("type") != "dynamic-tool":
            continue
        at = part.get("timestamp", said_at)
        yield from _call(part, part.get("toolCallId"), at)
        for number, nested in enumerate(_call_parts(part.get("nestedCalls"), "toolName")):
            nested_id = nested.get("toolCallId") or f"{part.get('toolCallId')}/{number}"
            yield from _call(nested, nested_id, nested.get("timestamp", at))


def _call(part: Mapping[str, Any], call_id: object, at: object) -> Iterator[MemoryCall]:
    tool, given, output = part.get("toolName"), part.get("input"), part.get("output")
    if isinstance(output, dict) and isinstance(output.get("value"), dict):
        output = output["value"]
    done = isinstance(output, dict) and output.get("success") is True
    if not isinstance(at, int | float) or isinstance(at, bool):
        return
    if tool in _MEMORY_TOOLS and done and isinstance(given, dict) and isinstance(call_id, str):
        with contextlib.suppress(ValueError, OverflowError):
            yield MemoryCall(call_id, str(tool), given, int(at))


def _call_parts(value: object, name: str) -> list[Mapping[str, Any]]:
    return [part for part in objects_of(value) if name in part]
