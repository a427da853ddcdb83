"""The `Home` interface, through which every other package sees an agent's state directory.

A `Home` has sixteen core members (identity, contents, contexts, roots, caps, rules, places to watch), of
which an agent must write seven, and optional capabilities that only some agents have. All constants of an
agent are in its home; the store, the runs and the window contain none, and never test which agent a home
belongs to. A home only reads: it opens no file for writing, creates nothing, and raises `Unavailable` when
its directory cannot be reached (a vanished home is unavailable, not empty).

The optional capabilities are protocols in this module, because they name its values; their other types are in
`agents.capabilities`. A home that inherits from such a protocol gets the defaults of its methods. This module
is needed before the first paint, so it imports `agents.capabilities` for its types only.

Threading: implementations are immutable or re-read on each call; they may be called from any thread but the
GUI's.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from reverie.agents.scopes import (
    EDITABLE,
    FileRole,
    FileRule,
    ProjectGap,
    Refusal,
    Scope,
    ScopeContext,
    ScopeRoot,
    ScopeUnavailable,
    escape_key,
)
from reverie.errors import Unavailable, UserError
from reverie.files.directory import is_directory
from reverie.values import Struct

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
        RootChange,
        SessionMeter,
        StatusLine,
        Thread,
        WriteLock,
        WriterPlace,
    )
    from reverie.agents.scopes import Caps
    from reverie.agents.transcripts import ReadableTranscript, Transcript


class Home(ABC):
    """One agent's state directory, such as `~/.codex`, and the operations that every agent supports.

    The attributes from `sidecars` to `orphans` are features that only some agents have. Each is None if the
    agent lacks the feature; otherwise it is an object with the methods of the feature, often the home itself.
    To learn whether an agent has a feature, test whether the attribute is None: an empty result of a method
    only means that there is nothing to return now.
    """

    # Capabilities: protocols below. A home sets those that it has when it is made.

    sidecars: Sidecars | None = None
    """The agent's files of pins, use counts and coverage; None: Reverie stores these in its own directory."""
    transcripts: Transcripts | None = None
    """Transcripts that can be opened."""
    sessions: Sessions | None = None
    """The workspaces in use, with transcripts that may still grow."""
    writer: AgentWriter | None = None
    """A memory writer of the agent, and the chats that this writer reads."""
    notes: AgentNotes | None = None
    """Notes that the agent keeps of each session."""
    jobs: AgentJobs | None = None
    """The state of the agent's own background jobs."""
    consolidation: ConsolidationRules | None = None
    """Rules for consolidations, in addition to the rule of each file."""
    store_rules: StoreRules | None = None
    """Rules of a store that the agent rewrites itself: accepted contents, its lock, notes to the agent."""
    extraction: Extraction | None = None
    """The threads from which memories can be extracted."""
    models: ModelPreferences | None = None
    """Models and services that the agent's own settings name."""
    failures: FailureStore | None = None
    """A store of failures and the lessons learnt from them."""
    orphans: OrphanedStores | None = None
    """The stores that no project or workspace refers to."""
    consolidates: bool = True
    """Whether a consolidation (a run that tidies memories) can change the agent's memories."""
    lists_descriptions: bool = False
    """Whether the agent starts a session with a list of all memories and their descriptions."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._root)!r})"

    # Identity

    @property
    @abstractmethod
    def kind(self) -> str:
        """The agent's short name for use in scripts, one of the names in `discovery.KINDS`.

        Code outside of `agents` must not branch on it, but test the optional capabilities.
        """

    @property
    def root(self) -> Path:
        return self._root

    @property
    def label(self) -> str:
        """The home's name for a person: its path, with `~` for the user's directory."""
        user = os.path.expanduser("~")  # noqa: PTH111 - Path.expanduser raises where there is no user
        text = str(self._root)
        return f"~{text[len(user) :]}" if text.startswith(user + os.sep) else text

    @property
    @abstractmethod
    def caps(self) -> Caps:
        """The agent's limits, for example on the size and number of memory files."""

    def available(self) -> bool:
        """Return whether the home's directory exists now."""
        return is_directory(self._root)

    # Contents, contexts, roots

    @abstractmethod
    def contents(self) -> HomeContents:
        """Return the home's projects and workspaces, with messages about data that could not be read.

        Reads the disk at each call.
        """

    @abstractmethod
    def context(
        self, *, workspace_id: str | None = None, project_path: str | None = None, project_given: bool = False
    ) -> ScopeContext:
        """Return the scope context of a workspace, of a project, of both or of neither.

        `workspace_id`: None for no workspace. `project_path`: the path of the project. If it is None, the
        result has the workspace's own project or, if `project_given` is True, no project. Raises
        `Unavailable` for a `workspace_id` that cannot be a directory name.
        """

    @abstractmethod
    def scope_root(self, context: ScopeContext, scope: Scope) -> ScopeRoot:
        """Return the memory directory of `scope` in `context`; it need not exist.

        Raises `ScopeUnavailable` if the context has no such scope.
        """

    @abstractmethod
    def roots(self, contents: HomeContents | None = None) -> tuple[ScopeRoot, ...]:
        """Return every memory directory that exists on disk, in a stable order.

        Includes directories of projects and workspaces that the home does not list. `contents`: the result of
        `contents()` if the caller has it; None: it is read here.
        """

    @abstractmethod
    def watched(self) -> tuple[WatchedPlace, ...]:
        """Return the places to watch for changes, in addition to the memory directories.

        These are the directories in which new memory directories appear, and the files beside the memories:
        the agent's own data files (sidecars) and the companions, such as CLAUDE.md.
        """

    def companions(self, context: ScopeContext) -> tuple[Companion, ...]:
        """Return the files that the agent loads beside its memories in this context, such as CLAUDE.md.

        Includes missing files that a person may create.
        """
        return ()

    # Rules

    def write_refusals(self, root: ScopeRoot | None = None) -> tuple[Refusal, ...]:
        """Return the reasons why Reverie must not write into `root`; empty if it may.

        With `root=None`, the reasons apply to the sidecars (the agent's data files beside its memories) and
        the companions, which belong to the whole home. A reason that applies to the whole home also applies
        to every root. Reads the disk at each call. A person may have permitted writing in spite of a reason;
        only `memory.write_guard` checks this.
        """
        if root is None or not root.read_only:
            return ()
        title = "Reverie does not change memories that the agent does not use."
        return (Refusal("not-in-use", root.key, title, root.read_only, "", permissible=False),)

    def file_rule(self, root: ScopeRoot, rel: str) -> FileRule:
        """Return the rule that says whether the file `rel` of `root` may be changed.

        `rel`: the path below the root, with `/`; it need not exist. For a directory, the rule applies to all
        files in it. Pure: reads no file.
        """
        return EDITABLE

    def file_role(self, root: ScopeRoot, rel: str) -> FileRole:
        """Return the role of the file `rel` of `root` in a consolidation, such as memory, index or log.

        `rel`: the path below the root, with `/`. Pure: reads no file.
        """
        return "memory"

    def loads_whole(self, root: ScopeRoot, rel: str) -> bool:
        """Return whether the agent loads all of the file `rel` of `root` when a session starts.

        Pure: reads no file.
        """
        return False

    def usage_key(self, root: ScopeRoot, rel: str) -> str | None:
        """Return the key of the file `rel` in the record of uses and pins, or None.

        None if the owner of `root` is unknown. `rel`: the path below the root, with `/`.
        """
        if root.usage_prefix is None:
            return None
        return root.usage_prefix + escape_key(rel)

    def rendered(self, root: ScopeRoot, rel: str, data: bytes) -> str | None:
        """Return a record or database of the agent as Markdown; None for a file to show as it is.

        `rel`: the path of the file below `root`. `data`: the content of the file, so that it is not read
        again; only a database is read from disk. The file rule of such a file is never `editable`.
        """
        return None

    def _require_available(self) -> None:
        if not self.available():
            raise Unavailable(
                f"The home {self._root} is not available.",
                cause="It was moved or removed, or its disk is not mounted.",
                next_step="Restore the home, or choose another one.",
            )


