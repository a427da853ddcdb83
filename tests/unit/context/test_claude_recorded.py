"""What a session of Claude Code loaded, as its transcript records it, beside what a new one would load."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from helpers.claude_home import NOW_S, ClaudeHomeMaker, session_id, topic, write
from helpers.claude_transcripts import Chat
from helpers.context_homes import view_at
from helpers.samples import snapshot
from reverie.context.glances import glance_of, since
from reverie.context.view import ContextPart, ContextView, notes, reason

RECORDED_MS = 1_785_999_000_000
"""When the sessions of these tests recorded what they loaded."""


@pytest.fixture
def maker(tmp_path: Path) -> ClaudeHomeMaker:
    return ClaudeHomeMaker(tmp_path)


def loaded(path: Path, text: str, kind: str = "Project") -> dict[str, str]:
    return {"path": str(path), "type": kind, "content": text}


def attached(*attachments: dict[str, Any], cwd: Path, number: int = 1) -> Chat:
    chat = Chat(session_id(number), str(cwd))
    chat.user("Hello")
    for each in attachments:
        chat.record("attachment", attachment=each, timestamp=stamp(RECORDED_MS))
    return chat


def stamp(at_ms: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat().replace("+00:00", "Z")


def put(path: Path, text: str, *, later: bool = False) -> Path:
    """A file that was changed before, or after, the record."""
    write(path, text)
    at = RECORDED_MS / 1000 + (60 if later else -60)
    os.utime(path, (at, at))
    return path


def view_of(maker: ClaudeHomeMaker, session: int | None = 1, project: Path | None = None) -> ContextView:
    home = maker.home()
    home.contents()
    if session is not None:
        return view_at(home, home.context(workspace_id=session_id(session)), 0)
    return view_at(home, home.context(project_path=str(project), project_given=True), 0)


def part_of(view: ContextView, key: Any = "recorded") -> ContextPart:
    part = view.part(key)
    assert part is not None
    return part


def verdicts(part: ContextPart) -> dict[str, tuple[str, str]]:
    return {entry.path.rpartition("/")[2]: (entry.state, entry.reason) for entry in part.entries}


def save(maker: ClaudeHomeMaker, chat: Chat, cwd: Path) -> Path:
    return chat.write(maker.directory(cwd) / f"{chat.session}.jsonl")


def instructions(files: Iterable[dict[str, str]], **more: Any) -> dict[str, Any]:
    return {"type": "instructions", "files": list(files), **more}


def test_each_file_is_compared_with_what_a_new_session_would_load(maker: ClaudeHomeMaker) -> None:
    project = maker.repository("demo")
    rules = project / ".claude" / "rules"
    files = [
        loaded(put(project / "CLAUDE.md", "Same"), "Same"),
        loaded(put(rules / "changed.md", "New words", later=True), "Old words"),
        loaded(put(rules / "other.md", "Ours"), "Theirs"),
        loaded(project / "gone.md", "Was here"),
        loaded(put(project / "only.txt", "Nobody loads it"), "Nobody loads it"),
        loaded(put(project / "was-loaded.txt", "x", later=True), "x"),
    ]
    put(rules / "new.md", "New", later=True)
    put(rules / "missed.md", "Missed")
    save(maker, attached(instructions(files), cwd=project), project)
    before = snapshot(maker.user)
    view = view_of(maker)
    part = part_of(view)
    assert verdicts(part) == {
        "CLAUDE.md": ("in", "recorded-same"),
        "changed.md": ("in", "recorded-changed"),
        "other.md": ("in", "recorded-other"),
        "gone.md": ("in", "recorded-gone"),
        "only.txt": ("in", "recorded-only"),
        "was-loaded.txt": ("in", "recorded-changed"),
        "new.md": ("out", "recorded-new"),
        "missed.md": ("out", "recorded-missed"),
    }
    assert part.text == "Same\nOld words\nTheirs\nWas here\nNobody loads it\nx"
    assert [entry.file for entry in part.loaded] == [Path(each["path"]) for each in files], "in their order"
    assert (part.notes, part.detail) == (("recorded", "rules-differ"), "3")
    assert "do not explain 3 of these" in " ".join(notes(part))
    assert all(reason(entry) for entry in part.entries)
    assert snapshot(maker.user) == before


def test_what_is_recorded_does_not_count_as_what_a_new_session_would_load(maker: ClaudeHomeMaker) -> None:
    project = maker.repository("demo")
    text = put(project / "CLAUDE.md", "Same")
    save(maker, attached(instructions([loaded(text, "Same")]), cwd=project), project)
    view = view_of(maker)
    assert part_of(view).notes == ("recorded", "rules-agree")
    assert (view.bytes, part_of(view, "instructions").gauges[0].used) == (4, 4)
    before = glance_of(view)
    assert "recorded" not in before["parts"]
    found = since(before, view)
    assert found is not None
    assert found.changes == ()


def test_the_index_is_compared_by_what_of_it_is_loaded(maker: ClaudeHomeMaker) -> None:
    project = maker.repository("demo")
    memory = maker.memory(project, {"a.md": topic("a")})
    index = put(memory / "MEMORY.md", "- [A](a.md)")
    save(maker, attached(instructions([loaded(index, "- [A](a.md)", "AutoMem")]), cwd=project), project)
    assert verdicts(part_of(view_of(maker))) == {"MEMORY.md": ("in", "recorded-same")}
    put(index, "- [A](a.md)\n- [B](b.md)", later=True)
    assert verdicts(part_of(view_of(maker))) == {"MEMORY.md": ("in", "recorded-changed")}


def test_the_agents_warning_behind_a_cut_index_is_no_difference(maker: ClaudeHomeMaker) -> None:
    project = maker.repository("demo")
    memory = maker.memory(project, {"a.md": topic("a")})
    lines = [f"- [A {n}](a.md) and more " for n in range(210)]
    index = put(memory / "MEMORY.md", "\n".join(lines))
    sent = "\n".join(lines[:200])
    for text, said in ((f"{sent}\n\n> cut", "recorded-same"), (f"{sent}0\n\n> cut", "recorded-other")):
        save(maker, attached(instructions([loaded(index, text, "AutoMem")]), cwd=project), project)
        assert verdicts(part_of(view_of(maker))) == {"MEMORY.md": ("in", said)}


def test_an_index_that_is_switched_off_is_not_missed(maker: ClaudeHomeMaker) -> None:
    project = maker.repository("demo")
    put(maker.memory(project, {"a.md": topic("a")}) / "MEMORY.md", "- [A](a.md)")
    text = put(project / "CLAUDE.md", "Same")
    save(maker, attached(instructions([loaded(text, "Same")]), cwd=project), project)
    assert verdicts(part_of(view_of(maker))) == {
        "CLAUDE.md": ("in", "recorded-same"),
        "MEMORY.md": ("out", "recorded-missed"),
    }
    maker.file("settings.json", json.dumps({"autoMemoryEnabled": False}))
    assert verdicts(part_of(view_of(maker))) == {"CLAUDE.md": ("in", "recorded-same")}


def test_a_session_that_runs_is_said_to_keep_what_it_loaded(maker: ClaudeHomeMaker) -> None:
    project = maker.repository("demo")
    text = put(project / "CLAUDE.md", "Same")
    save(maker, attached(instructions([loaded(text, "Same")]), cwd=project), project)
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        row = {"pid": process.pid, "sessionId": session_id(1), "cwd": str(project)}
        maker.file(f"sessions/{process.pid}.json", json.dumps(row))
        assert part_of(view_of(maker)).notes == ("recorded", "session-runs", "rules-agree")
    finally:
        process.communicate(b"\n")
    assert part_of(view_of(maker)).notes == ("recorded", "rules-agree"), "the process was killed"


def test_without_a_session_or_a_record_nothing_is_shown_of_the_past(maker: ClaudeHomeMaker) -> None:
    project = maker.repository("demo")
    text = put(project / "CLAUDE.md", "Same")
    save(maker, attached(instructions([loaded(text, "Same")]), cwd=project), project)
    save(maker, attached(cwd=project, number=2), project)
    assert view_of(maker, None, project).part("recorded") is None
    assert view_of(maker, 2).part("recorded") is None
    assert view_of(maker, 1).part("recorded") is not None


def test_where_memories_are_recalled_the_index_is_not_said_to_be_loaded(maker: ClaudeHomeMaker) -> None:
    project = maker.repository("demo")
    files = {"MEMORY.md": "- [A](a.md)\n", "a.md": topic("a"), "b.md": topic("b"), "c.md": "c" * 5000}
    memory = maker.memory(project, files)
    recalled = {"type": "relevant_memories", "memories": [loaded(memory / "a.md", "A fact.")]}
    save(maker, attached(recalled, recalled, cwd=project), project)
    part = part_of(view_of(maker, None, project), "index-file")
    assert verdicts(part) == {
        "MEMORY.md": ("out", "recall-index"),
        "a.md": ("out", "recalled"),
        "b.md": ("out", "on-demand"),
        "c.md": ("out", "recall-long"),
    }
    assert (part.text, part.notes, part.gauges[0].used) == ("", ("recall-mode", "recall-long"), 0)
    assert "2 in the newest sessions" in reason(
        next(each for each in part.entries if each.path.endswith("a.md"))
    )


def test_a_session_that_recalls_and_loads_the_index_changes_nothing(maker: ClaudeHomeMaker) -> None:
    project = maker.repository("demo")
    memory = maker.memory(project, {"MEMORY.md": "- [A](a.md)\n", "a.md": topic("a")})
    recalled = {"type": "relevant_memories", "memories": [loaded(memory / "a.md", "A fact.")]}
    index = instructions([loaded(memory / "MEMORY.md", "- [A](a.md)", "AutoMem")])
    save(maker, attached(recalled, index, cwd=project), project)
    part = part_of(view_of(maker, None, project), "index-file")
    assert verdicts(part) == {"MEMORY.md": ("in", "loaded"), "a.md": ("in", "line")}


def test_the_newest_session_that_shows_either_tells_whether_the_index_is_loaded(
    maker: ClaudeHomeMaker,
) -> None:
    project = maker.repository("demo")
    memory = maker.memory(project, {"MEMORY.md": "- [A](a.md)\n", "a.md": topic("a")})
    recalled = {"type": "relevant_memories", "memories": [loaded(memory / "a.md", "A fact.")]}
    index = instructions([loaded(memory / "MEMORY.md", "- [A](a.md)", "AutoMem")])
    chats = [
        attached(recalled, cwd=project, number=1),
        attached(index, cwd=project, number=2),
        attached(index, cwd=project, number=3),
        attached(cwd=project, number=4),
    ]
    for number, chat in enumerate(chats):
        path = save(maker, chat, project)
        os.utime(path, (NOW_S - 100 + number, NOW_S - 100 + number))
    part = part_of(view_of(maker, None, project), "index-file")
    assert "recall-mode" not in part.notes
    assert verdicts(part)["MEMORY.md"] == ("in", "loaded")
    path = save(maker, attached(recalled, cwd=project, number=5), project)
    os.utime(path, (NOW_S, NOW_S))
    assert "recall-mode" in part_of(view_of(maker, None, project), "index-file").notes
