"""Reading a home without being blocked or flooded by it, and the files that are never opened.

A home is written by others: `config.json` may be a pipe, a device or ten gigabytes. Without state, safe from
any thread. Failure: plain `OSError`, which the caller turns into a sentence about its file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Any

from reverie.files.directory import read_regular
from reverie.resources import resource_table


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


def as_text(value: Any) -> str:
    """A value from JSON where it is text, else empty."""
    return value if isinstance(value, str) else ""


def as_count(value: Any) -> int | None:
    """A value from JSON where it is a whole number from 0 on, else None; true is no number."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def as_object(value: Any) -> dict[str, Any]:
    """A value from JSON where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """A value from JSON where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def objects_of(value: Any) -> tuple[dict[str, Any], ...]:
    """The objects in a list from JSON; anything else in it is passed over."""
    return tuple(item for item in as_list(value) if isinstance(item, dict))


def texts_of(value: Any) -> tuple[str, ...]:
    """The texts in a list from JSON; anything else in it is passed over."""
    return tuple(item for item in as_list(value) if isinstance(item, str))


def as_shown(value: Any) -> str:
    """A value from JSON as a person reads it: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


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


# Files that Reverie never opens, whatever names or links to them: credentials and files of the system.
#
# An instruction file can import any path, and a repository is written by others. So every place that opens
# a file because another file names it asks here first, with the path as written and the one that it
# resolves to. The lists are in `resources/never_opened.toml`.


UNAPPROVED = (
    "It lies outside of the project. Reverie does not open it, as Claude Code does not without asking."
)

CREDENTIAL = "Claude Code loads it. It may hold credentials, so Reverie never opens it."

_TABLE = resource_table("never_opened.toml")
_FOLDERS = frozenset(_TABLE["folders"])


def never_opened(*paths: Path) -> bool:
    """Whether one of `paths` (a file as named, and what that leads to) is a credential or of the system."""
    return any(_is_system(path) or _is_credential(path) for path in paths)


def may_be_named(path: Path, real: Path) -> bool:
    """Whether a credential may be listed by its name: one that lies where it is named, not in a directory of
    credentials or of the system."""
    inside_secrets = any(
        not _FOLDERS.isdisjoint(part.casefold() for part in each.parts[:-1]) for each in (path, real)
    )
    return not (inside_secrets or _is_system(path) or _is_system(real))


def _is_system(path: PurePath) -> bool:
    return any(path.is_relative_to(place) for place in _TABLE["system"]) and not any(
        path.is_relative_to(place) for place in _TABLE["plain"]
    )


def _is_credential(path: PurePath) -> bool:
    folders = [part.casefold() for part in path.parts[:-1]]
    if not _FOLDERS.isdisjoint(folders):
        return True
    name = path.name.casefold()
    if any(fnmatchcase(name, pattern) for pattern in _TABLE["harmless"]):
        return False
    if any(fnmatchcase(name, pattern) for pattern in _TABLE["names"]):
        return True
    return any(
        folder in folders[-2:] and fnmatchcase(name, pattern)
        for folder, pattern in _TABLE["names_in_folders"]
    )
