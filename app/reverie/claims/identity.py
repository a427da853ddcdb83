"""The identity of the repository in a directory: its root commits and its remotes.

At most `MOST_COMMITS` commits are walked; a shallow clone has no roots. Addresses are compared without
protocol, user and password, which are never stored.

Threading: blocks, possibly for ever, so callers use `claims.apart`. Failure: none; an unreadable repository
counts as none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from reverie.agents.base import Identity
from reverie.claims.repository import open_repository
from reverie.errors import Unavailable
from reverie.memory.history.repository import libgit2

if TYPE_CHECKING:
    import pygit2

MOST_COMMITS = 50_000
_MOST_REMOTES = 16
_CHECK_EVERY = 1_000
_SCP = re.compile(r"(?:[^/@:]+@)?([^/:@]+):(?!//)(.+)")


def read_identity(
    path: Path, known: Identity | None = None, check: Callable[[], None] = lambda: None
) -> Identity | None:
    """Return the identity of the repository at `path`, not in a folder above it; None if none can be read.

    `known` is its earlier identity; roots that it still contains are not searched for again. `check` may
    raise to stop.
    """
    try:
        repository = open_repository(path)
        return Identity(_roots(repository, known, check), _remotes(repository))
    except (libgit2().GitError, KeyError, ValueError, OSError, Unavailable):
        return None


def remote_key(url: str) -> str:
    """Return `host/path` of a remote's address, in lower case; empty for no address."""
    url = url.strip()
    scp = _SCP.fullmatch(url)
    try:
        if "://" in url:
            parts = urlsplit(url)
            host, path = parts.hostname or "", parts.path
        elif scp is not None and len(scp[1]) > 1:  # a single letter is a drive
            host, path = scp[1], scp[2]
        else:
            host, path = "", url
    except ValueError:
        return ""
    path = path.rstrip("/").removesuffix(".git").rstrip("/")
    return (f"{host}/{path.lstrip('/')}" if host else path).lower()


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
