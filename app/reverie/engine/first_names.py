"""The names of the memories at the place where a window begins: what is on screen first.

A starting engine tells them before it loads what else it needs (`tell`), while the window that started it
loads Qt; so they travel over the output of its process, and no connection is waited for. The first line is
what a closed tree shows (`FirstNames`), as JSON, which needs little to be read. The second is all of the
names as they cross the wire, for the window that is built meanwhile; empty where it would fill the pipe.

Threading: blocks on the disks of the homes, a second at most for each; any thread. Failure: `UserError`;
`NoNames` where the engine does not tell any.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.agents.base import Companion, rules_of
from reverie.agents.scopes import Scope, ScopeContext, ScopeUnavailable
from reverie.engine.start import NamesWanted
from reverie.errors import Unavailable, UserError
from reverie.files.directory import ask_each
from reverie.memory.listing import ScopeListing, names_only
from reverie.memory.paths import utf16_key
from reverie.profile import Profile
from reverie.services.window_state import read_remembered
from reverie.values import Struct, field

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from reverie.agents.base import Home
    from reverie.services.views import MemoryView

_ANSWER_S = 1.0
_SMALL_PIPE = 16 << 10
"""Bytes that a pipe takes on every system."""
_LARGE_PIPE = 1 << 20
"""Bytes that any user may give a pipe on Linux."""


class NoNames(Unavailable):
    """The engine that was started told no names."""

    def __init__(self) -> None:
        super().__init__("The names of the memories are not known yet.")


class FirstFolder(Struct, frozen=True):
    """A folder that nobody has opened."""

    name: str
    notes: int
    """How many memories lie in it, at any depth."""
    is_empty: bool


class FirstScope(Struct, frozen=True):
    """What stands directly in one scope."""

    notes: int = 0
    folders: tuple[FirstFolder, ...] = ()
    files: tuple[str, ...] = ()
    nothing: str = ""
    """What is said where there are no files; empty for what is always said."""
    unavailable: str = ""
    problems: tuple[str, ...] = ()


class FirstNames(Struct, frozen=True):
    """What a tree shows of one context while no folder is open."""

    scopes: Mapping[Scope, FirstScope] = field(default_factory=dict)
    companions: tuple[Companion, ...] = ()

    @classmethod
    def of(cls, found: FoundNames) -> FirstNames:
        """What is shown first of all that was found."""
        scopes = {scope: _first(listing) for scope, listing in found.scopes.items()}
        return cls(scopes, found.companions)

    def as_text(self) -> str:
        """One line."""
        scopes = {
            scope.value: [
                first.notes,
                [[each.name, each.notes, each.is_empty] for each in first.folders],
                first.files,
                first.nothing,
                first.unavailable,
                first.problems,
            ]
            for scope, first in self.scopes.items()
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
            scopes = {
                Scope(name): FirstScope(
                    notes,
                    tuple(FirstFolder(*folder) for folder in folders),
                    tuple(files),
                    nothing,
                    unavailable,
                    tuple(problems),
                )
                for name, (notes, folders, files, nothing, unavailable, problems) in read["scopes"].items()
            }
            beside = [
                Companion(Scope(scope), Path(path), label, exists, "", read_only, loading, "", about)
                for scope, path, label, exists, read_only, loading, about in read["companions"]
            ]
        except (ValueError, KeyError, TypeError):
            raise NoNames from None
        return cls(scopes, tuple(beside))


class FoundNames(Struct, frozen=True):
    """All names in every scope of one context."""

    home: Path
    context: ScopeContext
    scopes: Mapping[Scope, ScopeListing] = field(default_factory=dict)
    companions: tuple[Companion, ...] = ()


def tell(profile: Profile, wanted: str) -> None:
    """Write both lines to standard output: no scopes, and an empty line, where there is nothing to tell."""
    try:
        found = find_names(at_last(profile, NamesWanted.from_text(wanted)))
    except UserError:
        found = None  # the window opens the home, and says why it cannot
    room = _pipe_room()
    first = (FirstNames() if found is None else FirstNames.of(found)).as_text().encode()
    _say(first)
    whole = b"" if found is None else _whole(found)
    _say(whole if len(first) + len(whole) + 2 <= room else b"")


def whole_names(line: bytes) -> tuple[Path, MemoryView] | None:
    """The home and the names of the second line; None where it has none."""
    from reverie.engine import interface, wire  # late: the names are on screen by now

    try:
        home, names = wire.decode(base64.b64decode(line), tuple[Path, interface.NamesUpdate])
    except (ValueError, wire.WireError):
        return None
    return home, interface.named(names)


def _whole(found: FoundNames) -> bytes:
    # Late: what is shown first is on its way by now.
    from reverie.engine import interface, wire

    names = interface.first_look(found.context, found.scopes, found.companions)
    return base64.b64encode(wire.encode((found.home, names), tuple[Path, interface.NamesUpdate]))


def _pipe_room() -> int:
    """How many bytes can be told before the window reads any: an engine that waits for it is late itself."""
    if sys.platform != "linux":
        return _SMALL_PIPE
    with contextlib.suppress(OSError):
        fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, _LARGE_PIPE)
    try:
        return fcntl.fcntl(1, fcntl.F_GETPIPE_SZ)
    except OSError:  # not a pipe
        return _SMALL_PIPE


def _say(line: bytes) -> None:
    left = line + b"\n"
    with contextlib.suppress(BrokenPipeError):  # the window was closed again
        while left:
            left = left[os.write(1, left) :]


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


def find_names(wanted: NamesWanted) -> FoundNames | None:
    """The names; None where no home is found. Raises `UserError`."""
    # Late: who is told them by an engine needs nothing of the agents.
    from reverie.agents.discovery import User, find_homes, open_home

    if wanted.homes:
        # Places that hang would keep a window from what comes next; it waits for them by itself.
        path = wanted.homes[0] if _is_there(wanted.homes[0]) is not None else None
    else:
        found = find_homes(os.environ, Path.home(), _ANSWER_S).homes
        path = next((home.root for home in found if home.root not in wanted.closed), None)
    if path is None:
        return None
    home = open_home(path, None, User(os.environ, Path.home()))
    context = home.context(workspace_id=_starting_workspace(home, wanted.workspace))
    scopes = {scope: _names(home, context, scope) for scope in Scope}
    return FoundNames(home.root, context, scopes, home.companions(context))


def _first(listing: ScopeListing) -> FirstScope:
    notes: dict[str, int] = {}
    files: list[str] = []
    folders = {rel.partition("/")[0] for rel in listing.directories}
    for file in listing.files:
        top, slash, _below = file.rel.partition("/")
        if slash:
            notes[top] = notes.get(top, 0) + 1
        else:
            files.append(top)
    root = listing.root
    inside = {rel.partition("/")[0] for rel in listing.directories if "/" in rel}
    return FirstScope(
        len(listing.files),
        tuple(
            FirstFolder(name, notes.get(name, 0), name not in notes and name not in inside)
            for name in sorted({*folders, *notes}, key=utf16_key)
        ),
        tuple(files),
        (root.read_only or root.empty) if root is not None else "",
        listing.unavailable,
        listing.problems,
    )


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
        root = home.scope_root(context, scope)
        return names_only(root, partial(rules_of, home, root))
    except ScopeUnavailable as gap:
        return ScopeListing(None, gap.cause or gap.title, gap.gap, (), (), ())
