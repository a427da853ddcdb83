"""The places of companions in the history.

Pure; any thread.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from reverie.agents.scopes import COMPANIONS
from reverie.values import Struct

_OUTSIDE = f"{COMPANIONS}@"


class CompanionPlace(Struct, frozen=True):
    """The place of a companion in the history: `rel` below `directory`, kept under `key`."""

    key: str
    directory: Path
    rel: str


def companion_place(home_root: Path, path: Path) -> CompanionPlace:
    """Return the place of one companion of a home in the history.

    Companions in the home share one key. Those outside belong to a project and have a key for each directory,
    because the history outlives a project that is moved, and no file's place may depend on the project it was
    reached through. A companion outside is the entry in its own directory; a symlink that leads out of it is
    not followed.
    """
    if path.is_relative_to(home_root):
        return CompanionPlace(COMPANIONS, home_root, path.relative_to(home_root).as_posix())
    directory = str(path.parent).encode("utf-8", "surrogateescape")
    return CompanionPlace(f"{_OUTSIDE}{hashlib.sha256(directory).hexdigest()[:16]}", path.parent, path.name)


def is_of_companions(key: str) -> bool:
    """Return whether a key of the history belongs to companions, in the home or outside."""
    return key == COMPANIONS or key.startswith(_OUTSIDE)
