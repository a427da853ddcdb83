"""What the history is told, and in whose name (design.md section 4, "Actor")."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from helpers.benches import sample_parts, workspace
from reverie.memory.scope_files import sha256_of_bytes
from reverie.services.container import HomeContainer
from reverie.services.edits import UserEdits

ACME = "a1f3c9e2b7"


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    parts = sample_parts("mux-home", tmp_path)
    parts.snapshots.observe(source="test")
    return parts


def newest(parts: HomeContainer, count: int = 1) -> list[tuple[str, str | None]]:
    return [(commit.actor, commit.run_id) for commit in parts.snapshots.history.commits(limit=count)]


def test_a_change_nobody_of_us_made_is_outside(parts: HomeContainer) -> None:
    path = parts.home.root / "memory/global/testing.md"
    path.write_text("changed\n")
    parts.snapshots.observe(source="test", dirty=[path])
    assert newest(parts) == [("outside", None)]


def test_a_hand_edit_is_the_users_and_seen_again_it_is_no_second_snapshot(parts: HomeContainer) -> None:
    context = workspace(parts, ACME)
    edits = UserEdits(parts)
    text = edits.read(context, "/memories/global/testing.md")
    edits.save(context, "/memories/global/testing.md", "mine\n", text.sha256)
    assert newest(parts) == [("user", None)]
    head = parts.snapshots.history.head()
    root = parts.home.root
    parts.snapshots.observe(
        source="test", dirty=[root / "memory/global/testing.md", root / "memory-meta.json"]
    )
    assert parts.snapshots.history.head() == head


def test_a_pin_is_the_users_too(parts: HomeContainer) -> None:
    UserEdits(parts).pin(workspace(parts, ACME), ["/memories/global/testing.md"], True)
    assert newest(parts) == [("user", None)]
    head = parts.snapshots.history.head()
    parts.snapshots.observe(source="test", dirty=[parts.home.root / "memory-meta.json"])
    assert parts.snapshots.history.head() == head


def test_own_and_foreign_files_of_one_dirty_directory_are_told_apart(parts: HomeContainer) -> None:
    directory = parts.home.root / "memory/global/fresh"
    directory.mkdir()
    (directory / "ours.md").write_text("ours")
    (directory / "theirs.md").write_text("theirs")
    parts.actors.record(directory / "ours.md", sha256_of_bytes(b"ours"), actor="writer", run_id="r1", at_ms=2)
    parts.snapshots.observe(source="test", dirty=[directory])
    assert newest(parts, 2) == [("outside", None), ("writer", "r1")]


def test_every_version_a_scan_saw_comes_back_byte_for_byte(parts: HomeContainer) -> None:
    history, root = parts.snapshots.history, parts.home.root / "memory/global"
    versions = [b"one\r\n", b"\xff\xfe two", b""]
    commits = []
    for data in versions:
        (root / "testing.md").write_bytes(data)
        parts.snapshots.observe(source="test", dirty=[root / "testing.md"])
        commits.append(history.head() or "")
    (root / "testing.md").unlink()
    shutil.rmtree(root / "people")
    parts.snapshots.observe(source="test")
    assert [history.read(commit, "global", "testing.md") for commit in commits] == versions
    head = history.head() or ""
    assert history.read(head, "global", "testing.md") is None
    assert history.read(commits[0], "global", "people/équipe.md") is not None


def test_a_pipe_among_the_memories_keeps_nobody_waiting(parts: HomeContainer) -> None:
    os.mkfifo(parts.home.root / "memory/global/pipe.md")
    parts.snapshots.observe(source="test", dirty=[parts.home.root / "memory/global/pipe.md"])


def test_before_a_change_there_is_a_snapshot_only_where_the_newest_is_another(tmp_path: Path) -> None:
    parts = sample_parts("mux-home", tmp_path)
    root = next(each for each in parts.home.roots() if each.key == "global")
    note = root.directory / "preferences.md"
    parts.snapshots.observe(source="a test")
    history, head = parts.snapshots.history, parts.snapshots.history.head()
    parts.snapshots.preserve(root, "preferences.md")
    assert history.head() == head
    note.chmod(0o600)
    parts.snapshots.preserve(root, "preferences.md")
    after_mode = history.head()
    assert after_mode != head
    note.write_text("changed")
    parts.snapshots.preserve(root, "preferences.md")
    after_text = history.head()
    assert after_text not in (head, after_mode)
    note.unlink()
    parts.snapshots.preserve(root, "preferences.md")
    assert history.head() != after_text
