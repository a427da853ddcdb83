"""Names on file systems that do not tell upper case from lower case.

There a path finds a file however it is spelled, and the history would keep one file under several names. So
names are taken as the directory lists them; and giving a file a name that differs in case only is a rename,
not a clash with itself.

Threading: blocking, any thread but the GUI's. Failure: `OSError` and `SwappedError`, as those of `Directory`.
"""

from __future__ import annotations

import os
import unicodedata

from reverie.files.directory import Directory


def differ_in_case_only(one: str, other: str) -> bool:
    """Whether two different names (or paths) may be one file on such a file system."""
    return one != other and _folded(one) == _folded(other)


def listed_name(directory: Directory, name: str) -> str | None:
    """The name under which the directory lists what `name` finds there; None where it finds nothing."""
    try:
        status = directory.lstat(name)
    except FileNotFoundError:
        return None
    names = [item.name for item in directory.names()]
    if name in names:
        return name
    for other in names:
        if differ_in_case_only(other, name) and os.path.samestat(directory.lstat(other), status):
            return other
    return name


def is_itself(directory: Directory, name: str, target: Directory, new_name: str) -> bool:
    """Whether `new_name` in `target` is what stands at `name`, in another spelling."""
    if not differ_in_case_only(name, new_name) or not os.path.samestat(directory.stat(), target.stat()):
        return False
    return listed_name(target, new_name) == name


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
