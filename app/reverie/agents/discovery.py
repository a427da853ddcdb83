"""Discovery and opening of homes, and the list of the agents that Reverie supports.

Adding an agent is one entry in `KINDS`. A home's kind is recognised by its contents, never by the directory's
name, because projects have a `.mux` of their own, and a home may have any path. The environment and the
user's home directory are arguments; the disk is only read.

Each place is checked separately, with a time limit of a few seconds, so that one bad home never hides the
good ones. A place that cannot be entered, or is on a disk that hangs, becomes a `TroubledPlace` with the
cause.

Threading: blocks on disk, in threads of its own (`files.directory.ask_each`). Failure: `Unavailable` for a
directory that is not a home or cannot be read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from reverie.agents.base import ANSWER_S, DiscoveredHomes, FoundHome, Home, TroubledPlace, not_answering
from reverie.agents.capabilities import FailedImport
from reverie.agents.claude import locations as claude_names
from reverie.agents.claude.settings import Machine, failed_imports
from reverie.agents.codex import locations as codex_names
from reverie.agents.loki import locations as loki_names
from reverie.agents.mux import home as mux
from reverie.agents.mux import locations as mux_names
from reverie.errors import Unavailable, UserError, user_error_from_os
from reverie.files.directory import ask_each
from reverie.values import Struct


class User(Struct, frozen=True):
    """The environment variables of the agents, and the user's home directory."""

    env: Mapping[str, str]
    home_dir: Path


class HomeKind(Struct, frozen=True):
    """One agent: how to recognise its home, how to open it, and where its homes usually are."""

    kind: str
    """The short name of the agent."""
    detect: Callable[[Path], bool]
    """A function that returns whether a directory is a home of this agent.

    It judges by files that only this agent keeps.
    """
    open: Callable[[Path, Path | None, User | None], Home]
    """A function that opens the home in a directory.

    Its other arguments are a directory for copies and caches (made on first use; None: work without) and the
    user to whom the home belongs (None: environment and user are not used).
    """
    roots: Callable[[Mapping[str, str], Path], tuple[Path, ...]]
    """A function that returns the existing homes at the usual paths.

    Its arguments are an environment and a user's home directory.
    """
    places: Callable[[Mapping[str, str], Path], tuple[Path, ...]] = lambda _env, _home_dir: ()
    """A function that returns every path at which a home may be, without reading the disk.

    It has the same arguments as `roots`.
    """


def _loki_home(root: Path, cache: Path | None, user: User | None) -> Home:
    from reverie.agents.loki.home import LokiHome  # late, as below

    store = loki_names.store_of(root) or root
    memory = None if user is None else loki_names.memory_elsewhere(store.parent, user.env)
    around = User(os.environ, Path.home()) if user is None else user
    claude = claude_names.home_root(around.env, around.home_dir)
    return LokiHome(store, claude=claude, cache=cache, memory=memory)


def _codex_home(root: Path, cache: Path | None, user: User | None) -> Home:
    from reverie.agents.codex.home import CodexHome  # late: it brings sqlite along

    elsewhere = None if user is None else codex_names.sqlite_home(root, user.env, user.home_dir)
    return CodexHome(root, cache, sqlite_home=elsewhere)


def _claude_home(root: Path, cache: Path | None, _user: User | None) -> Home:
    from reverie.agents.claude.home import ClaudeHome  # late, as above

    return ClaudeHome(root, cache)


KINDS: tuple[HomeKind, ...] = (
    # Before mux, whose `detect` also accepts a damaged home that has only sessions.
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
        mux_names.detect,
        lambda root, _cache, _user: mux.MuxHome(root),
        mux_names.existing_home_roots,
        mux_names.usual_places,
    ),
    # A project's directory stands for the store in it; `find_projects` finds these.
    HomeKind(
        loki_names.KIND, lambda root: loki_names.store_of(root) is not None, _loki_home, lambda _e, _d: ()
    ),
)


