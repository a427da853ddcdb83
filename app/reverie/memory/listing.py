"""The contents of one scope: every memory with its description, pin and use, and its visibility to the agent.

People see every file; files beyond the agent's caps or rules are marked, with the reason in words (design.md
section 4). `index_entries` is the agent's own view of a listing (formats/mux.md section 7): its order, its
cap, without the names it refuses.

A scan may start from an earlier listing: files with an unchanged stamp are not read again, and with a set of
dirty paths only these paths are examined. A file that vanishes during a scan is left out; one that cannot be
read is kept, with the reason.

Failure: a missing root is empty, unless its home is missing too: then `Unavailable` is raised, because a
disconnected disk must not count as a thousand deletions. `Unavailable` is also raised when this process has
no file descriptor left. A root that exists and cannot be read is reported in `unavailable`, a directory in
`problems`. Threading: blocking, any thread but the GUI's; a scanner belongs to one thread and one scan,
listings may be shared.
"""

from __future__ import annotations

import bisect
import dataclasses
import errno
import os
import re
import time
from collections.abc import Callable, Collection, Container, Iterable, Mapping, MutableSequence, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Literal, TypedDict

from reverie.agents.scopes import (
    Caps,
    DescriptionState,
    FileRole,
    FileRule,
    ProjectGap,
    Scope,
    ScopeRoot,
    unescape_key,
)
from reverie.errors import Unavailable, user_error_from_os
from reverie.files.directory import RACY_NS, Descent, Directory, SwappedError, refuse_link_upwards
from reverie.memory.front_matter import description
from reverie.memory.paths import memory_path, rel_problem, utf16_key
from reverie.memory.usage_rules import UNUSED, MemoryUsage
from reverie.text.summaries import JS_SPACE, first_heading
from reverie.values import Struct, replace

KeyOf = Callable[[str], str | None]
"""A function that returns the key under which the usage sidecar stores the memory at a relative path.

None if the workspace or project that owns the memory is unknown.
"""
UsageOf = Callable[[str], MemoryUsage | None]
"""A function that returns the usage of a relative path; None if it was never used or pinned."""
RulesOf = Callable[[str], tuple[FileRule | None, FileRole]]
"""A function that returns the rule and the role of the file at a relative path.

The rule is None if the file may be edited without conditions.
"""

_SUSPECT = re.compile(r'[~\\<>"%]')
_SURROGATE = re.compile("[\ud800-\udfff]")


class MemoryFile(Struct, frozen=True, gc=False, array_like=True):
    """One memory file.

    The garbage collector skips these objects (`gc=False`), which saves time, as there are tens of thousands.
    This is safe because no field can refer back to its object.
    """

    rel: str
    """The path below the root of the scope."""
    size: int
    """The size in bytes."""
    mtime_ns: int
    """The time of the last change, in ns since the epoch."""
    inode: int
    """The inode; 0 if the file system has none."""
    description: str
    """The description as the agent shows it."""
    description_state: DescriptionState
    usage: MemoryUsage
    seen_by_agent: bool
    unseen_reason: str
    """The reason why the agent does not read the file; empty if it does (then `seen_by_agent` is True)."""
    rule: FileRule | None = None
    """Whether the file may be changed; None: it may, without conditions."""
    role: FileRole = "memory"
    """The role of the file in a consolidation."""


class ScopeUsage(Struct, frozen=True):
    """The pins and uses of the files of one root (directory of memories)."""

    rels: Mapping[str, str]
    """The key of a file in the usage sidecar -> its relative path."""
    by_rel: Mapping[str, MemoryUsage]
    """Relative path -> pin and uses."""


@dataclasses.dataclass(frozen=True)
class ScopeListing:
    """The contents of one scope. Paths are relative, in order of their UTF-16 code units.

    `faults`, `use` and `scanned_ns` are needed for a later, incremental scan.
    """

    root: ScopeRoot | None
    """The directory of the scope; None if there is nothing to list (see `unavailable`)."""
    unavailable: str
    """The reason, as a sentence, why the scope cannot be listed; empty if it can."""
    gap: ProjectGap | None
    """The reason why the context has no project scope; None if it has one."""
    files: tuple[MemoryFile, ...]
    directories: tuple[str, ...]
    problems: tuple[str, ...]
    """Sentences about directories that could not be read."""
    names_only: bool = False
    """Whether only `rel`, `rule` and `role` of `files` are set."""
    folder_rules: Mapping[str, FileRule] = dataclasses.field(default_factory=dict)
    """The rules of directories whose files are not plainly editable, by path."""
    faults: Mapping[str, str] = dataclasses.field(default_factory=dict, compare=False, repr=False)
    """`problems` by path."""
    use: ScopeUsage | None = dataclasses.field(default=None, compare=False, repr=False)
    """The pins and uses of the files; None if this home's keys cannot be turned back into paths."""
    scanned_ns: int = dataclasses.field(default=0, compare=False)
    """The earliest time at which a file was examined, in ns since the epoch."""

    def file(self, rel: str) -> MemoryFile | None:
        """Return the file with the path `rel`; None if it is not listed."""
        index, is_there = position(self.files, rel)
        return self.files[index] if is_there else None


