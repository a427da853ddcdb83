"""Appends turns to a mux transcript, as the agent does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def chat_row(
    sequence: int, role: str, text: str, *, at: int, workspace_id: str, **metadata: Any
) -> dict[str, Any]:
    """One row of `chat.jsonl`; `at` is UTC ms."""
    return {
        "id": f"{role}-{at}-{sequence}",
        "role": role,
        "parts": [{"type": "text", "text": text}],
        "metadata": {"historySequence": sequence, "timestamp": at, **metadata},
        "workspaceId": workspace_id,
    }


def append_rows(session: Path, *rows: dict[str, Any]) -> None:
    """Whole lines in one write, as the agent does."""
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    with (session / "chat.jsonl").open("ab") as file:
        file.write(lines.encode())


def say_turns(session: Path, first: int, texts: list[str], *, at: int) -> list[str]:
    """A question and its answer for each text; the ids of the answers."""
    name, ids = session.name, []
    for number, text in enumerate(texts):
        sequence, moment = first + 2 * number, at + 10 * number
        question = chat_row(sequence, "user", text, at=moment, workspace_id=name)
        answer = chat_row(sequence + 1, "assistant", "Done.", at=moment + 5, workspace_id=name)
        append_rows(session, question, answer)
        ids.append(str(answer["id"]))
    return ids
