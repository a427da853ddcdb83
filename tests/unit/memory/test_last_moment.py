"""An agent that writes between Reverie's look and Reverie's write: its words stay, and a person is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.foreign_home import ForeignHome, make_foreign_home
from reverie.agents.scopes import Scope, ScopeRoot
from reverie.errors import Conflict
from reverie.files.directory import Directory
from reverie.files.rooted import RootedDirectory
from reverie.memory.change_listener import NoChangeListener
from reverie.memory.scope_files import sha256_of_text
from reverie.memory.store import MemoryStore

PATH = "/memories/global/own.md"
THEIRS = "an agent wrote this\n"


class Agent(NoChangeListener):
    """Writes at the last moment: after the look, before the replace."""

    def __init__(self, file: Path, times: int) -> None:
        self._file = file
        self._left = times

    def will_change(self, root: ScopeRoot, rel: str) -> None:
        self._write()

    def replacing(self, root: ScopeRoot, rel: str, after: bytes | None) -> None:
        if after is None:
            self._write()

    def _write(self) -> None:
        if self._left:
            self._left -= 1
            self._file.write_text(THEIRS * (self._left + 1))


@pytest.fixture
def home(tmp_path: Path) -> ForeignHome:
    home = make_foreign_home(tmp_path / "home")
    (home.root / "common").mkdir(parents=True, exist_ok=True)
    (home.root / "common" / "own.md").write_text("text\n")
    return home


def store(home: ForeignHome, times: int = 1) -> tuple[MemoryStore, Path]:
    root = home.scope_root(home.context(), Scope.GLOBAL)
    file = root.directory / "own.md"
    agent = Agent(file, times)
    return MemoryStore(home, home.context(), lambda root: RootedDirectory(root.directory), agent), file


def test_a_save_does_not_write_over_it(home: ForeignHome) -> None:
    made, file = store(home)
    with pytest.raises(Conflict):
        made.save(PATH, "mine\n", sha256_of_text("text\n"))
    assert file.read_text() == THEIRS


def test_a_new_file_does_not_take_its_place(home: ForeignHome) -> None:
    made, file = store(home)
    file.unlink()
    with pytest.raises(Conflict):
        made.save(PATH, "mine\n", None)
    assert file.read_text() == THEIRS


def test_an_edit_is_made_again_on_what_is_there_and_given_up_if_that_never_ends(home: ForeignHome) -> None:
    made, file = store(home)
    assert made.edit(PATH, str.upper) == THEIRS.upper()
    assert file.read_text() == THEIRS.upper()
    made, file = store(home, times=40)
    with pytest.raises(Conflict):
        made.edit(PATH, str.upper)
    assert THEIRS in file.read_text()


class Witness(Agent):
    """Remembers what the history would have kept; the agent writes right after that."""

    def __init__(self, file: Path, times: int) -> None:
        super().__init__(file, times)
        self.kept: list[set[str]] = []

    def will_change(self, root: ScopeRoot, rel: str) -> None:
        below = root.directory / rel
        files = [below] if below.is_file() else [each for each in below.rglob("*") if each.is_file()]
        self.kept.append({each.read_text() for each in files})


@pytest.mark.parametrize(("path", "name"), [(PATH, "own.md"), ("/memories/global/f", "f/old.md")])
@pytest.mark.parametrize("new", [False, True])
def test_a_delete_takes_only_what_the_history_has_seen(
    home: ForeignHome, path: str, name: str, new: bool
) -> None:
    top = home.root / "common"
    (top / "f").mkdir()
    (top / "f" / "old.md").write_text("text\n")
    if new and path != PATH:
        name = "f/new/born.md"
        (top / "f" / "new").mkdir()
    witness = Witness(top / name, times=2)
    made = MemoryStore(home, home.context(), lambda root: RootedDirectory(root.directory), witness)
    made.delete(path)
    assert len(witness.kept) == 3
    assert THEIRS in witness.kept[-1]
    assert not (home.root / "common" / path.rpartition("/")[2]).exists()


@pytest.mark.parametrize(("path", "name"), [(PATH, "own.md"), ("/memories/global/f", "f/old.md")])
def test_a_delete_that_is_overtaken_again_and_again_is_given_up(
    home: ForeignHome, path: str, name: str
) -> None:
    top = home.root / "common"
    (top / "f").mkdir()
    (top / "f" / "old.md").write_text("text\n")
    witness = Witness(top / name, times=40)
    made = MemoryStore(home, home.context(), lambda root: RootedDirectory(root.directory), witness)
    with pytest.raises(Conflict):
        made.delete(path)
    assert THEIRS in (top / name).read_text()
    assert [each.name for each in top.iterdir() if each.name.startswith(".")] == []


def test_a_delete_that_was_killed_half_way_is_in_the_way_of_no_later_one(
    home: ForeignHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, file = store(home, times=0)
    with monkeypatch.context() as patch:
        patch.setattr(Directory, "unlink", _killed)
        with pytest.raises(KeyboardInterrupt):
            made.delete(PATH)
    assert not file.exists()
    file.write_text("again\n")
    made.delete(PATH)
    assert not file.exists()
    RootedDirectory(file.parent).sweep(older_than_s=-1)
    assert list(file.parent.glob(".*")) == []


def _killed(_directory: Directory, _name: str) -> None:
    raise KeyboardInterrupt
