"""Bounded reading of files in homes, and conversion of JSON values.

A home is written by others: `config.json` may be a pipe, a device or ten gigabytes. Stateless; may be called
from any thread. Failure: plain `OSError`, which the caller turns into a message that names the file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, TypeVar

from reverie.files.directory import open_regular, read_regular

_Read = TypeVar("_Read")


def cached_until_changed(most: int) -> Callable[[Callable[[Path], _Read]], Callable[[Path], _Read]]:
    """Return a decorator for a function that reads one file: its result is cached until the file changes.

    A file is unchanged while its inode, size and time of change are the same. `most`: the number of results
    that are cached. The function then also raises `OSError` if the file cannot be examined.
    """

    def decorated(read: Callable[[Path], _Read]) -> Callable[[Path], _Read]:
        @lru_cache(maxsize=most)
        def of_version(path: Path, _inode: int, _mtime_ns: int, _size: int) -> _Read:
            return read(path)

        @wraps(read)
        def current(path: Path) -> _Read:
            status = path.stat()
            return of_version(path, status.st_ino, status.st_mtime_ns, status.st_size)

        return current

    return decorated


def read_beginning(path: Path, most: int) -> bytes:
    """Return at most the first `most` bytes of a regular file; raise `OSError` if it cannot be read."""
    with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        return file.read(most)


def entries_in(directory: Path) -> Iterator[os.DirEntry[str]]:
    """Yield the entries of a directory, unordered; nothing if it cannot be listed."""
    try:
        with os.scandir(directory) as entries:
            yield from entries
    except OSError:
        return


def read_json(path: Path, limit: int, *, follow: bool = True) -> Any:
    """Read a JSON file of at most `limit` bytes and return its value.

    Raises `OSError` if the file cannot be read, is longer, or, unless `follow`, is a symlink, and
    `ValueError` if it is not JSON or nested too deep. Bytes that are not UTF-8 become U+FFFD, as Node reads
    them.
    """
    text = read_regular(path, limit, follow=follow).decode("utf-8", "replace").removeprefix("\ufeff")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("too many levels of nesting") from None


def as_text(value: Any) -> str:
    """Return a value from JSON if it is text, else an empty text."""
    return value if isinstance(value, str) else ""


def as_count(value: Any) -> int | None:
    """Return a value from JSON if it is a whole number of at least 0; None otherwise, even for true."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def as_object(value: Any) -> dict[str, Any]:
    """Return a value from JSON if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return a value from JSON if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def objects_of(value: Any) -> tuple[dict[str, Any], ...]:
    """Return the objects in a list from JSON; other items are ignored."""
    return tuple(item for item in as_list(value) if isinstance(item, dict))


def texts_of(value: Any) -> tuple[str, ...]:
    """Return the texts in a list from JSON; other items are ignored."""
    return tuple(item for item in as_list(value) if isinstance(item, str))


def as_shown(value: Any) -> str:
    """Return a value from JSON as text for a person: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def directory_names(directory: Path, problems: list[str]) -> list[str]:
    """Return the sorted names of the subdirectories of `directory`, including symlinked ones.

    A missing directory has none; one that cannot be listed adds a message to `problems`.
    """
    return [
        entry.name for entry in sorted_entries(directory, problems) if is_entry(entry, os.DirEntry.is_dir)
    ]


def file_names(directory: Path, problems: list[str]) -> list[str]:
    """Return the sorted names of the regular files in `directory`, including symlinked ones.

    A missing directory has none; one that cannot be listed adds a message to `problems`.
    """
    return [
        entry.name for entry in sorted_entries(directory, problems) if is_entry(entry, os.DirEntry.is_file)
    ]


def sorted_entries(
    directory: Path, problems: list[str], absent: tuple[type[OSError], ...] = (FileNotFoundError,)
) -> list[os.DirEntry[str]]:
    """Return the entries of a directory, sorted by name.

    A missing directory has none; one that cannot be listed adds a message to `problems`. `absent`: the errors
    that mean that it is missing.
    """
    try:
        with os.scandir(directory) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except absent:
        return []
    except OSError as error:
        problems.append(f"{directory} could not be listed: {error.strerror or error}.")
        return []


def is_entry(entry: os.DirEntry[str], kind: Callable[[os.DirEntry[str]], bool]) -> bool:
    """Return whether `kind`, such as `os.DirEntry.is_dir`, is true for an entry; False if that is unknown."""
    try:
        return kind(entry)
    except OSError:
        return False  # a link in a circle, or to a place that may not be looked at: not one of ours
