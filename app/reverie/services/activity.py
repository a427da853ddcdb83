"""Decisions of the background services of a home, and the runs in progress.

Threading: as in `Workbench`, which provides the parts of this service. Failure: `Unavailable` if a log cannot
be read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable

from reverie.files.locks import LeaseHolder
from reverie.jobs.consolidate.run import dream_lease_name
from reverie.jobs.single_file.service import lease_name
from reverie.runs.activity import ActivityEntry
from reverie.services.container import HomeContainer
from reverie.values import Struct, replace


class RunningWork(Struct, frozen=True):
    """A run in progress."""

    name: str
    """The name of the run's lease, a row in Reverie's database that only one process can hold at a time."""
    holder: LeaseHolder
    """The process that holds the lease."""
    workspace_id: str | None = None
    """The workspace of the run; None for a run of the whole home."""


class ActivityService:
    """The service that lists the decisions of background services, and the runs in progress, of one home.

    `is_for_another(pid, client)` returns True if the process `pid` is carrying out a run for a client other
    than `client`. Such a run is returned to `client` with `holder.ours` False, like a run of another
    program.
    """

    def __init__(
        self,
        parts: HomeContainer,
        is_for_another: Callable[[int, Hashable], bool] = lambda _pid, _client: False,
    ) -> None:
        self._parts = parts
        self._is_for_another = is_for_another

    def page(
        self, workspaces: Collection[str], limit: int, *, client: Hashable = None
    ) -> tuple[tuple[ActivityEntry, ...], tuple[RunningWork, ...]]:
        """Return the newest decisions of background services, at most `limit`, and the runs in progress.

        For `workspaces` and `client` see `running`.
        """
        return self._parts.activity.read(limit), self.running(workspaces, client=client)

    def running(self, workspaces: Collection[str], *, client: Hashable = None) -> tuple[RunningWork, ...]:
        """Return the runs in progress of the home itself and of the workspaces with the ids `workspaces`.

        `client`: the client of the engine that calls; None: no client. A run that the engine carries out for
        another client has `holder.ours` False, like a run of another program.
        """
        parts = self._parts
        names: list[tuple[str, str | None]] = [(dream_lease_name(parts.home_id), None)]
        names += [(lease_name("writer", parts.home_id, id_), id_) for id_ in workspaces]
        held = [(name, parts.leases.holder(name), id_) for name, id_ in names]
        found = [RunningWork(name, holder, id_) for name, holder, id_ in held if holder is not None]
        # A writer takes the home's lease for a moment, too; it is one run all the same.
        writing = {work.holder.owner for work in found if work.workspace_id is not None}
        return tuple(
            replace(work, holder=self._seen_by(client, work.holder))
            for work in found
            if work.workspace_id is not None or work.holder.owner not in writing
        )

    def _seen_by(self, client: Hashable, holder: LeaseHolder) -> LeaseHolder:
        another = holder.ours and self._is_for_another(holder.owner.pid, client)
        return replace(holder, ours=False) if another else holder
