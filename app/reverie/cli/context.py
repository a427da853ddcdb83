"""Which home and which scope context a command means; an ambiguous one lists the choices (exit 2).

A home that cannot be looked at, or whose disk hangs, is named on stderr, and the command goes on with the
others.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reverie.cli.answers import trouble
from reverie.clock import Clock
from reverie.compose import look_for_homes, look_for_stores, open_parts
from reverie.errors import Ambiguous, MendableError, Unavailable
from reverie.homes.scopes import ScopeContext
from reverie.services.contexts import asked_context
from reverie.services.parts import HomeParts

if TYPE_CHECKING:
    from reverie.cli.session import Session

NO_HOME = "No agent's home was found."
MOST_CHOICES = 50
"""How many workspaces a question lists."""
NAME_ONE = "Name one with --home DIR, or try `reverie --demo`."


class AskedHomes(NamedTuple):
    """The homes that a command works on."""

    roots: tuple[Path, ...]
    problems: tuple[MendableError, ...] = ()
    """One for each place that could not be looked at."""


def every_home(session: Session) -> AskedHomes:
    """The homes that were named, else all that are found, those in projects too."""
    if session.arguments.home:
        return AskedHomes(tuple(session.arguments.home))
    found = look_for_homes()
    session.leave_out(found.troubled)
    stores = look_for_stores(found, session.profile)
    homes, troubled = (*found.homes, *stores.homes), (*found.troubled, *stores.troubled)
    return AskedHomes(tuple(home.root for home in homes), tuple(place.error for place in troubled))


def only_home(given: list[Path] | None) -> Path:
    """The one home that was named. Raises `Ambiguous`."""
    if given is None or len(given) != 1:
        raise Ambiguous(
            "Which home?", choices=tuple(map(str, given or ())), next_step="Give --home DIR once."
        )
    return given[0]


def the_home(session: Session, clock: Clock) -> HomeParts:
    """The one home a command works on. Raises `Ambiguous`, or `Unavailable` when there is none."""
    given, profile = session.arguments.home, session.profile
    if given and len(given) > 1:
        raise Ambiguous(
            "This command works on one home.", choices=tuple(map(str, given)), next_step="Give --home once."
        )
    if given:
        return open_parts(given[0], profile, clock)
    looked = look_for_homes()
    session.leave_out(looked.troubled)
    # A store in a project is meant only where it is all there is, or is named.
    stores = None if looked.homes else look_for_stores(looked, profile)
    found = looked.homes if stores is None else stores.homes
    troubled = (*looked.troubled, *(() if stores is None else stores.troubled))
    if not found and troubled:
        raise troubled[0].error
    for place in troubled:
        trouble(str(place.error))
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
        context = asked_context(
            home, workspace_id=workspace, project_path=project, project_given=project is not None
        )
        require_workspace(parts, workspace)
        return context
    if project is not None:
        return asked_context(home, project_path=project, project_given=True)
    workspaces = home.contents().workspaces()
    if len(workspaces) > 1:
        raise Ambiguous(
            "This home has several workspaces.",
            choices=choices(parts),
            next_step="Name one with --workspace ID.",
        )
    return home.context(workspace_id=workspaces[0].id if workspaces else None)


def choices(parts: HomeParts) -> tuple[str, ...]:
    """The workspaces to choose from, those used last first: id, title, and when it was used where the home
    says so."""
    from reverie.cli.answers import local_time, printable

    parts.home.learn_titles(MOST_CHOICES)
    found = sorted(parts.home.contents().workspaces(), key=lambda each: -(each.updated_at or 0))
    lines = []
    for each in found[:MOST_CHOICES]:
        when = "" if each.updated_at is None else f", {local_time(each.updated_at)}"
        lines.append(f"{each.id} ({printable(each.title or each.name)}{when})")
    if len(found) > MOST_CHOICES:
        lines.append(f"and {len(found) - MOST_CHOICES:,} older ones, which `reverie homes` lists")
    return tuple(lines)


def require_workspace(parts: HomeParts, workspace: str, *, stores: bool = True) -> None:
    """Raises `Ambiguous` for a workspace that the home does not list; with `stores` one that is not listed
    any more will do, as long as its memory is there."""
    home = parts.home
    if workspace in {found.id for found in home.contents().workspaces()}:
        return
    if stores and f"workspace/{workspace}" in {root.key for root in home.roots()}:
        return
    raise Ambiguous(
        f"This home has no workspace {workspace}.",
        choices=choices(parts),
        next_step="Name one with --workspace ID.",
    )
