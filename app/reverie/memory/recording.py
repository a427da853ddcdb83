"""Recording of memory changes: snapshots in the history, by author, and usage.

The author of a change, Reverie, the agent or another program, is known, never guessed. `Snapshots.observe`
commits each change since the last snapshot under its own author. `record` commits all changes under a given
actor, before and after runs and hand edits.

Threading: blocking, any thread but the GUI's; commits of one home are serialised by the history's own lock.
Failure: `UserError`. A caller that is about to write or to destroy something must not continue then.
"""

from __future__ import annotations

import contextlib
import logging
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from reverie.agents.base import Home
from reverie.agents.scopes import COMPANIONS, ScopeRoot, unescape_key
from reverie.clock import Clock
from reverie.errors import StoreError, Unavailable, UserError, user_error_from_os
from reverie.files.atomic import is_temporary
from reverie.files.directory import (
    Directory,
    SwappedError,
    everything_below,
    is_directory,
    is_file,
    is_link,
    own_is_there,
)
from reverie.files.locks import file_lock, lock_beside
from reverie.memory.agent_writes import AgentWrites
from reverie.memory.companion_places import CompanionPlace, companion_place
from reverie.memory.history.history import History, SnapshotSource
from reverie.memory.history.reader import HistoryPlace
from reverie.memory.history.roots import SeenChange, Share
from reverie.memory.listing import read_rel
from reverie.memory.paths import memory_path
from reverie.memory.scope_files import sha256_of_bytes
from reverie.memory.usage import UsageLog
from reverie.memory.usage_rules import MemoryUsage
from reverie.memory.write_guard import ReadOnlyStore, WriteGuard, write_locks
from reverie.memory.write_log import OUTSIDE, WriteLog, path_text
from reverie.values import fields_of

AGENT = "agent"


class ShareAssigner:
    """The rules that assign the changes of one snapshot to their authors.

    A change is assigned to Reverie by the write log, to the agent by its transcripts, and otherwise to
    "outside". `directories`: key of a root (`ScopeRoot.key`) -> the directory of its files.
    """

    def __init__(self, actors: WriteLog, agent: AgentWrites, directories: Mapping[str, Path]) -> None:
        self._actors = actors
        self._agent = agent
        self._directories = directories
        self._outside: dict[Path, str | None] = {}
        self._by_agent: dict[Path, str | None] = {}

    def share(self, changes: Sequence[SeenChange], since_ms: int | None) -> list[Share]:
        """Divide `changes` by author, in the order of the commits: Reverie's, the agent's, then all others.

        `since_ms`: the time of the last commit (UTC ms); None: there is none. Called by the history, under
        its lock.
        """
        known = self._actors.known()
        contents: dict[Path, str | None] = {}
        places: dict[tuple[str, str], Path] = {}
        for change in changes:
            directory = self._directories.get(change.key)
            # Nearly all files of a first scan are unknown to the log; a path object for each would be slow.
            if directory is None or path_text(os.path.join(directory, change.rel)) not in known:  # noqa: PTH118
                continue
            path = places[change.key, change.rel] = directory / change.rel
            contents[path] = sha256_of_bytes(change.after())
        ours = self._actors.actors_of(contents)
        rest = [change for change in changes if places.get((change.key, change.rel), _NOWHERE) not in ours]
        agents = self._agent.of(rest, since_ms)
        groups: dict[tuple[str, str | None], list[SeenChange]] = {}
        for change in changes:
            place = change.key, change.rel
            found = ours.get(places.get(place, _NOWHERE))
            who = (found.actor, found.run_id) if found is not None else (OUTSIDE, None)
            if found is None and place in agents:
                who = (AGENT, None)
                self._by_agent[self._directories[change.key] / change.rel] = sha256_of_bytes(change.after())
            elif found is None and place in places:
                self._outside[places[place]] = contents[places[place]]
            groups.setdefault(who, []).append(change)
        order = sorted(groups, key=lambda who: (who[0] == OUTSIDE, who[0] == AGENT))
        return [Share(actor, run_id, groups[actor, run_id]) for actor, run_id in order]

    def log(self, at_ms: int) -> None:
        """Add the changes that `share` assigned to the agent or to "outside" to the write log.

        Call this after the commit. Otherwise, if another program later restores a content that Reverie once
        wrote to the same file, that change would be assigned to Reverie. `at_ms`: the present time, UTC ms.
        """
        self._actors.record_all(self._outside, actor=OUTSIDE, run_id=None, at_ms=at_ms)
        self._actors.record_all(self._by_agent, actor=AGENT, run_id=None, at_ms=at_ms)


