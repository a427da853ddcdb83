"""The home of mux, renamed xum: `~/.xum`, `~/.mux` and their relatives (formats/mux.md sections 1 to 3).

Each call reads its data again, so that an instance never goes stale, and creates nothing. An id that is not a
plain directory name is refused before it becomes a path, so no scope root ever lies outside the home. Modules
that the first paint does not need are imported by the methods that use them.

Failure: a home whose directory is missing raises `Unavailable`; a `config.json` that cannot be read is a
sentence in `contents().problems`, and then nothing is reported as an orphan, since the list is unknown.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agents.base import (
    Companion,
    Home,
    HomeContents,
    LostStore,
    Orphan,
    SessionPlace,
    Sidecars,
    TitlesRead,
    TranscriptSource,
    WatchedPlace,
    Workspace,
    nothing_chosen,
)
from reverie.agents.definition import MAX_BYTES
from reverie.agents.known_layouts import mux_home
from reverie.agents.mux.config import (
    ACTIVITY,
    AGENT,
    CONFIG,
    CONFIG_BYTES,
    COVERAGE,
    INTERVAL,
    MULTI_PROJECT_BUCKET,
    USAGE,
    MuxConfig,
    base_name,
    below,
    dream_enabled,
    dream_model,
    find_workspace,
    is_plain_component,
    parse_config,
    project_dir_name,
    project_id,
    strip_trailing_separators,
    text_at,
    writer_config,
    writer_place,
)
from reverie.agents.reading import directory_names, file_names, read_json
from reverie.agents.scopes import (
    Caps,
    ProjectGap,
    Refusal,
    Scope,
    ScopeContext,
    ScopeRoot,
    ScopeUnavailable,
    escape_key,
    unescape_key,
)
from reverie.errors import Unavailable, user_error_from_os
from reverie.files.directory import is_directory, is_file, read_regular
from reverie.text.summaries import phrase, some, together
from reverie.values import replace

if TYPE_CHECKING:
    from reverie.agents.capabilities import (
        AgentDreamConfig,
        AgentWriterConfig,
        DumpPlaces,
        MemoryKinds,
        ModelService,
        WriterPlace,
    )
    from reverie.agents.transcripts import (
        MemoryCall,
        ReadableTranscript,
        Tail,
        TailEvent,
        TailPosition,
        Transcript,
    )


KIND = "mux"
CAPS = Caps(
    file_bytes=102_400,
    files_per_scope=1000,
    description_chars=200,
    description_prefix_bytes=4096,
    view_depth=2,
)

_INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md")
_METADATA_BYTES = 1 << 20
_PROBLEMS_SHOWN = 100
_ARRAY_INDEX_LIMIT = 2**32 - 1


class MuxHome(Home):
    """One mux or xum home; see `agents.base.Home` for each member's contract."""

    kind = KIND
    caps = CAPS
    lists_descriptions = True

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.sidecars = Sidecars(self._root / USAGE, self._root / COVERAGE)
        self.transcripts = self
        self.sessions = self
        self.writer = self
        self.models = self
        self.orphans = self
        self._stores = MuxStores(root)

    def contents(self) -> HomeContents:
        self._require_available()
        data, known, problem = self._config()
        config = parse_config(data, self._metadata_id)
        problems = [problem] if problem else []
        problems += config.problems
        orphans = [*self._stores.orphans(config, problems)] if known else []
        orphans += self._stores.older_layouts(config, problems)
        if len(problems) > _PROBLEMS_SHOWN:
            problems[_PROBLEMS_SHOWN:] = [f"There are {len(problems) - _PROBLEMS_SHOWN:,} more problems."]
        # Again at the end: a home that vanished meanwhile must not look like an emptied one.
        self._require_available()
        return HomeContents(config.projects, tuple(orphans), tuple(problems))

    def context(
        self, *, workspace_id: str | None = None, project_path: str | None = None, project_given: bool = False
    ) -> ScopeContext:
        self._require_available()
        if workspace_id is not None:
            _refuse_hostile_id(workspace_id)
        if project_given or project_path is not None:
            return _context(workspace_id, strip_trailing_separators(project_path or ""))
        if workspace_id is None:
            return ScopeContext(None, None, ProjectGap.NO_PROJECT)
        data, known, _ = self._config()
        workspace = find_workspace(data, workspace_id, self._metadata_id)
        if workspace is None:
            gap = ProjectGap.NO_PROJECT if known else ProjectGap.UNKNOWN
            return ScopeContext(workspace_id, None, gap)
        if workspace.memory_project is None:
            return ScopeContext(workspace_id, None, ProjectGap.MULTI_PROJECT)
        return replace(_context(workspace_id, workspace.memory_project), dreams_as=workspace.dreams_as)

    def scope_root(self, context: ScopeContext, scope: Scope) -> ScopeRoot:
        self._require_available()
        if scope is Scope.GLOBAL:
            return self._stores.global_root()
        if scope is Scope.PROJECT:
            if context.store:
                _refuse_hostile_id(context.store.removeprefix("project/"))
                return self._stores.project_root(context.store.removeprefix("project/"), None)
            if context.project_path is None or context.project_path in ("", MULTI_PROJECT_BUCKET):
                raise _no_project(context)
            return self._stores.project_root(project_dir_name(context.project_path), context.project_path)
        if context.workspace_id is None:
            raise nothing_chosen(scope, None, "workspace")
        _refuse_hostile_id(context.workspace_id)
        return self._stores.workspace_root(context.workspace_id)

    def write_refusals(self, root: ScopeRoot | None = None) -> tuple[Refusal, ...]:
        of_session = root is not None and root.scope is Scope.WORKSPACE
        session = root.directory.parent if root is not None and of_session else None
        return (*super().write_refusals(root), *mux_home(self._root, session))

    def roots(self, contents: HomeContents | None = None) -> tuple[ScopeRoot, ...]:
        contents = contents or self.contents()
        stores, owners = self._stores, owners_of(contents)
        found = [stores.global_root()] if is_directory(stores.global_root().directory) else []
        # `contents()` reports directories that cannot be listed; here they are only left out.
        unlisted: list[str] = []
        found += [
            stores.project_root(name, owners.get(name)) for name in stores.project_stores(owners, unlisted)
        ]
        listed = {workspace.id for workspace in contents.workspaces()}
        found += [
            stores.workspace_root(name)
            for name in stores.sessions(listed, unlisted)
            if stores.has_memory(name)
        ]
        self._require_available()
        return tuple(found)

    def lost_stores(self) -> tuple[LostStore, ...]:

        contents = self.contents()
        return lost_stores(self._root, contents, self.roots(contents), owners_of(contents))

    def companions(self, context: ScopeContext) -> tuple[Companion, ...]:
        instructions, extra = (self._root / name for name in _INSTRUCTIONS)
        found = [Companion(Scope.GLOBAL, instructions, instructions.name, is_file(instructions))]
        if is_file(extra):
            found.append(Companion(Scope.GLOBAL, extra, extra.name, True))
        if context.project_path:
            # The one file of older versions. Today's never load it, so it is not offered for creation.
            path = self._root / "memories" / f"{project_id(context.project_path)}.md"
            exists = is_file(path)
            if exists or writer_in_use(self._root):
                about = "written by the memory writer"
                found.append(Companion(Scope.PROJECT, path, f"memories/{path.name}", exists, about=about))
        return tuple(found)

    def recencies(self) -> tuple[tuple[str, int], ...]:
        self._require_available()
        try:
            data = read_json(self._root / ACTIVITY, CONFIG_BYTES)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise user_error_from_os(error, f"{ACTIVITY} could not be read.") from error
        except ValueError:
            return ()  # the agent, too, starts afresh from a damaged one
        version = data.get("version") if isinstance(data, dict) else None
        if version != 1 or version is True:
            return ()  # of another version the agent, too, reads nothing
        entries = data.get("workspaces")
        return tuple(_recencies(entries)) if isinstance(entries, dict) else ()

    def transcript(self, workspace_id: str) -> Transcript:
        # Late: json lines are read by harvests only.
        from reverie.agents.mux.transcript import MuxTranscript

        _refuse_hostile_id(workspace_id)
        return MuxTranscript(self._root / "sessions" / workspace_id)

    def session_place(self, workspace_id: str) -> SessionPlace:
        from reverie.agents.mux.transcript import session_place

        _refuse_hostile_id(workspace_id)
        return session_place(self._root, workspace_id)

    def sessions_in_use(self) -> tuple[SessionPlace, ...]:
        from reverie.agents.mux.transcript import in_use

        return in_use(self._root, self.contents(), dict(self.recencies()))

    def session_watches(self) -> tuple[WatchedPlace, ...]:
        return (WatchedPlace(self._root, (CONFIG, ACTIVITY)), WatchedPlace(self._root / "sessions"))

    def memory_kinds(self) -> MemoryKinds:
        self._require_available()
        return memory_kinds(self._root, self._config()[0])

    def dream_config(self, workspace_id: str | None) -> AgentDreamConfig:
        """Return model cascade and prompt override of formats/mux.md section 10.

        Definitions of a project do not count for a consolidation.
        """
        from reverie.agents.capabilities import AgentDreamConfig

        config, _readable, _problem = self._config()
        definition, problem = self._definition("dream")
        model = dream_model(config, workspace_id, self._metadata_id)
        return AgentDreamConfig(model, definition, dream_enabled(config), problem)

    def model_services(self) -> tuple[ModelService, ...]:
        return ()  # config.json names none that Reverie could ask

    def workspace(self, workspace_id: str) -> Workspace | None:
        self._require_available()
        _refuse_hostile_id(workspace_id)
        data, known, problem = self._config()
        if not known:
            raise Unavailable(problem, next_step="Repair config.json.")
        return find_workspace(data, workspace_id, self._metadata_id)

    def writer_place(self, workspace_id: str) -> WriterPlace:

        context = self.context(workspace_id=workspace_id)
        listed = find_workspace(self._config()[0], workspace_id, self._metadata_id)
        return writer_place(self._root, workspace_id, context.project_path, listed)

    def dump_places(self) -> DumpPlaces:
        return dump_places(self._root)

    def writer_config(self, workspace_id: str) -> AgentWriterConfig:

        config = writer_config(self._config()[0], workspace_id, self._metadata_id)
        definition, problem = self._definition(AGENT)
        return replace(config, definition=definition, problem=problem)

    def sources(self, project_path: str | None = None) -> tuple[TranscriptSource, ...]:
        from reverie.agents.mux.transcript import sources

        return sources(self._root, self.contents(), project_path)

    def open_source(self, source: TranscriptSource) -> ReadableTranscript:
        from reverie.agents.mux.transcript import MuxReadable

        return MuxReadable(source.path)

    def described_source(self, source: TranscriptSource) -> TranscriptSource:
        return source  # the list says it all

    def learn_titles(self, most: int, project_path: str | None = None) -> TitlesRead:
        return TitlesRead()  # config.json names them

    def resolve_project(self, project_path: str) -> str:
        return project_path

    def tail(self, place: SessionPlace, position: TailPosition | None) -> Tail:
        from reverie.agents.mux.transcript import TranscriptTail

        return TranscriptTail(place.directory, position)

    def newest_turns(self, place: SessionPlace) -> tuple[TailEvent, ...]:
        from reverie.agents.mux.transcript import newest_rows

        return newest_rows(place.directory).events

    def memory_calls(self, place: SessionPlace) -> tuple[MemoryCall, ...]:
        from reverie.agents.mux.transcript import newest_memory_calls

        return newest_memory_calls(place.directory)

    def transcript_stamp(self, place: SessionPlace) -> tuple[tuple[int, int, int], ...]:
        from reverie.agents.mux.transcript import transcript_stamp

        return transcript_stamp(place.directory)

    def watched(self) -> tuple[WatchedPlace, ...]:
        return (
            WatchedPlace(
                self._root,
                (
                    *(CONFIG, ACTIVITY, USAGE, COVERAGE, *_INSTRUCTIONS),
                    *("memory", "memories", "sessions", DUMPS),
                ),
            ),
            WatchedPlace(self._root / "memory"),
            WatchedPlace(self._root / "memory" / "project"),
            WatchedPlace(self._root / "memories"),
            WatchedPlace(self._root / "sessions"),
            *watched_dumps(self._root),
        )

    # Reading

    def _definition(self, agent: str) -> tuple[bytes | None, str]:
        """Return the file that overrides a built-in agent, and why it cannot be read."""

        try:
            return read_regular(self._root / "agents" / f"{agent}.md", MAX_BYTES), ""
        except FileNotFoundError:
            return None, ""
        except OSError as error:
            return None, f"agents/{agent}.md cannot be read ({error.strerror or error})."

    def _config(self) -> tuple[dict[str, Any], bool, str]:
        """Return the decoded config.json, whether it was readable, and its problem.

        Only if it was readable are missing entries known to be unlisted.
        """
        try:
            data = read_json(self._root / CONFIG, CONFIG_BYTES)
        except FileNotFoundError:
            return {}, True, "There is no config.json, so no project or workspace is listed."
        except OSError as error:
            why = f"cannot be read: {error.strerror or error}"
        except ValueError as error:
            why = f"is not valid JSON: {error}"
        else:
            if isinstance(data, dict):
                return data, True, ""
            why = "does not hold a JSON object"
        return {}, False, f"No project or workspace is known, because config.json {why}."

    def _metadata_id(self, directory_name: str) -> str | None:
        if not is_plain_component(directory_name):
            return None
        try:
            data = read_json(self._root / "sessions" / directory_name / "metadata.json", _METADATA_BYTES)
        except (OSError, ValueError):
            return None  # then the id is made from the names, as the agent does
        identity = data.get("id") if isinstance(data, dict) else None
        return identity if isinstance(identity, str) and identity else None


