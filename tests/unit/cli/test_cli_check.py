"""`reverie check`: the JSON of the contract, exit codes, bare repositories, fixes, memories in homes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from helpers.claude_home import ClaudeHomeMaker, topic
from helpers.git_project import DAY, START, GitProject, all_bytes
from reverie.cli import main

BODY = "value = 1\n" * 12
NOTE = "# Notes\n\nThe entry is `src/a.py`, built with react 18.\n\nSee `README.md`.\n"


@pytest.fixture
def project(tmp_path: Path) -> GitProject:
    made = GitProject(tmp_path / "project")
    package = json.dumps({"dependencies": {"react": "^18.2.0"}})
    made.commit({"src/a.py": BODY, "README.md": "# Hi\n", "package.json": package, "CLAUDE.md": NOTE})
    made.move("src/a.py", "src/b.py", "Rename the entry")
    made.commit({"package.json": json.dumps({"dependencies": {"react": "^19.0.0"}})}, "Newer react")
    return made


def run(project: Path, *words: str) -> int:
    return main(["--profile", str(project.parent / "profile"), "check", "--project", str(project), *words])


def told(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def test_every_claim_is_told_as_the_contract_says(
    project: GitProject, capsys: pytest.CaptureFixture[str]
) -> None:
    before = all_bytes(project.path)
    assert run(project.path, "--json") == 1
    moved, version, held = told(capsys)
    assert moved == {
        "path": "CLAUDE.md",
        "line": 3,
        "kind": "path",
        "token": "src/a.py",
        "state": "moved",
        "to": "src/b.py",
        "writtenAt": moved["writtenAt"],
        "evidence": {
            "commit": moved["evidence"]["commit"],
            "date": "2026-05-30T20:26:40Z",
            "subject": "Rename the entry",
        },
    }
    assert (version["kind"], version["token"], version["to"]) == ("dependency", "react 18", "react 19")
    assert held == {"path": "CLAUDE.md", "line": 5, "kind": "file", "token": "README.md", "state": "holds"}
    assert all_bytes(project.path) == before


def test_people_read_a_line_for_each_and_a_sum(
    project: GitProject, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(project.path) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("CLAUDE.md:3: src/a.py moved to src/b.py (")
    assert out[-1] == "3 statements in 1 file: 2 stale in 1."


def test_at_a_commit_where_all_holds_nothing_is_stale(
    project: GitProject, capsys: pytest.CaptureFixture[str]
) -> None:
    first = str(project.git.head.peel().parents[0].parents[0].id)
    assert run(project.path, "--at", first, "--json") == 0
    assert {claim["state"] for claim in told(capsys)} == {"holds"}


def test_a_bare_repository_is_read_at_a_commit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = GitProject(tmp_path / "bare.git", bare=True)
    made.commit({"src/a.py": BODY, "docs/guide.md": "Start at `src/a.py`.\n"})
    made.commit({"src/a.py": None})
    assert run(made.path, "--at", "HEAD", "--file", "docs/guide.md", "--json") == 1
    (claim,) = told(capsys)
    assert (claim["path"], claim["state"]) == ("docs/guide.md", "gone")
    assert run(made.path, "--at", "main", "--json") == 0
    assert told(capsys) == []


def test_a_fix_replaces_tokens_and_nothing_else(
    project: GitProject, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(project.path, "--fix", "--json") == 0
    assert [claim["token"] for claim in told(capsys) if claim.get("fixed")] == ["src/a.py", "react 18"]
    fixed = NOTE.replace("src/a.py", "src/b.py").replace("react 18", "react 19")
    assert (project.path / "CLAUDE.md").read_text() == fixed
    assert run(project.path) == 0


def test_what_has_no_new_place_is_left_and_stays_stale(project: GitProject) -> None:
    project.commit({"src/b.py": None, "package.json": "{}"}, "Drop it")
    assert run(project.path, "--fix") == 1
    assert (project.path / "CLAUDE.md").read_text() == NOTE


def test_lines_that_are_not_committed_are_never_stale(
    project: GitProject, capsys: pytest.CaptureFixture[str]
) -> None:
    (project.path / "CLAUDE.md").write_text("Now `src/a.py`, `src/b.py` and `new.py`.\n")
    (project.path / "new.py").write_text("x")
    assert run(project.path, "--json") == 0
    assert [claim["state"] for claim in told(capsys)] == ["unknown", "holds", "holds"]


@pytest.mark.parametrize("is_committed", [True, False])
@pytest.mark.parametrize(
    "place",
    [
        *("AGENTS.md", ".cursorrules", ".windsurfrules", ".clinerules", ".clinerules/style.md"),
        *(".kiro/steering/tech.md", ".cursor/rules/deep/style.mdc", ".windsurf/rules/style.md"),
        *(".agents/notes.md", ".agents/skills/build/SKILL.md", ".serena/memories/core.md"),
    ],
)
def test_notes_are_found_where_each_agent_keeps_them(
    project: GitProject, capsys: pytest.CaptureFixture[str], place: str, *, is_committed: bool
) -> None:
    text = "Start at `src/keep.py`.\n"
    if is_committed:
        project.commit({"CLAUDE.md": None, place: text, "src/keep.py": "x = 1\n"})
    else:
        project.commit({"CLAUDE.md": None, "src/keep.py": "x = 1\n"})
        (project.path / place).parent.mkdir(parents=True, exist_ok=True)
        (project.path / place).write_text(text)
    assert run(project.path, "--json") == 0
    assert [(claim["path"], claim["state"]) for claim in told(capsys)] == [(place, "holds")]


@pytest.mark.parametrize(
    "words",
    [
        ("--file", "missing.md"),
        ("--file", "../outside.md"),
        ("--at", "nowhere"),
        ("--at", "HEAD", "--fix"),
        ("--project", "/nowhere/at/all"),
    ],
)
def test_wrong_usage_is_two(
    project: GitProject, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(project.path, *words) == 2
    assert capsys.readouterr().err


def test_without_a_repository_nothing_is_stale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "CLAUDE.md").write_text("`a.py` and `b.py`\n")
    (plain / "a.py").write_text("x")
    assert run(plain, "--json") == 0
    out, err = capsys.readouterr()
    assert [claim["state"] for claim in json.loads(out)] == ["holds", "unknown"]
    assert "no readable repository" in err


def test_a_commit_in_a_directory_without_repository_fails(tmp_path: Path) -> None:
    assert run(tmp_path, "--at", "HEAD") == 1


def test_a_link_to_a_note_is_read_once_and_by_name(
    project: GitProject, capsys: pytest.CaptureFixture[str]
) -> None:
    (project.path / "AGENTS.md").symlink_to("CLAUDE.md")
    run(project.path, "--json")
    assert {claim["path"] for claim in told(capsys)} == {"CLAUDE.md"}
    run(project.path, "--file", "AGENTS.md", "--json")
    assert {claim["path"] for claim in told(capsys)} == {"AGENTS.md"}


def test_memories_of_an_agent_count_from_when_they_were_written(
    project: GitProject, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = ClaudeHomeMaker(tmp_path)
    home.session(project.path, 1)
    (project.path / "CLAUDE.md").write_text("Nothing here.\n")
    older = home.file(
        f"projects/{home.directory(project.path).name}/memory/entry.md", topic("entry", body=NOTE)
    )
    newer = home.file(
        f"projects/{home.directory(project.path).name}/memory/late.md", topic("late", body=NOTE)
    )
    os.utime(older, (START + DAY * 1.5, START + DAY * 1.5))
    os.utime(newer, (START + DAY * 9, START + DAY * 9))
    before = all_bytes(home.root)
    assert run(project.path, "--home", str(home.root), "--json") == 1
    found = told(capsys)
    states = {(claim["path"], claim["token"]): claim["state"] for claim in found}
    assert states["/memories/project/entry.md", "src/a.py"] == "moved"
    assert states["/memories/project/late.md", "src/a.py"] == "unknown"
    assert all_bytes(home.root) == before
    assert run(project.path, "--home", str(home.root), "--fix") == 0
    assert "`src/b.py`, built with react 19." in older.read_text()
    assert newer.read_text() == topic("late", body=NOTE)


def test_imports_that_load_nothing_are_told_with_the_reason(
    project: GitProject, capsys: pytest.CaptureFixture[str]
) -> None:
    project.commit({"CLAUDE.md": "# Notes\n\nSee @flow.md: it says.\n", "flow.md": "x\n"}, "Import")
    assert run(project.path, "--json") == 1
    (found,) = told(capsys)
    assert found["reason"]
    assert {**found, "reason": ""} == {
        "path": "CLAUDE.md",
        "line": 3,
        "kind": "import",
        "token": "@flow.md:",
        "state": "not-imported",
        "reason": "",
    }
    assert run(project.path) == 1
    assert "CLAUDE.md:3: @flow.md: loads nothing" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "title"),
    [("memory-bank/2026-05-30-report.md", "# Notes"), ("memory-bank/notes.md", "# Release plan")],
)
def test_a_note_about_the_past_answers_when_everything_is_asked_and_is_never_fixed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, title: str
) -> None:
    made = GitProject(tmp_path / "project")
    made.commit(
        {"src/a.py": BODY, name: f"{title}\n\nThe entry is `src/a.py`.\n\n## Old\n\nIt was `src/a.py`.\n"}
    )
    made.move("src/a.py", "src/b.py", "Rename the entry")
    assert run(made.path, "--json") == 0
    assert {claim["state"] for claim in told(capsys)} == {"unknown"}
    before = all_bytes(made.path)
    assert run(made.path, "--json", "--all", "--fix") == 0
    claims = told(capsys)
    assert [claim["state"] for claim in claims] == ["moved", "unknown"]
    assert all(claim["history"] and "fixed" not in claim for claim in claims)
    assert all_bytes(made.path) == before
    assert run(made.path, "--all") == 0
    assert f"{name}:3: src/a.py moved to src/b.py" in (printed := capsys.readouterr().out)
    assert "[history]" in printed


def test_a_living_note_is_not_marked_as_history(
    project: GitProject, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(project.path, "--json", "--all") == 1
    assert not any("history" in claim for claim in told(capsys))
