"""What of a conversation is shown: the newest events within the limit, linear, an oversize one clamped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from helpers.chats import Chat
from reverie.agents.mux.tail import newest_rows
from reverie.jobs.single_file.job import json_of
from reverie.jobs.single_file.writer_events import LEFT_OUT, TRUNCATED, clamped, events_of, trimmed
from reverie.text.summaries import utf16_length


def event(number: int, text: str, **more: Any) -> dict[str, Any]:
    return {"historySequence": number, "role": "user", "text": text, **more}


def size(events: list[dict[str, Any]]) -> int:
    return utf16_length(json_of(events))


def test_events_have_the_shape_of_the_agents_own(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "s")
    tool = {
        "type": "dynamic-tool",
        "toolCallId": "c",
        "toolName": "bash",
        "state": "input-available",
        "input": 1,
    }
    chat.user("Hi")
    chat.assistant("", parts=[tool])
    chat.assistant("for itself", synthetic=True)
    chat.user("forget", contextBoundaryKind="reset")
    found = events_of(newest_rows(chat.path.parent).turns)
    assert json.loads(found.as_json()) == [
        {"historySequence": 1001, "role": "user", "text": "Hi"},
        {
            "historySequence": 1002,
            "role": "assistant",
            "toolCalls": [{"toolCallId": "c", "toolName": "bash", "input": 1, "state": "input-available"}],
        },
    ]
    assert found.summary() == {"originalCount": 2, "trimmedCount": 2, "maxJsonChars": 80_000}


def test_half_characters_are_made_whole(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "s")
    with chat.path.open("wb") as file:
        file.write(
            b'{"id":"user-1","role":"user","metadata":{"historySequence":1},'
            b'"parts":[{"type":"text","text":"a\\ud83db"}]}\n'
        )
    found = events_of(newest_rows(chat.path.parent).turns)
    assert found.items[0]["text"] == "a\ufffdb"
    found.as_json().encode()


def test_the_newest_events_are_kept() -> None:
    events = [event(number, "x" * 50) for number in range(10)]
    room = size(events[7:])
    assert trimmed(events, room) == events[7:]
    assert trimmed(events, room - 1) == events[8:]
    assert trimmed(events, 10**6) == events
    assert trimmed([], 10) == []


def test_what_stands_behind_a_gap_is_not_shown() -> None:
    events = [event(1, "small"), event(2, "x" * 5000), event(3, "small")]
    assert trimmed(events, 1000) == events[2:]


def test_an_oversize_newest_event_is_clamped_step_by_step() -> None:
    calls = {"toolCalls": [{"toolCallId": "c", "output": "o" * 5000}]}
    assert trimmed([event(1, "short", **calls)], 200) == [event(1, "short")], "without its calls"
    (cut,) = trimmed([event(1, "y" * 5000, **calls)], 200)
    assert cut["text"].startswith("yyyy")
    assert cut["text"].endswith(TRUNCATED)
    (escaped,) = trimmed([event(1, '"' * 5000)], 200)
    assert escaped["text"].endswith(TRUNCATED)
    bare = {"historySequence": 1, "role": "assistant"}
    assert clamped({**bare, "toolCalls": [{"output": "o" * 500}]}, 90) == [{**bare, "text": LEFT_OUT}]
    assert clamped({**bare, "toolCalls": [{"output": "o" * 500}]}, 50) == [bare]
    assert clamped(event(1, "y" * 5000), 20) == []


@given(st.lists(st.text(max_size=60), max_size=12), st.integers(2, 400))
def test_trimming_never_exceeds_the_limit_and_keeps_the_end(texts: list[str], limit: int) -> None:
    events = [event(number, text) for number, text in enumerate(texts)]
    kept = trimmed(events, limit)
    assert not kept or size(kept) <= limit
    if len(kept) > 1 or (kept and kept[0] in events):
        assert kept == events[len(events) - len(kept) :]
        longer = events[len(events) - len(kept) - 1 :]
        assert len(kept) == len(events) or size(longer) > limit
