"""The home of Claude Code: `~/.claude` (formats/claude-code.md).

Projects are the directories in `projects/`, named by their working directory, or by their own path if that is
unknown. Worktrees of one repository are one project: they share its memory, whose directory is named after
the repository's root. Sessions are workspaces; their memory is the agent's session notes. Global memories are
those of sub-agents, which lie outside of projects.

Listing reads only the first kilobytes of a transcript, and only if nothing else names the working directory
(`ProjectCache.learn_missing`, bounded). Titles are read on demand (`described_source`, `learn_titles`). The
home is only read; credentials and the keys of running sessions are never opened.

Failure: as in `agents.base`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Literal

from reverie.agents.base import (
    AgentJobs,
    Companion,
    Home,
    HomeContents,
    LostStore,
    Orphan,
    Project,
    SessionPlace,
    TitlesRead,
    TranscriptSource,
    WatchedPlace,
    Workspace,
    nothing_chosen,
)
from reverie.agents.capabilities import (
    AgentCheck,
    AgentLock,
    ComparableText,
    FailedImport,
    NotesPlace,
    RootChange,
    SessionMeter,
    StatusLine,
)
from reverie.agents.claude.checks import memory_checks
from reverie.agents.claude.comparable import comparable_text
from reverie.agents.claude.consolidation import ClaudeLock, Ended, HasEnded
from reverie.agents.claude.locations import DAILY_LOG, DIRECTORY, KIND, LOCK_NAME, SESSION, TEAM
from reverie.agents.claude.messages import ClaudeReadable
from reverie.agents.claude.projects import NOTES, NOTES_FILE, ProjectCache, ProjectDirectory, StoredSession
from reverie.agents.claude.running_sessions import running_sessions
from reverie.agents.claude.session_counts import SessionScan
from reverie.agents.claude.sessions import ClaudeSessions
from reverie.agents.claude.settings import (
    Checkouts,
    Machine,
    companions,
    failed_imports,
    keeps_no_notes,
    loads_nothing,
    settings_problems,
)
from reverie.agents.claude.status import status_lines
from reverie.agents.claude.stores import ClaudeStores, no_session, refuse_hostile_id
from reverie.agents.claude.subagents import older_sources, side_sources
from reverie.agents.claude.transcript import session_head, session_title, title_by_hand
from reverie.agents.known_layouts import claude_root, refusals
from reverie.agents.memory_index import INDEX, follow, is_conflict_copy
from reverie.agents.reading import directory_names, entries_in
from reverie.agents.scopes import (
    Caps,
    FileRole,
    FileRule,
    ProjectGap,
    Refusal,
    Scope,
    ScopeContext,
    ScopeRoot,
    ScopeUnavailable,
)
from reverie.agents.transcripts import ReadableTranscript, without_escapes
from reverie.clock import DAY_MS
from reverie.errors import UserError
from reverie.files.directory import is_directory
from reverie.values import replace

CAPS = Caps(
    file_bytes=4 << 20,
    files_per_scope=10_000,
    description_chars=65_536,
    description_prefix_bytes=65_536,
    view_depth=3,
    front_matter="lenient",
    undescribed=r"(?:.*/)?MEMORY\.md",
)
"""The limits of Claude Code.

