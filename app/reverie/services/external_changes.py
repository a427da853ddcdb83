"""Changes from outside: what is watched, which views they touch, who made them.

A change is attributed by Reverie's own log of writes, by what a snapshot found, and for the newest changes by
the agent's transcripts.

Threading: blocks on disk; any thread but the GUI's. Failure: `UserError`; an author is never guessed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.agents.scopes import ScopeContext
from reverie.claims.repository import watched_places
from reverie.files.directory import Directory
from reverie.files.watch import Changes
from reverie.files.watch_sources import WatchTarget
from reverie.memory.attribution import AGENT
from reverie.memory.history.roots import LARGEST_BYTES
from reverie.memory.paths import companion_place
from reverie.memory.store import sha256_of_bytes
from reverie.services.contexts import roots_of
from reverie.services.edits import companion_targets
from reverie.services.views import Relevance

if TYPE_CHECKING:
    from reverie.services.container import HomeContainer


def watch_targets(parts: HomeContainer, context: ScopeContext | None) -> tuple[WatchTarget, ...]:
    """The watched set: every memory root (those of `context` also while they do not exist yet), their
    parents, sidecars, companions, the records and traces of runs, what was decided, and where the repository
    of the project stands."""
    home = parts.home
    targets = {root.directory: WatchTarget(root.directory, recursive=True) for root in home.roots()}
    for root in roots_of(home, context) if context is not None else ():
        targets.setdefault(root.directory, WatchTarget(root.directory, recursive=True))
    places = [
        WatchTarget(place.directory, recursive=False, only=place.names)
        for place in home.watched()
        # A root is watched without its hidden names; who names some wants them, too.
        if place.directory not in targets or any(name.startswith(".") for name in place.names)
    ]
    if context is not None:
        seen = {target.path for target in (*targets.values(), *places)}
        places += companion_targets(home.companions(context), seen)
        places += [WatchTarget(place, recursive=False, only=names) for place, names in _repository(context)]
    own = (parts.profile.runs(parts.home_id), parts.profile.traces(parts.home_id))
    log = parts.profile.activity(parts.home_id)
    activity = WatchTarget(log.parent, recursive=False, only=(log.name,))
    return (*targets.values(), *places, *(WatchTarget(each, recursive=True) for each in own), activity)


def relevant(parts: HomeContainer, context: ScopeContext, changes: Changes) -> Relevance:
    """Which views of a context a set of changes touches; a rescan touches all."""
    if changes.rescan:
        return Relevance(True, True, True, True, True, True, True)
    # By text: paths take themselves apart to be compared, and when much changes at once there are thousands.
    home, runs_directory = parts.home, os.fspath(parts.profile.runs(parts.home_id))
    roots = _texts(root.directory for root in roots_of(home, context))
    companions = _texts(companion.path for companion in home.companions(context))
    own_traces = os.fspath(parts.profile.traces(parts.home_id))
    dumps = None if home.writer is None else home.writer.dump_places()
    dumped = _texts(directory for _workspace, directory in dumps.directories) if dumps is not None else set()
    log = parts.profile.activity(parts.home_id)
    activities = _texts((log, log.parent))
    repository = _texts(place / name for place, names in _repository(context) for name in names)
    sidecars = home.sidecars
    coverage = None if sidecars is None else os.fspath(sidecars.coverage)
    usage = None if sidecars is None else os.fspath(sidecars.usage)
    tree = status = runs = contents = traces = activity = project = False
    for path in map(os.fspath, changes.paths):
        parent, _, name = path.rpartition(os.sep)
        if path == coverage or (name.startswith(".") and parent in roots):
            # Of a hidden name in a root nobody hears but for the agent's lock, which the footer tells of.
            status = True
        elif path == usage or path in companions or any(_is_in(path, root) for root in roots):
            tree = True
        elif _is_in(path, runs_directory):
            runs = status = True
        elif _is_in(path, own_traces) or parent in dumped:
            traces = True
        elif path in activities:
            activity = True
        elif path in repository:
            project = True
        else:
            # A directory of dumps that was not there before is watched from now on.
            traces = traces or (dumps is not None and _is_in(path, os.fspath(dumps.root)))
            # Where an agent keeps books of its own jobs, the footer tells of them.
            contents = status = True
            tree = tree or any(_is_in(root, path) for root in roots)
    return Relevance(tree, status, runs, contents, traces, activity, project)


def _repository(context: ScopeContext) -> tuple[tuple[Path, tuple[str, ...]], ...]:
    return () if context.project_path is None else watched_places(Path(context.project_path))


def _texts(paths: Iterable[Path]) -> set[str]:
    return {os.fspath(path) for path in paths}


def _is_in(path: str, directory: str) -> bool:
    return path.startswith(directory) and (len(path) == len(directory) or path[len(directory)] == os.sep)


# The author of a file's present content, shown beside a text that changed while it was open.


def author_of(
    parts: HomeContainer, context: ScopeContext, path: str, sha256: str, companion: Path | None = None
) -> str:
    """The actor; empty: nobody that is known. `sha256` is the content's, `companion` a file beside the
    memories, in place of `path`."""
    file = companion
    if file is None:
        parsed, root, _files = parts.store(context, actor="user").resolve(path)
        file, key, rel = root.directory / parsed.rel, root.key, parsed.rel
    else:
        place = companion_place(parts.home.root, file)
        key, rel = place.key, place.rel
    found = parts.actors.actor_of(file, sha256)
    if found is not None:
        return found.actor
    content = _bytes_of(file)
    known = rel and content is not None and sha256_of_bytes(content) == sha256
    return AGENT if known and content and parts.snapshots.is_agents(key, rel, content) else ""


def _bytes_of(file: Path) -> bytes | None:
    """None where it cannot be read, or is more than the history keeps: no transcript tells of that."""
    try:
        with Directory.open(file.parent) as directory:
            content = directory.read(file.name, limit=LARGEST_BYTES + 1)
    except OSError:
        return None
    return content if len(content) <= LARGEST_BYTES else None
