"""What a mux home still knows of the stores that nobody works on any more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.samples import copy_sample, snapshot
from reverie.agents.base import LostStore
from reverie.agents.mux.home import MuxHome
from reverie.agents.mux.names import project_dir_name
from reverie.agents.scopes import ProjectGap, Scope, ScopeContext
from reverie.errors import Unavailable

ACME = "/home/dev/projects/acme-api"


@pytest.fixture
def home(tmp_path: Path) -> MuxHome:
    """Two projects of which one is there, and nothing else."""
    (tmp_path / "here").mkdir()
    root = tmp_path / "home"
    root.mkdir()
    found = MuxHome(root)
    configure(found, [str(tmp_path / "here"), {}], ["/gone/app", {}])
    return found


def configure(home: MuxHome, *pairs: Any) -> None:
    (home.root / "config.json").write_text(json.dumps({"projects": list(pairs)}))


def put(home: MuxHome, name: str, content: object = "x") -> None:
    file = home.root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))


def only(home: MuxHome) -> LostStore:
    (store,) = home.lost_stores()
    return store


def test_a_store_of_a_listed_project_is_lost_when_its_directory_is_not_there(
    home: MuxHome, tmp_path: Path
) -> None:
    put(home, f"memory/project/{project_dir_name(str(tmp_path / 'here'))}/a.md")
    put(home, f"memory/project/{project_dir_name('/gone/app')}/a.md")
    store = only(home)
    assert (store.kind, store.label, store.former_path) == ("missing-project", "/gone/app", "/gone/app")
    assert store.context == ScopeContext(None, "/gone/app")
    assert home.contents().orphans == ()


def test_a_listed_project_without_a_store_is_not_lost(home: MuxHome) -> None:
    assert home.lost_stores() == ()


def test_a_project_of_an_unlisted_path_is_named_by_the_sidecars(home: MuxHome) -> None:
    name = project_dir_name("/old/we:ird%")
    put(home, f"memory/project/{name}/a.md")
    assert (only(home).former_path, only(home).former_source) == ("", "")
    put(home, "memory-consolidation.json", {"projects": {"/old/we:ird%": {}, "/other": 7}})
    assert (only(home).former_path, only(home).former_source) == ("/old/we:ird%", "memory-consolidation.json")
    put(home, "memory-meta.json", {"entries": {"project:/old/we%3Aird%25:a.md": {"pinned": True}}})
    assert (only(home).former_path, only(home).former_source) == ("/old/we:ird%", "memory-meta.json")
    assert only(home).checkouts == ("/old/we:ird%",)


@pytest.mark.parametrize("damage", ["{", "[]", '{"entries": [], "projects": 3}'])
def test_damaged_sidecars_tell_nothing_and_hide_no_store(home: MuxHome, damage: str) -> None:
    put(home, "memory/project/old-0123456789ab/a.md")
    put(home, "memory-meta.json", damage)
    put(home, "memory-consolidation.json", damage)
    assert (only(home).kind, only(home).former_path) == ("project", "")


def test_the_context_of_an_unlisted_store_reaches_exactly_that_store(home: MuxHome) -> None:
    put(home, "memory/project/old-0123456789ab/a.md")
    store = only(home)
    assert store.context is not None
    assert home.scope_root(store.context, Scope.PROJECT) == store.root
    for hostile in ("project/..", "..", "project/a/b", "project/"):
        with pytest.raises(Unavailable):
            home.scope_root(
                ScopeContext(None, None, ProjectGap.NO_PROJECT, store=hostile or "x"), Scope.PROJECT
            )


def test_a_workspace_out_of_the_list_knows_its_project_from_its_files(home: MuxHome, tmp_path: Path) -> None:
    here = str(tmp_path / "here")
    put(home, "sessions/deadbeef00/memory/a.md")
    store = only(home)
    assert (store.kind, store.scope, store.owner, store.former_path) == (
        "workspace",
        Scope.WORKSPACE,
        "",
        "",
    )
    dumps = "debug_obj/deadbeef00/system1_memory_writer"
    put(home, f"{dumps}/1_a.json", {"projectPath": "/older", "workspacePath": "/w/old"})
    put(home, f"{dumps}/2_a.json", {"projectPath": "/gone/app", "workspacePath": "/w/new"})
    store = only(home)
    assert (store.owner, store.checkouts) == ("/gone/app", ("/w/new", "/gone/app"))
    put(home, "sessions/deadbeef00/metadata.json", {"id": "deadbeef00", "projectPath": here})
    store = only(home)
    assert (store.owner, store.former_source) == (here, "sessions/deadbeef00/metadata.json")


def test_older_layouts_name_their_owner_and_are_in_no_root(home: MuxHome, tmp_path: Path) -> None:
    here = tmp_path / "here"
    put(home, "memory/loose.md")
    put(home, f"project-memory/{project_dir_name(str(here))}/a.md")
    put(home, "project-memory/lost-0123456789ab/a.md")
    (here / ".mux" / "memory").mkdir(parents=True)
    assert len(home.lost_stores()) == 3
    (here / ".mux" / "memory" / "old.md").write_text("x")
    stores = home.lost_stores()
    assert [(store.scope, store.flat, store.owner) for store in stores] == [
        (Scope.GLOBAL, True, ""),
        (Scope.PROJECT, False, str(here)),
        (Scope.PROJECT, False, ""),
        (Scope.PROJECT, False, str(here)),
    ]
    assert {store.kind for store in stores} == {"older-layout"}
    assert {(store.root, store.context) for store in stores} == {(None, None)}


@pytest.mark.parametrize("name", ["mux-home", "mux-home-legacy"])
def test_looking_for_lost_stores_changes_nothing(name: str, tmp_path: Path) -> None:
    home = MuxHome(copy_sample(name, tmp_path))
    before = snapshot(home.root)
    stores = home.lost_stores()
    assert {store.kind for store in stores} == {"missing-project"}
    assert snapshot(home.root) == before


def test_nothing_is_lost_while_the_list_cannot_be_read(home: MuxHome) -> None:
    put(home, f"memory/project/{project_dir_name('/gone/app')}/a.md")
    put(home, "config.json", "{")
    assert home.lost_stores() == ()
