"""Locations and configuration of mux homes.

Finds and recognises homes, names files and directories, and reads `config.json` as values: projects and
workspaces, the model of a consolidation, the settings of the memory writer (formats/mux.md sections 1, 2, 3,
8, 10 and 14).

The environment and the user's home directory are arguments; the disk is only read. Needed before the first
paint, so it imports little. Reverie never writes `config.json`, so nothing here can lose a field. One bad
entry never hides the others; each skipped one leaves a sentence in `problems`.

Threading: any thread; the configuration is pure, JSON in and values out. Failure: files that cannot be read
count as missing, and no content raises.
"""

from __future__ import annotations

import functools
import hashlib
import math
import ntpath
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agents.base import Project, Workspace
from reverie.agents.known_layouts import MUX_WRITER_STATE
from reverie.agents.reading import as_text, read_json
from reverie.files.directory import is_directory, is_file, read_regular
from reverie.text.summaries import JS_SPACE
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.agents.capabilities import AgentWriterConfig, WriterPlace


SCRATCH_BUCKET = "_scratch"
MULTI_PROJECT_BUCKET = "_multi"

_WINDOWS = os.name == "nt"
_BASE_CHARS = 40
_ID_CHARS = 32
_NAME_BYTES = 255
_SEPARATOR = re.compile(r"[/\\\0]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def js_trim(text: str) -> str:
    """Trim a text as JavaScript's `String.prototype.trim` does."""
    return text.strip(JS_SPACE)


def strip_trailing_separators(path: str) -> str:
    """Return a project path as the agent keys it: without trailing `/` and `\\`."""
    return path.rstrip("/\\")


def base_name(path: str, *, windows: bool = _WINDOWS) -> str:
    """Return the text after the last `/` (on Windows also `\\`); may be empty."""
    cut = path.rfind("/")
    if windows:
        cut = max(cut, path.rfind("\\"))
    return path[cut + 1 :]


@functools.lru_cache(4096)
def project_dir_name(project_path: str, *, windows: bool = _WINDOWS) -> str:
    """Return `<base>-<hash12>`, the directory of a project's memories (section 3).

    The path is hashed exactly as config.json has it: no realpath, no case folding. Not to be confused with
    `project_id`.
    """
    base = base_name(project_path, windows=windows) or "unknown"
    mapped = "".join(
        char if char.isascii() and (char.isalnum() or char in "._-") else "_" * _utf16_units(char)
        for char in base[:_BASE_CHARS]
    )
    return f"{mapped[:_BASE_CHARS]}-{hashlib.sha256(_node_utf8(project_path)).hexdigest()[:12]}"


def project_id(project_path: str, *, windows: bool = _WINDOWS) -> str:
    """Return `<base>-<hash8>`, the name (without `.md`) of a project's file in the older one-file store."""
    normal = _normalised(project_path, windows=windows)
    base = (js_trim(base_name(normal, windows=windows)) or "project").lower()
    base = re.sub("-+", "-", re.sub("[^a-z0-9_-]+", "-", base)).strip("-_")[:_ID_CHARS] or "project"
    return f"{base}-{hashlib.sha1(_node_utf8(normal), usedforsecurity=False).hexdigest()[:8]}"


def is_plain_component(name: str) -> bool:
    """Return whether `name` can be exactly one directory or file name below its parent, on this system."""
    if name in ("", ".", "..") or _SEPARATOR.search(name):
        return False
    if _WINDOWS and (":" in name or name != name.rstrip(" .")):
        return False
    try:
        return len(os.fsencode(name)) <= _NAME_BYTES
    except UnicodeEncodeError:
        return False


def _utf16_units(char: str) -> int:
    return 2 if ord(char) > 0xFFFF else 1


def _node_utf8(text: str) -> bytes:
    # Node hashes a lone surrogate as U+FFFD; Python would refuse to encode it.
    return _LONE_SURROGATE.sub("\ufffd", text).encode()


def _normalised(path: str, *, windows: bool) -> str:
    if windows:
        return ntpath.normpath(path)
    # POSIX lets Python keep two leading slashes; Node folds them.
    return re.sub("^//+", "/", posixpath.normpath(path))


CONFIG = "config.json"
ACTIVITY = "extensionMetadata.json"
USAGE = "memory-meta.json"
COVERAGE = "memory-consolidation.json"
CONFIG_BYTES = 64 << 20

_MARKER_BYTES = 64
_USUAL = (".xum", ".xum-dev", ".mux", ".mux-dev", ".cmux")


def resolve_home_root(env: Mapping[str, str], home_dir: Path) -> Path:
    """Return the directory that the agent uses under this environment; it need not exist.

    `home_dir` is the user's.
    """
    explicit = _explicit(env)
    if explicit:
        return Path(explicit)
    suffix = "-dev" if env.get("NODE_ENV") == "development" else ""
    canonical = home_dir / f".xum{suffix}"
    if is_directory(canonical) and _has_entries(canonical):
        return canonical
    marked = _marked_fallback(home_dir, suffix)
    candidates = [*([marked] if marked else []), canonical, home_dir / f".mux{suffix}"]
    if not suffix:
        candidates.append(home_dir / ".cmux")
    return next((path for path in candidates if is_directory(path)), canonical)


def usual_places(env: Mapping[str, str], home_dir: Path) -> tuple[Path, ...]:
    """Return where a home may be, without reading the disk: from the environment, then the usual places."""
    explicit = _explicit(env)
    named = (Path(explicit),) if explicit else ()
    return tuple(dict.fromkeys((*named, *(home_dir / name for name in _USUAL))))


def existing_home_roots(env: Mapping[str, str], home_dir: Path) -> tuple[Path, ...]:
    """Return every home worth offering: the agent's own choice first, then other usual ones that exist."""
    usual = (home_dir / name for name in _USUAL)
    found = dict.fromkeys(path for path in (resolve_home_root(env, home_dir), *usual) if is_directory(path))
    return tuple(found)


def detect(root: Path) -> bool:
    """Return whether a directory is a home of this agent, judged by its contents."""
    if any(is_file(root / name) for name in (USAGE, COVERAGE, ACTIVITY)):
        return True
    if any(is_directory(root / "memory" / scope) for scope in ("global", "project")):
        return True
    try:
        config = read_json(root / CONFIG, CONFIG_BYTES)
    except OSError:
        return False
    except ValueError:
        config = None
    if isinstance(config, dict) and (
        isinstance(config.get("projects"), list)
        or any(isinstance(config.get(key), dict) for key in ("taskSettings", "migrations"))
    ):
        return True
    # A damaged config, or one without projects, is still accepted if the rest fits no other agent.
    return is_directory(root / "sessions") and not is_directory(root / "projects")


def _explicit(env: Mapping[str, str]) -> str | None:
    # An empty XUM_ROOT hides MUX_ROOT and then counts as unset itself.
    return env.get("XUM_ROOT", env.get("MUX_ROOT"))


def _has_entries(directory: Path) -> bool:
    try:
        with os.scandir(directory) as entries:
            return next(entries, None) is not None
    except OSError:
        return True  # locked, but somebody's home


def _marked_fallback(home_dir: Path, suffix: str) -> Path | None:
    """Return the older home that a marker beside the canonical one names; only known names count."""
    try:
        content = read_regular(home_dir / f".xum{suffix}.legacy-fallback", _MARKER_BYTES, follow=False)
    except OSError:
        return None
    name = js_trim(content.decode("utf-8", "replace"))
    known = (f".mux{suffix}",) if suffix else (".mux", ".cmux")
    return home_dir / name if name in known else None


MetadataId = Callable[[str], str | None]
"""Returns the `id` in `<sessions>/<directory name>/metadata.json`, or None; only old workspaces need it."""

_Raw = dict[str, Any]
_WINDOWS_PATH = re.compile("[a-z]:(?:/|$)|//", re.IGNORECASE)
_ROOT_PATH = re.compile("(?:[a-z]:|//[^/]*(?:/[^/]*)?)?", re.IGNORECASE)
_SHOWN_CHARS = 80
_BUCKET_NAMES = {SCRATCH_BUCKET: "Scratch", MULTI_PROJECT_BUCKET: "Several projects"}


class MuxConfig(Struct, frozen=True):
    """The projects in the agent's own order; those whose workspaces moved to a parent stay, empty."""

    projects: tuple[Project, ...]
    problems: tuple[str, ...]


def parse_config(data: object, metadata_id: MetadataId) -> MuxConfig:
    """Return the projects of a decoded `config.json`."""
    problems: list[str] = []
    taken: set[str] = set()
    projects = tuple(
        Project(
            path, _project_name(path, raw), tuple(_workspaces(path, entries, metadata_id, taken, problems))
        )
        for path, raw, entries in _gathered(data, problems)
    )
    return MuxConfig(projects, tuple(problems))


def find_workspace(data: object, workspace_id: str, metadata_id: MetadataId) -> Workspace | None:
    """Return the workspace that `parse_config` would list under this id, without building the others."""
    found = _find(data, workspace_id, metadata_id)
    return None if found is None else _workspace(workspace_id, *found)


def find_entry(data: object, workspace_id: str, metadata_id: MetadataId) -> Mapping[str, Any] | None:
    """Return the raw entry of the workspace that `find_workspace` finds."""
    found = _find(data, workspace_id, metadata_id)
    return None if found is None else found[0]


def _find(data: object, workspace_id: str, metadata_id: MetadataId) -> tuple[_Raw, str, str | None] | None:
    for path, _, entries in _gathered(data, []):
        for raw, sub_project in entries:
            if _workspace_id(raw, path, metadata_id) == workspace_id:
                return raw, path, sub_project
    return None


def is_archived(raw: _Raw) -> bool:
    """Return whether a workspace is archived and was not unarchived since."""
    archived, unarchived = raw.get("archivedAt"), raw.get("unarchivedAt")
    if not archived:
        return False
    # A time that cannot be read compares as false, as it does in the agent.
    return not unarchived or _time(archived) > _time(unarchived)


def _buckets(data: object, problems: list[str]) -> dict[str, _Raw]:
    """Return the raw configuration of each project path.

    A path listed twice keeps its first place and its last value, as in the agent's map.
    """
    if not isinstance(data, dict):
        problems.append("config.json does not hold a JSON object, so no project is known.")
        return {}
    pairs = data.get("projects")
    if not isinstance(pairs, list):
        if pairs is not None:
            problems.append("`projects` in config.json is not a list, so no project is known.")
        return {}
    buckets: dict[str, _Raw] = {}
    for number, pair in enumerate(pairs, 1):
        path = pair[0] if isinstance(pair, list) and pair else None
        if not isinstance(path, str) or not path:
            problems.append(f"Project entry {number} in config.json has no path and is skipped.")
            continue
        key = strip_trailing_separators(path)
        if key in buckets:
            problems.append(f"Project {_shown(key)} is listed twice in config.json; the later entry counts.")
        raw = pair[1] if len(pair) > 1 else None
        buckets[key] = raw if isinstance(raw, dict) else {}
    return buckets


def _gathered(data: object, problems: list[str]) -> Iterator[tuple[str, _Raw, list[tuple[_Raw, str | None]]]]:
    """Yield path, raw configuration and raw workspaces of each project.

    A workspace comes with the path of the sub-project that it was merged from. Sub-projects stay, without
    workspaces.
    """
    buckets = _buckets(data, problems)
    entries: dict[str, list[tuple[_Raw, str | None]]] = {path: [] for path in buckets}
    parents = _parents(buckets)
    # Own workspaces first, then those of sub-projects, each in file order: so does the agent merge them.
    for merged in (False, True):
        for path, raw in buckets.items():
            parent = parents.get(path)
            if (parent is not None) is merged:
                target = path if parent is None else parent
                entries[target] += [(entry, parent and path) for entry in _entries(path, raw, problems)]
    return ((path, raw, entries[path]) for path, raw in buckets.items())


def _parents(paths: Iterable[str]) -> dict[str, str]:
    """Return the topmost listed project above each sub-project.

    Decided by the paths alone: `parentProjectPath` in the file is derived, and derived again on each load.
    """
    by_normal: dict[str, str] = {}
    for path in paths:
        normal = _comparable(path)
        # A file-system root is nobody's parent: it would adopt every project.
        if not _ROOT_PATH.fullmatch(normal):
            by_normal.setdefault(normal, path)
    parents: dict[str, str] = {}
    for path in paths:
        normal = _comparable(path)
        above = (by_normal.get(normal[:cut]) for cut in _positions(normal, "/"))
        parent = next((found for found in above if found is not None), None)
        if parent is not None:
            parents[path] = parent
    return parents


def _positions(text: str, char: str) -> Iterator[int]:
    at = text.find(char)
    while at >= 0:
        yield at
        at = text.find(char, at + 1)


def _comparable(path: str) -> str:
    slashed = path.replace("\\", "/")
    normal = slashed.rstrip("/")
    return normal.lower() if _WINDOWS_PATH.match(slashed) else normal


def _entries(path: str, raw: _Raw, problems: list[str]) -> Iterator[_Raw]:
    entries = raw.get("workspaces")
    for number, entry in enumerate(entries if isinstance(entries, list) else [], 1):
        if isinstance(entry, dict):
            yield entry
        else:
            problems.append(
                f"Workspace entry {number} of {_shown(path)} in config.json is not an object; skipped."
            )


def _workspaces(
    bucket: str,
    entries: list[tuple[_Raw, str | None]],
    metadata_id: MetadataId,
    taken: set[str],
    problems: list[str],
) -> Iterator[Workspace]:
    for raw, sub_project in entries:
        identity = _workspace_id(raw, bucket, metadata_id)
        if identity is None:
            problems.append(
                f"A workspace of {_shown(bucket)} in config.json has neither id nor path; skipped."
            )
        elif not is_plain_component(identity):
            problems.append(
                f"Workspace id {_shown(identity)} in config.json cannot be a directory name; skipped."
            )
        elif identity in taken:
            problems.append(
                f"Workspace id {_shown(identity)} is listed twice in config.json; the first entry counts."
            )
        else:
            taken.add(identity)
            yield _workspace(identity, raw, bucket, sub_project)


def _workspace(identity: str, raw: _Raw, bucket: str, sub_project: str | None) -> Workspace:
    listed = raw.get("projects")
    references = listed if isinstance(listed, list) else ()
    paths = tuple(path for path in map(_reference_path, references) if path is not None)
    path = text_at(raw, "path")
    # The number of entries decides, even where one is malformed: never bind such a workspace to one.
    several = len(references) > 1 or MULTI_PROJECT_BUCKET in (paths or (bucket,))[:1]
    scratch = raw.get("kind") == "scratch"
    # Sessions bind a workspace in the bucket of several projects to the one that it names, and a scratch chat
    # to its own directory. Consolidations of the agent do neither (formats/mux.md 20.D2 and D4).
    dreams_as = "" if bucket == MULTI_PROJECT_BUCKET else (*paths, bucket)[0] if scratch else None
    return Workspace(
        id=identity,
        name=text_at(raw, "name") or base_name(path) or identity,
        title=text_at(raw, "title"),
        path=path,
        bucket=bucket,
        project_paths=paths,
        multi_project=several and not scratch,
        archived=is_archived(raw),
        parent_id=text_at(raw, "parentWorkspaceId") or None,
        sub_project=text_at(raw, "subProjectPath") or sub_project,
        scratch=scratch,
        dreams_as=None if several and not scratch else dreams_as,
    )


def _workspace_id(raw: _Raw, bucket: str, metadata_id: MetadataId) -> str | None:
    if identity := text_at(raw, "id"):
        return identity
    name = base_name(text_at(raw, "path"))
    if not name:
        return None
    generated = f"{base_name(bucket) or 'unknown'}-{name}"
    return metadata_id(name) or metadata_id(generated) or generated


def _reference_path(reference: object) -> str | None:
    path = reference.get("projectPath") if isinstance(reference, dict) else None
    # An empty path is kept: it means no project, where a missing one means the bucket.
    return path if isinstance(path, str) else None


def _project_name(path: str, raw: _Raw) -> str:
    named = js_trim(text_at(raw, "displayName"))
    return named or _BUCKET_NAMES.get(path) or base_name(path) or "unknown"


def text_at(raw: Mapping[str, Any], key: str) -> str:
    """Return the text at `key`, empty where there is none."""
    return as_text(raw.get(key))


def _time(value: object) -> float:
    """Return seconds since the epoch as JavaScript's Date would read a value, or NaN."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return value / 1000
        except OverflowError:
            return math.nan
    try:
        moment = datetime.fromisoformat(value if isinstance(value, str) else "")
        # A date alone is UTC, a time without a zone is local.
        if moment.tzinfo is None and len(str(value)) <= len("2026-01-01"):
            moment = moment.replace(tzinfo=UTC)
        return moment.timestamp()
    except (ValueError, OverflowError, OSError):
        return math.nan


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…")


_DREAM = "dream"
_MODEL = re.compile(r"[^\s:]+:\S+")


def dream_model(
    config: object, workspace_id: str | None, metadata_id: MetadataId = lambda _name: None
) -> str | None:
    """Return the model that mux itself would consolidate with (section 10), or None.

    The first of: the workspace's own model for dreams, the home's default for dreams, the workspace's model,
    the home's default model. A value of the wrong type counts as absent.
    """
    return next(
        (model for model in _candidates(config, workspace_id, metadata_id) if model is not None), None
    )


def dream_enabled(config: object) -> bool:
    """Return whether the home lets its dream agent run; the default is true."""
    return below(config, "agentAiDefaults", _DREAM).get("enabled") is not False


def _candidates(config: object, workspace_id: str | None, metadata_id: MetadataId) -> Iterator[str | None]:
    entry: Mapping[str, Any] = {}
    if workspace_id is not None:
        entry = find_entry(config, workspace_id, metadata_id) or {}
    yield model_string(below(entry, "aiSettingsByAgent", _DREAM).get("model"))
    yield model_string(below(config, "agentAiDefaults", _DREAM).get("modelString"))
    yield model_string(below(entry, "aiSettings").get("model"))
    yield model_string(below(config).get("defaultModel"))


def below(value: object, *keys: str) -> Mapping[str, Any]:
    """Return the object at `keys`, empty where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def model_string(value: object) -> str | None:
    """Return `value` as a model string, or None."""
    if not isinstance(value, str) or not _MODEL.fullmatch(value.strip()):
        return None
    return value.strip()


AGENT = "system1_memory_writer"
INTERVAL = "memoryWriterIntervalMessages"
_INSTRUCTIONS = ("AGENTS.md", "AGENT.md", "CLAUDE.md")


def writer_place(
    root: Path, workspace_id: str, project_path: str | None, listed: Workspace | None
) -> WriterPlace:
    """Return the files of the memory writer, System 1, for a workspace (section 14).

    `workspace_id` is a plain directory name.
    """
    from reverie.agents.capabilities import WriterPlace  # late: no name that is listed needs it

    identity = project_id(project_path) if project_path else ""
    # Where the agent works first; the project's own directory for one that was never checked out.
    checkouts = [Path(path) for path in (listed.path if listed else "", project_path or "") if path]
    return WriterPlace(
        state_file=root / "sessions" / workspace_id / MUX_WRITER_STATE,
        dump_directory=root / "debug_obj" / workspace_id / AGENT,
        memory_file=root / "memories" / f"{identity}.md" if identity else None,
        memory_id=identity,
        instructions=tuple(root / name for name in _INSTRUCTIONS),
        context_instructions=tuple(path / name for path in checkouts for name in _INSTRUCTIONS),
    )


def writer_config(config: object, workspace_id: str, metadata_id: MetadataId) -> AgentWriterConfig:
    """Return the config's settings of the memory writer for this workspace, its own before the defaults.

    A value of the wrong type counts as absent, except for the interval: it is passed on unchanged, so that
    the scheduler can report what is wrong with it.
    """
    from reverie.agents.capabilities import AgentWriterConfig  # late, as above

    entry: Mapping[str, Any] = find_entry(config, workspace_id, metadata_id) or {}
    defaults = below(config, "agentAiDefaults", AGENT)
    own = model_string(below(entry, "aiSettingsByAgent", AGENT).get("model"))
    usual = model_string(below(entry, "aiSettings").get("model"))
    return AgentWriterConfig(
        enabled=defaults.get("enabled") is not False,
        interval=below(config, "taskSettings").get(INTERVAL),
        model=own or model_string(defaults.get("modelString")),
        default_model=usual or model_string(below(config).get("defaultModel")),
    )
