"""How a person wants the window to look. By itself, because it is read before anything is painted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Window:
    """How the window looks, as `settings.WindowSettings` has it."""

    font_size: int = 0
    language: str = "system"
    theme: str = "system"


class Beginning(NamedTuple):
    """What to open first. Without homes: those that are found; with `and_found` those as well. `demo` is
    where the demo copy may be put. `helper`: heavy work is done by a process of its own. `asking`: a person
    is there to answer a question; without one, a moved home is opened as a new one. `project`: the path of
    the project to select where no workspace is named. `closed`: homes that a person closed; they are not
    opened because they are found."""

    homes: tuple[Path, ...] = ()
    workspace: str = ""
    demo: Path | None = None
    open_demo: bool = False
    and_found: bool = False
    watching: bool = True
    helper: bool = False
    asking: bool = True
    project: str = ""
    closed: tuple[Path, ...] = ()
