"""What a home is: the one interface through which every other room sees an agent's state directory.

A `Home` gives identity, scopes and their roots, caps, companions, modes and the names of its sidecars. It
holds all constants of its agent; the store, the runs and the window hold none. A home only reads: it opens no
file for writing, creates nothing, and raises `Unavailable` when its directory cannot be reached (a vanished
home is unavailable, not empty).

Threading: implementations are immutable or re-read on each call; they may be called from any thread but the
GUI's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from reverie.errors import Unavailable

if TYPE_CHECKING:
    from reverie.transcripts.reading import ReadableTranscript
    from reverie.transcripts.turns import Transcript


COMPANIONS = "companions"
"""The key under which the files that an agent loads beside its memories are kept in history and journals;
their root is the home itself."""


class Scope(StrEnum):
    """What a memory belongs to."""

    GLOBAL = "global"
    PROJECT = "project"
    WORKSPACE = "workspace"


class ScopeUnavailable(Unavailable):
    """The scope does not exist for this context, and why. `gap` tells the two reasons apart."""

    def __init__(
        self, scope: Scope, gap: ProjectGap | None, title: str, *, cause: str, next_step: str = ""
    ) -> None:
        super().__init__(title, cause=cause, next_step=next_step)
        self.scope = scope
        self.gap = gap


class ProjectGap(StrEnum):
    """Why a context has no project scope."""

    NO_PROJECT = "no-project"
    MULTI_PROJECT = "multi-project"
    UNKNOWN = "unknown"
    """What the home lists cannot be read at the moment."""


@dataclass(frozen=True, slots=True)
class Caps:
    """The limits of one agent. Bytes are UTF-8 bytes, chars UTF-16 code units."""

    file_bytes: int
    files_per_scope: int
    description_chars: int
    description_prefix_bytes: int
    view_depth: int


@dataclass(frozen=True, slots=True)
class Workspace:
    """One workspace as the home lists it. `project_paths` has 0, 1 or more entries; `bucket` is where it is
    listed; `sub_project` is the part of the bucket's project it works in."""

    id: str
    name: str
    title: str
    path: str
    bucket: str
    project_paths: tuple[str, ...]
    multi_project: bool
    archived: bool = False
    parent_id: str | None = None
    created_at: str = ""
    sub_project: str | None = None


@dataclass(frozen=True, slots=True)
class Project:
    """One project bucket with its workspaces (those of sub-projects merged in), in the home's own order."""

    path: str
    name: str
    workspaces: tuple[Workspace, ...]


@dataclass(frozen=True, slots=True)
class ScopeContext:
    """The ids that turn a memory path into a file. Exactly one of `project_path` and `project_gap` is set.
    `store`: the key of a project store that nobody owns, reached as the project scope; such a context comes
    from `Home.lost_stores` only."""

    workspace_id: str | None
    project_path: str | None
    project_gap: ProjectGap | None = None
    store: str = ""


@dataclass(frozen=True, slots=True)
class ScopeRoot:
    """One directory of memories. `key` names it inside its home for ever: `global`, `project/<dirName>`,
    `workspace/<id>`. `usage_prefix` begins the logical keys of its files; None where nobody knows the
    owner. `without`: what this regular expression matches in full, by its path below the directory, belongs
    to other roots or is the agent's housekeeping, with all below it; empty for none. `private`: what is made
    in it, and the root itself, is for its owner only. `newest`: the agent looks through so many of its notes,
    those changed last, an index not counted; 0 for all of them."""

    scope: Scope
    key: str
    directory: Path
    usage_prefix: str | None
    without: str = ""
    private: bool = False
    newest: int = 0

    def leaves_out(self, rel: str) -> bool:
        """Whether `rel` is none of this root's memories."""
        if not self.without:
            return False
        parts = rel.split("/")
        paths = ("/".join(parts[:length]) for length in range(1, len(parts) + 1))
        return any(re.fullmatch(self.without, path) for path in paths)


@dataclass(frozen=True, slots=True)
class FileRule:
    """Who may change a file of a memory root. `generated`: the agent makes it anew, so that an edit would be
    lost; `read-only`: it is not ours to change, for example a record or what a server keeps. `sentence` says
    so to a person; empty for `editable`. Reverie's own runs obey it like people."""

    kind: Literal["editable", "generated", "read-only"] = "editable"
    sentence: str = ""


EDITABLE = FileRule()


