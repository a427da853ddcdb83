"""The consolidation lock of Claude Code, `.consolidate-lock` (formats/claude-code.md sections 5 and 12).

The file's mtime is the time of the last consolidation, its body the process id of the holder; without the
file there was no consolidation yet. A consolidation counts as running while that process lives and the mtime
is younger than an hour. Claude Code leaves its process id there after a success, and the process lives on as
the open session. So it also counts as ended once the session recorded that it improved memories, or once
nothing in the directory has changed for `QUIET_MS` (`Ended`).

To take the lock, a process writes its own id and reads it again, as the agent does; of two that take it at
once the last one has it. When Reverie releases it after a consolidation the mtime is the present and the body
empty; after any other run everything is as it was. A foreign lock is never written to, and never taken while
its holder is alive; Reverie releases only its own. Uses real time, because the agent compares with it.

Threading: any thread but the GUI's. Failure: `Busy` while another process holds the lock, other `UserError`s
where the file cannot be read or written.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.agents.capabilities import AgentCheck, LockBefore, StatusLine
from reverie.agents.claude.locations import LOCK_NAME, MOST_SCANNED, SCANNED, TEAM
from reverie.agents.claude.settings import MemorySettings
from reverie.agents.codex.transcript import timestamp_ms
from reverie.agents.memory_index import INDEX, MOST_CHARS, MOST_LINES, Cut, cut_of, links
from reverie.agents.scopes import Scope
from reverie.agents.transcripts import decoded_row, opened_transcript
from reverie.clock import HOUR_MS
from reverie.errors import Busy, Conflict, UserError, user_error_from_os
from reverie.files.directory import open_regular, walk_paths
from reverie.files.locks import is_running
from reverie.text.summaries import phrase, plain, plural, together
from reverie.values import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

STALE_MS = HOUR_MS
QUIET_MS = HOUR_MS // 6
"""After this time without a change in the directory a consolidation is over: one takes about a minute."""
_READ_BYTES = 4096
_TAIL_BYTES = 4 << 20
_MOST_ENTRIES = 5000
_SAVED = b'"memory_saved"'
_NUMBER = re.compile(rb"\s*(\d{1,10})(?!\d)")


class LockState(Struct, frozen=True):
    """The state recorded by a lock file."""

    at: int | None = None
    """The last consolidation, or when the present one began, UTC ms; None for never."""
    holder: int | None = None
    """The process id in the body; None for none."""
    alive: bool = False
    """Whether that process runs."""
    running: bool = False
    """Whether a consolidation is under way."""
    ended: bool = False
    """Whether the consolidation of a living process is known to be over."""


def _never(_holder: int, _at_ms: int, _now_ms: int) -> bool:
    return False


HasEnded = Callable[[int, int, int], bool]
"""Takes process id, start and now (UTC ms); returns whether the consolidation that this process began is
over."""


class Ended(Struct, frozen=True):
    """A check for whether a consolidation is over although its process lives.

    `directory`: the memory. `transcript_of`: returns the transcript of the session that runs in a process;
    None where unknown.
    """

    directory: Path
    transcript_of: Callable[[int], Path | None]

    def __call__(self, holder: int, at_ms: int, now_ms: int) -> bool:
        """Implement `HasEnded`."""
        transcript = self.transcript_of(holder)
        if transcript is not None and _recorded_since(transcript, at_ms):
            return True
        changed_ms: int = max(at_ms, _newest_change(self.directory))
        return now_ms - changed_ms >= QUIET_MS


def _recorded_since(transcript: Path, at_ms: int) -> bool:
    """Return whether the end of a transcript records that memories were improved after `at_ms`."""
    try:
        with opened_transcript(transcript) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - _TAIL_BYTES))
            tail = file.read(_TAIL_BYTES)
    except (OSError, UserError):
        return False
    for line in reversed(tail.split(b"\n")):
        row = decoded_row(line) if _SAVED in line else None
        if row is None or row.get("subtype") != "memory_saved" or not isinstance(row.get("verb"), str):
            continue
        return (timestamp_ms(row.get("timestamp")) or 0) > at_ms
    return False


def _newest_change(directory: Path) -> int:
    """Return the time of the last change in a memory directory, UTC ms; the lock itself does not count."""
    newest = 0

    def not_listed(_error: OSError) -> None:
        """Ignore it: the folder counts with its own time, if at all, and the status lines name it."""

    for number, (folder, _folders, names) in enumerate(walk_paths(directory, onerror=not_listed)):
        if number >= _MOST_ENTRIES:
            break
        places = [folder, *(f"{folder}/{name}" for name in names[:_MOST_ENTRIES] if name != LOCK_NAME)]
        # The memory's own directory changes with the lock, too.
        for place in places[1:] if folder == str(directory) else places:
            with suppress(OSError):
                newest = max(newest, os.stat(place).st_mtime_ns // 1_000_000)  # noqa: PTH116 - thousands
    return newest


def read_lock(
    file: Path,
    now_ms: int,
    is_alive: Callable[[int], bool] = is_running,
    has_ended: HasEnded = _never,
) -> LockState:
    """Return the state at `now_ms`; a missing or unreadable file counts as "never"."""
    try:
        before = _look(file)
    except OSError:
        return LockState()
    return _state(before, now_ms, is_alive, has_ended)


class ClaudeLock:
    """Implements `agents.capabilities.AgentLock` for one memory directory."""

    def __init__(
        self,
        file: Path,
        *,
        pid: int | None = None,
        clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        is_alive: Callable[[int], bool] = is_running,
        has_ended: HasEnded = _never,
    ) -> None:
        self._has_ended = has_ended
        self._file = file
        self._pid = os.getpid() if pid is None else pid
        self._clock_ms = clock_ms
        self._is_alive = is_alive

    @property
    def file(self) -> Path:
        return self._file

    @property
    def holder(self) -> int:
        return self._pid

    def look(self) -> LockBefore:
        """Return the lock as it is now.

        Raises `Busy` while another process holds it.
        """
        with self._telling("read"):
            before = _look(self._file)
        state = _state(before, self._clock_ms(), self._is_alive, self._has_ended)
        if state.running and state.holder != self._pid:
            raise self._busy(f"Process {state.holder} holds {self._file}.")
        return before

    def take(self, before: LockBefore) -> None:
        """Take the lock if it is unchanged since `look`.

        Raises `Busy` where another process took it first.
        """
        with self._telling("taken"):
            if _look(self._file) != before:
                raise self._busy(f"{self._file} changed at this moment.")
            flags = os.O_WRONLY | os.O_CREAT | (os.O_EXCL if before.body is None else 0)
            try:
                self._write(flags, str(self._pid).encode())
            except FileExistsError:
                raise self._busy(f"{self._file} appeared at this moment.") from None
            if not self._is_ours(_look(self._file), self._pid):
                raise self._busy(f"Another process took {self._file} at this moment.")

    def done(self, holder: int) -> None:
        """Release the lock after a consolidation: the time is now, and it has no holder.

        Raises `Conflict`, and leaves the file, where `holder` does not hold it any more.
        """
        with self._telling("given back"):
            self._require_ours(holder)
            self._write(os.O_WRONLY, b"")
            os.utime(self._file, ns=(self._clock_ms() * 1_000_000,) * 2)

    def put_back(self, before: LockBefore, holder: int) -> None:
        """Restore the lock to its state before.

        Raises `Conflict`, and leaves the file, where `holder` does not hold it any more.
        """
        with self._telling("put back"):
            self._require_ours(holder)
            if before.body is None:
                self._file.unlink()
                return
            self._write(os.O_WRONLY, before.body)
            os.utime(self._file, ns=(before.mtime_ns, before.mtime_ns))

    def _write(self, flags: int, data: bytes) -> None:
        # In place, as the agent does it: to a process that has it open, a new file would be another lock.
        fd = os.open(self._file, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0), 0o666)
        try:
            os.ftruncate(fd, 0)
            os.write(fd, data)
        finally:
            os.close(fd)

    def _require_ours(self, holder: int) -> None:
        if not self._is_ours(_look(self._file), holder):
            raise Conflict(
                f"{self._file.name} was left as it is.",
                cause="Another process has taken or removed it meanwhile.",
                next_step="Nothing needs to be done.",
            )

    @staticmethod
    def _is_ours(now: LockBefore, holder: int) -> bool:
        return _holder(now.body) == holder

    def _busy(self, cause: str) -> Busy:
        return Busy(
            "Claude Code is consolidating these memories.",
            cause=cause,
            next_step="Try again when it is done. After ten minutes without a change it counts as ended.",
            reason="agent-busy",
        )

    @contextmanager
    def _telling(self, done: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise user_error_from_os(error, f"{self._file} could not be {done}.") from error


def _look(file: Path) -> LockBefore:
    try:
        fd = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return LockBefore(None, 0)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{file} is not a file")
        return LockBefore(os.read(fd, _READ_BYTES), status.st_mtime_ns)
    finally:
        os.close(fd)


def _holder(body: bytes | None) -> int | None:
    """Return the process id in a body: its leading number, as the agent's `parseInt` reads it; None for 0."""
    found = _NUMBER.match(body or b"")
    return int(found[1]) or None if found else None


