"""The tail announces each row once, for no more than its own bytes, whatever the agent does to the file."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.chats import Chat, chat_row
from helpers.profiles import examples
from reverie.agents.mux import tail as tail_module
from reverie.agents.mux.tail import TranscriptTail, newest_rows
from reverie.agents.transcripts import TailPosition
from reverie.errors import UserError


@pytest.fixture
def chat(tmp_path: Path) -> Chat:
    return Chat(tmp_path / "session")


def ids(tail: TranscriptTail) -> list[str]:
    return [event.id for event in tail.poll()]


def test_a_new_tail_announces_only_what_comes_after(chat: Chat) -> None:
    chat.turn()
    tail = TranscriptTail(chat.path.parent)
    assert tail.poll() == ()
    chat.turn()
    assert ids(tail) == ["user-3", "assistant-4"]
    assert tail.poll() == ()


def test_a_session_without_a_transcript_has_no_rows_until_it_has(chat: Chat) -> None:
    tail = TranscriptTail(chat.path.parent)
    assert tail.poll() == ()
    chat.turn()
    assert ids(tail) == ["user-1", "assistant-2"]


def test_rows_are_typed(chat: Chat) -> None:
    tail = TranscriptTail(chat.path.parent, TailPosition())
    tool = {
        "type": "dynamic-tool",
        "toolCallId": "c1",
        "toolName": "bash",
        "state": "output-available",
        "input": {"script": "ls"},
        "output": {"success": True},
    }
    chat.user("Hello")
    chat.assistant("Hi", model="anthropic:claude", parts=[tool])
    chat.assistant("Hal", partial=True)
    chat.assistant("", error="overloaded", errorType="server")
    chat.assistant("Sum", compactionBoundary=True, compacted="user", compactionEpoch=1)
    chat.assistant("Note", synthetic=True)
    chat.user("New", contextBoundaryKind="reset")
    events = tail.poll()
    kinds = [event.event for event in events]
    assert kinds == ["message", "turn-end", "aborted", "error", "compaction", "other", "reset"]
    assert events[1].model == "anthropic:claude"
    assert [(use.call_id, use.name, use.state) for use in events[1].tools] == [
        ("c1", "bash", "output-available")
    ]
    assert events[3].error == "overloaded"


def begin(chat: Chat, **metadata: Any) -> dict[str, Any]:
    """The empty row that the agent appends when the model begins to answer."""
    chat.number += 1
    return chat.append({**chat_row(chat.number, "assistant", "", model="m:x", **metadata), "parts": []})


def end(chat: Chat, row: dict[str, Any], text: str, **metadata: Any) -> None:
    """The agent puts the answer in that row's place: the whole file is written anew."""
    full = {
        **row,
        "metadata": {**row["metadata"], **metadata},
        "parts": [{"type": "text", "text": text}],
    }
    lines = [json.loads(line) for line in chat.path.read_text().split("\n") if line]
    new = chat.path.with_name("new")
    new.write_text("".join(json.dumps(full if old["id"] == row["id"] else old) + "\n" for old in lines))
    new.replace(chat.path)


@pytest.mark.parametrize(
    ("metadata", "kind"),
    [({"duration": 9}, "turn-end"), ({"partial": True}, "aborted"), ({"error": "cut"}, "error")],
)
@pytest.mark.parametrize("from_the_end", [False, True])
def test_an_answer_counts_when_it_ended_not_when_it_began(
    chat: Chat, metadata: dict[str, Any], kind: str, from_the_end: bool
) -> None:
    chat.user("Hello")
    tail = TranscriptTail(chat.path.parent, None if from_the_end else TailPosition())
    tail.poll()
    row = begin(chat)
    if from_the_end:
        tail = TranscriptTail(chat.path.parent)
    assert tail.poll() == ()
    end(chat, row, "Hi", **metadata)
    later = TranscriptTail(chat.path.parent, TailPosition.of(tail.position.as_json()))
    for reader in (tail, later):
        assert [(event.event, event.text) for event in reader.poll()] == [(kind, "Hi")]
        assert reader.poll() == ()


def test_an_answer_counts_though_other_rows_came_before_its_end(chat: Chat) -> None:
    tail = TranscriptTail(chat.path.parent, TailPosition())
    row = begin(chat)
    assert tail.poll() == ()
    chat.user("A report", synthetic=True)
    assert ids(tail) == ["user-2"]
    end(chat, row, "Hi", duration=9)
    assert ids(tail) == ["assistant-1"]
    chat.user("Next")
    assert ids(tail) == ["user-3"]


def test_an_answer_costs_its_own_bytes_though_the_file_is_written_anew(chat: Chat) -> None:
    chat.user("long ago " * 50_000)
    tail = TranscriptTail(chat.path.parent)
    row = begin(chat)
    assert tail.poll() == ()
    end(chat, row, "Hi", duration=9)
    assert ids(tail) == ["assistant-2"]
    assert tail.bytes_read < 1000
    chat.turn()
    assert ids(tail) == ["user-3", "assistant-4"]


