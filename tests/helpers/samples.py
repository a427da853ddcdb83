"""Copies of the sample homes, which the agents' own code wrote; what is in them, their README.md says."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path, PurePosixPath

from helpers.isolation import TEST_PROFILE

SAMPLES = Path(__file__).parent.parent / "samples"
_LONG_NOTES, _LONG_BYTES = "memory/project/*/reference/*.md", 50_000


def copy_sample(name: str, tmp_path: Path, *, whole: bool = TEST_PROFILE == "campaign") -> Path:
    """A copy of the sample home `name` that a test may change: `tmp_path/name`. Not `whole`: without its very
    long notes, which take most of the time of a search, a check and a consolidation. Two notes of mux's,
    which say the same as others in other words, get lines of those: paraphrases are left to a person, and
    most tests need a run by rules that merges."""
    home = tmp_path / name
    home.mkdir(parents=True)
    folders, files = _contents(name)
    for folder in folders:
        (home / folder).mkdir()
    for rel, data, times in files:
        long = len(data) > _LONG_BYTES and PurePosixPath(rel).match(_LONG_NOTES)
        if whole or not long:
            place = f"{home}/{rel}"
            with open(place, "xb") as file:  # noqa: PTH123 - a `Path` for each of them doubles the time
                file.write(
                    _WITH_COMMON_LINES.get(rel.rpartition("/")[2], data) if name == "mux-home" else data
                )
            os.utime(place, ns=times)
    return home


_WITH_COMMON_LINES = {
    "commit-messages.md": b"---\ndescription: Commit message rules\n---\n\n"
    b"Subject in the imperative mood, at most 50 characters.\n"
    b"Body wrapped at 72 and says why, not what.\n"
    b"No emoji anywhere.\n"
    b"Ticket id goes in a trailer: `Refs: ACME-123`.\n",
    "cursor-notes.md": b"---\ndescription: Pagination cursors\n---\n\n"
    b"Opaque base64url cursors holding `(created_at, id)`.\n"
    b"`limit` defaults to 50, maximum 200.\n"
    b"Nobody builds one by hand.\n"
    b"A cursor stays valid for 24 hours.\n",
}


@cache
def _contents(name: str) -> tuple[list[str], list[tuple[str, bytes, tuple[int, int]]]]:
    """Folders (outer ones first) and files of a sample; hundreds of tests copy one."""
    found = sorted((SAMPLES / name).rglob("*"))
    root = SAMPLES / name
    assert not any(path.is_symlink() for path in found)
    folders = [path.relative_to(root).as_posix() for path in found if path.is_dir()]
    files = [path for path in found if path.is_file()]
    return folders, [
        (path.relative_to(root).as_posix(), path.read_bytes(), (status.st_atime_ns, status.st_mtime_ns))
        for path in files
        for status in [path.stat()]
    ]


def snapshot(root: Path) -> dict[str, tuple[int, int, bytes | None]]:
    """Every path below `root` (and itself) -> mode, mtime in ns, content; equal before and after looking."""
    found: dict[str, tuple[int, int, bytes | None]] = {}
    for path in [root, *root.rglob("*")]:
        status = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else None
        found[path.relative_to(root).as_posix()] = (status.st_mode, status.st_mtime_ns, content)
    return found
