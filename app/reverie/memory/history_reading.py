"""Reading the history of one home: what happened, what stood where, and whether it is sound.

Looking at a history creates nothing. Threading: any thread but the GUI's; nothing is held open between calls.
Failure: `StoreError`, `Unavailable` (`in_words`).
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from reverie.errors import StoreError, Unavailable, mendable_from_os
from reverie.files.atomic import shown
from reverie.files.sqlite import why
from reverie.memory import history_merge
from reverie.memory.history_commits import Commit
from reverie.memory.history_deletions import DeletionPage, read_deletions
from reverie.memory.history_log import Cursor, LogPage, Place, leaves_at, read_page
from reverie.memory.history_merge import Merge
from reverie.memory.history_names import escape_rel
from reverie.memory.history_repository import (
    DamagedError,
    MissingVersionError,
    Repository,
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
from reverie.memory.history_tree import Folder, Leaf
from reverie.memory.paths import utf16_key


class HistoryReader:
    """The history kept in `repository`, which need not be there."""

    def __init__(self, repository: Path) -> None:
        self._path = repository

    def head(self) -> str | None:
        """The id of the newest commit; None before the first."""
        with in_words():
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
        with in_words():
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
        with in_words():
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
        with in_words():
            repository = self._open()
            tip = repository.tip() if repository else None
            if repository is None or tip is None:
                return DeletionPage()
            return read_deletions(repository, start or tip.hex(), check=check)

    def leaves(self, commit: str, place: Place) -> dict[str, str]:
        """Path below the root -> blob, of every file at `place` and below it. Raises StoreError,
        Unavailable."""
        with in_words():
            repository = self._existing(commit)
            return dict(leaves_at(repository, repository.commit_named(commit).tree, place))

    def blob(self, blob: str) -> bytes | None:
        """A stored content by its id; None: only its hash was kept. Raises StoreError, Unavailable."""
        with in_words():
            repository = self._existing(blob)
            raw = bytes.fromhex(blob)
            return repository.read(raw, "blob") if repository.has(raw) else None

    def files(self, commit: str, key: str) -> dict[str, FileVersion]:
        """Every file of a root in a commit, none if the root is not in it. Raises StoreError, Unavailable."""
        with in_words():
            root = self._root(commit, key)
            if root is None:
                return {}
            return {
                rel: root.version(rel, leaf)
                for rel, leaf in ((rel_of(names), leaf) for names, leaf in root.files.leaves())
            }

    def metadata(self, commit: str, key: str) -> dict[str, dict[str, Any]]:
        """What the callers' `metadata` said of a root's files. Raises StoreError, Unavailable."""
        with in_words():
            root = self._root(commit, key)
            return {rel: dict(data) for rel, data in root.data.items()} if root else {}

    def read(self, commit: str, key: str, rel: str) -> bytes | None:
        """The bytes of a file; None if the commit has no such file.

        Raises StoreError (reason "omitted" for a file that was too large to keep), Unavailable.
        """
        with in_words():
            root = self._root(commit, key)
            leaf = root.files.get(escape_rel(rel)) if root else None
            if root is None or not isinstance(leaf, Leaf):
                return None
            return self._content(root.version(rel, leaf))

    def newest(self, places: Sequence[Place]) -> list[bytes | None]:
        """The bytes of these files in the newest commit; None where it has no such file. For one that was
        too large to keep: what stands for it. Raises StoreError, Unavailable."""
        with in_words():
            repository = self._open()
            tip = repository.tip() if repository else None
            if repository is None or tip is None:
                return [None] * len(places)
            tree = repository.commit(tip).tree
            found = [
                repository.entry(tree, (key_name(place.key), FILES, *escape_rel(place.rel)))
                for place in places
            ]
            return [
                None if each is None or each.is_tree else repository.read(each.id, "blob") for each in found
            ]

    def changes(self, old: str | None, new: str) -> tuple[FileChange, ...]:
        """Every file that differs between two commits (`old` None: from nothing), by key and path.

        Changes of mode, pins and usage count too: see `FileChange.content_changed`. Raises StoreError,
        Unavailable.
        """
        with in_words():
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
        with in_words():
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
        with in_words():
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


@contextlib.contextmanager
def in_words() -> Iterator[None]:
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
