"""The current directory is somebody else's checkout: nothing in it is ever imported (defect 1).

Each poisoned module notes its name and the process that ran it. They are the names a real project may well
have (`secrets.py`, `queue.py`) and every library that Reverie loads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.samples import copy_sample
from reverie.engine.client import EngineClient
from reverie.engine.reach import connect
from reverie.profile import Profile

_LIBRARIES = (
    *("watchdog", "pydantic", "httpx", "pygit2", "yaml", "rapidfuzz", "tomlkit", "zstandard", "keyring"),
    *("msgspec", "platformdirs", "PySide6", "shiboken6", "anyio", "certifi", "cffi", "psutil", "helpers"),
)
_STANDARD = tuple(
    sorted(
        name
        for name in sys.stdlib_module_names
        if not name.startswith("_") and name not in ("this", "idlelib")
    )
)

POISON = """\
import os, sys
with open({marks!r}, "a") as marks:
    marks.write(__name__ + " in " + " ".join(sys.orig_argv) + chr(10))
raise SystemExit("poisoned " + __name__)
"""


@pytest.fixture
def hostile(tmp_path: Path) -> tuple[Path, Path]:
    """A directory full of poisoned modules, and the file in which they note that they ran."""
    directory, marks = tmp_path / "checkout", tmp_path / "marks"
    directory.mkdir()
    for name in (*_LIBRARIES, *_STANDARD):
        (directory / f"{name}.py").write_text(POISON.format(marks=str(marks)), encoding="utf-8")
    (directory / "reverie").mkdir()
    (directory / "reverie" / "__init__.py").write_text(POISON.format(marks=str(marks)), encoding="utf-8")
    return directory, marks


def run_here(
    directory: Path, command: list[str], environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=directory,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def script() -> str:
    """The installed `reverie` command, which is how people start it."""
    return str(Path(sys.executable).with_name("reverie"))


def test_a_command_imports_nothing_of_the_current_directory(
    hostile: tuple[Path, Path], tmp_path: Path
) -> None:
    directory, marks = hostile
    home = copy_sample("mux-home", tmp_path)
    done = run_here(
        directory, [script(), "--home", str(home), "--profile", str(tmp_path / "p"), "--json", "homes"]
    )
    assert not marks.exists(), marks.read_text(encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)


@pytest.mark.parametrize("search_path", ["", os.pathsep, ".", f".{os.pathsep}", f"{os.pathsep}."])
def test_an_empty_or_relative_entry_of_pythonpath_is_no_way_in(
    hostile: tuple[Path, Path], tmp_path: Path, search_path: str
) -> None:
    directory, marks = hostile
    for name in _STANDARD:  # Python itself imports some of them before any program of ours runs
        (directory / f"{name}.py").unlink()
    home = copy_sample("mux-home", tmp_path)
    place = ["--home", str(home), "--workspace", "a1f3c9e2b7", "--profile", str(tmp_path / "p")]
    words = [*place, "consolidate", "--dry-run"]
    # `reverie` itself is found through the search path, so its poisoned twin cannot be among them here.
    (directory / "reverie" / "__init__.py").unlink()
    (directory / "reverie").rmdir()
    done = run_here(directory, [script(), *words], {"PYTHONPATH": search_path})
    assert not marks.exists(), marks.read_text(encoding="utf-8")
    assert done.returncode == 0, done.stderr


def test_the_engine_imports_nothing_of_the_current_directory(
    hostile: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, marks = hostile
    home = copy_sample("mux-home", tmp_path)
    profile = Profile.under(tmp_path / "p")
    monkeypatch.chdir(directory)
    engine = EngineClient(lambda: connect(profile))
    try:
        info = engine.services.open(home).info
        engine.home(info.root, info.id).start_history()
    finally:
        engine.stop()
    assert not marks.exists(), marks.read_text(encoding="utf-8")


def test_the_window_and_its_engine_import_nothing_of_the_current_directory(
    hostile: tuple[Path, Path], tmp_path: Path
) -> None:
    directory, marks = hostile
    home = copy_sample("mux-home", tmp_path)
    picture = tmp_path / "window.png"
    words = [
        "--home",
        str(home),
        "--profile",
        str(tmp_path / "p"),
        "--offscreen",
        "--screenshot",
        str(picture),
    ]
    done = run_here(directory, [script(), *words])
    assert not marks.exists(), marks.read_text(encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert picture.stat().st_size > 0
