"""Files that Reverie never opens, whatever names or links to them: credentials and files of the system.

An instruction file can import any path, and a repository is written by others. So every place that opens a
file because another file names it checks here first, with the path as written and its target. The lists are
in `resources/never_opened.toml`.

Pure; any thread.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path, PurePath

from reverie.resources import resource_table

UNAPPROVED = (
    "It is outside the project. Claude Code asks before it loads such a file; Reverie never opens it."
)

CREDENTIAL = "Claude Code loads this file. It may contain credentials, so Reverie never opens it."

_TABLE = resource_table("never_opened.toml")
_FOLDERS = frozenset(_TABLE["folders"])


def never_opened(*paths: Path) -> bool:
    """Return whether one of `paths` is a credential or a system file, which Reverie never opens.

    `paths`: the path of a file as written, and the path with links resolved.
    """
    return any(_is_system(path) or _is_credential(path) for path in paths)


def may_be_named(path: Path, real: Path) -> bool:
    """Return whether a file that is never opened may be listed by its name.

    True if neither `path` nor `real`, the path with links resolved, is in a directory of credentials or of
    the system.
    """
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
