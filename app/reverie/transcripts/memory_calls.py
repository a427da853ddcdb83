"""What the agent's memory tools were told to write, from the newest rows of a mux transcript (formats/mux.md
sections 6, 13 and 14).

Only calls that succeeded, and only lines that name a memory tool are parsed: what this costs is bound by
`most_bytes` of reading, and by the calls there are. The answer that is being streamed stands in
`partial.json`; a compaction moves rows to the archive, whose end is read for what is left of the bytes.

Only read, never locked. Threading: any thread but the GUI's. Failure: what cannot be read says nothing, since
nobody may be kept from a snapshot by a transcript.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reverie.errors import MendableError
from reverie.transcripts.lines import decoded_row, opened_transcript
from reverie.transcripts.mux import FILES, row_metadata

_log = logging.getLogger("reverie.transcripts")

STREAMED = "partial.json"
TOOLS = frozenset({"memory", "memory_write"})
_MARK = b'"memory'


@dataclass(frozen=True, slots=True)
class MemoryCall:
    """One successful call. `at_ms`: when it was made (UTC)."""

    call_id: str
    tool: str
    input: Mapping[str, Any]
    at_ms: int


def newest_memory_calls(session_directory: Path, *, most_bytes: int = 2 << 20) -> tuple[MemoryCall, ...]:
    """Oldest first, each once; a call of which nobody knows when it was made is left out."""
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


def _end_of(path: Path, most: int) -> bytes:
    """Its last bytes, from the beginning of a line on."""
    if most <= 0:
        return b""
    try:
        with opened_transcript(path) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - most))
            data = file.read(most)
    except FileNotFoundError:
        return b""
    except (OSError, MendableError) as error:
        _log.info("the transcript %s says nothing of who wrote a memory: %s", path.name, error)
        return b""
    return data if size <= most else data[data.find(b"\n") + 1 :]


def _calls(row: Mapping[str, Any]) -> Iterator[MemoryCall]:
    said_at = row_metadata(dict(row)).get("timestamp")
    for part in _parts(row.get("parts"), "type"):
        if part.get("type") != "dynamic-tool":
            continue
        at = part.get("timestamp", said_at)
        yield from _call(part, part.get("toolCallId"), at)
        for number, nested in enumerate(_parts(part.get("nestedCalls"), "toolName")):
            nested_id = nested.get("toolCallId") or f"{part.get('toolCallId')}/{number}"
            yield from _call(nested, nested_id, nested.get("timestamp", at))


def _call(part: Mapping[str, Any], call_id: object, at: object) -> Iterator[MemoryCall]:
    tool, told, output = part.get("toolName"), part.get("input"), part.get("output")
    if isinstance(output, dict) and isinstance(output.get("value"), dict):
        output = output["value"]
    done = isinstance(output, dict) and output.get("success") is True
    if not isinstance(at, int | float) or isinstance(at, bool):
        return
    if tool in TOOLS and done and isinstance(told, dict) and isinstance(call_id, str):
        with contextlib.suppress(ValueError, OverflowError):
            yield MemoryCall(call_id, str(tool), told, int(at))


def _parts(value: object, name: str) -> list[Mapping[str, Any]]:
    parts = value if isinstance(value, list) else []
    return [part for part in parts if isinstance(part, dict) and name in part]
