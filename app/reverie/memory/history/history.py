"""The history of one home: every version of every memory, in a bare git repository of Reverie's own.

Memory bytes are stored verbatim, names escaped and reversible (`history.repository`); permission bits, pins
and usage are in a blob beside each root's tree (`history.roots`). A commit is made only if something differs
from the last one; its trailers `Actor:`, `Run:` and `Source:` record author and origin. All writing happens
under one lock between processes and threads (`files.locks`): objects first, durable, then the branch. So a
kill at any point leaves a valid repository with the old or the new version. Tests kill the process at the
checkpoints "history-objects", "history-ref" and "history-pack".

A file that could not be read does not count as deleted: it keeps its last version and is named in the commit.
The tree of a root that is not passed is kept. For a file over 64 MiB only the hash is stored. A damaged
repository is renamed, never repaired with a loss of versions, and a new repository is created; `problems`
reports this. Reading a history creates nothing.

Threading: any thread but the GUI's; a `History` holds nothing open between calls. Failure: `UserError`.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from reverie.clock import Clock
from reverie.files.atomic import checkpoint, shown
from reverie.files.locks import file_lock
from reverie.memory.catalogue_scan import KnownVersion
from reverie.memory.history.reader import HistoryReader, in_words
from reverie.memory.history.repository import (
    FILE_MODE,
    Commit,
    DamagedHistoryError,
    Folder,
    Leaf,
    Merge,
    ObjectSink,
    Repository,
    StoredCommit,
    commit_author,
    commit_message,
    create,
    pack_if_worthwhile,
    set_aside,
)
from reverie.memory.history.roots import (
    FILES,
    METADATA,
    FileVersion,
    HistoryScanner,
    Scan,
    Share,
    Sharer,
    StoredRoot,
    VersionChange,
    key_name,
    seen_changes,
    trees_by_share,
)
from reverie.text.redact import redact
from reverie.values import Struct, field, replace


class SnapshotSource(Struct, frozen=True, dict=True):
    """One directory of memories (a root), or of companions, to store in a snapshot."""

    key: str
    """The key under which the history stores it: `ScopeRoot.key`, or `CompanionPlace.key`."""
    directory: Path
    files: Sequence[str] | None = None
    """The only files to store, as paths below `directory` (with `/`); None: all files except `without`."""
    metadata: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Relative path -> the file's pin and usage, or other JSON; it replaces that of the last snapshot."""
    without: str = ""
    """A regular expression for the paths to leave out, as in `agents.scopes.ScopeRoot`; empty: none."""


