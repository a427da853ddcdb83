"""What a home is: the one interface through which every other room sees an agent's state directory.

A `Home` gives identity, scopes and their roots, caps, companions, modes and the names of its sidecars. It
holds all constants of its agent; the store, the runs and the window hold none. A home only reads: it opens no
file for writing, creates nothing, and raises `Unavailable` when its directory cannot be reached (a vanished
home is unavailable, not empty). The values it speaks in: `scopes` (where memories live), `listing` (what
there is), `agents` (what the agent's own jobs keep and wish).

Threading: implementations are immutable or re-read on each call; they may be called from any thread but the
GUI's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from reverie.agents.scopes import (
    EDITABLE,
    FileRole,
    FileRule,
    Refusal,
    Scope,
    ScopeContext,
    ScopeRoot,
    ScopeUnavailable,
)
from reverie.errors import Unavailable
from reverie.files.paths import is_directory

if TYPE_CHECKING:
    from reverie.agents.capabilities import (
        AgentCheck,
        AgentDreamConfig,
        AgentJob,
        AgentLock,
        AgentWriterConfig,
        ComparableText,
        DumpPlaces,
        MemoryKinds,
        ModelService,
        NotesPlace,
        Records,
        RootChange,
        StatusLine,
        WriteLock,
        WriterPlace,
    )
    from reverie.agents.scopes import Caps
    from reverie.agents.transcripts import ReadableTranscript, Transcript


class Home(Protocol):
    """One agent's state directory."""

    @property
    def kind(self) -> str: ...
    @property
    def root(self) -> Path: ...
    @property
    def label(self) -> str: ...
    @property
    def caps(self) -> Caps: ...
    @property
    def usage_sidecar(self) -> Path | None:
        """Where the agent keeps pins and usage; None: Reverie keeps them in its own data directory."""

    @property
    def coverage_sidecar(self) -> Path | None:
        """Where the agent keeps coverage records; None: Reverie keeps them in its own data directory."""

    def available(self) -> bool:
        """Whether the home's directory is there now."""

    def contents(self) -> HomeContents:
        """Projects, workspaces and what is wrong with their lists. Reads the disk at each call."""

    def context(
        self, *, workspace_id: str | None = None, project_path: str | None = None, project_given: bool = False
    ) -> ScopeContext:
        """The scope context for a workspace, a project, both or neither.

        With `project_given` the caller named the project (`None` or `""`: no project); else it is looked up
        by workspace. Raises `Unavailable` for a workspace id that cannot be a directory name.
        """

    def scope_root(self, context: ScopeContext, scope: Scope) -> ScopeRoot:
        """Where the scope lives (the directory need not exist). Raises `ScopeUnavailable`."""

    def roots(self, contents: HomeContents | None = None) -> tuple[ScopeRoot, ...]:
        """Every store that exists on disk, listed in the home or not, in a stable order."""

    def lost_stores(self) -> tuple[LostStore, ...]:
        """What `contents().orphans` names, and the stores of listed projects that are not there now. Dearer
        than `contents`: sidecars are read, and the project paths looked at."""

    def companions(self, context: ScopeContext) -> tuple[Companion, ...]:
        """The files that the agent loads beside its memories in this context; also some that are not there,
        where one would begin them."""

    def write_refusals(self, root: ScopeRoot | None = None) -> tuple[Refusal, ...]:
        """Why nothing may be written into `root`; None asks about the sidecars and companions, which belong
        to the whole home. A refusal for the whole home applies to every root. Empty where the layout and all
        versions are known. Reads the disk at each call; never asks what a person has permitted
        (`memory.write_guard` does)."""

    def file_rule(self, root: ScopeRoot, rel: str) -> FileRule:
        """Whether `rel` (uses `/`; it need not exist) may be changed; for a directory what holds for all in
        it. Pure: no file is read."""

    def file_role(self, root: ScopeRoot, rel: str) -> FileRole:
        """What `rel` is to a dream. Pure: no file is read."""

    def essence(self, text: str) -> ComparableText:
        """What of a memory's text must be kept where two become one. Pure."""

    def followed(self, root: ScopeRoot, change: RootChange) -> Mapping[str, str]:
        """What else becomes of a root's files after a dream, so that its index and links still hold: new
        texts by `rel`. Pure."""

    def records(self) -> Records | None:
        """How a dream sees files that hold many memories each, record by record; None: there are none."""

    def agent_lock(self, context: ScopeContext) -> AgentLock | None:
        """What a consolidation of this context takes beside Reverie's own lease; None: this agent has none,
        or there is nothing to consolidate."""

    def check_content(self, root: ScopeRoot, rel: str, before: bytes | None, after: bytes | None) -> None:
        """Raise `StoreError` where the agent would not accept `rel` (None: no file) as what it would become,
        with the reason as a person needs it. Anything that writes into a store asks this first."""

    def write_lock(self, root: ScopeRoot) -> WriteLock | None:
        """The lock that the agent holds while it rewrites this root; every write of ours takes it. None: this
        agent has none, or nothing of this root exists."""

    def note_path(self, title: str, at_ms: int, source: str = "") -> str:
        """Where a new note from a person to the agent goes, below its global scope; empty: this agent takes
        none. The file is created once and never changed. `source`: the id of what it was made from; it makes
        the name unique."""

    def rendered(self, root: ScopeRoot, rel: str, data: bytes) -> str | None:
        """What a record says, in words and as Markdown; None for a file that is shown as it is. Such a file
        is not `editable`. Pure: `data` is what the file holds."""

    def usage_key(self, root: ScopeRoot, rel: str) -> str | None:
        """The logical key of a file in the usage sidecar; `rel` uses `/`. None where the owner is unknown."""

    def recencies(self) -> tuple[tuple[str, int], ...]:
        """`(workspace id, last user activity in ms)` in the agent's own order."""

    def transcript(self, workspace_id: str) -> Transcript | None:
        """What was said in a workspace; None: this agent keeps nothing that could be harvested. Raises
        `Unavailable` for an id that cannot be a directory name."""

    def session(self, workspace_id: str) -> SessionPlace | None:
        """Where a workspace's transcript lies (it need not exist); None: this agent keeps none that could be
        followed. Raises `Unavailable` for an id that cannot be a directory name."""

    def sessions_in_use(self) -> tuple[SessionPlace, ...]:
        """The transcripts that may still grow: of workspaces that are not archived, those used last first."""

    def use_watched(self) -> tuple[WatchedPlace, ...]:
        """Where it shows that other sessions came into use, or went out of it."""

    def memory_kinds(self) -> MemoryKinds:
        """Which memories the agent in this home loads."""

    def dream_wishes(self, workspace_id: str | None) -> AgentDreamConfig:
        """What the agent itself would dream with in this workspace."""

    def model_services(self) -> tuple[ModelService, ...]:
        """The model services that the agent's own settings name, which Reverie may use too."""

    def workspace(self, workspace_id: str) -> Workspace | None:
        """One workspace without listing the others; None: not listed. Raises `Unavailable` where what the
        home lists cannot be read."""

    def writer_place(self, workspace_id: str) -> WriterPlace | None:
        """Where the agent's memory writer keeps its things; None: this agent has none. Raises `Unavailable`
        for an id that cannot be a directory name."""

    def notes_place(self, session_id: str) -> NotesPlace | None:
        """Where the notes of a session lie; None: no such session, or this agent keeps no notes. Raises
        `Unavailable` for an id that cannot be a directory name."""

    def dump_places(self) -> DumpPlaces | None:
        """The trace dumps on disk, of workspaces that are listed or not; None: this agent makes none."""

    def writer_wishes(self, workspace_id: str) -> AgentWriterConfig:
        """What the agent itself would write memories with in this workspace."""

    def agent_status(self, context: ScopeContext) -> tuple[StatusLine, ...]:
        """What the agent says of its own background jobs, for a footer; empty where it keeps nothing."""

    def agent_jobs(self) -> tuple[AgentJob, ...]:
        """The agent's own books of background jobs, newest first; empty where it keeps none."""

    def checks(self) -> tuple[AgentCheck, ...]:
        """The agent's own gates of its background jobs, for the doctor. Reads the disk."""

    def sources(self, project_path: str | None = None) -> tuple[TranscriptSource, ...]:
        """The transcripts of one project, or all; newest first. Opens none of them."""

    def open_source(self, source: TranscriptSource) -> ReadableTranscript:
        """The transcript to read; opening it reads nothing yet."""

    def source_title(self, source: TranscriptSource) -> str:
        """The title, if need be by reading the beginning of the transcript; empty where it has none."""

    def learn_titles(self, most: int, project_path: str | None = None) -> TitlesRead:
        """Read the titles of up to `most` workspaces (of one project) that are not known yet, newest first,
        and keep them in Reverie's cache. None is read for an agent whose list names them. Blocks on disk."""

    def learn(self, project_path: str) -> str:
        """What a listed project is called once its own files were asked, if only they tell; somebody asked
        for it. What was learned is kept in Reverie's cache."""

    def source_told(self, source: TranscriptSource) -> TranscriptSource:
        """The source with all that the beginning of the transcript tells: title, project, state."""

    def watched(self) -> tuple[WatchedPlace, ...]:
        """What to watch beside the memory roots: parents (new roots show there), sidecars, companions."""


