"""The home of Codex CLI: `~/.codex` (formats/codex.md).

The store of the version in use, `memories/` or `memories_v2/`, is global; the other version is shown and
never written. Lines in the memories name the project to which they belong (`agents.codex.store`). `memories/`
may contain older generations, because no version migrates them: buckets per working directory (64 hex digits,
later 16) are projects, read-only in homes of today. A bucket's name cannot be turned back into a path: its
working directory is read from the trace files in it, or found by hashing all known directories. If a
directory has both kinds of bucket, the older bucket is its project, and the newer one is a separate project.
Threads are transcripts that can be opened, not workspaces.

The home is only read; databases are read through copies in `cache`. Credentials are never opened.

Failure: as in `agents.base`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from reverie.agents.base import (
    Companion,
    Home,
    HomeContents,
    Project,
    TranscriptSource,
    WatchedPlace,
    no_workspace,
    nothing_chosen,
)
from reverie.agents.capabilities import (
    AgentCheck,
    AgentDreamConfig,
    AgentJob,
    ModelService,
    StatusLine,
    Thread,
    WriteLock,
)
from reverie.agents.codex import store as codex_store
from reverie.agents.codex.checks import CodexFacts, Standing, checks, due_of, makes_memories, standings
from reverie.agents.codex.databases import CodexDatabases
from reverie.agents.codex.locations import (
    BUCKET,
    KIND,
    USER_BUCKET,
    bucket_of,
    config,
    database_names,
    normalised_cwd,
    thread_of_trace,
)
from reverie.agents.codex.memory_jobs import MemoryBooks, jobs_of, read_memory_books, status_lines
from reverie.agents.codex.messages import CodexReadable
from reverie.agents.codex.models import model_services, named_model
from reverie.agents.codex.project_files import project_files
from reverie.agents.codex.prompt import project_companions, was_reset
from reverie.agents.codex.siblings import sibling_names, siblings
from reverie.agents.codex.threads import Books, read_books, rollout_finder, source_of, threads
from reverie.agents.codex.transcript import rollout_head
from reverie.agents.known_layouts import CODEX_MEMORIES, codex_databases, codex_memories, codex_root, refusals
from reverie.agents.reading import (
    as_object,
    cached_until_changed,
    directory_names,
    file_names,
    read_beginning,
)
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
from reverie.agents.transcripts import ReadableTranscript
from reverie.errors import StoreError, Unavailable
from reverie.files.directory import is_directory, is_file
from reverie.files.locks import is_held
from reverie.values import replace

CAPS = Caps(
    file_bytes=4 << 20,
    files_per_scope=10_000,
    description_chars=200,
    description_prefix_bytes=4096,
    view_depth=3,
    descriptions=False,
)
"""The limits for Codex.

