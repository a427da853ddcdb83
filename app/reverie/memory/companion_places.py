"""Where the history keeps companions: files that an agent loads beside its memories.

Those in the home have one place together, below the home's directory. Those outside, which belong to a
project, have a place for each directory: the history of a home outlives a project that is moved or renamed,
and no file's place depends on the project it was reached through. A companion outside is what lies in its own
directory; a symbolic link that leads out of it is not followed.

Pure.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from reverie.homes.scopes import COMPANIONS

_OUTSIDE = f"{COMPANIONS}@"


@dataclass(frozen=True, slots=True)
class CompanionPlace:
    """`rel` below `directory`, kept under `key`."""

    key: str
    directory: Path
    rel: str


def companion_place(home_root: Path, path: Path) -> CompanionPlace:
    """The place of one companion of a home."""
    if path.is_relative_to(home_root):
        return CompanionPlace(COMPANIONS, home_root, path.relative_to(home_root).as_posix())
    directory = str(path.parent).encode("utf-8", "surrogateescape")
    return CompanionPlace(f"{_OUTSIDE}{hashlib.sha256(directory).hexdigest()[:16]}", path.parent, path.name)


def is_of_companions(key: str) -> bool:
    """Whether a place of the history is of companions, in the home or outside."""
    return key == COMPANIONS or key.startswith(_OUTSIDE)
