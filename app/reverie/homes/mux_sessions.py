"""The sessions of a mux home whose transcripts may still grow, and those that have a transcript.

Only looked at; nothing is created.

Threading: pure but for looking at the disk. Failure: what cannot be reached is not there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from reverie.files.there import is_directory
from reverie.homes.listing import HomeContents, SessionPlace, Source
from reverie.homes.mux_names import is_plain_component
from reverie.transcripts.mux import FILES

# A watch each; a home with more live workspaces than this is in use in the newest of them.
_MOST_IN_USE = 256


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
