"""On a file system that does not tell upper case from lower case, a file has one name: the one listed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.benches import Time
from helpers.slow_disk import CannotMountError, SlowDisk, own_mounts
from reverie.compose import open_parts
from reverie.errors import Conflict, StoreError
from reverie.files.directory import differ_in_case_only
from reverie.files.rooted import RootedDirectory
from reverie.memory.commands import MemoryCommands
from reverie.profile import Profile
from reverie.services.container import HomeContainer
from reverie.services.edits import UserEdits
from reverie.services.views import FilesChanged


@pytest.mark.parametrize(
    ("one", "other", "only_in_case"),
    [
        ("people", "People", True),
        ("a/notes.md", "A/Notes.MD", True),
        ("Stra\u00dfe.md", "STRASSE.md", True),
        ("caf\u00e9.md", "cafe\u0301.md", True),
        ("people", "people", False),
        ("people", "peoples", False),
    ],
)
def test_which_names_may_be_one_file(one: str, other: str, only_in_case: bool) -> None:
    assert differ_in_case_only(one, other) == only_in_case


def test_two_names_of_one_file_stay_two_where_case_counts(tmp_path: Path) -> None:
    (tmp_path / "people.md").write_text("x")
    os.link(tmp_path / "people.md", tmp_path / "People.md")
    rooted = RootedDirectory(tmp_path)
    with pytest.raises(Conflict):
        rooted.rename("people.md", "People.md")
    assert (rooted.listed("people.md"), rooted.listed("PEOPLE.md")) == ("people.md", "PEOPLE.md")


def on_caseless_disk(tmp_path: Path, act: Callable[[Path, Path], None]) -> None:
    """Call `act` with a folder and the place where it shows as such a disk. The mount is seen by this thread
    alone."""
    problems: list[BaseException] = []
    near, far = tmp_path / "near", tmp_path / "far"

    def run() -> None:
        try:
            own_mounts()
            near.mkdir()
            disk = SlowDisk(near, far, caseless=True)
            try:
                act(near, far)
            finally:
                disk.close()
        except BaseException as error:  # noqa: BLE001 - raised again in the thread of the test
            problems.append(error)

    thread = threading.Thread(target=run, name="caseless disk")
    thread.start()
    thread.join()
    if problems and isinstance(problems[0], CannotMountError):
        pytest.skip(str(problems[0]))
    if problems:
        raise problems[0]


def on_home(tmp_path: Path, act: Callable[[HomeContainer, Path], None]) -> None:
    def opened(near: Path, far: Path) -> None:
        disk = near / "memory/global"
        (disk / "machines").mkdir(parents=True)
        for rel in ("testing.md", "preferences.md", "machines/laptop.md"):
            (disk / rel).write_text(f"# {rel}\n")
        (near / "config.json").write_text("{}")
        act(open_parts(far, Profile.under(tmp_path / "profile"), Time()), disk)

    on_caseless_disk(tmp_path, opened)


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def test_a_folder_and_a_file_are_renamed_in_case_only_and_back(tmp_path: Path) -> None:
    def act(parts: HomeContainer, disk: Path) -> None:
        edits, context = UserEdits(parts), parts.home.context()
        undo = edits.rename(context, "/memories/global/machines", "/memories/global/Machines")
        assert "Machines" in names(disk)
        assert "machines" not in names(disk)
        assert "laptop.md" in names(disk / "Machines")
        edits.undo(undo)
        assert "machines" in names(disk)
        edits.rename(context, "/memories/global/testing.md", "/memories/global/Testing.md")
        assert "Testing.md" in names(disk)
        assert "testing.md" not in names(disk)
        with pytest.raises(StoreError, match="exists already"):
            edits.rename(context, "/memories/global/preferences.md", "/memories/global/TESTING.md")

    on_home(tmp_path, act)


def test_a_path_in_another_case_is_the_file_that_is_listed(tmp_path: Path) -> None:
    def act(parts: HomeContainer, disk: Path) -> None:
        edits, context = UserEdits(parts), parts.home.context()
        before = (disk / "testing.md").read_bytes()
        undo = edits.delete(context, "/memories/global/TESTING.MD")
        assert undo.path == "/memories/global/testing.md"
        assert "testing.md" not in names(disk)
        commits = parts.snapshots.history.commits()
        assert commits[0].actor == "user"
        _path, root, _files = parts.store(context, actor="user").resolve("/memories/global/preferences.md")
        (step,) = undo.steps
        assert isinstance(step, FilesChanged)
        versions = parts.snapshots.history.files(step.journal.commit, root.key)
        assert [name for name in versions if name.casefold() == "testing.md"] == ["testing.md"]
        edits.undo(undo)
        assert (disk / "testing.md").read_bytes() == before
        edits.save(context, "/memories/global/MACHINES/new.md", "# New\n", None)
        assert {"laptop.md", "new.md"} <= names(disk / "machines")
        head = parts.snapshots.history.head()
        assert head is not None
        assert not any(name.startswith("MACHINES") for name in parts.snapshots.history.files(head, root.key))

    on_home(tmp_path, act)


def test_a_view_in_another_case_is_a_use_of_the_file_that_is_listed(tmp_path: Path) -> None:
    def act(parts: HomeContainer, _disk: Path) -> None:
        commands = MemoryCommands(parts.store(parts.home.context(), actor="agent"), count_reads=True)
        commands.execute({"command": "view", "path": "/memories/global/TESTING.md"})
        assert set(parts.usage.load()) == {"global:testing.md"}
        folder = commands.execute({"command": "view", "path": "/memories/global/MACHINES"})
        assert "laptop.md" in folder["output"]

    on_home(tmp_path, act)
