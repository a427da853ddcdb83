"""What memories and instruction files say of their project, checked against its repository; and the fixes.

`ProjectClaims` is one project: its own notes (`CLAUDE.md`, `.serena/memories` and the like, or any file that
is named), at HEAD or at a commit, in a checkout or a bare repository. `ClaimService` is the memories of one
home; it keeps what it knows of a repository, so that after a commit only what is new is read.

Looking writes nothing, neither in the home nor in the checkout. When the lines of stale claims were written
is kept in the profile: an edit of another line makes the whole file younger, and what was stale before the
history began would be unknown at the next start. A fix replaces tokens and nothing else: of
memories as one change by hand that can be undone, of files in a checkout by an atomic write that refuses what
has changed meanwhile.

Threading: blocks; any thread, one check of a home at a time. Failure: `UserError`.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from reverie.agents.scopes import Scope, ScopeContext
from reverie.claims.checking import CheckedClaim, CheckedNote, ClaimChecker, check_existence, fixed
from reverie.claims.repository import MOST_BLOB, ProjectRepository
from reverie.errors import Conflict, StoreError, Unavailable, UserError, user_error_from_os
from reverie.files.atomic import replace_file
from reverie.files.directory import Directory, is_link, read_regular, real_path, walk_paths
from reverie.memory.listing import no_check, read_rel
from reverie.memory.paths import memory_path
from reverie.memory.scope_files import sha256_of_bytes
from reverie.services.views import HandChange, MemoryView, Undo
from reverie.values import Struct, replace

if TYPE_CHECKING:
    from reverie.files.sidecar import Sidecar
    from reverie.services.timeline import TimelineService

_log = logging.getLogger("reverie.services")

_NOTES = re.compile(
    r"(?:^|/)(?:CLAUDE(?:\.local)?|AGENTS(?:\.override)?|GEMINI|copilot-instructions)\.md$"
    r"|(?:^|/)(?:\.serena/memories|memory-bank|\.claude/(?:rules|memor(?:y|ies)|agent-memory))/(?:[^/]+/)*[^/]+\.md$"
)
_NO_NOTES = re.compile(r"(?:^|/)(?:fixtures|testdata|templates?|node_modules|samples)/")
_LINK = 0o120000
_KEPT_PROJECTS = 4
_MOST_MEMORIES_KEPT = 2_000


class ClaimReport(Struct, frozen=True):
    """What came of checking some notes."""

    claims: tuple[CheckedClaim, ...] = ()
    """All of them, by note and line."""
    notes: int = 0
    commit: str = ""
    """What they were checked against; empty: there is no repository."""
    problem: str = ""
    """Why there is no repository, as a sentence."""
    limits: tuple[str, ...] = ()
    """What was not looked at, as sentences."""

    @property
    def stale(self) -> tuple[CheckedClaim, ...]:
        """Those that held once and do not any more."""
        return tuple(claim for claim in self.claims if claim.state.is_stale)


class ProjectClaims:
    """One project and the claims about it."""

    def __init__(self, project: Path, at: str = "") -> None:
        """`at`: a commit instead of HEAD and the files of the checkout. Raises `StoreError` for an unknown
        one, `Unavailable` where a commit is asked for and there is no repository."""
        self.project = project
        self.problem = ""
        self.repository: ProjectRepository | None = None
        self._at = at
        self._checker: ClaimChecker | None = None
        try:
            self.repository = ProjectRepository(project, at)
        except ValueError as error:
            if at:
                raise StoreError(
                    f"There is no commit {at} in {project}.",
                    next_step="Name a commit, a branch or a tag with --at.",
                    reason="missing",
                ) from error
            self.problem = f"{project} has no commits yet."
        except Unavailable as error:
            if at:
                raise
            self.problem = str(error)
        if self.repository is not None:
            self._checker = ClaimChecker(self.repository, look_at_disk=self.in_checkout)

    @property
    def in_checkout(self) -> bool:
        """Whether the files that lie there now count, and may be fixed."""
        return not self._at and (self.repository is None or not self.repository.is_bare)

    def refresh(self) -> None:
        """Stand at HEAD as it is now."""
        if self._checker is not None:
            self._checker.refresh()

    def notes(self, files: Sequence[Path] = ()) -> list[CheckedNote]:
        """The project's own notes, or these files. Raises `StoreError` for one that is not there."""
        if files:
            return [self._named(file) for file in files]
        found = list[CheckedNote]()
        for place in self._places():
            with suppress(StoreError):
                found.append(self._note(place))
        return found

    def check(self, notes: Iterable[CheckedNote], *, check: Callable[[], None] = no_check) -> ClaimReport:
        """The claims of these notes. `check` may raise to stop."""
        known = list(notes)
        if self._checker is None or self.repository is None:
            claims = [claim for note in known for claim in check_existence(self.project, note)]
            return ClaimReport(tuple(claims), len(known), problem=self.problem)
        claims = self._checker.check(known, check=check)
        limits = tuple(sorted(self.repository.limits))
        return ClaimReport(tuple(claims), len(known), str(self.repository.head.id), limits=limits)

    def fix(self, note: CheckedNote, claims: Iterable[CheckedClaim]) -> bool:
        """Replace the stale tokens of a file of the checkout; False: none has a replacement. Raises
        `Conflict` where the file has changed since it was read."""
        mine = [claim for claim in claims if claim.path == note.path]
        new, before = fixed(note.text, mine), note.text.encode()
        if new == note.text:
            return False

        def check(current: bytes | None) -> None:
            if current != before:
                raise Conflict(f"{note.path} has changed.", next_step="Check it again.")

        path = self.project / note.place
        try:
            with Directory.open(path.parent) as directory:
                replace_file(directory, path.name, new.encode(), check=check)
        except OSError as error:
            raise user_error_from_os(error, f"{note.path} could not be fixed.") from error
        return True

    def _places(self) -> list[str]:
        tracked = self.repository.now.files if self.repository is not None else {}
        found = {place for place, (_id, mode) in tracked.items() if _is_note(place) and mode != _LINK}
        if self.in_checkout:
            found |= set(_untracked_notes(self.project))
        return sorted(found)

    def _named(self, file: Path) -> CheckedNote:
        whole = Path(os.path.normpath(file if file.is_absolute() else self.project / file))
        if not whole.is_relative_to(self.project) or whole == self.project:
            raise StoreError(
                f"{file} is not in {self.project}.", next_step="Name a file of the project.", reason="missing"
            )
        place = whole.relative_to(self.project).as_posix()
        real = Path(real_path(whole))
        top = Path(real_path(self.project))
        if self.in_checkout and is_link(whole) and real.is_relative_to(top):
            return replace(self._note(real.relative_to(top).as_posix()), path=place)
        return self._note(place)

    def _note(self, place: str) -> CheckedNote:
        path = self.project / place
        try:
            if self.in_checkout:
                # A link leads to another note, which is read itself.
                data: bytes | None = read_regular(path, MOST_BLOB, follow=False)
            else:
                known = self.repository.now.files.get(place) if self.repository is not None else None
                data = self.repository.blob(known[0]) if known and self.repository is not None else None
        except OSError as error:
            raise StoreError(
                f"{place} cannot be read.", cause=str(error.strerror or error), reason="missing"
            ) from error
        if data is None:
            raise StoreError(f"There is no text {place} in {self.project}.", reason="missing")
        text = data.decode("utf-8", "surrogateescape")
        if self.repository is None:
            return CheckedNote(place, text)
        return CheckedNote(place, text, place)


