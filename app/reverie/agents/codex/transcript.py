"""Rollouts of Codex, `rollout-<time>-<thread id>.jsonl`, later `.jsonl.zst`.

This module reads records and the history of a thread (formats/codex.md sections 6 and 10).

A thread may consist of several files. Reverting a thread starts a new file, a segment, named
`rollout-<time>-<thread id>_<segment id>.jsonl`; forking a thread starts a file that has only the new records.
In both, `session_meta` names in `history_base` the previous rollout, and how much of it is still valid.
`history_of` follows these references; every reader that wants the whole thread reads its segments in order.

A broken line or an unknown kind is counted and skipped. A reference that cannot be followed (missing,
looping, damaged) ends the chain with a sentence. Threading, failure: as in `agents.transcripts`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from reverie.agents.reading import as_count, as_object, as_text, objects_of, texts_of
from reverie.agents.transcript_lines import rows_of
from reverie.agents.transcripts import ReadStatistics
from reverie.errors import Unavailable
from reverie.resources import resource_table
from reverie.values import Struct

TABLE = resource_table("transcripts.toml")["codex"]
ITEMS = frozenset(TABLE["items"].split())
"""The known kinds of response items; others are read as `other`."""
KINDS = frozenset({"session_meta", "response_item", "compacted", "turn_context", "event_msg"})
_IGNORED = frozenset(TABLE["ignored"].split())
"""Kinds of rows that are known not to belong to the conversation."""
INJECTED = tuple(TABLE["injected"])
"""Beginnings of user messages that no person typed. Current versions record the kind of each message beside
it, which takes precedence."""
_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_NAME = re.compile(rf"^rollout-.+-({_UUID})(?:_({_UUID}))?$")
_ID = re.compile(_UUID)
_HEAD_LINES = 50
_META_LINES = 5
"""Number of lines in which a file's `session_meta` is searched; Codex writes it first."""
MOST_SEGMENTS = 1_000
"""Maximum length of a chain of references; each revert or fork adds one."""

Finder = Callable[[str], Path | None]
"""A function that returns the file of a rollout by its id: the thread id, or a later segment's own id."""


class Record(Struct, frozen=True):
    """One record, from one line of a rollout (transcript)."""

    kind: str
    """The type of the record, such as `response_item`."""
    payload: dict[str, Any]
    """The content of the record; untrusted: any value in it may have any type."""
    timestamp: int | None = None
    """The time of the record (UTC ms); None if unknown."""


class RolloutHead(Struct, frozen=True):
    """The facts about a thread at the beginning of its rollout (transcript). Missing texts are empty."""

    thread_id: str = ""
    cwd: str = ""
    """The working directory in which the thread began."""
    source: str = ""
    """The kind of program that ran the thread, such as `cli`."""
    git_branch: str = ""
    memory_mode: str = ""
    """Whether memories may be made from the thread; see `Thread.memory_mode`."""
    first_prompt: str = ""
    """The first text that a person typed."""


class Segment(Struct, frozen=True):
    """One file of a thread's history, and the extent of its valid part."""

    path: Path
    end_bytes: int | None = None
    """The number of bytes that are valid; None if all are."""
    end_ordinal: int | None = None
    """The ordinal of the first line that is not valid; None if all lines are valid."""


class RolloutHistory(Struct, frozen=True):
    """The files that make up a thread, oldest first."""

    segments: tuple[Segment, ...]
    problem: str = ""
    """The reason why the beginning is missing, as a sentence; empty if the history is complete."""


def thread_id_of(path: Path) -> str:
    """Return the thread id in the name of a rollout file; empty for another name."""
    return _ids(path)[0]


def rollout_id_of(path: Path) -> str:
    """Return the id by which other rollouts refer to a rollout file: its segment id, else its thread id.

    Empty if the name is not that of a rollout.
    """
    thread, segment = _ids(path)
    return segment or thread


def history_of(path: Path, find: Finder) -> RolloutHistory:
    """Return the files from which Codex composes the thread of the rollout `path`.

    Reads the beginning of each. `find` returns the file of a rollout, given its id. Raises
    `FileNotFoundError` and `Unavailable` for `path` itself; a failure to read an earlier file becomes the
    `problem` of the result.
    """
    found = [Segment(path)]
    seen = {rollout_id_of(path), str(path)}
    base, problem = _history_base(path), ""
    while base is not None and not problem:
        known = find(base.rollout) if base.rollout else None
        if not base.rollout:
            problem = "This thread refers to an earlier transcript in a way that Reverie cannot read."
        elif base.rollout in seen or str(known) in seen:
            problem = f"The history of this thread refers back to itself at transcript {base.rollout}."
        elif known is None:
            problem = (
                f"The earlier part of this thread is missing: this home has no transcript {base.rollout}."
            )
        elif len(found) >= MOST_SEGMENTS:
            problem = f"Only the newest {MOST_SEGMENTS:,} parts of this thread are read."
        else:
            seen |= {base.rollout, str(known)}
            segment = Segment(known, base.end_bytes, base.end_ordinal)
            try:
                base = _history_base(known)
                found.append(segment)
            except (FileNotFoundError, Unavailable):
                problem = f"The earlier part of this thread could not be read: {known.name}."
    return RolloutHistory(tuple(reversed(found)), problem)


