"""Readers of untrusted repositories in a separate process.

A repository may lie on a network share that hangs, have a pipe in place of a file of git, crash libgit2, or
expand to more than fits into memory; and libgit2 holds the GIL while it waits. A thread that opens such a
repository may never return, so repositories are opened only in the separate process, which runs `main`.
`ProjectClaims` is one project, and `RepositoryIdentities` identifies the repository at a path. Both start the
process at the first request and leave it running, so that after a commit only new objects are read.

The process sends a sign of life at least every second. If it is silent for `SILENT_S`, or has no answer after
`TOTAL_S`, it is killed, and the repository counts as not responding. It may use at most `MOST_MEMORY` (on
Linux). It ends with its parent, or after `IDLE_S` without a question, even if it hangs, except on Windows
(`files.child`).

Requests and answers are frames (`files.frames`) of JSON, which can represent the unpaired surrogates that
names and texts may contain.

Threading: any thread, one question at a time. Failure: `UserError`; for a repository that does not respond,
`Unavailable` with the reason `NO_ANSWER`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from reverie.agents.base import Identity
from reverie.claims.checking import CheckedClaim, CheckedNote
from reverie.claims.identity import read_identity
from reverie.claims.project import CheckedProject, ClaimReport
from reverie.claims.repository import checkout_root
from reverie.errors import Conflict, StoreError, Unavailable, UserError
from reverie.files.child import (
    Child,
    ChildEnded,
    ChildSilent,
    ParentFrames,
    die_after,
    limit_memory,
    own_command,
)
from reverie.values import Struct, converted, replace

log = logging.getLogger("reverie.claims")

NO_ANSWER = "no-answer"
SILENT_S = 20.0
TOTAL_S = 300.0
START_S = 30.0
IDLE_S = 600.0
MOST_MEMORY = 1_536 << 20
_HEADROOM = 32 << 20
_BEAT_S = 1.0
_KINDS = {kind.__name__: kind for kind in (UserError, StoreError, Conflict, Unavailable)}

T = TypeVar("T")


class _Look(Struct, frozen=True, tag=True):
    """A request to open the project or, if it is open already, to read what has changed in its repository."""

    project: str
    """The path of the project."""
    at: str
    """The commit to read; empty for HEAD and the files of the checkout."""


class _FindNotes(Struct, frozen=True, tag=True):
    """A request to read `files` as notes; if empty, the project's own notes, such as `CLAUDE.md`."""

    files: tuple[str, ...]


class _SentNote(Struct, frozen=True):
    """A `CheckedNote` in the form in which the parent sends it to the child process.

    `path`, `place` and `written_s` are those of the note.
    """

    path: str
    text: str | None
    """The note's text; None if it is unchanged since it was last sent."""
    place: str
    written_s: int | None
    asks_times: bool
    """Whether the child can ask the parent when the lines of the note were written."""
    neighbours: int
    """The index in `_CheckNotes.neighbours` of the names of notes to which links in this note may lead."""
    everything: bool
    """`CheckedNote.everything` of the note."""


class _CheckNotes(Struct, frozen=True, tag=True):
    """A request to check the claims of these notes.

    `neighbours`: the different values of `CheckedNote.neighbours`, to which the notes refer by index.
    `stale_only`: report stale claims only.
    """

    notes: tuple[_SentNote, ...]
    neighbours: tuple[tuple[str, ...], ...]
    stale_only: bool


class _FixNote(Struct, frozen=True, tag=True):
    """A request to correct the stale `claims` of a note, in its file in the checkout.

    `path`: its path for display; `place`: its path in the repository; `text`: the text that was checked.
    """

    path: str
    place: str
    text: str
    claims: tuple[CheckedClaim, ...]


class _Identify(Struct, frozen=True, tag=True):
    """A request to identify the repository at `path`; `known` is its earlier identity, if any."""

    path: str
    known: Identity | None


