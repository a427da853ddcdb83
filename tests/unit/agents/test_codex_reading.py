"""Rollouts of Codex as a person reads them (formats/codex.md section 6 and the checklist of section 8)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from helpers.rollouts import (
    call,
    event,
    line,
    meta,
    result,
    rollout_bytes,
    rollout_name,
    said,
    shell,
    stamp,
    write_rollout,
)
from reverie.agents.codex.messages import CodexReadable
from reverie.agents.codex.transcript import record_of, rollout_head, thread_id_of
from reverie.agents.tool_pairing import HELD
from reverie.agents.transcript_lines import LINE_BYTES
from reverie.agents.transcripts import SHOWN_CHARS, Message, ReadStatistics
from reverie.errors import Unavailable

THREAD = "0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"


def read(path: Path) -> tuple[list[Message], ReadStatistics]:
    reading = ReadStatistics()
    return list(CodexReadable(path).messages(reading)), reading


def told(tmp_path: Path, *lines: Any, name: str = "r.jsonl") -> list[tuple[str, str, str]]:
    messages, _reading = read(write_rollout(tmp_path / name, lines))
    assert [message.number for message in messages] == list(range(len(messages)))
    return [(message.speaker, message.kind, message.text) for message in messages]


def test_what_stands_twice_is_shown_once(tmp_path: Path) -> None:
    shown = told(
        tmp_path,
        meta(THREAD, "/p"),
        said("user", "Fix it"),
        event("user_message", message="Fix it"),
        event("agent_message", message="Fixed"),
        said("assistant", "Fixed", phase="final_answer"),
    )
    assert shown == [("user", "message", "Fix it"), ("assistant", "message", "Fixed")]


def test_events_speak_where_there_is_no_message_among_the_items(tmp_path: Path) -> None:
    shown = told(
        tmp_path,
        meta(THREAD, "/p"),
        event("user_message", message="Fix it"),
        event("agent_reasoning", text="Hm"),
        event("agent_message", message="Fixed"),
        event("token_count", info=None),
    )
    assert shown == [
        ("user", "message", "Fix it"),
        ("assistant", "reasoning", "Hm"),
        ("assistant", "message", "Fixed"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "# AGENTS.md instructions for /p\n…",
        "<environment_context>\n<cwd>/p</cwd>",
        "  <user_instructions>x",
        "<skill>\nname",
        "<turn_aborted>\n",
    ],
)
def test_what_nobody_typed_is_context(tmp_path: Path, text: str) -> None:
    assert told(tmp_path, said("user", text), said("user", "Typed")) == [
        ("user", "context", text),
        ("user", "message", "Typed"),
    ]
    assert told(tmp_path, said("developer", "Be brief"), said("system", "x")) == [
        ("system", "context", "Be brief"),
        ("system", "context", "x"),
    ]


def test_a_call_carries_its_result_whatever_shape_that_has(tmp_path: Path) -> None:
    lines = [
        call("a", "shell", {"command": ["ls"]}),
        call("b", "apply_patch", "not json {"),
        result("b", {"content": "no such file", "success": False}),
        result("a", [{"type": "input_text", "text": "one"}, {"type": "input_image", "image_url": "data:x"}]),
        *shell("c", "false", "bad", 1),
        said("assistant", "Done"),
    ]
    messages, _reading = read(write_rollout(tmp_path / "r.jsonl", lines))
    tools = [message.tool for message in messages if message.tool is not None]
    assert [(tool.name, tool.output, tool.is_error) for tool in tools] == [
        ("shell", "one\n[image]", False),
        ("apply_patch", "no such file", True),
        ("shell", "bad", True),
    ]
    assert json.loads(tools[0].input) == {"command": ["ls"]}
    assert tools[1].input == "not json {"
    assert messages[-1].text == "Done"


def test_a_picture_is_named_and_its_data_is_not_shown(tmp_path: Path) -> None:
    picture = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 100_000}
    shown = told(
        tmp_path,
        line("response_item", type="message", role="user", content=[picture]),
        line(
            "response_item",
            type="message",
            role="user",
            content=[{"type": "input_text", "text": "Look"}, picture],
        ),
        event("user_message", message="Look", images=[picture["image_url"]]),
    )
    assert shown == [("user", "message", "[image]"), ("user", "message", "Look\n[image]")]


def test_a_call_without_a_result_holds_nothing_back_for_ever(tmp_path: Path) -> None:
    lines = [
        call("a", "shell", {}),
        *(said("assistant", str(n)) for n in range(HELD + 10)),
        result("a", "late"),
    ]
    messages, _reading = read(write_rollout(tmp_path / "r.jsonl", lines))
    assert len(messages) == HELD + 12
    assert messages[0].tool is not None
    assert messages[0].tool.output is None
    assert messages[-1].tool is not None
    assert messages[-1].tool.output == "late"


def test_a_rollback_marks_what_it_took_back(tmp_path: Path) -> None:
    lines = [
        said("user", "One"),
        said("assistant", "1"),
        said("user", "Two"),
        said("user", "<environment_context>"),
        said("assistant", "2"),
        said("user", "Three"),
        event("thread_rolled_back", num_turns=2),
        said("user", "Four"),
        event("thread_rolled_back", num_turns=99),
        said("user", "Five"),
    ]
    messages, _reading = read(write_rollout(tmp_path / "r.jsonl", lines))
    undone = {message.text: message.undone for message in messages if message.kind == "message"}
    assert undone == {
        "One": True,
        "1": True,
        "Two": True,
        "2": True,
        "Three": True,
        "Four": True,
        "Five": False,
    }


def test_one_rollback_takes_back_only_its_own_turns(tmp_path: Path) -> None:
    lines = [
        said("user", "One"),
        said("assistant", "1"),
        said("user", "Two"),
        event("thread_rolled_back", num_turns=1),
    ]
    messages, _reading = read(write_rollout(tmp_path / "r.jsonl", lines))
    assert [(m.text, m.undone) for m in messages] == [
        ("One", False),
        ("1", False),
        ("Two", True),
        ("Turns taken back: 1.", False),
    ]


def test_a_rollback_counts_where_only_events_speak(tmp_path: Path) -> None:
    lines = [
        event("user_message", message="One"),
        event("user_message", message="Two"),
        event("agent_message", message="2"),
        event("thread_rolled_back", num_turns=1),
        event("user_message", message="Three"),
    ]
    messages, _reading = read(write_rollout(tmp_path / "r.jsonl", lines))
    undone = {message.text: message.undone for message in messages if message.kind == "message"}
    assert undone == {"One": False, "Two": True, "2": True, "Three": False}


def test_compactions_forks_and_ends_are_told(tmp_path: Path) -> None:
    shown = told(
        tmp_path,
        meta(THREAD, "/p"),
        line("turn_context", cwd="/p", model="m"),
        said("user", "x"),
        line("compacted", message="So far: x", replacement_history=[{"type": "message"}]),
        event("turn_aborted", reason="interrupted"),
        event("error", message="429"),
        meta(THREAD, "/p", 5, forked_from_id="other"),
        line("response_item", type="reasoning", summary=[{"type": "summary_text", "text": "Why"}]),
        line("response_item", type="web_search_call", action={"query": "q"}),
    )
    assert shown == [
        ("user", "message", "x"),
        ("system", "summary", "So far: x"),
        ("system", "event", "The turn was aborted: interrupted"),
        ("system", "event", "Error: 429"),
        ("system", "event", "The session was continued or forked here."),
        ("assistant", "reasoning", "Why"),
        ("tool", "tool", ""),
    ]


def test_damage_is_counted_and_hides_nothing(tmp_path: Path) -> None:
    lines = [
        meta(THREAD, "/p"),
        "{broken\n",
        "[1]\n",
        line("brand_new", x=1),
        line("world_state", x=1),
        said("user", "Here"),
        "\n",
        '{"timestamp":"2026',
    ]
    messages, reading = read(write_rollout(tmp_path / "r.jsonl", lines))
    assert [message.text for message in messages] == ["Here"]
    assert (reading.broken, reading.unknown, reading.half_written) == (2, 1, True)


def test_payloads_of_any_type_do_no_harm(tmp_path: Path) -> None:
    odd: list[Any] = [None, 1, True, [], {}, [None], [{"type": 1, "text": 2}], "x"]
    names = (
        "content",
        "summary",
        "output",
        "call_id",
        "name",
        "arguments",
        "action",
        "input",
        "id",
        "message",
    )
    kinds = ("message", "reasoning", "function_call", "function_call_output", "agent_message", 3, None)
    items = [{"type": kind, "role": "user", **dict.fromkeys(names, value)} for kind in kinds for value in odd]
    lines = [line("response_item", **item) for item in items]
    lines += [
        event(kind, message=value, reason=value, num_turns=value)
        for kind in ("thread_rolled_back", "error")
        for value in odd
    ]
    read(write_rollout(tmp_path / "r.jsonl", lines))


def test_the_oldest_files_have_items_without_an_envelope(tmp_path: Path) -> None:
    shown = told(
        tmp_path,
        {"id": THREAD, "timestamp": stamp(0), "instructions": None},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Old"}]},
        {"record_type": "state"},
    )
    assert shown == [("user", "message", "Old")]


def test_compressed_rollouts_read_the_same_also_when_they_end_early(tmp_path: Path) -> None:
    lines = [meta(THREAD, "/p"), *(said("user", f"{n} " + os.urandom(200).hex()) for n in range(1500))]
    plain = told(tmp_path, *lines)
    assert told(tmp_path, *lines, name="r.jsonl.zst") == plain
    packed = tmp_path / "r.jsonl.zst"
    packed.write_bytes(packed.read_bytes()[:-2000])
    messages, reading = read(packed)
    assert reading.half_written
    assert 0 < len(messages) < len(plain)
    packed.write_bytes(b"nothing of the kind")
    messages, reading = read(packed)
    assert (messages, reading.half_written) == ([], True)


def test_a_line_of_any_length_stays_out_of_memory_and_a_long_text_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with path.open("wb") as file:
        file.write(b'{"x":"' + b"a" * (LINE_BYTES + 10) + b'"}\n')
        file.write(rollout_bytes([said("user", "b" * (SHOWN_CHARS + 5))]))
    messages, reading = read(path)
    assert (len(messages), messages[0].cut, reading.broken) == (1, 5, 1)
    assert len(messages[0].text) == SHOWN_CHARS


def test_a_missing_file_is_empty_and_a_directory_is_told(tmp_path: Path) -> None:
    assert read(tmp_path / "gone.jsonl")[0] == []
    with pytest.raises(Unavailable):
        read(tmp_path)


def test_the_head_says_whose_thread_it_is(tmp_path: Path) -> None:
    path = write_rollout(
        tmp_path / rollout_name(THREAD),
        [
            meta(THREAD, "/p", 3, git={"branch": "main"}, memory_mode="enabled"),
            meta("other", "/q", 9),
            said("user", "<environment_context>"),
            said("user", "Do it"),
        ],
    )
    head = rollout_head(path)
    assert (head.thread_id, head.cwd, head.git_branch, head.first_prompt) == (THREAD, "/p", "main", "Do it")
    assert head.source == "cli"
    assert thread_id_of(path) == THREAD
    assert thread_id_of(Path(rollout_name(THREAD, suffix=".jsonl.zst"))) == THREAD
    assert thread_id_of(Path("notes.jsonl")) == ""
    sub = write_rollout(tmp_path / "s.jsonl", [meta("x", "/p", source={"subagent": "review"})])
    assert rollout_head(sub).source == "subagent"
    assert rollout_head(write_rollout(tmp_path / "e.jsonl", [])).cwd == ""


def test_kinds_that_are_known_to_say_nothing_are_no_records() -> None:
    assert record_of({"type": "realtime_item", "payload": {}}) is None
    assert record_of({"type": "response_item", "payload": "x"}) is None
    assert record_of({}) is None


def test_a_kind_that_is_known_to_say_nothing_is_not_counted_as_unknown(tmp_path: Path) -> None:
    lines = [line("world_state", 1), line("brand_new", 1), said("user", "Hi")]
    messages, reading = read(write_rollout(tmp_path / "r.jsonl", lines))
    assert (len(messages), reading.unknown, reading.lines) == (1, 1, 3)
