"""What was deleted, read from the history newest first, page by page.

A file that went away in a commit was deleted, unless a file with the same content came in the same commit:
then it was moved or renamed. One that stands again where it stood, with the same content, is not listed any
more; of several deletions of one content at one place only the newest is. Companions are not memories and are
left out. Nothing is guessed across commits.

Reads only, through a `Repository` that the caller opened. Errors are those of `Repository`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from reverie.memory.companion_places import is_of_companions
from reverie.memory.history_commits import Commit, StoredCommit
from reverie.memory.history_log import Place
from reverie.memory.history_repository import DamagedError, Repository
from reverie.memory.history_roots import FILES, key_of, rel_of
from reverie.memory.history_tree import Folder, Leaf

COMMITS_A_PAGE = 500


@dataclass(frozen=True, slots=True)
class Deletion:
    """One file that went. `commit` took it away; `kept_in` is the one before, which has it under `place`.
    `size` None: its content cannot be had."""

    place: Place
    blob: str
    commit: Commit
    kept_in: str
    size: int | None


@dataclass(frozen=True, slots=True)
class DeletionPage:
    """Newest first; `next`: the commit to go on from, None: the beginning of the history is reached."""

    deletions: tuple[Deletion, ...] = ()
    next: str | None = None


def read_deletions(
    repository: Repository,
    start: str,
    *,
    check: Callable[[], None],
    commits: int = COMMITS_A_PAGE,
) -> DeletionPage:
    """The deletions of at most `commits` commits from `start` back. `check` may raise to stop. Raises
    MissingVersionError, DamagedError."""
    tip = repository.tip()
    head = Folder(repository.tree, repository.commit(tip).tree) if tip is not None else None
    found: dict[tuple[Place, str], Deletion] = {}
    stored = repository.commit_named(start)
    for _ in range(commits):
        check()
        if stored.parent is None:
            return DeletionPage(tuple(found.values()))
        parent = repository.commit(stored.parent)
        for place, leaf in _gone(repository, stored, parent):
            key = (place, leaf.id.hex())
            if key in found or (head is not None and head.get(place.names) == leaf):
                continue
            found[key] = Deletion(
                place, leaf.id.hex(), stored.commit, parent.commit.id, _size(repository, leaf)
            )
        stored = parent
    return DeletionPage(tuple(found.values()), stored.commit.id if stored.parent is not None else None)


def _gone(repository: Repository, stored: StoredCommit, parent: StoredCommit) -> Iterator[tuple[Place, Leaf]]:
    gone: list[tuple[Place, Leaf]] = []
    came: Counter[bytes] = Counter()
    after, before = Folder(repository.tree, stored.tree), Folder(repository.tree, parent.tree)
    for names, now, then in after.differing(before):
        if len(names) < 3 or names[1] != FILES:
            continue
        if then is None and now is not None:
            came[now.id] += 1
        elif now is None and then is not None:
            place = Place(key_of(names[0]), rel_of(names[2:]))
            if not is_of_companions(place.key):
                gone.append((place, then))
    for place, leaf in sorted(gone, key=lambda each: each[0]):
        if came[leaf.id] > 0:
            came[leaf.id] -= 1
        else:
            yield place, leaf


def _size(repository: Repository, leaf: Leaf) -> int | None:
    try:
        return len(repository.read(leaf.id, "blob"))
    except DamagedError:
        return None  # kept by hash only
