"""The memory stores of a mux home.

Only reads. Threading: any thread but the GUI's; project paths may be on slow disks. Failure: as `agents.base`
says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from reverie.agents.base import HomeContents, Orphan
from reverie.agents.mux.config import MuxConfig
from reverie.agents.mux.names import MULTI_PROJECT_BUCKET, project_dir_name
from reverie.agents.reading import directory_names, file_names
from reverie.agents.scopes import Scope, ScopeRoot, escape_key
from reverie.text.summaries import some

_OLD_PROJECT_STORES = "project-memory"


class MuxStores:
    """The memory stores of one home (formats/mux.md sections 2, 3, 8, 9 and 14).

    A method with the argument `problems` adds a message to it for each directory that cannot be listed.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def global_root(self) -> ScopeRoot:
        """Return the root of the memories that every workspace sees."""
        return ScopeRoot(Scope.GLOBAL, "global", self._root / "memory" / "global", "global:")

    def project_root(self, name: str, owner: str | None) -> ScopeRoot:
        """Return the root of the memories of the project with the directory name `name`.

        `owner`: the project's path; None if it is unknown, so that uses of its files are not counted.
        """
        prefix = None if owner is None else f"project:{escape_key(owner)}:"
        return ScopeRoot(Scope.PROJECT, f"project/{name}", self._root / "memory" / "project" / name, prefix)

    def workspace_root(self, name: str) -> ScopeRoot:
        """Return the root of the memories of the workspace with the id `name`."""
        directory = self._root.joinpath("sessions", name, "memory")
        return ScopeRoot(Scope.WORKSPACE, f"workspace/{name}", directory, f"workspace:{escape_key(name)}:")

    def project_stores(self, owners: Mapping[str, str], problems: list[str]) -> list[str]:
        """Return the sorted names of the directories of project memories.

        `owners`: directory name -> path of its project. Names with a leading dot and without an owner belong
        to tools (.git) and are left out. A reading error adds a message to `problems`.
        """
        names = directory_names(self._root / "memory" / "project", problems)
        return [name for name in names if name in owners or not name.startswith(".")]

    def sessions(self, listed: set[str], problems: list[str]) -> list[str]:
        """Return the sorted names of the directories of sessions.

        A name with a leading dot that is not in `listed`, the ids of the known workspaces, belongs to a tool
        and is left out. A reading error adds a message to `problems`.
        """
        names = directory_names(self._root / "sessions", problems)
        return [name for name in names if name in listed or not name.startswith(".")]

    def has_memory(self, name: str) -> bool:
        """Return whether the workspace with the id `name` has a memory directory."""
        # Called thousands of times, where a Path costs more than the check.
        return os.path.isdir(f"{self._root}/sessions/{name}/memory")  # noqa: PTH112

    def orphans(self, config: MuxConfig, problems: list[str]) -> Iterator[Orphan]:
        """Yield the memory directories of projects and workspaces that `config` does not list.

        A reading error adds a message to `problems`.
        """
        contents = HomeContents(config.projects)
        owners = owners_of(contents)
        for name in self.project_stores(owners, problems):
            if name not in owners:
                yield Orphan(
                    "project",
                    self.project_root(name, None).directory,
                    name,
                    "No project in config.json has this name.",
                )
        listed = {workspace.id for workspace in contents.workspaces()}
        for name in self.sessions(listed, problems):
            if name not in listed and self.has_memory(name):
                yield Orphan(
                    "workspace",
                    self.workspace_root(name).directory,
                    name,
                    "No workspace in config.json has this ID.",
                )

    def older_layouts(self, config: MuxConfig, problems: list[str]) -> Iterator[Orphan]:
        """Yield the memories that versions of June 2026 stored elsewhere; mux never moved them.

        `config`: the projects that may be their owners. A reading error adds a message to `problems`.
        """
        memory = self._root / "memory"
        loose = [name for name in file_names(memory, problems) if _is_note(name)]
        if loose:
            shown = f"memory/ ({some(len(loose), 'loose file')})"
            yield Orphan("older-layout", memory, shown, "Global memory was stored here until June 13, 2026.")
        owners = owners_of(HomeContents(config.projects))
        reason = "Project memory was stored here until June 13, 2026."
        for name in directory_names(self._root / _OLD_PROJECT_STORES, problems):
            yield Orphan(
                "older-layout", self._root / _OLD_PROJECT_STORES / name, owners.get(name, name), reason
            )


def owners_of(contents: HomeContents) -> dict[str, str]:
    """Return name of a store's directory -> path of its project, for the projects in `contents`.

    A name contains a one-way hash of the path, so every path that config.json mentions is hashed.
    """
    paths = {project.path for project in contents.projects}
    for workspace in contents.workspaces():
        paths.update(workspace.project_paths)
        if workspace.memory_project is not None:
            paths.add(workspace.memory_project)
        if workspace.sub_project:
            paths.add(workspace.sub_project)
    return {project_dir_name(path): path for path in paths - {"", MULTI_PROJECT_BUCKET}}


def _is_note(name: str) -> bool:
    return name.endswith(".md") and not name.startswith(".")
