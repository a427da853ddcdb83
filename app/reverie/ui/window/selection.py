"""Which row of the homes is picked for what a person asked for elsewhere: a start, or a search.

Threading: GUI thread; nothing is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reverie.services.search import SearchHit
    from reverie.ui.session import HomeSession
    from reverie.ui.window.home_list import Picker


def has_workspace(session: HomeSession, id_: str) -> bool:
    """Whether the shown home has a workspace or session of this id."""
    return id_ in {workspace.id for workspace in session.info.contents.workspaces()}


def pick_first(picker: Picker, session: HomeSession, asked: str) -> None:
    """The workspace asked for, else the one used last, else the first, else the home itself."""
    home = session.info.id
    for wanted in (asked, session.recent_workspace):
        if wanted and picker.pick(home, workspace_id=wanted):
            return
    if not picker.pick(home):
        picker.pick_home(home)


def pick_hit(picker: Picker, hit: SearchHit) -> None:
    """The place where a search result stands."""
    if hit.workspace_id and picker.pick(hit.home_id, workspace_id=hit.workspace_id):
        return
    if not hit.project_path or not picker.pick_project(hit.home_id, hit.project_path):
        picker.pick_home(hit.home_id)
