"""Write-protected files: no permission bit lets anybody write them, so a person does not want them changed.

The folder's rights alone decide whether a file can be replaced, so the disk refuses nothing here; this rule
does. It looks at the permission bits, because `os.access` says yes to root for everything.

Who does what with such a file:

- Editing by hand is refused, with the next step; so are undo and revert of a change from before.
- Runs leave it as it is and say so in their summary. It is still read, so a model sees it.
- Deleting or renaming it by hand is done, and said: a person named the file, and Undo brings it back with its
  permissions.
- `reverie memory` as an agent changes it with a warning. The agents write a new file and rename it, as their
  own commands do here, so they change such files themselves; a refusal would be another answer than theirs.

Sidecars of an agent and Reverie's own files are no memories, and not meant. Pure functions, any thread.
"""

from __future__ import annotations

import os
import stat

from reverie.errors import StoreError
from reverie.files.atomic import shown

_ANY_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def is_write_protected(mode: int) -> bool:
    """Whether no permission bit of a file allows writing; on Windows its read-only attribute."""
    return not mode & _ANY_WRITE


def write_protected(name: str, mode: int, done: str) -> StoreError:
    """The refusal. `done`: the participle for what was not done, such as "written"."""
    return StoreError(
        f"“{shown(name)}” was not {done}.",
        cause=f"It is write-protected (mode {stat.S_IMODE(mode):04o}).",
        next_step="Clear its read-only attribute first."
        if os.name == "nt"
        else "Make it writable first, for example with “chmod u+w”.",
        reason="write-protected",
    )


def refuse_write_protected(name: str, mode: int, done: str) -> None:
    """Raises `StoreError` (reason "write-protected") where `mode` says that nobody may write."""
    if is_write_protected(mode):
        raise write_protected(name, mode, done)
