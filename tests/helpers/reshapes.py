"""Runs that change names: file to folder, folder to file, the case of a name, exchanged names.

Each is a list of requests, as a model makes them, for the sample home of mux. No line is lost, so that
nothing is held for review.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Requests = Sequence[Mapping[str, Any]]


def _rename(old: str, new: str) -> Mapping[str, Any]:
    return {
        "command": "rename",
        "old_path": f"/memories/global/{old}",
        "new_path": f"/memories/global/{new}",
    }


def _delete(name: str) -> Mapping[str, Any]:
    return {"command": "delete", "path": f"/memories/global/{name}"}


_TO_FOLDER: Requests = (
    _rename("testing.md", "between.md"),
    _rename("between.md", "testing.md/deep/how.md"),
)
_TO_FILE: Requests = (
    _rename("machines/laptop.md", "between.md"),
    _delete("machines"),
    _rename("between.md", "machines"),
)
_SWAPPED: Requests = (
    _rename("testing.md", "between.md"),
    _rename("commit-style.md", "testing.md"),
    _rename("between.md", "commit-style.md"),
)

SHAPES: Mapping[str, Requests] = {
    "file to folder": _TO_FOLDER,
    "folder to file": _TO_FILE,
    "another case": (_rename("testing.md", "Testing.md"), _rename("machines", "Machines")),
    "chained": (*_SWAPPED, _rename("testing-old.md", "older.md"), _rename("older.md", "oldest.md")),
    "file and folder exchanged": (
        _rename("testing.md", "between.md"),
        _rename("machines", "testing.md"),
        _rename("between.md", "machines"),
    ),
    "all of them": (*_TO_FOLDER, *_TO_FILE, _rename("commit-style.md", "Commit-Style.md")),
}


def tree(home: Path) -> dict[str, bytes | None]:
    """Every memory of the home with its bytes, and every folder (None), hidden ones too."""
    found: dict[str, bytes | None] = {}
    for top in (home / "memory", *home.glob("sessions/*/memory")):
        for path in top.rglob("*"):
            found[path.relative_to(home).as_posix()] = path.read_bytes() if path.is_file() else None
    return found
