"""mux's `config.json` as values: projects and workspaces (formats/mux.md sections 2 and 3).

Reverie never writes `config.json`, so nothing here can lose a field. One bad entry never hides the others;
each skipped entry adds a sentence to `problems`. The module is needed before the first paint, so it imports
little.

Pure; any thread. Failure: never raises, whatever the content.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from reverie.agents.base import Project, Workspace
from reverie.agents.mux.names import (
    MULTI_PROJECT_BUCKET,
    SCRATCH_BUCKET,
    base_name,
    is_plain_component,
    js_trim,
    strip_trailing_separators,
)
from reverie.agents.reading import as_text
from reverie.values import Struct

MetadataId = Callable[[str], str | None]
"""A function that returns the `id` in `<sessions>/<directory name>/metadata.json`, or None.

Only old workspaces need it.
"""

_Raw = dict[str, Any]
_WINDOWS_PATH = re.compile("[a-z]:(?:/|$)|//", re.IGNORECASE)
_ROOT_PATH = re.compile("(?:[a-z]:|//[^/]*(?:/[^/]*)?)?", re.IGNORECASE)
_SHOWN_CHARS = 80
_BUCKET_NAMES = {SCRATCH_BUCKET: "Scratch", MULTI_PROJECT_BUCKET: "Several projects"}


class MuxConfig(Struct, frozen=True):
    """The content of a home's `config.json`."""

    projects: tuple[Project, ...]
    """The projects in the agent's own order.

    A sub-project is included without workspaces: these belong to the project above it.
    """
    problems: tuple[str, ...]
    """Messages about entries that were skipped."""


def parse_config(data: object, metadata_id: MetadataId) -> MuxConfig:
    """Return the projects in `data`, a decoded `config.json`, with their workspaces.

    `metadata_id` returns the id of an old workspace, given the name of its directory.
    """
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
    """Return the workspace that `parse_config` lists under the id `workspace_id`, or None.

    Faster than `parse_config`, because the other workspaces are not built. `data`: a decoded `config.json`.
    `metadata_id` returns the id of an old workspace, given the name of its directory.
    """
    found = _find(data, workspace_id, metadata_id)
    return None if found is None else _workspace(workspace_id, *found)


def find_entry(data: object, workspace_id: str, metadata_id: MetadataId) -> Mapping[str, Any] | None:
    """Return the entry in `config.json` of the workspace that `find_workspace` returns; None: there is none.

    `data`: a decoded `config.json`. `metadata_id` returns the id of an old workspace, given the name of its
    directory.
    """
    found = _find(data, workspace_id, metadata_id)
    return None if found is None else found[0]


def _find(data: object, workspace_id: str, metadata_id: MetadataId) -> tuple[_Raw, str, str | None] | None:
    for path, _, entries in _gathered(data, []):
        for raw, sub_project in entries:
            if _workspace_id(raw, path, metadata_id) == workspace_id:
                return raw, path, sub_project
    return None


def is_archived(raw: _Raw) -> bool:
    """Return whether a workspace is archived now; `raw` is its entry in `config.json`."""
    archived, unarchived = raw.get("archivedAt"), raw.get("unarchivedAt")
    if not archived:
        return False
    # A time that cannot be read compares as false, as it does in the agent.
    return not unarchived or _time(archived) > _time(unarchived)


def _buckets(data: object, problems: list[str]) -> dict[str, _Raw]:
    """Return project path -> raw configuration, from `data`, a decoded `config.json`.

    A path that is listed twice has its first position and its last value, as in the agent's map. Each skipped
    or doubled entry adds a message to `problems`.
    """
    if not isinstance(data, dict):
        problems.append("config.json does not contain a JSON object, so Reverie knows no project.")
        return {}
    pairs = data.get("projects")
    if not isinstance(pairs, list):
        if pairs is not None:
            problems.append("`projects` in config.json is not a list, so Reverie knows no project.")
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
    """Yield (path, raw configuration, workspaces) of each project in `data`, a decoded `config.json`.

    Each workspace is a pair: its raw configuration, and the path of the sub-project that lists it; None if
    the project itself lists it. The workspaces of sub-projects belong to the project above them, so
    sub-projects are yielded without workspaces. Each skipped entry adds a message to `problems`.
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
    """Return path of a sub-project -> path of the topmost listed project above it.

    Only the paths are compared. `parentProjectPath` in the file is ignored, as by the agent, which computes
    it again on each load.
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
                f"Workspace entry {number} of {_shown(path)} in config.json is not an object and is skipped."
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
                f"A workspace of {_shown(bucket)} in config.json has neither an ID nor a path and is skipped."
            )
        elif not is_plain_component(identity):
            problems.append(
                f"Workspace ID {_shown(identity)} in config.json cannot be a directory name and is skipped."
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
    """Return the value of `key` in `raw` if it is a string; otherwise an empty string."""
    return as_text(raw.get(key))


def _time(value: object) -> float:
    """Return `value` as seconds since the epoch, read as JavaScript's Date reads it; NaN if it is no time."""
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