def no_rules(_rel: str) -> tuple[FileRule | None, FileRole]:
    """Return the rule and role of a plain memory, whatever its path: None (may be edited), and "memory"."""
    return None, "memory"


def unseen_reason(rel: str, size: int, caps: Caps) -> str:
    """Return the reason why the agent, with the limits `caps`, would not read a file of this name and size.

    Empty if it would. The file's position among the others is not considered.
    """
    # Nearly every name passes this quick check; only ASCII spaces are printable white space.
    if not rel.isprintable() or _SUSPECT.search(rel) or ".." in rel or rel.endswith(" "):
        if is_undecodable(rel):
            return "its name is not valid UTF-8"
        problem = rel_problem(rel)
        if problem is not None:
            return f"its name is refused: {problem}"
        if rel[-1] in JS_SPACE:
            return "its name ends in whitespace, which the agent removes"
    return f"the file is larger than {caps.file_bytes:,} bytes" if size > caps.file_bytes else ""


def is_undecodable(rel: str) -> bool:
    """Return whether a name found on disk has bytes that are not UTF-8, so that no agent can use it."""
    return _SURROGATE.search(rel) is not None


def in_order(files: Sequence[MemoryFile]) -> list[MemoryFile]:
    """Return `files` sorted by the UTF-16 code units of the path, as the agent sorts them."""
    is_ascii = all(file.rel.isascii() for file in files)
    return sorted(files, key=attrgetter("rel") if is_ascii else _rank)


def mark_beyond(files: MutableSequence[MemoryFile], caps: Caps) -> None:
    """Mark the files beyond the agent's limit of files in a scope as unseen, in place.

    Their `unseen_reason` is set; for files within the limit this reason is cleared. `files` must be in the
    agent's order.
    """
    limit = caps.files_per_scope
    reason = f"the file is not among the first {limit:,} files of its scope"
    for index, file in enumerate(files[:limit]):
        if file.unseen_reason == reason:
            own = unseen_reason(file.rel, file.size, caps)
            files[index] = _marked(file, own)
    for index in range(limit, len(files)):
        if files[index].unseen_reason != reason:
            files[index] = _marked(files[index], reason)


def mark_old(files: MutableSequence[MemoryFile], root: ScopeRoot) -> None:
    """Set `unseen_reason` of the notes that are too old, as the agent reads only the newest (`root.newest`).

    Works in place; the reason of notes that are new enough is cleared. Of two notes with the same time the
    first in order counts as newer. A file that the agent does not see for another reason keeps that reason,
    and does not count against the limit. Does nothing if the agent has no such limit.
    """
    if not root.newest:
        return
    reason = (
        f"the file is not among the {root.newest:,} files changed last, so the agent finds it only through a"
        " line of the index"
    )
    scanned = re.compile(root.scanned)
    notes = [
        index
        for index, file in enumerate(files)
        if file.unseen_reason in ("", reason) and scanned.fullmatch(file.rel)
    ]
    notes.sort(key=lambda index: -files[index].mtime_ns)
    for turn, index in enumerate(notes):
        now = "" if turn < root.newest else reason
        if files[index].unseen_reason != now:
            files[index] = _marked(files[index], now)


def _marked(file: MemoryFile, reason: str) -> MemoryFile:
    return replace(file, seen_by_agent=not reason, unseen_reason=reason)


def position(files: Sequence[MemoryFile], rel: str) -> tuple[int, bool]:
    """Return the index of `rel` in the ordered `files`, and True.

    If it is missing, return its insertion index and False.
    """
    index = bisect.bisect_left(files, utf16_key(rel), key=_rank)
    return index, index < len(files) and files[index].rel == rel


