"""Directories in `projects/` that older versions named, which kept characters that become `-` today."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.benches import Time, contents
from helpers.claude_home import ClaudeHomeMaker, session_id, topic
from reverie.agents.claude.locations import directory_of, may_be_of, todays_name
from reverie.agents.scopes import Scope
from reverie.compose import open_parts
from reverie.memory.listing import names_only
from reverie.profile import Profile
from reverie.services.edits import UserEdits
from reverie.services.orphans import OrphanService

CWD = "/work/phys_project"


@pytest.fixture
def maker(tmp_path: Path) -> ClaudeHomeMaker:
    return ClaudeHomeMaker(tmp_path)


@pytest.fixture
def older(maker: ClaudeHomeMaker) -> Path:
    """A home in which both versions worked; returns the older directory."""
    directory = maker.projects / "-work-phys_project"
    maker.session(CWD, 1)
    maker.memory(CWD, {"MEMORY.md": "- [Solver](solver.md) - x\n", "solver.md": topic("solver")})
    own = maker.session(CWD, 2, at=CWD)
    directory.mkdir()
    own.rename(directory / own.name)
    for name, text in {
        "MEMORY.md": "- [Mesh](mesh.md) - x\n",
        "mesh.md": topic("mesh", "mesh files"),
    }.items():
        path = directory / "memory" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return directory


def test_an_older_directory_belongs_to_the_project_that_its_sessions_name(
    maker: ClaudeHomeMaker, older: Path
) -> None:
    home = maker.home()
    (project,) = home.contents().projects
    assert project.path == CWD
    assert {each.id for each in project.workspaces} == {session_id(1), session_id(2)}
    assert {each.id for each in home.sources(CWD)} == {session_id(1), session_id(2)}
    context = home.context(project_path=CWD, project_given=True)
    assert home.scope_root(context, Scope.PROJECT).directory == maker.directory(CWD) / "memory"


def test_a_memory_that_the_agent_of_today_does_not_load_is_an_older_store_of_its_project(
    maker: ClaudeHomeMaker, older: Path
) -> None:
    home = maker.home()
    (orphan,) = home.contents().orphans
    assert (orphan.kind, orphan.directory) == ("older-name", older / "memory")
    (store,) = (each for each in home.lost_stores() if each.kind == "older-name")
    assert (store.owner, store.name) == (CWD, "phys_project")
    assert any(root.directory == older / "memory" for root in home.roots()), "it is searched"
    assert store.context is not None
    assert names_only(home.scope_root(store.context, Scope.PROJECT)).files


def test_an_older_memory_whose_transcripts_are_gone_still_has_its_project(
    maker: ClaudeHomeMaker, older: Path
) -> None:
    for path in older.glob("*.jsonl"):
        path.unlink()
    (orphan,) = maker.home().contents().orphans
    assert CWD in orphan.reason


def test_an_empty_older_memory_is_no_store(maker: ClaudeHomeMaker, older: Path) -> None:
    for path in (older / "memory").iterdir():
        path.unlink()
    assert maker.home().contents().orphans == ()


def test_merging_an_older_store_loses_nothing_and_can_be_undone(
    maker: ClaudeHomeMaker, older: Path, tmp_path: Path
) -> None:
    parts = open_parts(maker.root, Profile.under(tmp_path / "profile"), Time())
    desk = OrphanService(parts)
    view = next(each for each in desk.survey().stores if each.store.kind == "older-name")
    assert view.best is not None
    assert view.best.project_path == CWD
    preview = desk.preview(view.store, CWD)
    desk.apply(preview, {})
    memory = maker.directory(CWD) / "memory"
    assert (memory / "mesh.md").read_bytes() == (older / "memory" / "mesh.md").read_bytes()
    index = (memory / "MEMORY.md").read_text()
    assert "(solver.md)" in index
    assert "(mesh.md)" in index


def test_an_older_store_that_was_merged_is_removed_and_comes_back_with_undo(
    maker: ClaudeHomeMaker, older: Path, tmp_path: Path
) -> None:
    parts = open_parts(maker.root, Profile.under(tmp_path / "profile"), Time())
    desk, before = OrphanService(parts), contents(older)
    view = next(each for each in desk.survey().stores if each.store.kind == "older-name")
    undo = desk.remove(view.store)
    assert not (older / "memory").exists()
    assert maker.home().contents().orphans == ()
    UserEdits(parts).undo(undo)
    assert contents(older) == before


def test_a_project_whose_checkout_is_gone_is_offered_for_a_merge(
    maker: ClaudeHomeMaker, tmp_path: Path
) -> None:
    there = tmp_path / "there"
    there.mkdir()
    for cwd in (there, tmp_path / "gone"):
        maker.session(cwd, 1 if cwd == there else 2)
        maker.memory(cwd, {"MEMORY.md": "- a\n"})
    (store,) = maker.home().lost_stores()
    assert (store.kind, store.former_path) == ("missing-project", str(tmp_path / "gone"))


PATHS = st.text(st.characters(exclude_characters="\x00"), min_size=1, max_size=60).map("/{}".format)


@given(PATHS, st.sampled_from("_. ~üß+"))
def test_todays_name_and_every_older_one_may_be_of_the_path(path: str, kept: str) -> None:
    assert may_be_of(directory_of(path), path)
    older = "".join(each if each == kept else directory_of(each) for each in path)
    assert may_be_of(older, path)
    assert todays_name(older)[:200] == directory_of(path)[:200]


@pytest.mark.parametrize("other", ["/work/phys-project", "/work/phys.project", "/work/physAproject"])
def test_a_character_that_an_older_name_kept_is_the_one_of_the_path(other: str) -> None:
    assert not may_be_of("-work-phys_project", other)


def test_a_name_in_projects_never_leads_elsewhere(maker: ClaudeHomeMaker, older: Path) -> None:
    (maker.projects / "@0123456789abcdef").symlink_to("/etc")
    names = {Path(root.directory).parent.name for root in maker.home().roots()}
    assert names <= {older.name, maker.directory(CWD).name, ".claude"}