class Workspace(Struct, frozen=True):
    """One workspace (a place in which an agent works, such as a checkout or a chat), listed by the home."""

    id: str
    name: str
    title: str
    path: str
    bucket: str
    """The path of the project under which the home lists the workspace."""
    project_paths: tuple[str, ...]
    """The paths of the workspace's projects; may be empty."""
    multi_project: bool
    """Whether the workspace belongs to several projects; then it has no project memory."""
    archived: bool = False
    parent_id: str | None = None
    sub_project: str | None = None
    """The path of the sub-project in which the workspace is; None if it is in none."""
    updated_at: int | None = None
    """The time at which the workspace was last used (UTC ms); None if unknown."""
    scratch: bool = False
    """Whether the workspace is a chat without a project; its project memory belongs to its own `path`."""
    dreams_as: str | None = None
    """The project for which consolidations are recorded; see `ScopeContext.dreams_as`."""

    @property
    def label(self) -> str:
        """The name of the workspace for people: its title, or else its name, or else its id."""
        return self.title or self.name or self.id

    @property
    def memory_project(self) -> str | None:
        """The path of the project whose memory the workspace uses; None if it has no project memory."""
        if self.multi_project:
            return None
        return self.path if self.scratch else (*self.project_paths, self.bucket)[0]


class Project(Struct, frozen=True):
    """One project in the home's list."""

    path: str
    name: str
    workspaces: tuple[Workspace, ...]
    """The project's workspaces, including those of sub-projects, in the home's own order."""