FileRole = Literal["memory", "index", "notes", "log"]
"""What a file is to a dream. `index`: lists the others and follows them; never merged, renamed or deleted.
`notes`: those of one session, `log`: what the agent wrote down of a day; no dream touches either."""


@dataclass(frozen=True, slots=True)
class Essence:
    """A memory's text without what only tells of the file itself (its name, where it came from): what has to
    be kept where two become one. Memories of different kinds never do; empty: no kind."""

    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class DreamtFile:
    """A text of a root after a dream, with the name and description in its front matter (empty: none)."""

    text: str
    name: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class RootChange:
    """What a dream made of one root, by `rel`. `files`: all that stand there now; `gone`: those that do not
    any more, as they were; `moved`: old -> new path; `merged`: of `gone`, which memory took them over;
    `created`: new ones."""

    files: Mapping[str, DreamtFile]
    gone: Mapping[str, DreamtFile]
    moved: Mapping[str, str]
    merged: Mapping[str, str]
    created: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LockBefore:
    """A lock file as it stood. `body` None: it was not there."""

    body: bytes | None
    mtime_ns: int


class AgentLock(Protocol):
    """The file by which an agent tells that it consolidates a store; whoever consolidates takes it."""

    @property
    def file(self) -> Path: ...
    @property
    def holder(self) -> int:
        """Who the lock names while we hold it."""

    def look(self) -> LockBefore:
        """How the lock stands now. Raises `Busy` while another process holds it."""

    def take(self, before: LockBefore) -> None:
        """Take the lock that stands as `look` saw it. Raises `Busy` where another was quicker."""

    def done(self, holder: int) -> None:
        """Give it back after a consolidation. Raises `Conflict` where `holder` does not hold it any more."""

    def put_back(self, before: LockBefore, holder: int) -> None:
        """Make it what it was before. Raises `Conflict` where `holder` does not hold it any more."""


@dataclass(frozen=True, slots=True)
class StatusLine:
    """What the agent itself says of one of its own jobs: read by Reverie, never written. `scope` None: about
    the whole home; `at` UTC ms."""

    scope: Scope | None
    label: str
    text: str
    state: Literal["ok", "running", "warn", "fail"] = "ok"
    at: int | None = None


