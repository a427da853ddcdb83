"""Reading the history of one home: the log, deletions, the files of a commit, and its integrity.

Log and deletions are read newest first, page by page. Reading creates nothing and holds nothing open between
calls.

Threading: any thread but the GUI's. Failure: `StoreError`, `Unavailable` (`in_words`).
"""

from __future__ import annotations

import contextlib
import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from reverie.errors import StoreError, user_error_from_os
from reverie.files.atomic import shown
from reverie.memory.companion_places import is_of_companions
from reverie.memory.history.repository import (
    Commit,
    DamagedHistoryError,
    Folder,
    Leaf,
    Loader,
    MissingVersionError,
    Repository,
    StoredCommit,
    TreeEntry,
    escape_rel,
    unescape_rel,
)
from reverie.memory.history.roots import (
    FILES,
    FileVersion,
    StoredRoot,
    VersionChange,
    key_name,
    key_of,
)
from reverie.memory.paths import utf16_key
from reverie.values import Struct, field

COMMITS_A_PAGE = 1_000
_MOST_COMPARED = 40
_MOST_COMPARED_BYTES = 256 * 1024
_SIMILAR = 0.5
_EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
"""The id of an empty file."""

What = Literal["created", "changed", "deleted", "renamed", "moved-away"]


class HistoryPlace(Struct, frozen=True):
    """The location of a file, a folder or a whole root (directory of memories) in the history."""

    key: str
    """The key of the root."""
    rel: str
    """The path below the root; empty for the root itself."""

    @property
    def names(self) -> tuple[bytes, ...]:
        return (key_name(self.key), FILES, *(escape_rel(self.rel) if self.rel else ()))


class Cursor(Struct, frozen=True):
    """The position in a log at which its next page starts."""

    commit: str
    """The id of the commit."""
    place: HistoryPlace
    """The place of the file or folder in the commit `commit`."""


class LogEntry(Struct, frozen=True):
    """One entry of a log: the effect of one commit on the file or folder that the log is about."""

    commit: Commit
    place: HistoryPlace
    """The place of the file or folder after the commit; for a deletion, its place before."""
    what: What
    """The kind of effect."""
    blob: str = ""
    """The id of the content after the commit; empty for folders and deletions."""
    other: HistoryPlace | None = None
    """The earlier place of a `renamed` file, the new one of a `moved-away` file; None for any other entry."""


class LogPage(Struct, frozen=True):
    """One page of a log, newest entry first."""

    entries: tuple[LogEntry, ...] = ()
    next: Cursor | None = None
    """The start of the next page; None at the beginning of the history, or if `reached`."""
    head: str = ""
    """The id of the newest commit when the page was read; empty if there is no history."""
    reached: bool = False
    """Whether the page ends at the commit that the caller gave as the end."""


def read_page(
    repository: Repository, start: Cursor, *, limit: int, until: str = "", head: str = ""
) -> LogPage:
    """Return at most `limit` log entries from `start` on, newest first, stopping before the commit `until`.

    The log follows renames and moves into another root. A file counts as renamed if it appears in the commit
    in which another one with the same content disappears. If no content is equal, the most similar of the
    files that disappeared is taken, provided that at least half of the lines are the same. A folder counts as
    renamed if at least half of its files moved. A path that was deleted and created again has a single log. A
    page examines a bounded number of commits, so it may hold fewer entries than requested, or none, and still
    have a next page. `until`: empty to continue to the beginning of the history. `head`: the id of the newest
    commit, for the field `head` of the page.

    Raises MissingVersionError, DamagedHistoryError.
    """
    entries: list[LogEntry] = []
    place = start.place
    stored = repository.commit_named(start.commit)
    here = repository.entry(stored.tree, place.names)
    for _ in range(COMMITS_A_PAGE):
        if stored.commit.id == until:
            return LogPage(tuple(entries), None, head, reached=True)
        parent = repository.commit(stored.parent) if stored.parent else None
        there = repository.entry(parent.tree, place.names) if parent else None
        if here != there:
            entry = _CommitStep(repository, stored, parent, place).entry(here, there)
            entries.append(entry)
            if entry.what == "renamed" and entry.other is not None and parent is not None:
                place = entry.other
                there = repository.entry(parent.tree, place.names)
        if parent is None:
            return LogPage(tuple(entries), None, head)
        stored, here = parent, there
        if len(entries) == limit:
            break
    return LogPage(tuple(entries), Cursor(stored.commit.id, place), head)