class TitlesRead(Struct, frozen=True):
    """The result of reading unknown titles of workspaces from transcripts (`Sessions.learn_titles`)."""

    read: int = 0
    """The number of titles that were read; 0 if no title is left to read."""
    changed: bool = False
    """Whether the list of workspaces now shows anything new."""


class TranscriptSource(Struct, frozen=True):
    """A transcript that can be opened, as listed without opening it."""

    id: str
    kind: Literal["session", "rollout", "sub-agent"]
    path: Path
    title: str = ""
    """The title; empty if it is only known after reading the transcript."""
    project_path: str | None = None
    updated_at: int | None = None
    """The time at which the transcript's file last changed (UTC ms); None if unknown."""
    size: int = 0
    """The size in bytes."""
    state: str = ""
    """A special state in a few words, such as "session notes"; empty if there is none."""
    archived: bool = False
    under: str = ""
    """The id of the session to which a sub-agent's transcript belongs.

    Empty if that is unknown, and for a transcript of another kind.
    """
    project_name: str = ""
    """The name that a person gave the project; empty if there is none."""


LoadState = Literal["full", "part", "line", "listed", "needed"]
"""The degree to which a new session of the agent loads a file.

`full`: all of its text. `part`: a part of its text. `line`: the line that names it in an index. `listed`:
only its name and description. `needed`: nothing until it is needed.
"""


class LoadedNext(Struct, frozen=True):
    """The files that a new session loads and an earlier one did not, and the reverse.

    A file counts as loaded if any part of its text is loaded. A file is identified by its memory path or, if
    it is outside of the memories, by its path on disk.
    """

    entered: tuple[str, ...] = ()
    """The files that are loaded now and were not before."""
    left: tuple[str, ...] = ()
    """The files that were loaded before and no longer are."""

    def __bool__(self) -> bool:
        return bool(self.entered or self.left)


