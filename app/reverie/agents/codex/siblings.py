"""Codex memories beside the version in use, which are shown and never written.

Threading: any thread but the GUI's. Failure: directories that cannot be listed are left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from reverie.agents.base import Companion
from reverie.agents.codex.locations import BUCKET
from reverie.agents.reading import entries_in
from reverie.agents.scopes import Scope

MOST_DIRECTORIES = 8
MOST_FILES = 60
"""Maximum number of files of all siblings together, because they are shown in one list."""
_MOST_ENTRIES = 2_000
_DEPTH = 4
_MEMORY_LIKE = re.compile(r"memor(?:y|ies)", re.IGNORECASE)
_TEXTS = (".md", ".txt", ".json", ".jsonl", ".toml", ".yaml", ".yml")
_CREDENTIALS = frozenset({"auth.json", "credentials.json"})
"""Files that are never opened. No other names are excluded, because a note may be about secrets."""
READ_ONLY = "Reverie does not recognize this Codex memory: it is only shown, never changed."


def sibling_names(home: Path, used: str) -> tuple[str, ...]:
    """Return the names of directories in a home that look like memories, sorted, except `used`.

    `used`: the name of the directory that Codex uses.
    """
    found = [
        entry.name
        for entry in entries_in(home)
        if entry.name != used
        and not entry.name.startswith(".")
        and _MEMORY_LIKE.search(entry.name)
        and _is(entry, directory=True)
    ]
    return tuple(sorted(found)[:MOST_DIRECTORIES])


def siblings(home: Path, used: str, why: Mapping[str, str]) -> tuple[Companion, ...]:
    """Return the text files in a home's memory directories that Codex does not use or Reverie does not know.

    These are the directory of the memory version that is not in use, and directories of an unknown or older
    format (formats/codex.md sections 4 and 10.1). Each file is read-only. The number of files is limited,
    because such a directory may contain anything; links are not followed. `used`: the name of the directory
    of the version in use, whose files are left out. `why`: directory name -> the reason, as a sentence, why
    its files are read-only; other directories get a general reason.
    """
    names = sibling_names(home, used)
    paths = (
        (path, why.get(name, READ_ONLY))
        for name in names
        for path in _texts(home / name, _DEPTH, [_MOST_ENTRIES], skip=BUCKET if name == "memories" else None)
    )
    return tuple(
        Companion(Scope.GLOBAL, path, path.relative_to(home).as_posix(), True, reason, read_only=reason)
        for path, reason in islice(paths, MOST_FILES)
    )


def _texts(
    directory: Path, depth: int, room: list[int], skip: re.Pattern[str] | None = None
) -> Iterator[Path]:
    """Yield the text files directly in `directory`, by name, then those of its subdirectories.

    `depth`: the number of levels of directories to read. `room[0]` is the number of entries that may still be
    read; it is lowered. `skip`: a pattern for names of subdirectories of `directory` to leave out, because
    they are shown elsewhere; None: none.
    """
    entries = sorted(islice(entries_in(directory), room[0]), key=lambda entry: entry.name)
    room[0] -= len(entries)
    entries = [entry for entry in entries if not entry.name.startswith(".")]
    for entry in entries:
        texts = entry.name.lower().endswith(_TEXTS) and entry.name.lower() not in _CREDENTIALS
        if texts and _is(entry, directory=False):
            yield Path(entry.path)
    for entry in entries:
        if depth > 1 and _is(entry, directory=True) and not (skip and skip.fullmatch(entry.name)):
            yield from _texts(Path(entry.path), depth - 1, room)


def _is(entry: os.DirEntry[str], *, directory: bool) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False) if directory else entry.is_file(follow_symlinks=False)
    except OSError:
        return False
