"""Files that an agent keeps for itself: shown, never changed, by hand or by a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.foreign_home import ForeignHome, make_foreign_home
from reverie.agents.scopes import FileRule, Scope
from reverie.errors import StoreError
from reverie.files.rooted import RootedDirectory
from reverie.memory.change_listener import NoChangeListener
from reverie.memory.scope_files import sha256_of_text
from reverie.memory.store import MemoryStore

MADE = FileRule("generated", "The agent makes this file anew.")


@pytest.fixture
def home(tmp_path: Path) -> ForeignHome:
    home = make_foreign_home(tmp_path / "home")
    for name in ("own.md", "made.md", "folder/made.md"):
        file = home.root / "common" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("text\n")
    root = home.scope_root(home.context(), Scope.GLOBAL)
    home.rules = {f"{root.key}/{rel}": MADE for rel in ("made.md", "folder/made.md", "new.md")}
    return home


@pytest.fixture
def store(home: ForeignHome) -> MemoryStore:
    return MemoryStore(home, home.context(), lambda root: RootedDirectory(root.directory), NoChangeListener())


CHANGES: dict[str, Callable[[MemoryStore], object]] = {
    "save": lambda store: store.save("/memories/global/made.md", "x", sha256_of_text("text\n")),
    "create": lambda store: store.create("/memories/global/new.md", "x"),
    "edit": lambda store: store.edit("/memories/global/made.md", str.upper),
    "delete": lambda store: store.delete("/memories/global/made.md"),
    "delete a folder": lambda store: store.delete("/memories/global/folder"),
    "rename away": lambda store: store.rename("/memories/global/made.md", "/memories/global/b.md"),
    "rename a folder": lambda store: store.rename("/memories/global/folder", "/memories/global/f"),
    "rename onto": lambda store: store.rename("/memories/global/own.md", "/memories/global/new.md"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_the_agent_makes_anew_is_not_changed_and_the_reason_is_said(
    home: ForeignHome, store: MemoryStore, change: str
) -> None:
    before = {path: path.read_bytes() for path in home.root.rglob("*.md")}
    with pytest.raises(StoreError) as refused:
        CHANGES[change](store)
    assert refused.value.reason == "not-editable"
    assert MADE.sentence in str(refused.value)
    assert {path: path.read_bytes() for path in home.root.rglob("*.md")} == before


def test_its_neighbours_are_changed_as_ever(home: ForeignHome, store: MemoryStore) -> None:
    store.save("/memories/global/own.md", "x", sha256_of_text("text\n"))
    store.rename("/memories/global/own.md", "/memories/global/folder/own.md")
    store.delete("/memories/global/folder/own.md")
    assert store.read_text("/memories/global/made.md", as_use=False).content == "text\n"
