"""Which file the writer keeps: the agent's one file per project, or a project memory, as the settings say.

Pure but for asking the home. Failure: `ScopeUnavailable` where the workspace has no single project.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reverie.homes.agents import WriterPlace
from reverie.homes.base import Home
from reverie.homes.scopes import COMPANIONS, Scope, ScopeContext, ScopeRoot, ScopeUnavailable
from reverie.memory.paths import memory_path

PROJECT_MEMORY = "system-1.md"


@dataclass(frozen=True, slots=True)
class Target:
    """The file that is written: `rel` below `root`, `path` as people see it."""

    root: ScopeRoot
    rel: str
    path: str
    memory_id: str

    @property
    def file(self) -> Path:
        return self.root.directory / self.rel

    @property
    def is_companion(self) -> bool:
        return self.root.key == COMPANIONS


def target_of(home: Home, context: ScopeContext, place: WriterPlace, setting: str) -> Target:
    """What `setting` ("project-file", "project-memory") means here. Raises `ScopeUnavailable`."""
    root = home.scope_root(context, Scope.PROJECT)
    if setting == "project-memory":
        return Target(root, PROJECT_MEMORY, str(memory_path(Scope.PROJECT, PROJECT_MEMORY)), place.memory_id)
    if place.memory_file is None:
        raise ScopeUnavailable(
            Scope.PROJECT,
            None,
            "There is no memory file here.",
            cause="No project belongs to this workspace.",
        )
    rel = place.memory_file.relative_to(home.root).as_posix()
    return Target(ScopeRoot(Scope.PROJECT, COMPANIONS, home.root, None), rel, rel, place.memory_id)
