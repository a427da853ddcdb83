"""The single files of a change by hand, as `services.hand_changes` puts them together: what is planned, and
each step there and back through the store, by compare-and-swap.

Threading: blocking, any thread but the GUI's. Failure: `MendableError`; `Conflict` names the file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from reverie.errors import Conflict, MendableError, StoreError
from reverie.files.containment import opened_below
from reverie.files.directory import SwappedError
from reverie.files.real_path import real_path
from reverie.homes.scopes import ScopeRoot
from reverie.memory.paths import MemoryPath, memory_path, parse_memory_path
from reverie.memory.store import MemoryStore, sha256_of_bytes
from reverie.services.views import HandChange, Undo
from reverie.text.counts import was_left

ChangeKind = Literal["move", "merge", "restore"]


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One file with all that is needed to change it and to put it back."""

    path: MemoryPath
    root: ScopeRoot
    before: bytes | None
    after: bytes | None
    mode: int | None
    mode_before: int | None

    @property
    def before_sha256(self) -> str | None:
        return sha256_of_bytes(self.before)

    @property
    def after_sha256(self) -> str | None:
        return sha256_of_bytes(self.after)


def each_once(changes: Sequence[HandChange]) -> Sequence[HandChange]:
    """The changes, where there is one at least and no two are of one file; else `StoreError`."""
    if not changes:
        raise StoreError("There is nothing to change.", next_step="Select a memory first.")
    if len({change.path for change in changes}) != len(changes):
        raise StoreError("One file cannot be changed twice at once.", next_step="Choose other names.")
    return changes


def lenient_path(path: str) -> MemoryPath:
    """A path of something that is or was on disk, whose name need not pass the agent's rules; leading out
    of its root is refused by the files below it all the same."""
    parsed = parse_memory_path("/".join(path.split("/")[:3]))
    if parsed.scope is None:
        return parsed
    return memory_path(parsed.scope, "/".join(part for part in path.split("/")[3:] if part))


def bytes_now(store: MemoryStore, path: MemoryPath) -> bytes | None:
    """What the file holds now; None for none. Raises `Conflict` where a folder stands."""
    _path, _root, files = store.resolve(path)
    entry = files.entry(path.rel)
    if entry is not None and entry.kind != "file":
        raise Conflict(f"{path} is a folder by now.", next_step="Look again and repeat it.")
    return None if entry is None else files.read(path.rel)


def verify(store: MemoryStore, one: PlannedFile) -> None:
    """What was written is read back before anything that it replaces goes."""
    if one.after is not None and bytes_now(store, one.path) != one.after:
        raise Conflict(
            f"{one.path} was changed right after it was written.", next_step="Look again and repeat it."
        )


def put_all_back(store: MemoryStore, done: Sequence[PlannedFile], made: Sequence[str]) -> list[str]:
    """Newest first; the paths that somebody else changed meanwhile, and were left."""
    left: list[str] = []
    for one in reversed(done):
        try:
            store.swap(one.path, one.before, one.after_sha256, mode=one.mode_before)
        except MendableError:
            left.append(str(one.path))
    for folder in made:
        remove_empty(store, lenient_path(folder))
    return left


@contextlib.contextmanager
def all_or_nothing(store: MemoryStore, done: Sequence[PlannedFile], made: Sequence[str]) -> Iterator[None]:
    """Whatever the block raises, what it had `done` by then is put back first; what could not be is named."""
    try:
        yield
    except BaseException as error:
        left = put_all_back(store, done, made)
        if left and isinstance(error, MendableError):
            raise Conflict(
                error.title,
                cause=f"{error.cause} {listed(left)} changed meanwhile, and {was_left(len(left))}.".strip(),
                next_step=error.next_step,
            ) from error
        raise


@contextlib.contextmanager
def all_steps_or_none(done: Sequence[Undo], take_back: Callable[[Undo], object]) -> Iterator[None]:
    """Whatever the block raises, the steps `done` by then are taken back first, newest first; what could not
    be is named, and keeps none of the others."""
    try:
        yield
    except BaseException as error:
        problems: list[MendableError] = []
        for undo in reversed(done):
            try:
                take_back(undo)
            except MendableError as problem:
                problems.append(problem)
        if problems and isinstance(error, MendableError):
            stays = " ".join(f"{problem.title} {problem.cause}".strip() for problem in problems)
            raise Conflict(
                error.title, cause=f"{error.cause} {stays}".strip(), next_step=error.next_step
            ) from error
        raise


def _folders(paths: Iterable[MemoryPath]) -> list[MemoryPath]:
    """Every folder above these paths, deepest first."""
    found = {
        MemoryPath(path.scope, path.segments[:depth])
        for path in paths
        for depth in range(1, len(path.segments))
    }
    return sorted(found, key=lambda path: -len(path.segments))


def new_folders(store: MemoryStore, planned: Iterable[PlannedFile]) -> tuple[str, ...]:
    """The folders that come into being with these changes."""
    new = [one.path for one in planned if one.before is None and one.after is not None]
    return tuple(str(folder) for folder in _folders(new) if store.entry(folder) is None)


def remove_empty(store: MemoryStore, folder: MemoryPath) -> None:
    """It goes if nothing is in it; what an agent hides in it keeps it."""
    _path, root, _files = store.resolve(folder)
    *above, name = folder.segments
    with (
        contextlib.suppress(OSError, SwappedError),
        opened_below(real_path(root.directory), above) as directory,
    ):
        directory.remove_empty(name)


def warnings_of(steps: Iterable[Undo]) -> str:
    """What went wrong once the steps of one change were made, each said once."""
    return " ".join(dict.fromkeys(undo.warning for undo in steps if undo.warning))


def listed(paths: Sequence[str]) -> str:
    """The first three paths and how many more, for a sentence."""
    more = len(paths) - 3
    return ", ".join(paths[:3]) + (f" and {more} more" if more > 0 else "")
