"""Where the engine of a profile listens in a test."""

from __future__ import annotations

from pathlib import Path

from reverie.engine.reach import make_ours, socket_places
from reverie.profile import Profile


def socket_path(profile: Profile) -> Path:
    """The first place that the engine takes where it can; its folder is made."""
    path = socket_places(profile)[0]
    make_ours(path)
    return path
