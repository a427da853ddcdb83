"""The home of mux, renamed xum: `~/.xum`, `~/.mux` and their relatives (formats/mux.md sections 1 to 3).

Each call reads its data again, so that an instance is never outdated. Nothing is created. An id that is not a
plain directory name is refused before it becomes a path, so no scope root ever lies outside the home.

Failure: a home whose directory is missing raises `Unavailable`; a `config.json` that cannot be read is a
sentence in `contents().problems`, and then nothing is reported as an orphan, since the list is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agents.base import (
    Companion,
    Home,
    HomeContents,
    LostStore,
    ModelPreferences,
    SessionPlace,
    Sessions,
    Sidecars,
    Transcripts,
    TranscriptSource,
    WatchedPlace,
    Workspace,
    nothing_chosen,
)
from reverie.agents.definition import MAX_BYTES
from reverie.agents.known_layouts import mux_home
from reverie.agents.mux.config import find_workspace, parse_config
from reverie.agents.mux.dumps import DUMPS, dump_places, watched_dumps
from reverie.agents.mux.locations import ACTIVITY, CONFIG, CONFIG_BYTES, COVERAGE, USAGE
from reverie.agents.mux.lost_stores import lost_stores
from reverie.agents.mux.memory_kinds import memory_kinds, writer_in_use
from reverie.agents.mux.models import AGENT, dream_enabled, dream_model, writer_config, writer_place
from reverie.agents.mux.names import (
    MULTI_PROJECT_BUCKET,
    is_plain_component,
    project_dir_name,
    project_id,
    strip_trailing_separators,
)
from reverie.agents.mux.sessions import in_use, session_place, sources
from reverie.agents.mux.stores import MuxStores, owners_of
from reverie.agents.mux.transcript import MuxTranscript
from reverie.agents.reading import as_object, as_text, read_json
from reverie.agents.scopes import Caps, ProjectGap, Refusal, Scope, ScopeContext, ScopeRoot, ScopeUnavailable
from reverie.errors import Unavailable, user_error_from_os
from reverie.files.directory import is_directory, is_file, read_regular
from reverie.values import replace

if TYPE_CHECKING:
    from reverie.agents.capabilities import (
        AgentDreamConfig,
        AgentWriterConfig,
        DumpPlaces,
        MemoryKinds,
        WriterPlace,
    )
    from reverie.agents.transcripts import ReadableTranscript, Transcript

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


class MuxHome(Home, Transcripts, Sessions, ModelPreferences):
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
        version = as_object(data).get("version")
        if version != 1 or version is True:
            return ()  # of another version the agent, too, reads nothing
        return tuple(_recencies(as_object(data.get("workspaces"))))

    def transcript(self, workspace_id: str) -> Transcript:
        _refuse_hostile_id(workspace_id)
        return MuxTranscript(self._root / "sessions" / workspace_id)

    def session_place(self, workspace_id: str) -> SessionPlace:
        _refuse_hostile_id(workspace_id)
        return session_place(self._root, workspace_id)

    def sessions_in_use(self) -> tuple[SessionPlace, ...]:
        return in_use(self._root, self.contents(), dict(self.recencies()))

    def session_watches(self) -> tuple[WatchedPlace, ...]:
        return (WatchedPlace(self._root, (CONFIG, ACTIVITY)), WatchedPlace(self._root / "sessions"))

    def memory_kinds(self) -> MemoryKinds:
        self._require_available()
        return memory_kinds(self._root, self._config()[0])

    def dream_config(self, workspace_id: str | None) -> AgentDreamConfig:
        """Return the model and the prompt with which mux would consolidate (formats/mux.md section 10).

        Agent definitions in a project are ignored, because mux does not use them for a consolidation.
        `workspace_id` None: only the defaults of the home are used.
        """
        from reverie.agents.capabilities import AgentDreamConfig

        config, _readable, _problem = self._config()
        definition, problem = self._definition("dream")
        model = dream_model(config, workspace_id, self._metadata_id)
        return AgentDreamConfig(model, definition, dream_enabled(config), problem)

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
        return sources(self._root, self.contents(), project_path)

    def open_source(self, source: TranscriptSource) -> ReadableTranscript:
        return MuxTranscript(source.path)

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
        """Return the content of the file that overrides a built-in agent, and a message about its problem.

        The content is None if the file is missing or cannot be read; the message is empty unless it cannot be
        read.
        """
        try:
            return read_regular(self._root / "agents" / f"{agent}.md", MAX_BYTES), ""
        except FileNotFoundError:
            return None, ""
        except OSError as error:
            return None, f"agents/{agent}.md cannot be read ({error.strerror or error})."

    def _config(self) -> tuple[dict[str, Any], bool, str]:
        """Return the decoded config.json, whether it was readable, and a message about its problem.

        The message is empty if there is no problem. If the file was not readable, the object is empty, and
        the caller must not conclude that the home lists no projects. A missing file counts as readable and
        empty.
        """
        try:
            data = read_json(self._root / CONFIG, CONFIG_BYTES)
        except FileNotFoundError:
            return {}, True, "There is no config.json, so Reverie lists no projects or workspaces."
        except OSError as error:
            why = f"cannot be read: {error.strerror or error}"
        except ValueError as error:
            why = f"is not valid JSON: {error}"
        else:
            if isinstance(data, dict):
                return data, True, ""
            why = "does not contain a JSON object"
        return {}, False, f"Reverie knows no project or workspace, because config.json {why}."

    def _metadata_id(self, directory_name: str) -> str | None:
        if not is_plain_component(directory_name):
            return None
        try:
            data = read_json(self._root / "sessions" / directory_name / "metadata.json", _METADATA_BYTES)
        except (OSError, ValueError):
            return None  # then the id is made from the names, as the agent does
        return as_text(as_object(data).get("id")) or None


def _context(workspace_id: str | None, project_path: str) -> ScopeContext:
    if not project_path:
        return ScopeContext(workspace_id, None, ProjectGap.NO_PROJECT)
    if project_path == MULTI_PROJECT_BUCKET:
        return ScopeContext(workspace_id, None, ProjectGap.MULTI_PROJECT)
    return ScopeContext(workspace_id, project_path)


_GAPS = {
    ProjectGap.MULTI_PROJECT: (
        "Project memory is not available in this workspace.",
        "The workspace belongs to several projects, whose memories are never mixed.",
        "Use workspace or global memory, or open a workspace with only one project.",
    ),
    ProjectGap.UNKNOWN: (
        "The project of this workspace cannot be determined at the moment.",
        "The config.json of the home cannot be read.",
        "Repair config.json, or name the project.",
    ),
    ProjectGap.NO_PROJECT: (
        "There is no project memory here.",
        "The selection does not belong to a project.",
        "Use workspace or global memory, or select a project.",
    ),
}
"""Title, cause and next step of the error for a missing project scope, by its reason."""


def _no_project(context: ScopeContext) -> ScopeUnavailable:
    gap = context.project_gap or ProjectGap.NO_PROJECT
    if context.project_path == MULTI_PROJECT_BUCKET:
        gap = ProjectGap.MULTI_PROJECT
    title, cause, next_step = _GAPS[gap]
    return ScopeUnavailable(Scope.PROJECT, gap, title, cause=cause, next_step=next_step)


def _refuse_hostile_id(workspace_id: str) -> None:
    if not is_plain_component(workspace_id):
        raise Unavailable(
            f"There is no workspace {workspace_id[:80]!r}.",
            cause="A workspace ID must be the name of a directory, without slashes.",
            next_step="Use one of the workspace IDs listed by `reverie homes`.",
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
    """Return a sort key for the order of keys in JavaScript: array indexes first, ascending, then others."""
    is_index = key.isascii() and key.isdigit() and (key == "0" or key[0] != "0") and len(key) <= 10
    index = int(key) if is_index else _ARRAY_INDEX_LIMIT
    return (True, 0) if index >= _ARRAY_INDEX_LIMIT else (False, index)