class _CommitStep(Struct, frozen=True, dict=True):
    """One commit, compared with its parent commit, for the log of one file or folder."""

    repository: Repository
    after: StoredCommit
    """The commit."""
    before: StoredCommit | None
    """The parent of the commit; None for the first commit."""
    place: HistoryPlace
    """The place, in the commit, of the file or folder that the log is about."""
    _leaves: dict[str, list[tuple[HistoryPlace, Leaf]]] = field(default_factory=dict)
    """A cache of the files that the commit deleted ("gone") or added ("came")."""

    def entry(self, here: TreeEntry | None, there: TreeEntry | None) -> LogEntry:
        what: What = "changed"
        other = None
        if there is None:
            other = self._counterpart(here, gone=True)
            what = "created" if other is None else "renamed"
        elif here is None:
            other = self._counterpart(there, gone=False)
            what = "deleted" if other is None else "moved-away"
        blob = here.id.hex() if here is not None and not here.is_tree else ""
        return LogEntry(self.after.commit, self.place, what, blob, other)

    def _counterpart(self, entry: TreeEntry | None, *, gone: bool) -> HistoryPlace | None:
        """Return the place from which a new file or folder was moved, or to which a missing one was moved.

        `gone`: search among the files that the commit deleted, for the source of a new file; otherwise among
        those that it added. `entry`: the file or folder. None if there is no such place, or no `entry`.
        """
        if entry is None or self.before is None or not self.place.rel:
            return None
        candidates = self._moved(gone=gone)
        if not candidates:
            return None
        if entry.is_tree:
            return self._folder_counterpart(entry, candidates)
        same = [place for place, leaf in candidates if leaf.id == entry.id]
        if same:
            return self._nearest(same, empty=entry.id.hex() == _EMPTY)
        return self._similar(entry.id, candidates)

    def _moved(self, *, gone: bool) -> list[tuple[HistoryPlace, Leaf]]:
        """Return (place, file) for every file that the commit deleted if `gone`, or else added."""
        if not self._leaves:
            trees = [
                Folder(self.repository.tree, stored.tree) if stored else Folder(self.repository.tree)
                for stored in (self.after, self.before)
            ]
            self._leaves.update(gone=[], came=[])
            for names, now, before in trees[0].differing(trees[1]):
                if len(names) < 3 or names[1] != FILES:
                    continue
                place = HistoryPlace(key_of(names[0]), unescape_rel(names[2:]))
                if is_of_companions(place.key):
                    continue  # no memory moves to or from a companion, even if their contents are equal
                if now is None and before is not None:
                    self._leaves["gone"].append((place, before))
                elif before is None and now is not None:
                    self._leaves["came"].append((place, now))
        return self._leaves["gone" if gone else "came"]

    def _nearest(self, places: Sequence[HistoryPlace], *, empty: bool) -> HistoryPlace | None:
        """Return the place among `places` from or to which a file with the same content most likely moved.

        A place with the same name is preferred, then one in the same root, then one with more common folders.
        All empty files have the same content, so with `empty` only places with the same name count. None if
        no place counts.
        """
        name = _name(self.place)
        if empty:
            places = [place for place in places if _name(place) == name]
        ranked = sorted(
            places,
            key=lambda place: (
                _name(place) != name,
                place.key != self.place.key,
                -len(_common(place.rel, self.place.rel)),
                place.rel,
            ),
        )
        return ranked[0] if ranked else None

    def _similar(self, blob: bytes, candidates: Sequence[tuple[HistoryPlace, Leaf]]) -> HistoryPlace | None:
        if len(candidates) > _MOST_COMPARED:
            name = _name(self.place)
            candidates = [each for each in candidates if _name(each[0]) == name][:_MOST_COMPARED]
        ours = self._lines(blob)
        best: tuple[float, HistoryPlace] | None = None
        for place, leaf in candidates if ours else ():
            theirs = self._lines(leaf.id)
            score = (ours & theirs).total() / max(ours.total(), theirs.total()) if theirs else 0.0
            if score >= _SIMILAR and (best is None or score > best[0]):
                best = score, place
        return best[1] if best is not None else None

    def _folder_counterpart(
        self, entry: TreeEntry, candidates: Sequence[tuple[HistoryPlace, Leaf]]
    ) -> HistoryPlace | None:
        """Return the folder to which at least half of a folder's files moved, or from which they came.

        `entry`: the folder whose files moved. `candidates`: the files that the commit added or deleted. None
        if there is no such folder.
        """
        by_blob: dict[bytes, list[HistoryPlace]] = {}
        for place, leaf in candidates:
            by_blob.setdefault(leaf.id, []).append(place)
        votes: Counter[HistoryPlace] = Counter()
        total = 0
        for names, leaf in Folder(self.repository.tree, entry.id).leaves():
            total += 1
            inside = f"/{unescape_rel(names)}"
            votes.update(
                {
                    HistoryPlace(place.key, place.rel.removesuffix(inside))
                    for place in by_blob.get(leaf.id, ())
                    if place.rel.endswith(inside)
                }
            )
        votes.pop(self.place, None)
        if not votes:
            return None
        found, count = votes.most_common(1)[0]
        return found if count * 2 >= total else None

    def _lines(self, blob: bytes) -> Counter[bytes]:
        """Return the number of times that each non-blank line occurs in the content with the id `blob`.

        Empty if the content is too large to compare or was not stored.
        """
        try:
            content = self.repository.blob(blob)
        except DamagedHistoryError:
            return Counter()  # kept by hash only
        if len(content) > _MOST_COMPARED_BYTES:
            return Counter()
        return Counter(line for line in content.split(b"\n") if line.strip())


