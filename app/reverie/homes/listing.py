"""What a home lists: projects with their workspaces, transcripts, companions, stores that nobody owns, and
what to watch. Values only.

Named tuples, because the names wait for this module: a frozen data class takes many times as long to make.
Threading: immutable, so any thread.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from reverie.homes.scopes import Scope, ScopeContext, ScopeRoot


class Workspace(NamedTuple):
    """One workspace as the home lists it. `project_paths` has 0, 1 or more entries; `bucket` is where it is
    listed; `sub_project` is the part of the bucket's project it works in; `updated_at` (UTC ms) is when it
    was used last, None where the list does not say. `scratch`: a chat without a project, whose project memory
    belongs to its own `path`. `dreams_as`: see `ScopeContext`."""

    id: str
    name: str
    title: str
    path: str
    bucket: str
    project_paths: tuple[str, ...]
    multi_project: bool
    archived: bool = False
    parent_id: str | None = None
    sub_project: str | None = None
    updated_at: int | None = None
    scratch: bool = False
    dreams_as: str | None = None

    @property
    def label(self) -> str:
        """The name it goes by, everywhere."""
        return self.title or self.name or self.id

    @property
    def memory_project(self) -> str | None:
        """The path that its project memory belongs to; None where it has none."""
        if self.multi_project:
            return None
        return self.path if self.scratch else (*self.project_paths, self.bucket)[0]


class Project(NamedTuple):
    """One project bucket with its workspaces (those of sub-projects merged in), in the home's own order."""

    path: str
    name: str
    workspaces: tuple[Workspace, ...]


class TitlesRead(NamedTuple):
    """What `Home.learn_titles` did."""

    read: int = 0
    """How many titles were read; 0 where none is left to read."""
    changed: bool = False
    """Whether the list of workspaces shows anything new for it."""


class Source(NamedTuple):
    """A transcript that one may open. `title` empty: not known without reading it. `updated_at` (UTC ms) and
    `size` (bytes) are as the directory says; `state`: what is special about it in a few words; `under`: the
    id of the one it was a part of, empty for none; `project_name`: the name that a person gave its project,
    empty for none."""

    id: str
    kind: Literal["session", "rollout", "sub-agent"]
    path: Path
    title: str = ""
    project_path: str | None = None
    updated_at: int | None = None
    size: int = 0
    state: str = ""
    archived: bool = False
    under: str = ""
    project_name: str = ""


Loading = Literal[
    "start", "on-demand", "approval", "elsewhere", "replaced", "excluded", "too-large", "unopened"
]
"""When an agent loads a file: when a session starts; when it works on some file; at the start if a person has
agreed to it. `unopened`: at the start, but Reverie never opens such a file. Not at all: `elsewhere`, another
part of the agent reads it; `replaced`, another file counts in its place; `excluded` by a setting;
`too-large`."""


class Companion(NamedTuple):
    """A file the agent loads beside its memories: shown and editable, never touched by a dream. It may lie
    outside of the home. `note` is a sentence on when the agent loads it; empty for always. `read_only`: why
    it is only shown, as a sentence; empty for one that may be edited. `loading`: when the agent loads it.
    `unopened`: why it is named and never opened, as a sentence; empty for one that is opened. `about`: its
    subject in a few words; empty where nothing says it."""

    scope: Scope
    path: Path
    label: str
    exists: bool
    note: str = ""
    read_only: str = ""
    loading: Loading = "start"
    unopened: str = ""
    about: str = ""


class Orphan(NamedTuple):
    """A store that no project or workspace of the home points at."""

    kind: Literal["project", "workspace", "older-layout"]
    directory: Path
    label: str
    reason: str


class LostStore(NamedTuple):
    """A store that nobody works on any more, with all that the home knows of it.

    `missing-project`: the home lists its project, whose directory is not there now; the other kinds are those
    of `Orphan`. `name`: what its project was called, where that can be told. `scope`: where its files belong.
    `context` reaches it through the store under `root`; both None: it lies outside of the scope roots, is in
    no history, and can only be read. `flat`: of `directory` only the notes directly in it. `owner`: the
    listed project that its name, or the home, proves it to be of. `former_path`: where its project once was,
    as `former_source` (a file of the home) still says; `checkouts`: where its repository was, that included.
    """

    kind: Literal["project", "workspace", "missing-project", "older-layout"]
    directory: Path
    label: str
    scope: Scope
    root: ScopeRoot | None = None
    context: ScopeContext | None = None
    name: str = ""
    flat: bool = False
    owner: str = ""
    former_path: str = ""
    former_source: str = ""
    checkouts: tuple[str, ...] = ()


class WatchedPlace(NamedTuple):
    """Entries directly inside one directory whose changes matter: those named, or all. Below the memory roots
    everything matters; those come from `Home.roots` and are not repeated here. Nothing here need exist."""

    directory: Path
    names: tuple[str, ...] = ()


class SessionPlace(NamedTuple):
    """Where the transcript of one workspace lies: `files` inside `directory`, the one that grows last."""

    workspace_id: str
    directory: Path
    files: tuple[str, ...]


class HomeContents(NamedTuple):
    """What a home lists: read in one go, so that it is consistent in itself. `problems` are sentences on what
    was skipped and why (one bad entry never hides the others)."""

    projects: tuple[Project, ...]
    orphans: tuple[Orphan, ...] = ()
    problems: tuple[str, ...] = ()

    def workspaces(self) -> tuple[Workspace, ...]:
        """The workspaces of all projects."""
        return tuple(workspace for project in self.projects for workspace in project.workspaces)
