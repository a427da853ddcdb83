"""One project and the claims about it: its own notes, the check, and fixes of its files.

Its own notes are `CLAUDE.md`, `.serena/memories` and the like, or any files named by the caller. They are
checked at HEAD or at a commit, in a checkout or a bare repository. A fix replaces the stale paths, names and
numbers and nothing else, by an atomic write that refuses a file that changed meanwhile.

Threading: one thread at a time, in a separate process (`claims.apart`), because reading may never end.
Failure: `UserError`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from reverie.claims.checking import CheckedClaim, CheckedNote, ClaimChecker, check_existence, fixed
from reverie.claims.repository import MOST_BLOB, ProjectRepository
from reverie.errors import Conflict, StoreError, Unavailable, user_error_from_os
from reverie.files.atomic import replace_file
from reverie.files.directory import Directory, is_link, read_regular, real_path, walk_paths
from reverie.values import Struct, replace

_NOTES = re.compile(
    r"(?:^|/)(?:CLAUDE(?:\.local)?|AGENTS(?:\.override)?|GEMINI|copilot-instructions)\.md$"
    r"|(?:^|/)\.(?:cursorrules|windsurfrules|clinerules)$"
    r"|(?:^|/)(?:\.serena/memories|memory-bank|\.claude/(?:rules|memor(?:y|ies)|agent-memory)|\.kiro/steering"
    r"|\.cursor/rules|\.windsurf|\.clinerules|\.agents)/(?:[^/]+/)*[^/]+\.mdc?$"
)
_USUAL_FILES = (
    *("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "GEMINI.md"),
    *(".cursorrules", ".windsurfrules", ".clinerules"),
)
_USUAL_DIRECTORIES = (
    *(".serena/memories", "memory-bank", ".claude", ".github"),
    *(".kiro/steering", ".cursor/rules", ".windsurf", ".clinerules", ".agents"),
)
_NO_NOTES = re.compile(r"(?:^|/)(?:fixtures|testdata|templates?|node_modules|samples)/")
_LINK = 0o120000


class ClaimReport(Struct, frozen=True):
    """The result of checking the claims (statements that a repository can confirm) of some notes."""

    claims: tuple[CheckedClaim, ...] = ()
    """The checked claims, in the order of the notes and lines."""
    notes: int = 0
    """The number of checked notes."""
    commit: str = ""
    """The id of the commit against which the claims were checked; empty without a repository."""
    problem: str = ""
    """A sentence with the reason why there is no repository; empty if there is one."""
    limits: tuple[str, ...] = ()
    """Sentences about data that was not examined."""

    @property
    def stale(self) -> tuple[CheckedClaim, ...]:
        """The claims that were true once and no longer are."""
        return tuple(claim for claim in self.claims if claim.state.is_stale)


class CheckedProject:
    """A project, against which the claims of notes (their statements about it) are checked and fixed."""

    def __init__(self, project: Path, at: str = "", *, progress: Callable[[], None] = lambda: None) -> None:
        """Open the project.

        `at` is a commit to use in place of HEAD and the files of the checkout; empty for none. `progress` is
        called repeatedly while reading. Raises `StoreError` for an unknown commit, and `Unavailable` if a
        commit is given but there is no repository.
        """
        self.project = project
        self.problem = ""
        self.repository: ProjectRepository | None = None
        self._at = at
        self._checker: ClaimChecker | None = None
        try:
            self.repository = ProjectRepository(project, at, progress=progress)
        except ValueError as error:
            if at:
                raise StoreError(
                    f"There is no commit {at} in {project}.",
                    next_step="Choose a commit, a branch or a tag with --at.",
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
        """Whether the files of the checkout are checked and notes can be fixed.

        False for a chosen commit and for a bare repository.
        """
        return not self._at and (self.repository is None or not self.repository.is_bare)

    def refresh(self) -> None:
        """Update the repository to the present HEAD."""
        if self._checker is not None:
            self._checker.refresh()

    def notes(self, files: Sequence[Path] = ()) -> list[CheckedNote]:
        """Return the given `files` as notes; if empty, the project's own notes, such as `CLAUDE.md`.

        Raises `StoreError` for a file that is missing or outside the project.
        """
        if files:
            return [self._named(file) for file in files]
        found = list[CheckedNote]()
        for place in self._places():
            with suppress(StoreError):
                found.append(self._note(place))
        return found

    def check(self, notes: Iterable[CheckedNote], *, check: Callable[[], None] = lambda: None) -> ClaimReport:
        """Check the claims of `notes` and return the report.

        `check` is called repeatedly and may raise to stop.
        """
        known = list(notes)
        if self._checker is None or self.repository is None:
            claims = [claim for note in known for claim in check_existence(self.project, note)]
            return ClaimReport(tuple(claims), len(known), problem=self.problem)
        claims = self._checker.check(known, check=check)
        limits = tuple(sorted(self.repository.limits))
        return ClaimReport(tuple(claims), len(known), str(self.repository.head.id), limits=limits)

    def fix(self, note: CheckedNote, claims: Iterable[CheckedClaim]) -> bool:
        """Correct the stale `claims` in the file of `note`; return False if no correction is known.

        Raises `Conflict` if the file changed since it was read.
        """
        mine = [claim for claim in claims if claim.path == note.path]
        new, before = fixed(note.text, mine), note.text.encode()
        if new == note.text:
            return False

        def check(current: bytes | None) -> None:
            if current != before:
                raise Conflict(f"{note.path} has changed.", next_step="Check the statements in it again.")

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
                f"{file} is not in {self.project}.",
                next_step="Choose a file inside the project.",
                reason="missing",
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
                # A link is not followed, because its target is read as a note of its own.
                data: bytes | None = read_regular(path, MOST_BLOB, follow=False)
            else:
                known = self.repository.now.files.get(place) if self.repository is not None else None
                data = self.repository.blob(known[0]) if known and self.repository is not None else None
        except OSError as error:
            raise StoreError(
                f"{place} cannot be read.", cause=str(error.strerror or error), reason="missing"
            ) from error
        if data is None:
            raise StoreError(f"There is no file {place} in {self.project}.", reason="missing")
        text = data.decode("utf-8", "surrogateescape")
        if self.repository is None:
            return CheckedNote(place, text)
        return CheckedNote(place, text, place)


def _is_note(place: str) -> bool:
    return _NOTES.search(place) is not None and not _NO_NOTES.search(place)


def _untracked_notes(project: Path) -> Iterable[str]:
    """Yield the paths of the notes at their usual places in a checkout, tracked or not; follow no links."""
    for name in _USUAL_FILES:
        if os.path.lexists(project / name):
            yield name
    for top in _USUAL_DIRECTORIES:
        for folder, folders, names in walk_paths(project / top):
            folders[:] = [one for one in folders if one not in (".git", "node_modules", "worktrees")]
            for name in names:
                place = PurePosixPath(os.path.relpath(folder, project), name).as_posix()
                if _is_note(place):
                    yield place
