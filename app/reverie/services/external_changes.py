"""Changes from outside: what is watched, which views they touch, who made them, what the user has not seen.

A change is attributed by Reverie's own log of writes, by what a snapshot found, and for the newest changes by
the agent's transcripts. A memory carries the badge "agent edited" when its content is neither what the user
last opened or saved here, nor what the history held when the home was first opened, nor written by the user.

Threading: blocks on disk; any thread but the GUI's. Failure: `UserError`; a badge or an author is never
guessed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agents.scopes import ScopeContext, ScopeRoot
from reverie.clock import Clock
from reverie.errors import StoreError
from reverie.files.directory import Directory
from reverie.files.sidecar import Sidecar
from reverie.files.watch import Changes
from reverie.files.watch_sources import WatchTarget
from reverie.memory.attribution import AGENT, WriteLog
from reverie.memory.history.history import History
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
    log = parts.profile.activity(parts.home_id)
    activity = WatchTarget(log.parent, recursive=False, only=(log.name,))
    return (*targets.values(), *places, *(WatchTarget(each, recursive=True) for each in own), activity)


def relevant(parts: HomeContainer, context: ScopeContext, changes: Changes) -> Relevance:
    """Which views of a context a set of changes touches; a rescan touches all."""
    if changes.rescan:
        return Relevance(True, True, True, True, True, True)
    # By text: paths take themselves apart to be compared, and when much changes at once there are thousands.
    home, runs_directory = parts.home, os.fspath(parts.profile.runs(parts.home_id))
    roots = _texts(root.directory for root in roots_of(home, context))
    companions = _texts(companion.path for companion in home.companions(context))
    own_traces = os.fspath(parts.profile.traces(parts.home_id))
    dumps = None if home.writer is None else home.writer.dump_places()
    dumped = _texts(directory for _workspace, directory in dumps.directories) if dumps is not None else set()
    log = parts.profile.activity(parts.home_id)
    activities = _texts((log, log.parent))
    sidecars = home.sidecars
    coverage = None if sidecars is None else os.fspath(sidecars.coverage)
    usage = None if sidecars is None else os.fspath(sidecars.usage)
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


# What the user has seen of each memory; kept in Reverie's own data directory.


_PERSON = frozenset({"user"})
_Asked = tuple[str, str, str | None]


class SeenLog:
    """The seen marks of one home. `history` is asked for late, so that nothing is opened before it is
    needed."""

    def __init__(
        self, path: Path, history: Callable[[], History], actors: WriteLog, *, lock_dir: Path, clock: Clock
    ) -> None:
        self._sidecar = Sidecar(path, lock_dir=lock_dir, clock=clock)
        self._history = history
        self._actors = actors
        # Each refresh asks for the same versions again; what was not asked for last is forgotten.
        self._hashes: dict[str, str | None] = {}
        self._by_person: dict[_Asked, bool] = {}

    def start(self) -> None:
        """On the first opening of a home everything counts as seen, and again if its history began anew."""
        baseline, head = self._sidecar.read().data.get("baseline"), self._history().head()
        if head is not None and not self._is_known(baseline):
            self._sidecar.update(
                lambda data: {**data, "baseline": head} if data.get("baseline") == baseline else None
            )

    def _is_known(self, baseline: object) -> bool:
        """Whether the history still holds this commit; one that was damaged is set aside and begins anew."""
        if not isinstance(baseline, str):
            return False
        try:
            self._history().changes(baseline, baseline)
        except StoreError:
            return False
        return True

    def mark_all(self) -> None:
        """Everything as it stands in the history now counts as seen."""
        head = self._history().head()
        if head is not None:
            self._sidecar.update(lambda _data: {"baseline": head, "files": {}})

    def mark(self, root: ScopeRoot, rel: str, sha256: str) -> None:
        """One memory was opened or saved with this content."""
        name = _name(root, rel)

        def change(data: dict[str, Any]) -> dict[str, Any] | None:
            files = _files_in(data)
            if files.get(name) == sha256:
                return None
            return {**data, "files": {**files, name: sha256}}

        self._sidecar.update(change)

    def unseen(self, roots: Mapping[str, ScopeRoot]) -> frozenset[tuple[str, str]]:
        """`(root key, rel)` of every memory in these roots that someone else changed since it was last
        seen."""
        data = self._sidecar.read().data
        baseline, head = data.get("baseline"), self._history().head()
        if head is None or baseline == head or not isinstance(baseline, str) or not self._is_known(baseline):
            return frozenset()
        seen = _files_in(data)
        found = set()
        hashes: dict[str, str | None] = {}
        asked: dict[_Asked, bool] = {}
        for change in self._history().changes(baseline, head):
            root = roots.get(change.key)
            if root is None or not change.content_changed or change.after_version is None:
                continue
            blob = change.after_version.blob
            sha256 = self._hashes.get(blob) or sha256_of_bytes(change.after)
            hashes[blob] = sha256
            if seen.get(_name(root, change.rel)) == sha256:
                continue
            question = (root.key, change.rel, sha256)
            asked[question] = self._is_by_person(root, *question[1:])
            if not asked[question]:
                found.add((change.key, change.rel))
        self._hashes, self._by_person = hashes, asked
        return frozenset(found)

    def _is_by_person(self, root: ScopeRoot, rel: str, sha256: str | None) -> bool:
        """Who wrote it was known before it was there, so the answer stays."""
        known = self._by_person.get((root.key, rel, sha256))
        if known is None:
            actor = self._actors.actor_of(root.directory / rel, sha256)
            known = actor is not None and actor.actor in _PERSON
        return known


def _files_in(data: Mapping[str, Any]) -> Mapping[str, Any]:
    files = data.get("files")
    return files if isinstance(files, dict) else {}


def _name(root: ScopeRoot, rel: str) -> str:
    return f"{root.key}/{rel}".encode("utf-8", "backslashreplace").decode()