The agent itself only limits the prefix that it reads; the other caps keep a huge file from being treated as a
note.
"""

_TEAM_SENTENCE = "A server synchronizes the team's memories to every machine, so a change here could be lost."
_LOCK_SENTENCE = (
    "It records when Reverie or Claude Code last consolidated these memories, and in which process."
)
_SETTINGS = ("settings.json",)
_MOST_IN_USE = 64


class ClaudeHome(Home, AgentJobs):
    """One Claude Code home; see `agents.base.Home` for each member's contract."""

    kind = KIND
    caps = CAPS

    def __init__(
        self,
        root: Path,
        cache: Path | None = None,
        *,
        machine: Machine | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(root)
        self.transcripts = self
        self.sessions = self
        self.notes = self
        self.jobs = self
        self.consolidation = self
        self.orphans = self
        self._machine = machine or Machine.this()
        self._known = ProjectCache(root, None if cache is None else cache / KIND)
        checkouts = Checkouts(None if cache is None else cache / KIND / "worktrees.json")
        self._stores = ClaudeStores(root, self._machine, self._known, checkouts)
        self._sessions = ClaudeSessions(self._stores.projects)
        self._now = now

    def contents(self) -> HomeContents:
        self._require_available()
        problems: list[str] = []
        directories = self._listed(problems)
        problems = [*settings_problems(self._root), *self._stores.refusals(), *problems]
        projects: dict[str, list[Workspace]] = {}
        orphans = []
        owner_of = cache(self._owner_of_path)  # asks the disk; thousands of sessions share a directory
        known = {one.name: self._known.paths(one.name) for one in directories}
        owned = {name: list(dict.fromkeys(map(self._stores.root_of, paths))) for name, paths in known.items()}
        # If only worktrees name a repository, no transcript names the directory of its memory.
        roots = {self._stores.directory_of(root): root for found in owned.values() for root in found}
        for one in directories:
            paths = known[one.name]
            owners = owned[one.name] or [roots.get(one.name, str(one.path))]
            if len(paths) > 1:
                problems.append(
                    f"projects/{one.name} belongs to several projects: {', '.join(paths)}. Their names differ"
                    " only in characters that the directory name does not keep, so they share one memory."
                )
            for owner in owners:
                projects.setdefault(owner, [])
            for each in one.sessions:
                cwd = self._known.cwd(each, one.name)
                owner = owner_of(one.name, cwd) if owned[one.name] else owners[0]
                projects.setdefault(owner, []).append(self._workspace(each, owner, paths, cwd))
            # Each session makes an empty memory, so that being there means nothing.
            if one.memory and not self._is_own(one.name, owners[0]) and any(entries_in(one.path / "memory")):
                reason = f"Claude Code now loads the memory of {owners[0]} from another directory."
                orphans.append(Orphan("older-name", one.path / "memory", one.name, reason))
        self._require_available()
        found = [Project(path, self._name(path), tuple(inner)) for path, inner in projects.items()]
        found.sort(key=lambda project: (project.name.casefold(), project.path))
        return HomeContents(tuple(found), tuple(orphans), tuple(dict.fromkeys(problems)))

    def lost_stores(self) -> tuple[LostStore, ...]:
        contents = self.contents()
        found = []
        for orphan in contents.orphans:
            owner = self._owner(orphan.label)
            root = self._stores.memory_root(orphan.label)
            context = ScopeContext(None, None, ProjectGap.NO_PROJECT, store=root.key)
            found.append(
                LostStore(
                    *("older-name", orphan.directory, orphan.label, Scope.PROJECT, root, context),
                    name=self._name(owner),
                    owner=owner,
                    checkouts=(owner,),
                )
            )
        for project in contents.projects:
            path = Path(project.path)
            if path.parent == self._stores.projects or not path.is_absolute() or is_directory(path):
                continue
            context = ScopeContext(None, project.path)
            root = self.scope_root(context, Scope.PROJECT)
            if is_directory(root.directory):
                checkouts = dict.fromkeys((project.path, *(each.path for each in project.workspaces)))
                found.append(
                    LostStore(
                        *("missing-project", root.directory, project.path, Scope.PROJECT, root, context),
                        name=project.name,
                        former_path=project.path,
                        former_source="projects/",
                        checkouts=tuple(checkouts),
                    )
                )
        return tuple(found)

    def context(
        self, *, workspace_id: str | None = None, project_path: str | None = None, project_given: bool = False
    ) -> ScopeContext:
        self._require_available()
        if workspace_id is not None:
            refuse_hostile_id(workspace_id)
        if project_path:
            return ScopeContext(workspace_id, self._project(project_path), None)
        if project_given or workspace_id is None:
            return ScopeContext(workspace_id, None, ProjectGap.NO_PROJECT)
        place = self._sessions.place_of(workspace_id)
        if place is None:
            return ScopeContext(workspace_id, None, ProjectGap.NO_PROJECT)
        return ScopeContext(workspace_id, self._session_owner(workspace_id, place), None)

    def scope_root(self, context: ScopeContext, scope: Scope) -> ScopeRoot:
        self._require_available()
        if scope is Scope.GLOBAL:
            return self._stores.global_root()
        if scope is Scope.WORKSPACE:
            if context.workspace_id is None:
                raise nothing_chosen(scope, None, "session")
            refuse_hostile_id(context.workspace_id)
            place = self._sessions.place_of(context.workspace_id)
            if place is None:
                raise no_session(context.workspace_id)
            return self._stores.notes_root(place, context.workspace_id)
        if context.store:
            return self._stores.store(context.store)
        if not context.project_path:
            raise nothing_chosen(scope, context.project_gap or ProjectGap.NO_PROJECT, "project")
        return self._stores.memory_of(context.project_path, self._cwd(context))

    def roots(self, contents: HomeContents | None = None) -> tuple[ScopeRoot, ...]:
        self._require_available()
        unlisted: list[str] = []
        directories = self._listed(unlisted)
        found = [self._stores.global_root()] if is_directory(self._stores.global_root().directory) else []
        found += [self._stores.memory_root(name) for name in self._stores.memories(unlisted)]
        found += [root for root in self._stores.moved() if is_directory(root.directory)]
        for one in directories:
            for session in one.sessions:
                if session.notes and self._sessions.lies_in(session, one):
                    found.append(self._stores.notes_root(one.name, session.id))
        self._require_available()
        return tuple({root.key: root for root in found}.values())

    def companions(self, context: ScopeContext) -> tuple[Companion, ...]:
        return companions(self._root, self._cwd(context), self._machine)

    def failed_imports(self, context: ScopeContext) -> tuple[FailedImport, ...]:
        """Return the imports in the context's instruction files that load nothing."""
        return failed_imports(self._root, self._cwd(context), self._machine)

    def write_refusals(self, root: ScopeRoot | None = None) -> tuple[Refusal, ...]:
        refused = super().write_refusals(root)
        if root is None or root.scope is Scope.GLOBAL:
            return refused
        memory, key = root.directory, root.key
        if root.scope is Scope.WORKSPACE:  # a session's notes lie beside the memories of its project
            project = root.directory.parent.parent
            memory, key = project / "memory", f"project/{project.name}"
        return (*refused, *refusals(key, claude_root(memory), has_workspaces=True))

    def file_rule(self, root: ScopeRoot, rel: str) -> FileRule:
        if root.scope is Scope.PROJECT and rel.partition("/")[0] == TEAM:
            return FileRule("read-only", _TEAM_SENTENCE)
        if root.scope is Scope.PROJECT and rel.casefold() == LOCK_NAME:
            return FileRule("read-only", _LOCK_SENTENCE)
        return FileRule()

    def file_role(self, root: ScopeRoot, rel: str) -> FileRole:
        if root.scope is Scope.WORKSPACE:
            return "notes"
        if root.scope is Scope.PROJECT and DAILY_LOG.fullmatch(rel):
            return "log"
        if root.scope is Scope.PROJECT and is_conflict_copy(rel):
            return "kept"
        return "index" if rel.rpartition("/")[2] == INDEX else "memory"

    def comparable(self, text: str) -> ComparableText:
        return comparable_text(text)

    def index_updates(self, root: ScopeRoot, change: RootChange) -> Mapping[str, str]:

        return follow(change)

    def agent_lock(self, context: ScopeContext) -> AgentLock | None:

        directory = self._memory_directory(context)
        if directory is None:
            return None
        return ClaudeLock(directory / LOCK_NAME, has_ended=self._has_ended(directory))

    def memory_off(self, context: ScopeContext) -> str:
        """Return the reason why auto memory is off for the context's project, in words; empty if it is on."""
        return self._stores.settings_of(self._cwd(context)).off

    def loads_nothing(self, context: ScopeContext) -> str:
        """Return the name of an environment variable that keeps the agent from loading any file, or ""."""
        return loads_nothing(self._root, self._cwd(context), self._machine)

    def moved_by_project(self, context: ScopeContext) -> bool:
        """Return whether the project's own settings choose another directory for its memory."""
        settings = self._stores.settings_of(self._cwd(context))
        return settings.by_project and settings.directory is not None

    def memory_outside(self, context: ScopeContext) -> str:
        """Return a message about the memory directory that a project's settings name, if Reverie rejects it.

        Empty if they name none, or if Reverie uses it.
        """
        settings = self._stores.settings_of(self._cwd(context))
        return settings.refused if settings.by_project else ""

    def recencies(self) -> tuple[tuple[str, int], ...]:
        self._require_available()
        return tuple((each.id, each.updated_at) for each in self._sessions.newest_first())

    def session_place(self, workspace_id: str) -> SessionPlace | None:
        refuse_hostile_id(workspace_id)
        place = self._sessions.place_of(workspace_id)
        return None if place is None else self._place(place, workspace_id)

    def sessions_in_use(self) -> tuple[SessionPlace, ...]:
        self._require_available()
        since = int(self._now() * 1000) - DAY_MS
        live = (
            each for each in self._sessions.newest_first() if each.transcript and each.updated_at >= since
        )
        return tuple([self._place(each.directory, each.id) for each in live][:_MOST_IN_USE])

    def session_watches(self) -> tuple[WatchedPlace, ...]:
        used = dict.fromkeys(place.directory for place in self.sessions_in_use())
        return (WatchedPlace(self._stores.projects), *(WatchedPlace(directory) for directory in used))

    def workspace(self, workspace_id: str) -> Workspace | None:
        refuse_hostile_id(workspace_id)
        self._require_available()
        owned = self._sessions.place_of(workspace_id)
        for one in self._listed([], () if owned is None else (owned,)):
            for session in one.sessions:
                if session.id == workspace_id:
                    owner = self._session_owner(session.id, one.name)
                    cwd = self._known.cwd(session, one.name)
                    return self._workspace(session, owner, self._known.paths(one.name), cwd)
        return None

    def notes_place(self, session_id: str) -> NotesPlace | None:
        refuse_hostile_id(session_id)
        place = self._sessions.place_of(session_id)
        if place is None:
            return None
        own = self._root / NOTES / "config"
        return NotesPlace(
            self._stores.notes_root(place, session_id),
            NOTES_FILE,
            self._stores.projects / place / f"{session_id}.jsonl",
            own / "template.md",
            own / "prompt.md",
        )

    def keeps_no_notes(self, session_id: str) -> Literal["", "remote", "no-compaction"]:
        context = self.context(workspace_id=session_id)
        return keeps_no_notes(self._root, self._cwd(context), self._machine)

    def session_scan(self, place: NotesPlace) -> SessionMeter:

        return SessionScan(place.transcript)

    def session_title(self, place: NotesPlace) -> str:

        return session_title(place.transcript)

    def session_messages(self, place: NotesPlace) -> ReadableTranscript:

        return ClaudeReadable(place.transcript)

    def agent_status(self, context: ScopeContext) -> tuple[StatusLine, ...]:

        directory = self._memory_directory(context)
        if directory is None or not context.project_path:
            return ()
        settings = self._stores.settings_of(self._cwd(context))
        return status_lines(directory, settings, int(self._now() * 1000), self._has_ended(directory))

    def checks(self, context: ScopeContext) -> tuple[AgentCheck, ...]:
        if not context.project_path:
            return ()
        try:
            directory = self.scope_root(context, Scope.PROJECT).directory
        except ScopeUnavailable:
            return ()
        return memory_checks(directory, self.memory_off(context), self.agent_status(context))

    def sources(self, project_path: str | None = None) -> tuple[TranscriptSource, ...]:
        self._require_available()
        wanted = None if project_path is None else self._project(project_path)
        found = []
        directories = self._listed([])
        owner_of = cache(self._owner_of_path)
        for session in self._sessions.newest_first(directories):
            owner = owner_of(session.directory, self._known.cwd(session, session.directory))
            if wanted is not None and owner != wanted:
                continue
            if session.transcript is not None:
                found.append(
                    TranscriptSource(
                        session.id,
                        "session",
                        session.transcript,
                        self._known.title(session.id, session.updated_at),
                        owner,
                        updated_at=session.updated_at,
                        size=session.size,
                        state="session notes" if session.notes else "",
                    )
                )
            found += side_sources(self._stores.projects, session, owner)
        for one in directories:
            owner = self._owner(one.name) if one.sidechains else ""
            if owner and wanted in (None, owner):
                found += older_sources(one, owner)
        return tuple(found)

    def open_source(self, source: TranscriptSource) -> ReadableTranscript:

        return ClaudeReadable(source.path)

    def described_source(self, source: TranscriptSource) -> TranscriptSource:
        if source.kind == "sub-agent":
            return source
        title, _new = self._read_title(source.id, source.path, source.updated_at or 0)
        return replace(source, title=title)

    def learn_titles(self, most: int, project_path: str | None = None) -> TitlesRead:
        self._require_available()
        wanted = None if project_path is None else self._project(project_path)
        owner_of = cache(self._owner_of_path)
        read, changed = 0, False
        for session in self._sessions.newest_first(self._listed([])):
            if read >= most:
                break
            if session.transcript is None or self._known.has_title(session):
                continue
            owner = owner_of(session.directory, self._known.cwd(session, session.directory))
            if wanted in (None, owner):
                # An unreadable session has no title; it counts, so that every call ends.
                read += 1
                with suppress(UserError, OSError):
                    _title, new = self._read_title(session.id, session.transcript, session.updated_at)
                    changed |= new
        if read:
            self._known.keep()
        return TitlesRead(read, changed)

    def _read_title(self, session_id: str, transcript: Path, updated_at: int) -> tuple[str, bool]:
        """Read and store the title of a session; return it, and whether the title or directory is new.

        A title given by a person outranks the transcript's. The directory is the working directory that the
        transcript names. `updated_at`: the time (UTC ms) of the transcript's last change.
        """

        try:
            head = session_head(transcript)
        except FileNotFoundError:
            return "", False
        by_hand = title_by_hand(transcript.parent / session_id)
        title = " ".join(without_escapes(by_hand or head.title).split())[:200]
        new = self._known.note(transcript.parent.name, head.cwd, session_id, title, updated_at)
        return title, new

    def resolve_project(self, project_path: str) -> str:
        """Return the path of the listed project to which `project_path` belongs.

        If `project_path` is a directory in `projects/` and its working directory is unknown, the working
        directory is read from the transcripts in it.
        """
        own = Path(project_path)
        if own.parent == self._stores.projects and not self._known.paths(own.name):
            for one in self._listed([], (own.name,)):
                self._known.learn(one.name, (each.transcript for each in one.sessions if each.transcript))
        return self._project(project_path)

    def watched(self) -> tuple[WatchedPlace, ...]:
        names = ("CLAUDE.md", "rules", "agent-memory", "projects", "history.jsonl", *_SETTINGS)
        return (
            WatchedPlace(self._root, names),
            WatchedPlace(self._root / "rules"),
            WatchedPlace(self._stores.projects),
            *(
                WatchedPlace(self._stores.projects / name, ("memory",))
                for name in directory_names(self._stores.projects, [])
                if DIRECTORY.fullmatch(name)
            ),
            *(WatchedPlace(directory, (LOCK_NAME,)) for directory in self._stores.memory_directories()),
        )

    # Projects

    def _listed(self, problems: list[str], only: Iterable[str] | None = None) -> tuple[ProjectDirectory, ...]:
        """Return the directories in `projects/` with their sessions.

        Also reads working directories that are unknown from the transcripts, into the cache. `only`: the
        names of the directories to return; None: all. Each directory that cannot be listed adds a message to
        `problems`.
        """
        directories = self._sessions.listed(problems, only)
        self._known.learn_missing(directories)
        return directories

    def _session_owner(self, session_id: str, place: str) -> str:
        """Return the project path of a session whose files are in the directory `place` in `projects/`."""
        if not self._known.paths(place):
            self._listed([], (place,))
        return self._owner_of_path(place, self._known.cwd(session_id, place))

    def _owner_of_path(self, place: str, cwd: str) -> str:
        """Return the path of the project of a session with the working directory `cwd`.

        `cwd` is empty if it is unknown; the project is then that of the directory `place` in `projects/`.
        """
        return self._stores.root_of(cwd) if cwd else self._owner(place)

    def _owner(self, name: str) -> str:
        """Return the path of the project of the directory `name` in `projects/`.

        If the working directory of its sessions is unknown, this is the path of the directory itself.
        """
        paths = self._known.paths(name)
        return self._stores.root_of(paths[0]) if paths else str(self._stores.projects / name)

    def _project(self, project_path: str) -> str:
        """Return the path that identifies a project: the root of its repository, or else its own path.

        `project_path`: a directory of the project, or a directory in `projects/`. For the latter, this is the
        project of its sessions; but if the directory contains a memory that is not the memory of that
        project, `project_path` is returned unchanged.
        """
        own = Path(project_path)
        if own.parent == self._stores.projects and DIRECTORY.fullmatch(own.name):
            owner = self._owner(own.name)
            return (
                owner if self._is_own(own.name, owner) or not self._stores.has_memory(own.name) else str(own)
            )
        path = project_path if project_path in ("/", "\\") else project_path.rstrip("/")
        return self._stores.root_of(path)

    def _is_own(self, name: str, owner: str) -> bool:
        """Return whether the directory `name` contains the memory of the project `owner`."""
        return owner == str(self._stores.projects / name) or self._stores.directory_of(owner) == name

    def _cwd(self, context: ScopeContext) -> str | None:
        place = self._sessions.place_of(context.workspace_id) if context.workspace_id else None
        if place is not None and context.workspace_id is not None:
            own = self._known.cwd(context.workspace_id, place)
            for path in (own, *self._known.paths(place)[:1]):
                if path and self._stores.root_of(path) == context.project_path:
                    return path
        return self._stores.checkout(context.project_path) if context.project_path else None

    def _workspace(self, session: StoredSession, owner: str, paths: tuple[str, ...], cwd: str) -> Workspace:
        return Workspace(
            id=session.id,
            name=session.id[:8],
            title=self._known.title(session.id),
            path=cwd or (paths[0] if paths else ""),
            bucket=owner,
            project_paths=(owner,),
            multi_project=False,
            updated_at=session.updated_at,
        )

    def _name(self, path: str) -> str:
        own = Path(path)
        if own.parent == self._stores.projects:
            return f"unknown directory {own.name}"
        return own.name or path.replace("\\", "/").rstrip("/").rpartition("/")[2] or path

    def _memory_directory(self, context: ScopeContext) -> Path | None:
        """Return the memory directory of a context; None if there is none on disk."""
        try:
            directory = self.scope_root(context, Scope.PROJECT).directory
        except ScopeUnavailable:
            return None
        return directory if is_directory(directory) else None

    def _has_ended(self, directory: Path) -> HasEnded:
        """Return a function that returns whether a consolidation of the memory in `directory` is over.

        The function is for a consolidation by a process that is still alive.
        """

        return Ended(directory, self._transcript_of)

    def _transcript_of(self, pid: int) -> Path | None:
        """Return the transcript of the session that runs in process `pid`; None if there is none."""
        for each in running_sessions(self._root):
            if each.pid == pid and SESSION.fullmatch(each.session_id):
                place = self._sessions.place_of(each.session_id)
                return None if place is None else self._stores.projects / place / f"{each.session_id}.jsonl"
        return None

    def _place(self, place: str, session_id: str) -> SessionPlace:
        return SessionPlace(session_id, self._stores.projects / place, (f"{session_id}.jsonl",))
