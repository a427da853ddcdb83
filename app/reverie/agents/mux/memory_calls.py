"""Calls of memory tools in mux transcripts (formats/mux.md).

Threading: any thread but the GUI's. Failure: none; no function raises.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reverie.agents.mux.transcript import FILES, row_metadata
from reverie.agents.reading import objects_of
from reverie.agents.transcript_lines import decoded_row, opened_transcript
from reverie.agents.transcripts import MemoryCall
from reverie.errors import UserError

_log = logging.getLogger("reverie.transcripts")

STREAMED = "partial.json"
TOOLS = frozenset({"memory", "memory_write"})
_MARK = b'"memory'


def newest_memory_calls(session_directory: Path, *, most_bytes: int = 2 << 20) -> tuple[MemoryCall, ...]:
    """Return the newest successful calls of memory tools in a transcript, oldest first, each once.

    The calls are described in formats/mux.md sections 6, 13 and 14. Reads the answer that is being streamed
    (`partial.json`), the current file and the archive, newest first, and of these at most `most_bytes` bytes.
    A call without a time is left out. An unreadable file counts as empty, so that it does not prevent a
    snapshot of the memories.
    """
    found: dict[str, MemoryCall] = {}
    left = most_bytes
    for name in (STREAMED, *reversed(FILES)):
        data = _end_of(session_directory / name, left)
        left -= len(data)
        for line in [data] if name == STREAMED else data.split(b"\n"):
            row = decoded_row(line) if _MARK in line else None
            for call in _calls(row) if row is not None else ():
                found.setdefault(call.call_id, call)
    return tuple(sorted(found.values(), key=lambda call: call.at_ms))


def transcript_stamp(session_directory: Path) -> tuple[tuple[int, int, int], ...]:
    """Return (time of change in ns, size, inode) of each file of the transcript in a session's directory."""
    found = []
    for name in (*FILES, STREAMED):
        with contextlib.suppress(OSError):
            status = (session_directory / name).stat()
            found.append((status.st_mtime_ns, status.st_size, status.st_ino))
    return tuple(found)


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


def _calls(row: Mapping[str, Any]) -> Iterator[MemoryCall]:
    said_at = row_metadata(dict(row)).get("timestamp")
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
    if tool in TOOLS and done and isinstance(given, dict) and isinstance(call_id, str):
        with contextlib.suppress(ValueError, OverflowError):
            yield MemoryCall(call_id, str(tool), given, int(at))


def _call_parts(value: object, name: str) -> list[Mapping[str, Any]]:
    return [part for part in objects_of(value) if name in part]