def _state(
    before: LockBefore, now_ms: int, is_alive: Callable[[int], bool], has_ended: HasEnded
) -> LockState:
    if before.body is None:
        return LockState()
    at, holder = before.mtime_ns // 1_000_000, _holder(before.body)
    if holder is None or not is_alive(holder):
        return LockState(at, holder)
    ended = has_ended(holder, at, now_ms)
    running = not ended and now_ms - at < STALE_MS
    return LockState(at, holder, alive=True, running=running, ended=ended)


# Status lines (sections 5 and 12.1.8): when a memory was consolidated last, whether Claude Code loads it,
# and whether it looks through all of it. The lock says when, not who: Claude Code and Reverie leave the
# same file, but for the process in it. What cannot be read counts as never.


_LABEL = "Consolidation by Claude Code or Reverie"
_SLACK_MS = 60_000
_COUNTED = 10_000


def status_lines(
    directory: Path, settings: MemorySettings, now_ms: int, has_ended: HasEnded | None = None
) -> tuple[StatusLine, ...]:
    """Return the lines about a memory directory, under the settings in effect there.

    `has_ended`: see `agents.claude.consolidation`.
    """
    lock = directory / LOCK_NAME
    state = read_lock(lock, now_ms) if has_ended is None else read_lock(lock, now_ms, has_ended=has_ended)
    found = [_of(state, now_ms)]
    if settings.off:
        text = f"Switched off ({settings.off}). The files stay, and are not loaded."
        found.append(StatusLine(Scope.PROJECT, "Claude Code memory", text, "warn"))
    if settings.refused:
        found.append(StatusLine(Scope.PROJECT, "Claude Code memory", settings.refused, "warn"))
    elif settings.directory is not None:
        whose = "The project's own settings put" if settings.by_project else "Settings put"
        text = f"{whose} this memory in {settings.directory} ({settings.source})."
        found.append(StatusLine(Scope.PROJECT, "Claude Code memory", text))
    closed: list[str] = []
    memories = _memories(directory, closed)
    if closed:
        text = f"Not looked into: {', '.join(closed)}."
        found.append(StatusLine(Scope.PROJECT, "Claude Code memory", text, "warn"))
    if memories > MOST_SCANNED:
        text = (
            f"{memories:,} memories; the agent looks through the {MOST_SCANNED} changed last, and finds the"
            " others by the index only."
        )
        found.append(StatusLine(Scope.PROJECT, "Claude Code memory", text, "warn"))
    return tuple(found)


