"""The findings of whole scopes, kept up to date as files change.

One `LintService` per open home. `look` covers the files of a view. The findings are read from the catalogue
(`memory.catalogue`); only files that the catalogue does not know, or that a watcher reported, are read here.
`look` stops after a slice of time and returns whether files are left.

Files are only read, never changed. Threading: any thread but the GUI's; one `look` at a time (the caller must
ensure this). Failure: a file that cannot be read has no findings until it changes; the listing reports the
problem. Without a catalogue every file is read.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from reverie.agents.scopes import Caps, ScopeRoot
from reverie.files.directory import Stamp
from reverie.memory.catalogue import FileCatalogue
from reverie.memory.lint import CHECKED_BYTES, lint
from reverie.memory.listing import (
    LintFinding,
    MemoryFile,
    ScopeListing,
    changes_between,
    no_check,
    position,
    read_rel,
)
from reverie.memory.paths import memory_path
from reverie.services.views import LintResult, MemoryView

SLICE_S = 0.25
# Up to this number of unknown files are read at once; for more, the catalogue is updated first.
FEW = 200
_Listings = Sequence[tuple[ScopeRoot, ScopeListing]]


class LintService:
    """The service that finds problems in the files of one home by the rules of `memory.lint`."""

    def __init__(self, home_id: str, caps: Caps, catalogue: FileCatalogue) -> None:
        self._home_id = home_id
        self._caps = caps
        self._catalogue = catalogue
        self._roots: dict[str, _RootFindings] = {}

    def look(
        self,
        view: MemoryView,
        *,
        dirty: Collection[Path] = (),
        slice_s: float = SLICE_S,
        check: Callable[[], None] = no_check,
        wait: Callable[[], bool] = lambda: True,
    ) -> LintResult:
        """Return the findings of every file in `view`, reading files that are not known yet.

        `dirty`: paths that a watcher saw change; they are read again even if their size and time are the
        same. `slice_s`: the time in seconds after which no further unknown file is read, so that the result
        may be incomplete. `check` is called repeatedly and may raise to stop; the findings so far are kept.
        `wait`: called if many files are unknown; it waits a while for the catalogue to be updated and returns
        False if it is not updated yet.
        """
        listings = [
            (listing.root, listing)
            for listing in view.scopes.values()
            if listing.root is not None and not listing.names_only
        ]
        for root, listing in listings:
            self._roots.setdefault(root.key, _RootFindings()).follow(root, listing, dirty)
        if self._count_unknown(listings) > FEW:
            if not wait():
                return LintResult(self._found(listings), complete=False, looked_at=0)
            for root, _listing in listings:
                self._roots[root.key].take(self._catalogue.findings(self._home_id, root.key))
        until, looked_at = time.monotonic() + slice_s, 0
        for root, _listing in listings:
            of_root = self._roots[root.key]
            while of_root.unknown and not (looked_at and time.monotonic() >= until):
                check()
                rel = next(iter(of_root.unknown))
                of_root.put(rel, self._read(root, rel, check))
                looked_at += 1
        return LintResult(self._found(listings), not self._count_unknown(listings), looked_at)

    def _count_unknown(self, listings: _Listings) -> int:
        return sum(len(self._roots[root.key].unknown) for root, _listing in listings)

    def _found(self, listings: _Listings) -> dict[str, tuple[LintFinding, ...]]:
        return {
            str(memory_path(root.scope, rel)): findings
            for root, _listing in listings
            for rel, findings in self._roots[root.key].found.items()
        }

    def _read(self, root: ScopeRoot, rel: str, check: Callable[[], None]) -> tuple[LintFinding, ...]:
        try:
            status, data = read_rel(os.fspath(root.directory), rel, CHECKED_BYTES)
        except OSError:
            return ()
        return lint(data, self._caps, rel=rel, size=status.st_size, check=check)


class _RootFindings:
    """The findings in the files of one root, by path below the root.

    `unknown`: the files that must still be read.
    """

    def __init__(self) -> None:
        self.found: dict[str, tuple[LintFinding, ...]] = {}
        self.unknown: dict[str, MemoryFile] = {}
        self._files: tuple[MemoryFile, ...] = ()

    def follow(self, root: ScopeRoot, listing: ScopeListing, dirty: Collection[Path]) -> None:
        """Compare with a new listing of the root; drop the findings of changed files, which become unknown.

        `dirty`: paths that a watcher saw change; their files count as changed in any case.
        """
        changes = changes_between(self._files, listing.files)
        for file in changes.changed:
            index, is_there = position(self._files, file.rel)
            if not is_there or _stamp(self._files[index]) != _stamp(file) or file.rel in self.unknown:
                self._forget(file)
        for rel in changes.gone:
            self.found.pop(rel, None)
            self.unknown.pop(rel, None)
        self._files = listing.files
        for path in dirty:
            if path.is_relative_to(root.directory):
                dirty_file = listing.file(path.relative_to(root.directory).as_posix())
                if dirty_file is not None:
                    self._forget(dirty_file)

    def _forget(self, file: MemoryFile) -> None:
        self.found.pop(file.rel, None)
        self.unknown[file.rel] = file

    def take(self, rows: Mapping[str, tuple[Stamp, tuple[LintFinding, ...]]]) -> None:
        """Use the findings in the catalogue for unknown files that have not changed since it read them.

        `rows`: path, then the stamp of the file when it was read, and its findings.
        """
        for rel, file in list(self.unknown.items()):
            row = rows.get(rel)
            if row is not None and row[0][:2] == (file.size, file.mtime_ns):
                self.put(rel, row[1])

    def put(self, rel: str, findings: tuple[LintFinding, ...]) -> None:
        """Store the findings of the file at the relative path `rel`; the file is then known."""
        self.unknown.pop(rel)
        if findings:
            self.found[rel] = findings


def _stamp(file: MemoryFile) -> tuple[int, int, int]:
    """Return the size, time and inode of a file; writing a file changes at least one of them."""
    return file.size, file.mtime_ns, file.inode