class ClaimService:
    """The claims of the memories of one home."""

    def __init__(
        self,
        view: Callable[[ScopeContext], MemoryView],
        timeline: Callable[[], TimelineService],
        apply: Callable[[ScopeContext, Sequence[HandChange]], Undo],
        written: Callable[[], Sidecar],
    ) -> None:
        """`view`: the names of the memories of a context; `apply`: several changes as one; `written`: keeps
        when the lines of stale claims were written."""
        self._view = view
        self._timeline = timeline
        self._apply = apply
        self._sidecar = written
        self._kept: dict[str, dict[str, int]] | None = None
        """By memory and hash of a line, as the sidecar has it."""
        self._projects: OrderedDict[Path, ProjectClaims] = OrderedDict()
        self._earliest: dict[ScopeContext, dict[str, dict[str, int]]] = {}
        """For each memory of a context, as it was checked last, the earliest time at which each line was seen
        to be in it, in seconds."""
        self._lock = threading.Lock()

    def check(
        self, context: ScopeContext, paths: tuple[str, ...] = (), *, check: Callable[[], None] = no_check
    ) -> ClaimReport:
        """The claims of the memories of a context, or of those at `paths`, against its project. Nothing to
        check where the context has no project."""
        if context.project_path is None:
            return ClaimReport()
        with self._lock:
            return self._checked(context, self._project(Path(context.project_path)), paths, check)

    def stale(self, context: ScopeContext, *, check: Callable[[], None] = no_check) -> ClaimReport:
        """As `check`, with the stale claims alone. Without a repository nothing is stale, and no memory is
        read."""
        if context.project_path is None:
            return ClaimReport()
        with self._lock:
            project = self._project(Path(context.project_path))
            if project.repository is None:
                return ClaimReport(problem=project.problem)
            report = self._checked(context, project, (), check)
        return replace(report, claims=report.stale)

    def _checked(
        self, context: ScopeContext, project: ProjectClaims, paths: tuple[str, ...], check: Callable[[], None]
    ) -> ClaimReport:
        """Under the lock."""
        found, self._earliest[context] = self._notes(context)
        notes = [note for note in found if not paths or note.path in paths]
        report = project.check(notes, check=check)
        self._keep_times(context, notes, report.stale)
        return report

    def check_text(self, context: ScopeContext, path: str, text: str) -> ClaimReport:
        """The claims of an unsaved text of a memory. A line that was not saved yet is never stale."""
        if context.project_path is None:
            return ClaimReport()
        with self._lock:
            saved = next((note for note in self._notes(context)[0] if note.path == path), None)
            if saved is None:
                return ClaimReport()
            known = {line.strip() for line in saved.text.splitlines()}
            report = self._project(Path(context.project_path)).check([replace(saved, text=text)])
        lines = text.splitlines()
        claims = (
            claim
            for claim in report.claims
            if not claim.state.is_stale or lines[claim.line - 1].strip() in known
        )
        return ClaimReport(tuple(claims), 1, report.commit, report.problem, report.limits)

    def fix(self, context: ScopeContext, claims: tuple[CheckedClaim, ...]) -> Undo:
        """Replace these stale tokens in their memories, as one change. Raises `StoreError` where none has a
        replacement, `Conflict` where a memory has changed."""
        changes = []
        for note in self._notes(context)[0]:
            new = fixed(note.text, [claim for claim in claims if claim.path == note.path])
            if new != note.text:
                before = note.text.encode("utf-8", "surrogateescape")
                after = new.encode("utf-8", "surrogateescape")
                changes.append(HandChange(note.path, after, sha256_of_bytes(before)))
        if not changes:
            raise StoreError("Nothing here can be replaced.", next_step="Edit the memory.")
        return self._apply(context, changes)

    def _project(self, path: Path) -> ProjectClaims:
        known = self._projects.pop(path, None)
        if known is None or known.repository is None:
            known = ProjectClaims(path)
        else:
            known.refresh()
        self._projects[path] = known
        while len(self._projects) > _KEPT_PROJECTS:
            self._projects.popitem(last=False)
        return known

    def _notes(self, context: ScopeContext) -> tuple[list[CheckedNote], dict[str, dict[str, int]]]:
        """The memories as they are now, and the earliest time of each of their lines. Only a check keeps
        those: one that is under way must find what it kept."""
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
                    continue  # the listing says so
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
        """The earliest time of each line; `before`: as it was known. One word that is edited makes the whole
        file younger, and the history begins with the day on which Reverie saw it first."""
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
        """Keep when the lines of stale claims were written, for the next start."""
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
            # A check is worth more than its memory; the next one tries again.
            _log.warning("When lines were written could not be kept: %s", error)

    def _line_times(self, context: ScopeContext, path: str, earliest: Mapping[str, int]) -> Mapping[str, int]:
        """When each line came into a memory, as far as is known."""
        timeline = self._timeline()
        try:
            view = timeline.blame(timeline.target(context, path))
        except UserError:
            return earliest  # there is no history yet
        known = {
            row.text.strip(): view.authors[row.author].at_ms // 1000 for row in view.rows if row.author >= 0
        }
        return {line: min(at, known.get(line, at)) for line, at in earliest.items()}


def _key(context: ScopeContext, path: str) -> str:
    """A memory in the sidecar; neither its name nor its text stands there."""
    return _hash(f"{context.project_path}\0{context.workspace_id}\0{path}")


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()


def _times_in(data: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """What a sidecar says, as far as it is well-formed."""
    found = data.get("written")
    return {
        key: {line: at for line, at in times.items() if isinstance(at, int)}
        for key, times in (found.items() if isinstance(found, dict) else ())
        if isinstance(times, dict)
    }


def _is_note(place: str) -> bool:
    return _NOTES.search(place) is not None and not _NO_NOTES.search(place)


def _untracked_notes(project: Path) -> Iterable[str]:
    """Notes at their usual places, tracked or not; no link is followed."""
    for name in ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "GEMINI.md"):
        if os.path.lexists(project / name):
            yield name
    for top in (".serena/memories", "memory-bank", ".claude", ".github"):
        for folder, folders, names in walk_paths(project / top):
            folders[:] = [one for one in folders if one not in (".git", "node_modules", "worktrees")]
            for name in names:
                place = PurePosixPath(os.path.relpath(folder, project), name).as_posix()
                if _is_note(place):
                    yield place
