"""What the project's git repository is called, read without git: for the privacy of crash records.

Only `.git/config` is read; nothing raises: what cannot be read has no name. Blocking, any thread.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from reverie.files.regular import read_regular

_LARGEST = 1 << 20
_SECTION = re.compile(r'\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_URL = re.compile(r"\s*url\s*=\s*(.*?)\s*$", re.IGNORECASE)
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://(?:[^/@]*@)?([^/:]*)(?::\d+)?/(.*)$", re.IGNORECASE)
_WITH_USER = re.compile(r"^[^@]+@([^:]+):(.+)$")
_WITH_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.\-]*://([^/]+)(/.*)?$")
_SHORT = re.compile(r"^(?:[^@/]*@)?([^:/]+):(.*)$")


def remote_of(project: Path) -> str:
    """The address of the remote `origin`, else of the first; empty for none."""
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
    """`host/path` of a remote, the host in lower case, without scheme, user, port and `.git`; empty for
    none."""
    match = _SCHEME.match(remote) or _SHORT.match(remote)
    if match is None:
        return remote.strip().removesuffix("/").removesuffix(".git")
    path = match[2].strip("/").removesuffix(".git")
    return f"{match[1].lower()}/{path}" if match[1] else path


def project_id_hash(remote: str) -> str:
    """How crash records name a project: SHA-256 of its remote as loki-mode spells it, or of `no-remote`.

    Unlike `normalised`, that spelling keeps user and port of an address with a scheme."""
    return hashlib.sha256((_spelt(remote) or "no-remote").encode("utf-8", "replace")).hexdigest()


def _spelt(remote: str) -> str:
    remote = remote.strip()
    if match := _WITH_USER.match(remote):
        remote = f"{match[1].lower()}/{match[2]}"
    elif match := _WITH_SCHEME.match(remote):
        remote = f"{match[1].lower()}{match[2] or ''}"
    return remote.rstrip("/").removesuffix(".git").rstrip("/")


def names_of(remote: str) -> tuple[str, ...]:
    """What may give the repository away: `owner/name`, and each of the two."""
    path = [part for part in normalised(remote).split("/")[1:] if part]
    if not path:
        return ()
    return tuple(dict.fromkeys(("/".join(path), *path)))


def _git_directory(project: Path) -> Path:
    """Where the repository's settings lie; a worktree's lie in the repository it belongs to."""
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
