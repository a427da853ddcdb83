"""Merges of notes by hand: several notes become one.

A merge is one `ChangeSet` of kind "merge": one file is written or kept, the others are deleted, and one
`Undo` reverts it. It applies only to files that still have the hashes with which they were read.

Threading: blocking, any thread but the GUI's. Failure: `UserError`.
"""

from __future__ import annotations

from collections.abc import Sequence

from reverie.agents.scopes import Scope, ScopeContext, ScopeRoot
from reverie.errors import StoreError, Unavailable
from reverie.jobs.consolidate.rules.merge import merge
from reverie.memory.paths import memory_path, parse_memory_path
from reverie.memory.scope_files import sha256_of_bytes
from reverie.memory.union import lost_lines, union
from reverie.memory.usage_rules import UNUSED
from reverie.services.changes import ChangeSet
from reverie.services.container import Contexts, HomeContainer, rooted_files, roots_of
from reverie.services.views import HandChange, Undo
from reverie.values import Struct


class FileToMerge(Struct, frozen=True):
    """One note that is merged with others, as it was when it was read."""

    root_key: str
    """The key of the note's root (`ScopeRoot.key`)."""
    rel: str
    """The path of the note below its root."""
    scope: Scope
    sha256: str
    """The hash of the content."""
    size: int
    """The size in bytes."""
    pinned: bool

    @property
    def path(self) -> str:
        return str(memory_path(self.scope, self.rel))


class MergeSeed(Struct, frozen=True):
    """The starting point of a merge."""

    texts: tuple[str, ...]
    """The texts of the files, in the order of the files."""
    result: str
    """The suggested text, which has every line of all of them."""


class MergeService:
    """The service that merges memories of one home by hand."""

    def __init__(self, parts: HomeContainer) -> None:
        self._parts = parts

    def files(self, context: ScopeContext, paths: Sequence[str]) -> tuple[FileToMerge, ...]:
        """Return the memories at these paths. Raises `StoreError` if one does not exist or is not text."""
        home, usage = self._parts.home, self._parts.usage.load_for_showing()
        roots = {root.scope: root for root in roots_of(home, context)}
        found = []
        for path in paths:
            parsed = parse_memory_path(path)
            root = roots.get(parsed.scope) if parsed.scope is not None else None
            text = _read(root, parsed.rel)
            if root is None or text is None:
                raise StoreError(f"{path} no longer exists.", next_step="Refresh.", reason="missing")
            pinned = (usage.get(home.usage_key(root, parsed.rel) or "") or UNUSED).pinned
            data = text.encode()
            sha256 = sha256_of_bytes(data) or ""
            found.append(FileToMerge(root.key, parsed.rel, root.scope, sha256, len(data), pinned))
        return tuple(found)

    def texts(self, files: Sequence[FileToMerge]) -> tuple[str, ...]:
        """Read the texts of these files. Raises `StoreError` if one has changed since it was read."""
        roots = {root.key: root for root in self._parts.home.roots()}
        found = []
        for file in files:
            text = _read(roots.get(file.root_key), file.rel)
            if text is None or sha256_of_bytes(text.encode()) != file.sha256:
                raise StoreError(
                    f"{file.path} is no longer the version that was compared:",
                    cause="it was changed or deleted after the comparison.",
                    next_step="Compare the memories again.",
                    reason="changed",
                )
            found.append(text)
        return tuple(found)

    def seed(self, files: Sequence[FileToMerge]) -> MergeSeed:
        """Return the starting point for merging `files`; the first of them is the one to keep."""
        texts = self.texts(files)
        result = texts[0]
        for text in texts[1:]:
            result = self._united(result, text)
        return MergeSeed(texts, result)

    def rewrite(self, context: ScopeContext, file: FileToMerge, content: str) -> Undo:
        """Write `content` into one memory that was compared with another one; return the `Undo`.

        Raises `Conflict` if the memory changed since it was read.
        """
        change = HandChange(file.path, content.encode("utf-8", "surrogatepass"), file.sha256)
        return ChangeSet(self._parts).apply(context, [change], kind="merge", subject="Compared by hand")

    def merge(self, files: Sequence[FileToMerge], content: str) -> Undo:
        """Write `content` into the first file and delete the others, as one change; return its `Undo`.

        If any of them is pinned, the result is. Raises `Conflict` if one changed since it was read,
        `Unavailable` if no context shows all of them.
        """
        if len(files) < 2:
            raise StoreError("A merge needs two memories.", next_step="Select at least two.")
        context = Contexts(self._parts).of({file.root_key for file in files})
        if context is None:
            raise Unavailable(
                "These memories cannot be merged here:",
                cause="they belong to different projects or workspaces, and agents never mix those memories.",
                next_step="Move one of them to global scope first, or leave it out of the merge.",
            )
        target, *others = files
        written = HandChange(target.path, content.encode("utf-8", "surrogatepass"), target.sha256)
        deleted = (HandChange(file.path, None, file.sha256) for file in others)
        pins = {target.path: True} if any(file.pinned for file in others) and not target.pinned else {}
        subject = f"Merged {len(files)} memories by hand"
        return ChangeSet(self._parts).apply(
            context, [written, *deleted], kind="merge", subject=subject, pins=pins
        )

    def _united(self, first: str, second: str) -> str:
        """Merge two texts as a consolidation does. If that would lose a line, join all lines of both."""
        one, two = first.encode(), second.encode()
        merged = merge(first, second, self._parts.home.caps)
        if merged is not None and not lost_lines(merged.encode(), one, two):
            return merged
        both = union(one, two)
        return both.decode() if both is not None else first


def _read(root: ScopeRoot | None, rel: str) -> str | None:
    """Return the text of a note; None if there is no such file, or if it is not text."""
    files = rooted_files(root) if root is not None else None
    data = files.read(rel) if files is not None and files.entry(rel) is not None else None
    try:
        return data.decode("utf-8") if data is not None else None
    except UnicodeDecodeError:
        return None
