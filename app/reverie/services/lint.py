"""The findings of whole scopes, kept as files change.

One `LintService` per open home. A look goes over the files of a view and reads only those whose findings
are not
known for their size, mtime and inode (or that a watcher named); it stops after a slice of time and says
whether something is left, so that a scope of any size never holds a thread for long. Between files it gives
the interpreter away as often as it took it, since the GUI thread wants it, too.

Looking opens files for reading and nothing else. Findings are kept in memory only: what is memory text stays
where it is. Threading: any thread but the GUI's; one look at a time (whoever calls sees to it). Failure: a
file that cannot be read now has no findings and is looked at again when it changes; the scan tells of it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from reverie.agents.scopes import Caps, ScopeRoot
from reverie.memory.lint import CHECKED_BYTES, LintFinding, lint, no_check
from reverie.memory.listing import MemoryFile, read_rel
from reverie.memory.paths import memory_path
from reverie.services.views import MemoryView

SLICE_S = 0.25
# So long the interpreter is kept before it is given away for as long.
_TURN_S = 0.004


@dataclass(frozen=True, slots=True)
class LintResult:
    """What is known after a look. `findings`: by memory path, only of files that have any; `complete` False:
    some files were not looked at yet, so look again. `looked_at`: files read this time."""

    findings: Mapping[str, tuple[LintFinding, ...]]
    complete: bool
    looked_at: int


class LintService:
    """The findings of one home's files."""

    def __init__(self, caps: Caps, *, pause: Callable[[float], None] = time.sleep) -> None:
        self._caps = caps
        self._pause = pause
        self._known: dict[str, dict[str, tuple[MemoryFile, tuple[LintFinding, ...]]]] = {}

    def look(
        self,
        view: MemoryView,
        *,
        dirty: Collection[Path] = (),
        slice_s: float = SLICE_S,
        check: Callable[[], None] = no_check,
    ) -> LintResult:
        """The findings of every file in `view`. `dirty`: paths seen changing, which are read again even if
        size and time say nothing. `check` may raise to stop; what was found by then is kept."""
        for path in dirty:
            self._forget(view, path)
        turn = _Turn(slice_s, self._pause)
        found: dict[str, tuple[LintFinding, ...]] = {}
        complete, looked_at = True, 0
        for listing in view.scopes.values():
            root = listing.root
            if root is None or listing.names_only:
                continue
            known = self._known.get(root.key, {})
            kept: dict[str, tuple[MemoryFile, tuple[LintFinding, ...]]] = {}
            self._known[root.key] = kept = {
                file.rel: known[file.rel]
                for file in listing.files
                if file.rel in known and _is_same(known[file.rel][0], file)
            }
            for file in listing.files:
                have = kept.get(file.rel)
                if have is None:
                    if looked_at and turn.is_over:
                        complete = False
                        continue
                    check()
                    have = kept[file.rel] = (file, self._read(root, file, check))
                    looked_at += 1
                    turn.take()
                if have[1]:
                    found[str(memory_path(root.scope, file.rel))] = have[1]
        return LintResult(found, complete, looked_at)

    def _read(self, root: ScopeRoot, file: MemoryFile, check: Callable[[], None]) -> tuple[LintFinding, ...]:
        try:
            status, data = read_rel(os.fspath(root.directory), file.rel, CHECKED_BYTES)
        except OSError:
            return ()
        return lint(
            data,
            self._caps,
            rel=file.rel,
            size=status.st_size,
            unseen_reason=file.unseen_reason,
            check=check,
        )

    def _forget(self, view: MemoryView, path: Path) -> None:
        """What was seen changing is not known any more; of a directory nothing is, as it may be another."""
        for root in _roots(view):
            known = self._known.get(root.key)
            if not known or (path != root.directory and root.directory not in path.parents):
                continue
            rel = path.relative_to(root.directory).as_posix()
            if rel == ".":
                # The scope's own directory is named whenever something in it comes or goes.
                continue
            known.pop(rel, None)


class _Turn:
    """How long a look may go on, and when the interpreter is given away."""

    def __init__(self, slice_s: float, pause: Callable[[float], None]) -> None:
        self._pause = pause
        self._began = self._last = time.monotonic()
        self._slice_s = slice_s

    @property
    def is_over(self) -> bool:
        return self._last - self._began >= self._slice_s

    def take(self) -> None:
        now = time.monotonic()
        if now - self._last >= _TURN_S:
            self._pause(min(now - self._last, 0.05))
            self._last = time.monotonic()


def _is_same(before: MemoryFile, now: MemoryFile) -> bool:
    return before is now or (
        before.size == now.size
        and before.mtime_ns == now.mtime_ns
        and before.inode == now.inode
        and before.unseen_reason == now.unseen_reason
    )


def _roots(view: MemoryView) -> Iterator[ScopeRoot]:
    for listing in view.scopes.values():
        if listing.root is not None:
            yield listing.root
