"""The home of Codex CLI: `~/.codex` (formats/codex.md).

All generations of its memory side by side, since nobody migrates: buckets per working directory (64 hex
digits, later 16) are projects, everything else in `memories/` is global. A bucket's name cannot be turned
back: its directory is told by the trace files in it, or found among the directories that are known otherwise.
Where both kinds of bucket stand for one directory, the older kind is the project and the newer a project of
its own, named by its directory. Threads are transcripts to open, not workspaces.

The home is only read; databases through copies in `cache`. Credentials are never opened.
Failure: as `homes.base` says.
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from reverie.errors import Unavailable
from reverie.homes.agents import AgentJob, DreamWishes, StatusLine
from reverie.homes.codex_database import database_places
from reverie.homes.codex_jobs import jobs_of, read_memory_books, status_lines
from reverie.homes.codex_names import BUCKET, KIND, USER_BUCKET, bucket_of, database_names, normalised_cwd
from reverie.homes.codex_siblings import sibling_names, siblings
from reverie.homes.codex_threads import Books, Thread, read_books, source_of, threads
from reverie.homes.listing import Companion, HomeContents, Project, Source, WatchedPlace
from reverie.homes.plain import PlainHome, no_workspace
from reverie.homes.reading import directory_names, file_names, is_directory, is_file, read_regular
from reverie.homes.scopes import Caps, FileRule, ProjectGap, Scope, ScopeContext, ScopeRoot, ScopeUnavailable
from reverie.transcripts.reading import ReadableTranscript

CAPS = Caps(
    file_bytes=4 << 20,
    files_per_scope=10_000,
    description_chars=200,
    description_prefix_bytes=4096,
    view_depth=3,
)
"""The agent has no caps of this kind; these keep one huge file from being taken for a note."""

_HEADER_BYTES = 4096
_TRACES_LOOKED_AT = 50
_ROLLOUTS_LOOKED_AT = 500
_HEAD_CHANGES_BYTES = 1 << 16
_CONFIG_BYTES = 4 << 20
_INSTRUCTIONS = ("AGENTS.md", "AGENTS.override.md")
_FROM_ROLLOUTS = "Codex writes this file from the rollouts again and again; a change would be lost."
_ANEW = "Each consolidation makes this anew: what is changed here stays in the history only."
_FROM_DATABASE = "Codex writes this file from its database before each consolidation; a change would be lost."
_TRANSIENT = "Codex keeps this file for itself while it consolidates."
_BASELINE = "Codex keeps here what its memories were at the last consolidation, to see what people changed."
_MANIFEST = "Codex keeps the books of an extension in this file."


class CodexHome(PlainHome):
    """One Codex home; see `homes.base.Home` for what each member promises."""

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
        """`sqlite_home`: where the agent's environment puts the databases, if it does."""
        super().__init__(root)
        self._sqlite_home = sqlite_home
        self._cache = None if cache is None else cache / "codex"
        self._now = now

    def contents(self) -> HomeContents:
        self._require_available()
        problems: list[str] = []
        known_cwds = self._known_cwds(problems)
        owners = self._owners(known_cwds, problems)
        projects = [
            Project(path, _name(path, bucket), ())
            for bucket, path in sorted(owners.items(), key=lambda pair: (pair[1].casefold(), pair[0]))
        ]
        known = set(owners.values())
        projects += [Project(cwd, _name(cwd, ""), ()) for cwd in known_cwds if cwd not in known]
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
            raise no_workspace("Codex")
        if context.store:
            return self._project_root(context.store.removeprefix("project/"))
        if not context.project_path:
            raise ScopeUnavailable(
                scope,
                context.project_gap or ProjectGap.NO_PROJECT,
                "There is no project memory here.",
                cause="No project is chosen.",
                next_step="Choose a project.",
            )
        return self._project_root(self._bucket(context.project_path))

    def roots(self, contents: HomeContents | None = None) -> tuple[ScopeRoot, ...]:
        self._require_available()
        found = [self._global_root()] if is_directory(self._memories) else []
        found += [self._project_root(bucket) for bucket in self._buckets([])]
        self._require_available()
        return tuple(found)

    def companions(self, context: ScopeContext) -> tuple[Companion, ...]:
        first, *others = (self._root / name for name in _INSTRUCTIONS)
        found = [Companion(Scope.GLOBAL, first, first.name, is_file(first))]
        found += [Companion(Scope.GLOBAL, path, path.name, True) for path in others if is_file(path)]
        return (*found, *siblings(self._root))

    def file_rule(self, root: ScopeRoot, rel: str) -> FileRule:
        """Sheet sections 2 and 3: what phase one makes is made anew; the rest is for editing."""
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
        if first.lower() == ".git":
            return FileRule("read-only", _BASELINE)
        if first == "rollout_summaries":
            return FileRule("generated", _FROM_ROLLOUTS)
        if rel == "raw_memories.md":
            return FileRule("generated", _FROM_DATABASE)
        if rel == "phase2_workspace_diff.md":
            return FileRule("generated", _TRANSIENT)
        if first == "extensions" and below.endswith("/manifest.json"):
            return FileRule("read-only", _MANIFEST)
        return FileRule()

    def agent_status(self, context: ScopeContext) -> tuple[StatusLine, ...]:
        books, now_ms = read_memory_books(self._root, self._cache, self._sqlite_home), int(self._now() * 1000)
        cwd = context.project_path or ""
        return status_lines(books, jobs_of(books, self._threads(), now_ms), cwd, now_ms)

    def agent_jobs(self) -> tuple[AgentJob, ...]:
        books = read_memory_books(self._root, self._cache, self._sqlite_home)
        return jobs_of(books, self._threads(), int(self._now() * 1000))

    def dream_wishes(self, workspace_id: str | None) -> DreamWishes:
        from reverie.homes.codex_models import extraction_model

        return DreamWishes(extraction_model(self._root))

    def threads(self) -> tuple[Thread, ...]:
        """Every thread, those of sub-agents too."""
        self._require_available()
        return self._threads()

    def sources(self, project_path: str | None = None) -> tuple[Source, ...]:
        found = (source_of(thread) for thread in self.threads() if not thread.subagent)
        wanted = None if project_path is None else {project_path, normalised_cwd(project_path)}
        return tuple(
            source for source in found if source and (wanted is None or source.project_path in wanted)
        )

    def open_source(self, source: Source) -> ReadableTranscript:
        from reverie.transcripts.codex_reading import CodexReadable

        return CodexReadable(source.path)

    def source_title(self, source: Source) -> str:
        return source.title or self.source_told(source).title

    def source_told(self, source: Source) -> Source:
        from reverie.transcripts.codex import rollout_head

        try:
            head = rollout_head(source.path)
        except FileNotFoundError:
            return source
        subagent = "sub-agent" if "subagent" in head.source else ""
        return source._replace(
            title=source.title or " ".join(head.first_prompt.split())[:200],
            project_path=source.project_path or head.cwd or None,
            state=source.state or subagent,
        )

    def watched(self) -> tuple[WatchedPlace, ...]:
        beside = sibling_names(self._root)
        known = (*_INSTRUCTIONS, "memories", "sqlite", "session_index.jsonl", "memories_extensions", *beside)
        elsewhere = (place for place in database_places(self._root, self._sqlite_home) if place != self._root)
        return (
            WatchedPlace(self._root, (*known, *database_names(self._root))),
            *(WatchedPlace(place, database_names(place)) for place in elsewhere if is_directory(place)),
            WatchedPlace(self._memories),
            *(WatchedPlace(self._root / name) for name in beside),
        )

    # Reading

    @property
    def _memories(self) -> Path:
        return self._root / "memories"

    def _global_root(self) -> ScopeRoot:
        return ScopeRoot(Scope.GLOBAL, "global", self._memories, "global:", without=BUCKET.pattern)

    def _project_root(self, bucket: str) -> ScopeRoot:
        if not BUCKET.fullmatch(bucket):
            raise Unavailable(
                f"{bucket} is no memory of Codex.", cause="Its name is not one that Codex gives."
            )
        key = f"project/{bucket}"
        return ScopeRoot(Scope.PROJECT, key, self._memories / bucket / "memory", f"{key}:")

    def _bucket(self, project_path: str) -> str:
        """The bucket of a working directory, or the one that is named by its own directory."""
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
        """The working directory of each bucket; its own directory where nobody knows."""
        buckets = list(self._buckets(problems))
        if not buckets:
            return {}
        by_hash = _by_hash(known_cwds)
        told = {bucket: self._told_by_traces(bucket) for bucket in buckets}
        if any(not told[bucket] and not _hashed(by_hash, bucket) for bucket in buckets):
            by_hash = {
                **_by_hash(self._cwds_of_rollouts(read_books(self._root, self._cache, self._sqlite_home))),
                **by_hash,
            }
        owners: dict[str, str] = {}
        for bucket in sorted(buckets, key=len, reverse=True):
            owner = told[bucket] or _hashed(by_hash, bucket)
            free = owner and owner not in owners.values()
            owners[bucket] = owner if free else str(self._memories / bucket)
        return owners

    def _told_by_traces(self, bucket: str) -> str | None:
        directory = self._memories / bucket / "memory" / "trace_summaries"
        names = [name for name in file_names(directory, []) if name.endswith(".md")]
        for name in names[:_TRACES_LOOKED_AT]:
            try:
                path = directory / name
                status = path.stat()
                cwd = _header_cwd(path, status.st_mtime_ns, status.st_size)
            except OSError:
                continue
            if cwd and _hashed(_by_hash([cwd]), bucket):
                return cwd
        return None

    def _known_cwds(self, problems: list[str]) -> tuple[str, ...]:
        """Directories that the books and the settings of the agent name; without books, the rollouts."""
        books = read_books(self._root, self._cache, self._sqlite_home)
        problems += books.problems
        named = [row.get("cwd") for row in books.threads.values()]
        if not books.threads:
            named += self._cwds_of_rollouts(books)
        named += _trusted_projects(self._root / "config.toml", problems)
        return tuple(dict.fromkeys(cwd for cwd in named if isinstance(cwd, str) and cwd))

    def _cwds_of_rollouts(self, books: Books) -> list[str]:
        """Directories of the newest rollouts that the books do not tell of, by their beginnings."""
        untold = [each for each in threads(self._root, books) if each.path and not each.cwd]
        return [
            cwd
            for each in untold[:_ROLLOUTS_LOOKED_AT]
            if each.path and (cwd := _rollout_cwd(each.path, min(each.size, _HEAD_CHANGES_BYTES)))
        ]

    def _threads(self) -> tuple[Thread, ...]:
        return threads(self._root, read_books(self._root, self._cache, self._sqlite_home))


