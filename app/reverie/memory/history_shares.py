"""One look at the disk kept as several commits, each in the name of whoever made its part of the changes.

A `Sharer` is asked once the look is over and before anything is committed, so that what it judges is exactly
what is kept. Works under the commit lock (`memory.history`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from reverie.memory.history_commits import StoredCommit
from reverie.memory.history_names import escape_rel
from reverie.memory.history_objects import FILE_MODE, ObjectSink
from reverie.memory.history_repository import Repository
from reverie.memory.history_roots import FILES, METADATA, StoredRoot, key_name, key_of, rel_of
from reverie.memory.history_tree import Folder, Leaf


@dataclass(frozen=True, slots=True)
class SeenChange:
    """One file whose content is another than the last commit's; None: it was not, or is not, there."""

    key: str
    rel: str
    before: Callable[[], bytes | None] = field(repr=False, compare=False)
    after: Callable[[], bytes | None] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Share:
    """What one of them changed."""

    actor: str
    run_id: str | None
    changes: Sequence[SeenChange]


Sharer = Callable[[Sequence[SeenChange], int | None], Sequence[Share]]
"""The changes, and when the last commit was made (UTC ms; None: there is none): who made which, in the order
in which they are to be committed. Pins and use go with the first."""


def seen_changes(
    repository: Repository, sink: ObjectSink, last: StoredCommit | None, now: Folder
) -> tuple[SeenChange, ...]:
    """Every file whose content `now` differs from the last commit's."""

    def read(leaf: Leaf | None) -> bytes | None:
        if leaf is None:
            return None
        sink.flush()
        return repository.read(leaf.id, "blob")

    found = []
    for names, before, after in Folder(repository.tree, last.tree if last else None).differing(now):
        same = before is not None and after is not None and before.id == after.id
        if len(names) > 2 and names[1] == FILES and not same:
            where = key_of(names[0]), rel_of(names[2:])
            found.append(SeenChange(*where, partial(read, before), partial(read, after)))
    return tuple(found)


def steps(
    repository: Repository,
    sink: ObjectSink,
    last: StoredCommit | None,
    now: Folder,
    shares: Sequence[Share],
) -> Iterator[tuple[Share, bytes | None]]:
    """The tree to commit for each share; the last one is `now` itself, whatever the shares leave out."""
    tree = Folder(repository.tree, last.tree if last else None)
    for share in shares[:-1]:
        for key in sorted({change.key for change in share.changes}):
            final = StoredRoot.load(repository, now, key)
            root = StoredRoot.load(repository, tree, key) or StoredRoot(Folder(repository.tree), {}, {})
            for change in share.changes:
                if change.key == key:
                    _take(root, change.rel, final)
            if share is shares[0] and final is not None:
                root.data = final.data
            tree.put((key_name(key), FILES), root.files)
            tree.put((key_name(key), METADATA), Leaf(FILE_MODE, sink.put("blob", root.metadata_blob())))
        yield share, tree.write(sink)
    yield shares[-1], now.write(sink)


def _take(root: StoredRoot, rel: str, final: StoredRoot | None) -> None:
    """One file as it is in the end. What became a folder, or was one, belongs to other changes."""
    names = escape_rel(rel)
    if isinstance(root.files.get(names), Leaf):
        root.remove(rel)
    if final is not None and isinstance(final.files.get(names), Leaf):
        root.take_over(rel, final)
