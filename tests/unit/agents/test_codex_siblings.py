"""Memories beside `memories/` that nobody knows are shown, bounded, and never written."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.codex_home import NOW_S, CodexHomeMaker
from reverie.agents.codex.home import CodexHome
from reverie.agents.codex.siblings import MOST_DIRECTORIES, MOST_FILES, READ_ONLY, sibling_names
from reverie.compose import open_parts
from reverie.errors import StoreError
from reverie.profile import Profile
from reverie.services.edits import CompanionFiles


@pytest.fixture
def maker(tmp_path: Path) -> CodexHomeMaker:
    found = CodexHomeMaker(tmp_path / "codex")
    found.newest()
    return found


def labels(home: CodexHome) -> dict[str, str]:
    return {each.label: each.read_only for each in home.companions(home.context()) if each.exists}


def test_unknown_siblings_of_the_memories_are_shown_read_only(maker: CodexHomeMaker) -> None:
    maker.file("AGENTS.md")
    shown = ("memories_v3/MEMORY.md", "memories_v3/notes/one.md", "memories_extensions/ad_hoc/note.md")
    for rel in (*shown, "old-memory/kept.txt", "skills/memo.md", "sessions/x.md"):
        maker.file(rel)
    home = CodexHome(maker.root)
    found = labels(home)
    assert set(found) == {"AGENTS.md", *shown, "old-memory/kept.txt"}
    assert found.pop("AGENTS.md") == "", "what the agent loads stays editable"
    assert all("never changed" in reason for reason in found.values())
    watched = {place.directory.name: place.names for place in home.watched()}
    assert {"memories_v3", "memories_extensions", "old-memory"} <= watched.keys()
    assert "memories_v3" in watched["codex"]


def test_of_siblings_links_secrets_hidden_files_and_what_is_no_text_stay_away(
    maker: CodexHomeMaker, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "private.md").write_text("x")
    (maker.root / "memories_linked").symlink_to(outside)
    maker.file("memories_v2/kept.md")
    (maker.root / "memories_v2" / "link.md").symlink_to(outside / "private.md")
    (maker.root / "memories_v2" / "linked").symlink_to(outside)
    for rel in (".git/HEAD.md", ".hidden.md", "auth.json", "data.sqlite", "a/b/c/d/deep.md"):
        maker.file(f"memories_v2/{rel}")
    assert set(labels(CodexHome(maker.root))) == {"memories_v2/kept.md"}


@pytest.mark.parametrize("name", ["api_token.txt", "where-the-secrets-are.md", "oauth.md", "credentials.md"])
def test_a_note_about_secrets_is_no_secret(maker: CodexHomeMaker, name: str) -> None:
    maker.file(f"memories_v2/{name}")
    maker.file("memories_v2/Credentials.json")
    assert set(labels(CodexHome(maker.root))) == {f"memories_v2/{name}"}


def test_however_many_siblings_there_are_few_are_shown(maker: CodexHomeMaker) -> None:
    for number in range(MOST_DIRECTORIES + 4):
        for file in range(MOST_FILES // MOST_DIRECTORIES + 4):
            maker.file(f"memories_{number}/{file}.md")
    assert len(sibling_names(maker.root, "memories")) == MOST_DIRECTORIES
    assert len(labels(CodexHome(maker.root))) == MOST_FILES


def test_a_file_of_a_sibling_is_read_and_never_written(maker: CodexHomeMaker, tmp_path: Path) -> None:
    file = maker.file("memories_v3/MEMORY.md", "theirs\n")
    parts = open_parts(maker.root, Profile.under(tmp_path / "profile"), lambda: NOW_S * 1000)
    one = next(each for each in parts.home.companions(parts.home.context()) if each.path == file)
    text = CompanionFiles(parts).read(one)
    assert (text.content, text.read_only) == ("theirs\n", READ_ONLY)
    with pytest.raises(StoreError) as refused:
        CompanionFiles(parts).save(one, "mine\n", text.sha256)
    assert refused.value.reason == "read-only"
    assert file.read_text() == "theirs\n"
