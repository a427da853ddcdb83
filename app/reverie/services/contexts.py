"""Which scope context shows a root of a home, for whatever was found by its root and not by a selection.

Reads what the home lists. Blocks; any thread but the GUI's. Raises `Unavailable`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from reverie.agents.base import HomeContents
from reverie.agents.scopes import Scope, ScopeContext, ScopeRoot, ScopeUnavailable
from reverie.errors import Unavailable
from reverie.values import replace

if TYPE_CHECKING:
    from reverie.agents.base import Home
    from reverie.services.container import HomeContainer

_WORKSPACE = "workspace/"


def roots_of(home: Home, context: ScopeContext) -> list[ScopeRoot]:
    """The roots that a context shows, of the scopes that are there."""
    roots = []
    for scope in Scope:
        with contextlib.suppress(ScopeUnavailable):
            roots.append(home.scope_root(context, scope))
    return roots


def shown_contexts(parts: HomeContainer, contents: HomeContents) -> Iterator[tuple[str, ScopeContext]]:
    """Per root key of projects and workspaces a context that shows it; later ones count more. A project is
    best seen from its first workspace."""
    home = parts.home
    for project in contents.projects:
        for workspace in reversed(project.workspaces):
            path = workspace.memory_project
            context = home.context(workspace_id=workspace.id, project_path=path, project_given=True)
            context = replace(context, dreams_as=workspace.dreams_as)
            for scope in (Scope.PROJECT, Scope.WORKSPACE):
                with contextlib.suppress(ScopeUnavailable):
                    yield home.scope_root(context, scope).key, context
        if not project.workspaces:
            context = home.context(project_path=project.path, project_given=True)
            with contextlib.suppress(ScopeUnavailable):
                yield home.scope_root(context, Scope.PROJECT).key, context


class Contexts:
    """The contexts of one home as it lists them now."""

    def __init__(self, parts: HomeContainer) -> None:
        self._parts = parts
        contents = parts.home.contents()
        self._shown = list(shown_contexts(parts, contents))
        self._by_key = dict(self._shown)
        self._names = {
            f"{_WORKSPACE}{workspace.id}": workspace.title or workspace.name
            for workspace in contents.workspaces()
        }
        for project in contents.projects:
            context = parts.home.context(project_path=project.path, project_given=True)
            with contextlib.suppress(ScopeUnavailable):
                self._names[parts.home.scope_root(context, Scope.PROJECT).key] = project.name

    def owner(self, key: str) -> str:
        """How people call what a root belongs to; its key where nothing is known of it."""
        return "" if key == Scope.GLOBAL else self._names.get(key, key.partition("/")[2] or key)

    def of(self, keys: Iterable[str]) -> ScopeContext | None:
        """A context that shows all of these roots; None where there is none."""
        wanted = {key for key in keys if key != Scope.GLOBAL}
        if not wanted:
            return self._parts.home.context(project_path=None, project_given=True)
        for key in sorted(wanted, reverse=True):  # a workspace shows its project, not the other way round
            for context in self._candidates(key):
                if wanted <= self._roots(context):
                    return context
        return None

    def grouped(self, keys: Iterable[str]) -> dict[str, ScopeContext]:
        """A context for each of these roots, as few different ones as may be; roots without one are left
        out."""
        groups: list[tuple[set[str], ScopeContext]] = []
        for key in sorted(keys, key=lambda key: (key == Scope.GLOBAL, not key.startswith(_WORKSPACE), key)):
            for at, (members, _context) in enumerate(groups):
                joint = self.of({*members, key})
                if joint is not None:
                    groups[at] = ({*members, key}, joint)
                    break
            else:
                alone = self.of([key])
                if alone is not None:
                    groups.append(({key}, alone))
        return {key: context for members, context in groups for key in members}

    def _candidates(self, key: str) -> Iterator[ScopeContext]:
        if key in self._by_key:
            yield self._by_key[key]
        yield from (context for other, context in self._shown if other == key)
        if key in self._lost:
            yield self._lost[key]
        elif key.startswith(_WORKSPACE):
            with contextlib.suppress(Unavailable):  # its memories may outlive its entry in the home's list
                yield self._parts.home.context(workspace_id=key.removeprefix(_WORKSPACE))

    @cached_property
    def _lost(self) -> dict[str, ScopeContext]:
        """The stores that nothing points at, which the home itself has to look for."""
        orphans = self._parts.home.orphans
        return {
            store.root.key: store.context
            for store in (() if orphans is None else orphans.lost_stores())
            if store.root is not None and store.context is not None
        }

    def _roots(self, context: ScopeContext) -> set[str]:
        found = set()
        for scope in (Scope.PROJECT, Scope.WORKSPACE):
            with contextlib.suppress(ScopeUnavailable):
                found.add(self._parts.home.scope_root(context, scope).key)
        return found


def asked_context(
    home: Home,
    *,
    workspace_id: str | None = None,
    project_path: str | None = None,
    project_given: bool = False,
) -> ScopeContext:
    """The context that somebody chose; see `Home.context`. A project that only its own files can name is
    asked for its name."""
    sessions = home.sessions
    if project_given and project_path and sessions is not None:
        project_path = sessions.resolve_project(project_path)
    context = home.context(workspace_id=workspace_id, project_path=project_path, project_given=project_given)
    if project_given or not context.project_path or sessions is None:
        return context
    learned = sessions.resolve_project(context.project_path)
    if learned == context.project_path:
        return context
    return home.context(workspace_id=workspace_id, project_path=learned, project_given=True)
