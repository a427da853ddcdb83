"""Reading a home without being blocked or flooded by it.

A home is written by others: `config.json` may be a pipe, a device or ten gigabytes. Pure I/O without state,
safe from any thread. Failure: plain `OSError`, which the caller turns into a sentence about its file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from reverie.files.regular import read_regular


def entries_in(directory: Path) -> Iterator[os.DirEntry[str]]:
    """What lies in a directory, in no order; nothing where it cannot be listed."""
    try:
        with os.scandir(directory) as entries:
            yield from entries
    except OSError:
        return


def read_json(path: Path, limit: int, *, follow: bool = True) -> Any:
    """Raises `OSError` where the file cannot be read and `ValueError` where it is not JSON, also when it is
    nested too deep. Bytes that are not UTF-8 become U+FFFD, as Node reads them."""
    text = read_regular(path, limit, follow=follow).decode("utf-8", "replace").removeprefix("\ufeff")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def directory_names(directory: Path, problems: list[str]) -> list[str]:
    """Sorted names of the subdirectories, symlinked ones included; see `file_names`."""
    return _names(directory, problems, os.DirEntry.is_dir)


def file_names(directory: Path, problems: list[str]) -> list[str]:
    """Sorted names of the regular files, symlinked ones included; a missing directory has none, one that
    cannot be listed adds a sentence to `problems`."""
    return _names(directory, problems, os.DirEntry.is_file)


def _names(directory: Path, problems: list[str], kind: Callable[[os.DirEntry[str]], bool]) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return sorted(entry.name for entry in entries if _is(entry, kind))
    except FileNotFoundError:
        return []
    except OSError as error:
        problems.append(f"{directory} could not be listed: {error.strerror or error}.")
        return []


def _is(entry: os.DirEntry[str], kind: Callable[[os.DirEntry[str]], bool]) -> bool:
    try:
        return kind(entry)
    except OSError:
        return False  # a link in a circle, or to a place that may not be looked at: not one of ours