def _context(workspace_id: str | None, project_path: str) -> ScopeContext:
    if not project_path:
        return ScopeContext(workspace_id, None, ProjectGap.NO_PROJECT)
    if project_path == MULTI_PROJECT_BUCKET:
        return ScopeContext(workspace_id, None, ProjectGap.MULTI_PROJECT)
    return ScopeContext(workspace_id, project_path)


def _no_project(context: ScopeContext) -> ScopeUnavailable:
    gap = context.project_gap
    if gap is ProjectGap.MULTI_PROJECT or context.project_path == MULTI_PROJECT_BUCKET:
        return ScopeUnavailable(
            Scope.PROJECT,
            ProjectGap.MULTI_PROJECT,
            "Project memory is not available in this workspace.",
            cause="It works on several projects, and their memories are never mixed.",
            next_step="Use workspace or global memory, or open a workspace of one project.",
        )
    if gap is ProjectGap.UNKNOWN:
        return ScopeUnavailable(
            Scope.PROJECT,
            ProjectGap.UNKNOWN,
            "Which project this workspace belongs to is not known now.",
            cause="The config.json of its home cannot be read.",
            next_step="Repair config.json, or name the project.",
        )
    return ScopeUnavailable(
        Scope.PROJECT,
        ProjectGap.NO_PROJECT,
        "There is no project memory here.",
        cause="No project belongs to what is chosen.",
        next_step="Use workspace or global memory, or choose a project.",
    )


