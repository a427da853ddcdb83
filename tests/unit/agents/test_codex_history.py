"""How several rollout files make one thread, and what today's items say (formats/codex.md section 10).

The sample rollouts were written by Codex 0.169.0 against a scripted model and redacted; `said-by-codex.json`
is what its own app-server says of each thread.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.rollouts import call, event, line, meta, result, said, write_rollout
from reverie.agents.codex.home import CodexHome
from reverie.agents.codex.messages import CodexReadable, cited
from reverie.agents.codex.threads import rollout_finder
from reverie.agents.codex.transcript import (
    MOST_SEGMENTS,
    history_of,
    is_typed,
    rollout_head,
    rollout_id_of,
    thread_id_of,
)
from reverie.agents.transcript_lines import transcript_lines
from reverie.agents.transcript_pages import PagedTranscript, says
from reverie.agents.transcripts import Citation, Message, ReadStatistics

SAMPLES = Path(__file__).parents[2] / "samples" / "codex-rollouts"
CODEX_SAYS: dict[str, Any] = json.loads((SAMPLES / "said-by-codex.json").read_text(encoding="utf-8"))
ONE, TWO, THREE = (f"0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5{n}" for n in range(3))
SEGMENT = "0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5f"


def read(path: Path, home: Path) -> tuple[list[Message], ReadStatistics]:
    reading = ReadStatistics()
    return list(CodexReadable(path, rollout_finder(home)).messages(reading)), reading


def current(home: CodexHome, thread: str) -> Path:
    path = next(each.path for each in home.threads() if each.id == thread)
    assert path is not None
    return path


def shown(messages: list[Message]) -> list[list[str]]:
    """The conversation in the form of `said-by-codex.json`, tool calls as `failed` or `done`."""
    found = []
    for message in messages:
        if message.kind in ("message", "reasoning"):
            found.append([message.speaker, message.kind, message.text])
        elif message.kind == "summary":
            found.append(["system", "summary", ""])
        elif message.tool is not None:
            found.append(["tool", message.tool.name, "failed" if message.tool.is_error else "done"])
    return found


@pytest.mark.parametrize("name", sorted(CODEX_SAYS))
def test_a_thread_is_composed_as_codex_composes_it(name: str) -> None:
    home = CodexHome(SAMPLES)
    thread, items = CODEX_SAYS[name]["thread"], CODEX_SAYS[name]["items"]
    messages, reading = read(current(home, thread), SAMPLES)
    mine = shown(messages)
    assert [each for each in mine if each[0] != "tool"] == [each for each in items if each[0] != "tool"]
    failed = sum(each[2] == "failed" for each in mine if each[0] == "tool" and each[1] == "exec_command")
    if name != "legacy":  # Codex shows no commands of a legacy thread
        assert failed == sum(each[2] == "failed" for each in items if each[0] == "tool")
    assert (reading.problems, reading.broken, reading.unknown, reading.half_written) == ([], 0, 0, False)
    assert [message.number for message in messages] == list(range(len(messages)))


def test_a_reverted_thread_says_where_and_in_which_file_the_rest_is() -> None:
    home = CodexHome(SAMPLES)
    path = current(home, CODEX_SAYS["revert-twice"]["thread"])
    messages, _reading = read(path, SAMPLES)
    events = [message.text for message in messages if message.kind == "event"]
    assert len(events) == 2
    first = events[0].removeprefix("The thread was reverted to this point. The removed part is still in ")
    assert (path.parent / first.removesuffix(".")).is_file()
    assert "four b" not in [message.text for message in messages]


def test_a_fork_says_which_thread_it_came_from() -> None:
    home = CodexHome(SAMPLES)
    messages, _reading = read(current(home, CODEX_SAYS["fork-of-fork"]["thread"]), SAMPLES)
    origins = [CODEX_SAYS[name]["thread"] for name in ("revert-twice", "fork-of-reverted")]
    events = [message.text for message in messages if message.text.startswith("The thread was forked")]
    assert events == [f"The thread was forked here from thread {each}." for each in origins]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("revert-all", ["The thread was reverted to its beginning."]),
        ("fork-reverted-into-parent", ["The thread was forked", "The thread was reverted to this point."]),
        ("fork-untouched", ["The removed part", "The removed part", "The thread was forked"]),
        ("paginated", []),
    ],
)
def test_a_thread_says_each_of_its_reverts_and_forks(name: str, expected: list[str]) -> None:
    messages, _reading = read(current(CodexHome(SAMPLES), CODEX_SAYS[name]["thread"]), SAMPLES)
    events = [message.text for message in messages if message.kind == "event"]
    assert len(events) == len(expected)
    assert all(part in event for part, event in zip(expected, events, strict=True))


def test_without_books_the_newest_segment_is_the_current_one() -> None:
    thread = CODEX_SAYS["revert-twice"]["thread"]
    files = sorted(path.name for path in SAMPLES.rglob(f"*{thread}*"))
    assert len(files) == 3
    assert current(CodexHome(SAMPLES), thread).name == max(files, key=lambda name: name[-41:])


def test_the_ids_of_a_segment_are_told_from_its_name() -> None:
    path = Path(f"rollout-2026-11-22T09-43-51-{ONE}_{SEGMENT}.jsonl")
    assert (thread_id_of(path), rollout_id_of(path)) == (ONE, SEGMENT)
    first = Path(f"rollout-2026-11-22T09-43-51-{ONE}.jsonl.zst")
    assert (thread_id_of(first), rollout_id_of(first)) == (ONE, ONE)
    assert rollout_id_of(Path(f"rollout-x-{ONE}_.jsonl")) == ""


def test_the_thread_of_a_file_is_what_its_first_record_says(tmp_path: Path) -> None:
    path = tmp_path / f"rollout-2026-11-22T09-43-51-{ONE}_{SEGMENT}.jsonl"
    write_rollout(path, [meta(TWO, "/p")])
    assert rollout_head(path).thread_id == TWO
    path.write_text("{}\n")
    assert rollout_head(path).thread_id == ONE


# Bases that cannot be followed


def numbered(*lines: dict[str, Any], start: int = 0) -> list[dict[str, Any]]:
    return [{**each, "ordinal": start + number} for number, each in enumerate(lines)]


def based(tmp_path: Path, base: Any, *, parent: bool = True) -> tuple[list[Message], ReadStatistics]:
    """Reads a thread `TWO` whose history is based on `base`; thread `ONE` has two turns."""
    days = tmp_path / "sessions" / "2026" / "11" / "22"
    days.mkdir(parents=True)
    if parent:
        write_rollout(
            days / f"rollout-2026-11-22T09-00-00-{ONE}.jsonl",
            numbered(meta(ONE, "/p"), said("user", "one"), said("user", "two")),
        )
    path = days / f"rollout-2026-11-22T10-00-00-{TWO}.jsonl"
    write_rollout(path, numbered(meta(TWO, "/p", history_base=base), said("user", "own"), start=2))
    return read(path, tmp_path)


def typed(messages: list[Message]) -> list[str]:
    return [message.text for message in messages if message.kind == "message"]


def test_what_counts_of_a_base_is_bounded_by_bytes_and_by_ordinals(tmp_path: Path) -> None:
    end = {"thread_id": ONE, "end_byte_offset": 10_000, "end_ordinal_exclusive": 2}
    assert typed(based(tmp_path / "a", end)[0]) == ["one", "own"]
    end = {"thread_id": ONE, "end_ordinal_exclusive": 1}
    assert typed(based(tmp_path / "b", end)[0]) == ["own"]
    assert typed(based(tmp_path / "c", {"thread_id": ONE, "end_byte_offset": 0})[0]) == ["own"]
    assert typed(based(tmp_path / "d", {"thread_id": ONE})[0]) == ["one", "two", "own"]


@pytest.mark.parametrize(
    ("base", "says_why"),
    [
        ({"thread_id": THREE, "end_byte_offset": 1}, "is missing"),
        ({"thread_id": TWO, "end_byte_offset": 1}, "refers back to itself"),
        ({"thread_id": "../../etc/passwd"}, "cannot read"),
        ({"thread_id": 7}, "cannot read"),
        ({}, "cannot read"),
        ("x", "cannot read"),
    ],
)
def test_a_base_that_cannot_be_followed_is_a_sentence(tmp_path: Path, base: Any, says_why: str) -> None:
    messages, reading = based(tmp_path, base)
    assert says_why in messages[0].text
    assert messages[0].kind == "event"
    assert says_why in reading.problems[0]
    assert typed(messages) == ["own"]


@pytest.mark.parametrize("end", [-1, True, "9", 1.5, None, 10**30])
def test_a_senseless_end_of_a_base_does_no_harm(tmp_path: Path, end: Any) -> None:
    base = {"thread_id": ONE, "end_byte_offset": end, "end_ordinal_exclusive": end}
    assert typed(based(tmp_path, base)[0])[-1] == "own"


def test_bases_that_refer_to_each_other_end(tmp_path: Path) -> None:
    days = tmp_path / "sessions"
    days.mkdir()
    for one, other in ((ONE, TWO), (TWO, ONE)):
        write_rollout(
            days / f"rollout-2026-11-22T09-00-00-{one}.jsonl",
            numbered(meta(one, "/p", history_base={"thread_id": other}), said("user", one)),
        )
    messages, _reading = read(days / f"rollout-2026-11-22T09-00-00-{ONE}.jsonl", tmp_path)
    assert "refers back to itself" in messages[0].text
    assert typed(messages) == [TWO, ONE]


def test_a_very_long_chain_is_cut_with_a_sentence(tmp_path: Path) -> None:
    ids = [f"0198a1b2-c3d4-7e5f-8a9b-{number:012x}" for number in range(MOST_SEGMENTS + 5)]
    paths = {each: tmp_path / f"rollout-x-{each}.jsonl" for each in ids}
    for before, each in zip(["", *ids], ids, strict=False):
        base = {"history_base": {"thread_id": before}} if before else {}
        write_rollout(paths[each], [meta(each, "/p", **base)])
    history = history_of(paths[ids[-1]], paths.get)
    assert len(history.segments) == MOST_SEGMENTS
    assert "Only the newest" in history.problem


def test_a_base_that_is_no_file_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    path = write_rollout(
        tmp_path / f"rollout-x-{TWO}.jsonl", [meta(TWO, "/p", history_base={"thread_id": ONE})]
    )
    history = history_of(path, lambda _rollout: tmp_path / "d")
    assert "could not be read" in history.problem


def test_a_base_that_was_archived_meanwhile_is_found_again(tmp_path: Path) -> None:
    base = {"thread_id": ONE, "end_ordinal_exclusive": 2}
    based(tmp_path, base)
    find = rollout_finder(tmp_path)
    old = find(ONE)
    assert old is not None
    (tmp_path / "archived_sessions").mkdir()
    new = old.rename(tmp_path / "archived_sessions" / old.name)
    assert find(ONE) == new
    assert find(THREE) is None


def test_a_compressed_base_is_cut_by_its_uncompressed_bytes(tmp_path: Path) -> None:
    import zstandard

    days = tmp_path / "sessions"
    days.mkdir()
    lines = numbered(meta(ONE, "/p"), said("user", "one"), said("user", "two"))
    plain = b"".join(json.dumps(each).encode() + b"\n" for each in lines)
    end = plain.index(b"\n", plain.index(b'"one"')) + 1
    (days / f"rollout-x-{ONE}.jsonl.zst").write_bytes(zstandard.ZstdCompressor().compress(plain))
    path = write_rollout(
        days / f"rollout-y-{TWO}.jsonl",
        [meta(TWO, "/p", history_base={"thread_id": ONE, "end_byte_offset": end}), said("user", "own")],
    )
    assert typed(read(path, tmp_path)[0]) == ["one", "own"]


def test_lines_end_where_they_are_told_to(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"one\n\ntwo\nthree\n")
    nothing: Callable[[], object] = lambda: None  # noqa: E731 - typed
    assert list(transcript_lines(path, nothing, end=9)) == [b"one\n", b"two\n"]
    assert list(transcript_lines(path, nothing, end=7)) == [b"one\n", b"tw"]
    assert list(transcript_lines(path, nothing, end=0)) == []
    assert list(transcript_lines(path, nothing, end=99)) == [b"one\n", b"two\n", b"three\n"]


# Items of events


def completed(kind: str, **item: Any) -> dict[str, Any]:
    return event("item_completed", item={"type": kind, **item})


def conversation(tmp_path: Path, *lines: Any) -> list[Message]:
    path = write_rollout(tmp_path / f"rollout-x-{ONE}.jsonl", [meta(ONE, "/p"), *lines])
    return read(path, tmp_path)[0]


def test_the_kinds_beside_a_message_say_whether_a_person_typed_it() -> None:
    item: dict[str, Any] = {
        "type": "message",
        "role": "user",
        "content": [{"text": "<skill> is how I begin"}],
    }
    assert not is_typed(item)
    kinds = {"content_item_kinds": ["user.text"]}
    assert is_typed({**item, "internal_chat_message_metadata_passthrough": kinds})
    plain = {**item, "content": [{"text": "hello"}]}
    assert is_typed(plain)
    kinds = {"content_item_kinds": ["generic.turn_aborted"]}
    assert not is_typed({**plain, "internal_chat_message_metadata_passthrough": kinds})
    for odd in (None, [], {"content_item_kinds": 7}, {"content_item_kinds": ["unknown", 7]}):
        assert is_typed({**plain, "internal_chat_message_metadata_passthrough": odd})


def test_a_failed_command_is_known_by_its_exit_code(tmp_path: Path) -> None:
    failed = conversation(
        tmp_path,
        call("a", "exec_command", {"cmd": "x"}),
        completed("CommandExecution", id="a", exit_code=3, status="failed"),
        result("a", "no word of it"),
        call("b", "exec_command", {"cmd": "y"}),
        completed("CommandExecution", id="b", exit_code=0, status="completed"),
        result("b", "Wall time: 1 seconds\nOutput:\nfailed: no"),
    )
    assert [message.tool.is_error for message in failed if message.tool] == [True, False]


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 7\nOutput:\nx", True),
        ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nx", False),
        ("Exit code: 2\nWall time: 1 seconds\nOutput:\n", True),
        ("Chunk ID: 1\nProcess exited with code 0\nOutput:\nProcess exited with code 1\n", False),
        ("Process exited with code is what it printed", False),
        ("a line\nProcess exited with code 1\n", False),
        ("Wall time: 1.9 seconds\naborted by user", True),
        ("unsupported call: no_such_tool", True),
        ("Chunk ID: 1\nProcess running with session ID 4\nOutput:\n", False),
    ],
)
def test_a_failed_command_is_known_by_what_codex_writes_above_its_output(
    tmp_path: Path, output: str, failed: bool
) -> None:
    tool = conversation(tmp_path, call("a", "exec_command", {}), result("a", output))[0].tool
    assert tool is not None
    assert tool.is_error is failed


@pytest.mark.parametrize("code", [0, 7])
def test_a_command_that_outlives_its_answer_is_shown_again_where_it_ended(tmp_path: Path, code: int) -> None:
    running = "Chunk ID: 1\nWall time: 30.0 seconds\nProcess running with session ID 4\nOutput:\n"
    ended = completed(
        "CommandExecution",
        id="a",
        exit_code=code,
        command=["/bin/bash", "-lc", "sleep 9"],
        aggregated_output="late",
    )
    shown_now = conversation(
        tmp_path,
        call("a", "exec_command", {"cmd": "sleep 9"}),
        result("a", running),
        said("user", "?"),
        ended,
    )
    assert [message.kind for message in shown_now] == ["tool", "message", "tool"]
    first, last = shown_now[0].tool, shown_now[2].tool
    assert first is not None
    assert first.output == running
    assert last is not None
    assert (last.input, last.output, last.is_error) == ("sleep 9", "late", code != 0)


def test_a_command_that_was_stopped_after_its_answer_says_so(tmp_path: Path) -> None:
    shown_now = conversation(
        tmp_path,
        call("a", "exec_command", {"cmd": "x"}),
        result("a", "Wall time: 1 seconds\nOutput:\n"),
        completed("CommandExecution", id="a", exit_code=-1, command=["/bin/bash", "-lc", "sleep 9"]),
    )
    assert shown_now[1].text == "The command ended with exit code -1: sleep 9"


def test_output_that_speaks_of_a_running_process_is_no_running_command(tmp_path: Path) -> None:
    output = (
        "Chunk ID: 1\nProcess exited with code 0\nOutput:\n"
        + "x" * 400
        + "\nProcess running with session ID 4"
    )
    done = completed("CommandExecution", id="a", exit_code=0, aggregated_output="x")
    lines = (call("a", "exec_command", {}), result("a", output), done)
    assert len(conversation(tmp_path, *lines)) == 1


def test_a_command_of_the_user_is_shown_from_its_event(tmp_path: Path) -> None:
    done = completed(
        "CommandExecution",
        id="u",
        command=["sh", "-c", "ls"],
        aggregated_output="a\n",
        exit_code=1,
        source="user_shell",
    )
    tool = conversation(tmp_path, done)[0].tool
    assert tool is not None
    assert (tool.name, tool.input, tool.output, tool.is_error) == ("exec_command", "ls", "a\n", True)


def test_what_only_an_event_says_is_shown_once(tmp_path: Path) -> None:
    shown_now = conversation(
        tmp_path,
        completed("UserMessage", id="u", content=[{"type": "text", "text": "only here"}]),
        completed("AgentMessage", id="m", content=[{"type": "Text", "text": "an answer"}]),
        said("user", "twice"),
        completed("UserMessage", id="v", content=[{"type": "text", "text": "twice"}]),
        completed("AgentMessage", id="n", content=[{"type": "Text", "text": "both"}]),
        said("assistant", "both", id="n"),
    )
    assert [message.text for message in shown_now] == ["only here", "an answer", "twice", "both"]


def test_the_answer_that_became_a_summary_is_shown_once(tmp_path: Path) -> None:
    answer = said("assistant", "SUMMARY: so far")
    shown_now = conversation(
        tmp_path,
        answer,
        line("compacted", message="Preface\nSUMMARY: so far"),
        completed("ContextCompaction"),
    )
    assert [(message.kind, message.text) for message in shown_now] == [
        ("summary", "Preface\nSUMMARY: so far")
    ]
    alone = conversation(tmp_path, answer, line("compacted", message="Another"))
    assert [message.kind for message in alone] == ["message", "summary"]
    remote = conversation(tmp_path, completed("ContextCompaction"))
    assert [message.text for message in remote] == ["The conversation was compacted."]


def test_a_sub_agent_that_was_started_is_named(tmp_path: Path) -> None:
    agents = [{"thread_id": TWO, "agent_nickname": "Ada", "agent_role": "explorer"}, 7]
    shown_now = conversation(
        tmp_path,
        call("a", "spawn_agent", {"message": "look"}),
        completed(
            "CollabAgentToolCall", id="a", tool="spawn_agent", status="completed", receiver_agents=agents
        ),
        result("a", "{}"),
    )
    assert [message.text for message in shown_now if message.kind == "event"] == [
        f"Sub-agent Ada (explorer) was started: thread {TWO}."
    ]


def test_an_unknown_item_is_counted(tmp_path: Path) -> None:
    path = write_rollout(tmp_path / "r.jsonl", [completed("Hologram"), completed(7)])  # type: ignore[arg-type]
    messages, reading = read(path, tmp_path)
    assert (messages, reading.unknown) == ([], 2)


@pytest.mark.parametrize("item", [{}, {"id": 7}, {"content": 7, "summary_text": {}, "memory_citation": 7}])
@pytest.mark.parametrize(
    "kind",
    ["UserMessage", "AgentMessage", "Reasoning", "CommandExecution", "CollabAgentToolCall", "HookPrompt"],
)
def test_items_of_odd_shape_do_no_harm(tmp_path: Path, kind: str, item: dict[str, Any]) -> None:
    before = said("user", "before")
    assert (
        typed(conversation(tmp_path, before, completed(kind, **item), said("user", "after")))[-1] == "after"
    )


# Citations


def test_the_memory_an_answer_used_is_a_list_of_files_and_lines() -> None:
    home = CodexHome(SAMPLES)
    path = current(home, CODEX_SAYS["citation"]["thread"])
    answer = next(message for message in read(path, SAMPLES)[0] if message.citations)
    assert answer.text == "You like short answers.\n\n"
    assert answer.citations == (
        Citation("rollout_summaries/x.md", 1, 5, "short answers"),
        Citation("MEMORY.md", 3, 3, "more"),
    )
    assert answer.cited_threads == (CODEX_SAYS["paginated"]["thread"],)
    paged = PagedTranscript(CodexReadable(path), path)
    assert paged.find(says("rollout_summaries/X.md"), -1, lambda: None) == answer.number


def test_a_citation_that_only_the_event_has_is_shown(tmp_path: Path) -> None:
    entries = [{"path": "MEMORY.md", "lineStart": 2, "lineEnd": "x", "note": 7}, {"path": 7}, 7]
    done = completed(
        "AgentMessage",
        id="m",
        content=[{"type": "Text", "text": "hi"}],
        memory_citation={"entries": entries, "rolloutIds": [ONE, 7]},
    )
    answer = conversation(tmp_path, done, said("assistant", "hi", id="m"))[0]
    assert answer.citations == (Citation("MEMORY.md", 2),)
    assert answer.cited_threads == (ONE,)


def test_a_damaged_citation_hides_no_text() -> None:
    assert cited("no citation") == ("no citation", (), ())
    text = "a<oai-mem-citation>\n<citation_entries>\nno lines here\n:1-2\nx.md:3-4\n</citation_entries>"
    assert cited(text) == ("a", (Citation("x.md", 3, 4),), ())
    assert cited("a<oai-mem-citation>b</oai-mem-citation>c")[0] == "ac"


def test_invalid_utf_8_in_a_transcript_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    row = json.dumps(said("user", "x@y")).encode().replace(b"@", b"\xff\xfe")
    path.write_bytes(json.dumps(meta(ONE, "/p")).encode() + b"\n" + row + b"\n")
    messages, reading = read(path, tmp_path)
    assert messages[0].text == "x\ufffd\ufffdy"
    assert reading.broken == 0