class Snapshot:
    """A commit under construction, while the commit lock is held.

    Call `take` for each root (directory of memories); it puts the present state of the root into `tree`.
    `notes` then has a line for each file whose present bytes were not stored. New objects are collected in
    memory, in `sink`; the repository has the commit only after the sink was flushed and the branch was moved.
    """

    def __init__(
        self, repository: Repository, sink: ObjectSink, known: KnownBelow, last: StoredCommit | None
    ) -> None:
        # The same tree twice: one is edited, the other keeps the former state.
        tree = last.tree if last else None
        load = self._load = functools.cache(lambda raw: tuple(repository.tree(raw)))
        self.tree = Folder(load, tree)
        self.notes: list[str] = []
        self._last = Folder(load, tree)
        self._repository = repository
        self._sink = sink
        self._known = known

    def take(self, source: SnapshotSource, dirty: Collection[Path] | None) -> None:
        """Update the stored state of one root (directory of memories) from the files on disk.

        `source`: the root. `dirty`: the only paths that may have changed; None: unknown. All files are
        examined if it is None, or if the last commit does not have the root. Raises DamagedHistoryError.
        """
        name = key_name(source.key)
        last = StoredRoot.load(self._repository, self._last, source.key)
        if source.files is not None:
            scanner = self._scanner(source)
            scanner.take_listed(source.files)
            root = StoredRoot(Folder(self._load), {}, {})
        else:
            rels = None if dirty is None or last is None else _dirty_rels(source, dirty)
            if last is not None and rels == set() and last.data == source.metadata:
                return
            scanner = self._scanner(source)
            looked_at = {scanner.scan(rel) for rel in rels} if rels is not None else {""}
            if "" in looked_at:
                scanner = self._scanner(source)
                scanner.scan()
                root = StoredRoot(Folder(self._load), {}, {})
            else:
                root = self._stored_but(source.key, looked_at)
        for rel, file in scanner.found.files.items():
            root.put(rel, file)
        if last is not None:
            for rel in scanner.found.unreadable:
                root.take_over(rel, last)
        root.data = {rel: dict(entry) for rel, entry in source.metadata.items()}
        self._place(name, root, last)
        self._note(source.key, scanner.found, last)

    def _scanner(self, source: SnapshotSource) -> HistoryScanner:
        return HistoryScanner(
            source.directory,
            known=functools.partial(self._known, source.key),
            put=self._sink.blob,
            has=self._sink.has,
            without=source.without,
        )

    def _stored_but(self, key: str, rels: Collection[str]) -> StoredRoot:
        """Return the last version of the root `key` (directory of memories) without the paths `rels`."""
        root = StoredRoot.load(self._repository, self.tree, key)
        if root is None:
            raise RuntimeError("a root without a last version needs a full look")
        for rel in rels:
            root.remove(rel)
        return root

    def _place(self, name: bytes, root: StoredRoot, last: StoredRoot | None) -> None:
        self.tree.put((name, FILES), root.files)
        if last is None or root.facts != last.facts or root.data != last.data:
            self.tree.put((name, METADATA), Leaf(FILE_MODE, self._sink.blob(root.metadata_blob())))

    def _note(self, key: str, found: Scan, last: StoredRoot | None) -> None:
        for rel, reason in sorted(found.unreadable.items()):
            kept = "its last version stays" if last and last.has(rel) else "it is not kept"
            self.notes.append(f"Could not read {shown(f'{key}/{rel}')}, {kept}: {reason}.")
        for rel, file in sorted(found.files.items()):
            if file.omitted:
                self.notes.append(f"Only the hash is recorded of files over 64 MiB: {shown(f'{key}/{rel}')}.")


def _dirty_rels(source: SnapshotSource, dirty: Collection[Path]) -> set[str]:
    """Return the changed paths `dirty` relative to the root of `source`, without paths below another one.

    Paths outside of the root, hidden ones and those that `source` excludes are left out. Returns {""} if the
    root itself, or a directory above it, is among the paths.
    """
    # As text: comparing thousands of `Path` objects blocks the interpreter, and so the window.
    directory, rels = os.fspath(source.directory), set[tuple[str, ...]]()
    inside = directory.rstrip(os.sep) + os.sep
    for path in map(os.fspath, dirty):
        if path.startswith(inside):
            rels.add(tuple(path[len(inside) :].split(os.sep)))  # noqa: PTH206
        elif path == directory or inside.startswith(path.rstrip(os.sep) + os.sep):
            return {""}
    left_out = re.compile(source.without).fullmatch if source.without else None
    return {
        "/".join(parts)
        for parts in rels
        if not any(part.startswith(".") for part in parts)
        and not (left_out and any(left_out("/".join(parts[:end])) for end in range(1, len(parts) + 1)))
        and not any(parts[:length] in rels for length in range(1, len(parts)))
    }


__all__ = ["Commit", "FileVersion", "History", "Merge", "SnapshotSource", "VersionChange"]

KnownBelow = Callable[[str, str], Mapping[str, KnownVersion]]
"""A function that gets the key of a root and a path, and returns the known versions of the files below.

See `FileCatalogue.versions`.
"""
# Files that distinguish a repository that lost its branch from a new one. The second is the file cache of
# older versions.
_BEGUN = "begun"
_ONCE_BEGUN = "stat-cache.sqlite"
# Long enough for the first snapshot of a very large home.
_LOCK_TIMEOUT_S = 120.0
_MOST_NOTES = 200