def leaves_at(repository: Repository, tree: bytes, place: HistoryPlace) -> Iterator[tuple[str, str]]:
    """Yield (path below the root, blob id) of every file at and below `place` in the tree of a commit."""
    entry = repository.entry(tree, place.names)
    if entry is None:
        return
    if not entry.is_tree:
        yield place.rel, entry.id.hex()
        return
    prefix = f"{place.rel}/" if place.rel else ""
    for names, leaf in Folder(repository.tree, entry.id).leaves():
        yield prefix + unescape_rel(names), leaf.id.hex()


def _name(place: HistoryPlace) -> str:
    return place.rel.rpartition("/")[2]


def _common(one: str, other: str) -> str:
    length = 0
    for mine, theirs in zip(one.split("/"), other.split("/"), strict=False):
        if mine != theirs:
            break
        length += len(mine) + 1
    return one[:length]


DELETIONS_COMMITS_A_PAGE = 500


class Deletion(Struct, frozen=True):
    """The deletion of one file."""

    place: HistoryPlace
    blob: str
    """The id of the content."""
    commit: Commit
    """The commit that deleted the file."""
    kept_in: str
    """The id of the commit before, which still has the file at `place`."""
    size: int | None
    """The size of the content in bytes; None if the content is not available."""


class DeletionPage(Struct, frozen=True):
    """One page of deletions, newest first."""

    deletions: tuple[Deletion, ...] = ()
    next: str | None = None
    """The id of the commit at which the next page begins; None at the beginning of the history."""


class FileStep(Struct, frozen=True):
    """The effect of one commit on one file."""

    place: HistoryPlace
    before: str
    """The id of the file's content before the commit; empty if there was no file."""
    after: str
    """The id of the file's content after the commit; empty if there is no file."""


class CommitSteps(Struct, frozen=True):
    """One commit and the files whose content it changed."""

    commit: Commit
    steps: tuple[FileStep, ...]
    """The changed files, ordered by the key of the root and then by path."""
    is_first: bool
    """Whether none of the files' roots (directories of memories) was in the commit before."""


class StepsPage(Struct, frozen=True):
    """One page of commits with the files that they changed, newest first."""

    commits: tuple[CommitSteps, ...] = ()
    next: str | None = None
    """The id of the commit at which the next page begins; None at the end of the requested commits."""
    head: str = ""
    """The id of the newest commit when the page was read; empty if there is no history."""