# What a home lists: projects with their workspaces, transcripts, companions, stores that nobody owns, and
# what to watch. Values only.
#
# Named tuples, because the names wait for this module: a frozen data class takes many times as long to
# make. Threading: immutable, so any thread.


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


class TranscriptSource(NamedTuple):
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


# What most homes have in common: a directory with a name, and nothing of what only some agents keep.
#
# A home of this kind overrides what its agent does keep. Threading and failure: as `agents.base` says. What
# only some jobs are about (`agents.capabilities`) is imported by those: listing names is on the way to the
# first paint.


class PlainHome:
    """The members of `agents.base.Home` for an agent without sidecars, workspaces, dumps and a writer."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._root)!r})"

    @property
    def root(self) -> Path:
        return self._root

    @property
    def label(self) -> str:
        user = os.path.expanduser("~")  # noqa: PTH111 - Path.expanduser raises where there is no user
        text = str(self._root)
        return f"~{text[len(user) :]}" if text.startswith(user + os.sep) else text

    @property
    def usage_sidecar(self) -> Path | None:
        return None

    @property
    def coverage_sidecar(self) -> Path | None:
        return None

    def available(self) -> bool:
        return is_directory(self._root)

    def lost_stores(self) -> tuple[LostStore, ...]:
        return ()

    def companions(self, context: ScopeContext) -> tuple[Companion, ...]:
        return ()

    def write_refusals(self, root: ScopeRoot | None = None) -> tuple[Refusal, ...]:
        if root is None or not root.read_only:
            return ()
        title = "Reverie does not write into memories that the agent does not use."
        return (Refusal("not-in-use", root.key, title, root.read_only, "", permissible=False),)

    def file_rule(self, root: ScopeRoot, rel: str) -> FileRule:
        return EDITABLE

    def file_role(self, root: ScopeRoot, rel: str) -> FileRole:
        return "memory"

    def essence(self, text: str) -> ComparableText:
        from reverie.agents.capabilities import ComparableText

        return ComparableText(text)

    def followed(self, root: ScopeRoot, change: RootChange) -> Mapping[str, str]:
        return {}

    def records(self) -> Records | None:
        return None

    def agent_lock(self, context: ScopeContext) -> AgentLock | None:
        return None

    def check_content(self, root: ScopeRoot, rel: str, before: bytes | None, after: bytes | None) -> None:
        """Anything goes that the store accepts."""

    def write_lock(self, root: ScopeRoot) -> WriteLock | None:
        return None

    def note_path(self, title: str, at_ms: int, source: str = "") -> str:
        return ""

    def rendered(self, root: ScopeRoot, rel: str, data: bytes) -> str | None:
        return None

    def usage_key(self, root: ScopeRoot, rel: str) -> str | None:
        if root.usage_prefix is None:
            return None
        return root.usage_prefix + rel.replace("%", "%25").replace(":", "%3A")

    def recencies(self) -> tuple[tuple[str, int], ...]:
        return ()

    def transcript(self, workspace_id: str) -> Transcript | None:
        return None

    def session(self, workspace_id: str) -> SessionPlace | None:
        return None

    def sessions_in_use(self) -> tuple[SessionPlace, ...]:
        return ()

    def use_watched(self) -> tuple[WatchedPlace, ...]:
        return ()

    def memory_kinds(self) -> MemoryKinds:
        from reverie.agents.capabilities import MemoryKinds

        return MemoryKinds()

    def dream_wishes(self, workspace_id: str | None) -> AgentDreamConfig:
        from reverie.agents.capabilities import AgentDreamConfig

        return AgentDreamConfig()

    def model_services(self) -> tuple[ModelService, ...]:
        return ()

    def workspace(self, workspace_id: str) -> Workspace | None:
        return None

    def writer_place(self, workspace_id: str) -> WriterPlace | None:
        return None

    def writer_wishes(self, workspace_id: str) -> AgentWriterConfig:
        from reverie.agents.capabilities import AgentWriterConfig

        return AgentWriterConfig(enabled=False)

    def notes_place(self, session_id: str) -> NotesPlace | None:
        return None

    def dump_places(self) -> DumpPlaces | None:
        return None

    def agent_status(self, context: ScopeContext) -> tuple[StatusLine, ...]:
        return ()

    def agent_jobs(self) -> tuple[AgentJob, ...]:
        return ()

    def checks(self) -> tuple[AgentCheck, ...]:
        return ()

    def sources(self, project_path: str | None = None) -> tuple[TranscriptSource, ...]:
        return ()

    def open_source(self, source: TranscriptSource) -> ReadableTranscript:
        raise Unavailable("This agent keeps no transcripts.")

    def source_title(self, source: TranscriptSource) -> str:
        return source.title

    def learn_titles(self, most: int, project_path: str | None = None) -> TitlesRead:
        return TitlesRead()

    def learn(self, project_path: str) -> str:
        return project_path

    def source_told(self, source: TranscriptSource) -> TranscriptSource:
        return source._replace(title=self.source_title(source))

    def _require_available(self) -> None:
        if not self.available():
            raise Unavailable(
                f"The home {self._root} is not there now.",
                cause="It was moved or removed, or its disk is not mounted.",
                next_step="Bring it back, or choose another home.",
            )


def no_workspace(agent: str) -> ScopeUnavailable:
    """For an agent whose memories belong to no workspace."""
    return ScopeUnavailable(
        Scope.WORKSPACE,
        None,
        "There is no workspace memory here.",
        cause=f"{agent} keeps memories per project and for all projects, none per session.",
        permanent=True,
    )
