"""Creates nested folders deeper than a path can be long or than a program can recurse."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def make_deep(top: Path, levels: int, files: Mapping[str, bytes]) -> None:
    """Folders `d/d/d/…` below `top`, so many, with these files in the last."""
    top.mkdir(parents=True, exist_ok=True)
    opened = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=opened)
        below = os.open("d", os.O_RDONLY, dir_fd=opened)
        os.close(opened)
        opened = below
    for name, data in files.items():
        file = os.open(name, os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=opened)
        os.write(file, data)
        os.close(file)
    os.close(opened)