def below(files: Sequence[MemoryFile], directory: str) -> Sequence[MemoryFile]:
    """Return the part of the ordered `files` that is in and below a directory; for an empty name, all."""
    if not directory:
        return files
    # "0" is the character after "/".
    start = bisect.bisect_left(files, utf16_key(directory + "/"), key=_rank)
    return files[start : bisect.bisect_left(files, utf16_key(directory + "0"), lo=start, key=_rank)]


class FileChanges(Struct, frozen=True):
    """The files of one scope that were changed, added or removed between two listings."""

    changed: tuple[MemoryFile, ...]
    """The changed and new files."""
    gone: tuple[str, ...]
    """The relative paths of files that no longer exist."""


def changes_between(before: tuple[MemoryFile, ...], after: tuple[MemoryFile, ...]) -> FileChanges:
    """Return the differences between the files `before` and `after` of two listings, both ordered.

    It is fast if most files are the same objects in both, as a scan leaves files that it did not read again.
    """
    if before is after:
        return FileChanges((), ())
    start = _alike(before, after)
    end = _alike(before[start:][::-1], after[start:][::-1])
    older, newer = before[start : len(before) - end], after[start : len(after) - end]
    same = set(map(id, older)) & set(map(id, newer))
    had = {file.rel: file for file in older if id(file) not in same}
    others = [file for file in newer if id(file) not in same]
    changed = tuple(file for file in others if had.get(file.rel) != file)
    left = {file.rel for file in others}
    return FileChanges(changed, tuple(rel for rel in had if rel not in left))


def _alike(one: tuple[MemoryFile, ...], other: tuple[MemoryFile, ...]) -> int:
    """Return the number of files at the beginning of the two sequences that are the same objects."""
    for count, (left, right) in enumerate(zip(one, other, strict=False)):
        if left is not right:
            return count
    return min(len(one), len(other))


# A listing may hold a hundred thousand files, so a few changes are inserted one by one.
_FEW = 1000


def apply_changes(before: tuple[MemoryFile, ...], changes: FileChanges) -> tuple[MemoryFile, ...]:
    """Return the ordered files `before` with `changes` made to them."""
    if not changes.changed and not changes.gone:
        return before
    if len(changes.changed) + len(changes.gone) > _FEW:
        files = {file.rel: file for file in before}
        for rel in changes.gone:
            files.pop(rel, None)
        files.update((file.rel, file) for file in changes.changed)
        return tuple(in_order(tuple(files.values())))
    listed = list(before)
    for rel in changes.gone:
        index, is_there = position(listed, rel)
        if is_there:
            del listed[index]
    for file in changes.changed:
        index, is_there = position(listed, file.rel)
        listed[index : index + is_there] = [file]
    return tuple(listed)


def scope_usage(
    root: ScopeRoot, usage: Mapping[str, MemoryUsage], key_of: KeyOf, previous: ScopeUsage | None = None
) -> ScopeUsage | None:
    """Return the usage of one root's files by relative path; None if the path of a key cannot be found.

    `usage`: logical key (key in the usage sidecar) -> usage. The path is taken from the key, and checked:
    `key_of` must return the key for this path. `previous`: an earlier result for the same root, which saves
    this work for the keys in it.
    """
    rels: dict[str, str] = {}
    known = previous.rels if previous is not None else {}
    prefix = root.usage_prefix
    for key in usage if prefix is not None else ():
        if not key.startswith(prefix or ""):
            continue
        rel = known.get(key)
        if rel is None:
            component = key[len(prefix or "") :]
            rel = unescape_key(component)
            if key_of(rel) != key:
                rel = component
                if key_of(rel) != key:
                    return None
        rels[key] = rel
    return ScopeUsage(rels, {rel: usage[key] for key, rel in rels.items()})


def _rank(file: MemoryFile) -> bytes:
    return utf16_key(file.rel)


# Deeper directories are named, not entered.
MAX_DEPTH = 128
# Up to this many entries a changed directory is examined as a whole, which also finds unreported changes;
# beyond it only reported and new or missing names are examined.
SMALL = 2_000

UNREADABLE = "it cannot be read"


def is_over_cap(unseen_reason: str) -> bool:
    """Return whether the agent does not see a file because of its own rules, such as its limit on files.

    `unseen_reason`: see `MemoryFile`. False if it is empty, or if the reason is that Reverie could not read
    the file.
    """
    return bool(unseen_reason) and not unseen_reason.startswith(UNREADABLE)


_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_NO_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)
NO_CAPS = Caps(0, 0, 0, 0, 0)


