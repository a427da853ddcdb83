"""Finding homes and opening them: the list of agents Reverie knows.

Adding an agent is one entry in `KINDS`. A kind is told by structure, never by the directory's name: projects
have a `.mux` of their own, and a home may be anywhere. The environment and the user's home directory are
arguments; the disk is only looked at.

Threading: blocks on disk. Failure: `Unavailable` for a directory that is no home.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from reverie.errors import Unavailable
from reverie.homes import claude_names, codex_names, loki_names, mux, mux_location
from reverie.homes.base import Home
from reverie.homes.reading import is_directory


class User(NamedTuple):
    """Whose homes these are: the environment that the agents run in, and the home directory."""

    env: Mapping[str, str]
    home_dir: Path


class HomeKind(NamedTuple):
    """One agent: how to recognise its home, how to open it, and where its homes usually are: `roots` those
    that exist, `places` all where one may be, without asking the disk. `open` is given
    the directory that may hold copies and what was found out (made on first use), None to do without; and
    whose home it is, None where that shall not count."""

    kind: str
    detect: Callable[[Path], bool]
    open: Callable[[Path, Path | None, User | None], Home]
    roots: Callable[[Mapping[str, str], Path], tuple[Path, ...]]
    places: Callable[[Mapping[str, str], Path], tuple[Path, ...]] = lambda _env, _home_dir: ()


class FoundHome(NamedTuple):
    """A home that exists on this machine and can be opened. `of_project`: it lies in a project, and is of
    that one alone."""

    root: Path
    kind: str
    of_project: bool = False


def _loki_home(root: Path, cache: Path | None, user: User | None) -> Home:
    from reverie.homes.loki import LokiHome  # late, as below

    store = loki_names.store_of(root) or root
    memory = None if user is None else loki_names.memory_elsewhere(store.parent, user.env)
    around = User(os.environ, Path.home()) if user is None else user
    claude = claude_names.home_root(around.env, around.home_dir)
    return LokiHome(store, claude=claude, cache=cache, memory=memory)


def _codex_home(root: Path, cache: Path | None, user: User | None) -> Home:
    from reverie.homes.codex import CodexHome  # late: it brings sqlite along

    elsewhere = None if user is None else codex_names.sqlite_home(root, user.env, user.home_dir)
    return CodexHome(root, cache, sqlite_home=elsewhere)


def _claude_home(root: Path, cache: Path | None, _user: User | None) -> Home:
    from reverie.homes.claude import ClaudeHome  # late, as above

    return ClaudeHome(root, cache)


KINDS: tuple[HomeKind, ...] = (
    # Before mux, which also takes a damaged home that has only sessions for its own.
    HomeKind(
        codex_names.KIND,
        codex_names.detect,
        _codex_home,
        codex_names.existing_home_roots,
        codex_names.usual_places,
    ),
    HomeKind(
        claude_names.KIND,
        claude_names.detect,
        _claude_home,
        claude_names.existing_home_roots,
        claude_names.usual_places,
    ),
    HomeKind(
        mux.KIND,
        mux_location.detect,
        lambda root, _cache, _user: mux.MuxHome(root),
        mux_location.existing_home_roots,
        mux_location.usual_places,
    ),
    # A project is taken for the store in it; where these are, `discover_projects` finds out.
    HomeKind(
        loki_names.KIND, lambda root: loki_names.store_of(root) is not None, _loki_home, lambda _e, _d: ()
    ),
)


def discover(env: Mapping[str, str], home_dir: Path) -> tuple[FoundHome, ...]:
    """The homes worth offering, the one each agent would use first; each real directory once. A usual place
    that holds nothing of the agent is left out."""
    found: dict[Path, FoundHome] = {}
    for kind in KINDS:
        for root in kind.roots(env, home_dir):
            if kind.detect(root):
                found.setdefault(root.resolve(), FoundHome(root.absolute(), kind.kind))
    return tuple(found.values())


def usual_places(env: Mapping[str, str], home_dir: Path) -> tuple[Path, ...]:
    """Where `discover` looks; the disk is not asked."""
    return tuple(dict.fromkeys(place for kind in KINDS for place in kind.places(env, home_dir)))


def discover_projects(
    found: Iterable[FoundHome],
    home_dir: Path,
    cache: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> tuple[FoundHome, ...]:
    """The stores that lie in projects: of those that the homes `found` list, and of those in loki-mode's own
    list; each real directory once. Dearer than `discover`: it reads what the homes list."""
    stores: dict[Path, FoundHome] = {}
    user = None if env is None else User(env, home_dir)
    for project in (*_listed_projects(found, cache, user), *loki_names.indexed_projects(home_dir)):
        store = loki_names.store_of(project)
        if store is not None:
            stores.setdefault(store.resolve(), FoundHome(store.absolute(), loki_names.KIND, of_project=True))
    return tuple(stores.values())


def _listed_projects(found: Iterable[FoundHome], cache: Path | None, user: User | None) -> Iterator[Path]:
    kinds = {kind.kind: kind for kind in KINDS}
    for home in found:
        with contextlib.suppress(Unavailable):  # said when it is opened itself
            for project in kinds[home.kind].open(home.root, cache, user).contents().projects:
                if Path(project.path).is_absolute():
                    yield Path(project.path)


def open_home(path: Path, cache: Path | None = None, user: User | None = None) -> Home:
    """The home in the directory `path`. `cache` and `user`: see `HomeKind`; shared by all homes. Raises
    `Unavailable` where there is none."""
    # A later change of the working directory must not move it; links stay as they are written.
    path = path.absolute()
    if not is_directory(path):
        raise Unavailable(
            f"There is no home at {path}.",
            cause="It is not a directory that can be reached.",
            next_step="Check the path, or see `reverie homes` for the homes found.",
        )
    for kind in KINDS:
        if kind.detect(path):
            return kind.open(path, cache, user)
    raise Unavailable(
        f"{path} is not a home that Reverie knows.",
        cause=f"Nothing in it belongs to one of: {', '.join(kind.kind for kind in KINDS)}.",
        next_step="Give the directory that holds the agent's memories, for example ~/.xum.",
    )
