"""What Claude Code records of a session's context (formats/claude-code.md section 12.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.claude_transcripts import Chat
from reverie.agents.claude.attachments import MOST_BYTES, LoadedContext, recorded
from reverie.agents.claude.messages import ClaudeReadable
from reverie.agents.transcripts import Message, ReadStatistics, without_escapes
from reverie.errors import Unavailable

CWD = "/home/dev/shop"
INDEX = "/home/dev/.claude/projects/-home-dev-shop/memory/MEMORY.md"


def file(path: str, text: str = "text", kind: str = "Project") -> dict[str, str]:
    return {"path": path, "type": kind, "content": text}


def attach(chat: Chat, kind: str, **about: Any) -> None:
    chat.record("attachment", attachment={"type": kind, **about}, rendered=[{"content": "for the model"}])


def read(chat: Chat, path: Path) -> tuple[list[Message], ReadStatistics]:
    reading = ReadStatistics()
    return list(ClaudeReadable(chat.write(path)).messages(reading)), reading


def texts(record: LoadedContext) -> list[tuple[str, str]]:
    return [(each.path, each.text) for each in record.files.values()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def test_what_set_the_agent_up_is_one_line_and_loaded_files_are_a_sentence(path: Path) -> None:
    chat = Chat(cwd=CWD)
    chat.user("Hello")
    for kind in ("environment", "model", "skill_listing"):
        attach(chat, kind, content="a wall of text")
    chat.other(type="atis-latch", atis="")
    attach(
        chat, "instructions", files=[file(f"{CWD}/docs/a.md"), file(INDEX, kind="AutoMem"), file("/etc/x.md")]
    )
    attach(chat, "date", date="2026-11-22")
    attach(chat, "prompt_snapshot", systemPrompt=["secret"])
    for kind in ("api-request", "api-request-shape", "api-request-blob", "tools-used"):
        chat.other(type=kind, shape={"system": "secret"})
    chat.answer("Done.")
    messages, reading = read(chat, path)
    assert [(each.kind, each.text) for each in messages] == [
        ("message", "Hello"),
        ("context", "Setup of the agent: environment, model, skills, date"),
        ("context", "Loaded into the context: docs/a.md, memory/MEMORY.md, /etc/x.md."),
        ("message", "Done."),
    ]
    assert (reading.unknown, reading.broken) == (0, 0)


def test_other_attachments_are_shown_and_other_records_still_count_as_unknown(path: Path) -> None:
    chat = Chat(cwd=CWD)
    chat.user("Hello")
    attach(chat, "brand_new", content="What is this?")
    chat.other(type="brand-new-record")
    attach(chat, "instructions", files="nonsense")
    messages, reading = read(chat, path)
    assert messages[1].text == "[brand_new]\nWhat is this?"
    assert messages[2].text == "No instructions were loaded."
    assert reading.unknown == 1


def test_recalled_and_nested_files_and_what_changed_are_named(path: Path) -> None:
    chat = Chat(cwd=CWD)
    memory = INDEX.removesuffix("MEMORY.md")
    attach(chat, "relevant_memories", memories=[{"path": f"{memory}till.md", "content": "x", "limit": 5}])
    attach(chat, "nested_memory", path=f"{CWD}/src/CLAUDE.md", content={"content": "x"})
    attach(chat, "instructions", changed=True, files=[file(f"{CWD}/CLAUDE.md")], removed=[f"{CWD}/old.md"])
    chat.user("Go on")
    assert [each.text for each in read(chat, path)[0]] == [
        "Recalled from memory: memory/till.md.",
        "Loaded for the files at hand: src/CLAUDE.md.",
        "Loaded again after a change: CLAUDE.md. No longer loaded: old.md.",
        "Go on",
    ]


def test_files_of_the_users_home_are_named_by_it(tmp_path: Path) -> None:
    config = tmp_path / ".claude"
    chat = Chat(cwd=CWD)
    files = [
        file(str(config / "CLAUDE.md")),
        file(str(tmp_path / "other.md")),
        file(f"{CWD}/.claude/CLAUDE.md"),
    ]
    attach(chat, "instructions", files=files)
    (message,), _reading = read(chat, config / "projects" / "-home-dev-shop" / "session.jsonl")
    names = f"~/.claude/CLAUDE.md, {tmp_path}/other.md, .claude/CLAUDE.md"
    assert message.text == f"Loaded into the context: {names}."


def test_a_saved_memory_is_called_as_the_program_calls_it(path: Path) -> None:
    chat = Chat(cwd=CWD)
    chat.record("system", subtype="memory_saved", writtenPaths=["/m/a.md"], verb="Improved")
    chat.record("system", subtype="memory_saved", writtenPaths=["/m/b.md"])
    assert [each.text for each in read(chat, path)[0]] == [
        "Memory was improved: /m/a.md",
        "Memory was saved: /m/b.md",
    ]


def test_escape_sequences_of_a_terminal_are_no_text(path: Path) -> None:
    chat = Chat(cwd=CWD)
    chat.user(
        "<local-command-stdout>\x1b[2mCompacted\x1b[22m (\x1b]8;;http://x\x1b\\a\x1b]8;;\x07)</local-command-stdout>"
    )
    chat.answer("\x1b[38;5;196mred\x1b[0m \x1b(Band\x1b7 plain")
    assert [each.text for each in read(chat, path)[0]] == [
        "<local-command-stdout>Compacted (a)</local-command-stdout>",
        "red and plain",
    ]
    assert without_escapes("no [2m escape") == "no [2m escape"


def test_the_record_is_the_last_whole_list_with_what_changed_since(path: Path) -> None:
    chat = Chat(cwd=CWD)
    attach(chat, "instructions", files=[file("/old"), file("/older")])
    attach(chat, "instructions", files=[file("/a", "A"), file("/b", "B"), file("/c", "C")])
    chat.user("Hello")
    attach(chat, "instructions", changed=True, files=[file("/b", "B2"), file("/d", "D")], removed=["/a"])
    attach(chat, "instructions", changed=True, files=[file(INDEX, "index", "AutoMem")])
    attach(chat, "relevant_memories", memories=[file("/m/x.md"), file("/m/y.md")])
    attach(chat, "relevant_memories", memories=[file("/m/x.md")])
    attach(chat, "nested_memory", path="/src/CLAUDE.md")
    found = recorded(chat.write(path))
    assert texts(found) == [("/b", "B2"), ("/c", "C"), ("/d", "D"), (INDEX, "index")]
    assert (found.lists, found.loads_index, found.complete) == (4, True, True)
    assert found.recalled == {"/m/x.md": 2, "/m/y.md": 1}
    assert found.nested == ("/src/CLAUDE.md",)
    assert found.at is not None


def test_sub_agents_and_what_only_looks_like_a_record_do_not_count(path: Path) -> None:
    chat = Chat(cwd=CWD)
    chat.record("attachment", attachment={"type": "instructions", "files": [file("/side")]}, isSidechain=True)
    chat.user('{"attachment": {"type": "instructions", "files": []}, "type": "attachment"}')
    chat.record("attachment", attachment={"type": "instructions", "files": [7, {"path": 1}], "removed": "x"})
    chat.record("attachment", attachment=["instructions"])
    found = recorded(chat.write(path, end=""))
    assert (texts(found), found.lists, found.loads_index) == ([], 1, False)


def test_a_transcript_that_is_too_large_is_read_to_a_bound_and_says_so(path: Path) -> None:
    chat = Chat(cwd=CWD)
    attach(chat, "instructions", files=[file("/a")])
    chat.write(path)
    with path.open("ab") as out:
        out.truncate(MOST_BYTES + 10)
    found = recorded(path)
    assert (texts(found), found.complete) == ([("/a", "text")], False)


def test_what_is_no_file_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        recorded(tmp_path / "none.jsonl")
    with pytest.raises(Unavailable):
        recorded(tmp_path)
