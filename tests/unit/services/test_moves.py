"""A move loses nothing, asks before a clash, takes pin and use along, and goes back whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.benches import contents, sample_parts, workspace
from reverie.agents.scopes import Scope, ScopeContext
from reverie.errors import StoreError, UserError
from reverie.memory.moves import free_path, numbered, plan_moves
from reverie.services.container import HomeContainer
from reverie.services.edits import UserEdits
from reverie.services.moves import Moves

ACME = "a1f3c9e2b7"
OLD = "/memories/global/testing-old.md"
G, P = "/memories/global", "/memories/project"


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    return sample_parts("mux-home", tmp_path)


@pytest.fixture
def context(parts: HomeContainer) -> ScopeContext:
    return workspace(parts, ACME)


def everything(parts: HomeContainer) -> dict[str, bytes]:
    found = contents(parts.home.root)
    return {path: data for path, data in found.items() if "memor" in path and not path.endswith(".json")}


def test_a_plan_moves_what_is_chosen_and_nothing_twice() -> None:
    plan = plan_moves([f"{G}/a", f"{G}/a/b.md", f"{G}/c.md", f"{P}/d.md"], P, {f"{P}/c.md"}.__contains__)
    assert dict(plan.targets) == {f"{G}/a": f"{P}/a", f"{G}/c.md": f"{P}/c.md"}
    assert plan.clashes == (f"{G}/c.md",)
    taken = {f"{P}/c.md", f"{P}/c 2.md"}.__contains__
    assert dict(numbered(plan, taken).targets) == {f"{G}/a": f"{P}/a", f"{G}/c.md": f"{P}/c 3.md"}


def test_two_of_one_name_from_two_folders_clash_with_each_other() -> None:
    plan = plan_moves([f"{G}/a/x.md", f"{G}/b/x.md"], P, lambda _path: False)
    assert plan.clashes == (f"{G}/b/x.md",)
    assert sorted(numbered(plan, lambda _path: False).targets.values()) == [f"{P}/x 2.md", f"{P}/x.md"]


@pytest.mark.parametrize(
    ("paths", "folder"), [([f"{G}/a"], f"{G}/a/b"), ([f"{G}/a"], f"{G}/a"), ([f"{G}/a.md"], G), ([], G)]
)
def test_a_move_into_itself_or_to_where_it_is_is_refused_with_a_sentence(
    paths: list[str], folder: str
) -> None:
    plan = plan_moves(paths, folder, lambda _path: False)
    assert plan.refused
    assert not plan.targets


@pytest.mark.parametrize(
    ("path", "free"), [("/m/notes.md", "/m/notes 2.md"), ("/m/.x", "/m/.x 2"), ("/m/a", "/m/a 2")]
)
def test_a_number_goes_before_the_ending(path: str, free: str) -> None:
    assert free_path(path, lambda _path: False) == free


def test_a_move_to_another_scope_takes_bytes_mode_pin_and_use_along_and_goes_back(
    parts: HomeContainer, context: ScopeContext
) -> None:
    source = parts.home.root / "memory/global/testing-old.md"
    source.chmod(0o600)
    source.write_bytes(b"\xff\r\nodd bytes")
    UserEdits(parts).pin(context, [OLD], True)
    before, usage = everything(parts), parts.usage.load()
    undo = Moves(parts).move(context, {OLD: f"{P}/deep/er/old.md"})
    root = parts.home.scope_root(context, Scope.PROJECT)
    moved = root.directory / "deep/er/old.md"
    assert not source.exists()
    assert moved.read_bytes() == b"\xff\r\nodd bytes"
    assert moved.stat().st_mode & 0o777 == 0o600
    key = parts.home.usage_key(root, "deep/er/old.md")
    assert key is not None
    assert parts.usage.load()[key] == usage["global:testing-old.md"]
    assert "global:testing-old.md" not in parts.usage.load()
    assert UserEdits(parts).undo(undo) == f"Moved back to {OLD}."
    assert everything(parts) == before
    assert parts.usage.load() == usage
    assert source.stat().st_mode & 0o777 == 0o600
    assert not (root.directory / "deep").exists()


def test_files_and_folders_of_two_scopes_move_as_one_and_come_back_as_one(
    parts: HomeContainer, context: ScopeContext
) -> None:
    before, usage = everything(parts), parts.usage.load()
    undo = Moves(parts).move(context, {OLD: f"{P}/in/old.md", f"{G}/machines": f"{P}/in/machines",
                                       f"{P}/api": f"{P}/in/api"})  # fmt: skip
    after = everything(parts)
    assert not (parts.home.root / "memory/global/machines").exists()
    assert sorted(after.values()) == sorted(before.values())
    assert len(undo.steps) == 2
    UserEdits(parts).undo(undo)
    assert everything(parts) == before
    assert parts.usage.load() == usage


def test_if_one_cannot_move_none_does(parts: HomeContainer, context: ScopeContext) -> None:
    (parts.home.root / "memory/global/machines/.hidden").write_text("only copy\n")
    before = everything(parts)
    with pytest.raises(StoreError, match="hidden"):
        Moves(parts).move(context, {f"{P}/api": f"{P}/in/api", f"{G}/machines": f"{P}/in/machines"})
    with pytest.raises(UserError):
        Moves(parts).move(context, {OLD: f"{P}/new.md", f"{G}/nothing.md": f"{P}/nothing.md"})
    assert everything(parts) == before


def test_a_place_that_is_taken_is_never_overwritten(parts: HomeContainer, context: ScopeContext) -> None:
    UserEdits(parts).save(context, f"{P}/taken.md", "theirs\n", None)
    before = everything(parts)
    with pytest.raises(StoreError, match="exists"):
        Moves(parts).move(context, {OLD: f"{P}/taken.md"})
    assert everything(parts) == before


def test_a_scope_that_is_not_there_refuses_with_a_sentence(parts: HomeContainer) -> None:
    alone = parts.home.context(project_path=None, workspace_id=None, project_given=False)
    before = everything(parts)
    with pytest.raises(UserError) as told:
        Moves(parts).move(alone, {OLD: f"{P}/old.md"})
    assert str(told.value)
    assert everything(parts) == before


def test_what_was_changed_after_the_move_stays_where_it_is(
    parts: HomeContainer, context: ScopeContext
) -> None:
    undo = Moves(parts).move(context, {OLD: f"{P}/old.md"})
    place = parts.home.scope_root(context, Scope.PROJECT).directory / "old.md"
    place.write_bytes(b"the agent went on\n")
    with pytest.raises(UserError, match="changed again later"):
        UserEdits(parts).undo(undo)
    assert place.read_bytes() == b"the agent went on\n"
    assert (parts.home.root / "memory/global/testing-old.md").exists()