def discover(env: Mapping[str, str], home_dir: Path) -> tuple[FoundHome, ...]:
    """Return the agents' homes at the usual paths, each real directory once.

    `env`: the agents' environment; `home_dir`: the user's home directory. Among the homes of one agent, the
    one that the agent would use comes first. A usual path without files of the agent is left out.
    """
    return find_homes(env, home_dir).homes


def find_homes(env: Mapping[str, str], home_dir: Path, limit_s: float = ANSWER_S) -> DiscoveredHomes:
    """Return the homes as `discover` does, and the places that cannot be read.

    A place that does not respond within `limit_s` seconds counts as one that cannot be read. `env`: the
    agents' environment; `home_dir`: the user's home directory.
    """
    places = {
        (kind.kind, root): partial(_ask, kind, root) for kind in KINDS for root in kind.places(env, home_dir)
    }
    answers = ask_each(places, limit_s)
    # Finding the agent's first choice reads the disk, too, so agents with a hanging place are left out.
    silent = {kind for kind, root in places if (kind, root) not in answers}
    awake = (kind for kind in KINDS if kind.kind not in silent)
    first = ask_each({kind.kind: partial(kind.roots, env, home_dir) for kind in awake}, limit_s)
    found: dict[Path, FoundHome] = {}
    troubled: dict[Path, TroubledPlace] = {}
    for kind in KINDS:
        for root in dict.fromkeys((*first.get(kind.kind, ()), *kind.places(env, home_dir))):
            answer = answers.get((kind.kind, root), _SILENT)
            if answer is _SILENT:
                troubled[root] = TroubledPlace(root.absolute(), not_answering(root), silent=True)
            elif answer.home is not None:
                found.setdefault(answer.real, answer.home)
            elif answer.error is not None:
                troubled.setdefault(root, TroubledPlace(root.absolute(), answer.error))
    return DiscoveredHomes(tuple(found.values()), tuple(troubled.values()))


class _Answer(Struct, frozen=True):
    """The result of checking a place: a home, an error, or neither if there is no home."""

    home: FoundHome | None = None
    real: Path = Path()
    """The path of `home` with links resolved."""
    error: UserError | None = None


_SILENT = _Answer()


def _ask(kind: HomeKind, root: Path) -> _Answer:
    try:
        if not stat.S_ISDIR(os.stat(root).st_mode):  # noqa: PTH116 - follows links, as the agent does
            return _Answer()
        if kind.detect(root):
            return _Answer(FoundHome(root.absolute(), kind.kind), root.resolve())
        _enter(root)
    except (FileNotFoundError, NotADirectoryError):
        if os.path.islink(root):  # noqa: PTH114 - never raises
            return _Answer(error=_link_to_nothing(root))
    except OSError as error:
        return _Answer(error=user_error_from_os(error, f"{root} cannot be read."))
    except ValueError:
        pass  # no path can be named like that
    return _Answer()


def _enter(directory: Path) -> None:
    """List a directory and check that its entries can be examined.

    Raises `OSError` if they cannot.
    """
    with os.scandir(directory):
        pass
    os.stat(directory / ".")  # noqa: PTH116 - a path that needs the right to enter


def _link_to_nothing(root: Path) -> UserError:
    return Unavailable(
        f"{root} cannot be read.",
        cause="It is a broken symbolic link.",
        next_step="Connect the disk or network share that the link points to, or remove the link.",
    )


def usual_places(env: Mapping[str, str], home_dir: Path) -> tuple[Path, ...]:
    """Return the paths that `discover` searches for the same arguments, without reading the disk."""
    return tuple(dict.fromkeys(place for kind in KINDS for place in kind.places(env, home_dir)))


