"""Three-way merge of one file's lines (libgit2's, the same as git's).

Pure: nothing is written anywhere.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reverie.memory.history_repository import libgit2

if TYPE_CHECKING:
    import pygit2


@dataclass(frozen=True, slots=True)
class Merge:
    """`conflict` False: both changes are in `content`. True: they touch the same lines and `content` shows
    both between conflict markers, named unless that side is empty (of a binary file: `ours`, unchanged)."""

    content: bytes
    conflict: bool


def merge(base: bytes, ours: bytes, theirs: bytes) -> Merge:
    """Apply to `ours` what changed from `base` to `theirs`; line endings are kept byte for byte."""
    if ours == theirs or theirs == base:
        return Merge(ours, False)
    if ours == base:
        return Merge(theirs, False)
    if any(b"\0" in side for side in (base, ours, theirs)):
        return Merge(ours, True)
    return _merge_lines(base, ours, theirs)


def _merge_lines(base: bytes, ours: bytes, theirs: bytes) -> Merge:
    from pygit2.enums import FileMode

    git = libgit2()
    objects = _objects_in_memory()()
    odb = git.Odb()
    odb.add_backend(objects, 1)
    repository = git.Repository()
    repository.set_odb(odb)
    # The paths become the labels of the conflict markers. pygit2 hands the result out as text: as Latin-1
    # every byte is one character, so nothing is lost on the way there and back.
    entries = [
        git.IndexEntry(label, objects.add(side.decode("latin-1").encode()), FileMode.BLOB)
        for label, side in (("before", base), ("current", ours), ("incoming", theirs))
    ]
    result = repository.merge_file_from_index(*entries)
    return Merge(result.contents.encode("latin-1"), not result.automergeable)


@functools.cache
def _objects_in_memory() -> Any:
    """A class of object stores that never touch the disk (its base class is there only once pygit2 is)."""
    git = libgit2()

    class ObjectsInMemory(git.OdbBackend):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self._blobs: dict[str, bytes] = {}

        def add(self, content: bytes) -> pygit2.Oid:
            oid = git.hash(content)
            self._blobs[str(oid)] = content
            return oid  # type: ignore[no-any-return]

        def exists_cb(self, oid: pygit2.Oid) -> bool:
            return str(oid) in self._blobs

        def read_cb(self, oid: pygit2.Oid) -> tuple[int, bytes]:
            return git.GIT_OBJECT_BLOB, self._blobs[str(oid)]

        def read_header_cb(self, oid: pygit2.Oid) -> tuple[int, int]:
            return git.GIT_OBJECT_BLOB, len(self._blobs[str(oid)])

    return ObjectsInMemory
