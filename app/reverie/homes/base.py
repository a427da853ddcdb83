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

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from reverie.homes.agents import (
        AgentCheck,
        AgentJob,
        AgentLock,
        DreamWishes,
        DumpPlaces,
        Essence,
        MemoryKinds,
        ModelService,
        NotesPlace,
        RootChange,
        StatusLine,
        WriteLock,
        WriterPlace,
        WriterWishes,
    )
    from reverie.homes.listing import (
        Companion,
        HomeContents,
        LostStore,
        SessionPlace,
        Source,
        TitlesRead,
        WatchedPlace,
        Workspace,
    )
    from reverie.homes.records import Records
    from reverie.homes.scopes import Caps, FileRole, FileRule, Refusal, Scope, ScopeContext, ScopeRoot
    from reverie.transcripts.reading import ReadableTranscript
    from reverie.transcripts.turns import Transcript


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

    def essence(self, text: str) -> Essence:
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

    def dream_wishes(self, workspace_id: str | None) -> DreamWishes:
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

    def writer_wishes(self, workspace_id: str) -> WriterWishes:
        """What the agent itself would write memories with in this workspace."""

    def agent_status(self, context: ScopeContext) -> tuple[StatusLine, ...]:
        """What the agent says of its own background jobs, for a footer; empty where it keeps nothing."""

    def agent_jobs(self) -> tuple[AgentJob, ...]:
        """The agent's own books of background jobs, newest first; empty where it keeps none."""

    def checks(self) -> tuple[AgentCheck, ...]:
        """The agent's own gates of its background jobs, for the doctor. Reads the disk."""

    def sources(self, project_path: str | None = None) -> tuple[Source, ...]:
        """The transcripts of one project, or all; newest first. Opens none of them."""

    def open_source(self, source: Source) -> ReadableTranscript:
        """The transcript to read; opening it reads nothing yet."""

    def source_title(self, source: Source) -> str:
        """The title, if need be by reading the beginning of the transcript; empty where it has none."""

    def learn_titles(self, most: int, project_path: str | None = None) -> TitlesRead:
        """Read the titles of up to `most` workspaces (of one project) that are not known yet, newest first,
        and keep them in Reverie's cache. None is read for an agent whose list names them. Blocks on disk."""

    def learn(self, project_path: str) -> str:
        """What a listed project is called once its own files were asked, if only they tell; somebody asked
        for it. What was learned is kept in Reverie's cache."""

    def source_told(self, source: Source) -> Source:
        """The source with all that the beginning of the transcript tells: title, project, state."""

    def watched(self) -> tuple[WatchedPlace, ...]:
        """What to watch beside the memory roots: parents (new roots show there), sidecars, companions."""
