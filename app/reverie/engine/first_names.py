"""The names of the memories at the place where a window begins: what is on screen first.

A starting engine tells them before it loads what else it needs (`tell`), while the window that started it
loads Qt; so they travel as one line of JSON over the output of its process, and no connection is waited for.

Threading: blocks on the disks of the homes, a second at most for each; any thread. Failure: `UserError`;
`NoNames` where the engine does not tell any.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agents.base import Companion
from reverie.agents.scopes import Scope, ScopeContext, ScopeRoot, ScopeUnavailable
from reverie.engine.start import NamesWanted
from reverie.errors import Unavailable, UserError
from reverie.files.directory import ask_each
from reverie.memory.listing import ScopeListing, name_only, names_only
from reverie.profile import Profile
from reverie.services.window_state import read_remembered
from reverie.values import Struct, field

if TYPE_CHECKING:
    from reverie.agents.base import Home

_ANSWER_S = 1.0


class NoNames(Unavailable):
    """The engine that was started told no names."""

    def __init__(self) -> None:
        super().__init__("The names of the memories are not known yet.")


class FirstNames(Struct, frozen=True):
    """The names in every scope of one context."""

    scopes: Mapping[Scope, ScopeListing] = field(default_factory=dict)
    companions: tuple[Companion, ...] = ()

    def as_text(self) -> str:
        """One line. What a first look does not show is left out."""
        scopes = {
            scope.value: {
                "nothing": listing.root and (listing.root.read_only or listing.root.empty),
                "unavailable": listing.unavailable,
                "problems": listing.problems,
                "folders": listing.directories,
                "files": [file.rel for file in listing.files],
            }
            for scope, listing in self.scopes.items()
        }
        beside = [
            [
                each.scope.value,
                str(each.path),
                each.label,
                each.exists,
                each.read_only,
                each.loading,
                each.about,
            ]
            for each in self.companions
        ]
        return json.dumps({"scopes": scopes, "companions": beside})

    @classmethod
    def from_text(cls, text: bytes) -> FirstNames:
        """What `as_text` made. Raises `NoNames` for anything else."""
        try:
            read = json.loads(text)
            scopes = {Scope(name): _listing(Scope(name), each) for name, each in read["scopes"].items()}
            beside = [
                Companion(Scope(scope), Path(path), label, exists, "", read_only, loading, "", about)
                for scope, path, label, exists, read_only, loading, about in read["companions"]
            ]
        except (ValueError, KeyError, TypeError):
            raise NoNames from None
        return cls(scopes, tuple(beside))


def tell(profile: Profile, wanted: str) -> None:
    """Write the names to standard output; nothing where there are none."""
    try:
        names = find_names(at_last(profile, NamesWanted.from_text(wanted)))
        sys.stdout.write(names.as_text() + "\n")
    except UserError:
        sys.stdout.write("\n")  # the window opens the home, and says why it cannot
    sys.stdout.flush()


def at_last(profile: Profile, wanted: NamesWanted) -> NamesWanted:
    """With the place where the last window ended, if that is to be restored."""
    if wanted.homes or not wanted.restore:
        return wanted
    last = read_remembered(profile)
    closed = tuple(map(Path, last.closed))
    for place in dict.fromkeys(place for place in (last.home, *last.homes) if place):
        if _is_there(Path(place)):
            workspace = wanted.workspace or (last.workspace if place == last.home else "")
            return NamesWanted((Path(place),), workspace, closed)
    return NamesWanted((), wanted.workspace, closed)


def find_names(wanted: NamesWanted) -> FirstNames:
    """The names; nothing where no home is found. Raises `UserError`."""
    # Late: who is told them by an engine needs nothing of the agents.
    from reverie.agents.discovery import User, find_homes, open_home

    if wanted.homes:
        # Places that hang would keep a window from what comes next; it waits for them by itself.
        path = wanted.homes[0] if _is_there(wanted.homes[0]) is not None else None
    else:
        found = find_homes(os.environ, Path.home(), _ANSWER_S).homes
        path = next((home.root for home in found if home.root not in wanted.closed), None)
    if path is None:
        return FirstNames()
    home = open_home(path, None, User(os.environ, Path.home()))
    context = home.context(workspace_id=_starting_workspace(home, wanted.workspace))
    return FirstNames({scope: _names(home, context, scope) for scope in Scope}, home.companions(context))


def _listing(scope: Scope, read: Mapping[str, Any]) -> ScopeListing:
    files = tuple(map(name_only, read["files"]))
    nothing = read["nothing"]  # what is said where there are no files
    root = None if nothing is None else ScopeRoot(scope, "", Path(), None, read_only=nothing)
    folders, problems = tuple(read["folders"]), tuple(read["problems"])
    return ScopeListing(root, read["unavailable"], None, files, folders, problems, names_only=True)


def _is_there(path: Path) -> bool | None:
    """None: its disk does not answer."""
    return ask_each({path: partial(os.path.exists, path)}, _ANSWER_S).get(path)


def _starting_workspace(home: Home, asked: str) -> str | None:
    """The workspace asked for, else the one used last, else the first that is not archived."""
    workspaces = home.contents().workspaces()
    if asked in {each.id for each in workspaces}:
        return asked
    current = [each.id for each in workspaces if not each.archived]
    recencies = () if home.sessions is None else home.sessions.recencies()
    at = {id_: when for id_, when in recencies if id_ in current}
    return max(current, key=lambda id_: at.get(id_, 0), default=None)


def _names(home: Home, context: ScopeContext, scope: Scope) -> ScopeListing:
    try:
        return names_only(home.scope_root(context, scope))
    except ScopeUnavailable as gap:
        return ScopeListing(None, gap.cause or gap.title, gap.gap, (), (), ())