class History(HistoryReader):
    """The history of one home: a git repository with the versions of its memories.

    `repository`: its path, `<home id>.git`; created by the first snapshot, mode 0700.
    """

    def __init__(
        self,
        repository: Path,
        *,
        lock_dir: Path,
        clock: Clock,
        pack_after: int = 2000,
        notify: Callable[[str], None] = lambda _sentence: None,
        known: KnownBelow = lambda _key, _rel: {},
    ) -> None:
        """Store the settings; nothing is read.

        `lock_dir`: the directory of the locks between Reverie processes. `pack_after`: the number of loose
        objects above which the repository is packed. `notify` gets a sentence for people when a snapshot
        finds the repository damaged, renames it and starts a new one. `known` returns the versions of files
        that the catalogue knows, so that unchanged files are not read.
        """
        super().__init__(repository)
        self._notify = notify
        self._known = known
        self._lock_dir = lock_dir
        self._clock = clock
        self._pack_after = pack_after
        self._verified: tuple[int, int] | None = None
        self._packs = True
        self._set_aside: list[str] = []
        self._last_problems: list[str] = []

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences for a person about this history.

        They name damaged histories that were renamed since this object was created, files that the last
        snapshot could not read or that were too large to store, and a failure to pack the repository.
        """
        return (*self._set_aside, *self._last_problems)

    def snapshot(
        self,
        sources: Sequence[SnapshotSource],
        *,
        actor: str,
        source: str,
        subject: str,
        run_id: str | None = None,
        dirty: Collection[Path] | None = None,
        share: Sharer | None = None,
    ) -> str | None:
        """Commit the current state of the roots, and return the new commit's id; None if nothing changed.

        `sources`: the roots (directories of memories). `actor`: the author of the commit. `source`: the
        occasion of the commit, such as "by hand" or "the watcher"; `subject`: the first line of its message.
        `run_id`: the run that made the changes; None if it was no run. `share`: a function that divides the
        changed files by author; then each author gets a commit, and the id of the last one is returned. None:
        all changes are by `actor`. With `share`, `actor` and `run_id` are used only if no content changed
        (but a mode, pin or use).

        `dirty`: the only paths that may have changed since the last snapshot (files or directories, existing
        or not); None: unknown, everything is examined. A source whose directory is missing is stored as
        empty, so callers leave out unavailable sources. Raises Busy, Unavailable.
        """
        with file_lock(self._lock_dir, self._path, timeout_s=_LOCK_TIMEOUT_S), in_words():
            self._last_problems = []
            signature = _Signature(actor, source, subject, run_id)
            try:
                return self._snapshot(sources, signature, dirty, share)
            except DamagedHistoryError as damage:
                self._start_over(damage)
                return self._snapshot(sources, signature, None, share)

    def _snapshot(
        self,
        sources: Sequence[SnapshotSource],
        signature: _Signature,
        dirty: Collection[Path] | None,
        share: Sharer | None,
    ) -> str | None:
        if not self._path.exists():
            create(self._path)
        repository = Repository(self._path)
        self._verify_once(repository)
        tip = repository.tip()
        last = repository.commit(tip) if tip else None
        sink = ObjectSink(self._path, repository.odb)
        if tip is None and any((self._path / name).exists() for name in (_BEGUN, _ONCE_BEGUN)):
            raise DamagedHistoryError("its branch is gone")
        snapshot = Snapshot(repository, sink, self._known, last)
        for source in sources:
            snapshot.take(source, dirty)
        tree = snapshot.tree.write(sink)
        self._last_problems = snapshot.notes[:_MOST_NOTES]
        commit = None
        if tree is not None and (last is None or tree != last.tree):
            changes = seen_changes(repository, sink, last, snapshot.tree) if share is not None else ()
            at_ms = last.commit.at_ms if last else None
            shares = share(changes, at_ms) if share is not None and changes else ()
            if len(shares) > 1:
                commit = self._commit_shares(repository, sink, last, snapshot, signature, shares)
            else:
                alone = signature.of(shares[0]) if shares else signature
                commit = self._commit(repository, sink, tree, tip, alone, snapshot.notes)
        if commit is not None:
            self._mark_begun()
            self._pack(repository)
        return commit.hex() if commit else None

    def _mark_begun(self) -> None:
        if not (self._path / _BEGUN).exists():
            with contextlib.suppress(OSError):  # tried again with the next commit
                (self._path / _BEGUN).touch(0o600)
                for left in self._path.glob(f"{_ONCE_BEGUN}*"):
                    left.unlink()

    def _commit_shares(
        self,
        repository: Repository,
        sink: ObjectSink,
        last: StoredCommit | None,
        snapshot: Snapshot,
        signature: _Signature,
        shares: Sequence[Share],
    ) -> bytes | None:
        tip, tree = (bytes.fromhex(last.commit.id), last.tree) if last else (None, None)
        commit = None
        for share, new in trees_by_share(repository, sink, last, snapshot.tree, shares):
            if new is not None and new != tree:
                notes = snapshot.notes if share is shares[-1] else ()
                commit = tip = self._commit(repository, sink, new, tip, signature.of(share), notes)
                tree = new
        return commit

    def _commit(
        self,
        repository: Repository,
        sink: ObjectSink,
        tree: bytes,
        tip: bytes | None,
        signature: _Signature,
        notes: Sequence[str],
    ) -> bytes:
        shortened = list(notes[:_MOST_NOTES])
        if len(notes) > _MOST_NOTES:
            shortened.append(f"... and {len(notes) - _MOST_NOTES} more")
        message = commit_message(
            actor=signature.actor,
            source=signature.source,
            run_id=signature.run_id,
            subject=redact(signature.subject),
            notes=map(redact, shortened),
        )
        # git cannot keep a time before 1970
        at_s = max(0, self._clock() // 1000)
        commit = sink.commit(message, author=commit_author(signature.actor), at_s=at_s, tree=tree, parent=tip)
        sink.flush()
        checkpoint("history-objects")
        repository.move_tip(commit, tip)
        checkpoint("history-ref")
        return commit

    def _verify_once(self, repository: Repository) -> None:
        """Check the repository for damage, before this object adds its first commit to it.

        Raises DamagedHistoryError.
        """
        status = self._path.stat()
        identity = (status.st_dev, status.st_ino)
        if self._verified != identity:
            repository.verify_newest()
            self._verified = identity

    def _start_over(self, damage: DamagedHistoryError) -> None:
        aside = set_aside(self._path, self._clock())
        sentence = (
            f"The history of this home was damaged ({damage}). It was renamed to {shown(aside.name)}, "
            "and a new history was started. Earlier versions are only in the old history."
        )
        self._set_aside.append(sentence)
        self._notify(sentence)

    def _pack(self, repository: Repository) -> None:
        if not self._packs:
            return
        try:
            pack_if_worthwhile(repository, self._pack_after)
        except DamagedHistoryError as damage:
            self._packs = False  # it would fail again after each commit, at the cost of reading everything
            self._last_problems.append(f"The history could not be packed: {damage}. Nothing was removed.")


class _Signature(Struct, frozen=True):
    """The data of a commit that are stored in its message."""

    actor: str
    """The author of the changes."""
    source: str
    """The occasion of the commit, such as "by hand" or "the watcher"."""
    subject: str
    """The first line of the message."""
    run_id: str | None
    """The run that made the changes; None if it was no run."""

    def of(self, share: Share) -> _Signature:
        return replace(self, actor=share.actor, run_id=share.run_id)
