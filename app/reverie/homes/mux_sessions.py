"""The sessions of a mux home whose transcripts may still grow, and which memories its agent loads.

Only looked at; nothing is created. Which version of the agent a home belongs to stands nowhere, so it is
judged by what only one of them writes (formats/mux.md sections 14 and 17): the version with the memory writer
names it in `config.json` and copies each written memory to `debug_obj/memories`; the versions with stores
keep pins, coverage and `memory/`. What Reverie writes itself counts for neither.

Threading: pure but for looking at the disk. Failure: what cannot be reached is not there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from reverie.homes.agents import MemoryKinds
from reverie.homes.listing import HomeContents, SessionPlace, Source
from reverie.homes.mux_location import CONFIG, CONFIG_BYTES, COVERAGE, USAGE
from reverie.homes.mux_names import is_plain_component
from reverie.homes.mux_writer import AGENT, INTERVAL
from reverie.homes.reading import is_directory, is_file, read_json
from reverie.transcripts.mux import FILES

# A watch each; a home with more live workspaces than this is in use in the newest of them.
_MOST_IN_USE = 256
_COPIES = "debug_obj/memories"


def session_place(root: Path, workspace_id: str) -> SessionPlace:
    """Where a workspace's transcript lies, and what its files are called."""
    return SessionPlace(workspace_id, root / "sessions" / workspace_id, FILES)


def in_use(root: Path, contents: HomeContents, recencies: Mapping[str, int]) -> tuple[SessionPlace, ...]:
    """At most 256 sessions that exist, of workspaces that are listed and not archived, used last first."""
    live = [
        workspace.id
        for workspace in contents.workspaces()
        if not workspace.archived and is_plain_component(workspace.id)
    ]
    live.sort(key=lambda workspace_id: -recencies.get(workspace_id, 0))
    places = (session_place(root, workspace_id) for workspace_id in live)
    return tuple([place for place in places if is_directory(place.directory)][:_MOST_IN_USE])


def sources(root: Path, contents: HomeContents, project_path: str | None) -> tuple[Source, ...]:
    """The sessions of listed workspaces that have a transcript, the newest first; each under the project that
    lists its workspace."""
    found = []
    names = {project.path: project.name for project in contents.projects}
    for workspace in contents.workspaces():
        wanted = project_path is None or project_path in (
            *workspace.project_paths,
            workspace.memory_project,
            workspace.bucket,
        )
        if not wanted or not is_plain_component(workspace.id):
            continue
        place = session_place(root, workspace.id)
        times, size = [], 0
        for name in place.files:
            with contextlib.suppress(OSError):
                found_file = (place.directory / name).stat()
                times.append(found_file.st_mtime_ns // 1_000_000)
                size += found_file.st_size
        if times:
            title = workspace.title or workspace.name
            found.append(
                Source(
                    workspace.id,
                    "session",
                    place.directory,
                    title,
                    workspace.bucket,
                    max(times),
                    size,
                    archived=workspace.archived,
                    project_name=names.get(workspace.bucket, ""),
                )
            )
    return tuple(sorted(found, key=lambda source: -(source.updated_at or 0)))


def writer_in_use(root: Path) -> bool:
    """Whether the agent of this home is of a version that loads one file a project. Asked for each project:
    `config.json` is read again only after it changed."""
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
    """Judged by `config.json` and by what lies in the home."""
    writer = _writer_signs(root, config)
    store = [name for name in (USAGE, COVERAGE) if is_file(root / name)]
    store += [name for name in ("memory/global", "memory/project") if is_directory(root / name)]
    if not writer and not store:
        return MemoryKinds(None, None, "Nothing in this home tells which memories its agent loads.")
    told = []
    if writer:
        told.append(f"{_listed(writer)}: of a version that loads one file a project.")
    if store:
        told.append(f"{_listed(store)}: of a version that loads project memories.")
    return MemoryKinds(bool(writer), bool(store), " ".join(told))


def _writer_signs(root: Path, config: object) -> list[str]:
    return [*_signs_in(config), *((_COPIES,) if is_directory(root / _COPIES) else ())]


def _signs_in(config: object) -> list[str]:
    found = []
    if INTERVAL in _below(config, "taskSettings"):
        found.append(f"config.json sets {INTERVAL}")
    if AGENT in _below(config, "agentAiDefaults"):
        found.append(f"config.json names the agent {AGENT}")
    return found


def _below(config: object, key: str) -> Mapping[str, Any]:
    inner = config.get(key) if isinstance(config, dict) else None
    return inner if isinstance(inner, dict) else {}


def _listed(signs: list[str]) -> str:
    return ", ".join(signs)
