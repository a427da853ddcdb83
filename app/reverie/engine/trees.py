"""The trees of a context as they cross the wire: whole the first time, later only what is different.

Pure. `TreeUpdate` is made by the engine, which remembers what it sent each client last, and put together with
what the client has. A client that has something else says so by the number, and gets everything.
"""

from __future__ import annotations

from collections.abc import Mapping

from reverie.agents.scopes import Scope
from reverie.memory.listing import (
    FileChanges,
    MemoryFile,
    ScopeListing,
    changes_between,
    in_order,
    name_only,
    position,
)
from reverie.services.views import MemoryView
from reverie.values import Struct, field, replace


class TreesUpdate(Struct, frozen=True):
    """The trees of a context. `serial` counts what one client was sent."""

    serial: int
    view: MemoryView
    """Without the files of the scopes in `changes`."""
    changes: Mapping[Scope, FileChanges] = field(default_factory=dict)


def update_of(after: MemoryView, before: MemoryView | None, serial: int) -> TreesUpdate:
    """`after` for a client that has `before`."""
    scopes: dict[Scope, ScopeListing] = {}
    changes: dict[Scope, FileChanges] = {}
    for scope, listing in after.scopes.items():
        # What a later scan needs stays with who scans.
        bare = replace(listing, faults={}, use=None, scanned_ns=0)
        had = before.scopes.get(scope) if before is not None else None
        if had is not None and had.names_only == listing.names_only:
            changes[scope] = changes_between(had.files, listing.files)
            bare = replace(bare, files=())
        scopes[scope] = bare
    return TreesUpdate(serial, replace(after, scopes=scopes), changes)


def updated(update: TreesUpdate, before: MemoryView | None) -> MemoryView:
    """The view that `update` makes of `before`."""
    scopes = dict(update.view.scopes)
    for scope, changes in update.changes.items():
        had = before.scopes[scope].files if before is not None else ()
        scopes[scope] = replace(scopes[scope], files=_changed(had, changes))
    return replace(update.view, scopes=scopes)


# One listing may hold a hundred thousand files: a few that changed are put in their places.
_FEW = 1000


def _changed(before: tuple[MemoryFile, ...], changes: FileChanges) -> tuple[MemoryFile, ...]:
    if not changes.changed and not changes.gone:
        return before
    if len(changes.changed) + len(changes.gone) > _FEW:
        files = {file.rel: file for file in before}
        for rel in changes.gone:
            files.pop(rel, None)
        files.update((file.rel, file) for file in changes.changed)
        return tuple(in_order(tuple(files.values())))
    listed = list(before)
    for rel in changes.gone:
        index, is_there = position(listed, rel)
        if is_there:
            del listed[index]
    for file in changes.changed:
        index, is_there = position(listed, file.rel)
        listed[index : index + is_there] = [file]
    return tuple(listed)


class NamesUpdate(Struct, frozen=True):
    """The trees at a first look. Of nearly every file there is nothing but its path."""

    view: MemoryView
    """Without files."""
    names: Mapping[Scope, tuple[str, ...]]
    others: Mapping[Scope, tuple[MemoryFile, ...]]
    """The files of which more is known."""


def names_of(view: MemoryView) -> NamesUpdate:
    """A first look for the wire."""
    names: dict[Scope, tuple[str, ...]] = {}
    others: dict[Scope, tuple[MemoryFile, ...]] = {}
    scopes = {scope: replace(listing, files=()) for scope, listing in view.scopes.items()}
    for scope, listing in view.scopes.items():
        names[scope] = tuple(file.rel for file in listing.files if file == name_only(file.rel))
        others[scope] = tuple(file for file in listing.files if file != name_only(file.rel))
    return NamesUpdate(replace(view, scopes=scopes), names, others)


def named(update: NamesUpdate) -> MemoryView:
    """The view that was sent as `update`."""
    scopes = {
        scope: replace(
            listing, files=tuple(in_order((*map(name_only, update.names[scope]), *update.others[scope])))
        )
        for scope, listing in update.view.scopes.items()
    }
    return replace(update.view, scopes=scopes)
