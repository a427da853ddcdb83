"""The rows of mux transcripts as turns (formats/mux.md section 13).

Pure; any thread. Failure: none; values of an unexpected type are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reverie.agents.reading import as_count, as_object, as_text, objects_of, texts_of
from reverie.agents.transcripts import Turn, TurnEvent, TurnKind, TurnToolUse

FILES = ("chat-archive.jsonl", "chat.jsonl")
_COMPACTED = ("user", "idle", "heartbeat")
_MARKS_OF_AN_END = ("duration", "usage", "finishReason")


def turn_of(row: dict[str, Any]) -> Turn | None:
    """Return the row as a turn; None if it has no id, role or sequence."""
    metadata = row_metadata(row)
    identity, role, sequence = row.get("id"), row.get("role"), as_count(metadata.get("historySequence"))
    if not isinstance(identity, str) or not identity or sequence is None:
        return None
    if role not in ("system", "user", "assistant"):
        return None
    texts = [part.get("text") for part in objects_of(row.get("parts")) if part.get("type") == "text"]
    kind = _kind(role, metadata)
    return Turn(
        id=identity,
        role=role,
        text="\n".join(texts_of(texts)),
        sequence=sequence,
        timestamp=_timestamp(metadata.get("timestamp")),
        kind=kind,
        finished=metadata.get("partial") is not True and not metadata.get("error"),
        event=_event(kind, role, metadata, empty=not row.get("parts")),
        tools=tuple(_tools(row)),
        model=as_text(metadata.get("model")) or None,
        error=as_text(metadata.get("error")),
    )


def _kind(role: str, metadata: dict[str, Any]) -> TurnKind:
    if role == "assistant" and _is_boundary(metadata):
        return "boundary"
    if metadata.get("contextBoundaryKind") == "reset":
        return "reset"
    own = (as_object(metadata.get(name)) for name in ("muxMetadata", "cmuxMetadata"))
    if role == "user" and any(item.get("type") == "compaction-request" for item in own):
        return "request"
    return "synthetic" if metadata.get("synthetic") is True else "message"


def _event(kind: TurnKind, role: str, metadata: Mapping[str, Any], *, empty: bool) -> TurnEvent:
    if kind == "boundary":
        return "compaction"
    if kind == "reset":
        return "reset"
    if kind != "message":
        return "other"
    if role != "assistant":
        return "message"
    if metadata.get("error") or metadata.get("errorType"):
        return "error"
    if metadata.get("partial") is True:
        return "aborted"
    return "begun" if empty and not any(name in metadata for name in _MARKS_OF_AN_END) else "turn-end"


def _tools(row: Mapping[str, Any]) -> Iterator[TurnToolUse]:
    for part in objects_of(row.get("parts")):
        name = part.get("toolName")
        if part.get("type") == "dynamic-tool" and isinstance(name, str):
            call_id, state = as_text(part.get("toolCallId")), as_text(part.get("state"))
            yield TurnToolUse(call_id, name, part.get("input"), part.get("output"), state)


def _is_boundary(metadata: dict[str, Any]) -> bool:
    compacted, epoch = metadata.get("compacted"), as_count(metadata.get("compactionEpoch"))
    return (
        metadata.get("compactionBoundary") is True
        and (compacted is True or compacted in _COMPACTED)
        and bool(epoch)
    )


def row_metadata(row: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a row; empty if it has none."""
    return as_object(row.get("metadata"))


def _timestamp(value: Any) -> int | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")
    return int(value) if good else None
