"""The directories in `projects/` of a Claude Code home, and what they stand for (formats/claude-code.md
section 2).

A directory's name cannot be turned back. Its working directory is told by the typed prompts in
`history.jsonl`, and by transcripts; those are opened for nothing but this only when somebody asks
(`Known.learn`), and what they said is kept in Reverie's cache. A path that does not fit the name is not
believed.

Threading: any thread but the GUI's; the cache is replaced at once, a lost entry is learned again. Failure:
what cannot be listed is a sentence in `problems`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from reverie.errors import MendableError
from reverie.files.atomic import atomic_write
from reverie.homes.claude_names import (
    DIRECTORY,
    LONGEST,
    SESSION,
    SIDECHAIN,
    directory_of,
    same_directory,
)
from reverie.homes.reading import read_json

_HISTORY_BYTES = 8 << 20
_CACHE_BYTES = 16 << 20
_PROJECT = re.compile(rb'"project"\s*:\s*("(?:[^"\\\n]|\\.)*")')
_TRANSCRIPTS_LOOKED_AT = 5
_MOST_TITLES = 20_000
_SAVE_EVERY_S = 1.0
NOTES = "session-memory"
NOTES_FILE = "summary.md"


@dataclass(frozen=True, slots=True)
class Session:
    """One session in a directory. `transcript` None: only its notes are left. `updated_at` UTC ms, `size`
    bytes, both of the transcript (of the directory where there is none)."""

    id: str
    directory: str
    transcript: Path | None
    updated_at: int
    size: int
    notes: bool


@dataclass(frozen=True, slots=True)
class Listed:
    """One directory in `projects/`; sessions newest first. `sidechains`: what older versions kept of
    sub-agents beside the transcripts."""

    name: str
    path: Path
    memory: bool
    sessions: tuple[Session, ...]
    sidechains: tuple[tuple[Path, os.stat_result], ...] = ()


def listed(projects: Path, problems: list[str], only: Iterable[str] | None = None) -> tuple[Listed, ...]:
    """Every directory (of `only`) with a memory or a transcript, by name. No file is opened."""
    found, wanted = [], None if only is None else set(only)
    for entry in _entries(projects, problems):
        if wanted is not None and entry.name not in wanted:
            continue
        if DIRECTORY.fullmatch(entry.name) and _is_dir(entry):
            one = _directory(entry, problems)
            if one.memory or one.sessions or one.sidechains:
                found.append(one)
    return tuple(found)


def _directory(directory: os.DirEntry[str], problems: list[str]) -> Listed:
    transcripts: dict[str, tuple[Path, os.stat_result]] = {}
    others: dict[str, tuple[bool, os.stat_result]] = {}
    sidechains = []
    memory = False
    for entry in _entries(Path(directory.path), problems):
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
            Session(
                stem,
                directory.name,
                path,
                seen.st_mtime_ns // 1_000_000,
                seen.st_size if path else 0,
                stem in others and others[stem][0],
            )
        )
    sessions.sort(key=lambda session: (-session.updated_at, session.id))
    return Listed(directory.name, Path(directory.path), memory, tuple(sessions), tuple(sidechains))


@dataclass(slots=True)
class _Kept:
    """Paths by directory; title and the transcript's time (UTC ms) by session."""

    paths: dict[str, tuple[str, ...]] = field(default_factory=dict)
    titles: dict[str, tuple[str, int]] = field(default_factory=dict)


def _kept_in(data: Any) -> _Kept:
    kept = _Kept()
    paths, titles = (data.get(key) if isinstance(data, dict) else None for key in ("paths", "titles"))
    for name, found in paths.items() if isinstance(paths, dict) else ():
        if isinstance(found, list):
            kept.paths[name] = tuple(path for path in found if isinstance(path, str))
    for session_id, found in titles.items() if isinstance(titles, dict) else ():
        match found:
            case [str(title), int(at)]:
                kept.titles[session_id] = (title, at)
    return kept