class _Times(Struct, frozen=True, tag=True):
    """The times at which the lines of a note were written: the reply to `_TimesWanted`.

    `times`: the time (s since 1970) by the stripped text of the line.
    """

    times: dict[str, int]


class _Unwanted(Struct, frozen=True, tag=True):
    """The reply to `_TimesWanted` if the parent no longer wants the answer; the child then stops its work."""


class ProjectState(Struct, frozen=True):
    """Whether a project has a repository, against which claims (statements in notes) can be checked."""

    problem: str = ""
    """A sentence with the reason why there is no repository; empty if there is one."""
    in_checkout: bool = True
    """Whether the files of the checkout are checked and notes can be fixed.

    False for a chosen commit and for a bare repository.
    """


class _Alive(Struct, frozen=True, tag=True):
    """A sign of life from the child process, which is still working on its answer."""


class _TimesWanted(Struct, frozen=True, tag=True):
    """A request to the parent for the times at which the lines of this note were written."""

    path: str


class _Answered(Struct, frozen=True, tag=True):
    """The answer to a question of the parent."""

    value: Any


class _Problem(Struct, frozen=True, tag=True):
    """A `UserError` that the child process sends in place of an answer; `kind` is the name of its class."""

    kind: str
    title: str
    cause: str
    next_step: str
    reason: str


class _Crash(Struct, frozen=True, tag=True):
    """The traceback of a bug in the child process."""

    frames: str


_ToChild = _Look | _FindNotes | _CheckNotes | _FixNote | _Identify | _Times | _Unwanted
_FromChild = _Alive | _TimesWanted | _Answered | _Problem | _Crash


def _dump(message: Struct) -> bytes:
    return json.dumps(msgspec.to_builtins(message), separators=(",", ":")).encode()


def _load(frame: bytes, kinds: Any) -> Any:
    return converted(json.loads(frame), kinds)


class _ReaderProcess:
    """The child process that reads repositories, so that a crash or hang there does not affect this process.

    The first question starts the child; if it has ended, the next question starts a new one.
    """

    def __init__(self, silent_s: float, most_memory: int = MOST_MEMORY) -> None:
        self._silent_s = silent_s
        self._command = own_command("_repository", str(silent_s), str(most_memory))
        self._child: Child | None = None
        self._owes = False
        """Whether the process is still working on an abandoned request, whose answer will be dropped."""

    @property
    def is_running(self) -> bool:
        """Whether the process runs, so that the results of earlier questions are still cached there."""
        return self._child is not None and self._child.is_running

    def end(self) -> None:
        """End the process; the next question starts a new one."""
        child, self._child, self._owes = self._child, None, False
        if child is not None:
            child.end()

    def ask(
        self,
        of: str,
        question: Struct,
        kind: type[T] | Any,
        check: Callable[[], None] = lambda: None,
        times: Callable[[str], Mapping[str, int]] = lambda _path: {},
    ) -> T:
        """Send `question` to the process; return the answer, converted to the type `kind`.

        `of` names the project in the texts of errors. `check` is called while waiting and may raise to stop;
        the process then continues, and the next question waits for it. `times` gets the path of a note and
        returns, by the text of each line, when the line was written (s); it is called if the process requests
        this. Raises `UserError`, and `RuntimeError` for a bug in the process.
        """
        until = time.monotonic() + START_S + TOTAL_S
        try:
            try:
                child = self._started()
                while self._owes:
                    self._take(child, self._silent_s, until, check, None)
                self._owes = True
                child.send(_dump(question), self._silent_s)
                while True:
                    answer = self._take(child, self._silent_s, until, check, times)
                    if answer is not None:
                        break
            except (ChildSilent, ChildEnded, ValueError, msgspec.ValidationError) as error:
                self.end()
                if isinstance(error, ChildSilent):
                    raise _no_answer(of, "Its repository is not responding.") from error
                log.warning("a repository was given up: %s", error)
                raise _no_answer(of, "The process that read the repository ended.") from error
        except OSError as error:
            raise Unavailable(f"{of} could not be checked.", cause=str(error)) from error
        if isinstance(answer, _Crash):
            self.end()
            raise RuntimeError(answer.frames)
        if isinstance(answer, _Problem):
            raise _KINDS.get(answer.kind, UserError)(
                answer.title, cause=answer.cause, next_step=answer.next_step, reason=answer.reason
            )
        return cast(T, converted(answer.value, kind))

    def _started(self) -> Child:
        if self._child is None or not self._child.is_running:
            self.end()
            self._child = Child(self._command)
            # The first frame is a sign of life.
            self._take(self._child, START_S, time.monotonic() + START_S, lambda: None, None)
        return self._child

    def _take(
        self,
        child: Child,
        silent_s: float,
        until: float,
        check: Callable[[], None],
        times: Callable[[str], Mapping[str, int]] | None,
    ) -> _Answered | _Problem | _Crash | None:
        """Receive the next frame from the process and handle it; return it if it is the answer, else None.

        Raises `ChildSilent` if no frame arrives within `silent_s` seconds or before `until` (monotonic).
        `check` is called while waiting and may raise to stop. `times`: see `ask`; None: the answer will be
        dropped, and no times are sent.
        """
        left = until - time.monotonic()
        if left <= 0:
            raise ChildSilent
        message = _load(child.receive(min(silent_s, left), check), _FromChild)
        if isinstance(message, _TimesWanted):
            reply: Struct = _Unwanted()
            try:
                if times is not None:
                    reply = _Times(dict(times(message.path)))
            finally:
                child.send(_dump(reply), silent_s)
            return None
        if isinstance(message, _Alive):
            return None
        self._owes = False
        return message  # type: ignore[no-any-return]


