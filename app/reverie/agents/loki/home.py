"""The home of one project of loki-mode: its `.loki` (formats/loki.md).

The home has one project, whose scope is `.loki/memory`, with namespaces in it as folders. Records are
rendered as text (`agents.loki.rendering`) and changed field by field through `services.failures`, under the
store's own locks; notes are edited like any memory. Housekeeping (locks, unfinished writes, the error log) is
not shown. Crash records lie beside the memories; `failures.crash` reads them.

The home is only read. The agent's own library is not used, because it creates files when it opens a store.

Threading: blocking. Failure: as in `agents.base`; a malformed record does not hide others.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from reverie.agents.base import (
    AgentJobs,
    Home,
    HomeContents,
    Project,
    Transcripts,
    TranscriptSource,
    WatchedPlace,
)
from reverie.agents.capabilities import StatusLine
from reverie.agents.claude.messages import ClaudeReadable
from reverie.agents.known_layouts import loki_database, loki_root, refusals
from reverie.agents.loki.database import database_patterns, rendered_database
from reverie.agents.loki.locations import DERIVED, FOLDERS, KIND, STORE
from reverie.agents.loki.records import moment, read_object, text_of
from reverie.agents.loki.rendering import rendered
from reverie.agents.reading import directory_names
from reverie.agents.scopes import (
    Caps,
    FileRole,
    FileRule,
    Refusal,
    Scope,
    ScopeContext,
    ScopeRoot,
    ScopeUnavailable,
)
from reverie.agents.transcripts import ReadableTranscript
from reverie.files.directory import is_directory, is_file

CAPS = Caps(
    file_bytes=32 << 20,
    files_per_scope=100_000,
    description_chars=200,
    description_prefix_bytes=4096,
    view_depth=3,
)
"""The limits for loki-mode.

