"""The log of one path, of a folder or of a whole root: which commits changed it, newest first, page by page.

A file that appears in the very commit in which another one with the same content went away was renamed (or
moved into another root): the log goes on where it stood before. Without an equal content the most similar of
the files that went decides, if at least half of the lines are the same. So for folders by what lies in them.
Nothing else is guessed: a path that was deleted and made anew later goes on under its own name.

Reads only, through a `Repository` that the caller opened. A page looks at a bounded number of commits, so it
may hold fewer entries than asked for, or none, and still have a next one. Errors are those of `Repository`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from reverie.memory.companion_places import is_of_companions
from reverie.memory.history_commits import Commit, StoredCommit
from reverie.memory.history_names import escape_rel
from reverie.memory.history_objects import TreeEntry
from reverie.memory.history_repository import DamagedError, Repository
from reverie.memory.history_roots import FILES, key_name, key_of, rel_of
from reverie.memory.history_tree import Folder, Leaf

COMMITS_A_PAGE = 1_000
_MOST_COMPARED = 40
_MOST_COMPARED_BYTES = 256 * 1024
_SIMILAR = 0.5

What = Literal["created", "changed", "deleted", "renamed", "moved-away"]


class Place(NamedTuple):
    """A file, a folder or (with an empty `rel`) a whole root."""

    key: str
    rel: str

    @property
    def names(self) -> tuple[bytes, ...]:
        return (key_name(self.key), FILES, *(escape_rel(self.rel) if self.rel else ()))


class Cursor(NamedTuple):
    """Where a log goes on: at this commit, and what is followed is there at `place`."""

    commit: str
    place: Place


@dataclass(frozen=True, slots=True)
class LogEntry:
    """What one commit did to what is followed.

    `place` is where it stands after the commit, before it where it was deleted. `other`: where it stood
    before (renamed), or went to (moved away). `blob`: the content after it, "" for folders and where there is
    none. The counts are of files; `moved` have another name and the same content.
    """

    commit: Commit
    place: Place
    what: What
    blob: str = ""
    other: Place | None = None
    created: int = 0
    changed: int = 0
    deleted: int = 0
    moved: int = 0


@dataclass(frozen=True, slots=True)
class LogPage:
    """Part of a log, newest first; `next` None: the beginning of the history is reached, or what was known
    already (`reached`). `head`: the newest commit when it was read."""

    entries: tuple[LogEntry, ...] = ()
    next: Cursor | None = None
    head: str = ""
    reached: bool = False


def read_page(
    repository: Repository, start: Cursor, *, limit: int, until: str = "", head: str = ""
) -> LogPage:
    """At most `limit` entries from `start` on; none of the commit `until` and those before it. Raises
    MissingVersionError, DamagedError."""
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
            entry = _Step(repository, stored, parent, place).entry(here, there)
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


@dataclass(frozen=True)
class _Step:
    """One commit beside the one before it."""

    repository: Repository
    after: StoredCommit
    before: StoredCommit | None
    place: Place
    _leaves: dict[str, list[tuple[Place, Leaf]]] = field(default_factory=dict)

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
        old = there
        if what == "renamed" and other is not None and self.before is not None:
            old = self.repository.entry(self.before.tree, other.names)
        return LogEntry(self.after.commit, self.place, what, blob, other, *self._counts(here, old))

    def _counts(self, here: TreeEntry | None, there: TreeEntry | None) -> tuple[int, int, int, int]:
        """Files created, changed, deleted, moved."""
        changed = 0
        created: Counter[bytes] = Counter()
        deleted: Counter[bytes] = Counter()
        for _names, now, before in self._wrapped(here).differing(self._wrapped(there)):
            if before is None and now is not None:
                created[now.id] += 1
            elif now is None and before is not None:
                deleted[before.id] += 1
            else:
                changed += 1
        moved = (created & deleted).total()
        return created.total() - moved, changed, deleted.total() - moved, moved

    def _wrapped(self, entry: TreeEntry | None) -> Folder:
        """A folder with the entry in it, so that files and folders are counted alike."""
        folder = Folder(self.repository.tree)
        if entry is not None:
            node = Folder(self.repository.tree, entry.id) if entry.is_tree else Leaf(entry.mode, entry.id)
            folder.put((b"it",), node)
        return folder

    def _counterpart(self, entry: TreeEntry | None, *, gone: bool) -> Place | None:
        """Where what came now stood before (`gone`), or where what went now stands."""
        if entry is None or self.before is None or not self.place.rel:
            return None
        candidates = self._moved(gone=gone)
        if not candidates:
            return None
        if entry.is_tree:
            return self._folder_counterpart(entry, candidates)
        same = [place for place, leaf in candidates if leaf.id == entry.id]
        if same:
            return self._nearest(same, empty=self._is_empty(entry.id))
        return self._similar(entry.id, candidates)

    def _moved(self, *, gone: bool) -> list[tuple[Place, Leaf]]:
        """Every file of the commit that went away, or that came."""
        if not self._leaves:
            trees = [
                Folder(self.repository.tree, stored.tree) if stored else Folder(self.repository.tree)
                for stored in (self.after, self.before)
            ]
            self._leaves.update(gone=[], came=[])
            for names, now, before in trees[0].differing(trees[1]):
                if len(names) < 3 or names[1] != FILES:
                    continue
                place = Place(key_of(names[0]), rel_of(names[2:]))
                if is_of_companions(place.key):
                    continue  # no memory ever was one, whatever they have in common
                if now is None and before is not None:
                    self._leaves["gone"].append((place, before))
                elif before is None and now is not None:
                    self._leaves["came"].append((place, now))
        return self._leaves["gone" if gone else "came"]

    def _nearest(self, places: Sequence[Place], *, empty: bool) -> Place | None:
        """Of several with the same content the one with the same name, in the same root, close by. Empty
        files all look alike: only the name tells."""
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

    def _similar(self, blob: bytes, candidates: Sequence[tuple[Place, Leaf]]) -> Place | None:
        if len(candidates) > _MOST_COMPARED:
            name = _name(self.place)
            candidates = [each for each in candidates if _name(each[0]) == name][:_MOST_COMPARED]
        ours = self._lines(blob)
        best: tuple[float, Place] | None = None
        for place, leaf in candidates if ours else ():
            theirs = self._lines(leaf.id)
            score = (ours & theirs).total() / max(ours.total(), theirs.total()) if theirs else 0.0
            if score >= _SIMILAR and (best is None or score > best[0]):
                best = score, place
        return best[1] if best is not None else None

    def _folder_counterpart(self, entry: TreeEntry, candidates: Sequence[tuple[Place, Leaf]]) -> Place | None:
        """The folder that most of its files come from, or went to, if those are at least half of them."""
        by_blob: dict[bytes, list[Place]] = {}
        for place, leaf in candidates:
            by_blob.setdefault(leaf.id, []).append(place)
        votes: Counter[Place] = Counter()
        total = 0
        for names, leaf in Folder(self.repository.tree, entry.id).leaves():
            total += 1
            inside = f"/{rel_of(names)}"
            votes.update(
                {
                    Place(place.key, place.rel.removesuffix(inside))
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
        """The lines that say something; none of what is too large to compare or not kept."""
        try:
            content = self.repository.read(blob, "blob")
        except DamagedError:
            return Counter()  # kept by hash only
        if len(content) > _MOST_COMPARED_BYTES:
            return Counter()
        return Counter(line for line in content.split(b"\n") if line.strip())

    def _is_empty(self, blob: bytes) -> bool:
        return blob.hex() == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


def leaves_at(repository: Repository, tree: bytes, place: Place) -> Iterator[tuple[str, str]]:
    """(path below the root, blob) of every file at a place and below, in a commit's tree."""
    entry = repository.entry(tree, place.names)
    if entry is None:
        return
    if not entry.is_tree:
        yield place.rel, entry.id.hex()
        return
    prefix = f"{place.rel}/" if place.rel else ""
    for names, leaf in Folder(repository.tree, entry.id).leaves():
        yield prefix + rel_of(names), leaf.id.hex()


def _name(place: Place) -> str:
    return place.rel.rpartition("/")[2]


def _common(one: str, other: str) -> str:
    length = 0
    for mine, theirs in zip(one.split("/"), other.split("/"), strict=False):
        if mine != theirs:
            break
        length += len(mine) + 1
    return one[:length]
