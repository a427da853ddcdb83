"""The history of one home: every version of every memory, kept in a bare git repository of ours.

Invariants and who enforces them. Memory bytes are stored verbatim, names escaped and reversible
(`history_names`); permission bits, pins and usage lie in a blob beside each root's tree (`history_roots`). A
commit is made only where something differs from the last one, and its trailers `Actor:`, `Run:` and `Source:`
say who changed what from where. All writing happens under one lock between processes and threads
(`files.lock`): objects first, durable (`history_objects`), then the branch, then the stat cache. So a kill at
any point (checkpoints "history-objects", "history-ref", "history-cache", "history-pack") leaves a valid
repository with the old or the new version. Unchanged files are not read again (`history_stat`).

Nothing is taken for deleted that could merely not be read: such files keep their last version and are named
in the commit. A root that is not passed keeps its tree. A file over 64 MiB is kept by hash only.

A damaged repository is renamed aside, never repaired into something smaller, and a new one begins; `problems`
says so. Looking at a history creates nothing. Errors are `MendableError`.

Threading: any thread but the GUI's; a `History` holds nothing open between calls.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reverie.clock import Clock
from reverie.errors import StoreError, Unavailable, mendable_from_os
from reverie.files.atomic import shown
from reverie.files.checkpoint import checkpoint
from reverie.files.lock import file_lock
from reverie.files.sqlite import why
from reverie.memory import history_merge
from reverie.memory.history_commits import Commit, StoredCommit, encode_commit
from reverie.memory.history_deletions import DeletionPage, read_deletions
from reverie.memory.history_log import Cursor, LogPage, Place, leaves_at, read_page
from reverie.memory.history_merge import Merge
from reverie.memory.history_names import escape_rel
from reverie.memory.history_objects import ObjectSink
from reverie.memory.history_pack import pack_if_worthwhile
from reverie.memory.history_repository import (
    DamagedError,
    MissingVersionError,
    Repository,
    create,
    set_aside,
    writing,
)
from reverie.memory.history_roots import (
    FILES,
    FileChange,
    FileVersion,
    StoredRoot,
    key_name,
    key_of,
    rel_of,
)
from reverie.memory.history_shares import Share, Sharer, seen_changes, steps
from reverie.memory.history_snapshot import Snapshot, SnapshotSource
from reverie.memory.history_stat import StatCache
from reverie.memory.history_tree import Folder, Leaf
from reverie.memory.paths import utf16_key
from reverie.text.redact import redact

__all__ = ["Commit", "FileChange", "FileVersion", "History", "Merge", "SnapshotSource"]

STAT_CACHE = "stat-cache.sqlite"
# A first snapshot of a very large home is written while the others wait.
_LOCK_TIMEOUT_S = 120.0
_MOST_NOTES = 200


class History:
    """The history kept in `repository` (`<home id>.git`; created by the first snapshot, mode 0700)."""

    def __init__(self, repository: Path, *, lock_dir: Path, clock: Clock, pack_after: int = 2000) -> None:
        self._path = repository
        self._lock_dir = lock_dir
        self._clock = clock
        self._pack_after = pack_after
        self._verified: tuple[int, int] | None = None
        self._packs = True
        self._set_aside: list[str] = []
        self._last_problems: list[str] = []

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences for a person: histories set aside since this object was made, and what the last snapshot
        could not read or pack."""
        return (*self._set_aside, *self._last_problems)

    # ---- writing

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
        """Keep the roots as they are now. Returns the new commit's id, None where nothing has changed.

        `share` says who made which of the changes, which then are a commit each; `actor` counts where it says
        nothing.

        `dirty`: the only paths that may have changed since the last snapshot (files or directories, gone or
        there); None: unknown, everything is looked at. A source whose directory is missing is kept as empty:
        callers leave out what is unavailable. Raises Busy, Unavailable.
        """
        with file_lock(self._lock_dir, self._path, timeout_s=_LOCK_TIMEOUT_S), _in_words():
            self._last_problems = []
            signature = _Signature(actor, source, subject, run_id)
            try:
                return self._snapshot(sources, signature, dirty, share)
            except DamagedError as damage:
                self._begin_anew(damage)
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
        with (
            StatCache(self._path / STAT_CACHE) as cache,
            ObjectSink(repository.odb, repository.objects) as sink,
        ):
            if tip is None and not cache.is_empty():
                # the cache is filled only after a commit
                raise DamagedError("its branch is gone")
            snapshot = Snapshot(repository, sink, cache, last)
            for source in sources:
                snapshot.take(source, dirty)
            tree = snapshot.tree.write(sink)
            self._last_problems = snapshot.notes[:_MOST_NOTES]
            commit = None
            if tree is not None and (last is None or tree != last.tree):
                shares = self._shares(repository, sink, last, snapshot, share)
                if len(shares) > 1:
                    commit = self._commit_shares(repository, sink, last, snapshot, signature, shares)
                else:
                    alone = signature.of(shares[0]) if shares else signature
                    commit = self._commit(repository, sink, tree, tip, alone, snapshot.notes)
            snapshot.remember()
            checkpoint("history-cache")
        if commit is not None:
            self._pack(repository)
        return commit.hex() if commit else None

    @staticmethod
    def _shares(
        repository: Repository,
        sink: ObjectSink,
        last: StoredCommit | None,
        snapshot: Snapshot,
        share: Sharer | None,
    ) -> Sequence[Share]:
        if share is None:
            return ()
        changes = seen_changes(repository, sink, last, snapshot.tree)
        return share(changes, last.commit.at_ms if last else None) if changes else ()

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
        for share, new in steps(repository, sink, last, snapshot.tree, shares):
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
        data = encode_commit(
            tree=tree,
            parent=tip,
            at_ms=self._clock(),
            actor=signature.actor,
            source=signature.source,
            run_id=signature.run_id,
            subject=redact(signature.subject),
            notes=map(redact, shortened),
        )
        commit = sink.put("commit", data)
        with writing():
            sink.flush()
        checkpoint("history-objects")
        repository.move_tip(commit, tip)
        checkpoint("history-ref")
        return commit

    def _verify_once(self, repository: Repository) -> None:
        """Look for damage before building on it; once per repository and process, it costs a walk."""
        status = self._path.stat()
        identity = (status.st_dev, status.st_ino)
        if self._verified != identity:
            repository.verify_newest()
            self._verified = identity

    def _begin_anew(self, damage: DamagedError) -> None:
        aside = set_aside(self._path, self._clock())
        self._set_aside.append(
            f"The history of this home was damaged ({damage}) and is set aside as {shown(aside.name)}; "
            "a new one has begun. What was kept before can be read from the old one only."
        )

    def _pack(self, repository: Repository) -> None:
        if not self._packs:
            return
        try:
            pack_if_worthwhile(repository, self._pack_after)
        except DamagedError as damage:
            self._packs = False  # it would fail again after each commit, at the cost of reading everything
            self._last_problems.append(f"The history could not be packed: {damage}. Nothing was removed.")

    # ---- reading

    def head(self) -> str | None:
        """The id of the newest commit; None before the first."""
        with _in_words():
            repository = self._open()
            tip = repository.tip() if repository else None
            return tip.hex() if tip else None

    def commits(self, *, key: str | None = None, rel: str | None = None, limit: int = 1000) -> list[Commit]:
        """Newest first. With `key`: only those that changed this root; with `rel` too: only those that
        changed the content of this file, or of a file below this directory. Raises StoreError, Unavailable.
        """
        names: tuple[bytes, ...] = ()
        if key is not None:
            names = (key_name(key), FILES, *escape_rel(rel)) if rel else (key_name(key),)
        found: list[Commit] = []
        with _in_words():
            repository = self._open()
            tip = repository.tip() if repository else None
            if repository is None or tip is None:
                return found
            commit = repository.commit(tip)
            here = repository.entry(commit.tree, names)
            while len(found) < limit:
                parent = repository.commit(commit.parent) if commit.parent else None
                there = repository.entry(parent.tree, names) if parent else None
                if not names or here != there:
                    found.append(commit.commit)
                if parent is None:
                    break
                commit, here = parent, there
        return found

    def log(self, place: Place, start: Cursor | None = None, *, limit: int = 100, until: str = "") -> LogPage:
        """What happened at `place`, newest first, following renames, down to the commit `until`; see
        `LogPage`. Raises StoreError, Unavailable."""
        with _in_words():
            repository = self._open()
            tip = repository.tip() if repository else None
            if repository is None or tip is None:
                return LogPage()
            head = tip.hex()
            return read_page(repository, start or Cursor(head, place), limit=limit, until=until, head=head)

    def deletions(
        self, start: str | None = None, *, check: Callable[[], None] = lambda: None
    ) -> DeletionPage:
        """What was deleted, newest first, a page from the commit `start` (None: the newest) back; `check` may
        raise to stop. Raises StoreError, Unavailable."""
        with _in_words():
            repository = self._open()
            tip = repository.tip() if repository else None
            if repository is None or tip is None:
                return DeletionPage()
            return read_deletions(repository, start or tip.hex(), check=check)

    def leaves(self, commit: str, place: Place) -> dict[str, str]:
        """Path below the root -> blob, of every file at `place` and below it. Raises StoreError,
        Unavailable."""
        with _in_words():
            repository = self._existing(commit)
            return dict(leaves_at(repository, repository.commit_named(commit).tree, place))

    def blob(self, blob: str) -> bytes | None:
        """A stored content by its id; None: only its hash was kept. Raises StoreError, Unavailable."""
        with _in_words():
            repository = self._existing(blob)
            raw = bytes.fromhex(blob)
            return repository.read(raw, "blob") if repository.has(raw) else None

    def files(self, commit: str, key: str) -> dict[str, FileVersion]:
        """Every file of a root in a commit, none if the root is not in it. Raises StoreError, Unavailable."""
        with _in_words():
            root = self._root(commit, key)
            if root is None:
                return {}
            return {
                rel: root.version(rel, leaf)
                for rel, leaf in ((rel_of(names), leaf) for names, leaf in root.files.leaves())
            }

    def metadata(self, commit: str, key: str) -> dict[str, dict[str, Any]]:
        """What the callers' `metadata` said of a root's files. Raises StoreError, Unavailable."""
        with _in_words():
            root = self._root(commit, key)
            return {rel: dict(data) for rel, data in root.data.items()} if root else {}

    def read(self, commit: str, key: str, rel: str) -> bytes | None:
        """The bytes of a file; None if the commit has no such file.

        Raises StoreError (reason "omitted" for a file that was too large to keep), Unavailable.
        """
        with _in_words():
            root = self._root(commit, key)
            leaf = root.files.get(escape_rel(rel)) if root else None
            if root is None or not isinstance(leaf, Leaf):
                return None
            return self._content(root.version(rel, leaf))

    def changes(self, old: str | None, new: str) -> tuple[FileChange, ...]:
        """Every file that differs between two commits (`old` None: from nothing), by key and path.

        Changes of mode, pins and usage count too: see `FileChange.content_changed`. Raises StoreError,
        Unavailable.
        """
        with _in_words():
            repository = self._existing(new)
            trees = [self._tree(repository, commit) for commit in (old, new)]
            keys = sorted({key_of(names[0]) for names, _, _ in trees[0].differing(trees[1])}, key=utf16_key)
            return tuple(change for key in keys for change in self._root_changes(repository, trees, key))

    def _root_changes(
        self, repository: Repository, trees: Sequence[Folder], key: str
    ) -> Iterator[FileChange]:
        empty = StoredRoot(Folder(repository.tree), {}, {})
        before, after = (StoredRoot.load(repository, tree, key) or empty for tree in trees)
        content = {rel_of(names) for names, _, _ in before.files.differing(after.files)}
        rels = content | {
            rel
            for rel in {*before.facts, *before.data, *after.facts, *after.data}
            if before.facts.get(rel) != after.facts.get(rel) or before.data.get(rel) != after.data.get(rel)
        }
        for rel in sorted(rels, key=utf16_key):
            names = escape_rel(rel)
            leaves = [root.files.get(names) for root in (before, after)]
            versions = [
                root.version(rel, leaf) if isinstance(leaf, Leaf) else None
                for root, leaf in zip((before, after), leaves, strict=True)
            ]
            yield FileChange(
                key, rel, versions[0], versions[1], before.data.get(rel), after.data.get(rel), self._content
            )

    def merge(self, base: bytes, ours: bytes, theirs: bytes) -> Merge:
        """Three-way merge of lines; see `Merge`."""
        return history_merge.merge(base, ours, theirs)

    def check(self) -> tuple[str, ...]:
        """Read everything back and say what is wrong, one sentence each; empty for a sound history."""
        problems = []
        with _in_words():
            for path in sorted(self._path.parent.glob(f"{self._path.name}.damaged-*")):
                problems.append(f"A damaged history is set aside as {shown(path.name)}.")
            try:
                repository = self._open()
                tip = repository.tip() if repository else None
            except DamagedError as damage:
                return (*problems, f"The history is damaged: {damage}.")
            if repository is not None and tip is not None:
                problems += [f"The history is damaged: {damage}." for damage in repository.damages(tip)]
        return tuple(problems)

    def _content(self, version: FileVersion | None) -> bytes | None:
        if version is None:
            return None
        if version.omitted:
            raise StoreError(
                "This version was not kept.",
                cause="The file was larger than 64 MiB, so only its hash is in the history.",
                next_step="Restore it from a backup of your own.",
                reason="omitted",
            )
        with _in_words():
            repository = self._open()
            if repository is None:
                raise MissingVersionError(version.blob)
            return repository.read(bytes.fromhex(version.blob), "blob")

    def _root(self, commit: str, key: str) -> StoredRoot | None:
        repository = self._existing(commit)
        return StoredRoot.load(repository, self._tree(repository, commit), key)

    def _tree(self, repository: Repository, commit: str | None) -> Folder:
        return Folder(repository.tree, repository.commit_named(commit).tree if commit else None)

    def _existing(self, commit: str) -> Repository:
        repository = self._open()
        if repository is None:
            raise MissingVersionError(commit)
        return repository

    def _open(self) -> Repository | None:
        return Repository(self._path) if self._path.exists() else None


@dataclass(frozen=True, slots=True)
class _Signature:
    """Who makes a commit, from where, and what it is."""

    actor: str
    source: str
    subject: str
    run_id: str | None

    def of(self, share: Share) -> _Signature:
        return replace(self, actor=share.actor, run_id=share.run_id)


@contextlib.contextmanager
def _in_words() -> Iterator[None]:
    """The edge where what can go wrong below becomes an error for a person."""
    try:
        yield
    except DamagedError as error:
        raise StoreError(
            "The history cannot be read.",
            cause=f"It is damaged: {error}.",
            next_step="The next change sets it aside and begins a new one; its folder stays where it is.",
            reason="damaged",
        ) from error
    except MissingVersionError as error:
        raise StoreError(
            "This version is not in the history.",
            cause="It belongs to another history, perhaps to one that was set aside.",
            next_step="Choose another version.",
            reason="missing",
        ) from error
    except OSError as error:
        raise mendable_from_os(error, "The history could not be used.") from error
    except sqlite3.Error as error:
        cause, next_step = why(
            error,
            f"Its list of known files cannot be written: {error}.",
            "Check the disk and the rights of Reverie's data directory.",
        )
        raise Unavailable("The history could not be used.", cause=cause, next_step=next_step) from error