The agent has no caps of this kind; these keep a huge file from being treated as a note.
"""

EXTRACTION_FAILED = "extraction failed"
_HEADER_BYTES = 4096
_TRACES_LOOKED_AT = 50
_ROLLOUTS_LOOKED_AT = 500
_HEAD_CHANGES_BYTES = 1 << 16
_INSTRUCTIONS = ("AGENTS.md", "AGENTS.override.md")
_FROM_ROLLOUTS = "Codex regenerates this file from its transcripts, so a change would be lost."
_RESET = "Codex deleted all its memories and starts over. The history still contains the old ones."
_ANEW = "Each consolidation rewrites this file. What you change here then remains only in the history."
_OF_FEBRUARY = (
    "Current versions of Codex do not read memories per working directory, so Reverie only shows them."
)


class CodexHome(Home):
    """One Codex home; see `agents.base.Home` for each member's contract."""

    kind = KIND
    caps = CAPS

    def __init__(
        self,
        root: Path,
        cache: Path | None = None,
        *,
        now: Callable[[], float] = time.time,
        sqlite_home: Path | None = None,
    ) -> None:
        """Open the home at `root`.

        `cache`: the directory for caches and copies of databases; None: databases are not read. `now` returns
        the current time in seconds. `sqlite_home`: the directory for databases that the agent's environment
        names, if any.
        """
        super().__init__(root)
        self.transcripts = self
        self.jobs = self
        self.store_rules = self
        self.extraction = self
        self.models = self
        self._databases = CodexDatabases(root, None if cache is None else cache / "codex", sqlite_home)
        self._now = now

    def contents(self) -> HomeContents:
        self._require_available()
        problems: list[str] = []
        books = read_books(self._databases)
        known_cwds = self._known_cwds(books, problems)
        owners = self._owners(known_cwds, problems)
        projects = [
            Project(path, _name(path, bucket), ())
            for bucket, path in sorted(owners.items(), key=lambda pair: (pair[1].casefold(), pair[0]))
        ]
        known = set(owners.values())
        projects += [Project(cwd, _name(cwd, ""), ()) for cwd in known_cwds if cwd not in known]
        projects = [
            replace(project, name=_named(books.project_roots.get(project.path, ""), project.name))
            for project in projects
        ]
        self._require_available()
        return HomeContents(tuple(projects), (), tuple(dict.fromkeys(problems)))

    def context(
        self, *, workspace_id: str | None = None, project_path: str | None = None, project_given: bool = False
    ) -> ScopeContext:
        self._require_available()
        if not project_path:
            return ScopeContext(workspace_id, None, ProjectGap.NO_PROJECT)
        return ScopeContext(workspace_id, project_path, None)

    def scope_root(self, context: ScopeContext, scope: Scope) -> ScopeRoot:
        self._require_available()
        if scope is Scope.GLOBAL:
            return self._global_root()
        if scope is Scope.WORKSPACE:
            if self.extracts_to_notes:
                raise no_workspace("Codex", "one memory for all projects")
            raise no_workspace("Codex", "memories per project and for all projects")
        if context.store:
            return self._project_root(context.store.removeprefix("project/"))
        if not context.project_path:
            gap = context.project_gap or ProjectGap.NO_PROJECT
            raise nothing_chosen(scope, gap, "project", permanent=self.extracts_to_notes)
        return self._project_root(self._bucket(context.project_path))

    def roots(self, contents: HomeContents | None = None) -> tuple[ScopeRoot, ...]:
        self._require_available()
        root = self._global_root()
        found = [root] if is_directory(root.directory) else []
        found += [self._bucket_root(bucket) for bucket in self._buckets([])]
        self._require_available()
        return tuple(found)

    def companions(self, context: ScopeContext) -> tuple[Companion, ...]:
        first, *others = (self._root / name for name in _INSTRUCTIONS)
        found = [Companion(Scope.GLOBAL, first, first.name, is_file(first))]
        found += [Companion(Scope.GLOBAL, path, path.name, True) for path in others if is_file(path)]
        found += project_companions(self._root, context.project_path)
        if context.project_path:
            found += project_files(self._global_root().directory, context.project_path)
        used = codex_store.version_in_use(self._root)
        other = codex_store.DIRECTORIES[used.other]
        why = {other: codex_store.why_read_only(self._root, used.other)}
        return (*found, *siblings(self._root, codex_store.DIRECTORIES[used.name], why))

    def write_refusals(self, root: ScopeRoot | None = None) -> tuple[Refusal, ...]:
        if root is not None and not root.read_only:
            # A root from a journal (undo, recovery) does not record whether it may be written today.
            root = replace(root, read_only=self._why_read_only(root))
        refused = super().write_refusals(root)
        if root is None:
            return refused  # instructions are no part of the memories
        of_databases = codex_databases(self._databases.places(), self._databases.cache)
        found = (*codex_memories(self._root), *of_databases)
        return (*refused, *refusals(CODEX_MEMORIES, found), *refusals(root.key, codex_root(root.directory)))

    def file_rule(self, root: ScopeRoot, rel: str) -> FileRule:
        """Return the rule that says whether a file may be changed (formats/codex.md sections 2, 3 and 10).

        Files that Codex itself makes again, for example from transcripts, are `generated`. Its internal
        files, and all files of a root that Codex does not use, are `read-only`. Others are `editable`.
        """
        if root.read_only:
            return FileRule("read-only", root.read_only)
        first, _, below = rel.partition("/")
        of_user = root.scope is Scope.GLOBAL and rel.startswith(f"{USER_BUCKET}/memory/")
        if of_user:  # a bucket of the second generation, of no directory
            rel = below.removeprefix("memory/")
            first = rel.partition("/")[0]
        if root.scope is Scope.PROJECT or of_user:
            if first == "trace_summaries" or rel == "memory_summary.md":
                return FileRule("generated", _FROM_ROLLOUTS)
            if rel in ("MEMORY.md", "consolidated.md") or first == "skills":
                return FileRule("editable", _ANEW)
            return FileRule()
        return codex_store.file_rule(self._version(root), rel)

    def file_role(self, root: ScopeRoot, rel: str) -> FileRole:
        return "memory" if root.scope is Scope.PROJECT else codex_store.file_role(rel)

    def loads_whole(self, root: ScopeRoot, rel: str) -> bool:
        return root.scope is Scope.GLOBAL and rel == codex_store.SUMMARY

    def check_content(self, root: ScopeRoot, rel: str, before: bytes | None, after: bytes | None) -> None:
        version = codex_store.version_of(self._root, root.directory)
        if version is not None and root.scope is Scope.GLOBAL:
            if why := codex_store.why_read_only(self._root, version):
                raise StoreError(f"{rel} was not changed.", cause=why, reason="read-only")
            if version == "v2" or self._is_of_today():
                codex_store.refuse_content(version, rel, before, after)

    def write_lock(self, root: ScopeRoot) -> WriteLock | None:
        version = codex_store.version_of(self._root, root.directory)
        if version is None or not is_directory(self._root / codex_store.DIRECTORIES[version]):
            return None
        if version == "v1" and not self._is_of_today():
            return None  # the first generations had none, and nothing of theirs is made anew
        return WriteLock(self._root / codex_store.LOCKS[version], "Codex")

    @property
    def extracts_to_notes(self) -> bool:
        """Whether extracted memories go into notes to Codex.

        False only for homes of the first generation, which have memories per working directory; the current
        Codex never reads those.
        """
        return codex_store.version_in_use(self._root).name == "v2" or self._is_of_today()

    def extracted_at(self) -> Mapping[str, int]:
        books = self._memory_books()
        found = {**books.empty, **books.outputs}
        for thread_id, at in self._traces_at():
            found[thread_id] = max(at, found.get(thread_id, 0))
        # Databases and traces hold whole seconds: the end of each second counts.
        return {thread_id: at + 999 for thread_id, at in found.items()}

    def left_to_agent(self, now_ms: int) -> frozenset[str]:
        if not makes_memories(self._root):
            return frozenset()
        threads = self._threads()
        jobs = jobs_of(self._memory_books(), threads, now_ms)
        due = due_of(codex_store.settings(self._root))
        found = standings(threads, self.extracted_at(), jobs, due, now_ms)
        waiting: tuple[Standing, ...] = ("ready", "still in use", "waiting for a retry")
        return frozenset(thread_id for thread_id, standing in found.items() if standing in waiting)

    def _traces_at(self) -> Iterator[tuple[str, int]]:
        """Yield (thread id, time in UTC ms) for each trace, a file with the memories from one thread.

        Only early versions of Codex wrote traces. The time is that of the last change in the text from which
        the trace was made.
        """
        for bucket in self._buckets([]):
            directory = self._memories / bucket / "memory" / "trace_summaries"
            for name in file_names(directory, []):
                with contextlib.suppress(OSError, ValueError, OverflowError):
                    at = datetime.fromisoformat(_header(directory / name).get("updated_at", ""))
                    if (thread_id := thread_of_trace(name)) and at.tzinfo is not None:
                        yield thread_id.lower(), int(at.timestamp() * 1000)

    def note_path(self, title: str, at_ms: int, source: str = "") -> str:
        return codex_store.note_path(title, at_ms, source)

    def agent_status(self, context: ScopeContext) -> tuple[StatusLine, ...]:
        books, now_ms = self._memory_books(), int(self._now() * 1000)
        cwd = context.project_path or ""
        lines = status_lines(books, jobs_of(books, self._threads(), now_ms), cwd, now_ms)
        return (
            (StatusLine(Scope.GLOBAL, "Codex memory", _RESET, "warn"), *lines)
            if was_reset(self._root)
            else lines
        )

    def agent_jobs(self) -> tuple[AgentJob, ...]:
        books = self._memory_books()
        return jobs_of(books, self._threads(), int(self._now() * 1000))

    def checks(self, context: ScopeContext) -> tuple[AgentCheck, ...]:
        books, threads, now_ms = self._memory_books(), self._threads(), int(self._now() * 1000)
        jobs = jobs_of(books, threads, now_ms)
        return checks(CodexFacts(self._root, now_ms, threads, self.extracted_at(), books, jobs, is_held))

    def dream_config(self, workspace_id: str | None) -> AgentDreamConfig:
        return AgentDreamConfig(named_model(self._root, "consolidation_model"))

    def extraction_model(self) -> str | None:
        return named_model(self._root, "extract_model")

    def model_services(self) -> tuple[ModelService, ...]:
        return model_services(self._root)

    def threads(self) -> tuple[Thread, ...]:
        """Return every thread, including those of sub-agents."""
        self._require_available()
        return self._threads()

    def sources(self, project_path: str | None = None) -> tuple[TranscriptSource, ...]:
        found = (source_of(thread) for thread in self.threads() if not thread.subagent)
        wanted = None if project_path is None else {project_path, normalised_cwd(project_path)}
        failed = {job.source_id for job in self.agent_jobs() if job.state == "failed" and job.source_id}
        return tuple(
            _failed(source) if source.id.lower() in failed else source
            for source in found
            if source and (wanted is None or source.project_path in wanted)
        )

    def open_source(self, source: TranscriptSource) -> ReadableTranscript:
        return CodexReadable(source.path, rollout_finder(self._root))

    def described_source(self, source: TranscriptSource) -> TranscriptSource:
        try:
            head = rollout_head(source.path)
        except FileNotFoundError:
            return source
        subagent = "sub-agent" if "subagent" in head.source else ""
        return replace(
            source,
            title=source.title or " ".join(head.first_prompt.split())[:200],
            project_path=source.project_path or head.cwd or None,
            state=source.state or subagent,
        )

    def watched(self) -> tuple[WatchedPlace, ...]:
        used = codex_store.DIRECTORIES[codex_store.version_in_use(self._root).name]
        beside = sibling_names(self._root, used)
        stores = codex_store.DIRECTORIES.values()
        names = ("config.toml", "sqlite", "session_index.jsonl", "memories_extensions")
        known = (*_INSTRUCTIONS, *stores, *names, *beside)
        elsewhere = (place for place in self._databases.places() if place != self._root)
        return (
            WatchedPlace(self._root, (*known, *database_names(self._root))),
            *(WatchedPlace(place, database_names(place)) for place in elsewhere if is_directory(place)),
            WatchedPlace(self._memories),
            WatchedPlace(self._root / codex_store.DIRECTORIES["v2"]),
            *(WatchedPlace(self._root / name) for name in beside),
        )

    # Reading

    @property
    def _memories(self) -> Path:
        return self._root / "memories"

    def _memory_books(self) -> MemoryBooks:
        version = codex_store.version_in_use(self._root).name
        return read_memory_books(self._databases, version)

    def _is_of_today(self) -> bool:
        return codex_store.is_of_today(self._root, self._databases.places())

    def _version(self, root: ScopeRoot) -> codex_store.Version:
        return codex_store.version_of(self._root, root.directory) or "v1"

    def _global_root(self) -> ScopeRoot:
        """Return the root of the memories for all projects, in the memory version in use.

        The two memory versions have different root keys, so that their histories are never mixed.
        """
        version = codex_store.version_in_use(self._root).name
        key, without = ("global/v2", "") if version == "v2" else ("global", BUCKET.pattern)
        directory = self._root / codex_store.DIRECTORIES[version]
        why, headed = codex_store.why_read_only(self._root, version), codex_store.SUMMARIES
        return ScopeRoot(Scope.GLOBAL, key, directory, f"{key}:", without, read_only=why, headed=headed)

    def _why_read_only(self, root: ScopeRoot) -> str:
        """Return the reason why nothing may be written into `root` now; empty if writing is allowed."""
        version = codex_store.version_of(self._root, root.directory)
        if version is None:
            return ""
        why = codex_store.why_read_only(self._root, version)
        if not why and root.scope is Scope.PROJECT:
            return self._bucket_root(root.key.removeprefix("project/")).read_only
        return why

    def _project_root(self, bucket: str) -> ScopeRoot:
        """Return the memory root of a bucket: the memories of one working directory in old versions.

        Raises `ScopeUnavailable` for a missing bucket, because neither the current Codex nor Reverie creates
        it.
        """
        root = self._bucket_root(bucket)
        if root.read_only == _OF_FEBRUARY and not is_directory(root.directory):
            raise ScopeUnavailable(
                Scope.PROJECT,
                None,
                "Codex has no separate memory for this project.",
                cause="Codex has one memory for all projects.",
                next_step="Open Global to see it. Only the files about this project are listed here.",
                permanent=True,
            )
        return root

    def _bucket_root(self, bucket: str) -> ScopeRoot:
        if not BUCKET.fullmatch(bucket):
            raise Unavailable(f"{bucket} is not a Codex memory.", cause="Codex never uses names like this.")
        key, why = f"project/{bucket}", ""
        if self._is_of_today():
            why = _OF_FEBRUARY
        elif not is_directory(self._memories):
            why = codex_store.NO_STORE
        return ScopeRoot(Scope.PROJECT, key, self._memories / bucket / "memory", f"{key}:", read_only=why)

    def _bucket(self, project_path: str) -> str:
        """Return the name of the bucket of a project, its directory in `memories/`.

        `project_path`: the working directory; if that is unknown, the path of the bucket itself.
        """
        own = Path(project_path)
        if own.parent == self._memories and BUCKET.fullmatch(own.name):
            return own.name
        first = [bucket_of(cwd) for cwd in dict.fromkeys((normalised_cwd(project_path), project_path))]
        for bucket in (*first, *(each[:16] for each in first)):
            if is_directory(self._memories / bucket / "memory"):
                return bucket
        return first[0]

    def _buckets(self, problems: list[str]) -> Iterator[str]:
        for name in directory_names(self._memories, problems):
            if BUCKET.fullmatch(name) and is_directory(self._memories / name / "memory"):
                yield name

    def _owners(self, known_cwds: Iterable[str], problems: list[str]) -> dict[str, str]:
        """Return bucket name -> working directory, or the bucket's own path if the directory is unknown.

        A bucket is a directory in `memories/`, named by the hash of a working directory. `known_cwds`: the
        working directories whose hashes to try first. Each error adds a message to `problems`.
        """
        buckets = list(self._buckets(problems))
        if not buckets:
            return {}
        by_hash = _by_hash(known_cwds)
        told = {bucket: self._named_by_traces(bucket) for bucket in buckets}
        if any(not told[bucket] and not _hashed(by_hash, bucket) for bucket in buckets):
            by_hash = _by_hash(self._cwds_of_rollouts(read_books(self._databases))) | by_hash
        owners: dict[str, str] = {}
        for bucket in sorted(buckets, key=len, reverse=True):
            owner = told[bucket] or _hashed(by_hash, bucket)
            free = owner and owner not in owners.values()
            owners[bucket] = owner if free else str(self._memories / bucket)
        return owners

    def _named_by_traces(self, bucket: str) -> str | None:
        directory = self._memories / bucket / "memory" / "trace_summaries"
        names = [name for name in file_names(directory, []) if name.endswith(".md")]
        for name in names[:_TRACES_LOOKED_AT]:
            try:
                cwd = _header(directory / name).get("cwd", "")
            except OSError:
                continue
            if cwd and _hashed(_by_hash([cwd]), bucket):
                return cwd
        return None

    def _known_cwds(self, books: Books, problems: list[str]) -> tuple[str, ...]:
        """Return the working directories that the agent's settings and its databases, `books`, name.

        If the databases have no threads, the working directories in the rollouts (transcripts) are used.
        Each error adds a message to `problems`.
        """
        problems += books.problems
        named = [row.get("cwd") for row in books.threads.values()]
        if not books.threads:
            named += self._cwds_of_rollouts(books)
        named += books.project_roots
        data, problem = config(self._root)
        problems += [problem] if problem else []
        named += as_object(data.get("projects"))
        return tuple(dict.fromkeys(cwd for cwd in named if isinstance(cwd, str) and cwd))

    def _cwds_of_rollouts(self, books: Books) -> list[str]:
        """Return the working directories of the newest threads for which the databases name none.

        They are read from the first lines of each thread's rollout (transcript). `books`: the rows of the
        databases.
        """
        without_facts = [each for each in threads(self._root, books) if each.path and not each.cwd]
        return [
            cwd
            for each in without_facts[:_ROLLOUTS_LOOKED_AT]
            if each.path and (cwd := _rollout_cwd(each.path, min(each.size, _HEAD_CHANGES_BYTES)))
        ]

    def _threads(self) -> tuple[Thread, ...]:
        return threads(self._root, read_books(self._databases))