def _refuse_hostile_id(workspace_id: str) -> None:
    if not is_plain_component(workspace_id):
        raise Unavailable(
            f"There is no workspace {workspace_id[:80]!r}.",
            cause="A workspace id is a single directory name.",
            next_step="Use an id as `reverie homes` shows it.",
        )


def _recencies(entries: dict[str, Any]) -> Iterator[tuple[str, int]]:
    for workspace_id in sorted(entries, key=_js_key_order):
        entry = entries[workspace_id]
        if not isinstance(entry, dict) or not isinstance(entry.get("streaming"), bool):
            continue
        recency = entry.get("recency")
        if isinstance(recency, int | float) and not isinstance(recency, bool) and abs(recency) < float("inf"):
            yield workspace_id, int(recency)


def _js_key_order(key: str) -> tuple[bool, int]:
    """Return a sort key for JavaScript's order: array indexes first, ascending, then the others."""
    is_index = key.isascii() and key.isdigit() and (key == "0" or key[0] != "0") and len(key) <= 10
    index = int(key) if is_index else _ARRAY_INDEX_LIMIT
    return (True, 0) if index >= _ARRAY_INDEX_LIMIT else (False, index)


_COPIES = "debug_obj/memories"


def writer_in_use(root: Path) -> bool:
    """Return whether the agent of this home is of a version that loads one file per project.

    The version is written nowhere, so it is judged by data that only one version writes (sections 14 and 17):
    the one with the memory writer names it in `config.json` and copies each written memory to
    `debug_obj/memories`; the ones with stores keep pins, coverage and `memory/`. Data that Reverie writes
    counts for neither. This is called for each project: `config.json` is read again only after it changed.
    """
    try:
        status = (root / CONFIG).stat()
        signs = _config_signs(root / CONFIG, status.st_mtime_ns, status.st_size, status.st_ino)
    except OSError:
        signs = ()
    return bool(signs) or is_directory(root / _COPIES)


