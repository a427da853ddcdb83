"""Read access to the files that come with the program.

They are icons, prompts, templates, prices, tables of words and of secret formats, the demo home and
translations. In a source tree they are in `resources/` at the top, in an installed wheel inside the package.
Nothing here writes to them: to change the demo home, a caller makes a copy.

This module is on the lowest layer and separate from `profile`, because the redactor reads its table from
here, and an agent's hook, which uses the redactor, must start quickly.

Threading: any thread. Failure: a `FileNotFoundError` or `ValueError` means that the installation is broken,
which is a bug.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

_T = TypeVar("_T")
_PACKAGE = Path(__file__).resolve().parent


@cache
def resources_directory() -> Path:
    """Return the directory with the files that come with the program, such as icons and prompts.

    It is inside the package if the program is installed, and `resources/` at the top of a source tree.
    """
    installed = _PACKAGE / "_resources"
    return installed if installed.is_dir() else _PACKAGE.parents[1] / "resources"


def resource(name: str) -> Path:
    """Return the path of the resource `name`: a path below the resources directory, such as `icons/pin.svg`.

    Raises `FileNotFoundError` for a name that does not exist and `ValueError` for a name that leads out of
    the directory; both mean a bug in Reverie.
    """
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or PurePosixPath(name).is_absolute():
        raise ValueError(f"not the name of a resource: {name!r}")
    path = resources_directory().joinpath(*parts)
    if not path.exists():
        raise FileNotFoundError(f"the resource {name!r} is missing from {resources_directory()}")
    return path


def resource_table(name: str) -> dict[str, Any]:
    """Return the content of the TOML resource `name`.

    `name` is relative to the directory of the resources, such as `secrets.toml`. Raises `ValueError` if the
    file is not valid TOML.
    """
    import tomllib  # late: the first names in the window and agents' hooks need no table

    try:
        return tomllib.loads(resource(name).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"the resource {name!r} is damaged: {error}") from error


def load_table(name: str, build: Callable[[dict[str, Any]], _T]) -> _T:
    """Read the TOML resource `name` and return the result of `build` for its content.

    Raises `ValueError` if the file is not TOML, or if `build` raises `AttributeError`, `KeyError`,
    `TypeError` or `ValueError` because a value is missing or of another type.
    """
    data = resource_table(name)
    try:
        return build(data)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the resource {name!r} is damaged: {error!r}") from error


DEMO_FILE = "/memories/project/bike-states.md"
"""The memory path of a note in the demo home that has an exact duplicate there."""


def copy_demo_home(directory: Path) -> Path:
    """Copy the demo home, a directory with example memories, into `directory`; return the copy's path."""
    import shutil  # late: agents' hooks copy nothing

    target = directory / "demo-home"
    shutil.copytree(resource("demo-home"), target)
    return target
