"""The directories in `projects/` of a Claude Code home, with their working directories and sessions.

Covers formats/claude-code.md sections 1, 2 and 12. A directory's name cannot be turned back into a path.
Three sources name its working directory: the typed prompts in `history.jsonl` (terminal sessions only), the
running sessions, and transcripts. The first kilobytes of the newest transcripts are read if nothing else
names the directory (`ProjectCache.learn_missing`, at most `HEADS_AT_ONCE` at a time), and the result is kept
in Reverie's cache. A path that does not match the directory's name is ignored. Where several working
directories share one name, each session belongs to the one that its own transcript names.

Threading: any thread but the GUI's; the cache file is replaced in one step; a lost entry is read from the
transcripts again. Failure: a directory that cannot be listed adds a sentence to `problems`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from reverie.agents.claude.locations import (
    DIRECTORY,
    LONGEST,
    SESSION,
    SIDECHAIN,
    directory_of,
    may_be_of,
    todays_name,
)
from reverie.agents.claude.running_sessions import running_sessions
from reverie.agents.claude.transcript import first_cwd, session_head
from reverie.agents.reading import as_object, cached_until_changed, read_json, sorted_entries, texts_of
from reverie.agents.transcript_lines import end_of, opened_transcript
from reverie.errors import UserError
from reverie.files.atomic import atomic_write
from reverie.files.directory import leads_to_directory
from reverie.values import Struct, field

_HISTORY_BYTES = 8 << 20
_CACHE_BYTES = 16 << 20
_PROJECT = re.compile(rb'"project"\s*:\s*("(?:[^"\\\n]|\\.)*")')
_TRANSCRIPTS_LOOKED_AT = 5
_ABSENT = (FileNotFoundError, NotADirectoryError)
HEADS_AT_ONCE = 400
"""Maximum number of transcripts that one listing opens for their working directory. The next listing
continues."""
_MOST_TITLES = 20_000
_SAVE_EVERY_S = 1.0
NOTES = "session-memory"
NOTES_FILE = "summary.md"


class StoredSession(Struct, frozen=True):
    """One session, stored in a directory of `projects/`."""

    id: str
    directory: str
    """The name of the directory."""
    transcript: Path | None
    """The transcript; None if only the session's notes exist."""
    updated_at: int
    """The time of the last change of the transcript or, without one, of the session's directory (UTC ms)."""
    size: int
    """The size of the transcript in bytes; 0 without one."""
    notes: bool
    """Whether the session has notes."""


class ProjectDirectory(Struct, frozen=True):
    """One directory in `projects/`."""

    name: str
    path: Path
    memory: bool
    """Whether the directory contains a memory directory."""
    sessions: tuple[StoredSession, ...]
    """The sessions in the directory, newest first."""
    sidechains: tuple[tuple[Path, os.stat_result], ...] = ()
    """The transcripts of sub-agents that older versions stored beside the transcripts of sessions."""


def listed(
    projects: Path, problems: list[str], only: Iterable[str] | None = None
) -> tuple[ProjectDirectory, ...]:
    """Return the directories in `projects` with a memory or a transcript, sorted by name; open no file.

    `only`: the names of the directories to return; None: all. Each directory that cannot be listed adds a
    message to `problems`.
    """
    found, wanted = [], None if only is None else set(only)
    for entry in sorted_entries(projects, problems, _ABSENT):
        if wanted is not None and entry.name not in wanted:
            continue
        if DIRECTORY.fullmatch(entry.name) and leads_to_directory(entry):
            one = _directory(entry, problems)
            if one.memory or one.sessions or one.sidechains:
                found.append(one)
    return tuple(found)


def _directory(directory: os.DirEntry[str], problems: list[str]) -> ProjectDirectory:
    transcripts: dict[str, tuple[Path, os.stat_result]] = {}
    others: dict[str, tuple[bool, os.stat_result]] = {}
    sidechains = []
    memory = False
    for entry in sorted_entries(Path(directory.path), problems, _ABSENT):
        with contextlib.suppress(OSError):
            stem = entry.name.removesuffix(".jsonl")
            if entry.name == "memory":
                memory = entry.is_dir()
            elif SIDECHAIN.fullmatch(entry.name):
                if entry.is_file(follow_symlinks=False):
                    sidechains.append((Path(entry.path), entry.stat()))
            elif not SESSION.fullmatch(stem):
                continue
            elif stem != entry.name:
                if entry.is_file():
                    transcripts[stem] = Path(entry.path), entry.stat()
            elif entry.is_dir(follow_symlinks=False):
                notes = f"{entry.path}/{NOTES}"
                others[stem] = os.path.isdir(notes), entry.stat()  # noqa: PTH112 - thousands of them
    sessions = []
    for stem in {*transcripts, *(stem for stem, (notes, _status) in others.items() if notes)}:
        path, status = transcripts.get(stem, (None, None))
        seen = status or others[stem][1]
        sessions.append(
            StoredSession(
                stem,
                directory.name,
                path,
                seen.st_mtime_ns // 1_000_000,
                seen.st_size if path else 0,
                stem in others and others[stem][0],
            )
        )
    sessions.sort(key=lambda session: (-session.updated_at, session.id))
    return ProjectDirectory(directory.name, Path(directory.path), memory, tuple(sessions), tuple(sidechains))


