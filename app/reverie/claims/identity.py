"""The identity of the repository that contains a directory: its root commits, remotes and git directory.

At most `MOST_COMMITS` commits are walked; a shallow clone has no roots. Addresses are compared without
protocol, user, password and port, which are never stored.

Threading: blocks, possibly for ever, so callers use `claims.apart`. Failure: none; an unreadable repository
counts as none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from reverie.agents.base import Identity
from reverie.claims.repository import checkout_root, common_directory, git_directory, open_git_directory
from reverie.errors import Unavailable
from reverie.files.directory import real_path
from reverie.memory.history.repository import libgit2

if TYPE_CHECKING:
    import pygit2

MOST_COMMITS = 50_000
_MOST_REMOTES = 16
_MOST_BRANCHES = 64
_CHECK_EVERY = 1_000
_SCP = re.compile(r"(?:[^/@:]+@)?([^/:@]+):(?!//)(.+)")
_OTHER_NAMES = {
    "www.github.com": "github.com",
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
}
"""Second names of hosts, under which they offer SSH."""
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


def read_identity(
    path: Path, known: Identity | None = None, check: Callable[[], None] = lambda: None
) -> Identity | None:
    """Return the identity of the repository that contains `path`; None if none can be read.

    `known`: an earlier identity of the repository; if all its root commits still exist, they are taken over,
    which saves a search. `check` is called during the search and may raise to stop.
    """
    try:
        root = checkout_root(path)
        if root is None:
            return None
        own = git_directory(root, inside=True)
        common = common_directory(own)
        repository = open_git_directory(root, common)
        origin, remotes = _remotes(repository, root)
        return Identity(
            roots=_roots(repository, known, check),
            remotes=remotes,
            origin=origin,
            below="" if (below := Path(real_path(path)).relative_to(root)) == Path() else below.as_posix(),
            common=common.as_posix(),
            worktree=real_path(own) != str(common),
        )
    except (libgit2().GitError, KeyError, ValueError, OSError, Unavailable):
        return None


def remote_key(url: str) -> str:
    """Return a remote's address as `host/path`, the same for all protocols; empty if it cannot be parsed.

    The host is in lower case. User, port and the ending `.git` are left out; only the port of a server on
    this machine is kept. The path of a repository on this machine has no host.
    """
    url = url.strip()
    scp = _SCP.fullmatch(url)
    port = None
    try:
        if "::" in url.partition("/")[0]:
            return ""  # the address of a helper program, not of a repository
        if "://" in url:
            parts = urlsplit(url)
            host, path, port = parts.hostname or "", unquote(parts.path), parts.port
        elif scp is not None and len(scp[1]) > 1:  # a single letter is a drive
            host, path = scp[1], scp[2]
        else:
            host, path = "", url
    except ValueError:
        return ""
    path = path.rstrip("/").removesuffix(".git").rstrip("/")
    if not host:
        return path
    host = _OTHER_NAMES.get(host.lower(), host.lower())
    path = path.lstrip("/")
    if host == "dev.azure.com":
        path = path.removeprefix("v3/").replace("/_git/", "/")
    # Several servers of one machine differ only in the port.
    return f"{host}:{port}/{path}" if port and host in _LOCAL_HOSTS else f"{host}/{path}"


def _roots(
    repository: pygit2.Repository, known: Identity | None, check: Callable[[], None]
) -> tuple[str, ...]:
    if repository.is_empty or repository.is_shallow:
        return ()
    if known is not None and known.roots and all(root in repository for root in known.roots):
        return known.roots
    tips = list(dict.fromkeys(_tips(repository)))
    if not tips:
        return ()
    walker = repository.walk(tips[0])
    for tip in tips[1:]:
        walker.push(tip)
    roots = []
    for number, commit in enumerate(walker):
        if number % _CHECK_EVERY == 0:
            check()
        if number >= MOST_COMMITS:
            return ()
        if not commit.parent_ids:
            roots.append(str(commit.id))
    return tuple(sorted(roots))


def _tips(repository: pygit2.Repository) -> Iterator[pygit2.Oid]:
    """Yield the ids of the commits at HEAD, at local branches and at the main branch of `origin`.

    All of them are needed to find every root commit, because HEAD may be on a branch with a history of its
    own, such as one for the pages of a website.
    """
    git = libgit2()
    branches = [f"refs/heads/{name}" for name in sorted(repository.branches.local)[:_MOST_BRANCHES]]
    for name in ("HEAD", *branches, "refs/remotes/origin/HEAD"):
        try:
            yield repository.references[name].peel(git.Commit).id
        except (KeyError, ValueError, git.GitError):
            continue  # HEAD before the first commit, or a damaged branch


def _remotes(repository: pygit2.Repository, root: Path) -> tuple[str, tuple[str, ...]]:
    """Return the address of the main remote and the sorted addresses of all remotes.

    The addresses are spelled as by `remote_key`. The main remote is `origin`, else the only one; the address
    is empty if there is no main remote.
    """
    found: dict[str, str] = {}
    for name in list(repository.remotes.names())[:_MOST_REMOTES]:
        key = remote_key((repository.remotes[name].url or "") if name else "")
        if name and key:
            # A relative path begins at the checkout.
            found[name] = os.path.normpath(root / key) if key.startswith(".") else key
    origin = found.get("origin") or (next(iter(found.values())) if len(found) == 1 else "")
    return origin, tuple(sorted(set(found.values())))