def test_an_answer_that_ended_without_a_word_is_an_end(chat: Chat) -> None:
    tail = TranscriptTail(chat.path.parent, TailPosition())
    begin(chat, duration=12, usage={"inputTokens": 1})
    assert [event.event for event in tail.poll()] == ["turn-end"]


def test_an_answer_that_only_began_is_none_of_the_newest_rows(chat: Chat) -> None:
    chat.turn()
    begin(chat)
    found = newest_rows(chat.path.parent)
    assert [event.id for event in found.turns] == ["user-1", "assistant-2"]
    assert found.begun == ("assistant-3",)


def test_a_half_written_row_waits_and_is_read_once(chat: Chat) -> None:
    tail = TranscriptTail(chat.path.parent, TailPosition())
    line = json.dumps(chat_row(1, "user", "x" * 5000)).encode() + b"\n"
    for start in range(0, len(line), 999):
        assert tail.poll() == ()
        with chat.path.open("ab") as file:
            file.write(line[start : start + 999])
    assert ids(tail) == ["user-1"]
    assert tail.bytes_read == len(line)


def test_a_half_written_row_that_is_taken_back_does_not_spoil_the_next(chat: Chat) -> None:
    chat.user("first")
    tail = TranscriptTail(chat.path.parent, TailPosition())
    tail.poll()
    whole = chat.path.read_bytes()
    chat.path.write_bytes(whole + b'{"id": "assistant-2", "role": "assi')
    assert tail.poll() == ()
    with chat.path.open("r+b") as file:
        file.truncate(len(whole))
    chat.assistant("x" * 200)
    assert ids(tail) == ["assistant-2"]


def test_line_separators_inside_a_row_end_no_line(chat: Chat) -> None:
    tail = TranscriptTail(chat.path.parent, TailPosition())
    chat.user("one\u2028two\u2029three\x85four\x0bfive")
    (event,) = tail.poll()
    assert event.text == "one\u2028two\u2029three\x85four\x0bfive"


def test_what_is_no_row_is_passed_over_and_counted(chat: Chat) -> None:
    tail = TranscriptTail(chat.path.parent, TailPosition())
    chat.path.write_bytes(b'{"id": 1}\nnot json\n\n[]\n')
    chat.turn()
    assert ids(tail) == ["user-1", "assistant-2"]
    assert tail.skipped == 3


def test_a_row_beyond_the_bound_is_passed_over_without_the_next(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail_module, "LINE_BYTES", 1000)
    tail = TranscriptTail(chat.path.parent, TailPosition())
    chat.user("x" * 5000)
    chat.user("short")
    assert ids(tail) == ["user-2"]
    with chat.path.open("ab") as file:
        file.write(b"y" * 1500)
    assert tail.poll() == ()
    with chat.path.open("ab") as file:
        file.write(b"y" * 1500 + b"\n")
    chat.user("shorter")
    assert ids(tail) == ["user-3"]
    assert tail.skipped == 2


def test_a_compaction_that_moves_rows_away_announces_only_new_ones(chat: Chat) -> None:
    rows = [chat.user("a"), chat.assistant("b")]
    tail = TranscriptTail(chat.path.parent, TailPosition())
    assert len(tail.poll()) == 2
    summary = chat_row(3, "assistant", "Sum", compactionBoundary=True, compacted="user", compactionEpoch=1)
    new = chat.path.with_name("new")
    new.write_text(json.dumps(rows[1]) + "\n" + json.dumps(summary) + "\n")
    new.replace(chat.path)
    assert [event.event for event in tail.poll()] == ["compaction"]


def test_a_cut_file_announces_nothing_again(chat: Chat) -> None:
    chat.turn()
    tail = TranscriptTail(chat.path.parent, TailPosition())
    assert len(tail.poll()) == 2
    chat.path.write_bytes(chat.path.read_bytes().splitlines(keepends=True)[0])
    assert tail.poll() == ()
    chat.user("after")
    assert ids(tail) == ["user-3"]