def _no_answer(of: str, cause: str) -> Unavailable:
    return Unavailable(
        f"{of} could not be read.",
        cause=cause,
        next_step="Check the disk or the network share, then try again.",
        reason=NO_ANSWER,
    )


class ProjectClaims:
    """A project with the claims (statements in notes) about it, which are checked in the child process.

    The child process does this with a `claims.project.CheckedProject`.
    """

    def __init__(
        self,
        project: Path,
        at: str = "",
        *,
        silent_s: float = SILENT_S,
        most_memory: int = MOST_MEMORY,
    ) -> None:
        """Store the arguments; the project is opened by the first method that needs it.

        `at` is a commit to use in place of HEAD and the files of the checkout; empty for none. The process is
        killed after `silent_s` seconds of silence; it may use `most_memory` bytes.
        """
        self.project = project
        self._at = at
        self._process = _ReaderProcess(silent_s, most_memory)
        self._lock = threading.Lock()
        self._is_open = False
        self._sent: dict[str, bytes] = {}
        """The hash of each note's text that the process has, by path."""

    def look(self, check: Callable[[], None] = lambda: None) -> ProjectState:
        """Open the project or, if it is open already, update it to the present HEAD; return its state.

        `check` is called while waiting and may raise to stop. Raises `StoreError` for an unknown commit, and
        `Unavailable` if a commit was chosen but there is no repository, or if the repository does not
        respond.
        """
        with self._lock:
            return self._look(check)

    def notes(self, files: Sequence[Path] = ()) -> list[CheckedNote]:
        """Return the given `files` as notes; if empty, the project's own notes, such as `CLAUDE.md`.

        Raises `StoreError` for a file that is missing or outside the project.
        """
        with self._lock:
            self._open()
            found = self._ask(_FindNotes(tuple(map(str, files))), list[tuple[str, str, str]])
        return [CheckedNote(*each) for each in found]

    def check(
        self,
        notes: Iterable[CheckedNote],
        *,
        check: Callable[[], None] = lambda: None,
        stale_only: bool = False,
    ) -> ClaimReport:
        """Check the claims of `notes` against the repository as the last `look` read it; return the report.

        `check` is called while waiting and may raise to stop. `stale_only`: report stale claims only.
        """
        known = {note.path: note for note in notes}
        with self._lock:
            self._open()
            question = self._question(tuple(known.values()), stale_only)

            def times(path: str) -> Mapping[str, int]:
                return known[path].line_times()

            found: ClaimReport = self._ask(question, ClaimReport, check, times)
        return found

    def fix(self, note: CheckedNote, claims: Iterable[CheckedClaim]) -> bool:
        """Correct the stale `claims` in the file of `note`; return False if no correction is known.

        Raises `Conflict` if the file changed since it was read.
        """
        with self._lock:
            self._open()
            question = _FixNote(note.path, note.place, note.text, tuple(claims))
            return bool(self._ask(question, bool))

    def end(self) -> None:
        """End the child process; the next question starts a new one."""
        self._process.end()

    def _open(self) -> None:
        if not self._process.is_running or not self._is_open:
            self._look()

    def _look(self, check: Callable[[], None] = lambda: None) -> ProjectState:
        if not self._process.is_running:
            self._sent.clear()
        self._is_open = False
        state: ProjectState = self._ask(_Look(str(self.project), self._at), ProjectState, check)
        self._is_open = True
        return state

    def _ask(
        self,
        question: Struct,
        kind: Any,
        check: Callable[[], None] = lambda: None,
        times: Callable[[str], Mapping[str, int]] = lambda _path: {},
    ) -> Any:
        return self._process.ask(str(self.project), question, kind, check, times)

    def _question(self, notes: Sequence[CheckedNote], stale_only: bool) -> _CheckNotes:
        sets = {each: number for number, each in enumerate(dict.fromkeys(note.neighbours for note in notes))}
        sent = []
        for note in notes:
            digest = hashlib.blake2b(note.text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            text = None if self._sent.get(note.path) == digest else note.text
            self._sent[note.path] = digest
            asks = note.line_times is not dict
            which = sets[note.neighbours], note.everything
            sent.append(_SentNote(note.path, text, note.place, note.written_s, asks, *which))
        return _CheckNotes(tuple(sent), tuple(tuple(sorted(each)) for each in sets), stale_only)


class RepositoryIdentities:
    """A reader of the identities of repositories, which are read in a child process.

    A repository that once did not respond is not read again.
    """

    def __init__(self, silent_s: float = SILENT_S) -> None:
        self._process = _ReaderProcess(silent_s)
        self._silent = set[Path]()
        self._lock = threading.Lock()

    def read(
        self, path: Path, known: Identity | None = None, check: Callable[[], None] = lambda: None
    ) -> Identity | None:
        """Return the identity of the repository that contains `path`.

        None if there is no repository, or if it cannot be read or does not respond.

        `known`: an earlier identity of the repository, if any, which saves time. `check` is called while
        waiting and may raise to stop.
        """
        with self._lock:
            if path in self._silent or checkout_root(path) is None:
                return None
            try:
                found: Identity | None = self._process.ask(
                    str(path), _Identify(str(path), known), Identity | None, check
                )
            except Unavailable:
                self._silent.add(path)
                return None
        return found

    def end(self) -> None:
        """End the process; the next call of `read` starts a new one."""
        with self._lock:  # another thread may be reading
            self._process.end()


class _Stopped(Exception):
    """Raised in the child process when its answer is no longer wanted."""


class _Responder:
    """The child process's end of the connection: answers the parent's questions, one after another."""

    def __init__(self, silent_s: float) -> None:
        self._silent_s = silent_s
        self._frames = ParentFrames()
        self._beat_at = 0.0
        self._project: CheckedProject | None = None
        self._texts: dict[str, str] = {}

    def serve(self) -> None:
        """Answer questions until the parent has ended.

        Then raises `EOFError` or `BrokenPipeError`.
        """
        self._send(_Alive())
        while True:
            die_after(IDLE_S)
            frame = self._frames.receive()
            self._beat_at = 0.0
            self._beat()
            answer = _dump(self._answered(_load(frame, _ToChild)))
            # The parent may read the answer later.
            die_after(IDLE_S)
            self._frames.send(answer)

    def _answered(self, question: Any) -> Struct:
        try:
            answer = _Answered(self._answer(question))
            # Objects may have been taken for missing because memory ran out; then this allocation fails.
            bytearray(_HEADROOM)
        except _Stopped:
            return _Answered(None)
        except UserError as error:
            kind = next(each.__name__ for each in type(error).__mro__ if each.__name__ in _KINDS)
            return _Problem(kind, error.title, error.cause, error.next_step, error.reason)
        except OSError as error:
            problem = _no_answer(str(self._project.project if self._project else ""), f"{error}.")
            return _Problem("Unavailable", problem.title, problem.cause, problem.next_step, problem.reason)
        except MemoryError:
            raise SystemExit("The repository needs more memory than a check is allowed to use.") from None
        except Exception:  # noqa: BLE001 - handed to the parent, which has the crash path
            return _Crash(traceback.format_exc())
        return answer

    def _answer(self, question: Any) -> Any:
        if isinstance(question, _Identify):
            return read_identity(Path(question.path), question.known, self._beat)
        if isinstance(question, _Look):
            return self._look(question)
        project = self._project
        assert project is not None
        if isinstance(question, _FindNotes):
            notes = project.notes(tuple(map(Path, question.files)))
            return [(note.path, note.text, note.place) for note in notes]
        if isinstance(question, _FixNote):
            return project.fix(CheckedNote(question.path, question.text, question.place), question.claims)
        assert isinstance(question, _CheckNotes)
        self._texts |= {note.path: note.text for note in question.notes if note.text is not None}
        neighbours = [frozenset(each) for each in question.neighbours]
        asked = [self._note(note, neighbours) for note in question.notes]
        report = project.check(asked, check=self._beat)
        return replace(report, claims=report.stale) if question.stale_only else report

    def _look(self, question: _Look) -> ProjectState:
        known = self._project
        if known is None or known.repository is None:
            self._project = known = CheckedProject(Path(question.project), question.at, progress=self._beat)
        elif not question.at:
            known.refresh()
        return ProjectState(known.problem, known.in_checkout)

    def _note(self, note: _SentNote, neighbours: Sequence[frozenset[str]]) -> CheckedNote:
        times = partial(self._times_of, note.path) if note.asks_times else dict
        more = neighbours[note.neighbours], note.everything
        return CheckedNote(note.path, self._texts[note.path], note.place, note.written_s, times, *more)

    def _times_of(self, path: str) -> Mapping[str, int]:
        self._send(_TimesWanted(path))
        die_after(IDLE_S)
        reply = _load(self._frames.receive(), _ToChild)
        if not isinstance(reply, _Times):
            raise _Stopped
        self._beat_at = 0.0
        self._beat()
        return reply.times

    def _beat(self) -> None:
        """Send a sign of life, at most once a second."""
        now = time.monotonic()
        if now >= self._beat_at:
            self._beat_at = now + _BEAT_S
            die_after(self._silent_s * 1.5)
            self._send(_Alive())

    def _send(self, message: Struct) -> None:
        self._frames.send(_dump(message))


def main(arguments: Sequence[str]) -> int:
    """Answer the questions of the parent process until it ends; return the exit code.

    `arguments`: two numbers as text: `silent_s` as in `ProjectClaims` (the process ends itself if it hangs
    1.5 times as long), and the memory in bytes that the process may use.
    """
    silent_s, most_memory = arguments
    limit_memory(int(most_memory))
    with contextlib.suppress(BrokenPipeError, EOFError):  # the parent is gone
        _Responder(float(silent_s)).serve()
    return 0
