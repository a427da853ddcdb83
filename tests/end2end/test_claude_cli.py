"""The command line on a home of Claude Code: a session that is asked for finds its project, and the agent's
own jobs are told."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import contents
from helpers.claude_home import ClaudeHomeMaker, session_id
from reverie.cli import main


@pytest.fixture
def maker(tmp_path: Path) -> ClaudeHomeMaker:
    return ClaudeHomeMaker(tmp_path)


def told(maker: ClaudeHomeMaker, capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    options = ["--home", str(maker.root), "--profile", str(maker.user.parent / "profile"), "--json"]
    assert main([words[0], *options, *words[1:]]) == 0
    return json.loads(capsys.readouterr().out)


def names(tree: Any) -> list[str]:
    project = next(root for root in tree if root["scope"] == "project")
    return [child["name"] for child in project["children"]]


def test_a_session_that_is_asked_for_finds_the_memory_of_its_repository_though_nothing_was_typed(
    maker: ClaudeHomeMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    main_one = maker.repository("shop")
    worktree = maker.worktree(main_one, "shop-wt")
    maker.memory(main_one, {"MEMORY.md": "", "cart.md": "x"})
    maker.session(worktree, 1)
    maker.file("settings.json", "{}")
    before = contents(maker.user)
    assert names(told(maker, capsys, "tree", "--session", session_id(1))) == ["MEMORY.md", "cart.md"]
    unknown = str(maker.directory(worktree))
    assert names(told(maker, capsys, "tree", "--project", unknown)) == ["MEMORY.md", "cart.md"]
    (listed,) = told(maker, capsys, "homes")[0]["projects"]
    assert listed["path"] == str(main_one), "what was learned is kept"
    assert contents(maker.user) == before


def test_a_project_without_sessions_is_listed_by_the_path_that_names_it(
    maker: ClaudeHomeMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = maker.repository("shop")
    maker.typed(shop)
    maker.memory(shop, {"MEMORY.md": ""})
    assert main(["homes", "--home", str(maker.root), "--profile", str(maker.user.parent / "profile")]) == 0
    assert str(shop) in capsys.readouterr().out


def test_the_status_tells_of_the_agents_own_consolidation(
    maker: ClaudeHomeMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    maker.typed("/work/gone")
    maker.session("/work/gone", 1)
    maker.memory("/work/gone", {"MEMORY.md": "", ".consolidate-lock": "999999999"})
    status = told(maker, capsys, "status", "--session", session_id(1))
    assert status["projectRecord"] is None
    (line,) = status["agent"]
    assert (
        line["text"] == "The consolidation was started by a program that has closed. Its end is not recorded."
    )
    assert line["at"] > 0
    assert main(["status", "--home", str(maker.root), "--profile", str(maker.user.parent / "profile")]) == 0
    assert (
        "Consolidation by Claude Code or Reverie: The consolidation was started by a program that has "
        "closed. Its end is not recorded. (just now)"
    ) in capsys.readouterr().out


def test_notes_that_a_person_makes_are_for_their_owner_only_and_other_modes_stay(
    maker: ClaudeHomeMaker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    maker.typed("/work/gone")
    transcript = maker.session("/work/gone", 1)
    notes = transcript.with_suffix("") / "session-memory" / "summary.md"
    lines: list[dict[str, Any]] = [{"command": "create", "file_text": "# Session Title\n"}]
    lines.append({"command": "str_replace", "old_str": "Title", "new_str": "Title "})
    for mode, line in zip((0o600, 0o640), lines, strict=True):
        if notes.exists():
            notes.chmod(0o640)
        request = {"path": "/memories/workspace/summary.md", "workspace_id": session_id(1), **line}
        typed = io.BytesIO(json.dumps(request).encode() + b"\n")
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(typed))
        assert told(maker, capsys, "memory")["success"]
        assert notes.stat().st_mode & 0o777 == mode
    assert [folder.stat().st_mode & 0o777 for folder in list(notes.parents)[:2]] == [0o700, 0o700]


def run(maker: ClaudeHomeMaker, *words: str) -> int:
    return main(
        [words[0], "--home", str(maker.root), "--profile", str(maker.user.parent / "profile"), *words[1:]]
    )


def test_homes_and_choices_name_sessions_by_title_and_time(
    maker: ClaudeHomeMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(5):
        maker.session("/work/shop", number, prompt=f"\x1b[1mTask {number}\x1b[0m " + "x" * 80)
    before = contents(maker.user)
    assert run(maker, "homes") == 0
    out = capsys.readouterr().out
    assert f"{session_id(4)}  Task 4 xxx" in out
    assert "x…  20" in out, "a long title is cut, then comes the time"
    assert "\x1b" not in out
    (project,) = told(maker, capsys, "homes")[0]["projects"]
    assert project["name"] == "shop"
    assert [each["title"][:6] for each in project["workspaces"]] == [f"Task {n}" for n in (4, 3, 2, 1, 0)]
    assert all(each["updatedAt"] > 0 for each in project["workspaces"])
    for command in (("doctor",), ("notes",)):
        assert run(maker, *command) == 2
        lines = capsys.readouterr().err.splitlines()
        assert [line.split()[0] for line in lines[1:6]] == [session_id(n) for n in (4, 3, 2, 1, 0)]
        assert "(Task 4 xxx" in lines[1]
    assert contents(maker.user) == before


def test_of_many_sessions_the_newest_are_offered(
    maker: ClaudeHomeMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(60):
        maker.session("/work/shop", number)
    assert run(maker, "doctor") == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[1].split()[0] == session_id(59)
    assert lines[51].strip() == "and 10 older ones, which `reverie homes` lists"


@pytest.mark.parametrize("option", ["--workspace", "--session"])
def test_notes_take_a_session_by_either_name(
    maker: ClaudeHomeMaker, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    maker.session("/work/shop", 1, prompt="Fix the till")
    maker.session("/work/shop", 2)
    by_hand = maker.directory("/work/shop") / session_id(1) / "custom-title.json"
    by_hand.parent.mkdir()
    by_hand.write_text('{"customTitle": "The till, by hand"}')
    assert told(maker, capsys, "notes", option, session_id(1))["success"]
    notes = maker.directory("/work/shop") / session_id(1) / "session-memory" / "summary.md"
    assert "The till, by hand" in notes.read_text()