def loaded_next(before: Mapping[str, LoadState], after: Mapping[str, LoadState]) -> LoadedNext:
    """Return the files that are loaded only in `after`, and those that are loaded only in `before`.

    `before` and `after`: path -> load state.
    """
    was, now = (
        {path for path, state in each.items() if state in ("full", "part")} for each in (before, after)
    )
    return LoadedNext(tuple(sorted(now - was)), tuple(sorted(was - now)))


def loaded_next_from(raw: object) -> LoadedNext:
    """Return the `LoadedNext` that the details of a run contain as the JSON value `raw`.

    Return an empty one if `raw` has another form.
    """
    match raw:
        case {"entered": [*entered], "left": [*left]}:
            return LoadedNext(tuple(map(str, entered)), tuple(map(str, left)))
    return LoadedNext()


def signed_names(change: LoadedNext) -> str:
    """Return the names of the files in `change` as text, such as `+ pr-checklist − deploy`.

    `+` marks files that are newly loaded, `−` files that are no longer loaded.
    """
    names = [f"+ {_short_name(path)}" for path in change.entered]
    names += [f"− {_short_name(path)}" for path in change.left]
    return "  ".join(names)


def _short_name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2].removesuffix(".md")


Loading = Literal[
    "start", "on-demand", "approval", "elsewhere", "replaced", "excluded", "too-large", "unopened"
]
"""The condition under which an agent loads a file.

`start`: when a session starts. `on-demand`: when it works on certain files. `approval`: at the start if a
person has agreed. `unopened`: at the start, but Reverie never opens such a file. The others are not loaded:
`elsewhere`, another part of the agent reads it; `replaced`, another file is loaded in its place; `excluded`
by a setting; `too-large`.
"""


class Companion(Struct, frozen=True):
    """A file that the agent loads beside its memories, such as CLAUDE.md; it may lie outside of the home.

    A consolidation never changes it. A person may edit it, unless `read_only` or `unopened` says why not.
    """

    scope: Scope
    path: Path
    label: str
    exists: bool
    """Whether the file exists; a missing file is listed so that a person can create it."""
    note: str = ""
    """A sentence about the file, for example when the agent loads it; may be empty."""
    read_only: str = ""
    """The reason why the file cannot be edited, as a sentence; empty if it can."""
    loading: Loading = "start"
    """The condition under which the agent loads the file."""
    unopened: str = ""
    """The reason why Reverie lists the file but never opens it, as a sentence; empty if it opens the file."""
    about: str = ""
    """The subject of the file in a few words; empty if unknown."""


class Orphan(Struct, frozen=True):
    """A store (directory of memories) to which no project or workspace of the home refers."""

    kind: Literal["project", "workspace", "older-layout", "older-name"]
    """The reason why the store is orphaned.

    `project`, `workspace`: the home lists no project or workspace with the name of the store. `older-layout`:
    an older version of the agent stored memories here. `older-name`: the agent keeps the memory of the same
    project in another directory today.
    """
    directory: Path
    label: str
    """The name of the store for people."""
    reason: str
    """The reason as a sentence."""


class Identity(Struct, frozen=True):
    """The properties by which the repository of a project is recognised; see `claims.same_project`."""

    roots: tuple[str, ...] = ()
    """The hex ids of commits without parents, sorted; empty if unknown, as in a shallow clone."""
    remotes: tuple[str, ...] = ()
    """The addresses of all remotes, sorted, in the form of `claims.identity.remote_key`."""
    origin: str = ""
    """The address of the remote `origin`, or of the only remote; empty if there is none."""
    below: str = ""
    """The path of the project below the root of the checkout, with `/`; empty for the root itself."""
    common: str = ""
    """The git directory that all worktrees of the repository share."""
    worktree: bool = False
    """Whether the project is in a linked worktree."""

    def __bool__(self) -> bool:
        return bool(self.roots or self.remotes or self.common)


