"""The traces of all open homes, read in the background, newest first, and kept up to date.

Nothing is read before the tab is first shown. The first lines come as soon as they are read; later, a home
is read again when the watcher reports changed traces, and only changed files are opened.

Threading: GUI thread; a lane of its own, created on first use, so that large traces hold up nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

from PySide6.QtCore import QObject, Signal, Slot

from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.ui.jobs import JobControl, Lane, Work
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.agents.base import HomeContents
    from reverie.services.traces import TraceSummary
    from reverie.ui.session import HomeSession


# The project and workspace of a trace, named as in the list of homes. A trace knows the id of its workspace
# and at best the name of its branch; the home knows the title. Pure.


class Followed(Struct, frozen=True):
    """The place selected at the left. `home`: its id; `project` and `workspace`: empty for the whole home, or
    all of the project; `name`: what the list at the left calls it; `home_name`: of its home."""

    home: str
    project: str = ""
    name: str = ""
    home_name: str = ""
    workspace: str = ""

    def holds(self, line: ListedTrace) -> bool:
        """Whether a trace belongs here; one whose workspace and project the home does not list does anywhere
        in it."""
        place = line.place
        if line.session.info.id != self.home:
            return False
        if self.workspace and place.workspace_id:
            return place.workspace_id == self.workspace
        return not self.project or not place.project or place.project == self.project


class Belongs(Struct, frozen=True):
    """The workspace and project of one trace; empty where unknown. `workspace_id`: only of one that the home
    lists."""

    workspace: str = ""
    project: str = ""
    workspace_id: str = ""


class TracePlaces:
    """The workspaces and projects of one home."""

    def __init__(self, contents: HomeContents) -> None:
        self._workspaces: Mapping[str, Belongs] = {
            workspace.id: Belongs(workspace.label, project.path, workspace.id)
            for project in contents.projects
            for workspace in project.workspaces
        }
        self._projects = frozenset(project.path for project in contents.projects)

    def of(self, row: TraceSummary) -> Belongs:
        """Where a trace belongs. What the home does not list keeps the name that the trace has."""
        # A dream of Reverie names its workspace by the id alone.
        for id_ in (row.workspace_id, row.workspace_name):
            if found := self._workspaces.get(id_):
                return found
        project = row.project_path if row.project_path in self._projects else ""
        return Belongs(row.workspace_name or row.workspace_id, project)


View = Literal["runs", "checks", "log"]
"""What the tab shows below its answer."""

T = TypeVar("T")


class ListedTrace(Struct, frozen=True):
    """One line and the home it is of."""

    session: HomeSession
    row: TraceSummary
    place: Belongs

    @property
    def key(self) -> str:
        return str(self.row.path)


class TraceFeed(QObject):
    """`changed()`: `lines` are others. `failed(UserError)`."""

    changed = Signal()
    failed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lane = Lane("traces", self)
        self._sessions: list[HomeSession] = []
        self._rows: dict[str, tuple[TraceSummary, ...]] = {}
        self._complete: set[str] = set()
        self._is_looked_at = False
        self._stopped = False

    @property
    def lines(self) -> tuple[ListedTrace, ...]:
        """All lines, newest first."""
        found = [
            ListedTrace(session, row, places.of(row))
            for session in self._sessions
            for places in (TracePlaces(session.info.contents),)
            for row in self._rows.get(session.info.id, ())
        ]
        return tuple(sorted(found, key=lambda line: (line.row.started_at, line.row.id), reverse=True))

    @property
    def is_read(self) -> bool:
        """Every home was read to its end at least once."""
        return all(session.info.id in self._complete for session in self._sessions)

    @property
    def is_complete(self) -> bool:
        """Every home was read to its end at least once, and nothing is being read."""
        return self.is_read and not self.busy

    @property
    def busy(self) -> bool:
        return self._lane.busy

    @property
    def sessions(self) -> tuple[HomeSession, ...]:
        return tuple(self._sessions)

    def add(self, session: HomeSession) -> None:
        """Another home is open."""
        if session in self._sessions:
            return
        self._sessions.append(session)
        session.traces_changed.connect(self._on_changed)
        session.info_changed.connect(self._on_named)
        if self._is_looked_at:
            self._read(session)

    def remove(self, session: HomeSession) -> None:
        """A home was closed."""
        if session not in self._sessions:
            return
        self._sessions.remove(session)
        session.traces_changed.disconnect(self._on_changed)
        session.info_changed.disconnect(self._on_named)
        home = session.info.id
        self.cancel(f"traces {home}")
        self._complete.discard(home)
        if self._rows.pop(home, ()):
            self.changed.emit()

    def start(self) -> None:
        """The list is looked at: read it; once."""
        if not self._stopped and not self._is_looked_at:
            self._is_looked_at = True
            for session in self._sessions:
                self._read(session)

    def submit(
        self,
        name: str,
        work: Work[T],
        *,
        done: Callable[[T], None],
        failed: Callable[[UserError], None] | None = None,
        cancelled: Callable[[], None] | None = None,
        progress: Callable[[object], None] | None = None,
        group: str = "",
    ) -> None:
        """A job on the lane of the traces."""
        self.lane.submit(
            name,
            work,
            done=done,
            failed=failed or self.failed.emit,
            cancelled=cancelled,
            progress=progress,
            group=group,
        )

    @property
    def lane(self) -> Lane:
        """The lane of the traces. What is asked of it is looked at."""
        self.start()
        return self._lane

    def cancel(self, group: str) -> None:
        """What the jobs of this group find is not wanted any more."""
        self._lane.abandon(group)

    def stop(self) -> None:
        """Nothing more is read. Calling it again is harmless."""
        self._stopped = True
        self._lane.stop()

    @Slot()
    def _on_changed(self) -> None:
        session = self.sender()
        for known in self._sessions:
            if known is session and self._is_looked_at:
                self._read(known)

    @Slot()
    def _on_named(self) -> None:
        """Workspaces may have other names now."""
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

        self.submit(
            "list traces",
            work,
            done=partial(self._take, home, True),
            progress=partial(self._take, home, False),
            group=f"traces {home}",
        )

    def _take(self, home: str, complete: bool, rows: object) -> None:
        if not isinstance(rows, tuple) or (not complete and home in self._complete):
            return
        if complete:
            self._complete.add(home)
        if self._rows.get(home) != rows or complete:
            self._rows[home] = rows
            self.changed.emit()