class ScopeScanner:
    """A scanner of one root (directory of memories).

    It collects `files` (unsorted), `directories`, and `faults` (path -> a sentence about a reading error).
    Files are listed by the rules of formats/mux.md section 5: no hidden names, no symlinks, only regular
    files in real directories. Everything is opened relative to its directory, without following symlinks
    where the system can (else by path, after a check), so nothing swapped in meanwhile leads the scan out of
    its root; only the root itself may be a symlink. This is the hot path of the program: per file one open,
    one stat, one read, and no `Path` objects.

    `known`: the files that an earlier scan found, by path. A known file that still has the same size, mtime
    and inode is not read again, with two exceptions:

    - Paths in `dirty`, which a watcher reported as changed, are always read.
    - Files modified at or after `settled_ns` are read, too, because a later change may have left their mtime
      the same. `settled_ns`: the start of the earlier scan, less the granularity of mtimes; ns since 1970.

    `trusting`: in directories of more than `SMALL` entries, known files that are not in `dirty` are assumed
    to be unchanged and not even examined.
    """

    def __init__(
        self,
        root: ScopeRoot,
        caps: Caps,
        usage_of: UsageOf = lambda rel: None,
        *,
        rules_of: RulesOf = no_rules,
        known: Mapping[str, MemoryFile] | None = None,
        settled_ns: int = 0,
        dirty: Container[str] = (),
        trusting: bool = False,
    ) -> None:
        self.files: list[MemoryFile] = []
        self.directories: list[str] = []
        self.faults: dict[str, str] = {}
        self._root = os.fspath(root.directory)
        self._caps = caps
        self._usage_of = usage_of
        self._rules_of = rules_of
        self._known: Mapping[str, MemoryFile] = {} if known is None else known
        self._settled_ns = settled_ns
        self._dirty = dirty
        self._trusting = trusting
        self._left_out = re.compile(root.without).fullmatch if root.without else None
        self._headed = re.compile(root.headed).fullmatch if root.headed else None

    def scan(self, rel: str = "", *, keep: Container[str] = ()) -> None:
        """Scan the directory `rel` and all below it; list but do not enter the directories in `keep`.

        `rel`: empty for the root. Raises OSError if `rel` cannot be opened as a real directory or cannot be
        listed.
        """
        refuse_link_upwards(self._root)
        with Descent(lambda: Directory.open(self._root)) as descent:
            directory = _open_folder(descent, rel)
            waiting = self._read(directory, rel, directory.names())
            while waiting:
                folder = waiting.pop()
                if folder in keep:
                    self.directories.append(folder)
                else:
                    waiting += self._enter(descent, folder)

    def _read(self, directory: Directory, rel: str, entries: list[os.DirEntry[str]]) -> list[str]:
        """Add the files of the open directory `rel`; return the paths of its directories, the first last."""
        prefix = f"{rel}/" if rel else ""
        trusting = self._trusting and len(entries) > SMALL
        folders: list[str] = []
        for entry in entries:
            path = prefix + entry.name
            if entry.name.startswith(".") or (self._left_out is not None and self._left_out(path)):
                continue
            try:
                if entry.is_file(follow_symlinks=False):
                    self._take(directory, path, entry, trusting)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(path)
            except OSError as error:
                if not is_gone(error):
                    self.faults[path] = f"{path} could not be read: {error.strerror or error}."
        return folders[::-1]

    def _enter(self, descent: Descent, rel: str) -> list[str]:
        """Read the directory `rel` and its files; return the paths of its directories, the first last."""
        if rel.count("/") >= MAX_DEPTH:
            self.directories.append(rel)
            self.faults[rel] = f"The folder {rel} is nested too deep to read."
            return []
        try:
            directory = _open_folder(descent, rel)
            entries = directory.names()
        except OSError as error:
            if not is_gone(error):
                self.directories.append(rel)
                self.faults[rel] = unreadable_folder(rel, error)
            return []
        self.directories.append(rel)
        return self._read(directory, rel, entries)

    def _take(self, directory: Directory, rel: str, entry: os.DirEntry[str], trusting: bool) -> None:
        usage = self._usage_of(rel) or UNUSED
        old = self._known.get(rel)
        if old is not None and rel not in self._dirty and (trusting or self._is_unchanged(old, entry)):
            self.files.append(old if old.usage == usage else replace(old, usage=usage))
            return
        reason = ""
        try:
            status, prefix = directory.beginning(entry.name, self._caps.description_prefix_bytes)
        except OSError as error:
            if is_gone(error):
                raise
            status, prefix = entry.stat(follow_symlinks=False), b""
            reason = f"{UNREADABLE}: {error.strerror or error}"
        size = status.st_size
        reason = reason or unseen_reason(rel, size, self._caps)
        text, state = description(prefix, self._caps)
        if not text and self._headed is not None and self._headed(rel):
            text = first_heading(prefix)[: self._caps.description_chars]
        mtime, inode, rules = status.st_mtime_ns, status.st_ino, self._rules_of(rel)
        self.files.append(MemoryFile(rel, size, mtime, inode, text, state, usage, not reason, reason, *rules))

    def _is_unchanged(self, old: MemoryFile, entry: os.DirEntry[str]) -> bool:
        if old.mtime_ns >= self._settled_ns or old.unseen_reason.startswith(UNREADABLE):
            return False
        status = entry.stat(follow_symlinks=False)
        return (status.st_mtime_ns, status.st_size, status.st_ino) == (old.mtime_ns, old.size, old.inode)


