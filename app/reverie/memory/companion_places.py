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
    """The place of a companion in the history.

    `key`: the key of the root to which the history assigns it; `rel`: its path below `directory`.
    """

    key: str
    directory: Path
    rel: str


def companion_place(home_root: Path, path: Path) -> CompanionPlace:
    """Return the place at which the history stores the companion `path` of the home at `home_root`.

    Companions in the home share one key. Companions outside belong to a project and have one key per
    directory, because the history must remain valid if a project is moved, and a file's key must not depend
    on the project through which the file was reached. For a companion outside, a symlink that leads out of
    its directory is not followed.
    """
    if path.is_relative_to(home_root):
        return CompanionPlace(COMPANIONS, home_root, path.relative_to(home_root).as_posix())
    directory = str(path.parent).encode("utf-8", "surrogateescape")
    return CompanionPlace(f"{_OUTSIDE}{hashlib.sha256(directory).hexdigest()[:16]}", path.parent, path.name)


def is_of_companions(key: str) -> bool:
    """Return whether the root `key` in the history holds companions, in the home or outside."""
    return key == COMPANIONS or key.startswith(_OUTSIDE)
