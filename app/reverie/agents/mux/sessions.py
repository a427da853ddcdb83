"""Sessions of a mux home: those whose transcripts may still grow, and those that have a transcript.

Threading: any thread but the GUI's. Failure: as in `agents.base`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from reverie.agents.base import HomeContents, SessionPlace, TranscriptSource
from reverie.agents.mux.names import is_plain_component
from reverie.agents.mux.rows import FILES
from reverie.files.directory import is_directory

_MOST_IN_USE = 256


def session_place(root: Path, workspace_id: str) -> SessionPlace:
    """Return the directory and the file names of the transcript of the workspace `workspace_id`."""
    return SessionPlace(workspace_id, root / "sessions" / workspace_id, FILES)


def in_use(root: Path, contents: HomeContents, recencies: Mapping[str, int]) -> tuple[SessionPlace, ...]:
    """Return at most 256 existing sessions of listed, unarchived workspaces, last used first.

    `recencies`: workspace id -> time of the last use (ms).
    """
    live = [
        workspace.id
        for workspace in contents.workspaces()
        if not workspace.archived and is_plain_component(workspace.id)
    ]
    live.sort(key=lambda workspace_id: -recencies.get(workspace_id, 0))
    places = (session_place(root, workspace_id) for workspace_id in live)
    return tuple([place for place in places if is_directory(place.directory)][:_MOST_IN_USE])


def sources(root: Path, contents: HomeContents, project_path: str | None) -> tuple[TranscriptSource, ...]:
    """Return the sessions of listed workspaces that have a transcript, newest first.

    Each belongs to the project that lists its workspace. `project_path`: only sessions of workspaces that
    belong to this project; None: of all.
    """
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
                TranscriptSource(
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