def steps_of(repository: Repository, load: Loader, stored: StoredCommit) -> CommitSteps:
    """Return the changes that the commit `stored` made to files, compared with the commit before it.

    `load` returns the entries of a stored tree by its raw id. Raises MissingVersionError,
    DamagedHistoryError.
    """
    parent = repository.commit(stored.parent) if stored.parent else None
    after, before = Folder(load, stored.tree), Folder(load, parent.tree if parent else None)
    roots: set[bytes] = set()
    steps = []
    for names, now, then in after.differing(before):
        if len(names) > 2 and names[1] == FILES:
            roots.add(names[0])
            place = HistoryPlace(key_of(names[0]), unescape_rel(names[2:]))
            steps.append(FileStep(place, then.id.hex() if then else "", now.id.hex() if now else ""))
    steps.sort(key=lambda step: (step.place.key, utf16_key(step.place.rel)))
    is_first = all(before.get((root,)) is None for root in roots)
    return CommitSteps(stored.commit, tuple(steps), is_first)


def _once(repository: Repository) -> Loader:
    """Return a function that takes the raw id of a tree and returns the entries of the tree.

    The function caches the trees, so that each is read only once: neighbouring commits share most of them.
    """
    return functools.cache(lambda raw: tuple(repository.tree(raw)))


def _deleted(steps: Sequence[FileStep]) -> Iterator[FileStep]:
    """Yield those of `steps` (changes by one commit) that deleted a memory, and did not only move it.

    A deletion is a move if the commit also created a file with the same content.
    """
    came = Counter(step.after for step in steps if not step.before)
    for step in steps:
        if not step.after and not is_of_companions(step.place.key):
            if came[step.before] > 0:
                came[step.before] -= 1
            else:
                yield step


