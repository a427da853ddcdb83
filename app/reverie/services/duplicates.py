"""Notes that say the same, for a person to look through and to merge by hand.

How they are found says `services.duplicate_finding`; it reads files and nothing else. A merge is one
`HandChanges` of kind "merge": one file is written, the others go, and one `Undo` takes all of it back. What
is merged is what was looked at: the hashes are kept.

Threading: blocking, any thread but the GUI's; `check` is called often, may raise to stop, and gives the
interpreter away now and then. Failure: `MendableError`; files that cannot be compared are counted, not lost.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reverie.errors import StoreError, Unavailable
from reverie.homes.scopes import ScopeContext, ScopeRoot
from reverie.memory.line_union import lost_lines, union
from reverie.memory.paths import utf16_key
from reverie.memory.scanning import NameScanner, read_rel
from reverie.memory.store import sha256_of_bytes
from reverie.memory.usage import UNUSED
from reverie.services.contexts import Contexts, roots_of
from reverie.services.duplicate_finding import DuplicateFile as DuplicateFile
from reverie.services.duplicate_finding import DuplicateGroup as DuplicateGroup
from reverie.services.duplicate_finding import Finder, Patient, ReadNote
from reverie.services.duplicate_finding import Progress as Progress
from reverie.services.hand_changes import HandChanges
from reverie.services.parts import HomeParts, rooted_files
from reverie.services.views import HandChange, Undo

if TYPE_CHECKING:
    from reverie.memory.usage import Usage


def _never() -> None:
    """Nobody cancels."""


@dataclass(frozen=True, slots=True)
class DuplicateReport:
    """Groups, the surest first. `left_out`: how many files are no text, too large, or unreadable."""

    groups: tuple[DuplicateGroup, ...]
    looked_at: int
    left_out: int
    problem: str = ""
    """Why no pins are known, so that none speak for a memory; empty where they are."""


@dataclass(frozen=True, slots=True)
class MergeSeed:
    """What a merge begins with: the texts of the group's files in its order, and the suggested result, which
    has every line of all."""

    texts: tuple[str, ...]
    result: str


class DuplicateDesk:
    """The duplicates of one home."""

    def __init__(self, parts: HomeParts) -> None:
        self._parts = parts

    def find(
        self,
        context: ScopeContext | None,
        *,
        progress: Callable[[Progress], None] = lambda _step: None,
        check: Callable[[], None] = _never,
    ) -> DuplicateReport:
        """The groups in the scopes of `context`; None: in the whole home."""
        check = Patient(check).check
        notes, left_out = self._read(self._roots(context), progress, check)
        groups = tuple(Finder(notes, progress, check).groups())
        return DuplicateReport(groups, len(notes), left_out, self._parts.usage.problem())

    def texts(self, files: Sequence[DuplicateFile]) -> tuple[str, ...]:
        """The texts as they are now. Raises `StoreError` if one is not what was looked at any more."""
        roots = {root.key: root for root in self._parts.home.roots()}
        found = []
        for file in files:
            root = roots.get(file.root_key)
            entry = rooted_files(root).entry(file.rel) if root is not None else None
            data = rooted_files(root).read(file.rel) if root is not None and entry is not None else None
            if sha256_of_bytes(data) != file.sha256 or data is None:
                raise StoreError(
                    f"{file.path} is not what was compared:",
                    cause="it changed or went meanwhile.",
                    next_step="Look for duplicates again.",
                    reason="changed",
                )
            found.append(data.decode("utf-8"))
        return tuple(found)

    def seed(self, files: Sequence[DuplicateFile]) -> MergeSeed:
        """What merging `files` into the first of them begins with."""
        texts = self.texts(files)
        result = texts[0]
        for text in texts[1:]:
            result = self._united(result, text)
        return MergeSeed(texts, result)

    def merge(self, files: Sequence[DuplicateFile], content: str) -> Undo:
        """Write `content` into the first file and delete the others, as one. A pin of any of them stays.
        Raises `Conflict` where one changed since it was looked at, `Unavailable` where no context shows
        all."""
        if len(files) < 2:
            raise StoreError("A merge needs two memories.", next_step="Select at least two of the group.")
        context = Contexts(self._parts).of({file.root_key for file in files})
        if context is None:
            raise Unavailable(
                "These memories cannot be merged here:",
                cause="they belong to different projects or workspaces, whose memories agents never mix.",
                next_step="Move one of them to the global scope first, or take one of them out of the merge.",
            )
        target, *others = files
        changes = [HandChange(target.path, content.encode("utf-8", "surrogatepass"), target.sha256)]
        changes += [HandChange(file.path, None, file.sha256) for file in others]
        pins = {target.path: True} if any(file.pinned for file in others) and not target.pinned else {}
        subject = f"Merged {len(files)} memories by hand"
        return HandChanges(self._parts).apply(context, changes, kind="merge", subject=subject, pins=pins)

    def _united(self, first: str, second: str) -> str:
        """A dream's merge where no line is lost in it, else simply all lines of both."""
        from reverie.dream.rule_merge import merge

        one, two = first.encode(), second.encode()
        merged = merge(first, second, self._parts.home.caps)
        if merged is not None and not lost_lines(merged.encode(), one, two):
            return merged
        both = union(one, two)
        return both.decode() if both is not None else first

    def _roots(self, context: ScopeContext | None) -> list[ScopeRoot]:
        home = self._parts.home
        return list(home.roots()) if context is None else roots_of(home, context)

    def _read(
        self, roots: Sequence[ScopeRoot], progress: Callable[[Progress], None], check: Callable[[], None]
    ) -> tuple[list[ReadNote], int]:
        names = [(root, rel) for root in roots for rel in _names(root)]
        usage, contexts = self._parts.usage.load_for_showing(), Contexts(self._parts)
        notes: list[ReadNote] = []
        left_out = 0
        for number, (root, rel) in enumerate(names):
            check()
            if number % 64 == 0:
                progress(Progress("read", number, len(names)))
            note = self._note(root, rel, usage.get(self._parts.home.usage_key(root, rel) or "") or UNUSED,
                              contexts.owner(root.key))  # fmt: skip
            if note is None:
                left_out += 1
            else:
                notes.append(note)
        return notes, left_out

    def _note(self, root: ScopeRoot, rel: str, usage: Usage, owner: str) -> ReadNote | None:
        cap = self._parts.home.caps.file_bytes
        try:
            status, data = read_rel(os.fspath(root.directory), rel, cap + 1)
            text = data.decode("utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        if len(data) > cap or "\0" in text:
            return None
        sha256 = sha256_of_bytes(data)
        file = DuplicateFile(
            root.key,
            rel,
            root.scope,
            owner,
            sha256 or "",
            len(data),
            status.st_mtime_ns,
            usage.pinned,
            usage.access_count,
        )
        return ReadNote(file, text)


def _names(root: ScopeRoot) -> list[str]:
    scanner = NameScanner(os.fspath(root.directory), without=root.without)
    try:
        scanner.scan()
    except FileNotFoundError:
        return []
    return sorted((file.rel for file in scanner.files), key=utf16_key)
