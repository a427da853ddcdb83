"""Whose a change is: ours by the log, the agent's by what its memory tools were told, else outside; never
guessed (design.md section 4, "Actor")."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import NOW, Time, sample_parts, workspace
from reverie.agents.mux.transcript import MuxTranscript
from reverie.errors import StoreError
from reverie.memory.scope_files import sha256_of_bytes
from reverie.services.container import HomeContainer
from reverie.services.edits import UserEdits
from reverie.services.unseen import author_of

ACME = "a1f3c9e2b7"
SOON = NOW + 5_000


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def parts(tmp_path: Path, clock: Time) -> HomeContainer:
    parts = sample_parts("mux-home", tmp_path, clock)
    parts.snapshots.observe(source="test")
    clock.now = SOON + 1_000
    return parts


def said(parts: HomeContainer, *calls: Mapping[str, Any], at: int = SOON, file: str = "chat.jsonl") -> None:
    """The agent's answer with these calls of its memory tools."""
    path = parts.home.root / "sessions" / ACME / file
    row = {
        "id": f"assistant-{at}-{len(calls)}",
        "role": "assistant",
        "parts": [
            {
                "type": "dynamic-tool",
                "toolCallId": f"toolu-{os.urandom(6).hex()}",
                "toolName": call.get("tool", "memory"),
                "state": "output-available",
                "input": {name: value for name, value in call.items() if name not in ("tool", "success")},
                "output": {"success": call.get("success", True), "output": "done"},
                "timestamp": at,
            }
            for call in calls
        ],
        "metadata": {"historySequence": 10_000, "timestamp": at},
    }
    if file == "partial.json":
        path.write_text(json.dumps(row, indent=2))
    else:
        with path.open("a") as stream:
            stream.write(json.dumps(row) + "\n")


def put(parts: HomeContainer, rel: str, text: str) -> Path:
    path = parts.home.root / "memory" / "global" / rel
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def actors(parts: HomeContainer, count: int = 1) -> list[str]:
    return [commit.actor for commit in parts.snapshots.history.commits(limit=count)]


def test_what_a_tool_call_created_is_the_agents_and_anything_else_is_not(parts: HomeContainer) -> None:
    path = put(parts, "new.md", "told\n")
    said(parts, {"command": "create", "path": "/memories/global/new.md", "file_text": "told\n"})
    parts.snapshots.observe(source="test", dirty=[path])
    assert actors(parts) == ["agent"]
    assert (
        parts.actors.actor_of(path, sha256_of_bytes(b"told\n")) or pytest.fail("unknown")
    ).actor == "agent"
    put(parts, "new.md", "told\nand more\n")
    parts.snapshots.observe(source="test", dirty=[path])
    assert actors(parts) == ["outside"]


@pytest.mark.parametrize(
    ("why", "call", "at"),
    [
        ("it failed", {"command": "create", "file_text": "x\n", "success": False}, SOON),
        ("it wrote something else", {"command": "create", "file_text": "y\n"}, SOON),
        ("it only looked", {"command": "view", "file_text": "x\n"}, SOON),
        ("it says no line", {"command": "insert", "insert_text": "x\n"}, SOON),
        ("its line is none", {"command": "insert", "insert_line": "one", "insert_text": "x\n"}, SOON),
        ("it was long before the last snapshot", {"command": "create", "file_text": "x\n"}, NOW - 3_600_000),
    ],
)
def test_a_call_that_did_not_write_it_makes_nothing_the_agents(
    parts: HomeContainer, why: str, call: dict[str, Any], at: int
) -> None:
    path = put(parts, "new.md", "x\n")
    said(parts, {**call, "path": "/memories/global/new.md"}, at=at)
    parts.snapshots.observe(source="test", dirty=[path])
    assert actors(parts) == ["outside"], why


def test_edits_are_done_again_on_what_the_history_holds(parts: HomeContainer) -> None:
    path = put(parts, "testing.md", "one\ntwo\n")
    parts.snapshots.observe(source="test", dirty=[path])
    where = {"path": "/memories/global/testing.md"}
    # The agent's own code expands `$&` in a replacement.
    said(
        parts,
        {"command": "str_replace", **where, "old_str": "two", "new_str": "<$&>"},
        {"command": "insert", **where, "insert_line": 1, "insert_text": "between\n"},
    )
    put(parts, "testing.md", "one\nbetween\n<two>\n")
    parts.snapshots.observe(source="test", dirty=[path])
    assert actors(parts) == ["agent"]


def test_the_answer_that_is_still_being_written_counts_too(parts: HomeContainer) -> None:
    path = put(parts, "new.md", "told\n")
    call = {"command": "create", "path": "/memories/global/new.md", "file_text": "told\n"}
    said(parts, call, file="partial.json")
    parts.snapshots.observe(source="test", dirty=[path])
    assert actors(parts) == ["agent"]


def test_a_rename_and_a_delete_of_the_agents_are_its_own(parts: HomeContainer) -> None:
    root = parts.home.root / "memory/global"
    (root / "testing.md").rename(root / "moved.md")
    (root / "people/équipe.md").unlink()
    said(
        parts,
        {
            "command": "rename",
            "old_path": "/memories/global/testing.md",
            "new_path": "/memories/global/moved.md",
        },
        {"command": "delete", "path": "/memories/global/people"},
    )
    parts.snapshots.observe(source="test")
    assert actors(parts, 2)[0] == "agent"
    changed = {
        change.rel: (change.before is None, change.after is None)
        for change in parts.snapshots.history.changes(*_newest_pair(parts))
        if change.content_changed
    }
    assert changed["testing.md"] == (False, True)
    assert changed["moved.md"] == (True, False)
    assert changed["people/équipe.md"] == (False, True)