class HistoryReader:
    """Read access to the history of one home, in the git repository `repository`, which need not exist."""

    def __init__(self, repository: Path) -> None:
        self._path = repository

    def head(self) -> str | None:
        """Return the id of the newest commit; None before the first commit."""
        with in_words():
            repository = self._open()
            tip = repository.tip() if repository else None
            return tip.hex() if tip else None

    def commits(self, *, key: str | None = None, rel: str | None = None, limit: int = 1000) -> list[Commit]:
        """Return at most `limit` commits, newest first.

        `key`: only commits that changed the root (directory of memories) with this key; None: all commits.
        `rel`, with `key`: only commits that changed the content of this file, or of a file below this
        directory; None: any file. Raises StoreError, Unavailable.
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

    def log(
        self, place: HistoryPlace, start: Cursor | None = None, *, limit: int = 100, until: str = ""
    ) -> LogPage:
        """Return one page of the log of `place`, newest first, following renames, down to the commit `until`.

        `limit`: the maximum number of entries. `start`: the `next` of an earlier page; None: the newest
        commit. `until`: empty to continue to the beginning of the history. Raises StoreError, Unavailable.
        """
        with in_words():
            repository = self._open()
            tip = repository.tip() if repository else None
            if repository is None or tip is None:
                return LogPage()
            head = tip.hex()
            return read_page(repository, start or Cursor(head, place), limit=limit, until=until, head=head)

    def steps(self, commits: Sequence[str]) -> tuple[CommitSteps, ...]:
        """Return for each of these commits the files that it changed, in the order of `commits`.

        Raises StoreError, Unavailable.
        """
        if not commits:
            return ()
        with in_words():
            repository = self._existing(commits[0])
            load = _once(repository)
            return tuple(steps_of(repository, load, repository.commit_named(commit)) for commit in commits)

    def newest_steps(
        self, start: str | None = None, *, limit: int = 100, until: str | None = None
    ) -> StepsPage:
        """Return the files that each of at most `limit` commits changed, newest commit first.

        `start`: the `next` of an earlier page; None: the newest commit. The page ends before the commit
        `until` (None: no limit). Raises StoreError, Unavailable.
        """
        with in_words():
            repository = self._open()
            tip = repository.tip() if repository else None
            if repository is None or tip is None:
                return StepsPage()
            found: list[CommitSteps] = []
            stored, load = repository.commit_named(start or tip.hex()), _once(repository)
            while True:
                if stored.commit.id == until:
                    return StepsPage(tuple(found), None, tip.hex())
                found.append(steps_of(repository, load, stored))
                if stored.parent is None:
                    return StepsPage(tuple(found), None, tip.hex())
                stored = repository.commit(stored.parent)
                if len(found) == limit:
                    return StepsPage(tuple(found), stored.commit.id, tip.hex())

    def deletions(
        self, start: str | None = None, *, check: Callable[[], None] = lambda: None
    ) -> DeletionPage:
        """Return one page of deleted files, newest first, from the commit `start` (None: the newest) back.

        A file that disappeared in a commit was deleted, unless a file with the same content appeared in it:
        then it was moved or renamed. A deletion is not listed if the same content is at the same place again;
        of several deletions of one content at one place only the newest is listed. Companions (files that an
        agent loads beside its memories) are left out. Moves across several commits are not detected. `check`
        may raise to stop. Raises StoreError, Unavailable.
        """
        page = self.newest_steps(start, limit=DELETIONS_COMMITS_A_PAGE)
        gone: dict[tuple[HistoryPlace, str], Commit] = {}
        for each in page.commits:
            check()
            for step in _deleted(each.steps):
                gone.setdefault((step.place, step.before), each.commit)
        contents = self.blobs([blob for _place, blob in gone])
        now = self.newest([place for place, _blob in gone])
        found = [
            Deletion(place, blob, commit, commit.parent or "", None if content is None else len(content))
            for ((place, blob), commit), content, there in zip(gone.items(), contents, now, strict=True)
            if content is None or there != content
        ]
        return DeletionPage(tuple(found), page.next)

    def leaves(self, commit: str, place: HistoryPlace) -> dict[str, str]:
        """Return path below the root -> id of the content, for every file at and below `place` in a commit.

        Raises StoreError, Unavailable.
        """
        with in_words():
            repository = self._existing(commit)
            return dict(leaves_at(repository, repository.commit_named(commit).tree, place))

    def blob(self, blob: str) -> bytes | None:
        """Return a stored content by its id; None if only its hash was stored.

        Raises StoreError, Unavailable.
        """
        return self.blobs([blob])[0]

    def blobs(self, blobs: Sequence[str]) -> list[bytes | None]:
        """Return the contents with the ids `blobs`, in this order, and open the repository only once.

        None for a content of which only the hash was stored. Raises StoreError, Unavailable.
        """
        if not blobs:
            return []
        with in_words():
            repository = self._existing(blobs[0])
            raws = [bytes.fromhex(blob) for blob in blobs]
            return [repository.blob(raw) if repository.has(raw) else None for raw in raws]

    def files(self, commit: str, key: str) -> dict[str, FileVersion]:
        """Return every file of a root in a commit, by path; empty if the commit does not have the root.

        `key`: the key of the root (directory of memories). Raises StoreError, Unavailable.
        """
        with in_words():
            root = self._root(commit, key)
            if root is None:
                return {}
            return {
                rel: root.version(rel, leaf)
                for rel, leaf in ((unescape_rel(names), leaf) for names, leaf in root.files.leaves())
            }

    def metadata(self, commit: str, key: str) -> dict[str, dict[str, Any]]:
        """Return the metadata of a root's files in a commit by path, as it was passed to `History.snapshot`.

        `key`: the key of the root (directory of memories). Raises StoreError, Unavailable.
        """
        with in_words():
            root = self._root(commit, key)
            return {rel: dict(data) for rel, data in root.data.items()} if root else {}

    def read(self, commit: str, key: str, rel: str) -> bytes | None:
        """Return the bytes of the file `rel` in a commit; None if the commit has no such file.

        `key`: the key of the file's root (directory of memories). Raises StoreError (reason "omitted" for a
        file that was too large to store), Unavailable.
        """
        with in_words():
            root = self._root(commit, key)
            leaf = root.files.get(escape_rel(rel)) if root else None
            if root is None or not isinstance(leaf, Leaf):
                return None
            return self._content(root.version(rel, leaf))

    def newest(self, places: Sequence[HistoryPlace]) -> list[bytes | None]:
        """Return the bytes of the files at `places` in the newest commit, in order; None for a missing file.

        For a file that was too large to store, its placeholder is returned: a line with its size and hash.
        Raises StoreError, Unavailable.
        """
        with in_words():
            repository = self._open()
            tip = repository.tip() if repository else None
            if repository is None or tip is None:
                return [None] * len(places)
            tree = repository.commit(tip).tree
            found = [repository.entry(tree, place.names) for place in places]
            return [None if each is None or each.is_tree else repository.blob(each.id) for each in found]

    def is_newest(self, place: HistoryPlace, content: bytes, mode: int) -> bool:
        """Return whether the file at `place` has this content and mode in the newest commit.

        `mode`: the permission bits. False if there is no commit or no such file. Raises StoreError,
        Unavailable.
        """
        with in_words():
            repository = self._open()
            tip = repository.tip() if repository else None
            if repository is None or tip is None:
                return False
            root = StoredRoot.load(
                repository, Folder(repository.tree, repository.commit(tip).tree), place.key
            )
            leaf = root.files.get(escape_rel(place.rel)) if root is not None else None
            if root is None or not isinstance(leaf, Leaf):
                return False
            version = root.version(place.rel, leaf)
            return (version.mode, version.omitted) == (mode, False) and repository.blob(leaf.id) == content

    def changes(self, old: str | None, new: str) -> tuple[VersionChange, ...]:
        """Return every file that differs between the commits `old` (None: no commit) and `new`.

        The result is in the order of root keys and paths. A file also differs if only its mode, pin or usage
        differs (then `VersionChange.content_changed` is False). Raises StoreError, Unavailable.
        """
        with in_words():
            repository = self._existing(new)
            trees = [self._tree(repository, commit) for commit in (old, new)]
            keys = sorted({key_of(names[0]) for names, _, _ in trees[0].differing(trees[1])}, key=utf16_key)
            return tuple(change for key in keys for change in self._root_changes(repository, trees, key))

    def _root_changes(
        self, repository: Repository, trees: Sequence[Folder], key: str
    ) -> Iterator[VersionChange]:
        empty = StoredRoot(Folder(repository.tree), {}, {})
        before, after = (StoredRoot.load(repository, tree, key) or empty for tree in trees)
        content = {unescape_rel(names) for names, _, _ in before.files.differing(after.files)}
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
            yield VersionChange(
                key, rel, versions[0], versions[1], before.data.get(rel), after.data.get(rel), self._content
            )

    def check(self) -> tuple[str, ...]:
        """Read the whole history, and return one sentence for each problem; empty for an intact history."""
        problems = []
        with in_words():
            for path in sorted(self._path.parent.glob(f"{self._path.name}.damaged-*")):
                problems.append(f"A damaged history was renamed to {shown(path.name)}.")
            try:
                repository = self._open()
                tip = repository.tip() if repository else None
            except DamagedHistoryError as damage:
                return (*problems, f"The history is damaged: {damage}.")
            if repository is not None and tip is not None:
                problems += [f"The history is damaged: {damage}." for damage in repository.damages(tip)]
        return tuple(problems)

    def _content(self, version: FileVersion | None) -> bytes | None:
        if version is None:
            return None
        if version.omitted:
            raise StoreError(
                "The history does not contain the text of this version.",
                cause="The file was larger than 64 MiB, so the history contains only its hash.",
                next_step="Restore the file from your own backup.",
                reason="omitted",
            )
        with in_words():
            repository = self._open()
            if repository is None:
                raise MissingVersionError(version.blob)
            return repository.blob(bytes.fromhex(version.blob))

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
    """Context manager: turn errors of the history's repository into `UserError`s, which a person can read."""
    try:
        yield
    except DamagedHistoryError as error:
        raise StoreError(
            "The history cannot be read.",
            cause=f"The history is damaged: {error}.",
            next_step="At the next change, Reverie keeps the damaged history in a renamed folder and "
            "starts a new one.",
            reason="damaged",
        ) from error
    except MissingVersionError as error:
        raise StoreError(
            "This version is not in the history.",
            cause="It belongs to another history, perhaps one that was damaged and has since been replaced.",
            next_step="Choose another version.",
            reason="missing",
        ) from error
    except OSError as error:
        raise user_error_from_os(error, "The history could not be used.") from error
