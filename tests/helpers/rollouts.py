"""Rollouts of Codex made by code, line by line (formats/codex.md section 6)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Line = dict[str, Any]
START = 1_786_000_000


def stamp(seconds: float) -> str:
    """RFC 3339 with milliseconds, that many seconds after the start."""
    return datetime.fromtimestamp(START + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def line(kind: str, at: float = 0, /, **payload: Any) -> Line:
    return {"timestamp": stamp(at), "type": kind, "payload": payload}


def meta(thread_id: str, cwd: str, at: float = 0, **more: Any) -> Line:
    told = {
        "id": thread_id,
        "timestamp": stamp(at),
        "cwd": cwd,
        "originator": "codex_cli_rs",
        "source": "cli",
    }
    return line("session_meta", at, **{**told, "cli_version": "0.98.0", **more})


def said(role: str, text: str, at: float = 0, **more: Any) -> Line:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text}]
    return line("response_item", at, type="message", role=role, content=content, **more)


def event(kind: str, at: float = 0, **more: Any) -> Line:
    return line("event_msg", at, type=kind, **more)


def call(call_id: str, name: str, arguments: Any, at: float = 0) -> Line:
    told = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return line("response_item", at, type="function_call", name=name, arguments=told, call_id=call_id)


def result(call_id: str, output: Any, at: float = 0) -> Line:
    return line("response_item", at, type="function_call_output", call_id=call_id, output=output)


def shell(call_id: str, command: str, output: str, code: int = 0, at: float = 0) -> list[Line]:
    """A command and what came of it."""
    told = json.dumps({"output": output, "metadata": {"exit_code": code, "duration_seconds": 0.1}})
    return [call(call_id, "shell", {"command": ["bash", "-lc", command]}, at), result(call_id, told, at + 1)]


def rollout_name(thread_id: str, at: float = 0, suffix: str = ".jsonl") -> str:
    when = datetime.fromtimestamp(START + at, UTC).strftime("%Y-%m-%dT%H-%M-%S")
    return f"rollout-{when}-{thread_id}{suffix}"


def rollout_bytes(lines: Iterable[Line | str]) -> bytes:
    """Lines as the agent writes them; a string stands as it is."""
    told = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) + "\n" for one in lines]
    return "".join(told).encode()


def write_rollout(path: Path, lines: Iterable[Line | str]) -> Path:
    """Write a rollout, compressed where the name says so."""
    data = rollout_bytes(lines)
    if path.suffix == ".zst":
        import zstandard

        data = zstandard.ZstdCompressor().compress(data)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