def find_projects(
    found: Iterable[FoundHome],
    home_dir: Path,
    cache: Path | None = None,
    env: Mapping[str, str] | None = None,
    limit_s: float = ANSWER_S,
) -> DiscoveredHomes:
    """Return the agents' homes that lie inside projects, each real directory once.

    Searches the projects that the homes `found` list, and those in loki-mode's own list. The search is slower
    than `find_homes`, because it reads the lists of the homes. A home that does not list its projects within
    `limit_s` seconds becomes a `TroubledPlace`, and so does a project that does not respond within that time.
    `cache`: the directory for copies and caches; None: none are made. `env`: the environment of the user
    whose home directory is `home_dir`; None: no environment is used.
    """
    homes = tuple(found)
    user = None if env is None else User(env, home_dir)
    lists: dict[Path, Callable[[], tuple[Path, ...]]] = {
        home.root: partial(_listed_projects, home, cache, user) for home in homes
    }
    index = home_dir / loki_names.STORE
    lists.setdefault(index, partial(loki_names.indexed_projects, home_dir))
    listed = ask_each(lists, limit_s)
    projects = dict.fromkeys(project for paths in listed.values() for project in paths)
    stores = ask_each({project: partial(_store, project) for project in projects}, limit_s)
    unique: dict[Path, FoundHome] = {}
    for answer in stores.values():
        if answer.home is not None:
            unique.setdefault(answer.real, answer.home)
    silent = (
        *(root for root in lists if root not in listed),
        *(path for path in projects if path not in stores),
    )
    return DiscoveredHomes(
        tuple(unique.values()),
        tuple(TroubledPlace(path, not_answering(path), silent=True) for path in silent),
    )


def _store(project: Path) -> _Answer:
    try:
        store = loki_names.store_of(project)
        if store is not None:
            return _Answer(FoundHome(store.absolute(), loki_names.KIND, of_project=True), store.resolve())
    except (OSError, RuntimeError, ValueError):
        pass  # a project that is gone, or cannot be reached, has no store to offer
    return _Answer()


def _listed_projects(home: FoundHome, cache: Path | None, user: User | None) -> tuple[Path, ...]:
    kind = next(kind for kind in KINDS if kind.kind == home.kind)
    try:
        listed = kind.open(home.root, cache, user).contents().projects
    except Unavailable:
        return ()  # reported when it is opened itself
    return tuple(Path(project.path) for project in listed if Path(project.path).is_absolute())


def open_home(path: Path, cache: Path | None = None, user: User | None = None) -> Home:
    """Open the home in the directory `path` and return it.

    `cache`: a directory for copies and caches, made on first use and shared by all homes; None: work without.
    `user`: the user to whom the home belongs; None: environment and user are not used. Raises `Unavailable`
    if there is no home, `UserError` if the directory cannot be read.
    """
    # A later change of the working directory must not move it; links stay as they are written.
    path = path.absolute()
    try:
        there = stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116 - follows links
    except (FileNotFoundError, NotADirectoryError, ValueError):
        there = False
    except OSError as error:
        raise user_error_from_os(error, f"{path} cannot be read.") from error
    if not there:
        raise Unavailable(
            f"There is no home at {path}.",
            cause="There is no directory at this path, or it cannot be reached.",
            next_step="Check the path, or run `reverie homes` to list the homes found.",
        )
    for kind in KINDS:
        if kind.detect(path):
            return kind.open(path, cache, user)
    try:
        _enter(path)
    except OSError as error:
        raise user_error_from_os(error, f"{path} cannot be read.") from error
    raise Unavailable(
        f"Reverie does not recognize {path} as a home.",
        cause=f"It contains no files from a supported agent ({', '.join(kind.kind for kind in KINDS)}).",
        next_step="Choose the directory in which the agent keeps its memories, for example ~/.claude.",
    )


def imports_that_load_nothing(project: Path) -> tuple[FailedImport, ...]:
    """Return the imports that load nothing, in a project's own instruction files for Claude Code.

    `project`: the directory of the project.
    """
    machine = Machine.this()
    config = claude_names.home_root(machine.env, machine.home_dir)
    found = failed_imports(config, str(project), machine)
    return tuple(each for each in found if each.file.is_relative_to(project))