def test_a_file_overwritten_in_place_is_noticed(chat: Chat) -> None:
    chat.user("first")
    tail = TranscriptTail(chat.path.parent, TailPosition())
    tail.poll()
    rows = [chat_row(8, "user", "z" * 400), chat_row(9, "assistant", "end")]
    with chat.path.open("r+b") as file:
        file.truncate()
        file.write(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    assert ids(tail) == ["user-8", "assistant-9"]


def test_a_cleared_history_counts_from_the_start_again(chat: Chat) -> None:
    chat.turn()
    tail = TranscriptTail(chat.path.parent, TailPosition())
    tail.poll()
    chat.path.unlink()
    assert tail.poll() == ()
    chat.number = 0
    chat.append(chat_row(50, "user", "fresh", historySequence=0))
    assert ids(tail) == ["user-50"]


def test_a_later_process_goes_on_from_the_position(chat: Chat) -> None:
    chat.turn()
    first = TranscriptTail(chat.path.parent, TailPosition())
    assert len(first.poll()) == 2
    kept = TailPosition.of(json.loads(json.dumps(first.position.as_json())))
    chat.turn()
    second = TranscriptTail(chat.path.parent, kept)
    assert ids(second) == ["user-3", "assistant-4"]
    assert second.bytes_read < chat.path.stat().st_size * 0.6


@pytest.mark.parametrize("data", [None, [], {}, {"offset": "1"}, {"offset": 1, "inode": 1, "sequence": 1}])
def test_a_damaged_position_is_none(data: object) -> None:
    assert TailPosition.of(data) is None


def test_appended_turns_cost_no_more_than_their_own_bytes(chat: Chat) -> None:
    for _ in range(200):
        chat.user("x" * 2000)
    tail = TranscriptTail(chat.path.parent)
    size = chat.path.stat().st_size
    for _ in range(100):
        chat.turn()
        assert len(tail.poll()) == 2
    assert tail.bytes_read == chat.path.stat().st_size - size


def test_a_pipe_in_its_place_blocks_nobody(chat: Chat) -> None:
    import os

    os.mkfifo(chat.path)
    with pytest.raises(UserError):
        TranscriptTail(chat.path.parent, TailPosition()).poll()


def test_the_newest_rows_are_read_from_the_end(chat: Chat) -> None:
    assert newest_rows(chat.path.parent).turns == ()
    for _ in range(30):
        chat.user("y" * 100)
    with chat.path.open("ab") as file:
        file.write(b'{"half')
    found = newest_rows(chat.path.parent, most_rows=4)
    assert [event.id for event in found.turns] == ["user-27", "user-28", "user-29", "user-30"]
    assert found.more
    assert found.end == chat.path.stat().st_size - len(b'{"half')


def test_the_newest_row_is_found_however_long_it_is(chat: Chat) -> None:
    chat.user("short")
    chat.user("z" * 3_000_000)
    found = newest_rows(chat.path.parent, most_bytes=1 << 20)
    assert found.turns[-1].id == "user-2"


@settings(max_examples=examples(75), deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 12))
def test_however_a_transcript_is_written_each_row_comes_once_in_order(
    tmp_path_factory: pytest.TempPathFactory, seed: int, count: int
) -> None:
    dice = random.Random(seed)
    session = tmp_path_factory.mktemp("session")
    data = b"".join(
        json.dumps(chat_row(number, "user", "é\u2028" * dice.randrange(9)), ensure_ascii=False).encode()
        + b"\n"
        for number in range(count)
    )
    tail, found, at = TranscriptTail(session, TailPosition()), [], 0
    while at < len(data):
        step = dice.randrange(1, 300)
        with (session / "chat.jsonl").open("ab") as file:
            file.write(data[at : at + step])
        at += step
        found += ids(tail)
    assert found == [f"user-{number}" for number in range(count)]


@settings(max_examples=examples(75), deadline=None)
@given(st.integers(0, 2**31))
def test_whatever_the_agent_does_each_answer_comes_once_and_only_ended(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    dice = random.Random(seed)
    chat = Chat(tmp_path_factory.mktemp("session"))
    tail = TranscriptTail(chat.path.parent, TailPosition())
    open_row: dict[str, Any] | None = None
    expected: list[str] = []
    found: list[str] = []
    for _ in range(30):
        act = dice.choice(("say", "begin", "end", "poll", "restart", "compact"))
        if act == "say":
            expected.append(chat.user("é\u2028" * dice.randrange(60))["id"])
        elif act == "begin" and open_row is None:
            open_row = begin(chat)
        elif act == "end" and open_row is not None:
            end(chat, open_row, "x" * dice.randrange(90), **dice.choice(({"duration": 1}, {"partial": True})))
            expected.append(open_row["id"])
            open_row = None
        elif act == "poll":
            found += ids(tail)
        elif act == "restart":
            tail = TranscriptTail(chat.path.parent, TailPosition.of(tail.position.as_json()))
        elif act == "compact" and chat.path.exists():
            found += ids(tail)  # what is moved away before anybody looked is in the archive
            kept = chat.path.read_text().split("\n")[-3:]
            new = chat.path.with_name("new")
            new.write_text("\n".join(kept))
            new.replace(chat.path)
            if open_row is not None and open_row["id"] not in new.with_name("chat.jsonl").read_text():
                open_row = None
    found += ids(tail)
    assert sorted(found) == sorted(expected)
    assert len(found) == len(set(found))
