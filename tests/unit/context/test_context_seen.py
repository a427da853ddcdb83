"""What was seen of a context last is kept beside Reverie's own things, and damage to it is no first look."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.context_homes import NOW, PINNED, WORKSPACE, mux_home, used
from reverie.agents.scopes import ScopeContext
from reverie.compose import open_parts
from reverie.context.gather import gather
from reverie.context.glances import NAME, Change, Glances, glance_key, since
from reverie.context.recipes import assemble, next_session
from reverie.context.view import ContextView, load_states
from reverie.profile import Profile
from reverie.services.container import HomeContainer
from reverie.services.workbench import Workbench
from reverie.values import replace


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    home = mux_home(
        tmp_path / "home", {"g/a.md": "one", "g/b.md": "two"}, {"g/a.md": PINNED, "g/b.md": used(1)}
    )
    return open_parts(home, Profile.under(tmp_path / "profile"), lambda: NOW)


def glances_of(parts: HomeContainer) -> Glances:
    return Glances(parts.own_sidecars, lock_dir=parts.profile.locks, clock=parts.clock)


def view_of(parts: HomeContainer) -> ContextView:
    context = context_of(parts)
    return assemble(gather(parts.home, context, Workbench(parts).view(context).scopes, times=(NOW,)), NOW)


def context_of(parts: HomeContainer) -> ScopeContext:
    return parts.home.context(workspace_id=WORKSPACE)


def test_the_next_look_says_what_changed(parts: HomeContainer) -> None:
    context = context_of(parts)
    assert glances_of(parts).read(context) is None
    glances_of(parts).store(context, view_of(parts))
    memory = parts.home.root / "memory" / "global"
    (memory / "a.md").write_text("longer than it was")
    (memory / "b.md").unlink()
    found = since(glances_of(parts).read(context), view_of(parts))
    assert found is not None
    assert found.at == NOW
    assert set(found.changes) == {
        Change("hot-set", "/memories/global/a.md", "resized"),
        Change("hot-set", "/memories/global/b.md", "went"),
        Change("index", "/memories/global/b.md", "went"),
    }


def test_each_context_has_its_own_and_no_text_is_kept(parts: HomeContainer) -> None:
    context = context_of(parts)
    glances_of(parts).store(context, view_of(parts))
    assert glances_of(parts).read(replace(context, workspace_id="other")) is None
    kept = (parts.own_sidecars / NAME).read_text()
    assert glance_key(context) in kept
    assert "two" not in kept
    assert not (parts.home.root / NAME).exists()


@pytest.mark.parametrize("damage", ["{", "[]", '{"KEY": 3}', '{"KEY": {"at": 1, "tokens": 2, "parts": [7]}}'])
def test_damage_is_as_good_as_nothing(parts: HomeContainer, damage: str) -> None:
    context = context_of(parts)
    (parts.own_sidecars / NAME).write_text(damage.replace("KEY", glance_key(context)))
    found = since(glances_of(parts).read(context), view_of(parts))
    assert found is None or all(change.kind == "came" for change in found.changes)


@pytest.mark.parametrize("cap", [1, 2, 1000])
def test_what_lies_beyond_the_cap_is_left_out_without_changing_what_is_loaded(
    parts: HomeContainer, cap: int
) -> None:
    context = context_of(parts)
    facts = gather(parts.home, context, Workbench(parts).view(context).scopes, times=(NOW,))
    facts = replace(facts, caps=replace(facts.caps, files_per_scope=cap))
    states, tokens = next_session(facts, NOW)
    view = assemble(facts, NOW)
    assert states == load_states(view)
    assert tokens == view.tokens > 0
    assert len(states) == min(cap, 2)