class LostStore(Struct, frozen=True):
    """What is known about a store (directory of memories) that no listed project or workspace uses."""

    kind: Literal["project", "workspace", "missing-project", "older-layout", "older-name", "other-checkout"]
    """The reason why nothing uses the store.

    `missing-project`: the home lists its project, whose directory does not exist now. `other-checkout`: its
    project exists, but most notes about the same repository are in another store. The others are as in
    `Orphan.kind`.
    """
    directory: Path
    label: str
    """The name of the store for people."""
    scope: Scope
    """The scope to which the files of the store belong."""
    root: ScopeRoot | None = None
    """The scope root of the store; None if it is outside of the scope roots.

    Such a store has no history and can only be read.
    """
    context: ScopeContext | None = None
    """The scope context in which `root` is a scope root; None for a store that has no `root`."""
    name: str = ""
    """The name of the store's project; empty if unknown."""
    flat: bool = False
    """Whether only the notes directly in `directory` belong to the store."""
    owner: str = ""
    """The path of the listed project to which the store belongs; empty if unknown.

    It is only set if the name or the place of the store, or a file of the home, proves this.
    """
    former_path: str = ""
    """A former path of the store's project; empty if unknown."""
    former_source: str = ""
    """The file or directory of the home that names `former_path`; empty if that path is unknown."""
    checkouts: tuple[str, ...] = ()
    """All known paths of the project's repository, including `former_path`; may be empty."""


class Sidecars(Struct, frozen=True):
    """The agent's own data files beside its memories, which Reverie also writes."""

    usage: Path
    """The file with the pins and use counts of memories."""
    coverage: Path
    """The file that records when each workspace and project was last consolidated."""


class WatchedPlace(Struct, frozen=True):
    """A directory whose direct entries are watched for changes; they need not exist.

    The memory roots, below which everything is watched, come from `Home.roots` and are not included here.
    """

    directory: Path
    names: tuple[str, ...] = ()
    """The names of the entries to watch; empty: all entries."""


class SessionPlace(Struct, frozen=True):
    """The directory and the file names of one workspace's transcript."""

    workspace_id: str
    directory: Path
    files: tuple[str, ...]
    """The names of the transcript's files in `directory`; the file that grows is the last."""


class HomeContents(Struct, frozen=True):
    """The projects and workspaces that a home lists, read at one time so that they are consistent."""

    projects: tuple[Project, ...]
    orphans: tuple[Orphan, ...] = ()
    """The stores to which no listed project or workspace refers."""
    problems: tuple[str, ...] = ()
    """Messages about the entries that were skipped, with the reason; one bad entry never hides the others."""

    def workspaces(self) -> tuple[Workspace, ...]:
        """Return the workspaces of all projects."""
        return tuple(workspace for project in self.projects for workspace in project.workspaces)


class Transcripts(Protocol):
    """The agent's transcripts of a home: lists them, and opens one for reading."""

    def sources(self, project_path: str | None = None) -> tuple[TranscriptSource, ...]:
        """Return the transcripts, newest first, without opening any.

        `project_path`: only those of this project; None: of all projects.
        """

    def open_source(self, source: TranscriptSource) -> ReadableTranscript:
        """Return the transcript that `source` names, for reading; nothing is read yet."""

    def described_source(self, source: TranscriptSource) -> TranscriptSource:
        """Return `source`, completed with title, project and state from the beginning of the transcript.

        Unchanged unless overridden, for an agent whose list has all of them.
        """
        return source


