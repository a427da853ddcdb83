"""The store's checks of paths and content, apart from containment.

The functions raise `StoreError` or `Conflict` before anything is changed. Pure except that they read the
given files; any thread.
"""

from __future__ import annotations

from reverie.agents.base import Home
from reverie.agents.scopes import Caps, ScopeRoot
from reverie.errors import Conflict, StoreError
from reverie.files.rooted import DirectoryEntry
from reverie.memory.paths import MemoryPath
from reverie.memory.scope_files import ScopeFiles


def refuse_no_text(parsed: MemoryPath, *, valid: bool) -> None:
    """Raise `StoreError` if the memory at `parsed` is not text, because a write would damage it.

    `valid`: whether it is text that can be written again without loss.
    """
    if not valid:
        raise StoreError(
            f"{parsed} is not a UTF-8 text file and was not changed.",
            next_step="Convert the file to UTF-8 with another program, then edit it here.",
            reason="not-text",
        )


def missing(parsed: MemoryPath) -> StoreError:
    """Return the error for a path (`parsed`) at which there is no memory."""
    return StoreError(
        f"There is no memory {parsed}.",
        next_step="View its directory to see what is there.",
        reason="missing",
    )


def changed(parsed: MemoryPath, what: str) -> Conflict:
    """Return the error for a memory that has changed since the caller read it.

    `what`: the change, as a sentence without a full stop.
    """
    return Conflict(
        f"{parsed} was not written:",
        cause=f"{what}.",
        next_step="Read the memory again and repeat the change.",
    )


def encoded(parsed: MemoryPath, content: str, caps: Caps) -> bytes:
    """Return `content` as the bytes to write to the memory `parsed`.

    Raises `StoreError` for invalid text, or text of more than `caps.file_bytes` bytes.
    """
    try:
        data = content.encode("utf-8")
    except UnicodeEncodeError:
        raise StoreError(
            f"{parsed} cannot be written.",
            cause="The text contains a broken character (half a surrogate pair), which UTF-8 cannot store.",
            next_step="Remove the broken character.",
            reason="not-text",
        ) from None
    cap = caps.file_bytes
    if len(data) > cap:
        raise StoreError(
            f"{parsed} would be too large: {len(data):,} bytes.",
            cause=f"The limit of this home is {cap:,} bytes per file.",
            next_step="Shorten it, or split it into several memories.",
            reason="too-large",
        )
    return data


def refuse_full_scope(parsed: MemoryPath, files: ScopeFiles, caps: Caps) -> None:
    """Raise `StoreError` (reason `scope-full`) if one more file would exceed the limit of files in a scope.

    `parsed`: the path of that file; `files`: the files of the scope; `caps`: the limits of the home.
    """
    cap = caps.files_per_scope
    count = sum(entry.kind == "file" for entry in files.walk(files_limit=cap).entries)
    if count >= cap:
        raise StoreError(
            f"{parsed} cannot be created: the scope is full.",
            cause=f"It already contains {cap:,} files, the limit of this home.",
            next_step="Merge or delete memories first.",
            reason="scope-full",
        )


def refuse_untouchable(
    home: Home, root: ScopeRoot, parsed: MemoryPath, done: str, *, as_a_whole: bool = False
) -> None:
    """Raise `StoreError` if the path `parsed` is a whole scope, or a file that only the agent may change.

    `done`: the intended action, such as "renamed". `as_a_whole`: the file is to be deleted, or restored
    unchanged, which is also allowed for files with a `deletable` rule.
    """
    refuse_scope_root(parsed, done)
    rule = home.file_rule(root, parsed.rel)
    if rule.kind != "editable" and not (as_a_whole and rule.deletable):
        raise StoreError(
            f"{parsed} was not {done}.",
            cause=rule.sentence,
            next_step="Change the records that it is generated from." if rule.kind == "generated" else "",
            reason="not-editable",
        )


def refuse_scope_root(parsed: MemoryPath, done: str) -> None:
    """Raise `StoreError` if the path `parsed` is a whole scope.

    `done`: the intended action, such as "renamed".
    """
    if parsed.is_scope_root:
        raise StoreError(
            f"{parsed} is the folder of a whole scope and cannot be {done}.",
            next_step="Choose a file inside it.",
        )


def refuse_directory(parsed: MemoryPath, entry: DirectoryEntry | None) -> None:
    """Raise `StoreError` if `entry`, which is at the path `parsed`, is a folder; None: there is no entry."""
    if entry is not None and entry.kind != "file":
        raise StoreError(f"{parsed} is a directory, not a memory.", next_step="Choose a file inside it.")