@dataclass(frozen=True, slots=True)
class AgentJob:
    """One background job in the agent's own books. `about` is what it works on in words, `source_id` the
    transcript, where it is one; times are UTC ms."""

    id: str
    kind: str
    about: str
    state: Literal["waiting", "running", "done", "failed", "stale"]
    sentence: str = ""
    at: int | None = None
    retry_at: int | None = None
    source_id: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A transcript that one may open. `title` empty: not known without reading it. `updated_at` (UTC ms) and
    `size` (bytes) are as the directory says; `state`: what is special about it in a few words; `under`: the
    id of the one it was a part of, empty for none."""

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


@dataclass(frozen=True, slots=True)
class Companion:
    """A file the agent loads beside its memories: shown and editable, never touched by a dream. It may lie
    outside of the home. `note` is a sentence on when the agent loads it; empty for always. `read_only`: why
    it is only shown, as a sentence; empty for one that may be edited."""

    scope: Scope
    path: Path
    label: str
    exists: bool
    note: str = ""
    read_only: str = ""


@dataclass(frozen=True, slots=True)
class Orphan:
    """A store that no project or workspace of the home points at."""

    kind: Literal["project", "workspace", "older-layout"]
    directory: Path
    label: str
    reason: str


@dataclass(frozen=True, slots=True)
class LostStore:
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


@dataclass(frozen=True, slots=True)
class WatchedPlace:
    """Entries directly inside one directory whose changes matter: those named, or all. Below the memory roots
    everything matters; those come from `Home.roots` and are not repeated here. Nothing here need exist."""

    directory: Path
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionPlace:
    """Where the transcript of one workspace lies: `files` inside `directory`, the one that grows last."""

    workspace_id: str
    directory: Path
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MemoryKinds:
    """Which memories this home's agent loads, judged by what it keeps: one file a project, a store of project
    memories. None: nothing tells. `evidence` is a sentence."""

    project_file: bool | None = None
    project_store: bool | None = None
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class WriterPlace:
    """Where the agent's own memory writer keeps its things for one workspace. Nothing here need exist; all
    but `context_instructions` lies inside the home. `memory_file` and `memory_id`: the one file of the
    project, None and empty without a single project. Of each kind of instructions the first file that exists
    counts."""

    state_file: Path
    dump_directory: Path
    memory_file: Path | None
    memory_id: str
    instructions: tuple[Path, ...]
    context_instructions: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class NotesPlace:
    """Where the notes of one session lie: `rel` below `root`, a scope root of the home. `transcript` is the
    session's; `template` and `prompt` are a person's own texts for all sessions. Nothing here need exist."""

    root: ScopeRoot
    rel: str
    transcript: Path
    template: Path
    prompt: Path

    @property
    def file(self) -> Path:
        return self.root.directory / self.rel


@dataclass(frozen=True, slots=True)
class DumpPlaces:
    """Where the agent leaves traces of its memory writer. `root` need not exist; `directories` do, each with
    the id of the workspace it is about."""

    root: Path
    directories: tuple[tuple[str, Path], ...] = ()


@dataclass(frozen=True, slots=True)
class WriterWishes:
    """What the agent's own files say of its memory writer. `interval`: as it stands there, None where nothing
    does. `model`: for the writer itself; `default_model`: for want of any other; both `provider:model`.
    `definition`: the bytes of the agent definition that overrides the built-in prompt; `problem`: why that
    one could not be read."""

    enabled: bool = True
    interval: object = None
    model: str | None = None
    default_model: str | None = None
    definition: bytes | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class DreamWishes:
    """What the agent's own files say of its dream. `model` is `provider:model`; `definition` the bytes of the
    agent definition that overrides the built-in prompt; `problem` why that one could not be read."""

    model: str | None = None
    definition: bytes | None = None
    enabled: bool = True
    problem: str = ""


@dataclass(frozen=True, slots=True)
class HomeContents:
    """What a home lists: read in one go, so that it is consistent in itself. `problems` are sentences on what
    was skipped and why (one bad entry never hides the others)."""

    projects: tuple[Project, ...]
    orphans: tuple[Orphan, ...] = ()
    problems: tuple[str, ...] = field(default=())

    def workspaces(self) -> tuple[Workspace, ...]:
        return tuple(workspace for project in self.projects for workspace in project.workspaces)


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

    def contents(self) -> HomeContents: ...

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

    def companions(self, context: ScopeContext) -> tuple[Companion, ...]: ...

    def file_rule(self, root: ScopeRoot, rel: str) -> FileRule:
        """Whether `rel` (uses `/`; it need not exist) may be changed; for a directory what holds for all in
        it. Pure: no file is read."""

    def file_role(self, root: ScopeRoot, rel: str) -> FileRole:
        """What `rel` is to a dream. Pure: no file is read."""

    def essence(self, text: str) -> Essence:
        """What of a memory's text must be kept where two become one. Pure."""

    def followed(self, root: ScopeRoot, change: RootChange) -> Mapping[str, str]:
        """What else becomes of a root's files after a dream, so that its index and links still hold: new
        texts by `rel`. Pure."""

    def agent_lock(self, context: ScopeContext) -> AgentLock | None:
        """What a consolidation of this context takes beside Reverie's own lease; None: this agent has none,
        or there is nothing to consolidate."""

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

    def dream_wishes(self, workspace_id: str | None) -> DreamWishes:
        """What the agent itself would dream with in this workspace."""

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

    def writer_wishes(self, workspace_id: str) -> WriterWishes:
        """What the agent itself would write memories with in this workspace."""

    def agent_status(self, context: ScopeContext) -> tuple[StatusLine, ...]:
        """What the agent says of its own background jobs, for a footer; empty where it keeps nothing."""

    def agent_jobs(self) -> tuple[AgentJob, ...]:
        """The agent's own books of background jobs, newest first; empty where it keeps none."""

    def sources(self, project_path: str | None = None) -> tuple[Source, ...]:
        """The transcripts of one project, or all; newest first. Opens none of them."""

    def open_source(self, source: Source) -> ReadableTranscript:
        """The transcript to read; opening it reads nothing yet."""

    def source_title(self, source: Source) -> str:
        """The title, if need be by reading the beginning of the transcript; empty where it has none."""

    def learn(self, project_path: str) -> str:
        """What a listed project is called once its own files were asked, if only they tell; somebody asked
        for it. What was learned is kept in Reverie's cache."""

    def source_told(self, source: Source) -> Source:
        """The source with all that the beginning of the transcript tells: title, project, state."""

    def watched(self) -> tuple[WatchedPlace, ...]:
        """What to watch beside the memory roots: parents (new roots show there), sidecars, companions."""
