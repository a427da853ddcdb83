"""Opening a home in a job: what is made of its directory, and by which heavy libraries, off the GUI thread.

Failure: what cannot be opened ends the job with its `MendableError`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.clock import Clock
from reverie.homes.scopes import Caps
from reverie.profile import Profile
from reverie.ui.jobs import JobControl

if TYPE_CHECKING:
    from reverie.helper.process import Helper
    from reverie.services.views import HomeInfo
    from reverie.services.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Opened:
    """A home that could be opened."""

    workbench: Workbench
    info: HomeInfo
    caps: Caps
    recent_workspace: str = ""


def open_home_job(
    path: Path, profile: Profile, clock: Clock, helper: Helper | None = None
) -> Callable[[JobControl], Opened]:
    """A job that opens the home at `path`. Heavy libraries are imported by it, off the GUI thread; heavy work
    is `helper`'s, if there is one."""

    def work(_control: JobControl) -> Opened:
        from reverie.compose import open_workbench

        workbench: Workbench = open_workbench(path, profile, clock)
        if helper is not None:
            from reverie.helper.workbench import HelpedWorkbench

            workbench = HelpedWorkbench(workbench.parts, helper)
        info, home = workbench.contents(), workbench.parts.home
        listed = {workspace.id for workspace in info.contents.workspaces() if not workspace.archived}
        recent = max(((at, id_) for id_, at in home.recencies() if id_ in listed), default=(0, ""))
        return Opened(workbench, info, home.caps, recent[1])

    return work


def adopt_home_job(
    path: Path, known_id: str, profile: Profile, clock: Clock, helper: Helper | None = None
) -> Callable[[JobControl], Opened]:
    """A job that gives the home at `path` the history of the known home that was moved there, and opens
    it."""

    def work(control: JobControl) -> Opened:
        from reverie.compose import adopt_home

        adopt_home(path, known_id, profile, clock)
        return open_home_job(path, profile, clock, helper)(control)

    return work
