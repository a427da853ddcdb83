"""What a listing of one scope is: values and the rules that need no disk.

Pure; everything here may be shared between threads.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from reverie.homes.scopes import Caps, ProjectGap, ScopeRoot
from reverie.memory.paths import rel_problem, utf16_key
from reverie.memory.usage_entries import Usage, unescaped

if TYPE_CHECKING:
    from reverie.memory.frontmatter import DescriptionState

# Both take a relative path: its logical key, None without an owner; its usage, None for none.
KeyOf = Callable[[str], str | None]
UsageOf = Callable[[str], Usage | None]

_SUSPECT = re.compile(r'[~\\<>"%]')
_INDEX = "MEMORY.md"
_SURROGATE = re.compile("[\ud800-\udfff]")


class MemoryFile(NamedTuple):
    """One memory. `size` in bytes; `description` as the agent shows it; `inode` is 0 where there is none.

    `unseen_reason` says in words why the agent does not read the file; empty when `seen_by_agent`. A named
    tuple, because a frozen dataclass takes seven times as long to make, and there are tens of thousands.
    """

    rel: str
    size: int
    mtime_ns: int
    inode: int
    description: str
    description_state: DescriptionState
    usage: Usage
    seen_by_agent: bool
    unseen_reason: str


class Use(NamedTuple):
    """Usage by relative path, and which path each logical key stands for."""

    rels: Mapping[str, str]
    by_rel: Mapping[str, Usage]


@dataclass(frozen=True)
class ScopeListing:
    """One scope. `files` and `directories` are ordered by UTF-16 code unit of their relative paths.

    `unavailable` says in words why there is nothing to list, `gap` why a context has no project scope; then
    `root` may be None. `problems` are sentences on directories that could not be read. With `names_only` only
    the names in `files` mean anything. The rest is what a later scan starts from: `faults` are the problems
    by path, `use` what the files' usage was taken from (None: the keys of this home cannot be turned back),
    `scanned_ns` the earliest time of a look at a file, in ns since the epoch.
    """

    root: ScopeRoot | None
    unavailable: str
    gap: ProjectGap | None
    files: tuple[MemoryFile, ...]
    directories: tuple[str, ...]
    problems: tuple[str, ...]
    names_only: bool = False
    faults: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    use: Use | None = field(default=None, compare=False, repr=False)
    scanned_ns: int = field(default=0, compare=False)


def unseen_reason(rel: str, size: int, caps: Caps) -> str:
    """Why the agent would not read a file of this name and size, wherever it stands in its list; or empty."""
    # Nearly every name passes at this glance; only ASCII spaces are white space that is printable.
    if not rel.isprintable() or _SUSPECT.search(rel) or ".." in rel or rel.endswith(" "):
        from reverie.memory.frontmatter import JS_SPACE

        if is_unspeakable(rel):
            return "its name is not valid UTF-8"
        problem = rel_problem(rel)
        if problem is not None:
            return f"its name is refused: {problem}"
        if rel[-1] in JS_SPACE:
            return "its name ends in white space, which the agent cuts off"
    return f"it is larger than {caps.file_bytes:,} bytes" if size > caps.file_bytes else ""


def is_unspeakable(rel: str) -> bool:
    """Whether a name found on disk has bytes that are no UTF-8, so that no agent can name it."""
    return _SURROGATE.search(rel) is not None


def in_order(files: Sequence[MemoryFile]) -> list[MemoryFile]:
    """Sorted by UTF-16 code unit of the path."""
    is_ascii = all(file.rel.isascii() for file in files)
    return sorted(files, key=itemgetter(0) if is_ascii else _rank)


def mark_beyond(files: MutableSequence[MemoryFile], caps: Caps) -> None:
    """Mark the files beyond the agent's cap, in place, and unmark those that have moved up below it."""
    limit = caps.files_per_scope
    reason = f"it is beyond the first {limit:,} files of its scope"
    for index, file in enumerate(files[:limit]):
        if file.unseen_reason == reason:
            own = unseen_reason(file.rel, file.size, caps)
            files[index] = MemoryFile(*file[:-2], not own, own)
    for index in range(limit, len(files)):
        if files[index].unseen_reason != reason:
            files[index] = MemoryFile(*files[index][:-2], False, reason)


def mark_old(files: MutableSequence[MemoryFile], newest: int) -> None:
    """Mark the notes that are not among the `newest` changed last (0: all count), in place, and unmark those
    that are again. Of two changed at one time the first in order counts. What the agent does not see for
    another reason keeps that one, and takes no place."""
    if not newest:
        return
    reason = f"it is not among the {newest:,} changed last; only a line of the index leads to it"
    notes = [
        index
        for index, file in enumerate(files)
        if file.unseen_reason in ("", reason)
        and file.rel.endswith(".md")
        and file.rel.rpartition("/")[2] != _INDEX
    ]
    notes.sort(key=lambda index: -files[index].mtime_ns)
    for turn, index in enumerate(notes):
        now = "" if turn < newest else reason
        if files[index].unseen_reason != now:
            files[index] = MemoryFile(*files[index][:-2], not now, now)


def position(files: Sequence[MemoryFile], rel: str) -> tuple[int, bool]:
    """Where `rel` stands, or would stand, in an ordered sequence; and whether it is there."""
    index = bisect.bisect_left(files, utf16_key(rel), key=_rank)
    return index, index < len(files) and files[index].rel == rel


def below(files: Sequence[MemoryFile], directory: str) -> Sequence[MemoryFile]:
    """The files in and below a directory, of an ordered sequence."""
    if not directory:
        return files
    # "0" is the character after "/".
    start = bisect.bisect_left(files, utf16_key(directory + "/"), key=_rank)
    return files[start : bisect.bisect_left(files, utf16_key(directory + "0"), lo=start, key=_rank)]


def use_of(
    root: ScopeRoot, usage: Mapping[str, Usage], key_of: KeyOf, previous: Use | None = None
) -> Use | None:
    """The usage of one root's files by relative path; None if a key cannot be turned back into its path.

    A path is believed if `key_of` gives its key again. `previous` is an earlier answer for the same root.
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
            rel = unescaped(component)
            if key_of(rel) != key:
                rel = component
                if key_of(rel) != key:
                    return None
        rels[key] = rel
    return Use(rels, {rel: usage[key] for key, rel in rels.items()})


def _rank(file: MemoryFile) -> bytes:
    return utf16_key(file.rel)
