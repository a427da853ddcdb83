"""Names of a project's git repository, read without git, for the privacy of crash records.

Blocking, any thread. Failure: none; an unreadable file counts as having no remotes.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from reverie.files.directory import read_regular

_LARGEST = 1 << 20
_SECTION = re.compile(r'\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_URL = re.compile(r"\s*url\s*=\s*(.*?)\s*$", re.IGNORECASE)
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://(?:[^/@]*@)?([^/:]*)(?::\d+)?/(.*)$", re.IGNORECASE)
_WITH_USER = re.compile(r"^[^@]+@([^:]+):(.+)$")
_WITH_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.\-]*://([^/]+)(/.*)?$")
_SHORT = re.compile(r"^(?:[^@/]*@)?([^:/]+):(.*)$")


def remote_of(project: Path) -> str:
    """Return the address of the remote `origin` of the repository at `project`, or of its first remote.

    Empty if there is no remote. Only the file `config` of the repository is read, without git. Never raises;
    an unreadable file counts as having no remotes.
    """
    config = _git_directory(project) / "config"
    try:
        text = read_regular(config, _LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""
    found: dict[str, str] = {}
    remote = None
    for line in text.splitlines():
        if section := _SECTION.match(line):
            remote = (section[2] or "") if section[1].lower() == "remote" else None
        elif remote is not None and (url := _URL.match(line)):
            found.setdefault(remote, url[1].strip('"'))
    return found.get("origin") or next(iter(found.values()), "")


def normalised(remote: str) -> str:
    """Return the address of a remote as `host/path`, without scheme, user, port and `.git`.

    The host is in lower case. An address without a host, such as a path, is returned without `.git`.
    """
    match = _SCHEME.match(remote) or _SHORT.match(remote)
    if match is None:
        return remote.strip().removesuffix("/").removesuffix(".git")
    path = match[2].strip("/").removesuffix(".git")
    return f"{match[1].lower()}/{path}" if match[1] else path


def project_id_hash(remote: str) -> str:
    """Return the id of a project for crash records: the SHA-256 of its `remote` as loki-mode writes it.

    `remote`: the address of the remote; if it is empty, `no-remote` is hashed. Unlike `normalised`, loki-mode
    keeps user and port of an address with a scheme.
    """
    return hashlib.sha256((_spelt(remote) or "no-remote").encode("utf-8", "replace")).hexdigest()


def _spelt(remote: str) -> str:
    remote = remote.strip()
    if match := _WITH_USER.match(remote):
        remote = f"{match[1].lower()}/{match[2]}"
    elif match := _WITH_SCHEME.match(remote):
        remote = f"{match[1].lower()}{match[2] or ''}"
    return remote.rstrip("/").removesuffix(".git").rstrip("/")


def names_of(remote: str) -> tuple[str, ...]:
    """Return the names that may identify the repository at the address `remote`.

    These are its path (`owner/name`) and each part of the path; empty if the address has no path.
    """
    path = [part for part in normalised(remote).split("/")[1:] if part]
    if not path:
        return ()
    return tuple(dict.fromkeys(("/".join(path), *path)))


def _git_directory(project: Path) -> Path:
    """Return the directory with the repository's configuration; for a worktree, that of its repository."""
    git = project / ".git"
    try:
        told = read_regular(git, 4096).decode("utf-8", "replace")
    except OSError:
        return git
    own = project / told.partition("gitdir:")[2].strip()
    try:
        common = read_regular(own / "commondir", 4096).decode("utf-8", "replace").strip()
    except OSError:
        return own
    return own / common
