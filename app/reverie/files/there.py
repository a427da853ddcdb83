"""What lies at a path, asked without raising.

`Path.exists` and its like raise where a folder on the way may not be entered. For places of others that is as
good as nothing there: one that cannot be looked at never takes down its neighbours. A file of our own is
another matter: that it cannot be looked at is said (`own_is_there`), never taken for its absence.

Threading: stateless; any thread. Failure: none, but `own_is_there` raises `Unavailable`.
"""

from __future__ import annotations

import os
from pathlib import Path

from reverie.errors import mendable_from_os


def is_there(path: Path) -> bool:
    """Whether something that can be reached is there; links are followed."""
    return os.path.exists(path)  # noqa: PTH110 - Path's raises


def is_directory(path: Path) -> bool:
    """Whether it is a directory that can be reached; unlike `Path.is_dir`, never raises."""
    return os.path.isdir(path)  # noqa: PTH112


def is_file(path: Path) -> bool:
    """Whether it is a regular file that can be reached; unlike `Path.is_file`, never raises."""
    return os.path.isfile(path)  # noqa: PTH113


def is_link(path: Path) -> bool:
    """Whether it is a symlink that can be reached; unlike `Path.is_symlink`, never raises."""
    return os.path.islink(path)  # noqa: PTH114


def own_is_there(path: Path) -> bool:
    """Whether a file of our own is there. Raises `Unavailable` where that cannot be found out."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise mendable_from_os(error, f"{path} could not be looked at.") from error
    return True
