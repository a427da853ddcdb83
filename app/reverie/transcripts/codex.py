"""Rollouts of Codex: `rollout-<time>-<thread id>.jsonl`, later `.jsonl.zst` (formats/codex.md section 6).

This module knows lines: which are records, what kind, what the oldest files without an envelope meant. What
they say to a person is `transcripts.codex_reading`'s business, what a model is shown `rollouts`'.

A broken line or an unknown kind is counted and skipped. Threading, failure: as `transcripts.lines` says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from reverie.transcripts.reading import Reading
from reverie.transcripts.rows import rows_of

ITEMS = frozenset(
    {
        *("message", "reasoning", "function_call", "function_call_output", "local_shell_call"),
        *("custom_tool_call", "custom_tool_call_output", "web_search_call", "tool_search_call"),
        *("tool_search_output", "image_generation_call", "ghost_snapshot", "compaction"),
        *("compaction_summary", "context_compaction", "agent_message", "additional_tools", "other"),
    }
)
"""The kinds of response items that are known; others are read as `other`."""
KINDS = frozenset({"session_meta", "response_item", "compacted", "turn_context", "event_msg"})
_IGNORED = frozenset(
    {
        *("inter_agent_communication", "inter_agent_communication_metadata", "world_state"),
        *("realtime_item", "security_risk_score", "token_usage_record", "retained_context"),
    }
)
"""Kinds that are known to say nothing of the conversation."""
INJECTED = (
    *("# AGENTS.md instructions", "<environment_context>", "<user_instructions>", "<skill>"),
    "<turn_aborted>",
)
"""What a user message begins with that no person typed."""
_NAME = re.compile(
    r"^rollout-.+-([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})$"
)
_HEAD_LINES = 50


@dataclass(frozen=True, slots=True)
class Record:
    """One line. `timestamp` UTC ms. `payload` is untrusted: any of its values may be of any type."""

    kind: str
    payload: dict[str, Any]
    timestamp: int | None = None


@dataclass(frozen=True, slots=True)
class RolloutHead:
    """What the beginning of a rollout says of its thread. Empty texts: it does not say."""

    thread_id: str = ""
    cwd: str = ""
    timestamp: int | None = None
    source: str = ""
    git_branch: str = ""
    memory_mode: str = ""
    first_prompt: str = ""


def thread_id_of(path: Path) -> str:
    """The thread of a rollout file, by its name; empty where that is no rollout's."""
    found = _NAME.match(path.name.removesuffix(".zst").removesuffix(".jsonl"))
    return found[1].lower() if found else ""


def records(path: Path, reading: Reading) -> Iterator[Record]:
    """Every record in order. Raises `FileNotFoundError`, `Unavailable`."""
    for row in rows_of(path, reading):
        record = record_of(row)
        if record is None:
            reading.unknown += str(row.get("type")) not in _IGNORED
        else:
            yield record


def record_of(row: dict[str, Any]) -> Record | None:
    """The record of a decoded line; None for a kind that is not known, or is known to say nothing."""
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
    """Read from the first lines only. Raises `FileNotFoundError`, `Unavailable`."""
    meta: dict[str, Any] | None = None
    cwd = prompt = ""
    started: int | None = None
    for number, record in enumerate(records(path, Reading())):
        if number >= _HEAD_LINES or (meta is not None and cwd and prompt):
            break
        if record.kind == "session_meta" and meta is None:  # a fork brings a second one: the first counts
            meta, started = record.payload, timestamp_ms(record.payload.get("timestamp")) or record.timestamp
        elif record.kind == "response_item" and not prompt and is_typed(record.payload):
            prompt = message_text(record.payload)
        cwd = cwd or _text(record.payload.get("cwd"))
    meta = meta or {}
    git, source = meta.get("git"), meta.get("source")
    return RolloutHead(
        thread_id=_text(meta.get("id")) or thread_id_of(path),
        cwd=cwd,
        timestamp=started,
        source=source if isinstance(source, str) else "subagent" if "subagent" in str(source) else "",
        git_branch=_text(git.get("branch")) if isinstance(git, dict) else "",
        memory_mode=_text(meta.get("memory_mode")),
        first_prompt=prompt,
    )


def is_typed(item: dict[str, Any]) -> bool:
    """Whether a response item is what a person typed, and not what was put in front of the model."""
    if item.get("type") != "message" or item.get("role") != "user":
        return False
    return not message_text(item).lstrip().startswith(INJECTED)


def message_text(item: dict[str, Any]) -> str:
    """The text of a message item; pictures and sounds are told by their kind."""
    return content_text(item.get("content"))


def content_text(content: Any) -> str:
    """The text of a list of content items, or of a plain string."""
    if isinstance(content, str):
        return content
    parts = []
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, dict):
            continue
        kind, text = part.get("type"), part.get("text")
        if isinstance(text, str):
            parts.append(text)
        elif isinstance(kind, str) and ("image" in kind or "audio" in kind):
            parts.append(f"[{kind.removeprefix('input_').removeprefix('output_')}]")
    return "\n".join(parts)


def timestamp_ms(value: Any) -> int | None:
    """RFC 3339 as UTC ms; None for anything else, and for a time without a zone."""
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value)
        return round(found.timestamp() * 1000) if found.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
