"""The newest generation of Codex's store in its odd states: empty, held by the agent, named in every way it
ever was (formats/codex.md sections 3 and 8)."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from helpers.codex_home import JOBS_TABLE, NOW_S, OUTPUTS_TABLE, CodexHomeMaker, thread_id
from helpers.samples import snapshot
from reverie.agents.codex.home import CodexHome
from reverie.agents.scopes import Scope
from reverie.compose import open_parts
from reverie.errors import UserError
from reverie.memory.listing import names_only
from reverie.profile import Profile
from reverie.services.edits import UserEdits


@pytest.fixture
def maker(tmp_path: Path) -> CodexHomeMaker:
    return CodexHomeMaker(tmp_path / "codex")


def opened(maker: CodexHomeMaker, tmp_path: Path) -> CodexHome:
    return CodexHome(maker.root, tmp_path / "cache", now=lambda: NOW_S)


def shown(home: CodexHome) -> list[str]:
    return [file.rel for file in names_only(home.scope_root(home.context(), Scope.GLOBAL)).files]


def test_a_store_with_nothing_in_it_is_empty_and_no_trouble(maker: CodexHomeMaker, tmp_path: Path) -> None:
    home = opened(maker, tmp_path)
    for files in ((), (".git/HEAD",), ("raw_memories.md", "memory_summary.md")):
        for name in files:
            maker.file(f"memories/{name}", "# Raw Memories\n\nNo raw memories yet.\n")
        assert shown(home) == sorted(name for name in files if not name.startswith("."))
        assert (home.contents().projects, home.contents().problems) == ((), ())
        assert [root.key for root in home.roots()] == (["global"] if files else [])
    maker.database("memories_1.sqlite", JOBS_TABLE, OUTPUTS_TABLE)
    assert (home.agent_jobs(), home.agent_status(home.context())) == ((), ())


def test_summaries_of_rollouts_are_shown_however_they_are_named(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    at = "2026-02-09T10-00-00"
    stems = (f"{at}-a1b2-fix_ci", f"{at}-a1b2", f"{at}-{thread_id(1)}-fix_ci", f"{at}-{thread_id(1)}")
    for stem in (*stems, thread_id(2)):
        maker.file(f"memories/rollout_summaries/{stem}.md", f"thread_id: {thread_id(1)}\n\nWhat was done.\n")
    parts = open_parts(maker.root, Profile.under(tmp_path / "profile"), lambda: NOW_S * 1000)
    context, edits = parts.home.context(), UserEdits(parts)
    before = snapshot(maker.root)
    names = shown(opened(maker, tmp_path))
    assert names == sorted(f"rollout_summaries/{stem}.md" for stem in (*stems, thread_id(2)))
    for name in names:
        text = edits.read(context, f"/memories/global/{name}")
        assert text.content.endswith("\n\nWhat was done.\n")
        with pytest.raises(UserError):
            edits.save(context, f"/memories/global/{name}", "mine", text.sha256)
    assert snapshot(maker.root) == before


def test_a_baseline_that_the_agent_holds_is_left_to_it_while_memories_are_edited(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    maker.newest()
    lock = maker.file("memories/.git/index.lock", "")
    parts = open_parts(maker.root, Profile.under(tmp_path / "profile"), lambda: NOW_S * 1000)
    context, edits, path = parts.home.context(), UserEdits(parts), "/memories/global/MEMORY.md"
    baseline = snapshot(maker.memories / ".git")
    edits.save(context, path, "# Mine\n", edits.read(context, path).sha256)
    assert (maker.memories / "MEMORY.md").read_text() == "# Mine\n"
    assert snapshot(maker.memories / ".git") == baseline
    assert lock.exists()
    assert not [name for name in shown(opened(maker, tmp_path)) if "git" in name]


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_a_database_that_the_agent_has_locked_is_read_as_it_was_before(
    maker: CodexHomeMaker, tmp_path: Path, journal: str
) -> None:
    path = maker.state(maker.thread_row(1, "/before"))
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute(f"PRAGMA journal_mode = {journal}")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute(maker.thread_row(2, "/half"))
        home, before = opened(maker, tmp_path), snapshot(maker.root)
        assert [thread.cwd for thread in home.threads()] == ["/before"]
        assert home.contents().problems == ()
        assert snapshot(maker.root) == before
        connection.execute("COMMIT")
        assert {thread.cwd for thread in home.threads()} == {"/before", "/half"}
    finally:
        connection.close()
