"""The home of Claude Code: `~/.claude` (formats/claude-code.md).

Projects are the directories in `projects/`, called by their working directory where that is known
(`claude_projects`) and by themselves where it is not. Worktrees of one repository are one project: they share
its memory, which lies where the repository's root says. Sessions are workspaces; their memory is the notes
the agent keeps of each. What lies outside of projects and is global are the memories of sub-agents.

Listing opens no transcript; titles and working directories come from one only when asked for
(`source_title`). The home is only read; credentials are never opened. Failure: as `homes.base` says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from reverie.clock import DAY_MS
from reverie.homes.agents import AgentLock, Essence, NotesPlace, RootChange, StatusLine
from reverie.homes.claude_companions import companions
from reverie.homes.claude_essence import essence
from reverie.homes.claude_index import INDEX
from reverie.homes.claude_names import DAILY_LOG, DIRECTORY, KIND, LOCK_NAME
from reverie.homes.claude_places import (
    Machine,
    canonical_root,
    memory_settings,
    settings_problems,
)
from reverie.homes.claude_projects import NOTES, NOTES_FILE, Known, Session
from reverie.homes.claude_sessions import ClaudeSessions
from reverie.homes.claude_sidechains import older_sources, side_sources
from reverie.homes.claude_stores import ClaudeStores, no_session, nothing_chosen, refuse_hostile_id
from reverie.homes.listing import (
    Companion,
    HomeContents,
    Project,
    SessionPlace,
    Source,
    WatchedPlace,
    Workspace,
)
from reverie.homes.plain import PlainHome
from reverie.homes.reading import directory_names, is_directory
from reverie.homes.scopes import (
    Caps,
    FileRole,
    FileRule,
    ProjectGap,
    Scope,
    ScopeContext,
    ScopeRoot,
    ScopeUnavailable,
)
from reverie.transcripts.reading import ReadableTranscript

CAPS = Caps(
    file_bytes=4 << 20,
    files_per_scope=10_000,
    description_chars=200,
    description_prefix_bytes=4096,
    view_depth=3,
)
"""The agent has no caps of this kind; these keep one huge file from being taken for a note."""

TEAM = "team"
_TEAM_SENTENCE = "A server keeps the team's memories on every machine alike; a change here could be lost."
_LOCK_SENTENCE = "By this file the agent tells that it consolidates, and when it did."
_SETTINGS = ("settings.json", "settings.local.json")
_MOST_IN_USE = 64


class ClaudeHome(PlainHome):
    """One Claude Code home; see `homes.base.Home` for what each member promises."""

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
        self._machine = machine or Machine.this()
        self._known = Known(root, None if cache is None else cache / KIND)
        self._stores = ClaudeStores(root, self._machine, self._known)
        self._sessions = ClaudeSessions(self._stores.projects)
        self._now = now

    def contents(self) -> HomeContents:
        self._require_available()
        problems = [*settings_problems(self._root), *self._stores.refusals()]
        directories = self._sessions.listed(problems)
        projects: dict[str, list[Workspace]] = {}
        known = {one.name: self._known.paths(one.name) for one in directories}
        owned = {name: list(dict.fromkeys(map(canonical_root, paths))) for name, paths in known.items()}
        # A repository that only its worktrees tell of has its memory in a directory that tells nothing.
        roots = {self._stores.directory_of(root): root for found in owned.values() for root in found}
        for one in directories:
            paths = known[one.name]
            owners = owned[one.name] or [roots.get(one.name, str(one.path))]
            if len(paths) > 1:
                problems.append(
                    f"projects/{one.name} is the directory of several: {', '.join(paths)}. Their names differ"
                    " only in characters that it does not keep, so they share one memory."
                )
            for owner in owners:
                projects.setdefault(owner, [])
            projects[owners[0]] += [self._workspace(each, owners[0], paths) for each in one.sessions]
            if one.memory and not self._is_own(one.name, owners[0]):
                projects.setdefault(str(one.path), [])
        self._require_available()
        found = [Project(path, self._name(path), tuple(inner)) for path, inner in projects.items()]
        found.sort(key=lambda project: (project.name.casefold(), project.path))
        return HomeContents(tuple(found), (), tuple(dict.fromkeys(problems)))

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
        return ScopeContext(workspace_id, self._owner(place), None)

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
        return self._stores.memory_of(context.project_path)

    def roots(self, contents: HomeContents | None = None) -> tuple[ScopeRoot, ...]:
        self._require_available()
        found = [self._stores.global_root()] if is_directory(self._stores.global_root().directory) else []
        unlisted: list[str] = []
        found += [self._stores.memory_root(name) for name in self._stores.memories(unlisted)]
        found += [root for root in self._stores.moved() if is_directory(root.directory)]
        for one in self._sessions.listed(unlisted):
            for session in one.sessions:
                if session.notes and self._sessions.lies_in(session, one):
                    found.append(self._stores.notes_root(one.name, session.id))
        self._require_available()
        return tuple({root.key: root for root in found}.values())

    def companions(self, context: ScopeContext) -> tuple[Companion, ...]:
        return companions(self._root, self._cwd(context), self._machine)

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
        return "index" if rel.rpartition("/")[2] == INDEX else "memory"

    def essence(self, text: str) -> Essence:
        return essence(text)

    def followed(self, root: ScopeRoot, change: RootChange) -> Mapping[str, str]:
        from reverie.homes.claude_follow import follow

        return follow(change)

    def agent_lock(self, context: ScopeContext) -> AgentLock | None:
        from reverie.homes.claude_lock import ClaudeLock

        directory = self._memory_directory(context)
        return None if directory is None else ClaudeLock(directory / LOCK_NAME)

    def memory_off(self, context: ScopeContext) -> str:
        """What switches the auto memory of the context's project off, in words; empty where it is on."""
        project = self._stores.checkout(context.project_path) if context.project_path else None
        return memory_settings(self._root, project, self._machine).off

    def recencies(self) -> tuple[tuple[str, int], ...]:
        self._require_available()
        return tuple((each.id, each.updated_at) for each in self._sessions.newest_first())

    def session(self, workspace_id: str) -> SessionPlace | None:
        refuse_hostile_id(workspace_id)
        place = self._sessions.place_of(workspace_id)
        return None if place is None else self._session_place(place, workspace_id)

    def sessions_in_use(self) -> tuple[SessionPlace, ...]:
        self._require_available()
        since = int(self._now() * 1000) - DAY_MS
        live = (
            each for each in self._sessions.newest_first() if each.transcript and each.updated_at >= since
        )
        return tuple([self._session_place(each.directory, each.id) for each in live][:_MOST_IN_USE])

    def use_watched(self) -> tuple[WatchedPlace, ...]:
        used = dict.fromkeys(place.directory for place in self.sessions_in_use())
        return (WatchedPlace(self._stores.projects), *(WatchedPlace(directory) for directory in used))

    def workspace(self, workspace_id: str) -> Workspace | None:
        refuse_hostile_id(workspace_id)
        self._require_available()
        owned = self._sessions.place_of(workspace_id)
        for one in self._sessions.listed([], () if owned is None else (owned,)):
            for session in one.sessions:
                if session.id == workspace_id:
                    return self._workspace(session, self._owner(one.name), self._known.paths(one.name))
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

    def agent_status(self, context: ScopeContext) -> tuple[StatusLine, ...]:
        from reverie.homes.claude_status import status_lines

        directory = self._memory_directory(context)
        if directory is None or not context.project_path:
            return ()
        settings = memory_settings(self._root, self._stores.checkout(context.project_path), self._machine)
        return status_lines(directory, settings.off, int(self._now() * 1000))

    def sources(self, project_path: str | None = None) -> tuple[Source, ...]:
        self._require_available()
        wanted = None if project_path is None else self._project(project_path)
        owners: dict[str, str] = {}
        found = []
        directories = self._sessions.listed([])
        for session in self._sessions.newest_first(directories):
            owner = owners.get(session.directory) or self._owner(session.directory)
            owners[session.directory] = owner
            if wanted is not None and owner != wanted:
                continue
            if session.transcript is not None:
                found.append(
                    Source(
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

    def open_source(self, source: Source) -> ReadableTranscript:
        from reverie.transcripts.claude_reading import ClaudeReadable

        return ClaudeReadable(source.path)

    def source_title(self, source: Source) -> str:
        from reverie.transcripts.claude import session_head

        if source.kind == "sub-agent":
            return source.title
        try:
            head = session_head(source.path)
        except FileNotFoundError:
            return ""
        title = " ".join(head.title.split())[:200]
        self._known.note(source.path.parent.name, head.cwd, source.id, title, source.updated_at or 0)
        return title

    def learn(self, project_path: str) -> str:
        """What a project is called once its newest transcripts were asked, where nothing else tells."""
        own = Path(project_path)
        if own.parent == self._stores.projects and not self._known.paths(own.name):
            for one in self._sessions.listed([], (own.name,)):
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

    def _owner(self, name: str) -> str:
        """The project of a directory in `projects/`."""
        paths = self._known.paths(name)
        return canonical_root(paths[0]) if paths else str(self._stores.projects / name)

    def _project(self, project_path: str) -> str:
        """How a project is called: the root of its repository, the directory that nobody can read back, or
        what was given."""
        own = Path(project_path)
        if own.parent == self._stores.projects and DIRECTORY.fullmatch(own.name):
            owner = self._owner(own.name)
            return (
                owner if self._is_own(own.name, owner) or not self._stores.has_memory(own.name) else str(own)
            )
        path = project_path if project_path in ("/", "\\") else project_path.rstrip("/")
        return canonical_root(path)

    def _is_own(self, name: str, owner: str) -> bool:
        """Whether the memory of `owner` lies in this directory."""
        return owner == str(self._stores.projects / name) or self._stores.directory_of(owner) == name

    def _cwd(self, context: ScopeContext) -> str | None:
        place = self._sessions.place_of(context.workspace_id) if context.workspace_id else None
        if place is not None:
            paths = self._known.paths(place)
            if paths and canonical_root(paths[0]) == context.project_path:
                return paths[0]
        return self._stores.checkout(context.project_path) if context.project_path else None

    def _workspace(self, session: Session, owner: str, paths: tuple[str, ...]) -> Workspace:
        return Workspace(
            id=session.id,
            name=session.id[:8],
            title=self._known.title(session.id),
            path=paths[0] if paths else "",
            bucket=owner,
            project_paths=(owner,),
            multi_project=False,
        )

    def _name(self, path: str) -> str:
        own = Path(path)
        if own.parent == self._stores.projects:
            return f"unknown directory {own.name}"
        return own.name or path.replace("\\", "/").rstrip("/").rpartition("/")[2] or path

    def _memory_directory(self, context: ScopeContext) -> Path | None:
        """The memory of a context, None where there is none on disk."""
        try:
            directory = self.scope_root(context, Scope.PROJECT).directory
        except ScopeUnavailable:
            return None
        return directory if is_directory(directory) else None

    def _session_place(self, place: str, session_id: str) -> SessionPlace:
        return SessionPlace(session_id, self._stores.projects / place, (f"{session_id}.jsonl",))