The agent has no caps of this kind; these keep a huge file from being treated as a note.
"""

HOUSEKEEPING = r"(?:.*/)?(?:[^/]*\.lock|\.[^/]*)"
"""Files that are not memories: lock files and hidden files."""

_SESSION = re.compile(r"[0-9A-Fa-f-]{8,64}")
_RECORD = "This text describes one of the agent's records. The file itself cannot be edited as text."
_EPISODE = (
    "This text describes one of the agent's records. The file itself cannot be edited as text. You can "
    "delete it, but its ID remains in the agent's index and patterns."
)
_DERIVED_FROM = "The agent regenerates this file from its records, so a change would be lost."
_RENDERING = "The agent makes this file from the skill's record beside it; a change would be lost."
_KEPT = "The agent uses this file internally."
_DATABASE = re.compile(r"memory\.db(?:-wal|-shm)?\Z")


class LokiHome(Home, Transcripts, AgentJobs):
    """The home of loki-mode in one project; see `agents.base.Home` for each member's contract."""

    kind = KIND
    caps = CAPS
    consolidates = False

    def __init__(
        self,
        root: Path,
        *,
        claude: Path | None = None,
        cache: Path | None = None,
        memory: Path | None = None,
    ) -> None:
        """Open the store at `root`.

        `claude`: the home of Claude Code, to whose transcripts the store refers; None if there is none.
        `cache`: the directory for copies of the database; None: the database is not read. `memory`: the
        memory root that the agent's environment names; None: the store's own (formats/loki.md section 1).
        """
        super().__init__(root)
        self.transcripts = self
        self.jobs = self
        self.failures = self
        self._claude = claude
        self._cache = cache
        self._own = root / "memory"
        self._memory = memory or self._own

    @property
    def project(self) -> Path:
        """The directory of the project to which the store belongs."""
        return self._root.parent

    def contents(self) -> HomeContents:
        self._require_available()
        name = self.project.name if self._root.name == STORE else self._root.name
        return HomeContents((Project(str(self.project), name or str(self.project), ()),))

    def context(
        self, *, workspace_id: str | None = None, project_path: str | None = None, project_given: bool = False
    ) -> ScopeContext:
        """Return the context of the home's only project, with `workspace_id`; other arguments are ignored."""
        self._require_available()
        return ScopeContext(workspace_id, str(self.project), None)

    def scope_root(self, context: ScopeContext, scope: Scope) -> ScopeRoot:
        self._require_available()
        if scope is Scope.WORKSPACE:
            raise _nowhere(scope, "There is no workspace memory here.")
        if scope is Scope.GLOBAL:
            raise _nowhere(scope, "There is no global memory here.")
        return self._memory_root()

    def roots(self, contents: HomeContents | None = None) -> tuple[ScopeRoot, ...]:
        self._require_available()
        return (self._memory_root(),) if is_directory(self.memory) else ()

    def write_refusals(self, root: ScopeRoot | None = None) -> tuple[Refusal, ...]:
        refused = super().write_refusals(root)
        if root is None:
            return refused
        found = (*loki_root(root.directory), *loki_database(root.directory, self._cache))
        return (*refused, *refusals(root.key, found))

    def file_rule(self, root: ScopeRoot, rel: str) -> FileRule:
        """Return the rule of a file (formats/loki.md section 13); notes and unknown files are editable."""
        parts = rel.split("/")
        if parts[-1] in DERIVED and len(parts) <= 2:
            return FileRule("generated", _DERIVED_FROM)
        if "handoffs" in parts or "ledgers" in parts:
            return FileRule("read-only", _KEPT)
        if "skills" in parts and parts[-1].endswith(".md"):
            return FileRule("generated", _RENDERING)
        if "episodic" in parts[:-1] and parts[-1].endswith(".json") and parts[-1] != "index.json":
            return FileRule("read-only", _EPISODE, deletable=True)
        if parts[-1].endswith((".json", ".jsonl")):
            return FileRule("read-only", _RECORD)
        if parts[-1] in FOLDERS or "vectors" in parts or "episodic" in parts:
            return FileRule("read-only", _KEPT)
        return FileRule("read-only", _KEPT) if _DATABASE.match(parts[-1]) else FileRule()

    def file_role(self, root: ScopeRoot, rel: str) -> FileRole:
        """Return "kept": loki-mode consolidates its memories itself, so no consolidation changes them."""
        return "kept"

    def rendered(self, root: ScopeRoot, rel: str, data: bytes) -> str | None:
        """Return a record or the database as Markdown; None for any other file.

        A database is read from a copy that includes its write-ahead log, not from `data`.
        """
        if _DATABASE.match(rel.rpartition("/")[2]):
            return rendered_database(root.directory / rel, self._cache)
        return rendered(rel, data)

    def database_patterns(self, problems: list[str]) -> tuple[dict[str, Any], ...]:
        """Return the patterns that are in the store's database and in no file; none without a database.

        If the database cannot be read, a message is added to `problems`.
        """
        if not is_file(self.memory / "memory.db"):
            return ()
        return database_patterns(self.memory, self._cache, problems)

    def agent_status(self, context: ScopeContext) -> tuple[StatusLine, ...]:
        problems: list[str] = []
        last = read_object(self._root / "state" / "LAST_ERROR.json", problems)
        if not last:
            return ()
        at = moment(last.get("timestamp"))
        told = " ".join((text_of(last.get("error_class")) or "an error").replace("_", " ").split())
        iteration = text_of(last.get("iteration"))
        text = f"{told} in iteration {iteration}." if iteration else f"{told}."
        return (
            StatusLine(
                Scope.PROJECT,
                "loki-mode last error",
                text[:1].upper() + text[1:],
                "warn",
                None if at is None else at // 1000,
            ),
        )

    def sources(self, project_path: str | None = None) -> tuple[TranscriptSource, ...]:
        """Return the transcript of Claude Code that the store names, if it exists.

        loki-mode keeps no transcripts of its own. `project_path` has no effect: the home has one project.
        """
        self._require_available()
        session = read_object(self._root / "state" / "claude-session.json", []) or {}
        name = text_of(session.get("claude_session_uuid"))
        if self._claude is None or not _SESSION.fullmatch(name):
            return ()
        projects = self._claude / "projects"
        paths = (projects / directory / f"{name}.jsonl" for directory in directory_names(projects, []))
        path = next((each for each in paths if is_file(each)), None)
        if path is None:
            return ()
        try:
            status = path.stat()
        except OSError:
            return ()
        updated_at = status.st_mtime_ns // 1_000_000
        return (
            TranscriptSource(
                name,
                "session",
                path,
                project_path=str(self.project),
                updated_at=updated_at,
                size=status.st_size,
            ),
        )

    def open_source(self, source: TranscriptSource) -> ReadableTranscript:
        return ClaudeReadable(source.path)

    def watched(self) -> tuple[WatchedPlace, ...]:
        state = WatchedPlace(self._root / "state", ("LAST_ERROR.json", "claude-session.json"))
        store = WatchedPlace(self._root, ("memory", "crash", "state", "config.json"))
        return (store, WatchedPlace(self.crashes), state)

    @property
    def crashes(self) -> Path:
        """The directory of crash records."""
        return self._root / "crash"

    @property
    def memory(self) -> Path:
        """The root directory of the store's memories."""
        return self._memory

    def _memory_root(self) -> ScopeRoot:
        key = "project/memory"
        if self.memory != self._own:
            # Another place has other memories: history and marks of the store's own are not theirs.
            name = str(self.memory).encode("utf-8", "surrogateescape")
            key = f"project/@{hashlib.sha256(name).hexdigest()[:16]}"
        return ScopeRoot(Scope.PROJECT, key, self.memory, f"{key}:", without=HOUSEKEEPING)


def _nowhere(scope: Scope, title: str) -> ScopeUnavailable:
    return ScopeUnavailable(
        scope, None, title, cause="loki-mode keeps all memories of a project in that project, and no others."
    )