class NameScanner(ScopeScanner):
    """A scanner of names only.

    It opens and examines no file; sizes, descriptions and times are empty.
    """

    def __init__(self, root: ScopeRoot, *, rules_of: RulesOf = no_rules) -> None:
        super().__init__(root, NO_CAPS, rules_of=rules_of)

    def _take(self, directory: Directory, rel: str, entry: os.DirEntry[str], trusting: bool) -> None:
        rules = self._rules_of(rel)
        self.files.append(MemoryFile(rel, 0, 0, 0, "", "none", UNUSED, True, "", *rules))


def _open_folder(descent: Descent, rel: str) -> Directory:
    """Open the directory `rel` and return it.

    If a name in `rel` is missing, or is a file or a symlink, it raises an `OSError` for which `is_gone` is
    True.
    """
    try:
        return descent.at(rel)
    except SwappedError as error:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), rel) from error


def read_rel(root: str, rel: str, size: int) -> tuple[os.stat_result, bytes]:
    """Return status and up to `size` bytes of the regular file at the path `rel` below `root`.

    Follows no symlink below `root`. Raises OSError; see `is_gone`.
    """
    folder, _slash, name = rel.rpartition("/")
    with Descent(lambda: Directory.open(root)) as descent:
        return _open_folder(descent, folder).beginning(name, size)


def is_gone(error: OSError) -> bool:
    """Return whether `error` means that the entry was deleted or replaced meanwhile.

    Raises `Unavailable` if this process has no file descriptor left.
    """
    if error.errno in _NO_DESCRIPTORS:
        raise user_error_from_os(error, "The memories could not be listed.") from error
    return error.errno in _GONE


def unreadable_folder(rel: str, error: OSError) -> str:
    """Return the sentence for the folder `rel`, which could not be listed because of `error`."""
    return f"The folder {rel} could not be read: {error.strerror or error}."


# Beyond this many changes sorting everything is cheaper than inserting each.
_MANY = 500


def dirty_rels(root: ScopeRoot, dirty: Iterable[Path]) -> set[str] | None:
    """Return the changed paths `dirty` relative to the root; None if the root or a parent is among them.

    Paths may begin with the root's given path or, if that contains a symlink, with its real path. Paths that
    are not in the root, or that the root leaves out, are ignored.
    """
    named = os.fspath(root.directory)
    bases = {named, os.path.realpath(named)}
    rels: set[str] = set()
    for path in map(os.fspath, dirty):
        for base in bases:
            if path == base or base.startswith(path.rstrip(os.sep) + os.sep):
                return None
            if path.startswith(base + os.sep):
                rels.add(path[len(base) + 1 :].replace(os.sep, "/"))
    return {rel for rel in rels if not root.leaves_out(rel)}


