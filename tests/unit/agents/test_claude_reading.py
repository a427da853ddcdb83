"""Transcripts of Claude Code as a person reads them (formats/claude-code.md section 8 and the checklist of
section 10)."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.claude_transcripts import SESSION, Chat, jsonl, name_of, use
from helpers.isolation import TEST_PROFILE
from helpers.profiles import examples
from reverie.agents.claude.messages import ClaudeReadable
from reverie.agents.claude.projects import listed
from reverie.agents.claude.session_counts import SessionScan
from reverie.agents.claude.transcript import Usage, entries, entry_of, session_head, usage_of
from reverie.agents.transcript_lines import decoded_rows, rows_of
from reverie.agents.transcripts import Message, ReadStatistics
from reverie.errors import Unavailable


def read(chat: Chat, tmp_path: Path, *, end: str = "\n") -> tuple[list[Message], ReadStatistics]:
    reading = ReadStatistics()
    path = chat.write(tmp_path / f"{SESSION}.jsonl", end=end)
    messages = list(ClaudeReadable(path).messages(reading))
    assert [message.number for message in messages] == list(range(len(messages)))
    return messages, reading


def told(messages: list[Message]) -> list[tuple[str, str, str]]:
    return [(message.speaker, message.kind, message.text) for message in messages]


def test_the_lines_of_one_answer_are_one_message_and_its_calls_get_their_results(tmp_path: Path) -> None:
    chat = Chat()
    chat.user("Build it")
    chat.answer(
        {"type": "thinking", "thinking": "Hm", "signature": "x"},
        "First.",
        "Second.",
        use("t1", "Bash", command="make"),
        use("t2", "Read", file_path="/a"),
        use("t3", "Edit", file_path="/a"),
        use("t4", "Screenshot"),
        tokens=900,
    )
    chat.results(("t1", "built"))
    chat.results(("t2", None), toolUseResult="Error: gone", is_error=True)
    chat.results(("t3", None))
    chat.results(("t4", [{"type": "image", "source": {"type": "base64", "data": "A" * 999}}]))
    chat.answer("Done.", tokens=1000)
    messages, reading = read(chat, tmp_path)
    assert told(messages) == [
        ("user", "message", "Build it"),
        ("assistant", "reasoning", "Hm"),
        ("assistant", "message", "First.\n\nSecond."),
        *[("tool", "tool", "")] * 4,
        ("assistant", "message", "Done."),
    ]
    first, second, third, fourth = (message.tool for message in messages[3:7])
    assert first is not None
    assert second is not None
    assert third is not None
    assert fourth is not None
    assert (first.name, json.loads(first.input), first.output) == ("Bash", {"command": "make"}, "built")
    assert (second.output, second.is_error) == ("Error: gone", True)
    assert (third.output, third.is_error) == ("", False), "it answered nothing"
    assert fourth.output == "[image]"
    assert messages[2].model == "claude-sonnet-4-5"
    assert not any(message.undone for message in messages)
    assert (reading.unknown, reading.broken, reading.half_written) == (0, 0, False)


def test_what_nobody_typed_is_context_and_compactions_are_told(tmp_path: Path) -> None:
    chat = Chat()
    for text in ("<command-name>/clear</command-name>", "<local-command-stdout></local-command-stdout>"):
        chat.user(text)
    chat.user("Caveat: the messages below", isMeta=True)
    chat.user([{"type": "text", "text": "Look"}, {"type": "image", "source": {"data": "A" * 999}}])
    chat.answer("Seen.", tokens=10)
    last = chat.last
    chat.record(
        "system",
        parent=None,
        subtype="compact_boundary",
        logicalParentUuid=last,
        content="Conversation compacted",
        compactMetadata={"trigger": "auto", "preTokens": 155000},
    )
    chat.user("What happened so far: ...", isCompactSummary=True)
    chat.record("attachment", attachment={"type": "nested_memory", "content": "Use make."})
    chat.record("system", subtype="turn_duration", durationMs=3)
    chat.record("system", subtype="memory_saved", writtenPaths=["/m/a.md"])
    chat.answer("API Error: overloaded", model="<synthetic>", isApiErrorMessage=True)
    messages, _reading = read(chat, tmp_path)
    assert told(messages) == [
        ("user", "context", "<command-name>/clear</command-name>"),
        ("user", "context", "<local-command-stdout></local-command-stdout>"),
        ("user", "context", "Caveat: the messages below"),
        ("user", "message", "Look\n[image]"),
        ("assistant", "message", "Seen."),
        ("system", "event", "The conversation was compacted. It contained 155,000 tokens."),
        ("system", "summary", "What happened so far: ..."),
        ("system", "context", "[nested_memory]\nUse make."),
        ("system", "event", "Memory was saved: /m/a.md"),
        ("system", "event", "API Error: overloaded"),
    ]
    assert not any(message.undone for message in messages)


@pytest.mark.parametrize(
    ("text", "source", "kind"),
    [
        ("Caveat: the till is old", "local", "message"),
        ("Caveat: the till is old", None, "context"),
        ("Fix the till", "local", "message"),
        ("Fix the till", None, "message"),
        ("Fix the till", "recorded", "context"),
        ("Fix the till", "harness", "context"),
        ("<local-command-stdout>x</local-command-stdout>", "local", "context"),
    ],
)
def test_who_typed_a_message_is_what_the_program_says(
    text: str, source: str | None, kind: str, tmp_path: Path
) -> None:
    chat = Chat()
    chat.user(text, **({"rowSource": source} if source else {}))
    assert [message.kind for message in read(chat, tmp_path)[0]] == [kind]


def test_a_reminder_to_the_model_is_no_message(tmp_path: Path) -> None:
    chat = Chat()
    chat.user("Fix the till")
    chat.record("attachment", attachment={"type": "silent_turn_reminder", "turns": 3})
    assert [message.text for message in read(chat, tmp_path)[0]] == ["Fix the till"]


def test_a_rewind_greys_what_it_left_behind_and_nothing_else(tmp_path: Path) -> None:
    chat = Chat()
    chat.user("One")
    base = chat.answer("Yes.", use("t1", "A"), use("t2", "B"), tokens=10)
    first = name_of(3)
    chat.results(("t1", "a"), parent=first)  # off the way to the root, as results of parallel calls are
    chat.results(("t2", "b"), parent=base)
    fork = chat.answer("Both.", tokens=20)
    chat.user("Wrong way")
    chat.answer("Going wrong.", tokens=30)
    chat.user("Right way", parent=fork)
    chat.answer("Going right.", tokens=30)
    messages, _reading = read(chat, tmp_path)
    assert [message.text for message in messages if message.undone] == ["Wrong way", "Going wrong."]
    calls = [message.tool for message in messages if message.tool]
    assert [call.output for call in calls] == ["a", "b"]


@pytest.mark.parametrize(("before", "greyed"), [(name_of(4), ["Wrong way", "Going wrong."]), ("gone", [])])
def test_the_way_goes_on_across_a_compaction_unless_what_came_before_is_missing(
    tmp_path: Path, before: str, greyed: list[str]
) -> None:
    chat = Chat()
    base = chat.user("Old")
    chat.user("Wrong way")
    chat.answer("Going wrong.", tokens=10)
    assert chat.user("Right way", parent=base) == name_of(4)
    chat.record(
        "system", parent=None, subtype="compact_boundary", logicalParentUuid=before, compactMetadata={}
    )
    chat.user("New")
    messages, _reading = read(chat, tmp_path)
    assert len(messages) == 6
    assert [message.text for message in messages if message.undone] == greyed


def test_a_cycle_greys_nothing(tmp_path: Path) -> None:
    chat = Chat()
    chat.user("A", parent=name_of(2))
    chat.user("B", parent=name_of(1))
    chat.user("C", parent=name_of(3))
    messages, _reading = read(chat, tmp_path)
    assert [(message.text, message.undone) for message in messages] == [(name, False) for name in "ABC"]


def test_copied_records_and_sub_agents_are_told_apart(tmp_path: Path) -> None:
    chat = Chat()
    origin = {"sessionId": "other", "messageUuid": name_of(1)}
    chat.user("Hello", forkedFrom=origin)
    chat.user("Hello", uuid=name_of(1))  # once more with the same uuid
    chat.user("Do it", isSidechain=True)
    chat.answer("Doing it.", isSidechain=True, tokens=5)
    messages, _reading = read(chat, tmp_path)
    assert told(messages) == [
        ("system", "event", "The session continues a copy of other."),
        ("user", "message", "Hello"),
        ("user", "message", "Do it"),
        ("assistant", "message", "Doing it."),
    ]
    assert [message.side for message in messages] == [False, False, True, True]


def test_broken_lines_unknown_kinds_and_a_half_written_end_hide_nothing(tmp_path: Path) -> None:
    chat = Chat()
    chat.user("One")
    chat.lines += ["{broken", "[1]", "", '{"type": 5}']
    chat.other(type="from-the-future", uuid="x", message="y")
    chat.other(type="progress", data={"type": "hook"}, uuid="p")
    chat.other(type="summary", summary="Old title", leafUuid="x")
    chat.record("assistant", message=["no", "object"])
    chat.record("assistant", message={"id": 3, "content": [None, {"type": 7}, {"type": "tool_use"}]})
    chat.user(17)
    chat.answer("Two", timestamp=None, tokens=1)
    messages, reading = read(chat, tmp_path, end='\n{"type":"user","mess')
    assert [message.text for message in messages if message.tool is None] == ["One", "Two"]
    assert messages[-1].timestamp is None
    assert (reading.broken, reading.unknown, reading.half_written) == (2, 2, True)


def _two_records() -> list[str]:
    chat = Chat()
    chat.user('Fix "the" {till}\\n[1] ü')
    chat.answer("Done.", {"type": "tool_use", "id": "t", "name": "X", "input": {"a": [{"b": {}}]}})
    return jsonl(chat.lines).splitlines()


@given(st.data())
@settings(max_examples=examples(150), deadline=None)
def test_a_whole_record_is_read_whatever_a_killed_process_left_beside_it(data: st.DataObject) -> None:
    records = _two_records()
    cut, whole = data.draw(st.sampled_from(records)), data.draw(st.sampled_from(records))
    at = data.draw(st.integers(0, len(cut) - 1))
    between = data.draw(st.sampled_from(["", "\0", "\0" * 40, "\ufeff"]))
    pieces = [cut[:at] + between, whole] if data.draw(st.booleans()) else [whole, between + cut[:at]]
    rows, complete = decoded_rows("".join([*pieces, "\n"]).encode())
    assert rows == (json.loads(whole),)
    assert complete == (not cut[:at])


def test_a_line_of_two_records_holds_both_and_one_that_grows_none(tmp_path: Path) -> None:
    records = _two_records()
    both = [json.loads(each) for each in records[:2]]
    path = tmp_path / "x.jsonl"
    path.write_text("".join(records[:2]) + "\n" + records[2] + "\n")
    reading = ReadStatistics()
    assert list(rows_of(path, reading)) == [*both, json.loads(records[2])]
    assert reading.broken == 1
    assert decoded_rows((records[0][:-9] + records[1]).encode()) == ((), False)


def test_a_byte_order_mark_costs_neither_the_first_message_nor_the_title(tmp_path: Path) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_text("\ufeff" + "\n".join(_two_records()) + "\n")
    assert session_head(path).title.startswith('Fix "the"')
    reading = ReadStatistics()
    assert next(message.text for message in ClaudeReadable(path).messages(reading)).startswith("Fix")
    assert reading.broken == 0


def test_a_transcript_that_vanished_is_empty_and_a_directory_is_an_error(tmp_path: Path) -> None:
    assert list(ClaudeReadable(tmp_path / "gone.jsonl").messages(ReadStatistics())) == []
    with pytest.raises(Unavailable):
        list(ClaudeReadable(tmp_path).messages(ReadStatistics()))


def test_usage_counts_once_for_each_answer_in_whatever_lines_and_files(tmp_path: Path) -> None:
    chat = Chat()
    chat.user("Go")
    chat.answer("a", "b", "c", tokens=1000)
    chat.answer("invented", model="<synthetic>", tokens=77)
    one = chat.write(tmp_path / "one.jsonl")
    two = chat.write(tmp_path / "two.jsonl")
    for path in (one, two):
        told = [usage for entry in entries(path, ReadStatistics()) if (usage := usage_of(entry)) is not None]
        assert set(told) == {Usage(10, 50, 235, 705)}
        assert SessionScan(path).update().context_tokens == told[0].context == 1000


def test_titles_follow_the_agents_order_and_the_last_one_wins(tmp_path: Path) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    chat = Chat(cwd="/home/dev/shop")
    chat.user("<command-name>/clear</command-name>")
    chat.user("\nFix the till\nplease")
    assert session_head(chat.write(path)).title == "Fix the till"
    chat.other(type="summary", summary="Till", leafUuid="x")
    chat.lines += [{"type": "user", "message": {"content": "x" * 5000}, "uuid": str(n)} for n in range(120)]
    chat.other(type="ai-title", aiTitle="Generated")
    assert session_head(chat.write(path)).title == "Generated"
    chat.other(type="custom-title", customTitle="Mine")
    chat.other(type="custom-title", customTitle="Mine, renamed")
    head = session_head(chat.write(path, end=""))
    assert (head.title, head.cwd) == ("Mine, renamed", "/home/dev/shop")
    with pytest.raises(FileNotFoundError):
        session_head(tmp_path / "none.jsonl")


def test_a_large_transcript_is_never_in_memory_as_a_whole(tmp_path: Path) -> None:
    megabytes = 100 if TEST_PROFILE == "campaign" else 3
    path = tmp_path / f"{SESSION}.jsonl"
    chat = Chat()
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < megabytes << 20:
            chat.turn("Go", "word " * 2_000, tokens=10, tools=1)
            chat.results(("none", "x" * 20_000))
            file.write(jsonl(chat.lines) + "\n")
            chat.lines.clear()
    tracemalloc.start()
    try:
        count = sum(1 for _ in ClaudeReadable(path).messages(ReadStatistics()))
        SessionScan(path).update()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count > megabytes * 50
    assert peak < megabytes * 100_000 + 500_000


def test_only_names_of_sessions_are_sessions(tmp_path: Path) -> None:
    directory = tmp_path / "-home-dev-shop"
    directory.mkdir()
    other = SESSION.replace("-", "_")
    for name in (f"{SESSION}.jsonl", "agent-1234.jsonl", other, f"{SESSION}.json", f"x{SESSION}.jsonl"):
        (directory / name).touch()
    (one,) = listed(tmp_path, [])
    assert [session.id for session in one.sessions] == [SESSION]


@pytest.mark.parametrize("row", [{}, {"type": None}, {"type": []}, {"type": "mode"}])
def test_what_is_no_record_is_none(row: dict[str, object]) -> None:
    assert entry_of(row) is None
