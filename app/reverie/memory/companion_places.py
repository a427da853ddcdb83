"""The paths at which the history stores companions, the files that agents load beside their memories.

Pure; any thread.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from reverie.agents.scopes import COMPANIONS
from reverie.values import Struct

_OUTSIDE = f"{COMPANIONS}@"


class CompanionPlace(Struct, frozen=True):
    """The place in the history of a companion, a file that an agent loads beside its memories."""

    key: str
    """The key under which the history stores the files of `directory`, as it does with the key of a root."""
    directory: Path
    """The home, or the folder of a companion that is outside of the home."""
    rel: str
    """The path of the companion below `directory`."""


def companion_place(home_root: Path, path: Path) -> CompanionPlace:
    """Return the place at which the history stores the companion `path` of the home at `home_root`.

    A companion is a file that an agent loads beside its memories. Companions in the home share one key.
    Companions outside belong to a project and have one key per directory, because the history must remain
    valid if a project is moved, and a file's key must not depend on the project through which the file was
    reached.
    """
    if path.is_relative_to(home_root):
        return CompanionPlace(COMPANIONS, home_root, path.relative_to(home_root).as_posix())
    directory = str(path.parent).encode("utf-8", "surrogateescape")
    return CompanionPlace(f"{_OUTSIDE}{hashlib.sha256(directory).hexdigest()[:16]}", path.parent, path.name)


def is_of_companions(key: str) -> bool:
    """Return whether the history stores companions (files loaded beside the memories) under `key`."""
    return key == COMPANIONS or key.startswith(_OUTSIDE)
