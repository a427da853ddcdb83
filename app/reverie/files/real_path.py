"""Where a path really is, the same on every Python.

Before 3.13 `os.path.realpath` calls itself for each symlink of a chain, so a repository with a chain of a
thousand links ends the caller in a RecursionError, and `Path.resolve` raises RuntimeError for a circle. Since
3.13 both follow a chain of any length, also one that no system opens. Use `real_path` wherever a symlink may
come from somebody else.

Threading: blocking, any thread but the GUI's. Failure: `OSError` with `strict` only.
"""

from __future__ import annotations

import errno
import os


def real_path(path: str | os.PathLike[str], *, strict: bool = False) -> str:
    """The absolute path without symlinks; with them where the system would not follow so many.

    `strict`: raise OSError for those, and for a path that is missing.
    """
    if not has_too_many_links(path):
        return os.path.realpath(path, strict=strict)
    if strict:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    return os.path.abspath(path)  # noqa: PTH100 - `Path.resolve` would follow them


def has_too_many_links(path: str | os.PathLike[str]) -> bool:
    """Whether the system refuses to follow the links of `path`: a circle, or more than its limit."""
    try:
        os.stat(path)  # noqa: PTH116
    except OSError as error:
        return error.errno == errno.ELOOP
    return False