class Sessions(Protocol):
    """Access to the agent's workspaces and sessions: their transcripts, last uses, titles and projects."""

    def recencies(self) -> tuple[tuple[str, int], ...]:
        """Return `(workspace id, time of the last user activity in UTC ms)` in the agent's own order."""

    def session_place(self, workspace_id: str) -> SessionPlace | None:
        """Return the directory and files of a workspace's transcript; they need not exist.

        None if there is no workspace `workspace_id`. Raises `Unavailable` for an id that cannot be a
        directory name.
        """

    def sessions_in_use(self) -> tuple[SessionPlace, ...]:
        """Return the places of transcripts that may still grow, most recently used first.

        These belong to workspaces that are not archived.
        """

    def session_watches(self) -> tuple[WatchedPlace, ...]:
        """Return the places to watch in order to notice which sessions are in use."""

    def workspace(self, workspace_id: str) -> Workspace | None:
        """Return the workspace with the id `workspace_id`; None if the home does not list it.

        The other workspaces are not read.

        Raises `Unavailable` if the home's list cannot be read.
        """

    def learn_titles(self, most: int, project_path: str | None = None) -> TitlesRead:
        """Read up to `most` unknown titles of workspaces from transcripts, newest first, into a cache.

        Returns the number of titles read, and whether the list of workspaces changed. `project_path`: read
        only titles of this project's workspaces; None: of all. Titles that are in the agent's own list are
        not read: unless overridden, none are. Blocks on disk.
        """
        return TitlesRead()

    def resolve_project(self, project_path: str) -> str:
        """Return the path of the listed project to which `project_path` belongs.

        If no list of the agent names the project, the project's transcripts are read, which is slow; so call
        this method only for a project that a person chose. The result is stored in Reverie's cache. Unless
        overridden, `project_path` itself.
        """
        return project_path


class AgentWriter(Protocol):
    """Access to an agent's memory writer (a background job that writes memories) and the chats it reads."""

    def transcript(self, workspace_id: str) -> Transcript:
        """Return the transcript of a workspace, which need not exist.

        Raises `Unavailable` for an id that cannot be a directory name.
        """

    def memory_kinds(self) -> MemoryKinds:
        """Return which kinds of memories the agent loads here: one file per project, stores, or both."""

    def writer_place(self, workspace_id: str) -> WriterPlace:
        """Return the paths of the memory writer's files for a workspace; they need not exist.

        Raises `Unavailable` for an id that cannot be a directory name.
        """

    def writer_config(self, workspace_id: str) -> AgentWriterConfig:
        """Return the settings with which the agent itself would write memories in this workspace."""

    def dump_places(self) -> DumpPlaces:
        """Return the existing directories in which the agent records the runs of its memory writer.

        Includes those of workspaces that the home no longer lists.
        """


class AgentNotes(Protocol):
    """Access to the notes that the agent keeps of each session."""

    def notes_place(self, session_id: str) -> NotesPlace | None:
        """Return the files of a session's notes; they need not exist.

        None if there is no such session. Raises `Unavailable` for an id that cannot be a directory name.
        """

    def keeps_no_notes(self, session_id: str) -> Literal["", "remote", "no-compaction"]:
        """Return the reason why the agent itself would write no notes about a session; empty if it would.

        `remote`: the agent runs remotely. `no-compaction`: automatic compaction, for which the notes are
        made, is off.
        """

    def session_scan(self, place: NotesPlace) -> SessionMeter:
        """Return a counter of the messages, tokens and tool calls in the session's transcript.

        Each update of the counter reads only the lines that were added since the last one.
        """

    def session_title(self, place: NotesPlace) -> str:
        """Return the title of the session with the notes at `place`; empty if there is none."""

    def session_messages(self, place: NotesPlace) -> ReadableTranscript:
        """Return the transcript of the session with the notes at `place`, for reading."""


class AgentJobs(Protocol):
    """Access to the state of an agent's own background jobs."""

    def agent_status(self, context: ScopeContext) -> tuple[StatusLine, ...]:
        """Return the state of the agent's own jobs in `context`, as lines for the footer of the window."""

    def agent_jobs(self) -> tuple[AgentJob, ...]:
        """Return the agent's own list of background jobs, newest first; empty unless overridden."""
        return ()

    def checks(self, context: ScopeContext) -> tuple[AgentCheck, ...]:
        """Check the agent's memory and jobs in `context`; return one result for each check.

        The doctor shows them. Reads the disk. Empty if there is nothing to check, and unless overridden.
        """
        return ()


