"""Copies of the sample homes, which the agents' own code wrote; what is in them, their README.md says."""

from __future__ import annotations

import shutil
from pathlib import Path

SAMPLES = Path(__file__).parent.parent / "samples"
_LONG_BYTES = 50_000


def copy_sample(name: str, tmp_path: Path, *, whole: bool = True) -> Path:
    """A copy of the sample home `name` that a test may change: `tmp_path/name`. Not `whole`: without its very
    long notes, which take most of the time of a dream by rules."""
    home = Path(shutil.copytree(SAMPLES / name, tmp_path / name))
    for note in () if whole else home.glob("memory/project/*/reference/*.md"):
        if note.stat().st_size > _LONG_BYTES:
            note.unlink()
    return home


def snapshot(root: Path) -> dict[str, tuple[int, int, bytes | None]]:
    """Every path below `root` (and itself) -> mode, mtime in ns, content; equal before and after looking."""
    found: dict[str, tuple[int, int, bytes | None]] = {}
    for path in [root, *root.rglob("*")]:
        status = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else None
        found[path.relative_to(root).as_posix()] = (status.st_mode, status.st_mtime_ns, content)
    return found
