"""Memories of Codex beside `memories/`: directories of a generation that Reverie does not know, or of before
(formats/codex.md section 4, last line).

Nobody knows what the agent does with these, so their files are shown and never written. Bounded, since such a
directory may hold anything; links are not followed. Threading, failure: as `homes.base` says; what cannot be
listed is left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from reverie.homes.listing import Companion
from reverie.homes.reading import entries_in
from reverie.homes.scopes import Scope

MOST_DIRECTORIES = 8
MOST_FILES = 60
"""In all siblings together: they are shown in one list."""
_MOST_ENTRIES = 2_000
_DEPTH = 4
_MEMORY_LIKE = re.compile(r"memor(?:y|ies)", re.IGNORECASE)
_TEXTS = (".md", ".txt", ".json", ".jsonl", ".toml", ".yaml", ".yml")
_SECRET = re.compile(r"auth|credential|secret|token", re.IGNORECASE)
READ_ONLY = "Reverie does not know this kind of Codex memory: it is only shown, never changed."


def sibling_names(home: Path) -> tuple[str, ...]:
    """The directories in a home that look like memories and are none that Reverie knows, in order."""
    found = [
        entry.name
        for entry in entries_in(home)
        if entry.name != "memories"
        and not entry.name.startswith(".")
        and _MEMORY_LIKE.search(entry.name)
        and _is(entry, directory=True)
    ]
    return tuple(sorted(found)[:MOST_DIRECTORIES])


def siblings(home: Path) -> tuple[Companion, ...]:
    """Their files, each to be read only."""
    paths = (path for name in sibling_names(home) for path in _texts(home / name, _DEPTH, [_MOST_ENTRIES]))
    return tuple(
        Companion(Scope.GLOBAL, path, path.relative_to(home).as_posix(), True, READ_ONLY, read_only=READ_ONLY)
        for path in islice(paths, MOST_FILES)
    )


def _texts(directory: Path, depth: int, room: list[int]) -> Iterator[Path]:
    """Files before directories, by name; `room` counts down the entries that may still be looked at."""
    entries = sorted(islice(entries_in(directory), room[0]), key=lambda entry: entry.name)
    room[0] -= len(entries)
    entries = [entry for entry in entries if not entry.name.startswith(".")]
    for entry in entries:
        texts = entry.name.lower().endswith(_TEXTS) and not _SECRET.search(entry.name)
        if texts and _is(entry, directory=False):
            yield Path(entry.path)
    for entry in entries:
        if depth > 1 and _is(entry, directory=True):
            yield from _texts(Path(entry.path), depth - 1, room)


def _is(entry: os.DirEntry[str], *, directory: bool) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False) if directory else entry.is_file(follow_symlinks=False)
    except OSError:
        return False
