"""The findings of whole scopes, kept as files change.

One `LintService` per open home. A look goes over the files of a view. What the catalogue found in them is
taken from there; only a file that it does not know (or that a watcher named) is read here. A look stops after
a slice of time and says whether something is left.

Looking opens files for reading and nothing else. Threading: any thread but the GUI's; one look at a time
(whoever calls sees to it). Failure: a file that cannot be read now has no findings and is looked at again
when it changes; the scan tells of it. Without a catalogue every file is read.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from reverie.agents.scopes import Caps, ScopeRoot
from reverie.memory.catalogue import Catalogue
from reverie.memory.lint import CHECKED_BYTES, LintFinding, lint, no_check, with_reason
from reverie.memory.listing import MemoryFile, ScopeListing, read_rel
from reverie.memory.paths import memory_path
from reverie.services.views import MemoryView

SLICE_S = 0.25
# So many files are read at once; more are asked of the catalogue first.
FEW = 200
_Checked = tuple[MemoryFile, tuple[LintFinding, ...] | None]
"""A file as it was listed, and what was found in it then; None: it could not be read."""


@dataclass(frozen=True, slots=True)
class LintResult:
    """What is known after a look. `findings`: by memory path, only of files that have any; `complete` False:
    some files were not looked at yet, so look again. `looked_at`: files read this time."""

    findings: Mapping[str, tuple[LintFinding, ...]]
    complete: bool
    looked_at: int


class LintService:
    """The findings of one home's files."""

    def __init__(self, home_id: str, caps: Caps, catalogue: Catalogue) -> None:
        self._home_id = home_id
        self._caps = caps
        self._catalogue = catalogue
        # By the key of the root, then by path.
        self._known: dict[str, dict[str, _Checked]] = {}

    def look(
        self,
        view: MemoryView,
        *,
        dirty: Collection[Path] = (),
        slice_s: float = SLICE_S,
        check: Callable[[], None] = no_check,
        wait: Callable[[], bool] = lambda: True,
    ) -> LintResult:
        """The findings of every file in `view`. `dirty`: paths seen changing, which are read again even if
        size and time say nothing. `check` may raise to stop; what was found by then is kept. `wait`: called
        where many files are unknown, waits a while for the catalogue to know what changed; False: it does
        not yet."""
        for path in dirty:
            self._forget(view, path)
        unknown = list(self._unknown(view))
        if len(unknown) > FEW:
            if not wait():
                return LintResult(self._found(view), complete=False, looked_at=0)
            for root, listing in _listings(view):
                self._recall(root, listing)
            unknown = list(self._unknown(view))
        until, looked_at = time.monotonic() + slice_s, 0
        for root, file in unknown:
            if looked_at and time.monotonic() >= until:
                break
            check()
            self._known[root.key][file.rel] = (file, self._read(root, file, check))
            looked_at += 1
        return LintResult(self._found(view), looked_at == len(unknown), looked_at)

    def _unknown(self, view: MemoryView) -> Iterator[tuple[ScopeRoot, MemoryFile]]:
        """The files whose findings are not known; those that are not there any more are forgotten."""
        for root, listing in _listings(view):
            before = self._known.get(root.key, {})
            known = self._known[root.key] = {
                file.rel: have
                for file in listing.files
                if (have := before.get(file.rel)) is not None and _is_same(have[0], file)
            }
            yield from ((root, file) for file in listing.files if file.rel not in known)

    def _recall(self, root: ScopeRoot, listing: ScopeListing) -> None:
        known, rows = self._known[root.key], self._catalogue.findings(self._home_id, root.key)
        for file in listing.files:
            row = rows.get(file.rel)
            if row is not None and row[0][:2] == (file.size, file.mtime_ns):
                known.setdefault(file.rel, (file, row[1]))

    def _found(self, view: MemoryView) -> dict[str, tuple[LintFinding, ...]]:
        found = {}
        for root, listing in _listings(view):
            known = self._known.get(root.key, {})
            for file in listing.files:
                _file, findings = known.get(file.rel, (file, None))
                if findings is not None and (findings or file.unseen_reason):
                    found[str(memory_path(root.scope, file.rel))] = with_reason(findings, file.unseen_reason)
        return found

    def _read(
        self, root: ScopeRoot, file: MemoryFile, check: Callable[[], None]
    ) -> tuple[LintFinding, ...] | None:
        try:
            status, data = read_rel(os.fspath(root.directory), file.rel, CHECKED_BYTES)
        except OSError:
            return None
        return lint(data, self._caps, rel=file.rel, size=status.st_size, check=check)

    def _forget(self, view: MemoryView, path: Path) -> None:
        """What was seen changing is not known any more."""
        for root, _listing in _listings(view):
            if path.is_relative_to(root.directory):
                self._known.get(root.key, {}).pop(path.relative_to(root.directory).as_posix(), None)


def _is_same(before: MemoryFile, now: MemoryFile) -> bool:
    return before is now or before[1:4] == now[1:4]


def _listings(view: MemoryView) -> Iterator[tuple[ScopeRoot, ScopeListing]]:
    for listing in view.scopes.values():
        if listing.root is not None and not listing.names_only:
            yield listing.root, listing
