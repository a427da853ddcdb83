"""What stands on disk at a place of the history, told as the history tells it: by content id.

Reads only. Failure: `MendableError`; a folder that cannot be read in full is an error, for half of it would
look like a deletion of the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from reverie.errors import MendableError
from reverie.homes.scopes import ScopeRoot
from reverie.memory.history_log import Place
from reverie.memory.history_objects import object_id
from reverie.memory.paths import parse_memory_path
from reverie.memory.store import sha256_of_bytes
from reverie.services.parts import rooted_files


class OnDisk(NamedTuple):
    """One file: its path below the place, the history's id of its bytes, and their SHA-256."""

    inner: str
    blob: str
    sha256: str | None


def files_at(root: ScopeRoot, place: Place, check: Callable[[], None]) -> Iterator[OnDisk]:
    """Every file at a place and below it; `check` is called before each and may raise to stop."""
    files = rooted_files(root)
    entry = files.entry(place.rel)
    if entry is None:
        return
    entries = [entry]
    if entry.kind != "file":
        prefix = f"{place.rel}/" if place.rel else ""
        walk = files.walk()
        if walk.problems:
            raise MendableError(
                "Not every file could be read.", cause=walk.problems[0], next_step="Try again."
            )
        entries = [each for each in walk.entries if each.kind == "file" and each.rel.startswith(prefix)]
    for each in entries:
        check()
        data = files.read(each.rel)
        yield OnDisk(inner_of(place, each.rel), object_id("blob", data).hex(), sha256_of_bytes(data))


def inner_of(place: Place, rel: str) -> str:
    """The part of a path below a place."""
    return rel[len(place.rel) :].lstrip("/")


def joined(rel: str, inner: str) -> str:
    """The path of what lies below `rel`."""
    return f"{rel}/{inner}" if rel and inner else rel or inner


def name_problem(path: str) -> str:
    """Why nothing can be written under this path, as a sentence; empty if it can."""
    try:
        parse_memory_path(path)
    except MendableError as error:
        return error.cause or error.title
    return ""
