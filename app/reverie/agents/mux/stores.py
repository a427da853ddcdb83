"""Where mux keeps memories as roots of scopes, its trace dumps, and the stores that nobody is listed for
(formats/mux.md sections 2, 3, 8, 9 and 14).

Only reads. Threading: any thread but the GUI's; project paths may be on slow disks. Failure: as `agents.base`
says; what cannot be listed is a sentence in `problems`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agents.base import HomeContents, LostStore, Orphan, WatchedPlace
from reverie.agents.mux.config import AGENT, MuxConfig, below, text_at
from reverie.agents.mux.locations import (
    CONFIG_BYTES,
    COVERAGE,
    MULTI_PROJECT_BUCKET,
    USAGE,
    base_name,
    escape_key,
    is_plain_component,
    project_dir_name,
)
from reverie.agents.reading import directory_names, file_names, read_json
from reverie.agents.scopes import ProjectGap, Scope, ScopeContext, ScopeRoot
from reverie.files.paths import is_directory
from reverie.text.summaries import some

if TYPE_CHECKING:
    from reverie.agents.capabilities import DumpPlaces


_OLD_PROJECT_STORES = "project-memory"


class MuxStores:
    """The stores of one home."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def global_root(self) -> ScopeRoot:
        """The memories that every workspace sees."""
        return ScopeRoot(Scope.GLOBAL, "global", self._root / "memory" / "global", "global:")

    def project_root(self, name: str, owner: str | None) -> ScopeRoot:
        """The memories of the project directory `name`. `owner`: the project's path; None where nobody is
        known to own it, and nothing is counted then."""
        prefix = None if owner is None else f"project:{escape_key(owner)}:"
        return ScopeRoot(Scope.PROJECT, f"project/{name}", self._root / "memory" / "project" / name, prefix)

    def workspace_root(self, name: str) -> ScopeRoot:
        """The memories of one workspace."""
        directory = self._root.joinpath("sessions", name, "memory")
        return ScopeRoot(Scope.WORKSPACE, f"workspace/{name}", directory, f"workspace:{escape_key(name)}:")

    def project_stores(self, owners: Mapping[str, str], problems: list[str]) -> list[str]:
        """Names below memory/project, sorted. Dot-names that nobody owns are of tools (.git), not stores."""
        names = directory_names(self._root / "memory" / "project", problems)
        return [name for name in names if name in owners or not name.startswith(".")]

    def sessions(self, listed: set[str], problems: list[str]) -> list[str]:
        """Names below sessions, sorted, again without those of tools."""
        names = directory_names(self._root / "sessions", problems)
        return [name for name in names if name in listed or not name.startswith(".")]

    def has_memory(self, name: str) -> bool:
        """Whether a workspace has a memory directory."""
        # Asked thousands of times, where a Path costs more than the question.
        return os.path.isdir(f"{self._root}/sessions/{name}/memory")  # noqa: PTH112

    def orphans(self, config: MuxConfig, problems: list[str]) -> Iterator[Orphan]:
        """The stores that nobody in the config owns. What cannot be read is added to `problems`."""
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
                    "No workspace in config.json has this id.",
                )

    def older_layouts(self, config: MuxConfig, problems: list[str]) -> Iterator[Orphan]:
        """What versions of June 2026 left behind; no migration was ever shipped."""
        memory = self._root / "memory"
        loose = [name for name in file_names(memory, problems) if _is_note(name)]
        if loose:
            shown = f"memory/ ({some(len(loose), 'loose file')})"
            yield Orphan("older-layout", memory, shown, "Global memory lay here until 13 June 2026.")
        owners = owners_of(HomeContents(config.projects))
        reason = "Project memory lay here until 13 June 2026."
        for name in directory_names(self._root / _OLD_PROJECT_STORES, problems):
            yield Orphan(
                "older-layout", self._root / _OLD_PROJECT_STORES / name, owners.get(name, name), reason
            )


def owners_of(contents: HomeContents) -> dict[str, str]:
    """Store directory name -> the project path it was made from. The names are one-way, so every path that
    config.json mentions is tried."""
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


# Trace dumps of the memory writer: `debug_obj/<workspace>/system1_memory_writer/*.json` (section 14).


DUMPS = "debug_obj"
# Not workspaces: copies of memories, and errors of the agent's own interface.
_OTHERS = frozenset({"memories", "orpc"})
_MOST = 2_000


def dump_places(root: Path) -> DumpPlaces:
    """The directories of dumps there are now."""
    from reverie.agents.capabilities import DumpPlaces  # late: no name that is listed needs it

    found = [(name, root / DUMPS / name / AGENT) for name in _workspaces(root)]
    return DumpPlaces(root / DUMPS, tuple((name, path) for name, path in found if is_directory(path)))


def watched_dumps(root: Path) -> tuple[WatchedPlace, ...]:
    """What to watch so that a new dump is seen, also the first of a workspace."""
    names = _workspaces(root)
    return (
        WatchedPlace(root / DUMPS),
        *(WatchedPlace(root / DUMPS / name, (AGENT,)) for name in names),
        *(WatchedPlace(path) for _name, path in dump_places(root).directories),
    )