@lru_cache(maxsize=4096)
def _header_cwd(path: Path, _mtime_ns: int, _size: int) -> str:
    """The `cwd:` line of a trace file's header; empty for none. Kept until the file changes."""
    with path.open("rb") as file:
        head = file.read(_HEADER_BYTES).decode("utf-8", "replace")
    return next(
        (line[4:].strip() for line in head.partition("\n\n")[0].splitlines() if line.startswith("cwd:")), ""
    )


@lru_cache(maxsize=4096)
def _rollout_cwd(path: Path, _size: int) -> str:
    """The directory a person's rollout begins in; empty for none. Read anew while the file is short."""
    from reverie.transcripts.codex import rollout_head

    try:
        head = rollout_head(path)
    except (FileNotFoundError, Unavailable):
        return ""
    return "" if "subagent" in head.source else head.cwd


def _by_hash(cwds: Iterable[str]) -> dict[str, str]:
    """Working directories by the hash of what the agent takes for them, or of the path as it is given."""
    found: dict[str, str] = {}
    for cwd in cwds:
        for each in (cwd, normalised_cwd(cwd)):
            found.setdefault(bucket_of(each), cwd)
    return found


def _hashed(by_hash: dict[str, str], bucket: str) -> str:
    """The directory whose hash begins with a bucket's name; empty for none."""
    return next((cwd for hashed, cwd in by_hash.items() if hashed.startswith(bucket)), "")


def _trusted_projects(config: Path, problems: list[str]) -> Iterable[str]:
    """The directories in `[projects."…"]` of the agent's settings."""
    try:
        data = tomllib.loads(read_regular(config, _CONFIG_BYTES).decode("utf-8", "replace"))
    except FileNotFoundError:
        return ()
    except OSError as error:
        problems.append(f"config.toml cannot be read: {error.strerror or error}.")
        return ()
    except (ValueError, RecursionError) as error:
        problems.append(f"config.toml is not valid TOML: {error}.")
        return ()
    projects = data.get("projects")
    return tuple(projects) if isinstance(projects, dict) else ()


def _name(path: str, bucket: str) -> str:
    own = Path(path)
    if bucket and own.name == bucket:
        return f"unknown directory {bucket[:8]}…"
    return own.name or path