@lru_cache(maxsize=16)
def _config_signs(config: Path, _mtime_ns: int, _size: int, _inode: int) -> tuple[str, ...]:
    try:
        return tuple(_signs_in(read_json(config, CONFIG_BYTES)))
    except ValueError:
        return ()


def memory_kinds(root: Path, config: object) -> MemoryKinds:
    """Return which memories the agent loads, judged by `config.json` and the files in the home."""
    from reverie.agents.capabilities import MemoryKinds  # late: no name that is listed needs it

    writer = _writer_signs(root, config)
    store = [name for name in (USAGE, COVERAGE) if is_file(root / name)]
    store += [name for name in ("memory/global", "memory/project") if is_directory(root / name)]
    if not writer and not store:
        return MemoryKinds(None, None, phrase("Nothing in this home tells which memories its agent loads."))
    evidence = []
    if writer:
        signs = ", ".join(writer)
        evidence.append(phrase("{signs}: of a version that loads one file a project.", signs=signs))
    if store:
        signs = ", ".join(store)
        evidence.append(phrase("{signs}: of a version that loads project memories.", signs=signs))
    return MemoryKinds(bool(writer), bool(store), together(*evidence))


def _writer_signs(root: Path, config: object) -> list[str]:
    return [*_signs_in(config), *((_COPIES,) if is_directory(root / _COPIES) else ())]


