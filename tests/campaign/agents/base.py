"""What the checks of all agents share: their form, the programs they run, and a snapshot of a tree.

A module of checks (`codex_store`, `claude_context`, ...) has one function `checks(programs, directory)` that
yields an `Outcome` for each rule it tried. A program that is not there yields `Outcome.skip(...)`; nothing is
ever skipped silently.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs that could be installed; None where the registry or the checkout is out of reach."""

    codex: Path | None = None
    """The `codex` command."""
    claude: Path | None = None
    """The `claude` command."""
    bun: Path | None = None
    """The `bun` command, which runs mux's services."""
    mux: Path | None = None
    """A built checkout of mux with `agent.ts` in it."""
    loki: Path | None = None
    """A checkout or an installation of loki-mode."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one rule that was tried against a real program."""

    rule: str
    """The rule, in the words of a test's name."""
    cases: int
    """How many cases were compared; 0 for a skip."""
    problems: tuple[str, ...] = ()
    """One line for each case that broke the rule; empty when it held."""
    skipped: str = ""
    """Why the rule was not tried; empty when it was."""

    @classmethod
    def skip(cls, rule: str, why: str) -> Outcome:
        return cls(rule, 0, (), why)

    @property
    def kept(self) -> bool:
        return not self.problems


Checks = Callable[[Programs, Path], Iterator[Outcome]]


@dataclass(frozen=True, slots=True)
class Entry:
    """One file, directory or link as it is on disk, without its access time."""

    mode: int
    size: int
    modified_ns: int
    inode: int
    digest: str
    """SHA-256 of a file's bytes, the target of a link, empty for everything else."""


def snapshot(root: Path) -> dict[str, Entry]:
    """Every entry at and below `root` (".") by its relative path. Links are not followed."""
    found: dict[str, Entry] = {}
    pending = [root]
    while pending:
        path = pending.pop()
        info = path.lstat()
        digest = ""
        if stat.S_ISLNK(info.st_mode):
            digest = str(path.readlink())
        elif stat.S_ISREG(info.st_mode):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
        elif stat.S_ISDIR(info.st_mode):
            pending.extend(path.iterdir())
        size = 0 if stat.S_ISDIR(info.st_mode) else info.st_size
        name = path.relative_to(root).as_posix()
        found[name] = Entry(info.st_mode, size, info.st_mtime_ns, info.st_ino, digest)
    return found


def differences(before: dict[str, Entry], after: dict[str, Entry]) -> list[str]:
    """A line for each path that was made, removed or changed in content, mode, size or time."""
    lines = [f"made: {name}" for name in sorted(after.keys() - before.keys())]
    lines += [f"removed: {name}" for name in sorted(before.keys() - after.keys())]
    lines += [f"changed: {name}" for name in sorted(before) if name in after and before[name] != after[name]]
    return lines
