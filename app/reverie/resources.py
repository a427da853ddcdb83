"""Files that come with the program: icons, prompts, templates, prices, tables of words
and of forms of secrets, the demo home, translations.

In a source tree they are in `resources/` at the top, in an installed wheel inside the package. Nothing here
writes to them: whoever wants to change the demo home works on a copy. On the lowest floor and apart from
`profile`, because the redactor reads its table from here and a hook of an agent must start in no time.

Threading: any thread. Failure: a `FileNotFoundError` or `ValueError` means a broken installation: a bug.
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
    """The directory that holds them. An installed copy wins, so that a wheel never looks outside itself."""
    installed = _PACKAGE / "_resources"
    return installed if installed.is_dir() else _PACKAGE.parents[1] / "resources"


def resource(name: str) -> Path:
    """The path of one resource, `/` between the parts (`icons/pin.svg`).

    Raises `FileNotFoundError` for a name that does not exist and `ValueError` for one that leaves the
    directory: both are bugs of ours.
    """
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or PurePosixPath(name).is_absolute():
        raise ValueError(f"not the name of a resource: {name!r}")
    path = resources_directory().joinpath(*parts)
    if not path.exists():
        raise FileNotFoundError(f"the resource {name!r} is missing from {resources_directory()}")
    return path


def resource_table(name: str) -> dict[str, Any]:
    """What a TOML file among the resources holds. Raises `ValueError` if it is damaged."""
    import tomllib  # late: the first names and the hooks of agents read no table

    try:
        return tomllib.loads(resource(name).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"the resource {name!r} is damaged: {error}") from error


def load_table(name: str, build: Callable[[dict[str, Any]], _T]) -> _T:
    """What `build` makes of a TOML file among the resources.

    Raises `ValueError` if the file is damaged: if it is no TOML, or `build` raises `AttributeError`,
    `KeyError`, `TypeError` or `ValueError` because a part is missing or of another kind.
    """
    data = resource_table(name)
    try:
        return build(data)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the resource {name!r} is damaged: {error!r}") from error


DEMO_FILE = "/memories/project/bike-states.md"
"""A memory of the demo home that another one repeats."""


def copy_demo_home(directory: Path) -> Path:
    """A throw-away copy of the demo home below `directory`."""
    import shutil  # late: the hooks of agents copy nothing

    target = directory / "demo-home"
    shutil.copytree(resource("demo-home"), target)
    return target
