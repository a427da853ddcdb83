"""What lies at a path, asked by somebody who may not look."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import reverie
from helpers.ordinary_user import without_power
from reverie.errors import Unavailable
from reverie.files.directory import is_directory, is_file, is_link, is_there, own_is_there

RAISING = {"exists", "is_dir", "is_file", "is_symlink", "is_mount"}
# Who asks here catches what is raised, or asks an entry of a directory that it has listed.
ASKED_WITH_CARE = {
    "agents/claude/projects.py",
    "files/sqlite.py",
    "doctor/fixes.py",
    "doctor/installation.py",
    "doctor/leftovers.py",
    "failures/record.py",
    "files/directory.py",
    "jobs/extraction/service.py",
    "memory/history/history.py",
    "memory/history/reader.py",
    "memory/history/repository.py",
    "memory/recording.py",
    "resources.py",
    "runs/record.py",
    "services/transfer.py",
    "ui/app.py",
    "ui/window/homes.py",
}


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    """A folder that may not be entered, with a file in it."""
    folder = tmp_path / "closed"
    folder.mkdir()
    (folder / "file").write_text("x")
    folder.chmod(0)
    yield folder
    folder.chmod(0o700)


def test_what_cannot_be_reached_is_as_good_as_not_there_and_never_raises(closed: Path) -> None:
    path = closed / "file"
    said = without_power(lambda: [ask(path) for ask in (is_there, is_directory, is_file, is_link)])
    assert said == [False, False, False, False]


def test_a_file_of_our_own_that_cannot_be_reached_is_said(closed: Path, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="Permission is denied"):
        without_power(lambda: own_is_there(closed / "file"))
    assert not own_is_there(tmp_path / "nothing")
    assert own_is_there(tmp_path)


def test_nobody_asks_by_a_call_that_raises_without_saying_what_then() -> None:
    """`Path.exists` and its like raise for a folder that may not be entered: `files.directory` has ones that
    do not."""
    top = Path(reverie.__file__).parent
    found = set()
    for path in top.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if not any(f".{name}()" in text for name in RAISING):
            continue  # most files need no slow look
        for node in ast.walk(ast.parse(text)):
            # With arguments it is an entry of a listing, whose kind is known.
            called = node.func if isinstance(node, ast.Call) and not (node.args or node.keywords) else None
            if isinstance(called, ast.Attribute) and called.attr in RAISING:
                found.add(path.relative_to(top).as_posix())
    assert found == ASKED_WITH_CARE


def test_every_walk_says_what_becomes_of_a_folder_that_cannot_be_listed() -> None:
    top = Path(reverie.__file__).parent
    silent = [
        f"{path.relative_to(top).as_posix()}:{node.lineno}"
        for path in top.rglob("*.py")
        if "os.walk" in path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "os.walk"
        and not any(keyword.arg == "onerror" for keyword in node.keywords)
    ]
    assert silent == []
