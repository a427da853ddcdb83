"""A listing brought up to date by looking only where something changed.

`dirty` are paths at or below the root, files or directories, there or gone. For each, the directory it is in
is listed again; a directory among them is scanned with all below it, and so is one that was not known before.
As long as `dirty` names everything that changed, the result is that of a full scan (test_listing.py tries
random changes); what no event told is found too in directories of up to `scanning.SMALL` entries that are
listed again.

Cost: what is looked at, plus a little for each change; never a sort of everything for one changed file.
Threading and failure: as `memory.scanning`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path

from reverie.homes.scopes import Caps, ScopeRoot
from reverie.memory.paths import utf16_key
from reverie.memory.scanning import Scanner, is_gone, unreadable_folder
from reverie.memory.scope_listing import MemoryFile, ScopeListing, UsageOf, below, in_order, position

# Beyond this many changes sorting everything is cheaper than placing each.
_MANY = 500


def dirty_rels(root: ScopeRoot, dirty: Iterable[Path]) -> set[str] | None:
    """The dirty paths relative to the root; None if the root itself, or what it is in, is among them.

    Paths may go through the root's own name or, where that leads over a symlink, through its real path.
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


class Update:
    """One update of `previous` for changes at `rels`, which `run` makes; the rest then says what is now."""

    def __init__(
        self,
        root: ScopeRoot,
        caps: Caps,
        usage_of: UsageOf,
        previous: ScopeListing,
        rels: Collection[str],
        settled_ns: int,
    ) -> None:
        self._previous = previous
        self._known = set(previous.directories)
        rels = {rel for rel in map(self._visible, rels) if rel}
        # The files of the places looked at, as they were: the scanner takes from here what is unchanged.
        self._old: dict[str, MemoryFile] = {}
        self._scanner = Scanner(
            os.fspath(root.directory),
            caps,
            usage_of,
            known=self._old,
            settled_ns=settled_ns,
            dirty=frozenset(rels),
            trusting=True,
            without=root.without,
            headed=root.headed,
        )
        # Directories whose own entries, or all below them, are as the scanner found them.
        self._listed: set[str] = set()
        self._scanned = {rel for rel in rels if rel in self._known and not _is_below_any(rel, rels)}
        places = self._scanned | {self._nearest(rel) for rel in rels}
        self._waiting = {rel for rel in places if not _is_below_any(rel, self._scanned)}
        self._gone: set[str] = set()

    def run(self) -> None:
        """Look at the places; raises OSError if the root itself cannot be read."""
        # The deepest first: what turns out to be gone is settled by the directory that it was in.
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
        """The memories after the update, in order."""
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
        """The directories after the update, in the agent's order of names."""
        noted = {rel for rel in self._scanner.directories if not _is_below_any(rel, self._gone)}
        kept = {rel for rel in self._previous.directories if not self._is_replaced(rel)}
        return sorted(kept | noted, key=utf16_key)

    def faults(self) -> dict[str, str]:
        """What could not be read, by path; what was not looked at now keeps its fault."""
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
        """A known directory can no longer be read, so nothing known of it counts."""
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
        """`rel`; for something hidden the directory it is in, if that is new; empty if nothing shows."""
        segments = rel.split("/")
        hidden = next((index for index, segment in enumerate(segments) if segment.startswith(".")), None)
        if hidden is None:
            return rel
        directory = "/".join(segments[:hidden])
        return "" if directory in self._known else directory

    def _nearest(self, rel: str) -> str:
        """The deepest directory above `rel` that was known; what is new below it is found from there."""
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
    """Whether one of these directories lies above `rel`."""
    while rel:
        rel = _parent(rel)
        if rel and rel in directories:
            return True
    return False
