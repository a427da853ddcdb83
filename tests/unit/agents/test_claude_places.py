"""The repository of a working directory, also when its worktree is gone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from helpers.claude_home import ClaudeHomeMaker
from helpers.links import endless_link
from reverie.agents.claude.settings import Checkouts, nested_worktree


@pytest.fixture
def maker(tmp_path: Path) -> ClaudeHomeMaker:
    return ClaudeHomeMaker(tmp_path)


def test_a_removed_worktree_still_belongs_to_its_repository(maker: ClaudeHomeMaker, tmp_path: Path) -> None:
    project = maker.repository("shop")
    tree = maker.worktree(project, "shop-fix")
    kept = tmp_path / "cache" / "worktrees.json"
    assert Checkouts(kept).root(str(tree)) == str(project)
    shutil.rmtree(tree)
    assert Checkouts(kept).root(str(tree)) == str(project), "another process remembers it"
    assert Checkouts().root(str(tree)) == str(tree), "nothing else can tell"
    kept.write_text("{broken")
    assert Checkouts(kept).root(str(tree)) == str(tree)


def test_the_place_of_a_removed_worktree_that_the_agent_made_tells_its_repository(
    maker: ClaudeHomeMaker,
) -> None:
    project = maker.repository("shop")
    gone = project / ".claude" / "worktrees" / "fix"
    assert Checkouts().root(str(gone)) == str(project)
    assert Checkouts().root(str(gone / "src")) == str(project)
    stranger = maker.user / "plain" / ".claude" / "worktrees" / "fix"
    assert Checkouts().root(str(stranger)) == str(stranger), "there is no repository"


def test_sessions_of_a_removed_worktree_stay_with_the_project_and_its_memory(maker: ClaudeHomeMaker) -> None:
    project = maker.repository("shop")
    tree = maker.worktree(project, "shop-fix")
    maker.typed(project, tree)
    transcript = maker.session(tree, 1)
    memory = maker.memory(project, {"MEMORY.md": "- a"})
    assert [each.path for each in maker.home().contents().projects] == [str(project)]
    shutil.rmtree(tree)
    home = maker.home()
    assert [each.path for each in home.contents().projects] == [str(project)]
    context = home.context(workspace_id=transcript.stem)
    assert context.project_path == str(project)
    assert {root.directory for root in home.roots()} == {memory}


def test_a_worktree_inside_its_main_checkout_hides_what_the_repository_holds_there(
    maker: ClaudeHomeMaker,
) -> None:
    project = maker.repository("shop")
    tree = maker.worktree(project, "shop/.claude/worktrees/fix")
    nested = nested_worktree(str(tree / "src"))
    assert nested is not None
    assert (nested.root, nested.main) == (tree, project)
    assert nested.hides(project)
    assert nested.hides(project / ".claude")
    assert not nested.hides(tree)
    assert not nested.hides(maker.user)
    assert nested_worktree(str(maker.worktree(project, "beside"))) is None
    assert nested_worktree(str(project)) is None


@pytest.mark.parametrize("pointer", ["gitdir: far", "gitdir: a\0b", "gitdir: .\0", "gitdir: \0"])
def test_a_git_file_that_points_nowhere_makes_its_own_directory_the_project(
    tmp_path: Path, pointer: str
) -> None:
    endless_link(tmp_path / "far")
    (tmp_path / ".git").write_text(f"{pointer}\n")
    assert Checkouts().root(str(tmp_path)) == str(tmp_path)
