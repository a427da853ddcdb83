"""What the doctor says of the memory of a Claude Code project."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers.claude_home import NOW_S, ClaudeHomeMaker, topic
from helpers.ordinary_user import without_power
from helpers.samples import snapshot
from reverie.doctor.agent_checks import agent_findings
from reverie.doctor.findings import Finding


@pytest.fixture
def maker(tmp_path: Path) -> ClaudeHomeMaker:
    return ClaudeHomeMaker(tmp_path)


def findings(maker: ClaudeHomeMaker, project: Path) -> dict[str, Finding]:
    home = maker.home()
    before = snapshot(maker.user)
    checks = home.checks(home.context(project_path=str(project)))
    assert len(checks) == 2
    assert snapshot(maker.user) == before
    facts: Any = SimpleNamespace(now=NOW_S * 1000, agent_checks=[(check, None) for check in checks])
    fixes: Any = None  # none of these checks has one
    return {found.check: found for found in agent_findings(facts, fixes)}


@pytest.mark.parametrize(
    ("files", "state", "words"),
    [
        ({}, "pass", "No memories to load."),
        ({"a.md": "x"}, "warn", "1 memory but no MEMORY.md"),
        ({"MEMORY.md": "- [A](a.md)\n", "a.md": "x"}, "pass", "MEMORY.md: 1 of 200 lines, 11 of 25,000"),
        ({"MEMORY.md": "- [A](a.md)\n", "a.md": "x", "sub/b.md": "x"}, "warn", "1 memory is not listed"),
        ({"MEMORY.md": "- [A](a.md)\n"}, "warn", "1 line of MEMORY.md names a file that does not exist"),
        (
            {
                "MEMORY.md": "- [A](a.md)\n- [T](team/t.md)\n- [L](logs/2026/01/2026-01-02.md)\n",
                "a.md": "x",
                ".hidden.md": "x",
                "logs/2026/01/2026-01-01.md": "x",
                "logs/2026/01/2026-01-02.md": "x",
                "team/t.md": "x",
                "team/u.md": "x",
                "own/MEMORY.md": "",
                "own/deep/x.md": "x",
            },
            "pass",
            "MEMORY.md: 3 of 200 lines",
        ),
        (
            {"team/MEMORY.md": "", "team/t.md": "x", "logs/2026/01/2026-01-01.md": "x"},
            "pass",
            "No memories to load.",
        ),
        ({"MEMORY.md": "x\n" * 201}, "warn", "stops reading MEMORY.md at line 201"),
    ],
)
def test_the_index_is_judged_by_what_the_agent_loads(
    maker: ClaudeHomeMaker, files: dict[str, str], state: str, words: str
) -> None:
    shop = maker.repository("shop")
    maker.session(shop, 1)
    maker.memory(shop, files)
    found = findings(maker, shop)["claude-index"]
    assert found.state == state
    assert words in found.evidence


def test_a_memory_that_is_off_and_an_index_that_is_no_file_are_told(maker: ClaudeHomeMaker) -> None:
    shop = maker.repository("shop")
    memory = maker.memory(shop, {"a.md": topic("a")})
    (memory / "MEMORY.md").mkdir()
    found = findings(maker, shop)["claude-index"]
    assert (found.state, "not a regular file" in found.evidence) == ("fail", True), found.evidence
    maker.file("settings.json", '{"autoMemoryEnabled": false}')
    found = findings(maker, shop)["claude-index"]
    assert (found.state, "Auto memory is off" in found.evidence) == ("warn", True)


@pytest.mark.parametrize(
    ("body", "age_s", "state", "words"),
    [
        ("", 7200, "pass", "Consolidation by Claude Code or Reverie: Done. (2 hours ago)"),
        (str(os.getppid()), 60, "warn", "is running now. (1 minute ago)"),
        (
            str(os.getppid()),
            1800,
            "pass",
            "Claude Code consolidated these memories; its session is still open. (30 minutes ago)",
        ),
        (
            str(os.getppid()),
            7200,
            "pass",
            "Claude Code consolidated these memories; its session is still open. (2 hours ago)",
        ),
        (
            "",
            -7200,
            "warn",
            "The recorded time is in the future, so a clock was wrong. (2 hours in the future)",
        ),
    ],
)
def test_the_lock_is_told_in_words(
    maker: ClaudeHomeMaker, body: str, age_s: int, state: str, words: str
) -> None:
    shop = maker.repository("shop")
    maker.lock(shop, body, age_s)
    found = findings(maker, shop)["claude-lock"]
    assert found.state == state
    assert found.evidence.endswith(words)
    assert ("Another program also consolidates" in found.title) is ("is running now" in words)


def test_a_folder_that_cannot_be_looked_into_is_named_and_its_lines_are_not_called_dangling(
    maker: ClaudeHomeMaker,
) -> None:
    shop = maker.repository("shop")
    maker.session(shop, 1)
    files = {"MEMORY.md": "- [A](a.md)\n- [B](sub/b.md)\n", "a.md": "x", "sub/b.md": "x"}
    closed = maker.memory(shop, files) / "sub"
    closed.chmod(0)
    try:
        checks = without_power(lambda: maker.home().checks(maker.home().context(project_path=str(shop))))
        lines = without_power(lambda: maker.home().agent_status(maker.home().context(project_path=str(shop))))
    finally:
        closed.chmod(0o700)
    found = checks[0]
    assert found.state == "warn"
    assert "Not checked: sub (Permission denied)." in found.evidence
    assert "not exist" not in found.evidence
    assert any("These folders cannot be read" in line.text for line in lines)


def test_without_a_project_and_for_other_agents_nothing_is_said(maker: ClaudeHomeMaker) -> None:
    home = maker.home()
    assert home.checks(home.context()) == ()
