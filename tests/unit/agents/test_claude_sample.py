"""A home that the real Claude Code made (`tests/samples/claude-home`), read as its user would expect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.context_homes import view_at
from helpers.samples import SAMPLES, copy_sample, snapshot
from reverie.agents.base import TranscriptSource
from reverie.agents.claude.home import ClaudeHome
from reverie.agents.claude.locations import detect
from reverie.agents.claude.settings import Machine
from reverie.agents.scopes import Scope
from reverie.agents.transcripts import Message, ReadStatistics
from reverie.memory.listing import names_only

WORK = "/home/mia/work"


@pytest.fixture
def home(tmp_path: Path) -> ClaudeHome:
    root = copy_sample("claude-home", tmp_path)
    machine = Machine({}, tmp_path / "nobody", tmp_path / "managed")
    return ClaudeHome(root, tmp_path / "cache", machine=machine)


def source_of(home: ClaudeHome, title: str) -> TranscriptSource:
    home.learn_titles(50)
    (found,) = (each for each in home.sources() if each.title == title)
    return found


def read(home: ClaudeHome, source: TranscriptSource) -> tuple[list[Message], ReadStatistics]:
    reading = ReadStatistics()
    return list(home.open_source(source).messages(reading)), reading


def test_projects_and_sessions_have_their_names_and_looking_changes_nothing(home: ClaudeHome) -> None:
    before = snapshot(home.root)
    assert detect(home.root)
    home.learn_titles(50)
    contents = home.contents()
    assert {each.name: sorted(one.title for one in each.workspaces) for each in contents.projects} == {
        "a-b": ["Hello from a-b"],
        "a.b": ["Hello from a.b"],
        "lamp": ["How long burns wick 2?", "Remember the wicks"],
        "lighthouse": [
            "Ask the reviewer",
            "How wide is the bed?",
            "Please remember the period of the lamp",
            "The lamp, by hand",
        ],
    }
    assert [each.path for each in contents.projects] == [f"{WORK}/{each.name}" for each in contents.projects]
    assert "share one memory" in contents.problems[0]
    assert snapshot(home.root) == before


def test_memories_are_those_that_the_agent_wrote(home: ClaudeHome) -> None:
    def names(project: str, scope: Scope = Scope.PROJECT) -> list[str]:
        root = home.scope_root(home.context(project_path=f"{WORK}/{project}"), scope)
        return sorted(file.rel for file in names_only(root).files)

    assert names("lighthouse") == ["MEMORY.md", "keeper-hours.md", "lamp-period.md"]
    assert names("lamp") == ["MEMORY.md", "wick-1.md", "wick-2.md"]
    assert names("lamp", Scope.GLOBAL) == ["reviewer/MEMORY.md", "reviewer/lens.md"]


def test_a_transcript_is_the_conversation(home: ClaudeHome) -> None:
    messages, reading = read(home, source_of(home, "How wide is the bed?"))
    said = [(each.speaker, each.text) for each in messages if each.kind in ("message", "summary", "event")]
    assert said == [
        ("user", "How wide is the bed?"),
        ("assistant", "The bed is narrow."),
        ("system", "The conversation was compacted. It contained 60,020 tokens."),
        ("system", "The conversation so far, in short: the lamp turns every 12 seconds, 11 in fog."),
        ("user", "And now?"),
        ("assistant", "Hello Mia."),
    ]
    assert [each.tool.name for each in messages if each.tool is not None] == ["Bash", "Read"]
    context = [each.text for each in messages if each.kind == "context"]
    assert context[0].startswith("Setup of the agent: environment, model, tools")
    assert "Loaded for the files at hand: src/keeper/CLAUDE.md." in context
    assert (reading.unknown, reading.broken, reading.half_written) == (0, 0, False)


def test_no_transcript_has_anything_unknown_in_it(home: ClaudeHome) -> None:
    sources = home.sources()
    assert {each.kind for each in sources} == {"session", "sub-agent"}
    for source in sources:
        assert read(home, source)[1].unknown == 0


def test_a_session_shows_what_it_loaded_after_the_compaction(home: ClaudeHome) -> None:
    session = source_of(home, "How wide is the bed?").id
    part = view_at(home, home.context(workspace_id=session), 0).part("recorded")
    assert part is not None
    loaded = {entry.file.name: entry.reason for entry in part.loaded if entry.file is not None}
    assert list(loaded) == ["CLAUDE.md", "tone.md", "commits.md", "MEMORY.md"], "there are two CLAUDE.md"
    assert "Build with `make lamp all`." in part.text
    assert "<!--" not in part.text


def test_a_session_that_recalls_memories_loads_no_index(home: ClaudeHome) -> None:
    session = source_of(home, "How long burns wick 2?").id
    part = view_at(home, home.context(workspace_id=session), 0).part("index-file")
    assert part is not None
    assert "recall-mode" in part.notes
    assert not part.text
    assert {entry.path.rpartition("/")[2]: entry.reason for entry in part.entries} == {
        "MEMORY.md": "recall-index",
        "wick-1.md": "on-demand",
        "wick-2.md": "recalled",
    }


def test_nothing_of_the_program_itself_is_in_the_sample() -> None:
    for path in (SAMPLES / "claude-home").rglob("*"):
        assert not path.name.startswith(".")
        assert path.suffix in ("", ".md", ".jsonl", ".json")
        if path.suffix != ".jsonl":
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            assert len(line) < 4000
            row = json.loads(line)
            assert not {"rendered", "params", "shape", "toolUseResult"} & row.keys()
            assert not {"systemPrompt", "tools", "snapshot", "text"} & row.get("attachment", {}).keys()