_NOWHERE = Path()


def never_kept(directory: Path) -> list[str]:
    """Return the names of hidden entries and symlinks below a directory, which the history never stores.

    Temporary files of killed writes are left out.

    Raises `Unavailable` if a folder cannot be read, because its contents are unknown.
    """
    return [
        item.name
        for _rel, item in _all_below(directory)
        if (item.name.startswith(".") or item.is_symlink()) and not is_temporary(item.name)
    ]


def why_not_kept(root: ScopeRoot, rel: str, name: str) -> str:
    """Return a sentence with the reason why the history lacks a file's bytes and could not restore it.

    `rel`: the path of the file below `root`; `name`: the name of the file in the sentence.
    """
    parts = rel.split("/")
    links = [depth for depth in range(1, len(parts) + 1) if is_link(root.directory / "/".join(parts[:depth]))]
    why = "is too large for the history"
    if links and links[0] < len(parts):
        why = f"is behind the symbolic link {'/'.join(parts[: links[0]])}, which the history does not follow"
    elif links:
        why = "is a symbolic link, which the history does not record"
    elif any(part.startswith(".") for part in parts):
        why = "is hidden, and the history does not record hidden files"
    return f"{name} {why}, so it could not be restored."


def _files_below(directory: Path) -> list[str]:
    """Return the paths, relative to the directory, of all entries below it except folders.

    Temporary files of killed writes are left out.
    """
    return [
        rel
        for rel, item in _all_below(directory)
        if not is_temporary(item.name) and not item.is_dir(follow_symlinks=False)
    ]


