"""A mux transcript as a person reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reverie.agents.mux.transcript import MuxTranscript
from reverie.agents.transcripts import Message, ReadStatistics


def row(sequence: int, role: str, *parts: dict[str, Any], **metadata: Any) -> str:
    metadata = {"historySequence": sequence, "timestamp": 1_786_000_000_000 + sequence, **metadata}
    return json.dumps({"id": f"r{sequence}", "role": role, "metadata": metadata, "parts": list(parts)}) + "\n"


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def read(directory: Path) -> tuple[list[Message], ReadStatistics]:
    reading = ReadStatistics()
    return list(MuxTranscript(directory).messages(reading)), reading


def test_parts_become_messages_in_order_and_tool_calls_carry_their_results(tmp_path: Path) -> None:
    call = {"type": "dynamic-tool", "toolCallId": "t", "toolName": "bash", "input": {"command": "ls"}}
    (tmp_path / "chat.jsonl").write_text(
        row(0, "user", text("Hello"), {"type": "file", "mediaType": "image/png", "url": "data:…"})
        + row(1, "assistant", {"type": "reasoning", "text": "hm"}, {**call, "output": "a b"}, text("Done"))
        + row(2, "assistant", {**call, "state": "output-error", "errorText": "no"}, partial=True)
    )
    messages, reading = read(tmp_path)
    assert [(m.number, m.speaker, m.kind, m.text) for m in messages] == [
        (0, "user", "message", "Hello"),
        (1, "user", "message", "[image/png]"),
        (2, "assistant", "reasoning", "hm"),
        (3, "tool", "tool", ""),
        (4, "assistant", "message", "Done"),
        (5, "tool", "tool", ""),
        (6, "assistant", "event", "The answer was cut off."),
    ]
    good, bad = messages[3].tool, messages[5].tool
    assert good is not None
    assert (good.name, json.loads(good.input), good.output, good.is_error) == (
        "bash",
        {"command": "ls"},
        "a b",
        False,
    )
    assert bad is not None
    assert (bad.output, bad.is_error) == ("no", True)
    assert (reading.lines, reading.broken, reading.unknown) == (3, 0, 0)
    assert [m.folded for m in messages] == [False, False, True, True, False, True, True]


def test_what_the_agent_added_for_itself_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "chat-archive.jsonl").write_text(row(0, "user", text("Old")))
    (tmp_path / "chat.jsonl").write_text(
        row(0, "user", text("Old, twice"))
        + row(1, "assistant", text("The past"), compacted="user", compactionBoundary=True, compactionEpoch=1)
        + row(2, "user", text("Context"), synthetic=True)
    )
    messages, _reading = read(tmp_path)
    assert [(m.kind, m.text) for m in messages] == [
        ("message", "Old"),
        ("summary", "The past"),
        ("context", "Context"),
    ]


def test_damage_is_counted_and_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "chat.jsonl").write_text(
        '{"half\n' + row(0, "user", text("Here")) + '{"id":"x","role":"user"}\n' + '{"id": "cut'
    )
    messages, reading = read(tmp_path)
    assert [m.text for m in messages] == ["Here"]
    assert (reading.unknown, reading.broken) == (1, 2)


def test_no_transcript_is_an_empty_one(tmp_path: Path) -> None:
    assert read(tmp_path) == ([], ReadStatistics())
