"""Which directory in `projects/` each session of Claude Code belongs to, where one is in two of them.

The places that were found are kept, and looked at again each time. Threading, failure: as `homes.base` says.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from reverie.files.there import is_directory, is_file
from reverie.homes.claude_names import DIRECTORY
from reverie.homes.claude_projects import NOTES, Listed, Session, listed
from reverie.homes.reading import directory_names


class ClaudeSessions:
    """The sessions of one home. `projects` is its directory of project directories."""

    def __init__(self, projects: Path) -> None:
        self._projects = projects
        self._places: dict[str, str] = {}

    def lies_in(self, session: Session, one: Listed) -> bool:
        """Whether this is the directory that counts for a session that was listed."""
        return self._places.get(session.id) == one.name

    def listed(self, problems: list[str], only: Iterable[str] | None = None) -> tuple[Listed, ...]:
        """The directories (of `only`) with their sessions, and from now on where each session belongs. What
        cannot be read is added to `problems`."""
        found = listed(self._projects, problems, only)
        for one in found:
            for session in one.sessions:
                # Of a session in two directories the place with notes counts, then the one used last.
                place = self._places.get(session.id)
                if place is None or (place != one.name and self._is_better(session, place)):
                    self._places[session.id] = one.name
        return found

    def _is_better(self, session: Session, place: str) -> bool:
        other = self._projects / place
        if not _holds(other, session.id):
            return True
        return session.notes and not is_directory(other / session.id / NOTES)

    def newest_first(self, directories: Iterable[Listed] | None = None) -> list[Session]:
        """Every session, the one used last first, each once."""
        found = [
            session
            for one in (self.listed([]) if directories is None else directories)
            for session in one.sessions
            if self.lies_in(session, one)
        ]
        return sorted(found, key=lambda session: (-session.updated_at, session.id))

    def place_of(self, session_id: str) -> str | None:
        """The directory of a session. Found once and looked at again each time, since thousands are asked
        for."""
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
