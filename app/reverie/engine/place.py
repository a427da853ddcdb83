"""Where the engine of a profile listens, and whether it sees the same homes.

Light on purpose: a command that finds no engine does without the rest.

Threading: any thread. Failure: `UserError` where the directory of the socket cannot be made.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from reverie.files.directory import ensure_private
from reverie.profile import Profile

_LONGEST_PATH = 100
"""Bytes of a socket's path; systems take 104 to 108."""
_OF_AGENTS = ("MUX_", "XUM_", "CLAUDE", "CODEX_", "LOKI_", "HOME", "TZ")


def socket_path(profile: Profile) -> Path:
    """Where the engine of a profile listens. The directory is made."""
    digest = hashlib.sha256(os.fsencode(profile.state.absolute())).hexdigest()[:16]
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    roots = (runtime if Path(runtime).is_absolute() else "/tmp", tempfile.gettempdir(), "/tmp")
    places = [Path(root) / f"reverie-{os.getuid()}" / f"engine-{digest}.socket" for root in roots]
    path = next(each for each in places if len(os.fsencode(each)) <= _LONGEST_PATH)
    ensure_private(path.parent)
    return path


def surroundings(env: Mapping[str, str]) -> str:
    """What an environment says of the agents' homes, as a digest: with another one the same home may have
    other memories. A process asks only an engine that has the same."""
    told = sorted((name, value) for name, value in env.items() if name.startswith(_OF_AGENTS))
    return hashlib.sha256(repr(told).encode("utf-8", "surrogatepass")).hexdigest()
