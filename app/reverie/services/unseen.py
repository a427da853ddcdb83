"""Memories that someone else created, changed or deleted since a person last saw them.

A memory is unseen unless its content was written by the person, is the content that the person last saw or
saved in Reverie, or was in the history when the home was first opened. The same applies to a deleted memory.
Opening a file does not mark it as seen: the view reports when the changed lines were on the screen.

Threading: blocks on disk; any thread but the GUI's. Failure: `UserError`; a mark is never guessed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from reverie.agents.scopes import ScopeContext, ScopeRoot
from reverie.claims.repository import watched_places
from reverie.clock import Clock
from reverie.errors import CHANGED_SINCE, Conflict, StoreError
from reverie.files.directory import Directory
from reverie.files.sidecar import Sidecar
from reverie.files.watch import Changes
from reverie.files.watch_sources import WatchTarget
from reverie.memory.companion_places import companion_place
from reverie.memory.diff import changed_spans
from reverie.memory.history.history import History
from reverie.memory.history.reader import HistoryPlace, LogEntry
from reverie.memory.history.repository import Commit, merge_versions
from reverie.memory.history.roots import LARGEST_BYTES, VersionChange
from reverie.memory.recording import AGENT
from reverie.memory.scope_files import sha256_of_bytes
from reverie.memory.union import text_lines, text_of
from reverie.memory.write_log import WriteLog
from reverie.services.changes import ChangeSet
from reverie.services.container import HomeContainer, rooted_files, roots_of
from reverie.services.edits import companion_targets
from reverie.services.views import BY_A_PERSON, SEVERAL, HandChange, Relevance, Undo, UnseenChange, UnseenKind
from reverie.values import replace

_PERSON = "user"
GONE = ""
"""The value used in place of a hash for a memory that was deleted."""
_PAGE = 50
_MOST_PAGES = 4
_Asked = tuple[str, str, str | None]


class SeenLog:
    """The log that stores which content of each memory of one home a person last saw.

    `history` returns the history; it is called late, so that the history is not opened before it is needed.
    """

    def __init__(
        self, path: Path, history: Callable[[], History], actors: WriteLog, *, lock_dir: Path, clock: Clock
    ) -> None:
        self._sidecar = Sidecar(path, lock_dir=lock_dir, clock=clock)
        self._history = history
        self._actors = actors
        # Each refresh needs the same versions again; entries that the last refresh did not need are dropped.
        self._hashes: dict[str, str | None] = {}
        self._by_person: dict[_Asked, bool] = {}
        self._between: tuple[tuple[str, str], tuple[VersionChange, ...]] | None = None
        """The last two commits that were compared, and the changes between them, which never change."""

    def start(self) -> None:
        """Mark everything as seen if the home was never opened before, or if its history was recreated.

        Otherwise does nothing.
        """
        baseline, head = self._sidecar.read().data.get("baseline"), self._history().head()
        if head is not None and not self._is_known(baseline):
            self._sidecar.update(
                lambda data: {**data, "baseline": head} if data.get("baseline") == baseline else None
            )

    def _is_known(self, baseline: object) -> bool:
        """Return True if the history still has the commit `baseline`, at which the home was first opened.

        It does not have the commit if a damaged history was replaced by a new one.
        """
        if not isinstance(baseline, str):
            return False
        try:
            self._history().changes(baseline, baseline)
        except StoreError:
            return False
        return True

    def mark_all(self) -> None:
        """Mark all memories as seen, with the content that they have in the history now."""
        head = self._history().head()
        if head is not None:
            self._sidecar.update(lambda _data: {"baseline": head, "files": {}})

    def mark(self, root: ScopeRoot, rel: str, sha256: str) -> None:
        """Mark a memory as seen with the content that has this hash.

        `GONE` in place of the hash marks its deletion as seen.
        """
        name = _name(root, rel)

        def change(data: dict[str, Any]) -> dict[str, Any] | None:
            files = _files_in(data)
            if files.get(name) == sha256:
                return None
            return {**data, "files": {**files, name: sha256}}

        self._sidecar.update(change)

    def unseen(self, roots: Mapping[str, ScopeRoot]) -> dict[tuple[str, str], UnseenKind]:
        """Return the memories that others changed since a person last saw them, with the kind of change.

        `roots`: the roots to search, by key. The result has the key of the root and the path below it for
        each memory.
        """
        data = self._sidecar.read().data
        baseline, head = data.get("baseline"), self._history().head()
        if head is None or baseline == head or not isinstance(baseline, str) or not self._is_known(baseline):
            return {}
        seen = _files_in(data)
        found: dict[tuple[str, str], UnseenKind] = {}
        hashes: dict[str, str | None] = {}
        asked: dict[_Asked, bool] = {}
        for change in self._changed(baseline, head):
            root = roots.get(change.key)
            if root is None:
                continue
            sha256: str | None = None
            if change.after_version is not None:
                blob = change.after_version.blob
                sha256 = hashes[blob] = self._hashes.get(blob) or sha256_of_bytes(change.after)
            last = seen.get(_name(root, change.rel))
            if last == (GONE if sha256 is None else sha256):
                continue
            question = (root.key, change.rel, sha256)
            asked[question] = self._is_by_person(root, *question[1:])
            if not asked[question]:
                was_there = change.before_version is not None if last is None else last != GONE
                kind: UnseenKind = "changed" if was_there else "new"
                if sha256 is None and not was_there:
                    continue  # it was created and deleted before a person saw it
                found[change.key, change.rel] = "deleted" if sha256 is None else kind
        self._hashes, self._by_person = hashes, asked
        return found

    def _changed(self, baseline: str, head: str) -> tuple[VersionChange, ...]:
        """Return the files whose content changed between the commits `baseline` and `head`."""
        between = self._between
        if between is None or between[0] != (baseline, head):
            changes = self._history().changes(baseline, head)
            content = tuple(change for change in changes if change.content_changed)
            between = self._between = (baseline, head), content
        return between[1]

    def kind_of(self, root: ScopeRoot, rel: str) -> UnseenKind | None:
        """Return the kind of change that others made to a memory since it was seen; None if there is none."""
        hashes, by_person = self._hashes, self._by_person
        found = self.unseen({root.key: root})
        # Keep the entries of the other roots, which will be needed again soon.
        self._hashes, self._by_person = {**hashes, **self._hashes}, {**by_person, **self._by_person}
        return found.get((root.key, rel))

    def before(self, root: ScopeRoot, rel: str, commits: list[Commit]) -> tuple[bytes | None, bool]:
        """Return the content of a memory that a person last saw or wrote, and True if there was no memory.

        The result is (None, True) if there was no memory then, and (None, False) if the history does not have
        the content any more. If a person has undone changes of others since, the content is without these
        changes. The commits that others made after that content are appended to `commits`, newest first.
        """
        data = self._sidecar.read().data
        baseline, last = data.get("baseline"), _files_in(data).get(_name(root, rel))
        if not isinstance(baseline, str):
            return None, False
        history = self._history()
        later: list[tuple[str, bytes | None]] = []
        for entry in self._versions(root, rel, until=baseline if last is None else ""):
            content = history.blob(entry.blob) if entry.blob else None
            if entry.commit.actor == _PERSON or (sha256_of_bytes(content) or GONE) == last:
                was_gone = not entry.blob
                break
            later.append((entry.commit.actor, content))
            if entry.commit.actor not in BY_A_PERSON:
                commits.append(entry.commit)
        else:
            content = history.read(baseline, root.key, rel) if last is None else None
            was_gone = last == GONE or (last is None and rel not in history.files(baseline, root.key))
        previous = content
        for actor, version in reversed(later):
            if actor in BY_A_PERSON:
                content = _followed(previous, version, content)
            previous = version
        return content, was_gone and content is None

    def version(self, root: ScopeRoot, rel: str, sha256: str) -> bytes | None:
        """Return the earlier content of a memory that has this hash; None if the history does not have it."""
        for entry in self._versions(root, rel):
            content = self._history().blob(entry.blob) if entry.blob else None
            if content is not None and sha256_of_bytes(content) == sha256:
                return content
        return None

    def _versions(self, root: ScopeRoot, rel: str, until: str = "") -> Iterator[LogEntry]:
        """Yield the history entries of a memory, newest first, down to the commit `until` (empty: all).

        At most about 200.
        """
        cursor = None
        for _page in range(_MOST_PAGES):
            log = self._history().log(HistoryPlace(root.key, rel), cursor, limit=_PAGE, until=until)
            yield from log.entries
            cursor = log.next
            if cursor is None:
                break

    def _is_by_person(self, root: ScopeRoot, rel: str, sha256: str | None) -> bool:
        """Return True if a person wrote the content with the hash `sha256` (None: deleted the file).

        The result is cached: the author is recorded before the content is written, so it does not change
        later.
        """
        known = self._by_person.get((root.key, rel, sha256))
        if known is None:
            actor = self._actors.actor_of(root.directory / rel, sha256)
            known = actor is not None and actor.actor in BY_A_PERSON
            if known and actor is not None and actor.actor != _PERSON:
                # An undo keeps other changes, so its result may contain changes that no person has seen.
                known = sha256_of_bytes(self.before(root, rel, [])[0]) == sha256
        return known


def _followed(base: bytes | None, undone: bytes | None, seen: bytes | None) -> bytes | None:
    """Apply the change from `base` to `undone`, which an undo made, to the content `seen`; return the result.

    If `seen` differs from `base` on the same lines, or one of the contents is None (no file), return
    `undone`.
    """
    if base is None or undone is None or seen is None:
        return undone
    merge = merge_versions(base, seen, undone)
    return undone if merge.conflict else merge.content


def _files_in(data: Mapping[str, Any]) -> Mapping[str, Any]:
    files = data.get("files")
    return files if isinstance(files, dict) else {}


def _name(root: ScopeRoot, rel: str) -> str:
    return f"{root.key}/{rel}".encode("utf-8", "backslashreplace").decode()


class UnseenService:
    """The service that shows and undoes the unseen changes of single memories in one home."""

    def __init__(self, parts: HomeContainer, log: SeenLog) -> None:
        self._parts = parts
        self._log = log

    def change(self, context: ScopeContext, path: str) -> UnseenChange | None:
        """Return the changes by others to this memory since it was seen; None if there are none."""
        root, rel = self._place(context, path)
        self._parts.snapshots.preserve(root, rel)  # so that the author of the present content is recorded
        kind = self._log.kind_of(root, rel)
        if kind is None:
            return None
        commits: list[Commit] = []
        (before, was_gone), now = self._log.before(root, rel, commits), self._now(root, rel)
        actors = {commit.actor for commit in commits} or {""}
        actor, at_ms = actors.pop() if len(actors) == 1 else SEVERAL, commits[0].at_ms if commits else 0
        if kind == "changed" and was_gone:
            kind = "new"  # a person had deleted it
        old = text_of(before) if before is not None else None
        return _compared(UnseenChange(path, kind, old, actor, at_ms), now)

    def renewed(self, context: ScopeContext, change: UnseenChange) -> UnseenChange | None:
        """Return the part of an unseen change that the memory still contains after a person's edits.

        `before` of the result contains the person's edits, so that Undo keeps them. Returns None if the
        memory contains nothing of the change any more or does not exist, or if there was no text before the
        change. If the person edited lines that the change touched, `change` is returned unchanged.
        """
        root, rel = self._place(context, change.path)
        now = self._now(root, rel)
        if now is None or change.before is None:
            return None
        if sha256_of_bytes(now) == change.sha256:
            return change
        wanted = self._without(root, rel, change, now)
        if wanted is None or (text := text_of(wanted)) is None:
            return change
        return None if wanted == now else _compared(replace(change, before=text), now)

    def _without(self, root: ScopeRoot, rel: str, change: UnseenChange, now: bytes | None) -> bytes | None:
        """Return the content that a memory would have without an unseen change, keeping later changes.

        `now`: its present content; None if there is no file. Returns None if the content without the change
        is not known, or if a later change touched the same lines.
        """
        shown = self._log.version(root, rel, change.sha256)
        if now is None or shown is None or change.before is None:
            return None
        merge = merge_versions(shown, now, change.before.encode())
        return None if merge.conflict else merge.content

    def mark(self, context: ScopeContext, path: str, sha256: str) -> None:
        """Mark a memory as seen with the content that has this hash; empty: its deletion was seen."""
        root, rel = self._place(context, path)
        self._log.mark(root, rel, sha256)

    def take_back(self, context: ScopeContext, change: UnseenChange) -> Undo:
        """Restore the content from before `change`, keeping later changes; return the `Undo`.

        Raises `Conflict` if a later change touched the same lines, `StoreError` if the history no longer has
        the content or nothing is left to undo.
        """
        root, rel = self._place(context, change.path)
        now = self._now(root, rel)
        found = GONE if now is None else sha256_of_bytes(now)
        wanted = None if change.before is None else change.before.encode()
        if change.before is None and change.kind != "new":
            raise StoreError(
                "Can't undo: the history lacks the text from before this change.",
                next_step="Look in Changes for an older version.",
            )
        if found != change.sha256:
            wanted = self._without(root, rel, change, now)
            if wanted is None:
                why = "the file was deleted" if now is None else "it changed since"
                raise Conflict(f"Can't undo: {why}.", next_step="Open Changes.", reason=CHANGED_SINCE)
        if wanted == now:
            raise StoreError("There is nothing left to undo: the earlier text has already been restored.")
        subject = f"Taken back by hand: {change.path}"
        step = HandChange(change.path, wanted, found or None)
        return ChangeSet(self._parts).apply(context, [step], kind="restore", subject=subject)

    def _place(self, context: ScopeContext, path: str) -> tuple[ScopeRoot, str]:
        parsed, root, _files = self._parts.store(context, actor="user").resolve(path)
        return root, parsed.rel

    def _now(self, root: ScopeRoot, rel: str) -> bytes | None:
        files = rooted_files(root)
        entry = files.entry(rel)
        return files.read(rel) if entry is not None and entry.kind == "file" else None


def _compared(change: UnseenChange, now: bytes | None) -> UnseenChange:
    """Return `change` with its `lines` and `removed` computed for the current content `now`.

    `now` is None if the memory does not exist.
    """
    new = text_of(now) if now is not None else None
    lines: tuple[int, ...] = ()
    removed = 0
    if new is not None and change.kind != "deleted":
        spans = changed_spans(text_lines(change.before or ""), text_lines(new))
        lines = tuple(line for span in spans for line in range(span.new_start, span.new_end))
        removed = sum(span.old_end - span.old_start for span in spans)
    return replace(change, lines=lines, removed=removed, sha256=sha256_of_bytes(now) or GONE)


def watch_targets(parts: HomeContainer, context: ScopeContext | None) -> tuple[WatchTarget, ...]:
    """Return everything that a watcher of a home watches.

    These are every memory root, their parents, sidecars, the records and traces of runs, and the log of
    decisions. With a `context` (None: no context is shown) they include its roots, even those that do not
    exist yet, its companions, and the repository state of its project.
    """
    home = parts.home
    targets = {root.directory: WatchTarget(root.directory, recursive=True) for root in home.roots()}
    for root in roots_of(home, context) if context is not None else ():
        targets.setdefault(root.directory, WatchTarget(root.directory, recursive=True))
    places = [
        WatchTarget(place.directory, recursive=False, only=place.names)
        for place in home.watched()
        # A root is watched without its hidden names, so a place that lists hidden names is watched as well.
        if place.directory not in targets or any(name.startswith(".") for name in place.names)
    ]
    if context is not None:
        seen = {target.path for target in (*targets.values(), *places)}
        places += companion_targets(home.companions(context), seen)
        places += [WatchTarget(place, recursive=False, only=names) for place, names in _repository(context)]
    own = (parts.profile.runs(parts.home_id), parts.profile.traces(parts.home_id))
    log = parts.profile.activity(parts.home_id)
    activity = WatchTarget(log.parent, recursive=False, only=(log.name,))
    if home.sidecars is None:  # an agent's own sidecars are among `places`
        kept = parts.usage_file, parts.coverage_file
        places.append(WatchTarget(kept[0].parent, recursive=False, only=tuple(each.name for each in kept)))
    return (*targets.values(), *places, *(WatchTarget(each, recursive=True) for each in own), activity)


def relevant(parts: HomeContainer, context: ScopeContext, changes: Changes) -> Relevance:
    """Return which views of a context must be read again because of the changes on disk.

    If `changes.rescan` is True, anything may have changed, and all views are affected.
    """
    if changes.rescan:
        return Relevance(True, True, True, True, True, True, True)
    # As text: comparing `Path` objects is slow, and there may be thousands of changes.
    home, runs_directory = parts.home, os.fspath(parts.profile.runs(parts.home_id))
    roots = _texts(root.directory for root in roots_of(home, context))
    companions = _texts(companion.path for companion in home.companions(context))
    own_traces = os.fspath(parts.profile.traces(parts.home_id))
    dumps = None if home.writer is None else home.writer.dump_places()
    dumped = _texts(directory for _workspace, directory in dumps.directories) if dumps is not None else set()
    log = parts.profile.activity(parts.home_id)
    activities = _texts((log, log.parent))
    repository = _texts(place / name for place, names in _repository(context) for name in names)
    coverage, usage = os.fspath(parts.coverage_file), os.fspath(parts.usage_file)
    tree = status = runs = contents = traces = activity = project = False
    for path in map(os.fspath, changes.paths):
        parent, _, name = path.rpartition(os.sep)
        if path == coverage or (name.startswith(".") and parent in roots):
            # The only hidden name in a root that is reported is the agent's lock, which the footer shows.
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
            # It may be the agent's record of its own jobs, which the footer shows.
            contents = status = True
            tree = tree or any(_is_in(root, path) for root in roots)
    return Relevance(tree, status, runs, contents, traces, activity, project)


def _repository(context: ScopeContext) -> tuple[tuple[Path, tuple[str, ...]], ...]:
    return () if context.project_path is None else watched_places(Path(context.project_path))


def _texts(paths: Iterable[Path]) -> set[str]:
    return {os.fspath(path) for path in paths}


def _is_in(path: str, directory: str) -> bool:
    return path.startswith(directory) and (len(path) == len(directory) or path[len(directory)] == os.sep)


def author_of(
    parts: HomeContainer, context: ScopeContext, path: str, sha256: str, companion: Path | None = None
) -> str:
    """Return the actor (such as `user` or `agent`) who wrote this content of a file; empty if unknown.

    `path`: the memory. `sha256`: the hash of the content. `companion`: a file beside the memories, used
    instead of `path`; None: the memory at `path`. The author is taken from Reverie's own log of writes, from
    a snapshot, or, for the newest changes, from the agent's transcripts; it is never guessed.
    """
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
    """Read a file; return None if it cannot be read or is larger than the history allows."""
    try:
        with Directory.open(file.parent) as directory:
            content = directory.read(file.name, limit=LARGEST_BYTES + 1)
    except OSError:
        return None
    return content if len(content) <= LARGEST_BYTES else None
