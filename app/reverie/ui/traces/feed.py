"""The list of traces of all open homes, newest first; it is read in the background and updated on changes.

Nothing is read before the tab is first shown. Lines are shown as soon as they are read. When the watcher
reports changed traces of a home, the home is read again, but only changed files are opened.

Threading: GUI thread; a lane of its own, created on first use, so that large traces do not delay other jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QObject, Signal, Slot

from reverie.engine.asking import ask
from reverie.ui.jobs import JobControl, Lane
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.agents.base import HomeContents
    from reverie.services.traces import TraceSummary
    from reverie.ui.session import HomeSession


class Followed(Struct, frozen=True):
    """The home, project or workspace selected in the list of homes, by which the traces are filtered."""

    home: str
    """The id of the home."""
    project: str = ""
    """The path of the project; empty for the whole home."""
    name: str = ""
    """The name of the selected row in the list of homes."""
    home_name: str = ""
    """The name of the home in the list of homes."""
    workspace: str = ""
    """The id of the workspace; empty for the whole home or project."""

    def holds(self, line: ListedTrace) -> bool:
        """Return True if a trace belongs to this home, project or workspace.

        If the home lists neither the workspace nor the project of a trace, the trace belongs to all of them.
        """
        place = line.place
        if line.session.info.id != self.home:
            return False
        if self.workspace and place.workspace_id:
            return place.workspace_id == self.workspace
        return not self.project or not place.project or place.project == self.project


class Belongs(Struct, frozen=True):
    """The workspace and project of one trace; a field is empty if it is not known."""

    workspace: str = ""
    """The name of the workspace for display."""
    project: str = ""
    workspace_id: str = ""
    """The id of the workspace if the home lists it; otherwise empty."""


class TracePlaces:
    """The workspaces and projects of one home, with their names in the list of homes.

    A trace holds only the id of its workspace and at best the name of its branch; the home knows the title.
    """

    def __init__(self, contents: HomeContents) -> None:
        self._workspaces: Mapping[str, Belongs] = {
            workspace.id: Belongs(workspace.label, project.path, workspace.id)
            for project in contents.projects
            for workspace in project.workspaces
        }
        self._projects = frozenset(project.path for project in contents.projects)

    def of(self, row: TraceSummary) -> Belongs:
        """Return the workspace and project of a trace; an unlisted workspace has its name from the trace."""
        # A trace of Reverie's own consolidation has the workspace's id as its name.
        for id_ in (row.workspace_id, row.workspace_name):
            if found := self._workspaces.get(id_):
                return found
        project = row.project_path if row.project_path in self._projects else ""
        return Belongs(row.workspace_name or row.workspace_id, project)


View = Literal["runs", "checks", "log"]
"""The views of the tab below the diagnosis."""


class ListedTrace(Struct, frozen=True):
    """One trace of the list with its home."""

    session: HomeSession
    row: TraceSummary
    place: Belongs

    @property
    def key(self) -> str:
        """The key of the line: the path of the trace."""
        return str(self.row.path)


class TraceFeed(QObject):
    """The list of the traces of all open homes, which is read in the background.

    Signal: `changed()`, emitted when `lines` has changed.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.lane = Lane("traces", self)
        """The queue of the jobs that read traces; its signal `unclaimed` reports a failed reading."""
        self._sessions: list[HomeSession] = []
        self._rows: dict[str, tuple[TraceSummary, ...]] = {}
        self._complete: set[str] = set()
        self._is_looked_at = False
        self._stopped = False

    @property
    def lines(self) -> tuple[ListedTrace, ...]:
        """All traces, newest first."""
        found = [
            ListedTrace(session, row, places.of(row))
            for session in self._sessions
            for places in (TracePlaces(session.info.contents),)
            for row in self._rows.get(session.info.id, ())
        ]
        return tuple(sorted(found, key=lambda line: (line.row.started_at, line.row.id), reverse=True))

    @property
    def is_read(self) -> bool:
        """True if every home has been read completely at least once."""
        return all(session.info.id in self._complete for session in self._sessions)

    @property
    def busy(self) -> bool:
        """True if a job is running on the lane."""
        return self.lane.busy

    def add(self, session: HomeSession) -> None:
        """Add the traces of an opened home."""
        if session in self._sessions:
            return
        self._sessions.append(session)
        session.traces_changed.connect(self._on_changed)
        session.info_changed.connect(self._on_named)
        if self._is_looked_at:
            self._read(session)

    def remove(self, session: HomeSession) -> None:
        """Remove the traces of a closed home."""
        if session not in self._sessions:
            return
        self._sessions.remove(session)
        session.traces_changed.disconnect(self._on_changed)
        session.info_changed.disconnect(self._on_named)
        home = session.info.id
        self.lane.abandon(f"traces {home}")
        self._complete.discard(home)
        if self._rows.pop(home, ()):
            self.changed.emit()

    def start(self) -> None:
        """Begin reading; later calls do nothing."""
        if not self._stopped and not self._is_looked_at:
            self._is_looked_at = True
            for session in self._sessions:
                self._read(session)

    def stop(self) -> None:
        """Stop all reading; repeated calls have no effect."""
        self._stopped = True
        self.lane.stop()

    @Slot()
    def _on_changed(self) -> None:
        session = self.sender()
        for known in self._sessions:
            if known is session and self._is_looked_at:
                self._read(known)

    @Slot()
    def _on_named(self) -> None:
        """Emit `changed`. Called when workspaces may have new names."""
        if self._rows:
            self.changed.emit()

    def _read(self, session: HomeSession) -> None:
        workbench, home = session.workbench, session.info.id

        async def work(control: JobControl) -> tuple[TraceSummary, ...]:
            rows: list[TraceSummary] = []

            def add(more: tuple[TraceSummary, ...]) -> None:
                rows.extend(more)
                control.report(tuple(rows))

            return await ask(workbench.traces.rows, progress=add)

        self.lane.submit(
            "list traces",
            work,
            done=partial(self._take, home, True),
            progress=partial(self._take, home, False),
            group=f"traces {home}",
        )

    def _take(self, home: str, complete: bool, rows: object) -> None:
        """Store the rows of the home with the id `home`; emit `changed` if they differ or are complete.

        If `complete` is False, `rows` are those read so far; they are ignored if the home has been read
        completely before.
        """
        if not isinstance(rows, tuple) or (not complete and home in self._complete):
            return
        if complete:
            self._complete.add(home)
        if self._rows.get(home) != rows or complete:
            self._rows[home] = rows
            self.changed.emit()
