"""Lays out the memories that agents wrote in public repositories, from bare git directories.

`python tests/labelled/real/extract.py TARGET GIT_DIRECTORY...` writes the newest version of each memory ever
committed, also of those deleted since, to `TARGET/OWNER+NAME/PATH`. A git directory is `OWNER+NAME`,
`OWNER+NAME/repo` or `OWNER+NAME.git`. What it writes is other people's text: keep it out of this project.

Which repositories the figures are of is said in `repositories.txt`. They are split by their names into a half
to tune on and a half to report on, so that nothing that was tuned has seen what it is measured with.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Literal

Half = Literal["tune", "held"]

MEMORIES = (
    ":(glob)**/.serena/memories/**",
    ":(glob)**/memory-bank/**/*.md",
    ":(glob)**/.kiro/steering/**/*.md",
    ":(glob)**/CLAUDE.md",
    ":(glob)**/AGENTS.md",
)
# One large repository must not outweigh the others.
MOST_OF_ONE = 150
_LARGEST = 1024 * 1024


@dataclass(frozen=True, slots=True)
class RealNote:
    """One memory of a repository; `path` is where it was in it."""

    repository: str
    path: str
    text: str

    @property
    def half(self) -> Half:
        return half_of(self.repository)


def half_of(repository: str) -> Half:
    """The half a repository belongs to, by its name (`owner/name`)."""
    return "tune" if sha256(repository.lower().encode()).digest()[0] % 2 else "held"


def name_of(directory: Path) -> str:
    """`owner/name` of a git directory."""
    named = directory if "+" in directory.name else directory.parent
    if "+" not in named.name:
        named = named.parent
    return named.name.removesuffix(".git").replace("+", "/", 1)


def memories_of(directory: Path) -> Iterator[tuple[str, bytes, int]]:
    """Path, content and time (UTC seconds) of the newest version of each memory in a history, once each."""
    log = _git(
        directory,
        "log",
        "--all",
        "-z",
        "--name-only",
        "--diff-filter=AM",
        "--format=%x01%H %ct",
        "--",
        *MEMORIES,
    )
    newest: dict[str, str] = {}
    commit = ""
    for piece in log.decode("utf-8", "replace").replace("\n", "\0").split("\0"):
        if piece.startswith("\x01"):
            commit = piece[1:]
        elif piece:
            newest.setdefault(piece, commit)
    seen: set[bytes] = set()
    for path, where in sorted(newest.items())[:MOST_OF_ONE]:
        if "node_modules/" in path:
            continue
        commit, at = where.split(" ")
        data = _git(directory, "cat-file", "blob", f"{commit}:{path}", allowed=(0, 128))
        digest = sha256(data).digest()
        if 0 < len(data) <= _LARGEST and digest not in seen:
            seen.add(digest)
            yield path, data, int(at)


def listed_repositories() -> tuple[str, ...]:
    """The repositories that the figures are of, `owner/name` each."""
    lines = (Path(__file__).parent / "repositories.txt").read_text("utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def read_notes(corpus: Path) -> list[RealNote]:
    """What was laid out at `corpus`, in order."""
    return [
        RealNote(place.name.replace("+", "/", 1), file.relative_to(place).as_posix(), _text(file))
        for place in sorted(corpus.iterdir())
        if place.is_dir()
        for file in sorted(place.rglob("*"))
        if file.is_file()
    ]


def _text(file: Path) -> str:
    return file.read_bytes().decode("utf-8", "replace")


def _git(directory: Path, *arguments: str, allowed: tuple[int, ...] = (0,)) -> bytes:
    done = subprocess.run(
        ["git", f"--git-dir={directory}", "-c", "core.quotePath=false", *arguments],
        capture_output=True,
        check=False,
    )
    if done.returncode not in allowed:
        raise SystemExit(f"git failed in {directory}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def main(target: Path, *directories: Path) -> None:
    for given in directories:
        inner = given / "repo" if (given / "repo").is_dir() else given
        directory = inner / ".git" if (inner / ".git").is_dir() else inner
        name, count = name_of(given), 0
        for path, data, at in memories_of(directory):
            parts = PurePosixPath(path).parts
            if ".." in parts or path.startswith("/"):
                continue  # no repository leads out of its folder
            file = target / name.replace("/", "+", 1) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            os.utime(file, (at, at))
            count += 1
        sys.stdout.write(f"{name}: {count} memories, {half_of(name)}\n")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    main(*map(Path, sys.argv[1:]))
