"""What of a home is watched, and which views of a context a change touches.

Threading: blocks on disk; any thread but the GUI's. Failure: `MendableError`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.files.coalesce import Changes
from reverie.files.watch import WatchTarget
from reverie.homes.scopes import ScopeContext
from reverie.services.companions import companion_targets
from reverie.services.contexts import roots_of
from reverie.services.views import Relevance

if TYPE_CHECKING:
    from reverie.services.parts import HomeParts


def watch_targets(parts: HomeParts, context: ScopeContext | None) -> tuple[WatchTarget, ...]:
    """The watched set: every memory root (those of `context` also while they do not exist yet), their
    parents, sidecars, companions, the records and traces of runs, and what was decided."""
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
    own = (parts.profile.runs(parts.home_id), parts.profile.traces(parts.home_id))
    activity = parts.profile.activity(parts.home_id)
    said = WatchTarget(activity.parent, recursive=False, only=(activity.name,))
    return (*targets.values(), *places, *(WatchTarget(each, recursive=True) for each in own), said)


def relevant(parts: HomeParts, context: ScopeContext, changes: Changes) -> Relevance:
    """Which views of a context a set of changes touches; a rescan touches all."""
    if changes.rescan:
        return Relevance(True, True, True, True, True, True)
    # By text: paths take themselves apart to be compared, and when much changes at once there are thousands.
    home, runs_directory = parts.home, os.fspath(parts.profile.runs(parts.home_id))
    roots = _texts(root.directory for root in roots_of(home, context))
    companions = _texts(companion.path for companion in home.companions(context))
    own_traces, dumps = os.fspath(parts.profile.traces(parts.home_id)), home.dump_places()
    dumped = _texts(directory for _workspace, directory in dumps.directories) if dumps is not None else set()
    said = parts.profile.activity(parts.home_id)
    activities = _texts((said, said.parent))
    sidecars = home.coverage_sidecar, home.usage_sidecar
    coverage, usage = (os.fspath(each) if each else None for each in sidecars)
    tree = status = runs = contents = traces = activity = False
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
        else:
            # A directory of dumps that was not there before is watched from now on.
            traces = traces or (dumps is not None and _is_in(path, os.fspath(dumps.root)))
            # Where an agent keeps books of its own jobs, the footer tells of them.
            contents = status = True
            tree = tree or any(_is_in(root, path) for root in roots)
    return Relevance(tree, status, runs, contents, traces, activity)


def _texts(paths: Iterable[Path]) -> set[str]:
    return {os.fspath(path) for path in paths}


def _is_in(path: str, directory: str) -> bool:
    return path.startswith(directory) and (len(path) == len(directory) or path[len(directory)] == os.sep)
