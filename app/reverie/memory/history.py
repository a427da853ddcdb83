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

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reverie.clock import Clock
from reverie.files.atomic import shown
from reverie.files.checkpoint import checkpoint
from reverie.files.lock import file_lock
from reverie.memory.history_commits import Commit, StoredCommit, encode_commit
from reverie.memory.history_merge import Merge
from reverie.memory.history_objects import ObjectSink
from reverie.memory.history_pack import pack_if_worthwhile
from reverie.memory.history_reading import HistoryReader, in_words
from reverie.memory.history_repository import (
    DamagedError,
    Repository,
    create,
    set_aside,
)
from reverie.memory.history_roots import (
    FileChange,
    FileVersion,
)
from reverie.memory.history_shares import Share, Sharer, seen_changes, steps
from reverie.memory.history_snapshot import Snapshot, SnapshotSource
from reverie.memory.history_stat import StatCache
from reverie.text.redact import redact

__all__ = ["Commit", "FileChange", "FileVersion", "History", "Merge", "SnapshotSource"]

STAT_CACHE = "stat-cache.sqlite"
# A first snapshot of a very large home is written while the others wait.
_LOCK_TIMEOUT_S = 120.0
_MOST_NOTES = 200


class History(HistoryReader):
    """The history kept in `repository` (`<home id>.git`; created by the first snapshot, mode 0700)."""

    def __init__(
        self,
        repository: Path,
        *,
        lock_dir: Path,
        clock: Clock,
        pack_after: int = 2000,
        notify: Callable[[str], None] = lambda _sentence: None,
    ) -> None:
        """`notify` is told of a history that is set aside, once, by whoever found the damage."""
        super().__init__(repository)
        self._notify = notify
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
        with file_lock(self._lock_dir, self._path, timeout_s=_LOCK_TIMEOUT_S), in_words():
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
        sentence = (
            f"The history of this home was damaged ({damage}) and is set aside as {shown(aside.name)}; "
            "a new one has begun. What was kept before can be read from the old one only."
        )
        self._set_aside.append(sentence)
        self._notify(sentence)

    def _pack(self, repository: Repository) -> None:
        if not self._packs:
            return
        try:
            pack_if_worthwhile(repository, self._pack_after)
        except DamagedError as damage:
            self._packs = False  # it would fail again after each commit, at the cost of reading everything
            self._last_problems.append(f"The history could not be packed: {damage}. Nothing was removed.")


@dataclass(frozen=True, slots=True)
class _Signature:
    """Who makes a commit, from where, and what it is."""

    actor: str
    source: str
    subject: str
    run_id: str | None

    def of(self, share: Share) -> _Signature:
        return replace(self, actor=share.actor, run_id=share.run_id)