def _signs_in(config: object) -> list[str]:
    found = []
    if INTERVAL in below(config, "taskSettings"):
        found.append(f"config.json sets {INTERVAL}")
    if AGENT in below(config, "agentAiDefaults"):
        found.append(f"config.json names the agent {AGENT}")
    return found


_OLD_PROJECT_STORES = "project-memory"


class MuxStores:
    """The memory stores of one home (formats/mux.md sections 2, 3, 8, 9 and 14).

    Only reads. Threading: any thread but the GUI's; project paths may be on slow disks. Failure: as
    `agents.base` says; a directory that cannot be listed adds a sentence to `problems`.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def global_root(self) -> ScopeRoot:
        """Return the root of the memories that every workspace sees."""
        return ScopeRoot(Scope.GLOBAL, "global", self._root / "memory" / "global", "global:")

    def project_root(self, name: str, owner: str | None) -> ScopeRoot:
        """Return the root of the project directory `name`.

        `owner`: the project's path; None where the owner is unknown, and then nothing is counted.
        """
        prefix = None if owner is None else f"project:{escape_key(owner)}:"
        return ScopeRoot(Scope.PROJECT, f"project/{name}", self._root / "memory" / "project" / name, prefix)

    def workspace_root(self, name: str) -> ScopeRoot:
        """Return the root of the memories of one workspace."""
        directory = self._root.joinpath("sessions", name, "memory")
        return ScopeRoot(Scope.WORKSPACE, f"workspace/{name}", directory, f"workspace:{escape_key(name)}:")

    def project_stores(self, owners: Mapping[str, str], problems: list[str]) -> list[str]:
        """Return the sorted names below memory/project.

        Dot-names without an owner belong to tools (.git) and are left out.
        """
        names = directory_names(self._root / "memory" / "project", problems)
        return [name for name in names if name in owners or not name.startswith(".")]

    def sessions(self, listed: set[str], problems: list[str]) -> list[str]:
        """Return the sorted names below sessions, without those of tools."""
        names = directory_names(self._root / "sessions", problems)
        return [name for name in names if name in listed or not name.startswith(".")]

    def has_memory(self, name: str) -> bool:
        """Return whether a workspace has a memory directory."""
        # Called thousands of times, where a Path costs more than the check.
        return os.path.isdir(f"{self._root}/sessions/{name}/memory")  # noqa: PTH112

    def orphans(self, config: MuxConfig, problems: list[str]) -> Iterator[Orphan]:
        """Yield the stores without an owner in the config; adds what cannot be read to `problems`."""
        contents = HomeContents(config.projects)
        owners = owners_of(contents)
        for name in self.project_stores(owners, problems):
            if name not in owners:
                yield Orphan(
                    "project",
                    self.project_root(name, None).directory,
                    name,
                    "No project in config.json has this name.",
                )
        listed = {workspace.id for workspace in contents.workspaces()}
        for name in self.sessions(listed, problems):
            if name not in listed and self.has_memory(name):
                yield Orphan(
                    "workspace",
                    self.workspace_root(name).directory,
                    name,
                    "No workspace in config.json has this id.",
                )

    def older_layouts(self, config: MuxConfig, problems: list[str]) -> Iterator[Orphan]:
        """Yield the stores that versions of June 2026 left behind; no migration was ever shipped."""
        memory = self._root / "memory"
        loose = [name for name in file_names(memory, problems) if _is_note(name)]
        if loose:
            shown = f"memory/ ({some(len(loose), 'loose file')})"
            yield Orphan("older-layout", memory, shown, "Global memory lay here until 13 June 2026.")
        owners = owners_of(HomeContents(config.projects))
        reason = "Project memory lay here until 13 June 2026."
        for name in directory_names(self._root / _OLD_PROJECT_STORES, problems):
            yield Orphan(
                "older-layout", self._root / _OLD_PROJECT_STORES / name, owners.get(name, name), reason
            )


def owners_of(contents: HomeContents) -> dict[str, str]:
    """Return the project path for each store directory name.

    The names are one-way hashes, so every path that config.json mentions is tried.
    """
    paths = {project.path for project in contents.projects}
    for workspace in contents.workspaces():
        paths.update(workspace.project_paths)
        if workspace.memory_project is not None:
            paths.add(workspace.memory_project)
        if workspace.sub_project:
            paths.add(workspace.sub_project)
    return {project_dir_name(path): path for path in paths - {"", MULTI_PROJECT_BUCKET}}


def _is_note(name: str) -> bool:
    return name.endswith(".md") and not name.startswith(".")


DUMPS = "debug_obj"
_OTHERS = frozenset({"memories", "orpc"})
_MOST = 2_000


def dump_places(root: Path) -> DumpPlaces:
    """Return the existing directories of the memory writer's trace dumps.

    Dumps are `debug_obj/<workspace>/system1_memory_writer/*.json` (section 14).
    """
    from reverie.agents.capabilities import DumpPlaces  # late: no name that is listed needs it

    found = [(name, root / DUMPS / name / AGENT) for name in _workspaces(root)]
    return DumpPlaces(root / DUMPS, tuple((name, path) for name, path in found if is_directory(path)))


def watched_dumps(root: Path) -> tuple[WatchedPlace, ...]:
    """Return the places to watch for new dumps, including the first one of a workspace."""
    names = _workspaces(root)
    return (
        WatchedPlace(root / DUMPS),
        *(WatchedPlace(root / DUMPS / name, (AGENT,)) for name in names),
        *(WatchedPlace(path) for _name, path in dump_places(root).directories),
    )


def _workspaces(root: Path) -> list[str]:
    names = directory_names(root / DUMPS, [])
    return [name for name in names if name not in _OTHERS and is_plain_component(name)][:_MOST]


_KEY_PREFIX = "project:"
_DUMP_BYTES = 8 << 20
_MOST_DUMPS = 200
_CHECKOUT_STORE = (".mux", "memory")


def lost_stores(
    root: Path, contents: HomeContents, roots: Sequence[ScopeRoot], owners: Mapping[str, str]
) -> tuple[LostStore, ...]:
    """Return the orphaned stores with what the home still knows of them (sections 2, 3, 8, 9 and 14).

    In the order of `contents.orphans`, then those of missing projects, then those left in checkouts. A store
    directory is named by a one-way hash of its project's path; sidecars and traces still name paths, and
    their hashes identify the owner of a store. Of a project's own directory only its existence and that of
    its `.mux/memory` is checked. `owners`: store directory name -> the listed project path it was made from.
    """
    by_directory = {each.directory: each for each in roots}
    former = _FormerPaths(root)
    found = [
        _of_orphan(orphan, by_directory.get(orphan.directory), owners, former) for orphan in contents.orphans
    ]
    found += _of_missing_projects(by_directory, owners, contents)
    found += _in_checkouts(owners)
    return tuple(found)


def _of_orphan(
    orphan: Orphan, root: ScopeRoot | None, owners: Mapping[str, str], former: _FormerPaths
) -> LostStore:
    name = orphan.directory.name
    if orphan.kind == "project":
        path, source = former.of_store(name)
        context = ScopeContext(None, None, ProjectGap.NO_PROJECT, store=root.key) if root else None
        return LostStore(
            *("project", orphan.directory, orphan.label, Scope.PROJECT, root, context),
            name=base_name(path) or _base(name),
            former_path=path,
            former_source=source,
            checkouts=(path,) if path else (),
        )
    if orphan.kind == "workspace":
        workspace_id = orphan.directory.parent.name
        path, source, checkouts = former.of_workspace(workspace_id)
        return LostStore(
            *("workspace", orphan.directory, orphan.label, Scope.WORKSPACE, root),
            context=ScopeContext(workspace_id, None, ProjectGap.NO_PROJECT),
            name=base_name(path),
            owner=path if project_dir_name(path) in owners else "",
            former_path=path,
            former_source=source,
            checkouts=checkouts,
        )
    if orphan.directory == former.root / "memory":
        return LostStore("older-layout", orphan.directory, orphan.label, Scope.GLOBAL, flat=True)
    path, source = ("", "") if name in owners else former.of_store(name)
    return LostStore(
        *("older-layout", orphan.directory, orphan.label, Scope.PROJECT),
        name=base_name(owners.get(name, path)) or _base(name),
        owner=owners.get(name, ""),
        former_path=path,
        former_source=source,
        checkouts=(path,) if path else (),
    )


def _of_missing_projects(
    roots: Mapping[Path, ScopeRoot], owners: Mapping[str, str], contents: HomeContents
) -> Iterator[LostStore]:
    """Yield the stores of listed projects that were moved or deleted."""
    checkouts: dict[str, list[str]] = {}
    for workspace in contents.workspaces():
        if workspace.memory_project is not None and workspace.path:
            checkouts.setdefault(workspace.memory_project, []).append(workspace.path)
    for directory, root in roots.items():
        path = owners.get(directory.name) if root.scope is Scope.PROJECT else None
        if path and Path(path).is_absolute() and not is_directory(Path(path)):
            yield LostStore(
                *("missing-project", directory, path, Scope.PROJECT, root, ScopeContext(None, path)),
                name=base_name(path),
                former_path=path,
                former_source="config.json",
                checkouts=(path, *checkouts.get(path, ())),
            )


def _in_checkouts(owners: Mapping[str, str]) -> Iterator[LostStore]:
    """Yield the stores that the version of 12 June 2026 left in the repositories themselves."""
    for path in sorted(owners.values()):
        directory = Path(path).joinpath(*_CHECKOUT_STORE)
        problems: list[str] = []
        if Path(path).is_absolute() and is_directory(directory):
            names = (*file_names(directory, problems), *directory_names(directory, problems))
            if any(not name.startswith(".") for name in names):
                yield LostStore(
                    "older-layout", directory, str(directory), Scope.PROJECT, name=base_name(path), owner=path
                )


class _FormerPaths:
    """Paths that projects of this home once had. Read once, on first use."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._stores: dict[str, tuple[str, str]] | None = None
        self._dumps: dict[str, tuple[str, str]] | None = None

    def of_store(self, name: str) -> tuple[str, str]:
        """Return the path that a store directory was named after, and the file with it; empty for none."""
        if self._stores is None:
            self._stores = {project_dir_name(path): (path, file) for path, file in self._named()}
        return self._stores.get(name, ("", ""))

    def of_workspace(self, workspace_id: str) -> tuple[str, str, tuple[str, ...]]:
        """Return the project path of a workspace, the file that names it, and its repository's checkouts."""
        metadata = _read(self.root / "sessions" / workspace_id / "metadata.json", _DUMP_BYTES)
        path, checkout = text_at(metadata, "projectPath"), text_at(metadata, "workspacePath")
        source = f"sessions/{workspace_id}/metadata.json"
        if not path:
            path, checkout = self._of_dumps().get(workspace_id, ("", ""))
            source = f"debug_obj/{workspace_id}"
        return path, source if path else "", tuple(each for each in (checkout, path) if each)

    def _named(self) -> Iterator[tuple[str, str]]:
        """Yield paths with the file that names them, weakest first: later ones count."""
        for path, _checkout in self._of_dumps().values():
            if path:
                yield path, "debug_obj"
        coverage = _read(self.root / COVERAGE, CONFIG_BYTES)
        for path in below(coverage, "projects"):
            yield path, COVERAGE
        for key in below(_read(self.root / USAGE, CONFIG_BYTES), "entries"):
            if key.startswith(_KEY_PREFIX):
                path = unescape_key(key[len(_KEY_PREFIX) :].partition(":")[0])
                yield path, USAGE

    def _of_dumps(self) -> dict[str, tuple[str, str]]:
        """Return the project and workspace paths in the newest trace of each workspace, by its id."""
        if self._dumps is None:
            self._dumps = {}
            for workspace_id, directory in dump_places(self.root).directories[:_MOST_DUMPS]:
                # Names begin with the time of the run.
                newest = next(iter(reversed(file_names(directory, []))), None)
                dump = _read(directory / newest, _DUMP_BYTES) if newest else {}
                self._dumps[workspace_id] = (text_at(dump, "projectPath"), text_at(dump, "workspacePath"))
        return self._dumps


def _base(store: str) -> str:
    """Return the part of a store's directory name that comes from its project's name."""
    return store.rpartition("-")[0] or store


def _read(path: Path, limit: int) -> Mapping[str, Any]:
    try:
        data = read_json(path, limit)
    except (OSError, ValueError):
        return {}  # its own view reports what is wrong with the file
    return data if isinstance(data, dict) else {}