class Known:
    """What is known of the directories in `projects/` and of sessions without opening a transcript: their
    working directories, and the titles that were read before."""

    def __init__(self, config: Path, cache: Path | None) -> None:
        self._config = config
        self._file = cache / f"{_short(str(config))}.json" if cache is not None else None
        self._kept: _Kept | None = None
        self._lock = threading.Lock()
        self._saved_at = -_SAVE_EVERY_S

    def paths(self, name: str) -> tuple[str, ...]:
        """The working directories of one directory: none known, one, or several whose names collide."""
        found = (*self._all().paths.get(name, ()), *self._typed().get(name[:LONGEST], ()))
        return tuple(dict.fromkeys(path for path in found if same_directory(name, path)))

    def title(self, session_id: str, updated_at: int | None = None) -> str:
        """The title a session had when it was last read; with `updated_at` only if it did not change since.
        Empty for none."""
        title, at = self._all().titles.get(session_id, ("", 0))
        return title if updated_at in (None, at) else ""

    def learn(self, name: str, transcripts: Iterable[Path]) -> tuple[str, ...]:
        """Read the beginnings of the newest transcripts, and keep what they say of their directory."""
        from reverie.transcripts.claude import session_head

        for transcript in list(transcripts)[:_TRANSCRIPTS_LOOKED_AT]:
            with contextlib.suppress(OSError, MendableError):
                self.note(name, session_head(transcript).cwd)
        return self.paths(name)

    def note(self, name: str, cwd: str, session_id: str = "", title: str = "", updated_at: int = 0) -> None:
        """Keep what a transcript in a directory was found to say."""
        with self._lock:
            kept = self._all()
            known = kept.paths.get(name, ())
            new_path = bool(cwd) and cwd not in known and same_directory(name, cwd)
            if new_path:
                kept.paths[name] = (*known, cwd)
            new_title = bool(session_id) and kept.titles.get(session_id) != (title, updated_at)
            if new_title:
                kept.titles.pop(session_id, None)
                kept.titles[session_id] = (title, updated_at)
            # Thousands of titles are read in a row; those of the last moment are read again another time.
            if new_path or (new_title and time.monotonic() - self._saved_at >= _SAVE_EVERY_S):
                self._save(kept)

    def _save(self, kept: _Kept) -> None:
        if self._file is None:
            return
        self._saved_at = time.monotonic()
        titles = dict(list(kept.titles.items())[-_MOST_TITLES:])
        data = json.dumps({"paths": kept.paths, "titles": titles}, indent=0).encode()
        with contextlib.suppress(OSError, MendableError):  # it is learned again
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            atomic_write(self._file, data, mode=0o600)

    def _all(self) -> _Kept:
        if self._kept is None:
            data: Any = None
            if self._file is not None:
                with contextlib.suppress(OSError, ValueError):
                    data = read_json(self._file, _CACHE_BYTES)
            self._kept = _kept_in(data)
        return self._kept

    def _typed(self) -> dict[str, tuple[str, ...]]:
        path = self._config / "history.jsonl"
        try:
            status = path.stat()
            return _typed_in(path, status.st_mtime_ns, status.st_size)
        except OSError:
            return {}


@lru_cache(maxsize=8)
def _typed_in(path: Path, _mtime_ns: int, size: int) -> dict[str, tuple[str, ...]]:
    """The working directories in which prompts were typed last, by what their directory's name begins with.
    Kept until the file changes; of the prompts nothing is."""
    from reverie.transcripts.lines import opened_transcript

    try:
        with opened_transcript(path) as file:
            file.seek(max(0, size - _HISTORY_BYTES))
            data = file.read(_HISTORY_BYTES)
    except MendableError:
        return {}
    found: dict[str, dict[str, None]] = {}
    for quoted in dict.fromkeys(match[1] for match in _PROJECT.finditer(data)):
        with contextlib.suppress(ValueError):
            cwd = json.loads(quoted.decode("utf-8", "replace"))
            found.setdefault(directory_of(cwd)[:LONGEST], {})[cwd] = None
    return {name: tuple(paths) for name, paths in found.items()}


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _entries(directory: Path, problems: list[str]) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            yield from sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        problems.append(f"{directory} could not be listed: {error.strerror or error}.")


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