def _newest_pair(parts: HomeContainer) -> tuple[str | None, str]:
    newest = parts.snapshots.history.commits(limit=1)[0]
    return newest.parent, newest.id


def test_a_full_scan_tells_ours_the_agents_and_outside_apart_also_what_was_deleted(
    parts: HomeContainer,
) -> None:
    root = parts.home.root / "memory/global"
    ours, gone = put(parts, "ours.md", "ours\n"), root / "testing.md"
    parts.actors.record(ours, sha256_of_bytes(b"ours\n"), actor="writer", run_id="r1", at_ms=SOON)
    parts.actors.record(gone, None, actor="user", run_id=None, at_ms=SOON)
    gone.unlink()
    put(parts, "agents.md", "the agent's\n")
    said(
        parts,
        {"command": "create", "path": "/memories/global/agents.md", "file_text": "the agent's\n"},
    )
    put(parts, "others.md", "somebody's\n")
    parts.snapshots.observe(source="test")
    commits = parts.snapshots.history.commits(limit=4)
    found = {
        commit.actor: {
            change.rel
            for change in parts.snapshots.history.changes(commit.parent, commit.id)
            if change.content_changed
        }
        for commit in commits
    }
    assert found == {
        "outside": {"others.md"},
        "agent": {"agents.md"},
        "user": {"testing.md"},
        "writer": {"ours.md"},
    }
    assert commits[0].actor == "outside", "who is known comes first"
    assert not parts.snapshots.history.check()
    head = parts.snapshots.history.head()
    parts.snapshots.observe(source="test")
    assert parts.snapshots.history.head() == head


def test_the_one_file_of_a_project_is_the_agents_when_its_tool_wrote_it(parts: HomeContainer) -> None:
    place = parts.home.writer_place(ACME)
    assert place is not None
    assert place.memory_file is not None
    rel = place.memory_file.relative_to(parts.home.root).as_posix()
    parts.snapshots.record_companion(rel, actor="outside", source="test")
    text = place.memory_file.read_text()
    line = text.splitlines()[0]
    place.memory_file.write_text(text.replace(line, line + " indeed", 1))
    call = {"old_string": line, "new_string": line + " indeed", "tool": "memory_write"}
    said(parts, call)
    parts.snapshots.record_companion(rel, actor="outside", source="test")
    assert actors(parts) == ["agent"]


def test_the_author_is_told_before_a_snapshot_was_made(parts: HomeContainer) -> None:
    put(parts, "testing.md", "told\n")
    context, where, sha256 = workspace(parts, ACME), "/memories/global/testing.md", sha256_of_bytes(b"told\n")
    assert author_of(parts, context, where, sha256 or "") == ""
    said(parts, {"command": "create", "path": where, "file_text": "told\n"})
    assert author_of(parts, context, where, sha256 or "") == "agent"
    parts.snapshots.observe(source="test")
    assert author_of(parts, context, where, sha256 or "") == "agent"
    assert author_of(parts, context, where, "0" * 64) == ""


def test_a_huge_file_is_not_read_whole_for_its_author_a_rename_or_a_refused_delete(
    parts: HomeContainer,
) -> None:
    place = put(parts, "huge.md", "x\n")
    os.truncate(place, 5 << 30)
    context, edits = workspace(parts, ACME), UserEdits(parts)
    tracemalloc.start()
    try:
        assert author_of(parts, context, "/memories/global/huge.md", "0" * 64) == ""
        edits.rename(context, "/memories/global/huge.md", "/memories/global/other.md")
        with pytest.raises(StoreError, match="too large for the history"):
            edits.delete(context, "/memories/global/other.md")
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 28
    assert place.with_name("other.md").stat().st_size == 5 << 30


def test_a_persons_save_of_the_same_bytes_stays_the_persons(parts: HomeContainer) -> None:
    edits, context = UserEdits(parts), workspace(parts, ACME)
    text = edits.read(context, "/memories/global/testing.md")
    said(parts, {"command": "create", "path": "/memories/global/testing.md", "file_text": "same\n"})
    edits.save(context, "/memories/global/testing.md", "same\n", text.sha256)
    parts.snapshots.observe(source="test")
    assert actors(parts) == ["user"]


def test_reading_calls_is_bounded_and_survives_any_damage(tmp_path: Path) -> None:
    assert MuxTranscript(tmp_path).memory_calls() == ()
    call = '{"parts":[{"type":"dynamic-tool","toolName":"memory","toolCallId":"%s","input":{},'
    call += '"output":{"success":true},"timestamp":%s}]}\n'
    lines = [call % (f"c{number}", number) for number in range(100)]
    broken = '{"memory": [\n"memory"\n{"parts": 3, "x": "memory"}\n' + call % ("bad", '"soon"')
    (tmp_path / "chat.jsonl").write_text(broken + "".join(lines))
    (tmp_path / "partial.json").mkdir()
    assert [found.call_id for found in MuxTranscript(tmp_path).memory_calls()] == [
        f"c{number}" for number in range(100)
    ]
    few = MuxTranscript(tmp_path).memory_calls(most_bytes=5 * len(lines[-1]) + 3)
    assert [found.call_id for found in few] == [f"c{number}" for number in range(95, 100)]