def _all_below(directory: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    try:
        for rel, _opened, item in everything_below(lambda: Directory.open(directory)):
            yield rel, item
    except (OSError, SwappedError) as error:
        title = f"A folder in {directory} cannot be read."
        if isinstance(error, SwappedError):
            raise Unavailable(
                title, cause="Another program is changing the folder.", next_step="Try again."
            ) from error
        raise user_error_from_os(error, title) from error


def _not_kept(shown: str, cause: str) -> StoreError:
    return StoreError(
        f"{shown} was not deleted:",
        cause=cause,
        next_step="To keep it, move it elsewhere. To delete it for good, use another program.",
        reason="not-kept",
    )


# Maximum size for the quick check; a larger file is left to a snapshot.
_GLANCE = 1024 * 1024
_USAGE_FIELDS = fields_of(MemoryUsage)


class Snapshots:
    """The snapshots of one home: commits of its changes to the history."""

    def __init__(
        self,
        home: Home,
        history: History,
        usage: UsageLog,
        actors: WriteLog,
        clock: Clock,
        *,
        require_same: Callable[[], None] = lambda: None,
    ) -> None:
        """Connect a home with its history, its usage sidecar and `actors`, the log of who wrote what.

        `require_same` raises `Unavailable` if another home is now at the path of this one.
        """
        self._clock = clock
        self._require_same = require_same
        self._home = home
        self.history = history
        self._usage = usage
        self._actors = actors
        self._agent = AgentWrites(home)

    def record(
        self,
        *,
        actor: str,
        source: str,
        subject: str,
        run_id: str | None = None,
        dirty: Collection[Path] | None = None,
    ) -> str | None:
        """Commit all changes as `actor`'s; return the commit's id, None if nothing changed.

        `source`: the occasion of the commit, such as "by hand"; `subject`: the first line of its message.
        `dirty`: the only paths that may have changed; None: unknown, everything is read. `run_id`: the run
        that made the changes; None if it was no run.
        """
        self._require_same()
        return self.history.snapshot(
            self._sources(self._home.roots()),
            actor=actor,
            source=source,
            subject=subject,
            run_id=run_id,
            dirty=dirty,
        )

    def observe(self, *, source: str, dirty: Collection[Path] | None = None) -> None:
        """Commit all changes since the last snapshot, each under its own author.

        `source`: the occasion of the commit, such as "the watcher". `dirty`: the only paths that may have
        changed; None: unknown, everything is read.
        """
        self._require_same()
        subject = "Changes found by a scan" if dirty is None else "Changes seen"
        roots = self._home.roots()
        sharing = self._sharing(roots)
        self.history.snapshot(
            self._sources(roots),
            actor=OUTSIDE,
            source=source,
            subject=subject,
            dirty=dirty,
            share=sharing.share,
        )
        sharing.log(self._clock())

    def _sharing(self, roots: Sequence[ScopeRoot], companion: CompanionPlace | None = None) -> ShareAssigner:
        directories = {root.key: root.directory for root in roots}
        directories[COMPANIONS] = self._home.root
        if companion is not None:
            directories[companion.key] = companion.directory
        return ShareAssigner(self._actors, self._agent, directories)

    def record_companion(
        self, path: str | Path, *, actor: str, source: str, run_id: str | None = None
    ) -> str | None:
        """Commit the current state of one companion; return the commit's id, None if it is unchanged.

        A companion is a file that an agent loads beside its memories. `path`: relative to the home, or
        absolute. `actor`: the author of the change. `source`: the occasion of the commit, such as "by hand".
        `run_id`: the run that made the change; None if it was no run.
        """
        self._require_same()
        place = companion_place(self._home.root, self._home.root / path)
        head = self.history.head()
        known = set(self.history.files(head, place.key)) if head is not None else set()
        paths = {name: place.directory / name for name in sorted(known | {place.rel})}
        # An unreadable companion must not count as deleted.
        names = [name for name, file in paths.items() if own_is_there(file) and is_file(file)]
        # Before a change of ours, log and transcripts decide who made any new content there.
        sharing = self._sharing(self._home.roots(), place) if actor == OUTSIDE else None
        commit = self.history.snapshot(
            [SnapshotSource(place.key, place.directory, names)],
            actor=actor,
            source=source,
            subject=f"Companion {path}",
            run_id=run_id,
            share=sharing.share if sharing is not None else None,
        )
        if sharing is not None:
            sharing.log(self._clock())
        return commit

    def is_agents(self, key: str, rel: str, content: bytes) -> bool:
        """Return whether the agent's transcripts prove that the agent wrote `content` to this file.

        Call it only for content that is in no snapshot yet. `key`: the key of the file's root (directory of
        memories); `rel`: its path below the root.
        """
        newest = self.history.commits(limit=1)
        if not newest:
            return False
        before = self.history.read(newest[0].id, key, rel)
        change = SeenChange(key, rel, lambda: before, lambda: content)
        return before != content and bool(self._agent.of([change], newest[0].at_ms))

    def preserve(self, root: ScopeRoot, rel: str) -> None:
        """Ensure that the history holds the file or folder `rel` of `root`, before it is changed."""
        self._require_same()
        if not self._is_kept(root, rel):
            self.observe(source="before a change", dirty=[root.directory / rel])

    def _is_kept(self, root: ScopeRoot, rel: str) -> bool:
        """Return whether the newest commit certainly has the file's current content.

        False means that this is unknown until the file is scanned.
        """
        try:
            status, data = read_rel(os.fspath(root.directory), rel, _GLANCE)
            place, mode = HistoryPlace(root.key, rel), stat.S_IMODE(status.st_mode)
            return status.st_size == len(data) and self.history.is_newest(place, data, mode)
        except (OSError, UserError):
            return False  # the snapshot reports the problem

    def refuse_unkept(self, root: ScopeRoot, rel: str) -> None:
        """Raise `StoreError` (reason "not-kept") if something at or below `rel` could not be restored.

        An entry could not be restored if the history does not have its bytes. Raises another `UserError` if
        an entry cannot be read now, so that this cannot be checked.
        """
        path, shown = root.directory / rel, str(memory_path(root.scope, rel))
        head = self.history.head()
        versions = {} if head is None else self.history.files(head, root.key)
        found = [rel]
        if is_directory(path) and not is_link(path):
            if unlisted := never_kept(path):
                raise _not_kept(
                    shown,
                    f"{unlisted[0]} in this folder is hidden or a link, so the history does not contain it.",
                )
            found = [f"{rel}/{each}" for each in _files_below(path)]
        for each in found:
            if each not in versions or versions[each].omitted:
                raise _not_kept(shown, why_not_kept(root, each, "it" if each == rel else each))
            try:
                with (root.directory / each).open("rb"):
                    pass
            except OSError as error:
                raise user_error_from_os(error, f"{shown} was not deleted: {each} cannot be read.") from error

    def keep(self, versions: Iterable[tuple[ScopeRoot, str, str]]) -> None:
        """Ensure that the history has the current versions of these files, given as (root, path, SHA-256).

        Companions (files loaded beside the memories) are ignored; callers record them with
        `record_companion`.
        """
        wanted = [each for each in versions if each[0].key != COMPANIONS]
        kept = self.history.newest([HistoryPlace(root.key, rel) for root, rel, _sha256 in wanted])
        unseen = [
            root.directory / rel
            for (root, rel, sha256), data in zip(wanted, kept, strict=True)
            if sha256_of_bytes(data) != sha256
        ]
        if unseen:
            self.observe(source="before a change", dirty=unseen)

    def _sources(self, roots: Sequence[ScopeRoot]) -> Sequence[SnapshotSource]:
        by_prefix: dict[str, dict[str, MemoryUsage]] = {}
        for key, value in self._usage.load().items():
            prefix = key[: key.rfind(":") + 1]
            by_prefix.setdefault(prefix, {})[key] = value
        return [self._source(root, by_prefix.get(root.usage_prefix or "", {})) for root in roots]

    def _source(self, root: ScopeRoot, usage: Mapping[str, MemoryUsage]) -> SnapshotSource:
        metadata: dict[str, dict[str, Any]] = {}
        for key, value in usage.items():
            rel = unescape_key(key[len(root.usage_prefix or "") :])
            if self._home.usage_key(root, rel) == key:
                metadata[rel] = {name: getattr(value, name) for name in _USAGE_FIELDS}
        return SnapshotSource(root.key, root.directory, metadata=metadata, without=root.without)


_log = logging.getLogger("reverie.memory")


class DiskChangeListener:
    """The `ChangeListener` for changes by one actor in a home on disk.

    It takes the locks, logs the author, and updates usage and history. The history is written first, so that
    a change that could not be undone is not made. If the usage cannot be updated, this is a warning after a
    change, and a line in the log after a read.

    `counts`: whether a write, a rename or a pin by this actor counts as a use of the memory, as it does with
    the agent's own commands (formats/mux.md section 8). False for the window and for other programs, because
    uses decide which memories the agent loads next. `after_change` is called with each changed path, so that
    the caller can make a snapshot; `writing` with the root, path and new content of each file, before it is
    replaced; `warn` with a sentence for each failure that occurs after a change was made.
    """

    def __init__(
        self,
        home: Home,
        *,
        actor: str,
        usage: UsageLog,
        actors: WriteLog,
        snapshots: Snapshots,
        lock_dir: Path,
        clock: Clock,
        guard: WriteGuard,
        after_change: Callable[[Path], None] = lambda path: None,
        writing: Callable[[ScopeRoot, str, bytes | None], None] = lambda root, rel, after: None,
        warn: Callable[[str], None] = _log.warning,
        counts: bool = True,
    ) -> None:
        self._home = home
        self._actor = actor
        self._own = actor != "agent"
        self._counts = counts
        self._usage = usage
        self._actors = actors
        self._snapshots = snapshots
        self._lock_dir = lock_dir
        self._clock = clock
        self._guard = guard
        self._after_change = after_change
        self._writing = writing
        self.warn = warn

    @contextlib.contextmanager
    def exclusive(self, root: ScopeRoot, rel: str = "") -> Iterator[None]:
        self._guard.require(root)
        with contextlib.ExitStack() as held:
            held.enter_context(write_locks(self._home, (root,), lock_dir=self._lock_dir))
            held.enter_context(file_lock(self._lock_dir, root.directory))
            path = root.directory / rel
            if rel and self._home.file_rule(root, rel).deletable and is_directory(path.parent):
                held.enter_context(lock_beside(path))
            yield

    def will_change(self, root: ScopeRoot, rel: str) -> None:
        self._snapshots.preserve(root, rel)

    def will_delete(self, root: ScopeRoot, rel: str) -> None:
        self._snapshots.refuse_unkept(root, rel)

    def replacing(self, root: ScopeRoot, rel: str, after: bytes | None) -> None:
        self._actors.record(
            root.directory / rel, sha256_of_bytes(after), actor=self._actor, run_id=None, at_ms=self._clock()
        )
        self._writing(root, rel, after)

    def wrote(self, root: ScopeRoot, rel: str) -> None:
        self._after_change(root.directory / rel)
        with self._counting(rel):
            count = partial(self._usage.record_write, own=self._own, counts=self._counts)
            self._with_key(root, rel, count)

    def deleted(self, root: ScopeRoot, rel: str) -> None:
        self._after_change(root.directory / rel)
        with self._counting(rel):
            self._with_key(root, rel, self._usage.delete)

    def renamed(self, root: ScopeRoot, rel: str, new_rel: str) -> None:
        self._after_change(root.directory / rel)
        self._after_change(root.directory / new_rel)
        old, new = self._home.usage_key(root, rel), self._home.usage_key(root, new_rel)
        if old is not None and new is not None:
            with self._counting(new_rel):
                self._usage.rename(old, new, counts=self._counts, own=self._own)

    def read(self, root: ScopeRoot, rel: str) -> None:
        # A read must not fail for its count, for example on a disk that is mounted read-only; the agent
        # handles its counts the same way.
        try:
            self._with_key(root, rel, self._usage.record_read)
        except ReadOnlyStore:
            return  # reported once by the Doctor, not at each read
        except UserError as error:
            _log.warning("a use of %s is not counted: %s", rel, error)

    def pinned(self, root: ScopeRoot, rel: str, pinned: bool) -> None:
        pin = partial(self._usage.set_pinned, pinned=pinned, own=self._own, counts=self._counts)
        self._with_key(root, rel, pin)

    @contextlib.contextmanager
    def _counting(self, rel: str) -> Iterator[None]:
        """Context manager: turn a failure to count a use into a warning, as the file is already changed."""
        try:
            yield
        except UserError as error:
            why = " ".join(part for part in (error.cause or error.title, error.next_step) if part)
            self.warn(f"{rel} was changed, but its pin and usage count were not updated. {why}")

    def _with_key(self, root: ScopeRoot, rel: str, change: Callable[[str], object]) -> None:
        key = self._home.usage_key(root, rel)
        if key is not None:
            change(key)
