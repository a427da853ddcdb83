"""Where the rows of a search index lie, and in which context a person is shown them.

Threading: blocks; not for the GUI's thread. Failure: `MendableError`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.homes.scopes import COMPANIONS, Scope, ScopeRoot
from reverie.services.contexts import shown_contexts

if TYPE_CHECKING:
    from reverie.services.parts import HomeParts


@dataclass(frozen=True, slots=True)
class Place:
    """Where the rows of one root lie, and in which context they are shown."""

    directory: Path
    root: ScopeRoot | None
    workspace_id: str | None = None
    project_path: str | None = None
    reachable: bool = True


def places_of(parts: HomeParts) -> dict[str, Place]:
    """By the key of a root as the rows of the index have it, companions under `COMPANIONS`."""
    home, contents = parts.home, parts.home.contents()
    shown = dict(shown_contexts(parts, contents))
    places = {COMPANIONS: Place(home.root, None)}
    for root in home.roots(contents):
        context = shown.get(root.key)
        if root.scope is Scope.GLOBAL:
            places[root.key] = Place(root.directory, root)
        elif context is None:
            places[root.key] = Place(root.directory, root, reachable=False)
        else:
            places[root.key] = Place(root.directory, root, context.workspace_id, context.project_path)
    return places


def owner_of(parts: HomeParts, path: Path) -> str | None:
    """The project whose companion this is."""
    home = parts.home
    for project in home.contents().projects:
        context = home.context(project_path=project.path, project_given=True)
        if any(companion.path == path for companion in home.companions(context)):
            return project.path
    return None
