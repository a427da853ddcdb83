"""Memories and notes of Claude Code changed by hand: what is not edited stays, byte for byte."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from helpers.benches import Time, contents
from helpers.claude_home import ClaudeHomeMaker, newer_topic, session_id, topic
from reverie.agents.memory_index import relinked
from reverie.compose import open_parts
from reverie.errors import Conflict, UserError
from reverie.memory.front_matter import set_value
from reverie.memory.scope_files import sha256_of_text
from reverie.profile import Profile
from reverie.services.changes import ChangeSet
from reverie.services.container import HomeContainer
from reverie.services.edits import UserEdits
from reverie.services.views import HandChange

CWD = "/projects/demo"
PROJECT = "/memories/project/"
ODD = (
    "\ufeff---\r\nzeta: [1,  2]\r\nname: 'odd'   # why\r\ndescription: \"old\"\r\n"
    "unknown: {a: b}\r\n---\r\nBody\r\n"
)


@pytest.fixture
def maker(tmp_path: Path) -> ClaudeHomeMaker:
    maker = ClaudeHomeMaker(tmp_path)
    maker.typed(CWD)
    maker.memory(
        CWD,
        {
            "MEMORY.md": "\ufeff- [Odd](odd.md) — hook\r\n- [B](b.md)\r\n",
            "odd.md": ODD,
            "b.md": newer_topic("b", body="See [[odd]] and [it](odd.md).\n"),
            "team/t.md": topic("t"),
        },
    )
    maker.session(CWD, 1)
    maker.notes(CWD, 1, "# Session Title\n_A title_\n")
    return maker


@pytest.fixture
def parts(maker: ClaudeHomeMaker, tmp_path: Path) -> HomeContainer:
    return open_parts(maker.root, Profile.under(tmp_path / "profile"), Time())


def test_notes_keep_their_mode_and_are_not_saved_over_what_the_agent_wrote(
    maker: ClaudeHomeMaker, parts: HomeContainer
) -> None:
    context = parts.home.context(workspace_id=session_id(1))
    edits, path = UserEdits(parts), "/memories/workspace/summary.md"
    file = maker.directory(CWD) / session_id(1) / "session-memory" / "summary.md"
    text = edits.read(context, path)
    edits.save(context, path, text.content + "New\n", text.sha256)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    file.write_text("the agent's\n")
    with pytest.raises(Conflict):
        edits.save(context, path, "mine", text.sha256)
    assert file.read_text() == "the agent's\n"


def test_memories_of_the_team_are_not_written(maker: ClaudeHomeMaker, parts: HomeContainer) -> None:
    context = parts.home.context(project_path=CWD)
    edits = UserEdits(parts)
    text = edits.read(context, PROJECT + "team/t.md")
    assert "server" in text.read_only
    before = contents(maker.root)
    with pytest.raises(UserError):
        edits.save(context, PROJECT + "team/t.md", "mine", text.sha256)
    with pytest.raises(UserError):
        edits.delete(context, PROJECT + "team/t.md")
    assert contents(maker.root) == before


@pytest.mark.parametrize("rel", ["odd.md", "b.md"])
def test_a_value_of_either_front_matter_changes_and_nothing_around_it(parts: HomeContainer, rel: str) -> None:
    context = parts.home.context(project_path=CWD)
    edits = UserEdits(parts)
    text = edits.read(context, PROJECT + rel)
    # The mark before it hides the block from the agent, and from the form; the text below it is edited.
    content = text.content.removeprefix("\ufeff")
    changed = set_value(content, "description", "new words")
    old = "old" if rel == "odd.md" else "what it says"
    assert changed == content.replace(old, "new words", 1)
    edits.save(context, PROJECT + rel, changed, text.sha256)
    assert edits.read(context, PROJECT + rel).content == changed


def test_a_rename_with_its_index_line_and_links_is_one_change_and_taken_back_as_one(
    maker: ClaudeHomeMaker, parts: HomeContainer
) -> None:
    context = parts.home.context(project_path=CWD)
    before = contents(maker.root)
    memory = maker.directory(CWD) / "memory"
    files = {rel: (memory / rel).read_bytes().decode() for rel in ("MEMORY.md", "odd.md", "b.md")}
    renamed = {"sub/even.md" if rel == "odd.md" else rel: text for rel, text in files.items()}
    changes = [
        HandChange(PROJECT + rel, after.encode(), sha256_of_text(files[rel]) if rel in files else None)
        for rel, after in relinked(renamed, {"odd.md": "sub/even.md"}, ["odd", "b"]).items()
    ]
    changes.append(HandChange(PROJECT + "odd.md", None, sha256_of_text(files["odd.md"])))
    moved = {PROJECT + "odd.md": PROJECT + "sub/even.md"}
    undo = ChangeSet(parts).apply(context, changes, kind="move", subject="Renamed", moved=moved)
    assert (memory / "sub" / "even.md").read_bytes().decode() == ODD
    assert not (memory / "odd.md").exists()
    assert (
        memory / "MEMORY.md"
    ).read_bytes().decode() == "\ufeff- [Odd](sub/even.md) — hook\r\n- [B](b.md)\r\n"
    # `[[odd]]` is what the memory is still called in its front matter.
    assert (memory / "b.md").read_text().endswith("See [[odd]] and [it](sub/even.md).\n")
    UserEdits(parts).undo(undo)
    assert contents(maker.root) == before