def _memories(directory: Path, closed: list[str]) -> int:
    """Count, up to a bound, the files that the agent searches, without following links to directories.

    Folders that cannot be read are added to `closed`.
    """
    count = 0

    def not_listed(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            closed.append(f"{error.filename} ({error.strerror})")

    for folder, _folders, names in walk_paths(directory, onerror=not_listed):
        count += sum(_is_scanned(rel) for rel in _rels(directory, folder, names))
        if count > _COUNTED:
            break
    return count


def _rels(directory: Path, folder: str, names: Iterable[str]) -> Iterator[str]:
    inside = os.path.relpath(folder, directory)
    return (name if inside == "." else f"{inside}/{name}" for name in names)


def _is_scanned(rel: str) -> bool:
    return re.fullmatch(SCANNED, rel) is not None


def _of(lock: LockState, now_ms: int) -> StatusLine:
    if lock.at is None:
        return StatusLine(Scope.PROJECT, _LABEL, "Never.")
    if lock.at > now_ms + _SLACK_MS:
        text = "The recorded time is in the future, so a clock was wrong."
        return StatusLine(Scope.PROJECT, _LABEL, text, "warn", lock.at)
    if lock.running:
        return StatusLine(Scope.PROJECT, _LABEL, "Running now.", "running", lock.at)
    if lock.ended:
        text = "Done by Claude Code; its session is still open."
        return StatusLine(Scope.PROJECT, _LABEL, text, "ok", lock.at)
    if lock.alive:
        text = "Started over an hour ago. Treated as finished, although the program is still open."
        return StatusLine(Scope.PROJECT, _LABEL, text, "warn", lock.at)
    if lock.holder is not None:
        text = "Started by a program that has closed; its end is not recorded."
        return StatusLine(Scope.PROJECT, _LABEL, text, "ok", lock.at)
    return StatusLine(Scope.PROJECT, _LABEL, "Done.", "ok", lock.at)


# What the doctor says of a project. It only reads.


_INDEX_BYTES = 4 << 20
_MOST_FILES = 10_000


class _MemoryFacts(Struct, frozen=True):
    """The facts that the doctor's checks of one project's memory use."""

    off: str
    """The reason why the memory is off, in words; empty where it is on."""
    cut: Cut | None
    """The loaded part of the index; None where there is no index, or it cannot be read."""
    problem: str
    """Why the index cannot be read; empty where it can, or does not exist."""
    memories: int
    """Number of memories that the index covers: not those of the team or of a folder with an index of its
    own."""
    unlisted: int
    """Number of memories that no line of the index names."""
    dangling: int
    """Number of links in the index that lead to no file."""
    lock: StatusLine | None
    """Time of the last consolidation."""
    closed: tuple[str, ...] = ()
    """Its folders that cannot be read, and why; their files are not counted."""


def memory_checks(directory: Path, off: str, status: Sequence[StatusLine]) -> tuple[AgentCheck, ...]:
    """Return the checks of one project's memory.

    `off`: why it is off, in words; `status`: the agent's status lines about it, the lock first.
    """
    facts = _facts(directory, off, status[0] if status else None)
    return _index(facts), _lock(facts)


def _index_text(directory: Path) -> tuple[str | None, str]:
    """Return the index, and why it cannot be read; None and empty where there is no index."""
    path = directory / INDEX
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None, f"{INDEX} is no regular file, so Reverie does not read it."
        # No link that takes its place in between is followed.
        with os.fdopen(open_regular(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
            return file.read(_INDEX_BYTES).decode("utf-8", "replace"), ""
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        return None, f"{INDEX} cannot be read: {error.strerror or error}."


def _facts(directory: Path, off: str, lock: StatusLine | None) -> _MemoryFacts:
    text, problem = _index_text(directory)
    cut = None if text is None else cut_of(text)
    there: set[str] = set()
    indexed: set[str] = {TEAM}
    closed: dict[str, str] = {}

    def not_listed(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            closed[os.path.relpath(error.filename, directory)] = error.strerror or str(error)

    for folder, _folders, files in walk_paths(directory, onerror=not_listed):
        there.update(rel for rel in _rels(directory, folder, files) if rel.endswith(".md"))
        if INDEX in files and folder != str(directory):
            indexed.add(os.path.relpath(folder, directory))
        if len(there) > _MOST_FILES:
            break
    memories = {rel for rel in there if _is_scanned(rel) and not _is_below(rel, indexed)}
    named = {link.rel for link in links(text or "") if link.rel is not None}
    return _MemoryFacts(
        off,
        cut,
        problem,
        len(memories),
        len(memories - named) if cut is not None else 0,
        sum(rel.endswith(".md") and rel not in there and not _is_below(rel, closed) for rel in named),
        lock,
        tuple(f"{name} ({why})" for name, why in sorted(closed.items()) if name != "." or not problem),
    )


def _is_below(rel: str, folders: Iterable[str]) -> bool:
    return any(folder == "." or rel.startswith(f"{folder}/") for folder in folders)


def _index(facts: _MemoryFacts) -> AgentCheck:
    check = "claude-index"
    loaded = phrase("Claude Code loads the memories of this project")
    partly = phrase("Claude Code does not load every memory of this project")
    none = phrase("Claude Code loads no memory of this project")
    if facts.off:
        evidence = phrase("Auto memory is off: {reason}. The files stay.", reason=facts.off)
        return AgentCheck(check, none, "warn", evidence)
    if facts.problem:
        return AgentCheck(check, none, "fail", plain(facts.problem))
    closed = phrase("Not looked into: {folders}.", folders=", ".join(facts.closed)) if facts.closed else None
    if facts.cut is None and closed:
        return AgentCheck(check, none, "warn", closed)
    if facts.cut is None and not facts.memories:
        return AgentCheck(check, phrase("There are no memories yet"), "pass", phrase("Nothing to load."))
    if facts.cut is None:
        kept = plural(
            "There is 1 memory and no {index}, so it is not loaded.",
            "There are %n memories and no {index}, so none is loaded.",
            facts.memories,
            index=INDEX,
        )
        return AgentCheck(check, none, "warn", kept)
    size = phrase(
        "{index}: {lines} of {most_lines} lines, {chars} of {most_chars} characters.",
        index=INDEX,
        lines=facts.cut.lines,
        most_lines=MOST_LINES,
        chars=facts.cut.chars,
        most_chars=MOST_CHARS,
    )
    parts = []
    if facts.cut.line is not None:
        cut = phrase(
            "It stops reading {index} at line {line}; shorten or remove lines.",
            index=INDEX,
            line=facts.cut.line,
        )
        parts.append(cut)
    if facts.unlisted:
        unlisted = plural(
            "1 memory without a line in {index}.",
            "%n memories without a line in {index}.",
            facts.unlisted,
            index=INDEX,
        )
        parts.append(unlisted)
    if facts.dangling:
        dangling = plural(
            "1 line of {index} without a file.",
            "%n lines of {index} without a file.",
            facts.dangling,
            index=INDEX,
        )
        parts.append(dangling)
    parts += [closed] if closed else []
    return AgentCheck(check, partly if parts else loaded, "warn" if parts else "pass", together(size, *parts))


def _lock(facts: _MemoryFacts) -> AgentCheck:
    check, free = "claude-lock", phrase("Nothing else consolidates these memories")
    line = facts.lock
    if line is None:
        return AgentCheck(check, free, "pass", phrase("There is no memory of this project on disk."))
    evidence = phrase("{label}: {text}", label=line.label, text=line.text)
    if line.state == "running":
        title = phrase("Something else consolidates these memories")
        return AgentCheck(check, title, "warn", evidence, at=line.at)
    return AgentCheck(check, free, "warn" if line.state == "warn" else "pass", evidence, at=line.at)
