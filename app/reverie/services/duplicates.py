"""Notes with the same content, which the user can review and merge.

Equal bodies are found by their folded text; other pairs by `jobs.consolidate.relations`. Pairs that differ in
a number, a name or a version are listed as "alike", with the reason. A merge is one `ChangeSet`
of kind "merge": one file is written, the others are deleted, and one `Undo` reverts it. It applies only to
files that still have the hashes that were shown.

Threading: blocking, any thread but the GUI's; `check` is called often, may raise to stop, and lets other
threads run now and then (`Patient`). Failure: `UserError`; files that cannot be compared are counted.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from reverie.agents.scopes import Scope, ScopeContext, ScopeRoot
from reverie.errors import StoreError, Unavailable
from reverie.jobs.consolidate.relations import ComparedText, Difference, TextIndex, compare
from reverie.jobs.consolidate.rules.merge import merge
from reverie.memory.listing import NameScanner, no_check, read_rel
from reverie.memory.paths import memory_path, parse_memory_path, utf16_key
from reverie.memory.scope_files import sha256_of_bytes
from reverie.memory.union import lost_lines, union
from reverie.memory.usage_rules import UNUSED
from reverie.runs.card import What
from reverie.services.changes import ChangeSet
from reverie.services.container import Contexts, HomeContainer, rooted_files, roots_of
from reverie.services.views import HandChange, Undo
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.memory.usage_rules import MemoryUsage


GroupKind = Literal["exact", "near", "alike"]
# The least share of a note that another one has, if both state the same, or if they differ.
_NEAR = 0.8
_ALIKE = 0.5
_TURN_S = 0.004
_KINDS: tuple[GroupKind, ...] = ("exact", "near", "alike")


class DuplicateFile(Struct, frozen=True):
    """One note as it was read.

    `owner`: the name of its project or workspace, "" for global.
    """

    root_key: str
    rel: str
    scope: Scope
    owner: str
    sha256: str
    size: int
    mtime_ns: int
    pinned: bool
    access_count: int

    @property
    def path(self) -> str:
        return str(memory_path(self.scope, self.rel))


class DuplicateGroup(Struct, frozen=True):
    """Notes that belong together; the one most worth keeping is first.

    `similarity`: that of the two least similar notes that are directly linked, 0 to 1. `reason`: why the
    notes of a group of kind "alike" do not count as the same.
    """

    kind: GroupKind
    files: tuple[DuplicateFile, ...]
    similarity: float
    reason: str = ""


class DuplicateProgress(Struct, frozen=True):
    """The progress of a search: `done` of `total` parts of the present `step` ("read", "pair" or "judge")."""

    step: Literal["read", "pair", "judge"]
    done: int
    total: int


class ReadNote(Struct, frozen=True):
    """A memory and its text as it was read, for the search for duplicates."""

    file: DuplicateFile
    text: str

    @property
    def path(self) -> str:
        return self.file.path


class _Link(Struct, frozen=True):
    first: int
    second: int
    similarity: float
    reason: str


_DIFFERENCES: dict[What, str] = {
    "number": "a number",
    "version": "a version",
    "name": "a name",
    "negation": "a negation",
    "certainty": "what is done, certain or still valid",
    "place": "the heading above",
    "merged": "the order of the words",
    "generalised": "a detail",
}


def _reason(difference: Difference) -> str:
    first, second = difference.first, difference.second
    return f"lines {first.line} and {second.line} differ in {_DIFFERENCES[difference.what]}"


class DuplicateFinder:
    """One search over notes that were read before.

    Reads no files: the result depends only on the notes.
    """

    def __init__(
        self, notes: list[ReadNote], progress: Callable[[DuplicateProgress], None], check: Callable[[], None]
    ) -> None:
        self._notes = notes
        self._progress = progress
        self._check = check
        self._texts = [ComparedText(note.path, note.text) for note in notes]

    def groups(self) -> Iterator[DuplicateGroup]:
        """Yield all groups: the surest kind first, then the most similar notes."""
        same = self._same_bodies()
        # One note represents all that are equal to it.
        near, alike = self._judged([members[0] for members in same])
        found = [*self._joined(same, near), *self._alike(alike)]
        return iter(sorted(found, key=lambda group: (_KINDS.index(group.kind), -group.similarity,
                                                     utf16_key(group.files[0].path))))  # fmt: skip

    def _same_bodies(self) -> list[list[int]]:
        same: dict[tuple[str, int], list[int]] = defaultdict(list)
        for number, text in enumerate(self._texts):
            self._check()
            # Notes without words are equal to none.
            same[(text.body, -1) if text.body else ("", number)].append(number)
        return list(same.values())

    def _judged(self, speakers: Sequence[int]) -> tuple[list[_Link], list[_Link]]:
        self._progress(DuplicateProgress("pair", 0, 1))
        pairs = list(TextIndex((self._notes[each].text for each in speakers), self._check).related_pairs())
        near: list[_Link] = []
        alike: list[_Link] = []
        for done, (one, other) in enumerate(pairs):
            if done % 16 == 0:
                self._progress(DuplicateProgress("judge", done, len(pairs)))
            first, second = speakers[one], speakers[other]
            relation = compare(self._texts[first], self._texts[second], self._check)
            if relation.differences and relation.score >= _ALIKE and relation.kind != "exact":
                alike.append(_Link(first, second, relation.score, _reason(relation.differences[0])))
            elif not relation.differences and relation.score >= _NEAR:
                near.append(_Link(first, second, relation.score, ""))
        return near, alike

    def _joined(self, same: Sequence[Sequence[int]], near: Sequence[_Link]) -> Iterator[DuplicateGroup]:
        """Yield groups of identical notes, and groups of notes that are connected by near-duplicate links."""
        of = {members[0]: list(members) for members in same}
        above: dict[int, int] = {}

        def root(number: int) -> int:
            while number in above:
                number = above[number]
            return number

        least: dict[int, float] = {}
        for link in sorted(near, key=lambda link: -link.similarity):
            one, other = root(link.first), root(link.second)
            if one != other:
                above[other] = one
                least[one] = min(least.get(one, 1.0), least.pop(other, 1.0), link.similarity)
        joined: dict[int, list[int]] = defaultdict(list)
        for speaker, members in of.items():
            joined[root(speaker)] += members
        for top, members in joined.items():
            if len(members) > 1:
                kind: GroupKind = "near" if top in least else "exact"
                yield DuplicateGroup(kind, self._ordered(members), least.get(top, 1.0))

    def _alike(self, alike: Sequence[_Link]) -> Iterator[DuplicateGroup]:
        for link in alike:
            files = self._ordered((link.first, link.second))
            yield DuplicateGroup("alike", files, link.similarity, link.reason)

    def _ordered(self, members: Sequence[int]) -> tuple[DuplicateFile, ...]:
        """Sort files: pinned ones first, then by usage, then newer ones, then shorter names."""
        files = [self._notes[number].file for number in members]
        return tuple(
            sorted(
                files,
                key=lambda file: (
                    not file.pinned,
                    -file.access_count,
                    -file.mtime_ns,
                    len(file.rel),
                    file.path,
                ),
            )
        )


class Patient:
    """A wrapper of a check for cancellation that also lets other threads run.

    So a window in the same process stays responsive.
    """

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check
        self._last = time.monotonic()

    def check(self) -> None:
        """Call the check that was passed in, which may raise, and let other threads run.

        At most once in `_TURN_S` seconds; a call in between does nothing.
        """
        now = time.monotonic()
        if now - self._last >= _TURN_S:
            self._check()
            time.sleep(min(now - self._last, 0.01) / 2)
            self._last = time.monotonic()


def _deletion(file: DuplicateFile) -> HandChange:
    return HandChange(file.path, None, file.sha256)


class DuplicateReport(Struct, frozen=True):
    """The result of a search: the groups, surest first.

    `left_out`: the number of files that are not text, too large, or unreadable.
    """

    groups: tuple[DuplicateGroup, ...]
    looked_at: int
    left_out: int
    problem: str = ""
    """The reason why pins are unknown, so that they cannot affect the order; empty if they are known."""


class MergeSeed(Struct, frozen=True):
    """The starting point of a merge.

    `texts` are the texts of the group's files, in its order. `result` is the suggested text, which has every
    line of all of them.
    """

    texts: tuple[str, ...]
    result: str


class DuplicateService:
    """The service that finds and merges duplicate memories of one home."""

    def __init__(self, parts: HomeContainer) -> None:
        self._parts = parts

    def find(
        self,
        context: ScopeContext | None,
        *,
        progress: Callable[[DuplicateProgress], None] = lambda _step: None,
        check: Callable[[], None] = no_check,
    ) -> DuplicateReport:
        """Find groups of duplicates in the scopes of `context`; None: in the whole home."""
        check = Patient(check).check
        notes, left_out = self._read(self._roots(context), progress, check)
        groups = tuple(DuplicateFinder(notes, progress, check).groups())
        return DuplicateReport(groups, len(notes), left_out, self._parts.usage.problem())

    def files(self, context: ScopeContext, paths: Sequence[str]) -> tuple[DuplicateFile, ...]:
        """Return the memories at these paths. Raises `StoreError` if one does not exist."""
        usage, contexts = self._parts.usage.load_for_showing(), Contexts(self._parts)
        roots = {root.scope: root for root in self._roots(context)}
        found = []
        for path in paths:
            parsed = parse_memory_path(path)
            root = roots.get(parsed.scope) if parsed.scope is not None else None
            note = None
            if root is not None:
                key = self._parts.home.usage_key(root, parsed.rel) or ""
                note = self._note(root, parsed.rel, usage.get(key) or UNUSED, contexts.owner(root.key))
            if note is None:
                raise StoreError(f"{path} no longer exists.", next_step="Refresh.", reason="missing")
            found.append(note.file)
        return tuple(found)

    def texts(self, files: Sequence[DuplicateFile]) -> tuple[str, ...]:
        """Read the texts of these files. Raises `StoreError` if one changed since it was compared."""
        roots = {root.key: root for root in self._parts.home.roots()}
        found = []
        for file in files:
            root = roots.get(file.root_key)
            entry = rooted_files(root).entry(file.rel) if root is not None else None
            data = rooted_files(root).read(file.rel) if root is not None and entry is not None else None
            if sha256_of_bytes(data) != file.sha256 or data is None:
                raise StoreError(
                    f"{file.path} is no longer the file that was compared:",
                    cause="it was changed or deleted meanwhile.",
                    next_step="Look for duplicates again.",
                    reason="changed",
                )
            found.append(data.decode("utf-8"))
        return tuple(found)

    def seed(self, files: Sequence[DuplicateFile]) -> MergeSeed:
        """Return the starting point for merging `files`; the first of them is the one to keep."""
        texts = self.texts(files)
        result = texts[0]
        for text in texts[1:]:
            result = self._united(result, text)
        return MergeSeed(texts, result)

    def merge(self, files: Sequence[DuplicateFile], content: str) -> Undo:
        """Write `content` into the first file and delete the others, as one change; return its `Undo`.

        If any of them is pinned, the result is. Raises `Conflict` if one changed since it was read,
        `Unavailable` if no context shows all of them.
        """
        data = content.encode("utf-8", "surrogatepass")
        written = [HandChange(file.path, data, file.sha256) for file in files[:1]]
        changes = [*written, *map(_deletion, files[1:])]
        return self._make_one(files, changes, f"Merged {len(files)} memories by hand")

    def keep(self, files: Sequence[DuplicateFile]) -> Undo:
        """Keep the first file unchanged and delete the others, as one change; return its `Undo`.

        If any of them is pinned, the first file is pinned. Raises as `merge` does, and `StoreError` if one
        differs from the text that was read.
        """
        self.texts(files)
        changes = [_deletion(file) for file in files[1:]]
        return self._make_one(files, changes, f"Kept one of {len(files)} memories by hand")

    def _make_one(self, files: Sequence[DuplicateFile], changes: Sequence[HandChange], subject: str) -> Undo:
        if len(files) < 2:
            raise StoreError("Select two or more memories.", next_step="Select at least two of the group.")
        context = Contexts(self._parts).of({file.root_key for file in files})
        if context is None:
            raise Unavailable(
                "These memories cannot be merged here:",
                cause="they belong to different projects or workspaces, and agents never mix those memories.",
                next_step="Move one of them to global scope first, or leave it out of the merge.",
            )
        target, *others = files
        pins = {target.path: True} if any(file.pinned for file in others) and not target.pinned else {}
        return ChangeSet(self._parts).apply(context, changes, kind="merge", subject=subject, pins=pins)

    def _united(self, first: str, second: str) -> str:
        """Merge two texts as a consolidation does. If that would lose a line, join all lines of both."""

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
        self,
        roots: Sequence[ScopeRoot],
        progress: Callable[[DuplicateProgress], None],
        check: Callable[[], None],
    ) -> tuple[list[ReadNote], int]:
        names = [(root, rel) for root in roots for rel in _names(root)]
        usage, contexts = self._parts.usage.load_for_showing(), Contexts(self._parts)
        notes: list[ReadNote] = []
        left_out = 0
        for number, (root, rel) in enumerate(names):
            check()
            if number % 64 == 0:
                progress(DuplicateProgress("read", number, len(names)))
            note = self._note(root, rel, usage.get(self._parts.home.usage_key(root, rel) or "") or UNUSED,
                              contexts.owner(root.key))  # fmt: skip
            if note is None:
                left_out += 1
            else:
                notes.append(note)
        return notes, left_out

    def _note(self, root: ScopeRoot, rel: str, usage: MemoryUsage, owner: str) -> ReadNote | None:
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
    scanner = NameScanner(root)
    try:
        scanner.scan()
    except FileNotFoundError:
        return []
    return sorted((file.rel for file in scanner.files), key=utf16_key)
