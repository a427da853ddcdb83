"""Transcripts of Claude Code made by code, line by line (formats/claude-code.md section 8)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from helpers.rollouts import stamp

Line = dict[str, Any]
SESSION = "0a1b2c3d-1111-4222-8333-444455556666"


def name_of(number: int) -> str:
    """The uuid of the record with this number."""
    return str(uuid.UUID(int=number + (1 << 100)))


class Chat:
    """Writes one transcript; each record is the child of the one before unless told otherwise."""

    def __init__(self, session: str = SESSION, cwd: str = "/home/dev/shop", first: int = 1) -> None:
        self.session = session
        self.cwd = cwd
        self.lines: list[Line | str] = []
        self._number = first - 1
        self._answers = 0
        self.last: str | None = None

    def record(self, kind: str, **more: Any) -> str:
        """Any record of the conversation; its uuid. `parent` overrides what it follows."""
        self._number += 1
        own = str(more.pop("uuid", name_of(self._number)))
        parent = more.pop("parent", self.last)
        when = more.pop("timestamp", stamp(self._number))
        row: Line = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session,
            "version": "2.1.70",
            "gitBranch": "main",
            "type": kind,
            **more,
            "uuid": own,
            "timestamp": when,
        }
        self.lines.append(row)
        if row["isSidechain"] is not True:
            self.last = own
        return own

    def user(self, content: Any, **more: Any) -> str:
        return self.record("user", message={"role": "user", "content": content}, **more)

    def answer(self, *blocks: Any, tokens: int | None = None, split: bool = True, **more: Any) -> str:
        """One answer of the model, a line for each block (`split`), all with one message id. A string is a
        text block. `tokens`: the whole context with it. The uuid of the last line."""
        self._answers += 1
        identity = str(more.pop("id", f"msg_{self.session[:4]}_{self._answers}"))
        made = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        calls = any(block.get("type") == "tool_use" for block in made)
        parts = [[block] for block in made] if split else [made]
        last = ""
        for number, content in enumerate(parts, start=1):
            message: Line = {
                "id": identity,
                "type": "message",
                "model": more.get("model", "claude-sonnet-4-5"),
                "role": "assistant",
                "content": content,
                "stop_reason": ("tool_use" if calls else "end_turn") if number == len(parts) else None,
            }
            if tokens is not None:
                message["usage"] = usage(tokens)
            extra = {name: value for name, value in more.items() if name != "model"}
            last = self.record("assistant", message=message, **extra)
        return last

    def results(self, *answers: tuple[str, Any], is_error: bool = False, **more: Any) -> str:
        content = [
            {
                "type": "tool_result",
                "tool_use_id": call,
                "content": told,
                **({"is_error": True} if is_error else {}),
            }
            for call, told in answers
        ]
        return self.user(content, **more)

    def turn(self, said: str, answer: str, *, tokens: int, tools: int = 0) -> str:
        """A person speaks; the model calls `tools` tools, then answers. The uuid of the last line."""
        self.user(said)
        for number in range(tools):
            identity = f"toolu_{self._number}_{number}"
            self.answer(use(identity, "Bash", command="make"), tokens=tokens)
            self.results((identity, "ok"))
        return self.answer(answer, tokens=tokens)

    def other(self, **row: Any) -> None:
        """A row that is no record of the conversation."""
        self.lines.append(row)

    def write(self, path: Path, *, end: str = "\n") -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(jsonl(self.lines) + end, encoding="utf-8")
        return path


def jsonl(lines: Iterable[Line | str]) -> str:
    return "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)


def use(identity: str, name: str, **arguments: Any) -> Line:
    return {"type": "tool_use", "id": identity, "name": name, "input": arguments}


def usage(tokens: int) -> Line:
    """As a service counts: a little of it new, most from the cache; `tokens` in all."""
    output, fresh = min(tokens, 50), min(max(0, tokens - 50), 10)
    rest = tokens - output - fresh
    return {
        "input_tokens": fresh,
        "output_tokens": output,
        "cache_creation_input_tokens": rest // 4,
        "cache_read_input_tokens": rest - rest // 4,
        "service_tier": "standard",
    }