@cached_until_changed(4096)
def _header(path: Path) -> Mapping[str, str]:
    """Return the header of a trace file as name -> value."""
    head = read_beginning(path, _HEADER_BYTES).decode("utf-8", "replace")
    pairs = (line.partition(":") for line in reversed(head.partition("\n\n")[0].splitlines()))
    return {name: value.strip() for name, colon, value in pairs if colon}


@lru_cache(maxsize=4096)
def _rollout_cwd(path: Path, _size: int) -> str:
    """Return the working directory in which a person's rollout begins; empty if there is none.

    Also empty for a sub-agent's rollout. Cached by file size, so a short file is read again when it grows.
    """

    try:
        head = rollout_head(path)
    except (FileNotFoundError, Unavailable):
        return ""
    return "" if "subagent" in head.source else head.cwd


def _by_hash(cwds: Iterable[str]) -> dict[str, str]:
    """Return hash -> working directory for each of `cwds`.

    Each path has two hashes: one of the path as given and one of the path with symlinks resolved. Codex used
    them as directory names.
    """
    found: dict[str, str] = {}
    for cwd in cwds:
        for each in (cwd, normalised_cwd(cwd)):
            found.setdefault(bucket_of(each), cwd)
    return found


def _hashed(by_hash: dict[str, str], bucket: str) -> str:
    """Return the working directory with a hash that begins with the name `bucket`; empty if there is none.

    `by_hash`: hash -> working directory.
    """
    return next((cwd for hashed, cwd in by_hash.items() if hashed.startswith(bucket)), "")


def _failed(source: TranscriptSource) -> TranscriptSource:
    """Return `source`, marked as a transcript from which Codex could not extract a memory."""
    return replace(source, state=", ".join(part for part in (source.state, EXTRACTION_FAILED) if part))


def _named(given: str, directory: str) -> str:
    """Return the name that a person gave a project, followed by its directory to make the text unique.

    `given`: the name; if it is empty, return `directory` alone.
    """
    return directory if given in ("", directory) else f"{given} ({directory})"


def _name(path: str, bucket: str) -> str:
    own = Path(path)
    if bucket and own.name == bucket:
        return f"unknown directory {bucket[:8]}…"
    return own.name or path
