"""Orphaned stores of a mux home, and the facts about them in the home.

Nothing is written. Threading: any thread but the GUI's; project paths may be on slow disks. Failure: files
that cannot be read are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reverie.agents.base import HomeContents, LostStore, Orphan
from reverie.agents.mux.config import text_at
from reverie.agents.mux.dumps import dump_places
from reverie.agents.mux.locations import CONFIG_BYTES, COVERAGE, USAGE
from reverie.agents.mux.models import below
from reverie.agents.mux.names import base_name, project_dir_name
from reverie.agents.reading import directory_names, file_names, read_json
from reverie.agents.scopes import ProjectGap, Scope, ScopeContext, ScopeRoot, unescape_key
from reverie.files.directory import is_directory

_KEY_PREFIX = "project:"
_DUMP_BYTES = 8 << 20
_MOST_DUMPS = 200
_CHECKOUT_STORE = (".mux", "memory")


def lost_stores(
    root: Path, contents: HomeContents, roots: Sequence[ScopeRoot], owners: Mapping[str, str]
) -> tuple[LostStore, ...]:
    """Return the stores that no listed project or workspace uses any more, with the facts about them.

    First come the stores of `contents.orphans`, in their order; then the stores of listed projects whose
    directory is missing; then those that an older version of the agent left in the directories of projects.
    `roots`: the scope roots of the home. `owners`: name of a store's directory -> path of the listed project
    that uses the store.

    The name of a store's directory contains a hash of its project's path, from which the path cannot be
    computed. But the data files and dumps of the home contain paths of projects. If the agent would make the
    store's name from one of these paths, that is the path of the store's project. Of a project's own
    directory, only its existence and the names in its `.mux/memory` are read. See formats/mux.md sections 2,
    3, 8, 9 and 14.
    """
    by_directory = {each.directory: each for each in roots}
    former = _FormerPaths(root)
    found = [
        _of_orphan(orphan, by_directory.get(orphan.directory), owners, former) for orphan in contents.orphans
    ]
    found += _of_missing_projects(by_directory, owners, contents)
    found += _in_checkouts(owners)
    return tuple(found)


def _of_orphan(
    orphan: Orphan, root: ScopeRoot | None, owners: Mapping[str, str], former: _FormerPaths
) -> LostStore:
    if orphan.kind == "workspace":
        workspace_id = orphan.directory.parent.name
        path, source, checkouts = former.of_workspace(workspace_id)
        return LostStore(
            *("workspace", orphan.directory, orphan.label, Scope.WORKSPACE, root),
            context=ScopeContext(workspace_id, None, ProjectGap.NO_PROJECT),
            name=base_name(path),
            owner=path if project_dir_name(path) in owners else "",
            former_path=path,
            former_source=source,
            checkouts=checkouts,
        )
    if orphan.directory == former.root / "memory":
        return LostStore("older-layout", orphan.directory, orphan.label, Scope.GLOBAL, flat=True)
    name = orphan.directory.name  # the name of the project, "-" and a hash of its path
    owner = owners.get(name, "")
    path, source = ("", "") if owner else former.of_store(name)
    context = ScopeContext(None, None, ProjectGap.NO_PROJECT, store=root.key) if root else None
    return LostStore(
        *(orphan.kind, orphan.directory, orphan.label, Scope.PROJECT, root, context),
        name=base_name(owner or path) or name.rpartition("-")[0] or name,
        owner=owner,
        former_path=path,
        former_source=source,
        checkouts=(path,) if path else (),
    )


def _of_missing_projects(
    roots: Mapping[Path, ScopeRoot], owners: Mapping[str, str], contents: HomeContents
) -> Iterator[LostStore]:
    """Yield the stores of listed projects whose directory is missing.

    `roots`: directory -> root of each store; `owners`: directory name -> path of the listed project.
    """
    checkouts: dict[str, list[str]] = {}
    for workspace in contents.workspaces():
        if workspace.memory_project is not None and workspace.path:
            checkouts.setdefault(workspace.memory_project, []).append(workspace.path)
    for directory, root in roots.items():
        path = owners.get(directory.name) if root.scope is Scope.PROJECT else None
        if path and Path(path).is_absolute() and not is_directory(Path(path)):
            yield LostStore(
                *("missing-project", directory, path, Scope.PROJECT, root, ScopeContext(None, path)),
                name=base_name(path),
                former_path=path,
                former_source="config.json",
                checkouts=(path, *checkouts.get(path, ())),
            )


def _in_checkouts(owners: Mapping[str, str]) -> Iterator[LostStore]:
    """Yield the stores that the version of 12 June 2026 left in the repositories of listed projects.

    The values of `owners` are the paths of these projects.
    """
    for path in sorted(owners.values()):
        directory = Path(path).joinpath(*_CHECKOUT_STORE)
        problems: list[str] = []
        if Path(path).is_absolute() and is_directory(directory):
            names = (*file_names(directory, problems), *directory_names(directory, problems))
            if any(not name.startswith(".") for name in names):
                yield LostStore(
                    "older-layout", directory, str(directory), Scope.PROJECT, name=base_name(path), owner=path
                )


class _FormerPaths:
    """The paths that projects of this home once had, found in its files on first use."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._stores: dict[str, tuple[str, str]] | None = None
        self._dumps: dict[str, tuple[str, str]] | None = None

    def of_store(self, name: str) -> tuple[str, str]:
        """Return the project path from which a store's directory got its name, and the file with this path.

        `name`: the name of the directory. Both results are empty if the path is unknown.
        """
        if self._stores is None:
            self._stores = {project_dir_name(path): (path, file) for path, file in self._named()}
        return self._stores.get(name, ("", ""))

    def of_workspace(self, workspace_id: str) -> tuple[str, str, tuple[str, ...]]:
        """Return a workspace's project path, the file that names it, and the known paths of its repository.

        All are empty if no file names the project of `workspace_id`.
        """
        metadata = _read(self.root / "sessions" / workspace_id / "metadata.json", _DUMP_BYTES)
        path, checkout = text_at(metadata, "projectPath"), text_at(metadata, "workspacePath")
        source = f"sessions/{workspace_id}/metadata.json"
        if not path:
            path, checkout = self._of_dumps().get(workspace_id, ("", ""))
            source = f"debug_obj/{workspace_id}"
        return path, source if path else "", tuple(each for each in (checkout, path) if each)

    def _named(self) -> Iterator[tuple[str, str]]:
        """Yield (former path of a project, the file that names it), the weakest evidence first.

        If several paths fit a store, the last one takes precedence.
        """
        for path, _checkout in self._of_dumps().values():
            if path:
                yield path, "debug_obj"
        coverage = _read(self.root / COVERAGE, CONFIG_BYTES)
        for path in below(coverage, "projects"):
            yield path, COVERAGE
        for key in below(_read(self.root / USAGE, CONFIG_BYTES), "entries"):
            if key.startswith(_KEY_PREFIX):
                path = unescape_key(key[len(_KEY_PREFIX) :].partition(":")[0])
                yield path, USAGE

    def _of_dumps(self) -> dict[str, tuple[str, str]]:
        """Return workspace id -> (project path, workspace path), from the newest dump of each workspace.

        A dump is a file in which the agent records one run of its memory writer.
        """
        if self._dumps is None:
            self._dumps = {}
            for workspace_id, directory in dump_places(self.root).directories[:_MOST_DUMPS]:
                # Names begin with the time of the run.
                newest = next(iter(reversed(file_names(directory, []))), None)
                dump = _read(directory / newest, _DUMP_BYTES) if newest else {}
                self._dumps[workspace_id] = (text_at(dump, "projectPath"), text_at(dump, "workspacePath"))
        return self._dumps


def _read(path: Path, limit: int) -> Mapping[str, Any]:
    try:
        data = read_json(path, limit)
    except (OSError, ValueError):
        return {}  # its own view reports what is wrong with the file
    return data if isinstance(data, dict) else {}
