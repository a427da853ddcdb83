"""Where a trace belongs: its project, and the name of its workspace as the list at the left has it.

A trace knows the id of its workspace and the name of its branch at best; the home knows the title. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from reverie.homes.listing import HomeContents
    from reverie.services.traces import TraceRow


@dataclass(frozen=True, slots=True)
class Followed:
    """The place selected at the left. `home`: its id; `project`: empty for the whole home; `name`: what the
    list at the left calls it; `home_name`: of its home."""

    home: str
    project: str = ""
    name: str = ""
    home_name: str = ""

    def holds(self, home: str, project: str) -> bool:
        """Whether a trace of this home and project belongs here; one without a project does anywhere in its
        home."""
        return home == self.home and (not self.project or not project or project == self.project)


class Belongs(NamedTuple):
    """The place of one trace; empty where nothing tells."""

    workspace: str = ""
    project: str = ""


class Places:
    """The workspaces and projects of one home."""

    def __init__(self, contents: HomeContents) -> None:
        self._workspaces: Mapping[str, Belongs] = {
            workspace.id: Belongs(workspace.label, project.path)
            for project in contents.projects
            for workspace in project.workspaces
        }
        self._projects = frozenset(project.path for project in contents.projects)

    def of(self, row: TraceRow) -> Belongs:
        """Where a trace belongs. What the home does not list keeps the name that the trace has."""
        # A dream of Reverie names its workspace by the id alone.
        for id_ in (row.workspace_id, row.workspace_name):
            if found := self._workspaces.get(id_):
                return found
        project = row.project_path if row.project_path in self._projects else ""
        return Belongs(row.workspace_name or row.workspace_id, project)
