"""Directories of the history as values that can be edited in part.

A `Folder` knows the id of the tree it stands for and loads its entries only when somebody looks inside, so a
snapshot of one changed file among many reads and writes only the trees on the way to it. Names are stored
names (`history_names`). Empty folders do not exist in git: they vanish when written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from reverie.memory.history_objects import TREE_MODE, ObjectSink, TreeEntry, encode_tree

Loader = Callable[[bytes], Iterable[TreeEntry]]
Names = tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A stored file: git's mode and the raw id of its content."""

    mode: int
    id: bytes


class Folder:
    """One directory. `load` gives the entries of a stored tree and is called at most once."""

    __slots__ = ("_entries", "_id", "_load")

    def __init__(self, load: Loader, tree_id: bytes | None = None) -> None:
        self._load = load
        self._id = tree_id
        self._entries: dict[bytes, Leaf | Folder] | None = None if tree_id else {}

    def get(self, names: Names) -> Leaf | Folder | None:
        """What lies at the path; this folder itself for an empty path."""
        node: Leaf | Folder | None = self
        for name in names:
            if not isinstance(node, Folder):
                return None
            node = node._children().get(name)
        return node

    def folder(self, names: Names) -> Folder:
        """The folder at the path, an empty one where there is none (which is then not part of this one)."""
        node = self.get(names)
        return node if isinstance(node, Folder) else Folder(self._load)

    def put(self, names: Names, node: Leaf | Folder) -> None:
        """Set what lies at the path (not empty); a file on the way gives way to a folder."""
        self._changing_parent(names)[names[-1]] = node

    def remove(self, names: Names) -> None:
        """Remove what lies at the path (not empty), if anything does."""
        if self.get(names) is not None:
            del self._changing_parent(names)[names[-1]]

    def leaves(self, prefix: Names = ()) -> Iterator[tuple[Names, Leaf]]:
        """Every file below, with its path."""
        stack: list[tuple[Names, Leaf | Folder]] = [(prefix, self)]
        while stack:
            names, node = stack.pop()
            if isinstance(node, Leaf):
                yield names, node
            else:
                stack.extend(((*names, name), child) for name, child in node._children().items())

    def differing(self, other: Folder) -> Iterator[tuple[Names, Leaf | None, Leaf | None]]:
        """Files that differ from `other`: path, here, there. Equal trees are not opened."""
        stack: list[tuple[Names, Leaf | Folder | None, Leaf | Folder | None]] = [((), self, other)]
        while stack:
            names, here, there = stack.pop()
            if here == there or (_id_of(here) is not None and _id_of(here) == _id_of(there)):
                continue
            here_leaf = here if isinstance(here, Leaf) else None
            there_leaf = there if isinstance(there, Leaf) else None
            if here_leaf or there_leaf:
                yield names, here_leaf, there_leaf
            ours = here._children() if isinstance(here, Folder) else {}
            theirs = there._children() if isinstance(there, Folder) else {}
            stack.extend(((*names, name), ours.get(name), theirs.get(name)) for name in {*ours, *theirs})

    def write(self, sink: ObjectSink) -> bytes | None:
        """The id of this folder, written to `sink` where it is new; None if no file lies in it."""
        if self._id is not None:
            return self._id
        # Depth first without recursion: a path may be deeper than Python's stack.
        order: list[Folder] = []
        stack: list[Folder] = [self]
        while stack:
            folder = stack.pop()
            order.append(folder)
            stack.extend(
                child
                for child in folder._children().values()
                if isinstance(child, Folder) and child._id is None
            )
        for folder in reversed(order):
            folder._write_flat(sink)
        return self._id

    def _write_flat(self, sink: ObjectSink) -> None:
        """Write this folder, all of whose folders are written."""
        entries = []
        for name, node in self._children().items():
            if isinstance(node, Leaf):
                entries.append(TreeEntry(name, node.mode, node.id))
            elif node._id is not None:
                entries.append(TreeEntry(name, TREE_MODE, node._id))
        self._id = sink.put("tree", encode_tree(entries)) if entries else None

    def _changing_parent(self, names: Names) -> dict[bytes, Leaf | Folder]:
        """The entries beside the last name of a path, with every folder on the way marked as changed."""
        children = self._changing()
        for name in names[:-1]:
            child = children.get(name)
            if not isinstance(child, Folder):
                child = children[name] = Folder(self._load)
            children = child._changing()
        return children

    def _changing(self) -> dict[bytes, Leaf | Folder]:
        children = self._children()
        self._id = None
        return children

    def _children(self) -> dict[bytes, Leaf | Folder]:
        if self._entries is None:
            self._entries = {
                entry.name: Folder(self._load, entry.id) if entry.is_tree else Leaf(entry.mode, entry.id)
                for entry in self._load(self._id or b"")
            }
        return self._entries


def _id_of(node: Leaf | Folder | None) -> bytes | None:
    return node._id if isinstance(node, Folder) else None