class _SessionSummary(Struct, frozen=True):
    """The title and working directory from a transcript."""

    title: str = ""
    at: int = 0
    """The time of the transcript's last change when its title was read (UTC ms); 0 if only `cwd` was read."""
    cwd: str = ""
    """The working directory; empty if unknown."""


_NOTHING = _SessionSummary()


class _CacheContents(Struct):
    """The content of the cache."""

    paths: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Name of a directory in `projects/` -> working directories of the sessions in it."""
    sessions: dict[str, _SessionSummary] = field(default_factory=dict)
    """Session id -> title and working directory of the session."""


def _kept_in(data: Any) -> _CacheContents:
    kept = _CacheContents()
    paths, titles = (as_object(as_object(data).get(key)) for key in ("paths", "titles"))
    for name, found in paths.items():
        if isinstance(found, list):
            kept.paths[name] = texts_of(found)
    for session_id, found in titles.items():
        match found:
            case [str(title), int(at), str(cwd)]:
                kept.sessions[session_id] = _SessionSummary(title, at, cwd)
            case [str(title), int(at)]:  # as versions before 1.1 wrote it
                kept.sessions[session_id] = _SessionSummary(title, at)
    return kept


class ProjectCache:
    """A cache of the working directories of project directories and sessions, and of session titles."""

    def __init__(self, config: Path, cache: Path | None) -> None:
        self._config = config
        self._file = cache / f"{_short(str(config))}.json" if cache is not None else None
        self._kept: _CacheContents | None = None
        self._running: dict[str, str] = {}
        self._tried: dict[str, int] = {}
        self._lock = threading.Lock()
        self._saved_at = -_SAVE_EVERY_S

    def paths(self, name: str) -> tuple[str, ...]:
        """Return the known working directories whose sessions are in the directory `name` in `projects/`.

        Several working directories may share one name.
        """
        kept, today = self._all().paths, todays_name(name)
        typed = self._typed().get(today[:LONGEST], ())
        found = (*kept.get(name, ()), *kept.get(today, ()), *typed, *self._running.values())
        return tuple(dict.fromkeys(path for path in found if may_be_of(name, path)))

    def cwd(self, session: StoredSession | str, name: str) -> str:
        """Return the working directory of a session in the directory `name`; empty if unknown.

        `session`: the session or its id.
        """
        session_id = session if isinstance(session, str) else session.id
        told = self._running.get(session_id) or self._all().sessions.get(session_id, _NOTHING).cwd
        return told if told and may_be_of(name, told) else ""

    def title(self, session_id: str, updated_at: int | None = None) -> str:
        """Return the stored title of a session; empty if none is stored.

        `updated_at`: the time (UTC ms) of the transcript's last change; a title that was read from an
        earlier version is not returned. None: the title is returned in any case.
        """
        told = self._all().sessions.get(session_id, _NOTHING)
        return told.title if updated_at in (None, told.at) else ""

    def has_title(self, session: StoredSession) -> bool:
        """Return whether the title of `session` was read since its transcript changed; it may be empty."""
        told = self._all().sessions.get(session.id)
        return told is not None and told.at == session.updated_at

    def learn_missing(self, directories: Iterable[ProjectDirectory]) -> None:
        """Read working directories that are unknown from the transcripts in `directories`, and store them.

        Reads the beginnings of at most `HEADS_AT_ONCE` transcripts: first the newest transcript of each
        directory for which no working directory is known, then further ones. These are the next four of each
        such directory, and all sessions of a directory that several working directories share. A transcript
        is not read twice in one process unless it changed.
        """
        directories = tuple(directories)
        self._running = {each.session_id: each.cwd for each in running_sessions(self._config)}
        first: list[StoredSession] = []
        more: list[StoredSession] = []
        for one in directories:
            paths = self.paths(one.name)
            if len(paths) == 1:  # as nearly every one is: thousands of sessions need no check
                continue
            unread = [each for each in one.sessions if each.transcript and not self._was_read(each)]
            if paths:
                more += unread
            else:
                first += unread[:1]
                more += unread[1:_TRANSCRIPTS_LOOKED_AT]
        changed = False
        for session in (first + more)[:HEADS_AT_ONCE]:
            changed |= self._learn_head(session)
        if changed:
            with self._lock:
                self._save(self._all())

    def _was_read(self, session: StoredSession) -> bool:
        return bool(self.cwd(session, session.directory)) or self._tried.get(session.id) == session.updated_at

    def _learn_head(self, session: StoredSession) -> bool:
        """Read and store the working directory in a session's transcript; return whether one was found."""
        self._tried[session.id] = session.updated_at
        cwd = ""
        if session.transcript is not None:
            with contextlib.suppress(OSError, UserError):
                cwd = first_cwd(session.transcript)
        if not cwd or not may_be_of(session.directory, cwd):
            return False
        with self._lock:
            kept = self._all()
            self._add_path(kept, session.directory, cwd)
            before = kept.sessions.get(session.id, _NOTHING)
            kept.sessions[session.id] = _SessionSummary(before.title, before.at, cwd)
        return True

    def learn(self, name: str, transcripts: Iterable[Path]) -> tuple[str, ...]:
        """Read and store the working directories that the first few of `transcripts` name.

        Returns all known working directories of the directory `name`.
        """

        for transcript in list(transcripts)[:_TRANSCRIPTS_LOOKED_AT]:
            with contextlib.suppress(OSError, UserError):
                self.note(name, session_head(transcript).cwd)
        return self.paths(name)

    def note(self, name: str, cwd: str, session_id: str = "", title: str = "", updated_at: int = 0) -> bool:
        """Store facts read from a transcript, and return whether its title or working directory is new.

        `name`: the name of the transcript's directory in `projects/`. `session_id` empty: store only the
        working directory. `updated_at`: the time (UTC ms) of the transcript's last change; a change of it
        alone does not count as new.
        """
        with self._lock:
            kept = self._all()
            new_path = may_be_of(name, cwd) and self._add_path(kept, name, cwd)
            told = _SessionSummary(title, updated_at, cwd)
            before = kept.sessions.get(session_id, _NOTHING)
            new_title = bool(session_id) and kept.sessions.get(session_id) != told
            if new_title:
                kept.sessions.pop(session_id, None)
                kept.sessions[session_id] = told
            # Thousands of titles are read in a row; those of the last moment are read again another time.
            if new_path or (new_title and time.monotonic() - self._saved_at >= _SAVE_EVERY_S):
                self._save(kept)
        return new_path or (new_title and (before.title, before.cwd) != (title, cwd))

    def keep(self) -> None:
        """Write the cache to disk, including titles that were read since the last write."""
        with self._lock:
            self._save(self._all())

    @staticmethod
    def _add_path(kept: _CacheContents, name: str, cwd: str) -> bool:
        """Add to `kept` that sessions in the directory `name` have the working directory `cwd`.

        Returns whether that is new; False for an empty `cwd`.
        """
        known = kept.paths.get(name, ())
        if not cwd or cwd in known:
            return False
        kept.paths[name] = (*known, cwd)
        return True

    def _save(self, kept: _CacheContents) -> None:
        if self._file is None:
            return
        self._saved_at = time.monotonic()
        titles = {
            session_id: [told.title, told.at, told.cwd]
            for session_id, told in list(kept.sessions.items())[-_MOST_TITLES:]
        }
        data = json.dumps({"paths": kept.paths, "titles": titles}, indent=0).encode()
        with contextlib.suppress(OSError, UserError):  # it is learned again
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            atomic_write(self._file, data, mode=0o600)

    def _all(self) -> _CacheContents:
        if self._kept is None:
            data: Any = None
            if self._file is not None:
                with contextlib.suppress(OSError, ValueError):
                    data = read_json(self._file, _CACHE_BYTES)
            self._kept = _kept_in(data)
        return self._kept

    def _typed(self) -> dict[str, tuple[str, ...]]:
        try:
            return _typed_in(self._config / "history.jsonl")
        except OSError:
            return {}


@cached_until_changed(8)
def _typed_in(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the working directories of the last prompts in the history file `path`, by directory name.

    A key is the name that the agent gives the working directory in `projects/`, cut to `LONGEST` characters.
    The prompts are not stored.
    """
    try:
        with opened_transcript(path) as file:
            data = end_of(file, _HISTORY_BYTES)
    except UserError:
        return {}
    found: dict[str, dict[str, None]] = {}
    for quoted in dict.fromkeys(match[1] for match in _PROJECT.finditer(data)):
        with contextlib.suppress(ValueError):
            cwd = json.loads(quoted.decode("utf-8", "replace"))
            found.setdefault(directory_of(cwd)[:LONGEST], {})[cwd] = None
    return {name: tuple(paths) for name, paths in found.items()}


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
