"""The tests' own second home keeps the protocol, so what is written against it knows no agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.foreign_home import make_foreign_home
from reverie.agents.base import Home
from reverie.agents.scopes import ProjectGap, Scope, ScopeUnavailable
from reverie.errors import Unavailable


def test_a_foreign_home_keeps_the_protocol(tmp_path: Path) -> None:
    home: Home = make_foreign_home(tmp_path / "jotter", "/p/app")
    assert home.sidecars is None
    context = home.context(project_path="/p/app")
    root = home.scope_root(context, Scope.PROJECT)
    root.directory.mkdir(parents=True)
    (root.directory.parent / "lost").mkdir()
    assert root in home.roots()
    assert home.usage_key(root, "a.md") == "book|/p/app|a.md"
    assert [project.name for project in home.contents().projects] == ["app"]
    assert [orphan.label for orphan in home.contents().orphans] == ["lost"]
    with pytest.raises(ScopeUnavailable):
        home.scope_root(context, Scope.WORKSPACE)
    with pytest.raises(ScopeUnavailable) as refusal:
        home.scope_root(home.context(), Scope.PROJECT)
    assert refusal.value.gap is ProjectGap.NO_PROJECT
    with pytest.raises(Unavailable):
        home.context(workspace_id="w")
