"""The claims of a home's memories about their project, checked against its repository; and fixes.

Each project's repository is read in a separate process, which keeps running, so that after a commit only the
new objects are read (`claims.apart`). If that process does not respond, this is reported, and no request is
sent to it for `AGAIN_S`.

A check writes nothing, neither in the home nor in the checkout. The times at which the lines of stale claims
were written are stored in the profile: an edit of another line gives the whole file a newer time, and claims
that were stale before the history began could not be dated after a restart. A fix replaces the outdated words
and nothing else, as one change by hand that can be undone.

Threading: blocks; any thread, one check of a project at a time. Failure: `UserError`.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from reverie.agents.scopes import Scope, ScopeContext
from reverie.claims.apart import NO_ANSWER, SILENT_S, ProjectClaims
from reverie.claims.checking import CheckedClaim, CheckedNote, fixed
from reverie.claims.project import ClaimReport
from reverie.claims.repository import MOST_BLOB, has_repository
from reverie.errors import StoreError, Unavailable, UserError
from reverie.memory.listing import no_check, read_rel
from reverie.memory.paths import memory_path
from reverie.memory.scope_files import sha256_of_bytes
from reverie.services.views import HandChange, MemoryView, Undo
from reverie.values import replace

if TYPE_CHECKING:
    from reverie.files.sidecar import Sidecar
    from reverie.services.timeline import TimelineService

_log = logging.getLogger("reverie.services")

_KEPT_PROJECTS = 3
_MOST_MEMORIES_KEPT = 2_000
AGAIN_S = 600.0


class _Project:
    """One project, with the process that reads its repository.

    The caller must hold `lock` while it calls a method.
    """

    def __init__(self, path: Path, silent_s: float) -> None:
        self.path = path
        self.lock = threading.Lock()
        self._claims = ProjectClaims(path, silent_s=silent_s)
        self._problem = ""
        self._not_before = 0.0

    @property
    def is_silent(self) -> bool:
        """True for `AGAIN_S` seconds after the process did not respond; meanwhile it gets no request."""
        return time.monotonic() < self._not_before

    def look(self, check: Callable[[], None] = no_check) -> str:
        """Read the present state of the repository; return the reason if it cannot be read.

        The reason is a sentence; it is empty on success. `check` is called repeatedly and may raise to stop.
        """
        if self.is_silent:
            return self._problem
        if not has_repository(self.path):
            return f"There is no readable repository at {self.path}."
        try:
            return self._claims.look(check).problem
        except Unavailable as error:
            return self._given_up(error)

    def check(
        self, notes: Sequence[CheckedNote], check: Callable[[], None] = no_check, *, stale_only: bool = False
    ) -> ClaimReport:
        """Check the statements about the project in these notes against its repository; return the report.

        The repository is as last read by `look`. `check` is called repeatedly and may raise to stop.
        `stale_only`: report only the statements that are no longer true.
        """
        try:
            return self._claims.check(notes, check=check, stale_only=stale_only)
        except Unavailable as error:
            return ClaimReport(problem=self._given_up(error))

    def end(self) -> None:
        """End the process that reads the repository."""
        self._claims.end()

    def _given_up(self, error: Unavailable) -> str:
        if error.reason != NO_ANSWER:
            raise error
        self._problem = str(error)
        self._not_before = time.monotonic() + AGAIN_S
        return self._problem


class ClaimService:
    """The service that checks the statements about a project (claims) in its memories, and fixes them.

    A claim that is no longer true is called stale.
    """

    def __init__(
        self,
        view: Callable[[ScopeContext], MemoryView],
        timeline: Callable[[], TimelineService],
        apply: Callable[[ScopeContext, Sequence[HandChange]], Undo],
        written: Callable[[], Sidecar],
        silent_s: float = SILENT_S,
    ) -> None:
        """Connect the service to the memories and the history of a home.

        `view` returns the names of the memories of a context; `timeline` returns the service that reads their
        history; `apply` makes several changes as one; `written` returns the JSON file with the times at which
        the lines of stale claims were written. `silent_s`: the time in seconds after which the process that
        reads a repository is killed if it does not respond.
        """
        self._view = view
        self._timeline = timeline
        self._apply = apply
        self._sidecar = written
        self._silent_s = silent_s
        self._kept: dict[str, dict[str, int]] | None = None
        """The stored times: memory, then hash of a line, then the time; None before they are read."""
        self._projects: OrderedDict[Path, _Project] = OrderedDict()
        self._earliest: dict[ScopeContext, dict[str, dict[str, int]]] = {}
        """The earliest known time of each line, in UTC seconds, by context, memory and text of the line.

        Only the last check of a context counts.
        """
        self._lock = threading.Lock()

    def check(
        self,
        context: ScopeContext,
        paths: tuple[str, ...] = (),
        *,
        everything: bool = False,
        check: Callable[[], None] = no_check,
    ) -> ClaimReport:
        """Check the statements about the project (claims) in the memories of a context; return the report.

        `paths`: check only these memories; empty: all. `everything`: also check memories that are about the
        past, or plans, by their name or title. `check` is called repeatedly and may raise to stop. The report
        is empty if the context has no project.
        """
        return self._checked(context, paths, check, everything=everything)

    def stale(self, context: ScopeContext, *, check: Callable[[], None] = no_check) -> ClaimReport:
        """Return a report of the statements in a context's memories that are no longer true of its project.

        If the project has no repository, the report has no claims, and no memory is read. `check` is called
        repeatedly and may raise to stop.
        """
        report = self._checked(context, (), check, stale_only=True)
        return replace(report, claims=report.stale)

    def _checked(
        self,
        context: ScopeContext,
        paths: tuple[str, ...],
        check: Callable[[], None],
        *,
        stale_only: bool = False,
        everything: bool = False,
    ) -> ClaimReport:
        if context.project_path is None:
            return ClaimReport()
        project = self._project(Path(context.project_path))
        with project.lock:
            problem = project.look(check)
            if problem and (stale_only or project.is_silent):
                return ClaimReport(problem=problem)
            found, self._earliest[context] = self._notes(context)
            notes = [
                replace(note, everything=everything) for note in found if not paths or note.path in paths
            ]
            report = project.check(notes, check, stale_only=stale_only)
            if not project.is_silent:
                self._keep_times(context, notes, report.stale)
        return report

    def fix(self, context: ScopeContext, claims: tuple[CheckedClaim, ...]) -> Undo:
        """Replace the outdated words of these statements in their memories, as one change; return its `Undo`.

        Raises `StoreError` if none has a replacement, `Conflict` if a memory has changed.
        """
        changes = []
        for note in self._notes(context)[0]:
            new = fixed(note.text, [claim for claim in claims if claim.path == note.path])
            if new != note.text:
                before = note.text.encode("utf-8", "surrogateescape")
                after = new.encode("utf-8", "surrogateescape")
                changes.append(HandChange(note.path, after, sha256_of_bytes(before)))
        if not changes:
            raise StoreError("Reverie cannot correct any of these statements.", next_step="Edit the memory.")
        return self._apply(context, changes)

    def close(self) -> None:
        """End the processes that read repositories, except those in use now.

        They are started again when needed.
        """
        with self._lock:
            projects = list(self._projects.values())
        for project in projects:
            if project.lock.acquire(blocking=False):
                try:
                    project.end()
                finally:
                    project.lock.release()

    def _project(self, path: Path) -> _Project:
        with self._lock:
            known = self._projects.pop(path, None) or _Project(path, self._silent_s)
            self._projects[path] = known
            # Keep projects that did not respond (they have no process), and those in use now.
            idle = [each for each in self._projects.values() if not (each.is_silent or each.lock.locked())]
            for each in idle[:-_KEPT_PROJECTS]:
                del self._projects[each.path]
        return known

    def _notes(self, context: ScopeContext) -> tuple[list[CheckedNote], dict[str, dict[str, int]]]:
        """Read the memories of a context; return them and the earliest known time of each of their lines.

        The times (UTC seconds) are by path and line. Only `_checked`, which holds the project's lock, may
        store them in `_earliest`, because `_keep_times` reads them there at the end of the check.
        """
        view = self._view(context)
        before = self._earliest.get(context, {})
        found: dict[str, dict[str, int]] = {}
        notes = []
        for scope in (Scope.PROJECT, Scope.WORKSPACE):
            listing = view.scopes[scope]
            if listing.root is None:
                continue
            names = frozenset(PurePosixPath(file.rel).name for file in listing.files)
            for file in listing.files:
                if not file.rel.endswith(".md"):
                    continue
                path = str(memory_path(scope, file.rel))
                try:
                    status, data = read_rel(os.fspath(listing.root.directory), file.rel, MOST_BLOB)
                except OSError:
                    if path in before:
                        found[path] = before[path]
                    continue  # the listing reports it
                text = data.decode("utf-8", "surrogateescape")
                written = int(status.st_mtime)
                known = before.get(path)
                earliest = found[path] = self._remembered(context, path, text, written, known)
                times = partial(self._line_times, context, path, earliest)
                notes.append(CheckedNote(path, text, written_s=written, line_times=times, neighbours=names))
        return notes, found

    def _remembered(
        self, context: ScopeContext, path: str, text: str, written: int, before: Mapping[str, int] | None
    ) -> dict[str, int]:
        """Return the earliest time of each line of a memory, in UTC seconds, by the text of the line.

        `written`: the modification time of its file; `before`: the times known so far, None to read them from
        the sidecar. The file's own time is not enough: editing one word makes the whole file newer, and the
        history only begins on the day on which Reverie first saw the file.
        """
        lines = {line.strip() for line in text.splitlines()}
        if before is None:
            kept = self._kept_times().get(_key(context, path), {})
            before = {line: kept[_hash(line)] for line in lines if _hash(line) in kept} if kept else {}
        return {line: min(written, before.get(line, written)) for line in lines}

    def _kept_times(self) -> dict[str, dict[str, int]]:
        if self._kept is None:
            self._kept = _times_in(self._sidecar().read().data)
        return self._kept

    def _keep_times(
        self, context: ScopeContext, notes: Sequence[CheckedNote], stale: Iterable[CheckedClaim]
    ) -> None:
        """Store the times at which the lines with stale statements (no longer true) were written.

        They are needed at the next start.
        """
        numbers = dict[str, set[int]]()
        for claim in stale:
            numbers.setdefault(claim.path, set()).add(claim.line)
        known, news = self._kept_times(), dict[str, dict[str, int]]()
        for note in notes:
            lines, earliest = note.text.splitlines(), self._earliest[context][note.path]
            stripped = {lines[number - 1].strip() for number in numbers.get(note.path, ())}
            times = {_hash(line): earliest[line] for line in sorted(stripped)}
            if times != known.get(_key(context, note.path), {}):
                news[_key(context, note.path)] = times
        if not news:
            return

        def change(data: dict[str, Any]) -> dict[str, Any]:
            wanted = {**_times_in(data), **news}
            data["written"] = dict([one for one in wanted.items() if one[1]][-_MOST_MEMORIES_KEPT:])
            return data

        try:
            self._kept = _times_in(self._sidecar().update(change))
        except UserError as error:
            # The result of the check matters more than storing its times; the next check tries again.
            _log.warning("When lines were written could not be kept: %s", error)

    def _line_times(self, context: ScopeContext, path: str, earliest: Mapping[str, int]) -> Mapping[str, int]:
        """Return the time at which each line was added to a memory, in UTC seconds, by the text of the line.

        `earliest`: the earliest times known so far; the history may show an earlier one.
        """
        timeline = self._timeline()
        try:
            view = timeline.blame(timeline.target(context, path))
        except UserError:
            return earliest  # there is no history yet
        known = {
            text.strip(): view.authors[author].at_ms // 1000 for text, author in view.rows if author >= 0
        }
        return {line: min(at, known.get(line, at)) for line, at in earliest.items()}


def _key(context: ScopeContext, path: str) -> str:
    """Return the key of a memory in the stored times, a hash that reveals neither its name nor its text."""
    return _hash(f"{context.project_path}\0{context.workspace_id}\0{path}")


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()


def _times_in(data: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Return the times in the data of a sidecar: memory, then hash of a line, then the time.

    Entries that are malformed are left out.
    """
    found = data.get("written")
    return {
        key: {line: at for line, at in times.items() if isinstance(at, int)}
        for key, times in (found.items() if isinstance(found, dict) else ())
        if isinstance(times, dict)
    }
