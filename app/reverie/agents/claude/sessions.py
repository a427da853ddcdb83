"""The sessions of a Claude Code home, and the directory in `projects/` that each belongs to.

Threading: any thread but the GUI's. Failure: a directory that cannot be listed adds a sentence to `problems`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from reverie.agents.claude.locations import DIRECTORY
from reverie.agents.claude.projects import NOTES, ProjectDirectory, StoredSession, listed
from reverie.agents.reading import directory_names
from reverie.files.directory import is_directory, is_file


class ClaudeSessions:
    """The sessions of one home; a session in two directories is assigned to only one of them.

    `projects`: the directory `projects/` of the home. The directory of each session is cached, and the cached
    one is checked at each use.
    """

    def __init__(self, projects: Path) -> None:
        self._projects = projects
        self._places: dict[str, str] = {}

    def lies_in(self, session: StoredSession, one: ProjectDirectory) -> bool:
        """Return whether a listed session is assigned to the directory `one`."""
        return self._places.get(session.id) == one.name

    def listed(self, problems: list[str], only: Iterable[str] | None = None) -> tuple[ProjectDirectory, ...]:
        """Return the directories in `projects/` with their sessions, and cache the directory of each session.

        `only`: the names of the directories to return; None: all. Problems while reading are added to
        `problems`.
        """
        found = listed(self._projects, problems, only)
        for one in found:
            for session in one.sessions:
                # For a session in two directories, the one with notes counts, then the last used one.
                place = self._places.get(session.id)
                if place is None or (place != one.name and self._is_better(session, place)):
                    self._places[session.id] = one.name
        return found

    def _is_better(self, session: StoredSession, place: str) -> bool:
        other = self._projects / place
        if not _holds(other, session.id):
            return True
        return session.notes and not is_directory(other / session.id / NOTES)

    def newest_first(self, directories: Iterable[ProjectDirectory] | None = None) -> list[StoredSession]:
        """Return every session of `directories` (None: of all projects) once, most recently used first."""
        found = [
            session
            for one in (self.listed([]) if directories is None else directories)
            for session in one.sessions
            if self.lies_in(session, one)
        ]
        return sorted(found, key=lambda session: (-session.updated_at, session.id))

    def place_of(self, session_id: str) -> str | None:
        """Return the name of the directory in `projects/` that has the session; None: no such session.

        The result is cached and checked again at each call, because callers ask for thousands.
        """
        place = self._places.get(session_id)
        if place is not None and _holds(self._projects / place, session_id):
            return place
        self._places.pop(session_id, None)
        found = [
            name
            for name in directory_names(self._projects, [])
            if DIRECTORY.fullmatch(name) and _holds(self._projects / name, session_id)
        ]
        found.sort(key=lambda name: not is_directory(self._projects / name / session_id / NOTES))
        if found:
            self._places[session_id] = found[0]
        return found[0] if found else None


def _holds(directory: Path, session_id: str) -> bool:
    return is_file(directory / f"{session_id}.jsonl") or is_directory(directory / session_id / NOTES)
