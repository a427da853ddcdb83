"""The transcripts of a home: listed without opening any, opened one at a time; what only the beginning of
one tells is read on demand.

Looking only: nothing is written. Threading: blocks on disk; any thread but the GUI's. Failure:
`MendableError`; what cannot be read has no title.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reverie.errors import MendableError
from reverie.files.there import is_there
from reverie.homes.listing import Source
from reverie.transcripts.paging import PagedTranscript

if TYPE_CHECKING:
    from reverie.homes.agents import AgentJob
    from reverie.services.parts import HomeParts


class TranscriptDesk:
    """The transcripts of one home, and the books its agent keeps of jobs over them."""

    def __init__(self, parts: HomeParts) -> None:
        self._parts = parts

    def sources(self, project_path: str | None = None) -> tuple[Source, ...]:
        """Those of one project, or all; newest first."""
        return self._parts.home.sources(project_path)

    def told(self, source: Source) -> Source:
        """With title, project and state, if need be from its beginning; as it was where nothing tells."""
        try:
            return self._parts.home.source_told(source)
        except (MendableError, OSError):
            return source

    def open(self, source: Source) -> PagedTranscript:
        """To read page by page; opening reads nothing yet."""
        return PagedTranscript(self._parts.home.open_source(source), source.path)

    def of_workspace(self, workspace_id: str) -> Source | None:
        """The transcript of a workspace, listed or not; None: it has none. Raises `Unavailable`."""
        for source in self.sources():
            if source.id == workspace_id:
                return source
        place = self._parts.home.session(workspace_id)
        if place is None or not any(is_there(place.directory / name) for name in place.files):
            return None
        return Source(workspace_id, "session", place.directory)

    def jobs(self) -> tuple[AgentJob, ...]:
        """The agent's own books of background jobs, newest first."""
        return self._parts.home.agent_jobs()
