"""The house stands: floors import downwards only, only the window knows Qt, and the front door opens lightly.

The contracts are in `pyproject.toml`. Here they are also shown to bite: in a small house with one wrong
import of each kind, each is named.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
CONFIG = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
LINT = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"


def lint(directory: Path) -> subprocess.CompletedProcess[str]:
    # The working directory comes first on the path of `python -c`: the linter sees the `reverie` lying there.
    command = [sys.executable, "-c", LINT, "--config", str(PROJECT / "pyproject.toml"), "--no-cache"]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


def test_the_floors_hold() -> None:
    done = lint(PROJECT / "app")
    assert done.returncode == 0, done.stdout


def test_a_wrong_import_is_named(tmp_path: Path) -> None:
    house = tmp_path / "reverie"
    modules = {
        "__init__.py": "",
        "errors.py": "",
        "agents/__init__.py": "import reverie.memory",
        "memory/__init__.py": "",
        "runs/__init__.py": "",
        "jobs/__init__.py": "",
        "jobs/consolidate/__init__.py": "import reverie.jobs.single_file",
        "jobs/single_file/__init__.py": "import PySide6",
        "jobs/extraction/__init__.py": "",
        "services/__init__.py": "",
        "ui/__init__.py": "from PySide6 import QtWidgets",
        "ui/window.py": "import PySide6.QtGui",
        "cli.py": "import reverie.ui",
        "attic.py": "",
    }
    for name, text in modules.items():
        file = house / name
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text(text + "\n", encoding="utf-8")
    done = lint(tmp_path)
    assert done.returncode != 0
    for broken in (
        "reverie.agents -> reverie.memory",
        "reverie.jobs.consolidate -> reverie.jobs.single_file",
        "attic",
    ):
        assert broken in done.stdout, "a higher floor, a sibling, and a room without a floor"
    assert "reverie.jobs.single_file -> PySide6" in done.stdout
    assert "reverie.ui" not in done.stdout.partition("Broken contracts")[2], "the window may know Qt"


def test_every_room_of_the_plan_is_on_one_floor() -> None:
    floors = [layer for contract in CONFIG["contracts"] for layer in contract.get("layers", ())]
    rooms = [room.strip(" ()") for floor in floors for room in floor.split("|")]
    assert len(rooms) == len(set(rooms))


def test_the_front_door_opens_without_qt_or_heavy_libraries() -> None:
    heavy = ["PySide6", "shiboken6", "pygit2", "pydantic", "watchdog", "rapidfuzz", "asyncio"]
    code = f"import sys, reverie.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