class ConsolidationRules(Protocol):
    """An agent's rules for consolidations, in addition to the rule of each file (`Home.file_rule`)."""

    def comparable(self, text: str) -> ComparableText:
        """Return the parts of the memory `text` that a merge must preserve.

        Pure.
        """

    def index_updates(self, root: ScopeRoot, change: RootChange) -> Mapping[str, str]:
        """Return the edits that keep the index and links valid after `change`: relative path -> new text.

        Pure.
        """

    def agent_lock(self, context: ScopeContext) -> AgentLock | None:
        """Return the agent's own lock, which a consolidation of `context` takes besides Reverie's lease.

        None if there is nothing to lock.
        """


class StoreRules(Protocol):
    """Rules for a store (directory of memories) that the agent rewrites itself."""

    def check_content(self, root: ScopeRoot, rel: str, before: bytes | None, after: bytes | None) -> None:
        """Raise `StoreError` if the agent would not accept the new content of the file `rel`.

        `before` and `after`: the old and the new content; None if there is no file. The error explains the
        reason to a person. All code that writes into a store calls this first.
        """

    def write_lock(self, root: ScopeRoot) -> WriteLock | None:
        """Return the lock that the agent holds while it rewrites `root`; Reverie takes it for every write.

        None if the root does not exist, or if the agent never rewrites it.
        """

    def note_path(self, title: str, at_ms: int, source: str = "") -> str:
        """Return the path for a new note from a person to the agent, relative to its global memory directory.

        The note is created once and never changed. The name contains the time `at_ms` (UTC) and `title`.
        `source`: the id of the thread from which the note is made, to make the name unique; empty for a note
        that a person wrote.
        """


class Extraction(Protocol):
    """Access to the threads (conversations) from which memories can be extracted."""

    @property
    def extracts_to_notes(self) -> bool:
        """Whether Reverie writes extracted memories as notes to the agent, which merges them itself."""

    def threads(self) -> tuple[Thread, ...]:
        """Return every thread, including those of sub-agents."""

    def extracted_at(self) -> Mapping[str, int]:
        """Return thread id -> time (UTC ms) for the threads from which the agent has extracted memories.

        The time is not that of the extraction: it is the time of the last change in the text that the agent
        extracted, so an older time than `Thread.updated_at` means that the thread has new text. Includes
        threads in which the agent found nothing to remember.
        """

    def left_to_agent(self, now_ms: int) -> frozenset[str]:
        """Return the ids of the threads that the agent will extract itself; `now_ms`: the current time (UTC).

        Extracting them as well would store the same memories twice.
        """

    def extraction_model(self) -> str | None:
        """Return the model that the agent's settings name for extraction, as `provider:model`, or None."""

    def note_path(self, title: str, at_ms: int, source: str = "") -> str:
        """Return the path for a new note from Reverie to the agent.

        The arguments are those of `StoreRules.note_path`.
        """


class ModelPreferences(Protocol):
    """Models and services that the agent's own settings name."""

    def dream_config(self, workspace_id: str | None) -> AgentDreamConfig:
        """Return the settings with which the agent itself would consolidate in a workspace.

        `workspace_id` None: the settings for the whole home.
        """

    def model_services(self) -> tuple[ModelService, ...]:
        """Return the services in the agent's settings that Reverie can use, too; none unless overridden."""
        return ()


class FailureStore(Protocol):
    """A store of failures and the lessons learnt from them."""

    @property
    def memory(self) -> Path:
        """The root directory of the store's memories."""

    @property
    def crashes(self) -> Path:
        """The directory of crash records."""

    def database_patterns(self, problems: list[str]) -> tuple[dict[str, Any], ...]:
        """Return the patterns (records of what works and what fails) that only the store's database has.

        Those that a file has too are left out. If the database cannot be read, a message is added to
        `problems`.
        """


