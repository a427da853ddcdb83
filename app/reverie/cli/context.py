"""Which home and which scope context a command means; an ambiguous one lists the choices (exit 2)."""

from __future__ import annotations

from pathlib import Path

from reverie.clock import Clock
from reverie.compose import discover_all, discover_homes, open_parts
from reverie.errors import Ambiguous, Unavailable
from reverie.homes.scopes import ScopeContext
from reverie.profile import Profile
from reverie.services.contexts import asked_context
from reverie.services.parts import HomeParts

NO_HOME = "No agent's home was found."
NAME_ONE = "Name one with --home DIR, or try `reverie --demo`."


def every_home(given: list[Path] | None, profile: Profile) -> list[Path]:
    """The homes that were named, else all that are found, those in projects too."""
    return list(given) if given else [found.root for found in discover_all(profile)]


def only_home(given: list[Path] | None) -> Path:
    """The one home that was named. Raises `Ambiguous`."""
    if given is None or len(given) != 1:
        raise Ambiguous(
            "Which home?", choices=tuple(map(str, given or ())), next_step="Give --home DIR once."
        )
    return given[0]


def the_home(given: list[Path] | None, profile: Profile, clock: Clock) -> HomeParts:
    """The one home a command works on. Raises `Ambiguous`, or `Unavailable` when there is none."""
    if given and len(given) > 1:
        raise Ambiguous(
            "This command works on one home.", choices=tuple(map(str, given)), next_step="Give --home once."
        )
    if given:
        return open_parts(given[0], profile, clock)
    # A store in a project is meant only where it is all there is, or is named.
    found = discover_homes() or discover_all(profile)
    if not found:
        raise Unavailable(NO_HOME, next_step=NAME_ONE)
    if len(found) > 1:
        raise Ambiguous(
            "More than one home was found.",
            choices=tuple(str(home.root) for home in found),
            next_step="Name one with --home DIR.",
        )
    return open_parts(found[0].root, profile, clock)


def the_context(parts: HomeParts, workspace: str | None, project: str | None) -> ScopeContext:
    """The scope context of a command. Raises `Ambiguous` when the home has several workspaces and none was
    named."""
    home = parts.home
    if workspace is not None:
        known = home.contents().workspaces()
        context = asked_context(
            home, workspace_id=workspace, project_path=project, project_given=project is not None
        )
        on_disk = {root.key for root in home.roots()}
        if workspace not in {found.id for found in known} and f"workspace/{workspace}" not in on_disk:
            raise Ambiguous(
                f"This home has no workspace {workspace}.",
                choices=_choices(parts),
                next_step="Name one with --workspace ID.",
            )
        return context
    if project is not None:
        return asked_context(home, project_path=project, project_given=True)
    workspaces = home.contents().workspaces()
    if len(workspaces) > 1:
        raise Ambiguous(
            "This home has several workspaces.",
            choices=_choices(parts),
            next_step="Name one with --workspace ID.",
        )
    return home.context(workspace_id=workspaces[0].id if workspaces else None)


def _choices(parts: HomeParts) -> tuple[str, ...]:
    return tuple(
        f"{workspace.id} ({workspace.title or workspace.name})"
        for workspace in parts.home.contents().workspaces()
    )
