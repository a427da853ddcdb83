"""What the store refuses, and in which words: the security envelope but for paths and containment
(`memory.paths`, `files.rooted`).

Threading: as the store. Failure: `StoreError`, `Conflict`, raised before anything changed.
"""

from __future__ import annotations

from reverie.errors import Conflict, StoreError
from reverie.files.rooted import Entry
from reverie.homes.base import Home
from reverie.homes.scopes import Caps, ScopeRoot
from reverie.memory.paths import MemoryPath
from reverie.memory.scope_files import ScopeFiles


def refuse_no_text(parsed: MemoryPath, *, valid: bool) -> None:
    """What is no UTF-8 must not come back with its odd bytes replaced."""
    if not valid:
        raise StoreError(
            f"{parsed} is not a UTF-8 text file and is left as it is.",
            next_step="Convert it outside, then edit it here.",
            reason="not-text",
        )


def missing(parsed: MemoryPath) -> StoreError:
    """Nothing stands at this path."""
    return StoreError(
        f"There is no memory {parsed}.",
        next_step="View its directory to see what is there.",
        reason="missing",
    )


def changed(parsed: MemoryPath, what: str) -> Conflict:
    """The file is not what the change was made for. `what`: half a sentence that says so."""
    return Conflict(
        f"{parsed} was not written:", cause=f"{what}.", next_step="Read it again and repeat the change."
    )


def encoded(parsed: MemoryPath, content: str, caps: Caps) -> bytes:
    """The bytes to be written; text that is none, or too much of it, is refused."""
    try:
        data = content.encode("utf-8")
    except UnicodeEncodeError:
        raise StoreError(
            f"{parsed} cannot be written.",
            cause="The text holds half of a surrogate pair, which is no UTF-8.",
            next_step="Remove the broken character.",
            reason="not-text",
        ) from None
    cap = caps.file_bytes
    if len(data) > cap:
        raise StoreError(
            f"{parsed} would be too large: {len(data):,} bytes.",
            cause=f"The limit of this home is {cap:,} bytes a file.",
            next_step="Shorten it, or split it into several memories.",
            reason="too-large",
        )
    return data


def refuse_full_scope(parsed: MemoryPath, files: ScopeFiles, caps: Caps) -> None:
    """Raises `StoreError` (reason `scope-full`) where one more file would be above the home's cap."""
    cap = caps.files_per_scope
    count = sum(entry.kind == "file" for entry in files.walk(files_limit=cap).entries)
    if count >= cap:
        raise StoreError(
            f"{parsed} cannot be created: the scope is full.",
            cause=f"It holds {cap:,} files already, the limit of this home.",
            next_step="Merge or delete memories first.",
            reason="scope-full",
        )


def refuse_untouchable(
    home: Home, root: ScopeRoot, parsed: MemoryPath, done: str, *, as_a_whole: bool = False
) -> None:
    """No scope as a whole, and nothing that the home keeps for its agent. `as_a_whole`: it goes, or comes
    back as it was."""
    refuse_scope_root(parsed, done)
    rule = home.file_rule(root, parsed.rel)
    if rule.kind != "editable" and not (as_a_whole and rule.deletable):
        raise StoreError(
            f"{parsed} was not {done}.",
            cause=rule.sentence,
            next_step="Change what it is made from." if rule.kind == "generated" else "",
            reason="not-editable",
        )


def refuse_scope_root(parsed: MemoryPath, done: str) -> None:
    """Raises `StoreError` for a scope itself. `done`: what would be done to it, such as "renamed"."""
    if parsed.is_scope_root:
        raise StoreError(
            f"{parsed} is a whole scope and cannot be {done}.", next_step="Name a file inside it."
        )


def refuse_directory(parsed: MemoryPath, entry: Entry | None) -> None:
    """Raises `StoreError` where a folder stands; nothing at all is fine."""
    if entry is not None and entry.kind != "file":
        raise StoreError(f"{parsed} is a directory, not a memory.", next_step="Name a file inside it.")