class OrphanedStores(Protocol):
    """Access to the orphaned stores: directories of memories to which no project or workspace refers."""

    def lost_stores(self) -> tuple[LostStore, ...]:
        """Return the stores that no listed project or workspace uses, and what is known about each.

        They include `contents().orphans` and the stores of listed projects whose directory is missing. Slower
        than `contents`: it also reads the agent's data files and checks the project paths.
        """


def comparable(home: Home, text: str) -> ComparableText:
    """Return the parts of the memory `text` that a merge must preserve.

    This is the whole text if the agent has no rules for consolidations. Pure.
    """
    from reverie.agents.capabilities import ComparableText  # late: not needed before the first paint

    rules = home.consolidation
    return ComparableText(text) if rules is None else rules.comparable(text)


def check_content(home: Home, root: ScopeRoot, rel: str, before: bytes | None, after: bytes | None) -> None:
    """Raise `StoreError` if the agent would not accept the new content of the file `rel`.

    `before` and `after`: the old and the new content; None if there is no file. An agent without
    `Home.store_rules` accepts everything.
    """
    if (rules := home.store_rules) is not None:
        rules.check_content(root, rel, before, after)


def nothing_chosen(
    scope: Scope, gap: ProjectGap | None, what: str, *, permanent: bool = False
) -> ScopeUnavailable:
    """Return the error for a scope that exists only while a project or a session is selected, and none is.

    `what`: the word for what must be selected, such as "workspace". `gap`: the reason why the context has no
    project scope; None if it has one. `permanent`: whether the agent has no such scope in any context.
    """
    return ScopeUnavailable(
        scope,
        gap,
        f"There is no {scope.value} memory here.",
        cause=f"No {what} is selected.",
        next_step=f"Select a {what}.",
        permanent=permanent,
    )


def no_workspace(agent: str, memories: str) -> ScopeUnavailable:
    """Return the error for a missing workspace scope of an agent whose memories belong to no workspace.

    `agent`: the name of the agent. `memories`: the memories that it has, in words.
    """
    cause = f"{agent} has {memories}, but none per session."
    title = "There is no workspace memory here."
    return ScopeUnavailable(Scope.WORKSPACE, None, title, cause=cause, permanent=True)


def rules_of(home: Home, root: ScopeRoot, rel: str) -> tuple[FileRule | None, FileRole]:
    """Return the rule and the role of the file `rel` of `root`, for lists of memories (`listing.RulesOf`).

    The rule is None for a file that may be edited and about which there is no advice for a person.
    """
    rule = home.file_rule(root, rel)
    return None if rule is EDITABLE or rule == EDITABLE else rule, home.file_role(root, rel)


ANSWER_S = 3.0
"""The time in seconds within which a place must respond."""


class FoundHome(Struct, frozen=True):
    """A home that exists on this machine and can be opened."""

    root: Path
    kind: str
    """The name of the home's agent, one of `discovery.KINDS`."""
    of_project: bool = False
    """Whether the home is inside a project and belongs only to it."""


class TroubledPlace(Struct, frozen=True):
    """A place where a home may be, but that could not be read."""

    root: Path
    error: UserError
    silent: bool = False
    """Whether the disk of the place does not respond now."""


class DiscoveredHomes(Struct, frozen=True):
    """The result of a search for homes."""

    homes: tuple[FoundHome, ...]
    troubled: tuple[TroubledPlace, ...] = ()
    """The places that could not be read."""


def not_answering(root: Path) -> UserError:
    """Return the error for a place on a disk that does not respond."""
    return Unavailable(
        f"{root} is not responding.",
        cause="It is on a disk or network share that may no longer be available.",
        next_step="Reconnect the disk or share. Your other homes still work in the meantime.",
        reason="not-answering",
    )