class ListingUpdate:
    """An update of the listing `previous` for changes at the paths `rels`: call `run`, then read the results.

    The paths are at or below the root, existing or not. The directory of each is listed again; a directory
    among them, or a new one, is scanned with everything below it. If `rels` names everything that changed,
    the result is the same as after a full scan. Directories of up to `SMALL` entries are compared whole,
    which also finds unreported changes. The cost depends on the number of examined entries; for one changed
    file the list is not sorted again.
    """

    def __init__(
        self,
        root: ScopeRoot,
        caps: Caps,
        usage_of: UsageOf,
        rules_of: RulesOf,
        previous: ScopeListing,
        rels: Collection[str],
    ) -> None:
        self._previous = previous
        self._known = set(previous.directories)
        rels = {rel for rel in map(self._visible, rels) if rel}
        # The earlier files of the examined places; the scanner reuses the unchanged ones.
        self._old: dict[str, MemoryFile] = {}
        self._scanner = ScopeScanner(
            root,
            caps,
            usage_of,
            rules_of=rules_of,
            known=self._old,
            settled_ns=previous.scanned_ns - RACY_NS,
            dirty=frozenset(rels),
            trusting=True,
        )
        # Directories of which the scanner has read the own entries, or everything below.
        self._listed: set[str] = set()
        self._scanned = {rel for rel in rels if rel in self._known and not _is_below_any(rel, rels)}
        places = self._scanned | {self._nearest(rel) for rel in rels}
        self._waiting = {rel for rel in places if not _is_below_any(rel, self._scanned)}
        self._gone: set[str] = set()

    def run(self) -> None:
        """Examine the paths `rels`.

        Raises OSError if the root itself cannot be read.
        """
        # The deepest first: a missing directory is handled by the one above it.
        while self._waiting:
            rel = max(self._waiting, key=len)
            self._waiting.remove(rel)
            self._look(rel)
        noted = set(self._scanner.directories)
        self._gone = {
            rel for rel in self._previous.directories if _parent(rel) in self._listed and rel not in noted
        }
        for rel in self._gone:
            self._remember(below(self._previous.files, rel))

    def files(self) -> list[MemoryFile]:
        """Return the memories after the update, in order."""
        files = list(self._previous.files)
        found = {file.rel: file for file in self._scanner.files if not _is_below_any(file.rel, self._gone)}
        removed = self._old.keys() - found.keys()
        changed = {rel: file for rel, file in found.items() if self._old.get(rel) is not file}
        if len(removed) + len(changed) > _MANY:
            kept = {file.rel: file for file in files if file.rel not in removed}
            return in_order(list((kept | changed).values()))
        for rel in removed:
            del files[position(files, rel)[0]]
        for rel, file in changed.items():
            index, is_there = position(files, rel)
            files[index : index + is_there] = [file]
        return files

    def directories(self) -> list[str]:
        """Return the paths of the directories after the update, in the agent's order of names."""
        noted = {rel for rel in self._scanner.directories if not _is_below_any(rel, self._gone)}
        kept = {rel for rel in self._previous.directories if not self._is_replaced(rel)}
        return sorted(kept | noted, key=utf16_key)

    def faults(self) -> dict[str, str]:
        """Return the sentences about reading errors, by path.

        For a path that was not examined, the sentence of the previous listing is kept.
        """
        replaced = self._listed | self._scanned
        kept = {
            rel: fault
            for rel, fault in self._previous.faults.items()
            if rel not in replaced and (rel in self._scanner.directories or not self._is_replaced(rel))
        }
        return kept | self._scanner.faults

    def _look(self, rel: str) -> None:
        is_whole = rel in self._scanned
        before = below(self._previous.files, rel)
        self._remember(before if is_whole else [file for file in before if _parent(file.rel) == rel])
        try:
            self._scanner.scan(rel, keep=() if is_whole else self._known)
        except OSError as error:
            if not rel:
                raise
            self._give_up(rel, error)
        else:
            if not is_whole:
                self._listed.add(rel)

    def _give_up(self, rel: str, error: OSError) -> None:
        """Remove the files of a known directory that can no longer be read.

        If the directory no longer exists, its parent is examined next; otherwise the error is added to
        `faults`.
        """
        self._remember(below(self._previous.files, rel))
        self._scanned.add(rel)
        self._known -= {known for known in self._known if known == rel or known.startswith(rel + "/")}
        if is_gone(error):
            self._waiting.add(_parent(rel))
        else:
            self._scanner.faults[rel] = unreadable_folder(rel, error)

    def _remember(self, files: Iterable[MemoryFile]) -> None:
        self._old.update((file.rel, file) for file in files)

    def _visible(self, rel: str) -> str:
        """Return the path to examine because of a change at `rel`; empty if there is nothing to examine.

        The result is usually `rel`. If a name in `rel` is hidden, so that no listing shows the path, the
        result is the directory that contains the hidden name, but only if the listing does not have that
        directory yet.
        """
        segments = rel.split("/")
        hidden = next((index for index, segment in enumerate(segments) if segment.startswith(".")), None)
        if hidden is None:
            return rel
        directory = "/".join(segments[:hidden])
        return "" if directory in self._known else directory

    def _nearest(self, rel: str) -> str:
        """Return the deepest directory above `rel` that the previous listing has.

        A scan of that directory finds everything new below it.
        """
        parent = _parent(rel)
        while parent and parent not in self._known:
            parent = _parent(parent)
        return parent

    def _is_replaced(self, rel: str) -> bool:
        return (
            _parent(rel) in self._listed
            or _is_below_any(rel, self._scanned)
            or _is_below_any(rel, self._gone)
        )


