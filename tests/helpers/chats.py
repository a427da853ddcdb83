"""A growing mux transcript for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FIRST_SEQUENCE = 1000
FIRST_TIME = 1_787_300_000_000


def chat_row(number: int, role: str, text: str, **metadata: Any) -> dict[str, Any]:
    """One row as the agent writes it; `number` orders it. `parts` among the metadata are further parts."""
    parts = metadata.pop("parts", [])
    return {
        "id": f"{role}-{number}",
        "role": role,
        "metadata": {
            "timestamp": FIRST_TIME + number * 1000,
            "historySequence": FIRST_SEQUENCE + number,
            **metadata,
        },
        "parts": [*parts, {"type": "text", "text": text}],
        "workspaceId": "w",
    }


class Chat:
    """`chat.jsonl` of one session, appended to as the agent does."""

    def __init__(self, session: Path) -> None:
        session.mkdir(parents=True, exist_ok=True)
        self.path = session / "chat.jsonl"
        self.number = 0

    def append(self, row: dict[str, Any]) -> dict[str, Any]:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        return row

    def user(self, text: str, **metadata: Any) -> dict[str, Any]:
        self.number += 1
        return self.append(chat_row(self.number, "user", text, **metadata))

    def assistant(self, text: str = "Done.", **metadata: Any) -> dict[str, Any]:
        self.number += 1
        return self.append(chat_row(self.number, "assistant", text, **metadata))

    def turn(self, said: str = "Go on.", **metadata: Any) -> dict[str, Any]:
        """One question and its completed answer; the answer's row."""
        self.user(said)
        return self.assistant(**metadata)
