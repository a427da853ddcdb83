"""The home and context that the Memory tab shows, and the base class of the controllers that check it.

Threading: GUI thread; a check is a job. Failure: handled by the subclass.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from reverie.ui.jobs import Lane, single_shot
from reverie.ui.session import HomeSession, TreeUpdate
from reverie.values import Struct


class ShownPlace(Struct):
    """The home and the context (workspace or project) that the Memory tab shows.

    The tab writes it, its controllers read it; GUI thread.
    """

    session: HomeSession | None = None
    update: TreeUpdate | None = None
    """The latest update of the trees; None until the trees of the selected context have been read."""

    @property
    def place(self) -> tuple[HomeSession, TreeUpdate] | None:
        """The home that is shown and its trees; None if either is missing."""
        session, update = self.session, self.update
        return (session, update) if session is not None and update is not None else None


class PlaceControl(QObject):
    """Base class of a controller that checks the shown memories a moment after they have changed.

    A subclass defines `_look`, which submits the check to `_lane`, in the group with the name of the lane.
    """

    def __init__(self, shown: ShownPlace, lane: str, quiet_ms: int, parent: QObject) -> None:
        """Create the controller with a lane of the name `lane`; a check waits for `quiet_ms` milliseconds."""
        super().__init__(parent)
        self._shown = shown
        self._lane = Lane(lane, self)
        self._quiet = single_shot(self, quiet_ms, self._look)

    @property
    def is_settled(self) -> bool:
        """True if no check is pending and no job is running."""
        return not self._quiet.isActive() and not self._lane.busy

    def follow(self, update: TreeUpdate) -> None:
        """Check the updated trees, after a delay."""
        if update.other:
            self.forget()
        if not update.names_only:
            self.look_soon()

    @Slot()
    def look_soon(self) -> None:
        """Start a check after the delay."""
        self._quiet.start()

    def forget(self) -> None:
        """Clear what the last check found; called when another home or context is shown."""
        self._quiet.stop()
        self._lane.abandon(self._lane.name)

    def stop(self) -> None:
        """End the checks and their thread, because the window closes; later calls do nothing."""
        self._quiet.stop()
        self._lane.stop()

    @Slot()
    def _look(self) -> None:
        """Start a job that checks the shown memories."""
        raise NotImplementedError