def _parent(rel: str) -> str:
    return rel.rpartition("/")[0]


def _is_below_any(rel: str, directories: Collection[str]) -> bool:
    """Return whether one of these directories lies above `rel`."""
    while rel:
        rel = _parent(rel)
        if rel and rel in directories:
            return True
    return False


class IndexEntry(TypedDict):
    """One memory in the agent's index, with the keys that the agent's own list operation uses."""

    path: str
    """The memory path."""
    scope: str
    description: str
    """The description as the agent shows it."""
    pinned: bool
    accessCount: int
    """The number of uses."""
    lastAccessedAt: int | None
    """The time of the last use (UTC ms); None if it was never used."""


def scan_scope(
    root: ScopeRoot,
    caps: Caps,
    usage: Mapping[str, MemoryUsage],
    key_of: KeyOf,
    rules_of: RulesOf = no_rules,
    *,
    previous: ScopeListing | None = None,
    dirty: Collection[Path] | None = None,
    available: Callable[[], bool] = lambda: True,
) -> ScopeListing:
    """Scan the scope at `root`, and return its listing.

    `caps`: the agent's limits. `usage`: logical key (key in the usage sidecar) -> usage. `key_of` returns the
    logical key of a relative path, `rules_of` its rule and role. `previous`: an earlier listing, whose files
    are read again only if their size, mtime or inode differ; None: every file is read. `dirty`: with
    `previous`, the only absolute paths to examine; None: every file is examined. `available` returns whether
    the home exists: if it does not and the root is missing, `Unavailable` is raised.
    """
    if previous is not None and (previous.names_only or previous.unavailable or previous.root != root):
        previous = None
    use = scope_usage(root, usage, key_of, previous.use if previous is not None else None)

    # The table's own method where there is one: it is called for each file.
    usage_of: UsageOf = use.by_rel.get if use is not None else lambda rel: usage.get(key_of(rel) or "")

    def look() -> ScopeListing:
        rels = dirty_rels(root, dirty) if previous is not None and dirty is not None else None
        if previous is None or rels is None:
            scanned_ns = time.time_ns()
            known = {file.rel: file for file in previous.files} if previous is not None else {}
            settled_ns = previous.scanned_ns - RACY_NS if previous is not None else 0
            scanner = ScopeScanner(
                root, caps, usage_of, rules_of=rules_of, known=known, settled_ns=settled_ns
            )
            scanner.scan()
            files, faults = in_order(scanner.files), scanner.faults
            directories = sorted(scanner.directories, key=utf16_key)
        else:
            # Most files are not examined again, so the time of the earlier scan stays.
            scanned_ns = previous.scanned_ns
            update = ListingUpdate(root, caps, usage_of, rules_of, previous, rels)
            update.run()
            files, faults, directories = update.files(), update.faults(), update.directories()
            _update_usage(files, usage_of, previous.use, use)
        mark_beyond(files, caps)
        mark_old(files, root)
        return _listing(root, files, directories, faults, rules_of, use=use, scanned_ns=scanned_ns)

    return _checked_listing(root, available, look)


def names_only(
    root: ScopeRoot, rules_of: RulesOf = no_rules, *, available: Callable[[], bool] = lambda: True
) -> ScopeListing:
    """Return a listing that has only the names in a scope, for a first view: no file is opened.

    `rules_of` returns the rule and role of a relative path. `available` returns whether the home exists: if
    it does not and the root is missing, `Unavailable` is raised.
    """

    def look() -> ScopeListing:
        scanner = NameScanner(root, rules_of=rules_of)
        scanner.scan()
        files = in_order(scanner.files)
        return _listing(root, files, scanner.directories, scanner.faults, rules_of, names_only=True)

    return _checked_listing(root, available, look)