def records(path: Path, reading: ReadStatistics) -> Iterator[Record]:
    """Yield every record of one rollout file in order.

    `reading`: the counts to which the lines are added. Raises `FileNotFoundError`, `Unavailable`.
    """
    return segment_records(Segment(path), reading)


def segment_records(segment: Segment, reading: ReadStatistics) -> Iterator[Record]:
    """Yield every valid record of a segment, in order.

    `reading`: the counts to which the lines are added. Raises `FileNotFoundError`, `Unavailable`.
    """
    for row in rows_of(segment.path, reading, end=segment.end_bytes):
        ordinal = row.get("ordinal")
        if segment.end_ordinal is not None and isinstance(ordinal, int) and ordinal >= segment.end_ordinal:
            return  # ordinals only grow
        record = record_of(row)
        if record is None:
            reading.unknown += str(row.get("type")) not in _IGNORED
        else:
            yield record


def record_of(row: dict[str, Any]) -> Record | None:
    """Return the record in `row`, a decoded line; None if it is of no kind that Reverie reads."""
    kind, payload = row.get("type"), row.get("payload")
    when = timestamp_ms(row.get("timestamp"))
    if isinstance(kind, str) and isinstance(payload, dict):
        return Record(kind, payload, when) if kind in KINDS else None
    if "payload" in row or kind in _IGNORED:
        return None
    if isinstance(kind, str):  # the oldest files had items without an envelope
        return Record("response_item", row, when) if kind in ITEMS else None
    if isinstance(row.get("id"), str) and when is not None:
        return Record("session_meta", row, when)
    return None


def rollout_head(path: Path) -> RolloutHead:
    """Return the facts about a thread in the first lines of its rollout.

    Raises `FileNotFoundError`, `Unavailable`.
    """
    meta: dict[str, Any] | None = None
    cwd = prompt = ""
    for number, record in enumerate(records(path, ReadStatistics())):
        if number >= _HEAD_LINES or (meta is not None and cwd and prompt):
            break
        if record.kind == "session_meta" and meta is None:  # a fork brings a second one: the first counts
            meta = record.payload
        elif record.kind == "response_item" and not prompt and is_typed(record.payload):
            prompt = message_text(record.payload)
        cwd = cwd or as_text(record.payload.get("cwd"))
    meta = meta or {}
    source = meta.get("source")
    return RolloutHead(
        thread_id=as_text(meta.get("id")) or thread_id_of(path),
        cwd=cwd,
        source=source if isinstance(source, str) else "subagent" if "subagent" in str(source) else "",
        git_branch=as_text(as_object(meta.get("git")).get("branch")),
        memory_mode=as_text(meta.get("memory_mode")),
        first_prompt=prompt,
    )


def is_typed(item: dict[str, Any]) -> bool:
    """Return whether `item`, a response item, is text that a person typed, not text that the agent added."""
    if item.get("type") != "message" or item.get("role") != "user":
        return False
    about = as_object(item.get("internal_chat_message_metadata_passthrough"))
    named = texts_of(about.get("content_item_kinds"))
    if any(kind.startswith("user.") for kind in named):
        return True
    if named and "unknown" not in named:
        return False
    return not message_text(item).lstrip().startswith(INJECTED)


def message_text(item: dict[str, Any]) -> str:
    """Return the text of a message item; pictures and sounds are represented by their kind."""
    return content_text(item.get("content"))


def content_text(content: Any) -> str:
    """Return the text of a list of content items, or of a plain string."""
    if isinstance(content, str):
        return content
    parts = []
    for part in objects_of(content):
        kind, text = part.get("type"), part.get("text")
        if isinstance(text, str):
            parts.append(text)
        elif isinstance(kind, str) and ("image" in kind or "audio" in kind):
            parts.append(f"[{kind.removeprefix('input_').removeprefix('output_')}]")
    return "\n".join(parts)


def timestamp_ms(value: Any) -> int | None:
    """Return an RFC 3339 time as UTC ms; None for anything else, and for a time without a zone."""
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value)
        return round(found.timestamp() * 1000) if found.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


class _Base(Struct, frozen=True):
    """The reference (`history_base`) from a rollout to the earlier rollout that it continues.

    Only the beginning of the earlier rollout is continued, up to `end_bytes` or `end_ordinal`.
    """

    rollout: str
    """The id of the earlier rollout; empty if the reference is invalid."""
    end_bytes: int | None = None
    """The number of bytes of that beginning; None if not given."""
    end_ordinal: int | None = None
    """The ordinal of the first line after that beginning; None if not given."""


def _history_base(path: Path) -> _Base | None:
    """Return the reference in a rollout's first `session_meta`; None if there is none."""
    for number, record in enumerate(records(path, ReadStatistics())):
        if record.kind == "session_meta":
            told = record.payload.get("history_base")
            if told is None:
                return None
            rollout = told.get("thread_id") if isinstance(told, dict) else None
            if not isinstance(rollout, str) or not _ID.fullmatch(rollout):
                return _Base("")
            return _Base(
                rollout.lower(),
                as_count(told.get("end_byte_offset")),
                as_count(told.get("end_ordinal_exclusive")),
            )
        if number + 1 >= _META_LINES:
            return None
    return None


def _ids(path: Path) -> tuple[str, str]:
    found = _NAME.match(path.name.removesuffix(".zst").removesuffix(".jsonl"))
    return (found[1].lower(), (found[2] or "").lower()) if found else ("", "")
