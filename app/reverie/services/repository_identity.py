"""Which repository stands in a project's directory: its root commits and the addresses of its remotes.

Read-only and bounded: no directory above the project is searched, at most `MOST_COMMITS` commits are walked,
and a shallow clone, whose oldest commit is not its root, has no roots. Addresses are compared without
protocol, user and password (which are never kept). What was seen of a project while it was there is
remembered in Reverie's own directory, so that its store can be matched once the project is gone.

Threading: blocking, any thread but the GUI's. Failure: what cannot be read is no repository.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from reverie.clock import Clock
from reverie.files.sidecar import Sidecar

if TYPE_CHECKING:
    import pygit2

MOST_COMMITS = 50_000
_MOST_REMEMBERED = 2_000
_MOST_REMOTES = 16
_CHECK_EVERY = 1_000
_SCP = re.compile(r"(?:[^/@:]+@)?([^/:@]+):(?!//)(.+)")


@dataclass(frozen=True, slots=True)
class Identity:
    """What tells one repository from another. `roots`: hex ids of commits without parents, empty where they
    are not known; `remotes`: as `remote_key` spells them. Both sorted."""

    roots: tuple[str, ...] = ()
    remotes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.roots or self.remotes)


def read_identity(
    path: Path, known: Identity | None = None, check: Callable[[], None] = lambda: None
) -> Identity | None:
    """The repository at `path` itself, None where there is none that can be read. `known`: what it was
    before; roots that are still in it are not looked for again. `check` may raise to stop."""
    from reverie.memory.history_repository import libgit2

    git = libgit2()
    if not os.path.lexists(path / ".git"):
        return None
    try:
        repository = git.Repository(str(path), git.enums.RepositoryOpenFlag.NO_SEARCH)
        try:
            return Identity(_roots(repository, known, check), _remotes(repository))
        finally:
            repository.free()
    except (git.GitError, KeyError, ValueError, OSError):
        return None


def remote_key(url: str) -> str:
    """`host/path` of a remote's address, in lower case; the empty text for none."""
    url = url.strip()
    scp = _SCP.fullmatch(url)
    try:
        if "://" in url:
            parts = urlsplit(url)
            host, path = parts.hostname or "", parts.path
        elif scp is not None and len(scp[1]) > 1:  # one letter is a drive
            host, path = scp[1], scp[2]
        else:
            host, path = "", url
    except ValueError:
        return ""
    path = path.rstrip("/").removesuffix(".git").rstrip("/")
    return (f"{host}/{path.lstrip('/')}" if host else path).lower()


class IdentityLog:
    """What was seen of the projects of one home."""

    def __init__(self, path: Path, *, lock_dir: Path, clock: Clock) -> None:
        self._sidecar = Sidecar(path, lock_dir=lock_dir, clock=clock)
        self._clock = clock

    def load(self) -> dict[str, Identity]:
        """Project path -> the repository last seen there."""
        raw = self._sidecar.read().data.get("projects")
        found = raw.items() if isinstance(raw, dict) else ()
        return {path: identity for path, entry in found if (identity := _identity(entry))}

    def remember(self, seen: Mapping[str, Identity]) -> None:
        """Keep what is new; nothing is written where nothing is."""
        known = self.load()
        fresh = {
            path: identity for path, identity in seen.items() if identity and known.get(path) != identity
        }
        if not fresh:
            return

        def change(data: dict[str, Any]) -> dict[str, Any]:
            raw = data.get("projects")
            entries: dict[str, Any] = raw if isinstance(raw, dict) else {}
            for path, identity in fresh.items():
                entries.pop(path, None)
                entries[path] = {
                    "roots": list(identity.roots),
                    "remotes": list(identity.remotes),
                    "seenAt": self._clock(),
                }
            for path in list(entries)[:-_MOST_REMEMBERED]:
                del entries[path]
            data["projects"] = entries
            return data

        self._sidecar.update(change)


def _roots(
    repository: pygit2.Repository, known: Identity | None, check: Callable[[], None]
) -> tuple[str, ...]:
    if repository.is_empty or repository.is_shallow or repository.head_is_unborn:
        return ()
    if known is not None and known.roots and all(root in repository for root in known.roots):
        return known.roots
    roots = []
    for number, commit in enumerate(repository.walk(repository.head.target)):
        if number % _CHECK_EVERY == 0:
            check()
        if number >= MOST_COMMITS:
            return ()
        if not commit.parent_ids:
            roots.append(str(commit.id))
    return tuple(sorted(roots))


def _remotes(repository: pygit2.Repository) -> tuple[str, ...]:
    names = list(repository.remotes.names())[:_MOST_REMOTES]
    urls = (repository.remotes[name].url or "" for name in names if name)
    return tuple(sorted({key for url in urls if (key := remote_key(url))}))


def _identity(entry: object) -> Identity | None:
    if not isinstance(entry, dict):
        return None
    return Identity(_texts(entry.get("roots")), _texts(entry.get("remotes")))


def _texts(value: object) -> tuple[str, ...]:
    return tuple(sorted(each for each in value if isinstance(each, str))) if isinstance(value, list) else ()