def index_entries(listing: ScopeListing, scope: Scope, caps: Caps) -> list[IndexEntry]:
    """Return the agent's index of a scope: the files of `listing` that the agent sees, in the agent's order.

    `caps`: the agent's limits.
    """
    return [
        IndexEntry(
            path=str(memory_path(scope, file.rel)),
            scope=scope.value,
            description=file.description,
            pinned=file.usage.pinned,
            accessCount=file.usage.access_count,
            lastAccessedAt=file.usage.last_accessed_at,
        )
        for file in listing.files[: caps.files_per_scope]
        if rel_problem(file.rel) is None and not is_undecodable(file.rel)
    ]


def _checked_listing(
    root: ScopeRoot, available: Callable[[], bool], look: Callable[[], ScopeListing]
) -> ScopeListing:
    """Return the result of `look`, which scans `root`; for a missing root an empty listing.

    For a root that cannot be read, return a listing that says so in `unavailable`. Raises `Unavailable` if
    the root is missing and `available` returns False, because then the home is missing too.
    """
    try:
        listing = look()
        os.stat(root.directory)  # noqa: PTH116 - a root that vanished meanwhile was not seen as it was
    except FileNotFoundError:
        if available():
            return _listing(root, [], [], {}, no_rules)
        raise Unavailable(
            f"The memories in {root.directory} cannot be listed:",
            cause="their home was moved or removed, or its disk is not mounted.",
            next_step="Restore the home, or choose another one.",
        ) from None
    except OSError as error:
        is_gone(error)
        reason = f"{root.directory} could not be read: {error.strerror or error}."
        return ScopeListing(root, reason, None, (), (), ())
    return listing


def _update_usage(
    files: list[MemoryFile], usage_of: UsageOf, before: ScopeUsage | None, now: ScopeUsage | None
) -> None:
    """Update the usage in `files`, in place, where it differs between `before` and `now`.

    If `before` or `now` is None, all files are compared. `usage_of` returns the present usage of a path.
    """
    if before is None or now is None:
        rels = [file.rel for file in files]
    else:
        old, new = before.by_rel, now.by_rel
        rels = [] if old == new else [rel for rel in old.keys() | new.keys() if old.get(rel) != new.get(rel)]
    for rel in rels:
        index, is_there = position(files, rel)
        usage = usage_of(rel) or UNUSED
        if is_there and files[index].usage != usage:
            files[index] = replace(files[index], usage=usage)


def _listing(
    root: ScopeRoot,
    files: Sequence[MemoryFile],
    directories: Sequence[str],
    faults: Mapping[str, str],
    rules_of: RulesOf,
    *,
    names_only: bool = False,
    use: ScopeUsage | None = None,
    scanned_ns: int = 0,
) -> ScopeListing:
    problems = tuple(faults[rel] for rel in sorted(faults, key=utf16_key))
    return ScopeListing(
        root,
        "",
        None,
        tuple(files),
        tuple(directories),
        problems,
        names_only=names_only,
        folder_rules={rel: rule for rel in directories if (rule := rules_of(rel)[0]) is not None},
        faults=faults,
        use=use,
        scanned_ns=scanned_ns,
    )


def no_check() -> None:
    """Do nothing; the default of `check` for callers that never stop the work."""


LintKind = Literal[
    "front-matter", "cut", "conflict", "placeholder",
    "over-cap", "not-utf8", "nul", "secret", "hidden", "bidi", "instruction", "description",
    "empty", "stale",
]  # fmt: skip


Severity = Literal["error", "warning", "note"]


class LintFinding(Struct, frozen=True):
    """One problem in a file that a person may want to check."""

    kind: LintKind
    severity: Severity
    line: int
    """The number of the line, from 1; 0: the whole file."""
    sentence: str
    """A sentence for people, which quotes no text of the memory."""


def with_reason(findings: tuple[LintFinding, ...], unseen_reason: str) -> tuple[LintFinding, ...]:
    """Return `findings` with a finding for `unseen_reason` first, because `lint` cannot detect this reason.

    The finding replaces any earlier one of its kind. `unseen_reason`: why the agent does not see the file.
    `findings` is returned unchanged if this is empty, or if Reverie could not read the file (`is_over_cap`).
    """
    if not is_over_cap(unseen_reason):
        return findings
    return (over_cap_finding(unseen_reason), *(each for each in findings if each.kind != "over-cap"))


def over_cap_finding(reason: str) -> LintFinding:
    """Return the finding that the agent does not see a file.

    `reason`: the reason, as a part of a sentence.
    """
    return LintFinding("over-cap", "warning", 0, f"The agent does not see this file: {reason}.")