def _workspaces(root: Path) -> list[str]:
    names = directory_names(root / DUMPS, [])
    return [name for name in names if name not in _OTHERS and is_plain_component(name)][:_MOST]


# Orphaned stores, and what the home still knows of them (sections 2, 3, 8, 9 and 14). A store directory is
# named by a one-way hash of its project's path; sidecars and traces still name paths, and hashing those
# tells which store belonged to which. Of a project's own directory only its existence and that of its
# `.mux/memory` is looked at.


_KEY_PREFIX = "project:"
_DUMP_BYTES = 8 << 20
_MOST_DUMPS = 200
_CHECKOUT_STORE = (".mux", "memory")


def lost_stores(
    root: Path, contents: HomeContents, roots: Sequence[ScopeRoot], owners: Mapping[str, str]
) -> tuple[LostStore, ...]:
    """In the order of `contents.orphans`, then those of missing projects, then those left in checkouts.
    `owners`: store directory name -> the listed project path it was made from."""
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
    name = orphan.directory.name
    if orphan.kind == "project":
        path, source = former.of_store(name)
        context = ScopeContext(None, None, ProjectGap.NO_PROJECT, store=root.key) if root else None
        return LostStore(
            *("project", orphan.directory, orphan.label, Scope.PROJECT, root, context),
            name=base_name(path) or _base(name),
            former_path=path,
            former_source=source,
            checkouts=(path,) if path else (),
        )
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
    path, source = ("", "") if name in owners else former.of_store(name)
    return LostStore(
        *("older-layout", orphan.directory, orphan.label, Scope.PROJECT),
        name=base_name(owners.get(name, path)) or _base(name),
        owner=owners.get(name, ""),
        former_path=path,
        former_source=source,
        checkouts=(path,) if path else (),
    )


def _of_missing_projects(
    roots: Mapping[Path, ScopeRoot], owners: Mapping[str, str], contents: HomeContents
) -> Iterator[LostStore]:
    """Stores of listed projects that were moved or deleted."""
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
    """What the version of 12 June 2026 left in the repositories themselves."""
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
    """Paths that projects of this home once had. Read on first use, once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._stores: dict[str, tuple[str, str]] | None = None
        self._dumps: dict[str, tuple[str, str]] | None = None

    def of_store(self, name: str) -> tuple[str, str]:
        """The path that a store directory was named after and the file that tells; empty if none does."""
        if self._stores is None:
            self._stores = {project_dir_name(path): (path, file) for path, file in self._named()}
        return self._stores.get(name, ("", ""))

    def of_workspace(self, workspace_id: str) -> tuple[str, str, tuple[str, ...]]:
        """The project path of a workspace, the file that tells, and where its repository was checked out."""
        metadata = _read(self.root / "sessions" / workspace_id / "metadata.json", _DUMP_BYTES)
        path, checkout = text_at(metadata, "projectPath"), text_at(metadata, "workspacePath")
        source = f"sessions/{workspace_id}/metadata.json"
        if not path:
            path, checkout = self._of_dumps().get(workspace_id, ("", ""))
            source = f"debug_obj/{workspace_id}"
        return path, source if path else "", tuple(each for each in (checkout, path) if each)

    def _named(self) -> Iterator[tuple[str, str]]:
        """Weakest first: what comes later counts."""
        for path, _checkout in self._of_dumps().values():
            if path:
                yield path, "debug_obj"
        coverage = _read(self.root / COVERAGE, CONFIG_BYTES)
        for path in below(coverage, "projects"):
            yield path, COVERAGE
        for key in below(_read(self.root / USAGE, CONFIG_BYTES), "entries"):
            if key.startswith(_KEY_PREFIX):
                path = _unescaped(key[len(_KEY_PREFIX) :].partition(":")[0])
                yield path, USAGE

    def _of_dumps(self) -> dict[str, tuple[str, str]]:
        """Workspace id -> the project and workspace paths in its newest trace."""
        if self._dumps is None:
            self._dumps = {}
            for workspace_id, directory in dump_places(self.root).directories[:_MOST_DUMPS]:
                # Names begin with the time of the run.
                newest = next(iter(reversed(file_names(directory, []))), None)
                dump = _read(directory / newest, _DUMP_BYTES) if newest else {}
                self._dumps[workspace_id] = (text_at(dump, "projectPath"), text_at(dump, "workspacePath"))
        return self._dumps


def _base(store: str) -> str:
    """What a store's directory name tells of its project's name."""
    return store.rpartition("-")[0] or store


def _read(path: Path, limit: int) -> Mapping[str, Any]:
    try:
        data = read_json(path, limit)
    except (OSError, ValueError):
        return {}  # it tells nothing; whoever shows the file itself says what is wrong with it
    return data if isinstance(data, dict) else {}


def _unescaped(component: str) -> str:
    return component.replace("%3A", ":").replace("%25", "%")
